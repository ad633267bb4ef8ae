"""Warnings of the library, handed to a program."""

from __future__ import annotations

import logging

import pytest

from nvitop.console.library_log import library_warnings

LOGGER = logging.getLogger('nvitop.api.tested')


def test_a_program_gets_warnings_with_their_kind_instead_of_stderr(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shown: list[tuple[str, str]] = []
    with library_warnings(lambda text, kind: shown.append((text, kind))):
        LOGGER.warning('%s is missing', 'it', extra={'kind': 'missing function'})
        LOGGER.warning('odd')
        LOGGER.critical('raised as well')
    assert shown == [('it is missing', 'missing function'), ('odd', '')]
    assert not caplog.records
    LOGGER.warning('afterwards')
    assert caplog.messages == ['afterwards']


def test_loglevel_keeps_the_usual_logging(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv('LOGLEVEL', 'INFO')
    with library_warnings(lambda text, kind: pytest.fail('shown')):
        LOGGER.warning('it is missing')
    assert caplog.messages == ['it is missing']
