# SPDX-License-Identifier: GPL-3.0-only
"""Moving: from line to line, by pages, and sideways along long lines."""

from __future__ import annotations

from typing import Callable

from nvitop.gui.layout.list import longest_line
from nvitop.gui.model.effects import RingBell
from nvitop.gui.model.screens import SCREENS, Screen
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.environ import environ_lines
from nvitop.gui.state.lines import current_line, go_to_line, line_count, lines_layout
from nvitop.gui.state.listing import main_layout, tree_layout
from nvitop.gui.state.selection import selected_key

#: Maximum number of columns that lines can be scrolled by.
MAX_SCROLL = 1 << 16


def move_by_lines(state: AppState, step: int) -> Result:
    """Move by a number of lines. Ring the bell at the end of a list of processes."""
    spec = SCREENS[state.screen]
    if not spec.has_lines:
        return state, ()
    line = current_line(state)
    if line is None:
        moved = go_to_line(state, 0 if step > 0 else line_count(state) - 1)
    else:
        moved = go_to_line(state, line + step)
    if spec.selects_processes and selected_key(moved) == selected_key(state):
        return moved, (RingBell(),)
    return moved, ()


def move_by_pages(state: AppState, step: int) -> Result:
    """Move by screens. The main screen scrolls without changing the selection."""
    if state.screen is Screen.MAIN:
        return scroll_by_lines(state, step * max(1, state.body_height - 1))
    return move_by_lines(state, step * max(1, len(lines_layout(state).shown) - 1))


def scroll_by_lines(state: AppState, step: int) -> Result:
    """Move by lines. The main screen scrolls without changing the selection."""
    if state.screen is not Screen.MAIN:
        return move_by_lines(state, step)
    layout = main_layout(state)
    limit = max(0, layout.page_height - state.body_height)
    wanted = max(0, min(layout.scroll_y + step, limit))
    if wanted == layout.scroll_y:
        return state, (RingBell(),)
    return state._replace(main=state.main._replace(scroll_y=wanted)), ()


def move_to_first(state: AppState) -> Result:
    """Move to the first line."""
    if state.screen is Screen.MAIN:
        # Show the beginning of the page, unless this hides the first process.
        state = state._replace(main=state.main._replace(scroll_y=0))
    return go_to_line(state, 0), ()


def move_to_last(state: AppState) -> Result:
    """Move to the last line."""
    return go_to_line(state, line_count(state) - 1), ()


def move_sideways(state: AppState, columns: int) -> Result:
    """Scroll long lines by a number of columns. Ring the bell at their ends."""
    if not SCREENS[state.screen].sideways_step:
        return state, ()
    scroll_x = _scroll_x(state)
    wanted = max(0, min(scroll_x + columns, max_scroll_x(state)))
    if wanted == scroll_x:
        return state, (RingBell(),)
    return _scroll_to_column(state, wanted), ()


def move_by_steps(state: AppState, steps: int) -> Result:
    """Scroll long lines by the step of the screen."""
    return move_sideways(state, steps * SCREENS[state.screen].sideways_step)


def move_to_edge(state: AppState, direction: int) -> Result:
    """Scroll long lines to their beginning (-1) or end (1)."""
    return move_sideways(state, direction * MAX_SCROLL)[0], ()


def max_scroll_x(state: AppState) -> int:
    """Return the number of columns by which lines can be scrolled until their ends are visible."""
    lines, width = _LONG_LINES[state.screen](state)
    return min(max(0, longest_line(lines, limit=MAX_SCROLL) - width), MAX_SCROLL)


def _main_lines(state: AppState) -> tuple[list[str], int]:
    moving = main_layout(state).processes.moving
    if not moving or moving[-1].column.width:
        return [], 0
    return [row.command or '' for row in state.rows], moving[-1].width


def _tree_lines(state: AppState) -> tuple[list[str], int]:
    lines = [row.prefix + (row.process.command or '') for row in state.forest]
    return lines, tree_layout(state).columns[-1].width


def _environ_lines(state: AppState) -> tuple[list[str], int]:
    return [f'{name}={value}' for name, value in environ_lines(state.environ)], state.width


#: Screen → its long lines, and the columns in which they are shown.
_LONG_LINES: dict[Screen, Callable[[AppState], tuple[list[str], int]]] = {
    Screen.MAIN: _main_lines,
    Screen.TREE: _tree_lines,
    Screen.ENVIRON: _environ_lines,
}


def _scroll_x(state: AppState) -> int:
    if state.screen is Screen.MAIN:
        return state.main.scroll_x
    return state.tree.scroll_x if state.screen is Screen.TREE else state.listing.scroll_x


def _scroll_to_column(state: AppState, scroll_x: int) -> AppState:
    if state.screen is Screen.MAIN:
        return state._replace(main=state.main._replace(scroll_x=scroll_x))
    if state.screen is Screen.TREE:
        return state._replace(tree=state.tree._replace(scroll_x=scroll_x))
    return state._replace(listing=state.listing._replace(scroll_x=scroll_x))
