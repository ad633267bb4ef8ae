from __future__ import annotations

import doctest
import getpass
import os
import socket
import time
from typing import Any

import psutil
import pytest

from nvitop.api import host
from nvitop.api.utils import NA

linux_only = pytest.mark.skipif(not psutil.LINUX, reason='asks Linux')


def test_the_examples_of_the_documentation_are_true() -> None:
    assert not doctest.testmod(host).failed


def test_host_has_all_of_psutil() -> None:
    for name in set(psutil.__all__) - {'__version__'}:
        assert name in host.__all__
        # Its own functions of these names are nvitop's on purpose.
        assert getattr(host, name) is getattr(psutil, name)
    assert host.PsutilError is psutil.Error
    names: dict[str, Any] = {}
    exec('from nvitop.api.host import *', names)
    assert set(host.__all__) <= set(names)
    assert len(host.__all__) == len(set(host.__all__)) or psutil.version_info < (8,)


def test_names_of_platforms_are_flags() -> None:
    assert host.LINUX is psutil.LINUX
    assert isinstance(host.WINDOWS, bool)
    assert isinstance(host.MACOS, bool)
    assert isinstance(host.POSIX, bool)
    assert host.WSL is host.WINDOWS_SUBSYSTEM_FOR_LINUX
    assert host.WSL is None or isinstance(host.WSL, str)


def test_getuser_is_the_name_in_process_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('LOGNAME', 'somebody else')
    assert host.getuser() == psutil.Process().username().rpartition('\\')[2]


@linux_only
def test_getuser_of_an_unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def unknown(uid: int) -> object:
        raise KeyError(uid)

    def no_login() -> str:
        raise OSError('no terminal')

    monkeypatch.setattr(pwd, 'getpwuid', unknown)
    monkeypatch.setenv('LOGNAME', 'jovyan')
    assert host.getuser() == 'jovyan'
    monkeypatch.setattr(getpass, 'getuser', no_login)
    monkeypatch.setattr(os, 'getlogin', lambda: 'login')
    assert host.getuser() == 'login'
    monkeypatch.setattr(os, 'getlogin', no_login)
    assert host.getuser() == str(os.getuid())


def test_hostname() -> None:
    assert host.hostname() == socket.gethostname()


def test_load_average_is_three_numbers_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    average = host.load_average()
    assert average is not None
    assert len(average) == 3
    assert all(number >= 0 for number in average)

    def unsupported() -> tuple[float, float, float]:
        raise OSError

    monkeypatch.setattr(psutil, 'getloadavg', unsupported)
    assert host.load_average() is None
    monkeypatch.delattr(psutil, 'getloadavg')
    assert host.load_average() is None


def test_uptime_is_the_time_since_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert host.uptime() == pytest.approx(time.time() - psutil.boot_time(), abs=5.0)
    monkeypatch.delattr(time, 'CLOCK_BOOTTIME', raising=False)
    assert host.uptime() == pytest.approx(time.time() - psutil.boot_time(), abs=5.0)


def test_memory_and_swap_are_percentages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < host.memory_percent() <= 100
    assert 0 <= float(host.swap_percent()) <= 100

    def unsupported() -> object:
        raise RuntimeError('counters are switched off')

    monkeypatch.setattr(psutil, 'swap_memory', unsupported)
    assert host.swap_percent() is NA


def test_ppid_map_knows_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert host.ppid_map()[os.getpid()] == os.getppid()
    assert os.getpid() in host.reverse_ppid_map()[os.getppid()]
    monkeypatch.delattr(psutil, '_ppid_map')
    assert host.ppid_map()[os.getpid()] == os.getppid()
