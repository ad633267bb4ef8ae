# SPDX-License-Identifier: Apache-2.0
"""The other part of the table of metrics: properties that nvidia-smi reports and few people query.

Their tier is ``extended``: they are queried only by name, their methods are loaded on first use, and
their values are in :attr:`nvitop.sampling.types.DeviceSample.extended`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from nvitop.api.metrics import ECC_PERIODS, ECC_PLACES, UNITS, Metric

if TYPE_CHECKING:
    from nvitop.api.metrics import Kind


def _extended(
    name: str,
    unit: str,
    kind: Kind,
    query: str | None,
    text: str,
    *,
    method: str = '',
    **columns: Any,
) -> Metric:
    columns.setdefault('highest', UNITS[unit].highest)
    return Metric(name, unit, kind, method or name, name, 'extended', query, text, **columns)


_ECC_ERRORS = tuple(
    _extended(
        f'{place}_{counter}_{error}_ecc_errors',
        'count',
        'int',
        f'ecc.errors.{error}.{counter}.{place}',
        f'{error} errors of {ECC_PLACES[place]} {ECC_PERIODS[counter]}',
        counter=True,
    )
    for error, counter, place in itertools.product(
        ('corrected', 'uncorrected'), ECC_PERIODS, ECC_PLACES
    )
)

# fmt: off
EXTENDED_METRICS: tuple[Metric, ...] = (
    # board
    _extended('pci_device_id', '', 'str', 'pci.device_id', 'PCI device ID and vendor ID, hexadecimal'),
    _extended('pci_subsystem_id', '', 'str', 'pci.sub_device_id', 'PCI subsystem ID and vendor ID, hexadecimal'),
    _extended('pci_base_class', '', 'str', 'pci.baseClass', 'PCI base class, hexadecimal'),
    _extended('pci_subclass', '', 'str', 'pci.subClass', 'PCI subclass, hexadecimal'),
    _extended('gpu_max_pcie_link_generation', '', 'int', 'pcie.link.gen.gpumax', 'highest PCIe generation of the GPU'),
    _extended('host_max_pcie_link_generation', '', 'int', 'pcie.link.gen.hostmax', 'highest PCIe generation of the system, if the system limits the link'),
    _extended('inforom_image_version', '', 'str', 'inforom.img', 'version of the inforom image'),
    _extended('inforom_oem_version', '', 'str', 'inforom.oem', 'version of the inforom object for OEM data'),
    _extended('inforom_ecc_version', '', 'str', 'inforom.ecc', 'version of the inforom object for ECC data'),
    _extended('inforom_power_version', '', 'str', 'inforom.pwr', 'version of the inforom object for power management'),
    _extended('inforom_checksum_validation', '', 'str', 'inforom.checksum_validation', 'whether the inforom is intact: valid or invalid'),
    # modes
    _extended('driver_model_pending', '', 'str', 'driver_model.pending', 'driver model after the next restart, Windows only'),
    _extended('mig_mode_pending', '', 'str', 'mig.mode.pending', 'MIG mode after the next reset of the GPU'),
    _extended('accounting', '', 'str', 'accounting.mode', 'whether the driver keeps accounts of processes that exited'),
    _extended('accounting_buffer_size', 'count', 'int', 'accounting.buffer_size', 'number of processes whose accounts are kept'),
    _extended('operation_mode', '', 'str', 'gom.current', 'GPU operation mode'),
    _extended('operation_mode_pending', '', 'str', 'gom.pending', 'GPU operation mode after the next restart'),
    _extended('memory_addressing', '', 'str', 'addressing_mode', 'how the GPU accesses CPU memory: ATS, HMM or None'),
    _extended('gsp_mode', '', 'str', 'gsp.mode.current', 'whether the GPU System Processor (GSP) runs parts of the driver'),
    _extended('gsp_mode_default', '', 'str', 'gsp.mode.default', 'whether the GSP is enabled by default'),
    _extended('dram_encryption', '', 'str', 'dramEncryption.mode.current', 'whether the memory is encrypted'),
    _extended('dram_encryption_pending', '', 'str', 'dramEncryption.mode.pending', 'whether the memory is encrypted after the next restart'),
    _extended('c2c_mode', '', 'str', 'c2c.mode', 'whether CPU and GPU are connected chip to chip'),
    _extended('heterogeneous_multi_vgpu', '', 'str', 'vgpu_driver_capability.heterogenous_multivGPU', 'whether a guest may have vGPUs of several profiles'),
    _extended('fractional_multi_vgpu', '', 'str', 'vgpu_device_capability.fractional_multiVgpu', 'whether a guest may have several fractions of the GPU'),
    _extended('heterogeneous_vgpu_profiles', '', 'str', 'vgpu_device_capability.heterogeneous_timeSlice_profile', 'whether vGPUs of different types can share the GPU'),
    _extended('heterogeneous_vgpu_sizes', '', 'str', 'vgpu_device_capability.heterogeneous_timeSlice_sizes', 'whether vGPUs of different sizes can share the GPU'),
    # memory and engines
    _extended('protected_memory_total', 'B', 'int', 'protected_memory.total', 'memory protected by confidential computing'),
    _extended('protected_memory_used', 'B', 'int', 'protected_memory.used', 'allocated part of the protected memory'),
    _extended('protected_memory_free', 'B', 'int', 'protected_memory.free', 'free part of the protected memory'),
    _extended('encoder_session_count', 'count', 'int', 'encoder.stats.sessionCount', 'number of sessions of the video encoder'),
    _extended('encoder_average_fps', '', 'int', 'encoder.stats.averageFps', 'frames per second, mean of the encoder sessions'),
    _extended('encoder_average_latency', '', 'int', 'encoder.stats.averageLatency', 'latency in microseconds, mean of the encoder sessions'),
    _extended('gpm_fp16_active', '%', 'float', None, 'share of time in which the half-precision pipe was busy', mig=True, begin='begin_gpm', exported='gpm_fp16_active'),
    _extended('gpm_fp32_active', '%', 'float', None, 'share of time in which the single-precision pipe was busy', mig=True, begin='begin_gpm', exported='gpm_fp32_active'),
    _extended('gpm_fp64_active', '%', 'float', None, 'share of time in which the double-precision pipe was busy', mig=True, begin='begin_gpm', exported='gpm_fp64_active'),
    # clocks
    _extended('application_graphics_clock', 'MHz', 'int', 'clocks.applications.graphics', 'graphics clock set for applications'),
    _extended('application_memory_clock', 'MHz', 'int', 'clocks.applications.memory', 'memory clock set for applications'),
    _extended('default_application_graphics_clock', 'MHz', 'int', 'clocks.default_applications.graphics', 'default graphics clock for applications'),
    _extended('default_application_memory_clock', 'MHz', 'int', 'clocks.default_applications.memory', 'default memory clock for applications'),
    _extended('supported_clock_event_reasons', '', 'list', 'clocks_event_reasons.supported', 'reasons for low clocks that the GPU can report'),
    _extended('sw_power_cap_time', 'µs', 'int', 'clocks_event_reasons_counters.sw_power_cap', 'time in which the power limit lowered the clocks', counter=True, exported='clock_event{reason=sw_power_cap}'),
    _extended('sync_boost_time', 'µs', 'int', 'clocks_event_reasons_counters.sync_boost', 'time in which sync boost with another GPU lowered the clocks', counter=True, exported='clock_event{reason=sync_boost}'),
    _extended('sw_thermal_slowdown_time', 'µs', 'int', 'clocks_event_reasons_counters.sw_thermal_slowdown', 'time in which the driver lowered the clocks because of heat', counter=True, exported='clock_event{reason=sw_thermal_slowdown}'),
    _extended('hw_thermal_slowdown_time', 'µs', 'int', 'clocks_event_reasons_counters.hw_thermal_slowdown', 'time in which the hardware lowered the clocks because of heat', counter=True, exported='clock_event{reason=hw_thermal_slowdown}'),
    _extended('hw_power_brake_slowdown_time', 'µs', 'int', 'clocks_event_reasons_counters.hw_power_brake_slowdown', 'time in which the external power brake lowered the clocks', counter=True, exported='clock_event{reason=hw_power_brake_slowdown}'),
    _extended('thermal_violation_time', 'µs', 'int', None, 'time in which heat lowered the clocks', counter=True),
    _extended('board_limit_violation_time', 'µs', 'int', None, 'time in which the voltage limit of the board lowered the clocks', counter=True),
    _extended('low_utilization_violation_time', 'µs', 'int', None, 'time in which low utilization lowered the clocks', counter=True),
    _extended('reliability_violation_time', 'µs', 'int', None, 'time in which the reliability voltage lowered the clocks', counter=True),
    _extended('application_clocks_violation_time', 'µs', 'int', None, 'time in which the clocks were below those set for applications', counter=True),
    _extended('base_clocks_violation_time', 'µs', 'int', None, 'time in which the clocks were below the base clocks', counter=True),
    # heat and power
    _extended('temperature_margin', '°C', 'int', 'temperature.gpu.tlimit', 'degrees below the temperature at which the clocks are lowered', lowest=-250),
    _extended('power_management', '', 'str', 'power.management', 'whether the board has a power limit'),
    _extended('edpp_multiplier', '%', 'float', 'edpp_multiplier', 'limit of short power peaks, in percent of its default', highest=1000),
    _extended('average_power_usage', 'W', 'float', 'power.draw.average', 'power drawn by the board, mean over one second', divisor=1000),
    _extended('instant_power_usage', 'W', 'float', 'power.draw.instant', 'power drawn by the board, instantaneous', divisor=1000),
    _extended('module_average_power_usage', 'W', 'float', 'module.power.draw.average', 'power drawn by GPU and CPU together, mean over one second', divisor=1000),
    _extended('module_instant_power_usage', 'W', 'float', 'module.power.draw.instant', 'power drawn by GPU and CPU together, instantaneous', divisor=1000),
    _extended('module_power_limit', 'W', 'float', 'module.power.limit', 'power limit of GPU and CPU together', divisor=1000),
    _extended('module_enforced_power_limit', 'W', 'float', 'module.enforced.power.limit', 'power limit of GPU and CPU together in effect', divisor=1000),
    _extended('module_default_power_limit', 'W', 'float', 'module.power.default_limit', 'power limit of GPU and CPU together after start', divisor=1000),
    _extended('module_min_power_limit', 'W', 'float', 'module.power.min_limit', 'lowest power limit of GPU and CPU together that can be set', divisor=1000),
    _extended('module_max_power_limit', 'W', 'float', 'module.power.max_limit', 'highest power limit of GPU and CPU together that can be set', divisor=1000),
    # health
    _extended('ecc', '', 'str', 'ecc.mode.current', 'whether ECC is enabled'),
    _extended('ecc_pending', '', 'str', 'ecc.mode.pending', 'whether ECC is enabled after the next restart'),
    *_ECC_ERRORS,
    _extended('sram_volatile_parity_errors', 'count', 'int', 'ecc.errors.uncorrected.volatile.sram.parity', 'parity errors of the SRAM since the driver was loaded', counter=True),
    _extended('sram_volatile_secded_errors', 'count', 'int', 'ecc.errors.uncorrected.volatile.sram.secded', 'double-bit errors of the SRAM since the driver was loaded', counter=True),
    _extended('sram_aggregate_parity_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.parity', 'parity errors of the SRAM over the life of the board', counter=True),
    _extended('sram_aggregate_secded_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.secded', 'double-bit errors of the SRAM over the life of the board', counter=True),
    _extended('sram_l2_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.l2', 'uncorrected errors in the SRAM of the L2 cache over the life of the board', counter=True),
    _extended('sram_sm_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.sm', 'uncorrected errors in the SRAM of the SMs over the life of the board', counter=True),
    _extended('sram_microcontroller_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.mcu', 'uncorrected errors in the SRAM of microcontrollers over the life of the board', counter=True),
    _extended('sram_pcie_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.pcie', 'uncorrected errors in the SRAM of PCIe over the life of the board', counter=True),
    _extended('sram_other_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.other', 'uncorrected errors in the SRAM of other parts over the life of the board', counter=True),
    _extended('retired_pages_pending', '', 'bool', 'retired_pages.pending', 'whether pages are to be retired at the next restart'),
    _extended('inactive_remapped_rows_correctable', 'count', 'int', 'remapped_rows.correctable_inactive', 'rows remapped because of correctable errors that take effect later'),
    _extended('inactive_remapped_rows_uncorrectable', 'count', 'int', 'remapped_rows.uncorrectable_inactive', 'rows remapped because of uncorrectable errors that take effect later'),
    _extended('remapping_banks_max', 'count', 'int', 'remapped_rows.histogram.max', 'memory banks with all spare rows left'),
    _extended('remapping_banks_high', 'count', 'int', 'remapped_rows.histogram.high', 'memory banks with many spare rows left'),
    _extended('remapping_banks_partial', 'count', 'int', 'remapped_rows.histogram.partial', 'memory banks with some spare rows left'),
    _extended('remapping_banks_low', 'count', 'int', 'remapped_rows.histogram.low', 'memory banks with few spare rows left'),
    _extended('reset_required', '', 'bool', 'reset_status.reset_required', 'whether the GPU must be reset before it can be used', method='is_reset_required'),
    _extended('drain_and_reset_recommended', '', 'bool', 'reset_status.drain_and_reset_recommended', 'whether the GPU should be reset once its work is done', method='is_drain_and_reset_recommended'),
    # NVLink, fabric and platform
    _extended('nvlink_crc_flit_errors', '', 'int', None, 'flits with a wrong CRC on all NVLinks', counter=True),
    _extended('nvlink_crc_data_errors', '', 'int', None, 'data packets with a wrong CRC on all NVLinks', counter=True),
    _extended('nvlink_replay_errors', '', 'int', None, 'packets sent again on all NVLinks', counter=True),
    _extended('nvlink_recovery_errors', '', 'int', None, 'times that an NVLink was trained again after errors', counter=True),
    _extended('fabric_status', '', 'str', 'fabric.status', 'result of joining the fabric: Success, or the error'),
    _extended('fabric_clique_id', '', 'int', 'fabric.cliqueId', 'clique of the fabric'),
    _extended('fabric_cluster_uuid', '', 'str', 'fabric.clusterUuid', 'UUID of the cluster'),
    _extended('fabric_bandwidth', '', 'str', 'fabric.health.bandwidth', 'bandwidth of the fabric: Full or Degraded'),
    _extended('fabric_route_recovery', '', 'str', 'fabric.health.route_recovery_in_progress', 'whether routes of the fabric are being recovered'),
    _extended('fabric_route_unhealthy', '', 'str', 'fabric.health.route_unhealthy', 'whether routes of the fabric are unhealthy'),
    _extended('fabric_access_timeout_recovery', '', 'str', 'fabric.health.access_timeout_recovery', 'whether the GPU is recovering from an access that timed out'),
    _extended('chassis_serial_number', '', 'str', 'platform.chassis_serial_number', 'serial number of the chassis'),
    _extended('slot_number', '', 'int', 'platform.slot_number', 'number of the slot in the chassis'),
    _extended('tray_index', '', 'int', 'platform.tray_index', 'index of the tray in the chassis'),
    _extended('host_id', '', 'int', 'platform.host_id', 'number of the host in its tray'),
    _extended('peer_type', '', 'str', 'platform.peer_type', 'how the GPU reaches its peers'),
    _extended('platform_module_id', '', 'int', 'platform.module_id', 'number of the module that contains the GPU'),
    _extended('gpu_fabric_guid', '', 'str', 'platform.gpu_fabric_guid', 'globally unique ID of the GPU in its fabric'),
)

#: Lists of rows; each row is a tuple.
LISTS: tuple[Metric, ...] = (
    _extended('supported_clocks', '', 'rows', None, 'combinations of clocks that can be set'),
    _extended('retired_pages', '', 'rows', None, 'retired pages of device memory', method='retired_page_list'),
    _extended('nvlink_link_throughputs', '', 'rows', None, 'traffic of each NVLink in KiB/s, from and to the GPU', method='nvlink_throughput', begin='begin_nvlink_throughput'),
    _extended('accounted_processes', '', 'rows', None, 'accounts of processes, including exited ones'),
)
# fmt: on
