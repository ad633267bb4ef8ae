# SPDX-License-Identifier: Apache-2.0
"""The names of dcgm-exporter: the default list up to 4.8, and the new names of release 4.9.

The license of a vGPU is missing, because nvitop does not read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nvitop.exporter.tables import DeviceRow, Dialect, Family, Point
from nvitop.exporter.values import described_devices, texts_of

if TYPE_CHECKING:
    from typing import Iterator

    from nvitop.exporter.tables import Observation, SeriesType

_MIB, _KIB = 1 << 20, 1024


class _Field(NamedTuple):
    """A field of DCGM with its names up to 4.8 and since 4.9, without ``DCGM_FI_``."""

    #: Metrics, separated by spaces, that are added.
    metrics: str
    text: str
    old: str
    new: str
    #: Value in the unit of the metric × scale = value of the series.
    old_scale: float = 1.0
    new_scale: float = 1.0
    is_counter: bool = False


# fmt: off
_FIELDS = (
    _Field('sm_clock', 'SM clock frequency.', 'DEV_SM_CLOCK', 'DEV_SM_CLOCK_HERTZ', 1, 1e6),
    _Field('memory_clock', 'Memory clock frequency.', 'DEV_MEM_CLOCK', 'DEV_MEMORY_CLOCK_HERTZ', 1, 1e6),
    _Field('memory_temperature', 'Memory temperature in Celsius.', 'DEV_MEMORY_TEMP', 'DEV_MEMORY_TEMP_CELSIUS'),
    _Field('temperature', 'GPU temperature in Celsius.', 'DEV_GPU_TEMP', 'DEV_GPU_TEMP_CELSIUS'),
    _Field('power_usage', 'Power draw in watts.', 'DEV_POWER_USAGE', 'DEV_BOARD_POWER_WATTS'),
    _Field('total_energy', 'Energy used since the driver was loaded.', 'DEV_TOTAL_ENERGY_CONSUMPTION', 'DEV_GPU_ENERGY_JOULES_TOTAL', 1000, is_counter=True),
    _Field('pcie_replays', 'PCIe packets sent again.', 'DEV_PCIE_REPLAY_COUNTER', 'DEV_PCIE_REPLAY_TOTAL', is_counter=True),
    _Field('gpu_utilization', 'GPU utilization.', 'DEV_GPU_UTIL', 'DEV_GPU_UTIL_RATIO', 1, 0.01),
    _Field('memory_utilization', 'Memory utilization.', 'DEV_MEM_COPY_UTIL', 'DEV_MEMORY_UTIL_RATIO', 1, 0.01),
    _Field('encoder_utilization', 'Encoder utilization.', 'DEV_ENC_UTIL', 'DEV_ENC_UTIL_RATIO', 1, 0.01),
    _Field('decoder_utilization', 'Decoder utilization.', 'DEV_DEC_UTIL', 'DEV_DEC_UTIL_RATIO', 1, 0.01),
    _Field('memory_total', 'Framebuffer memory.', '', 'DEV_FB_CAPACITY_BYTES'),
    _Field('memory_free', 'Framebuffer memory free.', 'DEV_FB_FREE', 'DEV_FB_FREE_BYTES', 1 / _MIB),
    _Field('memory_used', 'Framebuffer memory used.', 'DEV_FB_USED', 'DEV_FB_USED_BYTES', 1 / _MIB),
    _Field('memory_reserved', 'Framebuffer memory reserved.', 'DEV_FB_RESERVED', 'DEV_FB_RESERVED_BYTES', 1 / _MIB),
    _Field('nvlink_tx_throughput nvlink_rx_throughput', 'NVLink traffic of all links, both directions.', 'DEV_NVLINK_BANDWIDTH_TOTAL', 'DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND', _KIB / 1e6, _KIB),
    _Field('remapped_rows_uncorrectable', 'Rows remapped because of uncorrectable errors.', 'DEV_UNCORRECTABLE_REMAPPED_ROWS', 'DEV_ROW_REMAP_UNCORRECTABLE_TOTAL', is_counter=True),
    _Field('remapped_rows_correctable', 'Rows remapped because of correctable errors.', 'DEV_CORRECTABLE_REMAPPED_ROWS', 'DEV_ROW_REMAP_CORRECTABLE_TOTAL', is_counter=True),
    _Field('remapped_rows_failure', 'Whether remapping of rows has failed.', 'DEV_ROW_REMAP_FAILURE', 'DEV_ROW_REMAP_FAILED'),
    _Field('gpm_graphics_active', 'Share of time in which the graphics engine was active.', 'PROF_GR_ENGINE_ACTIVE', 'PROF_GR_ENGINE_UTIL_RATIO', 0.01, 0.01),
    _Field('gpm_sm_active', 'Share of time in which an SM had a warp.', 'PROF_SM_ACTIVE', 'PROF_SM_UTIL_RATIO', 0.01, 0.01),
    _Field('gpm_sm_occupancy', 'Resident warps / possible warps.', 'PROF_SM_OCCUPANCY', 'PROF_SM_OCCUPANCY_RATIO', 0.01, 0.01),
    _Field('gpm_tensor_active', 'Share of time in which the tensor pipe was active.', 'PROF_PIPE_TENSOR_ACTIVE', 'PROF_TENSOR_UTIL_RATIO', 0.01, 0.01),
    _Field('gpm_dram_active', 'Share of time in which the memory interface was active.', 'PROF_DRAM_ACTIVE', 'PROF_DRAM_UTIL_RATIO', 0.01, 0.01),
    _Field('pcie_tx_throughput', 'PCIe traffic from the GPU in bytes per second.', 'PROF_PCIE_TX_BYTES', 'PROF_PCIE_TX_BYTES', _KIB, _KIB),
    _Field('pcie_rx_throughput', 'PCIe traffic to the GPU in bytes per second.', 'PROF_PCIE_RX_BYTES', 'PROF_PCIE_RX_BYTES', _KIB, _KIB),
)
# fmt: on


def _rows() -> Iterator[DeviceRow]:
    for field in _FIELDS:
        names = {field.old: field.old_scale, field.new: field.new_scale}
        for name, scale in names.items():
            if name:
                # The names of some counters do not end in "_total", as OpenMetrics requires.
                kind: SeriesType = 'unknown' if field.is_counter else 'gauge'
                metrics = tuple(field.metrics.split())
                yield DeviceRow(f'DCGM_FI_{name}', metrics, field.text, kind, scale)


LABELS = {
    'gpu': 'index',
    'UUID': 'gpu_uuid',
    'pci_bus_id': 'bus_id',
    'device': 'device_file',
    'modelName': 'gpu_name',
    'GPU_I_PROFILE': 'mig_profile',
    'GPU_I_ID': 'gpu_instance_id',
    # The second name of each pair is that of 4.9.
    'Hostname': 'hostname',
    'hostname': 'hostname',
    'DCGM_FI_DRIVER_VERSION': 'driver_version',
    'DCGM_FI_SYSTEM_DRIVER_VERSION': 'driver_version',
}


def _last_xid(observation: Observation) -> Iterator[Family]:
    """Yield the number of the last Xid of each GPU, 0 if there was none since the start."""
    last = {e.device: e.code for e in observation.sample.events if e.kind == 'xid'}
    points = tuple(
        Point(texts_of(LABELS, properties), float(last.get(device.key, 0)))
        for device, properties in described_devices(observation.sample, observation.options)
        if not device.key.is_mig and (device.status == 'ok' or device.key in last)
    )
    yield Family('DCGM_FI_DEV_XID_ERRORS', 'gauge', 'Number of the last Xid error.', points)


DIALECT = Dialect(
    name='dcgm',
    help='names of dcgm-exporter: old ones and those since 4.9',
    devices=tuple(_rows()),
    labels=LABELS,
    others=_last_xid,
)
