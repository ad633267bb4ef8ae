# SPDX-License-Identifier: GPL-3.0-only
"""What answers and keys change in the state of the fleet. Pure."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from nvitop.fleet.filters import parse_filter, select
from nvitop.fleet.lists import VIEWS, ListColumn
from nvitop.fleet.reading import natural
from nvitop.fleet.types import FleetHost, totals
from nvitop.gui.fleet.data import FleetState
from nvitop.gui.model.choices import Screen, neighbor
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState, Frozen, ListPosition, Result
from nvitop.gui.state.events import (
    Event,
    FleetArrived,
    FleetFailed,
    MousePressed,
    OpenHost,
    Redraw,
    Refresh,
)
from nvitop.gui.state.lists import ListOrder, in_order
from nvitop.gui.state.navigation import lines_layout, move_by_lines
from nvitop.gui.state.notices import answer, refuse
from nvitop.gui.state.update import update


def _order_of(column: ListColumn) -> ListOrder:
    def value(host: FleetHost) -> object:
        known = column.value(host, 0.0)
        if column.name == 'age_seconds':
            return host.measured and -host.measured
        if isinstance(known, list):
            return len(known)
        return natural(known) if isinstance(known, str) else known

    is_descending = column.name != 'host'
    return ListOrder(column.name, column.key, column.title, value, is_descending=is_descending)


#: The orders of the list of hosts.
ORDERS = tuple(_order_of(column) for column in VIEWS['hosts'].columns if column.key)
ORDERS_BY_NAME = {order.name: order for order in ORDERS}
#: Metrics of the heat map: key, title.
HEAT_METRICS = {
    'utilization': 'GPU utilization',
    'memory': 'memory in use',
    'temperature': 'temperature',
    'power': 'power',
}


def fleet_of(state: AppState) -> FleetState:
    """Return the part of the state that only the fleet has."""
    assert state.fleet is not None
    return state.fleet


def wants_hosts(state: AppState) -> bool:
    """Return whether hosts are to be read; a frozen display reads none."""
    return state.frozen is None


def update_fleet(state: AppState, event: Event) -> Result:
    """Return the state after an event, and the effects to carry out."""
    if isinstance(event, FleetArrived):
        if state.frozen is not None:
            return state, ()
        fleet = fleet_of(state)._replace(
            fleet=event.fleet, error='', error_since=0.0, period=event.pace.period
        )
        return arrange(state, fleet), ()
    if isinstance(event, FleetFailed):
        fleet = fleet_of(state)
        since = fleet.error_since if fleet.error else event.timestamp
        return state._replace(fleet=fleet._replace(error=event.text, error_since=since)), ()
    if (
        isinstance(event, MousePressed)
        and state.screen is Screen.HEAT_MAP
        and event.hit[0] != 'keys'
    ):
        state = _point_at_host(state, event)
    after, effects = update(state, event)
    if after.query != state.query:
        after = arrange(after, fleet_of(after))
    if after.screen is Screen.HEAT_MAP and _heated_host(after) is None:
        after = _select_heated(after, 0)
    return after, effects


def arrange(state: AppState, fleet: FleetState) -> AppState:
    """Filter and sort the hosts. Hosts without a value are last; ties are in the order of names."""
    now = fleet.fleet.timestamp
    everything = totals(fleet.fleet.hosts, now)
    filters = parse_filter(state.query)
    matching = select(fleet.fleet, filters) if filters else fleet.fleet
    sums = totals(matching.hosts, now) if filters else everything
    rows = in_order(matching.hosts, ORDERS_BY_NAME[fleet.order], reverse=fleet.is_reversed)
    fleet = fleet._replace(
        everything=everything,
        matching=matching,
        sums=sums,
        rows=rows,
        users=tuple(matching.users),
        jobs=tuple(matching.jobs),
    )
    return state._replace(fleet=fleet)


# Lines


def selected_host(state: AppState) -> int | None:
    """Return the index of the selected host."""
    return _selected_among(state, fleet_of(state).rows)


def select_host(state: AppState, line: int) -> AppState:
    """Select the host nearest to an index, and scroll it into view."""
    return _select_among(state, fleet_of(state).rows, line)


def _selected_among(state: AppState, hosts: Sequence[FleetHost]) -> int | None:
    names = [host.name for host in hosts]
    selected = fleet_of(state).selected
    return names.index(selected) if selected in names else None


def _select_among(state: AppState, hosts: Sequence[FleetHost], index: int) -> AppState:
    if not hosts:
        return state
    host = hosts[max(0, min(index, len(hosts) - 1))]
    state = state._replace(fleet=fleet_of(state)._replace(selected=host.name))
    scroll_y = lines_layout(state).scroll_y
    return state._replace(position=state.position._replace(scroll_y=scroll_y))


class HeatLayout(NamedTuple):
    """Places of hosts in the heat map: several in each line."""

    hosts: int
    #: Number of hosts in a line.
    columns: int
    #: Cells of a host: its name and its GPUs.
    name_width: int
    gpus: int

    @property
    def lines(self) -> int:
        """Number of lines."""
        return -(-self.hosts // self.columns)

    @property
    def stride(self) -> int:
        """Cells from one host to the next."""
        return self.name_width + self.gpus + 3


#: Maximum width of the name of a host in the heat map.
_NAME_WIDTH = 16


def lay_out_heat_map(state: AppState) -> HeatLayout:
    """Return the places of hosts on the screen."""
    hosts, width = fleet_of(state).matching.hosts, state.width - 1
    names = max((cell_width(host.name) for host in hosts), default=1)
    name_width = min(_NAME_WIDTH, names)
    gpus = min(max((len(host.gpus) for host in hosts), default=1), max(1, width - name_width - 3))
    columns = max(1, (width + 2) // (name_width + gpus + 3))
    return HeatLayout(len(hosts), columns, name_width, gpus)


def _heated_host(state: AppState) -> int | None:
    """Return the index of the selected host in the heat map."""
    return _selected_among(state, fleet_of(state).matching.hosts)


def heated_line(state: AppState) -> int | None:
    """Return the line of the selected host in the heat map."""
    place = _heated_host(state)
    return None if place is None else place // lay_out_heat_map(state).columns


def _select_heated(state: AppState, place: int) -> AppState:
    return _select_among(state, fleet_of(state).matching.hosts, place)


def go_to_heated_line(state: AppState, line: int) -> AppState:
    """Select the host in a line of the heat map, in the same column as before."""
    heat = lay_out_heat_map(state)
    column = (_heated_host(state) or 0) % heat.columns
    line = max(0, min(line, heat.lines - 1))
    return _select_heated(state, line * heat.columns + column)


def move_in_heat_map(state: AppState, step: int) -> Result:
    """Select the next (1) or previous (-1) host of the heat map."""
    place = _heated_host(state)
    return _select_heated(state, 0 if place is None else place + step), ()


def _point_at_host(state: AppState, event: MousePressed) -> AppState:
    """Select the host of the heat map under the mouse."""
    line = lines_layout(state).at(event.y)
    heat = lay_out_heat_map(state)
    column = max(0, event.x - 1) // heat.stride
    if line is None or column >= heat.columns:
        return state
    return _select_heated(state, line * heat.columns + column)


# Keys


def open_host(state: AppState) -> Result:
    """Show the selected host on the ordinary screens; without one, select the first."""
    line = selected_host(state)
    if line is None:
        return move_by_lines(state, 1)
    return _open(state, fleet_of(state).rows[line])


def open_host_named(state: AppState, name: str) -> Result:
    """Show a host on the ordinary screens, if there is one with this name."""
    hosts = fleet_of(state).fleet.hosts
    host = next((host for host in hosts if host.name == name), None)
    return refuse(state, 'no host in this line') if host is None else _open(state, host)


def _open(state: AppState, host: FleetHost) -> Result:
    if host.is_gone or not host.gpus:
        return refuse(state, f'{host.name} has no current values')
    return state, (OpenHost(host),)


def show_hosts_of_user(state: AppState) -> Result:
    """Return to the hosts, and show those of the user in the current line."""
    users = fleet_of(state).users
    if not users:
        return state, ()
    name = users[min(state.position.cursor, len(users) - 1)].name
    return _show_hosts(state, ' '.join(f'user:{word}' for word in name.split()))


def show_hosts_of_job(state: AppState) -> Result:
    """Return to the hosts, and show those of the job in the current line."""
    jobs = fleet_of(state).jobs
    if not jobs:
        return state, ()
    return _show_hosts(state, jobs[min(state.position.cursor, len(jobs) - 1)].filter)


def _show_hosts(state: AppState, query: str) -> Result:
    hosts = state._replace(screen=Screen.HOSTS, behind=(), position=ListPosition(), query=query)
    return hosts, ()


def next_metric(state: AppState) -> Result:
    """Show the next metric in the heat map."""
    fleet = fleet_of(state)
    metric = neighbor([*HEAT_METRICS], fleet.metric, 1)
    return state._replace(fleet=fleet._replace(metric=metric)), ()


def sort_hosts(state: AppState, order: str, reverse: bool) -> Result:
    """Sort by an order, which may be reversed."""
    return arrange(state, fleet_of(state)._replace(order=order, is_reversed=reverse)), ()


def sort_by_next_column(state: AppState, step: int) -> Result:
    """Sort by the next (1) or previous (-1) column."""
    order = neighbor([*ORDERS_BY_NAME], fleet_of(state).order, step)
    return sort_hosts(state, order, reverse=False)


def reverse_hosts(state: AppState) -> Result:
    """Reverse the order of the hosts."""
    fleet = fleet_of(state)
    order, reverse = ORDERS_BY_NAME[fleet.order], not fleet.is_reversed
    state = arrange(state, fleet._replace(is_reversed=reverse))
    return answer(state, 'key', f'Order reversed: {order.describe(reverse=reverse)}'), ()


def toggle_freeze(state: AppState) -> Result:
    """Freeze the display, or show the latest answers again."""
    if state.frozen is not None:
        return state._replace(frozen=None), ()
    now = state.sample._replace(timestamp=state.timestamp)
    return state._replace(frozen=Frozen(now, state.tally)), ()


def clear_filter(state: AppState) -> Result:
    """Clear the filter, or else the selection, or else the pause."""
    if state.query:
        return state._replace(query=''), ()
    if not fleet_of(state).selected and state.frozen is not None:
        return toggle_freeze(state)
    return state._replace(searched='', fleet=fleet_of(state)._replace(selected='')), ()


def ask_again(state: AppState) -> Result:
    """Ask the server now."""
    return state, (Refresh(), Redraw())
