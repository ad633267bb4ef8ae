# SPDX-License-Identifier: GPL-3.0-only
"""Opening screens and going back; moving in their lines with keys and with the mouse."""

from __future__ import annotations

from nvitop.gui.layout.screens import ListLayout, lay_out_list, longest_line
from nvitop.gui.model.choices import Screen, Sort
from nvitop.gui.state.app_state import AppState, ListPosition, Result
from nvitop.gui.state.events import MousePressed, MouseScrolled, RingBell
from nvitop.gui.state.lists import (
    current_line,
    line_count,
    panel_rows,
    process_lines,
    relist,
    sort_by,
)
from nvitop.gui.state.selection import (
    clear_selection,
    select_device,
    select_key,
    select_next_device,
    select_process,
    toggle_device,
)


def has_selection(state: AppState) -> bool:
    """Whether a process or host is selected, so that arrows need no hint."""
    return state.spec.selection is not None and current_line(state) is not None


def go_to_line(state: AppState, line: int) -> AppState:
    """Make the line nearest to an index the current one, and scroll it into view."""
    spec = state.spec
    if spec.selection is not None:
        return spec.selection.go_to(state, line)
    line = max(0, min(line, line_count(state) - 1))
    if not spec.has_cursor:
        line = lines_layout(_move(state, line, line)).scroll_y
        return _move(state, line, line)
    state = _move(state, line, state.position.scroll_y)
    return _move(state, line, lines_layout(state).scroll_y)


def lines_layout(state: AppState) -> ListLayout:
    """Return the places of the lines of a list."""
    spec, inner = state.spec, state.inner
    top, bottom = spec.margins(inner) if spec.margins is not None else (0, 0)
    layout = lay_out_list(
        inner.width,
        inner.body_height,
        line_count(inner),
        top=top,
        bottom=bottom,
        scroll_y=state.position.scroll_y,
        cursor=current_line(state) if spec.has_cursor else None,
        line_height=spec.line_height,
    )
    if inner is state:
        return layout
    area = layout.area
    return layout._replace(area=area._replace(x=state.margin, y=area.y + 1))


def _move(state: AppState, cursor: int, scroll_y: int) -> AppState:
    lines, key_of = state.spec.lines(state.inner), state.spec.key_of
    key = key_of(lines[cursor]) if key_of is not None and 0 <= cursor < len(lines) else None
    position = state.position._replace(cursor=cursor, scroll_y=scroll_y, key=key)
    return state._replace(position=position)


#: Maximum number of columns that lines can be scrolled by.
MAX_SCROLL = 1 << 16


def move_by_lines(state: AppState, step: int) -> Result:
    """Move by a number of lines. Ring the bell at the end of a list with a selection."""
    spec = state.spec
    if not spec.has_lines:
        return state, ()
    line = current_line(state)
    if line is None:
        moved = go_to_line(state, 0 if step > 0 else line_count(state) - 1)
    else:
        moved = go_to_line(state, line + step)
    if spec.selection is not None and current_line(moved) == line:
        return moved, (RingBell(),)
    return moved, ()


def move_by_pages(state: AppState, step: float) -> Result:
    """Move by screens. Without a selected line, the main screen scrolls."""
    if state.screen is not Screen.MAIN:
        return move_by_lines(state, int(step * max(2, len(lines_layout(state).shown) - 1)))
    page = max(2, panel_rows(state).listed - 1)
    if current_line(state) is not None:
        return move_by_lines(state, int(step * page))
    return scroll_by_lines(state, int(step * page))


def scroll_by_lines(state: AppState, step: int) -> Result:
    """Move by lines. The main screen scrolls, and selects another line if the selected one leaves it."""
    if state.screen is not Screen.MAIN:
        return move_by_lines(state, step)
    room = panel_rows(state).listed
    limit = max(0, line_count(state) - room)
    wanted = max(0, min(min(state.main.scroll_y, limit) + step, limit))
    if wanted == state.main.scroll_y:
        return state, (RingBell(),)
    state = state._replace(main=state.main._replace(scroll_y=wanted))
    line = current_line(state)
    if line is None or not room:
        return state, ()
    return select_process(state, max(wanted, min(line, wanted + room - 1))), ()


def move_to_first(state: AppState) -> Result:
    """Move to the first line."""
    return go_to_line(state, 0), ()


def move_to_last(state: AppState) -> Result:
    """Move to the last line."""
    return go_to_line(state, line_count(state) - 1), ()


def move_sideways(state: AppState, columns: int) -> Result:
    """Scroll long lines by a number of columns. Ring the bell at their ends."""
    if state.spec.long_lines is None:
        return state, ()
    is_main = state.screen is Screen.MAIN
    scroll_x = state.main.scroll_x if is_main else state.position.scroll_x
    wanted = max(0, min(scroll_x + columns, max_scroll_x(state)))
    if wanted == scroll_x:
        return state, (RingBell(),)
    if is_main:
        return state._replace(main=state.main._replace(scroll_x=wanted)), ()
    return state._replace(position=state.position._replace(scroll_x=wanted)), ()


def move_by_steps(state: AppState, steps: int) -> Result:
    """Scroll long lines by the step of the screen."""
    lines = state.spec.long_lines
    return move_sideways(state, 0 if lines is None else steps * lines.step)


def move_to_edge(state: AppState, direction: int) -> Result:
    """Scroll long lines to their beginning (-1) or end (1)."""
    return move_sideways(state, direction * MAX_SCROLL)[0], ()


def shown_scroll_x(state: AppState) -> int:
    """Return the number of columns by which lines are scrolled, after those that were longer left."""
    is_main = state.screen is Screen.MAIN
    scroll_x = state.main.scroll_x if is_main else state.position.scroll_x
    return min(scroll_x, max_scroll_x(state)) if scroll_x else 0


def max_scroll_x(state: AppState) -> int:
    """Return the number of columns by which lines can be scrolled until their ends are visible."""
    long_lines = state.spec.long_lines
    lines, width = ([], 0) if long_lines is None else long_lines.texts(state.inner)
    return min(max(0, longest_line(lines, limit=MAX_SCROLL) - width), MAX_SCROLL)


def open_screen(state: AppState, screen: Screen) -> Result:
    """Open a screen on top of the current one."""
    opened = state._replace(
        screen=screen,
        behind=(*state.behind, (state.screen, state.position)),
        position=ListPosition(),
        prefix='',
        problem_query='' if screen is Screen.PROBLEMS else state.problem_query,
    )
    prepare = opened.spec.prepare
    return (opened, ()) if prepare is None else prepare(state, opened)


def go_back(state: AppState) -> Result:
    """Return to the screen below. The main screen takes over the selection of the tree."""
    *behind, (screen, position) = state.behind or ((state.program.home, ListPosition()),)
    selected = state.tree.selected if state.screen is Screen.TREE else None
    state = state._replace(screen=screen, behind=tuple(behind), position=position, dialog=None)
    state = relist(state)
    if selected is not None and selected != (state.main.selected or ())[:2]:
        keys = [row.key for row in state.rows if row.key[:2] == selected]
        return (select_key(state, keys[0]) if keys else select_process(state, None)), ()
    return state, ()


#: Maximum time (seconds) between the clicks of a double click.
DOUBLE_CLICK_SECONDS = 0.4


def is_double(state: AppState, event: MousePressed) -> bool:
    """Whether a click is the second one on the same row within a short time."""
    y, monotonic = state.clicked
    return event.y == y and state.monotonic - monotonic <= DOUBLE_CLICK_SECONDS


def is_on_line(state: AppState, event: MousePressed) -> bool:
    """Whether a click selects a line."""
    if state.screen is Screen.MAIN:
        return event.hit[0] in ('process', 'job')
    return state.spec.margins is not None and lines_layout(state).at(event.y) is not None


def click(state: AppState, event: MousePressed) -> Result:
    """Select a line. Elsewhere, clear the selection."""
    if state.screen is Screen.MAIN:
        return _click_main(state, event), ()
    spec = state.spec
    line = lines_layout(state).at(event.y) if spec.margins is not None else None
    if line is not None:
        return go_to_line(state, line), ()
    return clear_selection(state) if spec.selection is not None else state, ()


def _click_main(state: AppState, event: MousePressed) -> AppState:
    kind, value = event.hit
    if kind == 'column':
        sort = state.main.sort
        reverse = not sort.reverse if sort.order == value else False
        return sort_by(state, Sort(value, reverse))
    if kind == 'device':
        if is_double(state, event):
            return select_device(state, value)
        return state if state.main.shows_page else toggle_device(state, value)
    if kind in ('process', 'job'):
        keys = [line.key for line in process_lines(state)]
        return select_process(state, keys.index(value) if value in keys else None)
    return clear_selection(state)


def scroll(state: AppState, event: MouseScrolled) -> Result:
    """Move by lines; with Shift along long lines, with Ctrl five times as far."""
    if event.hit[0] == 'device' and event.dy and not event.shift:
        return select_next_device(state, event.dy)
    speed = 5 if event.ctrl else 1
    if event.shift or event.dx:
        return move_sideways(state, 2 * speed * (event.dx or event.dy))
    return move_by_lines(state, speed * event.dy)
