# SPDX-License-Identifier: GPL-3.0-only
"""Hints: keys that work now and what they do, for the first line of a screen."""

from __future__ import annotations

from nvitop.gui.model.screens import SCREENS
from nvitop.gui.render.style import Style
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.keymap import USUAL
from nvitop.gui.state.targets import has_targets
from nvitop.gui.view.widgets.title import HINT, KEY


def title_hints(state: AppState) -> tuple[tuple[str, Style], ...]:
    """Return the hints for the first line of the screen: ``h help  q back``."""
    return key_hints(state, *SCREENS[state.screen].hints)


def key_hints(state: AppState, *usual_keys: str, label: str = '') -> tuple[tuple[str, Style], ...]:
    """Return hints for keys, given by their default names; ``'K J'`` share one hint.

    A rebound key is shown as what the user chose; an action without a key is left out.
    """
    hints = []
    for usual in usual_keys:
        keys = [shown_key(state, key) for key in usual.split(' ')]
        binding = USUAL.find(state.screen, usual.split(' ')[0])
        if binding is not None and all(keys):
            hints.append((' '.join(keys), binding.hint))
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
    return key_hints(state, 'Ctrl-C', 'T', 'k', label='signals: ')
