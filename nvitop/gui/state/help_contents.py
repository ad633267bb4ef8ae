# SPDX-License-Identifier: GPL-3.0-only
"""Contents of the help screen: the legend, and the table of the keys in force."""

from __future__ import annotations

import itertools
from typing import Iterator, Sequence

from nvitop.gui.model.choices import Screen
from nvitop.gui.model.columns import TYPES
from nvitop.gui.render.style import DIM, ERROR, IDLE, OWN, PLAIN, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, pad, wrap
from nvitop.gui.state.actions import need_past, need_recording
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.keymap import Binding, HelpEntry, HelpGroup

#: Cells of the keys; the text begins after them.
_KEYS_WIDTH = 18
#: Minimum width of a column of groups, and maximum number of columns.
_COLUMN, _MOST_COLUMNS = 56, 3


TYPING = HelpGroup(
    'Typing a search, a filter or a time',
    (
        HelpEntry('Enter Esc', 'apply, cancel (also Ctrl-C)'),
        HelpEntry('Up Down F3', 'previous or next match'),
        HelpEntry('Ctrl-U Ctrl-W', 'delete line, word'),
    ),
)
MOUSE = HelpGroup(
    'Mouse',
    (
        HelpEntry('click', 'select, sort, press a hint'),
        HelpEntry('double click', 'open (Enter); right click: send a signal'),
        HelpEntry('wheel', 'move; Shift: sideways; Ctrl: by five'),
    ),
)
_MARKS = (
    HelpEntry('free', 'no process uses the GPU', IDLE),
    HelpEntry('held 1h', 'memory in use, but no kernel for 1 h', WARNING),
    HelpEntry('! HOT', 'something is wrong with the GPU: press !', ERROR),
    HelpEntry('util', 'utilization of GPUs, processes and CPUs', Style(Role.UTILIZATION)),
    HelpEntry('mem', 'memory; as UTIL: not measured', Style(Role.MEMORY)),
    HelpEntry('·', 'not measured, or no longer reported', DIM),
    HelpEntry('name', 'your user name', OWN),
    HelpEntry('tagged', 'process that a signal goes to', Style(Role.TAGGED)),
    HelpEntry('TYPE', TYPES.replace(' client', ''), PLAIN),
)


def key_groups(bindings: tuple[Binding, ...]) -> Iterator[HelpGroup]:
    """Yield the bindings that have a help text, by heading, with the screen if it is not the first one."""
    groups: dict[str, list[HelpEntry]] = {}
    for binding in bindings:
        if binding.help and binding.keys:
            keys = ' '.join(each.replace(' ', '') for each in binding.keys)
            text, where = binding.help, [screen.value for screen in binding.screens]
            if binding.screens.isdisjoint((Screen.MAIN, Screen.HOSTS)):
                text = f'{where[0] if len(where) == 1 else "other screens"}: {text}'
            groups.setdefault(binding.group, []).append(HelpEntry(keys, text))
    for heading, entries in groups.items():
        yield HelpGroup(heading, tuple(entries))


def monitor_help(state: AppState) -> tuple[tuple[HelpGroup, ...], tuple[HelpGroup, ...]]:
    """Return what the help of the monitor has before and after the keys."""
    thresholds = state.view.thresholds
    levels = tuple(
        HelpEntry(name, f'light, moderate from {low}%, heavy from {high}%', PLAIN)
        for name, (low, high) in (('GPU', thresholds.gpu), ('MEM', thresholds.memory))
        if state.view.by_load
    )
    return (HelpGroup('Legend', (*levels, *_MARKS)),), (TYPING, MOUSE)


def help_lines(state: AppState) -> tuple[tuple[HelpEntry, ...], ...]:
    """Return the lines of the help screen, as pieces that follow one another."""
    origin = state.origin
    bindings = tuple(
        each
        for each in state.keymap.bindings
        if (need_past not in each.needs or origin.can_travel)
        and (need_recording not in each.needs or not origin.is_live)
    )
    menus = dict.fromkeys(each.screens for each in bindings if each.sorts)
    before, after = state.program.other_help(state)
    count = max(1, min(_MOST_COLUMNS, state.width // _COLUMN))
    width = state.width // count
    groups: list[list[tuple[HelpEntry, ...]]] = []
    keys = key_groups(tuple(each for each in bindings if not each.sorts))
    room = max(10, width - _KEYS_WIDTH - 3)
    disabled = {each.keys for each in bindings if each.is_signal and state.view.readonly}
    for heading, entries in (*before, *keys, *after):
        group: list[tuple[HelpEntry, ...]] = [(HelpEntry('', heading, TITLE),)]
        for entry in entries:
            if tuple(entry.keys.split()) in disabled:
                entry = entry._replace(style=DIM)
            group += _lines_of(entry, room)
        groups.append(group)
    for screens in menus:
        sorts = [each for each in bindings if each.screens == screens and each.sorts and each.help]
        where = next(iter(screens)).value
        group = [(HelpEntry('', f'Sorting {where} (upper case: reversed)', TITLE),)]
        cells = max(cell_width(f'{each.keys[0]} {each.hint}') for each in sorts) + 3
        per_row = max(1, (width - 1) // cells)
        for i in range(0, len(sorts), per_row):
            group.append(
                tuple(
                    HelpEntry(
                        each.keys[0].replace(' ', ''),
                        pad(each.hint, cells - cell_width(each.keys[0].replace(' ', '')) - 1),
                    )
                    for each in sorts[i : i + per_row]
                )
            )
        groups.append(group)
    return _in_columns(groups, count, width)


def _in_columns(
    groups: Sequence[Sequence[tuple[HelpEntry, ...]]], count: int, width: int
) -> tuple[tuple[HelpEntry, ...], ...]:
    """Return the lines of groups in columns of about the same height, from top to bottom and left to right."""
    height = sum(len(group) + 1 for group in groups) / count
    columns: list[list[tuple[HelpEntry, ...]]] = [[]]
    for group in groups:
        if len(columns) < count and len(columns[-1]) + len(group) / 2 > height:
            columns.append([])
        columns[-1] += [*([()] if columns[-1] else []), *group]
    lines = []
    for pieces in itertools.zip_longest(*columns, fillvalue=()):
        line: list[HelpEntry] = []
        for number, each in enumerate(pieces):
            used = sum(cell_width(keys) + bool(keys) + cell_width(text) for keys, text, _ in each)
            line += each
            if any(pieces[number + 1 :]):
                line.append(HelpEntry('', ' ' * (width - used), PLAIN))
        lines.append(tuple(line))
    return tuple(lines)


def _lines_of(entry: HelpEntry, room: int) -> Iterator[tuple[HelpEntry, ...]]:
    """Yield the keys and the text next to them; long keys have a line of their own."""
    texts = wrap(entry.text, room)
    if cell_width(entry.keys) > _KEYS_WIDTH:
        for keys in wrap(entry.keys, room + _KEYS_WIDTH):
            yield (entry._replace(keys=keys, text=''),)
    else:
        yield (entry._replace(keys=pad(entry.keys, _KEYS_WIDTH), text=texts.pop(0)),)
    for text in texts:
        yield (HelpEntry(pad('', _KEYS_WIDTH), text),)
