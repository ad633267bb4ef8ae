"""Log records of the library, and warnings handed to a program."""

from __future__ import annotations

import pytest

from nvitop.basics import log


def test_a_program_gets_warnings_with_their_kind_instead_of_stderr(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shown: list[tuple[str, str]] = []
    with log.warnings_to(lambda text, kind: shown.append((text, kind))):
        log.warn('%s is missing', 'it', kind='missing function')
        log.warn('odd')
        log.critical('raised as well')
    assert shown == [('it is missing', 'missing function'), ('odd', '')]
    assert not caplog.records
    log.warn('afterwards')
    assert caplog.messages == ['afterwards']


def test_loglevel_keeps_the_usual_logging(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv('LOGLEVEL', 'INFO')
    with log.warnings_to(lambda text, kind: pytest.fail('shown')):
        log.warn('it is missing')
    assert caplog.messages == ['it is missing']
