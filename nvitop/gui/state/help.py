# SPDX-License-Identifier: GPL-3.0-only
"""Contents of the help screen, from the table of keys and the options in force."""

from __future__ import annotations

from typing import Iterable

from nvitop.gui.layout.help import HelpEntry, HelpGroup, HelpPart, lay_out_help
from nvitop.gui.model.columns import TYPES
from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import BUTTONS, AppState
from nvitop.gui.state.bindings import BINDINGS, Action, Binding, Need
from nvitop.gui.state.dialog import CANCEL_KEYS, CONFIRM_KEYS

_NOTES = {'Sorting': 'Sorting (after o, an upper-case letter reverses the order)'}
#: Headings of the help screen by use; those that are missing follow.
_BY_USE = ('Moving and selecting', 'Processes', 'Screens', 'View', 'Sorting')
#: Actions that share a line of the help screen, and their common text.
_PAIRS: dict[Action, tuple[Action, str]] = {
    Action.SELECT_PREVIOUS: (Action.SELECT_NEXT, 'previous, next process or line'),
    Action.NEXT_DEVICE: (Action.PREVIOUS_DEVICE, 'select the next, previous GPU'),
    Action.SELECT_FIRST: (Action.SELECT_LAST, 'first, last process or line'),
    Action.SCROLL_UP: (Action.SCROLL_DOWN, 'scroll by a page'),
    Action.LINE_UP: (Action.LINE_DOWN, 'scroll by a line'),
    Action.SCROLL_LEFT: (Action.SCROLL_RIGHT, 'scroll long lines'),
    Action.SCROLL_BEGIN: (Action.SCROLL_END, 'beginning, end of long lines'),
    Action.MODE_FULL: (Action.MODE_COMPACT, 'panels in full, compact panels'),
    Action.NEXT_GRAPH: (Action.NEXT_UPPER_GRAPH, 'next metric of the GPU graphs'),
    Action.LONGER_TIME: (Action.SHORTER_TIME, 'longer, shorter time in graphs'),
    Action.SORT_PREVIOUS: (Action.SORT_NEXT, 'sort by the previous, next column'),
    Action.MOVE_UP: (Action.MOVE_DOWN, 'columns: move to the left, right'),
    Action.PREVIOUS_FRAME: (Action.NEXT_FRAME, 'previous, next sample'),
    Action.PREVIOUS_MINUTE: (Action.NEXT_MINUTE, 'a minute back, ahead'),
    Action.PREVIOUS_HOUR: (Action.NEXT_HOUR, 'an hour back, ahead'),
    Action.FIRST_FRAME: (Action.LAST_FRAME, 'first, last sample'),
    Action.PREVIOUS_EVENT: (Action.NEXT_EVENT, 'previous, next event'),
    Action.FASTER: (Action.SLOWER, 'replay faster, slower'),
}
#: Maximum width of the keys of a line; the others are listed at the end.
_KEYS_WIDTH = 13
_TYPING = HelpGroup(
    'Typing a filter or a search',
    (
        HelpEntry('Enter', 'keep it'),
        HelpEntry('Esc Ctrl-C', 'discard it'),
        HelpEntry('Up Down F3', 'previous or next match'),
        HelpEntry('Ctrl-U Ctrl-W', 'delete the line, a word'),
    ),
)
_MOUSE = HelpGroup(
    'Mouse',
    (
        HelpEntry('click', 'select, sort, press a hint'),
        HelpEntry('double click', 'as Enter; right click: send a signal'),
        HelpEntry('wheel', 'move; Shift sideways; Ctrl by 5'),
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


def brief_groups(bindings: Iterable[Binding], *, readonly: bool = False) -> tuple[HelpGroup, ...]:
    """Return the listed bindings in fewer lines, by use, and other keys with the same effect."""
    listed = [binding for binding in bindings if binding.help and binding.keys]
    groups: dict[str, list[HelpEntry]] = {heading: [] for heading in _BY_USE}
    synonyms: list[str] = []
    done: list[Binding] = []
    for binding in listed:
        if binding in done:
            continue
        together, text = _together(binding, listed)
        done += together
        if binding.action is Action.SORT_BY:
            keys = [' '.join({each.keys[0].split(' ')[0]: '' for each in together})]
            text = ', '.join(f'{each.keys[0].split(" ")[-1]} {each.hint}' for each in together)
        else:
            keys = [each.keys[0].replace(' ', '') for each in together]
            synonyms += _synonyms(together, keys)
        is_disabled = readonly and binding.is_signal
        entry = HelpEntry(' '.join(keys), text, is_disabled)
        groups.setdefault(binding.group, []).append(entry)
    others = HelpGroup('Other keys with the same effect', (HelpEntry('', ', '.join(synonyms)),))
    return (
        *(HelpGroup(heading, tuple(entries)) for heading, entries in groups.items() if entries),
        *((others,) if synonyms else ()),
    )


def _together(binding: Binding, listed: list[Binding]) -> tuple[list[Binding], str]:
    """Return the bindings that share the line of a binding, and the text of the line."""
    if binding.action is Action.SORT_BY and ' ' in binding.keys[0]:
        first = binding.keys[0].split(' ')[0]
        same = [
            each
            for each in listed
            if each.action is Action.SORT_BY and each.keys[0].startswith(f'{first} ')
        ]
        return same, ''
    second, text = _PAIRS.get(binding.action, (None, ''))
    for each in listed:
        if each.action is second and each.screens == binding.screens:
            return [binding, each], text
    return [binding], format_purpose(binding)


def _synonyms(together: list[Binding], keys: list[str]) -> list[str]:
    """Add the other keys of bindings to those of their line while there is room; return the rest."""
    if len(together) == 1:
        for key in together[0].keys[1:]:
            if len(' '.join([*keys, key])) <= _KEYS_WIDTH:
                keys.append(key.replace(' ', ''))
    return [
        f'{key.replace(" ", "")} {binding.keys[0].replace(" ", "")}'
        for binding in together
        for key in binding.keys[1:]
        if key.replace(' ', '') not in keys
    ]


def legend(state: AppState) -> HelpGroup:
    """Return the meaning of colors and letters."""
    thresholds = state.view.thresholds
    levels = [
        HelpEntry('', f'{name}: light, moderate from {low}%, heavy from {high}%')
        for name, (low, high) in (
            ('GPU', thresholds.gpu),
            ('MEM', thresholds.memory),
        )
    ]
    types = HelpEntry('', f'type: {TYPES}')
    return HelpGroup('Legend', (*levels, types), kind='legend')


def dialog_group() -> HelpGroup:
    """Return the keys of the signal dialog."""
    hot = ' '.join(keys[0] for _, _, keys in BUTTONS)
    names = ', '.join(label for _, label, _ in BUTTONS)
    return HelpGroup(
        'Signal dialog',
        (
            HelpEntry(' '.join(CONFIRM_KEYS), 'press the button'),
            HelpEntry(hot, f'{names} (also 1 to {len(BUTTONS)})'),
            HelpEntry(' '.join(CANCEL_KEYS), 'cancel'),
            HelpEntry('arrows Tab', 'another button'),
            HelpEntry('PageUp PageDown', 'scroll the targets'),
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
    bindings = (each for each in state.keymap.bindings if _is_listed(state, each))
    keys = brief_groups(bindings, readonly=state.view.readonly)
    groups = (*keys, _TYPING, dialog_group(), _MOUSE, legend(state))
    return lay_out_help(groups, state.width)
