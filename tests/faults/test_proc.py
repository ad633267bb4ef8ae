"""Reads from /proc that fail, threads that cannot start, and clocks that jump."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import subprocess
import sys
import time
from typing import Any, Iterator
from unittest import mock

import pytest

from nvitop import simulation
from nvitop.api.collector import ResourceMetricCollector, take_snapshots
from nvitop.api.process import procfs
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, Sample
from tests.api.machines import machine as make_machine
from tests.clock import Clock
from tests.faults.sample_checks import VARYING, KnownMachine

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='needs /proc')

TWO_GPUS = """
[[gpu]]
count = 2
model = "H100"
[[process]]
gpus = [0]
command = ["a"]
memory = "1 GiB"
sm = 30
[[process]]
gpus = [1]
command = ["b"]
memory = "2 GiB"
"""
#: Result of a read: an error of open() (negative) or read() (positive), or other data.
RESULTS: dict[str, int | bytes] = {
    'gone at open': -errno.ENOENT,
    'gone at read': errno.ESRCH,
    'hidden': errno.EACCES,
    'not permitted': -errno.EPERM,
    'broken': errno.EIO,
    'no more files': -errno.EMFILE,
    'empty': b'',
    'cut': b'12 (a',
    'nonsense': b'\xff\x00 )(',
}


class FaultyOs:
    """The module ``os`` for :mod:`nvitop.api.process.procfs`, whose n-th read fails."""

    def __init__(self, number: int, end: int | bytes, *, lasts: bool) -> None:
        self._affected = range(number, 1 << 40 if lasts else number + 1)
        self._end = end
        self.count = 0
        #: Number of the file that has been read.
        self._read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: str, flags: int) -> int:
        self.count += 1
        self._fail(-1)
        return os.open(path, flags)

    def read(self, descriptor: int, size: int) -> bytes:
        self._fail(1)
        if self.count in self._affected and isinstance(self._end, bytes):
            is_first, self._read = self._read != self.count, self.count
            return self._end if is_first else b''
        return os.read(descriptor, size)

    def _fail(self, sign: int) -> None:
        if self.count in self._affected and isinstance(self._end, int) and sign * self._end > 0:
            raise OSError(abs(self._end), os.strerror(abs(self._end)))


@contextlib.contextmanager
def two_children() -> Iterator[list[int]]:
    command = [sys.executable, '-S', '-c', 'input()']
    children = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(2)]
    try:
        yield [child.pid for child in children]
    finally:
        for child in children:
            child.kill()
            child.communicate()


def machine(pids: list[int]) -> simulation.Machine:
    return make_machine(TWO_GPUS, processes=pids)


def check(sample: Sample, pids: list[int]) -> None:
    assert [device.status for device in sample.devices] == ['ok', 'ok']
    for process in sample.processes:
        assert process.key.pid in pids
        memory = (1 << 30) * (1 + pids.index(process.key.pid))
        assert process.gpu_memory_bytes in (memory, None)
        is_explained = any(p.what == 'processes' for p in sample.problems)
        assert process.gpu_memory_bytes is not None or is_explained
        assert process.status in ('running', 'gone', 'no permission', 'foreign')
        assert process.running_time_seconds is None or 0 <= process.running_time_seconds < 3600
        if process.host_memory_bytes is not None:
            assert 1 << 16 < process.host_memory_bytes < 1 << 30


@pytest.mark.parametrize('end', RESULTS)
def test_failing_read_causes_no_wrong_value(end: str) -> None:
    demand = Demand()
    with two_children() as pids, machine(pids):

        def run(number: int) -> int:
            clock = Clock()
            source = LiveSource(clock=clock, sleep=clock.turn)
            with mock.patch.object(
                procfs, 'os', FaultyOs(number, RESULTS[end], lasts=number % 2 == 0)
            ) as fake:
                for _ in range(2):
                    clock.turn(10.0)
                    check(source.sample(demand), pids)
                for snapshot in take_snapshots().gpu_processes:
                    assert snapshot.pid in pids
                return int(fake.count)

        reads = run(1 << 30)
        assert reads > 5
        for number in range(1, reads + 1, 1 + reads // 12):
            run(number)
        clock = Clock()
        source = LiveSource(clock=clock, sleep=clock.turn)
        assert {p.status for p in source.sample(demand).processes} == {'running'}


def test_logs_contain_no_command_environment_or_user(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv('PRECIOUS', 'a-value-of-the-environment')
    monkeypatch.setattr('nvitop.api.process.observed.name_of_user', lambda uid: 'a-name-of-a-user')
    with two_children() as pids, machine(pids) as simulated:
        for end in RESULTS.values():
            for number in (1, 8):
                fake = FaultyOs(number, end, lasts=True)
                with monkeypatch.context() as patch, contextlib.suppress(OSError):
                    patch.setattr(procfs, 'os', fake)
                    collector = ResourceMetricCollector(root_pids={1})
                    collector.take_snapshots()
                    check(LiveSource().sample(Demand(host_processes=True)), pids)
        simulated.fail('nvmlDevice*', 'UNKNOWN')
        collector.take_snapshots()
    assert caplog.records
    for secret in ('input()', 'PRECIOUS', 'a-value-of-the-environment', 'a-name-of-a-user'):
        assert secret not in caplog.text


@pytest.mark.parametrize('jump', [3600.0, -3600.0])
def test_setting_the_clock_changes_no_rate(jump: float) -> None:
    def measured(jump: float) -> list[Sample]:
        bench = KnownMachine()
        offset = [0.0]
        real, real_ns = time.time, time.time_ns
        with contextlib.ExitStack() as stack:
            for name, function in (
                ('time.time', lambda: real() + offset[0]),
                ('time.time_ns', lambda: real_ns() + int(offset[0] * 1e9)),
            ):
                stack.enter_context(mock.patch(name, function))
            wall = bench.wall
            bench.wall = lambda: wall() + offset[0]  # type: ignore[method-assign]  # - like a set clock
            stack.enter_context(bench.opened())
            samples = [bench.sample() for _ in range(3)]
            offset[0] = jump
            return samples + [bench.sample() for _ in range(3)]

    for sample, expected in zip(measured(jump), measured(0.0)):
        for device, known in zip(sample.devices, expected.devices):
            for field in device._fields:
                value, expected_value = getattr(device, field), getattr(known, field)
                if field in VARYING and isinstance(expected_value, (int, float)):
                    assert value == pytest.approx(expected_value, rel=0.02), field
                else:
                    assert value == expected_value, field
        assert [p[1:] for p in sample.processes] == [p[1:] for p in expected.processes]
