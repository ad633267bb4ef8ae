# SPDX-License-Identifier: Apache-2.0
"""Names of OpenTelemetry's semantic conventions for hardware, as Prometheus stores them.

``hw.gpu.memory.usage`` in bytes becomes ``hw_gpu_memory_usage_bytes``, and a gauge with the unit 1 ends
in ``_ratio``. These conventions are in development.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.exporter.identity import label_value
from nvitop.exporter.tables import DeviceRow, Dialect, Family, Point

if TYPE_CHECKING:
    from typing import Iterator

    from nvitop.exporter.tables import Observation

_GPU = (('hw_type', 'gpu'),)
# fmt: off
_DEVICES = (
    DeviceRow('hw_gpu_utilization_ratio', ('gpu_utilization',), 'share of time in which the GPU was busy', scale=0.01, labels=(*_GPU, ('hw_gpu_task', 'general'))),
    DeviceRow('hw_gpu_utilization_ratio', ('encoder_utilization',), 'share of time in which the GPU was busy', scale=0.01, labels=(*_GPU, ('hw_gpu_task', 'encoder'))),
    DeviceRow('hw_gpu_utilization_ratio', ('decoder_utilization',), 'share of time in which the GPU was busy', scale=0.01, labels=(*_GPU, ('hw_gpu_task', 'decoder'))),
    DeviceRow('hw_gpu_memory_limit_bytes', ('memory_total',), 'device memory', labels=_GPU),
    DeviceRow('hw_gpu_memory_usage_bytes', ('memory_used',), 'device memory in use', labels=_GPU),
    DeviceRow('hw_gpu_memory_utilization_ratio', ('memory_percent',), 'device memory in use / total', scale=0.01, labels=_GPU),
    DeviceRow('hw_power_watts', ('power_usage',), 'power drawn by the board', labels=_GPU),
    DeviceRow('hw_energy_joules_total', ('total_energy',), 'energy used since the driver was loaded', 'counter', labels=_GPU),
    DeviceRow('hw_temperature_celsius', ('temperature',), 'temperature', labels=(*_GPU, ('hw_sensor_location', 'gpu'))),
    DeviceRow('hw_temperature_celsius', ('memory_temperature',), 'temperature', labels=(*_GPU, ('hw_sensor_location', 'memory'))),
    DeviceRow('hw_temperature_limit_celsius', ('temperature_slowdown_threshold',), 'limit of the temperature', labels=(*_GPU, ('hw_limit_type', 'high.degraded'))),
    DeviceRow('hw_temperature_limit_celsius', ('temperature_shutdown_threshold',), 'limit of the temperature', labels=(*_GPU, ('hw_limit_type', 'high.critical'))),
    DeviceRow('hw_fan_speed_ratio', ('fan_speed',), 'intended fan speed', scale=0.01, labels=_GPU),
    DeviceRow('hw_errors_total', ('total_volatile_corrected_ecc_errors',), 'ECC errors since the driver was loaded', 'counter', labels=(*_GPU, ('error_type', 'corrected'))),
    DeviceRow('hw_errors_total', ('total_volatile_uncorrected_ecc_errors',), 'ECC errors since the driver was loaded', 'counter', labels=(*_GPU, ('error_type', 'uncorrected'))),
)
# fmt: on


def _status(observation: Observation) -> Iterator[Family]:
    """Yield ``hw.status``, also for devices that do not respond."""
    points = []
    for device in observation.sample.devices:
        is_up = device.status == 'ok'
        identity = {'hw_id': label_value(device.key.uuid or f'gpu{device.key.label}'), **dict(_GPU)}
        for state, value in (('ok', is_up), ('failed', not is_up)):
            points.append(Point({**identity, 'hw_state': state}, float(value)))
    yield Family('hw_status', 'gauge', 'whether the GPU works', tuple(points))


DIALECTS = (
    Dialect(
        name='otel',
        help='names of OpenTelemetry: hw_gpu_…',
        devices=_DEVICES,
        labels={
            'hw_id': 'uuid',
            'hw_name': 'label',
            'hw_model': 'name',
            'hw_vendor': 'vendor',
            'hw_serial_number': 'serial',
            'hw_driver_version': 'driver_version',
            'hw_firmware_version': 'vbios_version',
        },
        others=_status,
    ),
)
