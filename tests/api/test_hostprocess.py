"""HostProcess: identity, values, snapshots, reading /proc, and command lines as text."""

from __future__ import annotations

import copy
import gc
import os
import pathlib
import pickle
import random
import shlex
import string
import subprocess
import sys
import time
from typing import Any
from unittest import mock

import psutil
import pytest

from nvitop.api.process import GpuProcess, HostProcess, command_join, observed, procfs
from nvitop.api.process.facts import quote_posix, quote_windows
from tests.api.processes import FakeDevice, linux_only, running
from tests.waiting import PATIENCE

IMPOSSIBLE_PIDS = [2**31 - 1, 2**31 + 5, 2**32 - 1, 2**63 + 1, 2**64 - 1]


class OtherPlatformProcess(HostProcess):
    """A host process as on systems other than Linux; subclasses have objects of their own."""


@pytest.fixture
def other_platform(monkeypatch: pytest.MonkeyPatch) -> type[HostProcess]:
    monkeypatch.setattr('nvitop.api.process.hostprocess.LINUX', False)
    return OtherPlatformProcess


# Identity


def test_process_has_one_object_until_it_is_unreferenced(child: subprocess.Popen[bytes]) -> None:
    process = HostProcess(child.pid)
    assert HostProcess(child.pid) is process
    assert HostProcess.INSTANCES[child.pid] is process
    assert HostProcess() is HostProcess(os.getpid())
    assert process == psutil.Process(child.pid)
    assert hash(process) == hash(psutil.Process(child.pid))
    for text in (repr(process), str(process)):  # the status in them may differ: it is read for each
        assert text.startswith(f'HostProcess(pid={child.pid}, ')
        assert "started='" in text
    for copied in (copy.copy(process), copy.deepcopy(process), pickle.loads(pickle.dumps(process))):
        assert copied is process
    del process, copied
    gc.collect()
    assert child.pid not in HostProcess.INSTANCES


@pytest.mark.parametrize('pid', IMPOSSIBLE_PIDS)
def test_impossible_pid_is_a_process_that_does_not_exist(pid: int) -> None:
    process = HostProcess(pid)
    assert process.pid == pid
    assert HostProcess(pid) is process
    assert not process.is_running()
    assert not process.facts().is_running
    for method in (process.name, process.cmdline):
        with pytest.raises(psutil.NoSuchProcess):
            method()
    assert process != HostProcess(pid - 2)
    with pytest.raises(ValueError, match='pid'):
        HostProcess(-pid)
    gpu_process = GpuProcess(pid, FakeDevice(), gpu_memory=5)
    assert str(pid) in repr(gpu_process)
    [snapshot] = GpuProcess.take_snapshots([gpu_process], failsafe=True)
    assert (snapshot.pid, snapshot.command) == (pid, 'No Such Process')


def test_exited_process_raises_in_methods_only(gone_pid: int) -> None:
    process = HostProcess(gone_pid)
    assert process.pid == gone_pid
    assert not process.is_running()
    assert 'terminated' in repr(process)
    with process.oneshot():
        for name in ('username', 'cmdline', 'cpu_percent', 'rss_memory', 'cwd', 'environ'):
            with pytest.raises(psutil.NoSuchProcess) as raised:
                getattr(process, name)()
            assert raised.value.pid == gone_pid
            assert str(2**31 - 1) not in str(raised.value)
    assert process.wait(0.0) is None
    assert HostProcess(gone_pid) is process


@pytest.mark.parametrize('action', ['kill', 'terminate', 'suspend', 'resume'])
def test_exited_process_is_not_signaled_if_its_pid_is_reused(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    process = HostProcess(child.pid)
    child.kill()
    child.wait()
    late = HostProcess(child.pid)  # never seen running
    signaled: list[int] = []
    monkeypatch.setattr(os, 'kill', lambda pid, number: signaled.append(pid))
    assert not process.is_running()
    for each in (process, late):
        with pytest.raises(psutil.NoSuchProcess):
            getattr(each, action)()
    assert signaled == []


# Values


def test_parents_and_children_are_host_processes(child: subprocess.Popen[bytes]) -> None:
    process = HostProcess(child.pid)
    assert process.parent() is HostProcess()
    assert process in HostProcess().children()
    assert process in HostProcess().children(recursive=True)
    assert all(type(parent) is HostProcess for parent in process.parents())
    assert process.parents()[-1].parent() is None
    names = observed.names_above(100)
    parents = psutil.Process().parents()
    assert names
    assert all(each.name().startswith(name) for each, name in zip(parents, names))
    assert {os.getpid(), *(each.pid for each in parents)} <= observed.own_ancestry()


@linux_only
def test_proc_and_psutil_agree(
    child: subprocess.Popen[bytes], other_platform: type[HostProcess]
) -> None:
    for pid in (child.pid, os.getpid(), os.getppid()):
        quick, slow = observed.LinuxProcess(pid).facts(), other_platform(pid).facts()
        for name in ('is_running', 'username', 'name', 'cmdline'):
            assert getattr(quick, name) == getattr(slow, name), name
        assert quick.create_time == pytest.approx(slow.create_time, abs=1)
        assert quick.host_memory == pytest.approx(slow.host_memory, rel=0.5)
        assert quick.memory_percent == pytest.approx(slow.memory_percent, rel=0.5)
        assert quick.running_time_in_seconds == pytest.approx(slow.running_time_in_seconds, abs=2)
        assert quick.status in vars(psutil).values()


@pytest.mark.parametrize('hours', [-1, 1])
@pytest.mark.parametrize('platform', [HostProcess, OtherPlatformProcess])
def test_running_time_does_not_follow_the_wall_clock(
    child: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
    platform: type[HostProcess],
    hours: int,
) -> None:
    monkeypatch.setattr('nvitop.api.process.hostprocess.LINUX', platform is HostProcess)
    process = platform(child.pid)
    before = process.running_time_in_seconds()
    wall_clock = time.time
    monkeypatch.setattr(time, 'time', lambda: wall_clock() + hours * 3600)
    assert before <= process.running_time_in_seconds() < before + PATIENCE
    seconds = process.facts().running_time_in_seconds
    assert seconds is not None
    assert before <= seconds < before + PATIENCE


@linux_only
def test_zombie(zombie: int, monkeypatch: pytest.MonkeyPatch) -> None:
    process = HostProcess(zombie)
    facts = process.facts()
    assert (facts.is_running, facts.status) == (True, psutil.STATUS_ZOMBIE)
    assert facts.command == 'Zombie Process'
    with pytest.raises(psutil.ZombieProcess):
        process.cmdline()
    gpu_process = GpuProcess(zombie, FakeDevice())
    with pytest.raises(psutil.ZombieProcess):
        gpu_process.cmdline()
    with GpuProcess.failsafe():
        assert gpu_process.cmdline() == ['Zombie Process']
        assert gpu_process.status() == psutil.STATUS_ZOMBIE
    monkeypatch.setattr('nvitop.api.process.hostprocess.LINUX', False)
    assert OtherPlatformProcess(zombie).facts().command == 'Zombie Process'


# CPU usage


def test_cpu_percent_covers_the_life_then_the_time_since_the_last_call(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, used = 1000.0, 30.0
    times = psutil.cpu_times()
    process = HostProcess(child.pid)
    monkeypatch.setattr(
        process, 'cpu_times', lambda: times._replace(user=used, system=0.0), raising=False
    )
    monkeypatch.setattr(process, 'running_time_in_seconds', lambda: 60.0, raising=False)
    monkeypatch.setattr(time, 'monotonic', lambda: now)
    assert process.cpu_percent() == 50.0
    for seconds, more, percent in [
        (0.0, 1.0, 50.0),  # too soon for a new value
        (0.5, 0.0, 200.0),
        (2.0, 0.5, 25.0),
        (1.0, -1.0, 0.0),
    ]:
        now, used = now + seconds, used + more
        assert process.cpu_percent() == percent


# Snapshots


def test_snapshot_has_the_values_of_psutil(child: subprocess.Popen[bytes]) -> None:
    process = HostProcess(child.pid)
    snapshot = process.as_snapshot()
    assert type(snapshot).__name__ == 'HostProcessSnapshot'
    assert snapshot.real is process
    assert set(snapshot) >= {'pid', 'name', 'status', 'cmdline', 'command', 'running_time'}
    assert set(snapshot) >= {'running_time_human', 'running_time_in_seconds', 'username'}
    assert dict(process.as_snapshot(['pid'])) == {'pid': child.pid}
    assert list(process.as_snapshot(['command', 'pid'])) == ['command', 'pid']
    assert list(process.as_snapshot([])) == []
    with pytest.raises(ValueError, match='no_such_name'):
        process.as_snapshot(['no_such_name'])


def test_snapshot_replaces_values_without_permission(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = HostProcess(child.pid)

    def deny() -> object:
        raise psutil.AccessDenied(child.pid)

    monkeypatch.setattr(process, 'cmdline', deny, raising=False)
    snapshot = process.as_snapshot(['cmdline', 'command'], ad_value='secret')
    assert dict(snapshot) == {'cmdline': 'secret', 'command': 'secret'}


def test_program_name_may_contain_spaces_and_parentheses() -> None:
    stat = procfs.parse_stat(
        b'42 (a) b (c) S 1 42 42 0 -1 4194304 5 0 0 0 150 50 0 0 20 0 1 0 12345 9 7 18446744', 1000
    )
    seconds = 200 / os.sysconf('SC_CLK_TCK')
    assert stat == procfs.Stat('a) b (c', False, 'sleeping', seconds, 12345, 1000, 1, 1)


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
def test_command_line_or_title_is_parsed(content: bytes, cmdline: list[str]) -> None:
    assert procfs.parse_cmdline(content) == cmdline


@linux_only
def test_program_name_truncated_by_the_kernel_is_completed(tmp_path: pathlib.Path) -> None:
    program = tmp_path / 'a-program-with-a-long-name'
    program.symlink_to('/bin/cat')
    with running(str(program)) as child:
        process = HostProcess(child.pid)
        assert process.facts().name == process.name() == program.name


def test_pid_namespace_is_read(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'self' / 'ns').mkdir(parents=True)
    link = tmp_path / 'self' / 'ns' / 'pid'
    monkeypatch.setattr(psutil, 'PROCFS_PATH', str(tmp_path), raising=False)
    assert not procfs.in_pid_namespace()
    link.symlink_to('pid:[4026532190]')
    assert procfs.in_pid_namespace()
    link.unlink()
    link.symlink_to(procfs.INITIAL_PID_NAMESPACE)
    assert not procfs.in_pid_namespace()


# Files that cannot be read


@linux_only
@pytest.mark.parametrize(
    ('nanoseconds', 'changes', 'reads'),
    [
        (5, {}, []),
        (5, {'taken': 31.0}, ['stat', 'cmdline', 'rss']),
        (6, {}, ['stat', 'rss']),
        (6, {'name': 'title'}, ['stat', 'cmdline', 'rss']),
        (6, {'owner': 1}, ['stat', 'cmdline', 'rss', 'uid']),
        (6, {'taken': 11.0}, ['stat', 'cmdline', 'rss']),
        (None, {}, ['stat', 'rss']),
    ],
)
def test_only_what_may_have_changed_is_read_again(
    nanoseconds: int | None,
    changes: dict[str, Any],
    reads: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stat = procfs.parse_stat(b'1 (python3) S ' + b'0 ' * 49, owner=0, taken=1.0)
    values = {'stat': stat, 'cmdline': ['python3', 'a.py'], 'rss': 1 << 30, 'uid': 0}
    readers = {name: mock.Mock(return_value=value) for name, value in values.items()}
    for name, reader in readers.items():
        monkeypatch.setattr(procfs, f'read_{name}', reader)
    process = observed.LinuxProcess(1)
    for now, used in ((stat, 5), (stat._replace(**{'taken': 3.0, **changes}), nanoseconds)):
        for reader in readers.values():
            reader.reset_mock()
        readers['stat'].return_value = now
        monkeypatch.setattr(observed, 'cpu_nanoseconds', lambda pid, used=used: used)
        monkeypatch.setattr(time, 'monotonic', lambda now=now: now.taken)
        facts = process.facts()
    assert [name for name, reader in readers.items() if reader.called] == reads
    assert (facts.command, facts.host_memory, facts.cpu_percent) == ('python3 a.py', 1 << 30, 0.0)


@linux_only
def test_process_without_permission_stays_the_same(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = observed.LinuxProcess(child.pid)
    assert process.is_same()
    monkeypatch.setattr(procfs, 'read_start_ticks', mock.Mock(side_effect=PermissionError))
    assert process.is_same()


@linux_only
def test_hidden_process_is_running(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(procfs, 'read_stat', lambda pid: None)
    monkeypatch.setattr(procfs, 'read_cmdline', lambda pid: [])
    monkeypatch.setattr(os, 'kill', deny)
    facts = HostProcess(child.pid).facts()
    assert (facts.is_running, facts.status, facts.command) == (True, None, 'No Permissions')


posix_only = pytest.mark.skipif(sys.platform == 'win32', reason='POSIX quoting')


@posix_only
@pytest.mark.parametrize(
    ('argument', 'quoted'),
    [
        *((plain, plain) for plain in ('--lr=1e-3', 'model.layers=[1,2]', '*.py', '日本')),
        *((special, f'"{special}"') for special in ('', 'x y', "it's fine", 'a;b', '>x', '#x')),
        *((special, f"'{special}'") for special in ('say "x"', '$HOME', 'back\\slash', '`x`')),
        ('say "x", it\'s fine', '"say \\"x\\", it\'s fine"'),
        ("it's $HOME", "'it'\"'\"'s $HOME'"),
    ],
)
def test_arguments_are_quoted_as_in_1_7_where_a_shell_reads_them_back(
    argument: str, quoted: str
) -> None:
    assert command_join(['a', argument]) == f'a {quoted}'
    assert shlex.split(quoted) == [argument]


def test_command_is_one_line_and_reads_back() -> None:
    generator = random.Random(1)
    printable = string.ascii_letters + string.punctuation + ' äß日本'
    for _ in range(500):
        arguments = [
            ''.join(generator.choices(printable, k=generator.randrange(8))) for _ in range(4)
        ]
        text = ' '.join(map(quote_posix, arguments))
        assert shlex.split(text) == arguments
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ''
        assert list(lexer) == arguments, 'shell operators must be quoted'
        hostile = [''.join(chr(generator.randrange(0x3000)) for _ in range(6)) for _ in range(3)]
        assert command_join(hostile).isprintable()
        assert all(quote_windows(argument).isprintable() for argument in hostile)
    assert command_join(['a', 'a\nb\x9b\u202e\udcff']) == 'a "a\\nb\\x9b\\u202e\\xff"'
    for title in ('sshd: alice [priv]', 'ray::IDLE', '', '/no/such file', '/bin/sh'):
        assert command_join(iter([title])) == title  # a title is not quoted
    assert command_join([]) == ''
