# SPDX-License-Identifier: GPL-3.0-only
"""The mouse: select, sort, scroll, press buttons."""

from __future__ import annotations

from nvitop.gui.model.choices import Sort
from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.dialog import confirm, dialog_layout, turn_in_dialog
from nvitop.gui.state.events import MousePressed, MouseScrolled
from nvitop.gui.state.navigation import go_to_line, lines_layout, move_by_lines, move_sideways
from nvitop.gui.state.process_lists import main_layout, sort_by
from nvitop.gui.state.selection import (
    clear_selection,
    select_next_device,
    select_process,
    toggle_device,
)

#: Maximum time (seconds) between the clicks of a double click.
DOUBLE_CLICK_SECONDS = 0.4


def is_double(state: AppState, event: MousePressed) -> bool:
    """Whether a click is the second one on the same row within a short time."""
    y, monotonic = state.clicked
    return event.y == y and state.monotonic - monotonic <= DOUBLE_CLICK_SECONDS


def is_on_line(state: AppState, event: MousePressed) -> bool:
    """Whether a click selects a line."""
    if state.screen is Screen.MAIN:
        return bool(event.y) and main_layout(state).processes.at(event.x, event.y) is not None
    return state.spec.margins is not None and lines_layout(state).at(event.y) is not None


def click(state: AppState, event: MousePressed) -> Result:
    """Press a button of the dialog, or select a line. Elsewhere, clear the selection."""
    if state.dialog is not None:
        button = dialog_layout(state, state.dialog).button_at(event.x, event.y)
        return (state, ()) if button is None else confirm(state, state.dialog, button)
    if state.screen is Screen.MAIN:
        return _click_main(state, event), ()
    spec = state.spec
    line = lines_layout(state).at(event.y) if spec.margins is not None else None
    if line is not None:
        return go_to_line(state, line), ()
    return clear_selection(state) if spec.selection is not None else state, ()


def _click_main(state: AppState, event: MousePressed) -> AppState:
    layout = main_layout(state)
    if not event.y:  # the first line covers the scrolled page
        return clear_selection(state)
    column = layout.processes.column_at(event.x, event.y)
    if column is not None and column.order:
        sort = state.main.sort
        reverse = not sort.reverse if sort.order == column.order else False
        return sort_by(state, Sort(column.order, reverse))
    device = layout.devices.at(event.x, event.y)
    if device is not None:
        return toggle_device(state, state.page[0].devices[device].key)
    index = layout.processes.at(event.x, event.y)
    return clear_selection(state) if index is None else select_process(state, index)


def scroll(state: AppState, event: MouseScrolled) -> Result:
    """Move by lines; with Shift along long lines, with Ctrl five times as far."""
    if state.dialog is not None:
        return turn_in_dialog(state, state.dialog, event.dy or event.dx)
    if state.screen is Screen.MAIN and event.dy and not event.shift:
        layout = main_layout(state)
        if layout.devices.at(event.x, event.y) is not None:
            return select_next_device(state, event.dy)
    speed = 5 if event.ctrl else 1
    if event.shift or event.dx:
        return move_sideways(state, 2 * speed * (event.dx or event.dy))
    return move_by_lines(state, speed * event.dy)
