# SPDX-License-Identifier: GPL-3.0-only
"""What answers and keys change in the state of the fleet. Pure."""

from __future__ import annotations

from functools import partial
from typing import Any, Sequence

from nvitop.fleet.lists import TEXTS, View, folded_hosts, parse_filter, ranges_of, select
from nvitop.fleet.types import Fleet, FleetFinding, FleetHost, FleetShare, totals
from nvitop.gui.fleet.columns import LISTS
from nvitop.gui.fleet.data import FleetState
from nvitop.gui.model.choices import Screen, Sort
from nvitop.gui.model.table import Column
from nvitop.gui.state.app_state import AppState, Frozen, ListPosition, Result, refuse
from nvitop.gui.state.events import Event, FleetArrived, FleetFailed, OpenHost
from nvitop.gui.state.lists import list_sort, sorted_lines
from nvitop.gui.state.navigation import current_line
from nvitop.gui.state.orders import Order, orders_of
from nvitop.gui.state.update import update

#: Rows around the hosts: frame, headings, and the detail of eight GPUs.
_OTHER_ROWS = 15

#: Column → what it lists first.
_FIRST = {'state': 'free', 'severity': 'critical'}


def _orders_of(view: View, columns: Sequence[Column]) -> tuple[Order, ...]:
    """Return the orders of a list, the one that its rows have first."""

    def order_of(column: Column) -> Order:
        is_usual, is_text = column.name == view.order, column.name in TEXTS
        value = None if is_usual else partial(view.sort_value, column.name)
        is_descending = is_usual or not is_text
        first = _FIRST.get(column.name, '')
        return Order(column.order, value, is_descending, is_text=not is_descending, first=first)

    orders = [order_of(column) for column in columns if column.order]
    return orders_of(columns, sorted(orders, key=lambda order: order.value is not None))


#: Screen → the orders of its list, which its keys and headings choose as on other screens.
ORDERS = {screen: _orders_of(shown.view, shown.columns) for screen, shown in LISTS.items()}


def fleet_of(state: AppState) -> FleetState:
    assert state.fleet is not None
    return state.fleet


def listed(state: AppState) -> Sequence[Any]:
    return fleet_of(state).rows


def selected(state: AppState) -> Any:
    line = current_line(state)
    rows = listed(state)
    return rows[line] if line is not None and rows else None


def update_fleet(state: AppState, event: Event) -> Result:
    if isinstance(event, FleetArrived):
        if state.frozen is not None:
            return state, ()
        fleet = fleet_of(state)._replace(
            reading=event.fleet, error='', error_since=0.0, period=event.period
        )
        return arrange(state, fleet), ()
    if isinstance(event, FleetFailed):
        fleet = fleet_of(state)
        since = fleet.error_since if fleet.error else event.timestamp
        fleet = fleet._replace(error=event.text, error_since=since)
        if state.frozen is not None or not fleet.reading.timestamp:
            return state._replace(fleet=fleet), ()
        return arrange(state, fleet._replace(reading=fleet.reading.at(event.timestamp))), ()
    after, effects = update(state, event)
    if _arranged_by(after) != _arranged_by(state):
        after = arrange(after, fleet_of(after))
    return after, effects


def _arranged_by(state: AppState) -> tuple[object, ...]:
    return state.screen, state.query, state.list_sorts, state.height


def arrange(state: AppState, fleet: FleetState) -> AppState:
    """Filter, and sort the shown list. Rows without a value are last; ties are in the order of names."""
    everything = totals(fleet.reading.hosts)
    filters = parse_filter(state.query)
    matching = select(fleet.reading, filters) if filters else fleet.reading
    free = folded_hosts(LISTS[Screen.HOSTS].view.rows(matching))
    fleet = fleet._replace(
        everything=everything,
        sums=totals(matching.hosts) if filters else everything,
        rows=_rows(state, fleet.reading, matching),
        free_hosts=ranges_of(name for row in free for name in names_of(row) if row.free),
        problem_hosts=ranges_of(dict.fromkeys(problem.host for problem in matching.problems)),
    )
    return state._replace(fleet=fleet)


def _rows(state: AppState, everything: Fleet, matching: Fleet) -> Sequence[Any]:
    screen = state.screen
    if screen not in LISTS:
        return ()
    view = LISTS[screen].view
    # A filter is about hosts and GPUs, not about problems.
    rows = view.rows(matching if state.query_on(screen) else everything)
    if list_sort(state, screen) != Sort(view.order):
        return [*sorted_lines(state, screen, rows), *view.below(matching)]
    rows = [*rows, *view.below(matching)]
    has_room = len(rows) <= max(state.height // 2, state.height - _OTHER_ROWS)
    return rows if has_room else LISTS[screen].fold(rows)


# Keys


def open_host(state: AppState) -> Result:
    row = selected(state)
    if row is None:
        return state, ()
    name = names_of(row)[0]
    host = next((host for host in fleet_of(state).reading.hosts if host.name == name), None)
    if host is None or not host.gpus:
        is_silent = host is None or host.is_silent
        return refuse(state, f'{name} {"is not responding" if is_silent else "has no GPUs"}')
    return state, (OpenHost(host),)


def names_of(row: FleetHost | FleetFinding | FleetShare) -> Sequence[str]:
    """Return the names of the hosts in a row of any list."""
    if isinstance(row, FleetHost):
        return [host.name for host in row.members or (row,)]
    return row.hosts if isinstance(row, FleetShare) else [row.host]


def show_hosts(state: AppState) -> Result:
    """Return to the hosts, and show those of the user or job in the current line."""
    row = selected(state)
    if row is None:
        return state, ()
    hosts = state._replace(screen=Screen.HOSTS, behind=())
    return hosts.filtered(row.filter).at(ListPosition()), ()


def toggle_freeze(state: AppState) -> Result:
    """Freeze the display, or show the latest answers again."""
    if state.frozen is not None:
        return state._replace(frozen=None), ()
    now = state.sample._replace(timestamp=state.timestamp)
    return state._replace(frozen=Frozen(now, state.tally)), ()


def clear_filter(state: AppState) -> Result:
    if state.query:
        return state.filtered(''), ()
    if not state.searched and state.frozen is not None:
        return toggle_freeze(state)
    return state._replace(searched=''), ()
