# SPDX-License-Identifier: GPL-3.0-only
"""Which processes are listed, and in which order. Pure functions over samples."""

from __future__ import annotations

from typing import Callable, FrozenSet, Iterable, Optional, Sequence, Tuple

from nvitop.gui.model.choices import ProcessFilter, Sort
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import ProcessSample

#: Values to compare one after the other; ``None``: not available.
Values = Tuple[object, ...]
Types = FrozenSet[Optional[str]]


class Order(NamedTuple):
    """A way to sort the processes."""

    name: str
    #: The key that chooses it after ``o``.
    letter: str
    #: Whether the highest come first.
    is_descending: bool
    values: Callable[[ProcessSample], Values]


def _natural(process: ProcessSample) -> Values:
    return (process.key.device, process.status == 'gone', process.username, process.key.pid)


def _username(process: ProcessSample) -> Values:
    return (process.status == 'gone', process.username, process.key.pid, process.key.device)


def _by(*fields: str) -> Callable[[ProcessSample], Values]:
    def values(process: ProcessSample) -> Values:
        pid, _, device = process.key
        return (*(getattr(process, field) for field in fields), pid, device)

    return values


# fmt: off
#: In the order in which ``,`` and ``.`` go through them.
ORDERS: tuple[Order, ...] = (
    Order('natural', 'n', False, _natural),
    Order('pid', 'p', False, _by()),
    Order('username', 'u', False, _username),
    Order('gpu_memory', 'g', True, _by('gpu_memory_bytes', 'gpu_sm_utilization_percent', 'cpu_percent')),
    Order('sm_utilization', 's', True, _by('gpu_sm_utilization_percent', 'gpu_memory_bytes', 'cpu_percent')),
    Order('gpu_memory_utilization', 'b', True, _by('gpu_memory_utilization_percent', 'gpu_memory_bytes', 'cpu_percent')),
    Order('cpu_percent', 'c', True, _by('cpu_percent', 'memory_percent')),
    Order('memory_percent', 'm', True, _by('memory_percent', 'cpu_percent')),
    Order('time', 't', True, _by('running_time_seconds')),
)
# fmt: on

ORDERS_BY_NAME: dict[str, Order] = {order.name: order for order in ORDERS}


def is_descending(sort: Sort) -> bool:
    """Whether the highest come first."""
    return ORDERS_BY_NAME[sort.order].is_descending != sort.reverse


def sort_processes(processes: Iterable[ProcessSample], sort: Sort) -> list[ProcessSample]:
    """The processes in this order. What is not available comes last, whichever way it sorts."""
    values = ORDERS_BY_NAME[sort.order].values
    descending = is_descending(sort)
    last = not descending

    def key(process: ProcessSample) -> list[object]:
        # Flat, because every process is compared after every measurement. What stands for a missing
        # value is compared with its like alone: the flag before it differs from all others.
        flat: list[object] = []
        for value in values(process):
            if value is None:
                flat += (last, 0)
            elif value.__class__ is bool:
                # Gone processes stay last among their equals too, so their flag never turns round.
                flat += (not last, value != descending)
            else:
                flat += (not last, value)
        return flat

    return sorted(processes, key=key, reverse=descending)


def next_order(name: str, step: int) -> str:
    """The name of the order that comes ``step`` after this one, round and round."""
    names = [order.name for order in ORDERS]
    return names[(names.index(name) + step) % len(names)]


#: Processes that use the GPU for this, also or only. What has no known type may be *only* compute.
COMPUTE: Types = frozenset({'C', 'C+G', 'M'})
ONLY_COMPUTE: Types = frozenset({'C', 'M', None})
GRAPHICS: Types = frozenset({'G', 'C+G'})
ONLY_GRAPHICS: Types = frozenset({'G'})


def intersect_types(*kinds: Types | None) -> Types | None:
    """The types that all of ``kinds`` name; ``None`` names all."""
    given = [types for types in kinds if types is not None]
    return frozenset.intersection(*given) if given else None


def is_listed(process: ProcessSample, wanted: ProcessFilter) -> bool:
    """Whether the process meets the filter."""
    return (
        (wanted.users is None or process.username in wanted.users)
        and (wanted.pids is None or process.key.pid in wanted.pids)
        and (wanted.types is None or process.type in wanted.types)
    )


def list_processes(
    processes: Sequence[ProcessSample], wanted: ProcessFilter, sort: Sort
) -> tuple[ProcessSample, ...]:
    """The processes that meet the filter, sorted: the rows of the process panel."""
    if wanted != ProcessFilter():
        processes = [process for process in processes if is_listed(process, wanted)]
    return tuple(sort_processes(processes, sort))
