"""Shared fixtures, checks for golden screens, a Hypothesis profile, and default signal handlers."""

from __future__ import annotations

import pathlib
import signal
import sys
import threading
from typing import Any, Iterator

import hypothesis
import pytest

from nvitop import simulation
from tests.clock import Clock
from tests.fuzz import input_count
from tests.gui import goldens
from tests.waiting import wait_until

hypothesis.settings.register_profile(
    'patient',
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    # The same examples in each run, so that failures are reproducible; a seed creates others.
    derandomize=input_count.FIRST_SEED == 0,
)
hypothesis.settings.load_profile('patient')

#: Tests that can be imported only on POSIX.
collect_ignore = ['gui/test_posix_input.py'] if sys.platform == 'win32' else []


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    """A machine with eight GPUs, constant values, and processes that do not exist."""
    with simulation.machine('dgx-h100', processes='fixed', clock=lambda: 0.0) as running:
        yield running


#: Threads that call no driver, or wait for the end of a collector or for a test of their own.
_WAITING = ('nvitop-collector', 'nvitop-effects', 'nvitop-watchdog')


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    """Wait for the threads that a test leaves: their next call would begin with the next driver."""
    before = {*threading.enumerate()}
    yield
    for thread in {*threading.enumerate()} - before:
        if thread.name.startswith('nvitop') and thread.name not in _WAITING:
            # A thread that another one is about to start cannot be joined.
            wait_until(lambda: thread.ident and not thread.is_alive(), f'{thread.name} ends')  # noqa: B023


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        '--update-golden', action='store_true', help='write the current screens to tests/golden'
    )


#: Each folder of tests is a marker: ``-m 'slow and fleet'``.
FOLDERS = sorted(each.parent.name for each in pathlib.Path(__file__).parent.glob('*/__init__.py'))


def pytest_configure(config: pytest.Config) -> None:
    _restore_signals()
    for folder in FOLDERS:
        config.addinivalue_line('markers', f'{folder}: tests in tests/{folder}')
    goldens.UPDATE.enabled = bool(config.getoption('--update-golden'))


def _restore_signals() -> None:
    defaults: dict[str, Any] = {
        'SIGINT': signal.default_int_handler,
        'SIGQUIT': signal.SIG_DFL,
        'SIGHUP': signal.SIG_DFL,
    }
    for name, handler in defaults.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark each test with the name of its folder."""
    here = pathlib.Path(__file__).parent
    folder = next((parent.name for parent in item.path.parents if parent.parent == here), None)
    if folder in FOLDERS:
        item.add_marker(folder)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run of all tests if no test compared some golden screen."""
    config = session.config
    worker_output = getattr(config, 'workeroutput', None)
    if worker_output is not None:
        worker_output['goldens'] = sorted(goldens.USED)
        return
    marked = config.option.markexpr not in ('', 'not slow')
    option = config.option
    selected = option.keyword or marked or option.deselect or option.ignore
    whole = set(config.args) == set(config.getini('testpaths')) and not selected
    if exitstatus != pytest.ExitCode.OK or not whole or config.option.collectonly:
        return
    unused = goldens.unused()
    if unused and goldens.UPDATE.enabled:
        for name in unused:
            (goldens.FOLDER / f'{name}.txt').unlink()
    elif unused:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f'\nunused golden screens: {", ".join(unused)}')
        print('remove them, or run all tests with --update-golden')


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Collect the golden screens compared by a pytest-xdist worker."""
    goldens.USED.update(getattr(node, 'workeroutput', {}).get('goldens', ()))
