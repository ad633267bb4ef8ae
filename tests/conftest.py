"""Golden screens: the option that rewrites them, and the check that each one is used. Examples of
properties: the same in each run, and on a busy machine as slow as they like. Signals as programs
expect them.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

import hypothesis
import pytest

from tests.fuzz import amount
from tests.gui import goldens

hypothesis.settings.register_profile(
    'patient',
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    # The same examples in each run, so that what fails fails for everybody; other ones with `make fuzz`.
    derandomize=amount.FACTOR <= 1,
)
hypothesis.settings.load_profile('patient')

#: What is of POSIX is not even imported elsewhere.
collect_ignore = ['gui/test_posix_input.py'] if sys.platform == 'win32' else []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        '--update-golden',
        action='store_true',
        help='rewrite the golden screens in tests/golden from what is drawn now',
    )


def pytest_configure(config: pytest.Config) -> None:
    _heed_signals()
    goldens.UPDATE.enabled = bool(config.getoption('--update-golden'))


def _heed_signals() -> None:
    """Have programs that the tests start end when they are told to.

    A shell lets what it runs in the background ignore some signals, as nohup does; programs hand
    that on to those that they start, and nvitop goes on ignoring what it was started to ignore.
    """
    usual: dict[str, Any] = {
        'SIGINT': signal.default_int_handler,
        'SIGQUIT': signal.SIG_DFL,
        'SIGHUP': signal.SIG_DFL,
    }
    for name, handler in usual.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """After a run of all tests, a golden screen that none of them compared is a failure."""
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
        goldens.remove(unused)
    elif unused:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        config.stash[_UNUSED] = unused


_UNUSED = pytest.StashKey['list[str]']()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Golden screens compared by a worker of pytest-xdist."""
    goldens.USED.update(getattr(node, 'workeroutput', {}).get('goldens', ()))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    unused = config.stash.get(_UNUSED, [])
    if unused:
        terminalreporter.section('golden screens that no test compares')
        terminalreporter.write_line('\n'.join(unused))
        terminalreporter.write_line('remove them, or run the whole of pytest --update-golden')
