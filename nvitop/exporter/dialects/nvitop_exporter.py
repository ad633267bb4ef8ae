# SPDX-License-Identifier: Apache-2.0
"""The names of nvitop-exporter 1.7, for its Grafana dashboard (22589)."""

from __future__ import annotations

import operator
from typing import Iterator

from nvitop.exporter.dialects import (
    DeviceRow,
    Dialect,
    Family,
    InfoRow,
    Observation,
    Point,
    ProcessRow,
)
from nvitop.exporter.families import label_value

_MIB, _KIB = 1 << 20, 1024
# fmt: off
_DEVICES = (
    DeviceRow('gpu_utilization_Percentage', ('gpu_utilization',), 'GPU utilization (%).'),
    DeviceRow('gpu_memory_utilization_Percentage', ('memory_utilization',), 'GPU memory utilization (%).'),
    DeviceRow('gpu_encoder_utilization_Percentage', ('encoder_utilization',), 'GPU encoder utilization (%).'),
    DeviceRow('gpu_decoder_utilization_Percentage', ('decoder_utilization',), 'GPU decoder utilization (%).'),
    DeviceRow('gpu_memory_total_MiB', ('memory_total',), 'GPU memory total (MiB).', scale=1 / _MIB),
    DeviceRow('gpu_memory_used_MiB', ('memory_used',), 'GPU memory used (MiB).', scale=1 / _MIB),
    DeviceRow('gpu_memory_free_MiB', ('memory_free',), 'GPU memory free (MiB).', scale=1 / _MIB),
    DeviceRow('gpu_memory_percent_Percentage', ('memory_percent',), 'GPU memory percent (%).'),
    DeviceRow('gpu_clock_sm_MHz', ('sm_clock',), 'GPU SM clock (MHz).'),
    DeviceRow('gpu_clock_memory_MHz', ('memory_clock',), 'GPU memory clock (MHz).'),
    DeviceRow('gpu_clock_graphics_MHz', ('graphics_clock',), 'GPU graphics clock (MHz).'),
    DeviceRow('gpu_clock_video_MHz', ('video_clock',), 'GPU video clock (MHz).'),
    DeviceRow('gpu_power_usage_W', ('power_usage',), 'GPU power usage (W).'),
    DeviceRow('gpu_power_limit_W', ('power_limit',), 'GPU power limit (W).'),
    DeviceRow('gpu_temperature_C', ('temperature',), 'GPU temperature (C).'),
    DeviceRow('gpu_fan_speed_Percentage', ('fan_speed',), 'GPU fan speed (%).'),
    DeviceRow('gpu_pcie_tx_throughput_MiBps', ('pcie_tx_throughput',), 'GPU PCIe transmit throughput (MiB/s).', scale=1 / _KIB),
    DeviceRow('gpu_pcie_rx_throughput_MiBps', ('pcie_rx_throughput',), 'GPU PCIe receive throughput (MiB/s).', scale=1 / _KIB),
    DeviceRow('gpu_nvlink_total_tx_throughput_MiBps', ('nvlink_total_tx_throughput',), 'GPU total NVLink transmit throughput (MiB/s).', scale=1 / _KIB),
    DeviceRow('gpu_nvlink_total_rx_throughput_MiBps', ('nvlink_total_rx_throughput',), 'GPU total NVLink receive throughput (MiB/s).', scale=1 / _KIB),
    DeviceRow('gpu_nvlink_mean_tx_throughput_MiBps', ('nvlink_link_throughputs',), 'GPU mean NVLink transmit throughput (MiB/s).', scale=1 / _KIB, form='mean', item='0'),
    DeviceRow('gpu_nvlink_mean_rx_throughput_MiBps', ('nvlink_link_throughputs',), 'GPU mean NVLink receive throughput (MiB/s).', scale=1 / _KIB, form='mean', item='1'),
    DeviceRow('gpu_nvlink_tx_throughput_MiBps', ('nvlink_link_throughputs',), 'GPU NVLink transmit throughput (MiB/s).', scale=1 / _KIB, form='column', item='0'),
    DeviceRow('gpu_nvlink_rx_throughput_MiBps', ('nvlink_link_throughputs',), 'GPU NVLink receive throughput (MiB/s).', scale=1 / _KIB, form='column', item='1'),
)
_PROCESSES = (
    ProcessRow('process_running_time_Second', 'running_time', 'Process running time (s).'),
    ProcessRow('process_cpu_percent_Percentage', 'cpu_percent', 'Process CPU percent (%).'),
    ProcessRow('process_rss_memory_MiB', 'host_memory', 'Process memory resident set size (MiB).', 1 / _MIB),
    ProcessRow('process_memory_percent_Percentage', 'memory_percent', 'Process memory percent (%).'),
    ProcessRow('process_gpu_memory_MiB', 'gpu_memory', 'Process GPU memory (MiB).', 1 / _MIB),
    ProcessRow('process_gpu_sm_utilization_Percentage', 'gpu_sm_utilization', 'Process GPU SM utilization (%).'),
    ProcessRow('process_gpu_memory_utilization_Percentage', 'gpu_memory_utilization', 'Process GPU memory utilization (%).'),
    ProcessRow('process_gpu_encoder_utilization_Percentage', 'gpu_encoder_utilization', 'Process GPU encoder utilization (%).'),
    ProcessRow('process_gpu_decoder_utilization_Percentage', 'gpu_decoder_utilization', 'Process GPU decoder utilization (%).'),
)
#: Name, text, field and unit of the series of the host, its network interfaces, disks and file systems.
_HOST = (
    ('uptime_Second', 'uptime (s)', 'uptime_seconds', 1),
    ('cpu_percent_Percentage', 'CPU percent (%)', 'cpu_percent', 1),
    ('virtual_memory_total_MiB', 'virtual memory total (MiB)', 'memory_total_bytes', _MIB),
    ('virtual_memory_used_MiB', 'virtual memory used (MiB)', 'memory_used_bytes', _MIB),
    ('virtual_memory_free_MiB', 'virtual memory free (MiB)', 'io.memory_free_bytes', _MIB),
    ('virtual_memory_percent_Percentage', 'virtual memory percent (%)', 'memory_percent', 1),
    ('swap_memory_total_MiB', 'swap total (MiB)', 'swap_total_bytes', _MIB),
    ('swap_memory_used_MiB', 'swap used (MiB)', 'swap_used_bytes', _MIB),
    ('swap_memory_percent_Percentage', 'swap percent (%)', 'swap_percent', 1),
)
_NETWORK = (
    ('net_io_tx_data_MiB', 'network I/O transmitted data (MiB)', 'sent_bytes', _MIB),
    ('net_io_rx_data_MiB', 'network I/O received data (MiB)', 'received_bytes', _MIB),
    ('net_io_tx_packets_Packet', 'network I/O transmitted packets', 'sent_packets', 1),
    ('net_io_rx_packets_Packet', 'network I/O received packets', 'received_packets', 1),
)
_DISK = (
    ('disk_io_read_data_MiB', 'disk I/O read data (MiB)', 'read_bytes', _MIB),
    ('disk_io_write_data_MiB', 'disk I/O write data (MiB)', 'written_bytes', _MIB),
)
_FILESYSTEM = (
    ('disk_usage_total_MiB', 'disk usage total (MiB)', 'total_bytes', _MIB),
    ('disk_usage_used_MiB', 'disk usage used (MiB)', 'used_bytes', _MIB),
    ('disk_usage_free_MiB', 'disk usage free (MiB)', 'free_bytes', _MIB),
    ('disk_usage_percent_Percentage', 'disk usage percent (%)', 'used_percent', 1),
)
# fmt: on


def _others(observation: Observation, _: object) -> Iterator[Family]:
    sample, host = observation.sample, observation.sample.host
    labels = {'hostname': label_value(host.hostname)}
    info = {
        **labels,
        'cuda_driver_version': sample.cuda_driver_version or 'N/A',
        'driver_version': sample.driver_version or 'N/A',
        'device_count': str(sum(not device.key.is_mig for device in sample.devices)),
    }
    yield Family('nvitop_info', 'info', 'NVITOP Prometheus Exporter.', [Point(info, 1.0)])
    for items, rows in (
        ([(labels, host)], _HOST),
        ([({**labels, 'interface': label_value(n.name)}, n) for n in host.io.networks], _NETWORK),
        ([({**labels, 'partition': label_value(d.name)}, d) for d in host.io.disks], _DISK),
        (
            [
                ({**labels, 'mountpoint': label_value(f.mount_point)}, f)
                for f in host.io.filesystems
            ],
            _FILESYSTEM,
        ),
    ):
        for name, text, field, unit in rows:
            values = [(texts, operator.attrgetter(field)(item)) for texts, item in items]
            points = [Point(texts, value / unit) for texts, value in values if value is not None]
            yield Family(f'host_{name}', 'gauge', f'Host {text}.', points)
    sums: list[tuple[str, str, float]] = []
    if host.swap_total_bytes is not None and host.swap_used_bytes is not None:
        free = host.swap_total_bytes - host.swap_used_bytes
        sums.append(('swap_memory_free_MiB', 'swap free (MiB)', free / _MIB))
    spans = ('1m', 'minute'), ('5m', '5 minutes'), ('15m', '15 minutes')
    for (short, span), load in zip(spans, host.load_average or ()):
        sums.append((f'load_average_{short}_Percentage', f'load average for the last {span}', load))
    for name, text, value in sums:
        yield Family(f'host_{name}', 'gauge', f'Host {text}.', [Point(labels, value)])


DIALECT = Dialect(
    name='nvitop-exporter',
    help='names of nvitop-exporter 1.7',
    devices=_DEVICES,
    labels={'hostname': 'hostname', 'index': 'label', 'devicename': 'name', 'uuid': 'uuid'},
    processes=_PROCESSES,
    process_labels={'pid': 'pid', 'username': 'user'},
    process_info=(
        InfoRow(
            'process_info_info', 'Process information.', {'status': 'status', 'command': 'command'}
        ),
    ),
    has_processes=True,
    has_host=True,
    others=_others,
)
