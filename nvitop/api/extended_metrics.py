# SPDX-License-Identifier: Apache-2.0
"""The other part of the table of metrics: what nvidia-smi tells, and seldom anybody asks for.

Their tier is ``extended``: they are asked for only by name, are loaded then, and stand together in
:attr:`nvitop.sampling.types.DeviceSample.extended`.
"""

from __future__ import annotations

import itertools

from nvitop.api.metrics import Metric


def _rare(
    name: str,
    unit: str,
    kind: str,
    query: str,
    text: str,
    *,
    method: str | None = None,
    divisor: int = 1,
) -> Metric:
    return Metric(name, unit, kind, method or name, name, 'extended', query, text, divisor)


def _list(name: str, method: str, text: str) -> Metric:
    return Metric(name, '', 'rows', method, name, 'extended', None, text)


_PLACES = {
    'device_memory': 'the device memory',
    'dram': 'the DRAM',
    'register_file': 'the register files',
    'l1_cache': 'the L1 caches',
    'l2_cache': 'the L2 caches',
    'texture_memory': 'the texture memory',
    'cbu': 'the CBU',
    'sram': 'the SRAM',
}
_SINCE = {'volatile': 'since the driver was loaded', 'aggregate': 'in the life of the board'}
_ECC_ERRORS = tuple(
    _rare(
        f'{place}_{counter}_{error}_ecc_errors',
        'count',
        'int',
        f'ecc.errors.{error}.{counter}.{place}',
        f'{error} errors of {_PLACES[place]}, {_SINCE[counter]}',
    )
    for error, counter, place in itertools.product(('corrected', 'uncorrected'), _SINCE, _PLACES)
)

# fmt: off
EXTENDED_METRICS: tuple[Metric, ...] = (
    # board
    _rare('pci_device_id', '', 'str', 'pci.device_id', 'PCI device id and vendor id, hexadecimal'),
    _rare('pci_subsystem_id', '', 'str', 'pci.sub_device_id', 'PCI subsystem id and vendor id, hexadecimal'),
    _rare('pci_base_class', '', 'str', 'pci.baseClass', 'PCI base class, hexadecimal'),
    _rare('pci_subclass', '', 'str', 'pci.subClass', 'PCI subclass, hexadecimal'),
    _rare('gpu_max_pcie_link_generation', '', 'int', 'pcie.link.gen.gpumax', 'highest PCIe generation of the GPU'),
    _rare('host_max_pcie_link_generation', '', 'int', 'pcie.link.gen.hostmax', 'highest PCIe generation of the system, where that is what limits the link'),
    _rare('inforom_image_version', '', 'str', 'inforom.img', 'version of the inforom image'),
    _rare('inforom_oem_version', '', 'str', 'inforom.oem', 'version of the inforom object for OEM data'),
    _rare('inforom_ecc_version', '', 'str', 'inforom.ecc', 'version of the inforom object for ECC data'),
    _rare('inforom_power_version', '', 'str', 'inforom.pwr', 'version of the inforom object for power management'),
    _rare('inforom_checksum_validation', '', 'str', 'inforom.checksum_validation', 'whether the inforom is intact: valid or invalid'),
    # modes
    _rare('driver_model_pending', '', 'str', 'driver_model.pending', 'driver model after the next restart, Windows only'),
    _rare('mig_mode_pending', '', 'str', 'mig.mode.pending', 'MIG mode after the next reset of the GPU'),
    _rare('accounting', '', 'str', 'accounting.mode', 'whether ended processes are accounted for'),
    _rare('accounting_buffer_size', 'count', 'int', 'accounting.buffer_size', 'how many processes the account holds'),
    _rare('operation_mode', '', 'str', 'gom.current', 'GPU operation mode'),
    _rare('operation_mode_pending', '', 'str', 'gom.pending', 'GPU operation mode after the next restart'),
    _rare('memory_addressing', '', 'str', 'addressing_mode', 'how the GPU uses memory of the CPU: ATS, HMM or None'),
    _rare('gsp_mode', '', 'str', 'gsp.mode.current', "whether the GPU's own processor does the driver's work"),
    _rare('gsp_mode_default', '', 'str', 'gsp.mode.default', 'whether it does by default'),
    _rare('dram_encryption', '', 'str', 'dramEncryption.mode.current', 'whether the memory is encrypted'),
    _rare('dram_encryption_pending', '', 'str', 'dramEncryption.mode.pending', 'whether the memory is encrypted after the next restart'),
    _rare('c2c_mode', '', 'str', 'c2c.mode', 'whether CPU and GPU are connected chip to chip'),
    _rare('heterogeneous_multi_vgpu', '', 'str', 'vgpu_driver_capability.heterogenous_multivGPU', 'whether a guest may have vGPUs of several profiles'),
    _rare('fractional_multi_vgpu', '', 'str', 'vgpu_device_capability.fractional_multiVgpu', 'whether a guest may have several fractions of the GPU'),
    _rare('heterogeneous_vgpu_profiles', '', 'str', 'vgpu_device_capability.heterogeneous_timeSlice_profile', 'whether vGPUs of differing types share the GPU'),
    _rare('heterogeneous_vgpu_sizes', '', 'str', 'vgpu_device_capability.heterogeneous_timeSlice_sizes', 'whether vGPUs of differing sizes share the GPU'),
    # memory and engines
    _rare('protected_memory_total', 'B', 'int', 'protected_memory.total', 'memory that confidential computing protects'),
    _rare('protected_memory_used', 'B', 'int', 'protected_memory.used', 'protected memory that is allocated'),
    _rare('protected_memory_free', 'B', 'int', 'protected_memory.free', 'protected memory that is not allocated'),
    _rare('encoder_session_count', 'count', 'int', 'encoder.stats.sessionCount', 'number of sessions of the video encoder'),
    _rare('encoder_average_fps', '', 'int', 'encoder.stats.averageFps', 'frames per second, mean of these sessions'),
    _rare('encoder_average_latency', '', 'int', 'encoder.stats.averageLatency', 'latency in microseconds, mean of these sessions'),
    # clocks
    _rare('application_graphics_clock', 'MHz', 'int', 'clocks.applications.graphics', 'graphics clock that was set for applications'),
    _rare('application_memory_clock', 'MHz', 'int', 'clocks.applications.memory', 'memory clock that was set for applications'),
    _rare('default_application_graphics_clock', 'MHz', 'int', 'clocks.default_applications.graphics', 'graphics clock for applications after start'),
    _rare('default_application_memory_clock', 'MHz', 'int', 'clocks.default_applications.memory', 'memory clock for applications after start'),
    _rare('supported_clock_event_reasons', '', 'list', 'clocks_event_reasons.supported', 'reasons for low clocks that the GPU can tell'),
    _rare('sw_power_cap_time', 'µs', 'int', 'clocks_event_reasons_counters.sw_power_cap', 'time for which the power limit held the clocks down'),
    _rare('sync_boost_time', 'µs', 'int', 'clocks_event_reasons_counters.sync_boost', 'time for which the clocks of another GPU held them down'),
    _rare('sw_thermal_slowdown_time', 'µs', 'int', 'clocks_event_reasons_counters.sw_thermal_slowdown', 'time for which the driver held the clocks down for heat'),
    _rare('hw_thermal_slowdown_time', 'µs', 'int', 'clocks_event_reasons_counters.hw_thermal_slowdown', 'time for which the hardware held the clocks down for heat'),
    _rare('hw_power_brake_slowdown_time', 'µs', 'int', 'clocks_event_reasons_counters.hw_power_brake_slowdown', 'time for which the power supply held the clocks down'),
    # heat and power
    _rare('temperature_margin', '°C', 'int', 'temperature.gpu.tlimit', 'how much hotter the GPU may become until its clocks are lowered'),
    _rare('power_management', '', 'str', 'power.management', 'whether there is a power limit'),
    _rare('average_power_usage', 'W', 'float', 'power.draw.average', 'power drawn by the board, mean of a second', divisor=1000),
    _rare('instant_power_usage', 'W', 'float', 'power.draw.instant', 'power drawn by the board at this moment', divisor=1000),
    _rare('module_average_power_usage', 'W', 'float', 'module.power.draw.average', 'power drawn by GPU and CPU together, mean of a second', divisor=1000),
    _rare('module_instant_power_usage', 'W', 'float', 'module.power.draw.instant', 'power drawn by GPU and CPU together at this moment', divisor=1000),
    _rare('module_power_limit', 'W', 'float', 'module.power.limit', 'power limit of GPU and CPU together', divisor=1000),
    _rare('module_enforced_power_limit', 'W', 'float', 'module.enforced.power.limit', 'power limit of GPU and CPU together in force', divisor=1000),
    _rare('module_default_power_limit', 'W', 'float', 'module.power.default_limit', 'power limit of GPU and CPU together after start', divisor=1000),
    _rare('module_min_power_limit', 'W', 'float', 'module.power.min_limit', 'lowest limit of GPU and CPU together that can be set', divisor=1000),
    _rare('module_max_power_limit', 'W', 'float', 'module.power.max_limit', 'highest limit of GPU and CPU together that can be set', divisor=1000),
    # health
    _rare('ecc', '', 'str', 'ecc.mode.current', 'whether memory errors are corrected'),
    _rare('ecc_pending', '', 'str', 'ecc.mode.pending', 'whether they are after the next restart'),
    *_ECC_ERRORS,
    _rare('sram_volatile_parity_errors', 'count', 'int', 'ecc.errors.uncorrected.volatile.sram.parity', 'parity errors of the SRAM, since the driver was loaded'),
    _rare('sram_volatile_secded_errors', 'count', 'int', 'ecc.errors.uncorrected.volatile.sram.secded', 'double-bit errors of the SRAM, since the driver was loaded'),
    _rare('sram_aggregate_parity_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.parity', 'parity errors of the SRAM, in the life of the board'),
    _rare('sram_aggregate_secded_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.secded', 'double-bit errors of the SRAM, in the life of the board'),
    _rare('sram_l2_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.l2', 'uncorrected errors in the SRAM of the L2 cache, in the life of the board'),
    _rare('sram_sm_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.sm', 'uncorrected errors in the SRAM of the SMs, in the life of the board'),
    _rare('sram_microcontroller_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.microcontroller', 'uncorrected errors in the SRAM of microcontrollers, in the life of the board'),
    _rare('sram_pcie_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.pcie', 'uncorrected errors in the SRAM of PCIe, in the life of the board'),
    _rare('sram_other_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.other', 'uncorrected errors in the SRAM of other parts, in the life of the board'),
    _rare('sram_threshold_exceeded', '', 'bool', 'ecc.errors.uncorrected.aggregate.sram.thresholdExceeded', 'whether the SRAM had so many that the board should be replaced', method='is_sram_threshold_exceeded'),
    _rare('retired_pages_pending', '', 'bool', 'retired_pages.pending', 'whether pages wait for a restart to be retired'),
    _rare('remapping_banks_max', 'count', 'int', 'remapped_rows.histogram.max', 'memory banks with all spare rows left'),
    _rare('remapping_banks_high', 'count', 'int', 'remapped_rows.histogram.high', 'memory banks with many spare rows left'),
    _rare('remapping_banks_partial', 'count', 'int', 'remapped_rows.histogram.partial', 'memory banks with some spare rows left'),
    _rare('remapping_banks_low', 'count', 'int', 'remapped_rows.histogram.low', 'memory banks with few spare rows left'),
    _rare('remapping_banks_none', 'count', 'int', 'remapped_rows.histogram.none', 'memory banks with no spare rows left'),
    _rare('reset_required', '', 'bool', 'reset_status.reset_required', 'whether the GPU has to be reset before it can be used', method='is_reset_required'),
    _rare('drain_and_reset_recommended', '', 'bool', 'reset_status.drain_and_reset_recommended', 'whether the GPU should be reset when its work is done', method='is_drain_and_reset_recommended'),
    _rare('recovery_action', '', 'str', 'gpu_recovery_action', 'what makes the GPU usable again'),
    # fabric and platform
    _rare('fabric_state', '', 'str', 'fabric.state', 'how far the GPU is in joining its NVLink fabric'),
    _rare('fabric_status', '', 'str', 'fabric.status', 'what came of it: Success, or the error'),
    _rare('fabric_clique_id', '', 'int', 'fabric.cliqueId', 'clique of the fabric'),
    _rare('fabric_cluster_uuid', '', 'str', 'fabric.clusterUuid', 'UUID of the cluster'),
    _rare('fabric_bandwidth', '', 'str', 'fabric.health.bandwidth', 'bandwidth of the fabric: Full or Degraded'),
    _rare('fabric_route_recovery', '', 'str', 'fabric.health.route_recovery_in_progress', 'whether routes of the fabric are being recovered'),
    _rare('fabric_route_unhealthy', '', 'str', 'fabric.health.route_unhealthy', 'whether routes of the fabric do not work'),
    _rare('fabric_access_timeout_recovery', '', 'str', 'fabric.health.access_timeout_recovery', 'whether the GPU recovers from an access that timed out'),
    _rare('chassis_serial_number', '', 'str', 'platform.chassis_serial_number', 'serial number of the chassis'),
    _rare('slot_number', '', 'int', 'platform.slot_number', 'number of the slot in the chassis'),
    _rare('tray_index', '', 'int', 'platform.tray_index', 'index of the tray in the chassis'),
    _rare('host_id', '', 'int', 'platform.host_id', 'number of the host in its tray'),
    _rare('peer_type', '', 'str', 'platform.peer_type', 'how the GPU reaches its peers'),
    _rare('platform_module_id', '', 'int', 'platform.module_id', 'number of the module that the GPU is part of'),
    _rare('gpu_fabric_guid', '', 'str', 'platform.gpu_fabric_guid', 'globally unique number of the GPU in its fabric'),
)
# fmt: on

#: What a GPU has several of: rows, each a tuple. Tier and door are those of the others.
LISTS: tuple[Metric, ...] = (
    _list('supported_clocks', 'supported_clocks', 'clocks that can be set together'),
    _list('retired_pages', 'retired_page_list', 'pages of memory that are not used any more'),
    _list('accounted_processes', 'accounted_processes', 'accounts of processes, of ended ones too'),
)
