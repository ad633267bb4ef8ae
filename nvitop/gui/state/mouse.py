# SPDX-License-Identifier: GPL-3.0-only
"""What the mouse does: select, sort, scroll, press buttons."""

from __future__ import annotations

from nvitop.gui.model.choices import Sort
from nvitop.gui.state.actions import move_lines, scroll_sideways
from nvitop.gui.state.app_state import AppState, Screen
from nvitop.gui.state.dialog import Result, confirm, dialog_layout
from nvitop.gui.state.events import MousePressed, MouseScrolled
from nvitop.gui.state.lines import SCROLLED, lines_layout, move_cursor
from nvitop.gui.state.listing import (
    clear_selection,
    main_layout,
    relist,
    select_process,
    select_tree_row,
    tree_layout,
)


def click(state: AppState, event: MousePressed) -> Result:
    """A button went down somewhere."""
    if state.dialog is not None:
        layout = dialog_layout(state)
        button = layout.button_at(event.x, event.y)
        return (state, ()) if button is None else confirm(state, button)
    if state.screen is Screen.MAIN:
        return _click_main(state, event), ()
    if state.screen is Screen.TREE:
        return _click_tree(state, event), ()
    line = lines_layout(state).at(event.y) if state.screen in SCROLLED else None
    return (state, ()) if line is None else (move_cursor(state, line), ())


def _click_main(state: AppState, event: MousePressed) -> AppState:
    layout = main_layout(state)
    if not event.y:  # the first line, under which the page is scrolled
        return clear_selection(state)
    column = layout.processes.column_at(event.x, event.y)
    if column is not None and column.order:
        sort = state.main.sort
        reverse = not sort.reverse if sort.order == column.order else False
        return relist(state._replace(main=state.main._replace(sort=Sort(column.order, reverse))))
    index = layout.processes.at(event.x, event.y)
    if index is None:
        return clear_selection(state)
    return select_process(state, index)


def _click_tree(state: AppState, event: MousePressed) -> AppState:
    index = tree_layout(state).lines.at(event.y)
    if index is None:
        return clear_selection(state)
    return select_tree_row(state, index)


def scroll(state: AppState, event: MouseScrolled) -> Result:
    """The wheel: lines, with Shift long lines, with Ctrl five at a time."""
    speed = 5 if event.ctrl else 1
    if event.shift or event.dx:
        return scroll_sideways(state, 2 * speed * (event.dx or event.dy))
    return move_lines(state, speed * event.dy)
