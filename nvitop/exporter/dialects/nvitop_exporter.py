# SPDX-License-Identifier: Apache-2.0
"""The names of nvitop-exporter 1.7, for its Grafana dashboard (22589)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.exporter.identity import label_value
from nvitop.exporter.tables import (
    DeviceRow,
    Dialect,
    Family,
    InfoRow,
    Point,
    ProcessRow,
)

if TYPE_CHECKING:
    from typing import Iterator

    from nvitop.exporter.tables import Form, Observation
    from nvitop.sampling.types import HostSample

_MIB = 1 << 20
#: KiB/s → MiB/s.
_MIBPS = 1 / 1024
#: Metric with the traffic of each link.
_LINKS = 'nvlink_link_throughputs'
#: Name, text, field and unit of the series of network interfaces, disks and file systems.
_NETWORK_ROWS = (
    ('net_io_tx_data_MiB', 'network I/O transmitted data (MiB)', 'sent_bytes', _MIB),
    ('net_io_rx_data_MiB', 'network I/O received data (MiB)', 'received_bytes', _MIB),
    ('net_io_tx_packets_Packet', 'network I/O transmitted packets', 'sent_packets', 1),
    ('net_io_rx_packets_Packet', 'network I/O received packets', 'received_packets', 1),
)
_DISK_ROWS = (
    ('disk_io_read_data_MiB', 'disk I/O read data (MiB)', 'read_bytes', _MIB),
    ('disk_io_write_data_MiB', 'disk I/O write data (MiB)', 'written_bytes', _MIB),
)
_FILESYSTEM_ROWS = (
    ('disk_usage_total_MiB', 'disk usage total (MiB)', 'total_bytes', _MIB),
    ('disk_usage_used_MiB', 'disk usage used (MiB)', 'used_bytes', _MIB),
    ('disk_usage_free_MiB', 'disk usage free (MiB)', 'free_bytes', _MIB),
    ('disk_usage_percent_Percentage', 'disk usage percent (%)', 'used_percent', 1),
)


def _percentage(name: str, text: str, metric: str = '') -> DeviceRow:
    return DeviceRow(f'gpu_{name}_Percentage', (metric or name,), text)


def _memory(part: str) -> DeviceRow:
    return DeviceRow(
        f'gpu_memory_{part}_MiB', (f'memory_{part}',), f'GPU memory {part} (MiB).', scale=1 / _MIB
    )


def _clock(domain: str, title: str) -> DeviceRow:
    return DeviceRow(f'gpu_clock_{domain}_MHz', (f'{domain}_clock',), f'GPU {title} clock (MHz).')


def _traffic(link: str, title: str, metric: str, form: Form = 'number') -> Iterator[DeviceRow]:
    for column, (direction, verb) in enumerate((('tx', 'transmit'), ('rx', 'receive'))):
        yield DeviceRow(
            f'gpu_{link}_{direction}_throughput_MiBps',
            (metric.format(direction),),
            f'GPU {title} {verb} throughput (MiB/s).',
            scale=_MIBPS,
            form=form,
            item='' if form == 'number' else str(column),
        )


def _host(observation: Observation) -> Iterator[Family]:
    sample, host = observation.sample, observation.sample.host
    hostname = label_value(observation.options.hostname or host.hostname)
    labels = {'hostname': hostname}
    info = {
        **labels,
        'cuda_driver_version': sample.cuda_driver_version or 'N/A',
        'driver_version': sample.driver_version or 'N/A',
        'device_count': str(sum(not device.key.is_mig for device in sample.devices)),
    }
    yield Family('nvitop_info', 'info', 'NVITOP Prometheus Exporter.', (Point(info, 1.0),))
    for name, text, value in _host_values(host):
        if value is not None:
            yield Family(f'host_{name}', 'gauge', f'Host {text}.', (Point(labels, float(value)),))
    for label, identity, items, rows in (
        ('interface', 'name', host.io.networks, _NETWORK_ROWS),
        ('partition', 'name', host.io.disks, _DISK_ROWS),
        ('mountpoint', 'mount_point', host.io.filesystems, _FILESYSTEM_ROWS),
    ):
        for name, text, field, unit in rows:
            points = tuple(
                Point(
                    {**labels, label: label_value(getattr(item, identity))},
                    getattr(item, field) / unit,
                )
                for item in items
            )
            yield Family(f'host_{name}', 'gauge', f'Host {text}.', points)


def _host_values(host: HostSample) -> list[tuple[str, str, float | None]]:
    """Return name, text and value of the series of the host."""

    def mib(value: int | None) -> float | None:
        return None if value is None else value / _MIB

    swap_free = None
    if host.swap_total_bytes is not None and host.swap_used_bytes is not None:
        swap_free = host.swap_total_bytes - host.swap_used_bytes
    values = [
        ('uptime_Second', 'uptime (s)', host.uptime_seconds),
        ('cpu_percent_Percentage', 'CPU percent (%)', host.cpu_percent),
        ('virtual_memory_total_MiB', 'virtual memory total (MiB)', mib(host.memory_total_bytes)),
        ('virtual_memory_used_MiB', 'virtual memory used (MiB)', mib(host.memory_used_bytes)),
        ('virtual_memory_free_MiB', 'virtual memory free (MiB)', mib(host.io.memory_free_bytes)),
        ('virtual_memory_percent_Percentage', 'virtual memory percent (%)', host.memory_percent),
        ('swap_memory_total_MiB', 'swap total (MiB)', mib(host.swap_total_bytes)),
        ('swap_memory_used_MiB', 'swap used (MiB)', mib(host.swap_used_bytes)),
        ('swap_memory_free_MiB', 'swap free (MiB)', mib(swap_free)),
        ('swap_memory_percent_Percentage', 'swap percent (%)', host.swap_percent),
    ]
    minutes = ('1m', 'minute'), ('5m', '5 minutes'), ('15m', '15 minutes')
    for (name, span), load in zip(minutes, host.load_average or ()):
        text = f'load average for the last {span}'
        values.append((f'load_average_{name}_Percentage', text, load))
    return values


DIALECTS = (
    Dialect(
        name='nvitop-exporter',
        help='names of nvitop-exporter 1.7',
        devices=(
            _percentage('utilization', 'GPU utilization (%).', 'gpu_utilization'),
            _percentage('memory_utilization', 'GPU memory utilization (%).'),
            _percentage('encoder_utilization', 'GPU encoder utilization (%).'),
            _percentage('decoder_utilization', 'GPU decoder utilization (%).'),
            *map(_memory, ('total', 'used', 'free')),
            _percentage('memory_percent', 'GPU memory percent (%).'),
            _clock('sm', 'SM'),
            _clock('memory', 'memory'),
            _clock('graphics', 'graphics'),
            _clock('video', 'video'),
            DeviceRow('gpu_power_usage_W', ('power_usage',), 'GPU power usage (W).'),
            DeviceRow('gpu_power_limit_W', ('power_limit',), 'GPU power limit (W).'),
            DeviceRow('gpu_temperature_C', ('temperature',), 'GPU temperature (C).'),
            _percentage('fan_speed', 'GPU fan speed (%).'),
            *_traffic('pcie', 'PCIe', 'pcie_{}_throughput'),
            *_traffic('nvlink_total', 'total NVLink', 'nvlink_{}_throughput'),
            *_traffic('nvlink_mean', 'mean NVLink', _LINKS, 'mean'),
            *_traffic('nvlink', 'NVLink', _LINKS, 'column'),
        ),
        labels={
            'hostname': 'hostname',
            'index': 'label',
            'devicename': 'name',
            'uuid': 'uuid',
        },
        processes=(
            ProcessRow('process_running_time_Second', 'running_time', 'Process running time (s).'),
            ProcessRow('process_cpu_percent_Percentage', 'cpu_percent', 'Process CPU percent (%).'),
            ProcessRow(
                'process_rss_memory_MiB',
                'host_memory',
                'Process memory resident set size (MiB).',
                1 / _MIB,
            ),
            ProcessRow(
                'process_memory_percent_Percentage', 'memory_percent', 'Process memory percent (%).'
            ),
            ProcessRow(
                'process_gpu_memory_MiB', 'gpu_memory', 'Process GPU memory (MiB).', 1 / _MIB
            ),
            *(
                ProcessRow(
                    f'process_gpu_{engine}_utilization_Percentage',
                    f'gpu_{engine}_utilization',
                    f'Process GPU {title} utilization (%).',
                )
                for engine, title in (
                    ('sm', 'SM'),
                    ('memory', 'memory'),
                    ('encoder', 'encoder'),
                    ('decoder', 'decoder'),
                )
            ),
        ),
        process_labels={'pid': 'pid', 'username': 'user'},
        process_info=(
            InfoRow(
                'process_info_info',
                'Process information.',
                {'status': 'status', 'command': 'command'},
            ),
        ),
        has_processes=True,
        has_host=True,
        others=_host,
    ),
)
