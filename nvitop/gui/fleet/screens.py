# SPDX-License-Identifier: GPL-3.0-only
"""The screens of ``nvitop fleet`` and their keys."""

from __future__ import annotations

from functools import partial
from typing import Any, Collection, Iterator

from nvitop.basics.text import contains
from nvitop.fleet.lists import PREFIXES
from nvitop.gui.fleet import state as fleet_state
from nvitop.gui.fleet import view
from nvitop.gui.fleet.columns import LISTS
from nvitop.gui.fleet.state import ORDERS, update_fleet
from nvitop.gui.model.choices import Screen
from nvitop.gui.monitor_screens import HELP
from nvitop.gui.render.theme import DIM, ERROR, IDLE, PLAIN, Role, Style
from nvitop.gui.state import navigation
from nvitop.gui.state.app_state import AppState, Filter, IsHit, Program, ScreenSpec
from nvitop.gui.state.bindings import BINDINGS, MOVE, PROCESS, SCREEN, VIEW, opening, sort_keys
from nvitop.gui.state.events import Redraw, Refresh
from nvitop.gui.state.help_contents import TYPING
from nvitop.gui.state.input_line import FILTER, open_field, words_of
from nvitop.gui.state.keymap import Binding, HelpEntry, HelpGroup, Keymap
from nvitop.health.states import HELD_SECONDS
from nvitop.sampling.types import Demand

_HOSTS = frozenset({Screen.HOSTS})
_GPUS = frozenset({Screen.GPUS})
_USERS = frozenset({Screen.USERS})
_JOBS = frozenset({Screen.JOBS})
_PROBLEMS = frozenset({Screen.PROBLEMS})
_VALUES = _HOSTS | _GPUS | _USERS | _JOBS
_LISTS = _VALUES | _PROBLEMS
_ALL = _LISTS | {Screen.HELP}
#: Actions on all screens whose keys are those of the monitor.
_SHARED = (
    *('redraw', 'next-theme', 'suspend', 'search', 'search-next', 'search-previous'),
    *('select-previous', 'select-next', 'select-first', 'select-last', 'scroll-up'),
    *('scroll-down', 'half-page-up', 'half-page-down', 'line-up', 'line-down'),
)


def _shared(names: Collection[str], screens: frozenset[Screen]) -> Iterator[Binding]:
    return (binding._replace(screens=screens) for binding in BINDINGS if binding.name in names)


# fmt: off
_BINDINGS: tuple[Binding, ...] = (
    Binding(('q', 'Q', 'F10'), 'quit', navigation.leave, 'quit', _HOSTS, VIEW, hint='quit', leaves=True),
    Binding(('Ctrl-C',), 'quit', navigation.leave, '', _ALL, VIEW, leaves=True),
    *opening(('h', '?', 'F1'), Screen.HELP, 'this help', _ALL - {Screen.HELP}, 'help', name='help', group=VIEW),
    *(binding._replace(run=fleet_state.toggle_freeze) for binding in _shared(('freeze',), _VALUES)),
    Binding(('r', 'Ctrl-R', 'F5'), 'refresh', lambda state: (state, (Refresh(), Redraw())), 'refresh', _ALL, VIEW),
    *_shared(_SHARED, _ALL),
    Binding(('Esc',), 'clear', fleet_state.clear_filter, 'clear filter, search, pause', _HOSTS, MOVE),
    Binding(('\\', 'F4'), 'filter', partial(open_field, purpose=FILTER), 'filter: name, host: gpu: user: job: model: free:', _VALUES, PROCESS, hint='filter'),
    Binding(('Enter',), 'show-page', fleet_state.open_host, 'screens of the host; q: back', _HOSTS | _GPUS | _PROBLEMS, SCREEN, hint='host'),
    Binding(('Enter',), 'show-user', fleet_state.show_hosts, 'show the hosts', _USERS | _JOBS, SCREEN, hint='hosts'),
    *opening(('g',), Screen.GPUS, 'GPUs of all hosts: free, faulty, held first', _VALUES - _GPUS, 'GPUs'),
    *opening(('u', 'U'), Screen.USERS, 'users over all hosts', _VALUES - _USERS, 'users'),
    *opening(('J',), Screen.JOBS, 'jobs and pods over all hosts', _VALUES - _JOBS, 'jobs'),
    *opening(('!',), Screen.PROBLEMS, 'problems, server, exporters', _ALL - _PROBLEMS, 'problems'),
    Binding(('Esc', 'q', 'Q', 'F10'), 'back', navigation.go_back, 'back', _ALL - _HOSTS, SCREEN, hint='back', leaves=True),
    *_shared(('sort-previous', 'sort-next', 'sort-reverse', 'sort-menu'), _LISTS),
    *sort_keys(ORDERS),
)
# fmt: on

#: The default keys. Those of the configuration file apply to actions with the same name.
FLEET_KEYS = Keymap(_BINDINGS)

_SIGNS = HelpGroup(
    'Signs',
    (
        HelpEntry('▁▂▃▄▅▆▇', 'utilization of one GPU, 0 to 100 %', Style(Role.UTILIZATION)),
        HelpEntry('_', 'free; z: free and asleep', IDLE),
        HelpEntry('▁', 'held', Style(Role.HELD)),
        HelpEntry('×', 'broken; a bar in amber has a warning', ERROR),
        HelpEntry('?', 'not known', DIM),
        HelpEntry('HELD', f'half their memory idle for {HELD_SECONDS / 60:.0f} minutes', PLAIN),
        HelpEntry('FREE', 'without processes, and not broken', PLAIN),
        HelpEntry('gpu[1-4]', 'hosts that are alike, as one row', PLAIN),
    ),
)
_OTHER_HELP = (
    TYPING._replace(heading='Typing a filter or a search'),
    HelpGroup(
        'Mouse',
        (
            HelpEntry('click', 'select, press a hint'),
            HelpEntry('double click', 'open (Enter)'),
            HelpEntry('wheel', 'move; Ctrl: by five'),
        ),
    ),
)


def _find(state: AppState, text: str) -> IsHit | None:
    listed = LISTS[state.screen].view

    def text_of(row: Any) -> str:
        values = [listed.value(name, row) for name in listed.columns]
        words = [value if isinstance(value, list) else [value] for value in values]
        names = [host.name for host in getattr(row, 'members', ())]
        return ' '.join([*(str(word) for part in words for word in part), *names])

    return words_of(text_of)(state, text)


_LIST = ScreenSpec(
    draw=view.draw_list,
    menu=(),
    lines=fleet_state.listed,
    demand=lambda state: Demand(),
    margins=view.margins,
    search=_find,
    filter=Filter(
        'hosts',
        'name, or host: gpu: user: job: model: free:4',
        PREFIXES,
        lambda state, word: any(
            contains(host.name, word) for host in fleet_state.fleet_of(state).reading.hosts
        ),
    ),
    is_framed=True,
)
FLEET_SCREENS: dict[Screen, ScreenSpec] = {
    Screen.HOSTS: _LIST._replace(
        menu=('h', 'Enter', 'g', 'u', 'J', '!', 'F6', '\\', '/', 'n N', 'z', 'q'),
        key_of=lambda host: host.name,
        orders=ORDERS[Screen.HOSTS],
    ),
    Screen.GPUS: _LIST._replace(
        menu=('h', 'Enter', 'u', 'J', 'F6', '/', 'n N', '\\', '!', 'z', 'q'),
        key_of=lambda row: (row.name, row.gpus[0].id),
        orders=ORDERS[Screen.GPUS],
    ),
    Screen.USERS: _LIST._replace(
        menu=('h', 'Enter', 'g', 'J', 'F6', '/', 'n N', '\\', '!', 'z', 'q'),
        key_of=lambda user: user.filter,
        orders=ORDERS[Screen.USERS],
    ),
    Screen.JOBS: _LIST._replace(
        menu=('h', 'Enter', 'g', 'u', 'F6', '/', 'n N', '\\', '!', 'z', 'q'),
        key_of=lambda job: job.filter,
        orders=ORDERS[Screen.JOBS],
    ),
    Screen.PROBLEMS: _LIST._replace(
        menu=('h', 'Enter', 'F6', 'PageUp PageDown', '/', 'n N', 'q'),
        key_of=lambda problem: problem,
        orders=ORDERS[Screen.PROBLEMS],
        filter=Filter(),
    ),
    Screen.HELP: HELP._replace(demand=_LIST.demand),
}

FLEET = Program(
    FLEET_SCREENS, FLEET_KEYS, update_fleet, lambda _: ((_SIGNS,), _OTHER_HELP), view.first_line
)
