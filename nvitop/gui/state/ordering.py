# SPDX-License-Identifier: GPL-3.0-only
"""Choosing and sorting the processes of a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Tuple

from nvitop.gui.model.choices import ProcessFilter, Sort
from nvitop.gui.model.columns import owner_text
from nvitop.sampling.types import ProcessSample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    #: Values to compare in turn; ``None`` if not available.
    Values = Tuple[object, ...]


class Order(NamedTuple):
    """A way to sort processes."""

    name: str
    #: The key after ``o``.
    letter: str
    #: Whether the highest values come first.
    is_descending: bool
    values: Callable[[ProcessSample], Values]


def _natural(process: ProcessSample) -> Values:
    return (process.key.device, process.status == 'gone', process.username, process.key.pid)


def _username(process: ProcessSample) -> Values:
    return (process.status == 'gone', process.username, process.key.pid, process.key.device)


def _owner(process: ProcessSample) -> Values:
    is_known = process.owner is not None and bool(process.owner.kind)
    text = owner_text(process) if is_known else None
    return (text, process.username, process.key.pid, process.key.device)


def _by(*fields: str) -> Callable[[ProcessSample], Values]:
    def values(process: ProcessSample) -> Values:
        pid, _, device = process.key
        return (*(getattr(process, field) for field in fields), pid, device)

    return values


def _time(process: ProcessSample) -> Values:
    # Running times of processes that started together differ by when they were measured.
    pid, start_time, device = process.key
    is_known = process.running_time_seconds is not None and start_time >= 0
    return (-start_time if is_known else process.running_time_seconds, -pid, device)


# fmt: off
#: ``,`` and ``.`` step through them in this order.
ORDERS: tuple[Order, ...] = (
    Order('natural', 'n', False, _natural),
    Order('pid', 'p', False, _by()),
    Order('username', 'u', False, _username),
    Order('owner', 'w', False, _owner),
    Order('gpu_memory', 'g', True, _by('gpu_memory_bytes', 'gpu_sm_utilization_percent', 'cpu_percent')),
    Order('sm_utilization', 's', True, _by('gpu_sm_utilization_percent', 'gpu_memory_bytes', 'cpu_percent')),
    Order('gpu_memory_utilization', 'b', True, _by('gpu_memory_utilization_percent', 'gpu_memory_bytes', 'cpu_percent')),
    Order('idle', 'i', True, _by('gpu_idle_seconds', 'gpu_memory_bytes')),
    Order('cpu_percent', 'c', True, _by('cpu_percent', 'memory_percent')),
    Order('memory_percent', 'm', True, _by('memory_percent', 'cpu_percent')),
    Order('time', 't', True, _time),
)
# fmt: on

ORDERS_BY_NAME: dict[str, Order] = {order.name: order for order in ORDERS}


def is_descending(sort: Sort) -> bool:
    """Whether the highest values come first."""
    return ORDERS_BY_NAME[sort.order].is_descending != sort.reverse


def sort_processes(processes: Iterable[ProcessSample], sort: Sort) -> list[ProcessSample]:
    """Return the processes in this order. Unavailable values come last in both directions."""
    values = ORDERS_BY_NAME[sort.order].values
    descending = is_descending(sort)
    last = not descending

    def key(process: ProcessSample) -> list[object]:
        # A flat list is fast to compare, and all processes are compared after each measurement. The
        # flag before each value decides between missing and available ones, so that 0 is compared
        # with 0 only.
        flat: list[object] = []
        for value in values(process):
            if value is None:
                flat += (last, 0)
            elif value.__class__ is bool:
                # Processes that exited stay last in both directions.
                flat += (not last, value != descending)
            else:
                flat += (not last, value)
        return flat

    return sorted(processes, key=key, reverse=descending)


def next_order(name: str, step: int) -> str:
    """Return the name of the next (1) or previous (-1) order, wrapping around."""
    names = [order.name for order in ORDERS]
    return names[(names.index(name) + step) % len(names)]


def is_listed(process: ProcessSample, wanted: ProcessFilter) -> bool:
    """Whether a process matches the filter of the options."""
    return (
        (wanted.users is None or process.username in wanted.users)
        and (wanted.pids is None or process.key.pid in wanted.pids)
        and (wanted.types is None or process.type in wanted.types)
    )


def list_processes(
    processes: Sequence[ProcessSample], wanted: ProcessFilter, sort: Sort
) -> tuple[ProcessSample, ...]:
    """Return the rows of the process panel: the processes that match the filter, sorted."""
    if wanted != ProcessFilter():
        processes = [process for process in processes if is_listed(process, wanted)]
    return tuple(sort_processes(processes, sort))
