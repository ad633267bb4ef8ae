# SPDX-License-Identifier: Apache-2.0
"""Reading devices, leaving out broken ones, and choosing among them; :func:`select_devices`."""

from __future__ import annotations

import functools
import itertools
import math
import time
import warnings
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Iterable,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    TypeVar,
)

from nvitop.api import libnvml
from nvitop.api.device import Device, MigDevice
from nvitop.api.device.handles import start_nvml
from nvitop.api.libnvml._errors import is_harmless, is_lost
from nvitop.api.system import system
from nvitop.basics.units import NA, KiB, human2bytes
from nvitop.claims.records import claimed_by_others
from nvitop.health.rules import CRITICAL_METRICS, findings
from nvitop.platforms import stuck_calls
from nvitop.sampling.device_reader import DeviceLostError, DeviceReader
from nvitop.sampling.plan import Due
from nvitop.sampling.types import PROCESSES, DeviceKey, Sample

if TYPE_CHECKING:
    from nvitop.api.process import GpuProcess
    from nvitop.health.types import Finding

T = TypeVar('T')
#: Calls functions that read devices; the result of one that does not respond is ``[None]``.
Gather = Callable[
    [Mapping[int, Callable[[], List[Optional['Candidate']]]]],
    Iterable[List[Optional['Candidate']]],
]

FORMATS = ('index', 'uuid', 'device')
#: Time (seconds) between two attempts of ``wait=True``.
WAIT_SECONDS = 5.0
_METRICS = frozenset(CRITICAL_METRICS) - {PROCESSES}


def _read_for_judgement(gpu: Device) -> DeviceReader:
    """Read the values of a GPU that lead to critical findings; DeviceLostError if it is lost."""
    uuid = gpu.uuid()
    reader = DeviceReader(gpu, DeviceKey(gpu.physical_index, -1, '' if uuid is NA else str(uuid)))
    # A GPU with MIG devices has no processes of its own.
    lists = not gpu.is_mig_mode_enabled()
    reader.read(Due(slow=True, metrics=_METRICS, processes=lists, skips_process_utilization=True))
    return reader


def _critical_faults(judged: Iterable[DeviceReader]) -> dict[int, Finding]:
    """Return the most severe critical finding of each GPU that has one, by index."""
    by_key = {gpu.sample.key: gpu for gpu in judged}
    sample = Sample(
        time.time(),
        devices=tuple(gpu.sample for gpu in by_key.values()),
        problems=tuple(problem for gpu in by_key.values() for problem in gpu.problems),
    )
    faults: dict[int, Finding] = {}
    for finding in findings(sample):
        if finding.severity == 'critical':
            faults.setdefault(finding.device.physical_index, finding)
    return faults


class Criteria(NamedTuple):
    """Requirements for a device; ``None`` means no requirement."""

    min_free_memory: int | None = None  # bytes
    min_total_memory: int | None = None  # bytes
    max_gpu_utilization: float | None = None  # percent
    max_memory_utilization: float | None = None  # percent
    #: Percent by which memory limits are lowered, and points by which other limits are raised.
    tolerance: float = 0
    #: Limit of the memory in use, in percent of the total.
    max_memory_percent: float | None = None

    @property
    def has_limits(self) -> bool:
        """Whether there is any limit; otherwise every device matches."""
        return self._replace(tolerance=0) != Criteria()


#: What makes a device free for a program that gives no limits.
FREE = Criteria(max_memory_percent=10.0)


class SelectOptions(NamedTuple):
    """Number, form and order of the devices to return."""

    min_count: int = 0
    max_count: int | None = None
    format: str = 'index'
    force_index: bool = False
    sort: bool = True
    #: Memory of these users' processes counts as free.
    accounts: frozenset[str] = frozenset()
    #: Whether GPUs with critical findings are included, as :mod:`nvitop.health` judges.
    include_unhealthy: bool = False
    #: Whether devices that others have claimed are chosen, see :mod:`nvitop.claims`.
    ignore_claims: bool = False
    #: UUIDs of other devices that are not chosen.
    skipped: frozenset[str] = frozenset()
    #: Number of devices that are enough, so that no GPU that sleeps is woken; ``None``: max_count.
    enough: int | None = None


class Candidate(NamedTuple):
    """A leaf device and the values that are compared; ``None`` means not available."""

    device: Device
    #: In the requested format; ``None`` if that needs a UUID and the device has none.
    identifier: Any
    free: int | None = None  # bytes
    total: int | None = None  # bytes
    used: int | None = None  # bytes
    gpu_utilization: int | None = None  # percent
    memory_utilization: int | None = None  # percent
    #: Number of criteria that the device passes only within the tolerance.
    tolerated: int = 0
    #: Its GPU as the rules about health see it; ``None`` if health does not matter.
    judged: DeviceReader | None = None

    @property
    def memory_percent(self) -> float | None:
        return None if self.used is None or not self.total else 100 * self.used / self.total

    @property
    def is_mig(self) -> bool:
        return self.device.is_mig_device()


class Selection(NamedTuple):
    """The chosen devices, and how many were skipped for which reason."""

    #: Devices in the requested format.
    chosen: list[Any]
    #: Number of devices without a value that a criterion needs.
    unknown: int = 0
    #: Labels of devices that are lost or do not respond, or have no UUID although one is needed.
    lost: tuple[str, ...] = ()
    #: GPUs that match but have a critical finding, each with its words: ``'GPU 5: needs a reset'``.
    unhealthy: tuple[str, ...] = ()
    #: Indices of GPUs that are chosen without a limit, but known not to be free: :data:`FREE`.
    not_free: tuple[int, ...] = ()


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _read(device: Device, options: SelectOptions) -> Candidate | None:
    """Read the values that are compared, and nothing else; ``None`` for a lost device."""
    accounts = options.accounts
    with device.oneshot():
        # One driver call, through the methods that subclasses and tests override.
        total, free = _number(device.memory_total()), _number(device.memory_free())
        used = _number(device.memory_used())
        gpu, bandwidth = _number(device.gpu_utilization()), _number(device.memory_utilization())
        if None in (total, free, gpu) and _is_lost(device):
            return None
    if accounts and free is not None and used is not None:
        freed = min(used, _memory_of(device.processes(utilization=False).values(), accounts))
        free, used = free + freed, used - freed
    identifier = _identify(device, options)
    return Candidate(device, identifier, free, total, used, gpu, bandwidth)


def _is_lost(device: Device) -> bool:
    """Return whether a device without memory or utilization values does not respond at all."""
    reasons = map(device.unavailable_reason, ('memory_info', 'gpu_utilization'))
    return device.handle is None or any(
        is_lost(reason) or isinstance(reason, libnvml.NVMLError_NotFound) for reason in reasons
    )


def _memory_of(processes: Iterable[GpuProcess], accounts: frozenset[str]) -> int:
    """Return the device memory in bytes that processes of these users occupy."""
    memory = 0
    for process in processes:
        with process.failsafe():
            if process.username() in accounts:
                memory += _number(process.gpu_memory()) or 0
    return memory


def _check_limits(candidate: Candidate, criteria: Criteria) -> tuple[Candidate | None, bool]:
    """Return the candidate if it passes, and whether it fails because a value is unknown.

    An unknown value passes no limit: a device without a utilization is not known to be idle.
    """
    tolerated = 0
    unknown = False
    for minimum, memory in (
        (criteria.min_free_memory, candidate.free),
        (criteria.min_total_memory, candidate.total),
    ):
        if minimum is not None and memory is None:
            unknown = True
        if minimum is None or memory is None or memory >= minimum:
            continue
        if 100 * memory < minimum * (100 - criteria.tolerance):
            return None, False
        tolerated += 1
    for maximum, utilization in (
        (criteria.max_gpu_utilization, candidate.gpu_utilization),
        (criteria.max_memory_utilization, candidate.memory_utilization),
        (criteria.max_memory_percent, candidate.memory_percent),
    ):
        if maximum is None:
            continue
        if utilization is None:
            unknown = True
        elif utilization > maximum + criteria.tolerance:
            return None, False
        elif utilization > maximum:
            tolerated += 1
    return (None, True) if unknown else (candidate._replace(tolerated=tolerated), False)


def _order(candidate: Candidate) -> tuple[float, ...]:
    """Return the sort key: strict before tolerated, most free memory, least used; unknown last.

    Among equals the highest index is first, because programs use GPU 0 by default.
    """

    def ascending(value: int | None) -> float:
        return math.inf if value is None else value

    return (
        candidate.tolerated,
        math.inf if candidate.free is None else -candidate.free,
        ascending(candidate.used),
        ascending(candidate.gpu_utilization),
        ascending(candidate.memory_utilization),
        -candidate.device.physical_index,
    )


def _settle_mig(candidates: list[Candidate], min_count: int) -> list[Candidate]:
    """Keep GPUs or one MIG device: CUDA shows a program at most one, and none next to a GPU."""
    if not any(candidate.is_mig for candidate in candidates):
        return candidates
    whole = [candidate for candidate in candidates if not candidate.is_mig]
    if 0 < min_count <= len(whole) or not candidates[0].is_mig:
        return whole
    return candidates[:1]


def _identify(device: Device, options: SelectOptions) -> Any:
    if options.format == 'device':
        return device
    if options.format == 'index' and (options.force_index or not device.is_mig_device()):
        return device.index
    return str(device.uuid()) if device.uuid() else None


def _read_unless_stuck(
    device: Device | int, bus_id: str, options: SelectOptions
) -> list[Candidate | None]:
    index = device if isinstance(device, int) else device.physical_index
    try:
        with stuck_calls.calling(index):
            return _read_leaves(device, bus_id, options)
    except TimeoutError:  # another process hangs there
        return [None]


def _read_leaves(
    device: Device | int, bus_id: str, options: SelectOptions
) -> list[Candidate | None]:
    """Read the leaf devices of a device; ``None`` for each one that does not respond."""
    if isinstance(device, int):
        try:
            device = Device(bus_id=bus_id) if bus_id else Device(device)
        except libnvml.NVMLError:
            return [None]
    with device.oneshot():
        leaves = device.to_leaf_devices()
        reason = device.unavailable_reason('mig_mode')
        is_error = isinstance(reason, libnvml.NVMLError) and not is_harmless(reason)
        if leaves == [device] and is_error:
            return [None]  # programs may get a MIG device instead of this GPU
        candidates = [_read(leaf, options) for leaf in leaves]
        if options.include_unhealthy or not any(candidates):
            return candidates
        gpu = device.parent if isinstance(device, MigDevice) else device
        try:
            judged = _read_for_judgement(gpu)
        except DeviceLostError:
            return [None]
    return [candidate and candidate._replace(judged=judged) for candidate in candidates]


def _label(device: Device) -> str:
    index = device.index
    return ':'.join(map(str, index)) if isinstance(index, tuple) else str(index)


def read_in_turn(steps: Mapping[int, Callable[[], T]]) -> list[T]:
    """Call functions without a time limit."""
    return [step() for step in steps.values()]


def _candidates(devices: Iterable[Device] | None) -> list[Device]:
    """Return the given devices, or all GPUs; raise NVMLError if NVML cannot list them."""
    candidates = Device.all() if devices is None else list(devices)
    if devices is None and not candidates:
        libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
    return candidates


def select(
    devices: Iterable[Device | int],
    criteria: Criteria,
    options: SelectOptions,
    gather: Gather = read_in_turn,
) -> Selection:
    """Choose among the given devices, or indices of GPUs; ``gather`` reads them.

    GPUs that sleep are only woken if the others are too few, or if their number is not limited.
    """
    powers = dict(enumerate(system().gpu_powers()))
    steps, awake, labels = {}, {}, []
    for place, device in enumerate(devices):
        labels.append(str(device) if isinstance(device, int) else _label(device))
        # By index, some drivers attach all GPUs up to it.
        power = powers.get(device) if isinstance(device, int) else None
        bus_id = '' if power is None else power.bus_id
        steps[place] = functools.partial(_read_unless_stuck, device, bus_id, options)
        if power is None or not power.is_asleep:
            awake[place] = steps[place]
    enough = options.max_count if options.enough is None else options.enough
    if enough is not None and len(awake) < len(steps):
        selection = _select_among(
            dict(zip([labels[place] for place in awake], gather(awake))), criteria, options
        )
        if len(selection.chosen) >= enough:
            return selection
    return _select_among(dict(zip(labels, gather(steps))), criteria, options)


def _select_among(
    readings: Mapping[str, list[Candidate | None]], criteria: Criteria, options: SelectOptions
) -> Selection:
    candidates: list[Candidate] = []
    unhealthy: dict[str, None] = {}
    skipped = options.skipped | (frozenset() if options.ignore_claims else claimed_by_others())
    unknown, lost = 0, [label for label, reads in readings.items() if None in reads]
    read_devices = list(itertools.chain.from_iterable(readings.values()))
    faults = _critical_faults(read.judged for read in read_devices if read and read.judged)
    for read in read_devices:
        if read is None:
            continue
        passed, is_unknown = _check_limits(read, criteria)
        unknown += is_unknown
        if passed is None or (skipped and str(passed.device.uuid()) in skipped):
            continue
        fault = faults.get(passed.device.physical_index)
        if fault is not None and passed.judged is not None:
            unhealthy[f'GPU {passed.device.physical_index}: {fault.words}'] = None
        else:
            candidates.append(passed)
    if options.sort:
        candidates.sort(key=_order)
    chosen: list[Any] = []
    not_free = []
    for candidate in _settle_mig(candidates, options.min_count):
        if options.max_count is not None and len(chosen) >= options.max_count:
            break
        if candidate.identifier is None:
            lost.append(_label(candidate.device))
        else:
            chosen.append(candidate.identifier)
            if not criteria.has_limits and _check_limits(candidate, FREE) == (None, False):
                not_free.append(candidate.device.physical_index)
    return Selection(chosen, unknown, tuple(lost), tuple(unhealthy), tuple(not_free))


def criteria_from(
    min_free_memory: float | str | None,
    min_total_memory: float | str | None,
    max_gpu_utilization: float | None,
    max_memory_utilization: float | None,
    tolerance: float = 0,
) -> Criteria:
    """Check the limits of a Python function; sizes are numbers or text such as ``'4GiB'``."""

    def in_bytes(name: str, size: float | str | None) -> int | None:
        if size is None:
            return None
        try:
            size_bytes = human2bytes(size if isinstance(size, str) else int(size))
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f'{name} must be a size such as 4GiB or 500M, not {size!r}') from None
        if 0 < size_bytes < KiB:
            text = f"{name}={size!r} is {size_bytes} bytes; did you mean '{size_bytes}GiB'?"
            warnings.warn(text, UserWarning, stacklevel=4)
        return size_bytes

    for name, percent in (
        ('max_gpu_utilization', max_gpu_utilization),
        ('max_memory_utilization', max_memory_utilization),
    ):
        if percent is not None and not 0 <= percent <= 100:
            raise ValueError(f'{name} must be a number from 0 to 100, not {percent!r}')
    if not tolerance >= 0:
        raise ValueError(f'tolerance must be 0 or more, not {tolerance!r}')
    return Criteria(
        in_bytes('min_free_memory', min_free_memory),
        in_bytes('min_total_memory', min_total_memory),
        max_gpu_utilization,
        max_memory_utilization,
        tolerance,
    )


def user_names(accounts: str | Iterable[str] | None) -> frozenset[str]:
    """Return the names of one user, of several, or of none."""
    return frozenset([accounts] if isinstance(accounts, str) else accounts or ())


def select_devices(
    devices: Iterable[Device] | None = None,
    *,
    format: str = 'index',
    force_index: bool = False,
    count: int | None = None,
    min_count: int = 0,
    max_count: int | None = None,
    min_free_memory: int | str | None = None,
    min_total_memory: int | str | None = None,
    max_gpu_utilization: float | None = None,
    max_memory_utilization: float | None = None,
    tolerance: float = 0,
    free_accounts: str | Iterable[str] | None = None,
    sort: bool = True,
    include_unhealthy: bool = False,
    wait: bool | float = False,
    timeout: float | None = None,
    ignore_claims: bool = False,
) -> list[Any]:
    """Return the devices that match all criteria, best first. Without limits, all devices match.

    Unknown values fail limits and sort last. Devices that do not respond are never chosen. CUDA shows a program at most one MIG device: if that is the best device
    and fewer than ``min_count`` whole GPUs match, it is returned alone; otherwise none is returned.

    >>> uuids = select_devices(format='uuid', min_count=2, max_count=2, min_free_memory='8GiB')
    >>> os.environ['CUDA_VISIBLE_DEVICES'] = ','.join(uuids)

    Args:
        devices: Devices to choose from; ``None``: all GPUs. MIG devices take the place of their GPU.
        format: ``'index'`` (UUIDs of MIG devices), ``'uuid'`` or ``'device'``.
        force_index: Return indices of MIG devices too, as pairs (GPU index, MIG index).
        count: Sets ``min_count`` and ``max_count``, as ``nvisel --count`` does.
        min_count: Number of devices that are needed; if fewer match, they are returned anyway.
        max_count: Maximum number of devices to return; ``None``: all.
        min_free_memory: Bytes, or text such as ``'4GiB'``; so is ``min_total_memory``.
        max_gpu_utilization: Percent; so is ``max_memory_utilization``, of the memory bandwidth.
        tolerance: Percent by which memory limits are lowered, and points by which others are raised.
        free_accounts: Names of users whose processes' memory counts as free.
        sort: Best first: without tolerance, most free memory, least used, lowest utilization, highest
            index. ``False``: keep the order of ``devices``.
        include_unhealthy: Return GPUs with critical findings too, such as memory errors.
        wait: Wait until ``min_count`` devices match, and at least one; a number is the time in
            seconds between two attempts (``True``: 5). :func:`nvitop.claim` also reserves them.
        timeout: Maximum time to wait, in seconds; ``None``: forever.
        ignore_claims: Return devices too that others have claimed with :func:`nvitop.claim`.

    Raises:
        ValueError: Unknown format, impossible counts, tolerance or times, or an invalid limit.
        TimeoutError: Too few devices match after ``timeout`` seconds.
        NVMLError: There is no driver to wait for; without ``wait`` this is a warning.

    Warns:
        RuntimeWarning: The driver does not work, GPUs with critical findings are left out, or fewer
            than ``min_count`` devices match.
    """
    if count is not None:
        min_count = max_count = count
    if format not in FORMATS:
        raise ValueError(f"format must be 'index', 'uuid' or 'device', not {format!r}")
    if min_count < 0 or (max_count is not None and max_count < 0):
        raise ValueError(f'counts must be 0 or more, not {min_count!r} and {max_count!r}')
    if max_count is not None and max_count < min_count:
        raise ValueError(f'max_count ({max_count}) is less than min_count ({min_count})')
    criteria = criteria_from(
        min_free_memory, min_total_memory, max_gpu_utilization, max_memory_utilization, tolerance
    )
    form = (format, force_index, sort, user_names(free_accounts), include_unhealthy, ignore_claims)
    options = SelectOptions(min_count, max_count, *form)
    devices = None if devices is None else list(devices)  # an iterator yields them only once
    if wait is not False:
        period = WAIT_SECONDS if wait is True else wait
        if not (period > 0 and (timeout is None or timeout >= 0)):
            raise ValueError(f'wait and timeout must be positive, not {period!r} and {timeout!r}')
        options = options._replace(min_count=max(min_count, 1))
        chosen = select_in_time(
            lambda: select(_candidates(devices), criteria, options),
            options.min_count,
            timeout,
            period,
        ).chosen
        if len(chosen) < options.min_count:
            raise TimeoutError(f'{too_few(len(chosen), options.min_count)} after {timeout:g} s')
        return chosen
    if timeout is not None:
        raise ValueError('timeout needs wait=True')
    try:
        candidates = _candidates(devices)
    except libnvml.NVMLError as error:
        text = f'select_devices() returns no device: {error}'
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return []
    selection = select(candidates, criteria, options)
    if selection.unhealthy:
        text = f'select_devices() left out {"; ".join(selection.unhealthy)}'
        warnings.warn(f'{text} (see include_unhealthy)', RuntimeWarning, stacklevel=2)
    if len(selection.chosen) < min_count:
        warnings.warn(too_few(len(selection.chosen), min_count), RuntimeWarning, stacklevel=2)
    return selection.chosen


def select_in_time(
    choose: Callable[[], Selection],
    needed: int,
    timeout: float | None,
    period: float = WAIT_SECONDS,
    *,
    on_wait: Callable[[Selection], object] = lambda _: None,
) -> Selection:
    """Choose until enough devices match or the time (seconds) is over; return the last choice.

    ``on_wait`` is called before each pause, which takes ``period`` seconds.
    """
    end = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        selection, remaining = choose(), end - time.monotonic()
        if len(selection.chosen) >= needed or remaining <= 0:
            return selection
        on_wait(selection)
        time.sleep(min(period, remaining))


def all_gpus() -> Sequence[int]:
    """Start NVML, and return the indices of all GPUs; raise NVMLError without a driver."""
    start_nvml()
    return range(libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False))


def too_few(matching: int, wanted: int) -> str:
    """Return the message that fewer devices match than are needed."""
    return f'not enough devices: {wanted} required, {matching} found'
