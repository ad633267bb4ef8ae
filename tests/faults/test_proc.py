"""/proc that vanishes, hides and lies at every single read, threads that cannot start, clocks that jump."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Iterator
from unittest import mock

import pytest

from nvitop import simulation
from nvitop.api.collector import ResourceMetricCollector, take_snapshots
from nvitop.api.device import Device
from nvitop.api.process import procfs
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, Sample
from nvitop.sampling.watchdog import Watchdog
from tests.faults.bench import MOVING, Bench
from tests.faults.matrix import CASES
from tests.sampling.fakes import Clock

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
#: How a read ends: an error of the system, or what is read instead.
ENDS: dict[str, int | bytes] = {
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
    """The module ``os`` for :mod:`nvitop.api.process.procfs`: the n-th read of a process fails."""

    def __init__(self, number: int, end: int | bytes, *, lasts: bool) -> None:
        self._number = number
        self._end = end
        self._lasts = lasts
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def _is_met(self) -> bool:
        return self.count == self._number or (self._lasts and self.count > self._number)

    def open(self, path: str, flags: int) -> int:
        """Open, or fail to."""
        self.count += 1
        end = self._end
        if self._is_met() and isinstance(end, int) and end < 0:
            raise OSError(-end, os.strerror(-end))
        return os.open(path, flags)

    def read(self, descriptor: int, size: int) -> bytes:
        """Read, or fail to."""
        end = self._end
        if self._is_met() and isinstance(end, bytes):
            return end
        if self._is_met() and isinstance(end, int):
            raise OSError(end, os.strerror(end))
        return os.read(descriptor, size)


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
    return simulation.machine(simulation.parse_scenario(TWO_GPUS, name='two'), processes=pids)


def check(sample: Sample, pids: list[int]) -> None:
    """What is said of the processes is true, or that it is not known."""
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


@pytest.mark.parametrize('end', ['gone at open', 'gone at read', 'no more files'])
def test_processes_may_vanish_while_they_are_read(end: str) -> None:
    fail_each_read(end, lasts=False, every=7)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize('lasts', [False, True])
@pytest.mark.parametrize('end', ENDS)
def test_processes_may_vanish_at_every_read(end: str, lasts: bool) -> None:
    fail_each_read(end, lasts=lasts, every=1 if CASES > 1000 else 4)


def fail_each_read(end: str, *, lasts: bool, every: int) -> None:
    demand = Demand(host_processes=True)
    with two_children() as pids, machine(pids):

        def run(number: int) -> int:
            clock = Clock()
            source = LiveSource(clock=clock, sleep=clock.turn)
            with mock.patch.object(procfs, 'os', FaultyOs(number, ENDS[end], lasts=lasts)) as fake:
                for _ in range(2):
                    clock.turn(10.0)
                    check(source.sample(demand), pids)
                for snapshot in take_snapshots().gpu_processes:
                    assert snapshot.pid in pids
                return int(fake.count)

        reads = run(1 << 30)
        assert reads > 10
        for number in range(1, reads + 1, every):
            run(number)
        clock = Clock()
        source = LiveSource(clock=clock, sleep=clock.turn)
        assert {p.status for p in source.sample(demand).processes} == {'running'}


def test_logs_tell_of_no_command_environment_or_user(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv('PRECIOUS', 'a-value-of-the-environment')
    monkeypatch.setattr('nvitop.api.process.linux.name_of_user', lambda uid: 'a-name-of-a-user')
    with two_children() as pids, machine(pids) as simulated:
        for end in ENDS.values():
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


# Threads that cannot start


def test_without_threads_everything_is_measured_all_the_same() -> None:
    def refuse(name: str, target: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    bench = Bench()
    with bench.opened():
        lane = Watchdog(clock=bench.clock, start_thread=refuse)
        bench.source = LiveSource(
            clock=bench.clock, wall_clock=bench.wall, sleep=bench.clock.turn, watchdog=lane
        )
        sample = bench.sample()
    assert [device.status for device in sample.devices] == ['ok'] * 5
    assert lane.threads_inside == 0


# Clocks that jump


@pytest.mark.parametrize('jump', [3600.0, -3600.0])
def test_a_clock_that_is_set_changes_no_rate(jump: float) -> None:
    def measured(jump: float) -> list[Sample]:
        bench = Bench()
        offset = [0.0]
        real, real_ns = time.time, time.time_ns
        with contextlib.ExitStack() as stack:
            for name, told in (
                ('time.time', lambda: real() + offset[0]),
                ('time.time_ns', lambda: real_ns() + int(offset[0] * 1e9)),
            ):
                stack.enter_context(mock.patch(name, told))
            wall = bench.wall
            bench.wall = lambda: wall() + offset[0]  # type: ignore[method-assign]  # - as the system
            bench.machine.world._wall_clock = bench.wall
            stack.enter_context(bench.opened())
            samples = [bench.sample() for _ in range(3)]
            offset[0] = jump
            return samples + [bench.sample() for _ in range(3)]

    for said, true in zip(measured(jump), measured(0.0)):
        for device, known in zip(said.devices, true.devices):
            for field in device._fields:
                value, is_true = getattr(device, field), getattr(known, field)
                if field in MOVING and isinstance(is_true, (int, float)):
                    assert value == pytest.approx(is_true, rel=0.02), field
                else:
                    assert value == is_true, field
        assert [p[1:] for p in said.processes] == [p[1:] for p in true.processes]


# Many threads


def ask_together(seconds: float) -> int:
    """How often sixteen threads got the true answers, in all."""
    bench = Bench()
    with bench.opened():
        bench.turn()
        device = Device(0)
        expected = (device.memory_used(), device.gpu_utilization(), device.power_usage())
        deadline = time.monotonic() + seconds
        wrong: list[object] = []
        rounds: list[int] = []

        def ask() -> None:
            count = 0
            try:
                while count < 5 or time.monotonic() < deadline:
                    with device.oneshot():
                        found = (
                            device.memory_used(),
                            device.gpu_utilization(),
                            device.power_usage(),
                        )
                    if found != expected or device.memory_info().used != expected[0]:
                        wrong.append(found)
                    device.as_snapshot()
                    count += 1
            except Exception as error:
                wrong.append(error)
            rounds.append(count)

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + 100)
    assert wrong == []
    assert len(rounds) == 16
    assert min(rounds) >= 5
    return sum(rounds)


def test_sixteen_threads_ask_one_device() -> None:
    ask_together(0.0)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_sixteen_threads_ask_one_device_for_a_minute() -> None:
    ask_together(60.0)
