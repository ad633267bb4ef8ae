"""Processes read from ``/proc``."""

from __future__ import annotations

import os
import pathlib
import subprocess

import psutil
import pytest

from nvitop.api.process import HostProcess, procfs
from tests.api.processes import linux_only, running


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
