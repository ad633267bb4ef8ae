# SPDX-License-Identifier: Apache-2.0
"""Values of series from values of samples."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from nvitop.api.extended_metrics import EXTENDED_METRICS, LISTS
from nvitop.api.metrics import (
    CLOCK_EVENT_REASONS,
    METRICS,
    PROCESS_METRICS,
    Metric,
    ProcessMetric,
)

if TYPE_CHECKING:
    from typing import Callable, Sequence

    from nvitop.exporter.tables import DeviceRow, ProcessRow
    from nvitop.sampling.types import DeviceSample, ProcessSample

    #: Labels and value of a series.
    Item = tuple[tuple[tuple[str, str], ...], float]
    ReadDevice = Callable[[DeviceSample], Sequence[Item]]
    ReadProcess = Callable[[ProcessSample], 'float | None']

#: All metrics by name, also extended ones.
ALL_METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*METRICS, *EXTENDED_METRICS, *LISTS)
}
ALL_PROCESS_METRICS: dict[str, ProcessMetric] = {metric.name: metric for metric in PROCESS_METRICS}
#: Label of the series of rows with form ``reasons`` and ``column``.
REASON_LABEL, LINK_LABEL = 'reason', 'link'
_ON = frozenset({'enabled', 'active', 'yes', 'true', 'valid', 'supported'})
_OFF = frozenset({'disabled', 'inactive', 'not active', 'no', 'false', 'invalid', 'not supported'})


def raw_value(metric: Metric, device: DeviceSample) -> Any:
    """Return the value of a metric as a sample holds it, ``None`` if it is not available."""
    if metric.tier == 'extended':
        return device.extended_value(metric.field)
    return getattr(device.info if metric.tier == 'static' else device, metric.field)


def scaled(value: float, scale: float) -> float:
    """Return value × scale without the noise of binary fractions: 70 × 0.01 is 0.7."""
    return value if scale == 1 else float(f'{value * scale:.15g}')


@functools.lru_cache(maxsize=None)
def device_reader(row: DeviceRow) -> ReadDevice:
    """Return the function that makes the series of a row from a device."""
    metrics = [ALL_METRICS[name] for name in row.metrics]
    if row.form == 'number':
        return lambda device: _numbers(row, metrics, device)
    make = _FORMS[row.form]
    (metric,) = metrics

    def read(device: DeviceSample) -> Sequence[Item]:
        value = raw_value(metric, device)
        return () if value is None else make(row, value)

    return read


def _numbers(row: DeviceRow, metrics: list[Metric], device: DeviceSample) -> Sequence[Item]:
    total = 0.0
    for metric in metrics:
        value = raw_value(metric, device)
        if value is None:
            return ()
        total += value if metric.divisor == 1 else value / metric.divisor
    return ((row.labels, scaled(total, row.scale)),)


def _digits(row: DeviceRow, value: str) -> Sequence[Item]:
    digits = value.lstrip('P')
    return ((row.labels, float(digits)),) if digits.isdecimal() else ()


def _switch(row: DeviceRow, value: object) -> Sequence[Item]:
    word = str(value).lower()
    return ((row.labels, float(word in _ON)),) if word in _ON or word in _OFF else ()


def _reasons(row: DeviceRow, value: Sequence[str]) -> Sequence[Item]:
    names = dict.fromkeys((*CLOCK_EVENT_REASONS, *value))
    return [((*row.labels, (REASON_LABEL, name)), float(name in value)) for name in names]


def _reason(row: DeviceRow, value: Sequence[str]) -> Sequence[Item]:
    return ((row.labels, float(row.item in value)),)


def _column(row: DeviceRow, rows: Sequence[Sequence[Any]]) -> Sequence[Item]:
    column = int(row.item)
    return [
        ((*row.labels, (LINK_LABEL, str(number))), scaled(values[column], row.scale))
        for number, values in enumerate(rows)
        if values[column] is not None
    ]


def _mean(row: DeviceRow, rows: Sequence[Sequence[Any]]) -> Sequence[Item]:
    known = [value for _, value in _column(row, rows)]
    return ((row.labels, sum(known) / len(known)),) if known else ()


_FORMS: dict[str, Callable[[DeviceRow, Any], Sequence[Item]]] = {
    'digits': _digits,
    'switch': _switch,
    'reasons': _reasons,
    'reason': _reason,
    'column': _column,
    'mean': _mean,
}


@functools.lru_cache(maxsize=None)
def process_reader(row: ProcessRow) -> ReadProcess:
    """Return the function that makes the value of a row from a process."""
    first, _, second = ALL_PROCESS_METRICS[row.metric].field.partition('.')

    def read(process: ProcessSample) -> float | None:
        value = getattr(process, first)
        if second:
            value = getattr(value, second)
        if value is None or (second == 'start_time' and value < 0):
            return None
        return scaled(value, row.scale)

    return read
