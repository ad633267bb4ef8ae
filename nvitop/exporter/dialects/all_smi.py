# SPDX-License-Identifier: Apache-2.0
"""The names of ``all-smi api``, which are only read, see :mod:`nvitop.fleet`."""

from __future__ import annotations

from nvitop.exporter.tables import DeviceRow, Dialect


def _gpu(name: str, metric: str, text: str) -> DeviceRow:
    return DeviceRow(f'all_smi_gpu_{name}', (metric,), text)


DIALECTS = (
    Dialect(
        name='all-smi',
        help='names of all-smi',
        devices=(
            _gpu('utilization', 'gpu_utilization', 'GPU utilization percentage'),
            _gpu('memory_used_bytes', 'memory_used', 'GPU memory used in bytes'),
            _gpu('memory_total_bytes', 'memory_total', 'GPU memory total in bytes'),
            _gpu('temperature_celsius', 'temperature', 'GPU temperature in celsius'),
            _gpu('power_consumption_watts', 'power_usage', 'GPU power consumption in watts'),
            _gpu('frequency_mhz', 'graphics_clock', 'GPU frequency in MHz'),
        ),
        labels={
            'gpu': 'name',
            'exported_instance': 'hostname',
            'uuid': 'uuid',
            'index': 'index',
        },
        has_mig=False,
    ),
)
