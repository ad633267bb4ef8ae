# SPDX-License-Identifier: Apache-2.0
"""Missing values, units of sizes, and numbers and times as text."""

from __future__ import annotations

import math
import re
import time
from datetime import date, datetime, timedelta, timezone
from typing import Any, ClassVar, SupportsFloat, TypeVar


class NaType(str):
    """The type of :data:`NA`, a missing value that can be printed and used in arithmetic.

    It is the string ``'N/A'``, is falsy, and behaves like NaN in arithmetic, so missing values need
    no special case:

    >>> f'fan: {NA}, power: {NA / 1000:.1f} W, {NA:.1f} %'
    'fan: N/A, power: nan W, nan %'
    >>> bool(NA), int(NA), float(NA)
    (False, 0, nan)
    >>> NA + ' W'
    'N/A W'

    It is greater than any number, so missing values sort last. With strings it compares as a string:

    >>> sorted([3, NA, -1, float('inf')])
    [-1, 3, inf, 'N/A']
    """

    __slots__ = ()

    _instance: ClassVar[NaType | None] = None

    def __new__(cls) -> NaType:
        if cls._instance is None:
            cls._instance = super().__new__(cls, 'N/A')
        return cls._instance

    def __reduce__(self) -> tuple[type[NaType], tuple[()]]:
        return type(self), ()

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        return 0

    def __float__(self) -> float:
        return math.nan

    def __format__(self, format_spec: str) -> str:
        try:
            return super().__format__(format_spec)
        except ValueError:  # a format for numbers
            if format_spec[-1] in 'bcdnoxX':
                format_spec = format_spec[:-1] + 'g'
            return format(math.nan, format_spec)

    # Any, because ``str`` declares a string as the result of ``+``, ``*`` and ``%``.

    def __add__(self, other: object) -> Any:
        if isinstance(other, (int, float, NaType)):
            return math.nan
        return super().__add__(other) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: object) -> Any:
        if isinstance(other, (int, float, NaType)):
            return math.nan
        return other + str(self) if isinstance(other, str) else NotImplemented

    def __sub__(self, other: object) -> Any:
        return math.nan if isinstance(other, (int, float, NaType)) else NotImplemented

    __rsub__ = __sub__
    __mul__ = __sub__
    __rmul__ = __sub__
    __rtruediv__ = __sub__
    __rfloordiv__ = __sub__
    __pow__ = __sub__
    __rpow__ = __sub__

    def __truediv__(self, other: object) -> Any:
        if isinstance(other, (int, float)):
            return math.nan / other  # zero raises, as for any number
        return math.nan if isinstance(other, NaType) else NotImplemented

    def __floordiv__(self, other: object) -> Any:
        return self.__truediv__(other)

    def __mod__(self, other: object) -> Any:
        return self.__truediv__(other)

    def __rmod__(self, other: object) -> Any:
        # Python calls this before ``str.__mod__``, since NaType is a subclass: '%s' % NA formats.
        if isinstance(other, str) and not isinstance(other, NaType):
            return str.__mod__(other, self)
        return self.__rsub__(other)

    def __divmod__(self, other: object) -> tuple[float, float]:
        quotient = self.__truediv__(other)
        return NotImplemented if quotient is NotImplemented else (quotient, math.nan)

    def __rdivmod__(self, other: object) -> tuple[float, float]:
        return (math.nan, math.nan) if isinstance(other, (int, float)) else NotImplemented

    def __pos__(self) -> float:
        return math.nan

    __neg__ = __pos__
    __abs__ = __pos__

    def __round__(self, ndigits: int | None = None) -> int | float:
        return 0 if ndigits is None else round(math.nan, ndigits)

    def __lt__(self, other: object) -> bool:
        if isinstance(other, (int, float)):
            return False
        return super().__lt__(other) if isinstance(other, str) else NotImplemented

    def __le__(self, other: object) -> bool:
        if isinstance(other, (int, float)):
            return False
        return super().__le__(other) if isinstance(other, str) else NotImplemented

    def __gt__(self, other: object) -> bool:
        if isinstance(other, (int, float)):
            return True
        return super().__gt__(other) if isinstance(other, str) else NotImplemented

    def __ge__(self, other: object) -> bool:
        if isinstance(other, (int, float)):
            return True
        return super().__ge__(other) if isinstance(other, str) else NotImplemented


NotApplicableType = NaType

#: A value that the device, the driver or the system does not report. See :class:`NaType`.
NA = NaType()
NotApplicable = NA

#: The maximum of a 32-bit unsigned integer, with which NVML marks a missing value.
UINT_MAX = 0xFFFFFFFF
#: The maximum of a 64-bit unsigned integer, with which NVML marks a missing value.
ULONGLONG_MAX = 0xFFFFFFFFFFFFFFFF

KiB = 1 << 10
MiB = 1 << 20
GiB = 1 << 30
TiB = 1 << 40
PiB = 1 << 50

#: Bytes in a unit, binary (``'KiB'``) and decimal (``'KB'``).
SIZE_UNITS: dict[str | None, int] = {
    **dict.fromkeys((None, '', 'B'), 1),
    **{f'{letter}iB': 1024**power for power, letter in enumerate('KMGTP', 1)},
    **{f'{letter}B': 1000**power for power, letter in enumerate('KMGTP', 1)},
}

_UNITS = ((MiB, 'MiB'), (GiB, 'GiB'), (TiB, 'TiB'))
_SIZE = r'\s*(\d+)(\.\d*)?\s*(?:([KMGTP])(I?))?B?\s*'


def bytes2human(b: SupportsFloat | str, *, min_unit: int = 1) -> str:
    """Format a number of bytes with a binary unit, in at most 8 characters below 1000 PiB.

    Args:
        b: The number of bytes, or anything that :class:`float` accepts. What is not a finite number
            becomes ``NA``.
        min_unit: The smallest unit to use, in bytes, such as ``MiB``.

    >>> [bytes2human(b) for b in (512, 3 * KiB, 1.5 * MiB, 250 * MiB, 11 * GiB, 80 * GiB, NA)]
    ['512B', '3KiB', '1.50MiB', '250.0MiB', '11264MiB', '80.00GiB', 'N/A']
    """
    if not isinstance(b, int):
        try:
            b = round(float(b))
        except (TypeError, ValueError, OverflowError):  # not a number, NaN, infinite
            return NA
    if b < KiB and min_unit < KiB:
        return f'{b}B'
    if b < MiB and min_unit <= KiB:
        return f'{round(b / KiB)}KiB'
    if 1000 * MiB <= b < 20 * GiB and min_unit <= MiB:
        return f'{round(b / MiB)}MiB'
    for unit, name in _UNITS:
        if b < 1000 * unit and min_unit <= unit:
            return f'{b / unit:.{2 if b < 100 * unit else 1}f}{name}'
    return f'{b / PiB:.{2 if b < 100 * PiB else 1}f}PiB'


def human2bytes(s: int | str) -> int:
    """Parse a size such as ``'4GiB'``, ``'5000M'``, ``'10k'`` or ``'512'`` into a number of bytes.

    Case does not matter. Units are decimal unless they contain an ``i``.

    Raises:
        ValueError: The text is not a size, or the number is negative.

    >>> human2bytes('1.5KiB'), human2bytes('2 kb'), human2bytes(7)
    (1536, 2000, 7)
    """
    if isinstance(s, int):
        if s < 0:
            raise ValueError(f'a size cannot be negative: {s!r}')
        return s
    match = re.fullmatch(_SIZE, s, re.ASCII | re.IGNORECASE)
    if match is None:
        raise ValueError(f'not a size: {s!r}')
    whole, fraction, prefix, binary = match.groups()
    unit = SIZE_UNITS[f'{prefix.upper()}{"i" if binary else ""}B'] if prefix else 1
    return int(whole) * unit + (int(float(fraction + '0') * unit) if fraction else 0)


def timedelta2human(
    dt: int | float | timedelta | NaType,
    *,
    round: bool = False,  # noqa: A002 - the public name of the parameter
) -> str:
    """Format a duration as ``M:SS``, ``H:MM:SS``, or ``x.y days`` from 4 days on.

    Args:
        dt: The duration in seconds, or as a :class:`datetime.timedelta`. What is not a finite number
            becomes ``NA``.
        round: Use days from 1 day on.

    >>> from datetime import timedelta
    >>> [timedelta2human(timedelta(seconds=s)) for s in (75, 3661, 360_000)]
    ['1:15', '1:01:01', '4.2 days']
    """
    if isinstance(dt, timedelta):
        dt = dt.total_seconds()
    if not (isinstance(dt, (int, float)) and math.isfinite(dt)):
        return NA
    seconds = max(0, int(dt))
    if seconds >= (86400 if round else 4 * 86400):
        return f'{seconds / 86400:.1f} days'
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    return f'{hours}:{minutes:02}:{seconds:02}' if hours else f'{minutes}:{seconds:02}'


def utilization2string(utilization: int | float | NaType) -> str:
    """Format a utilization in percent; anything that is not a finite number becomes ``NA``.

    >>> utilization2string(42), utilization2string(12.34), utilization2string(NA)
    ('42%', '12.3%', 'N/A')
    """
    if isinstance(utilization, int):
        return f'{utilization}%'
    if isinstance(utilization, float) and math.isfinite(utilization):
        return f'{utilization:.1f}%'
    return NA


def boolify(string: str, default: Any = None) -> bool:
    """Interpret true, yes, on, enabled, 1 and false, no, off, disabled, 0 in any case.

    Anything else returns ``default``, or the truth of the value itself if ``default`` is None.

    >>> boolify('Enabled'), boolify('off'), boolify('maybe', default=False), boolify(NA)
    (True, False, False, False)
    """
    word = string.strip().lower() if isinstance(string, str) else string
    if word in ('true', 'yes', 'on', 'enabled', '1'):
        return True
    if word in ('false', 'no', 'off', 'disabled', '0'):
        return False
    return bool(string if default is None else default)


T = TypeVar('T')


def na_if_none(value: T | None) -> T | NaType:
    return NA if value is None else value


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
    match = re.fullmatch(_TIME_OF_DAY, text)
    try:
        if match:
            hour, minute, second = (int(part or 0) for part in match.groups())
            day = datetime.fromtimestamp(now).date()
            moment = _local(day.year, day.month, day.day, hour, minute, second)
            if moment > now and not same_day:
                day -= timedelta(days=1)
                moment = _local(day.year, day.month, day.day, hour, minute, second)
            return moment
        match = re.fullmatch(_DATE, text)
        if match:
            return _local(*(int(part or 0) for part in match.groups()))
    except (ValueError, OverflowError, OSError):
        pass  # no such hour, no such day
    raise ValueError(f'not a time: {text!r}; expected {TIME_FORMS}')


def _local(year: int, month: int, day: int, hour: int, minute: int, second: int) -> float:
    """Return a local time; one that a clock change skips is moved ahead, as by :func:`time.mktime`."""
    datetime(year, month, day, hour, minute, second)  # raises ValueError if there is none
    return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))


def start_of_day(day: date) -> float:
    return time.mktime((day.year, day.month, day.day, 0, 0, 0, 0, 0, -1))


def format_time(seconds: float) -> str:
    """Return a local time for people: ``'2026-11-22 14:05:30'``."""
    return time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(seconds))


def iso_time(seconds: float) -> str:
    """Format a time as ISO 8601 in local time with zone: ``'2024-01-02T03:04:05.678+01:00'``."""
    moment = datetime.fromtimestamp(seconds, timezone.utc).astimezone()
    return moment.isoformat(timespec='milliseconds')


def format_duration(seconds: float) -> str:
    """Return a duration for people, in one unit: ``'0.5s'``, ``'45s'``, ``'37m'``, ``'60h'``, ``'6d'``."""
    if seconds < 1:
        return f'{seconds:.1g}s'
    for size, unit, most in ((1, 's', 60), (60, 'm', 60), (3600, 'h', 100)):
        if seconds < size * most:
            return f'{seconds // size:.0f}{unit}'
    return f'{seconds // 86400:.0f}d'


#: Tables of less GPU time (seconds) show it as hours, minutes and seconds.
CLOCK_SECONDS = 10 * 3600.0


def format_hours(seconds: float, total: float) -> str:
    """Return hours as ``'0:12:05'`` in a table with a small total, otherwise as ``'1,344.0'``."""
    if total >= CLOCK_SECONDS:
        return '<0.1' if 0 < seconds < 180 else f'{max(0.0, seconds) / 3600:,.1f}'
    minutes, rest = divmod(round(max(0.0, seconds)), 60)
    return f'{minutes // 60}:{minutes % 60:02}:{rest:02}'
