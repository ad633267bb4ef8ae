# SPDX-License-Identifier: GPL-3.0-only
"""The screens of the monitor, one row each: layout, keys, badges, tests and benchmarks use it."""

from __future__ import annotations

import enum
from typing import Callable, NamedTuple


class Screen(enum.Enum):
    """Fills the terminal. The value is the name shown to people."""

    MAIN = 'main'
    TREE = 'tree'
    ENVIRON = 'environment'
    METRICS = 'metrics'
    HELP = 'help'
    PROBLEMS = 'problems'
    USERS = 'users'
    COLUMNS = 'columns'


class ScreenSpec(NamedTuple):
    """Properties of a screen. Its keys are in :data:`nvitop.gui.state.bindings.BINDINGS`."""

    #: Keys whose hints are in the first line, by their usual names; ``'K J'`` share one hint.
    hints: tuple[str, ...] = ('h', 'q')
    #: Keys whose hints are in the last row, if they work; all but the last may be left out.
    menu: tuple[str, ...] = ('h', 'q')
    #: Rows above the lines of a list (title and headings); ``None`` if the screen is not a list.
    top: int | None = None
    #: Rows below the lines of a list.
    bottom: int = 0
    #: Whether one of its lines can be current. A list without a cursor is only scrolled.
    has_cursor: bool = True
    #: Whether its lines are processes that can be selected, tagged and signaled.
    selects_processes: bool = False
    #: Whether the filter restricts it.
    is_filtered: bool = False
    #: Cells by which Left and Right scroll long lines; 0: they do not.
    sideways_step: int = 0

    @property
    def is_list(self) -> bool:
        """Whether lines of equal height fill the screen."""
        return self.top is not None

    @property
    def has_lines(self) -> bool:
        """Whether it can be scrolled, or a cursor moved."""
        return self.is_list or self.has_cursor


# fmt: off
SCREENS: dict[Screen, ScreenSpec] = {
    Screen.MAIN: ScreenSpec(menu=('h', 'S s', 'N n', 'Up Down', 'Enter', 'T', 'K', 'e', 'Space', 'Esc', '\\', 'F6', 't', '!', 'U', 'd', 'C', 'z', '( )', '{ }', 'b', 'q'), selects_processes=True, is_filtered=True, sideways_step=2),
    Screen.TREE: ScreenSpec(('h', 't'), ('h', 'S s', 'N n', 'Up Down', 'T', 'K', 'e', 'Space', 'x', 'Esc', '\\', 'U', '!', 'z', 't'), top=2, selects_processes=True, is_filtered=True, sideways_step=5),
    Screen.ENVIRON: ScreenSpec(('h', 'e'), ('h', 'v', 'Left Right', 'q'), top=2, sideways_step=5),
    Screen.METRICS: ScreenSpec(('+ -', 'h', 'q'), ('h', 'e', '+ -', 'z', 'q'), has_cursor=False),
    Screen.HELP: ScreenSpec(('q',), ('PageUp PageDown', 'q'), top=2, has_cursor=False),
    Screen.PROBLEMS: ScreenSpec(menu=('h', 'Enter', 'z', 'q'), top=2, bottom=3),
    Screen.USERS: ScreenSpec(menu=('h', 'Enter', 'U', '!', 'z', 'q'), top=2, bottom=1, is_filtered=True),
    Screen.COLUMNS: ScreenSpec(('Space', 'K J', 'q'), ('h', 'Space', 'K J', 'q'), top=2),
}
# fmt: on

#: Every screen.
ALL_SCREENS = frozenset(SCREENS)


def screens_where(has: Callable[[ScreenSpec], bool]) -> frozenset[Screen]:
    """Return the screens whose row has a property."""
    return frozenset(screen for screen, spec in SCREENS.items() if has(spec))
