"""Usage of the host, and of a process with its descendants."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from nvitop.api import host
from nvitop.api.system import System
from nvitop.sampling.host_reader import HostReader, ProcessTreeReader, read_host_io
from nvitop.sampling.types import DeviceKey, FilesystemSample, ProcessKey, ProcessSample
from tests.clock import Clock

KEY = ProcessKey(7, 1.0, DeviceKey(0))
MIB = 1 << 20


@pytest.mark.parametrize(
    ('name', 'what', 'fields'),
    [
        ('cpu_seconds', 'cpu_percent', ['cpu_percent']),
        ('memory_usage', 'memory', ['memory_total_bytes', 'memory_used_bytes', 'memory_percent']),
        ('swap_usage', 'swap', ['swap_total_bytes', 'swap_used_bytes', 'swap_percent']),
        ('load_average', 'load_average', ['load_average']),
        ('uptime', 'uptime', ['uptime_seconds']),
    ],
)
def test_a_value_that_cannot_be_read_does_not_affect_the_others(
    monkeypatch: pytest.MonkeyPatch, name: str, what: str, fields: list[str]
) -> None:
    def fail() -> Any:
        raise OSError(13, 'Permission denied')

    clock = Clock()
    reader = HostReader(clock=clock)
    clock.now += 1.0
    monkeypatch.setattr(System, name, staticmethod(fail))
    sample = reader.read()._asdict()
    assert all(sample[field] is None for field in fields)
    assert sample['hostname']
    (problem,) = reader.problems
    assert (problem.subject, problem.what) == ('host', what)
    assert 'Permission denied' in problem.reason
    assert problem.kind == 'denied'
    monkeypatch.undo()
    reader.read()
    assert reader.problems == ()


def test_io_lists_interfaces_disks_and_readable_file_systems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def disk_usage(path: str) -> Any:
        if path == '/private':
            raise PermissionError(path)
        return SimpleNamespace(total=100, used=60, free=30, percent=66.7)

    partitions = [SimpleNamespace(mountpoint=path) for path in ('/', '/private')]
    monkeypatch.setattr(host, 'disk_partitions', lambda **_: partitions)
    monkeypatch.setattr(host, 'disk_usage', disk_usage)
    monkeypatch.setattr(host, 'disk_io_counters', lambda **_: None)
    io = read_host_io()
    assert io.filesystems == (FilesystemSample('/', 100, 60, 30, 66.7),)
    assert io.disks == ()
    assert all(network.received_bytes >= 0 for network in io.networks)
    assert io.memory_free_bytes


def test_cores_are_measured_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[tuple[host.CpuSeconds, ...]] = []
    times.append((host.CpuSeconds(0.0, 0.0), host.CpuSeconds(0.0, 0.0)))
    times.append((host.CpuSeconds(1.0, 2.0), host.CpuSeconds(0.0, 2.0)))
    times.append(times[-1][:1])
    clock = Clock()
    reader = HostReader(clock=clock)
    monkeypatch.setattr(System, 'core_seconds', staticmethod(lambda: times.pop(0)))
    assert reader.read().cpu_core_percents == ()
    for expected in ((), (50.0, 0.0), ()):
        clock.now += 2.0
        assert reader.read(cores=True).cpu_core_percents == expected
    clock.now += 2.0
    assert reader.read().cpu_core_percents == ()
    reader.read(cores=True)
    assert [problem.what for problem in reader.problems] == ['cpu_core_percents']


class Host:
    """Processes with their CPU seconds, and bytes read or ``None`` if they must not be known."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.used: dict[int, tuple[float, int | None]] = {}
        self.started: dict[int, float] = {}
        monkeypatch.setattr(host, 'Process', self.process)

    def process(self, pid: int) -> Any:
        if pid not in self.used:
            raise ProcessLookupError(pid)
        cpu, read = self.used[pid]
        process = MagicMock(pid=pid)
        descendants = [each for each in (8, 9) if pid == 7 and each in self.used]
        process.children.side_effect = lambda recursive: map(self.process, descendants)
        process.cpu_times.return_value = MagicMock(user=cpu, system=0.0)
        process.create_time.return_value = self.started.get(pid, 1.0)
        process.num_threads.return_value, process.cwd.return_value = 7, '/home/ann'
        process.io_counters.return_value.read_bytes = read
        if read is None:
            process.io_counters.side_effect = PermissionError
        return process


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(monkeypatch)


def reader() -> ProcessTreeReader:
    """Return a reader on whose clock 2 s pass from one reading to the next."""
    times = itertools.count(100.0, 2.0)
    return ProcessTreeReader(clock=lambda: next(times), wall_clock=lambda: 1.0)


def test_usage_includes_all_descendants(machine: Host) -> None:
    tree = reader()
    machine.used = {7: (10.0, 0), 8: (5.0, MIB), 50: (0.0, 0)}
    assert tree.read(KEY) == (None, None)
    # Process 9 was started in between, and 50 is a sibling.
    machine.used = {7: (11.0, 0), 8: (5.5, 3 * MIB), 9: (0.5, 2 * MIB), 50: (9.0, 9 * MIB)}
    assert tree.read(KEY) == (100.0, 2048)
    del machine.used[8]
    assert tree.read(KEY) == (0.0, 0)


def test_usage_before_a_process_could_be_read_is_not_counted(machine: Host) -> None:
    tree = reader()
    machine.used, machine.started = {7: (10.0, 0)}, {8: 0.5}
    tree.read(KEY)
    machine.used = {7: (11.0, 0), 8: (5000.0, 900 * MIB)}  # older than the first reading
    assert tree.read(KEY) == (50.0, 0)
    machine.used = {7: (11.0, 0), 8: (5001.0, 900 * MIB)}
    assert tree.read(KEY) == (50.0, 0)


def test_reads_that_may_not_be_known_are_left_out(machine: Host) -> None:
    tree = reader()
    machine.used = {7: (10.0, None)}
    tree.read(KEY)
    machine.used = {7: (12.0, None)}
    assert tree.read(KEY) == (100.0, None)


def test_exited_and_other_processes_have_no_usage(machine: Host) -> None:
    tree = reader()
    machine.used = {7: (10.0, 0)}
    tree.read(KEY)
    assert tree.read(KEY._replace(start_time=2.0)) == (None, None)
    machine.used = {}
    assert tree.read(KEY._replace(start_time=2.0)) == (None, None)


def test_usage_is_read_again_only_when_due(machine: Host) -> None:
    tree = reader()
    machine.used = {7: (10.0, 0)}
    processes = [ProcessSample(KEY), ProcessSample(KEY._replace(pid=9))]
    tree.add_to(processes, KEY, is_due=True)
    machine.used = {7: (11.0, 0)}
    assert tree.add_to(processes, KEY, is_due=False)[0].tree_cpu_percent is None
    shown, other = tree.add_to(processes, KEY, is_due=True)
    assert (shown.tree_cpu_percent, other.tree_cpu_percent) == (50.0, None)
    assert (shown.thread_count, shown.directory) == (7, '/home/ann')
    assert (other.thread_count, other.directory) == (None, None)
    machine.used = {7: (19.0, 0)}
    assert tree.add_to(processes, KEY, is_due=False)[0] == shown
