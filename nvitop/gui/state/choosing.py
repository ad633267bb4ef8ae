# SPDX-License-Identifier: GPL-3.0-only
"""Choosing and arranging the columns of processes."""

from __future__ import annotations

from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.model.effects import RingBell
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.notices import refuse


def columns_in_order(state: AppState) -> tuple[str, ...]:
    """Return the lines of the columns screen. A hidden column keeps its place."""
    shown = state.view.columns
    hidden = tuple(column.name for column in COLUMNS if column.name not in shown)
    # The command takes the rest of the row, so hidden columns are listed before it.
    end = len(shown) - (shown[-1:] == ('command',))
    return state.view.column_order or (*shown[:end], *hidden, *shown[end:])


def choose_column(state: AppState) -> Result:
    """Show or hide the column under the cursor."""
    order = columns_in_order(state)
    name = order[state.listing.cursor]
    shown = frozenset(state.view.columns) ^ {name}
    if not shown:
        return refuse(state, 'At least one column must be shown')
    return _arrange(state, order, shown, name), ()


def move_column(state: AppState, step: int) -> Result:
    """Move the column under the cursor, shown or hidden."""
    order = list(columns_in_order(state))
    at, to = state.listing.cursor, state.listing.cursor + step
    if not 0 <= to < len(order):
        return state, (RingBell(),)
    order[at], order[to] = order[to], order[at]
    return _arrange(state, tuple(order), frozenset(state.view.columns), order[to]), ()


def _arrange(
    state: AppState, order: tuple[str, ...], shown: frozenset[str], cursor: str
) -> AppState:
    columns = tuple(name for name in order if name in shown)
    return state._replace(
        view=state.view._replace(columns=columns, column_order=order),
        listing=state.listing._replace(cursor=order.index(cursor)),
    )
