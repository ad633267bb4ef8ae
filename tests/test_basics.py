"""Times, TOML documents and log records."""

from __future__ import annotations

import time
from typing import Iterator, Sequence

import pytest

from nvitop.basics import log
from nvitop.basics.toml import Part, TomlDocument, TomlError, suggestion
from nvitop.basics.units import format_duration, format_time, parse_duration, parse_time


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv('TZ', 'Europe/Berlin')
        time.tzset()
        yield
    time.tzset()


#: Sun Nov 22 2026 14:05:30 in Berlin.
NOW = 1795352730.0


def test_durations() -> None:
    for text, seconds in {'10': 10, '500ms': 0.5, '90s': 90, '1h30m': 5400, '14d': 1209600}.items():
        assert parse_duration(text) == seconds
    for text in ('', 'x', '1y', '-1', 'nan', 'inf', '1h-', '9' * 400):
        with pytest.raises(ValueError, match='duration'):
            parse_duration(text)
    shown = {0.5: '0.5s', 8: '8s', 480: '8m', 7500: '2h', 273600: '76h', 700000: '8d'}
    assert {seconds: format_duration(seconds) for seconds in shown} == shown


@pytest.mark.parametrize(
    ('text', 'local'),
    [
        ('14:05', '2026-11-22 14:05:00'),
        ('14:05:31', '2026-11-21 14:05:31'),
        ('03:00', '2026-11-22 03:00:00'),
        ('2026-11-20', '2026-11-20 00:00:00'),
        ('2026-11-20 9:30', '2026-11-20 09:30:00'),
        ('2026-11-20T09:30:15', '2026-11-20 09:30:15'),
        ('-30m', '2026-11-22 13:35:30'),
        ('-1d', '2026-11-21 14:05:30'),
        ('now', '2026-11-22 14:05:30'),
        # 02:30 does not exist on the day on which clocks are set ahead.
        ('2026-03-29 02:30', '2026-03-29 03:30:00'),
        ('2026-03-29 04:00', '2026-03-29 04:00:00'),
        ('2026-10-25 04:00', '2026-10-25 04:00:00'),
    ],
)
def test_times_are_local(berlin: None, text: str, local: str) -> None:
    assert format_time(parse_time(text, NOW)) == local


def test_days_of_clock_changes_have_23_and_25_hours(berlin: None) -> None:
    def hours(day: str, next_day: str) -> float:
        return (parse_time(next_day, NOW) - parse_time(day, NOW)) / 3600

    assert hours('2026-03-29', '2026-03-30') == 23
    assert hours('2026-10-25', '2026-10-26') == 25


@pytest.mark.parametrize(
    'text', ['', '25:00', '14:60', '2026-02-30', '14', 'noon', '-', '99999-1-1']
)
def test_other_texts_are_refused_as_times(text: str) -> None:
    with pytest.raises(ValueError, match=r"'14:05'|duration"):
        parse_time(text, NOW)


# TOML: values, lines of keys, and messages about mistakes

TEXT = """\
title = "x"
[keys]
up = ["k"]
"page up" = ["b"]
window.width = 3

[[gpu]]
name = "first"
[[gpu]]
fan = { mean = 3 }
[[gpu.mig]]
index = 0
[[gpu.mig]]
index = 1
[[gpu]]
[[gpu.mig]]
index = 2
"""


@pytest.mark.parametrize(
    ('path', 'line'),
    [
        (['title'], 1),
        (['keys'], 2),
        (['keys', 'up'], 3),
        (['keys', 'page up'], 4),
        (['keys', 'window'], 5),
        (['keys', 'window', 'width'], 5),
        (['gpu', 0, 'name'], 8),
        (['gpu', 1], 9),
        (['gpu', 1, 'fan', 'mean'], 10),
        (['gpu', 1, 'mig', 1, 'index'], 14),
        (['gpu', 2, 'mig', 0, 'index'], 17),
        (['gpu', 2, 'unknown'], 15),
        (['unknown'], 0),
    ],
)
def test_line_of_a_key_is_found(path: Sequence[Part], line: int) -> None:
    assert TomlDocument(TEXT).line_of(path) == line
    # A byte order mark is ignored.
    assert TomlDocument(f'\ufeff{TEXT}').line_of(path) == line


@pytest.mark.parametrize(
    ('text', 'line'),
    [('a = 1\nb =\n', 2), ('a = 1\n[[gpu]\n', 2), ('a = [1,\n', 1), ('a = 1\na = 2\n', 2)],
)
def test_syntax_error_names_its_line(text: str, line: int) -> None:
    with pytest.raises(TomlError, match=r'^not valid TOML: ') as caught:
        TomlDocument(text)
    assert caught.value.line == line
    assert '(at ' not in str(caught.value)


def test_similar_words_are_suggested() -> None:
    assert suggestion('temprature', ['fan', 'temperature']) == "; did you mean 'temperature'?"
    assert suggestion('x', ['fan', 'temperature']) == ''


# Log records of the library, and warnings handed to a program


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
