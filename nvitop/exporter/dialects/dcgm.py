# SPDX-License-Identifier: Apache-2.0
"""The names and labels of dcgm-exporter up to 4.8: its default list, and more whose values NVML has.

As there, MIG devices have series instead of their GPU, and repeat the values that only the GPU has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Sequence

from nvitop.exporter.dialects import DeviceRow, Dialect, Family, Point
from nvitop.exporter.families import label_value
from nvitop.health.xid import xid_of

if TYPE_CHECKING:
    from nvitop.exporter.dialects import Described, Observation

_MIB, _KIB = 1 << 20, 1024
# fmt: off
_DEVICES = (
    DeviceRow('DCGM_FI_DEV_SM_CLOCK', ('sm_clock',), 'SM clock frequency.'),
    DeviceRow('DCGM_FI_DEV_MEM_CLOCK', ('memory_clock',), 'Memory clock frequency.'),
    DeviceRow('DCGM_FI_DEV_MEMORY_TEMP', ('memory_temperature',), 'Memory temperature in Celsius.'),
    DeviceRow('DCGM_FI_DEV_GPU_TEMP', ('temperature',), 'GPU temperature in Celsius.'),
    DeviceRow('DCGM_FI_DEV_POWER_USAGE', ('power_usage',), 'Power draw in watts.'),
    DeviceRow('DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION', ('total_energy',), 'Energy used since the driver was loaded.', 'counter', scale=1000),
    DeviceRow('DCGM_FI_DEV_PCIE_REPLAY_COUNTER', ('pcie_replays',), 'PCIe packets sent again.', 'counter'),
    DeviceRow('DCGM_FI_DEV_GPU_UTIL', ('gpu_utilization',), 'GPU utilization.'),
    DeviceRow('DCGM_FI_DEV_MEM_COPY_UTIL', ('memory_utilization',), 'Memory utilization.'),
    DeviceRow('DCGM_FI_DEV_ENC_UTIL', ('encoder_utilization',), 'Encoder utilization.'),
    DeviceRow('DCGM_FI_DEV_DEC_UTIL', ('decoder_utilization',), 'Decoder utilization.'),
    DeviceRow('DCGM_FI_DEV_FB_TOTAL', ('memory_total',), 'Framebuffer memory.', scale=1 / _MIB),
    DeviceRow('DCGM_FI_DEV_FB_FREE', ('memory_free',), 'Framebuffer memory free.', scale=1 / _MIB),
    DeviceRow('DCGM_FI_DEV_FB_USED', ('memory_used',), 'Framebuffer memory used.', scale=1 / _MIB),
    DeviceRow('DCGM_FI_DEV_FB_RESERVED', ('memory_reserved',), 'Framebuffer memory reserved.', scale=1 / _MIB),
    DeviceRow('DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL', ('nvlink_total_tx_throughput', 'nvlink_total_rx_throughput'), 'NVLink traffic of all links, both directions.', scale=_KIB / 1000000.0),
    DeviceRow('DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS', ('remapped_rows_uncorrectable',), 'Rows remapped because of uncorrectable errors.', 'counter'),
    DeviceRow('DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS', ('remapped_rows_correctable',), 'Rows remapped because of correctable errors.', 'counter'),
    DeviceRow('DCGM_FI_DEV_ROW_REMAP_FAILURE', ('remapped_rows_failure',), 'Whether remapping of rows has failed.'),
    DeviceRow('DCGM_FI_PROF_GR_ENGINE_ACTIVE', ('gpm_graphics_active',), 'Share of time in which the graphics engine was active.', scale=0.01),
    DeviceRow('DCGM_FI_PROF_SM_ACTIVE', ('gpm_sm_active',), 'Share of time in which an SM had a warp.', scale=0.01),
    DeviceRow('DCGM_FI_PROF_SM_OCCUPANCY', ('gpm_sm_occupancy',), 'Resident warps / possible warps.', scale=0.01),
    DeviceRow('DCGM_FI_PROF_PIPE_TENSOR_ACTIVE', ('gpm_tensor_active',), 'Share of time in which the tensor pipe was active.', scale=0.01),
    DeviceRow('DCGM_FI_PROF_DRAM_ACTIVE', ('gpm_dram_active',), 'Share of time in which the memory interface was active.', scale=0.01),
    DeviceRow('DCGM_FI_PROF_PCIE_TX_BYTES', ('pcie_tx_throughput',), 'PCIe traffic from the GPU in bytes per second.', scale=_KIB),
    DeviceRow('DCGM_FI_PROF_PCIE_RX_BYTES', ('pcie_rx_throughput',), 'PCIe traffic to the GPU in bytes per second.', scale=_KIB),
    DeviceRow('DCGM_FI_PROF_NVLINK_TX_BYTES', ('nvlink_total_tx_throughput',), 'NVLink traffic from the GPU in bytes per second.', scale=_KIB),
    DeviceRow('DCGM_FI_PROF_NVLINK_RX_BYTES', ('nvlink_total_rx_throughput',), 'NVLink traffic to the GPU in bytes per second.', scale=_KIB),
    DeviceRow('DCGM_FI_PROF_PIPE_FP16_ACTIVE', ('gpm_fp16_active',), 'Share of time in which the FP16 pipe was active.', scale=0.01),
    DeviceRow('DCGM_FI_PROF_PIPE_FP32_ACTIVE', ('gpm_fp32_active',), 'Share of time in which the FP32 pipe was active.', scale=0.01),
    DeviceRow('DCGM_FI_PROF_PIPE_FP64_ACTIVE', ('gpm_fp64_active',), 'Share of time in which the FP64 pipe was active.', scale=0.01),
    DeviceRow('DCGM_FI_DEV_ECC_SBE_VOL_TOTAL', ('total_volatile_corrected_ecc_errors',), 'Single-bit ECC errors since the driver was loaded.', 'counter'),
    DeviceRow('DCGM_FI_DEV_ECC_DBE_VOL_TOTAL', ('total_volatile_uncorrected_ecc_errors',), 'Double-bit ECC errors since the driver was loaded.', 'counter'),
    DeviceRow('DCGM_FI_DEV_ECC_SBE_AGG_TOTAL', ('total_aggregate_corrected_ecc_errors',), 'Single-bit ECC errors over the life of the board.', 'counter'),
    DeviceRow('DCGM_FI_DEV_ECC_DBE_AGG_TOTAL', ('total_aggregate_uncorrected_ecc_errors',), 'Double-bit ECC errors over the life of the board.', 'counter'),
    DeviceRow('DCGM_FI_DEV_RETIRED_SBE', ('retired_pages_single_bit_ecc',), 'Pages retired because of single-bit errors.', 'counter'),
    DeviceRow('DCGM_FI_DEV_RETIRED_DBE', ('retired_pages_double_bit_ecc',), 'Pages retired because of double-bit errors.', 'counter'),
    DeviceRow('DCGM_FI_DEV_RETIRED_PENDING', ('retired_pages_pending',), 'Whether pages are to be retired at the next restart.'),
    DeviceRow('DCGM_FI_DEV_ROW_REMAP_PENDING', ('remapped_rows_pending',), 'Whether a remapping of rows waits for a reset.'),
    DeviceRow('DCGM_FI_DEV_POWER_VIOLATION', ('sw_power_cap_time',), 'Time in which power lowered the clocks, in nanoseconds.', 'counter', scale=1000),
    DeviceRow('DCGM_FI_DEV_THERMAL_VIOLATION', ('thermal_violation_time',), 'Time in which heat lowered the clocks, in nanoseconds.', 'counter', scale=1000),
    DeviceRow('DCGM_FI_DEV_SYNC_BOOST_VIOLATION', ('sync_boost_time',), 'Time in which sync boost lowered the clocks, in nanoseconds.', 'counter', scale=1000),
    DeviceRow('DCGM_FI_DEV_BOARD_LIMIT_VIOLATION', ('board_limit_violation_time',), 'Time in which the limit of the board lowered the clocks, in nanoseconds.', 'counter', scale=1000),
    DeviceRow('DCGM_FI_DEV_LOW_UTIL_VIOLATION', ('low_utilization_violation_time',), 'Time in which low utilization lowered the clocks, in nanoseconds.', 'counter', scale=1000),
    DeviceRow('DCGM_FI_DEV_RELIABILITY_VIOLATION', ('reliability_violation_time',), 'Time in which reliability lowered the clocks, in nanoseconds.', 'counter', scale=1000),
    DeviceRow('DCGM_FI_DEV_TOTAL_APP_CLOCKS_VIOLATION', ('application_clocks_violation_time',), 'Time below the clocks for applications, in nanoseconds.', 'counter', scale=1000),
    DeviceRow('DCGM_FI_DEV_TOTAL_BASE_CLOCKS_VIOLATION', ('base_clocks_violation_time',), 'Time below the base clocks, in nanoseconds.', 'counter', scale=1000),
    DeviceRow('DCGM_FI_DEV_CLOCK_THROTTLE_REASONS', ('clock_event_reasons',), 'Why the clocks are low: a bit mask of NVML.', form='mask'),
    DeviceRow('DCGM_FI_DEV_POWER_MGMT_LIMIT', ('power_limit',), 'Power limit in watts.'),
    DeviceRow('DCGM_FI_DEV_POWER_MGMT_LIMIT_MIN', ('min_power_limit',), 'Lowest power limit in watts.'),
    DeviceRow('DCGM_FI_DEV_POWER_MGMT_LIMIT_MAX', ('max_power_limit',), 'Highest power limit in watts.'),
    DeviceRow('DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF', ('default_power_limit',), 'Default power limit in watts.'),
    DeviceRow('DCGM_FI_DEV_SLOWDOWN_TEMP', ('temperature_slowdown_threshold',), 'Temperature at which the clocks are lowered.'),
    DeviceRow('DCGM_FI_DEV_SHUTDOWN_TEMP', ('temperature_shutdown_threshold',), 'Temperature at which the GPU shuts down.'),
    DeviceRow('DCGM_FI_DEV_FAN_SPEED', ('fan_speed',), 'Fan speed in percent.'),
    DeviceRow('DCGM_FI_DEV_PSTATE', ('performance_state',), 'Performance state, 0 is the highest.', form='digits'),
    DeviceRow('DCGM_FI_DEV_MAX_SM_CLOCK', ('max_sm_clock',), 'Highest SM clock frequency.'),
    DeviceRow('DCGM_FI_DEV_MAX_MEM_CLOCK', ('max_memory_clock',), 'Highest memory clock frequency.'),
    DeviceRow('DCGM_FI_DEV_PCIE_LINK_GEN', ('pcie_link_generation',), 'PCIe generation.'),
    DeviceRow('DCGM_FI_DEV_PCIE_LINK_WIDTH', ('pcie_link_width',), 'Number of PCIe lanes.'),
    DeviceRow('DCGM_FI_DEV_PCIE_MAX_LINK_GEN', ('max_pcie_link_generation',), 'Highest PCIe generation.'),
    DeviceRow('DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH', ('max_pcie_link_width',), 'Highest number of PCIe lanes.'),
    DeviceRow('DCGM_FI_DEV_BAR1_TOTAL', ('bar1_memory_total',), 'BAR1 window.', scale=1 / _MIB),
    DeviceRow('DCGM_FI_DEV_BAR1_USED', ('bar1_memory_used',), 'BAR1 window used.', scale=1 / _MIB),
    DeviceRow('DCGM_FI_DEV_BAR1_FREE', ('bar1_memory_free',), 'BAR1 window free.', scale=1 / _MIB),
    DeviceRow('DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL', ('nvlink_crc_flit_errors',), 'Flits with a wrong CRC on all NVLinks.', 'counter'),
    DeviceRow('DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL', ('nvlink_crc_data_errors',), 'Data packets with a wrong CRC on all NVLinks.', 'counter'),
    DeviceRow('DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL', ('nvlink_replay_errors',), 'Packets sent again on all NVLinks.', 'counter'),
    DeviceRow('DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL', ('nvlink_recovery_errors',), 'NVLinks trained again after errors.', 'counter'),
    DeviceRow('DCGM_FI_DEV_ENFORCED_POWER_LIMIT', ('enforced_power_limit',), 'Power limit in effect in watts.'),
    DeviceRow('DCGM_FI_DEV_GPU_MAX_OP_TEMP', ('max_temperature_threshold',), 'Temperature up to which the GPU keeps its clocks.'),
    DeviceRow('DCGM_FI_DEV_MEM_MAX_OP_TEMP', ('max_memory_temperature_threshold',), 'Temperature up to which the memory keeps its clock.'),
    DeviceRow('DCGM_FI_DEV_APP_SM_CLOCK', ('application_graphics_clock',), 'SM clock frequency set for applications.'),
    DeviceRow('DCGM_FI_DEV_APP_MEM_CLOCK', ('application_memory_clock',), 'Memory clock frequency set for applications.'),
    DeviceRow('DCGM_FI_DEV_MIG_MODE', ('mig_mode',), 'Whether MIG is enabled.', form='word', item='Disabled,Enabled'),
    DeviceRow('DCGM_FI_DEV_ECC_CURRENT', ('ecc',), 'Whether ECC is enabled.', form='word', item='Disabled,Enabled'),
    DeviceRow('DCGM_FI_DEV_PERSISTENCE_MODE', ('persistence_mode',), 'Whether persistence mode is enabled.', form='word', item='Disabled,Enabled'),
    DeviceRow('DCGM_FI_DEV_COMPUTE_MODE', ('compute_mode',), 'Compute mode: 0 default, 2 prohibited, 3 exclusive.', form='word', item='Default,Exclusive Thread,Prohibited,Exclusive Process'),
    DeviceRow('DCGM_FI_DEV_FABRIC_MANAGER_STATUS', ('fabric_state',), 'Fabric: 1 not started, 2 in progress, 3 completed.', form='word', item='Not Supported,Not Started,In Progress,Completed'),
)
# fmt: on

LABELS = {
    'gpu': 'index',
    'UUID': 'gpu_uuid',
    'pci_bus_id': 'bus_id',
    'device': 'device_file',
    'modelName': 'gpu_name',
    'GPU_I_PROFILE': 'mig_profile',
    'GPU_I_ID': 'gpu_instance_id',
    'Hostname': 'hostname',
    'namespace': 'namespace',
    'pod': 'pod',
    'container': 'container',
    'hpc_job': 'job_id',
    'DCGM_FI_DRIVER_VERSION': 'driver_version',
}


def _others(observation: Observation, devices: Sequence[Described]) -> Iterator[Family]:
    """Yield the series that are not made from one metric."""
    sample = observation.sample
    count = float(sum(not device.key.is_mig for device in sample.devices))
    last_xids = {
        event.device.physical_index: event.code for event in sample.events if event.kind == 'xid'
    }
    xids, shares, counts = [], [], []
    for device, labels, _ in devices:
        code = last_xids.get(device.key.physical_index, 0)
        if device.status == 'ok' or code:
            words = xid_of(code).words if code else 'No Error'
            error = {'err_code': str(code), 'err_msg': label_value(words)}
            xids.append(Point({**labels, **error}, float(code)))
        if device.status == 'ok':
            counts.append(Point(labels, count))
            used, free = device.memory_used_bytes, device.memory_free_bytes
            if used is not None and free is not None and used + free:
                shares.append(Point(labels, round(used / (used + free), 6)))
    text = 'Used share of the memory that is not reserved, 0 to 1.'
    yield Family('DCGM_FI_DEV_XID_ERRORS', 'gauge', 'Number of the last Xid error.', xids)
    yield Family('DCGM_FI_DEV_FB_USED_PERCENT', 'gauge', text, shares)
    yield Family('DCGM_FI_DEV_COUNT', 'gauge', 'Number of GPUs.', counts)


DIALECT = Dialect(
    name='dcgm',
    help='names of dcgm-exporter up to 4.8',
    devices=_DEVICES,
    labels=LABELS,
    replaces_gpus=True,
    others=_others,
)
