# SPDX-License-Identifier: GPL-3.0-only
"""The keys in force: bindings by screen and key, with the keys of the configuration file."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from nvitop.gui.model.choices import Screen
from nvitop.gui.render.theme import KEY, Style

#: Returns why a key cannot work in a state; ``''`` if it can.
Need = Callable[[Any], str]


class Binding(NamedTuple):
    """Keys, the screens on which they work, and what they do."""

    #: Names as in :class:`~nvitop.gui.state.events.KeyPressed`; two keys in a row: ``'o g'``.
    keys: tuple[str, ...]
    #: Name in the configuration file: ``quit``, ``open-tree``, ``sort-by-pid-reversed``.
    name: str
    #: Function from a state to the next one and its effects.
    run: Callable[[Any], Any]
    #: One line for the help screen and the documentation; ``''``: not listed.
    help: str
    screens: frozenset[Screen]
    #: Heading of the help screen.
    group: str
    #: One or two words for hints, or a function that returns them in a state.
    hint: str | Callable[[Any], str] = ''
    opens: Screen | None = None
    #: All of these must be met; otherwise a notice shows the reason.
    needs: tuple[Need, ...] = ()
    #: Whether it leads to a signal, so that ``--readonly`` disables it.
    is_signal: bool = False
    #: Whether it leaves a screen.
    leaves: bool = False
    #: Name of the order by which it sorts; whether it shows the keys that sort.
    order: str = ''
    shows_orders: bool = False
    #: Whether it stops the program, also while text is typed.
    suspends: bool = False
    #: Whether it scrolls away from the selection.
    scrolls: bool = False
    #: Whether it needs the devices or processes of the main screen: it waits for the first sample.
    waits: bool = False
    #: Returns whether there is no point in the hint in a state.
    is_pointless: Callable[[Any], bool] | None = None

    def hint_in(self, state: Any) -> str:
        return self.hint(state) if callable(self.hint) else self.hint


class HelpEntry(NamedTuple):
    """Keys and what they do, or a mark and its meaning."""

    keys: str
    text: str
    #: Style of the keys.
    style: Style = KEY


class HelpGroup(NamedTuple):
    """A heading and its entries."""

    heading: str
    entries: tuple[HelpEntry, ...]


class Keymap:
    """An immutable table of bindings; ``usual`` has the default keys, and is itself by default."""

    def __init__(self, bindings: Iterable[Binding], usual: Keymap | None = None) -> None:
        self.bindings = tuple(bindings)
        self.usual = self if usual is None else usual
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
        bindings = self.find_all(screen, keys)
        return bindings[0] if bindings else None

    def is_prefix(self, screen: Screen, keys: str) -> bool:
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
                if binding.order and screen in binding.screens
                for keys in binding.keys
                if ' ' in keys and self.reaches(screen, keys)
            ),
            '',
        )

    def reaches(self, screen: Screen, keys: str) -> bool:
        """Whether keys have a binding that can be reached: the first of two must have none."""
        first, _, second = keys.partition(' ')
        return (screen, keys) in self._table and not (second and (screen, first) in self._table)

    def may_share(self, screen: Screen, names: set[str]) -> bool:
        """Whether actions have the same key on a screen: the first of them that can work does."""
        return any(
            place is screen and names <= {binding.name for binding in bindings}
            for (place, _), bindings in self._table.items()
        )

    def can_leave(self, screen: Screen) -> bool:
        return any(
            bindings[0].leaves and self.reaches(screen, keys)
            for (place, keys), bindings in self._table.items()
            if place is screen
        )

    def next_keys(self, screen: Screen, prefix: str) -> tuple[tuple[str, Binding], ...]:
        """Return the keys that can follow a prefix and what they do, in the order of the table."""
        return tuple(
            (keys[len(prefix) + 1 :], binding)
            for binding in self.bindings
            if screen in binding.screens and binding.help
            for keys in binding.keys
            if keys.startswith(f'{prefix} ')
        )

    def instead_of(self, screen: Screen, usual: str) -> str:
        """Return the key that does what ``usual`` does by default on a screen.

        This is ``usual`` itself unless the user has rebound it; ``''`` if no key does it.
        """
        names = {binding.name for binding in self.usual.find_all(screen, usual)[:1]}
        others = (key for each in self.bindings if each.name in names for key in each.keys)
        for key in itertools.chain([usual], others):
            found = {binding.name for binding in self.find_all(screen, key)}
            if self.reaches(screen, key) and names & found:
                return key
        return ''


def rebind(keys: Mapping[str, Sequence[str]], usual: Keymap) -> tuple[Keymap, tuple[str, ...]]:
    """Return the keymap in which the named bindings have these keys, and messages about conflicts.

    Other bindings lose these keys on all screens. If no key would leave some screen, the default
    keymap is returned.
    """
    first_names: dict[tuple[Screen, str], str] = {}
    problems = []
    for binding in usual.bindings:
        for place in itertools.product(binding.screens, keys.get(binding.name, ())):
            first = first_names.setdefault(place, binding.name)
            if not usual.may_share(place[0], {first, binding.name}):
                problems.append(f'key {place[1]!r} is bound to both {first} and {binding.name}')
    taken = {key for _, key in first_names}
    firsts = {key.split(' ')[0] for key in taken if ' ' in key}
    rows: list[Binding] = []
    for binding in usual.bindings:
        left = (
            key
            for key in binding.keys
            if key.split(' ')[0] not in taken and key not in taken and key not in firsts
        )
        rows.append(binding._replace(keys=tuple(keys.get(binding.name, left))))
    keymap = Keymap((row for row in rows if row.keys), usual)
    screens = {screen for binding in usual.bindings for screen in binding.screens}
    for screen in sorted(screens, key=lambda screen: screen.value):
        if not keymap.can_leave(screen):
            why = f'the default keys are used: no key would leave the screen {screen.value}'
            return usual, (why,)
    return keymap, tuple(dict.fromkeys(problems))
