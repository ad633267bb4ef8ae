# SPDX-License-Identifier: Apache-2.0
"""Conversion of API values to sample values: ``NA`` becomes ``None``, implausible ones are refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from nvitop.api.device.base import ImpossibleAnswer, implausible
from nvitop.api.utils import NA, NaType

if TYPE_CHECKING:
    from nvitop.api.metrics import Metric
    from nvitop.sampling.types import Value

    T = TypeVar('T')

#: Unit → unit without a prefix, and the number of them in one raw value.
_BASES = {
    'W': ('W', 1e-3),
    'J': ('J', 1.0),
    'MHz': ('Hz', 1e6),
    'KiB/s': ('B/s', 1024.0),
    'B': ('B', 1.0),
}
_PREFIXES = ('', 'k', 'M', 'G', 'T', 'P')


def known_value(value: T | NaType) -> T | None:
    """Return the value, or ``None`` for ``NA``."""
    return None if isinstance(value, NaType) else value


def _scaled(raw: float, unit: str) -> str:
    """Return a raw value in a unit that a person can imagine: ``4.2 MW``."""
    if unit not in _BASES:
        return f'{raw} {unit}'.rstrip()
    base, factor = _BASES[unit]
    value = raw * factor
    power = 0
    while abs(value) >= 1000 and power < len(_PREFIXES) - 1:
        value, power = value / 1000, power + 1
    return f'{value:.4g} {_PREFIXES[power]}{base}'


def value_of(metric: Metric, raw: object) -> Value:
    """Return the raw value of a metric as samples hold it, ``None`` if it is not available.

    Raises:
        ImpossibleAnswer: The value is not a number, or implausible; the message shows it.
    """
    if raw is None or raw is NA:
        return None
    if metric.kind in ('int', 'float'):
        if isinstance(raw, (int, float)) and metric.lowest <= raw <= metric.highest:
            return raw
        if not isinstance(raw, (int, float)) or not math.isfinite(raw):
            raise ImpossibleAnswer(f'{raw!r} is not a number')
        raise implausible(_scaled(raw, metric.unit))
    if metric.kind == 'list':
        return tuple(str(name) for name in getattr(raw, 'names', ()))
    if metric.kind == 'rows' and isinstance(raw, list):
        return tuple(tuple(map(known_value, row)) for row in raw)
    if metric.kind == 'str':
        return '.'.join(map(str, raw)) if isinstance(raw, tuple) else str(raw)
    if metric.kind == 'bool':
        return bool(raw)
    raise ImpossibleAnswer(f'{raw!r} is not of kind {metric.kind}')
