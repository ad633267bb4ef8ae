from __future__ import annotations

import os
from typing import Any, ClassVar

import pytest

from nvitop.api import host
from nvitop.api.device.processes import ProcessUsage
from nvitop.api.process import HostFacts
from nvitop.api.process.facts import GONE
from nvitop.sampling import process_reader as module
from nvitop.sampling.device_reader import ListedProcess
from nvitop.sampling.process_reader import IdleTimes, ProcessReader
from nvitop.sampling.types import DeviceKey, HostSample, ParentProcess, ProcessKey, ProcessSample
from tests.clock import Clock
from tests.sampling.fakes import device_key

ME = HostSample(username='me')
START = 1.7e9


def facts(cpu: float | None = 10.0, **values: Any) -> HostFacts:
    return HostFacts(
        is_running=True,
        status='running',
        username='me',
        name='python3',
        cmdline=['python3', 'train.py'],
        cpu_percent=cpu,
        memory_percent=1.5,
        host_memory=1 << 20,
        create_time=START,
        running_time_in_seconds=5.0,
        thread_count=4,
    )._replace(**values)


class FakeProcess:
    """A process of the host that counts how often it is read; the last one made has the PID."""

    by_pid: ClassVar[dict[int, FakeProcess]] = {}
    parents: ClassVar[dict[int, int]] = {}

    def __init__(self, pid: int, known: HostFacts | None = None) -> None:
        self.pid = pid
        self.known = known or facts()
        self.reads = 0
        self.checks = 0
        #: How often only its CPU time was read.
        self.short_reads = 0
        FakeProcess.by_pid[pid] = self

    def is_same(self) -> bool:
        self.checks += 1
        return FakeProcess.by_pid.get(self.pid) is self

    def facts(self, before: HostFacts | None = None) -> HostFacts:
        if before is not None:
            self.short_reads += 1
            return before._replace(cpu_percent=self.known.cpu_percent)
        self.reads += 1
        return self.known if self.is_same() else GONE


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeProcess, 'by_pid', {})
    monkeypatch.setattr(module, 'observed', lambda pid: FakeProcess.by_pid[pid])
    monkeypatch.setattr(module, 'in_pid_namespace', lambda: False)
    monkeypatch.setattr(
        module, 'name_and_parent', lambda pid: ('', FakeProcess.parents.get(pid, 0))
    )


def record(process: FakeProcess, device: int = 0, memory: int | None = 1 << 30) -> ListedProcess:
    usage = ProcessUsage(process.pid, 'C', memory, None, None, 50, 20, 0, 0)
    return ListedProcess(device_key(device), usage, 8 << 30)


def key(pid: int, device: int = 0, start: float = START) -> ProcessKey:
    return ProcessKey(pid, start, device_key(device))


class Bench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.reader = ProcessReader(clock=self.clock, uptime=lambda: 1e6 + self.clock.now)

    def read(
        self, *records: ListedProcess, seconds: float = 0.0, **options: Any
    ) -> tuple[ProcessSample, ...]:
        self.clock.now += seconds
        self.reading = self.reader.read(records, options.pop('visible', None), ME, **options)
        return self.reading.processes


@pytest.fixture
def reader() -> Bench:
    return Bench()


def test_a_sample_combines_device_and_host(reader: Bench) -> None:
    (sample,) = reader.read(record(FakeProcess(7)))
    assert sample == ProcessSample(
        key(7),
        type='C',
        username='me',
        is_own=True,
        name='python3',
        command='python3 train.py',
        gpu_memory_bytes=1 << 30,
        gpu_memory_percent=12.5,
        gpu_sm_utilization_percent=50,
        gpu_memory_utilization_percent=20,
        gpu_encoder_utilization_percent=0,
        gpu_decoder_utilization_percent=0,
        memory_percent=1.5,
        host_memory_bytes=1 << 20,
        running_time_seconds=5.0,
    )


@pytest.mark.parametrize(
    ('known', 'in_namespace', 'memory', 'status', 'command'),
    [
        (facts(), True, 1 << 30, 'running', 'python3 train.py'),
        (facts(status=host.STATUS_ZOMBIE, cmdline=[]), False, 1 << 30, 'zombie', None),
        (facts(cmdline=None), False, 1 << 30, 'no permission', None),
        (facts(cmdline=[], name='nvidia-modeset'), False, 1 << 30, 'running', '[nvidia-modeset]'),
        (GONE, False, 1 << 30, 'gone', None),
        (GONE, True, 0, 'gone', None),
        (GONE, True, None, 'gone', None),
        (GONE, True, 1 << 30, 'foreign', None),
    ],
)
def test_status_and_command(
    reader: Bench,
    monkeypatch: pytest.MonkeyPatch,
    known: HostFacts,
    in_namespace: bool,
    memory: int | None,
    status: str,
    command: str | None,
) -> None:
    monkeypatch.setattr(module, 'in_pid_namespace', lambda: in_namespace)
    (sample,) = reader.read(record(FakeProcess(7, known), memory=memory))
    assert (sample.status, sample.command) == (status, command)
    assert sample.is_own == known.is_running
    assert (sample.key.start_time == -1.0) == (not known.is_running)
    assert sample.running_time_seconds == (5.0 if known.is_running else None)


def test_other_users_processes_are_own_only_for_the_superuser(reader: Bench) -> None:
    other = record(FakeProcess(7, facts(username='ada')))
    assert not reader.read(other)[0].is_own
    reading = reader.reader.read([other], None, ME._replace(is_superuser=True))
    assert reading.processes[0].is_own


# CPU %


def test_cpu_percent_needs_a_second_reading_within_some_time(reader: Bench) -> None:
    process = FakeProcess(7, facts(99.9))
    (sample,) = reader.read(record(process))
    assert sample.cpu_percent is None  # the first value of the API is a mean since the start
    assert reader.reading.begun == {7}
    process.known = facts(12.0)
    (sample,) = reader.read(record(process), seconds=0.25)
    assert sample.cpu_percent == 12.0
    assert reader.reading.begun == frozenset()
    (sample,) = reader.read(record(process), seconds=module.LONGEST_CPU_SECONDS + 1)
    assert sample.cpu_percent is None
    assert reader.reading.begun == {7}


# What is read


def test_off_screen_processes_are_checked_in_turn(reader: Bench) -> None:
    processes = [FakeProcess(pid) for pid in range(1, 3 * module.CHECKED_UNSEEN)]
    records = [record(process) for process in processes]
    seen = frozenset({key(1)})
    reader.read(*records, visible=seen)
    for process in processes:
        process.checks = 0
    reader.read(*records, visible=seen)
    assert sum(process.checks for process in processes) <= module.CHECKED_UNSEEN + 1
    FakeProcess(200, facts(create_time=START + 9))
    for _ in range(3):
        samples = reader.read(*records, visible=seen)
    assert all(process.checks for process in processes[1:])
    assert {s.key.start_time for s in samples if s.key.pid == 200} == {START + 9}


def test_samples_of_off_screen_processes_are_reused_between_readings(reader: Bench) -> None:
    records = [record(FakeProcess(pid)) for pid in (1, 2, 3)]
    first = reader.read(*records, visible=frozenset({key(1)}))
    two, one = frozenset({key(2)}), frozenset({key(1)})
    second = reader.read(*records, visible=two, measure=two, seconds=0.25)
    assert second[2] is first[2]
    assert [sample.cpu_percent for sample in second] == [None, 10.0, None]
    assert [sample.host_memory_bytes for sample in second] == [None, 1 << 20, None]
    third = reader.read(records[0], records[2], visible=one, measure=one, seconds=0.25)
    assert [(sample.key.pid, sample.cpu_percent) for sample in third] == [(1, 10.0), (3, None)]


def test_a_zombie_has_its_name_and_its_parent(
    reader: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeProcess, 'parents', {7: 6})
    FakeProcess(6, facts(1.0, cmdline=['bash'])._replace(name='bash'))
    zombie = facts(0.0, cmdline=[])._replace(status='zombie', name='python3')
    (sample,) = reader.read(record(FakeProcess(7, zombie)))
    assert (sample.status, sample.name, sample.command) == ('zombie', 'python3', None)
    assert sample.parent == ParentProcess(6, START, 'bash', ME.username, is_own=True)
    monkeypatch.setattr(FakeProcess, 'parents', {7: os.getppid()})
    FakeProcess(os.getppid())
    (sample,) = reader.read(record(FakeProcess(7, zombie)), seconds=2.0)
    assert sample.parent is not None
    assert not sample.parent.is_own


def test_a_process_that_is_no_longer_listed_stays_until_it_exits(reader: Bench) -> None:
    process, other = FakeProcess(7), record(FakeProcess(8))
    old = record(process)._replace(is_outdated=True)
    (before, _) = reader.read(record(process), other)
    (kept, _) = reader.read(old, other, seconds=2.0)
    assert kept.is_outdated
    assert not before.is_outdated
    assert kept.key == before.key
    assert kept.gpu_memory_bytes is kept.gpu_sm_utilization_percent is None
    assert (kept.status, kept.cpu_percent) == ('running', 10.0)
    FakeProcess(7, facts(5.0, create_time=START + 30))  # its PID is used again
    for _ in range(2):
        assert [sample.key.pid for sample in reader.read(old, other, seconds=2.0)] == [8]
    reused = record(FakeProcess.by_pid[7])
    assert [sample.key.pid for sample in reader.read(reused, other, seconds=2.0)] == [7, 8]


# The tree


@pytest.fixture
def family(_host: None, monkeypatch: pytest.MonkeyPatch) -> dict[int, FakeProcess]:
    """1 started 10 and 20; 10 started 100, 100 started 1000 and 1001, 1000 started 10000."""
    parents = {1: 0, 10: 1, 20: 1, 100: 10, 1000: 100, 1001: 100, 10000: 1000}
    monkeypatch.setattr(host, 'ppid_map', lambda: parents)
    return {pid: FakeProcess(pid, facts(cmdline=[f'p{pid}'])) for pid in parents}


def test_the_tree_has_ancestors_and_children_of_gpu_processes(
    reader: Bench, family: dict[int, FakeProcess]
) -> None:
    process = family[100]
    reader.read(record(process), tree=True)
    tree = {sample.pid: sample for sample in reader.reading.host_processes}
    assert sorted(tree) == [1, 10, 100, 1000, 1001]
    assert tree[100].devices == (device_key(0),)
    assert tree[100].parent_pid == 10
    assert tree[10].devices == ()
    assert tree[10].command == 'p10'
    assert tree[10].thread_count == 4
    assert tree[10].cpu_percent is None
    assert reader.reading.begun == {1, 10, 100, 1000, 1001}
    reader.read(record(process), tree=True, seconds=0.25)
    assert all(sample.cpu_percent == 10.0 for sample in reader.reading.host_processes)


# Idle times


PROCESS = ProcessSample(ProcessKey(7, 100.0, DeviceKey(0)), gpu_memory_utilization_percent=0)


def idle_times(
    *readings: tuple[float, int | None], encoder: int = 0
) -> list[tuple[float | None, bool]]:
    """Return the idle time after each reading: when, and the utilization at that time."""
    times = IdleTimes()
    found = []
    for now, sm in readings:
        process = PROCESS._replace(
            gpu_sm_utilization_percent=sm, gpu_encoder_utilization_percent=encoder
        )
        times.observe([process], now)
        (process,) = times.add_to([process])
        found.append((process.gpu_idle_seconds, process.is_idle_longer))
    return found


def test_idle_time_begins_with_the_last_use() -> None:
    readings = idle_times((0.0, 40), (2.0, 0), (32.0, 0), (34.0, 1), (36.0, 0))
    assert readings == [(0.0, False), (2.0, False), (32.0, False), (0.0, False), (2.0, False)]
    assert idle_times((0.0, 0), (2.0, 0), encoder=9)[-1] == (0.0, False)


def test_idle_process_may_have_been_idle_before_it_was_seen() -> None:
    assert idle_times((0.0, 0), (40.0, 0)) == [(None, False), (40.0, True)]


def test_nothing_is_claimed_about_times_without_observation() -> None:
    assert idle_times((0.0, 40), (2.0, None), (4.0, 0), (6.0, 0))[1:] == [
        (None, False),
        (None, False),
        (2.0, True),
    ]
    assert idle_times((0.0, 40), (61.0, 0), (63.0, 0))[1:] == [(None, False), (2.0, True)]
