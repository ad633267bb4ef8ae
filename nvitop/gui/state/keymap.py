# SPDX-License-Identifier: GPL-3.0-only
"""The keys in force: looking up bindings by screen and key."""

from __future__ import annotations

import itertools
from typing import Iterable

from nvitop.gui.model.screens import Screen
from nvitop.gui.state.bindings import BINDINGS, Action, Binding


class Keymap:
    """An immutable table of bindings."""

    def __init__(self, bindings: Iterable[Binding]) -> None:
        self.bindings = tuple(bindings)
        self._table: dict[tuple[Screen, str], tuple[Binding, ...]] = {}
        for binding in self.bindings:
            for place in itertools.product(binding.screens, binding.keys):
                self._table[place] = (*self._table.get(place, ()), binding)
        self._prefixes = frozenset(
            (screen, keys.rsplit(' ', 1)[0]) for screen, keys in self._table if ' ' in keys
        )

    def find_all(self, screen: Screen, keys: str) -> tuple[Binding, ...]:
        """Return the bindings of a key on a screen, or of several keys separated by spaces."""
        return self._table.get((screen, keys), ())

    def find(self, screen: Screen, keys: str) -> Binding | None:
        """Return the first of these bindings."""
        bindings = self.find_all(screen, keys)
        return bindings[0] if bindings else None

    def is_prefix(self, screen: Screen, keys: str) -> bool:
        """Whether longer sequences of keys begin with these."""
        return (screen, keys) in self._prefixes

    def elsewhere(self, screen: Screen, key: str) -> tuple[Binding, ...]:
        """Return the listed bindings of a key, or of sequences that begin with it, that do not
        work on this screen."""
        return tuple(
            binding
            for binding in self.bindings
            if binding.help
            and screen not in binding.screens
            and any(keys.split(' ')[0] == key for keys in binding.keys)
        )

    def sort_prefix(self, screen: Screen) -> str:
        """Return the first key of sequences that sort; ``''`` if no sequence does."""
        return next(
            (
                keys.partition(' ')[0]
                for binding in self.bindings
                if binding.action is Action.SORT_BY and screen in binding.screens
                for keys in binding.keys
                if ' ' in keys and self.reaches(screen, keys)
            ),
            '',
        )

    def reaches(self, screen: Screen, keys: str) -> bool:
        """Whether keys have a binding that can be reached: the first of two must have none."""
        first, _, second = keys.partition(' ')
        return (screen, keys) in self._table and not (second and (screen, first) in self._table)

    def next_keys(self, screen: Screen, prefix: str) -> tuple[tuple[str, str], ...]:
        """Return the keys that can follow a prefix and what they do, in the order of the table."""
        return tuple(
            (keys[len(prefix) + 1 :], binding.hint or binding.name)
            for binding in self.bindings
            if screen in binding.screens and binding.help
            for keys in binding.keys
            if keys.startswith(f'{prefix} ')
        )

    def instead_of(self, screen: Screen, usual: str) -> str:
        """Return the key that does what ``usual`` does by default on a screen.

        This is ``usual`` itself unless the user has rebound it; ``''`` if no key does it.
        """
        meant = USUAL.find(screen, usual)
        if meant is None:
            return ''
        if self is USUAL and self.reaches(screen, usual):
            return usual
        keys = itertools.chain([usual], (key for found in self.bindings for key in found.keys))
        what = (meant.action, meant.argument, meant.opens)
        return next(
            (
                key
                for key in keys
                if self.reaches(screen, key)
                for found in self.find_all(screen, key)
                if (found.action, found.argument, found.opens) == what
            ),
            '',
        )


#: The default keys.
USUAL = Keymap(BINDINGS)
