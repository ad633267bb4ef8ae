# SPDX-License-Identifier: Apache-2.0
"""Measured values as plain immutable tuples.

Everything downstream (query, monitor, recordings, exporter) is made from these values and nothing
else. ``None`` means *not available*; the reason is in :attr:`Sample.problems`. Field names end in
their unit. All values can be pickled and compared. Fields added later have a default, so that
older recordings can still be read.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Literal,
    NamedTuple,
    Protocol,
    Tuple,
    Union,
    runtime_checkable,
)

if TYPE_CHECKING:
    from nvitop.basics.metrics import Metric
    from nvitop.owner.types import Owner

Scalar = Union[None, bool, int, float, str]
#: Value of a metric.
Value = Union[Scalar, Tuple[str, ...], Tuple[Tuple[Scalar, ...], ...]]
#: A device, a process (its PID), the driver, the host, or nvitop itself.
Subject = Union['DeviceKey', int, Literal['driver', 'host', 'monitor']]

#: ``asleep``: it is off or about to be, and not queried because that would wake it.
DeviceStatus = Literal['ok', 'asleep', 'not permitted', 'lost', 'timed out', 'error']
#: ``zombie``: exited, not yet reaped; ``gone``: exited; ``no permission``: alive, but its command line
#: cannot be read; ``foreign``: a PID of another PID namespace (container).
ProcessStatus = Literal['running', 'zombie', 'gone', 'no permission', 'foreign']
#: ``na``: the device has no such value; ``denied``: this user may not read it; ``error``: it could not
#: be read; ``impossible``: an implausible value was dropped; ``reset needed``: the device must be
#: reset first; ``lost``; ``timed out``; ``slow``: the device responds, but late.
ProblemKind = Literal[
    'na', 'denied', 'error', 'impossible', 'reset needed', 'lost', 'timed out', 'slow'
]


#: How far and how long (seconds) a GPU or its energy counter may exceed the power limit …
OVERSHOOT = 1.5
LATE_SECONDS = 5.0
#: … or, if it is unknown, the power (watts) that no GPU exceeds.
UNKNOWN_WATTS = 2000.0
#: Age (seconds) from which values of another machine do not show which devices are free now.
STALE_SECONDS = 120.0


class DeviceKey(NamedTuple):
    """Identity of a device; sorts in natural order (GPU 0, its MIG devices, GPU 1, …)."""

    #: NVML index of the physical GPU; negative: a GPU that the driver does not list.
    physical_index: int
    #: Index of the MIG device on its GPU, -1 for the GPU itself.
    mig_index: int = -1
    #: UUID, ``''`` if it is not known (lost when first seen). The PCI bus ID of a GPU that the driver
    #: does not list.
    uuid: str = ''

    @property
    def is_mig(self) -> bool:
        """Whether this is a MIG device."""
        return self.mig_index >= 0

    @property
    def label(self) -> str:
        """``'0'`` for a GPU, ``'0:1'`` for a MIG device, the bus ID of a GPU that is not listed."""
        if self.physical_index < 0:  # a missing GPU
            return self.uuid or '?'
        return (
            f'{self.physical_index}:{self.mig_index}' if self.is_mig else str(self.physical_index)
        )


class ProcessKey(NamedTuple):
    """Identity of a process on a device; a reused PID has another start time."""

    pid: int
    #: Start of the process in seconds since the epoch (psutil's ``create_time``), -1.0 if unknown.
    start_time: float
    device: DeviceKey

    @property
    def identity(self) -> tuple[int, float]:
        """PID and start time, the same on all devices."""
        return self.pid, self.start_time


class DeviceInfo(NamedTuple):
    """Properties of a device that never change (tier *static*)."""

    key: DeviceKey
    physical_index: int
    #: Product name, ``None`` if the device has not responded yet.
    name: str | None = None
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
    #: MIG devices only: IDs of GPU instance and compute instance, and the profile (``'3g.40gb'``).
    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None
    mig_profile: str | None = None
    #: Whether device memory and host memory are the same.
    is_unified_memory: bool = False
    #: Number of its device file, ``/dev/nvidiaN``.
    minor_number: int | None = None


class Sleep(NamedTuple):
    """How a GPU sleeps (runtime D3)."""

    #: PCI power state: ``'D3cold'`` draws no power; ``''`` if it is not known to be a deep one.
    power_state: str = ''
    #: Time since it fell asleep, ``None`` if it slept already when it was first seen.
    seconds: float | None = None
    #: Whether a refresh wakes it.
    wakes_on_refresh: bool = False


class DeviceSample(NamedTuple):
    """Values measured on one device.

    The tier in :data:`nvitop.basics.metrics.METRICS` is how often each is measured; values of tier
    *shown* are ``None`` unless the demand includes them.
    """

    key: DeviceKey
    info: DeviceInfo
    status: DeviceStatus = 'ok'
    #: Why the status is not ``'ok'``, for people: ``'GPU is lost'``, ``'asleep for 5m'``.
    reason: str = ''
    #: ``None`` if it is awake, even if its status is ``'asleep'``: it is left alone to fall asleep.
    sleep: Sleep | None = None
    # memory
    memory_used_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_reserved_bytes: int | None = None
    memory_percent: float | None = None
    bar1_memory_total_bytes: int | None = None
    bar1_memory_used_bytes: int | None = None
    bar1_memory_free_bytes: int | None = None
    bar1_memory_percent: float | None = None
    # utilization
    gpu_utilization_percent: int | None = None
    memory_utilization_percent: int | None = None
    encoder_utilization_percent: int | None = None
    decoder_utilization_percent: int | None = None
    jpeg_utilization_percent: int | None = None
    ofa_utilization_percent: int | None = None
    # power and temperature
    power_usage_mw: int | None = None
    power_limit_mw: int | None = None
    enforced_power_limit_mw: int | None = None
    total_energy_joules: float | None = None
    temperature_celsius: int | None = None
    memory_temperature_celsius: int | None = None
    fan_speed_percent: int | None = None
    # clocks
    graphics_clock_mhz: int | None = None
    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    video_clock_mhz: int | None = None
    clock_event_reasons: tuple[str, ...] | None = None
    # interconnect
    pcie_link_generation: int | None = None
    pcie_link_width: int | None = None
    pcie_link_down_trained: bool | None = None
    pcie_replays: int | None = None
    nvlink_down_count: int | None = None
    pcie_tx_throughput_kib_per_s: int | None = None
    pcie_rx_throughput_kib_per_s: int | None = None
    nvlink_total_tx_throughput_kib_per_s: int | None = None
    nvlink_total_rx_throughput_kib_per_s: int | None = None
    # modes
    display_active: str | None = None
    display_mode: str | None = None
    persistence_mode: str | None = None
    current_driver_model: str | None = None
    performance_state: str | None = None
    compute_mode: str | None = None
    mig_mode: str | None = None
    # health
    total_volatile_uncorrected_ecc_errors: int | None = None
    total_volatile_corrected_ecc_errors: int | None = None
    total_aggregate_uncorrected_ecc_errors: int | None = None
    total_aggregate_corrected_ecc_errors: int | None = None
    retired_pages_single_bit_ecc: int | None = None
    retired_pages_double_bit_ecc: int | None = None
    remapped_rows_correctable: int | None = None
    remapped_rows_uncorrectable: int | None = None
    remapped_rows_pending: bool | None = None
    remapped_rows_failure: bool | None = None
    remapping_banks_none: int | None = None
    sram_threshold_exceeded: bool | None = None
    #: ``'Not Started'``, ``'In Progress'`` or ``'Completed'``.
    fabric_state: str | None = None
    #: Step that makes the GPU usable again, ``'None'`` if it is usable: ``'GPU Reset'``.
    recovery_action: str | None = None
    # GPM
    gpm_graphics_active_percent: float | None = None
    gpm_sm_active_percent: float | None = None
    gpm_sm_occupancy_percent: float | None = None
    gpm_tensor_active_percent: float | None = None
    gpm_dram_active_percent: float | None = None
    #: Metrics of tier *extended* that were queried: names and values.
    extended: tuple[tuple[str, Value], ...] = ()
    #: How long it is known not to have been busy; only if the source has seen more than this sample.
    idle_seconds: float = 0.0

    @property
    def is_silent(self) -> bool:
        """Whether it was queried and has no values: it does not respond, or may not be opened."""
        return self.status not in ('ok', 'asleep')

    @property
    def is_failing(self) -> bool:
        """Whether it was queried and does not respond."""
        return self.is_silent and self.status != 'not permitted'

    def most_joules(self, seconds: float) -> float:
        """Return the energy that a GPU may have used in some seconds at most.

        It may exceed its power limit for a moment, and its counter may be read late.
        """
        known = (self.power_limit_mw, self.info.max_power_limit_mw, self.power_usage_mw)
        watts = max((mw / 1000 for mw in known if mw is not None), default=UNKNOWN_WATTS)
        return OVERSHOOT * watts * (seconds + LATE_SECONDS)

    def extended_value(self, name: str) -> Value:
        """Return the value of a metric of tier *extended*, ``None`` if it is missing."""
        return next((value for key, value in self.extended if key == name), None)

    def value_of(self, metric: Metric) -> Any:
        """Return the value of a metric in the unit of its field, ``None`` if it is not available."""
        if metric.tier == 'extended':
            return self.extended_value(metric.field)
        return getattr(self.info if metric.tier == 'static' else self, metric.field)


class ParentProcess(NamedTuple):
    """The parent of a zombie, which has to collect its exit status."""

    pid: int
    start_time: float
    name: str | None = None
    username: str | None = None
    #: Whether the user of this program may signal it, and it is neither this program nor its ancestor.
    is_own: bool = False


class ProcessSample(NamedTuple):
    """One process on one leaf device."""

    key: ProcessKey
    #: ``'C'``, ``'G'``, ``'C+G'``, ``'M'`` (MPS), or ``None``.
    type: str | None = None
    status: ProcessStatus = 'running'
    username: str | None = None
    #: Whether the user of this program may signal it (own process, or root).
    is_own: bool = False
    name: str | None = None
    #: Shell-quoted command line, ``None`` if it cannot be read.
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
    #: Batch job, pod, container, unit or session; ``None``: not asked for, or not available.
    owner: Owner | None = None
    #: Whether its device has stopped listing its processes (it is lost, hangs, or the query fails),
    #: so that this process was on it when last seen. It has no values of the device.
    is_outdated: bool = False
    #: Only of a zombie.
    parent: ParentProcess | None = None
    #: Time since it last used any part of its device, as far as observed: a short use between two
    #: measurements may go unnoticed. ``None`` if unknown, and when it is seen for the first time.
    gpu_idle_seconds: float | None = None
    #: Whether it has been idle since it was first seen, so that the true time may be longer.
    is_idle_longer: bool = False
    #: CPU usage and disk reads including descendants; only of ``Demand.detailed_process``.
    tree_cpu_percent: float | None = None
    disk_read_kib_per_s: int | None = None
    #: Number of its threads, and its working directory; only of ``Demand.detailed_process``.
    thread_count: int | None = None
    directory: str | None = None

    @property
    def identity(self) -> tuple[int, float]:
        """PID and start time, the same on all devices."""
        return self.key.identity


class HostProcessSample(NamedTuple):
    """One host process of the tree screen: a GPU process, an ancestor or a direct child of one."""

    pid: int
    start_time: float
    parent_pid: int | None = None
    username: str | None = None
    is_own: bool = False
    status: ProcessStatus = 'running'
    command: str | None = None
    #: Devices on which it runs, empty if none.
    devices: tuple[DeviceKey, ...] = ()
    thread_count: int | None = None
    cpu_percent: float | None = None
    memory_percent: float | None = None
    running_time_seconds: float | None = None
    name: str | None = None

    @property
    def identity(self) -> tuple[int, float]:
        """PID and start time."""
        return self.pid, self.start_time


class NetworkSample(NamedTuple):
    """A network interface; its counters start at boot."""

    name: str
    sent_bytes: int
    received_bytes: int
    sent_packets: int
    received_packets: int


class DiskSample(NamedTuple):
    """A disk or partition; its counters start at boot."""

    name: str
    read_bytes: int
    written_bytes: int


class FilesystemSample(NamedTuple):
    """A mounted local file system. The percentage leaves out blocks reserved for root."""

    mount_point: str
    total_bytes: int
    used_bytes: int
    free_bytes: int
    used_percent: float


class HostIo(NamedTuple):
    """Input and output of the host, and its free memory without caches."""

    memory_free_bytes: int | None = None
    networks: tuple[NetworkSample, ...] = ()
    disks: tuple[DiskSample, ...] = ()
    filesystems: tuple[FilesystemSample, ...] = ()


class HostSample(NamedTuple):
    """Values measured on the host."""

    hostname: str = ''
    username: str = ''
    is_superuser: bool = False
    #: PIDs of nvitop and its ancestors, which a signal to one of them may end.
    own_ancestry: tuple[int, ...] = ()
    #: Name of the WSL distribution, ``''`` outside WSL.
    wsl: str = ''
    cpu_percent: float | None = None
    cpu_count: int | None = None
    #: Usage of each logical CPU; empty unless the demand includes it, and before the second reading.
    cpu_core_percents: tuple[float, ...] = ()
    load_average: tuple[float, float, float] | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    memory_percent: float | None = None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    swap_percent: float | None = None
    uptime_seconds: float | None = None
    #: Empty unless the demand includes it.
    io: HostIo = HostIo()


#: A device as a whole.
STATUS = 'status'
#: The list of compute processes of a device, or the processes of the host.
PROCESSES = 'processes'
GRAPHICS_PROCESSES = 'graphics_processes'
MPS_PROCESSES = 'mps_processes'
PROCESS_UTILIZATION = 'process_utilization'
#: Owners of processes.
OWNER = 'owner'
#: Kinds of problems that are not failures: the value does not exist, or this user may not read it.
NO_FAILURES: frozenset[ProblemKind] = frozenset({'na', 'denied'})


class Problem(NamedTuple):
    """Why a value is missing, for people."""

    subject: Subject
    #: The missing value: the name of a metric, or of something else that is read, as ``'processes'``.
    what: str
    #: The reason in words, the driver's if it gave one: ``'Not Supported'``.
    reason: str
    kind: ProblemKind = 'na'

    @property
    def device(self) -> DeviceKey | None:
        """The device, if the problem is about one."""
        return self.subject if isinstance(self.subject, DeviceKey) else None

    @property
    def is_failure(self) -> bool:
        """Whether something failed, as opposed to a value that does not exist."""
        return self.kind not in NO_FAILURES

    @property
    def hides_processes(self) -> bool:
        """Whether the driver did not list the processes of a device."""
        return self.what == PROCESSES and self.kind != 'impossible'


def subject_text(subject: Subject) -> str:
    """Return the subject of a problem for people: ``'GPU 0:1'``, ``'process 42'``, ``'host'``."""
    if isinstance(subject, DeviceKey):
        return f'GPU {subject.label}'
    return subject if isinstance(subject, str) else f'process {subject}'


class Cost(NamedTuple):
    """Cost of taking a sample."""

    seconds: float = 0.0
    nvml_calls: int = 0
    #: CPU time of the whole program since its start.
    cpu_seconds: float = 0.0


class DeviceEvent(NamedTuple):
    """An error that the driver announced for a GPU, once or several times."""

    device: DeviceKey
    #: ``'xid'``, ``'memory error'`` or ``'unavailable'``; in the kernel log also ``'init failed'``,
    #: ``'gsp timeout'`` or ``'nvswitch'``.
    kind: str
    #: The number of the Xid or of the error of an NVSwitch, 0 for others.
    code: int = 0
    #: When it first and last happened, in seconds since the epoch.
    first: float = 0.0
    last: float = 0.0
    times: int = 1
    #: Whether the GPU has recovered since.
    is_over: bool = False
    #: What the kernel log says about it, if that matters.
    text: str = ''


class ClaimSample(NamedTuple):
    """A claim of a device, see :mod:`nvitop.claims`. Other users have written its texts."""

    uuid: str
    username: str = ''
    pid: int = 0
    #: Seconds since the epoch.
    since: float = 0.0
    command: str | None = None


class JobSample(NamedTuple):
    """A job of a batch system on this machine, and the GPUs that it was given."""

    #: Kind and ID, as of owners: ``'slurm'``, ``'42'``.
    kind: str
    id: str
    username: str = ''
    account: str = ''
    partition: str = ''
    #: Indices of its GPUs.
    gpus: tuple[int, ...] = ()


class Sample(NamedTuple):
    """The state of a machine at one moment."""

    #: When the sample was complete, in seconds since the epoch and on the monotonic clock.
    timestamp: float
    monotonic: float = 0.0
    #: Counts up from 1; 0 is the empty sample before the first one.
    sequence: int = 0
    driver_version: str | None = None
    cuda_driver_version: str | None = None
    #: Name of the scenario if the machine is simulated, otherwise ``''``.
    simulated: str = ''
    host: HostSample = HostSample()
    #: GPUs and their MIG devices in natural order. A lost GPU keeps its place.
    devices: tuple[DeviceSample, ...] = ()
    #: Processes on leaf devices in natural order (device, user, PID).
    processes: tuple[ProcessSample, ...] = ()
    #: Only if the demand includes them.
    host_processes: tuple[HostProcessSample, ...] = ()
    problems: tuple[Problem, ...] = ()
    cost: Cost = Cost()
    #: When the processes were measured (monotonic): they may be older than the devices.
    processes_monotonic: float = 0.0
    #: PCI bus IDs of GPUs that are on the bus but not listed by the driver, ``''`` if unknown.
    missing_gpus: tuple[str, ...] = ()
    #: Errors that the driver has announced since this program watches them, the newest last.
    events: tuple[DeviceEvent, ...] = ()
    #: Claims of these devices.
    claims: tuple[ClaimSample, ...] = ()
    #: Jobs of batch systems; only if the demand includes them.
    jobs: tuple[JobSample, ...] = ()
    #: Whether it is too old to say which devices are free now.
    is_late: bool = False

    def claim_of(self, device: DeviceSample) -> ClaimSample | None:
        """Return the claim of a device."""
        return next((claim for claim in self.claims if claim.uuid == device.key.uuid), None)


#: The sample before the first one is taken.
EMPTY_SAMPLE = Sample(timestamp=0.0)


class Origin(NamedTuple):
    """Where samples come from, and what can be done with their processes."""

    #: Whether samples show the present; a recording shows the past.
    is_live: bool = True
    #: Why processes cannot be signaled; ``''``: they can.
    no_signals: str = ''
    #: The machine to which the source is connected; ``''``: this machine, or a file.
    host: str = ''
    #: Why no new samples arrive, for people: ``'no samples for 12 s'``; ``''``: they do.
    trouble: str = ''
    #: Whether another time can be shown.
    can_travel: bool = False
    #: Speed at which a recording is replayed.
    speed: float = 1.0
    is_paused: bool = False
    #: Whether it was chosen from a list of machines, to which one goes back.
    is_chosen: bool = False

    @property
    def can_signal(self) -> bool:
        return not self.no_signals


#: Samples of this machine.
LIVE = Origin()


class Demand(NamedTuple):
    """The values that the viewer shows now. Nothing else is measured."""

    #: Metrics of tier *shown* or *extended* that are on the screen, by name, for all devices.
    shown_metrics: tuple[str, ...] = ()
    #: Keys of the processes whose CPU %, memory and command are on the screen; ``None``: all.
    visible_processes: tuple[ProcessKey, ...] | None = None
    processes: bool = True
    #: Whether encoder and decoder utilization of processes are shown.
    process_codec: bool = False
    #: Whether owners of processes are shown.
    owners: bool = False
    #: Whether more than kind, ID and name of the owners is needed.
    owner_details: bool = True
    #: Whether jobs of batch systems are needed, even those without a process on a GPU.
    jobs: bool = False
    host_processes: bool = False
    #: The process that is measured with its descendants.
    detailed_process: ProcessKey | None = None
    #: Whether network interfaces, disks and file systems of the host are shown.
    host_io: bool = False
    #: Whether the usage of each CPU is shown.
    cpu_cores: bool = False

    def includes(self, other: Demand) -> bool:
        """Whether everything that another demand needs is measured for this one, too."""
        visible, needed = self.visible_processes, other.visible_processes
        return (
            set(self.shown_metrics) >= set(other.shown_metrics)
            and (visible is None or (needed is not None and set(visible) >= set(needed)))
            and other.detailed_process in (None, self.detailed_process)
            and all(has or not needs for has, needs in zip(self, other) if needs is True)
        )


class Source(Protocol):
    """A source of samples: the live machine, a recording, another host, or a test.

    A source is used by one thread at a time.
    """

    @property
    def origin(self) -> Origin:
        """Where the last sample comes from. It may change with each sample."""

    def sample(self, demand: Demand) -> Sample:
        """Measure what is due for this demand; the rest of the sample is as before.

        A source should return within seconds whatever the driver does, and report failures in
        :attr:`Sample.problems`.
        """

    def next_due(self) -> float:
        """Return when something falls due next, on the monotonic clock."""

    def refresh(self) -> None:
        """Make everything due now."""


@runtime_checkable
class EventSource(Protocol):
    """A source that learns of errors without a sample."""

    def watch_events(self, on_event: Callable[[], None] | None) -> None:
        """Call a function, in another thread, when an error is announced; ``None``: stop."""


class MonitoredSource(Source, Protocol):
    """A source for the monitor."""

    @property
    def threads_inside(self) -> int:
        """Number of threads inside calls now; unless it is 0, leave the process by ``os._exit``."""
