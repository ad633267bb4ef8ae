from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest

from nvitop.api import host
from nvitop.api.process import HostFacts
from nvitop.api.utils import NA
from nvitop.sampling import process as module
from nvitop.sampling.gpu import ProcessRecord
from nvitop.sampling.process import ProcessReader
from nvitop.sampling.types import HostSample, ProcessKey, ProcessSample
from tests.patience import PATIENCE
from tests.sampling.fakes import Clock, device_key

ME = HostSample(username='me')
START = 1.7e9


def facts(cpu: float | str = 10.0, **values: Any) -> HostFacts:
    return HostFacts(
        is_running=True,
        status='running',
        username='me',
        name='python3',
        cmdline=['python3', 'train.py'],
        cpu_percent=cpu,  # type: ignore[arg-type]
        memory_percent=1.5,
        host_memory=1 << 20,
        create_time=START,
        running_time_in_seconds=5.0,
    )._replace(**values)


GONE = facts(
    NA,
    is_running=False,
    username=NA,
    name=NA,
    cmdline=[],
    create_time=NA,
    running_time_in_seconds=NA,
)


class FakeProcess:
    """A process of the host that counts how often it is looked at; the last one has the PID."""

    by_pid: ClassVar[dict[int, FakeProcess]] = {}

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

    def facts(self) -> HostFacts:
        self.reads += 1
        return self.known if self.is_same() else GONE

    def measured_again(self, known: HostFacts) -> HostFacts:
        self.short_reads += 1
        return known._replace(cpu_percent=self.known.cpu_percent)

    def num_threads(self) -> int:
        return 4


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeProcess, 'by_pid', {})
    monkeypatch.setattr(module, 'observed', lambda pid: FakeProcess.by_pid[pid])
    monkeypatch.setattr(module, 'in_pid_namespace', lambda: False)


def row(process: FakeProcess, device: int = 0, memory: int | None = 1 << 30) -> ProcessRecord:
    return ProcessRecord(
        device_key(device), process.pid, 'C', memory, 12.5, 50, 20, 0, 0, None, None
    )


def key(pid: int, device: int = 0, start: float = START) -> ProcessKey:
    return ProcessKey(pid, start, device_key(device))


class Bench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.reader = ProcessReader(clock=self.clock, uptime=lambda: 1e6 + self.clock.now)

    def read(self, *rows: ProcessRecord, **options: Any) -> tuple[ProcessSample, ...]:
        self.reading = self.reader.read(rows, options.pop('visible', None), ME, **options)
        return self.reading.processes


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_process_has_what_device_and_host_say(bench: Bench) -> None:
    (sample,) = bench.read(row(FakeProcess(7)))
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


def test_processes_that_nobody_sees_are_looked_at_in_turn(bench: Bench) -> None:
    """A reading costs what is visible, and a PID used again is found all the same."""
    processes = [FakeProcess(pid) for pid in range(1, 3 * module.CHECKED_UNSEEN)]
    rows = [row(process) for process in processes]
    seen = frozenset({key(1)})
    bench.read(*rows, visible=seen)
    for process in processes:
        process.checks = 0
    bench.read(*rows, visible=seen)
    assert sum(process.checks for process in processes) <= module.CHECKED_UNSEEN + 1
    FakeProcess(200, facts(create_time=START + 9)).known = facts(create_time=START + 9)
    for _ in range(3):
        samples = bench.read(*rows, visible=seen)
    assert all(process.checks for process in processes[1:])
    assert {s.key.start_time for s in samples if s.key.pid == 200} == {START + 9}


def test_only_what_is_measured_is_looked_at_between_readings(bench: Bench) -> None:
    processes = [FakeProcess(pid) for pid in range(1, 9)]
    rows = [row(process) for process in processes]
    bench.read(*rows)
    for process in processes:
        process.checks = 0
    bench.clock.now += 0.25
    bench.read(*rows, measure=frozenset({key(3)}))
    assert [process.pid for process in processes if process.checks or process.reads > 1] == []
    assert processes[2].short_reads == 1


def test_between_readings_what_nobody_sees_is_told_as_before(bench: Bench) -> None:
    rows = [row(FakeProcess(pid)) for pid in (1, 2, 3)]
    first = bench.read(*rows, visible=frozenset({key(1)}))
    bench.clock.now += 0.25
    second = bench.read(*rows, visible=frozenset({key(2)}), measure=frozenset({key(2)}))
    assert second[2] is first[2]
    assert [sample.cpu_percent for sample in second] == [None, 10.0, None]
    assert [sample.host_memory_bytes for sample in second] == [None, 1 << 20, None]
    bench.clock.now += 0.25
    third = bench.read(rows[0], rows[2], visible=frozenset({key(1)}), measure=frozenset({key(1)}))
    assert [(sample.key.pid, sample.cpu_percent) for sample in third] == [(1, 10.0), (3, None)]


def test_cpu_percent_needs_a_second_reading(bench: Bench) -> None:
    process = FakeProcess(7, facts(99.9))
    (sample,) = bench.read(row(process))
    assert sample.cpu_percent is None  # what the API gives at first is a mean over the whole life
    assert bench.reading.begun == {7}
    bench.clock.now += 0.25
    process.known = facts(12.0)
    (sample,) = bench.read(row(process))
    assert sample.cpu_percent == 12.0
    assert bench.reading.begun == frozenset()


def test_cpu_percent_over_a_time_too_long_is_not_given(bench: Bench) -> None:
    process = FakeProcess(7)
    bench.read(row(process))
    bench.clock.now += 2.0
    assert bench.read(row(process))[0].cpu_percent == 10.0
    bench.clock.now += module.LONGEST_CPU_SECONDS + 1
    assert bench.read(row(process))[0].cpu_percent is None
    assert bench.reading.begun == {7}


def test_a_second_look_a_moment_later_reads_only_the_cpu_time(bench: Bench) -> None:
    process = FakeProcess(7)
    bench.read(row(process))
    bench.clock.now += 0.105
    process.known = facts(12.0, cmdline=['another title'])
    (sample,) = bench.read(row(process))
    assert (process.reads, process.short_reads) == (1, 1)
    assert (sample.cpu_percent, sample.command) == (12.0, 'python3 train.py')
    bench.clock.now += 2.0
    assert bench.read(row(process))[0].command == 'another title'


def test_a_process_out_of_view_whose_pid_is_used_again_is_another(bench: Bench) -> None:
    bench.read(row(FakeProcess(7)), visible=())
    bench.clock.now += 2.0
    (sample,) = bench.read(row(FakeProcess(7, facts(cmdline=['other']))), visible=())
    assert sample.command == 'other'


def test_a_process_on_many_devices_is_looked_at_once(bench: Bench) -> None:
    process = FakeProcess(7)
    rows = [row(process, device) for device in range(8)]
    bench.read(*rows)
    bench.clock.now += 2.0
    samples = bench.read(*rows)
    assert process.reads == 2
    assert [s.cpu_percent for s in samples] == [10.0] * 8
    assert [s.key.device.physical_index for s in samples] == list(range(8))


def test_processes_out_of_view_are_looked_at_once_for_their_name(bench: Bench) -> None:
    shown, hidden = FakeProcess(1), FakeProcess(2)
    for _ in range(3):
        first, second = bench.read(row(shown), row(hidden), visible={key(1)})
        bench.clock.now += 2.0
    assert (shown.reads, hidden.reads) == (3, 1)
    assert first.cpu_percent == 10.0
    assert (second.cpu_percent, second.memory_percent, second.host_memory_bytes) == (None,) * 3
    assert second.command == 'python3 train.py'
    assert second.running_time_seconds == 5.0 + 4.0


def test_only_those_to_be_measured_are_looked_at_and_the_others_keep_their_values(
    bench: Bench,
) -> None:
    a, b = FakeProcess(1), FakeProcess(2)
    bench.read(row(a), row(b))
    bench.clock.now += 2.0
    bench.read(row(a), row(b))
    a.known = b.known = facts(77.0)
    bench.clock.now += 0.25
    first, second = bench.read(row(a), row(b), measure={key(2)})
    assert (first.cpu_percent, second.cpu_percent) == (10.0, 77.0)


def test_a_pid_used_again_is_another_process(bench: Bench) -> None:
    bench.read(row(FakeProcess(7)))
    bench.clock.now += 2.0
    later = FakeProcess(7, facts(5.0, create_time=START + 30, cmdline=['other']))
    (sample,) = bench.read(row(later))
    assert sample.key.start_time == START + 30
    assert sample.command == 'other'
    assert sample.cpu_percent is None


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
def test_the_status_says_what_is_to_be_said(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    known: HostFacts,
    in_namespace: bool,
    memory: int | None,
    status: str,
    command: str | None,
) -> None:
    monkeypatch.setattr(module, 'in_pid_namespace', lambda: in_namespace)
    (sample,) = bench.read(row(FakeProcess(7, known), memory=memory))
    assert (sample.status, sample.command) == (status, command)
    assert sample.is_own == known.is_running
    assert (sample.key.start_time == -1.0) == (not known.is_running)
    assert sample.running_time_seconds == (5.0 if known.is_running else None)


def test_processes_of_others_are_own_only_to_the_superuser(bench: Bench) -> None:
    other = row(FakeProcess(7, facts(username='ada')))
    assert not bench.read(other)[0].is_own
    reading = bench.reader.read([other], None, ME._replace(is_superuser=True))
    assert reading.processes[0].is_own


def test_processes_stand_in_natural_order(bench: Bench) -> None:
    rows = [
        row(FakeProcess(9, facts(username='ada')), 1),
        row(FakeProcess(8, facts(username='bob')), 0),
        row(FakeProcess(7, facts(username='bob')), 0),
        row(FakeProcess(10, facts(username='ada')), 0),
    ]
    assert [(s.key.device.physical_index, s.key.pid) for s in bench.read(*rows)] == [
        (0, 10),
        (0, 7),
        (0, 8),
        (1, 9),
    ]


def test_what_is_not_listed_any_more_is_forgotten(bench: Bench) -> None:
    process = FakeProcess(7)
    bench.read(row(process))
    bench.read()
    bench.clock.now += 2.0
    bench.read(row(process))
    assert process.reads == 2
    assert bench.reading.begun == {7}


class StuckProcess(FakeProcess):
    """A process whose command line cannot be read for now: the kernel holds its memory."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid, facts())
        self.entered, self.let_go = threading.Event(), threading.Event()

    def facts(self) -> HostFacts:
        self.entered.set()
        assert self.let_go.wait(PATIENCE)
        return super().facts()


def test_a_process_that_cannot_be_looked_at_is_left_alone_until_it_can(bench: Bench) -> None:
    stuck, healthy = StuckProcess(7), FakeProcess(8)
    rows = [row(stuck), row(healthy)]
    thread = threading.Thread(target=bench.reader.read, args=(rows, None, ME), daemon=True)
    thread.start()
    assert stuck.entered.wait(PATIENCE)
    bench.reader = bench.reader.renewed()
    first, second = bench.read(*rows)
    assert (first.status, first.command, first.gpu_memory_bytes) == ('running', None, 1 << 30)
    assert second.command == 'python3 train.py'
    (problem,) = bench.reading.problems
    assert (problem.subject, problem.kind) == ('process 7', 'timed out')
    stuck.let_go.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    bench.clock.now += 2.0
    first, _ = bench.read(*rows)
    assert first.command == 'python3 train.py'
    assert bench.reading.problems == ()


@pytest.fixture
def family(_host: None, monkeypatch: pytest.MonkeyPatch) -> dict[int, FakeProcess]:
    """1 started 10 and 20; 10 started 100, 100 started 1000, 1000 started 10000; 20 stays alone."""
    parents = {1: 0, 10: 1, 20: 1, 100: 10, 1000: 100, 1001: 100, 10000: 1000}
    monkeypatch.setattr(host, 'ppid_map', lambda: parents)
    return {pid: FakeProcess(pid, facts(cmdline=[f'p{pid}'])) for pid in parents}


def test_the_tree_holds_ancestors_and_children_of_gpu_processes(
    bench: Bench, family: dict[int, FakeProcess]
) -> None:
    process = family[100]
    bench.read(row(process), tree=True)
    tree = {sample.pid: sample for sample in bench.reading.host_processes}
    assert sorted(tree) == [1, 10, 100, 1000, 1001]
    assert tree[100].devices == (device_key(0),)
    assert tree[100].parent_pid == 10
    assert tree[10].devices == ()
    assert tree[10].command == 'p10'
    assert tree[10].thread_count == 4
    assert tree[10].cpu_percent is None
    assert bench.reading.begun == {1, 10, 100, 1000, 1001}
    bench.clock.now += 0.25
    bench.read(row(process), tree=True)
    assert all(sample.cpu_percent == 10.0 for sample in bench.reading.host_processes)


def test_gone_and_foreign_processes_are_roots_of_the_tree(
    bench: Bench, family: dict[int, FakeProcess]
) -> None:
    bench.read(row(FakeProcess(77, GONE)), tree=True)
    (sample,) = bench.reading.host_processes
    assert (sample.pid, sample.parent_pid, sample.status) == (77, None, 'gone')


def test_without_the_tree_nothing_of_it_is_read(
    bench: Bench, family: dict[int, FakeProcess]
) -> None:
    bench.read(row(family[100]))
    assert bench.reading.host_processes == ()
    assert family[10].reads == 0
