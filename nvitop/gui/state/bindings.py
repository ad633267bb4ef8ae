# SPDX-License-Identifier: GPL-3.0-only
"""The table of keys: dispatch, help screen, hints, configuration and documentation read it."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, Callable, Iterator, Mapping, Sequence

from nvitop.gui.model.choices import Screen
from nvitop.gui.state import actions, dialog, events, navigation, needs, tags, time_travel
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.input_line import FILTER, SEARCH, TIME, open_field, search_again
from nvitop.gui.state.keymap import Binding, Keymap, Need
from nvitop.gui.state.lists import LIST_ORDERS, sort_list
from nvitop.gui.state.orders import Order

#: The screens of the monitor.
ALL_SCREENS = frozenset(Screen) - {Screen.HOSTS, Screen.GPUS, Screen.JOBS}
_MAIN = frozenset({Screen.MAIN})
_TREE = frozenset({Screen.TREE})
_ENVIRON = frozenset({Screen.ENVIRON})
_COLUMNS = frozenset({Screen.COLUMNS})
_GRAPHS = frozenset({Screen.MAIN, Screen.PROCESS})
_PROCESSES = _MAIN | _TREE
_USERS = frozenset({Screen.USERS})
_USERS_AND_PROBLEMS = frozenset({Screen.USERS, Screen.PROBLEMS})
_SIGNAL = frozenset({Screen.SIGNAL})
#: Screens with processes to signal.
_SIGNALS = _PROCESSES | _SIGNAL | {Screen.PROCESS}
_LINES = ALL_SCREENS - {Screen.PROCESS}
#: Keys of the help only scroll or leave it, because nothing else would be seen. Those of the signal
#: screen do nothing that distracts from the question.
_NOT_HELP = ALL_SCREENS - {Screen.HELP, Screen.SIGNAL}
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
    *,
    name: str = '',
    group: str = SCREEN,
    waits: bool = False,
) -> tuple[Binding, Binding]:
    """Return the bindings of keys that open a screen, and that leave it again."""
    name = name or f'open-{screen.name.lower()}'
    run = partial(navigation.open_screen, screen=screen)
    here = frozenset({screen})
    return (
        Binding(keys, name, run, text, screens, group, hint, screen, needs, waits=waits),
        Binding(keys, name, navigation.go_back, '', here, group, hint='back', leaves=True),
    )


def moving(
    keys: tuple[str, ...],
    name: str,
    run: Callable[..., Result],
    text: str,
    screens: frozenset[Screen],
    **more: Any,
) -> Binding:
    return Binding(keys, name, run, text, screens, MOVE, waits=True, **more)


def _effect(effect: events.Effect) -> Callable[[AppState], Result]:
    return lambda state: (state, (effect,))


def _signal(keys: tuple[str, ...], name: str, signal: str, hint: str) -> Binding:
    run = partial(dialog.ask_for_signal, signal=signal)
    text, need = f'{signal} to tagged or selected', needs.need_target
    return Binding(
        keys, name, run, text, _SIGNALS, PROCESS, hint=hint, needs=(need,), is_signal=True
    )


def _travel(
    keys: tuple[str, ...],
    name: str,
    unit: str,
    amount: int,
    text: str,
    hint: str,
    need: Need = needs.need_past,
) -> Binding:
    run = partial(time_travel.travel, unit=unit, amount=amount)
    return Binding(keys, name, run, text, _NOT_HELP, _TIME, hint=hint, needs=(need,))


def sort_keys(lists: Mapping[Screen, Sequence[Order]]) -> Iterator[Binding]:
    """Yield the bindings of ``o`` and a letter, and of the upper-case letter: the order reversed.

    The names of those of the first screen do without its name.
    """
    for number, (screen, orders) in enumerate(lists.items()):
        group = f'{screen.value}-' if number else ''
        for order in orders:
            name = f'sort-by-{group}{order.name.replace("_", "-")}'
            is_default = order is orders[0]
            text = f'{order.title} (default)' if is_default else order.describe(reverse=False)
            usual = Binding(
                (f'o {order.letter}',),
                name,
                partial(sort_list, order=order.name, reverse=False),
                f'sort by {text}',
                frozenset({screen}),
                SORT,
                order.title,
                order=order.name,
            )
            yield usual
            yield usual._replace(
                keys=(f'o {order.letter.upper()}',),
                name=f'{name}-reversed',
                run=partial(sort_list, order=order.name, reverse=True),
                help='',
                hint='',
            )


# fmt: off
#: All keys. If several bindings have the same key on a screen, the first whose needs are met counts.
BINDINGS: tuple[Binding, ...] = (
    # leaving
    Binding(('q', 'Q', 'F10'), 'quit', navigation.leave, 'quit and print a report', _MAIN, VIEW, hint=lambda state: 'back' if state.main.shows_page or state.behind or state.origin.is_chosen else 'quit', leaves=True),
    *opening(('h', '?', 'F1'), Screen.HELP, 'this help', _NOT_HELP, 'help', name='help', group=VIEW),
    # moving
    moving(('Up', 'k', 'Alt-k'), 'select-previous', partial(navigation.move_by_lines, step=-1), 'previous process, GPU or line', _LINES, hint=lambda state: 'other GPU' if navigation.moves_gpus(state) else 'select', is_pointless=lambda state: bool(state.selection.processes) or needs.sleeps(state)),
    moving(('Down', 'j', 'Alt-j'), 'select-next', partial(navigation.move_by_lines, step=1), 'next process, GPU or line', _LINES),
    moving(('Shift-Tab',), 'select-previous', partial(navigation.move_by_lines, step=-1), '', _LINES - _MAIN - _SIGNAL),
    moving(('Tab',), 'select-next', partial(navigation.move_by_lines, step=1), '', _LINES - _MAIN - _SIGNAL),
    moving(('Tab',), 'next-device', partial(navigation.select_next_device, step=1), 'next GPU: its processes', _MAIN, hint='GPU', is_pointless=needs.sleeps),
    moving(('Shift-Tab',), 'previous-device', partial(navigation.select_next_device, step=-1), 'select the previous GPU', _MAIN),
    moving(('0',), 'select-device-0', partial(navigation.select_by_index, index=0), 'select GPU 0 (1 to 9: others)', _MAIN),
    *(moving((digit,), f'select-device-{digit}', partial(navigation.select_by_index, index=int(digit)), '', _MAIN) for digit in '123456789'),
    moving(('Home',), 'select-first', partial(navigation.move_to, line=0), 'first line', _LINES),
    moving(('End', 'G'), 'select-last', partial(navigation.move_to, line=sys.maxsize), 'last line', _LINES),
    moving(('PageUp', 'Ctrl-B'), 'scroll-up', partial(navigation.move_by_pages, step=-1), 'scroll up by a page', _LINES, hint='scroll', scrolls=True, is_pointless=needs.sees_all_lines),
    moving(('PageDown', 'Ctrl-F'), 'scroll-down', partial(navigation.move_by_pages, step=1), 'scroll down by a page', _LINES, scrolls=True),
    moving(('Ctrl-U',), 'half-page-up', partial(navigation.move_by_pages, step=-0.5), 'scroll up by half a page', _LINES, scrolls=True),
    moving(('Ctrl-D',), 'half-page-down', partial(navigation.move_by_pages, step=0.5), 'scroll down by half a page', _LINES, scrolls=True),
    moving(('[', 'Alt-K'), 'line-up', partial(navigation.scroll_by_lines, step=-1), 'scroll up by a line', _LINES, scrolls=True),
    moving((']', 'Alt-J'), 'line-down', partial(navigation.scroll_by_lines, step=1), 'scroll down by a line', _LINES, scrolls=True),
    moving(('Left', 'Alt-h'), 'scroll-left', partial(navigation.move_sideways, steps=-1), 'scroll long lines to the left', _WIDE),
    moving(('Right', 'Alt-l'), 'scroll-right', partial(navigation.move_sideways, steps=1), 'scroll long lines to the right', _WIDE),
    moving(('Ctrl-A', '^'), 'scroll-begin', partial(navigation.move_sideways, steps=-navigation.MAX_SCROLL), 'beginning of long lines', _WIDE),
    moving(('Ctrl-E', '$'), 'scroll-end', partial(navigation.move_sideways, steps=navigation.MAX_SCROLL), 'end of long lines', _WIDE),
    moving(('Esc',), 'clear', actions.clear, 'clear filter, selection, pause', _PROCESSES, hint='clear', is_pointless=lambda state: not (state.query or state.main.selected_device or tags.tree_tags(state))),
    # processes
    Binding(('Space',), 'tag', tags.tag, 'tag it, and go to the next', _PROCESSES, PROCESS, hint='tag', needs=(needs.need_process,), is_pointless=lambda state: not state.selection.processes),
    Binding(('x',), 'tag-subtree', tags.tag_subtree, 'tag with all descendants', _TREE, PROCESS, hint='tag all below', needs=(needs.need_process,)),
    _signal(('Ctrl-C', 'I'), 'interrupt', 'SIGINT', 'interrupt'),
    _signal(('T', 'F9'), 'terminate', 'SIGTERM', 'terminate'),
    _signal(('K',), 'kill', 'SIGKILL', 'kill'),
    *(Binding((dialog.SIGNAL_KEYS[name],), f'choose-{name.lower()}', partial(dialog.ask_for_signal, signal=name), name, _SIGNAL, PROCESS) for name in dialog.SIGNALS[3:]),
    Binding(('Enter',), 'send-signal', dialog.confirm, 'send the signal to all listed', _SIGNAL, PROCESS, hint='send', is_signal=True),
    Binding(('Left', 'Shift-Tab'), 'previous-signal', partial(dialog.next_signal, step=-1), 'previous signal', _SIGNAL, PROCESS, hint='choose'),
    Binding(('Right', 'Tab'), 'next-signal', partial(dialog.next_signal, step=1), 'next signal', _SIGNAL, PROCESS),
    Binding(('p',), 'signal-parent', dialog.ask_about_parent, 'the parent of a zombie instead', _SIGNAL, PROCESS, hint='parent', needs=(dialog.need_parent,)),
    Binding(('n', 'N'), 'cancel', navigation.go_back, 'send nothing', _SIGNAL, PROCESS, leaves=True),
    Binding(('\\', 'F4'), 'filter', partial(open_field, purpose=FILTER), 'filter user: gpu: pid: type: job: owner:', _PROCESSES | _USERS_AND_PROBLEMS, PROCESS, hint='filter', is_pointless=needs.sleeps),
    Binding(('/', 'F3'), 'search', partial(open_field, purpose=SEARCH), 'search while you type', _LINES - _SIGNAL, PROCESS, hint='search', is_pointless=needs.sleeps),
    Binding(('n',), 'search-next', partial(search_again, step=1), 'next match of the search', _LINES - _SIGNAL, PROCESS, hint='match', needs=(needs.need_search,)),
    Binding(('N',), 'search-previous', partial(search_again, step=-1), 'previous match of the search', _LINES - _SIGNAL, PROCESS, hint='match', needs=(needs.need_search,)),
    # screens
    *opening(('t', 'F5'), Screen.TREE, 'tree of processes', _MAIN | _USERS, 'tree'),
    *opening(('e',), Screen.ENVIRON, 'environment of the process', _PROCESSES | {Screen.PROCESS}, 'env', (needs.need_processes_here, needs.need_shown_process, needs.need_no_job)),
    *opening(('Enter',), Screen.PROCESS, 'process: graphs', _MAIN, 'graphs', (needs.need_process, needs.need_no_job), name='open-metrics', waits=True),
    Binding(('Enter',), 'fold', navigation.turn_job, 'job: fold', _MAIN, PROCESS, hint=lambda state: 'unfold' if navigation.is_folded(state, state.job) else 'fold', needs=(needs.need_job,)),
    Binding(('Enter',), 'show-page', navigation.toggle_page, 'GPU: page', _MAIN, SCREEN, hint=lambda state: 'all GPUs' if state.main.shows_page else 'GPU page', needs=(needs.need_device,), waits=True),
    Binding(('u', 'U'), 'sum-by-owner', actions.sum_by_owner, 'sum by job, or by user', _USERS, SCREEN, hint=lambda state: 'by user' if state.sums_by_owner else 'by job'),
    *opening(('u', 'U'), Screen.USERS, 'usage by user', _PROCESSES, 'users'),
    *opening(('!',), Screen.PROBLEMS, 'problems and missing values', _NOT_HELP - {Screen.PROBLEMS}, 'problems'),
    *opening(('V',), Screen.EVENTS, 'events of a recording', _NOT_HELP - {Screen.EVENTS}, 'events', (needs.need_recording,)),
    *opening(('C', 'F2'), Screen.COLUMNS, 'choose the columns', _MAIN, 'columns'),
    Binding(('v',), 'reveal', actions.toggle_secrets, 'show or hide secrets', _ENVIRON, SCREEN, hint='secrets', needs=(needs.need_secrets,)),
    Binding(('Space', 'Enter'), 'choose', actions.choose_column, 'show or hide the column', _COLUMNS, SCREEN, hint='show or hide'),
    Binding(('K', '<'), 'move-up', partial(actions.move_column, step=-1), 'move the column to the left', _COLUMNS, SCREEN, hint='move'),
    Binding(('J', '>'), 'move-down', partial(actions.move_column, step=1), 'move the column to the right', _COLUMNS, SCREEN, hint='move'),
    Binding(('Enter',), 'show-user', navigation.show_user, 'show the processes', _USERS, SCREEN, hint='processes'),
    Binding(('Enter',), 'show-event', time_travel.show_event_time, 'go to the time of the event', frozenset({Screen.EVENTS}), SCREEN, hint='go there', needs=(needs.need_recording,)),
    Binding(('Enter',), 'show-device', navigation.show_device, 'go to the GPU', frozenset({Screen.PROBLEMS}), SCREEN, hint='go to GPU'),
    Binding(('Esc', 'q', 'Q', 'F10'), 'back', navigation.go_back, 'back', ALL_SCREENS - _MAIN - _TREE, SCREEN, hint='back', leaves=True),
    Binding(('q', 'Q', 'F10'), 'back', navigation.go_back, '', _TREE, SCREEN, hint='back', leaves=True),
    # view
    Binding(('a',), 'mode-auto', partial(actions.choose_mode, mode='auto'), 'automatic layout', _MAIN, VIEW),
    Binding(('f',), 'mode-full', partial(actions.choose_mode, mode='full'), 'full panels', _MAIN, VIEW),
    Binding(('c',), 'mode-compact', partial(actions.choose_mode, mode='compact'), 'compact panels', _MAIN, VIEW),
    Binding(('H',), 'toggle-host', actions.toggle_host, 'hide or show the host', _MAIN, VIEW),
    Binding(('g',), 'next-graph', partial(actions.next_graph, step=1), 'next metric of the histories', _MAIN, VIEW),
    Binding(('Alt-g',), 'previous-graph', partial(actions.next_graph, step=-1), 'previous metric of histories', _MAIN, VIEW),
    Binding(('J',), 'toggle-flat', actions.toggle_flat, 'processes by job or one by one', _MAIN, VIEW, hint='jobs', is_pointless=needs.sleeps),
    Binding(('+', '='), 'longer-time', partial(actions.change_time, step=1), 'longer histories, up to 1h', _GRAPHS, VIEW, hint='time'),
    Binding(('-', '_'), 'shorter-time', partial(actions.change_time, step=-1), 'shorter histories', _GRAPHS, VIEW, hint='time'),
    Binding(('z',), 'freeze', time_travel.toggle_freeze, 'pause or resume', _NOT_HELP, VIEW, hint=lambda state: 'resume' if state.is_paused else 'pause'),
    Binding(('r', 'Ctrl-R'), 'refresh', actions.refresh, 'refresh, clear the selection', _NOT_HELP, VIEW, hint='wake', is_pointless=lambda state: not needs.sleeps(state)),
    Binding(('F5',), 'refresh', actions.refresh, 'refresh', _NOT_HELP - _MAIN - _TREE - _USERS, VIEW),
    Binding(('Ctrl-L',), 'redraw', _effect(events.Redraw()), 'draw the screen again', ALL_SCREENS, VIEW),
    Binding(('L',), 'next-theme', actions.next_theme, 'next theme', _NOT_HELP, VIEW),
    Binding(('m',), 'toggle-hints', actions.toggle_hints, 'hide or show the hint line', _NOT_HELP, VIEW),
    Binding(('W',), 'save-settings', actions.save_settings, 'save theme and layout', _NOT_HELP, VIEW, hint='save'),
    Binding(('Alt-W',), 'forget-settings', _effect(events.SaveSettings(())), 'forget what was saved', _NOT_HELP, VIEW),
    Binding(('Alt-m',), 'toggle-mouse', actions.toggle_mouse, 'mouse: nvitop or terminal', _NOT_HELP, VIEW),
    Binding(('Ctrl-Z',), 'suspend', _effect(events.Suspend()), 'suspend (resume with fg)', ALL_SCREENS, VIEW, suspends=True),
    # time
    _travel(('(',), 'previous-frame', 'frame', -1, 'previous sample, and pause', 'step'),
    _travel((')',), 'next-frame', 'frame', 1, 'next sample, and pause', 'step'),
    _travel(('{',), 'previous-minute', 'seconds', -60, 'a minute back', 'minute'),
    _travel(('}',), 'next-minute', 'seconds', 60, 'a minute ahead', 'minute'),
    _travel(('Alt-{',), 'previous-hour', 'seconds', -3600, 'an hour back', 'hour'),
    _travel(('Alt-}',), 'next-hour', 'seconds', 3600, 'an hour ahead', 'hour'),
    Binding(('b',), 'go-to-time', partial(open_field, purpose=TIME), 'go to a time: 14:05, -30m', _NOT_HELP, _TIME, hint='go to', needs=(needs.need_past,)),
    _travel(('B',), 'first-frame', 'end', -1, 'first sample', 'first'),
    _travel(('E',), 'last-frame', 'end', 1, 'last sample', 'last'),
    _travel(('N',), 'previous-event', 'event', -1, 'previous event of a recording', 'event', needs.need_recording),
    _travel(('n',), 'next-event', 'event', 1, 'next event of a recording', 'event', needs.need_recording),
    _travel(('S',), 'faster', 'speed', 1, 'replay faster', 'speed', needs.need_recording),
    _travel(('s',), 'slower', 'speed', -1, 'replay slower', 'speed', needs.need_recording),
    # sorting
    Binding((',', '<'), 'sort-previous', partial(actions.sort_by_neighbor, step=-1), 'sort by the previous column', _MAIN | _USERS_AND_PROBLEMS, SORT),
    Binding(('.', '>'), 'sort-next', partial(actions.sort_by_neighbor, step=1), 'sort by the next column', _MAIN | _USERS_AND_PROBLEMS, SORT),
    Binding(('R',), 'sort-reverse', actions.reverse_order, 'reverse the order', _MAIN | _USERS_AND_PROBLEMS, SORT),
    Binding(('F6',), 'sort-menu', actions.open_sort_menu, 'choose the order', _MAIN | _USERS_AND_PROBLEMS, SORT, hint='sort', shows_orders=True, is_pointless=needs.sleeps),
    *sort_keys(LIST_ORDERS),
    Binding(('M',), 'sort-by-gpu-memory', partial(sort_list, order='gpu_memory', reverse=False), 'sort by GPU memory, like top', _MAIN, SORT),
    Binding(('P',), 'sort-by-cpu-percent', partial(sort_list, order='cpu_percent', reverse=False), 'sort by %CPU, like top', _MAIN, SORT),
)
# fmt: on

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
