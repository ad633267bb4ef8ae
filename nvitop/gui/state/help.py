# SPDX-License-Identifier: GPL-3.0-only
"""What the help screen says, made from the table of keys and the options in force."""

from __future__ import annotations

from typing import Iterable

from nvitop.gui.layout.help import HelpEntry, HelpGroup, HelpPart, lay_out_help
from nvitop.gui.model.columns import TYPES
from nvitop.gui.state.app_state import BUTTONS, AppState, Screen
from nvitop.gui.state.dialog import CANCEL_KEYS, CONFIRM_KEYS
from nvitop.gui.state.keymap import BINDINGS, Binding

_NOTES = {'Sorting': 'Sorting (after o, the upper-case letter sorts the other way round)'}
_TYPING = HelpGroup(
    'While typing a filter or a search',
    (
        HelpEntry('Enter', 'keep the filter; stay at what was found'),
        HelpEntry('Esc Ctrl-C', 'discard what was typed'),
        HelpEntry('Up Down F3', 'previous or next process that matches'),
        HelpEntry('Ctrl-U Ctrl-W', 'erase the line, a word'),
    ),
)
_MOUSE = HelpGroup(
    'Mouse',
    (
        HelpEntry('click', 'select; on a heading: sort by it; elsewhere: clear'),
        HelpEntry('wheel', 'previous or next; with Shift sideways, with Ctrl by five'),
    ),
)


def format_keys(binding: Binding) -> str:
    """The keys of a binding: ``q Q``; a key after a prefix is joined to it: ``on``."""
    return ' '.join(keys.replace(' ', '') for keys in binding.keys)


def format_purpose(binding: Binding) -> str:
    """What a binding does, and where, if not on the main screen."""
    if Screen.MAIN in binding.screens:
        return binding.help
    where = [screen.value for screen in binding.screens]
    return f'{where[0] if len(where) == 1 else "other screens"}: {binding.help}'


def key_groups(
    bindings: Iterable[Binding] = BINDINGS, *, readonly: bool = False
) -> tuple[HelpGroup, ...]:
    """The bindings that the help tells of, under their headings."""
    groups: dict[str, list[HelpEntry]] = {}
    for binding in bindings:
        if binding.help and binding.keys:
            is_disabled = readonly and binding.is_mutating
            entry = HelpEntry(format_keys(binding), format_purpose(binding), is_disabled)
            groups.setdefault(binding.group, []).append(entry)
    return tuple(
        HelpGroup(_NOTES.get(heading, heading), tuple(entries))
        for heading, entries in groups.items()
    )


def legend(state: AppState) -> HelpGroup:
    """What colours and letters mean."""
    thresholds = state.view.thresholds
    loads = [
        HelpEntry(name, f'light below {low}%, moderate from {low}%, heavy from {high}%')
        for name, (low, high) in (
            ('GPU load', thresholds.gpu),
            ('memory load', thresholds.memory),
        )
    ]
    types = HelpEntry('process type', TYPES)
    return HelpGroup('Legend', (*loads, types), kind='legend')


def dialog_group() -> HelpGroup:
    """The keys of the signal dialog."""
    hot = ' '.join(keys[0] for _, _, keys in BUTTONS)
    names = ', '.join(label for _, label, _ in BUTTONS)
    return HelpGroup(
        'In the signal dialog (dim buttons take no answer yet)',
        (
            HelpEntry(' '.join(CONFIRM_KEYS), 'press the button that is highlighted'),
            HelpEntry(hot, f'press {names}; so do 1 to {len(BUTTONS)}'),
            HelpEntry(' '.join(CANCEL_KEYS), 'cancel'),
            HelpEntry('arrows Tab', 'another button'),
            HelpEntry('PageUp PageDown', 'scroll a list of targets too long to be seen'),
        ),
    )


def all_groups(state: AppState) -> tuple[HelpGroup, ...]:
    """Everything that the help tells."""
    keys = key_groups(state.keymap.bindings, readonly=state.view.readonly)
    return (*keys, _TYPING, dialog_group(), _MOUSE, legend(state))


def help_lines(state: AppState) -> tuple[tuple[HelpPart, ...], ...]:
    """The lines of the help screen."""
    return lay_out_help(all_groups(state), state.width)
