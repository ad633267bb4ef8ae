# SPDX-License-Identifier: Apache-2.0
"""The names of pynvml.smi: numbers, texts and meanings. A table."""

from __future__ import annotations

from nvitop.api.extended_metrics import EXTENDED_METRICS
from nvitop.api.metrics import METRICS

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
NVSMI_ECC_ERROR_CORRECTED_VOLATILE_DEV_MEM = _name(80, 'ecc.errors.corrected.volatile.device_memory')
NVSMI_ECC_ERROR_CORRECTED_VOLATILE_REGFILE = _name(81, 'ecc.errors.corrected.volatile.register_file')
NVSMI_ECC_ERROR_CORRECTED_VOLATILE_L1CACHE = _name(82, 'ecc.errors.corrected.volatile.l1_cache')
NVSMI_ECC_ERROR_CORRECTED_VOLATILE_L2CACHE = _name(83, 'ecc.errors.corrected.volatile.l2_cache')
NVSMI_ECC_ERROR_CORRECTED_VOLATILE_TEXTURE = _name(84, 'ecc.errors.corrected.volatile.texture_memory')
NVSMI_ECC_ERROR_CORRECTED_VOLATILE_TOTAL = _name(85, 'ecc.errors.corrected.volatile.total')
NVSMI_ECC_ERROR_CORRECTED_AGGREGATE_DEV_MEM = _name(90, 'ecc.errors.corrected.aggregate.device_memory')
NVSMI_ECC_ERROR_CORRECTED_AGGREGATE_REGFILE = _name(91, 'ecc.errors.corrected.aggregate.register_file')
NVSMI_ECC_ERROR_CORRECTED_AGGREGATE_L1CACHE = _name(92, 'ecc.errors.corrected.aggregate.l1_cache')
NVSMI_ECC_ERROR_CORRECTED_AGGREGATE_L2CACHE = _name(93, 'ecc.errors.corrected.aggregate.l2_cache')
NVSMI_ECC_ERROR_CORRECTED_AGGREGATE_TEXTURE = _name(94, 'ecc.errors.corrected.aggregate.texture_memory')
NVSMI_ECC_ERROR_CORRECTED_AGGREGATE_TOTAL = _name(95, 'ecc.errors.corrected.aggregate.total')
NVSMI_ECC_ERROR_UNCORRECTED_VOLATILE_DEV_MEM = _name(100, 'ecc.errors.uncorrected.volatile.device_memory')
NVSMI_ECC_ERROR_UNCORRECTED_VOLATILE_REGFILE = _name(101, 'ecc.errors.uncorrected.volatile.register_file')
NVSMI_ECC_ERROR_UNCORRECTED_VOLATILE_L1CACHE = _name(102, 'ecc.errors.uncorrected.volatile.l1_cache')
NVSMI_ECC_ERROR_UNCORRECTED_VOLATILE_L2CACHE = _name(103, 'ecc.errors.uncorrected.volatile.l2_cache')
NVSMI_ECC_ERROR_UNCORRECTED_VOLATILE_TEXTURE = _name(104, 'ecc.errors.uncorrected.volatile.texture_memory')
NVSMI_ECC_ERROR_UNCORRECTED_VOLATILE_TOTAL = _name(105, 'ecc.errors.uncorrected.volatile.total')
NVSMI_ECC_ERROR_UNCORRECTED_AGGREGATE_DEV_MEM = _name(110, 'ecc.errors.uncorrected.aggregate.device_memory')
NVSMI_ECC_ERROR_UNCORRECTED_AGGREGATE_REGFILE = _name(111, 'ecc.errors.uncorrected.aggregate.register_file')
NVSMI_ECC_ERROR_UNCORRECTED_AGGREGATE_L1CACHE = _name(112, 'ecc.errors.uncorrected.aggregate.l1_cache')
NVSMI_ECC_ERROR_UNCORRECTED_AGGREGATE_L2CACHE = _name(113, 'ecc.errors.uncorrected.aggregate.l2_cache')
NVSMI_ECC_ERROR_UNCORRECTED_AGGREGATE_TEXTURE = _name(114, 'ecc.errors.uncorrected.aggregate.texture_memory')
NVSMI_ECC_ERROR_UNCORRECTED_AGGREGATE_TOTAL = _name(115, 'ecc.errors.uncorrected.aggregate.total')
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
NVSMI_ECC_ERROR_CORRECTED_VOLATILE_DRAM = _name(310, 'ecc.errors.corrected.volatile.dram')
NVSMI_ECC_ERROR_CORRECTED_VOLATILE_CBU = _name(311, 'ecc.errors.corrected.volatile.cbu')
NVSMI_ECC_ERROR_CORRECTED_VOLATILE_SRAM = _name(312, 'ecc.errors.corrected.volatile.sram')
NVSMI_ECC_ERROR_CORRECTED_AGGREGATE_DRAM = _name(313, 'ecc.errors.corrected.aggregate.dram')
NVSMI_ECC_ERROR_CORRECTED_AGGREGATE_CBU = _name(314, 'ecc.errors.corrected.aggregate.cbu')
NVSMI_ECC_ERROR_CORRECTED_AGGREGATE_SRAM = _name(315, 'ecc.errors.corrected.aggregate.sram')
NVSMI_ECC_ERROR_UNCORRECTED_VOLATILE_DRAM = _name(316, 'ecc.errors.uncorrected.volatile.dram')
NVSMI_ECC_ERROR_UNCORRECTED_VOLATILE_CBU = _name(317, 'ecc.errors.uncorrected.volatile.cbu')
NVSMI_ECC_ERROR_UNCORRECTED_VOLATILE_SRAM = _name(318, 'ecc.errors.uncorrected.volatile.sram')
NVSMI_ECC_ERROR_UNCORRECTED_AGGREGATE_DRAM = _name(319, 'ecc.errors.uncorrected.aggregate.dram')
NVSMI_ECC_ERROR_UNCORRECTED_AGGREGATE_CBU = _name(320, 'ecc.errors.uncorrected.aggregate.cbu')
NVSMI_ECC_ERROR_UNCORRECTED_AGGREGATE_SRAM = _name(321, 'ecc.errors.uncorrected.aggregate.sram')
# fmt: on
