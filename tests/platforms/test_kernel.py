"""System calls that some platforms lack."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from nvitop.platforms import kernel

posix_only = pytest.mark.skipif(sys.platform == 'win32', reason='needs POSIX')


@posix_only
def test_posix_values() -> None:
    assert kernel.sysconf('SC_PAGE_SIZE') == os.sysconf('SC_PAGE_SIZE')
    assert signal.SIGHUP in kernel.ENDING


def test_windows_has_no_posix_values_and_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'platform', 'win32')
    monkeypatch.delattr(os, 'register_at_fork', raising=False)
    with pytest.raises(OSError, match='SC_PAGE_SIZE'):
        kernel.sysconf('SC_PAGE_SIZE')
    kernel.at_fork(after_in_child=lambda: None)


@posix_only
def test_fork_hooks_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[object] = []
    monkeypatch.setattr(os, 'register_at_fork', lambda **hooks: registered.append(hooks))
    kernel.at_fork(before=print)
    assert registered == [{'before': print}]


@pytest.mark.parametrize('platform', [sys.platform, 'darwin', 'win32'])
def test_nameless_file_can_be_written_and_read(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, 'platform', platform)
    with kernel.open_nameless_file() as file:
        file.write(b'a message')
        file.seek(0)
        assert file.read() == b'a message'


@posix_only
def test_descriptors_above_1023_can_be_waited_for() -> None:
    import fcntl
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(2048, hard)), hard))
    reader, writer = os.pipe()
    try:
        high = fcntl.fcntl(writer, fcntl.F_DUPFD, 1024)
        kernel.wait_until_writable(high)
        os.close(high)
    finally:
        os.close(reader)
        os.close(writer)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
