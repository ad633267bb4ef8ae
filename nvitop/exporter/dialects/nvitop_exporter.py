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
    LabelRow,
    Point,
    ProcessRow,
)

if TYPE_CHECKING:
    from typing import Iterator, Sequence

    from nvitop.exporter.tables import Observation
    from nvitop.sampling.types import HostSample

_MIB = 1 << 20
#: KiB/s → MiB/s.
_MIBPS = 1 / 1024


def _percentage(name: str, text: str, metric: str = '') -> DeviceRow:
    return DeviceRow(f'gpu_{name}_Percentage', (metric or name,), text)


def _memory(part: str) -> DeviceRow:
    return DeviceRow(
        f'gpu_memory_{part}_MiB', (f'memory_{part}',), f'GPU memory {part} (MiB).', scale=1 / _MIB
    )


def _clock(domain: str, title: str) -> DeviceRow:
    return DeviceRow(f'gpu_clock_{domain}_MHz', (f'{domain}_clock',), f'GPU {title} clock (MHz).')


def _traffic(link: str, title: str) -> tuple[DeviceRow, DeviceRow]:
    rows = [
        DeviceRow(
            f'gpu_{link}_{direction}_throughput_MiBps',
            (f'{link.replace("_total", "")}_{direction}_throughput',),
            f'GPU {title} {verb} throughput (MiB/s).',
            scale=_MIBPS,
        )
        for direction, verb in (('tx', 'transmit'), ('rx', 'receive'))
    ]
    return rows[0], rows[1]


def _nvlink(name: str, title: str, form: str) -> tuple[DeviceRow, DeviceRow]:
    rows = [
        DeviceRow(
            f'gpu_{name}_{direction}_throughput_MiBps',
            ('nvlink_link_throughputs',),
            f'GPU {title} {verb} throughput (MiB/s).',
            scale=_MIBPS,
            form='column' if form == 'column' else 'mean',
            item=str(column),
        )
        for column, (direction, verb) in enumerate((('tx', 'transmit'), ('rx', 'receive')))
    ]
    return rows[0], rows[1]


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
    for name, text, label, items in _host_io(host):
        points = [Point({**labels, label: label_value(item)}, value) for item, value in items]
        if points:
            yield Family(f'host_{name}', 'gauge', f'Host {text}.', tuple(points))


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


def _host_io(
    host: HostSample,
) -> list[tuple[str, str, str, Sequence[tuple[str, float]]]]:
    """Return name, text, label, and the items of the label with their values."""
    io = host.io
    nets, disks, systems = io.networks, io.disks, io.filesystems
    net, disk, usage = 'network I/O', 'disk I/O', 'disk usage'
    return [
        *(
            (f'net_io_{name}', f'{net} {text}', 'interface', items)
            for name, text, items in (
                (
                    'tx_data_MiB',
                    'transmitted data (MiB)',
                    [(n.name, n.sent_bytes / _MIB) for n in nets],
                ),
                (
                    'rx_data_MiB',
                    'received data (MiB)',
                    [(n.name, n.received_bytes / _MIB) for n in nets],
                ),
                (
                    'tx_packets_Packet',
                    'transmitted packets',
                    [(n.name, n.sent_packets) for n in nets],
                ),
                (
                    'rx_packets_Packet',
                    'received packets',
                    [(n.name, n.received_packets) for n in nets],
                ),
            )
        ),
        *(
            (f'disk_io_{name}_data_MiB', f'{disk} {name} data (MiB)', 'partition', items)
            for name, items in (
                ('read', [(d.name, d.read_bytes / _MIB) for d in disks]),
                ('write', [(d.name, d.written_bytes / _MIB) for d in disks]),
            )
        ),
        *(
            (f'disk_usage_{name}', f'{usage} {text}', 'mountpoint', items)
            for name, text, items in (
                (
                    'total_MiB',
                    'total (MiB)',
                    [(s.mount_point, s.total_bytes / _MIB) for s in systems],
                ),
                ('used_MiB', 'used (MiB)', [(s.mount_point, s.used_bytes / _MIB) for s in systems]),
                ('free_MiB', 'free (MiB)', [(s.mount_point, s.free_bytes / _MIB) for s in systems]),
                (
                    'percent_Percentage',
                    'percent (%)',
                    [(s.mount_point, s.used_percent) for s in systems],
                ),
            )
        ),
    ]


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
            *_traffic('pcie', 'PCIe'),
            *_traffic('nvlink_total', 'total NVLink'),
            *_nvlink('nvlink_mean', 'mean NVLink', 'mean'),
            *_nvlink('nvlink', 'NVLink', 'column'),
        ),
        labels=(
            LabelRow('hostname', 'hostname'),
            LabelRow('index', 'label'),
            LabelRow('devicename', 'name'),
            LabelRow('uuid', 'uuid'),
        ),
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
        process_labels=(LabelRow('pid', 'pid'), LabelRow('username', 'user')),
        process_info=(
            InfoRow(
                'process_info_info',
                'Process information.',
                (LabelRow('status', 'status'), LabelRow('command', 'command')),
            ),
        ),
        has_processes=True,
        has_host=True,
        others=_host,
    ),
)
