# SPDX-License-Identifier: Apache-2.0
"""What a query tells of each GPU: where it stands in the result, who asks for it, how it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api.device.base import ENABLED
from nvitop.api.device.extended.mode import OPERATION_MODES
from nvitop.api.device.identity import BRANDS
from nvitop.api.device.mode import COMPUTE_MODES, DRIVER_MODELS
from nvitop.api.utils import NA, MiB
from nvitop.compat.pynvml_smi import groups
from nvitop.compat.pynvml_smi import names as n
from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nvitop.compat.pynvml_smi.answers import Answers

    Read = Callable[[Answers], object]


class SmiField(NamedTuple):
    """One entry of the result."""

    #: Keys on the way to it, joined with dots.
    path: str
    #: The numbers that ask for it; without any, only a query for everything does.
    asked_by: tuple[int, ...]
    read: Read


#: NVML's number of a brand → its name.
NVSMI_BRAND_NAMES: dict[int, str] = {0: 'Unknown', **BRANDS}

_YES = {0: 'No', 1: 'Yes'}
_ON = {0: 'Off', 1: 'On'}
_DRIVER_MODELS = {**DRIVER_MODELS, 1: 'TCC'}
_COMPUTE_MODES = {**COMPUTE_MODES, 3: 'Exclusive_Process'}
_GRAPHICS, _SM, _MEMORY, _VIDEO = range(4)
_SHUTDOWN, _SLOWDOWN = range(2)
_FIELD_MEMORY_TEMPERATURE = 82
_OEM, _ECC, _POWER = range(3)
_TX, _RX = range(2)


def _plain(answer: Any) -> object:
    return answer


def _asks(function: str, *args: int, show: Callable[[Any], object] = _plain) -> Read:
    """Read one answer of NVML."""
    return lambda answers: show(answers.ask(f'nvmlDeviceGet{function}', *args))


def _word(words: Mapping[int, str]) -> Callable[[int], str]:
    return lambda number: words.get(number, 'Unknown')


def _of(name: str, show: Callable[[Any], object] = _plain) -> Callable[[Any], object]:
    return lambda struct: show(getattr(struct, name))


def _at(place: int, show: Callable[[Any], object] = _plain) -> Callable[[Any], object]:
    return lambda pair: show(pair[place])


def _mib(size: int) -> float:
    return size / MiB


def _watts(milliwatts: int) -> float:
    return milliwatts / 1000


def _decoded(text: Any) -> str:
    return text.decode('utf-8', 'replace') if isinstance(text, bytes) else str(text)


def _hexadecimal(digits: int) -> Callable[[int], str]:
    return lambda number: f'{number:0{digits}X}'


def _lanes(width: int) -> str:
    return f'{width}x'


def _state(state: int) -> str:
    return f'P{state}' if 0 <= state <= 15 else str(NA)


def _not_free(memory: Any) -> float:
    # The old reading: newer drivers tell what is reserved apart, and it is neither used nor free.
    return _mib(memory.total - memory.free)


def _memory_temperature(answers: Answers) -> object:
    # 0 °C is what boards answer that have the field and no sensor.
    return answers.ask_field(_FIELD_MEMORY_TEMPERATURE) or str(NA)


# fmt: off
_PCI = 'PciInfo'
_POWER_GROUP = (n.NVSMI_POWER_MGMT, n.NVSMI_POWER_DRAW, n.NVSMI_POWER_LIMIT, n.NVSMI_POWER_LIMIT_ENFORCED, n.NVSMI_POWER_LIMIT_DEFAULT, n.NVSMI_POWER_LIMIT_MIN, n.NVSMI_POWER_LIMIT_MAX)
_THROTTLE_GROUP = tuple(range(n.NVSMI_CLOCK_THROTTLE_REASONS_SUPPORTED, n.NVSMI_CLOCK_THROTTLE_REASONS_SYNC_BOOST + 1))
_VOLATILE_GROUP = tuple(number for text, number in n.NVSMI_QUERY_GPU.items() if text.startswith('ecc.errors.') and '.volatile.' in text)
_AGGREGATE_GROUP = tuple(number for text, number in n.NVSMI_QUERY_GPU.items() if text.startswith('ecc.errors.') and '.aggregate.' in text)

FIELDS: tuple[SmiField, ...] = tuple(SmiField(*row) for row in (
    ('id', (n.NVSMI_PCI_BUS_ID,), _asks(_PCI, show=_of('busId', _decoded))),
    ('product_name', (n.NVSMI_NAME,), _asks('Name')),
    ('product_brand', (n.NVSMI_NAME,), _asks('Brand', show=_word(NVSMI_BRAND_NAMES))),
    ('display_mode', (n.NVSMI_DISPLAY_MODE,), _asks('DisplayMode', show=_word(ENABLED))),
    ('display_active', (n.NVSMI_DISPLAY_ACTIVE,), _asks('DisplayActive', show=_word(ENABLED))),
    ('persistence_mode', (n.NVSMI_PERSISTENCE_MODE,), _asks('PersistenceMode', show=_word(ENABLED))),
    ('mig_mode.current_mig', (n.NVSMI_MIG_MODE_CUR,), _asks('MigMode', show=_at(0, _word(ENABLED)))),
    ('mig_mode.pending_mig', (n.NVSMI_MIG_MODE_PENDING,), _asks('MigMode', show=_at(1, _word(ENABLED)))),
    ('accounting_mode', (n.NVSMI_ACCT_MODE,), _asks('AccountingMode', show=_word(ENABLED))),
    ('accounting_mode_buffer_size', (n.NVSMI_ACCT_BUFFER_SIZE,), _asks('AccountingBufferSize', show=str)),
    ('driver_model.current_dm', (n.NVSMI_DRIVER_MODEL_CUR,), _asks('CurrentDriverModel', show=_word(_DRIVER_MODELS))),
    ('driver_model.pending_dm', (n.NVSMI_DRIVER_MODEL_PENDING,), _asks('PendingDriverModel', show=_word(_DRIVER_MODELS))),
    ('serial', (n.NVSMI_SERIALNUMBER,), _asks('Serial')),
    ('uuid', (n.NVSMI_UUID,), _asks('UUID')),
    ('minor_number', (n.NVSMI_INDEX,), _asks('MinorNumber', show=str)),
    ('vbios_version', (n.NVSMI_VBIOS_VER,), _asks('VbiosVersion')),
    ('multigpu_board', (n.NVSMI_BOARD_ID,), _asks('MultiGpuBoard', show=_word(_YES))),
    ('board_id', (n.NVSMI_BOARD_ID,), _asks('BoardId', show=hex)),
    ('inforom_version.img_version', (n.NVSMI_INFOROM_IMG,), _asks('InforomImageVersion')),
    ('inforom_version.oem_object', (n.NVSMI_INFOROM_OEM,), _asks('InforomVersion', _OEM)),
    ('inforom_version.ecc_object', (n.NVSMI_INFOROM_ECC,), _asks('InforomVersion', _ECC)),
    ('inforom_version.pwr_object', (n.NVSMI_INFOROM_PWR,), _asks('InforomVersion', _POWER)),
    ('gpu_operation_mode.current_gom', (n.NVSMI_GOM_CUR,), _asks('GpuOperationMode', show=_at(0, _word(OPERATION_MODES)))),
    ('gpu_operation_mode.pending_gom', (n.NVSMI_GOM_PENDING,), _asks('GpuOperationMode', show=_at(1, _word(OPERATION_MODES)))),
    ('pci.pci_bus', (n.NVSMI_PCI_BUS,), _asks(_PCI, show=_of('bus', _hexadecimal(2)))),
    ('pci.pci_device', (n.NVSMI_PCI_DEVICE,), _asks(_PCI, show=_of('device', _hexadecimal(2)))),
    ('pci.pci_domain', (n.NVSMI_PCI_DOMAIN,), _asks(_PCI, show=_of('domain', _hexadecimal(4)))),
    ('pci.pci_device_id', (n.NVSMI_PCI_DEVICE_ID,), _asks(_PCI, show=_of('pciDeviceId', _hexadecimal(8)))),
    ('pci.pci_bus_id', (n.NVSMI_PCI_BUS_ID,), _asks(_PCI, show=_of('busId', _decoded))),
    ('pci.pci_sub_system_id', (n.NVSMI_PCI_SUBDEVICE_ID,), _asks(_PCI, show=_of('pciSubSystemId', _hexadecimal(8)))),
    ('pci.pci_gpu_link_info.pcie_gen.max_link_gen', (n.NVSMI_PCI_LINK_GEN_MAX,), _asks('MaxPcieLinkGeneration', show=str)),
    ('pci.pci_gpu_link_info.pcie_gen.current_link_gen', (n.NVSMI_PCI_LINK_GEN_CUR,), _asks('CurrPcieLinkGeneration', show=str)),
    ('pci.pci_gpu_link_info.link_widths.max_link_width', (n.NVSMI_PCI_LINK_WIDTH_MAX,), _asks('MaxPcieLinkWidth', show=_lanes)),
    ('pci.pci_gpu_link_info.link_widths.current_link_width', (n.NVSMI_PCI_LINK_WIDTH_CUR,), _asks('CurrPcieLinkWidth', show=_lanes)),
    ('pci.pci_bridge_chip.bridge_chip_type', (), _asks('BridgeChipInfo', show=groups.bridge_chip_type)),
    ('pci.pci_bridge_chip.bridge_chip_fw', (), _asks('BridgeChipInfo', show=groups.bridge_chip_firmware)),
    ('pci.replay_counter', (), _asks('PcieReplayCounter', show=str)),
    ('pci.tx_util', (), _asks('PcieThroughput', _TX)),
    ('pci.rx_util', (), _asks('PcieThroughput', _RX)),
    ('fan_speed', (n.NVSMI_FAN_SPEED,), _asks('FanSpeed')),
    ('performance_state', (n.NVSMI_PSTATE,), _asks('PowerState', show=_state)),
    ('clocks_throttle', _THROTTLE_GROUP, groups.throttle_reasons),
    ('fb_memory_usage.total', (n.NVSMI_MEMORY_TOTAL,), _asks('MemoryInfo', show=_of('total', _mib))),
    ('fb_memory_usage.used', (n.NVSMI_MEMORY_USED,), _asks('MemoryInfo', show=_not_free)),
    ('fb_memory_usage.free', (n.NVSMI_MEMORY_FREE,), _asks('MemoryInfo', show=_of('free', _mib))),
    ('bar1_memory_usage.total', (n.NVSMI_MEMORY_BAR1,), _asks('BAR1MemoryInfo', show=_of('bar1Total', _mib))),
    ('bar1_memory_usage.used', (n.NVSMI_MEMORY_BAR1,), _asks('BAR1MemoryInfo', show=_of('bar1Used', _mib))),
    ('bar1_memory_usage.free', (n.NVSMI_MEMORY_BAR1,), _asks('BAR1MemoryInfo', show=_of('bar1Free', _mib))),
    ('compute_mode', (n.NVSMI_COMPUTE_MODE,), _asks('ComputeMode', show=_word(_COMPUTE_MODES))),
    ('utilization.gpu_util', (n.NVSMI_UTILIZATION_GPU,), _asks('UtilizationRates', show=_of('gpu'))),
    ('utilization.memory_util', (n.NVSMI_UTILIZATION_MEM,), _asks('UtilizationRates', show=_of('memory'))),
    ('utilization.encoder_util', (n.NVSMI_UTILIZATION_ENCODER,), _asks('EncoderUtilization', show=_at(0))),
    ('utilization.decoder_util', (n.NVSMI_UTILIZATION_DECODER,), _asks('DecoderUtilization', show=_at(0))),
    ('encoder_stats.session_count', (n.NVSMI_ENCODER_STATS_SESSIONCOUNT,), _asks('EncoderStats', show=_at(0))),
    ('encoder_stats.average_fps', (n.NVSMI_ENCODER_STATS_AVG_EPS,), _asks('EncoderStats', show=_at(1))),
    ('encoder_stats.average_latency', (n.NVSMI_ENCODER_STATS_AVG_LATENCY,), _asks('EncoderStats', show=_at(2))),
    ('ecc_mode.current_ecc', (n.NVSMI_ECC_MODE_CUR,), _asks('EccMode', show=_at(0, _word(ENABLED)))),
    ('ecc_mode.pending_ecc', (n.NVSMI_ECC_MODE_PENDING,), _asks('EccMode', show=_at(1, _word(ENABLED)))),
    ('ecc_errors.volatile', _VOLATILE_GROUP, groups.volatile_ecc_errors),
    ('ecc_errors.aggregate', _AGGREGATE_GROUP, groups.aggregate_ecc_errors),
    ('retired_pages.multiple_single_bit_retirement', (n.NVSMI_RETIREDPAGES_SINGLE_BIT_ECC_COUNT,), groups.retired_pages(0)),
    ('retired_pages.double_bit_retirement', (n.NVSMI_RETIREDPAGES_DOUBLE_BIT_ECC_COUNT,), groups.retired_pages(1)),
    ('retired_pages.pending_retirement', (n.NVSMI_RETIREDPAGES_PENDING,), _asks('RetiredPagesPendingStatus', show=_word(_YES))),
    ('temperature.gpu_temp', (n.NVSMI_TEMPERATURE_GPU,), _asks('Temperature', 0)),
    ('temperature.gpu_temp_max_threshold', (n.NVSMI_TEMPERATURE_GPU,), _asks('TemperatureThreshold', _SHUTDOWN)),
    ('temperature.gpu_temp_slow_threshold', (n.NVSMI_TEMPERATURE_GPU,), _asks('TemperatureThreshold', _SLOWDOWN)),
    ('temperature.memory_temp', (n.NVSMI_TEMPERATURE_MEMORY,), _memory_temperature),
    ('power_readings.power_management', (n.NVSMI_POWER_MGMT,), _asks('PowerManagementMode', show=_word({0: 'N/A', 1: 'Supported'}))),
    ('power_readings.power_draw', (n.NVSMI_POWER_DRAW,), _asks('PowerUsage', show=_watts)),
    ('power_readings.power_limit', (n.NVSMI_POWER_LIMIT,), _asks('PowerManagementLimit', show=_watts)),
    ('power_readings.default_power_limit', (n.NVSMI_POWER_LIMIT_DEFAULT,), _asks('PowerManagementDefaultLimit', show=_watts)),
    ('power_readings.enforced_power_limit', (n.NVSMI_POWER_LIMIT_ENFORCED,), _asks('EnforcedPowerLimit', show=_watts)),
    ('power_readings.min_power_limit', (n.NVSMI_POWER_LIMIT_MIN,), _asks('PowerManagementLimitConstraints', show=_at(0, _watts))),
    ('power_readings.max_power_limit', (n.NVSMI_POWER_LIMIT_MAX,), _asks('PowerManagementLimitConstraints', show=_at(1, _watts))),
    ('power_readings.power_state', _POWER_GROUP, _asks('PowerState', show=_state)),
    ('clocks.graphics_clock', (n.NVSMI_CLOCKS_GRAPHICS_CUR,), _asks('ClockInfo', _GRAPHICS)),
    ('clocks.sm_clock', (n.NVSMI_CLOCKS_GRAPHICS_CUR, n.NVSMI_CLOCKS_SM_CUR), _asks('ClockInfo', _SM)),
    ('clocks.mem_clock', (n.NVSMI_CLOCKS_MEMORY_CUR,), _asks('ClockInfo', _MEMORY)),
    ('clocks.video_clock', (n.NVSMI_CLOCKS_VIDEO_CUR,), _asks('ClockInfo', _VIDEO)),
    ('applications_clocks.graphics_clock', (n.NVSMI_CLOCKS_APPL_GRAPHICS,), _asks('ApplicationsClock', _GRAPHICS)),
    ('applications_clocks.mem_clock', (n.NVSMI_CLOCKS_APPL_MEMORY,), _asks('ApplicationsClock', _MEMORY)),
    ('default_applications_clocks.graphics_clock', (n.NVSMI_CLOCKS_APPL_GRAPHICS_DEFAULT,), _asks('DefaultApplicationsClock', _GRAPHICS)),
    ('default_applications_clocks.mem_clock', (n.NVSMI_CLOCKS_APPL_MEMORY_DEFAULT,), _asks('DefaultApplicationsClock', _MEMORY)),
    ('max_clocks.graphics_clock', (n.NVSMI_CLOCKS_GRAPHICS_MAX,), _asks('MaxClockInfo', _GRAPHICS)),
    ('max_clocks.sm_clock', (n.NVSMI_CLOCKS_SM_MAX,), _asks('MaxClockInfo', _SM)),
    ('max_clocks.mem_clock', (n.NVSMI_CLOCKS_MEMORY_MAX,), _asks('MaxClockInfo', _MEMORY)),
    ('clock_policy.auto_boost', (n.NVSMI_CLOCKS_POLICY,), _asks('AutoBoostedClocksEnabled', show=_at(0, _word(_ON)))),
    ('clock_policy.auto_boost_default', (n.NVSMI_CLOCKS_POLICY,), _asks('AutoBoostedClocksEnabled', show=_at(1, _word(_ON)))),
    ('supported_clocks', (n.NVSMI_CLOCKS_SUPPORTED,), groups.supported_clocks),
    ('processes', (n.NVSMI_COMPUTE_APPS,), groups.processes),
    ('accounted_processes', (n.NVSMI_ACCOUNTED_APPS,), groups.accounted_processes),
))
# fmt: on

#: Group → unit of its numbers, which stands beside them.
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
#: Entry → its unit, in an entry of its own: ``fan_speed_unit``.
OWN_UNITS: dict[str, str] = {'fan_speed': '%', 'pci.tx_util': 'KB/s', 'pci.rx_util': 'KB/s'}
