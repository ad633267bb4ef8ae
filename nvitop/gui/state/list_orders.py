# SPDX-License-Identifier: GPL-3.0-only
"""The orders of users and of problems, and how the chosen one is kept."""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple

from nvitop.gui.model.choices import Screen, Sort
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.notices import answer
from nvitop.gui.state.problems import ProblemLine
from nvitop.gui.state.usage import UserSummary


class ListOrder(NamedTuple):
    """A way to sort the lines of a screen."""

    name: str
    #: The key after ``o``.
    letter: str
    #: Heading of the column.
    title: str
    #: The value of a line; lines without one are last. ``None``: as the lines are listed anyway.
    value: Callable[[Any], Any] | None
    is_descending: bool = True


def _user(row: UserSummary) -> str | None:
    return row.name


def _hours(row: UserSummary) -> float | None:
    return row.gpu_times and row.gpu_times[0]


def _subject(line: ProblemLine) -> str:
    return line.subject


# fmt: off
#: Screen → its orders; the first one is the default.
LIST_ORDERS: dict[Screen, tuple[ListOrder, ...]] = {
    Screen.USERS: (
        ListOrder('gpu-memory', 'g', 'GPU-MEM', None),
        ListOrder('user', 'u', 'USER', _user, is_descending=False),
        ListOrder('processes', 'p', 'PROCESSES', lambda row: row.processes),
        ListOrder('idle-memory', 'i', 'IDLE-MEM', lambda row: row.idle_memory_bytes),
        ListOrder('sm', 's', 'AVG %SM', lambda row: row.mean_sm_percent),
        ListOrder('cpu', 'c', '%CPU', lambda row: row.cpu_percent),
        ListOrder('oldest', 't', 'OLDEST', lambda row: row.running_seconds),
        ListOrder('hours', 'h', 'GPU-H', _hours),
    ),
    Screen.PROBLEMS: (
        ListOrder('severity', 's', 'severity', None),
        ListOrder('last', 'l', 'LAST', lambda line: line.last),
        ListOrder('first', 'f', 'FIRST', lambda line: line.first),
        ListOrder('times', 't', 'TIMES', lambda line: line.times),
        ListOrder('where', 'w', 'WHERE', _subject, is_descending=False),
    ),
}
# fmt: on


def list_sort(state: AppState, screen: Screen) -> Sort:
    """Return the chosen order of the lines of a screen."""
    return dict(state.list_sorts).get(screen, Sort(LIST_ORDERS[screen][0].name))


def sorted_lines(state: AppState, screen: Screen, lines: Iterable[Any]) -> tuple[Any, ...]:
    """Return lines in the chosen order of a screen. Lines without a value are last."""
    sort, rows = list_sort(state, screen), tuple(lines)
    order = _order(screen, sort.order)
    if order.value is None:
        return rows[::-1] if sort.reverse else rows
    values = [(order.value(row), row) for row in rows]
    known = [(value, row) for value, row in values if value is not None]
    known.sort(key=lambda pair: pair[0], reverse=order.is_descending != sort.reverse)
    return (*(row for _, row in known), *(row for value, row in values if value is None))


def _order(screen: Screen, name: str) -> ListOrder:
    return next(order for order in LIST_ORDERS[screen] if order.name == name)


def sort_list(state: AppState, order: str, *, reverse: bool) -> Result:
    """Sort the lines of the screen, and name the order."""
    screen = state.screen
    found = _order(screen, order)
    sorts = {**dict(state.list_sorts), screen: Sort(order, reverse)}
    state = state._replace(list_sorts=tuple(sorts.items()))
    first = 'highest' if found.is_descending != reverse else 'lowest'
    return answer(state, 'key', f'Order: {found.title}, {first} first'), ()


def sort_list_by_neighbor(state: AppState, step: int) -> Result:
    """Sort the lines of the screen by the next (1) or previous (-1) order."""
    names = [order.name for order in LIST_ORDERS[state.screen]]
    at = names.index(list_sort(state, state.screen).order)
    return sort_list(state, names[(at + step) % len(names)], reverse=False)


def reverse_list(state: AppState) -> Result:
    """Reverse the order of the lines of the screen, and name it."""
    order, reverse = list_sort(state, state.screen)
    return sort_list(state, order, reverse=not reverse)
