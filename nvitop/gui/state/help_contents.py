# SPDX-License-Identifier: GPL-3.0-only
"""Contents of the help screen: the legend, and the table of the keys in force."""

from __future__ import annotations

import itertools
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence

from nvitop.gui.model.choices import Screen
from nvitop.gui.model.columns import TYPES
from nvitop.gui.render.style import DIM, ERROR, IDLE, OWN, PLAIN, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, pad, wrap
from nvitop.gui.state.actions import need_past, need_recording
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.keymap import Binding, HelpEntry, HelpGroup
from nvitop.health import KINDS
from nvitop.health.states import USED_PERCENT

#: Cells of the keys; the text begins after them.
_KEYS_WIDTH = 18
#: Minimum width of a column of groups, and maximum number of columns.
_COLUMN, _MOST_COLUMNS = 56, 3
#: Heading of the keys that the hint line of the first screen offers.
DAILY = 'Every day'


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
    HelpEntry(
        'held 1h', f'half of its memory idle for 1 h, UTIL below {USED_PERCENT:.0f}%', WARNING
    ),
    HelpEntry('hot', 'amber after the state: a problem; press !', WARNING),
    HelpEntry('lost', 'red: the GPU is broken or cannot be used', ERROR),
    HelpEntry('util', 'utilization of GPUs, processes and CPUs', Style(Role.UTILIZATION)),
    HelpEntry('mem', 'memory; as a history: UTIL is not measured', Style(Role.MEMORY)),
    HelpEntry('·', 'not measured, or no longer reported', DIM),
    HelpEntry('name', 'your user name', OWN),
    HelpEntry('* tagged', 'process or job that a signal goes to', Style(Role.TAGGED)),
    HelpEntry('TYPE', TYPES.replace(' client', ''), PLAIN),
)
_STATES = HelpGroup(
    'After the state of a GPU',
    tuple(
        HelpEntry(mark, ' or '.join(texts), PLAIN)
        for mark, kinds in itertools.groupby(
            sorted(KINDS.values(), key=lambda each: each.mark.lower()), lambda each: each.mark
        )
        for texts in [dict.fromkeys(each.counted for each in kinds)]
        if set(texts) != {mark}
    ),
)


def key_groups(bindings: tuple[Binding, ...]) -> Iterator[HelpGroup]:
    """Yield the bindings that have a help text, by heading, with the screen if it is not the first one."""
    groups: dict[str, list[HelpEntry]] = {}
    for binding in bindings:
        if binding.help and binding.keys:
            keys = ' '.join(each.replace(' ', '') for each in binding.keys)
            groups.setdefault(binding.group, []).append(HelpEntry(keys, _text_of(binding)))
    for heading, entries in groups.items():
        yield HelpGroup(heading, tuple(entries))


def _text_of(binding: Binding) -> str:
    """Return what keys do, with the screens on which they work if the first one is not among them."""
    if not binding.screens.isdisjoint((Screen.MAIN, Screen.HOSTS)):
        return binding.help
    where = sorted(screen.value for screen in binding.screens)
    return f'{", ".join(where) if len(where) < 3 else "other screens"}: {binding.help}'


def _rows_of_keys(bindings: Iterable[Binding], text_of: Callable[[Binding], str]) -> list[_Row]:
    """Return each key once, with all that it does."""
    rows: list[_Row] = []
    for binding in bindings:
        left = list(binding.keys)
        for row in rows:
            shared = [key for key in left if key in row.keys]
            if shared:
                only = '' if shared == row.keys else f' ({" ".join(shared)})'
                row.texts.append(text_of(binding) + only)
                left = [key for key in left if key not in shared]
        if left:
            rows.append(_Row(binding, left, [text_of(binding)]))
    return rows


class _Row(NamedTuple):
    """Keys and what they do: first what the binding does."""

    binding: Binding
    keys: list[str]
    texts: list[str]

    @property
    def entry(self) -> HelpEntry:
        keys = ' '.join(each.replace(' ', '') for each in self.keys)
        return HelpEntry(keys, '; '.join(dict.fromkeys(self.texts)))


def _groups_of(
    state: AppState, bindings: tuple[Binding, ...]
) -> tuple[list[HelpGroup], list[HelpGroup]]:
    """Return the keys of the screen below the help and those of every day, and all others."""
    home, below = state.program.home, state.behind[-1] if state.behind else state.program.home
    listed = [each for each in bindings if each.help and each.keys]
    listed.sort(key=lambda each: home not in each.screens)
    first = []
    if below is not home:
        menu = {key for keys in state.program.screens[below].menu for key in keys.split()}
        here = [each for each in listed if below in each.screens]
        here = [each for each in here if home not in each.screens or menu & set(each.keys)]
        rows = _rows_of_keys(here, lambda each: each.help)
        first.append(HelpGroup(f'This screen: {below.value}', tuple(row.entry for row in rows)))
        listed = [each for each in listed if each not in here]
    daily = {key for keys in state.program.screens[home].menu for key in keys.split()}
    rows = _rows_of_keys(listed, _text_of)
    groups: dict[str, list[HelpEntry]] = {DAILY: []}
    for row in rows:
        heading = DAILY if daily & set(row.keys) else row.binding.group
        groups.setdefault(heading, []).append(row.entry)
    daily_group, *others = (HelpGroup(name, tuple(entries)) for name, entries in groups.items())
    return [*first, daily_group], others


def monitor_help(state: AppState) -> tuple[tuple[HelpGroup, ...], tuple[HelpGroup, ...]]:
    """Return what the help of the monitor has before and after the keys."""
    thresholds = state.view.thresholds
    levels = tuple(
        HelpEntry(name, f'light, moderate from {low}%, heavy from {high}%', PLAIN)
        for name, (low, high) in (('GPU', thresholds.gpu), ('MEM', thresholds.memory))
        if state.view.by_load
    )
    return (HelpGroup('Legend', (*levels, *_MARKS)),), (TYPING, MOUSE, _STATES)


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
    first, others = _groups_of(state, tuple(each for each in bindings if not each.sorts))
    room = max(10, width - _KEYS_WIDTH - 3)
    disabled = {each.keys for each in bindings if each.is_signal and state.view.readonly}
    for heading, entries in (*first, *before, *others, *after):
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
