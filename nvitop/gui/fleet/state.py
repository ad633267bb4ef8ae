# SPDX-License-Identifier: GPL-3.0-only
"""What answers and keys change in the state of the fleet. Pure."""

from __future__ import annotations

from typing import Any, Sequence

from nvitop.basics.text import natural
from nvitop.fleet.lists import VIEWS, folded, free_ranges, parse_filter, select, size
from nvitop.fleet.types import FleetHost, totals
from nvitop.gui.fleet.columns import list_columns
from nvitop.gui.fleet.data import FleetState
from nvitop.gui.model.choices import Screen, Sort
from nvitop.gui.state.app_state import AppState, Frozen, ListPosition, Result, refuse
from nvitop.gui.state.events import Event, FleetArrived, FleetFailed, OpenHost
from nvitop.gui.state.lists import list_sort, sorted_lines
from nvitop.gui.state.navigation import current_line
from nvitop.gui.state.orders import Order
from nvitop.gui.state.update import update

#: Screen → name of its list.
LISTS = {
    Screen.HOSTS: 'hosts',
    Screen.GPUS: 'gpus',
    Screen.USERS: 'users',
    Screen.JOBS: 'jobs',
    Screen.PROBLEMS: 'problems',
}

#: Rows around the hosts: frame, headings, and the detail of eight GPUs.
_OTHER_ROWS = 15

#: Column of hosts → the letter after ``o`` that sorts by it, the default one first.
_LETTERS = {
    'free_gpus': 'r',
    'host': 'h',
    'gpus': 'g',
    'utilization_percent': 'u',
    'memory_used_bytes': 'm',
    'power_watts': 'p',
    'temperature_celsius': 't',
    'held_gpus': 'd',
    'findings': 'f',
}


def _order_of(name: str, title: str) -> Order:
    def value(host: FleetHost) -> object:
        known = VIEWS['hosts'].value(name, host)
        if name == 'free_gpus':  # of those with none, the ones that need attention
            return host.free, len(host.problems)
        if name == 'host':
            return natural(known)
        return None if known is None else size(known)

    is_text = name == 'host'
    return Order(name, _LETTERS[name], title, value, is_descending=not is_text, is_text=is_text)


_TITLES = {column.name: column.title for column in list_columns('hosts')}
#: The orders of the list of hosts, which its keys and headings choose as on other screens.
ORDERS = tuple(_order_of(name, _TITLES[name]) for name in _LETTERS)


def fleet_of(state: AppState) -> FleetState:
    assert state.fleet is not None
    return state.fleet


def listed(state: AppState) -> Sequence[Any]:
    return fleet_of(state).lists.get(LISTS[state.screen], ())


def selected(state: AppState) -> Any:
    line = current_line(state)
    rows = listed(state)
    return rows[line] if line is not None and rows else None


def update_fleet(state: AppState, event: Event) -> Result:
    if isinstance(event, FleetArrived):
        if state.frozen is not None:
            return state, ()
        fleet = fleet_of(state)._replace(
            fleet=event.fleet, error='', error_since=0.0, period=event.period
        )
        return arrange(state, fleet), ()
    if isinstance(event, FleetFailed):
        fleet = fleet_of(state)
        since = fleet.error_since if fleet.error else event.timestamp
        return state._replace(fleet=fleet._replace(error=event.text, error_since=since)), ()
    after, effects = update(state, event)
    before = state.query, state.list_sorts, state.height
    if (after.query, after.list_sorts, after.height) != before:
        after = arrange(after, fleet_of(after))
    return after, effects


def arrange(state: AppState, fleet: FleetState) -> AppState:
    """Filter and sort the lists. Hosts without a value are last; ties are in the order of names."""
    everything = totals(fleet.fleet.hosts)
    filters = parse_filter(state.query)
    matching = select(fleet.fleet, filters) if filters else fleet.fleet
    hosts = sorted_lines(state, Screen.HOSTS, matching.hosts)
    if len(hosts) > max(state.height // 2, state.height - _OTHER_ROWS) and list_sort(
        state, Screen.HOSTS
    ) == Sort('free_gpus'):
        hosts = tuple(folded(hosts))
    lists = {name: view.rows(matching) for name, view in VIEWS.items()}
    lists.update(hosts=hosts, problems=fleet.fleet.problems)
    fleet = fleet._replace(
        everything=everything,
        sums=totals(matching.hosts) if filters else everything,
        lists=lists,
        free_hosts=free_ranges(matching.hosts),
        problem_hosts=tuple(dict.fromkeys(problem.host for problem in matching.problems)),
    )
    return state._replace(fleet=fleet)


# Keys


def open_host(state: AppState) -> Result:
    row = selected(state)
    if row is None:
        return state, ()
    name = row.host if state.screen is Screen.PROBLEMS else host_of(row).name
    host = next((host for host in fleet_of(state).fleet.hosts if host.name == name), None)
    if host is None or not host.gpus:
        is_silent = host is None or host.is_silent
        return refuse(state, f'{name} {"is not responding" if is_silent else "has no GPUs"}')
    return state, (OpenHost(host),)


def host_of(row: Any) -> FleetHost:
    host: FleetHost = row if isinstance(row, FleetHost) else row.host
    return host.members[0] if host.members else host


def show_hosts(state: AppState) -> Result:
    """Return to the hosts, and show those of the user or job in the current line."""
    row = selected(state)
    if row is None:
        return state, ()
    return state._replace(screen=Screen.HOSTS, behind=(), query=row.filter).at(ListPosition()), ()


def toggle_freeze(state: AppState) -> Result:
    """Freeze the display, or show the latest answers again."""
    if state.frozen is not None:
        return state._replace(frozen=None), ()
    now = state.sample._replace(timestamp=state.timestamp)
    return state._replace(frozen=Frozen(now, state.tally)), ()


def clear_filter(state: AppState) -> Result:
    if state.query:
        return state._replace(query=''), ()
    if not state.searched and state.frozen is not None:
        return toggle_freeze(state)
    return state._replace(searched=''), ()
