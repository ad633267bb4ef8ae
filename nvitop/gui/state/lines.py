# SPDX-License-Identifier: GPL-3.0-only
"""The lines of each screen: how many there are, which is current, and where they are."""

from __future__ import annotations

from typing import Callable

from nvitop.gui.layout.list import ListLayout, lay_out_list
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.model.screens import SCREENS, Screen
from nvitop.gui.render.geometry import CLASSIC
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.environ import owner_lines
from nvitop.gui.state.help import help_lines
from nvitop.gui.state.listing import selected_index, tree_index, tree_layout
from nvitop.gui.state.selection import select_process, select_tree_row
from nvitop.gui.state.summary import problem_lines, summarize_users

#: Minimum height at which a narrow problems screen has one more row below its list.
_LONG_FOOT = 12

#: Screen → the number of its lines.
_COUNTS: dict[Screen, Callable[[AppState], int]] = {
    Screen.MAIN: lambda state: len(state.rows),
    Screen.TREE: lambda state: len(state.forest),
    Screen.ENVIRON: lambda state: len(state.environ.variables or ()),
    Screen.HELP: lambda state: len(help_lines(state)),
    Screen.PROBLEMS: lambda state: len(problem_lines(state.shown_tally.problems)),
    Screen.USERS: lambda state: len(summarize_users(state.rows, by_owner=state.sums_by_owner)),
    Screen.COLUMNS: lambda state: len(COLUMNS),
}


def line_count(state: AppState) -> int:
    """Return the number of lines of the screen."""
    return _COUNTS[state.screen](state)


def current_line(state: AppState) -> int | None:
    """Return the index of the current line: the cursor, or the selected process."""
    if state.screen is Screen.MAIN:
        return selected_index(state)
    if state.screen is Screen.TREE:
        return tree_index(state)
    return max(0, min(state.listing.cursor, line_count(state) - 1))


def go_to_line(state: AppState, line: int) -> AppState:
    """Make the line nearest to an index the current one, and scroll it into view."""
    if state.screen is Screen.MAIN:
        return select_process(state, line)
    if state.screen is Screen.TREE:
        return select_tree_row(state, line)
    line = max(0, min(line, line_count(state) - 1))
    if not SCREENS[state.screen].has_cursor:
        line = lines_layout(_move(state, line, line)).scroll_y
        return _move(state, line, line)
    state = _move(state, line, state.listing.scroll_y)
    return _move(state, line, lines_layout(state).scroll_y)


def lines_layout(state: AppState) -> ListLayout:
    """Return the places of the lines of a list."""
    if state.screen is Screen.TREE:
        return tree_layout(state).lines
    spec = SCREENS[state.screen]
    bottom = spec.bottom
    if (
        state.screen is Screen.PROBLEMS
        and state.width < CLASSIC
        and state.body_height >= _LONG_FOOT
    ):
        # A reason that is cut in its line is shown in full below the list.
        bottom += 1
    top = spec.top or 0
    if state.screen is Screen.ENVIRON:
        top += len(owner_lines(state))
    return lay_out_list(
        state.width,
        state.body_height,
        line_count(state),
        top=top,
        bottom=bottom,
        scroll_y=state.listing.scroll_y,
        cursor=state.listing.cursor if spec.has_cursor else None,
    )


def _move(state: AppState, cursor: int, scroll_y: int) -> AppState:
    return state._replace(listing=state.listing._replace(cursor=cursor, scroll_y=scroll_y))
