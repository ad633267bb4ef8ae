"""Owners in samples: when they are read, and what happens if that hangs."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from typing import Any, Iterator

import pytest

from nvitop.owner import reading
from nvitop.owner.reading import HIDDEN
from nvitop.owner.types import Layer
from nvitop.sampling import owner_reader as owner_module
from nvitop.sampling.owner_reader import CGROUP_SECONDS, OwnerReader
from nvitop.sampling.threads import Watchdog
from nvitop.sampling.types import DeviceKey, Problem, ProcessKey, ProcessSample
from tests.clock import Clock
from tests.waiting import PATIENCE, Threads, wait_until

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='needs /proc')

GPU = DeviceKey(0, -1, 'GPU-0')
#: PIDs of no process.
PIDS = range(2**22 + 1, 2**22 + 21)
ONE, OTHER = PIDS[:2]
CONTAINER = '4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970'


def sample_of(pid: int, **values: Any) -> ProcessSample:
    return ProcessSample(ProcessKey(pid, -1.0, GPU))._replace(**values)


def texts(processes: tuple[ProcessSample, ...]) -> list[str]:
    return [str(process.owner) for process in processes]


class Files:
    """Files of processes, and how often each was read."""

    def __init__(self) -> None:
        self.cgroups: dict[int, str] = {}
        self.reads: Counter[str] = Counter()
        #: PIDs whose environment hangs until :attr:`let_go` is set.
        self.hanging: set[int] = set()
        self.let_go = threading.Event()

    def read(self, pid: int, name: str) -> bytes:
        self.reads[name] += 1
        if name == 'environ' and pid in self.hanging:
            assert self.let_go.wait(PATIENCE)
        if name == 'cgroup' and pid in self.cgroups:
            return self.cgroups[pid].encode()
        raise FileNotFoundError


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    files = Files()
    monkeypatch.setattr(reading, 'read_file', files.read)
    return files


@pytest.fixture
def reader(clock: Clock, files: Files) -> Iterator[OwnerReader]:
    threads = Threads()
    yield OwnerReader(Watchdog(start_thread=threads.start), clock=clock)
    files.let_go.set()
    threads.join()


def test_cgroup_is_read_once_and_again_only_while_it_is_shown(
    files: Files, reader: OwnerReader, clock: Clock
) -> None:
    files.cgroups = dict.fromkeys(PIDS, '0::/a.service')
    processes = tuple(map(sample_of, PIDS))
    visible = {processes[0].key}
    for _ in range(3):
        reader.read(processes, visible)
    assert texts(reader.read(processes, visible, wait=True)) == ['unit a.service'] * 20
    assert files.reads['cgroup'] == 20
    files.reads.clear()
    for _ in range(5):
        clock.turn(CGROUP_SECONDS / 5 - 0.1)
        reader.read(tuple(processes), visible)
    assert not files.reads
    clock.turn(0.5)
    reader.read(tuple(processes), visible)
    assert files.reads == Counter(cgroup=1)


def test_process_that_was_moved_has_another_owner(
    files: Files, reader: OwnerReader, clock: Clock
) -> None:
    files.cgroups = {ONE: '0::/a.service'}
    processes = (sample_of(ONE),)
    assert texts(reader.read(processes, wait=True)) == ['unit a.service']
    files.cgroups = {ONE: '0::/b.service'}
    assert texts(reader.read(processes)) == ['unit a.service']
    clock.turn(CGROUP_SECONDS)
    assert texts(reader.read(processes)) == ['unit b.service']
    # After it exited, its row keeps the last owner while it is listed.
    files.cgroups = {}
    clock.turn(CGROUP_SECONDS)
    assert texts(reader.read(processes)) == ['unit b.service']
    assert reader.read(()) == ()
    assert texts(reader.read(processes)) == ['None']


def test_sample_does_not_wait_for_a_process_that_hangs(
    files: Files, reader: OwnerReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_module, 'LOOKUP_SECONDS', 0.0)
    monkeypatch.setattr(owner_module, 'SHORTEST_LIMIT_SECONDS', 0.05)
    files.cgroups = {ONE: '0::/a.service', OTHER: '0::/docker/' + CONTAINER}
    files.hanging = {ONE}
    processes = (sample_of(ONE), sample_of(OTHER))
    expected = ['unit a.service', 'docker 4f797c539e6c']
    assert texts(reader.read(processes)) == expected

    def is_other_read() -> bool:
        assert texts(reader.read(processes)) == expected
        return files.reads['environ'] == 2

    wait_until(is_other_read, 'another thread reads the other process')


def test_few_threads_hang(
    files: Files, reader: OwnerReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_module, 'LOOKUP_SECONDS', 0.0)
    monkeypatch.setattr(owner_module, 'SHORTEST_LIMIT_SECONDS', 0.02)
    files.cgroups = dict.fromkeys(PIDS, '0::/a.service')
    files.hanging = {*PIDS}
    processes = tuple(map(sample_of, PIDS))
    before = threading.active_count()
    for _ in range(20):
        reader.read(processes, wait=True)
    assert threading.active_count() <= before + owner_module.MAX_STUCK + 1
    assert files.reads['environ'] == owner_module.MAX_STUCK


def test_hidden_processes_are_a_problem(
    files: Files, reader: OwnerReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('nvitop.api.process.procfs.is_hidden', lambda pid: True)
    assert texts(reader.read((sample_of(ONE), sample_of(OTHER)))) == ['None', 'None']
    assert reader.problems == (Problem('host', 'owner', HIDDEN, 'denied'),)


def test_reused_pid_gives_no_owner(
    files: Files, reader: OwnerReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.cgroups = {ONE: '0::/user.slice/user-5.slice/session-3.scope'}
    monkeypatch.setattr(owner_module, 'start_time_of', lambda pid: 99.0)
    monkeypatch.setattr(reading, '_login', lambda pid: (Layer('login', '0'),))
    for start_time, is_same in ((99.0, True), (98.0, False)):
        process = ProcessSample(ProcessKey(ONE, start_time, GPU))
        (found,) = reader.read((process,), wait=True)
        assert found.owner is not None
        assert (found.owner.login_user == '0') == is_same
