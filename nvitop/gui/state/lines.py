# SPDX-License-Identifier: GPL-3.0-only
"""Screens that are a list of lines: how many there are, and which of them are seen."""

from __future__ import annotations

from nvitop.gui.layout.device import CLASSIC
from nvitop.gui.layout.list import ListLayout, lay_out_list
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.state.app_state import AppState, ListState, Screen
from nvitop.gui.state.help import help_lines
from nvitop.gui.state.summary import problem_lines, summarise_users

#: Rows above and below the lines of a screen: title, headings, foot.
_TOP_AND_BOTTOM = {
    Screen.ENVIRON: (2, 0),
    Screen.HELP: (2, 0),
    Screen.PROBLEMS: (2, 3),
    Screen.USERS: (2, 0),
    Screen.COLUMNS: (2, 0),
}
#: The height from which on a narrow screen of problems has one row more at its foot.
_LONG_FOOT = 12
#: The screens that are lists of lines.
SCROLLED = frozenset(_TOP_AND_BOTTOM)


def line_count(state: AppState) -> int:
    """Lines of the screen."""
    if state.screen is Screen.ENVIRON:
        return len(state.environ.variables or ())
    if state.screen is Screen.PROBLEMS:
        return len(problem_lines(state.shown_tally.problems))
    if state.screen is Screen.USERS:
        return len(summarise_users(state.rows))
    if state.screen is Screen.COLUMNS:
        return len(COLUMNS)
    return len(help_lines(state))


def lines_layout(state: AppState) -> ListLayout:
    """Where the lines of the screen are."""
    top, bottom = _TOP_AND_BOTTOM[state.screen]
    if state.screen is Screen.PROBLEMS and state.width < CLASSIC and state.height >= _LONG_FOOT:
        # Where a reason is cut in its line, it is read below the list.
        bottom += 1
    at = state.environ if state.screen is Screen.ENVIRON else state.listing
    return lay_out_list(
        state.width,
        state.height,
        line_count(state),
        top=top,
        bottom=bottom,
        scroll_y=at.scroll_y,
        # The help is a text to be scrolled: no line of it is chosen.
        cursor=None if state.screen is Screen.HELP else at.cursor,
    )


def move_cursor(state: AppState, cursor: int) -> AppState:
    """To a line, as near as there is one, and scroll until it is seen."""
    cursor = max(0, min(cursor, line_count(state) - 1))
    if state.screen is Screen.HELP:
        state = state._replace(listing=ListState(cursor, cursor))
        scroll_y = lines_layout(state).scroll_y
        return state._replace(listing=ListState(scroll_y, scroll_y))
    if state.screen is Screen.ENVIRON:
        state = state._replace(environ=state.environ._replace(cursor=cursor))
        scroll_y = lines_layout(state).scroll_y
        return state._replace(environ=state.environ._replace(scroll_y=scroll_y))
    state = state._replace(listing=state.listing._replace(cursor=cursor))
    return state._replace(listing=ListState(cursor, lines_layout(state).scroll_y))
