# SPDX-License-Identifier: Apache-2.0
"""What is measured, as plain immutable values.

Everything right of this module — query, views, recorder, exporter — is made from these values and
from nothing else. ``None`` means *not available*; why it is not stands in :attr:`Sample.problems`.
Field names end in their unit. All values pickle, compare and survive ``tuple()`` / ``_asdict()``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from typing import Tuple, Union

    Scalar = Union[None, bool, int, float, str]
    Value = Union[Scalar, Tuple[str, ...], Tuple[Tuple[Scalar, ...], ...]]


class DeviceKey(NamedTuple):
    """Identity of a device; sorts in the natural order (GPU 0, its MIG devices, GPU 1, …)."""

    #: NVML index of the physical GPU.
    physical_index: int
    #: Index of the MIG device on its GPU, -1 for the GPU itself.
    mig_index: int = -1
    #: UUID, ``''`` where the driver does not tell (lost when first seen).
    uuid: str = ''

    @property
    def is_mig(self) -> bool:
        """Whether this is a MIG device."""
        return self.mig_index >= 0

    @property
    def label(self) -> str:
        """``'0'`` for a GPU, ``'0:1'`` for a MIG device."""
        return (
            f'{self.physical_index}:{self.mig_index}' if self.is_mig else str(self.physical_index)
        )


class ProcessKey(NamedTuple):
    """Identity of a process on a device: a PID used again is another key."""

    pid: int
    #: Start of the process in seconds since the epoch (psutil's ``create_time``), -1.0 unknown.
    start_time: float
    device: DeviceKey


class DeviceInfo(NamedTuple):
    """What never changes about a device: read once."""

    key: DeviceKey
    physical_index: int
    name: str
    uuid: str | None = None
    bus_id: str | None = None
    serial: str | None = None
    vbios_version: str | None = None
    board_part_number: str | None = None
    numa_node: int | None = None
    cuda_compute_capability: str | None = None
    architecture: str | None = None
    brand: str | None = None
    memory_total_bytes: int | None = None
    max_graphics_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    max_memory_clock_mhz: int | None = None
    max_video_clock_mhz: int | None = None
    temperature_slowdown_threshold_celsius: int | None = None
    temperature_shutdown_threshold_celsius: int | None = None
    max_temperature_threshold_celsius: int | None = None
    max_memory_temperature_threshold_celsius: int | None = None
    fan_count: int | None = None
    default_power_limit_mw: int | None = None
    min_power_limit_mw: int | None = None
    max_power_limit_mw: int | None = None
    max_pcie_link_generation: int | None = None
    max_pcie_link_width: int | None = None
    nvlink_link_count: int | None = None
    #: MIG devices only: ids of GPU and compute instance, and the profile (``'3g.40gb'``).
    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None
    mig_profile: str | None = None
    #: Unified memory: the device's memory is the host's.
    is_unified_memory: bool = False


class DeviceSample(NamedTuple):
    """What was measured on one device. Fields of tier *shown* are ``None`` unless asked for."""

    key: DeviceKey
    info: DeviceInfo
    #: ``'ok'``, ``'lost'``, ``'timed out'`` or ``'error'``.
    status: str = 'ok'
    #: Why the status is not ok, in words: ``'GPU is lost'``.
    reason: str = ''
    # fast
    memory_used_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    memory_percent: float | None = None
    gpu_utilization_percent: int | None = None
    memory_utilization_percent: int | None = None
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_celsius: int | None = None
    power_usage_mw: int | None = None
    # slow
    bar1_memory_total_bytes: int | None = None
    bar1_memory_used_bytes: int | None = None
    bar1_memory_free_bytes: int | None = None
    bar1_memory_percent: float | None = None
    fan_speed_percent: int | None = None
    power_limit_mw: int | None = None
    enforced_power_limit_mw: int | None = None
    pcie_link_generation: int | None = None
    pcie_link_width: int | None = None
    pcie_link_down_trained: bool | None = None
    display_active: str | None = None
    display_mode: str | None = None
    persistence_mode: str | None = None
    current_driver_model: str | None = None
    performance_state: str | None = None
    compute_mode: str | None = None
    mig_mode: str | None = None
    total_volatile_uncorrected_ecc_errors: int | None = None
    # shown
    encoder_utilization_percent: int | None = None
    decoder_utilization_percent: int | None = None
    jpeg_utilization_percent: int | None = None
    ofa_utilization_percent: int | None = None
    graphics_clock_mhz: int | None = None
    video_clock_mhz: int | None = None
    clock_event_reasons: tuple[str, ...] | None = None
    memory_temperature_celsius: int | None = None
    total_energy_joules: float | None = None
    pcie_tx_throughput_kib_per_s: int | None = None
    pcie_rx_throughput_kib_per_s: int | None = None
    nvlink_tx_throughput_kib_per_s: int | None = None
    nvlink_rx_throughput_kib_per_s: int | None = None
    total_volatile_corrected_ecc_errors: int | None = None
    total_aggregate_uncorrected_ecc_errors: int | None = None
    total_aggregate_corrected_ecc_errors: int | None = None
    retired_pages_single_bit_ecc: int | None = None
    retired_pages_double_bit_ecc: int | None = None
    remapped_rows_correctable: int | None = None
    remapped_rows_uncorrectable: int | None = None
    remapped_rows_pending: bool | None = None
    remapped_rows_failure: bool | None = None
    gpm_sm_active_percent: float | None = None
    gpm_sm_occupancy_percent: float | None = None
    gpm_tensor_active_percent: float | None = None
    gpm_dram_active_percent: float | None = None
    #: Metrics of tier *extended* that were asked for, by name.
    extended: tuple[tuple[str, Value], ...] = ()

    def extended_value(self, name: str) -> Value:
        """The value of a metric of tier *extended*; ``None`` where it is not available or not asked."""
        return next((value for key, value in self.extended if key == name), None)


class ProcessSample(NamedTuple):
    """One process on one leaf device."""

    key: ProcessKey
    #: ``'C'``, ``'G'``, ``'C+G'``, ``'M'`` (MPS), or ``None``.
    type: str | None = None
    #: ``'running'`` (alive), ``'zombie'``, ``'gone'``, ``'no permission'``, or ``'foreign'``: a PID
    #: of another PID namespace (containers).
    status: str = 'running'
    username: str | None = None
    #: Whether the user of this program may signal it (own process, or root).
    is_own: bool = False
    name: str | None = None
    #: Shell-quoted command line; ``None`` where it cannot be read.
    command: str | None = None
    gpu_memory_bytes: int | None = None
    gpu_memory_percent: float | None = None
    gpu_sm_utilization_percent: int | None = None
    gpu_memory_utilization_percent: int | None = None
    gpu_encoder_utilization_percent: int | None = None
    gpu_decoder_utilization_percent: int | None = None
    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None
    cpu_percent: float | None = None
    memory_percent: float | None = None
    host_memory_bytes: int | None = None
    running_time_seconds: float | None = None


class HostProcessSample(NamedTuple):
    """One host process of the tree screen: a GPU process, an ancestor or a direct child of one."""

    pid: int
    start_time: float
    parent_pid: int | None = None
    username: str | None = None
    is_own: bool = False
    status: str = 'running'
    command: str | None = None
    #: Devices it runs on, empty for a process of the host alone.
    devices: tuple[DeviceKey, ...] = ()
    thread_count: int | None = None
    cpu_percent: float | None = None
    memory_percent: float | None = None
    running_time_seconds: float | None = None


class HostSample(NamedTuple):
    """What was measured on the host."""

    hostname: str = ''
    username: str = ''
    is_superuser: bool = False
    #: Name of the WSL distribution, ``''`` outside WSL.
    wsl: str = ''
    cpu_percent: float | None = None
    cpu_count: int | None = None
    load_average: tuple[float, float, float] | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    memory_percent: float | None = None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    swap_percent: float | None = None
    uptime_seconds: float | None = None


#: Kinds of problems in which nothing fails: what there is not, and what this user may not read.
NO_FAILURES = frozenset({'na', 'denied'})


class Problem(NamedTuple):
    """Why something is missing, for people."""

    #: ``'device 3'``, ``'process 4242'``, ``'host'``, ``'driver'``.
    subject: str
    #: What was asked: a metric's name or the NVML function.
    what: str
    #: The reason in words, the driver's where it gave one: ``'Not Supported'``.
    reason: str
    #: ``'na'`` (the device has no such value), ``'denied'`` (it has, but not for this user),
    #: ``'error'`` (it could not be read), ``'impossible'`` (an answer was dropped), ``'lost'``,
    #: ``'timed out'``, ``'slow'`` (it answers, but late).
    kind: str = 'na'
    device: DeviceKey | None = None

    @property
    def is_failure(self) -> bool:
        """Whether something fails, which it does not where a value is not there to be had."""
        return self.kind not in NO_FAILURES


class Cost(NamedTuple):
    """What taking this sample cost."""

    seconds: float = 0.0
    nvml_calls: int = 0
    #: CPU time that the whole program has used since it was started.
    cpu_seconds: float = 0.0


class Sample(NamedTuple):
    """One moment of a machine: complete, self-describing, serialisable."""

    #: Seconds since the epoch, and of the monotonic clock, when the sample was complete.
    timestamp: float
    monotonic: float = 0.0
    #: Counts up from 1; 0 is the empty sample before the first one.
    sequence: int = 0
    driver_version: str | None = None
    cuda_driver_version: str | None = None
    #: Name of the scenario where the machine is simulated, ``''`` where it is real.
    simulated: str = ''
    host: HostSample = HostSample()
    #: GPUs and their MIG devices in natural order. A lost GPU keeps its place.
    devices: tuple[DeviceSample, ...] = ()
    #: Processes on leaf devices in natural order (device, user, pid).
    processes: tuple[ProcessSample, ...] = ()
    #: Only while the tree screen is shown.
    host_processes: tuple[HostProcessSample, ...] = ()
    problems: tuple[Problem, ...] = ()
    cost: Cost = Cost()
    #: When the slower parts were measured (monotonic): processes may be older than devices.
    processes_monotonic: float = 0.0


#: Before the first sample has been taken.
EMPTY_SAMPLE = Sample(timestamp=0.0)


class Demand(NamedTuple):
    """What the viewer shows now, so what has to be measured. Anything else is not asked for."""

    #: Metrics of tier *shown* that are on the screen, by name, for all devices.
    shown_metrics: tuple[str, ...] = ()
    #: Keys of the processes whose CPU %, memory and command are on the screen; ``None``: of all.
    visible_processes: tuple[ProcessKey, ...] | None = None
    processes: bool = True
    #: Whether encoder and decoder load of processes are shown.
    process_codec: bool = False
    host_processes: bool = False
