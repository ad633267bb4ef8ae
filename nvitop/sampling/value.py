# SPDX-License-Identifier: Apache-2.0
"""From what the API answers to what a sample holds: ``NA`` becomes ``None``, nonsense is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Tuple, TypeVar, Union

from nvitop.api.utils import NaType

if TYPE_CHECKING:
    from nvitop.api.metrics import Metric

T = TypeVar('T')

#: What stands in a row.
Scalar = Union[None, bool, int, float, str]
#: What a field of a sample may hold.
Value = Union[Scalar, Tuple[str, ...], Tuple[Tuple[Scalar, ...], ...]]

#: The most that can be true by unit, in raw values: far above any hardware, far below nonsense.
_MOST = {
    '%': 100,
    '°C': 250,
    'MHz': 50_000,
    'W': 100_000_000,
    'B': 1 << 52,
    'KiB/s': 1 << 40,
    'J': 1e15,
    'count': (1 << 32) - 2,
}
_MOST_OF = {'fan_speed': 1000}
#: The least that can be true, where that is less than nothing.
_LEAST_OF = {'temperature_margin': -250}


class ImpossibleError(ValueError):
    """An answer that cannot be true."""


def known_value(value: T | NaType) -> T | None:
    """The value, ``None`` for ``NA``."""
    return None if isinstance(value, NaType) else value


def value_of(metric: Metric, raw: object) -> Value:
    """The value of a metric as a sample holds it, ``None`` where it is not available.

    Raises:
        ImpossibleError: It cannot be true; the text says why.
    """
    if raw is None or isinstance(raw, NaType):
        return None
    if metric.kind == 'list':
        return tuple(str(name) for name in getattr(raw, 'names', ()))
    if metric.kind == 'rows' and isinstance(raw, list):
        return tuple(tuple(map(known_value, row)) for row in raw)
    if metric.kind == 'str':
        return '.'.join(map(str, raw)) if isinstance(raw, tuple) else str(raw)
    if metric.kind == 'bool':
        return bool(raw)
    if not isinstance(raw, (int, float)) or not math.isfinite(raw):
        raise ImpossibleError(f'{raw!r} is not a number')
    most, least = _MOST_OF.get(metric.name), _LEAST_OF.get(metric.name, 0)
    return checked(raw, metric.unit, most, least)


def checked(value: float, unit: str, most: float | None = None, least: float = 0) -> int | float:
    """``value`` where it can be true: not below ``least`` and not absurd for its unit.

    Raises:
        ImpossibleError: It cannot be true.
    """
    if most is None:
        most = _MOST.get(unit, (1 << 64) - 2)
    if not least <= value <= most:
        raise ImpossibleError(f'{value} {_RAW_UNITS.get(unit, unit)}'.rstrip() + ' cannot be true')
    return value


_RAW_UNITS = {'W': 'mW'}
