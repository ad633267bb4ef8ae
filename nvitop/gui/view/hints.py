# SPDX-License-Identifier: GPL-3.0-only
"""Which keys lead on, for the first line of a screen: those that are in force."""

from __future__ import annotations

from nvitop.gui.render.style import Style
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.targets import has_targets
from nvitop.gui.view.widgets.title import HINT, KEY


def key_hints(
    state: AppState, *pairs: tuple[str, str], label: str = ''
) -> tuple[tuple[str, Style], ...]:
    """Keys and what they do, as a hint: ``q back  h help``. They are named as they usually are;
    shown is what does the same now, and nothing where nothing does."""
    hints = []
    for usual, what in pairs:
        keys = [shown_key(state, key) for key in usual.split(' ')]
        if all(keys):
            hints.append((' '.join(keys), what))
    pieces: list[tuple[str, Style]] = [(label, HINT)] if label and hints else []
    for i, (shown, what) in enumerate(hints):
        pieces += [(shown, KEY), (f' {what}{"  " if i < len(hints) - 1 else ""}', HINT)]
    return tuple(pieces)


def shown_key(state: AppState, usual: str) -> str:
    """The key that does now what a key usually does, ``''``: none."""
    key = state.keymap.instead_of(state.screen, usual).replace(' ', '')
    return f'^{key[5:]}' if key.startswith('Ctrl-') and len(key) == 6 else key


def signal_hints(state: AppState) -> tuple[tuple[str, Style], ...]:
    """The keys that open the dialog for signals, while anybody would get one."""
    if not has_targets(state):
        return ()
    pairs = (('Ctrl-C', 'interrupt'), ('T', 'terminate'), ('k', 'kill'))
    return key_hints(state, *pairs, label='signals: ')
