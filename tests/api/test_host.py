"""The host: names of psutil, memory, CPU time, uptime, parents."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from nvitop.api import host
from nvitop.basics.units import NA
from tests.programs import run_python

linux_only = pytest.mark.skipif(not psutil.LINUX, reason='reads /proc')


def test_load_average_is_three_numbers_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    average = host.load_average()
    assert average is not None
    assert len(average) == 3
    assert all(number >= 0 for number in average)

    def unsupported() -> tuple[float, float, float]:
        raise OSError

    monkeypatch.setattr(os, 'getloadavg', unsupported)
    assert host.load_average() is None
    monkeypatch.setattr(sys, 'platform', 'win32')
    monkeypatch.setattr(psutil, 'getloadavg', lambda: (1.0, 2.0, 3.0))
    assert host.load_average() == (1.0, 2.0, 3.0)


@pytest.fixture(params=['files', 'psutil'])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from the files of Linux and, as on other systems, with psutil."""
    if request.param == 'psutil':
        monkeypatch.setattr(host, 'procfs_path', lambda: '/nonexistent')


@pytest.mark.usefixtures('way')
def test_memory_and_swap_are_those_of_psutil() -> None:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    usage = host.memory_usage()
    assert usage.total == memory.total
    # Before psutil 7, "used" did not include shared memory.
    used = memory.total - memory.available if host.procfs_path() == '/proc' else memory.used
    assert usage.used == pytest.approx(used, rel=0.2)
    assert usage.percent == pytest.approx(memory.percent, abs=5)
    assert host.swap_usage().total == swap.total
    assert host.swap_usage().percent == pytest.approx(swap.percent, abs=5)
    assert host.memory_percent() == pytest.approx(memory.percent, abs=5)
    assert host.swap_percent() == pytest.approx(swap.percent, abs=5)


@pytest.mark.usefixtures('way')
def test_cpu_seconds_are_those_of_psutil() -> None:
    before = psutil.cpu_times()
    busy, whole = host.cpu_seconds()
    after = psutil.cpu_times()
    assert before.user + before.system - 0.1 <= busy <= whole
    assert before.idle < whole - busy + 0.1
    assert whole <= sum(after) + 0.1
    assert host.uptime() == pytest.approx(time.time() - psutil.boot_time(), abs=10)


def test_swap_is_na_if_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported() -> object:
        raise RuntimeError('counters are disabled')

    monkeypatch.setattr(host, 'procfs_path', lambda: '/nonexistent')
    monkeypatch.setattr(psutil, 'swap_memory', unsupported)
    assert host.swap_percent() is NA


def test_psutil_is_imported_on_use() -> None:
    code = (
        'import sys; from nvitop import host; '
        'host.memory_usage(), host.swap_usage(), host.cpu_seconds(), host.uptime(); '
        "print('psutil' in sys.modules, host.Process().is_running(), 'psutil' in sys.modules)"
    )
    done = run_python(code)
    expected = f'{not psutil.LINUX} True True'
    assert (done.stdout.strip(), done.stderr) == (expected, '')


def test_ppid_map_includes_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert host.ppid_map()[os.getpid()] == os.getppid()
    assert os.getpid() in host.reverse_ppid_map()[os.getppid()]
    monkeypatch.delattr(psutil, '_ppid_map')
    assert host.ppid_map()[os.getpid()] == os.getppid()


@linux_only
def test_io_wait_is_idle_and_guests_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, 'PROCFS_PATH', str(tmp_path))
    tmp_path.joinpath('stat').write_text('cpu  200 0 0 500 300 0 0 0 200 0\ncpu0 1 2 3\n')
    ticks = os.sysconf('SC_CLK_TCK')
    assert host.cpu_seconds() == host.CpuSeconds(200 / ticks, 1000 / ticks)
