"""System calls that some platforms lack; names and rights of users."""

from __future__ import annotations

import ctypes
import getpass
import os
import sys
import types

import pytest

from nvitop.platforms import kernel

posix_only = pytest.mark.skipif(sys.platform == 'win32', reason='needs POSIX')
linux_only = pytest.mark.skipif(sys.platform != 'linux', reason='needs Linux')


def test_windows_has_no_posix_values_and_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'platform', 'win32')
    monkeypatch.delattr(os, 'register_at_fork', raising=False)
    with pytest.raises(OSError, match='SC_PAGE_SIZE'):
        kernel.sysconf('SC_PAGE_SIZE')
    kernel.at_fork(after_in_child=lambda: None)


@pytest.mark.parametrize('platform', [sys.platform, 'darwin', 'win32'])
def test_nameless_file_can_be_written_and_read(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, 'platform', platform)
    with kernel.open_nameless_file() as file:
        file.write(b'a message')
        file.seek(0)
        assert file.read() == b'a message'


@linux_only
def test_getuser_of_an_unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def unknown(uid: int) -> object:
        raise KeyError(uid)

    def no_login() -> str:
        raise OSError('no terminal')

    monkeypatch.setattr(pwd, 'getpwuid', unknown)
    monkeypatch.setenv('LOGNAME', 'jovyan')
    assert kernel.getuser() == 'jovyan'
    monkeypatch.setattr(getpass, 'getuser', no_login)
    monkeypatch.setattr(os, 'getlogin', lambda: 'login')
    assert kernel.getuser() == 'login'
    monkeypatch.setattr(os, 'getlogin', no_login)
    assert kernel.getuser() == str(os.getuid())


def test_users_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise OSError('no window station')

    monkeypatch.setattr(sys, 'platform', 'win32')
    for name in ('LOGNAME', 'USER', 'LNAME'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('USERNAME', 'ada')
    assert kernel.getuser() == 'ada'
    assert kernel.without_domain('DESKTOP-7\\ada') == kernel.without_domain('ada') == 'ada'
    monkeypatch.setattr(getpass, 'getuser', unknown)
    monkeypatch.setattr(os, 'getlogin', unknown)
    assert kernel.getuser() == 'unknown'
    assert kernel.name_of_user(987654321) == '987654321'


@pytest.mark.parametrize('result', [0, 1])
def test_windows_administrator_is_the_superuser(
    monkeypatch: pytest.MonkeyPatch, result: int
) -> None:
    monkeypatch.setattr(sys, 'platform', 'win32')
    shell32 = types.SimpleNamespace(IsUserAnAdmin=lambda: result)
    monkeypatch.setattr(ctypes, 'windll', types.SimpleNamespace(shell32=shell32), raising=False)
    assert kernel.is_superuser() is bool(result)
