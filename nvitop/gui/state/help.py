# SPDX-License-Identifier: GPL-3.0-only
"""Contents of the help screen, from the table of keys and the options in force."""

from __future__ import annotations

from typing import Iterable

from nvitop.gui.layout.help import HelpEntry, HelpGroup, HelpPart, lay_out_help
from nvitop.gui.model.columns import TYPES
from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import BUTTONS, AppState
from nvitop.gui.state.bindings import BINDINGS, Binding, Need
from nvitop.gui.state.dialog import CANCEL_KEYS, CONFIRM_KEYS

_NOTES = {'Sorting': 'Sorting (after o, an upper-case letter reverses the order)'}
_TYPING = HelpGroup(
    'While typing a filter or a search',
    (
        HelpEntry('Enter', 'keep the filter, or the process found'),
        HelpEntry('Esc Ctrl-C', 'discard what was typed'),
        HelpEntry('Up Down F3', 'previous or next match'),
        HelpEntry('Ctrl-U Ctrl-W', 'delete the line, a word'),
    ),
)
_MOUSE = HelpGroup(
    'Mouse',
    (
        HelpEntry('click', 'select; on a heading: sort; elsewhere: clear selection'),
        HelpEntry('wheel', 'move; with Shift: sideways; with Ctrl: five lines at a time'),
    ),
)


def format_keys(binding: Binding) -> str:
    """Return the keys of a binding: ``q Q``. The keys of a sequence are joined: ``on``."""
    return ' '.join(keys.replace(' ', '') for keys in binding.keys)


def format_purpose(binding: Binding) -> str:
    """Return what a binding does, after the name of the screen if it is not the main screen."""
    if Screen.MAIN in binding.screens:
        return binding.help
    where = [screen.value for screen in binding.screens]
    return f'{where[0] if len(where) == 1 else "other screens"}: {binding.help}'


def key_groups(
    bindings: Iterable[Binding] = BINDINGS, *, readonly: bool = False
) -> tuple[HelpGroup, ...]:
    """Return the listed bindings by heading."""
    groups: dict[str, list[HelpEntry]] = {}
    for binding in bindings:
        if binding.help and binding.keys:
            is_disabled = readonly and binding.is_signal
            entry = HelpEntry(format_keys(binding), format_purpose(binding), is_disabled)
            groups.setdefault(binding.group, []).append(entry)
    return tuple(
        HelpGroup(_NOTES.get(heading, heading), tuple(entries))
        for heading, entries in groups.items()
    )


def legend(state: AppState) -> HelpGroup:
    """Return the meaning of colors and letters."""
    thresholds = state.view.thresholds
    levels = [
        HelpEntry(name, f'light below {low}%, moderate from {low}%, heavy from {high}%')
        for name, (low, high) in (
            ('GPU utilization', thresholds.gpu),
            ('memory utilization', thresholds.memory),
        )
    ]
    types = HelpEntry('process type', TYPES)
    return HelpGroup('Legend', (*levels, types), kind='legend')


def dialog_group() -> HelpGroup:
    """Return the keys of the signal dialog."""
    hot = ' '.join(keys[0] for _, _, keys in BUTTONS)
    names = ', '.join(label for _, label, _ in BUTTONS)
    return HelpGroup(
        'In the signal dialog (dim buttons are not ready yet)',
        (
            HelpEntry(' '.join(CONFIRM_KEYS), 'press the highlighted button'),
            HelpEntry(hot, f'press {names}; so do 1 to {len(BUTTONS)}'),
            HelpEntry(' '.join(CANCEL_KEYS), 'cancel'),
            HelpEntry('arrows Tab', 'another button'),
            HelpEntry('PageUp PageDown', 'scroll a long list of targets'),
        ),
    )


def _is_listed(state: AppState, binding: Binding) -> bool:
    """Whether a binding can work with the present source of samples."""
    origin = state.origin
    return (Need.PAST not in binding.needs or origin.can_travel) and (
        Need.RECORDING not in binding.needs or not origin.is_live
    )


def all_groups(state: AppState) -> tuple[HelpGroup, ...]:
    """Return all groups of the help screen."""
    bindings = (each for each in state.keymap.bindings if _is_listed(state, each))
    keys = key_groups(bindings, readonly=state.view.readonly)
    return (*keys, _TYPING, dialog_group(), _MOUSE, legend(state))


def help_lines(state: AppState) -> tuple[tuple[HelpPart, ...], ...]:
    """Return the lines of the help screen."""
    return lay_out_help(all_groups(state), state.width)
