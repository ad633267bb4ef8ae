# SPDX-License-Identifier: Apache-2.0
"""The tables of a scenario file: every key with its kind, default and meaning; models of GPUs.

The reader, the documentation and the tests use these rows. To add a key, add a row here and, unless it is a
key of a GPU, a field in :mod:`nvitop.simulation.scenario`.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from nvitop.simulation.abi import NVML_ERRORS
from nvitop.simulation.scenario import SHAPES

#: Default of keys that must be given.
REQUIRED = '(required)'
MAX_PID = 2**32 - 1


class ScenarioKey(NamedTuple):
    """One key of a table in a scenario file."""

    name: str
    #: A number that may change with time, by its unit (``count % CPU % °C MHz W B B/s MB/s
    #: J``), or another kind of value: ``text flag choice names integer counts seconds duration
    #: strings GPUs version``.
    kind: str
    #: Value if the file does not give the key, in the notation of the file. :data:`None`: not
    #: available, or computed (:attr:`help` says from what).
    default: object = None
    help: str = ''
    #: Allowed words of the kinds ``choice`` and ``names``, with their values.
    words: Mapping[str, Any] | None = None
    #: Name of the field in :mod:`nvitop.simulation.scenario`, if it differs.
    field: str = ''
    #: Limits of the kind ``integer``.
    low: int = 0
    high: int | None = None
    #: Whether a number can be ``"N/A"``. All keys of a GPU can.
    can_be_na: bool = False
    #: Key that provides the value if the file gives none.
    same_as: str = ''
    #: Functions of the driver that return just this value.
    nvml: str = ''
    #: Path of its element within ``<gpu>`` in the output of ``nvidia-smi -q -x``, or several, the
    #: preferred one first: those of newer drivers. ``@id`` is the attribute.
    xml: str = ''


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
    'board-limit': 0x200,
    'reliability': 0x400,
}

GPU_OPERATION_MODES = {'all-on': 0, 'compute': 1, 'low-double-precision': 2}
ADDRESSING_MODES = {'none': 0, 'hmm': 1, 'ats': 2}
RECOVERY_ACTIONS = {
    'none': 0,
    'gpu-reset': 1,
    'node-reboot': 2,
    'drain-p2p': 3,
    'drain-and-reset': 4,
    'recover-imex-domain': 5,
    'bus-reset': 6,
    'system-reboot': 7,
}
FABRIC_HEALTH = {'healthy': 1, 'unhealthy': 2, 'limited-capacity': 3}
FABRIC_STATES = {'not-supported': 0, 'not-started': 1, 'in-progress': 2, 'completed': 3}
PEER_TYPES = {'direct-connected': 0, 'switch-connected': 1}
#: Name of a return code of NVML, without ``NVML_ERROR_`` → its number.
ERROR_CODES = {name: code for name, (code, _) in NVML_ERRORS.items()}


def _words(*words: str) -> dict[str, str]:
    return {word: word for word in words}


#: Model of a GPU whose missing values are N/A.
NO_MODEL = 'none'

_NO_ECC = dict.fromkeys((
    'total_volatile_corrected_ecc_errors', 'total_volatile_uncorrected_ecc_errors', 'total_aggregate_corrected_ecc_errors', 'total_aggregate_uncorrected_ecc_errors',
), 'N/A')  # fmt: skip
_NO_REMAPPING = dict.fromkeys((
    'remapped_rows_correctable', 'remapped_rows_uncorrectable', 'remapped_rows_pending', 'remapped_rows_failure',
), 'N/A')  # fmt: skip
#: Model → keys of a ``[[gpu]]`` table for ``model = "…"``.
MODELS: Mapping[str, Mapping[str, object]] = {
    'H100': {
        'name': 'NVIDIA H100 80GB HBM3', 'serial': '16523230{i:05d}', 'vbios_version': '96.00.A5.00.01',
        'board_part_number': '692-2G520-0200-000', 'inforom_image_version': 'G520.0200.00.05',
        'memory_total': '81559 MiB', 'memory_reserved': '479 MiB', 'idle_power': 71,
        'memory_addressing': 'none', 'memory_banks': 2560,
        'nvlink_link_count': 18, 'gpm': True, 'mig_mode': False, 'total_energy': 4.1e8,
        'fabric_state': 'completed', 'edpp_multiplier': 100,
    },
    'A100': {
        'name': 'NVIDIA A100-SXM4-80GB', 'serial': '15622210{i:05d}', 'vbios_version': '92.00.36.00.02',
        'board_part_number': '692-2G506-0212-002', 'inforom_image_version': 'G506.0212.00.01', 'inforom_oem_version': '2.0',
        'inforom_ecc_version': '6.16', 'memory_addressing': 'none',
        'architecture': 'ampere', 'cuda_compute_capability': '8.0', 'cores': 6912, 'multiprocessors': 108,
        'pci_device_id': 0x20B210DE, 'pci_subsystem_id': 0x147F10DE,
        'memory_total': '81920 MiB', 'memory_reserved': '869 MiB', 'idle_power': 62,
        'power_limit': 500, 'default_power_limit': 500, 'min_power_limit': 100, 'max_power_limit': 500,
        'max_temperature_threshold': 85,
        'idle_clock': 210, 'max_graphics_clock': 1410, 'max_memory_clock': 1593, 'max_video_clock': 1290,
        'max_pcie_link_generation': 4, 'nvlink_link_count': 12, 'nvlink_version': 3, 'nvlink_speed': 25000,
        'mig_mode': False, 'total_energy': 9.6e8, 'hot_temperature': 63,
    },
    'V100': {
        'name': 'Tesla V100-SXM2-32GB', 'serial': '0324118{i:06d}', 'vbios_version': '88.00.4F.00.09',
        'board_part_number': '900-2G503-0010-000', 'inforom_image_version': 'G503.0204.00.02', 'brand': 'tesla',
        'architecture': 'volta', 'cuda_compute_capability': '7.0', 'cores': 5120, 'multiprocessors': 80,
        'pci_device_id': 0x1DB510DE, 'pci_subsystem_id': 0x124910DE,
        'memory_total': '32480 MiB', 'memory_reserved': 0, 'bar1_memory_total': '32 GiB', 'idle_power': 42,
        'power_limit': 300, 'default_power_limit': 300, 'min_power_limit': 150, 'max_power_limit': 300,
        'idle_clock': 135, 'max_graphics_clock': 1530, 'max_memory_clock': 877, 'max_video_clock': 1372,
        'max_pcie_link_generation': 3, 'nvlink_link_count': 6, 'nvlink_version': 2, 'nvlink_speed': 25781,
        'temperature_shutdown_threshold': 90, 'temperature_slowdown_threshold': 87, 'max_temperature_threshold': 83,
        'max_memory_temperature_threshold': 85, 'retired_pages_single_bit_ecc': 0, 'retired_pages_double_bit_ecc': 0,
        'retired_pages_pending': False, **_NO_REMAPPING, 'jpeg_utilization': 'N/A',
        'ofa_utilization': 'N/A', 'total_energy': 2.2e9,
        'gsp_mode': 'N/A', 'memory_addressing': 'N/A', 'sram_errors': 'N/A',
    },
    'RTX 4090': {
        'name': 'NVIDIA GeForce RTX 4090', 'vbios_version': '95.02.3C.40.8C', 'brand': 'geforce',
        'architecture': 'ada', 'cuda_compute_capability': '8.9', 'cores': 16384, 'multiprocessors': 128,
        'inforom_image_version': 'G002.0000.00.03', 'inforom_oem_version': '2.0', 'inforom_ecc_version': 'N/A', 'pci_subclass': 0,
        'pci_device_id': 0x268410DE, 'pci_subsystem_id': 0x88E91043,
        'memory_total': '24564 MiB', 'memory_reserved': '458 MiB',
        'bar1_memory_total': '32 GiB', 'idle_power': 22, 'power_limit': 450, 'default_power_limit': 450,
        'min_power_limit': 150, 'max_power_limit': 600, 'temperature_margin': 'N/A', 'c2c_mode': 'N/A', 'idle_clock': 210, 'idle_memory_clock': 405,
        'max_graphics_clock': 3135, 'max_memory_clock': 10501, 'max_video_clock': 2415,
        'applications_clocks': False, 'memory_temperature': 'N/A', 'temperature_shutdown_threshold': 104,
        'temperature_slowdown_threshold': 101, 'max_temperature_threshold': 90, 'max_memory_temperature_threshold': 'N/A',
        'idle_temperature': 36, 'hot_temperature': 74, 'fan_count': 2, 'max_pcie_link_generation': 4,
        'idle_performance_state': 8, 'persistence_mode': False, 'ecc': False,
        **_NO_ECC, **_NO_REMAPPING,
    },
    'GTX 1080 Ti': {
        'name': 'GeForce GTX 1080 Ti', 'vbios_version': '86.02.39.00.01', 'brand': 'geforce',
        'architecture': 'pascal', 'cuda_compute_capability': '6.1', 'cores': 3584, 'multiprocessors': 28,
        'inforom_image_version': 'G001.0000.01.04', 'pci_device_id': 0x1B0610DE, 'pci_subsystem_id': 0x147019DA,
        'memory_total': '11178 MiB', 'memory_reserved': 0, 'bar1_memory_total': '256 MiB',
        'idle_power': 9, 'power_limit': 250, 'default_power_limit': 250, 'min_power_limit': 125,
        'max_power_limit': 300, 'idle_clock': 139, 'idle_memory_clock': 405, 'max_graphics_clock': 2037,
        'max_memory_clock': 5505, 'max_video_clock': 1708, 'applications_clocks': False,
        'memory_temperature': 'N/A', 'temperature_shutdown_threshold': 96, 'temperature_slowdown_threshold': 93,
        'max_temperature_threshold': 91, 'max_memory_temperature_threshold': 'N/A', 'idle_temperature': 31,
        'hot_temperature': 82, 'fan_count': 1, 'max_pcie_link_generation': 3, 'idle_performance_state': 8,
        'persistence_mode': False, 'ecc': 'N/A', **_NO_ECC, **_NO_REMAPPING,
        'jpeg_utilization': 'N/A', 'ofa_utilization': 'N/A', 'accounting': 'N/A',
        'power_usage': 'N/A', 'total_energy': 'N/A',
        'gsp_mode': 'N/A', 'memory_addressing': 'N/A', 'sram_errors': 'N/A',
    },
    'GB10': {
        'name': 'NVIDIA GB10', 'vbios_version': '9A.0B.13.00.00', 'architecture': 'blackwell',
        'cuda_compute_capability': '12.1', 'cores': 6144, 'multiprocessors': 48, 'pci_device_id': 0x2E1210DE,
        'pci_subsystem_id': 0x000010DE, 'unified_memory': True,
        'memory_total': 0, 'memory_reserved': 0, 'bar1_memory_total': 0, 'bar1_memory_used': 0, 'idle_power': 4, 'busy_power': 96,
        'power_limit': 'N/A', 'enforced_power_limit': 'N/A', 'default_power_limit': 'N/A',
        'min_power_limit': 'N/A', 'max_power_limit': 'N/A', 'idle_clock': 208,
        'max_graphics_clock': 3003, 'memory_clock': 'N/A', 'max_memory_clock': 'N/A',
        'max_video_clock': 3003, 'applications_clocks': False, 'idle_temperature': 38,
        'hot_temperature': 78, 'memory_temperature': 'N/A', 'max_memory_temperature_threshold': 'N/A',
        'max_pcie_link_generation': 5, 'max_pcie_link_width': 1, 'idle_performance_state': 8,
        'ecc': 'N/A', **_NO_ECC, **_NO_REMAPPING, 'accounting': 'N/A',
        'gpm': True,
        'total_energy': 'N/A', 'memory_addressing': 'ats', 'c2c_mode': True, 'module_average_power_usage': 40,
        'module_power_limit': 140,
    },
}  # fmt: skip

# fmt: off
FILE_KEYS: tuple[ScenarioKey, ...] = (
    ScenarioKey('description', 'text', '', 'one line for people'),
    ScenarioKey('seed', 'integer', 0, 'another seed gives other phases and UUIDs'),
)

DRIVER_KEYS: tuple[ScenarioKey, ...] = (
    ScenarioKey('version', 'version', '580.65.06', 'driver version; functions newer than its branch are missing, with `"N/A"` all that did not always exist', field='driver_version'),
    ScenarioKey('cuda', 'version', '13.0', 'CUDA version', field='cuda_version'),
    ScenarioKey('hide', 'strings', None, 'functions that are missing too; `*` and `?` are wildcards', field='hidden'),
    ScenarioKey('complete', 'flag', False, 'whether getters and field values newer than the branch exist too, as far as the GPU has values for them'),
    ScenarioKey('process_struct', 'choice', 'v2', 'struct that `nvmlDeviceGet…RunningProcesses_v3` fills: 24 bytes, or 32 bytes as with some R535 drivers', _words('v2', 'v3')),
)

#: Keys of ``[[gpu]]`` that say which GPUs the table describes.
GPU_TABLE_KEYS: tuple[ScenarioKey, ...] = (
    ScenarioKey('count', 'integer', 1, 'number of GPUs of this kind', low=1),
    ScenarioKey('model', 'choice', 'H100', 'provides the values that the table does not give; `none`: they are N/A', _words(*MODELS, NO_MODEL)),
)

#: Keys of ``[[gpu]]`` that are values of a GPU; events and :meth:`Machine.set` change them.
GPU_KEYS: tuple[ScenarioKey, ...] = (
    # identity
    ScenarioKey('name', 'text', 'NVIDIA Simulated GPU', 'product name', nvml='nvmlDeviceGetName', xml='product_name'),
    ScenarioKey('uuid', 'text', None, '`GPU-…`; computed from the seed and the index', nvml='nvmlDeviceGetUUID', xml='uuid'),
    ScenarioKey('serial', 'text', None, 'serial number', nvml='nvmlDeviceGetSerial', xml='serial'),
    ScenarioKey('bus_id', 'text', None, '`00000000:1B:00.0`; computed from the index', xml='pci/pci_bus_id | @id'),
    ScenarioKey('vbios_version', 'text', '96.00.89.00.01', 'version of the video BIOS', nvml='nvmlDeviceGetVbiosVersion', xml='vbios_version'),
    ScenarioKey('board_part_number', 'text', None, 'part number of the board', nvml='nvmlDeviceGetBoardPartNumber', xml='board_part_number'),
    ScenarioKey('inforom_image_version', 'text', None, 'version of the InfoROM image', nvml='nvmlDeviceGetInforomImageVersion', xml='inforom_version/img_version'),
    ScenarioKey('inforom_oem_version', 'text', '2.1', 'version of the OEM data in the InfoROM', xml='inforom_version/oem_object'),
    ScenarioKey('inforom_ecc_version', 'text', '7.16', 'version of the ECC data in the InfoROM', xml='inforom_version/ecc_object'),
    ScenarioKey('inforom_power_version', 'text', None, 'version of the power data in the InfoROM', xml='inforom_version/pwr_object'),
    ScenarioKey('inforom_checksum_validation', 'flag', True, 'whether the InfoROM is intact'),
    ScenarioKey('brand', 'choice', 'nvidia', 'product brand', BRANDS, nvml='nvmlDeviceGetBrand', xml='product_brand'),
    ScenarioKey('architecture', 'choice', 'hopper', 'architecture', ARCHITECTURES, nvml='nvmlDeviceGetArchitecture', xml='product_architecture'),
    ScenarioKey('cuda_compute_capability', 'text', '9.0', 'CUDA compute capability, `major.minor`'),
    ScenarioKey('minor_number', 'count', None, 'minor number of `/dev/nvidiaN`; computed: the index', nvml='nvmlDeviceGetMinorNumber', xml='minor_number'),
    ScenarioKey('numa_node', 'count', None, 'NUMA node', nvml='nvmlDeviceGetNumaNodeId'),
    ScenarioKey('board_id', 'count', None, 'ID of the board; computed from the bus ID', nvml='nvmlDeviceGetBoardId', xml='board_id'),
    ScenarioKey('multi_gpu_board', 'flag', False, 'whether the board has several GPUs', nvml='nvmlDeviceGetMultiGpuBoard', xml='multigpu_board'),
    ScenarioKey('pci_device_id', 'count', 0x233010DE, 'device ID × 65536 + vendor ID', xml='pci/pci_device_id'),
    ScenarioKey('pci_subsystem_id', 'count', 0x16C110DE, 'subsystem ID × 65536 + vendor ID', xml='pci/pci_sub_system_id'),
    ScenarioKey('pci_base_class', 'count', 0x3, 'PCI base class', xml='pci/pci_base_class'),
    ScenarioKey('pci_subclass', 'count', 0x2, 'PCI subclass', xml='pci/pci_sub_class'),
    ScenarioKey('cores', 'count', 16896, 'CUDA cores', nvml='nvmlDeviceGetNumGpuCores'),
    ScenarioKey('multiprocessors', 'count', 132, 'streaming multiprocessors'),
    # memory
    ScenarioKey('unified_memory', 'flag', False, 'whether the GPU uses the memory of the host and reports none of its own'),
    ScenarioKey('memory_total', 'B', '80 GiB', 'installed memory', xml='fb_memory_usage/total'),
    ScenarioKey('memory_reserved', 'B', '512 MiB', 'memory reserved by driver and firmware', xml='fb_memory_usage/reserved'),
    ScenarioKey('memory_base', 'B', 0, 'memory allocated outside the processes of the scenario'),
    ScenarioKey('memory_used', 'B', None, 'allocated memory; computed: `memory_base` plus the processes', xml='fb_memory_usage/used'),
    ScenarioKey('memory_free', 'B', None, 'free memory; computed: the rest', xml='fb_memory_usage/free'),
    ScenarioKey('bar1_memory_total', 'B', '128 GiB', 'size of the BAR1 window', xml='bar1_memory_usage/total'),
    ScenarioKey('bar1_memory_used', 'B', None, 'mapped part of the BAR1 window; computed: a little for each process', xml='bar1_memory_usage/used'),
    ScenarioKey('protected_memory_total', 'B', 0, 'memory protected by confidential computing', xml='cc_protected_memory_usage/total'),
    # utilization
    ScenarioKey('gpu_utilization', '%', None, 'share of time with a running kernel; computed from the processes', xml='utilization/gpu_util'),
    ScenarioKey('memory_utilization', '%', None, 'share of time with memory accesses; computed from the processes', xml='utilization/memory_util'),
    ScenarioKey('encoder_utilization', '%', None, 'video encoder; computed from the processes', xml='utilization/encoder_util'),
    ScenarioKey('decoder_utilization', '%', None, 'video decoder; computed from the processes', xml='utilization/decoder_util'),
    ScenarioKey('jpeg_utilization', '%', None, 'JPEG engine; computed: 0', xml='utilization/jpeg_util'),
    ScenarioKey('ofa_utilization', '%', None, 'optical-flow accelerator; computed: 0', xml='utilization/ofa_util'),
    ScenarioKey('encoder_session_count', 'count', None, 'sessions of the video encoder; computed from its utilization', xml='encoder_stats/session_count'),
    ScenarioKey('encoder_average_fps', 'count', None, 'mean frames per second of these sessions; computed from its utilization', xml='encoder_stats/average_fps'),
    ScenarioKey('encoder_average_latency', 'count', None, 'mean latency of these sessions in microseconds; computed from its utilization', xml='encoder_stats/average_latency'),
    # clocks
    ScenarioKey('graphics_clock', 'MHz', None, 'graphics clock', same_as='sm_clock', xml='clocks/graphics_clock'),
    ScenarioKey('sm_clock', 'MHz', None, 'SM clock; computed from the utilization', xml='clocks/sm_clock'),
    ScenarioKey('memory_clock', 'MHz', None, 'memory clock; computed: the maximum, or `idle_memory_clock`', xml='clocks/mem_clock'),
    ScenarioKey('video_clock', 'MHz', None, 'video clock; computed from the utilization', xml='clocks/video_clock'),
    ScenarioKey('idle_clock', 'MHz', 345, 'graphics clock of an idle GPU'),
    ScenarioKey('idle_memory_clock', 'MHz', None, 'memory clock of an idle GPU; without it, the clock stays at its maximum'),
    ScenarioKey('max_graphics_clock', 'MHz', 1980, 'maximum graphics clock', xml='max_clocks/graphics_clock'),
    ScenarioKey('max_sm_clock', 'MHz', None, 'maximum SM clock', same_as='max_graphics_clock', xml='max_clocks/sm_clock'),
    ScenarioKey('max_memory_clock', 'MHz', 2619, 'maximum memory clock', xml='max_clocks/mem_clock'),
    ScenarioKey('max_video_clock', 'MHz', 1545, 'maximum video clock', xml='max_clocks/video_clock'),
    ScenarioKey('applications_clocks', 'flag', True, 'whether the GPU has applications clocks'),
    ScenarioKey('application_graphics_clock', 'MHz', None, 'graphics clock for applications; computed: the maximum', xml='applications_clocks/graphics_clock'),
    ScenarioKey('application_memory_clock', 'MHz', None, 'memory clock for applications; computed: the maximum', xml='applications_clocks/mem_clock'),
    ScenarioKey('default_application_graphics_clock', 'MHz', None, 'its default; computed: the maximum', xml='default_applications_clocks/graphics_clock'),
    ScenarioKey('default_application_memory_clock', 'MHz', None, 'its default; computed: the maximum', xml='default_applications_clocks/mem_clock'),
    ScenarioKey('clock_event_reasons', 'names', None, 'reasons for low clocks; computed from utilization, power and temperature', CLOCK_EVENT_REASONS, nvml='nvmlDeviceGetCurrentClocksThrottleReasons nvmlDeviceGetCurrentClocksEventReasons'),
    ScenarioKey('supported_clock_event_reasons', 'count', None, 'the known reasons as a bitmask; computed: all', nvml='nvmlDeviceGetSupportedClocksThrottleReasons nvmlDeviceGetSupportedClocksEventReasons'),
    ScenarioKey('throttled_time', 'count', 0, 'nanoseconds for which each reason has lowered the clocks'),
    ScenarioKey('clock_event_times', 'counts', None, 'the same in microseconds, by reason; computed: `throttled_time`'),
    # temperature and power
    ScenarioKey('idle_temperature', '°C', 28, 'temperature of an idle GPU'),
    ScenarioKey('hot_temperature', '°C', 66, 'temperature after a long time at 100 %'),
    ScenarioKey('temperature', '°C', None, 'temperature; computed from the utilization of the last 20 s', xml='temperature/gpu_temp'),
    ScenarioKey('memory_temperature', '°C', None, 'temperature of the memory; computed: `temperature` plus 8 °C', xml='temperature/memory_temp'),
    ScenarioKey('temperature_shutdown_threshold', '°C', 92, 'threshold at which the GPU shuts down', xml='temperature/gpu_temp_max_threshold'),
    ScenarioKey('temperature_slowdown_threshold', '°C', 89, 'threshold at which the hardware lowers the clocks', xml='temperature/gpu_temp_slow_threshold'),
    ScenarioKey('max_temperature_threshold', '°C', 87, 'threshold at which the driver lowers the clocks', xml='temperature/gpu_temp_max_gpu_threshold'),
    ScenarioKey('max_memory_temperature_threshold', '°C', 95, 'the same threshold of the memory', xml='temperature/gpu_temp_max_mem_threshold'),
    ScenarioKey('temperature_margin', 'integer', None, 'degrees to the slowdown threshold; computed', low=-250, xml='temperature/gpu_temp_tlimit'),
    ScenarioKey('fan_count', 'count', 0, 'fans that the driver controls; 0: no fan speed either', nvml='nvmlDeviceGetNumFans'),
    ScenarioKey('fan_speed', '%', None, 'fan speed; computed from the temperature', nvml='nvmlDeviceGetFanSpeed', xml='fan_speed'),
    ScenarioKey('idle_power', 'W', 70, 'power of an idle GPU'),
    ScenarioKey('busy_power', 'W', None, 'power at 100 %; computed: 96 % of the limit'),
    ScenarioKey('power_usage', 'W', None, 'power; computed from the utilization', nvml='nvmlDeviceGetPowerUsage', xml='gpu_power_readings/power_draw | gpu_power_readings/average_power_draw | gpu_power_readings/instant_power_draw'),
    ScenarioKey('average_power_usage', 'W', None, 'power averaged over a second', same_as='power_usage', xml='gpu_power_readings/average_power_draw'),
    ScenarioKey('instant_power_usage', 'W', None, 'instantaneous power', same_as='power_usage', xml='gpu_power_readings/instant_power_draw'),
    ScenarioKey('power_limit', 'W', 700, 'power limit set by an administrator', nvml='nvmlDeviceGetPowerManagementLimit', xml='gpu_power_readings/requested_power_limit | gpu_power_readings/power_limit'),
    ScenarioKey('enforced_power_limit', 'W', None, 'power limit in effect', same_as='power_limit', nvml='nvmlDeviceGetEnforcedPowerLimit', xml='gpu_power_readings/current_power_limit | gpu_power_readings/enforced_power_limit'),
    ScenarioKey('default_power_limit', 'W', 700, 'power limit after start', nvml='nvmlDeviceGetPowerManagementDefaultLimit', xml='gpu_power_readings/default_power_limit'),
    ScenarioKey('min_power_limit', 'W', 200, 'lowest power limit that can be set', xml='gpu_power_readings/min_power_limit'),
    ScenarioKey('max_power_limit', 'W', 700, 'highest power limit that can be set', xml='gpu_power_readings/max_power_limit'),
    ScenarioKey('edpp_multiplier', '%', None, 'limit of short power peaks in percent of its default', xml='edpp_multiplier'),
    ScenarioKey('total_energy', 'J', 0, 'energy used before the scenario started; it then grows with the power'),
    ScenarioKey('module_average_power_usage', 'W', None, 'power of GPU and CPU together, if they are one module', xml='module_power_readings/average_power_draw | module_power_readings/power_draw'),
    ScenarioKey('module_instant_power_usage', 'W', None, 'its instantaneous power', same_as='module_average_power_usage', xml='module_power_readings/instant_power_draw | module_power_readings/power_draw'),
    ScenarioKey('module_power_limit', 'W', None, 'power limit of that module', xml='module_power_readings/requested_power_limit'),
    ScenarioKey('module_enforced_power_limit', 'W', None, 'its power limit in effect', same_as='module_power_limit', xml='module_power_readings/current_power_limit'),
    ScenarioKey('module_default_power_limit', 'W', None, 'its power limit after start', same_as='module_power_limit', xml='module_power_readings/default_power_limit'),
    ScenarioKey('module_min_power_limit', 'W', None, 'lowest power limit of it', same_as='module_power_limit', xml='module_power_readings/min_power_limit'),
    ScenarioKey('module_max_power_limit', 'W', None, 'highest power limit of it', same_as='module_power_limit', xml='module_power_readings/max_power_limit'),
    # interconnect
    ScenarioKey('pcie_link_generation', 'count', None, 'PCIe generation in use', same_as='max_pcie_link_generation', nvml='nvmlDeviceGetCurrPcieLinkGeneration', xml='pci/pci_gpu_link_info/pcie_gen/current_link_gen | pci/pci_gpu_link_info/pcie_gen/device_current_link_gen'),
    ScenarioKey('max_pcie_link_generation', 'count', 5, 'maximum of GPU and system together', nvml='nvmlDeviceGetMaxPcieLinkGeneration', xml='pci/pci_gpu_link_info/pcie_gen/max_link_gen'),
    ScenarioKey('gpu_max_pcie_link_generation', 'count', None, 'maximum of the GPU', same_as='max_pcie_link_generation', nvml='nvmlDeviceGetGpuMaxPcieLinkGeneration', xml='pci/pci_gpu_link_info/pcie_gen/max_device_link_gen'),
    ScenarioKey('pcie_link_width', 'count', None, 'PCIe lanes in use', same_as='max_pcie_link_width', nvml='nvmlDeviceGetCurrPcieLinkWidth', xml='pci/pci_gpu_link_info/link_widths/current_link_width'),
    ScenarioKey('max_pcie_link_width', 'count', 16, 'maximum number of PCIe lanes', nvml='nvmlDeviceGetMaxPcieLinkWidth', xml='pci/pci_gpu_link_info/link_widths/max_link_width'),
    ScenarioKey('pcie_tx_throughput', 'B/s', None, 'PCIe traffic from the GPU; computed from the utilization', xml='pci/tx_util'),
    ScenarioKey('pcie_rx_throughput', 'B/s', None, 'PCIe traffic to the GPU; computed from the utilization', xml='pci/rx_util'),
    ScenarioKey('pcie_replays', 'count', 0, 'PCIe replay counter', nvml='nvmlDeviceGetPcieReplayCounter', xml='pci/replay_counter'),
    ScenarioKey('nvlink_link_count', 'count', 0, 'number of NVLinks; 0: no NVLink'),
    ScenarioKey('nvlink_down_count', 'count', 0, 'number of inactive NVLinks'),
    ScenarioKey('nvlink_errors', 'count', 0, 'number of errors of each kind on all NVLinks'),
    ScenarioKey('nvlink_version', 'count', 4, 'version of NVLink'),
    ScenarioKey('nvlink_speed', 'MB/s', 26562, 'speed of one NVLink'),
    ScenarioKey('nvlink_tx', 'B/s', None, 'traffic of one NVLink from the GPU; computed from the utilization'),
    ScenarioKey('nvlink_rx', 'B/s', None, 'traffic of one NVLink to the GPU; computed from the utilization'),
    ScenarioKey('fabric_state', 'choice', None, 'state of joining an NVLink fabric; without it, there is no fabric', FABRIC_STATES, xml='fabric/state'),
    ScenarioKey('fabric_clique_id', 'count', 0, 'clique in the NVLink fabric', xml='fabric/cliqueId'),
    ScenarioKey('fabric_health', 'count', 0, 'health mask of the NVLink fabric'),
    ScenarioKey('fabric_health_summary', 'choice', None, 'health of the NVLink fabric in one word', FABRIC_HEALTH, xml='fabric/health/summary'),
    ScenarioKey('fabric_cluster_uuid', 'text', None, 'UUID of the cluster; without it, all zeros', xml='fabric/clusterUuid'),
    ScenarioKey('chassis_serial_number', 'text', '', 'serial number of the chassis; `"N/A"`: there is no platform information', xml='platformInfo/chassis_serial_number'),
    ScenarioKey('slot_number', 'count', 0, 'slot in the chassis', xml='platformInfo/slot_number'),
    ScenarioKey('tray_index', 'count', 0, 'index of the tray in the chassis', xml='platformInfo/tray_index'),
    ScenarioKey('host_id', 'count', 1, 'number of the host in its tray', xml='platformInfo/host_id'),
    ScenarioKey('peer_type', 'choice', 'direct-connected', 'connection to peers', PEER_TYPES, xml='platformInfo/peer_type'),
    ScenarioKey('platform_module_id', 'count', None, 'number of the module; computed from the index', xml='platformInfo/module_id'),
    ScenarioKey('gpu_fabric_guid', 'text', '0x0000000000000000', 'hexadecimal ID in the fabric', xml='platformInfo/gpu_fabric_guid'),
    # modes
    ScenarioKey('display_active', 'flag', False, 'whether a display is initialized', nvml='nvmlDeviceGetDisplayActive', xml='display_active'),
    ScenarioKey('display_mode', 'flag', False, 'whether a display is connected', nvml='nvmlDeviceGetDisplayMode', xml='display_attached | display_mode'),
    ScenarioKey('persistence_mode', 'flag', True, 'whether the driver stays loaded without clients', nvml='nvmlDeviceGetPersistenceMode', xml='persistence_mode'),
    ScenarioKey('current_driver_model', 'choice', None, 'driver model; Windows only', DRIVER_MODELS, xml='driver_model/current_dm'),
    ScenarioKey('driver_model_pending', 'choice', None, 'driver model after a restart', DRIVER_MODELS, same_as='current_driver_model', xml='driver_model/pending_dm'),
    ScenarioKey('performance_state', 'count', None, '0 to 15; computed: 0 if busy, else `idle_performance_state`', nvml='nvmlDeviceGetPerformanceState nvmlDeviceGetPowerState', xml='performance_state'),
    ScenarioKey('idle_performance_state', 'count', 0, 'performance state of an idle GPU'),
    ScenarioKey('compute_mode', 'choice', 'default', 'which processes may use the GPU', COMPUTE_MODES, nvml='nvmlDeviceGetComputeMode', xml='compute_mode'),
    ScenarioKey('ecc', 'flag', True, 'whether ECC is on', xml='ecc_mode/current_ecc'),
    ScenarioKey('ecc_pending', 'flag', None, 'whether ECC is on after a restart', same_as='ecc', xml='ecc_mode/pending_ecc'),
    ScenarioKey('mig_mode', 'flag', None, 'whether the GPU is in MIG mode; without it, the GPU does not support MIG', xml='mig_mode/current_mig'),
    ScenarioKey('mig_mode_pending', 'flag', None, 'whether it is after a reset', same_as='mig_mode', xml='mig_mode/pending_mig'),
    ScenarioKey('max_mig_devices', 'count', 7, 'maximum number of MIG devices'),
    ScenarioKey('accounting', 'flag', False, 'whether the driver accounts for processes', nvml='nvmlDeviceGetAccountingMode', xml='accounting_mode'),
    ScenarioKey('accounting_buffer_size', 'count', 4000, 'number of processes whose accounts are kept', nvml='nvmlDeviceGetAccountingBufferSize', xml='accounting_mode_buffer_size'),
    ScenarioKey('operation_mode', 'choice', None, 'operation mode; some Kepler boards only', GPU_OPERATION_MODES, xml='gpu_operation_mode/current_gom'),
    ScenarioKey('memory_addressing', 'choice', 'hmm', 'how the GPU uses the memory of the host', ADDRESSING_MODES, xml='addressing_mode'),
    ScenarioKey('gsp_mode', 'flag', True, 'whether the GSP firmware is in use'),
    ScenarioKey('gsp_mode_default', 'flag', None, 'whether it is by default', same_as='gsp_mode'),
    ScenarioKey('dram_encryption', 'flag', None, 'whether DRAM is encrypted; without it, DRAM encryption is not supported', xml='dram_encryption_mode/current_dram_encryption'),
    ScenarioKey('c2c_mode', 'flag', False, 'whether CPU and GPU are connected by NVLink-C2C', xml='c2c_mode | gpu_c2c_mode'),
    ScenarioKey('vgpu_host', 'flag', None, 'whether virtual machines can share the GPU'),
    # health
    ScenarioKey('total_volatile_corrected_ecc_errors', 'count', 0, 'corrected ECC errors since the driver was loaded', xml='ecc_errors/volatile/single_bit/total'),
    ScenarioKey('total_volatile_uncorrected_ecc_errors', 'count', 0, 'uncorrected ECC errors since the driver was loaded', xml='ecc_errors/volatile/double_bit/total'),
    ScenarioKey('total_aggregate_corrected_ecc_errors', 'count', 0, 'corrected ECC errors in the lifetime of the board', xml='ecc_errors/aggregate/single_bit/total'),
    ScenarioKey('total_aggregate_uncorrected_ecc_errors', 'count', 0, 'uncorrected ECC errors in the lifetime of the board', xml='ecc_errors/aggregate/double_bit/total'),
    ScenarioKey('ecc_counts', 'counts', None, 'errors by `"uncorrected.volatile.sram"` and the like, as in the names of nvidia-smi; computed: errors in the device memory'),
    ScenarioKey('retired_pages_single_bit_ecc', 'count', None, 'pages retired after single-bit errors; without it, the GPU remaps rows instead', xml='retired_pages/multiple_single_bit_retirement/retired_count'),
    ScenarioKey('retired_pages_double_bit_ecc', 'count', None, 'pages retired after double-bit errors', xml='retired_pages/double_bit_retirement/retired_count'),
    ScenarioKey('retired_pages_pending', 'flag', None, 'whether pages are retired at the next reset', nvml='nvmlDeviceGetRetiredPagesPendingStatus', xml='retired_pages/pending_retirement | retired_pages/pending_blacklist'),
    ScenarioKey('remapped_rows_correctable', 'count', 0, 'rows remapped after corrected errors', xml='remapped_rows/remapped_row_corr'),
    ScenarioKey('remapped_rows_uncorrectable', 'count', 0, 'rows remapped after uncorrected errors', xml='remapped_rows/remapped_row_unc'),
    ScenarioKey('remapped_rows_pending', 'flag', False, 'whether rows are remapped at the next reset', xml='remapped_rows/remapped_row_pending'),
    ScenarioKey('remapped_rows_failure', 'flag', False, 'whether remapping has failed', xml='remapped_rows/remapped_row_failure'),
    ScenarioKey('inactive_remapped_rows_correctable', 'count', None, 'remappings after corrected errors that are not in effect', xml='remapped_rows/remapped_row_corr_inactive'),
    ScenarioKey('inactive_remapped_rows_uncorrectable', 'count', None, 'remappings after uncorrected errors that are not in effect', xml='remapped_rows/remapped_row_unc_inactive'),
    ScenarioKey('memory_banks', 'count', 640, 'memory banks with spare rows'),
    ScenarioKey('remapping_banks', 'counts', None, 'memory banks by spare rows left: `max`, `high`, `partial`, `low`, `none`; computed'),
    ScenarioKey('sram_errors', 'count', 0, 'uncorrected SRAM errors in the lifetime of the board'),
    ScenarioKey('recovery_action', 'choice', 'none', 'action that would make the GPU usable again', RECOVERY_ACTIONS, xml='gpu_recovery_action'),
    ScenarioKey('reset_required', 'flag', None, 'whether the GPU must be reset; computed from `recovery_action`', xml='gpu_reset_status/reset_required'),
    ScenarioKey('drain_and_reset_recommended', 'flag', None, 'whether it should be once it is idle; computed from `recovery_action`', xml='gpu_reset_status/drain_and_reset_recommended'),
    # other
    ScenarioKey('gpm', 'flag', False, 'whether the GPU has performance counters (Hopper and newer)'),
    ScenarioKey('xid', 'count', 0, 'number of the last Xid error; setting it is an event of the driver'),
    ScenarioKey('lost', 'flag', False, 'whether every call for the GPU fails with *GPU is lost*'),
    ScenarioKey('present', 'flag', True, 'whether the driver lists the GPU'),
    ScenarioKey('may_sleep', 'flag', False, 'whether the GPU sleeps (runtime D3) when it has no process and has not been queried for 5 s'),
)

MIG_KEYS: tuple[ScenarioKey, ...] = (
    ScenarioKey('profile', 'text', REQUIRED, '`1g.10gb`, `3g.40gb`, `1c.3g.40gb`, …'),
    ScenarioKey('index', 'integer', None, 'index on its GPU, which may leave gaps; computed: the next one', field='mig_index'),
    ScenarioKey('gpu_instance_id', 'integer', None, 'ID of the GPU instance; computed: the next one'),
    ScenarioKey('compute_instance_id', 'integer', 0, 'ID of the compute instance'),
    ScenarioKey('engines', 'counts', None, 'number of `multiprocessor`, `copy`, `decoder`, `encoder`, `jpeg` and `ofa` units; computed from the profile'),
    ScenarioKey('from', 'seconds', None, 'time at which it is created', field='start'),
    ScenarioKey('until', 'seconds', None, 'time at which it is destroyed', field='stop'),
)
#: Keys of :data:`GPU_KEYS` that ``[[gpu.mig]]`` can have too.
MIG_VALUES = (
    'name', 'uuid', 'memory_total', 'memory_reserved', 'memory_base', 'memory_used', 'memory_free', 'bar1_memory_total',
    'bar1_memory_used', 'ecc_counts',
)

PROCESS_KEYS: tuple[ScenarioKey, ...] = (
    ScenarioKey('command', 'strings', REQUIRED, 'program and arguments; `{gpu}` and `{rank}` (0, 1, …) are replaced'),
    ScenarioKey('gpus', 'GPUs', 'all', 'list of GPU indices: one process on each'),
    ScenarioKey('shared', 'flag', False, 'one process on all of them instead'),
    ScenarioKey('count', 'integer', 1, 'number of copies'),
    ScenarioKey('mig', 'integer', None, 'index of the MIG device that it uses'),
    ScenarioKey('user', 'text', None, 'name of the user to show; computed: yours'),
    ScenarioKey('type', 'choice', 'C', 'compute, graphics, both, or a client of MPS', _words('C', 'G', 'C+G', 'M')),
    ScenarioKey('memory', 'B', 0, 'GPU memory; `"N/A"`: the driver does not know it', can_be_na=True),
    ScenarioKey('sm', '%', 0, 'SM utilization; processes that want more than 100 % of a GPU share it'),
    ScenarioKey('memory_utilization', '%', 0, 'memory utilization; 0: follows `sm`'),
    ScenarioKey('encoder', '%', 0, 'utilization of the video encoder'),
    ScenarioKey('decoder', '%', 0, 'utilization of the video decoder'),
    ScenarioKey('cpu', 'CPU %', None, 'CPU usage in percent of one CPU; computed: that of its child'),
    ScenarioKey('host_memory', 'B', None, 'resident memory of the host; computed: that of its child'),
    ScenarioKey('threads', 'integer', None, 'number of threads; computed: that of its child', low=1),
    ScenarioKey('directory', 'text', '', 'its working directory; computed: that of its child'),
    ScenarioKey('started', 'duration', None, 'how long it has been running when the scenario starts', field='age'),
    ScenarioKey('from', 'seconds', None, 'time at which it starts', field='start'),
    ScenarioKey('until', 'seconds', None, 'time at which it exits', field='stop'),
    ScenarioKey('state', 'choice', 'running', '`gone`: listed by the driver, unknown to the system; `listed`: known by its command line only', _words('running', 'zombie', 'gone', 'listed')),
    ScenarioKey('cgroup', 'text', '0::/', 'content of its `/proc/PID/cgroup`'),
    ScenarioKey('environ', 'strings', None, 'variables of its environment, such as `"SLURM_JOB_ID=42"`'),
    ScenarioKey('mountinfo', 'text', '', 'content of its `/proc/PID/mountinfo`'),
    ScenarioKey('login_uid', 'integer', None, 'ID of the user who logged in'),
    ScenarioKey('container_log', 'text', '', 'name of its log in `/var/log/containers`'),
    ScenarioKey('sample_pid', 'integer', None, 'PID in its utilization samples if it is another one, as in some containers', high=MAX_PID),
    ScenarioKey('pid', 'integer', None, 'PID that the driver reports, even an impossible one', high=MAX_PID),
)

HOST_KEYS: tuple[ScenarioKey, ...] = (
    ScenarioKey('name', 'text', None, 'network name; computed: that of this host'),
    ScenarioKey('user', 'text', None, 'name of the user who runs nvitop; computed: yours'),
    ScenarioKey('cpus', 'integer', 64, 'number of logical CPUs', low=1),
    ScenarioKey('cpu', '%', 1, 'CPU usage outside the processes of the scenario'),
    ScenarioKey('memory', 'B', '512 GiB', 'installed memory'),
    ScenarioKey('memory_base', 'B', '6 GiB', 'memory used outside the processes of the scenario'),
    ScenarioKey('swap', 'B', 0, 'swap space'),
    ScenarioKey('swap_used', 'B', 0, 'used swap space'),
    ScenarioKey('uptime', 'duration', '30d', 'time since boot when the scenario starts'),
)

EVENT_KEYS: tuple[ScenarioKey, ...] = (
    ScenarioKey('at', 'seconds', REQUIRED, 'time of the event'),
    ScenarioKey('until', 'seconds', None, 'time at which the previous values return'),
    ScenarioKey('gpus', 'GPUs', 'all', 'list of GPU indices'),
)

FAULT_KEYS: tuple[ScenarioKey, ...] = (
    ScenarioKey('call', 'text', REQUIRED, 'name of a function; `*` and `?` are wildcards'),
    ScenarioKey('gpu', 'integer', None, 'index of the GPU; without it, any'),
    ScenarioKey('error', 'choice', None, 'return code without `NVML_ERROR_`', ERROR_CODES, field='code'),
    ScenarioKey('delay', 'seconds', 0, 'time by which the call takes longer'),
    ScenarioKey('hang', 'flag', False, 'whether the call hangs until the machine stops'),
    ScenarioKey('after', 'integer', 0, 'number of calls that are not affected'),
    ScenarioKey('every', 'integer', 1, 'then every N-th call is affected', low=1),
    ScenarioKey('times', 'integer', None, 'maximum number of affected calls', low=1),
    ScenarioKey('from', 'seconds', None, 'time at which the fault starts', field='start'),
    ScenarioKey('until', 'seconds', None, 'time at which the fault ends', field='stop'),
)

#: A number that changes with time. ``number`` is one in the unit of the key.
WAVE_KEYS: tuple[ScenarioKey, ...] = (
    ScenarioKey('mean', 'number', None, 'mean value'),
    ScenarioKey('amplitude', 'number', 0, 'amplitude of a wave'),
    ScenarioKey('period', 'seconds', 60, 'period of the wave'),
    ScenarioKey('phase', 'seconds', None, 'fraction of the period that has passed at the start, 0 to 1; pseudo-random'),
    ScenarioKey('shape', 'choice', 'sine', 'shape of the wave', _words(*SHAPES)),
    ScenarioKey('noise', 'number', 0, 'amplitude of an added smooth, irregular movement'),
    ScenarioKey('pulses', 'number', None, '`[[period, duration, change, start], …]`: in each period, the change is added for this duration; one begins at the start'),
    ScenarioKey('steps', 'number', None, 'instead of all others: `[[seconds, value], …]`, each value from its time on'),
)
# fmt: on

GPU_KEYS_BY_NAME: dict[str, ScenarioKey] = {key.name: key for key in GPU_KEYS}
#: Table of a scenario file → its keys.
TABLES: Mapping[str, tuple[ScenarioKey, ...]] = {
    'file': FILE_KEYS,
    'wave': WAVE_KEYS,
    'driver': DRIVER_KEYS,
    'gpu': (*GPU_TABLE_KEYS, *GPU_KEYS),
    'mig': MIG_KEYS,
    'process': PROCESS_KEYS,
    'host': HOST_KEYS,
    'event': EVENT_KEYS,
    'fault': FAULT_KEYS,
}
