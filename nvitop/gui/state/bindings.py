# SPDX-License-Identifier: GPL-3.0-only
"""The table of keys: dispatch, help screen, hints, configuration and documentation read it."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Iterator

from nvitop.gui.model.choices import Screen
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.state.actions import (
    clear,
    leave,
    need_device,
    need_past,
    need_process,
    need_processes_here,
    need_recording,
    need_search,
    need_shown_process,
    need_taggable,
    need_target,
    open_sort_menu,
    redraw,
    refresh,
    reverse_order,
    sort_by_neighbor,
    sort_by_order,
    sum_by_owner,
    suspend,
    tag,
    toggle_mouse,
)
from nvitop.gui.state.appearance import (
    change_time,
    choose_column,
    choose_mode,
    move_column,
    next_graph,
    next_theme,
    save_settings,
    toggle_details,
    toggle_hints,
    toggle_host,
)
from nvitop.gui.state.dialog import ask_for_signal
from nvitop.gui.state.environ import toggle_secrets
from nvitop.gui.state.input_line import open_field, search_again
from nvitop.gui.state.keymap import SORT_BY, Binding, Keymap, Need, leaving
from nvitop.gui.state.lists import LIST_ORDERS, ListOrder, sort_list
from nvitop.gui.state.navigation import (
    go_back,
    move_by_lines,
    move_by_pages,
    move_by_steps,
    move_to_edge,
    move_to_first,
    move_to_last,
    open_screen,
    scroll_by_lines,
)
from nvitop.gui.state.process_rows import ORDERS, Order
from nvitop.gui.state.selection import (
    select_by_index,
    select_next_device,
    show_device,
    show_user,
    tag_subtree,
    toggle_page,
)
from nvitop.gui.state.times import show_event_time, toggle_freeze, travel

#: The screens of the monitor.
ALL_SCREENS = frozenset(Screen) - {Screen.HOSTS, Screen.HEAT_MAP, Screen.JOBS}
_MAIN = frozenset({Screen.MAIN})
_TREE = frozenset({Screen.TREE})
_ENVIRON = frozenset({Screen.ENVIRON})
_COLUMNS = frozenset({Screen.COLUMNS})
_GRAPHS = frozenset({Screen.MAIN, Screen.METRICS})
_PROCESSES = _MAIN | _TREE
_USERS_AND_PROBLEMS = frozenset({Screen.USERS, Screen.PROBLEMS})
_LINES = ALL_SCREENS - {Screen.METRICS}
#: Keys of the help only scroll or leave it, because nothing else would be seen.
_NOT_HELP = ALL_SCREENS - {Screen.HELP}
_WIDE = _MAIN | _TREE | _ENVIRON

#: Headings of the help screen.
VIEW, MOVE, PROCESS, SCREEN, _TIME, SORT = (
    'View',
    'Moving and selecting',
    'Processes',
    'Screens',
    'Looking back',
    'Sorting',
)


def opening(
    keys: tuple[str, ...],
    screen: Screen,
    text: str,
    screens: frozenset[Screen],
    hint: str,
    needs: tuple[Need, ...] = (),
) -> Binding:
    """Return the binding of keys that open a screen."""
    name = f'open-{screen.name.lower().replace("_", "-")}'
    run = partial(open_screen, screen=screen)
    return Binding(keys, name, run, text, screens, SCREEN, hint=hint, opens=screen, needs=needs)


def _signal(keys: tuple[str, ...], name: str, signal: str, hint: str) -> Binding:
    run = partial(ask_for_signal, signal=signal)
    text, needs = f'{signal} to tagged or selected', (need_target,)
    return Binding(
        keys, name, run, text, _PROCESSES, PROCESS, hint=hint, needs=needs, is_signal=True
    )


def _travel(
    keys: tuple[str, ...],
    name: str,
    run: Callable[[Any], Any],
    text: str,
    hint: str,
    need: Need = need_past,
) -> Binding:
    return Binding(keys, name, run, text, _NOT_HELP, _TIME, hint=hint, needs=(need,))


def sorting(
    order: Order | ListOrder,
    run: Callable[..., Any],
    screen: Screen,
    title: str,
    text: str,
    *,
    group: str = '',
) -> tuple[Binding, Binding]:
    """Return the bindings of ``o`` and a letter, and of the upper-case letter: the order reversed."""
    name = f'{SORT_BY}{group}{order.name.replace("_", "-")}'
    usual, turned = (partial(run, order=order.name, reverse=reverse) for reverse in (False, True))
    keys, places = f'o {order.letter}', frozenset({screen})
    return (
        Binding((keys,), name, usual, text, places, SORT, title),
        Binding((f'o {order.letter.upper()}',), f'{name}-reversed', turned, '', places, SORT),
    )


def _sort_bindings() -> Iterator[Binding]:
    titles = {column.order: column.title for column in COLUMNS}
    for order in ORDERS:
        title = titles[order.name]
        text = f'sort by {title}, {"highest" if order.is_descending else "lowest"} first'
        if order.name == 'natural':
            text = 'sort by GPU, user and PID (default)'
        yield from sorting(order, sort_by_order, Screen.MAIN, title, text)
    for screen, orders in LIST_ORDERS.items():
        for each in orders:
            text, group = f'sort by {each.title}', f'{screen.value}-'
            yield from sorting(each, sort_list, screen, each.title, text, group=group)


# fmt: off
_BINDINGS: tuple[Binding, ...] = (
    # leaving
    Binding(('q', 'Q', 'F10'), 'quit', leave, 'quit and print a report', _MAIN, VIEW, hint='quit'),
    Binding(('h', '?', 'F1'), 'help', partial(open_screen, screen=Screen.HELP), 'this help', ALL_SCREENS - {Screen.HELP}, VIEW, hint='help', opens=Screen.HELP),
    # view
    Binding(('a',), 'mode-auto', partial(choose_mode, mode='auto'), 'automatic layout', _MAIN, VIEW),
    Binding(('f',), 'mode-full', partial(choose_mode, mode='full'), 'full panels', _MAIN, VIEW),
    Binding(('c',), 'mode-compact', partial(choose_mode, mode='compact'), 'compact panels', _MAIN, VIEW),
    Binding(('H',), 'toggle-host', toggle_host, 'hide or show the host panel', _MAIN, VIEW),
    Binding(('d',), 'toggle-details', toggle_details, 'GPU details: links, throttling', _MAIN, VIEW, hint='details'),
    Binding(('g',), 'next-graph', partial(next_graph, is_upper=False), 'next metric in the lower GPU graph', _MAIN, VIEW),
    Binding(('G',), 'next-upper-graph', partial(next_graph, is_upper=True), 'next metric in the upper GPU graph', _MAIN, VIEW),
    Binding(('+', '='), 'longer-time', partial(change_time, step=1), 'zoom graphs out, up to 60 min', _GRAPHS, VIEW, hint='time'),
    Binding(('-', '_'), 'shorter-time', partial(change_time, step=-1), 'zoom graphs in', _GRAPHS, VIEW, hint='time'),
    Binding(('z',), 'freeze', toggle_freeze, 'pause or resume', _NOT_HELP, VIEW, hint='pause'),
    Binding(('r', 'Ctrl-R', 'F5'), 'refresh', refresh, 'refresh, clear the selection', _NOT_HELP, VIEW),
    Binding(('Ctrl-L',), 'redraw', redraw, 'draw the screen again', ALL_SCREENS, VIEW),
    Binding(('L',), 'next-theme', next_theme, 'next theme', _NOT_HELP, VIEW),
    Binding(('m',), 'toggle-hints', toggle_hints, 'hide or show the hint line', _NOT_HELP, VIEW),
    Binding(('W',), 'save-settings', save_settings, 'save theme, layout, columns', _NOT_HELP, VIEW, hint='save'),
    Binding(('M',), 'toggle-mouse', toggle_mouse, 'mouse: nvitop or terminal', _NOT_HELP, VIEW),
    Binding(('Ctrl-Z',), 'suspend', suspend, 'suspend (resume with fg)', ALL_SCREENS, VIEW),
    # moving
    Binding(('Up', 'k', 'Alt-k'), 'select-previous', partial(move_by_lines, step=-1), 'previous process or line', _LINES, MOVE, hint='select'),
    Binding(('Down', 'j', 'Alt-j'), 'select-next', partial(move_by_lines, step=1), 'next process or line', _LINES, MOVE),
    Binding(('Shift-Tab',), 'select-previous', partial(move_by_lines, step=-1), '', _LINES - _MAIN, MOVE),
    Binding(('Tab',), 'select-next', partial(move_by_lines, step=1), '', _LINES - _MAIN, MOVE),
    Binding(('Tab',), 'next-device', partial(select_next_device, step=1), 'next GPU: its graphs and processes', _MAIN, MOVE, hint='GPU'),
    Binding(('Shift-Tab',), 'previous-device', partial(select_next_device, step=-1), 'select the previous GPU', _MAIN, MOVE),
    Binding(('0',), 'select-device-0', partial(select_by_index, index=0), 'select GPU 0 (1 to 9: others)', _MAIN, MOVE),
    *(Binding((digit,), f'select-device-{digit}', partial(select_by_index, index=int(digit)), '', _MAIN, MOVE) for digit in '123456789'),
    Binding(('Home',), 'select-first', move_to_first, 'first process or line', _LINES, MOVE),
    Binding(('End',), 'select-last', move_to_last, 'last process or line', _LINES, MOVE),
    Binding(('PageUp', 'Ctrl-B'), 'scroll-up', partial(move_by_pages, step=-1), 'scroll up by a page', _LINES, MOVE, hint='scroll'),
    Binding(('PageDown', 'Ctrl-F'), 'scroll-down', partial(move_by_pages, step=1), 'scroll down by a page', _LINES, MOVE),
    Binding(('Ctrl-U',), 'half-page-up', partial(move_by_pages, step=-0.5), 'scroll up by half a page', _LINES, MOVE),
    Binding(('Ctrl-D',), 'half-page-down', partial(move_by_pages, step=0.5), 'scroll down by half a page', _LINES, MOVE),
    Binding(('[', 'Alt-K'), 'line-up', partial(scroll_by_lines, step=-1), 'scroll up by a line', _LINES, MOVE),
    Binding((']', 'Alt-J'), 'line-down', partial(scroll_by_lines, step=1), 'scroll down by a line', _LINES, MOVE),
    Binding(('Left', 'Alt-h'), 'scroll-left', partial(move_by_steps, steps=-1), 'scroll long lines to the left', _WIDE, MOVE),
    Binding(('Right', 'Alt-l'), 'scroll-right', partial(move_by_steps, steps=1), 'scroll long lines to the right', _WIDE, MOVE),
    Binding(('Ctrl-A', '^'), 'scroll-begin', partial(move_to_edge, direction=-1), 'beginning of long lines', _WIDE, MOVE),
    Binding(('Ctrl-E', '$'), 'scroll-end', partial(move_to_edge, direction=1), 'end of long lines', _WIDE, MOVE),
    Binding(('Esc',), 'clear', clear, 'clear filter, selection, GPU, pause', _PROCESSES, MOVE, hint='clear'),
    # processes
    Binding(('Space',), 'tag', tag, 'tag the process, go to the next', _PROCESSES, PROCESS, hint='tag', needs=(need_taggable,)),
    Binding(('x',), 'tag-subtree', tag_subtree, 'tag with all descendants', _TREE, PROCESS, hint='tag all below', needs=(need_process,)),
    _signal(('Ctrl-C', 'I'), 'interrupt', 'SIGINT', 'interrupt'),
    _signal(('T',), 'terminate', 'SIGTERM', 'terminate'),
    _signal(('K', 'F9'), 'kill', 'SIGKILL', 'kill'),
    Binding(('\\', 'F4'), 'filter', partial(open_field, purpose='filter'), 'filter (user: gpu: pid: type: job:)', _PROCESSES | _USERS_AND_PROBLEMS, PROCESS, hint='filter'),
    Binding(('/', 'F3'), 'search', partial(open_field, purpose='search'), 'search while you type', _LINES, PROCESS, hint='search'),
    Binding(('n',), 'search-next', partial(search_again, step=1), 'next match of the search', _LINES, PROCESS, hint='match', needs=(need_search,)),
    Binding(('N',), 'search-previous', partial(search_again, step=-1), 'previous match of the search', _LINES, PROCESS, hint='match', needs=(need_search,)),
    # screens
    opening(('t',), Screen.TREE, 'tree of processes', _MAIN | {Screen.USERS}, 'tree'),
    opening(('e',), Screen.ENVIRON, 'environment of the process', _PROCESSES | {Screen.METRICS}, 'env', (need_processes_here, need_shown_process)),
    opening(('Enter',), Screen.METRICS, 'graphs of the selected process', _MAIN, 'graphs', (need_process,)),
    opening(('U', 'u'), Screen.USERS, 'usage by user', _PROCESSES, 'users'),
    Binding(('U', 'u'), 'sum-by-owner', sum_by_owner, 'by job, pod or container, or by user', frozenset({Screen.USERS}), SCREEN, hint='by job'),
    opening(('!',), Screen.PROBLEMS, 'what is wrong, and why values are missing', _NOT_HELP - {Screen.PROBLEMS}, 'problems'),
    opening(('V',), Screen.EVENTS, 'events of a recording', _NOT_HELP - {Screen.EVENTS}, 'events', (need_recording,)),
    opening(('C', 'F2'), Screen.COLUMNS, 'choose the columns of processes', _MAIN, 'columns'),
    Binding(('v',), 'reveal', toggle_secrets, 'show secrets', _ENVIRON, SCREEN, hint='secrets'),
    Binding(('Space', 'Enter'), 'choose', choose_column, 'show or hide the column', _COLUMNS, SCREEN, hint='show or hide'),
    Binding(('K', '<'), 'move-up', partial(move_column, step=-1), 'move the column to the left', _COLUMNS, SCREEN, hint='move'),
    Binding(('J', '>'), 'move-down', partial(move_column, step=1), 'move the column to the right', _COLUMNS, SCREEN, hint='move'),
    Binding(('Enter',), 'show-page', toggle_page, 'page of the selected GPU', _MAIN, SCREEN, hint='GPU page', needs=(need_device,)),
    Binding(('Enter',), 'show-user', show_user, 'show the processes', frozenset({Screen.USERS}), SCREEN, hint='processes'),
    Binding(('Enter',), 'show-event', show_event_time, 'go to the time of the event', frozenset({Screen.EVENTS}), SCREEN, hint='go there', needs=(need_recording,)),
    Binding(('Enter',), 'show-device', show_device, 'go to the GPU', frozenset({Screen.PROBLEMS}), SCREEN, hint='GPU'),
    Binding(('Esc', 'q', 'Q', 'F10'), 'back', go_back, 'back', ALL_SCREENS - _MAIN - _TREE, SCREEN, hint='back'),
    Binding(('t', 'q', 'Q', 'F10'), 'back', go_back, 'back', _TREE, SCREEN, hint='back'),
    # time
    _travel(('(',), 'previous-frame', partial(travel, unit='frame', amount=-1), 'previous sample, and pause', 'step'),
    _travel((')',), 'next-frame', partial(travel, unit='frame', amount=1), 'next sample, and pause', 'step'),
    _travel(('{',), 'previous-minute', partial(travel, unit='seconds', amount=-60), 'a minute back', 'minute'),
    _travel(('}',), 'next-minute', partial(travel, unit='seconds', amount=60), 'a minute ahead', 'minute'),
    _travel(('Alt-{',), 'previous-hour', partial(travel, unit='seconds', amount=-3600), 'an hour back', 'hour'),
    _travel(('Alt-}',), 'next-hour', partial(travel, unit='seconds', amount=3600), 'an hour ahead', 'hour'),
    _travel(('b',), 'go-to-time', partial(open_field, purpose='time'), 'go to a time: 14:05, -30m', 'go to'),
    _travel(('B',), 'first-frame', partial(travel, unit='end', amount=-1), 'first sample', 'first'),
    _travel(('E',), 'last-frame', partial(travel, unit='end', amount=1), 'last sample', 'last'),
    _travel(('N',), 'previous-event', partial(travel, unit='event', amount=-1), 'previous event of a recording', 'event', need_recording),
    _travel(('n',), 'next-event', partial(travel, unit='event', amount=1), 'next event of a recording', 'event', need_recording),
    _travel(('S',), 'faster', partial(travel, unit='speed', amount=1), 'replay faster', 'speed', need_recording),
    _travel(('s',), 'slower', partial(travel, unit='speed', amount=-1), 'replay slower', 'speed', need_recording),
    # sorting
    Binding((',', '<'), 'sort-previous', partial(sort_by_neighbor, step=-1), 'sort by the previous column', _MAIN | _USERS_AND_PROBLEMS, SORT),
    Binding(('.', '>'), 'sort-next', partial(sort_by_neighbor, step=1), 'sort by the next column', _MAIN | _USERS_AND_PROBLEMS, SORT),
    Binding(('R',), 'sort-reverse', reverse_order, 'reverse the order', _MAIN | _USERS_AND_PROBLEMS, SORT),
    Binding(('F6',), 'sort-menu', open_sort_menu, 'menu of orders', _MAIN | _USERS_AND_PROBLEMS, SORT, hint='sort'),
    *_sort_bindings(),
)
# fmt: on


#: All keys. If several bindings have the same key on a screen, the first whose needs are met counts.
BINDINGS: tuple[Binding, ...] = (*_BINDINGS, *leaving(_BINDINGS, go_back))

#: The default keys.
USUAL: Keymap = Keymap(BINDINGS)
#: Name of a binding → its default keys: of the first one if several share a name.
USUAL_KEYS: dict[str, tuple[str, ...]] = {}
for _binding in BINDINGS:
    USUAL_KEYS.setdefault(_binding.name, _binding.keys)

#: Sets of keys for the configuration file: those that other programs give these actions.
PRESETS: dict[str, dict[str, tuple[str, ...]]] = {
    'nvitop-1': {
        'kill': ('K', 'k', 'F9'),
        'refresh': ('r', 'R', 'Ctrl-R', 'F5'),
        'sort-reverse': ('/',),
        'search': ('F3',),
        'select-previous': ('Up', 'Shift-Tab', 'Alt-k'),
        'select-next': ('Down', 'Tab', 'Alt-j'),
        'line-up': ('PageUp', '[', 'Alt-K'),
        'line-down': ('PageDown', ']', 'Alt-J'),
    }
}
