# SPDX-License-Identifier: GPL-3.0-only
"""The screens of ``nvitop fleet`` and their keys."""

from __future__ import annotations

from functools import partial

from nvitop.gui.fleet import state as fleet_state
from nvitop.gui.fleet import view
from nvitop.gui.fleet.state import ORDERS, fleet_of
from nvitop.gui.model.choices import Screen
from nvitop.gui.monitor_screens import HELP
from nvitop.gui.render.style import DIM, ERROR, PLAIN, WARNING, Role, Style
from nvitop.gui.state import actions, navigation
from nvitop.gui.state.app_state import AppState, KeyedSelection, Result, ScreenSpec, make_program
from nvitop.gui.state.appearance import next_theme
from nvitop.gui.state.bindings import MOVE, PROCESS, SCREEN, SORT, VIEW, opening, sorting
from nvitop.gui.state.input_line import open_field, search_again
from nvitop.gui.state.keymap import Binding, HelpEntry, HelpGroup, Keymap, leaving

_HOSTS = frozenset({Screen.HOSTS})
_HEAT_MAP = frozenset({Screen.HEAT_MAP})
_USERS = frozenset({Screen.USERS})
_JOBS = frozenset({Screen.JOBS})
_PROBLEMS = frozenset({Screen.PROBLEMS})
_VALUES = _HOSTS | _HEAT_MAP | _USERS | _JOBS
_ALL = _VALUES | _PROBLEMS | {Screen.HELP}


def open_host_of_problem(state: AppState) -> Result:
    """Show the host of the current line of the problems screen."""
    lines = view.problem_texts(state)
    return fleet_state.open_host_named(
        state, lines[min(state.position.cursor, len(lines) - 1)].host
    )


# fmt: off
_BINDINGS: tuple[Binding, ...] = (
    Binding(('q', 'Q', 'F10'), 'quit', actions.leave, 'quit', _HOSTS, VIEW, hint='quit', leaves=True),
    Binding(('Ctrl-C',), 'quit', actions.leave, '', _ALL, VIEW, leaves=True),
    Binding(('h', '?', 'F1'), 'help', partial(navigation.open_screen, screen=Screen.HELP), 'this help', _ALL - {Screen.HELP}, VIEW, hint='help', opens=Screen.HELP),
    Binding(('z',), 'freeze', fleet_state.toggle_freeze, 'pause or resume', _VALUES, VIEW, hint='pause', hint_in=lambda state: 'resume' if state.is_paused else 'pause'),
    Binding(('r', 'Ctrl-R', 'F5'), 'refresh', fleet_state.ask_again, 'refresh', _ALL, VIEW),
    Binding(('Ctrl-L',), 'redraw', actions.redraw, 'draw the screen again', _ALL, VIEW),
    Binding(('L',), 'next-theme', next_theme, 'next theme', _ALL, VIEW),
    Binding(('Ctrl-Z',), 'suspend', actions.suspend, 'suspend (resume with fg)', _ALL, VIEW, suspends=True),
    Binding(('Up', 'Shift-Tab', 'Alt-k', 'k'), 'select-previous', partial(navigation.move_by_lines, step=-1), 'previous line', _ALL, MOVE),
    Binding(('Down', 'Tab', 'Alt-j', 'j'), 'select-next', partial(navigation.move_by_lines, step=1), 'next line', _ALL, MOVE),
    Binding(('PageUp', '[', 'Ctrl-B'), 'scroll-up', partial(navigation.move_by_pages, step=-1), 'previous page', _ALL, MOVE, hint='scroll', scrolls=True, is_pointless=actions.sees_all_lines),
    Binding(('PageDown', ']', 'Ctrl-F'), 'scroll-down', partial(navigation.move_by_pages, step=1), 'next page', _ALL, MOVE, scrolls=True),
    Binding(('Ctrl-U',), 'half-page-up', partial(navigation.move_by_pages, step=-0.5), 'half a page up', _ALL, MOVE),
    Binding(('Ctrl-D',), 'half-page-down', partial(navigation.move_by_pages, step=0.5), 'half a page down', _ALL, MOVE),
    Binding(('Left', 'Alt-h'), 'previous-host', partial(fleet_state.move_in_heat_map, step=-1), 'previous host', _HEAT_MAP, MOVE),
    Binding(('Right', 'Alt-l'), 'next-host', partial(fleet_state.move_in_heat_map, step=1), 'next host', _HEAT_MAP, MOVE),
    Binding(('Home',), 'select-first', navigation.move_to_first, 'first line', _ALL, MOVE),
    Binding(('End',), 'select-last', navigation.move_to_last, 'last line', _ALL, MOVE),
    Binding(('Esc',), 'clear', fleet_state.clear_filter, 'clear filter, selection, pause', _HOSTS, MOVE),
    Binding(('\\', 'F4'), 'filter', partial(open_field, purpose='filter'), 'filter: name, host: gpu: user: job: model: free:', _VALUES, PROCESS, hint='filter'),
    Binding(('/', 'F3'), 'search', partial(open_field, purpose='search'), 'search while you type', _ALL - _HEAT_MAP, PROCESS, hint='search'),
    Binding(('n',), 'search-next', partial(search_again, step=1), 'next match of the search', _ALL - _HEAT_MAP, PROCESS, hint='match', needs=(actions.need_search,)),
    Binding(('N',), 'search-previous', partial(search_again, step=-1), 'previous match of the search', _ALL - _HEAT_MAP, PROCESS, hint='match', needs=(actions.need_search,)),
    Binding(('Enter',), 'show-page', fleet_state.open_host, 'screens of the host; q: back', _HOSTS | _HEAT_MAP, SCREEN, hint='host'),
    Binding(('Enter',), 'show-page', open_host_of_problem, 'screens of the host; q: back', _PROBLEMS, SCREEN, hint='host'),
    Binding(('Enter',), 'show-user', fleet_state.show_hosts_of_user, 'show the hosts', _USERS, SCREEN, hint='hosts of the user'),
    Binding(('Enter',), 'show-job', fleet_state.show_hosts_of_job, 'show the hosts', _JOBS, SCREEN, hint='hosts of the job'),
    opening(('g',), Screen.HEAT_MAP, 'all GPUs as a heat map', _VALUES - _HEAT_MAP, 'GPUs'),
    Binding(('g', 'm'), 'next-graph', fleet_state.next_metric, 'next metric', _HEAT_MAP, SCREEN, hint='next metric'),
    opening(('U',), Screen.USERS, 'users over all hosts', _VALUES - _USERS, 'users'),
    opening(('J',), Screen.JOBS, 'jobs and pods over all hosts', _VALUES - _JOBS, 'jobs'),
    opening(('!',), Screen.PROBLEMS, 'problems, old data, server, exporters', _ALL - _PROBLEMS, 'problems'),
    Binding(('Esc', 'q', 'Q', 'F10'), 'back', navigation.go_back, 'back', _ALL - _HOSTS, SCREEN, hint='back', leaves=True),
    Binding((',', '<'), 'sort-previous', partial(fleet_state.sort_by_next_column, step=-1), 'sort by the previous column', _HOSTS, SORT),
    Binding(('.', '>'), 'sort-next', partial(fleet_state.sort_by_next_column, step=1), 'sort by the next column', _HOSTS, SORT),
    Binding(('R',), 'sort-reverse', fleet_state.reverse_hosts, 'reverse the order', _HOSTS, SORT),
    Binding(('F6',), 'sort-menu', actions.open_sort_menu, 'menu of orders', _HOSTS, SORT, hint='sort', shows_orders=True),
    *(binding for order in ORDERS for binding in sorting(order, fleet_state.sort_hosts, Screen.HOSTS, order.title, f'sort by {order.title}')),
)
# fmt: on

#: The default keys. Those of the configuration file apply to actions with the same name.
FLEET_KEYS = Keymap((*_BINDINGS, *leaving(_BINDINGS, navigation.go_back)))

_SIGNS = HelpGroup(
    'Signs',
    (
        HelpEntry('▁▂▃▄▅▆▇', 'utilization of one GPU, from 0 % to 100 %', Style(Role.UTILIZATION)),
        HelpEntry('▁', 'held', WARNING),
        HelpEntry('HELD', 'GPUs whose processes have run no kernel for 10 minutes', PLAIN),
        HelpEntry('!', 'something is wrong with this GPU', ERROR),
        HelpEntry('·', 'no exporter reports its utilization', DIM),
        HelpEntry('FREE', 'GPUs that no process holds, without critical findings', PLAIN),
        HelpEntry('AGE', 'age of the values; late from 2 minutes, old from 5 minutes', PLAIN),
    ),
)
_OTHER_HELP = (
    HelpGroup(
        'Typing a filter or a search',
        (
            HelpEntry('Enter', 'apply'),
            HelpEntry('Esc', 'cancel (also Ctrl-C)'),
            HelpEntry('Ctrl-U Ctrl-W', 'delete line, word'),
        ),
    ),
    HelpGroup(
        'Mouse',
        (
            HelpEntry('click', 'select, press a hint'),
            HelpEntry('double click', 'open (Enter)'),
            HelpEntry('wheel', 'move; Ctrl: by five'),
        ),
    ),
)
_FILTER = 'name, or host: gpu: user: job: model: free:4'


def _margins(state: AppState) -> tuple[int, int]:
    """Title, sums and headings are above the lines, and an error below them."""
    return 3, int(bool(view.trouble_of(state)))


def _texts_of_hosts(state: AppState) -> list[str]:
    rows = fleet_of(state).rows
    findings = [[problem.text for problem in host.problems] for host in rows]
    return [' '.join((host.name, *host.users, *f)) for host, f in zip(rows, findings)]


FLEET_SCREENS: dict[Screen, ScreenSpec] = {
    Screen.HOSTS: ScreenSpec(
        draw=view.draw_hosts,
        hints=('h', 'q'),
        menu=('h', 'Enter', 'g', 'U', 'J', '!', 'F6', '\\', '/', 'n N', 'z', 'q'),
        lines=lambda state: fleet_of(state).rows,
        demand=fleet_state.wants_hosts,
        margins=_margins,
        selection=KeyedSelection(fleet_state.selected_host, fleet_state.select_host),
        texts=_texts_of_hosts,
        filter_example=_FILTER,
    ),
    Screen.HEAT_MAP: ScreenSpec(
        draw=view.draw_heat_map,
        hints=('g', 'h', 'q'),
        menu=('h', 'Enter', 'g', 'U', 'J', '\\', '!', 'z', 'q'),
        lines=lambda state: range(fleet_state.lay_out_heat_map(state).lines),
        demand=fleet_state.wants_hosts,
        margins=_margins,
        selection=KeyedSelection(fleet_state.heated_line, fleet_state.go_to_heated_line),
        filter_example=_FILTER,
    ),
    Screen.USERS: ScreenSpec(
        draw=view.draw_users_of_fleet,
        hints=('h', 'q'),
        menu=('h', 'Enter', 'g', 'J', '/', 'n N', '\\', '!', 'z', 'q'),
        lines=lambda state: fleet_of(state).users,
        demand=fleet_state.wants_hosts,
        margins=_margins,
        texts=lambda state: [user.name for user in fleet_of(state).users],
        filter_example=_FILTER,
    ),
    Screen.JOBS: ScreenSpec(
        draw=view.draw_jobs,
        hints=('h', 'q'),
        menu=('h', 'Enter', 'g', 'U', '/', 'n N', '\\', '!', 'z', 'q'),
        lines=lambda state: fleet_of(state).jobs,
        demand=fleet_state.wants_hosts,
        margins=_margins,
        texts=lambda state: [job.name for job in fleet_of(state).jobs],
        filter_example=_FILTER,
    ),
    Screen.PROBLEMS: ScreenSpec(
        draw=view.draw_problems_of_fleet,
        hints=('h', 'q'),
        menu=('h', 'Enter', 'PageUp PageDown', '/', 'n N', 'q'),
        lines=view.problem_texts,
        demand=fleet_state.wants_hosts,
        margins=_margins,
        texts=lambda state: [line.text for line in view.problem_texts(state)],
    ),
    Screen.HELP: HELP._replace(demand=fleet_state.wants_hosts),
}

FLEET = make_program(FLEET_SCREENS, FLEET_KEYS, lambda _: ((_SIGNS,), _OTHER_HELP))
