# SPDX-License-Identifier: GPL-3.0-only
"""Hints: keys that work now and what they do, for the first line of a screen."""

from __future__ import annotations

from nvitop.gui.render.style import Style
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.targets import has_targets
from nvitop.gui.view.widgets.title import HINT, KEY


def key_hints(
    state: AppState, *pairs: tuple[str, str], label: str = ''
) -> tuple[tuple[str, Style], ...]:
    """Return keys and what they do as a hint: ``q back  h help``.

    ``pairs`` name the default keys. The hint has the keys bound to the same actions now, without
    those that are bound to nothing.
    """
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
    """Return the key bound to the action of a default key, or ``''`` if there is none."""
    key = state.keymap.instead_of(state.screen, usual).replace(' ', '')
    return f'^{key[5:]}' if key.startswith('Ctrl-') and len(key) == 6 else key


def signal_hints(state: AppState) -> tuple[tuple[str, Style], ...]:
    """Return a hint with the keys that open the signal dialog, if a signal has any target."""
    if not has_targets(state):
        return ()
    pairs = (('Ctrl-C', 'interrupt'), ('T', 'terminate'), ('k', 'kill'))
    return key_hints(state, *pairs, label='signals: ')
