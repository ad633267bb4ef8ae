# SPDX-License-Identifier: Apache-2.0
"""The names of dcgm-exporter up to 4.8, and the new names of release 4.9.

The default list, and further fields whose values NVML has. The license of a vGPU is missing, because
nvitop does not read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, NamedTuple

from nvitop.exporter.dialects import DeviceRow, Dialect, Family, Point
from nvitop.exporter.families import described_devices, texts_of

if TYPE_CHECKING:
    from nvitop.exporter.dialects import Form, Observation, SeriesType

_MIB, _KIB = 1 << 20, 1024


class _Field(NamedTuple):
    """A field of DCGM with its names up to 4.8 and since 4.9, without ``DCGM_FI_``."""

    #: Metrics, separated by spaces, that are added.
    metrics: str
    text: str
    old: str
    #: The same as the old one if it did not change, or if that is not known: ``''``.
    new: str = ''
    #: Value in the unit of the metric × scale = value of the series.
    old_scale: float = 1.0
    new_scale: float = 1.0
    is_counter: bool = False
    form: Form = 'number'


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
    _Field('memory_total', 'Framebuffer memory.', 'DEV_FB_TOTAL', 'DEV_FB_CAPACITY_BYTES', 1 / _MIB),
    _Field('memory_percent', 'Used share of the framebuffer, 0 to 1.', 'DEV_FB_USED_PERCENT', '', 0.01),
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
    _Field('nvlink_tx_throughput', 'NVLink traffic from the GPU in bytes per second.', 'PROF_NVLINK_TX_BYTES', '', _KIB),
    _Field('nvlink_rx_throughput', 'NVLink traffic to the GPU in bytes per second.', 'PROF_NVLINK_RX_BYTES', '', _KIB),
    _Field('gpm_fp16_active', 'Share of time in which the FP16 pipe was active.', 'PROF_PIPE_FP16_ACTIVE', '', 0.01),
    _Field('gpm_fp32_active', 'Share of time in which the FP32 pipe was active.', 'PROF_PIPE_FP32_ACTIVE', '', 0.01),
    _Field('gpm_fp64_active', 'Share of time in which the FP64 pipe was active.', 'PROF_PIPE_FP64_ACTIVE', '', 0.01),
    # not in the default list
    _Field('total_volatile_corrected_ecc_errors', 'Single-bit ECC errors since the driver was loaded.', 'DEV_ECC_SBE_VOL_TOTAL', is_counter=True),
    _Field('total_volatile_uncorrected_ecc_errors', 'Double-bit ECC errors since the driver was loaded.', 'DEV_ECC_DBE_VOL_TOTAL', is_counter=True),
    _Field('total_aggregate_corrected_ecc_errors', 'Single-bit ECC errors over the life of the board.', 'DEV_ECC_SBE_AGG_TOTAL', is_counter=True),
    _Field('total_aggregate_uncorrected_ecc_errors', 'Double-bit ECC errors over the life of the board.', 'DEV_ECC_DBE_AGG_TOTAL', is_counter=True),
    _Field('retired_pages_single_bit_ecc', 'Pages retired because of single-bit errors.', 'DEV_RETIRED_SBE', is_counter=True),
    _Field('retired_pages_double_bit_ecc', 'Pages retired because of double-bit errors.', 'DEV_RETIRED_DBE', is_counter=True),
    _Field('retired_pages_pending', 'Whether pages are to be retired at the next restart.', 'DEV_RETIRED_PENDING'),
    _Field('remapped_rows_pending', 'Whether a remapping of rows waits for a reset.', 'DEV_ROW_REMAP_PENDING'),
    _Field('sw_power_cap_time', 'Time in which power lowered the clocks, in nanoseconds.', 'DEV_POWER_VIOLATION', '', 1000, is_counter=True),
    _Field('thermal_violation_time', 'Time in which heat lowered the clocks, in nanoseconds.', 'DEV_THERMAL_VIOLATION', '', 1000, is_counter=True),
    _Field('sync_boost_time', 'Time in which sync boost lowered the clocks, in nanoseconds.', 'DEV_SYNC_BOOST_VIOLATION', '', 1000, is_counter=True),
    _Field('board_limit_violation_time', 'Time in which the limit of the board lowered the clocks, in nanoseconds.', 'DEV_BOARD_LIMIT_VIOLATION', '', 1000, is_counter=True),
    _Field('low_utilization_violation_time', 'Time in which low utilization lowered the clocks, in nanoseconds.', 'DEV_LOW_UTIL_VIOLATION', '', 1000, is_counter=True),
    _Field('reliability_violation_time', 'Time in which reliability lowered the clocks, in nanoseconds.', 'DEV_RELIABILITY_VIOLATION', '', 1000, is_counter=True),
    _Field('application_clocks_violation_time', 'Time below the clocks for applications, in nanoseconds.', 'DEV_TOTAL_APP_CLOCKS_VIOLATION', '', 1000, is_counter=True),
    _Field('base_clocks_violation_time', 'Time below the base clocks, in nanoseconds.', 'DEV_TOTAL_BASE_CLOCKS_VIOLATION', '', 1000, is_counter=True),
    _Field('clock_event_reasons', 'Why the clocks are low: a bit mask of NVML.', 'DEV_CLOCK_THROTTLE_REASONS', 'DEV_CLOCKS_EVENT_REASONS', form='mask'),
    _Field('power_limit', 'Power limit in watts.', 'DEV_POWER_MGMT_LIMIT'),
    _Field('min_power_limit', 'Lowest power limit in watts.', 'DEV_POWER_MGMT_LIMIT_MIN'),
    _Field('max_power_limit', 'Highest power limit in watts.', 'DEV_POWER_MGMT_LIMIT_MAX'),
    _Field('default_power_limit', 'Default power limit in watts.', 'DEV_POWER_MGMT_LIMIT_DEF'),
    _Field('temperature_slowdown_threshold', 'Temperature at which the clocks are lowered.', 'DEV_SLOWDOWN_TEMP'),
    _Field('temperature_shutdown_threshold', 'Temperature at which the GPU shuts down.', 'DEV_SHUTDOWN_TEMP'),
    _Field('fan_speed', 'Fan speed in percent.', 'DEV_FAN_SPEED'),
    _Field('performance_state', 'Performance state, 0 is the highest.', 'DEV_PSTATE', form='digits'),
    _Field('max_sm_clock', 'Highest SM clock frequency.', 'DEV_MAX_SM_CLOCK'),
    _Field('max_memory_clock', 'Highest memory clock frequency.', 'DEV_MAX_MEM_CLOCK'),
    _Field('pcie_link_generation', 'PCIe generation.', 'DEV_PCIE_LINK_GEN'),
    _Field('pcie_link_width', 'Number of PCIe lanes.', 'DEV_PCIE_LINK_WIDTH'),
    _Field('max_pcie_link_generation', 'Highest PCIe generation.', 'DEV_PCIE_MAX_LINK_GEN'),
    _Field('max_pcie_link_width', 'Highest number of PCIe lanes.', 'DEV_PCIE_MAX_LINK_WIDTH'),
    _Field('bar1_memory_total', 'BAR1 window.', 'DEV_BAR1_TOTAL', '', 1 / _MIB),
    _Field('bar1_memory_used', 'BAR1 window used.', 'DEV_BAR1_USED', '', 1 / _MIB),
    _Field('bar1_memory_free', 'BAR1 window free.', 'DEV_BAR1_FREE', '', 1 / _MIB),
    _Field('nvlink_crc_flit_errors', 'Flits with a wrong CRC on all NVLinks.', 'DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL', is_counter=True),
    _Field('nvlink_crc_data_errors', 'Data packets with a wrong CRC on all NVLinks.', 'DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL', is_counter=True),
    _Field('nvlink_replay_errors', 'Packets sent again on all NVLinks.', 'DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL', is_counter=True),
    _Field('nvlink_recovery_errors', 'NVLinks trained again after errors.', 'DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL', is_counter=True),
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
                yield DeviceRow(
                    f'DCGM_FI_{name}', metrics, field.text, kind, scale, form=field.form
                )


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
    'namespace': 'namespace',
    'pod': 'pod',
    'container': 'container',
    'hpc_job': 'job_id',
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
