# SPDX-License-Identifier: GPL-3.0-only
"""The state of the fleet screens as one immutable value, and what events change in it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple, Tuple, Union

from nvitop.fleet.queries import HEAT_METRICS, Scope, parse_filter
from nvitop.fleet.questions import Question, used_labels
from nvitop.fleet.reading import natural
from nvitop.fleet.types import Fleet, FleetHost, Totals
from nvitop.gui.fleet.keys import (
    FLEET_KEYS,
    ORDERS,
    ORDERS_BY_NAME,
    FleetKeys,
    FleetScreen,
    is_prefix,
    key_for,
)
from nvitop.gui.fleet.lines import Line, help_lines, lay_out_heat, problem_lines
from nvitop.gui.layout.screens import ListLayout, lay_out_list
from nvitop.gui.state.events import (
    ClockTicked,
    Effect,
    Event,
    InputEnded,
    KeyPressed,
    MousePressed,
    MouseScrolled,
    Pasted,
    Quit,
    Redraw,
    Refresh,
    Resized,
    Suspend,
    Suspended,
    Terminated,
    exit_status,
)
from nvitop.gui.state.input_line import append_text, edit
from nvitop.gui.state.process_rows import contains

if TYPE_CHECKING:
    from nvitop.fleet.questions import Pace

#: Rows above the lines of a screen, and below them.
TOP, BOTTOM = 3, 1
#: Screens whose lines can be current.
_WITH_CURSOR = (FleetScreen.HOSTS, FleetScreen.USERS)


class OpenHost(NamedTuple):
    """Effect: show one host on the ordinary screens."""

    host: FleetHost


class FleetArrived(NamedTuple):
    """Event: a question was answered."""

    question: Question
    fleet: Fleet
    sums: Totals
    pace: Pace


class FleetFailed(NamedTuple):
    """Event: a question was not answered."""

    question: Question
    #: The cause and a step to try, in one line.
    text: str
    timestamp: float


FleetEvent = Union[Event, FleetArrived, FleetFailed]
FleetEffect = Union[Effect, OpenHost]


class FleetState(NamedTuple):
    """Everything that the screens show."""

    width: int = 80
    height: int = 24
    screen: FleetScreen = FleetScreen.HOSTS
    scope: Scope = Scope()
    #: Where the answers come from, for people.
    server: str = ''
    #: The last list of hosts, with those that are gone, and its sums.
    fleet: Fleet = Fleet()
    sums: Totals = Totals()
    #: The hosts in the order of the screen.
    rows: tuple[FleetHost, ...] = ()
    gpus: Fleet = Fleet()
    gpus_metric: str = ''
    users: Fleet = Fleet()
    #: Metric of the heat map.
    metric: str = 'utilization'
    order: str = 'host'
    is_reversed: bool = False
    #: The filter that the answers match.
    query: str = ''
    #: The filter that is being typed.
    field: str | None = None
    #: Name of the selected host.
    selected: str = ''
    #: Line of the cursor and first line of the other screens.
    cursor: int = 0
    scroll: int = 0
    #: The first of two keys.
    prefix: str = ''
    #: When the display was frozen; ``None`` if it is not.
    frozen: float | None = None
    #: Why the last question was not answered, and since when this is so.
    error: str = ''
    error_since: float = 0.0
    #: Time between requests (seconds).
    period: float = 0.0
    timestamp: float = 0.0
    theme: str = 'dark'
    themes: tuple[str, ...] = ('dark',)
    ascii: bool = False
    halves: bool = False
    is_demo: bool = False
    keys: FleetKeys = FLEET_KEYS

    @property
    def question(self) -> Question:
        """The question that the screen asks."""
        scope = self.scope
        if self.screen is FleetScreen.GPUS:
            return Question('gpus', scope, self.metric)
        return Question('users' if self.screen is FleetScreen.USERS else 'hosts', scope)

    @property
    def shown(self) -> Fleet:
        """The answer that the screen shows."""
        if self.screen is FleetScreen.GPUS:
            return self.gpus
        return self.users if self.screen is FleetScreen.USERS else self.fleet

    @property
    def trouble(self) -> str:
        """The line above the hints: the error, or the warnings of the server."""
        if self.screen is FleetScreen.PROBLEMS:  # it has both anyway
            return ''
        return self.error or '; '.join(self.shown.warnings)


Result = Tuple[FleetState, Tuple[FleetEffect, ...]]


def update(state: FleetState, event: FleetEvent) -> Result:
    """Return the state after an event, and the effects to carry out."""
    if isinstance(event, KeyPressed):
        return _press(state, event.key)
    if isinstance(event, FleetArrived):
        return _show(state, event), ()
    if isinstance(event, FleetFailed):
        if event.question != state.question:
            return state, ()
        since = state.error_since if state.error else event.timestamp
        return state._replace(error=event.text, error_since=since), ()
    if isinstance(event, ClockTicked):
        return state._replace(timestamp=event.timestamp), ()
    if isinstance(event, Resized):
        return keep_seen(state._replace(width=event.width, height=event.height)), (Redraw(),)
    if isinstance(event, (MousePressed, MouseScrolled)):
        return _mouse(state, event)
    if isinstance(event, Pasted) and state.field is not None:
        return _filter(state, append_text(state.field, event.text)), ()
    if isinstance(event, Suspended):
        return state, (Redraw(),) if event.resumed else (Suspend(),)
    if isinstance(event, (Terminated, InputEnded)):
        return state, (Quit(exit_status(event)),)
    return state, ()


# Answers


def _show(state: FleetState, event: FleetArrived) -> FleetState:
    if event.question != state.question or state.frozen is not None:
        return state
    state = state._replace(error='', error_since=0.0, period=event.pace.period)
    fleet = event.fleet
    if event.question.kind == 'users':
        return keep_seen(state._replace(users=fleet))
    if event.question.kind == 'gpus':
        fleet = _with_findings(fleet, state.fleet)
        return keep_seen(state._replace(gpus=fleet, gpus_metric=event.question.metric))
    scope = state.scope
    if not scope.filters and fleet.hosts:
        scope = scope._replace(used_labels=used_labels(fleet) or scope.used_labels)
    state = state._replace(fleet=fleet, sums=event.sums, scope=scope)
    return keep_seen(arrange(state))


def _with_findings(fleet: Fleet, hosts: Fleet) -> Fleet:
    """Return the GPUs of a heat map with the faults that the list of hosts knows."""
    known = {gpu.id: gpu.findings for host in hosts.hosts for gpu in host.gpus if gpu.findings}
    if not known:
        return fleet
    return fleet._replace(
        hosts=tuple(
            host._replace(
                gpus=tuple(
                    gpu._replace(findings=known.get(gpu.id, gpu.findings)) for gpu in host.gpus
                )
            )
            for host in fleet.hosts
        )
    )


_VALUES: dict[str, Callable[[FleetHost], float | None]] = {
    'utilization': lambda host: host.utilization_percent,
    'memory': lambda host: host.memory_used_bytes,
    'power': lambda host: host.power_watts,
    'temperature': lambda host: host.temperature_celsius,
    'age': lambda host: None if host.measured is None else -host.measured,
    'gpus': lambda host: len(host.gpus),
    'idle': lambda host: host.idle,
    'findings': lambda host: host.faulty,
}


def arrange(state: FleetState) -> FleetState:
    """Filter and sort the hosts. Hosts without a value are last; ties are in the order of names."""
    hosts: tuple[FleetHost, ...] | list[FleetHost] = state.fleet.hosts
    words = [word for prefix, word in parse_filter(_filter_text(state)) if prefix == 'host']
    if words:
        hosts = [host for host in hosts if all(contains(host.name, word) for word in words)]
    order = ORDERS_BY_NAME[state.order]
    descending = order.is_descending != state.is_reversed
    if order.name == 'host':
        # Answers are sorted by name; hosts that are gone come after the others.
        rows = sorted(hosts, key=lambda host: natural(host.name), reverse=descending)
    else:
        values = [(_VALUES[order.name](host), host) for host in hosts]
        known = [(value, host) for value, host in values if value is not None]
        known.sort(key=lambda pair: pair[0], reverse=descending)
        rows = [host for _, host in known] + [host for value, host in values if value is None]
    return state._replace(rows=tuple(rows))


def _filter_text(state: FleetState) -> str:
    return state.query if state.field is None else state.field


# Lines


def line_count(state: FleetState) -> int:
    """Return the number of lines of the screen."""
    if state.screen is FleetScreen.HOSTS:
        return len(state.rows)
    if state.screen is FleetScreen.USERS:
        return len(state.users.users)
    if state.screen is FleetScreen.GPUS:
        return lay_out_heat(state.gpus.hosts, state.width).lines
    return len(text_lines(state))


def text_lines(state: FleetState) -> list[Line]:
    """Return the lines of a screen of text."""
    if state.screen is FleetScreen.HELP:
        return help_lines(state.keys)
    return problem_lines(state.fleet, state.server, state.period, state.error, state.timestamp)


def cursor_of(state: FleetState) -> int | None:
    """Return the current line, ``None`` if there is none."""
    if state.screen is FleetScreen.HOSTS:
        names = (place for place, host in enumerate(state.rows) if host.name == state.selected)
        return next(names, None)
    return state.cursor if state.screen in _WITH_CURSOR else None


def layout_of(state: FleetState) -> ListLayout:
    """Return the places of the lines."""
    return lay_out_list(
        state.width,
        state.height,
        line_count(state),
        top=TOP,
        bottom=BOTTOM + bool(state.trouble),
        scroll_y=state.scroll,
    )


def keep_seen(state: FleetState) -> FleetState:
    """Scroll no further than to the last line."""
    return state._replace(scroll=layout_of(state).scroll_y)


def _go_to(state: FleetState, line: int) -> FleetState:
    """Make a line current, or scroll to it on screens without a cursor."""
    count = line_count(state)
    line = max(0, min(line, count - 1))
    if state.screen not in _WITH_CURSOR:
        return keep_seen(state._replace(scroll=line))
    if state.screen is FleetScreen.HOSTS:
        if not count:
            return state
        state = state._replace(selected=state.rows[line].name)
    else:
        state = state._replace(cursor=line)
    height = layout_of(state).area.height
    return keep_seen(state._replace(scroll=max(line + 1 - height, min(state.scroll, line))))


def _move(state: FleetState, step: int) -> FleetState:
    if state.screen not in _WITH_CURSOR:
        return _go_to(state, layout_of(state).scroll_y + step)
    cursor = cursor_of(state)
    if cursor is None:  # the first key selects a line on the screen
        first = layout_of(state).scroll_y
        far = abs(step) > line_count(state)
        return _go_to(state, step if far else first)
    return _go_to(state, cursor + step)


def _mouse(state: FleetState, event: MousePressed | MouseScrolled) -> Result:
    """Scroll, press the key of a hint, or select a line. A click on the current line opens it."""
    layout = layout_of(state)
    if isinstance(event, MouseScrolled):
        return keep_seen(state._replace(scroll=max(0, layout.scroll_y + 3 * event.dy))), ()
    line = layout.at(event.y)
    if event.keys:
        return _press(state, event.keys)
    if line is None or state.screen not in _WITH_CURSOR or state.field is not None:
        return state, ()
    if line != cursor_of(state):
        return _go_to(state, line), ()
    return _open(state, '') if state.screen is FleetScreen.HOSTS else _open_user(state, '')


# Keys


def _press(state: FleetState, key: str) -> Result:
    if state.field is not None:
        return _press_in_field(state, state.field, key)
    keys = f'{state.prefix} {key}' if state.prefix else key
    state = state._replace(prefix='')
    if is_prefix(state.keys, state.screen, keys):
        return state._replace(prefix=keys), ()
    row = key_for(state.keys, state.screen, keys)
    if row is None:
        return state, ()
    return _ACTIONS[row.action](state, row.argument)


def _press_in_field(state: FleetState, field: str, key: str) -> Result:
    if key == 'Enter':
        return _apply(state._replace(field=None, query=field))
    return _filter(state, None if key in ('Esc', 'Ctrl-C') else edit(field, key)), ()


def _filter(state: FleetState, field: str | None) -> FleetState:
    """Filter names of hosts at once by the text being typed; the server filters the rest."""
    return keep_seen(arrange(state._replace(field=field)))


def _apply(state: FleetState) -> Result:
    """Ask the server with the new filter."""
    filters = parse_filter(state.query)
    changed = filters != state.scope.filters
    state = state._replace(scope=state.scope._replace(filters=filters))
    return keep_seen(arrange(state)), (Refresh(),) if changed else ()


def _open(state: FleetState, _: str) -> Result:
    cursor = cursor_of(state)
    if cursor is None:
        return _move(state, 1), ()
    host = state.rows[cursor]
    return (state, (OpenHost(host),)) if host.exporters else (state, ())


def _open_user(state: FleetState, _: str) -> Result:
    users = state.users.users
    if not users:
        return state, ()
    name = users[min(state.cursor, len(users) - 1)].name
    query = ' '.join(f'user:{word}' for word in name.split()) or ''
    return _apply(_to(state, FleetScreen.HOSTS)._replace(query=query))


def _show_screen(state: FleetState, name: str) -> Result:
    return _to(state, FleetScreen(name)), (Refresh(),)


def _back(state: FleetState, _: str) -> Result:
    return _to(state, FleetScreen.HOSTS), (Refresh(),)


def _to(state: FleetState, screen: FleetScreen) -> FleetState:
    state = state._replace(screen=screen, cursor=0, scroll=0, error='', frozen=None)
    cursor = cursor_of(state)
    return state if cursor is None else _go_to(state, cursor)


def _next_metric(state: FleetState, _: str) -> Result:
    names = [*HEAT_METRICS]
    metric = names[(names.index(state.metric) + 1) % len(names)]
    return state._replace(metric=metric), (Refresh(),)


def _sort(state: FleetState, name: str) -> Result:
    return keep_seen(arrange(state._replace(order=name, is_reversed=False))), ()


def _sort_step(state: FleetState, step: str) -> Result:
    names = [order.name for order in ORDERS]
    return _sort(state, names[(names.index(state.order) + int(step)) % len(names)])


def _sort_reverse(state: FleetState, _: str) -> Result:
    return keep_seen(arrange(state._replace(is_reversed=not state.is_reversed))), ()


def _freeze(state: FleetState, _: str) -> Result:
    if state.frozen is not None:
        return state._replace(frozen=None), (Refresh(),)
    return state._replace(frozen=state.timestamp), ()


def _clear(state: FleetState, _: str) -> Result:
    if state.query:
        return _apply(state._replace(query=''))
    return state._replace(selected=''), ()


def _next_theme(state: FleetState, _: str) -> Result:
    place = state.themes.index(state.theme) if state.theme in state.themes else -1
    return state._replace(theme=state.themes[(place + 1) % len(state.themes)]), ()


def _page(state: FleetState, step: str) -> Result:
    rows = max(1, layout_of(state).area.height - 1)
    if state.screen in _WITH_CURSOR and cursor_of(state) is None:
        layout = layout_of(state)
        return keep_seen(state._replace(scroll=max(0, layout.scroll_y + int(step) * rows))), ()
    return _move(state, int(step) * rows), ()


_ACTIONS: dict[str, Callable[[FleetState, str], Result]] = {
    'open': _open,
    'open-user': _open_user,
    'show': _show_screen,
    'back': _back,
    'next-metric': _next_metric,
    'filter': lambda state, _: (state._replace(field=state.query), ()),
    'freeze': _freeze,
    'clear': _clear,
    'quit': lambda state, _: (state, (Quit(),)),
    'refresh': lambda state, _: (state, (Refresh(), Redraw())),
    'next-theme': _next_theme,
    'suspend': lambda state, _: (state, (Suspend(),)),
    'move': lambda state, step: (_move(state, int(step)), ()),
    'page': _page,
    'sort': _sort,
    'sort-step': _sort_step,
    'sort-reverse': _sort_reverse,
}
