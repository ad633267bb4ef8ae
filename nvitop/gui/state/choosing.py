# SPDX-License-Identifier: GPL-3.0-only
"""Choosing the columns of the list of processes, and their order."""

from __future__ import annotations

from typing import Callable

from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.model.effects import RingBell
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.dialog import Result
from nvitop.gui.state.notices import refuse


def columns_in_order(state: AppState) -> tuple[str, ...]:
    """The lines of the columns screen: a hidden column keeps its place among the shown ones."""
    shown = state.view.columns
    hidden = tuple(column.name for column in COLUMNS if column.name not in shown)
    # The command gets what is left, and scrolls, only at the end: what is shown later is before it.
    end = len(shown) - (shown[-1:] == ('command',))
    return state.view.column_order or (*shown[:end], *hidden, *shown[end:])


def choose_column(state: AppState) -> Result:
    """Show the column under the cursor, or hide it."""
    order = columns_in_order(state)
    name = order[state.listing.cursor]
    shown = frozenset(state.view.columns) ^ {name}
    if not shown:
        return refuse(state, 'Columns', 'one has to be shown')
    return _arrange(state, order, shown, name), ()


def move_column(step: int) -> Callable[[AppState], Result]:
    """Move the column under the cursor, shown or hidden."""

    def move(state: AppState) -> Result:
        order = list(columns_in_order(state))
        at, to = state.listing.cursor, state.listing.cursor + step
        if not 0 <= to < len(order):
            return state, (RingBell(),)
        order[at], order[to] = order[to], order[at]
        return _arrange(state, tuple(order), frozenset(state.view.columns), order[to]), ()

    return move


def _arrange(
    state: AppState, order: tuple[str, ...], shown: frozenset[str], cursor: str
) -> AppState:
    columns = tuple(name for name in order if name in shown)
    return state._replace(
        view=state.view._replace(columns=columns, column_order=order),
        listing=state.listing._replace(cursor=order.index(cursor)),
    )
