# SPDX-License-Identifier: GPL-3.0-only
"""Contents of the help screen: the legend, and the table of the keys in force."""

from __future__ import annotations

import itertools
import re
from typing import Iterable, Iterator

from nvitop.gui.model.choices import Screen
from nvitop.gui.model.columns import TYPES
from nvitop.gui.render.theme import DIM, ERROR, IDLE, OWN, PLAIN, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, pad, wrap
from nvitop.gui.state.app_state import AppState, Program
from nvitop.gui.state.keymap import Binding, HelpEntry, HelpGroup
from nvitop.gui.state.needs import need_past, need_recording
from nvitop.health import KINDS
from nvitop.health.states import BUSY_PERCENT, HELD_SECONDS, USED_PERCENT
from nvitop.health.types import Label

#: Cells of the keys; the text begins after them.
_KEYS_WIDTH = 15
#: Minimum width of a column of groups, and maximum number of columns.
_COLUMN, _MOST_COLUMNS = 46, 3


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
        HelpEntry('double click', 'open, like Enter'),
        HelpEntry('right click', 'send a signal'),
        HelpEntry('wheel', 'move; Shift: sideways; Ctrl: by five'),
    ),
)
_MARKS = (
    HelpEntry('free', 'no process uses the GPU', IDLE),
    HelpEntry('busy', f'UTIL >= {BUSY_PERCENT:.0f}% (unknown: %SM of processes)', PLAIN),
    HelpEntry('in use', f'used, but UTIL < {BUSY_PERCENT:.0f}% or unknown', PLAIN),
    HelpEntry(
        'held 1h',
        f'half its memory idle >= {HELD_SECONDS / 60:.0f}m, UTIL < {USED_PERCENT:.0f}%',
        WARNING,
    ),
    HelpEntry('hot', 'amber: a problem (press !)', WARNING),
    HelpEntry('lost', 'red: broken, or cannot be used', ERROR),
    HelpEntry('util', 'of GPUs, processes and CPUs', Style(Role.UTILIZATION)),
    HelpEntry('mem', 'memory (shown if UTIL is unknown)', Style(Role.MEMORY)),
    HelpEntry('·', 'not measured, or not reported', DIM),
    HelpEntry('name', 'your user name', OWN),
    HelpEntry('* tagged', 'a signal goes to it', Style(Role.TAGGED)),
    HelpEntry('TYPE', TYPES.replace(' client', ''), PLAIN),
)
_SHARED = HelpEntry('shared', 'memory that other MIG devices use', DIM)


def _explained(kind: Label) -> str:
    return re.sub('^with (a )?', '', kind.counted).replace('needing', 'needs')


_STATES = HelpGroup(
    'After the state of a GPU',
    tuple(
        HelpEntry(mark, ', '.join(texts), PLAIN)
        for mark, kinds in itertools.groupby(
            sorted(KINDS.values(), key=lambda kind: kind.mark.lower()), lambda kind: kind.mark
        )
        for texts in [dict.fromkeys(map(_explained, kinds))]
        if mark not in [*texts, *(entry.keys for entry in _MARKS)]
    ),
)


def key_groups(
    program: Program, bindings: Iterable[Binding], here: Screen
) -> dict[str, list[Binding]]:
    """Return each binding that has a help text under one heading; those with the same keys are one.

    First come those that work on a screen, the ones of its hint line under its name; then those of
    the first screen, of each other one, and of several.
    """
    home, screens = program.home, list(program.screens)
    menu = {key for keys in program.screens[here].menu for key in keys.split()}

    def place(binding: Binding) -> tuple[int, int, str]:
        where = binding.screens
        if here in where:
            is_rare = need_past in binding.needs or need_recording in binding.needs
            is_offered = binding.is_signal or not menu.isdisjoint(binding.keys)
            return (0, 0, _name(here)) if is_offered and not is_rare else (1, 0, binding.group)
        if home in where:
            return 2, 0, _name(home)
        if len(where) == 1:
            (only,) = where
            return 3, screens.index(only), _name(only)
        return 4, 0, 'Other screens'

    placed = [(place(binding), binding) for binding in bindings if binding.help and binding.keys]
    groups: dict[str, dict[tuple[str, ...], Binding]] = {}
    for (_, _, heading), binding in sorted(placed, key=lambda pair: pair[0][:2]):
        group = groups.setdefault(heading, {})
        if binding.keys in group:
            binding = binding._replace(help=f'{group[binding.keys].help}; {binding.help}')
        group[binding.keys] = binding
    return {heading: list(group.values()) for heading, group in groups.items()}


def _name(screen: Screen) -> str:
    return f'{screen.value[:1].upper()}{screen.value[1:]} screen'


def key_entry(binding: Binding, sort_prefix: str = 'o') -> HelpEntry:
    keys = (sort_prefix, *binding.keys) if binding.shows_orders else binding.keys
    return HelpEntry(' '.join(key.replace(' ', '') for key in keys if key), binding.help)


def monitor_help(state: AppState) -> tuple[tuple[HelpGroup, ...], tuple[HelpGroup, ...]]:
    """Return what the help of the monitor has before and after the keys."""
    has_mig = any(device.key.is_mig for device in state.shown_sample.devices)
    marks = (*_MARKS, _SHARED) if has_mig else _MARKS
    return (HelpGroup('Legend', marks),), (TYPING, MOUSE, _STATES)


def help_lines(state: AppState) -> tuple[tuple[HelpEntry, ...], ...]:
    """Return the lines of the help screen, as pieces that follow one another."""
    origin = state.origin
    bindings = [
        binding
        for binding in state.keymap.bindings
        if (need_past not in binding.needs or origin.can_travel)
        and (need_recording not in binding.needs or not origin.is_live)
    ]
    below = state.behind[-1] if state.behind else state.program.home
    prefix = state.keymap.sort_prefix(below)
    keys = (
        HelpGroup(
            heading,
            tuple(
                key_entry(binding, prefix)._replace(style=DIM)
                if binding.is_signal and state.view.readonly
                else key_entry(binding, prefix)
                for binding in group
            ),
        )
        for heading, group in key_groups(state.program, bindings, below).items()
    )
    before, after = state.program.other_help(state)
    count = max(1, min(_MOST_COLUMNS, state.inside.width // _COLUMN))
    width = state.inside.width // count
    room = max(10, width - _KEYS_WIDTH - 3)
    columns: list[list[tuple[HelpEntry, ...]]] = [[] for _ in range(count)]
    for heading, entries in (*before, *keys, *after):
        column = min(columns, key=len)  # so that what comes first is at the top
        column += [()] if column else []
        column.append((HelpEntry('', heading, TITLE),))
        for entry in entries:
            column += _lines_of(entry, room)
    lines = []
    for pieces in itertools.zip_longest(*columns, fillvalue=()):
        line: list[HelpEntry] = []
        for number, piece in enumerate(pieces):
            used = sum(cell_width(keys) + bool(keys) + cell_width(text) for keys, text, _ in piece)
            line += piece
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
