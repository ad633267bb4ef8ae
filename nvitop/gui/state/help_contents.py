# SPDX-License-Identifier: GPL-3.0-only
"""Contents of the help screen, from the table of keys and the options in force."""

from __future__ import annotations

import functools

from nvitop.gui.layout.screens import HelpEntry, HelpGroup, HelpPart, lay_out_help
from nvitop.gui.model.choices import Screen
from nvitop.gui.model.columns import TYPES
from nvitop.gui.state.actions import need_past, need_recording
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.keymap import Binding

#: Headings of the help screen by use; those that are missing follow.
_BY_USE = ('Moving and selecting', 'Processes', 'Screens', 'View', 'Sorting')
#: Names of bindings that share a line of the help screen → their common text.
_TOGETHER: dict[tuple[str, ...], str] = {
    ('select-previous', 'select-next'): 'previous, next process or line',
    ('next-device', 'previous-device'): 'select the next, previous GPU',
    ('select-first', 'select-last'): 'first, last process or line',
    ('line-up', 'line-down', 'scroll-up', 'scroll-down'): 'scroll by a line, a page',
    ('half-page-up', 'half-page-down'): 'scroll by half a page',
    ('search-next', 'search-previous'): 'next, previous match',
    ('scroll-left', 'scroll-right'): 'scroll long lines',
    ('scroll-begin', 'scroll-end'): 'beginning, end of long lines',
    ('mode-auto', 'mode-full', 'mode-compact'): 'layout: automatic, full, compact',
    ('next-graph', 'next-upper-graph'): 'next metric of the GPU graphs',
    ('longer-time', 'shorter-time'): 'zoom graphs out, in',
    ('open-metrics', 'show-page', 'show-user', 'show-device'): (
        'open: process, GPU, user, GPU of a problem'
    ),
    ('open-users', 'sum-by-owner'): 'usage by user; by job, pod or container',
    ('back',): 'back to the main screen (t: from the tree)',
    ('tag', 'tag-subtree'): 'tag; in the tree, with all descendants',
    ('open-environ', 'reveal'): 'environment of the process; its secrets',
    ('choose', 'move-up', 'move-down'): 'columns: show or hide, move left, right',
    ('toggle-host', 'toggle-hints'): 'hide or show host panel, hint line',
    ('sort-previous', 'sort-next', 'sort-reverse'): 'previous, next column; reverse order',
    ('previous-frame', 'next-frame'): 'previous, next sample',
    ('previous-minute', 'next-minute', 'previous-hour', 'next-hour'): (
        'a minute, an hour back, ahead'
    ),
    ('first-frame', 'last-frame'): 'first, last sample',
    ('previous-event', 'next-event'): 'previous, next event',
    ('faster', 'slower'): 'replay faster, slower',
}
#: Maximum width of the keys of a line; the others are listed at the end.
_KEYS_WIDTH = 13
#: A space at which a line does not break.
_NO_BREAK = '\xa0'
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
    HelpEntry('! HOT', 'something is wrong with the GPU: press !'),
    HelpEntry('PWR', 'the GPU holds its power limit'),
    HelpEntry('held 1h', 'memory in use, but no kernel for 1 h'),
    HelpEntry('line', 'in graphs: the highest GPU, or the memory'),
    HelpEntry('► =', 'the selected process: its GPU, other rows'),
    HelpEntry('gap ?', 'graphs: not measured; no longer reported'),
    HelpEntry('bold', 'your user name'),
    HelpEntry('tagged', 'process that a signal goes to'),
)


def format_purpose(binding: Binding) -> str:
    """Return what a binding does, after the name of the screen if it is not the main screen."""
    return f'{_where(binding)}{binding.help}'


def _where(binding: Binding) -> str:
    """Return where a binding works: ``''`` for the main screen, ``'columns: '`` for others."""
    if not binding.screens.isdisjoint((Screen.MAIN, Screen.HOSTS)):
        return ''
    where = [screen.value for screen in binding.screens]
    return f'{where[0] if len(where) == 1 else "other screens"}: '


def brief_groups(bindings: tuple[Binding, ...], *, readonly: bool) -> tuple[HelpGroup, ...]:
    """Return the listed bindings in fewer lines, by use, and other keys with the same effect."""
    listed = [binding for binding in bindings if binding.help and binding.keys]
    groups: dict[str, list[HelpEntry]] = {heading: [] for heading in _BY_USE}
    synonyms: dict[str, list[str]] = {}
    done: list[Binding] = []
    for binding in listed:
        # The menu of the keys that sort users and problems is on their screens.
        is_in_menu = binding.name == 'sort-menu' or (binding.sorts and _where(binding))
        if binding in done or is_in_menu:
            continue
        together, text = _together(binding, listed)
        done += together
        if binding.sorts:
            menu = [each.keys[0] for each in listed if each.name == 'sort-menu']
            keys = [together[0].keys[0].split(' ')[0], *menu]
            text = ', '.join(f'{each.keys[0].split(" ")[-1]} {each.hint}' for each in together)
        else:
            keys = [*dict.fromkeys(each.keys[0].replace(' ', '') for each in together)]
            synonyms.setdefault(_where(binding), []).extend(_synonyms(together, keys))
        is_disabled = readonly and binding.is_signal
        entry = HelpEntry(' '.join(keys), text, is_disabled)
        groups.setdefault(binding.group, []).append(entry)
    # The main screen comes first.
    texts = [f'{where}{"; ".join(pairs)}' for where, pairs in sorted(synonyms.items()) if pairs]
    same = tuple(HelpEntry('', text) for text in texts)
    others = HelpGroup('Other keys with the same effect', same)
    return (
        *(HelpGroup(heading, tuple(entries)) for heading, entries in groups.items() if entries),
        *((others,) if same else ()),
    )


def _together(binding: Binding, listed: list[Binding]) -> tuple[list[Binding], str]:
    """Return the bindings that share the line of a binding, and the text of the line."""
    if binding.sorts and ' ' in binding.keys[0]:
        first = binding.keys[0].split(' ')[0]
        same = [
            each
            for each in listed
            if each.sorts
            and each.screens == binding.screens
            and each.keys[0].startswith(f'{first} ')
        ]
        return same, ''
    for names, text in _TOGETHER.items():
        if binding.name in names:
            same = [each for each in listed if each.name in names]
            if len(same) > 1 and len({*(each.name for each in same)}) == len(names):
                return sorted(same, key=lambda each: names.index(each.name)), text
    return [binding], format_purpose(binding)


def _synonyms(together: list[Binding], keys: list[str]) -> list[str]:
    """Add the other keys of all bindings of a line to it while there is room; return the rest."""
    for same in zip(*(each.keys for each in together)):
        more = [key for key in dict.fromkeys(k.replace(' ', '') for k in same) if key not in keys]
        if len(' '.join([*keys, *more])) <= _KEYS_WIDTH:
            keys += more
    others = {
        f'{key.replace(" ", "")}{_NO_BREAK}={_NO_BREAK}{binding.keys[0].replace(" ", "")}': None
        for binding in together
        for key in binding.keys[1:]
        if key.replace(' ', '') not in keys
    }
    return list(others)


def legend(state: AppState) -> HelpGroup:
    """Return the meaning of colors, marks and letters."""
    thresholds = state.view.thresholds
    levels = []
    if state.view.by_load:
        levels = [
            HelpEntry(name, f'light, moderate from {low}%, heavy from {high}%')
            for name, (low, high) in (('GPU', thresholds.gpu), ('MEM', thresholds.memory))
        ]
    types = HelpEntry('TYPE', TYPES.replace(' client', ''))
    return HelpGroup('Legend', (*levels, *_MARKS, types), kind='legend')


def _is_listed(state: AppState, binding: Binding) -> bool:
    """Whether a binding can work with the current source of samples."""
    origin = state.origin
    return (need_past not in binding.needs or origin.can_travel) and (
        need_recording not in binding.needs or not origin.is_live
    )


def monitor_help(state: AppState) -> tuple[HelpGroup, ...]:
    """Return what the help of the monitor has after the keys."""
    return (TYPING, MOUSE, legend(state))


def help_lines(state: AppState) -> tuple[tuple[HelpPart, ...], ...]:
    """Return the lines of the help screen: the keys in force, and other groups."""
    bindings = tuple(each for each in state.keymap.bindings if _is_listed(state, each))
    others = state.program.other_help(state)
    return _lines_about(bindings, others, state.width, readonly=state.view.readonly)


@functools.lru_cache(maxsize=4)  # each key and second asks for the same lines several times
def _lines_about(
    bindings: tuple[Binding, ...], others: tuple[HelpGroup, ...], width: int, *, readonly: bool
) -> tuple[tuple[HelpPart, ...], ...]:
    return lay_out_help((*brief_groups(bindings, readonly=readonly), *others), width)
