"""Logs: made late, and shown by programs that show warnings themselves."""

from __future__ import annotations

import logging
from typing import Iterator

import pytest

from nvitop.api.log import Log, show_warnings_by
from tests.api.test_libnvml_session import run_python


@pytest.fixture
def shown() -> Iterator[list[tuple[str, tuple[object, ...]]]]:
    messages: list[tuple[str, tuple[object, ...]]] = []
    show_warnings_by(lambda text, args: messages.append((text, args)))
    yield messages
    show_warnings_by(None)


def test_importing_imports_no_logging() -> None:
    done = run_python(
        'import sys; from nvitop import Device, take_snapshots; '
        "print(sorted({'logging', 'traceback'} & set(sys.modules)))",
        NVITOP_DEMO='',
        LOGLEVEL='',
    )
    assert done.stdout == '[]\n'


def test_messages_go_to_the_logger_of_their_name(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, 'nvitop.api.tested')
    log = Log('nvitop.api.tested')
    log.debug('low %d', 1)
    log.warning('high %s', 'text')
    log.critical('end')
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ('nvitop.api.tested', 'DEBUG', 'low 1'),
        ('nvitop.api.tested', 'WARNING', 'high text'),
        ('nvitop.api.tested', 'CRITICAL', 'end'),
    ]


def test_a_program_that_shows_warnings_gets_them_instead(
    shown: list[tuple[str, tuple[object, ...]]], caplog: pytest.LogCaptureFixture
) -> None:
    log = Log('nvitop.api.tested')
    log.warning('%s is missing', 'it')
    log.critical('raised as well')
    assert shown == [('%s is missing', ('it',))]
    assert not caplog.records


def test_whoever_sets_loglevel_gets_them_as_they_come(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv('LOGLEVEL', 'INFO')
    show_warnings_by(lambda text, args: pytest.fail('shown'))
    try:
        Log('nvitop.api.tested').warning('it is missing')
    finally:
        show_warnings_by(None)
    assert caplog.messages == ['it is missing']


def test_a_level_that_the_program_has_set_before_stays() -> None:
    done = run_python(
        "import logging; logging.getLogger('nvitop.api.libnvml').setLevel(logging.ERROR); "
        'from nvitop.api import libnvml; print(libnvml.LOGGER.level == logging.ERROR)',
        LOGLEVEL='DEBUG',
    )
    assert done.stdout == 'True\n'
