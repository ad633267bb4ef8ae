# SPDX-License-Identifier: GPL-3.0-only
"""The screens of ``nvitop fleet`` and their keys."""

from __future__ import annotations

from nvitop.gui.fleet.state import (
    ORDERS,
    clear,
    demanded_question,
    fleet_of,
    freeze,
    next_metric,
    open_host,
    refresh,
    reverse_order,
    select_host,
    selected_host,
    show_hosts_of_user,
    sort_by_next_column,
    sort_hosts,
)
from nvitop.gui.fleet.view import (
    draw_heat_map,
    draw_hosts,
    draw_problems_of_fleet,
    draw_users_of_fleet,
    lay_out_heat_map,
    problem_texts,
    trouble_of,
)
from nvitop.gui.layout.screens import HelpEntry, HelpGroup, HelpPart
from nvitop.gui.model.choices import Screen
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.state.app_state import AppState, KeyedSelection, Screens, ScreenSpec
from nvitop.gui.state.bindings import (
    MOVE,
    PROCESS,
    SCREEN,
    SORT,
    VIEW,
    Action,
    Binding,
    leaving,
    opening,
)
from nvitop.gui.state.help_contents import lines_about_keys
from nvitop.gui.state.keymap import Keymap
from nvitop.gui.view.screens.help import draw_help_lines
from nvitop.sampling.history import History

_HOSTS = frozenset({Screen.HOSTS})
_HEAT_MAP = frozenset({Screen.HEAT_MAP})
_USERS = frozenset({Screen.USERS})
_PROBLEMS = frozenset({Screen.PROBLEMS})
_VALUES = _HOSTS | _HEAT_MAP | _USERS
_ALL = _VALUES | _PROBLEMS | {Screen.HELP}

# fmt: off
_BINDINGS: tuple[Binding, ...] = (
    Binding(('q', 'Q', 'F10'), Action.QUIT, 'quit', _HOSTS, VIEW, hint='quit'),
    Binding(('Ctrl-C',), Action.QUIT, '', _ALL, VIEW),
    Binding(('h', '?', 'F1'), Action.HELP, 'this help', _ALL - {Screen.HELP}, VIEW, hint='help', opens=Screen.HELP),
    Binding(('z',), Action.FREEZE, 'pause or resume', _VALUES, VIEW, hint='pause'),
    Binding(('r', 'R', 'Ctrl-R', 'F5'), Action.REFRESH, 'refresh', _ALL, VIEW),
    Binding(('L',), Action.NEXT_THEME, 'next theme', _ALL, VIEW),
    Binding(('Ctrl-Z',), Action.SUSPEND, 'suspend (resume with fg)', _ALL, VIEW),
    Binding(('Up', 'Shift-Tab', 'Alt-k', 'k'), Action.SELECT_PREVIOUS, 'previous line', _ALL, MOVE),
    Binding(('Down', 'Tab', 'Alt-j', 'j'), Action.SELECT_NEXT, 'next line', _ALL, MOVE),
    Binding(('PageUp', '['), Action.SCROLL_UP, 'previous page', _ALL, MOVE, hint='scroll'),
    Binding(('PageDown', ']'), Action.SCROLL_DOWN, 'next page', _ALL, MOVE),
    Binding(('Home',), Action.SELECT_FIRST, 'first line', _ALL, MOVE),
    Binding(('End',), Action.SELECT_LAST, 'last line', _ALL, MOVE),
    Binding(('Esc',), Action.CLEAR, 'clear filter, selection', _HOSTS, MOVE),
    Binding(('\\', 'F4'), Action.FILTER, 'filter: name, host: gpu: user: model:', _VALUES, PROCESS, hint='filter'),
    Binding(('Enter',), Action.SHOW_PAGE, 'screens of the host; q: back', _HOSTS, SCREEN, hint='host'),
    Binding(('Enter',), Action.SHOW_USER, 'show the hosts', _USERS, SCREEN, hint='hosts of the user'),
    opening(('g',), Screen.HEAT_MAP, 'all GPUs as a heat map', _HOSTS | _USERS, 'GPUs'),
    Binding(('g', 'm'), Action.NEXT_GRAPH, 'next metric', _HEAT_MAP, SCREEN, hint='next metric'),
    opening(('U',), Screen.USERS, 'users over all hosts', _HOSTS | _HEAT_MAP, 'users'),
    opening(('!',), Screen.PROBLEMS, 'server, exporters, findings, old data', _ALL - _PROBLEMS, 'problems'),
    Binding(('Esc', 'q', 'Q', 'F10'), Action.BACK, 'back', _ALL - _HOSTS, SCREEN, hint='back'),
    Binding((',', '<'), Action.SORT_PREVIOUS, 'sort by the previous column', _HOSTS, SORT),
    Binding(('.', '>'), Action.SORT_NEXT, 'sort by the next column', _HOSTS, SORT),
    Binding(('/',), Action.SORT_REVERSE, 'reverse the order', _HOSTS, SORT),
    Binding(('F6',), Action.SORT_MENU, 'menu of orders', _HOSTS, SORT, hint='sort'),
    *(Binding((f'o {order.letter}',), Action.SORT_BY, f'sort by {order.title}', _HOSTS, SORT, order.name, order.title) for order in ORDERS),
    *(Binding((f'o {order.letter.upper()}',), Action.SORT_BY, '', _HOSTS, SORT, f'-{order.name}') for order in ORDERS),
)
# fmt: on

#: The default keys. Those of the configuration file apply to actions with the same name.
FLEET_KEYS = Keymap((*_BINDINGS, *leaving(_BINDINGS)))

_OTHER_HELP = (
    HelpGroup(
        'Typing a filter',
        (
            HelpEntry('Enter', 'send it to the server; names are filtered at once'),
            HelpEntry('Esc', 'discard it (also Ctrl-C)'),
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
    HelpGroup(
        'Signs',
        (
            HelpEntry('▁▂▃▄▅▆▇', 'utilization of one GPU, from 0 % to 100 %'),
            HelpEntry('▁', 'in the color of warnings: held (idle, with over 1 GiB in use)'),
            HelpEntry('!', 'something is wrong with this GPU'),
            HelpEntry('·', 'no exporter reports its utilization'),
            HelpEntry('AGE', 'age of the values; late from 2 minutes, old from 5 minutes'),
        ),
        kind='legend',
    ),
)
_FILTER = 'name, or host: gpu: user: model: (Enter asks the server)'
_ACTIONS = {
    Action.REFRESH: refresh,
    Action.FREEZE: freeze,
}


def _margins(state: AppState) -> tuple[int, int]:
    """Title, sums and headings are above the lines, and an error below them."""
    return 3, int(bool(trouble_of(state)))


def _help(state: AppState) -> tuple[tuple[HelpPart, ...], ...]:
    return lines_about_keys(state, _OTHER_HELP)


def _draw_help(buf: Buffer, state: AppState, _: History) -> None:
    draw_help_lines(buf, state, _help(state))


FLEET_SCREENS: Screens = {
    Screen.HOSTS: ScreenSpec(
        draw=draw_hosts,
        hints=('h', 'q'),
        menu=('h', 'Enter', 'g', 'U', 'F6', '\\', 'z', '!', 'q'),
        lines=lambda state: fleet_of(state).rows,
        demand=demanded_question,
        margins=_margins,
        selection=KeyedSelection(selected_host, select_host),
        filter_example=_FILTER,
        actions={
            **_ACTIONS,
            Action.SHOW_PAGE: open_host,
            Action.CLEAR: clear,
            Action.SORT_BY: sort_hosts,
            Action.SORT_PREVIOUS: lambda state, _: sort_by_next_column(state, -1),
            Action.SORT_NEXT: lambda state, _: sort_by_next_column(state, 1),
            Action.SORT_REVERSE: reverse_order,
        },
    ),
    Screen.HEAT_MAP: ScreenSpec(
        draw=draw_heat_map,
        hints=('g', 'h', 'q'),
        menu=('h', 'g', 'U', '\\', 'z', '!', 'q'),
        lines=lambda state: range(lay_out_heat_map(state).lines),
        demand=demanded_question,
        margins=_margins,
        has_cursor=False,
        filter_example=_FILTER,
        actions={**_ACTIONS, Action.NEXT_GRAPH: next_metric},
    ),
    Screen.USERS: ScreenSpec(
        draw=draw_users_of_fleet,
        hints=('h', 'q'),
        menu=('h', 'Enter', 'g', '\\', 'z', '!', 'q'),
        lines=lambda state: fleet_of(state).users.users,
        demand=demanded_question,
        margins=_margins,
        filter_example=_FILTER,
        actions={**_ACTIONS, Action.SHOW_USER: show_hosts_of_user},
    ),
    Screen.PROBLEMS: ScreenSpec(
        draw=draw_problems_of_fleet,
        hints=('h', 'q'),
        menu=('h', 'PageUp PageDown', 'q'),
        lines=problem_texts,
        demand=demanded_question,
        margins=_margins,
        has_cursor=False,
        actions=_ACTIONS,
    ),
    Screen.HELP: ScreenSpec(
        draw=_draw_help,
        hints=('q',),
        menu=('PageUp PageDown', 'q'),
        lines=_help,
        demand=demanded_question,
        margins=lambda _: (2, 0),
        has_cursor=False,
        actions=_ACTIONS,
    ),
}
