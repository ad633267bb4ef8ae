from __future__ import annotations

import time
from typing import Iterator

import pytest

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
    shown = {8: '8 s', 480: '8 min', 7500: '2 h 5 min', 7200: '2 h', 273600: '3 d 4 h'}
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
