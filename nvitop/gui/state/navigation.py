# SPDX-License-Identifier: GPL-3.0-only
"""Opening screens and going back; moving in their lines with keys and with the mouse."""

from __future__ import annotations

from nvitop.gui.model.choices import Screen
from nvitop.gui.render.width import cell_width, safe
from nvitop.gui.state.app_state import AppState, ListPosition, Result
from nvitop.gui.state.cursor import (
    current_line,
    deselect,
    go_to_line,
    line_count,
    lines_layout,
    select_line,
)
from nvitop.gui.state.events import MousePressed, MouseScrolled, RingBell, Travel
from nvitop.gui.state.lists import LIST_ORDERS, list_sort, relist, sort_list
from nvitop.gui.state.selection import (
    clear_selection,
    select_device,
    select_key,
    select_next_device,
    toggle_device,
)


def has_selection(state: AppState) -> bool:
    """Whether a process or host is selected, so that arrows need no hint."""
    return state.spec.can_deselect and current_line(state) is not None


#: Maximum number of columns that lines can be scrolled by.
MAX_SCROLL = 1 << 16


def move_by_lines(state: AppState, step: int) -> Result:
    """Move by a number of lines, or of GPUs while one is selected; ring the bell at the end."""
    if moves_gpus(state):
        return _move_by_devices(state, step)
    spec = state.spec
    if not spec.has_lines:
        return state, ()
    line = current_line(state)
    if line is None:
        moved = go_to_line(state, 0 if step > 0 else line_count(state) - 1)
    else:
        moved = go_to_line(state, line + step)
    if spec.can_deselect and current_line(moved) == line:
        return moved, (RingBell(),)
    return moved, ()


def moves_gpus(state: AppState) -> bool:
    """Whether a GPU of several is selected and no process, so that arrows move among GPUs."""
    return (
        state.screen is Screen.MAIN
        and state.main.selected_device is not None
        and not state.main.shows_page
        and state.position.key is None
    )


def _move_by_devices(state: AppState, step: int) -> Result:
    keys = [device.key for device in state.shown.devices]
    selected = state.main.selected_device
    place = keys.index(selected) if selected in keys else 0
    to = max(0, min(place + step, len(keys) - 1))
    return (state, (RingBell(),)) if to == place else (select_device(state, keys[to]), ())


def move_by_pages(state: AppState, step: float) -> Result:
    """Move by screens. Without a selected line, the list scrolls."""
    lines = int(step * max(2, lines_layout(state).visible - 1))
    return (scroll_by_lines if current_line(state) is None else move_by_lines)(state, lines)


def scroll_by_lines(state: AppState, step: int) -> Result:
    """Scroll, and select another line if the selected one leaves the screen. Other lists move by lines."""
    if not state.spec.can_deselect:
        return move_by_lines(state, step)
    layout, line = lines_layout(state), current_line(state)
    wanted = max(0, min(layout.scroll_y + step, layout.length - layout.visible))
    if wanted == layout.scroll_y:
        return state, (RingBell(),)
    if line is None or not layout.visible:
        return state.at(state.position._replace(scroll_y=wanted)), ()
    return select_line(state, max(wanted, min(line, wanted + layout.visible - 1)), wanted), ()


def move_to_first(state: AppState) -> Result:
    return go_to_line(state, 0), ()


def move_to_last(state: AppState) -> Result:
    return go_to_line(state, line_count(state) - 1), ()


def move_sideways(state: AppState, steps: int) -> Result:
    """Scroll long lines by steps of the screen. Ring the bell at their ends."""
    if state.spec.long_lines is None:
        return state, ()
    scroll_x = state.position.scroll_x
    wanted = max(0, min(scroll_x + steps * state.spec.sideways_step, max_scroll_x(state)))
    if wanted == scroll_x:
        return state, (RingBell(),)
    return state.at(state.position._replace(scroll_x=wanted)), ()


def shown_scroll_x(state: AppState) -> int:
    """Return the number of columns by which lines are scrolled, after those that were longer left."""
    scroll_x = state.position.scroll_x
    return min(scroll_x, max_scroll_x(state)) if scroll_x else 0


def max_scroll_x(state: AppState) -> int:
    long_lines = state.spec.long_lines
    texts, width = ([], 0) if long_lines is None else long_lines(state.inner)
    widths = (
        len(text) if text.isascii() else cell_width(safe(text, limit=MAX_SCROLL)) for text in texts
    )
    return min(max(0, max(widths, default=0) - width), MAX_SCROLL)


def open_screen(state: AppState, screen: Screen) -> Result:
    opened = state._replace(
        screen=screen,
        behind=(*state.behind, state.screen),
        prefix='',
        problem_query='' if screen is Screen.PROBLEMS else state.problem_query,
    )
    opened = opened.at(ListPosition())
    prepare = opened.spec.prepare
    return (opened, ()) if prepare is None else prepare(state, opened)


def go_back(state: AppState) -> Result:
    """Return to the screen below. The main screen takes over the selection of the tree."""
    *behind, screen = state.behind or (state.program.home,)
    selected = state.position.key if state.screen is Screen.TREE else None
    # A replay stands still while its events are read.
    pause = (screen is Screen.EVENTS) - (state.screen is Screen.EVENTS)
    effects = (Travel('pause', pause),) if pause else ()
    state = relist(state._replace(screen=screen, behind=tuple(behind), dialog=None))
    if selected is None or selected == (state.selected or ())[:2]:
        return state, effects
    keys = [row.key for row in state.rows if row.key[:2] == selected]
    return (select_key(state, keys[0]) if keys else deselect(state)), ()


#: Maximum time (seconds) between the clicks of a double click.
DOUBLE_CLICK_SECONDS = 0.4


def is_double(state: AppState, event: MousePressed) -> bool:
    """Whether a click is the second one on the same row within a short time."""
    y, monotonic = state.clicked
    return event.y == y and state.monotonic - monotonic <= DOUBLE_CLICK_SECONDS


def is_on_line(state: AppState, event: MousePressed) -> bool:
    if state.screen is Screen.MAIN:
        return event.hit[0] in ('process', 'job')
    return state.spec.has_lines and lines_layout(state).at(event.y) is not None


def click(state: AppState, event: MousePressed) -> Result:
    """Select a line. Elsewhere, clear the selection."""
    kind, value = event.hit
    if kind == 'column' and state.screen in LIST_ORDERS:
        sort = list_sort(state, state.screen)
        return sort_list(state, value, reverse=sort.order == value and not sort.reverse)
    if state.screen is Screen.MAIN:
        return _click_main(state, event), ()
    line = lines_layout(state).at(event.y) if state.spec.has_lines else None
    if line is not None:
        return go_to_line(state, line), ()
    return deselect(clear_selection(state)) if state.spec.can_deselect else state, ()


def _click_main(state: AppState, event: MousePressed) -> AppState:
    kind, value = event.hit
    if kind == 'device':
        if is_double(state, event):
            return select_device(state, value)
        return state if state.main.shows_page else toggle_device(state, value)
    if kind in ('process', 'job'):
        return state.at(state.position._replace(key=value))
    return clear_selection(state)


def scroll(state: AppState, event: MouseScrolled) -> Result:
    """Move by lines; with Shift along long lines, with Ctrl five times as far."""
    if event.hit[0] == 'device' and event.dy and not event.shift:
        return select_next_device(state, event.dy)
    speed = 5 if event.ctrl else 1
    if event.shift or event.dx:
        return move_sideways(state, speed * (event.dx or event.dy))
    return move_by_lines(state, speed * event.dy)
