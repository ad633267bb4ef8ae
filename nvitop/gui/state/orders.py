# SPDX-License-Identifier: GPL-3.0-only
"""The orders of lists: of processes, and of the lines of any screen."""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple, Sequence, Tuple, TypeVar

from nvitop.gui.model.choices import ProcessFilter, Sort
from nvitop.gui.model.columns import COLUMNS, owner_text
from nvitop.gui.model.table import Column
from nvitop.gui.state.process_filter import is_listed
from nvitop.sampling.types import ProcessSample

#: Values to compare in turn; ``None`` if not available.
Values = Tuple[object, ...]
T = TypeVar('T')


class Order(NamedTuple):
    """A way to sort the lines of a screen."""

    name: str
    #: The value of a line, which is last without one; of a process, values to compare in turn.
    #: ``None``: as the lines are listed anyway.
    value: Callable[[Any], Any] | None
    is_descending: bool = True
    #: Whether it is alphabetical: from A to Z instead of lowest first.
    is_text: bool = False
    #: Whether it needs values of all processes that are otherwise measured only for visible ones.
    needs_all: bool = False
    #: What comes first instead of the highest value.
    first: str = ''
    #: The key after ``o``, and the heading: those of its column, if the list has columns.
    letter: str = ''
    title: str = ''

    def describe(self, *, reverse: bool) -> str:
        """Return the order in words: ``'UTIL, highest first'``."""
        is_descending = self.is_descending != reverse
        if self.first:
            return f'{self.title}, {self.first} {"last" if reverse else "first"}'
        if self.is_text:
            return f'{self.title}, {"Z to A" if is_descending else "A to Z"}'
        return f'{self.title}, {"highest" if is_descending else "lowest"} first'


def orders_of(columns: Iterable[Column], orders: Iterable[Order]) -> tuple[Order, ...]:
    """Return orders with the letters and titles of their columns."""
    by_order = {column.order: column for column in columns}
    return tuple(
        order._replace(letter=by_order[order.name].letter, title=by_order[order.name].title)
        for order in orders
    )


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
ORDERS: tuple[Order, ...] = orders_of(COLUMNS, (
    Order('natural', _natural, is_descending=False),
    Order('pid', _by(), is_descending=False),
    Order('username', _username, is_descending=False, is_text=True, needs_all=True),
    Order('owner', _owner, is_descending=False, is_text=True),
    Order('gpu_memory', _by('gpu_memory_bytes', 'gpu_sm_utilization_percent', 'cpu_percent')),
    Order('sm_utilization', _by('gpu_sm_utilization_percent', 'gpu_memory_bytes', 'cpu_percent')),
    Order('gpu_memory_utilization', _by('gpu_memory_utilization_percent', 'gpu_memory_bytes', 'cpu_percent')),
    Order('idle', _by('gpu_idle_seconds', 'gpu_memory_bytes')),
    Order('cpu_percent', _by('cpu_percent', 'memory_percent'), needs_all=True),
    Order('memory_percent', _by('memory_percent', 'cpu_percent'), needs_all=True),
    Order('time', _time, needs_all=True),
))
# fmt: on

ORDERS_BY_NAME: dict[str, Order] = {order.name: order for order in ORDERS}


def in_order(lines: Iterable[T], order: Order, *, reverse: bool) -> tuple[T, ...]:
    """Return lines in an order. Those without a value are last in both directions."""
    rows, value_of = tuple(lines), order.value
    if value_of is None:
        return rows[::-1] if reverse else rows
    is_descending = order.is_descending != reverse

    def key(line: T) -> list[object]:
        # A flat list is fast to compare, and all processes are compared after each measurement. The
        # flag before each value decides between missing and available ones, so that 0 is compared
        # with 0 only.
        flat: list[object] = []
        sort_value = value_of(line)
        for value in sort_value if isinstance(sort_value, tuple) else (sort_value,):
            if value is None:
                flat += (not is_descending, 0)
            elif value.__class__ is bool:
                # Processes that exited stay last in both directions.
                flat += (is_descending, value != is_descending)
            else:
                flat += (is_descending, value)
        return flat

    return tuple(sorted(rows, key=key, reverse=is_descending))


def list_processes(
    processes: Sequence[ProcessSample], wanted: ProcessFilter, sort: Sort
) -> tuple[ProcessSample, ...]:
    """Return the rows of the process panel: the processes that match the filter, sorted."""
    if wanted != ProcessFilter():
        processes = [process for process in processes if is_listed(process, wanted)]
    return in_order(processes, ORDERS_BY_NAME[sort.order], reverse=sort.reverse)
