# SPDX-License-Identifier: Apache-2.0
"""THE table of what a scenario file can say about a GPU. Pure data: reader and documentation use it."""

from __future__ import annotations

from typing import Mapping

from nvitop.namedtuple import NamedTuple


class ScenarioKey(NamedTuple):
    """One key of a ``[[gpu]]`` table."""

    name: str
    #: ``text``, ``flag``, ``choice``, ``names``, or a number: ``count % °C MHz W B B/s MB/s J``.
    kind: str
    #: The value where neither scenario nor model gives one, as a scenario would write it;
    #: :data:`None`: not available, or computed (then :attr:`help` says from what).
    default: object = None
    help: str = ''
    #: Allowed words of kinds ``choice`` and ``names``, with NVML's numbers.
    words: Mapping[str, int] | None = None


BRANDS = {
    'unknown': 0, 'quadro': 1, 'tesla': 2, 'nvs': 3, 'grid': 4, 'geforce': 5, 'titan': 6,
    'quadro-rtx': 12, 'nvidia-rtx': 13, 'nvidia': 14, 'geforce-rtx': 15, 'titan-rtx': 16,
}  # fmt: skip
ARCHITECTURES = {
    'kepler': 2, 'maxwell': 3, 'pascal': 4, 'volta': 5, 'turing': 6, 'ampere': 7, 'ada': 8,
    'hopper': 9, 'blackwell': 10, 'unknown': 0xFFFFFFFF,
}  # fmt: skip
COMPUTE_MODES = {'default': 0, 'exclusive-thread': 1, 'prohibited': 2, 'exclusive-process': 3}
DRIVER_MODELS = {'wddm': 0, 'wdm': 1, 'mcdm': 2}
#: Bits of nvmlDeviceGetCurrentClocksEventReasons.
CLOCK_EVENT_REASONS = {
    'gpu-idle': 0x1,
    'applications-clocks-setting': 0x2,
    'sw-power-cap': 0x4,
    'hw-slowdown': 0x8,
    'sync-boost': 0x10,
    'sw-thermal-slowdown': 0x20,
    'hw-thermal-slowdown': 0x40,
    'hw-power-brake-slowdown': 0x80,
    'display-clock-setting': 0x100,
}

GPU_OPERATION_MODES = {'all-on': 0, 'compute': 1, 'low-double-precision': 2}
ADDRESSING_MODES = {'none': 0, 'hmm': 1, 'ats': 2}
RECOVERY_ACTIONS = {
    'none': 0,
    'gpu-reset': 1,
    'node-reboot': 2,
    'drain-p2p': 3,
    'drain-and-reset': 4,
}
FABRIC_STATES = {'not-supported': 0, 'not-started': 1, 'in-progress': 2, 'completed': 3}

# fmt: off
FIELDS: tuple[ScenarioKey, ...] = (
    # identity
    ScenarioKey('name', 'text', 'NVIDIA Simulated GPU', 'product name'),
    ScenarioKey('uuid', 'text', None, '`GPU-…`; computed from the seed and the index'),
    ScenarioKey('serial', 'text', None, 'serial number'),
    ScenarioKey('bus_id', 'text', None, '`00000000:1B:00.0`; computed from the index'),
    ScenarioKey('vbios_version', 'text', '96.00.89.00.01', 'version of the video BIOS'),
    ScenarioKey('board_part_number', 'text', None, 'part number of the board'),
    ScenarioKey('inforom_version', 'text', None, 'version of the inforom image'),
    ScenarioKey('brand', 'choice', 'nvidia', 'product brand', BRANDS),
    ScenarioKey('architecture', 'choice', 'hopper', 'architecture', ARCHITECTURES),
    ScenarioKey('compute_capability', 'text', '9.0', 'CUDA compute capability, `major.minor`'),
    ScenarioKey('minor_number', 'count', None, 'minor number of `/dev/nvidiaN`; computed: the index'),
    ScenarioKey('numa_node', 'count', None, 'NUMA node'),
    ScenarioKey('board_id', 'count', None, 'identity of the board; computed from the bus id'),
    ScenarioKey('multi_gpu_board', 'flag', False, 'whether the board has several GPUs'),
    ScenarioKey('pci_device_id', 'count', 0x233010DE, 'device id × 65536 + vendor id'),
    ScenarioKey('pci_subsystem_id', 'count', 0x16C110DE, 'subsystem id × 65536 + vendor id'),
    ScenarioKey('cores', 'count', 16896, 'CUDA cores'),
    ScenarioKey('multiprocessors', 'count', 132, 'streaming multiprocessors'),
    ScenarioKey('memory_bus_width', 'count', 5120, 'bits'),
    # memory
    ScenarioKey('unified_memory', 'flag', False, "whether the host's memory is the GPU's: no memory of its own to report"),
    ScenarioKey('memory_total', 'B', '80 GiB', 'installed memory'),
    ScenarioKey('memory_reserved', 'B', '512 MiB', 'kept by driver and firmware'),
    ScenarioKey('memory_base', 'B', 0, 'allocated, but by no process of the scenario'),
    ScenarioKey('memory_used', 'B', None, 'allocated; computed: `memory_base` and the processes'),
    ScenarioKey('bar1_total', 'B', '128 GiB', 'size of the BAR1 window'),
    ScenarioKey('bar1_used', 'B', None, 'mapped part of it; computed: a little for each process'),
    ScenarioKey('protected_memory', 'B', 0, 'part of it that confidential computing protects'),
    # load
    ScenarioKey('gpu_utilization', '%', None, 'share of time with a kernel running; computed: the processes'),
    ScenarioKey('memory_utilization', '%', None, 'share of time with memory accesses; computed: the processes'),
    ScenarioKey('encoder_utilization', '%', None, 'video encoder; computed: the processes'),
    ScenarioKey('decoder_utilization', '%', None, 'video decoder; computed: the processes'),
    ScenarioKey('jpeg_utilization', '%', None, 'JPEG engine; computed: 0'),
    ScenarioKey('ofa_utilization', '%', None, 'optical-flow accelerator; computed: 0'),
    # clocks
    ScenarioKey('graphics_clock', 'MHz', None, 'computed from the load'),
    ScenarioKey('sm_clock', 'MHz', None, 'computed from the load'),
    ScenarioKey('memory_clock', 'MHz', None, 'computed: the maximum, or `idle_memory_clock`'),
    ScenarioKey('video_clock', 'MHz', None, 'computed from the load'),
    ScenarioKey('idle_clock', 'MHz', 345, 'graphics clock without load'),
    ScenarioKey('idle_memory_clock', 'MHz', None, 'memory clock without load; none: stays at its maximum'),
    ScenarioKey('max_graphics_clock', 'MHz', 1980, ''),
    ScenarioKey('max_sm_clock', 'MHz', None, 'computed: `max_graphics_clock`'),
    ScenarioKey('max_memory_clock', 'MHz', 2619, ''),
    ScenarioKey('max_video_clock', 'MHz', 1545, ''),
    ScenarioKey('applications_clocks', 'flag', True, 'whether applications clocks can be asked for'),
    ScenarioKey('clock_event_reasons', 'names', None, 'why clocks are low; computed from load, power and heat', CLOCK_EVENT_REASONS),
    ScenarioKey('throttled_time', 'count', 0, 'nanoseconds for which the clocks were held down, by each reason'),
    # heat and power
    ScenarioKey('idle_temperature', '°C', 28, 'without load'),
    ScenarioKey('hot_temperature', '°C', 66, 'after long full load'),
    ScenarioKey('temperature', '°C', None, 'computed from the load of the last 20 s'),
    ScenarioKey('memory_temperature', '°C', None, 'computed: the die and 8 °C more'),
    ScenarioKey('temperature_shutdown', '°C', 92, 'threshold'),
    ScenarioKey('temperature_slowdown', '°C', 89, 'threshold'),
    ScenarioKey('temperature_gpu_max', '°C', 87, 'threshold'),
    ScenarioKey('temperature_memory_max', '°C', 95, 'threshold'),
    ScenarioKey('fan_count', 'count', 0, 'fans the driver controls; 0: no fan speed either'),
    ScenarioKey('fan_speed', '%', None, 'computed from the temperature'),
    ScenarioKey('idle_power', 'W', 70, 'without load'),
    ScenarioKey('busy_power', 'W', None, 'under full load; computed: 96 % of the limit'),
    ScenarioKey('power_usage', 'W', None, 'computed from the load'),
    ScenarioKey('power_limit', 'W', 700, 'set by management'),
    ScenarioKey('enforced_power_limit', 'W', None, 'computed: `power_limit`'),
    ScenarioKey('default_power_limit', 'W', 700, 'after start'),
    ScenarioKey('min_power_limit', 'W', 200, 'lowest that can be set'),
    ScenarioKey('max_power_limit', 'W', 700, 'highest that can be set'),
    ScenarioKey('total_energy', 'J', 0, 'energy used before the scenario began; from there it grows with the load'),
    ScenarioKey('module_power', 'W', None, 'of GPU and CPU together; none: they are two'),
    ScenarioKey('module_power_limit', 'W', None, ''),
    # interconnect
    ScenarioKey('pcie_generation', 'count', None, 'computed: the maximum'),
    ScenarioKey('max_pcie_generation', 'count', 5, 'of GPU and system together'),
    ScenarioKey('gpu_max_pcie_generation', 'count', None, 'of the GPU alone; computed: `max_pcie_generation`'),
    ScenarioKey('pcie_width', 'count', None, 'lanes in use; computed: the maximum'),
    ScenarioKey('max_pcie_width', 'count', 16, 'lanes'),
    ScenarioKey('pcie_tx', 'B/s', None, 'traffic from the GPU; computed from the load'),
    ScenarioKey('pcie_rx', 'B/s', None, 'traffic to the GPU; computed from the load'),
    ScenarioKey('pcie_counters', 'flag', True, 'whether the field values for PCIe bytes exist'),
    ScenarioKey('pcie_replays', 'count', 0, 'PCIe replay counter'),
    ScenarioKey('nvlink_count', 'count', 0, 'links; 0: no NVLink'),
    ScenarioKey('nvlink_down', 'count', 0, 'how many of them are inactive'),
    ScenarioKey('nvlink_version', 'count', 4, ''),
    ScenarioKey('nvlink_speed', 'MB/s', 26562, 'of one link'),
    ScenarioKey('nvlink_tx', 'B/s', None, 'traffic of one link from the GPU; computed from the load'),
    ScenarioKey('nvlink_rx', 'B/s', None, 'traffic of one link to the GPU; computed from the load'),
    ScenarioKey('fabric_state', 'choice', None, 'how far the GPU is in joining an NVLink fabric; none: there is none', FABRIC_STATES),
    ScenarioKey('fabric_clique', 'count', 0, ''),
    ScenarioKey('chassis_serial', 'text', None, 'of the chassis; none: it tells nothing of itself'),
    ScenarioKey('slot_number', 'count', 1, 'in the chassis'),
    # modes
    ScenarioKey('display_active', 'flag', False, 'whether a display is initialized'),
    ScenarioKey('display_mode', 'flag', False, 'whether a display is connected'),
    ScenarioKey('persistence_mode', 'flag', True, ''),
    ScenarioKey('driver_model', 'choice', None, 'Windows only', DRIVER_MODELS),
    ScenarioKey('performance_state', 'count', None, '0 … 15; computed: 0 under load, else `idle_performance_state`'),
    ScenarioKey('idle_performance_state', 'count', 0, 'without load'),
    ScenarioKey('compute_mode', 'choice', 'default', '', COMPUTE_MODES),
    ScenarioKey('ecc_mode', 'flag', True, ''),
    ScenarioKey('mig_mode', 'flag', None, 'whether the GPU is partitioned; none: cannot be'),
    ScenarioKey('max_mig_devices', 'count', 7, ''),
    ScenarioKey('accounting_mode', 'flag', False, 'whether processes are accounted for'),
    ScenarioKey('gpu_operation_mode', 'choice', None, 'some boards of the Kepler generation only', GPU_OPERATION_MODES),
    ScenarioKey('addressing_mode', 'choice', 'hmm', "how the GPU uses the host's memory", ADDRESSING_MODES),
    ScenarioKey('gsp_mode', 'flag', True, "whether the GPU's own processor does the driver's work"),
    ScenarioKey('dram_encryption', 'flag', None, 'none: cannot be'),
    ScenarioKey('c2c_mode', 'flag', False, 'whether CPU and GPU are connected chip to chip'),
    ScenarioKey('vgpu_host', 'flag', None, 'whether virtual machines can share the GPU'),
    # health
    ScenarioKey('ecc_corrected_volatile', 'count', 0, 'errors since the driver was loaded'),
    ScenarioKey('ecc_uncorrected_volatile', 'count', 0, ''),
    ScenarioKey('ecc_corrected_aggregate', 'count', 0, 'errors in the life of the board'),
    ScenarioKey('ecc_uncorrected_aggregate', 'count', 0, ''),
    ScenarioKey('retired_single_bit', 'count', None, 'pages retired; none: the GPU remaps rows instead'),
    ScenarioKey('retired_double_bit', 'count', None, ''),
    ScenarioKey('retired_pending', 'flag', None, ''),
    ScenarioKey('remapped_correctable', 'count', 0, 'rows remapped'),
    ScenarioKey('remapped_uncorrectable', 'count', 0, ''),
    ScenarioKey('remapped_pending', 'flag', False, ''),
    ScenarioKey('remapped_failure', 'flag', False, ''),
    ScenarioKey('sram_errors', 'count', 0, 'uncorrected errors of the SRAM in the life of the board'),
    ScenarioKey('recovery_action', 'choice', 'none', 'what would make the GPU usable again', RECOVERY_ACTIONS),
    # other
    ScenarioKey('gpm', 'flag', False, 'whether the GPU has performance counters (Hopper and newer)'),
    ScenarioKey('lost', 'flag', False, 'whether each call for it ends with *GPU is lost*'),
    ScenarioKey('present', 'flag', True, 'whether the driver lists it'),
)
# fmt: on

FIELDS_BY_NAME: dict[str, ScenarioKey] = {field.name: field for field in FIELDS}

#: Keys a ``[[gpu.mig]]`` table takes from the table above.
MIG_FIELDS = (
    'name',
    'uuid',
    'memory_total',
    'memory_reserved',
    'memory_base',
    'memory_used',
    'bar1_total',
    'bar1_used',
)
