from __future__ import annotations

import contextlib
import copy
import doctest
import gc
import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from typing import Any, Iterator, cast

import psutil
import pytest

from nvitop.api.process import GpuProcess, HostProcess, linux, procfs
from nvitop.api.utils import NA, GiB, NaType, Snapshot
from nvitop.platforms import users
from tests.patience import PATIENCE, wait_until

linux_only = pytest.mark.skipif(not psutil.LINUX, reason='reads /proc')

gpuprocess: Any = importlib.import_module('nvitop.api.process.gpuprocess')

IMPOSSIBLE_PIDS = [2**31 - 1, 2**31 + 5, 2**32 - 1, 2**63 + 1, 2**64 - 1]


class _FakeDevice:
    """As much of a device as a process knows of."""

    def __init__(self, index: int, total: Any) -> None:
        self.index = index
        self.total = total
        self.listed: dict[int, GpuProcess] = {}

    def memory_total(self) -> Any:
        return self.total

    def processes(self) -> dict[int, GpuProcess]:
        return self.listed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FakeDevice) and other.index == self.index

    def __hash__(self) -> int:
        return hash(self.index)


def FakeDevice(index: int = 0, total: Any = 80 * GiB) -> Any:
    return _FakeDevice(index, total)


@contextlib.contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A child that answers a line with a line; it has done so when the block begins."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(b'\n')
        child.stdin.flush()
        assert child.stdout.readline() == b'\n'
        yield child
    finally:
        child.kill()
        child.communicate()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with running('cat') as process:
        yield process


@pytest.fixture
def zombie() -> Iterator[int]:
    with running('cat') as process:
        process.kill()
        wait_until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE, 'its end')
        yield process.pid


@pytest.fixture
def gone_pid() -> int:
    with running('cat') as process:
        pass
    return process.pid


@pytest.mark.parametrize(
    'module', ['command', 'facts', 'gpuprocess', 'hostprocess', 'linux', 'procfs']
)
def test_the_examples_of_the_documentation_are_true(module: str) -> None:
    assert not doctest.testmod(importlib.import_module(f'nvitop.api.process.{module}')).failed


# procfs


def test_a_name_may_hold_blanks_and_parentheses() -> None:
    stat = procfs.parse_stat(
        b'42 (a) b (c) S 1 42 42 0 -1 4194304 5 0 0 0 150 50 0 0 20 0 1 0 12345 9 7 18446744', 1000
    )
    seconds = 200 / os.sysconf('SC_CLK_TCK')
    assert stat == procfs.Stat('a) b (c', False, 'sleeping', seconds, 12345, 1000, 1, 1)


def test_the_words_for_letters_are_those_of_psutil() -> None:
    words = {getattr(psutil, name) for name in dir(psutil) if name.startswith('STATUS_')}
    assert set(procfs.STATUSES.values()) <= words
    assert procfs.ZOMBIE == psutil.STATUS_ZOMBIE


@linux_only
def test_files_say_what_psutil_says(child: subprocess.Popen[bytes]) -> None:
    process = psutil.Process(child.pid)
    assert procfs.read_uid(child.pid) == process.uids().real
    assert procfs.read_boot_time() == pytest.approx(psutil.boot_time(), abs=1)
    stat = procfs.read_stat(child.pid)
    assert stat is not None
    assert (stat.thread_count, stat.parent_pid) == (process.num_threads(), os.getpid())


@pytest.mark.parametrize(
    ('content', 'cmdline'),
    [
        (b'', []),
        (b'\0\0\0', []),
        (b'cat\0-n\0', ['cat', '-n']),
        (b'cat\0\0x\0', ['cat', '', 'x']),
        (b'ray::IDLE\0\0\0\0\0', ['ray::IDLE']),
        (b'sshd: alice [priv]\0', ['sshd: alice [priv]']),
        (b'nginx: worker process   ', ['nginx: worker process']),
        (b'caf\xe9\0x\0', ['caf\udce9', 'x']),
    ],
)
def test_a_command_line_is_taken_apart_whatever_was_written_over_it(
    content: bytes, cmdline: list[str]
) -> None:
    assert procfs.parse_cmdline(content) == cmdline


@linux_only
def test_a_long_command_line_is_read_whole() -> None:
    program = 'import sys; print(sys.stdin.readline(), end="", flush=True); sys.stdin.read()'
    arguments = ['-c', program, *['x' * 1000] * 50]
    with running(sys.executable, *arguments) as child:
        process = HostProcess(child.pid)
        assert process.cmdline() == [sys.executable, *arguments]


# HostProcess


def test_a_process_has_one_object(child: subprocess.Popen[bytes]) -> None:
    process = HostProcess(child.pid)
    assert HostProcess(child.pid) is process
    assert HostProcess.INSTANCES[child.pid] is process
    assert HostProcess() is HostProcess(os.getpid())
    assert process == psutil.Process(child.pid)
    assert hash(process) == hash(psutil.Process(child.pid))
    assert repr(process).startswith(f'HostProcess(pid={child.pid}, ')
    assert HostProcess.__module__ == 'nvitop.api.process'


def test_nobody_keeps_a_process_that_nobody_holds(child: subprocess.Popen[bytes]) -> None:
    process = HostProcess(child.pid)
    assert child.pid in HostProcess.INSTANCES
    del process
    gc.collect()
    assert child.pid not in HostProcess.INSTANCES


def test_copies_and_pickles_are_the_same_process(child: subprocess.Popen[bytes]) -> None:
    process = HostProcess(child.pid)
    assert copy.copy(process) is process
    assert copy.deepcopy(process) is process
    assert pickle.loads(pickle.dumps(process)) is process


@linux_only
def test_a_pid_that_is_used_again_is_another_process(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = HostProcess(child.pid)
    gpu_first = GpuProcess(child.pid, FakeDevice(), gpu_memory=1)
    real = procfs.read_stat

    def later(pid: int) -> procfs.Stat | None:
        stat = real(pid)
        return stat and stat._replace(start_ticks=stat.start_ticks + 100)

    real_ticks = procfs.read_start_ticks
    monkeypatch.setattr(procfs, 'read_stat', later)
    monkeypatch.setattr(procfs, 'read_start_ticks', lambda pid: (real_ticks(pid) or 0) + 100)
    second = HostProcess(child.pid)
    assert second is not first
    assert HostProcess(child.pid) is second
    assert not first.facts().is_running
    assert second.facts().is_running
    gpu_second = GpuProcess(child.pid, FakeDevice())
    assert gpu_second is not gpu_first
    assert gpu_second.gpu_memory() is NA


@pytest.fixture
def stats_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The PIDs whose ``stat`` was read."""
    pids: list[int] = []
    real = procfs._open

    def open_(pid: int, file: str) -> int:
        if file == 'stat':
            pids.append(pid)
        return real(pid, file)

    monkeypatch.setattr(procfs, '_open', open_)
    return pids


@linux_only
def test_in_one_look_the_stat_of_a_process_is_read_once(
    child: subprocess.Popen[bytes], stats_read: list[int]
) -> None:
    process = HostProcess(child.pid)
    stats_read.clear()
    with procfs.stat_cache():
        assert HostProcess(child.pid) is process
        assert process.facts().is_running
        assert stats_read == [child.pid]
        # Other threads look for themselves.
        other = threading.Thread(target=process.facts)
        other.start()
        other.join(60)
        assert stats_read == [child.pid] * 2
    assert HostProcess(child.pid) is process
    assert process.facts().is_running
    assert stats_read == [child.pid] * 4


@linux_only
def test_a_process_that_ends_in_one_look_is_gone() -> None:
    with running('cat') as child:
        process = HostProcess(child.pid)
        with procfs.stat_cache():
            assert process.is_same()
            child.kill()
            child.wait(60)
            assert process.facts().status == 'terminated'
        assert not process.is_same()


@linux_only
def test_a_hidden_process_stays_the_same_in_one_look(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(pid: int, file: str) -> int:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(procfs, '_open', forbidden)
        process = linux.LinuxProcess(child.pid)
        assert process.is_same()
        with procfs.stat_cache():
            assert process.is_same()
            assert process.facts().command == 'No Permissions'
    with procfs.stat_cache():
        assert not process.is_same()


@pytest.mark.parametrize('pid', IMPOSSIBLE_PIDS)
def test_a_pid_that_cannot_exist_is_a_process_that_is_gone(pid: int) -> None:
    process = HostProcess(pid)
    assert process.pid == pid
    assert HostProcess(pid) is process
    assert not process.is_running()
    assert not process.facts().is_running
    with pytest.raises(psutil.NoSuchProcess):
        process.name()
    with pytest.raises(psutil.NoSuchProcess):
        process.cmdline()
    assert process != HostProcess(pid - 2)
    gpu_process = GpuProcess(pid, FakeDevice(), gpu_memory=5)
    assert not gpu_process.is_running()
    assert str(pid) in repr(gpu_process)
    [snapshot] = GpuProcess.take_snapshots([gpu_process], failsafe=True)
    assert snapshot.pid == pid
    assert snapshot.command == 'No Such Process'


def test_a_negative_pid_is_a_value_error() -> None:
    with pytest.raises(ValueError, match='pid'):
        HostProcess(-1)


def test_a_process_that_is_gone_raises_only_when_asked(gone_pid: int) -> None:
    process = HostProcess(gone_pid)
    assert process.pid == gone_pid
    assert not process.is_running()
    assert 'terminated' in repr(process)
    for question in (process.username, process.cmdline, process.cpu_percent, process.rss_memory):
        with pytest.raises(psutil.NoSuchProcess):
            question()
    assert HostProcess(gone_pid) is process


def test_a_process_that_ends_is_noticed() -> None:
    with running('cat') as child:
        process = HostProcess(child.pid)
        assert process.facts().is_running
    assert process.facts() == (False, 'terminated', NA, NA, [], NA, NA, NA, NA, NA)
    assert HostProcess(child.pid) is not process
    assert not process.is_running()


def test_own_values(child: subprocess.Popen[bytes]) -> None:
    process = HostProcess(child.pid)
    assert process.username() == psutil.Process().username().rpartition('\\')[2]
    assert process.command() == 'cat'
    assert process.rss_memory() == process.memory_info().rss
    seconds = process.running_time_in_seconds()
    assert 0 <= seconds < 60
    assert process.running_time() >= timedelta(seconds=seconds)
    assert process.running_time_human().startswith('0:')
    assert HostProcess.elapsed_time is HostProcess.running_time
    assert HostProcess.elapsed_time_human is HostProcess.running_time_human
    assert HostProcess.elapsed_time_in_seconds is HostProcess.running_time_in_seconds


@pytest.mark.parametrize('action', ['kill', 'terminate', 'suspend', 'resume'])
def test_a_process_that_was_seen_gone_does_not_get_its_pid_back(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    process = HostProcess(child.pid)
    child.kill()
    child.wait()
    late = HostProcess(child.pid)  # never seen alive
    signalled: list[int] = []
    monkeypatch.setattr(os, 'kill', lambda pid, number: signalled.append(pid))
    assert not process.is_running()
    for each in (process, late):
        with pytest.raises(psutil.NoSuchProcess):
            getattr(each, action)()
    assert signalled == []


@linux_only
@pytest.mark.parametrize('hours', [-1, 1])
def test_running_times_do_not_follow_the_clock_on_the_wall(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    process = HostProcess(child.pid)
    before = process.running_time_in_seconds()
    wall_clock = time.time
    monkeypatch.setattr(time, 'time', lambda: wall_clock() + hours * 3600)
    assert before <= process.running_time_in_seconds() < before + PATIENCE
    facts = process.facts()
    assert not isinstance(facts.running_time_in_seconds, NaType)
    assert before <= facts.running_time_in_seconds < before + PATIENCE


def test_parents_and_children_are_host_processes(child: subprocess.Popen[bytes]) -> None:
    process = HostProcess(child.pid)
    assert process.parent() is HostProcess()
    assert process in HostProcess().children()
    assert process in HostProcess().children(recursive=True)
    assert all(type(parent) is HostProcess for parent in process.parents())
    top = process.parents()[-1]
    assert top.parent() is None


def test_cpu_percent_is_first_that_of_the_whole_life_then_that_since_the_last_call(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    used = 30.0

    class Times:
        user = property(lambda self: used)
        system = 0.0

    process = HostProcess(child.pid)
    monkeypatch.setattr(process, 'cpu_times', lambda: Times(), raising=False)
    monkeypatch.setattr(process, 'running_time_in_seconds', lambda: 60.0, raising=False)
    monkeypatch.setattr(time, 'monotonic', lambda: now)
    assert process.cpu_percent() == 50.0
    used += 1.0
    assert process.cpu_percent() == 50.0  # too soon to tell
    now += 0.5
    assert process.cpu_percent() == 200.0
    now += 2.0
    used += 0.5
    assert process.cpu_percent() == 25.0
    now += 1.0
    used -= 1.0
    assert process.cpu_percent() == 0.0


def test_cpu_percent_is_right_if_this_program_was_stopped_while_reading(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    stops: list[float] = []

    def cpu_times() -> Any:
        """The times of a process that uses one CPU; this program is stopped after reading them."""
        nonlocal now
        times = psutil.cpu_times()._replace(user=now, system=0.0)
        now += stops.pop() if stops else 0.0
        return times

    process = HostProcess(child.pid)
    monkeypatch.setattr(process, 'cpu_times', cpu_times, raising=False)
    monkeypatch.setattr(time, 'monotonic', lambda: now)
    process.cpu_percent()
    for stop in (0.0, 60.0, 0.0):
        stops.append(stop)
        now += 2.0
        assert process.cpu_percent() == 100.0


def test_running_time_on_other_platforms_does_not_follow_the_clock(
    child: subprocess.Popen[bytes],
    other_platform: type[HostProcess],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = other_platform(child.pid)
    before = process.running_time_in_seconds()
    wall_clock = time.time
    monkeypatch.setattr(time, 'time', lambda: wall_clock() + 3600)
    assert before <= process.running_time_in_seconds() < before + PATIENCE


def test_cpu_percent_of_a_busy_process_is_measured() -> None:
    process = HostProcess()
    process.cpu_percent()
    end = time.process_time() + 0.15
    while time.process_time() < end:
        pass
    assert process.cpu_percent() > 0  # how much more, who else is busy says
    assert process.cpu_percent(interval=0.01) >= 0


def test_a_snapshot_holds_everything_psutil_tells(child: subprocess.Popen[bytes]) -> None:
    process = HostProcess(child.pid)
    snapshot = process.as_snapshot()
    assert type(snapshot).__name__ == 'HostProcessSnapshot'
    assert snapshot.real is process
    assert set(snapshot) >= {'pid', 'name', 'status', 'cmdline', 'command', 'running_time'}
    assert set(snapshot) >= {'running_time_human', 'running_time_in_seconds', 'username'}
    assert dict(process.as_snapshot(['pid'])) == {'pid': child.pid}
    assert list(process.as_snapshot(['command', 'pid'])) == ['command', 'pid']
    assert list(process.as_snapshot(['command'])) == ['command']
    assert list(process.as_snapshot([])) == []
    with pytest.raises(ValueError, match='no_such_name'):
        process.as_snapshot(['no_such_name'])


def test_a_snapshot_has_another_value_for_what_is_forbidden(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = HostProcess(child.pid)

    def forbidden() -> object:
        raise psutil.AccessDenied(child.pid)

    monkeypatch.setattr(process, 'cmdline', forbidden, raising=False)
    snapshot = process.as_snapshot(['cmdline', 'command'], ad_value='secret')
    assert dict(snapshot) == {'cmdline': 'secret', 'command': 'secret'}


class OtherPlatformProcess(HostProcess):
    """A host process as on systems other than Linux; a class of its own has objects of its own."""


@pytest.fixture
def other_platform(monkeypatch: pytest.MonkeyPatch) -> type[HostProcess]:
    monkeypatch.setattr('nvitop.api.process.hostprocess.LINUX', False)
    return OtherPlatformProcess


@linux_only
def test_proc_and_psutil_agree(
    child: subprocess.Popen[bytes], other_platform: type[HostProcess]
) -> None:
    for pid in (child.pid, os.getpid(), os.getppid()):
        quick, slow = linux.LinuxProcess(pid).facts(), other_platform(pid).facts()
        for name in ('is_running', 'username', 'name', 'cmdline'):
            assert getattr(quick, name) == getattr(slow, name), name
        assert quick.create_time == pytest.approx(slow.create_time, abs=1)
        assert quick.host_memory == pytest.approx(slow.host_memory, rel=0.5)
        assert quick.memory_percent == pytest.approx(slow.memory_percent, rel=0.5)
        assert quick.running_time_in_seconds == pytest.approx(slow.running_time_in_seconds, abs=2)
        assert quick.status in vars(psutil).values()


@linux_only
def test_a_name_cut_by_the_kernel_is_completed(tmp_path: Any) -> None:
    program = tmp_path / 'a-program-with-a-long-name'
    program.symlink_to('/bin/cat')
    with running(str(program)) as child:
        process = HostProcess(child.pid)
        assert process.facts().name == process.name() == program.name


@linux_only
def test_psutil_reports_a_zombie(zombie: int, other_platform: type[HostProcess]) -> None:
    assert other_platform(zombie).facts().command == 'Zombie Process'


@linux_only
def test_a_zombie_is_one_and_a_kernel_thread_is_none(
    zombie: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = HostProcess(zombie)
    facts = process.facts()
    assert facts.is_running
    assert facts.status == psutil.STATUS_ZOMBIE
    assert facts.command == 'Zombie Process'
    with pytest.raises(psutil.ZombieProcess):
        process.cmdline()
    gpu_process = GpuProcess(zombie, FakeDevice())
    with pytest.raises(psutil.ZombieProcess):
        gpu_process.cmdline()
    with GpuProcess.failsafe():
        assert gpu_process.cmdline() == ['Zombie Process']
        assert gpu_process.status() == psutil.STATUS_ZOMBIE

    monkeypatch.setattr(procfs, 'read_cmdline', lambda pid: [])
    kernel_thread = HostProcess()
    assert kernel_thread.cmdline() == []
    assert kernel_thread.command() == ''
    name = kernel_thread.name()
    assert kernel_thread.facts().command == f'[{name}]'
    assert GpuProcess(os.getpid(), FakeDevice()).command() == f'[{name}]'


@linux_only
def test_a_process_that_ends_between_two_reads_is_gone(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = HostProcess(child.pid)

    def end(pid: int) -> list[str]:
        os.kill(pid, signal.SIGKILL)
        child.wait()
        return []

    monkeypatch.setattr(procfs, 'read_cmdline', end)
    assert process.facts().status == 'terminated'


@linux_only
def test_a_hidden_process_is_one_that_exists(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(pid: int, signal_: int) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(procfs, 'read_stat', lambda pid: None)
        patch.setattr(procfs, 'read_cmdline', lambda pid: [])
        patch.setattr(os, 'kill', forbidden)
        facts = HostProcess(child.pid).facts()
        assert facts.is_running
        assert facts.status is NA
        assert facts.command == 'No Permissions'
        process = GpuProcess(2**31 - 1, FakeDevice(), gpu_memory=1)
        assert process.is_running()
        assert not process.is_foreign()
        with GpuProcess.failsafe():
            assert process.cmdline() == ['No Permissions']


@linux_only
@pytest.mark.parametrize('file', ['stat', 'cmdline'])
def test_forbidden_files_are_no_error_in_a_list(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    process = GpuProcess(child.pid, FakeDevice())
    real = procfs._open

    def open_(pid: int, name: str) -> int:
        if name == file:
            raise PermissionError
        return real(pid, name)

    monkeypatch.setattr(procfs, '_open', open_)
    [snapshot] = GpuProcess.take_snapshots([process], failsafe=True)
    assert snapshot.is_running
    assert snapshot.cmdline == ['No Permissions']
    with pytest.raises(psutil.AccessDenied):
        GpuProcess.take_snapshots([process])
    if file == 'cmdline':
        with pytest.raises(psutil.AccessDenied):
            process.cmdline()
        with GpuProcess.failsafe():
            assert process.command() == 'No Permissions'


@linux_only
def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    asked = []

    def unknown(uid: int) -> object:
        asked.append(uid)
        raise KeyError(uid)

    users._known_name_of_user.cache_clear()
    monkeypatch.setattr(pwd, 'getpwuid', unknown)
    with running('cat') as child:
        process = HostProcess(child.pid)
        assert process.username() == process.username() == process.facts().username
        assert process.username() == str(os.getuid())
    assert asked.count(os.getuid()) <= 2
    users._known_name_of_user.cache_clear()


@linux_only
def test_a_changed_owner_is_noticed(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = HostProcess(child.pid)
    process.facts()
    monkeypatch.setattr(linux, 'name_of_user', lambda uid: 'alice')
    assert process.facts().username != 'alice'
    real = procfs.read_stat
    monkeypatch.setattr(
        procfs, 'read_stat', lambda pid: (stat := real(pid)) and stat._replace(owner=12345)
    )
    assert process.facts().username == process.username() == 'alice'


# GpuProcess


def test_a_gpu_process_has_one_object_on_a_device(child: subprocess.Popen[bytes]) -> None:
    device = FakeDevice(0)
    process = GpuProcess(child.pid, device, gpu_memory=123, type='C')
    assert GpuProcess(child.pid, FakeDevice(0)) is process
    assert process.pid == child.pid
    assert process.host is HostProcess(child.pid)
    assert process.device is device
    other = GpuProcess(child.pid, FakeDevice(1))
    assert other is not process
    assert other != process
    assert process != process.host
    assert hash(process) == hash(GpuProcess(child.pid, device))
    assert GpuProcess(None, device).pid == os.getpid()
    assert GpuProcess.INSTANCES[child.pid, device] is process
    assert GpuProcess.__module__ == 'nvitop.api.process'
    assert copy.copy(process) is process
    assert pickle.loads(pickle.dumps(process)) is process
    text = repr(process)
    assert text.startswith(f'GpuProcess(pid={child.pid}, gpu_memory=123B, type=C, device=')
    assert 'host=HostProcess(' in text


def test_a_device_is_not_asked_for_its_identity_while_others_wait(
    child: subprocess.Popen[bytes],
) -> None:
    lock: Any = GpuProcess.INSTANCE_LOCK
    held = []

    class SlowDevice(_FakeDevice):
        def __hash__(self) -> int:
            held.append(lock._is_owned())  # the first time a device asks the driver, which may hang
            return 0

    GpuProcess(child.pid, cast(Any, SlowDevice(0, GiB)))
    assert held[0] is False


def test_nobody_keeps_a_gpu_process_that_nobody_holds(child: subprocess.Popen[bytes]) -> None:
    device = FakeDevice()
    process = GpuProcess(child.pid, device)
    assert (child.pid, device) in GpuProcess.INSTANCES
    del process
    gc.collect()
    assert (child.pid, device) not in GpuProcess.INSTANCES


def test_values_that_are_not_given_stay_what_they_were(child: subprocess.Popen[bytes]) -> None:
    process = GpuProcess(child.pid, FakeDevice())
    for value in (
        process.gpu_memory(),
        process.gpu_memory_human(),
        process.gpu_memory_percent(),
        process.gpu_sm_utilization(),
        process.gpu_memory_utilization(),
        process.gpu_encoder_utilization(),
        process.gpu_decoder_utilization(),
        process.gpu_instance_id(),
        process.compute_instance_id(),
        process.type,
    ):
        assert value is NA
    GpuProcess(
        child.pid,
        FakeDevice(),
        gpu_memory=GiB,
        gpu_instance_id=1,
        compute_instance_id=0,
        type='G',
    )
    GpuProcess(child.pid, FakeDevice())
    assert process.gpu_memory() == GiB
    assert process.gpu_memory_human() == '1024MiB'
    assert process.gpu_memory_percent() == 1.2
    assert (process.gpu_instance_id(), process.compute_instance_id()) == (1, 0)
    assert process.type == 'G'
    process.set_gpu_utilization(1, 2, 3, 4)
    process.set_gpu_utilization(gpu_memory_utilization=20)
    process.set_gpu_utilization(None, None, None, NA)
    assert process.gpu_sm_utilization() == 1
    assert process.gpu_memory_utilization() == 20
    assert process.gpu_encoder_utilization() == 3
    assert process.gpu_decoder_utilization() is NA
    process.set_gpu_memory(NA)
    assert process.gpu_memory_human() is NA


@pytest.mark.parametrize('total', [NA, 0])
def test_memory_percent_of_an_unknown_total_is_na(
    child: subprocess.Popen[bytes], total: Any
) -> None:
    assert GpuProcess(child.pid, FakeDevice(total=total), gpu_memory=5).gpu_memory_percent() is NA


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        ('C', 'C'),
        ('G', 'G'),
        ('CG', 'C+G'),
        ('C+G', 'C+G'),
        (['G', 'C'], 'C+G'),
        ({'C'}, 'C'),
        ('M', 'M'),
        ('M+C', 'M'),
        ('X', 'N/A'),
        ('', 'N/A'),
        (NA, 'N/A'),
    ],
)
def test_types_are_brought_to_one_form(
    child: subprocess.Popen[bytes], value: Any, expected: str
) -> None:
    process = GpuProcess(child.pid, FakeDevice())
    process.type = 'G'
    process.type = value
    assert process.type == expected
    assert (process.type is NA) is (expected == 'N/A')


def test_update_gpu_status_asks_the_device(child: subprocess.Popen[bytes]) -> None:
    device = FakeDevice()
    process = GpuProcess(child.pid, device, gpu_memory=5)
    process.set_gpu_utilization(1, 2, 3, 4)
    device.listed = {child.pid: GpuProcess(child.pid, device, gpu_memory=7)}
    assert process.update_gpu_status() == 7
    assert process.gpu_sm_utilization() == 1
    device.listed = {}
    assert process.update_gpu_status() is NA
    assert process.gpu_sm_utilization() is NA


def test_other_names_are_those_of_the_host_process(child: subprocess.Popen[bytes]) -> None:
    process = GpuProcess(child.pid, FakeDevice())
    assert process.num_threads() == 1
    assert process.parent() is HostProcess()
    for name in ('no_such_name', '_private', '__len__'):
        with pytest.raises(AttributeError):
            getattr(process, name)


def test_questions_about_the_host_are_passed_on(child: subprocess.Popen[bytes]) -> None:
    process = GpuProcess(child.pid, FakeDevice())
    host = process.host
    assert process.is_running()
    assert process.status() in vars(psutil).values()
    assert process.create_time() == host.create_time()
    assert process.running_time() <= host.running_time()
    assert process.running_time_human().startswith('0:')
    assert 0 <= process.running_time_in_seconds() < 3600
    assert process.username() == host.username()
    assert process.name() == 'cat'
    assert process.cpu_percent() >= 0
    assert process.memory_percent() == pytest.approx(host.memory_percent(), rel=0.5)
    assert process.host_memory() == pytest.approx(host.rss_memory(), rel=0.5)
    assert process.host_memory_human().endswith('iB')
    assert (process.cmdline(), process.command()) == (['cat'], 'cat')
    for alias, name in [
        ('elapsed_time', 'running_time'),
        ('elapsed_time_human', 'running_time_human'),
        ('elapsed_time_in_seconds', 'running_time_in_seconds'),
        ('host_memory_percent', 'memory_percent'),
        ('rss_memory', 'host_memory'),
    ]:
        assert getattr(GpuProcess, alias) is getattr(GpuProcess, name)


QUESTIONS = [
    'status',
    'create_time',
    'running_time',
    'running_time_human',
    'running_time_in_seconds',
    'username',
    'name',
    'cpu_percent',
    'memory_percent',
    'host_memory',
    'host_memory_human',
    'cmdline',
    'command',
]


def test_a_process_that_is_gone_raises_but_in_failsafe(gone_pid: int) -> None:
    process = GpuProcess(gone_pid, FakeDevice(), gpu_memory=3)
    assert not process.is_running()
    for name in (*QUESTIONS, 'host_snapshot', 'as_snapshot'):
        with pytest.raises(psutil.NoSuchProcess):
            getattr(process, name)()
    with GpuProcess.failsafe():
        assert not process.is_running()
        answers = {name: getattr(process, name)() for name in QUESTIONS}
        with GpuProcess.failsafe():
            pass
        snapshot = process.as_snapshot()
        with pytest.raises(psutil.NoSuchProcess):
            process.num_threads()
    assert answers.pop('status') == snapshot.status == 'terminated'
    assert answers.pop('cmdline') == snapshot.cmdline == ['No Such Process']
    assert answers.pop('command') == snapshot.command == 'No Such Process'
    for name, answer in answers.items():
        assert answer is NA, name
        assert name == 'create_time' or snapshot[name] is NA, name
    assert snapshot.gpu_memory == 3
    with pytest.raises(psutil.NoSuchProcess):
        process.name()


def test_failsafe_is_of_one_thread_and_ends_with_an_error(gone_pid: int) -> None:
    process = GpuProcess(gone_pid, FakeDevice())
    raised = []

    def ask() -> None:
        try:
            process.name()
        except psutil.NoSuchProcess as ex:
            raised.append(ex)

    with GpuProcess.failsafe():
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(PATIENCE)
        assert process.name() is NA
    assert len(raised) == 1
    with contextlib.suppress(OSError), GpuProcess.failsafe():
        raise OSError
    with pytest.raises(psutil.NoSuchProcess):
        process.name()


def test_a_pid_of_another_namespace_is_recognised(
    gone_pid: int, child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = GpuProcess(gone_pid, FakeDevice(), gpu_memory=5)
    alive = GpuProcess(child.pid, FakeDevice(), gpu_memory=5)
    monkeypatch.setattr(procfs, 'in_pid_namespace', lambda: False)
    assert not gone.is_foreign()
    monkeypatch.setattr(procfs, 'in_pid_namespace', lambda: True)
    assert gone.is_foreign()
    assert not alive.is_foreign()
    gone.set_gpu_memory(NA)
    assert not gone.is_foreign()


def test_the_pid_namespace_is_told_by_the_system(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / 'self' / 'ns').mkdir(parents=True)
    link = tmp_path / 'self' / 'ns' / 'pid'
    monkeypatch.setattr(psutil, 'PROCFS_PATH', str(tmp_path), raising=False)
    assert not procfs.in_pid_namespace()
    link.symlink_to('pid:[4026532190]')
    assert procfs.in_pid_namespace()
    link.unlink()
    link.symlink_to('pid:[4026531836]')
    assert not procfs.in_pid_namespace()


SNAPSHOT_FIELDS = {
    'pid',
    'host',
    'is_running',
    'status',
    'username',
    'name',
    'cmdline',
    'command',
    'cpu_percent',
    'memory_percent',
    'host_memory',
    'host_memory_human',
    'running_time',
    'running_time_human',
    'running_time_in_seconds',
    'device',
    'type',
    'gpu_instance_id',
    'compute_instance_id',
    'gpu_memory',
    'gpu_memory_human',
    'gpu_memory_percent',
    'gpu_sm_utilization',
    'gpu_memory_utilization',
    'gpu_encoder_utilization',
    'gpu_decoder_utilization',
}


def test_a_snapshot_of_a_gpu_process_holds_everything(child: subprocess.Popen[bytes]) -> None:
    process = GpuProcess(child.pid, FakeDevice(), gpu_memory=GiB, type='C', gpu_instance_id=2)
    process.set_gpu_utilization(1, 2, 3, 4)
    snapshot = process.as_snapshot()
    assert type(snapshot).__name__ == 'GpuProcessSnapshot'
    assert set(snapshot) == SNAPSHOT_FIELDS
    assert snapshot.real is process
    assert snapshot.pid == child.pid
    assert snapshot.device is process.device
    assert isinstance(snapshot.host, Snapshot)
    assert snapshot.host.real is process.host
    assert snapshot.is_running is True
    assert (snapshot.name, snapshot.cmdline, snapshot.command) == ('cat', ['cat'], 'cat')
    assert snapshot.running_time == timedelta(seconds=snapshot.running_time_in_seconds)
    assert snapshot.host_memory > 0
    assert snapshot.type == 'C'
    assert snapshot.gpu_memory_percent == 1.2
    assert (snapshot.gpu_instance_id, snapshot.compute_instance_id) == (2, NA)
    assert (snapshot.gpu_sm_utilization, snapshot.gpu_decoder_utilization) == (1, 4)
    pickled = pickle.loads(pickle.dumps(snapshot))
    assert dict(pickled)['command'] == 'cat'


def test_the_host_is_asked_once_for_a_process_on_many_devices(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    real = HostProcess.facts

    def facts(self: HostProcess) -> Any:
        asked.append(self.pid)
        return real(self)

    monkeypatch.setattr(HostProcess, 'facts', facts)
    processes = [GpuProcess(child.pid, FakeDevice(index), gpu_memory=index) for index in range(8)]
    processes.append(GpuProcess(None, FakeDevice()))
    snapshots = GpuProcess.take_snapshots(processes)
    assert [snapshot.real for snapshot in snapshots] == processes
    assert sorted(asked) == sorted([child.pid, os.getpid()])
    cache: dict[int, Snapshot] = {}
    processes[0].as_snapshot(host_process_snapshot_cache=cache)
    assert set(cache) == {child.pid}
    assert len({id(snapshot.host) for snapshot in snapshots[:8]}) == 1


class SecretProcess(GpuProcess):
    """A process that hides what it is."""

    def command(self) -> str:
        return 'hidden'

    def gpu_memory(self) -> int:
        return 40 * GiB


def test_snapshots_use_overridden_methods(child: subprocess.Popen[bytes]) -> None:
    plain = GpuProcess(child.pid, FakeDevice(0), gpu_memory=1)
    secret = SecretProcess(child.pid, FakeDevice(1), gpu_memory=1)
    [of_plain, of_secret] = GpuProcess.take_snapshots([plain, secret])
    assert (of_plain.command, of_secret.command) == ('cat', 'hidden')
    assert (of_plain.gpu_memory, of_secret.gpu_memory) == (1, 40 * GiB)
    assert (of_secret.gpu_memory_human, of_secret.gpu_memory_percent) == ('40.00GiB', 50.0)
    assert set(of_secret) == SNAPSHOT_FIELDS
    assert of_secret.host.command == 'hidden'
    assert secret.as_snapshot().command == secret.host_snapshot().command == 'hidden'


def test_snapshots_use_patched_methods(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = GpuProcess(child.pid, FakeDevice())
    with monkeypatch.context() as patch:
        patch.setattr(GpuProcess, 'username', lambda self: 'alice')
        assert process.as_snapshot().username == 'alice'
    with monkeypatch.context() as patch:
        patch.setattr(HostProcess, 'cmdline', lambda self: ['patched'])
        assert process.as_snapshot().command == process.command() == 'patched'
    with monkeypatch.context() as patch:
        patch.setattr(process, 'name', lambda: 'a name of its own', raising=False)
        assert process.as_snapshot().name == 'a name of its own'
    assert process.as_snapshot().name == 'cat'


def test_overridden_methods_raise_except_in_failsafe(gone_pid: int) -> None:
    process = SecretProcess(gone_pid, FakeDevice())
    with pytest.raises(psutil.NoSuchProcess):
        process.as_snapshot()
    [snapshot] = GpuProcess.take_snapshots([process], failsafe=True)
    assert (snapshot.command, snapshot.name, snapshot.status) == ('hidden', NA, 'terminated')


def test_threads_get_the_same_objects(child: subprocess.Popen[bytes]) -> None:
    device = FakeDevice()
    barrier = threading.Barrier(16)
    found: list[GpuProcess] = []

    def ask() -> None:
        barrier.wait(PATIENCE)
        found.append(GpuProcess(child.pid, device))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(found) == 16
    assert len(set(map(id, found))) == 1
