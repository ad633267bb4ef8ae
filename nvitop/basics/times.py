# SPDX-License-Identifier: Apache-2.0
"""Parsing and formatting times and durations."""

from __future__ import annotations

import re
import time
from datetime import date, datetime, timedelta, timezone

_SECONDS = {'ms': 0.001, 's': 1.0, 'm': 60.0, 'h': 3600.0, 'd': 86400.0, 'w': 604800.0}
#: Names of the units that plain numbers can have.
UNIT_NAMES = {'ms': 'milliseconds', 's': 'seconds', 'm': 'minutes'}
# Compiled on use, because most commands use none of them.
_PART = r'(\d+(?:\.\d+)?)(ms|s|m|h|d|w)'
_TIME_OF_DAY = r'(\d{1,2}):(\d{2})(?::(\d{2}))?'
_DATE = r'(\d{4})-(\d{2})-(\d{2})(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?'

#: Longest duration that is accepted (seconds).
MAX_SECONDS = 1e10
#: A time in a recording is earlier than this (seconds since the epoch, in the year 5138).
LATEST_TIME = 1e11

#: Forms of a time, for messages.
TIME_FORMS = "'14:05', '14:05:30', '2026-11-22 14:05' or '-30m'"


def parse_duration(text: str, *, unit: str = 's') -> float:
    """Return the seconds of ``'90s'``, ``'500ms'``, ``'1h30m'`` or ``'14d'``.

    A plain number counts in ``unit``.

    Raises:
        ValueError: It is not a duration.
    """
    text = text.strip().lower()
    try:
        seconds = float(text) * _SECONDS[unit]
    except ValueError:
        if not re.fullmatch(f'(?:{_PART})+', text):
            raise ValueError(
                f"must be a duration such as '90s', '1h30m' or '14d', not {text!r}"
            ) from None
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in re.findall(_PART, text))
    if not 0 <= seconds <= MAX_SECONDS:
        raise ValueError(f'not a possible duration: {text!r}')
    return seconds


def read_duration(value: object, least: float, most: float, unit: str = 's') -> float:
    """Return the seconds of a number in a unit, or of a text, see :func:`parse_duration`.

    Raises:
        ValueError: It is no duration, too short or too long; the limits are in seconds.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f'must be a number of {UNIT_NAMES[unit]}, not {value!r}')
    scale = _SECONDS[unit]
    seconds = parse_duration(value, unit=unit) if isinstance(value, str) else value * scale
    if not least <= seconds <= most:
        limits = ' to '.join(in_unit(limit, unit) for limit in (least, most))
        raise ValueError(f'must be from {limits} {UNIT_NAMES[unit]}, not {value!r}')
    return float(seconds)


def in_unit(seconds: float, unit: str) -> str:
    """Return the number of a duration in a unit."""
    return f'{seconds / _SECONDS[unit]:.10g}'


def parse_time(text: str, now: float, *, same_day: bool = False) -> float:
    """Return the time (seconds since the epoch) that a text means, see :data:`TIME_FORMS`.

    Times are local. A time of day without a date is the last one that is not after ``now``, or on
    the same day; a negative duration counts back from ``now``.

    Raises:
        ValueError: It is not a time.
    """
    text = text.strip()
    if text.lower() == 'now':
        return now
    if text.startswith(('-', '+')):
        seconds = parse_duration(text[1:])
        return now - seconds if text.startswith('-') else now + seconds
    found = re.fullmatch(_TIME_OF_DAY, text)
    try:
        if found:
            hour, minute, second = (int(part or 0) for part in found.groups())
            day = datetime.fromtimestamp(now).date()
            moment = _local(day.year, day.month, day.day, hour, minute, second)
            if moment > now and not same_day:
                day -= timedelta(days=1)
                moment = _local(day.year, day.month, day.day, hour, minute, second)
            return moment
        found = re.fullmatch(_DATE, text)
        if found:
            return _local(*(int(part or 0) for part in found.groups()))
    except (ValueError, OverflowError, OSError):
        pass  # no such hour, no such day
    raise ValueError(f'not a time: {text!r}; expected {TIME_FORMS}')


def _local(year: int, month: int, day: int, hour: int, minute: int, second: int) -> float:
    """Return a local time; one that a clock change skips is moved ahead, as by :func:`time.mktime`."""
    datetime(year, month, day, hour, minute, second)  # raises ValueError if there is none
    return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))


def start_of_day(day: date) -> float:
    """Return when a day begins in local time."""
    return time.mktime((day.year, day.month, day.day, 0, 0, 0, 0, 0, -1))


def format_time(seconds: float) -> str:
    """Return a local time for people: ``'2026-11-22 14:05:30'``."""
    return time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(seconds))


def iso_time(seconds: float) -> str:
    """Format a time as ISO 8601 in local time with zone: ``'2024-01-02T03:04:05.678+01:00'``."""
    moment = datetime.fromtimestamp(seconds, timezone.utc).astimezone()
    return moment.isoformat(timespec='milliseconds')


def format_duration(seconds: float) -> str:
    """Return a duration for people, in one unit or two: ``'8 min'``, ``'2 h 5 min'``, ``'3 d 4 h'``."""
    if seconds < 100:
        return f'{round(seconds, 2):.2g} s'
    minutes = round(seconds / 60)
    if minutes < 100:
        return f'{minutes} min'
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f'{hours} h {minutes} min' if minutes else f'{hours} h'
    days, hours = divmod(hours, 24)
    return f'{days} d {hours} h' if hours else f'{days} d'
