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


def _utilization(task: str, metric: str) -> DeviceRow:
    labels = (*_GPU, ('hw_gpu_task', task))
    text = 'share of time in which the GPU was busy'
    return DeviceRow('hw_gpu_utilization_ratio', (metric,), text, scale=0.01, labels=labels)


def _gpu(name: str, metric: str, text: str, scale: float = 1.0, **labels: str) -> DeviceRow:
    more = tuple(labels.items())
    return DeviceRow(f'hw_{name}', (metric,), text, scale=scale, labels=(*_GPU, *more))


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
        devices=(
            _utilization('general', 'gpu_utilization'),
            _utilization('encoder', 'encoder_utilization'),
            _utilization('decoder', 'decoder_utilization'),
            _gpu('gpu_memory_limit_bytes', 'memory_total', 'device memory'),
            _gpu('gpu_memory_usage_bytes', 'memory_used', 'device memory in use'),
            _gpu(
                'gpu_memory_utilization_ratio',
                'memory_percent',
                'device memory in use / total',
                0.01,
            ),
            _gpu('power_watts', 'power_usage', 'power drawn by the board'),
            DeviceRow(
                'hw_energy_joules_total',
                ('total_energy',),
                'energy used since the driver was loaded',
                'counter',
                labels=_GPU,
            ),
            _gpu('temperature_celsius', 'temperature', 'temperature', hw_sensor_location='gpu'),
            _gpu(
                'temperature_celsius',
                'memory_temperature',
                'temperature',
                hw_sensor_location='memory',
            ),
            *(
                _gpu(
                    'temperature_limit_celsius',
                    f'temperature_{name}_threshold',
                    'limit of the temperature',
                    hw_limit_type=f'high.{severity}',
                )
                for name, severity in (('slowdown', 'degraded'), ('shutdown', 'critical'))
            ),
            _gpu('fan_speed_ratio', 'fan_speed', 'intended fan speed', 0.01),
            *(
                DeviceRow(
                    'hw_errors_total',
                    (f'total_volatile_{error}_ecc_errors',),
                    'ECC errors since the driver was loaded',
                    'counter',
                    labels=(*_GPU, ('error_type', error)),
                )
                for error in ('corrected', 'uncorrected')
            ),
        ),
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
