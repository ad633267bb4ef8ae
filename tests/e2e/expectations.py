"""Expectations: the visible effect of each key of the key table. Each one undoes its effect."""

from __future__ import annotations

import re
import signal
from typing import Callable

import psutil

from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.model.screens import Screen
from nvitop.gui.render.theme import THEMES
from nvitop.gui.state.bindings import Action, Binding
from nvitop.gui.state.process_rows import ORDERS_BY_NAME
from tests.e2e.emulator import ALTERNATE_SCREEN, MOUSE_BUTTONS, MOUSE_SGR
from tests.e2e.monitor import CLEAR, TAG_COLOR, TITLES, Monitor

Expectation = Callable[[Monitor, Binding, str], None]
EXPECTATIONS: dict[Action, Expectation] = {}

_SIGNALS = {Action.INTERRUPT: 'SIGINT', Action.TERMINATE: 'SIGTERM', Action.KILL: 'SIGKILL'}
#: Sort order → the processes in that order.
_ORDERED = {
    'natural': ('trainer', 'renderer', 'server'),
    'gpu_memory': ('trainer', 'renderer', 'server'),
    'sm_utilization': ('renderer', 'trainer', 'server'),
    'gpu_memory_utilization': ('server', 'trainer', 'renderer'),
}
_FULL, _COMPACT, _HOST = 'Persistence-M', '─ Host ─', r'load \d'
_HINTS, _FROZEN, _DEVICE = r'(Quit|Back)\s*\Z', r'\[PAUSED \d\d:\d\d:\d\d\]', r'\[GPU \d\]'
_PAST = (('*', _FROZEN), ('E', f'!{_FROZEN}'))
_PRESENT = (('(', _FROZEN), ('*', f'!{_FROZEN}'))
_RECORDING = (('*', 'only in a recording'), ('z', _FROZEN), ('E', f'!{_FROZEN}'))
_NAMES = [theme.name for theme in THEMES]
_AFTER_CLASSIC = _NAMES.index('classic') + 1
#: Action → keys, and what the screen shows then, or no longer shows (``!``), or which line is selected:
#: its index, one below the first (``@+``) or none (``@``). ``*`` and KEY are the key of the action.
STEPS: dict[Action, tuple[tuple[str, str], ...]] = {
    Action.MODE_AUTO: (('f', _FULL), ('*', f'!{_FULL}'), ('c', _COMPACT), ('*', f'!{_COMPACT}')),
    Action.MODE_FULL: (('*', _FULL), ('a', f'!{_FULL}')),
    Action.MODE_COMPACT: (('*', _COMPACT), ('a', f'!{_COMPACT}')),
    Action.TOGGLE_DETAILS: (('', '!PCIe TX'), ('*', 'PCIe TX'), ('*', '!PCIe TX')),
    Action.FREEZE: (('', f'!{_FROZEN}'), ('*', _FROZEN), ('*', f'!{_FROZEN}')),
    Action.REVEAL: (('', '!SHOP_TOKEN=open'), ('*', 'SHOP_TOKEN=open'), ('*', '!SHOP_TOKEN=open')),
    Action.TOGGLE_HOST: (('', _HOST), ('*', f'!{_HOST}'), ('*', _HOST)),
    # The hints are no longer hidden by the message of an earlier key.
    Action.TOGGLE_HINTS: (('m m', _HINTS), ('*', f'!{_HINTS}'), ('*', _HINTS)),
    Action.SAVE_SETTINGS: (('*', '^ (Saved|Not saved)'), ('m m', '(Quit|Back) *$')),
    Action.SORT_MENU: (('*', 'Sort by: n GPU  p PID'), ('Esc', '!Sort by:')),
    Action.NEXT_THEME: tuple(
        ('*', f'Theme: {name}') for name in (*_NAMES[_AFTER_CLASSIC:], *_NAMES[:_AFTER_CLASSIC])
    ),
    Action.SELECT_DEVICE: (('*', r'\[GPU KEY\]|There is no GPU KEY'), ('*', f'!{_DEVICE}')),
    Action.NEXT_DEVICE: (('*', r'\[GPU 0\]'), ('Shift-Tab', f'!{_DEVICE}')),
    Action.PREVIOUS_DEVICE: (('*', _DEVICE), ('Tab', f'!{_DEVICE}')),
    Action.CHOOSE: (
        ('End Up', r'\[ \] START'),  # from the command to the start
        ('*', r'\[[x-]\] START'),
        ('*', r'\[ \] START'),
    ),
    Action.SELECT_NEXT: (('Home', '@0'), ('*', '@1')),
    Action.SELECT_PREVIOUS: (('Home', '@0'), ('Down', '@1'), ('*', '@0')),
    Action.SELECT_FIRST: (('End', '@+'), ('*', '@0')),
    Action.CLEAR: (
        ('Home', '@0'),
        ('*', '@'),
        ('\\ s e r v e r Enter', r'\[filter: server\]'),
        ('*', '!filter: server'),
        ('Home', '@0'),
    ),
    Action.SORT_NEXT: (('*', ' PID▲'), ('o n', '![▲▼]')),
    Action.SORT_PREVIOUS: (('*', ' TIME▼'), ('o n', '![▲▼]')),
    **dict.fromkeys((Action.PREVIOUS_FRAME, Action.PREVIOUS_MINUTE, Action.PREVIOUS_HOUR), _PAST),
    Action.FIRST_FRAME: _PAST,
    Action.NEXT_FRAME: (('(', _FROZEN), ('*', ''), ('E', f'!{_FROZEN}')),
    **dict.fromkeys((Action.NEXT_MINUTE, Action.NEXT_HOUR, Action.LAST_FRAME), _PRESENT),
    Action.GO_TO_TIME: (('*', 'Time:'), ('- 1 s Enter', _FROZEN), ('E', f'!{_FROZEN}')),
    **dict.fromkeys((Action.PREVIOUS_EVENT, Action.NEXT_EVENT), _RECORDING),
    **dict.fromkeys((Action.FASTER, Action.SLOWER), _RECORDING),
}


def _of(*actions: Action) -> Callable[[Expectation], Expectation]:
    def register(expectation: Expectation) -> Expectation:
        for action in actions:
            assert action not in EXPECTATIONS
            EXPECTATIONS[action] = expectation
        return expectation

    return register


@_of(*STEPS)
def _shows(monitor: Monitor, binding: Binding, keys: str) -> None:
    for pressed, text in STEPS[binding.action]:
        shown = text.replace('KEY', keys)
        if pressed:
            monitor.key(keys if pressed == '*' else pressed)
        if shown.startswith('!'):
            monitor.wait_until_gone(shown[1:])
        elif shown == '@+':
            monitor.wait(lambda: (monitor.cursor() or 0) > 0)
        elif shown.startswith('@'):
            monitor.wait_for_cursor(int(shown[1:]) if shown[1:] else None)
        else:
            monitor.wait_for(shown)


def _home(monitor: Monitor) -> None:
    monitor.key('Home')
    monitor.wait_for_cursor(0)


@_of(Action.OPEN, Action.HELP)
def _opens_a_screen(monitor: Monitor, binding: Binding, keys: str) -> None:
    here, there = monitor.screen, binding.opens
    assert there is not None
    if here is there:
        # The screen stays open, and one step back leads to the previous screen.
        monitor.key(keys)
        monitor.back()
        monitor.enter(here)
        return
    if here is Screen.TREE:  # its first process belongs to the system
        monitor.select('trainer')
    monitor.key(keys)
    monitor.wait_for(TITLES[there])
    monitor.type('q')
    monitor.wait_for(TITLES[here])


@_of(Action.BACK)
def _goes_back(monitor: Monitor, binding: Binding, keys: str) -> None:
    here = monitor.screen
    monitor.key(keys)
    monitor.wait_for(TITLES[Screen.MAIN])
    monitor.screen = Screen.MAIN
    monitor.enter(here)


def _graphs(monitor: Monitor) -> list[str]:
    return re.findall(r'GPU 0 ([A-Z ]+) (?:\d|N/A|not)', monitor.text)


@_of(Action.NEXT_GRAPH, Action.NEXT_UPPER_GRAPH)
def _plots_another_metric(monitor: Monitor, binding: Binding, keys: str) -> None:
    monitor.wait(lambda: len(_graphs(monitor)) == 2)
    before = _graphs(monitor)
    monitor.key(keys)
    monitor.wait(lambda: len(_graphs(monitor)) == 2 and _graphs(monitor) != before)
    changed = [old != new for old, new in zip(before, _graphs(monitor))]
    assert changed == [
        binding.action is Action.NEXT_UPPER_GRAPH,
        binding.action is Action.NEXT_GRAPH,
    ]


def _times(monitor: Monitor) -> list[object]:
    """Return the minutes that graphs of a process show, or place and text of times above others."""
    if monitor.screen is Screen.METRICS:
        return re.findall(r', last \d+ min', monitor.text)
    return [
        (y, match.start(), match[0])
        for y, line in enumerate(monitor.lines)
        for match in re.finditer(r'╴\d+[sm]┬', line)
        if match.start() > len(line) // 2
    ]


@_of(Action.LONGER_TIME)
def _plots_a_longer_time(monitor: Monitor, binding: Binding, keys: str) -> None:
    before = _times(monitor)
    monitor.key(keys)
    monitor.wait(lambda: _times(monitor) != before)
    monitor.type('-')
    monitor.wait(lambda: _times(monitor) == before)


@_of(Action.SHORTER_TIME)
def _plots_a_shorter_time(monitor: Monitor, binding: Binding, keys: str) -> None:
    before = _times(monitor)
    monitor.type('+')
    monitor.wait(lambda: _times(monitor) != before)
    monitor.key(keys)
    monitor.wait(lambda: _times(monitor) == before)


@_of(Action.REFRESH)
def _redraws(monitor: Monitor, binding: Binding, keys: str) -> None:
    before = monitor.written.count(CLEAR)
    monitor.key(keys)
    monitor.wait(lambda: monitor.written.count(CLEAR) > before)
    if monitor.screen is Screen.MAIN:
        monitor.wait_for_cursor(None)
        _home(monitor)


@_of(Action.TOGGLE_MOUSE)
def _releases_the_mouse(monitor: Monitor, binding: Binding, keys: str) -> None:
    modes = {MOUSE_BUTTONS, MOUSE_SGR}
    assert modes <= monitor.modes
    monitor.key(keys)
    monitor.wait_for(r'\[mouse: terminal\]')
    assert not modes & monitor.modes
    monitor.key(keys)
    monitor.wait_until_gone('mouse: terminal')
    assert modes <= monitor.modes


@_of(Action.SUSPEND)
def _stops(monitor: Monitor, binding: Binding, keys: str) -> None:
    process = psutil.Process(monitor.process.pid)
    monitor.key(keys)
    monitor.wait(lambda: process.status() == psutil.STATUS_STOPPED)
    while monitor.look(0.0):
        pass
    monitor.assert_restored()
    process.send_signal(signal.SIGCONT)
    monitor.wait(lambda: ALTERNATE_SCREEN in monitor.modes)


@_of(Action.SELECT_LAST)
def _selects_the_last(monitor: Monitor, binding: Binding, keys: str) -> None:
    _home(monitor)
    monitor.key(keys)
    if monitor.screen is Screen.HELP:
        monitor.wait_for(r'Help: lines \d+ to (\d+) of \1$')
    else:
        monitor.wait_for_cursor(len(monitor.rows_of_list()) - 1)
    _home(monitor)


@_of(Action.SCROLL_UP, Action.SCROLL_DOWN, Action.LINE_UP, Action.LINE_DOWN)
def _scrolls(monitor: Monitor, binding: Binding, keys: str) -> None:
    if monitor.screen is Screen.MAIN:
        _scrolls_the_page(monitor, binding, keys)
        return
    _home(monitor)
    if binding.action in (Action.SCROLL_DOWN, Action.LINE_DOWN):
        monitor.key(keys)
        monitor.wait(lambda: (monitor.cursor() or 0) > 0)
        _home(monitor)
    else:
        monitor.key('Down')
        monitor.wait(lambda: (monitor.cursor() or 0) > 0)
        monitor.key(keys)
        monitor.wait_for_cursor(0)


def _scrolls_the_page(monitor: Monitor, binding: Binding, keys: str) -> None:
    monitor.key('r')
    monitor.wait_for_cursor(None)
    monitor.resize(104, 34)
    monitor.type('fd')  # panels that do not fit
    monitor.wait_for('PCIe TX')
    at = monitor.row('Processes ')
    if binding.action in (Action.SCROLL_UP, Action.LINE_UP):
        monitor.key(']' if binding.action is Action.LINE_UP else 'PageDown')
        monitor.wait(lambda: monitor.row('Processes ') < at)
        monitor.key(keys)
        monitor.wait(lambda: monitor.row('Processes ') == at)
    else:
        monitor.key(keys)
        monitor.wait(lambda: monitor.row('Processes ') < at)
    monitor.type('ad')
    monitor.wait_until_gone('PCIe')
    monitor.resize(104, 41)


@_of(Action.SUM_BY_OWNER)
def _sums_up_by_owner(monitor: Monitor, binding: Binding, keys: str) -> None:
    monitor.key(keys)
    monitor.wait_for('OWNER')
    monitor.back()
    monitor.enter(Screen.USERS)


@_of(Action.SHOW_PAGE)
def _shows_the_page_of_a_device(monitor: Monitor, binding: Binding, keys: str) -> None:
    raise AssertionError('Enter shows the graphs of a process first')


@_of(Action.SHOW_USER)
def _shows_the_processes_of_a_user(monitor: Monitor, binding: Binding, keys: str) -> None:
    _home(monitor)
    monitor.key(keys)
    monitor.wait_for(r'\[filter: user:\w+\]')
    monitor.key('Esc')
    monitor.wait_until_gone('filter:')
    monitor.screen = Screen.MAIN
    monitor.enter(Screen.USERS)


@_of(Action.SHOW_DEVICE)
def _shows_the_device_of_a_problem(monitor: Monitor, binding: Binding, keys: str) -> None:
    monitor.key(keys)
    monitor.wait_for(r'\[GPU \d\]|not about a single GPU')
    if '[GPU ' in monitor.text:
        monitor.screen = Screen.MAIN
        monitor.key('Home')
        monitor.key('Esc')
        monitor.wait_for_cursor(None)
        monitor.key('Esc')
        monitor.wait_until_gone(r'\[GPU \d\]')
        monitor.enter(Screen.PROBLEMS)


def _long_line(monitor: Monitor) -> str:
    """Return the visible part of a long line, without values that change by themselves."""
    if monitor.screen is Screen.ENVIRON:
        return monitor.lines[monitor.row('somewhere')]
    left = re.search(r'  COMMAND', monitor.text)
    if monitor.screen is Screen.TREE and left is not None:
        line = monitor.text[: left.end()].rpartition('\n')[2]
        return monitor.lines[monitor.row('GPU 0')][len(line) - len('COMMAND') :]
    # On the main screen, the columns before the command scroll too.
    match = re.search(r'\S*--epochs.*|\S*somewhere.*|.*--end-of-the-line', monitor.text)
    return match.group() if match else ''


@_of(Action.SCROLL_LEFT, Action.SCROLL_RIGHT, Action.SCROLL_BEGIN, Action.SCROLL_END)
def _scrolls_sideways(monitor: Monitor, binding: Binding, keys: str) -> None:
    monitor.wait(lambda: _long_line(monitor))
    before = _long_line(monitor)
    is_forward = binding.action in (Action.SCROLL_RIGHT, Action.SCROLL_END)
    monitor.key(keys if is_forward else 'Right')
    monitor.wait(lambda: _long_line(monitor) != before)
    if binding.action is Action.SCROLL_END and monitor.screen is Screen.MAIN:
        monitor.wait_for('--end-of-the-line')
    monitor.key('Ctrl-A' if is_forward else keys)
    monitor.wait(lambda: _long_line(monitor) == before)


@_of(Action.TAG)
def _tags(monitor: Monitor, binding: Binding, keys: str) -> None:
    monitor.select('trainer')
    monitor.key(keys)
    monitor.wait_until_tagged('trainer')
    monitor.wait(lambda: not monitor.has_reverse(monitor.row('trainer')))
    monitor.key('Up')
    monitor.wait_until_selected('trainer')
    monitor.key(keys)
    monitor.wait(lambda: monitor.color('trainer') != TAG_COLOR)


@_of(Action.TAG_SUBTREE)
def _tags_all_below(monitor: Monitor, binding: Binding, keys: str) -> None:
    names = ('trainer', 'renderer', 'server')
    _home(monitor)
    monitor.key(keys)
    monitor.wait(lambda: all(monitor.color(name) == TAG_COLOR for name in names))
    monitor.key(keys)
    monitor.wait(lambda: all(monitor.color(name) != TAG_COLOR for name in names))


@_of(*_SIGNALS)
def _asks_before_it_sends(monitor: Monitor, binding: Binding, keys: str) -> None:
    monitor.select('trainer')
    monitor.key(keys)
    monitor.wait_for(r'Send a signal to this process\?')
    monitor.wait_for(r'\d+ \(\S+\) trainer --epochs=90')
    monitor.wait_until_highlighted(_SIGNALS[binding.action])
    monitor.key('Esc')
    monitor.wait_until_gone('Cancel')


@_of(Action.FILTER)
def _filters(monitor: Monitor, binding: Binding, keys: str) -> None:
    monitor.key(keys)
    monitor.wait_for(r'\AFilter:')
    monitor.type('--port')
    monitor.wait(lambda: monitor.row('trainer') < 0 < monitor.row('server'))
    monitor.key('Esc')
    monitor.wait(lambda: 0 < monitor.row('trainer') < monitor.row('server'))


@_of(Action.SEARCH)
def _searches(monitor: Monitor, binding: Binding, keys: str) -> None:
    monitor.key(keys)
    monitor.wait_for(r'\ASearch:')
    monitor.type('--port')
    monitor.wait_until_selected('server --port')
    monitor.key('Enter')
    monitor.wait_until_gone(r'\ASearch:')
    _home(monitor)


@_of(Action.MOVE_UP, Action.MOVE_DOWN)
def _moves_a_column(monitor: Monitor, binding: Binding, keys: str) -> None:
    is_up = binding.action is Action.MOVE_UP
    _home(monitor)
    monitor.wait(lambda: 0 < monitor.row('] GPU ') < monitor.row('] PID '))
    if is_up:
        monitor.key('Down')
    monitor.key(keys)
    monitor.wait(lambda: monitor.row('] PID ') < monitor.row('] GPU '))
    monitor.key('J' if is_up else 'K')
    monitor.wait(lambda: monitor.row('] GPU ') < monitor.row('] PID '))
    _home(monitor)


@_of(Action.SORT_REVERSE)
def _sorts_the_other_way(monitor: Monitor, binding: Binding, keys: str) -> None:
    before = monitor.listed()
    monitor.key(keys)
    monitor.wait_for('GPU▼')
    monitor.wait(lambda: monitor.listed() == before[::-1])
    monitor.key(keys)
    monitor.wait_until_gone('GPU▼')


@_of(Action.SORT_BY)
def _sorts(monitor: Monitor, binding: Binding, keys: str) -> None:
    names = ('trainer', 'renderer', 'server')
    pids = {monitor.pid_of(name): name for name in names}
    order = ORDERS_BY_NAME[binding.argument.lstrip('-')]
    is_reversed = binding.argument.startswith('-')
    heading = next(column.title for column in COLUMNS if column.order == order.name)
    if order.name == 'natural' and not is_reversed:
        monitor.press('op', 'PID▲')
        monitor.key(keys)
        monitor.wait_until_gone('[▲▼]')
    else:
        monitor.key(keys)
        mark = '▼' if order.is_descending is not is_reversed else '▲'
        monitor.wait_for(f' {re.escape(heading)}{mark}')
    expected = list(_ORDERED.get(order.name, ()))
    if order.name == 'pid':
        expected = [pids[pid] for pid in sorted(pids)]
    if is_reversed:
        expected.reverse()

    def listed() -> list[str]:
        return [pids[pid] for pid in monitor.listed() if pid in pids]

    monitor.wait(lambda: listed() == expected or not expected)
    monitor.type('on')
    monitor.wait_until_gone('[▲▼]')
