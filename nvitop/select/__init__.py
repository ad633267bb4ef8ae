# SPDX-License-Identifier: Apache-2.0
"""``nvisel`` and :func:`select_devices`: pick the devices that are free enough."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Iterable,
    List,
    Optional,
    Sequence,
    TypeVar,
    overload,
)

from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.api.libnvml._errors import is_harmless, is_lost
from nvitop.api.utils import human2bytes
from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from typing import Literal

    from nvitop.api.process import GpuProcess

__all__ = ['select_devices']

T = TypeVar('T')

FORMATS = ('index', 'uuid', 'device')


class Criteria(NamedTuple):
    """What a device must have to be chosen; ``None``: anything will do."""

    min_free_memory: int | None = None  # bytes
    min_total_memory: int | None = None  # bytes
    max_gpu_utilization: float | None = None  # percent
    max_memory_utilization: float | None = None  # percent
    #: Percent by which the memory limits are lowered, and points by which the others are raised.
    tolerance: float = 0


class SelectOptions(NamedTuple):
    """How many devices are wanted, and in which form."""

    min_count: int = 0
    max_count: int | None = None
    format: str = 'index'
    force_index: bool = False
    sort: bool = True
    #: Memory that processes of these users hold counts as free.
    accounts: frozenset[str] = frozenset()


class Candidate(NamedTuple):
    """One leaf device and the facts that are compared; ``None`` where the driver does not tell."""

    device: Device
    free: int | None = None  # bytes
    total: int | None = None  # bytes
    used: int | None = None  # bytes
    gpu_utilization: int | None = None  # percent
    memory_utilization: int | None = None  # percent
    #: Whether what is not known of its memory could not be read now.
    is_memory_unknown: bool = False
    #: How many criteria are met only thanks to the tolerance.
    loosened: int = 0

    @property
    def is_mig(self) -> bool:
        """Whether it is a MIG device."""
        return self.device.is_mig_device()


class Selection(NamedTuple):
    """What was chosen, and what a person should know of the choice."""

    #: The chosen devices in the form that was wished for.
    chosen: list[Any]
    #: How many devices were left out because a value that is limited from above is unknown …
    unknown: int = 0
    #: … and how many because they do not answer, or have no UUID where one is needed.
    lost: int = 0


def _number(value: object) -> int | None:
    """The number, ``None`` for ``NA``."""
    return value if isinstance(value, int) else None


def _read(device: Device, accounts: frozenset[str]) -> Candidate | None:
    """Ask the driver for what is compared, and for nothing else; ``None`` for a lost device."""
    with device.oneshot():
        memory = device.memory_info()
        total, free, used = _number(memory.total), _number(memory.free), _number(memory.used)
        gpu, bandwidth = _number(device.gpu_utilization()), _number(device.memory_utilization())
        if None in (total, gpu) and _is_lost(device):
            return None
        # "Not supported" means that a device has no memory of its own, but shares the host's.
        is_memory_unknown = None in (total, free) and not isinstance(
            device.unavailable_reason('memory_info'), (type(None), libnvml.NVMLError_NotSupported)
        )
    if accounts and free is not None and used is not None:
        freed = min(used, _memory_of(device.processes(loads=False).values(), accounts))
        free, used = free + freed, used - freed
    return Candidate(device, free, total, used, gpu, bandwidth, is_memory_unknown)


def _is_lost(device: Device) -> bool:
    """Whether a device that does not tell its memory or its load does not answer at all."""
    reasons = map(device.unavailable_reason, ('memory_info', 'gpu_utilization'))
    return device.handle is None or any(
        is_lost(reason) or isinstance(reason, libnvml.NVMLError_NotFound) for reason in reasons
    )


def _memory_of(processes: Iterable[GpuProcess], accounts: frozenset[str]) -> int:
    """Device memory in bytes that processes of the accounts hold."""
    memory = 0
    for process in processes:
        with process.failsafe():
            if process.username() in accounts:
                memory += _number(process.gpu_memory()) or 0
    return memory


def _judge(candidate: Candidate, criteria: Criteria) -> tuple[Candidate | None, bool]:
    """The candidate with its loosened criteria counted, or ``None``; whether something is unknown.

    A value that is not available satisfies every lower limit and no upper limit: a device that
    does not tell its load is not known to be idle. One that could not be read satisfies neither.
    """
    loosened = 0
    unknown = False
    for limit, value in (
        (criteria.min_free_memory, candidate.free),
        (criteria.min_total_memory, candidate.total),
    ):
        if limit is not None and value is None:
            unknown = unknown or candidate.is_memory_unknown
        if limit is None or value is None or value >= limit:
            continue
        if 100 * value < limit * (100 - criteria.tolerance):
            return None, False
        loosened += 1
    for most, load in (
        (criteria.max_gpu_utilization, candidate.gpu_utilization),
        (criteria.max_memory_utilization, candidate.memory_utilization),
    ):
        if most is None:
            continue
        if load is None:
            unknown = True
        elif load > most + criteria.tolerance:
            return None, False
        elif load > most:
            loosened += 1
    return (None, True) if unknown else (candidate._replace(loosened=loosened), False)


def _order(candidate: Candidate) -> tuple[float, ...]:
    """Best first: strict before loosened, then most free memory, then least load; unknown last.

    Among equals the highest index goes first, so that GPU 0, which everybody takes, stays free.
    """

    def ascending(value: int | None) -> float:
        return math.inf if value is None else value

    return (
        candidate.loosened,
        math.inf if candidate.free is None else -candidate.free,
        ascending(candidate.used),
        ascending(candidate.gpu_utilization),
        ascending(candidate.memory_utilization),
        -candidate.device.physical_index,
    )


def _settle_mig(candidates: list[Candidate], min_count: int) -> list[Candidate]:
    """CUDA shows a program one MIG device at most, and none beside a GPU: keep one kind."""
    if not any(candidate.is_mig for candidate in candidates):
        return candidates
    whole = [candidate for candidate in candidates if not candidate.is_mig]
    if 0 < min_count <= len(whole) or not candidates[0].is_mig:
        return whole
    return candidates[:1]


def _identify(device: Device, wish: SelectOptions) -> Any:
    """The device as it is wished for; ``None`` where it has no UUID but needs one."""
    if wish.format == 'device':
        return device
    if wish.format == 'index' and (wish.force_index or not device.is_mig_device()):
        return device.index
    return str(device.uuid()) if device.uuid() else None


def _read_leaves(
    device: Device | int, wish: SelectOptions, *, names: bool
) -> list[Candidate | None]:
    """The devices below one, which may be given by its index; ``None`` for those that are lost.

    With ``names`` the driver need not be asked later what the chosen ones are called.
    """
    if isinstance(device, int):
        try:
            device = Device(device)
        except libnvml.NVMLError:
            return [None]
    with device.oneshot():
        leaves = device.to_leaf_devices()
        reason = device.unavailable_reason('mig_mode')
        if leaves == [device] and reason is not None and not is_harmless(reason):
            return [None]  # nobody knows whether it is the GPU that programs would get
    readings = [_read(leaf, wish.accounts) for leaf in leaves]
    for read in filter(None, readings) if names else ():
        _identify(read.device, wish)
    return readings


#: Does something for each device; :data:`[None] <_read_leaves>` for one that does not answer.
Gather = Callable[
    [Sequence[Callable[[], List[Optional[Candidate]]]]], List[List[Optional[Candidate]]]
]


def _one_by_one(steps: Sequence[Callable[[], T]]) -> list[T]:
    return [step() for step in steps]


def select(
    devices: Iterable[Device | int] | None,
    criteria: Criteria,
    wish: SelectOptions,
    gather: Gather = _one_by_one,
) -> Selection:
    """Choose among the devices given, or among all; ``gather`` asks them.

    Raises:
        nvitop.NVMLError: The driver does not answer, and no devices are given.
    """
    if devices is None:
        devices = range(libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False))
    names = gather is not _one_by_one
    steps = [functools.partial(_read_leaves, device, wish, names=names) for device in devices]
    candidates: list[Candidate] = []
    unknown = lost = 0
    for read in itertools.chain.from_iterable(gather(steps)):
        if read is None:
            lost += 1
            continue
        judged, is_unknown = _judge(read, criteria)
        unknown += is_unknown
        if judged is not None:
            candidates.append(judged)
    if wish.sort:
        candidates.sort(key=_order)
    chosen: list[Any] = []
    for candidate in _settle_mig(candidates, wish.min_count):
        if wish.max_count is not None and len(chosen) >= wish.max_count:
            break
        identifier = _identify(candidate.device, wish)
        if identifier is None:
            lost += 1
        else:
            chosen.append(identifier)
    return Selection(chosen, unknown, lost)


def _limit_in_bytes(name: str, size: float | str | None) -> int | None:
    """A limit in bytes from a number or a human-readable size."""
    if size is None:
        return None
    try:
        return human2bytes(size if isinstance(size, str) else int(size))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f'{name}: not a size such as 4GiB or 500M: {size!r}') from None


@overload
def select_devices(
    devices: Iterable[Device] | None = ...,
    *,
    format: Literal['device'],
    force_index: bool = ...,
    min_count: int = ...,
    max_count: int | None = ...,
    min_free_memory: int | str | None = ...,
    min_total_memory: int | str | None = ...,
    max_gpu_utilization: float | None = ...,
    max_memory_utilization: float | None = ...,
    tolerance: float = ...,
    free_accounts: str | Iterable[str] | None = ...,
    sort: bool = ...,
    **kwargs: object,
) -> list[Device]: ...
@overload
def select_devices(
    devices: Iterable[Device] | None = ...,
    *,
    format: Literal['uuid'],
    force_index: bool = ...,
    min_count: int = ...,
    max_count: int | None = ...,
    min_free_memory: int | str | None = ...,
    min_total_memory: int | str | None = ...,
    max_gpu_utilization: float | None = ...,
    max_memory_utilization: float | None = ...,
    tolerance: float = ...,
    free_accounts: str | Iterable[str] | None = ...,
    sort: bool = ...,
    **kwargs: object,
) -> list[str]: ...
@overload
def select_devices(
    devices: Iterable[Device] | None = ...,
    *,
    format: Literal['index'] = ...,
    force_index: bool = ...,
    min_count: int = ...,
    max_count: int | None = ...,
    min_free_memory: int | str | None = ...,
    min_total_memory: int | str | None = ...,
    max_gpu_utilization: float | None = ...,
    max_memory_utilization: float | None = ...,
    tolerance: float = ...,
    free_accounts: str | Iterable[str] | None = ...,
    sort: bool = ...,
    **kwargs: object,
) -> list[int | tuple[int, int] | str]: ...
def select_devices(
    devices: Iterable[Device] | None = None,
    *,
    format: str = 'index',
    force_index: bool = False,
    min_count: int = 0,
    max_count: int | None = None,
    min_free_memory: int | str | None = None,
    min_total_memory: int | str | None = None,
    max_gpu_utilization: float | None = None,
    max_memory_utilization: float | None = None,
    tolerance: float = 0,
    free_accounts: str | Iterable[str] | None = None,
    sort: bool = True,
    **kwargs: object,
) -> Sequence[object]:
    """The devices that meet all criteria, best first.

    A value that the driver does not tell meets every lower limit, no upper limit, and sorts last.
    Devices that do not answer at all are never chosen. If the best device is a MIG device, it is
    the only one: CUDA shows a program one at most. If another one is, or ``min_count`` GPUs that
    are not split meet the criteria, no MIG device is chosen.

    >>> os.environ['CUDA_VISIBLE_DEVICES'] = ','.join(
    ...     select_devices(format='uuid', min_count=2, max_count=2, min_free_memory='8GiB')
    ... )

    Args:
        devices: Where to choose from; ``None``: all GPUs. A GPU that is split into MIG devices
            stands for these.
        format: What to return: ``'index'`` (index in NVML; the UUID of a MIG device, as CUDA takes
            it), ``'uuid'`` or ``'device'``.
        force_index: Return the index of a MIG device too: a pair (GPU index, MIG index).
        min_count: How many are wanted. Where there are fewer they are returned with a warning.
        max_count: How many are returned at most; ``None``: all.
        min_free_memory: Bytes, or a text such as ``'4GiB'``.
        min_total_memory: Bytes, or a text such as ``'4GiB'``.
        max_gpu_utilization: Percent.
        max_memory_utilization: Percent of the memory bandwidth.
        tolerance: Percent by which memory limits are lowered, and points by which the others are
            raised. Devices that need it come after those that do not.
        free_accounts: Names of users: memory that their processes hold counts as free.
        sort: Best first: most free memory, then least used memory, then least load of GPU, then of
            memory, then highest index. ``False``: in the order in which they are given.
        **kwargs: Others are ignored with a warning.

    Raises:
        ValueError: A format that is none, a negative count or tolerance, a maximum below the
            minimum, or a size that cannot be read.
        nvitop.NVMLError: The driver does not answer, and no devices are given.

    Warns:
        RuntimeWarning: There are fewer devices than ``min_count``.
        UserWarning: There are keywords that mean nothing here.

    At most three calls of NVML are made for each device beside its handle, one more if its UUID is
    returned, and with ``free_accounts`` those for the lists of processes.
    """
    if kwargs:
        names = ', '.join(sorted(kwargs))
        warnings.warn(f'select_devices() ignores what it does not know: {names}', stacklevel=2)
    _check(format, min_count, max_count, tolerance)
    criteria = Criteria(
        _limit_in_bytes('min_free_memory', min_free_memory),
        _limit_in_bytes('min_total_memory', min_total_memory),
        max_gpu_utilization,
        max_memory_utilization,
        tolerance,
    )
    accounts = [free_accounts] if isinstance(free_accounts, str) else free_accounts or ()
    wish = SelectOptions(min_count, max_count, format, force_index, sort, frozenset(accounts))
    chosen = select(devices, criteria, wish).chosen
    if len(chosen) < min_count:
        warnings.warn(too_few(len(chosen), min_count), RuntimeWarning, stacklevel=2)
    return chosen


def _check(form: str, min_count: int, max_count: int | None, tolerance: float) -> None:
    if form not in FORMATS:
        raise ValueError(f"format must be 'index', 'uuid' or 'device', not {form!r}")
    if not tolerance >= 0:
        raise ValueError(f'tolerance must not be negative, not {tolerance!r}')
    if min_count < 0 or (max_count is not None and max_count < 0):
        raise ValueError(f'counts must not be negative: {min_count!r}, {max_count!r}')
    if max_count is not None and max_count < min_count:
        raise ValueError(f'max_count ({max_count}) is less than min_count ({min_count})')


def too_few(found: int, wanted: int) -> str:
    """That there are fewer devices than wanted, in words."""
    return f'not enough devices: {wanted} wanted, {found} found'


def main(arguments: list[str] | None = None) -> int:
    """The command ``nvisel``; the exit status."""
    from nvitop.select.command import main as run  # the library needs no command line

    return run(arguments)
