# SPDX-License-Identifier: Apache-2.0
"""Names like those of nvidia_gpu_exporter: the fields of nvidia-smi, with base units.

They are derived from the table of metrics: ``clocks.current.sm`` becomes
``nvidia_smi_clocks_current_sm_clock_hz``. MIG devices have no series.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Iterator

from nvitop.basics.metrics import CLOCK_EVENT_REASONS, EXTENDED_METRICS, METRICS, Metric
from nvitop.exporter.dialects import DeviceRow, Dialect, InfoRow, ProcessRow

if TYPE_CHECKING:
    from nvitop.exporter.dialects import Form, SeriesType

PREFIX = 'nvidia_smi_'
#: Unit → ending of the name, and value in that unit ÷ value in the unit of the metric.
_UNITS = {
    '': ('', 1.0),
    'count': ('', 1.0),
    'B': ('_bytes', 1.0),
    '%': ('_ratio', 0.01),
    '°C': ('', 1.0),
    'W': ('_watts', 1.0),
    'MHz': ('_clock_hz', 1e6),
    'J': ('_joules', 1.0),
    'µs': ('_us', 1.0),
}
#: Texts that are exported as numbers; others have no series.
_FORMS: dict[str, Form] = {
    'performance_state': 'digits',
    **dict.fromkeys(
        ('persistence_mode', 'display_active', 'display_mode', 'mig_mode', 'ecc', 'accounting'),
        'switch',
    ),
}
#: Extended metrics that dashboards show.
_EXTENDED = (
    *('encoder_session_count', 'encoder_average_fps', 'encoder_average_latency'),
    *('average_power_usage', 'instant_power_usage', 'temperature_margin'),
    *('application_graphics_clock', 'application_memory_clock', 'ecc', 'accounting'),
    *('default_application_graphics_clock', 'default_application_memory_clock'),
    *(f'{reason}_time' for reason in CLOCK_EVENT_REASONS if 'slowdown' in reason),
    *('sw_power_cap_time', 'sync_boost_time', 'retired_pages_pending'),
)


def series_name(query: str) -> str:
    """Return the name of a field of nvidia-smi: ``'pcie.link.gen.max'`` → ``'pcie_link_gen_max'``."""
    words = re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', query)
    return re.sub(r'\W', '_', words).lower()


def _row(metric: Metric) -> DeviceRow | None:
    form = 'number' if metric.is_number else _FORMS.get(metric.name)
    if metric.query is None or form is None:
        return None
    suffix, scale = _UNITS[metric.unit]
    name = f'{PREFIX}{series_name(metric.query)}{suffix}'
    kind: SeriesType = 'counter' if name.endswith('_total') else 'gauge'
    return DeviceRow(name, (metric.name,), metric.query, kind, scale, form=form)


def _rows() -> Iterator[DeviceRow]:
    extended = [metric for metric in EXTENDED_METRICS if metric.name in _EXTENDED]
    for metric in (*METRICS, *extended):
        row = _row(metric)
        if row is not None:
            yield row
    for reason in CLOCK_EVENT_REASONS:
        for word in ('event', 'throttle'):
            name = f'clocks_{word}_reasons_{reason}'
            query = f'clocks_{word}_reasons.{reason}'
            metrics = ('clock_event_reasons',)
            yield DeviceRow(PREFIX + name, metrics, query, form='reason', item=reason)
    yield DeviceRow(
        f'{PREFIX}energy_joules_total', ('total_energy',), 'total energy in joules', 'counter'
    )


DIALECT = Dialect(
    name='nvidia-smi',
    help='names of nvidia_gpu_exporter: nvidia_smi_…',
    devices=tuple(_rows()),
    labels={'uuid': 'bare_uuid'},
    device_info=(
        InfoRow(
            f'{PREFIX}gpu_info',
            'properties of the GPU',
            {
                'name': 'name',
                'index': 'index',
                'pci_bus_id': 'bus_id',
                'driver_version': 'driver_version',
                'driver_model_current': 'current_driver_model',
                'vbios_version': 'vbios_version',
            },
        ),
    ),
    processes=(
        ProcessRow(
            f'{PREFIX}compute_app_used_memory_bytes', 'gpu_memory', 'device memory of a process'
        ),
    ),
    process_labels={'pid': 'pid'},
    process_info=(
        InfoRow(
            f'{PREFIX}compute_app_info',
            'properties of a process',
            {'process_name': 'command', 'user': 'user'},
        ),
    ),
    has_mig=False,
)
