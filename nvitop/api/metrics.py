# SPDX-License-Identifier: Apache-2.0
"""The one table of what can be measured on a device, and the one of its processes.

Pure data: importing this module loads no driver and nothing of nvitop. The query command, the
collector, the sampler, the compatibility modules, the menu of the graphs, the reference in the
documentation and the contract tests are made from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection


class Metric(NamedTuple):
    """One thing that can be measured on a device.

    ``Device.<method>()`` gives the raw value; the value in :attr:`unit` is the raw one divided by
    :attr:`divisor`. A sample carries the raw value in its field :attr:`field`, ``None`` where the
    method gives ``NA``.
    """

    #: Name in the query command's JSON, in ``--gpu=`` and in the graphs' menu.
    name: str
    #: Unit of published values: ``B % °C W MHz J KiB/s µs count``, or ``''`` for text and flags.
    unit: str
    #: ``int``, ``float``, ``bool``, ``str``, ``list`` (of str) or ``rows`` (tuples of such values).
    kind: str
    #: Name of the :class:`nvitop.Device` method, called without arguments.
    method: str
    #: Field of ``DeviceInfo`` (tier static) or ``DeviceSample``; of tier extended, key in its ``extended``.
    field: str
    #: How often the monitor asks: ``static`` once, ``slow``, ``fast``, ``shown`` only while shown,
    #: ``extended`` never (see :mod:`nvitop.api.extended_metrics`).
    tier: str
    #: Name in ``nvidia-smi --query-gpu``, or ``None`` where it has none.
    query: str | None
    #: One line for people: what it is.
    help: str
    #: Raw value / divisor = value in :attr:`unit`.
    divisor: int = 1
    #: Whether a MIG device has this metric of its own.
    mig: bool = False


class ProcessMetric(NamedTuple):
    """One thing that is known of a process on a device.

    A process sample carries the value, in :attr:`unit`, in its field :attr:`field`; ``None`` where
    it is not available.
    """

    #: Name in the query command's JSON and in ``--processes=``.
    name: str
    #: Unit: ``B % s``, or ``''`` for text and plain numbers.
    unit: str
    #: ``int``, ``float``, ``str`` or ``time`` (seconds since the epoch).
    kind: str
    #: Field of ``ProcessSample``, with dots for fields of its fields.
    field: str
    #: Name in ``nvidia-smi --query-compute-apps``, or ``None`` where it has none.
    query: str | None
    #: One line for people: what it is.
    help: str


def _metric(
    name: str,
    unit: str,
    kind: str,
    tier: str,
    field: str,
    query: str | None,
    text: str,
    *,
    method: str | None = None,
    divisor: int = 1,
    mig: bool = False,
) -> Metric:
    return Metric(name, unit, kind, method or name, field, tier, query, text, divisor, mig)


# fmt: off
METRICS: tuple[Metric, ...] = (
    # identity
    _metric('index', '', 'int', 'static', 'physical_index', 'index', 'index of the GPU in NVML (PCI bus) order', method='physical_index', mig=True),
    _metric('name', '', 'str', 'static', 'name', 'name', 'product name', mig=True),
    _metric('uuid', '', 'str', 'static', 'uuid', 'uuid', 'globally unique identifier, stays with the board', mig=True),
    _metric('bus_id', '', 'str', 'static', 'bus_id', 'pci.bus_id', 'PCI bus id, domain:bus:device.function', mig=True),
    _metric('serial', '', 'str', 'static', 'serial', 'serial', 'serial number printed on the board'),
    _metric('vbios_version', '', 'str', 'static', 'vbios_version', 'vbios_version', 'version of the video BIOS'),
    _metric('board_part_number', '', 'str', 'static', 'board_part_number', None, 'part number of the board'),
    _metric('numa_node', '', 'int', 'static', 'numa_node', None, 'NUMA node the GPU belongs to'),
    _metric('cuda_compute_capability', '', 'str', 'static', 'cuda_compute_capability', 'compute_cap', 'CUDA compute capability, major.minor'),
    _metric('architecture', '', 'str', 'static', 'architecture', None, 'architecture, e.g. Hopper'),
    _metric('brand', '', 'str', 'static', 'brand', None, 'product brand, e.g. GeForce'),
    # memory
    _metric('memory_total', 'B', 'int', 'static', 'memory_total_bytes', 'memory.total', 'installed device memory', mig=True),
    _metric('memory_used', 'B', 'int', 'fast', 'memory_used_bytes', 'memory.used', 'memory allocated by contexts', mig=True),
    _metric('memory_free', 'B', 'int', 'fast', 'memory_free_bytes', 'memory.free', 'memory not allocated', mig=True),
    _metric('memory_reserved', 'B', 'int', 'fast', 'memory_reserved_bytes', 'memory.reserved', 'memory kept by driver and firmware', mig=True),
    _metric('memory_percent', '%', 'float', 'fast', 'memory_percent', None, 'memory used / total', mig=True),
    _metric('bar1_memory_total', 'B', 'int', 'slow', 'bar1_memory_total_bytes', None, 'size of the BAR1 window the CPU maps memory through', mig=True),
    _metric('bar1_memory_used', 'B', 'int', 'slow', 'bar1_memory_used_bytes', None, 'mapped part of the BAR1 window', mig=True),
    _metric('bar1_memory_free', 'B', 'int', 'slow', 'bar1_memory_free_bytes', None, 'unmapped part of the BAR1 window', mig=True),
    _metric('bar1_memory_percent', '%', 'float', 'slow', 'bar1_memory_percent', None, 'BAR1 used / total', mig=True),
    # utilization
    _metric('gpu_utilization', '%', 'int', 'fast', 'gpu_utilization_percent', 'utilization.gpu', 'share of time in which a kernel ran'),
    _metric('memory_utilization', '%', 'int', 'fast', 'memory_utilization_percent', 'utilization.memory', 'share of time in which memory was read or written'),
    _metric('encoder_utilization', '%', 'int', 'shown', 'encoder_utilization_percent', 'utilization.encoder', 'load of the video encoder'),
    _metric('decoder_utilization', '%', 'int', 'shown', 'decoder_utilization_percent', 'utilization.decoder', 'load of the video decoder'),
    _metric('jpeg_utilization', '%', 'int', 'shown', 'jpeg_utilization_percent', 'utilization.jpeg', 'load of the JPEG engine'),
    _metric('ofa_utilization', '%', 'int', 'shown', 'ofa_utilization_percent', 'utilization.ofa', 'load of the optical-flow accelerator'),
    # clocks
    _metric('graphics_clock', 'MHz', 'int', 'shown', 'graphics_clock_mhz', 'clocks.current.graphics', 'current graphics (shader) clock'),
    _metric('sm_clock', 'MHz', 'int', 'fast', 'sm_clock_mhz', 'clocks.current.sm', 'current SM clock'),
    _metric('memory_clock', 'MHz', 'int', 'fast', 'memory_clock_mhz', 'clocks.current.memory', 'current memory clock'),
    _metric('video_clock', 'MHz', 'int', 'shown', 'video_clock_mhz', 'clocks.current.video', 'current video clock'),
    _metric('max_graphics_clock', 'MHz', 'int', 'static', 'max_graphics_clock_mhz', 'clocks.max.graphics', 'highest graphics clock'),
    _metric('max_sm_clock', 'MHz', 'int', 'static', 'max_sm_clock_mhz', 'clocks.max.sm', 'highest SM clock'),
    _metric('max_memory_clock', 'MHz', 'int', 'static', 'max_memory_clock_mhz', 'clocks.max.memory', 'highest memory clock'),
    _metric('max_video_clock', 'MHz', 'int', 'static', 'max_video_clock_mhz', None, 'highest video clock'),
    _metric('clock_event_reasons', '', 'list', 'shown', 'clock_event_reasons', 'clocks_event_reasons.active', 'why the clocks are below their maximum'),
    # heat and power
    _metric('temperature', '°C', 'int', 'fast', 'temperature_celsius', 'temperature.gpu', 'temperature of the GPU die'),
    _metric('memory_temperature', '°C', 'int', 'shown', 'memory_temperature_celsius', 'temperature.memory', 'temperature of the memory'),
    _metric('temperature_slowdown_threshold', '°C', 'int', 'static', 'temperature_slowdown_threshold_celsius', None, 'temperature at which clocks are lowered'),
    _metric('temperature_shutdown_threshold', '°C', 'int', 'static', 'temperature_shutdown_threshold_celsius', None, 'temperature at which the GPU shuts down'),
    _metric('max_temperature_threshold', '°C', 'int', 'static', 'max_temperature_threshold_celsius', None, 'temperature up to which the GPU keeps its clocks'),
    _metric('max_memory_temperature_threshold', '°C', 'int', 'static', 'max_memory_temperature_threshold_celsius', None, 'temperature up to which the memory keeps its clock'),
    _metric('fan_speed', '%', 'int', 'slow', 'fan_speed_percent', 'fan.speed', 'intended fan speed, may exceed 100'),
    _metric('fan_count', 'count', 'int', 'static', 'fan_count', None, 'number of fans the driver controls'),
    _metric('power_usage', 'W', 'float', 'fast', 'power_usage_mw', 'power.draw', 'power drawn by the board', divisor=1000),
    _metric('power_limit', 'W', 'float', 'slow', 'power_limit_mw', 'power.limit', 'power limit set by management', divisor=1000),
    _metric('enforced_power_limit', 'W', 'float', 'slow', 'enforced_power_limit_mw', 'enforced.power.limit', 'power limit in force', divisor=1000),
    _metric('default_power_limit', 'W', 'float', 'static', 'default_power_limit_mw', 'power.default_limit', 'power limit after start', divisor=1000),
    _metric('min_power_limit', 'W', 'float', 'static', 'min_power_limit_mw', 'power.min_limit', 'lowest limit that can be set', divisor=1000),
    _metric('max_power_limit', 'W', 'float', 'static', 'max_power_limit_mw', 'power.max_limit', 'highest limit that can be set', divisor=1000),
    _metric('total_energy', 'J', 'float', 'shown', 'total_energy_joules', None, 'energy used since the driver was loaded'),
    # interconnect
    _metric('pcie_link_generation', '', 'int', 'shown', 'pcie_link_generation', 'pcie.link.gen.current', 'PCIe generation in use'),
    _metric('max_pcie_link_generation', '', 'int', 'static', 'max_pcie_link_generation', 'pcie.link.gen.max', 'highest PCIe generation of GPU and system'),
    _metric('pcie_link_width', '', 'int', 'shown', 'pcie_link_width', 'pcie.link.width.current', 'PCIe lanes in use'),
    _metric('max_pcie_link_width', '', 'int', 'static', 'max_pcie_link_width', 'pcie.link.width.max', 'PCIe lanes GPU and system have'),
    _metric('pcie_link_down_trained', '', 'bool', 'shown', 'pcie_link_down_trained', None, 'whether the PCIe link is worse than GPU and system can', method='is_pcie_link_down_trained'),
    _metric('pcie_tx_throughput', 'KiB/s', 'int', 'shown', 'pcie_tx_throughput_kib_per_s', None, 'PCIe traffic from the GPU'),
    _metric('pcie_rx_throughput', 'KiB/s', 'int', 'shown', 'pcie_rx_throughput_kib_per_s', None, 'PCIe traffic to the GPU'),
    _metric('nvlink_link_count', 'count', 'int', 'static', 'nvlink_link_count', None, 'number of NVLinks'),
    _metric('nvlink_tx_throughput', 'KiB/s', 'int', 'shown', 'nvlink_tx_throughput_kib_per_s', None, 'NVLink traffic from the GPU, all links', method='nvlink_total_tx_throughput'),
    _metric('nvlink_rx_throughput', 'KiB/s', 'int', 'shown', 'nvlink_rx_throughput_kib_per_s', None, 'NVLink traffic to the GPU, all links', method='nvlink_total_rx_throughput'),
    # modes
    _metric('display_active', '', 'str', 'slow', 'display_active', 'display_active', 'whether a display is initialized on the GPU'),
    _metric('display_mode', '', 'str', 'slow', 'display_mode', 'display_mode', 'whether a display is connected to the GPU'),
    _metric('persistence_mode', '', 'str', 'slow', 'persistence_mode', 'persistence_mode', 'whether the driver stays loaded without clients'),
    _metric('current_driver_model', '', 'str', 'slow', 'current_driver_model', 'driver_model.current', 'driver model, Windows only'),
    _metric('performance_state', '', 'str', 'slow', 'performance_state', 'pstate', 'performance state, P0 (highest) to P15'),
    _metric('compute_mode', '', 'str', 'slow', 'compute_mode', 'compute_mode', 'how many contexts may be made'),
    _metric('mig_mode', '', 'str', 'slow', 'mig_mode', 'mig.mode.current', 'whether the GPU is partitioned into MIG devices'),
    # health
    _metric('total_volatile_uncorrected_ecc_errors', 'count', 'int', 'slow', 'total_volatile_uncorrected_ecc_errors', 'ecc.errors.uncorrected.volatile.total', 'uncorrected ECC errors since the driver was loaded'),
    _metric('total_volatile_corrected_ecc_errors', 'count', 'int', 'shown', 'total_volatile_corrected_ecc_errors', 'ecc.errors.corrected.volatile.total', 'corrected ECC errors since the driver was loaded'),
    _metric('total_aggregate_uncorrected_ecc_errors', 'count', 'int', 'shown', 'total_aggregate_uncorrected_ecc_errors', 'ecc.errors.uncorrected.aggregate.total', 'uncorrected ECC errors in the life of the board'),
    _metric('total_aggregate_corrected_ecc_errors', 'count', 'int', 'shown', 'total_aggregate_corrected_ecc_errors', 'ecc.errors.corrected.aggregate.total', 'corrected ECC errors in the life of the board'),
    _metric('retired_pages_single_bit_ecc', 'count', 'int', 'shown', 'retired_pages_single_bit_ecc', 'retired_pages.single_bit_ecc.count', 'pages retired for many single-bit errors'),
    _metric('retired_pages_double_bit_ecc', 'count', 'int', 'shown', 'retired_pages_double_bit_ecc', 'retired_pages.double_bit.count', 'pages retired for a double-bit error'),
    _metric('remapped_rows_correctable', 'count', 'int', 'shown', 'remapped_rows_correctable', 'remapped_rows.correctable', 'rows remapped for correctable errors'),
    _metric('remapped_rows_uncorrectable', 'count', 'int', 'shown', 'remapped_rows_uncorrectable', 'remapped_rows.uncorrectable', 'rows remapped for uncorrectable errors'),
    _metric('remapped_rows_pending', '', 'bool', 'shown', 'remapped_rows_pending', 'remapped_rows.pending', 'whether a remapping waits for a GPU reset'),
    _metric('remapped_rows_failure', '', 'bool', 'shown', 'remapped_rows_failure', 'remapped_rows.failure', 'whether a remapping has failed: replace the board'),
    # GPM: Hopper and newer
    _metric('gpm_sm_active', '%', 'float', 'shown', 'gpm_sm_active_percent', None, 'share of time in which an SM had a warp, mean over SMs', mig=True),
    _metric('gpm_sm_occupancy', '%', 'float', 'shown', 'gpm_sm_occupancy_percent', None, 'resident warps / possible warps', mig=True),
    _metric('gpm_tensor_active', '%', 'float', 'shown', 'gpm_tensor_active_percent', None, 'share of time in which tensor cores were busy', mig=True),
    _metric('gpm_dram_active', '%', 'float', 'shown', 'gpm_dram_active_percent', None, 'share of the memory bandwidth in use', mig=True),
)

#: What is known of a process on a device.
PROCESS_METRICS: tuple[ProcessMetric, ...] = (
    ProcessMetric('pid', '', 'int', 'key.pid', 'pid', 'PID, as the driver tells it'),
    ProcessMetric('user', '', 'str', 'username', None, 'name of the user it belongs to'),
    ProcessMetric('name', '', 'str', 'name', None, 'name of the program'),
    ProcessMetric('command', '', 'str', 'command', None, 'command line, quoted for a shell'),
    ProcessMetric('type', '', 'str', 'type', None, 'C compute, G graphics, C+G both, M compute through MPS'),
    ProcessMetric('status', '', 'str', 'status', None, 'running, zombie, gone, no permission, or foreign (of another PID namespace)'),
    ProcessMetric('start_time', '', 'time', 'key.start_time', None, 'when it was started'),
    ProcessMetric('running_time', 's', 'float', 'running_time_seconds', None, 'time since it was started'),
    # on the device
    ProcessMetric('gpu_memory', 'B', 'int', 'gpu_memory_bytes', 'used_gpu_memory', 'device memory it uses'),
    ProcessMetric('gpu_memory_percent', '%', 'float', 'gpu_memory_percent', None, 'device memory it uses / total'),
    ProcessMetric('gpu_sm_utilization', '%', 'int', 'gpu_sm_utilization_percent', None, 'its load on the multiprocessors'),
    ProcessMetric('gpu_memory_utilization', '%', 'int', 'gpu_memory_utilization_percent', None, 'its load on the memory bandwidth'),
    ProcessMetric('gpu_encoder_utilization', '%', 'int', 'gpu_encoder_utilization_percent', None, 'its load on the video encoder'),
    ProcessMetric('gpu_decoder_utilization', '%', 'int', 'gpu_decoder_utilization_percent', None, 'its load on the video decoder'),
    ProcessMetric('gpu_instance_id', '', 'int', 'gpu_instance_id', None, 'GPU instance it runs in, with MIG'),
    ProcessMetric('compute_instance_id', '', 'int', 'compute_instance_id', None, 'compute instance it runs in, with MIG'),
    # on the host
    ProcessMetric('cpu_percent', '%', 'float', 'cpu_percent', None, 'load on the CPUs of the host, of one CPU'),
    ProcessMetric('host_memory', 'B', 'int', 'host_memory_bytes', None, 'resident memory of the host it uses'),
    ProcessMetric('memory_percent', '%', 'float', 'memory_percent', None, 'resident memory of the host it uses / total'),
)
# fmt: on

#: The metrics of devices by name.
METRICS_BY_NAME: dict[str, Metric] = {metric.name: metric for metric in METRICS}


def metrics_of_tier(*tiers: str) -> tuple[Metric, ...]:
    """The metrics of the given tiers, in the order of the table."""
    return tuple(metric for metric in METRICS if metric.tier in tiers)


def metrics_named(names: Collection[str]) -> tuple[Metric, ...]:
    """The metrics of these names, extended ones too, in the order of the table."""
    found = tuple(metric for metric in METRICS if metric.name in names)
    if len(found) == len(names):
        return found
    from nvitop.api.extended_metrics import EXTENDED_METRICS, LISTS  # which few ask for

    return found + tuple(metric for metric in (*EXTENDED_METRICS, *LISTS) if metric.name in names)
