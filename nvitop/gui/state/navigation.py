# SPDX-License-Identifier: GPL-3.0-only
"""Opening screens and going back; moving in their lines, by pages, and sideways."""

from __future__ import annotations

from typing import Callable

from nvitop.gui.layout.screens import ListLayout, lay_out_list, longest_line
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.model.screens import SCREENS, Screen
from nvitop.gui.render.geometry import CLASSIC
from nvitop.gui.state.app_state import AppState, ListState, Result
from nvitop.gui.state.environ import begin_reading, environ_lines, owner_lines
from nvitop.gui.state.events import RingBell
from nvitop.gui.state.help_contents import help_lines
from nvitop.gui.state.problems import problem_lines
from nvitop.gui.state.process_lists import (
    main_layout,
    relist,
    selected_index,
    tree_index,
    tree_layout,
)
from nvitop.gui.state.selection import select_process, select_tree_row, selected_key
from nvitop.gui.state.usage import summarize_users

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


def open_screen(state: AppState, screen: Screen) -> Result:
    """Open a screen on top of the present one."""
    opened = state._replace(
        screen=screen,
        behind=(*state.behind, (state.screen, state.listing)),
        listing=ListState(),
        prefix='',
    )
    if screen is Screen.USERS:
        opened = opened._replace(sums_by_owner=False)
    prepare = _PREPARE.get(screen)
    return (opened, ()) if prepare is None else prepare(state, opened)


def go_back(state: AppState) -> Result:
    """Return to the screen below. The main screen takes over the selection of the tree."""
    *behind, (screen, listing) = state.behind or ((Screen.MAIN, ListState()),)
    selected = state.tree.selected if state.screen is Screen.TREE else None
    state = relist(state._replace(screen=screen, behind=tuple(behind), listing=listing))
    if selected is not None and selected != (state.main.selected or ())[:2]:
        rows = [i for i, row in enumerate(state.rows) if row.key[:2] == selected]
        return select_process(state, rows[0] if rows else None), ()
    return state, ()


def _prepare_tree(before: AppState, state: AppState) -> Result:
    """Select the process in the tree that is selected on the main screen."""
    selected = before.main.selected
    key = None if selected is None else (selected.pid, selected.start_time)
    return relist(state._replace(tree=state.tree._replace(selected=key, scroll_y=0))), ()


def _prepare_metrics(before: AppState, state: AppState) -> Result:
    return state._replace(metrics=before.main.selected), ()


#: Screens that begin with the selected process: state before and after opening → result.
_PREPARE: dict[Screen, Callable[[AppState, AppState], Result]] = {
    Screen.TREE: _prepare_tree,
    Screen.ENVIRON: begin_reading,
    Screen.METRICS: _prepare_metrics,
}
