# SPDX-License-Identifier: Apache-2.0
"""THE table of what a scenario file can say about a GPU. Pure data: reader and documentation use it."""

from __future__ import annotations

from typing import Mapping

from nvitop.namedtuple import NamedTuple


class Field(NamedTuple):
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
FIELDS: tuple[Field, ...] = (
    # identity
    Field('name', 'text', 'NVIDIA Simulated GPU', 'product name'),
    Field('uuid', 'text', None, '`GPU-…`; computed from the seed and the index'),
    Field('serial', 'text', None, 'serial number'),
    Field('bus_id', 'text', None, '`00000000:1B:00.0`; computed from the index'),
    Field('vbios_version', 'text', '96.00.89.00.01', 'version of the video BIOS'),
    Field('board_part_number', 'text', None, 'part number of the board'),
    Field('inforom_version', 'text', None, 'version of the inforom image'),
    Field('brand', 'choice', 'nvidia', 'product brand', BRANDS),
    Field('architecture', 'choice', 'hopper', 'architecture', ARCHITECTURES),
    Field('compute_capability', 'text', '9.0', 'CUDA compute capability, `major.minor`'),
    Field('minor_number', 'count', None, 'minor number of `/dev/nvidiaN`; computed: the index'),
    Field('numa_node', 'count', None, 'NUMA node'),
    Field('board_id', 'count', None, 'identity of the board; computed from the bus id'),
    Field('multi_gpu_board', 'flag', False, 'whether the board has several GPUs'),
    Field('pci_device_id', 'count', 0x233010DE, 'device id × 65536 + vendor id'),
    Field('pci_subsystem_id', 'count', 0x16C110DE, 'subsystem id × 65536 + vendor id'),
    Field('cores', 'count', 16896, 'CUDA cores'),
    Field('multiprocessors', 'count', 132, 'streaming multiprocessors'),
    Field('memory_bus_width', 'count', 5120, 'bits'),
    # memory
    Field('unified_memory', 'flag', False, "whether the host's memory is the GPU's: no memory of its own to report"),
    Field('memory_total', 'B', '80 GiB', 'installed memory'),
    Field('memory_reserved', 'B', '512 MiB', 'kept by driver and firmware'),
    Field('memory_base', 'B', 0, 'allocated, but by no process of the scenario'),
    Field('memory_used', 'B', None, 'allocated; computed: `memory_base` and the processes'),
    Field('bar1_total', 'B', '128 GiB', 'size of the BAR1 window'),
    Field('bar1_used', 'B', None, 'mapped part of it; computed: a little for each process'),
    Field('protected_memory', 'B', 0, 'part of it that confidential computing protects'),
    # load
    Field('gpu_utilization', '%', None, 'share of time with a kernel running; computed: the processes'),
    Field('memory_utilization', '%', None, 'share of time with memory accesses; computed: the processes'),
    Field('encoder_utilization', '%', None, 'video encoder; computed: the processes'),
    Field('decoder_utilization', '%', None, 'video decoder; computed: the processes'),
    Field('jpeg_utilization', '%', None, 'JPEG engine; computed: 0'),
    Field('ofa_utilization', '%', None, 'optical-flow accelerator; computed: 0'),
    # clocks
    Field('graphics_clock', 'MHz', None, 'computed from the load'),
    Field('sm_clock', 'MHz', None, 'computed from the load'),
    Field('memory_clock', 'MHz', None, 'computed: the maximum, or `idle_memory_clock`'),
    Field('video_clock', 'MHz', None, 'computed from the load'),
    Field('idle_clock', 'MHz', 345, 'graphics clock without load'),
    Field('idle_memory_clock', 'MHz', None, 'memory clock without load; none: stays at its maximum'),
    Field('max_graphics_clock', 'MHz', 1980, ''),
    Field('max_sm_clock', 'MHz', None, 'computed: `max_graphics_clock`'),
    Field('max_memory_clock', 'MHz', 2619, ''),
    Field('max_video_clock', 'MHz', 1545, ''),
    Field('applications_clocks', 'flag', True, 'whether applications clocks can be asked for'),
    Field('clock_event_reasons', 'names', None, 'why clocks are low; computed from load, power and heat', CLOCK_EVENT_REASONS),
    Field('throttled_time', 'count', 0, 'nanoseconds for which the clocks were held down, by each reason'),
    # heat and power
    Field('idle_temperature', '°C', 28, 'without load'),
    Field('hot_temperature', '°C', 66, 'after long full load'),
    Field('temperature', '°C', None, 'computed from the load of the last 20 s'),
    Field('memory_temperature', '°C', None, 'computed: the die and 8 °C more'),
    Field('temperature_shutdown', '°C', 92, 'threshold'),
    Field('temperature_slowdown', '°C', 89, 'threshold'),
    Field('temperature_gpu_max', '°C', 87, 'threshold'),
    Field('temperature_memory_max', '°C', 95, 'threshold'),
    Field('fan_count', 'count', 0, 'fans the driver controls; 0: no fan speed either'),
    Field('fan_speed', '%', None, 'computed from the temperature'),
    Field('idle_power', 'W', 70, 'without load'),
    Field('busy_power', 'W', None, 'under full load; computed: 96 % of the limit'),
    Field('power_usage', 'W', None, 'computed from the load'),
    Field('power_limit', 'W', 700, 'set by management'),
    Field('enforced_power_limit', 'W', None, 'computed: `power_limit`'),
    Field('default_power_limit', 'W', 700, 'after start'),
    Field('min_power_limit', 'W', 200, 'lowest that can be set'),
    Field('max_power_limit', 'W', 700, 'highest that can be set'),
    Field('total_energy', 'J', 0, 'energy used before the scenario began; from there it grows with the load'),
    Field('module_power', 'W', None, 'of GPU and CPU together; none: they are two'),
    Field('module_power_limit', 'W', None, ''),
    # interconnect
    Field('pcie_generation', 'count', None, 'computed: the maximum'),
    Field('max_pcie_generation', 'count', 5, 'of GPU and system together'),
    Field('gpu_max_pcie_generation', 'count', None, 'of the GPU alone; computed: `max_pcie_generation`'),
    Field('pcie_width', 'count', None, 'lanes in use; computed: the maximum'),
    Field('max_pcie_width', 'count', 16, 'lanes'),
    Field('pcie_tx', 'B/s', None, 'traffic from the GPU; computed from the load'),
    Field('pcie_rx', 'B/s', None, 'traffic to the GPU; computed from the load'),
    Field('pcie_counters', 'flag', True, 'whether the field values for PCIe bytes exist'),
    Field('pcie_replays', 'count', 0, 'PCIe replay counter'),
    Field('nvlink_count', 'count', 0, 'links; 0: no NVLink'),
    Field('nvlink_down', 'count', 0, 'how many of them are inactive'),
    Field('nvlink_version', 'count', 4, ''),
    Field('nvlink_speed', 'MB/s', 26562, 'of one link'),
    Field('nvlink_tx', 'B/s', None, 'traffic of one link from the GPU; computed from the load'),
    Field('nvlink_rx', 'B/s', None, 'traffic of one link to the GPU; computed from the load'),
    Field('fabric_state', 'choice', None, 'how far the GPU is in joining an NVLink fabric; none: there is none', FABRIC_STATES),
    Field('fabric_clique', 'count', 0, ''),
    Field('chassis_serial', 'text', None, 'of the chassis; none: it tells nothing of itself'),
    Field('slot_number', 'count', 1, 'in the chassis'),
    # modes
    Field('display_active', 'flag', False, 'whether a display is initialized'),
    Field('display_mode', 'flag', False, 'whether a display is connected'),
    Field('persistence_mode', 'flag', True, ''),
    Field('driver_model', 'choice', None, 'Windows only', DRIVER_MODELS),
    Field('performance_state', 'count', None, '0 … 15; computed: 0 under load, else `idle_performance_state`'),
    Field('idle_performance_state', 'count', 0, 'without load'),
    Field('compute_mode', 'choice', 'default', '', COMPUTE_MODES),
    Field('ecc_mode', 'flag', True, ''),
    Field('mig_mode', 'flag', None, 'whether the GPU is partitioned; none: cannot be'),
    Field('max_mig_devices', 'count', 7, ''),
    Field('accounting_mode', 'flag', False, 'whether processes are accounted for'),
    Field('gpu_operation_mode', 'choice', None, 'some boards of the Kepler generation only', GPU_OPERATION_MODES),
    Field('addressing_mode', 'choice', 'hmm', "how the GPU uses the host's memory", ADDRESSING_MODES),
    Field('gsp_mode', 'flag', True, "whether the GPU's own processor does the driver's work"),
    Field('dram_encryption', 'flag', None, 'none: cannot be'),
    Field('c2c_mode', 'flag', False, 'whether CPU and GPU are connected chip to chip'),
    Field('vgpu_host', 'flag', None, 'whether virtual machines can share the GPU'),
    # health
    Field('ecc_corrected_volatile', 'count', 0, 'errors since the driver was loaded'),
    Field('ecc_uncorrected_volatile', 'count', 0, ''),
    Field('ecc_corrected_aggregate', 'count', 0, 'errors in the life of the board'),
    Field('ecc_uncorrected_aggregate', 'count', 0, ''),
    Field('retired_single_bit', 'count', None, 'pages retired; none: the GPU remaps rows instead'),
    Field('retired_double_bit', 'count', None, ''),
    Field('retired_pending', 'flag', None, ''),
    Field('remapped_correctable', 'count', 0, 'rows remapped'),
    Field('remapped_uncorrectable', 'count', 0, ''),
    Field('remapped_pending', 'flag', False, ''),
    Field('remapped_failure', 'flag', False, ''),
    Field('sram_errors', 'count', 0, 'uncorrected errors of the SRAM in the life of the board'),
    Field('recovery_action', 'choice', 'none', 'what would make the GPU usable again', RECOVERY_ACTIONS),
    # other
    Field('gpm', 'flag', False, 'whether the GPU has performance counters (Hopper and newer)'),
    Field('lost', 'flag', False, 'whether each call for it ends with *GPU is lost*'),
    Field('present', 'flag', True, 'whether the driver lists it'),
)
# fmt: on

FIELDS_BY_NAME: dict[str, Field] = {field.name: field for field in FIELDS}

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
