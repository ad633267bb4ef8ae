# SPDX-License-Identifier: Apache-2.0
"""The tables of pynvml.smi: names and numbers in a filter, and the values that they select."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.api.device.base import NotReported
from nvitop.api.device.health import ECC_LOCATIONS
from nvitop.api.device.identity import BRANDS
from nvitop.api.device.sensors import ClockEventReasons
from nvitop.api.libnvml import NVMLError, NVMLError_NotFound, NVMLError_NotSupported
from nvitop.basics.metrics import EXTENDED_METRICS, METRICS
from nvitop.basics.units import NA, UINT_MAX, ULONGLONG_MAX, MiB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Tree = dict[str, object]
    Read = Callable[['SmiGpu'], object]


#: Name in a filter → number.
NVSMI_QUERY_GPU: dict[str, int] = {}
#: Name in a filter → its meaning, in one line.
HELP: dict[str, str] = {}
#: All numbers that a filter can contain.
NUMBERS: set[int] = {-1}

_METRICS = {metric.query: metric.help for metric in (*METRICS, *EXTENDED_METRICS)}


def _name(number: int, *texts: str, text: str = '') -> int:
    """Register a number with its names. The default meaning is that of the metric."""
    NUMBERS.add(number)
    for name in texts:
        NVSMI_QUERY_GPU[name] = number
        HELP[name] = text or _METRICS[texts[0]]
    return number


#: Word in the name of a number → word in a filter. pynvml.smi documents the last three, but does not
#: accept them.
_ECC_PLACES: tuple[dict[str, str], ...] = (
    {
        'DEV_MEM': 'device_memory',
        'REGFILE': 'register_file',
        'L1CACHE': 'l1_cache',
        'L2CACHE': 'l2_cache',
        'TEXTURE': 'texture_memory',
        'TOTAL': 'total',
    },
    {'DRAM': 'dram', 'CBU': 'cbu', 'SRAM': 'sram'},
)

# fmt: off
NVSMI_ALL = -1
NVSMI_TIMESTAMP = _name(1, 'timestamp', text='date and time of the query')
NVSMI_DRIVER_VERSION = _name(2, 'driver_version', text='version of the driver')
NVSMI_COUNT = _name(3, 'count', text='number of GPUs')
NVSMI_NAME = _name(4, 'name', 'gpu_name')
NVSMI_SERIALNUMBER = _name(5, 'serial', 'gpu_serial')
NVSMI_UUID = _name(6, 'uuid', 'gpu_uuid')
NVSMI_PCI_BUS_ID = _name(7, 'pci.bus_id', 'gpu_bus_id')
NVSMI_PCI_DOMAIN = _name(8, 'pci.domain', text='PCI domain, hexadecimal')
NVSMI_PCI_BUS = _name(9, 'pci.bus', text='PCI bus, hexadecimal')
NVSMI_PCI_DEVICE = _name(10, 'pci.device', text='PCI device, hexadecimal')
NVSMI_PCI_DEVICE_ID = _name(11, 'pci.device_id')
NVSMI_PCI_SUBDEVICE_ID = _name(12, 'pci.sub_device_id')
NVSMI_PCI_LINK_GEN_CUR = _name(13, 'pcie.link.gen.current')
NVSMI_PCI_LINK_GEN_MAX = _name(14, 'pcie.link.gen.max')
NVSMI_PCI_LINK_WIDTH_CUR = _name(15, 'pcie.link.width.current')
NVSMI_PCI_LINK_WIDTH_MAX = _name(16, 'pcie.link.width.max')
NVSMI_INDEX = _name(17, 'index', text='minor number of the GPU, as in /dev/nvidia0')
NVSMI_DISPLAY_MODE = _name(18, 'display_mode')
NVSMI_DISPLAY_ACTIVE = _name(19, 'display_active')
NVSMI_PERSISTENCE_MODE = _name(20, 'persistence_mode')
NVSMI_ACCT_MODE = _name(21, 'accounting.mode')
NVSMI_ACCT_BUFFER_SIZE = _name(22, 'accounting.buffer_size')
NVSMI_DRIVER_MODEL_CUR = _name(23, 'driver_model.current')
NVSMI_DRIVER_MODEL_PENDING = _name(24, 'driver_model.pending')
NVSMI_VBIOS_VER = _name(25, 'vbios_version')
NVSMI_BOARD_ID = _name(26)
NVSMI_INFOROM_IMG = _name(190, 'inforom.img', 'inforom.image')
NVSMI_INFOROM_OEM = _name(191, 'inforom.oem')
NVSMI_INFOROM_ECC = _name(192, 'inforom.ecc')
NVSMI_INFOROM_PWR = _name(193, 'inforom.pwr', 'inforom.power')
NVSMI_GOM_CUR = _name(30, 'gom.current', 'gpu_operation_mode.current')
NVSMI_GOM_PENDING = _name(31, 'gom.pending', 'gpu_operation_mode.pending')
NVSMI_FAN_SPEED = _name(32, 'fan.speed')
NVSMI_PSTATE = _name(33, 'pstate')
NVSMI_MEMORY_TOTAL = _name(50, 'memory.total')
NVSMI_MEMORY_FREE = _name(51, 'memory.free')
NVSMI_MEMORY_USED = _name(52, 'memory.used', text='memory that is not free: allocated or reserved')
NVSMI_COMPUTE_MODE = _name(53, 'compute_mode')
NVSMI_MEMORY_BAR1 = _name(54)
NVSMI_UTILIZATION_GPU = _name(60, 'utilization.gpu')
NVSMI_UTILIZATION_MEM = _name(61, 'utilization.memory')
NVSMI_UTILIZATION_ENCODER = _name(62, 'utilization.encoder')
NVSMI_UTILIZATION_DECODER = _name(63, 'utilization.decoder')
NVSMI_ENCODER_STATS_SESSIONCOUNT = _name(260, 'encoder.stats.sessionCount')
NVSMI_ENCODER_STATS_AVG_EPS = _name(261, 'encoder.stats.averageFps')
NVSMI_ENCODER_STATS_AVG_LATENCY = _name(262, 'encoder.stats.averageLatency')
NVSMI_ECC_MODE_CUR = _name(70, 'ecc.mode.current')
NVSMI_ECC_MODE_PENDING = _name(71, 'ecc.mode.pending')
for _kind, *_starts in (
    ('corrected.volatile', 80, 310),
    ('corrected.aggregate', 90, 313),
    ('uncorrected.volatile', 100, 316),
    ('uncorrected.aggregate', 110, 319),
):
    for _start, _places in zip(_starts, _ECC_PLACES):
        for _value, (_suffix, _place) in enumerate(_places.items(), _start):
            _constant = f'NVSMI_ECC_ERROR_{_kind.replace(".", "_").upper()}_{_suffix}'
            globals()[_constant] = _name(_value, f'ecc.errors.{_kind}.{_place}')
NVSMI_RETIREDPAGES_SINGLE_BIT_ECC_COUNT = _name(120, 'retired_pages.single_bit_ecc.count', 'retired_pages.sbe')
NVSMI_RETIREDPAGES_DOUBLE_BIT_ECC_COUNT = _name(121, 'retired_pages.double_bit.count', 'retired_pages.dbe')
NVSMI_RETIREDPAGES_PENDING = _name(122, 'retired_pages.pending')
NVSMI_CLOCK_THROTTLE_REASONS_SUPPORTED = _name(170, 'clocks_throttle_reasons.supported', text='reasons for low clocks that the GPU reports, a bitmask')
NVSMI_CLOCK_THROTTLE_REASONS_ACTIVE = _name(171, 'clocks_throttle_reasons.active', text='active reasons for low clocks, a bitmask')
NVSMI_CLOCK_THROTTLE_REASONS_IDLE = _name(172, 'clocks_throttle_reasons.gpu_idle', text='clocks are low: the GPU is idle')
NVSMI_CLOCK_THROTTLE_REASONS_APP_SETTING = _name(173, 'clocks_throttle_reasons.applications_clocks_setting', text='clocks are low: an administrator has set them')
NVSMI_CLOCK_THROTTLE_REASONS_SW_PWR_CAP = _name(174, 'clocks_throttle_reasons.sw_power_cap', text='clocks are low: the power limit is reached')
NVSMI_CLOCK_THROTTLE_REASONS_HW_SLOWDOWN = _name(175, 'clocks_throttle_reasons.hw_slowdown', text='clocks are low: the hardware halves them because of heat or power')
NVSMI_CLOCK_THROTTLE_REASONS_HW_THERMAL_SLOWDOWN = _name(176, 'clocks_throttle_reasons.hw_thermal_slowdown', text='clocks are low: the hardware halves them because of heat')
NVSMI_CLOCK_THROTTLE_REASONS_HW_PWR_BRAKE_SLOWDOWN = _name(177, 'clocks_throttle_reasons.hw_power_brake_slowdown', text='clocks are low: the external power brake is active')
NVSMI_CLOCK_THROTTLE_REASONS_SW_THERMAL_SLOWDOWN = _name(178, 'clocks_throttle_reasons.sw_thermal_slowdown', text='clocks are low: the driver lowers them because of heat')
NVSMI_CLOCK_THROTTLE_REASONS_SYNC_BOOST = _name(179, 'clocks_throttle_reasons.sync_boost', text='clocks are low: sync boost with another GPU')
NVSMI_TEMPERATURE_GPU = _name(130, 'temperature.gpu')
NVSMI_TEMPERATURE_MEMORY = _name(131, 'temperature.memory')
NVSMI_POWER_MGMT = _name(140, 'power.management')
NVSMI_POWER_DRAW = _name(141, 'power.draw')
NVSMI_POWER_LIMIT = _name(142, 'power.limit')
NVSMI_POWER_LIMIT_ENFORCED = _name(143, 'enforced.power.limit')
NVSMI_POWER_LIMIT_DEFAULT = _name(144, 'power.default_limit')
NVSMI_POWER_LIMIT_MIN = _name(145, 'power.min_limit')
NVSMI_POWER_LIMIT_MAX = _name(146, 'power.max_limit')
NVSMI_CLOCKS_GRAPHICS_CUR = _name(150, 'clocks.current.graphics', 'clocks.gr')
NVSMI_CLOCKS_SM_CUR = _name(151, 'clocks.current.sm', 'clocks.sm')
NVSMI_CLOCKS_MEMORY_CUR = _name(152, 'clocks.current.memory', 'clocks.mem')
NVSMI_CLOCKS_VIDEO_CUR = _name(153, 'clocks.current.video', 'clocks.video')
NVSMI_CLOCKS_APPL_GRAPHICS = _name(154, 'clocks.applications.graphics', 'clocks.applications.gr')
NVSMI_CLOCKS_APPL_MEMORY = _name(155, 'clocks.applications.memory', 'clocks.applications.mem')
NVSMI_CLOCKS_APPL_GRAPHICS_DEFAULT = _name(156, 'clocks.default_applications.graphics', 'clocks.default_applications.gr')
NVSMI_CLOCKS_APPL_MEMORY_DEFAULT = _name(157, 'clocks.default_applications.memory', 'clocks.default_applications.mem')
NVSMI_CLOCKS_GRAPHICS_MAX = _name(158, 'clocks.max.graphics', 'clocks.max.gr')
NVSMI_CLOCKS_SM_MAX = _name(159, 'clocks.max.sm')
NVSMI_CLOCKS_MEMORY_MAX = _name(160, 'clocks.max.memory', 'clocks.max.mem')
NVSMI_COMPUTE_APPS = _name(200, 'compute-apps', text='compute processes: PID, name, memory')
NVSMI_ACCOUNTED_APPS = _name(201, 'accounted-apps', text='accounts of processes, including exited ones')
NVSMI_CLOCKS_POLICY = _name(202, 'clocks', text='whether auto boost is on')
NVSMI_CLOCKS_SUPPORTED = _name(203, 'supported-clocks', text='memory clocks that can be set, each with its graphics clocks')
# In addition to pynvml.smi: names that it documents, but does not accept.
NVSMI_MIG_MODE_CUR = _name(300, 'mig.mode.current')
NVSMI_MIG_MODE_PENDING = _name(301, 'mig.mode.pending')
# fmt: on


class SmiGpu:
    """The values of one GPU at one time."""

    def __init__(self, index: int, *, raises: bool) -> None:
        """Find the GPU. If it is lost, every value is that error."""
        self.device = Device(index)
        self._raises = raises

    def read(self, method: str, *args: Any, unknown: str = '') -> Any:
        """Return the value of a getter, or raise NVMLError; ``unknown`` stands for unnamed numbers."""
        value, reason = self.device.reading(method, *args)
        if value is not NA:
            return value
        if unknown and isinstance(reason, NotReported):
            return unknown
        raise reason if isinstance(reason, NVMLError) else NVMLError_NotSupported()

    def pcie_throughput(self, direction: int) -> int:
        """Return the PCIe throughput (0: transmitted, 1: received) in KB/s, unlike the getters."""
        if self.device.handle is None:
            self.read('uuid')
        return int(libnvml.nvmlDeviceGetPcieThroughput(self.device.handle, direction))

    def value(self, read: Read) -> object:
        """Return a value, or the text of the error unless it is raised; ``'N/A'``: not supported."""
        try:
            return read(self)
        except NVMLError_NotSupported:
            return str(NA)
        except NVMLError as error:
            if self._raises:
                raise
            return str(error)


def _plain(value: Any) -> object:
    return value


def _get(method: str, *args: int, show: Callable[[Any], object] = _plain) -> Read:
    return lambda gpu: show(gpu.read(method, *args))


_ECC_ERRORS = {'single_bit': 'corrected', 'double_bit': 'uncorrected'}
_THROTTLE_REASONS = {
    **{name.lower(): int(bit) for name, bit in ClockEventReasons.__members__.items()},
    'unknown': 1 << 63,
}
_BRIDGE_CHIPS = {0: 'PLX', 1: 'BR04'}


def ecc_errors(counter: str) -> Read:
    """Read all ECC errors of one counter, ``'volatile'`` or ``'aggregate'``."""

    def read(gpu: SmiGpu) -> Tree:
        return {name: _ecc_errors(gpu, error, counter) for name, error in _ECC_ERRORS.items()}

    return read


def _ecc_errors(gpu: SmiGpu, error: str, counter: str) -> Tree:
    errors = {
        location: gpu.value(_get(f'{location}_{counter}_{error}_ecc_errors'))
        for location in ECC_LOCATIONS
    }
    # pynvml.smi has this number, and only this one, as text.
    total = gpu.value(_get(f'total_{counter}_{error}_ecc_errors', show=str))
    return {**errors, 'total': total}


def retired_pages(cause: int) -> Read:
    """Read the pages retired for one cause; ``None`` if there are none or it is not supported."""

    def read(gpu: SmiGpu) -> Tree | None:
        try:
            pages = gpu.read('retired_pages', cause)
        except NVMLError_NotSupported:
            pages = []
        if not pages:
            return None
        addresses = {
            f'retired_page_address_{i}': f'0x{page:016x}' for i, page in enumerate(pages, 1)
        }
        return {'retired_count': len(pages), 'retired_page_addresses': addresses}

    return read


def throttle_reasons(gpu: SmiGpu) -> Tree:
    """Read the reasons for low clocks; if they are not available, the error is ``Error``."""
    supported = gpu.value(_get('supported_clock_event_reasons', show=int))
    active = gpu.value(_get('clock_event_reasons', show=int))
    if not isinstance(supported, int) or not isinstance(active, int):
        return {'Error': active if isinstance(supported, int) else supported}
    words = {True: 'Active', False: 'Not Active'}
    reasons = {
        f'clocks_throttle_reason_{name}': words[bool(active & bit)] if supported & bit else str(NA)
        for name, bit in _THROTTLE_REASONS.items()
    }
    return {
        **reasons,
        'clocks_throttle_reasons_supported': f'0x{supported:016x}',
        'clocks_throttle_reasons_active': f'0x{active:016x}',
    }


def bridge_chip_type(bridges: Any) -> str:
    """Type of the first bridge chip of a board; ``'N/A'`` if there is none."""
    if not bridges.bridgeCount:
        return str(NA)
    return _BRIDGE_CHIPS.get(bridges.bridgeChipInfo[0].type, 'Unknown')


def bridge_chip_firmware(bridges: Any) -> str:
    """Firmware version of the first bridge chip of a board; ``'N/A'`` if unknown."""
    version = bridges.bridgeChipInfo[0].fwVersion if bridges.bridgeCount else 0
    return f'{version:08X}' if version else str(NA)


def supported_clocks(gpu: SmiGpu) -> list[Tree]:
    """Read the memory clocks that can be set, each with its graphics clocks."""
    return [
        {
            'current': clock,
            'unit': 'MHz',
            'supported_graphics_clock': gpu.value(_get('supported_graphics_clocks', clock)),
        }
        for clock in gpu.read('supported_memory_clocks')
    ]


def processes(gpu: SmiGpu) -> list[Tree] | None:
    """Read the compute processes; ``None`` if there are none. Exited processes are left out."""
    rows: list[Tree] = []
    for info in gpu.read('compute_running_processes'):
        name = gpu.value(_process_name(info.pid))
        if name is None:
            continue
        memory = info.usedGpuMemory
        used = str(NA) if memory is None else memory // MiB
        rows.append({'pid': info.pid, 'process_name': name, 'used_memory': used, 'unit': 'MiB'})
    return rows or None


def _process_name(pid: int) -> Read:
    """Read the name of a process; ``None``: it has exited since it was listed."""

    def read(_: SmiGpu) -> object:
        try:
            return libnvml.nvmlQuery('nvmlSystemGetProcessName', pid, ignore_errors=False)
        except NVMLError_NotFound:
            return None

    return read


def accounted_processes(gpu: SmiGpu) -> list[Tree] | None:
    """Read the accounts of processes, including exited ones; ``None`` if there are none."""
    rows: list[Tree] = []
    for pid in gpu.read('accounting_pids'):
        try:
            stats = gpu.read('accounting_stats', pid)
        except NVMLError_NotFound:
            continue
        rows.append(
            {
                'pid': str(pid),
                'gpu_util': _text(stats.gpuUtilization, '%'),
                'memory_util': _text(stats.memoryUtilization, '%'),
                'max_memory_usage': _text(stats.maxMemoryUsage, 'MiB', MiB),
                'time': _text(stats.time, 'ms'),
                'is_running': str(stats.isRunning),
            }
        )
    return rows or None


def _text(value: int, unit: str, divisor: int = 1) -> str:
    return f'{value // divisor} {unit}' if value not in (UINT_MAX, ULONGLONG_MAX) else str(NA)


class SmiField(NamedTuple):
    """One value of the result."""

    #: Its keys, joined with dots.
    path: str
    #: Numbers that select it; without any, only a query for everything does.
    numbers: tuple[int, ...]
    read: Read


#: Number of a brand in NVML → its name.
NVSMI_BRAND_NAMES: dict[int, str] = {0: 'Unknown', **BRANDS}

#: Word of :class:`nvitop.Device` → word of pynvml.smi, if they differ.
_WORDS: Mapping[str, str] = {'WDM': 'TCC', 'Exclusive Process': 'Exclusive_Process'}
_YES = {0: 'No', 1: 'Yes'}
_ON = {0: 'Off', 1: 'On'}
_TX, _RX = range(2)


def _word(method: str, words: Mapping[str, str] = _WORDS) -> Read:
    def read(gpu: SmiGpu) -> object:
        word = gpu.read(method, unknown='Unknown')
        return words.get(word, word)

    return read


def _number(words: Mapping[int, str]) -> Callable[[int], str]:
    return lambda number: words.get(number, 'Unknown')


def _pci(field: str, digits: int) -> Read:
    return lambda gpu: f'{getattr(gpu.read("pci_info"), field):0{digits}X}'


def _auto_boost(place: int) -> Read:
    return lambda gpu: _ON.get(gpu.read('auto_boosted_clocks_enabled')[place], 'Unknown')


def _mib(size: int) -> float:
    return size / MiB


def _watts(milliwatts: int) -> float:
    return milliwatts / 1000


def _lanes(width: int) -> str:
    return f'{width}x'


def _memory(part: str) -> Read:
    def read(gpu: SmiGpu) -> object:
        if gpu.device.is_unified_memory():  # Device reports the memory of the host
            return str(NA)
        if part == 'used':
            # Reserved memory is used, as with old drivers. Newer ones report it separately.
            return _mib(gpu.read('memory_total')) - _mib(gpu.read('memory_free'))
        return _mib(gpu.read(f'memory_{part}'))

    return read


def _throughput(direction: int) -> Read:
    return lambda gpu: gpu.pcie_throughput(direction)


# fmt: off
_POWER_GROUP = (NVSMI_POWER_MGMT, NVSMI_POWER_DRAW, NVSMI_POWER_LIMIT, NVSMI_POWER_LIMIT_ENFORCED, NVSMI_POWER_LIMIT_DEFAULT, NVSMI_POWER_LIMIT_MIN, NVSMI_POWER_LIMIT_MAX)
_THROTTLE_GROUP = tuple(range(NVSMI_CLOCK_THROTTLE_REASONS_SUPPORTED, NVSMI_CLOCK_THROTTLE_REASONS_SYNC_BOOST + 1))
_VOLATILE_GROUP = tuple(number for text, number in NVSMI_QUERY_GPU.items() if text.startswith('ecc.errors.') and '.volatile.' in text)
_AGGREGATE_GROUP = tuple(number for text, number in NVSMI_QUERY_GPU.items() if text.startswith('ecc.errors.') and '.aggregate.' in text)

FIELDS: tuple[SmiField, ...] = tuple(SmiField(*row) for row in (
    ('id', (NVSMI_PCI_BUS_ID,), _get('bus_id')),
    ('product_name', (NVSMI_NAME,), _get('name')),
    ('product_brand', (NVSMI_NAME,), _word('brand')),
    ('display_mode', (NVSMI_DISPLAY_MODE,), _word('display_mode')),
    ('display_active', (NVSMI_DISPLAY_ACTIVE,), _word('display_active')),
    ('persistence_mode', (NVSMI_PERSISTENCE_MODE,), _word('persistence_mode')),
    ('mig_mode.current_mig', (NVSMI_MIG_MODE_CUR,), _word('mig_mode')),
    ('mig_mode.pending_mig', (NVSMI_MIG_MODE_PENDING,), _word('mig_mode_pending')),
    ('accounting_mode', (NVSMI_ACCT_MODE,), _word('accounting')),
    ('accounting_mode_buffer_size', (NVSMI_ACCT_BUFFER_SIZE,), _get('accounting_buffer_size', show=str)),
    ('driver_model.current_dm', (NVSMI_DRIVER_MODEL_CUR,), _word('current_driver_model')),
    ('driver_model.pending_dm', (NVSMI_DRIVER_MODEL_PENDING,), _word('driver_model_pending')),
    ('serial', (NVSMI_SERIALNUMBER,), _get('serial')),
    ('uuid', (NVSMI_UUID,), _get('uuid')),
    ('minor_number', (NVSMI_INDEX,), _get('minor_number', show=str)),
    ('vbios_version', (NVSMI_VBIOS_VER,), _get('vbios_version')),
    ('multigpu_board', (NVSMI_BOARD_ID,), _get('multi_gpu_board', show=_number(_YES))),
    ('board_id', (NVSMI_BOARD_ID,), _get('board_id', show=hex)),
    ('inforom_version.img_version', (NVSMI_INFOROM_IMG,), _get('inforom_image_version')),
    ('inforom_version.oem_object', (NVSMI_INFOROM_OEM,), _get('inforom_oem_version')),
    ('inforom_version.ecc_object', (NVSMI_INFOROM_ECC,), _get('inforom_ecc_version')),
    ('inforom_version.pwr_object', (NVSMI_INFOROM_PWR,), _get('inforom_power_version')),
    ('gpu_operation_mode.current_gom', (NVSMI_GOM_CUR,), _word('operation_mode')),
    ('gpu_operation_mode.pending_gom', (NVSMI_GOM_PENDING,), _word('operation_mode_pending')),
    ('pci.pci_bus', (NVSMI_PCI_BUS,), _pci('bus', 2)),
    ('pci.pci_device', (NVSMI_PCI_DEVICE,), _pci('device', 2)),
    ('pci.pci_domain', (NVSMI_PCI_DOMAIN,), _pci('domain', 4)),
    ('pci.pci_device_id', (NVSMI_PCI_DEVICE_ID,), _pci('pciDeviceId', 8)),
    ('pci.pci_bus_id', (NVSMI_PCI_BUS_ID,), _get('bus_id')),
    ('pci.pci_sub_system_id', (NVSMI_PCI_SUBDEVICE_ID,), _pci('pciSubSystemId', 8)),
    ('pci.pci_gpu_link_info.pcie_gen.max_link_gen', (NVSMI_PCI_LINK_GEN_MAX,), _get('max_pcie_link_generation', show=str)),
    ('pci.pci_gpu_link_info.pcie_gen.current_link_gen', (NVSMI_PCI_LINK_GEN_CUR,), _get('pcie_link_generation', show=str)),
    ('pci.pci_gpu_link_info.link_widths.max_link_width', (NVSMI_PCI_LINK_WIDTH_MAX,), _get('max_pcie_link_width', show=_lanes)),
    ('pci.pci_gpu_link_info.link_widths.current_link_width', (NVSMI_PCI_LINK_WIDTH_CUR,), _get('pcie_link_width', show=_lanes)),
    ('pci.pci_bridge_chip.bridge_chip_type', (), _get('bridge_chip_info', show=bridge_chip_type)),
    ('pci.pci_bridge_chip.bridge_chip_fw', (), _get('bridge_chip_info', show=bridge_chip_firmware)),
    ('pci.replay_counter', (), _get('pcie_replay_counter', show=str)),
    ('pci.tx_util', (), _throughput(_TX)),
    ('pci.rx_util', (), _throughput(_RX)),
    ('fan_speed', (NVSMI_FAN_SPEED,), _get('fan_speed')),
    ('performance_state', (NVSMI_PSTATE,), _get('performance_state')),
    ('clocks_throttle', _THROTTLE_GROUP, throttle_reasons),
    ('fb_memory_usage.total', (NVSMI_MEMORY_TOTAL,), _memory('total')),
    ('fb_memory_usage.used', (NVSMI_MEMORY_USED,), _memory('used')),
    ('fb_memory_usage.free', (NVSMI_MEMORY_FREE,), _memory('free')),
    ('bar1_memory_usage.total', (NVSMI_MEMORY_BAR1,), _get('bar1_memory_total', show=_mib)),
    ('bar1_memory_usage.used', (NVSMI_MEMORY_BAR1,), _get('bar1_memory_used', show=_mib)),
    ('bar1_memory_usage.free', (NVSMI_MEMORY_BAR1,), _get('bar1_memory_free', show=_mib)),
    ('compute_mode', (NVSMI_COMPUTE_MODE,), _word('compute_mode')),
    ('utilization.gpu_util', (NVSMI_UTILIZATION_GPU,), _get('gpu_utilization')),
    ('utilization.memory_util', (NVSMI_UTILIZATION_MEM,), _get('memory_utilization')),
    ('utilization.encoder_util', (NVSMI_UTILIZATION_ENCODER,), _get('encoder_utilization')),
    ('utilization.decoder_util', (NVSMI_UTILIZATION_DECODER,), _get('decoder_utilization')),
    ('encoder_stats.session_count', (NVSMI_ENCODER_STATS_SESSIONCOUNT,), _get('encoder_session_count')),
    ('encoder_stats.average_fps', (NVSMI_ENCODER_STATS_AVG_EPS,), _get('encoder_average_fps')),
    ('encoder_stats.average_latency', (NVSMI_ENCODER_STATS_AVG_LATENCY,), _get('encoder_average_latency')),
    ('ecc_mode.current_ecc', (NVSMI_ECC_MODE_CUR,), _word('ecc')),
    ('ecc_mode.pending_ecc', (NVSMI_ECC_MODE_PENDING,), _word('ecc_pending')),
    ('ecc_errors.volatile', _VOLATILE_GROUP, ecc_errors('volatile')),
    ('ecc_errors.aggregate', _AGGREGATE_GROUP, ecc_errors('aggregate')),
    ('retired_pages.multiple_single_bit_retirement', (NVSMI_RETIREDPAGES_SINGLE_BIT_ECC_COUNT,), retired_pages(0)),
    ('retired_pages.double_bit_retirement', (NVSMI_RETIREDPAGES_DOUBLE_BIT_ECC_COUNT,), retired_pages(1)),
    ('retired_pages.pending_retirement', (NVSMI_RETIREDPAGES_PENDING,), _get('retired_pages_pending', show=_number(_YES))),
    ('temperature.gpu_temp', (NVSMI_TEMPERATURE_GPU,), _get('temperature')),
    ('temperature.gpu_temp_max_threshold', (NVSMI_TEMPERATURE_GPU,), _get('temperature_shutdown_threshold')),
    ('temperature.gpu_temp_slow_threshold', (NVSMI_TEMPERATURE_GPU,), _get('temperature_slowdown_threshold')),
    ('temperature.memory_temp', (NVSMI_TEMPERATURE_MEMORY,), _get('memory_temperature')),
    ('power_readings.power_management', (NVSMI_POWER_MGMT,), _word('power_management', {'Enabled': 'Supported', 'Disabled': str(NA)})),
    ('power_readings.power_draw', (NVSMI_POWER_DRAW,), _get('power_usage', show=_watts)),
    ('power_readings.power_limit', (NVSMI_POWER_LIMIT,), _get('power_limit', show=_watts)),
    ('power_readings.default_power_limit', (NVSMI_POWER_LIMIT_DEFAULT,), _get('default_power_limit', show=_watts)),
    ('power_readings.enforced_power_limit', (NVSMI_POWER_LIMIT_ENFORCED,), _get('enforced_power_limit', show=_watts)),
    ('power_readings.min_power_limit', (NVSMI_POWER_LIMIT_MIN,), _get('min_power_limit', show=_watts)),
    ('power_readings.max_power_limit', (NVSMI_POWER_LIMIT_MAX,), _get('max_power_limit', show=_watts)),
    ('power_readings.power_state', _POWER_GROUP, _get('performance_state')),
    ('clocks.graphics_clock', (NVSMI_CLOCKS_GRAPHICS_CUR,), _get('graphics_clock')),
    ('clocks.sm_clock', (NVSMI_CLOCKS_GRAPHICS_CUR, NVSMI_CLOCKS_SM_CUR), _get('sm_clock')),
    ('clocks.mem_clock', (NVSMI_CLOCKS_MEMORY_CUR,), _get('memory_clock')),
    ('clocks.video_clock', (NVSMI_CLOCKS_VIDEO_CUR,), _get('video_clock')),
    ('applications_clocks.graphics_clock', (NVSMI_CLOCKS_APPL_GRAPHICS,), _get('application_graphics_clock')),
    ('applications_clocks.mem_clock', (NVSMI_CLOCKS_APPL_MEMORY,), _get('application_memory_clock')),
    ('default_applications_clocks.graphics_clock', (NVSMI_CLOCKS_APPL_GRAPHICS_DEFAULT,), _get('default_application_graphics_clock')),
    ('default_applications_clocks.mem_clock', (NVSMI_CLOCKS_APPL_MEMORY_DEFAULT,), _get('default_application_memory_clock')),
    ('max_clocks.graphics_clock', (NVSMI_CLOCKS_GRAPHICS_MAX,), _get('max_graphics_clock')),
    ('max_clocks.sm_clock', (NVSMI_CLOCKS_SM_MAX,), _get('max_sm_clock')),
    ('max_clocks.mem_clock', (NVSMI_CLOCKS_MEMORY_MAX,), _get('max_memory_clock')),
    ('clock_policy.auto_boost', (NVSMI_CLOCKS_POLICY,), _auto_boost(0)),
    ('clock_policy.auto_boost_default', (NVSMI_CLOCKS_POLICY,), _auto_boost(1)),
    ('supported_clocks', (NVSMI_CLOCKS_SUPPORTED,), supported_clocks),
    ('processes', (NVSMI_COMPUTE_APPS,), processes),
    ('accounted_processes', (NVSMI_ACCOUNTED_APPS,), accounted_processes),
))
# fmt: on

#: Group → unit of its numbers, an entry of the group.
UNITS: dict[str, str] = {
    'fb_memory_usage': 'MiB',
    'bar1_memory_usage': 'MiB',
    'utilization': '%',
    'temperature': 'C',
    'power_readings': 'W',
    'clocks': 'MHz',
    'applications_clocks': 'MHz',
    'default_applications_clocks': 'MHz',
    'max_clocks': 'MHz',
}
#: Value → its unit, an entry of its own: ``fan_speed_unit``.
OWN_UNITS: dict[str, str] = {'fan_speed': '%', 'pci.tx_util': 'KB/s', 'pci.rx_util': 'KB/s'}
