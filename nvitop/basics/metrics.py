# SPDX-License-Identifier: Apache-2.0
"""The one table of device metrics, and the one of process metrics.

Pure data: importing this module loads no driver and nothing of nvitop. The sampler, query command,
report, collector, graphs, snapshots, compatibility modules, reference documentation and contract
tests are derived from it.
"""

from __future__ import annotations

import itertools
from typing import Any, Literal, NamedTuple

#: How often the monitor queries a metric: once, every few seconds, every tick, only while it is
#: on the screen, or never (only by name).
Tier = Literal['static', 'slow', 'fast', 'shown', 'extended']
#: Type of a value: ``list`` is a list of str, ``rows`` a list of tuples.
Kind = Literal['int', 'float', 'bool', 'str', 'list', 'rows']
#: Type of a value of a process: ``time`` is seconds since the epoch.
ProcessKind = Literal['int', 'float', 'str', 'time']


class Unit(NamedTuple):
    #: Ending of the sample fields that hold raw values of this unit.
    suffix: str
    #: Highest plausible raw value: far above any hardware, far below garbage.
    highest: float
    #: Prometheus base unit, ``''`` for plain numbers.
    base: str
    #: Published value × scale = value in the base unit.
    scale: float


# fmt: off
UNITS: dict[str, Unit] = {
    '':      Unit('', (1 << 64) - 2, '', 1),
    'count': Unit('', (1 << 32) - 2, '', 1),
    'B':     Unit('_bytes', 1 << 52, 'bytes', 1),
    '%':     Unit('_percent', 100, 'ratio', 0.01),
    '°C':    Unit('_celsius', 250, 'celsius', 1),
    'W':     Unit('_mw', 100_000_000, 'watts', 1),
    'MHz':   Unit('_mhz', 50_000, 'hertz', 1_000_000),
    'J':     Unit('_joules', 1e15, 'joules', 1),
    'KiB/s': Unit('_kib_per_s', 1 << 40, 'bytes_per_second', 1024),
    'µs':    Unit('', (1 << 64) - 2, 'seconds', 1e-6),
}
# fmt: on

#: Unit → unit without a prefix, and the number of them in one raw value.
_BASES = {
    'W': ('W', 1e-3),
    'J': ('J', 1.0),
    'MHz': ('Hz', 1e6),
    'KiB/s': ('B/s', 1024.0),
    'B': ('B', 1.0),
}
_PREFIXES = ('', 'k', 'M', 'G', 'T', 'P')

#: Where ECC errors are counted, by name in metrics, and since when.
ECC_PLACES = {
    'device_memory': 'the device memory',
    'dram': 'the DRAM',
    'register_file': 'the register files',
    'l1_cache': 'the L1 caches',
    'l2_cache': 'the L2 caches',
    'texture_memory': 'the texture memory',
    'cbu': 'the CBU',
    'sram': 'the SRAM',
}
ECC_PERIODS = {'volatile': 'since the driver was loaded', 'aggregate': 'over the life of the board'}


def scaled(raw: float, unit: str) -> str:
    """Return a raw value in a unit that a person can imagine: ``4.2 MW``."""
    if unit not in _BASES:
        return f'{raw} {unit}'.rstrip()
    base, factor = _BASES[unit]
    value = raw * factor
    power = 0
    while abs(value) >= 1000 and power < len(_PREFIXES) - 1:
        value, power = value / 1000, power + 1
    return f'{value:.4g} {_PREFIXES[power]}{base}'


class Metric(NamedTuple):
    """A property of a device that can be measured.

    ``Device.<method>()`` returns the raw value; raw value / :attr:`divisor` is the value in
    :attr:`unit`. A sample holds the raw value in its field :attr:`field`, ``None`` if the method
    returns ``NA``.
    """

    #: Name in ``nvitop query --gpu=``, in JSON, and in the options of the graphs.
    name: str
    #: Unit of published values, a key of :data:`UNITS`; ``''`` for text and flags.
    unit: str
    #: Type of the value.
    kind: Kind
    #: Name of the :class:`nvitop.Device` method, called without arguments.
    method: str
    #: Field of ``DeviceInfo`` (tier static) or ``DeviceSample``; key of ``DeviceSample.extended``
    #: for tier extended.
    field: str
    #: How often the monitor queries it.
    tier: Tier
    #: Name in ``nvidia-smi --query-gpu``, ``None`` if it has none.
    query: str | None
    #: One-line description.
    help: str
    #: Raw value / divisor = value in :attr:`unit`.
    divisor: int = 1
    #: Whether a MIG device has a value of its own.
    mig: bool = False
    #: Whether the value only grows, until the driver or the counter is reset.
    counter: bool = False
    #: Lowest and highest plausible raw value; samples drop values outside.
    lowest: float = 0
    highest: float = UNITS[''].highest
    #: Whether reports (``nvitop -1``) query it, and the monitor queries it first.
    report: bool = False
    #: Whether the monitor queries it while the details of devices are open.
    detail: bool = False
    #: Whether the monitor keeps its history.
    history: bool = False
    #: Title in the menu of the graphs, ``''`` if it is not in the menu.
    graph: str = ''
    #: Name of the metric that is the highest value it can have; ``''`` if there is none.
    maximum: str = ''
    #: Name of the metric in the other direction, below whose history that of this one hangs.
    mirrors: str = ''
    #: Whether :meth:`nvitop.Device.as_snapshot` includes it.
    snapshot: bool = False
    #: Whether :class:`nvitop.ResourceMetricCollector` collects it by default.
    collector: bool = False
    #: Method of the device that begins the measurement, if it is measured between two readings.
    begin: str = ''
    #: Name in the exporter without prefix and unit, if it differs from :attr:`name`, and constant
    #: labels: ``'remapped_rows{cause=correctable}'``. For text, the label of ``nvitop_gpu_info``.
    #: Extended metrics are exported only if they have one.
    exported: str = ''
    #: First branch of the driver that reports it, such as ``'R535'``, if that is not among the oldest.
    since: str = ''
    #: The NVML functions or fields that the method queries.
    source: str = ''

    @property
    def is_number(self) -> bool:
        """Whether values are numbers or flags."""
        return self.kind in ('int', 'float', 'bool')


class ProcessMetric(NamedTuple):
    """A property of a process on a device.

    A process sample holds the value, in :attr:`unit`, in its field :attr:`field`; ``None`` if it is
    not available.
    """

    #: Name in ``nvitop query --processes=`` and in JSON.
    name: str
    #: Unit: ``B``, ``%``, ``s``, or ``''`` for text and plain numbers.
    unit: str
    #: Type of the value.
    kind: ProcessKind
    #: Field of ``ProcessSample``, with dots for fields of its fields.
    field: str
    #: Name in ``nvidia-smi --query-compute-apps``, ``None`` if it has none.
    query: str | None
    #: One-line description.
    help: str
    #: Whether the monitor keeps its history.
    history: bool = False
    #: Name of the :class:`nvitop.GpuProcess` method that the collector calls; ``''`` if
    #: :class:`nvitop.ResourceMetricCollector` does not collect it by default.
    collector: str = ''
    #: Name in the exporter without prefix and unit, if it differs from :attr:`name`.
    exported: str = ''


def _metric(
    name: str,
    unit: str,
    kind: Kind,
    tier: Tier,
    query: str | None,
    text: str,
    *,
    method: str = '',
    field: str = '',
    **columns: Any,
) -> Metric:
    """Make a row; the field and the highest plausible value follow from name and unit."""
    suffix = UNITS[unit].suffix
    columns.setdefault('highest', UNITS[unit].highest)
    field = field or (name if name.endswith(suffix) else f'{name}{suffix}')
    return Metric(name, unit, kind, method or name, field, tier, query, text, **columns)


def _extended(
    name: str, unit: str, kind: Kind, query: str | None, text: str, **columns: Any
) -> Metric:
    return _metric(name, unit, kind, 'extended', query, text, field=name, **columns)


_ECC_ERRORS = tuple(
    _extended(
        f'{place}_{counter}_{error}_ecc_errors',
        'count',
        'int',
        f'ecc.errors.{error}.{counter}.{place}',
        f'{error} errors of {ECC_PLACES[place]} {ECC_PERIODS[counter]}',
        counter=True,
        # The only errors that MIG devices count.
        mig=(place, counter, error) == ('sram', 'volatile', 'uncorrected'),
        source='nvmlDeviceGetMemoryErrorCounter',
    )
    for error, counter, place in itertools.product(
        ('corrected', 'uncorrected'), ECC_PERIODS, ECC_PLACES
    )
)

# fmt: off
METRICS: tuple[Metric, ...] = (
    # identity
    _metric('index', '', 'int', 'static', 'index', 'index of the GPU in NVML (PCI bus) order', method='physical_index', field='physical_index', mig=True),
    _metric('name', '', 'str', 'static', 'name', 'product name', mig=True, report=True, snapshot=True, source='nvmlDeviceGetName'),
    _metric('uuid', '', 'str', 'static', 'uuid', 'globally unique identifier of the board', mig=True, report=True, snapshot=True, source='nvmlDeviceGetUUID'),
    _metric('bus_id', '', 'str', 'static', 'pci.bus_id', 'PCI bus ID, domain:bus:device.function', mig=True, report=True, snapshot=True, exported='pci_bus_id', source='nvmlDeviceGetPciInfo'),
    _metric('serial', '', 'str', 'static', 'serial', 'serial number printed on the board', source='nvmlDeviceGetSerial'),
    _metric('vbios_version', '', 'str', 'static', 'vbios_version', 'version of the video BIOS', source='nvmlDeviceGetVbiosVersion'),
    _metric('board_part_number', '', 'str', 'static', None, 'part number of the board', source='nvmlDeviceGetBoardPartNumber · nvidia-smi -q: GPU Part Number'),
    _metric('numa_node', '', 'int', 'static', None, 'NUMA node of the GPU', source='nvmlDeviceGetNumaNodeId · nvidia-smi topo -m: GPU NUMA ID'),
    _metric('cuda_compute_capability', '', 'str', 'static', 'compute_cap', 'CUDA compute capability, major.minor', snapshot=True, exported='compute_capability', source='nvmlDeviceGetCudaComputeCapability'),
    _metric('architecture', '', 'str', 'static', None, 'architecture, e.g. Hopper', source='nvmlDeviceGetArchitecture · nvidia-smi -q: Product Architecture'),
    _metric('brand', '', 'str', 'static', None, 'product brand, e.g. GeForce', source='nvmlDeviceGetBrand · nvidia-smi -q: Product Brand'),
    # memory
    _metric('memory_total', 'B', 'int', 'static', 'memory.total', 'installed device memory', mig=True, report=True, snapshot=True, collector=True, source='nvmlDeviceGetMemoryInfo'),
    _metric('memory_used', 'B', 'int', 'fast', 'memory.used', 'memory allocated by contexts', mig=True, report=True, snapshot=True, collector=True, source='nvmlDeviceGetMemoryInfo'),
    _metric('memory_free', 'B', 'int', 'fast', 'memory.free', 'memory not allocated', mig=True, report=True, snapshot=True, collector=True, source='nvmlDeviceGetMemoryInfo'),
    _metric('memory_reserved', 'B', 'int', 'fast', 'memory.reserved', 'memory reserved by driver and firmware', mig=True, source='nvmlDeviceGetMemoryInfo_v2'),
    _metric('memory_percent', '%', 'float', 'fast', None, 'memory used / total', mig=True, report=True, history=True, graph='MEM', snapshot=True, collector=True, exported='memory_used'),
    _metric('bar1_memory_total', 'B', 'int', 'slow', None, 'size of the BAR1 window through which the CPU maps memory', mig=True, report=True, source='nvmlDeviceGetBAR1MemoryInfo'),
    _metric('bar1_memory_used', 'B', 'int', 'slow', None, 'mapped part of the BAR1 window', mig=True, report=True, source='nvmlDeviceGetBAR1MemoryInfo'),
    _metric('bar1_memory_free', 'B', 'int', 'slow', None, 'unmapped part of the BAR1 window', mig=True, source='nvmlDeviceGetBAR1MemoryInfo'),
    _metric('bar1_memory_percent', '%', 'float', 'slow', None, 'BAR1 used / total', mig=True, report=True, history=True, exported='bar1_memory_used'),
    # utilization
    _metric('gpu_utilization', '%', 'int', 'fast', 'utilization.gpu', 'share of time in which a kernel ran', report=True, history=True, graph='UTIL', snapshot=True, collector=True, exported='utilization', source='nvmlDeviceGetUtilizationRates'),
    _metric('memory_utilization', '%', 'int', 'fast', 'utilization.memory', 'share of time in which memory was read or written', report=True, history=True, graph='MEM BW', snapshot=True, collector=True, source='nvmlDeviceGetUtilizationRates'),
    _metric('encoder_utilization', '%', 'int', 'shown', 'utilization.encoder', 'utilization of the video encoder', detail=True, history=True, graph='ENCODER', snapshot=True, source='nvmlDeviceGetEncoderUtilization'),
    _metric('decoder_utilization', '%', 'int', 'shown', 'utilization.decoder', 'utilization of the video decoder', detail=True, history=True, graph='DECODER', snapshot=True, source='nvmlDeviceGetDecoderUtilization'),
    _metric('jpeg_utilization', '%', 'int', 'shown', 'utilization.jpeg', 'utilization of the JPEG engine', history=True, source='nvmlDeviceGetJpgUtilization'),
    _metric('ofa_utilization', '%', 'int', 'shown', 'utilization.ofa', 'utilization of the optical-flow accelerator', history=True, source='nvmlDeviceGetOfaUtilization'),
    # power and temperature
    _metric('power_usage', 'W', 'float', 'fast', 'power.draw', 'power drawn by the board', divisor=1000, report=True, history=True, graph='POWER', maximum='power_limit', snapshot=True, collector=True, source='nvmlDeviceGetPowerUsage'),
    _metric('power_limit', 'W', 'float', 'slow', 'power.limit', 'power limit set by management', divisor=1000, report=True, snapshot=True, collector=True, source='nvmlDeviceGetPowerManagementLimit'),
    _metric('enforced_power_limit', 'W', 'float', 'shown', 'enforced.power.limit', 'power limit in effect', divisor=1000, source='nvmlDeviceGetEnforcedPowerLimit'),
    _metric('default_power_limit', 'W', 'float', 'static', 'power.default_limit', 'power limit after start', divisor=1000, source='nvmlDeviceGetPowerManagementDefaultLimit'),
    _metric('min_power_limit', 'W', 'float', 'static', 'power.min_limit', 'lowest power limit that can be set', divisor=1000, source='nvmlDeviceGetPowerManagementLimitConstraints'),
    _metric('max_power_limit', 'W', 'float', 'static', 'power.max_limit', 'highest power limit that can be set', divisor=1000, source='nvmlDeviceGetPowerManagementLimitConstraints'),
    _metric('total_energy', 'J', 'float', 'shown', None, 'energy used since the driver was loaded', counter=True, detail=True, exported='energy', source='nvmlDeviceGetTotalEnergyConsumption'),
    _metric('temperature', '°C', 'int', 'fast', 'temperature.gpu', 'temperature of the GPU die', report=True, history=True, graph='TEMP', snapshot=True, collector=True, source='nvmlDeviceGetTemperatureV, before R570 nvmlDeviceGetTemperature'),
    _metric('memory_temperature', '°C', 'int', 'shown', 'temperature.memory', 'temperature of the memory', detail=True, history=True, source='NVML_FI_DEV_MEMORY_TEMP'),
    _metric('temperature_slowdown_threshold', '°C', 'int', 'static', None, 'temperature at which the clocks are lowered', source='nvmlDeviceGetTemperatureThreshold · nvidia-smi -q: GPU Slowdown Temp'),
    _metric('temperature_shutdown_threshold', '°C', 'int', 'static', None, 'temperature at which the GPU shuts down', source='nvmlDeviceGetTemperatureThreshold · nvidia-smi -q: GPU Shutdown Temp'),
    _metric('max_temperature_threshold', '°C', 'int', 'static', None, 'temperature up to which the GPU keeps its clocks', source='nvmlDeviceGetTemperatureThreshold · nvidia-smi -q: GPU Max Operating Temp'),
    _metric('max_memory_temperature_threshold', '°C', 'int', 'static', None, 'temperature up to which the memory keeps its clock', source='nvmlDeviceGetTemperatureThreshold · nvidia-smi -q: Memory Max Operating Temp'),
    _metric('fan_speed', '%', 'int', 'slow', 'fan.speed', 'intended fan speed relative to the maximum, which it may exceed', highest=1000, report=True, history=True, graph='FAN', snapshot=True, collector=True, source='nvmlDeviceGetFanSpeed'),
    _metric('fan_count', 'count', 'int', 'static', None, 'number of fans that the driver controls', exported='fans', source='nvmlDeviceGetNumFans'),
    # clocks
    _metric('graphics_clock', 'MHz', 'int', 'shown', 'clocks.current.graphics', 'current graphics (shader) clock', history=True, maximum='max_graphics_clock', source='nvmlDeviceGetClockInfo'),
    _metric('sm_clock', 'MHz', 'int', 'fast', 'clocks.current.sm', 'current SM clock', report=True, history=True, graph='SM CLOCK', maximum='max_sm_clock', snapshot=True, source='nvmlDeviceGetClockInfo'),
    _metric('memory_clock', 'MHz', 'int', 'fast', 'clocks.current.memory', 'current memory clock', report=True, history=True, graph='MEM CLOCK', maximum='max_memory_clock', snapshot=True, source='nvmlDeviceGetClockInfo'),
    _metric('video_clock', 'MHz', 'int', 'shown', 'clocks.current.video', 'current video clock', history=True, maximum='max_video_clock', source='nvmlDeviceGetClockInfo'),
    _metric('max_graphics_clock', 'MHz', 'int', 'static', 'clocks.max.graphics', 'highest graphics clock', source='nvmlDeviceGetMaxClockInfo'),
    _metric('max_sm_clock', 'MHz', 'int', 'static', 'clocks.max.sm', 'highest SM clock', source='nvmlDeviceGetMaxClockInfo'),
    _metric('max_memory_clock', 'MHz', 'int', 'static', 'clocks.max.memory', 'highest memory clock', source='nvmlDeviceGetMaxClockInfo'),
    _metric('max_video_clock', 'MHz', 'int', 'static', None, 'highest video clock', source='nvmlDeviceGetMaxClockInfo'),
    _metric('clock_event_reasons', '', 'list', 'slow', 'clocks_event_reasons.active', 'why the clocks are below their maximum', detail=True, exported='clock_event_active', source='nvmlDeviceGetCurrentClocksEventReasons, before R535 nvmlDeviceGetCurrentClocksThrottleReasons'),
    # interconnect
    _metric('pcie_link_generation', '', 'int', 'slow', 'pcie.link.gen.current', 'current PCIe generation', detail=True, source='nvmlDeviceGetCurrPcieLinkGeneration'),
    _metric('max_pcie_link_generation', '', 'int', 'static', 'pcie.link.gen.max', 'highest PCIe generation of GPU and system', source='nvmlDeviceGetMaxPcieLinkGeneration'),
    _metric('pcie_link_width', '', 'int', 'slow', 'pcie.link.width.current', 'current number of PCIe lanes', detail=True, source='nvmlDeviceGetCurrPcieLinkWidth'),
    _metric('max_pcie_link_width', '', 'int', 'static', 'pcie.link.width.max', 'highest number of PCIe lanes of GPU and system', source='nvmlDeviceGetMaxPcieLinkWidth'),
    _metric('pcie_link_down_trained', '', 'bool', 'slow', None, 'whether the PCIe link is slower or narrower than GPU and system support', method='is_pcie_link_down_trained', detail=True),
    _metric('pcie_replays', 'count', 'int', 'shown', None, 'PCIe packets sent again because of transmission errors', method='pcie_replay_counter', counter=True, source='nvmlDeviceGetPcieReplayCounter'),
    _metric('pcie_tx_throughput', 'KiB/s', 'int', 'shown', None, 'PCIe traffic from the GPU', detail=True, history=True, graph='PCIe TX', mirrors='pcie_rx_throughput', snapshot=True),
    _metric('pcie_rx_throughput', 'KiB/s', 'int', 'shown', None, 'PCIe traffic to the GPU', detail=True, history=True, graph='PCIe RX', snapshot=True),
    _metric('nvlink_link_count', 'count', 'int', 'static', None, 'number of NVLinks', exported='nvlinks', source='NVML_FI_DEV_NVLINK_LINK_COUNT'),
    _metric('nvlink_down_count', 'count', 'int', 'slow', None, 'number of NVLinks that are down or connected to nothing', exported='nvlinks_down', source='NVML_FI_DEV_NVLINK_GET_STATE · nvidia-smi: nvlink --status'),
    _metric('nvlink_total_tx_throughput', 'KiB/s', 'int', 'shown', None, 'NVLink traffic from the GPU, all links', detail=True, history=True, graph='NVLink TX', mirrors='nvlink_total_rx_throughput', begin='begin_nvlink_throughput', exported='nvlink_tx_throughput'),
    _metric('nvlink_total_rx_throughput', 'KiB/s', 'int', 'shown', None, 'NVLink traffic to the GPU, all links', detail=True, history=True, graph='NVLink RX', begin='begin_nvlink_throughput', exported='nvlink_rx_throughput'),
    # modes
    _metric('display_active', '', 'str', 'slow', 'display_active', 'whether a display is initialized on the GPU', report=True, snapshot=True, source='nvmlDeviceGetDisplayActive'),
    _metric('display_mode', '', 'str', 'shown', 'display_mode', 'whether a display is connected to the GPU', snapshot=True, source='nvmlDeviceGetDisplayMode'),
    _metric('persistence_mode', '', 'str', 'slow', 'persistence_mode', 'whether the driver stays loaded without clients', report=True, snapshot=True, source='nvmlDeviceGetPersistenceMode'),
    _metric('current_driver_model', '', 'str', 'slow', 'driver_model.current', 'driver model, Windows only', report=True, snapshot=True, exported='driver_model', source='nvmlDeviceGetCurrentDriverModel'),
    _metric('performance_state', '', 'str', 'slow', 'pstate', 'performance state, P0 (highest) to P15', report=True, snapshot=True, source='nvmlDeviceGetPerformanceState'),
    _metric('compute_mode', '', 'str', 'slow', 'compute_mode', 'how many contexts may be created', report=True, snapshot=True, source='nvmlDeviceGetComputeMode'),
    _metric('mig_mode', '', 'str', 'slow', 'mig.mode.current', 'whether the GPU is partitioned into MIG devices', report=True, snapshot=True, source='nvmlDeviceGetMigMode'),
    # health
    _metric('total_volatile_uncorrected_ecc_errors', 'count', 'int', 'slow', 'ecc.errors.uncorrected.volatile.total', 'uncorrected ECC errors since the driver was loaded', counter=True, report=True, snapshot=True, exported='ecc_errors{error=uncorrected,counter=volatile}', source='nvmlDeviceGetTotalEccErrors'),
    _metric('total_volatile_corrected_ecc_errors', 'count', 'int', 'shown', 'ecc.errors.corrected.volatile.total', 'corrected ECC errors since the driver was loaded', counter=True, exported='ecc_errors{error=corrected,counter=volatile}', source='nvmlDeviceGetTotalEccErrors'),
    _metric('total_aggregate_uncorrected_ecc_errors', 'count', 'int', 'shown', 'ecc.errors.uncorrected.aggregate.total', 'uncorrected ECC errors over the life of the board', counter=True, exported='ecc_errors{error=uncorrected,counter=aggregate}', source='nvmlDeviceGetTotalEccErrors'),
    _metric('total_aggregate_corrected_ecc_errors', 'count', 'int', 'shown', 'ecc.errors.corrected.aggregate.total', 'corrected ECC errors over the life of the board', counter=True, exported='ecc_errors{error=corrected,counter=aggregate}', source='nvmlDeviceGetTotalEccErrors'),
    _metric('retired_pages_single_bit_ecc', 'count', 'int', 'shown', 'retired_pages.single_bit_ecc.count', 'pages retired because of several single-bit errors', exported='retired_pages{cause=single_bit_ecc}', source='nvmlDeviceGetRetiredPages'),
    _metric('retired_pages_double_bit_ecc', 'count', 'int', 'shown', 'retired_pages.double_bit.count', 'pages retired because of a double-bit error', exported='retired_pages{cause=double_bit_ecc}', source='nvmlDeviceGetRetiredPages'),
    _metric('remapped_rows_correctable', 'count', 'int', 'shown', 'remapped_rows.correctable', 'rows remapped because of correctable errors', exported='remapped_rows{cause=correctable}'),
    _metric('remapped_rows_uncorrectable', 'count', 'int', 'shown', 'remapped_rows.uncorrectable', 'rows remapped because of uncorrectable errors', exported='remapped_rows{cause=uncorrectable}'),
    _metric('remapped_rows_pending', '', 'bool', 'slow', 'remapped_rows.pending', 'whether a remapping waits for a GPU reset', source='NVML_FI_DEV_REMAPPED_PENDING'),
    _metric('remapped_rows_failure', '', 'bool', 'slow', 'remapped_rows.failure', 'whether a remapping failed; then replace the board', source='NVML_FI_DEV_REMAPPED_FAILURE'),
    _metric('remapping_banks_none', 'count', 'int', 'slow', 'remapped_rows.histogram.none', 'memory banks with no spare rows left', source='nvmlDeviceGetRowRemapperHistogram'),
    _metric('sram_threshold_exceeded', '', 'bool', 'slow', 'ecc.errors.uncorrected.aggregate.sram.thresholdExceeded', 'whether the SRAM had enough errors that the board should be replaced', method='is_sram_threshold_exceeded', source='nvmlDeviceGetSramEccErrorStatus'),
    _metric('fabric_state', '', 'str', 'slow', 'fabric.state', 'progress of the GPU in joining its NVLink fabric', source='nvmlDeviceGetGpuFabricInfoV'),
    _metric('recovery_action', '', 'str', 'slow', 'gpu_recovery_action', 'action that makes the GPU usable again', source='NVML_FI_DEV_GET_GPU_RECOVERY_ACTION'),
    # GPM: Hopper and newer
    _metric('gpm_graphics_active', '%', 'float', 'shown', None, 'share of time in which a graphics or compute engine was busy', mig=True, history=True, begin='begin_gpm'),
    _metric('gpm_sm_active', '%', 'float', 'shown', None, 'share of time in which an SM had a warp, mean over SMs', mig=True, history=True, graph='SM ACTIVE', begin='begin_gpm'),
    _metric('gpm_sm_occupancy', '%', 'float', 'shown', None, 'resident warps / possible warps', mig=True, history=True, begin='begin_gpm'),
    _metric('gpm_tensor_active', '%', 'float', 'shown', None, 'share of time in which tensor cores were busy', mig=True, history=True, graph='TENSOR ACTIVE', begin='begin_gpm'),
    _metric('gpm_dram_active', '%', 'float', 'shown', None, 'share of the memory bandwidth in use', mig=True, history=True, graph='DRAM ACTIVE', begin='begin_gpm'),
    _metric('minor_number', '', 'int', 'static', None, 'number of its device file, /dev/nvidiaN', exported='minor_number', source='nvmlDeviceGetMinorNumber · nvidia-smi -q: Minor Number'),
)

#: Properties that nvidia-smi reports and few people query. They are queried only by name, and their
#: values are in :attr:`nvitop.sampling.types.DeviceSample.extended`.
EXTENDED_METRICS: tuple[Metric, ...] = (
    # board
    _extended('pci_device_id', '', 'str', 'pci.device_id', 'PCI device ID and vendor ID, hexadecimal', source='nvmlDeviceGetPciInfo'),
    _extended('pci_subsystem_id', '', 'str', 'pci.sub_device_id', 'PCI subsystem ID and vendor ID, hexadecimal', source='nvmlDeviceGetPciInfo'),
    _extended('pci_base_class', '', 'str', 'pci.baseClass', 'PCI base class, hexadecimal', since='R530', source='nvmlDeviceGetPciInfoExt'),
    _extended('pci_subclass', '', 'str', 'pci.subClass', 'PCI subclass, hexadecimal', since='R530', source='nvmlDeviceGetPciInfoExt'),
    _extended('gpu_max_pcie_link_generation', '', 'int', 'pcie.link.gen.gpumax', 'highest PCIe generation of the GPU', since='R510', source='nvmlDeviceGetGpuMaxPcieLinkGeneration'),
    _extended('host_max_pcie_link_generation', '', 'int', 'pcie.link.gen.hostmax', 'highest PCIe generation of the system, if the system limits the link', source='nvmlDeviceGetMaxPcieLinkGeneration'),
    _extended('inforom_image_version', '', 'str', 'inforom.img', 'version of the inforom image', source='nvmlDeviceGetInforomImageVersion'),
    _extended('inforom_oem_version', '', 'str', 'inforom.oem', 'version of the inforom object for OEM data', source='nvmlDeviceGetInforomVersion'),
    _extended('inforom_ecc_version', '', 'str', 'inforom.ecc', 'version of the inforom object for ECC data', source='nvmlDeviceGetInforomVersion'),
    _extended('inforom_power_version', '', 'str', 'inforom.pwr', 'version of the inforom object for power management', source='nvmlDeviceGetInforomVersion'),
    _extended('inforom_checksum_validation', '', 'str', 'inforom.checksum_validation', 'whether the inforom is intact: valid or invalid', source='nvmlDeviceValidateInforom'),
    # modes
    _extended('driver_model_pending', '', 'str', 'driver_model.pending', 'driver model after the next restart, Windows only', source='nvmlDeviceGetPendingDriverModel'),
    _extended('mig_mode_pending', '', 'str', 'mig.mode.pending', 'MIG mode after the next reset of the GPU', source='nvmlDeviceGetMigMode'),
    _extended('accounting', '', 'str', 'accounting.mode', 'whether the driver keeps accounts of processes that exited'),
    _extended('accounting_buffer_size', 'count', 'int', 'accounting.buffer_size', 'number of processes whose accounts are kept'),
    _extended('operation_mode', '', 'str', 'gom.current', 'GPU operation mode', source='nvmlDeviceGetGpuOperationMode'),
    _extended('operation_mode_pending', '', 'str', 'gom.pending', 'GPU operation mode after the next restart', source='nvmlDeviceGetGpuOperationMode'),
    _extended('memory_addressing', '', 'str', 'addressing_mode', 'how the GPU accesses CPU memory: ATS, HMM or None', since='R580', source='nvmlDeviceGetAddressingMode'),
    _extended('gsp_mode', '', 'str', 'gsp.mode.current', 'whether the GPU System Processor (GSP) runs parts of the driver', since='R520', source='nvmlDeviceGetGspFirmwareMode'),
    _extended('gsp_mode_default', '', 'str', 'gsp.mode.default', 'whether the GSP is enabled by default', source='nvmlDeviceGetGspFirmwareMode'),
    _extended('dram_encryption', '', 'str', 'dramEncryption.mode.current', 'whether the memory is encrypted', source='nvmlDeviceGetDramEncryptionMode'),
    _extended('dram_encryption_pending', '', 'str', 'dramEncryption.mode.pending', 'whether the memory is encrypted after the next restart', source='nvmlDeviceGetDramEncryptionMode'),
    _extended('c2c_mode', '', 'str', 'c2c.mode', 'whether CPU and GPU are connected chip to chip', source='nvmlDeviceGetC2cModeInfoV'),
    _extended('heterogeneous_multi_vgpu', '', 'str', 'vgpu_driver_capability.heterogenous_multivGPU', 'whether a guest may have vGPUs of several profiles', source='nvmlGetVgpuDriverCapabilities'),
    _extended('fractional_multi_vgpu', '', 'str', 'vgpu_device_capability.fractional_multiVgpu', 'whether a guest may have several fractions of the GPU', source='nvmlDeviceGetVgpuCapabilities'),
    _extended('heterogeneous_vgpu_profiles', '', 'str', 'vgpu_device_capability.heterogeneous_timeSlice_profile', 'whether vGPUs of different types can share the GPU', source='nvmlDeviceGetVgpuCapabilities'),
    _extended('heterogeneous_vgpu_sizes', '', 'str', 'vgpu_device_capability.heterogeneous_timeSlice_sizes', 'whether vGPUs of different sizes can share the GPU', source='nvmlDeviceGetVgpuCapabilities'),
    # memory and engines
    _extended('protected_memory_total', 'B', 'int', 'protected_memory.total', 'memory protected by confidential computing', source='nvmlDeviceGetConfComputeProtectedMemoryUsage'),
    _extended('protected_memory_used', 'B', 'int', 'protected_memory.used', 'allocated part of the protected memory', source='nvmlDeviceGetConfComputeProtectedMemoryUsage'),
    _extended('protected_memory_free', 'B', 'int', 'protected_memory.free', 'free part of the protected memory', source='nvmlDeviceGetConfComputeProtectedMemoryUsage'),
    _extended('encoder_session_count', 'count', 'int', 'encoder.stats.sessionCount', 'number of sessions of the video encoder', source='nvmlDeviceGetEncoderStats'),
    _extended('encoder_average_fps', '', 'int', 'encoder.stats.averageFps', 'frames per second, mean of the encoder sessions', source='nvmlDeviceGetEncoderStats'),
    _extended('encoder_average_latency', '', 'int', 'encoder.stats.averageLatency', 'latency in microseconds, mean of the encoder sessions', source='nvmlDeviceGetEncoderStats'),
    _extended('gpm_fp16_active', '%', 'float', None, 'share of time in which the half-precision pipe was busy', mig=True, begin='begin_gpm', exported='gpm_fp16_active', source='nvmlGpmMetricsGet'),
    _extended('gpm_fp32_active', '%', 'float', None, 'share of time in which the single-precision pipe was busy', mig=True, begin='begin_gpm', exported='gpm_fp32_active', source='nvmlGpmMetricsGet'),
    _extended('gpm_fp64_active', '%', 'float', None, 'share of time in which the double-precision pipe was busy', mig=True, begin='begin_gpm', exported='gpm_fp64_active', source='nvmlGpmMetricsGet'),
    # clocks
    _extended('application_graphics_clock', 'MHz', 'int', 'clocks.applications.graphics', 'graphics clock set for applications', source='nvmlDeviceGetApplicationsClock'),
    _extended('application_memory_clock', 'MHz', 'int', 'clocks.applications.memory', 'memory clock set for applications', source='nvmlDeviceGetApplicationsClock'),
    _extended('default_application_graphics_clock', 'MHz', 'int', 'clocks.default_applications.graphics', 'default graphics clock for applications', source='nvmlDeviceGetDefaultApplicationsClock'),
    _extended('default_application_memory_clock', 'MHz', 'int', 'clocks.default_applications.memory', 'default memory clock for applications', source='nvmlDeviceGetDefaultApplicationsClock'),
    _extended('supported_clock_event_reasons', '', 'list', 'clocks_event_reasons.supported', 'reasons for low clocks that the GPU can report', source='nvmlDeviceGetSupportedClocksEventReasons, before R535 nvmlDeviceGetSupportedClocksThrottleReasons'),
    _extended('sw_power_cap_time', 'µs', 'int', 'clocks_event_reasons_counters.sw_power_cap', 'time in which the power limit lowered the clocks', counter=True, exported='clock_event{reason=sw_power_cap}', source='NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP'),
    _extended('sync_boost_time', 'µs', 'int', 'clocks_event_reasons_counters.sync_boost', 'time in which sync boost with another GPU lowered the clocks', counter=True, exported='clock_event{reason=sync_boost}', source='NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST'),
    _extended('sw_thermal_slowdown_time', 'µs', 'int', 'clocks_event_reasons_counters.sw_thermal_slowdown', 'time in which the driver lowered the clocks because of heat', counter=True, exported='clock_event{reason=sw_thermal_slowdown}', since='R570', source='NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN'),
    _extended('hw_thermal_slowdown_time', 'µs', 'int', 'clocks_event_reasons_counters.hw_thermal_slowdown', 'time in which the hardware lowered the clocks because of heat', counter=True, exported='clock_event{reason=hw_thermal_slowdown}', since='R570', source='NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN'),
    _extended('hw_power_brake_slowdown_time', 'µs', 'int', 'clocks_event_reasons_counters.hw_power_brake_slowdown', 'time in which the external power brake lowered the clocks', counter=True, exported='clock_event{reason=hw_power_brake_slowdown}', since='R570', source='NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN'),
    _extended('thermal_violation_time', 'µs', 'int', None, 'time in which heat lowered the clocks', counter=True, source='NVML_FI_DEV_PERF_POLICY_THERMAL'),
    _extended('board_limit_violation_time', 'µs', 'int', None, 'time in which the voltage limit of the board lowered the clocks', counter=True, source='NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT'),
    _extended('low_utilization_violation_time', 'µs', 'int', None, 'time in which low utilization lowered the clocks', counter=True, source='NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION'),
    _extended('reliability_violation_time', 'µs', 'int', None, 'time in which the reliability voltage lowered the clocks', counter=True, source='NVML_FI_DEV_PERF_POLICY_RELIABILITY'),
    _extended('application_clocks_violation_time', 'µs', 'int', None, 'time in which the clocks were below those set for applications', counter=True, source='NVML_FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS'),
    _extended('base_clocks_violation_time', 'µs', 'int', None, 'time in which the clocks were below the base clocks', counter=True, source='NVML_FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS'),
    # heat and power
    _extended('temperature_margin', '°C', 'int', 'temperature.gpu.tlimit', 'degrees below the temperature at which the clocks are lowered', lowest=-250, source='nvmlDeviceGetMarginTemperature'),
    _extended('power_management', '', 'str', 'power.management', 'whether the board has a power limit', source='nvmlDeviceGetPowerManagementMode'),
    _extended('edpp_multiplier', '%', 'float', 'edpp_multiplier', 'limit of short power peaks, in percent of its default', highest=1000, source='NVML_FI_DEV_EDPP_MULTIPLIER'),
    _extended('average_power_usage', 'W', 'float', 'power.draw.average', 'power drawn by the board, mean over one second', divisor=1000, since='R525', source='NVML_FI_DEV_POWER_AVERAGE'),
    _extended('instant_power_usage', 'W', 'float', 'power.draw.instant', 'power drawn by the board, instantaneous', divisor=1000, since='R525', source='NVML_FI_DEV_POWER_INSTANT'),
    _extended('module_average_power_usage', 'W', 'float', 'module.power.draw.average', 'power drawn by GPU and CPU together, mean over one second', divisor=1000, source='NVML_FI_DEV_POWER_AVERAGE'),
    _extended('module_instant_power_usage', 'W', 'float', 'module.power.draw.instant', 'power drawn by GPU and CPU together, instantaneous', divisor=1000, source='NVML_FI_DEV_POWER_INSTANT'),
    _extended('module_power_limit', 'W', 'float', 'module.power.limit', 'power limit of GPU and CPU together', divisor=1000, source='NVML_FI_DEV_POWER_REQUESTED_LIMIT'),
    _extended('module_enforced_power_limit', 'W', 'float', 'module.enforced.power.limit', 'power limit of GPU and CPU together in effect', divisor=1000, source='NVML_FI_DEV_POWER_CURRENT_LIMIT'),
    _extended('module_default_power_limit', 'W', 'float', 'module.power.default_limit', 'power limit of GPU and CPU together after start', divisor=1000, source='NVML_FI_DEV_POWER_DEFAULT_LIMIT'),
    _extended('module_min_power_limit', 'W', 'float', 'module.power.min_limit', 'lowest power limit of GPU and CPU together that can be set', divisor=1000, source='NVML_FI_DEV_POWER_MIN_LIMIT'),
    _extended('module_max_power_limit', 'W', 'float', 'module.power.max_limit', 'highest power limit of GPU and CPU together that can be set', divisor=1000, source='NVML_FI_DEV_POWER_MAX_LIMIT'),
    # health
    _extended('ecc', '', 'str', 'ecc.mode.current', 'whether ECC is enabled', source='nvmlDeviceGetEccMode'),
    _extended('ecc_pending', '', 'str', 'ecc.mode.pending', 'whether ECC is enabled after the next restart', source='nvmlDeviceGetEccMode'),
    *_ECC_ERRORS,
    _extended('sram_volatile_parity_errors', 'count', 'int', 'ecc.errors.uncorrected.volatile.sram.parity', 'parity errors of the SRAM since the driver was loaded', counter=True, since='R535', source='nvmlDeviceGetSramEccErrorStatus'),
    _extended('sram_volatile_secded_errors', 'count', 'int', 'ecc.errors.uncorrected.volatile.sram.secded', 'double-bit errors of the SRAM since the driver was loaded', counter=True, since='R535', source='nvmlDeviceGetSramEccErrorStatus'),
    _extended('sram_aggregate_parity_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.parity', 'parity errors of the SRAM over the life of the board', counter=True, since='R535', source='nvmlDeviceGetSramEccErrorStatus'),
    _extended('sram_aggregate_secded_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.secded', 'double-bit errors of the SRAM over the life of the board', counter=True, since='R535', source='nvmlDeviceGetSramEccErrorStatus'),
    _extended('sram_l2_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.l2', 'uncorrected errors in the SRAM of the L2 cache over the life of the board', counter=True, since='R535', source='nvmlDeviceGetSramEccErrorStatus'),
    _extended('sram_sm_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.sm', 'uncorrected errors in the SRAM of the SMs over the life of the board', counter=True, since='R535', source='nvmlDeviceGetSramEccErrorStatus'),
    _extended('sram_microcontroller_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.mcu', 'uncorrected errors in the SRAM of microcontrollers over the life of the board', counter=True, since='R535', source='nvmlDeviceGetSramEccErrorStatus'),
    _extended('sram_pcie_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.pcie', 'uncorrected errors in the SRAM of PCIe over the life of the board', counter=True, since='R535', source='nvmlDeviceGetSramEccErrorStatus'),
    _extended('sram_other_errors', 'count', 'int', 'ecc.errors.uncorrected.aggregate.sram.other', 'uncorrected errors in the SRAM of other parts over the life of the board', counter=True, since='R535', source='nvmlDeviceGetSramEccErrorStatus'),
    _extended('retired_pages_pending', '', 'bool', 'retired_pages.pending', 'whether pages are to be retired at the next restart', source='nvmlDeviceGetRetiredPagesPendingStatus'),
    _extended('inactive_remapped_rows_correctable', 'count', 'int', 'remapped_rows.correctable_inactive', 'rows remapped because of correctable errors that take effect later', since='R595', source='NVML_FI_DEV_REMAPPED_ROWS_COR_INACTIVE'),
    _extended('inactive_remapped_rows_uncorrectable', 'count', 'int', 'remapped_rows.uncorrectable_inactive', 'rows remapped because of uncorrectable errors that take effect later', since='R595', source='NVML_FI_DEV_REMAPPED_ROWS_UNC_INACTIVE'),
    _extended('remapping_banks_max', 'count', 'int', 'remapped_rows.histogram.max', 'memory banks with all spare rows left', source='nvmlDeviceGetRowRemapperHistogram'),
    _extended('remapping_banks_high', 'count', 'int', 'remapped_rows.histogram.high', 'memory banks with many spare rows left', source='nvmlDeviceGetRowRemapperHistogram'),
    _extended('remapping_banks_partial', 'count', 'int', 'remapped_rows.histogram.partial', 'memory banks with some spare rows left', source='nvmlDeviceGetRowRemapperHistogram'),
    _extended('remapping_banks_low', 'count', 'int', 'remapped_rows.histogram.low', 'memory banks with few spare rows left', source='nvmlDeviceGetRowRemapperHistogram'),
    _extended('reset_required', '', 'bool', 'reset_status.reset_required', 'whether the GPU must be reset before it can be used', method='is_reset_required', source='NVML_FI_DEV_RESET_STATUS'),
    _extended('drain_and_reset_recommended', '', 'bool', 'reset_status.drain_and_reset_recommended', 'whether the GPU should be reset once its work is done', method='is_drain_and_reset_recommended', source='NVML_FI_DEV_DRAIN_AND_RESET_STATUS'),
    # NVLink, fabric and platform
    _extended('nvlink_crc_flit_errors', '', 'int', None, 'flits with a wrong CRC on all NVLinks', counter=True, exported='nvlink_errors{error=crc_flit}', source='NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL'),
    _extended('nvlink_crc_data_errors', '', 'int', None, 'data packets with a wrong CRC on all NVLinks', counter=True, exported='nvlink_errors{error=crc_data}', source='NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL'),
    _extended('nvlink_replay_errors', '', 'int', None, 'packets sent again on all NVLinks', counter=True, exported='nvlink_errors{error=replay}', source='NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL'),
    _extended('nvlink_recovery_errors', '', 'int', None, 'times that an NVLink was trained again after errors', counter=True, exported='nvlink_errors{error=recovery}', source='NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL'),
    _extended('fabric_status', '', 'str', 'fabric.status', 'result of joining the fabric: Success, or the error', source='nvmlDeviceGetGpuFabricInfoV'),
    _extended('fabric_clique_id', '', 'int', 'fabric.cliqueId', 'clique of the fabric', source='nvmlDeviceGetGpuFabricInfoV'),
    _extended('fabric_cluster_uuid', '', 'str', 'fabric.clusterUuid', 'UUID of the cluster', source='nvmlDeviceGetGpuFabricInfoV'),
    _extended('fabric_bandwidth', '', 'str', 'fabric.health.bandwidth', 'bandwidth of the fabric: Full or Degraded', source='nvmlDeviceGetGpuFabricInfoV'),
    _extended('fabric_route_recovery', '', 'str', 'fabric.health.route_recovery_in_progress', 'whether routes of the fabric are being recovered', source='nvmlDeviceGetGpuFabricInfoV'),
    _extended('fabric_route_unhealthy', '', 'str', 'fabric.health.route_unhealthy', 'whether routes of the fabric are unhealthy', source='nvmlDeviceGetGpuFabricInfoV'),
    _extended('fabric_access_timeout_recovery', '', 'str', 'fabric.health.access_timeout_recovery', 'whether the GPU is recovering from an access that timed out', source='nvmlDeviceGetGpuFabricInfoV'),
    _extended('chassis_serial_number', '', 'str', 'platform.chassis_serial_number', 'serial number of the chassis', source='nvmlDeviceGetPlatformInfo'),
    _extended('slot_number', '', 'int', 'platform.slot_number', 'number of the slot in the chassis', source='nvmlDeviceGetPlatformInfo'),
    _extended('tray_index', '', 'int', 'platform.tray_index', 'index of the tray in the chassis', source='nvmlDeviceGetPlatformInfo'),
    _extended('host_id', '', 'int', 'platform.host_id', 'number of the host in its tray', source='nvmlDeviceGetPlatformInfo'),
    _extended('peer_type', '', 'str', 'platform.peer_type', 'how the GPU reaches its peers', source='nvmlDeviceGetPlatformInfo'),
    _extended('platform_module_id', '', 'int', 'platform.module_id', 'number of the module that contains the GPU', source='nvmlDeviceGetPlatformInfo'),
    _extended('gpu_fabric_guid', '', 'str', 'platform.gpu_fabric_guid', 'globally unique ID of the GPU in its fabric', source='nvmlDeviceGetPlatformInfo'),
    _extended('fabric_health_summary', '', 'str', 'fabric.health.summary', 'health of the fabric: Healthy, Unhealthy or Limited Capacity', source='nvmlDeviceGetGpuFabricInfoV'),
    _extended('fabric_incorrect_configuration', '', 'str', 'fabric.health.incorrect_configuration', 'what is configured wrongly in the fabric, or None', source='nvmlDeviceGetGpuFabricInfoV'),
)

#: Lists of rows; each row is a tuple.
LISTS: tuple[Metric, ...] = (
    _extended('supported_clocks', '', 'rows', None, 'combinations of clocks that can be set', source='nvmlDeviceGetSupportedMemoryClocks nvmlDeviceGetSupportedGraphicsClocks · nvidia-smi: --query-supported-clocks'),
    _extended('retired_pages', '', 'rows', None, 'retired pages of device memory', method='retired_page_list', source='nvmlDeviceGetRetiredPages · nvidia-smi: --query-retired-pages'),
    _extended('nvlink_link_throughputs', '', 'rows', None, 'traffic of each NVLink in KiB/s, from and to the GPU', method='nvlink_throughput', begin='begin_nvlink_throughput', source='NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and …_RX · nvidia-smi nvlink -gt d'),
    _extended('accounted_processes', '', 'rows', None, 'accounts of processes, including exited ones'),
)

PROCESS_METRICS: tuple[ProcessMetric, ...] = (
    ProcessMetric('pid', '', 'int', 'key.pid', 'pid', 'PID, as the driver reports it'),
    ProcessMetric('user', '', 'str', 'username', None, 'name of its user'),
    ProcessMetric('name', '', 'str', 'name', None, 'name of the program'),
    ProcessMetric('command', '', 'str', 'command', None, 'command line, quoted for a shell'),
    ProcessMetric('type', '', 'str', 'type', None, 'C compute, G graphics, C+G both, M compute through MPS'),
    ProcessMetric('status', '', 'str', 'status', None, 'running, zombie, gone, no permission, or foreign (of another PID namespace)'),
    ProcessMetric('start_time', '', 'time', 'key.start_time', None, 'when it was started'),
    ProcessMetric('running_time', 's', 'float', 'running_time_seconds', None, 'time since it was started', collector='running_time_in_seconds'),
    # on the device
    ProcessMetric('gpu_memory', 'B', 'int', 'gpu_memory_bytes', 'used_gpu_memory', 'device memory it uses', history=True, collector='gpu_memory'),
    ProcessMetric('gpu_memory_percent', '%', 'float', 'gpu_memory_percent', None, 'device memory it uses / total', collector='gpu_memory_percent', exported='gpu_memory_used'),
    ProcessMetric('gpu_sm_utilization', '%', 'int', 'gpu_sm_utilization_percent', None, 'its share of the multiprocessors', history=True, collector='gpu_sm_utilization'),
    ProcessMetric('gpu_memory_utilization', '%', 'int', 'gpu_memory_utilization_percent', None, 'its share of the memory bandwidth', collector='gpu_memory_utilization'),
    ProcessMetric('gpu_encoder_utilization', '%', 'int', 'gpu_encoder_utilization_percent', None, 'its share of the video encoder'),
    ProcessMetric('gpu_decoder_utilization', '%', 'int', 'gpu_decoder_utilization_percent', None, 'its share of the video decoder'),
    ProcessMetric('gpu_idle_time', 's', 'float', 'gpu_idle_seconds', None, 'time since it last used the device, as far as observed'),
    ProcessMetric('gpu_instance_id', '', 'int', 'gpu_instance_id', None, 'MIG: ID of its GPU instance'),
    ProcessMetric('compute_instance_id', '', 'int', 'compute_instance_id', None, 'MIG: ID of its compute instance'),
    # on the host
    ProcessMetric('cpu_percent', '%', 'float', 'cpu_percent', None, 'CPU use relative to one CPU', history=True, collector='cpu_percent', exported='cpu'),
    ProcessMetric('host_memory', 'B', 'int', 'host_memory_bytes', None, 'resident host memory it uses', history=True, collector='host_memory'),
    ProcessMetric('memory_percent', '%', 'float', 'memory_percent', None, 'resident host memory it uses / total', collector='host_memory_percent', exported='host_memory_used'),
)
# fmt: on

#: Reasons for low clocks that have a field in nvidia-smi.
CLOCK_EVENT_REASONS = (
    'gpu_idle',
    'applications_clocks_setting',
    'sw_power_cap',
    'hw_slowdown',
    'sync_boost',
    'sw_thermal_slowdown',
    'hw_thermal_slowdown',
    'hw_power_brake_slowdown',
)

#: All metrics and lists of devices by the name of the method.
METRICS_BY_METHOD = {metric.method: metric for metric in (*METRICS, *EXTENDED_METRICS, *LISTS)}
#: The metrics of devices by name, without the extended ones.
METRICS_BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}


def metrics_of_tier(tier: Tier) -> tuple[Metric, ...]:
    return tuple(metric for metric in METRICS if metric.tier == tier)
