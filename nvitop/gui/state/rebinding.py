# SPDX-License-Identifier: GPL-3.0-only
"""Keys from the configuration file: replaces those of the table."""

from __future__ import annotations

from typing import Mapping, Sequence

from nvitop.gui.model.screens import Screen
from nvitop.gui.state.bindings import BINDINGS, Action, Binding, leaving
from nvitop.gui.state.keymap import USUAL, Keymap

#: Name of a binding → its default keys: of the first one if several share a name.
USUAL_KEYS: dict[str, tuple[str, ...]] = {}
for _binding in BINDINGS:
    USUAL_KEYS.setdefault(_binding.name, _binding.keys)


def rebind(keys: Mapping[str, Sequence[str]]) -> tuple[Keymap, tuple[str, ...]]:
    """Return the keymap in which the named bindings have these keys, and messages about conflicts.

    Other bindings lose these keys on the same screens. If no key would leave some screen, the
    default keymap is returned.
    """
    taken: dict[tuple[Screen, str], str] = {}
    problems = []
    for binding in BINDINGS:
        for screen in sorted(binding.screens, key=lambda each: each.value):
            for key in keys.get(binding.name, ()):
                first = taken.setdefault((screen, key), binding.name)
                if first != binding.name:
                    problems.append(f'key {key!r} is bound to both {first} and {binding.name}')
    rows: list[Binding] = []
    for binding in BINDINGS:
        if binding.name in keys:
            rows.append(binding._replace(keys=tuple(keys[binding.name])))
        else:
            rows += _without(binding, frozenset(taken))
    rows += leaving(row for row in tuple(rows) if row.name in keys)
    keymap = Keymap(row for row in rows if row.keys)
    stuck = _screens_without_a_way_out(keymap)
    if stuck:
        return USUAL, (
            f'the default keys are used: no key would leave the screen {stuck[0].value}',
        )
    return keymap, tuple(dict.fromkeys(problems))


def _without(binding: Binding, taken: frozenset[tuple[Screen, str]]) -> list[Binding]:
    """Return a binding without the keys taken on its screens.

    Keys that are taken only on some of its screens split it into several bindings.
    """
    parts: dict[frozenset[Screen], list[str]] = {}
    first_of_two = {(screen, key.split(' ')[0]) for screen, key in taken if ' ' in key}
    for key in binding.keys:
        left = frozenset(
            screen
            for screen in binding.screens
            if (screen, key.split(' ')[0]) not in taken
            and (screen, key) not in taken
            and (screen, key) not in first_of_two
        )
        if left:
            parts.setdefault(left, []).append(key)
    return [binding._replace(keys=tuple(each), screens=left) for left, each in parts.items()]


def _screens_without_a_way_out(keymap: Keymap) -> list[Screen]:
    ways = {Screen.MAIN: Action.QUIT}
    return [
        screen
        for screen in Screen
        if not any(
            binding.action is ways.get(screen, Action.BACK)
            for binding in keymap.bindings
            for key in binding.keys
            if keymap.find(screen, key) is binding and keymap.reaches(screen, key)
        )
    ]
