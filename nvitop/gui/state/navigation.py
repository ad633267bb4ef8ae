# SPDX-License-Identifier: GPL-3.0-only
"""Opening screens and going back; the selected line of a list, moving, selecting and tagging with keys and mouse."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from nvitop.basics.text import exact_word, filter_words, split_word
from nvitop.gui.model.choices import Screen
from nvitop.gui.render.buffer import Rect
from nvitop.gui.render.width import cell_width, safe
from nvitop.gui.state import lists
from nvitop.gui.state.app_state import AppState, ListLayout, ListPosition, Result, refuse
from nvitop.gui.state.events import MousePressed, MouseScrolled, Quit, RingBell, Travel
from nvitop.gui.state.process_rows import JobKey, job_key
from nvitop.sampling.types import DeviceKey, ProcessKey


def current_line(state: AppState) -> int | None:
    """Return the index of the selected line, or of the one in its place if it has left.

    ``None`` if no line is selected, which only some lists allow.
    """
    return _selected(state, state.spec.lines(state))


def _selected(state: AppState, lines: Sequence[Any]) -> int | None:
    spec, position = state.spec, state.position
    if spec.has_cursor and position.key is not None:
        for index, line in enumerate(lines):
            if spec.key_of(line) == position.key:
                return index
    return None if spec.can_deselect else max(0, min(position.cursor, len(lines) - 1))


def lines_layout(state: AppState, lines: Sequence[Any] | None = None) -> ListLayout:
    """Return the places of the lines inside the frame.

    The first line on the screen is as near to the position as possible with the selected one in view.
    """
    spec, inside = state.spec, state.inside
    lines = spec.lines(state) if lines is None else lines
    top, bottom = spec.margins(state, lines)
    area = Rect(0, top, inside.width, max(0, inside.height - top - bottom))
    height_of = spec.heights(state, lines)
    line = _selected(state, lines)
    first = max(0, min(state.position.scroll_y, len(lines) - 1))
    if line is not None and spec.has_cursor:
        first = max(_first_above(lines, line, area.height, height_of), min(first, line))
    stop, rows = first, area.height
    while stop < len(lines) and (height := height_of(lines[stop])) <= rows:
        rows -= height
        stop += 1
    if stop == len(lines):  # there may be room above
        first = _first_above(lines, stop - 1, area.height, height_of)
    return ListLayout(area, lines, line, range(first, stop), height_of)


def _first_above(
    lines: Sequence[Any], line: int, rows: int, height_of: Callable[[Any], int]
) -> int:
    """Return the index of the first line to show if ``line`` is to be the last one that fits."""
    while 0 <= line < len(lines) and (height := height_of(lines[line])) <= rows:
        rows -= height
        line -= 1
    return line + 1


def go_to_line(state: AppState, line: int) -> AppState:
    """Select the line nearest to an index, and scroll it into view."""
    return _select_line(state, lines_layout(state), line)


def _select_line(
    state: AppState, layout: ListLayout, line: int, scroll_y: int | None = None
) -> AppState:
    """Select the line nearest to an index; ``scroll_y`` is the first one on the screen if possible."""
    spec, lines = state.spec, layout.lines
    if not lines:
        return state
    line = max(0, min(line, len(lines) - 1))
    if scroll_y is None:
        scroll_y = layout.scroll_y if spec.has_cursor else line
    key = spec.key_of(lines[line])
    moved = state.at(state.position._replace(key=key, cursor=line, scroll_y=scroll_y))
    scroll_y = lines_layout(moved, lines).scroll_y
    line = line if spec.has_cursor else scroll_y
    return moved.at(moved.position._replace(cursor=line, scroll_y=scroll_y))


def deselect(state: AppState) -> AppState:
    return state.at(state.position._replace(key=None))


def hidden_by_filter(state: AppState) -> str:
    """Return a message if the filter hides the selected process, so that keys ignore it; or ``''``."""
    identity, processes, is_measured, _ = state.selection
    if identity is None or processes or not is_measured or not state.query_on(state.screen):
        return ''
    return f'{identity[0]} is hidden by the filter; Esc clears it'


def select_key(state: AppState, key: ProcessKey) -> AppState:
    """Select a process on the main screen, and unfold its job."""
    row = next((row for row in state.lists.rows if row.key == key), None)
    if row is None:
        return state
    position = state.position_on(Screen.MAIN)
    state = state.at(position._replace(key=key), Screen.MAIN)
    if any(line.key == key for line in lists.process_lines(state)):
        return state
    return with_job(state, job_key(row), is_folded=False)


def turn_job(state: AppState) -> Result:
    index = current_line(state)
    job = None if index is None else lists.process_lines(state)[index].job
    if job is None:
        return refuse(state, 'This process is the only one of its job')
    state = with_job(state, job.key, is_folded=not is_folded(state, job.key))
    return state.at(state.position._replace(key=job.key)), ()


def is_folded(state: AppState, job: JobKey | None) -> bool:
    """Whether only the line of a job is listed, not those of its processes."""
    return any(line.is_folded and line.key == job for line in lists.process_lines(state))


def with_job(state: AppState, job: JobKey, *, is_folded: bool) -> AppState:
    main = state.main._replace(folded={**state.main.folded, job: is_folded})
    return state._replace(main=main)


def select_folded(state: AppState) -> AppState:
    """Select the job of the selected process if it was folded for want of room."""
    if state.screen is not Screen.MAIN or state.selected is None or current_line(state) is not None:
        return state
    row = next((row for row in state.lists.rows if row.key == state.selected), None)
    return state if row is None else state.at(state.position._replace(key=job_key(row)))


def clear_selection(state: AppState) -> AppState:
    screens = state.program.screens
    positions = {
        screen: position._replace(key=None) if screens[screen].can_deselect else position
        for screen, position in state.positions.items()
    }
    return state._replace(
        positions=positions,
        main=state.main._replace(tagged=frozenset()),
        tagged_hosts=frozenset(),
    )


def select_device(state: AppState, key: DeviceKey | None) -> AppState:
    """Select a device instead of the selected process, so that Enter opens it; or none."""
    shows_page = state.main.shows_page and key is not None
    main = state.main._replace(selected_device=key, shows_page=shows_page, facts_y=0)
    state = state._replace(main=main)
    return select_folded(lists.relist(state if key is None else deselect(state)))


def toggle_device(state: AppState, key: DeviceKey) -> AppState:
    return select_device(state, None if state.main.selected_device == key else key)


def select_by_index(state: AppState, index: int) -> Result:
    """Select the GPU with an index, or none if it is selected already."""
    for device in state.shown_sample.devices:
        if device.key.physical_index == index:
            return toggle_device(state, device.key), ()
    return refuse(state, f'There is no GPU {index}')


def select_next_device(state: AppState, step: int) -> Result:
    """Select the next (1) or previous (-1) device; after the last one, none."""
    keys = [None, *(device.key for device in state.shown_sample.devices)]
    selected = state.main.selected_device
    place = keys.index(selected) if selected in keys else 0
    return select_device(state, keys[(place + step) % len(keys)]), ()


def toggle_page(state: AppState) -> Result:
    main = state.main._replace(shows_page=not state.main.shows_page, facts_y=0)
    return state._replace(main=main).at(state.position._replace(scroll_y=0)), ()


def show_user(state: AppState) -> Result:
    """Return to the processes, and show those of the user or owner in the current line."""
    prefixes, what = (('job', 'owner'), 'job') if state.sums_by_owner else (('user',), 'user')
    users = lists.listed_users(state)
    if not users:
        return refuse(state, 'The list is empty')
    name = users[current_line(state) or 0].name
    if name is None:
        return refuse(state, f'The {what} of these processes is unknown')
    others = (word for word in filter_words(state.query) if split_word(word)[0] not in prefixes)
    query = ' '.join((*others, exact_word(prefixes[0], name)))
    return _to_main(state).filtered(query), ()


def show_device(state: AppState) -> Result:
    """Return to the main screen, and select the device of the problem in the current line."""
    lines = lists.listed_problems(state)
    subject = lines[current_line(state) or 0].device if lines else None
    if subject is None:
        return refuse(state, 'This line is not about a single GPU')
    if all(row.device.key != subject for row in state.lists.devices):
        return refuse(state, f'GPU {subject.label} is no longer listed')
    return select_device(_to_main(state), subject), ()


def _to_main(state: AppState) -> AppState:
    return state._replace(screen=Screen.MAIN, behind=())


#: Maximum number of columns that lines can be scrolled by.
MAX_SCROLL = 1 << 16


def move_by_lines(state: AppState, step: int) -> Result:
    """Move by a number of lines, or of GPUs while one is selected; ring the bell at the end."""
    if moves_gpus(state):
        return _move_by_devices(state, step)
    return move_line(state, step)


def move_line(state: AppState, step: int) -> Result:
    layout = lines_layout(state)
    line = layout.line
    to = (0 if step > 0 else layout.length - 1) if line is None else line + step
    moved = _select_line(state, layout, to)
    if state.spec.can_deselect and (not layout.lines or moved.position.cursor == line):
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
    keys = [device.key for device in state.shown_sample.devices]
    selected = state.main.selected_device
    place = keys.index(selected) if selected in keys else 0
    to = max(0, min(place + step, len(keys) - 1))
    return (state, (RingBell(),)) if to == place else (select_device(state, keys[to]), ())


def scrolls_facts(state: AppState) -> bool:
    """Whether the page of a GPU has more facts than fit, and no process is selected."""
    is_page = state.screen is Screen.MAIN and state.position.key is None
    return is_page and lists.layout_of(state).hidden_facts > 0


def move_by_pages(state: AppState, step: float) -> Result:
    """Move by screens, which share a line if there is room. Without a selected line, the list scrolls."""
    if scrolls_facts(state):
        panel = lists.layout_of(state)
        now = min(state.main.facts_y, panel.hidden_facts)
        wanted = now + round(step * max(1, panel.fact_rows - 2))
        main = state.main._replace(facts_y=max(0, min(wanted, panel.hidden_facts)))
        return state._replace(main=main), () if main.facts_y != now else (RingBell(),)
    lines = max(1, int(abs(step) * (lines_layout(state).visible - 1)))
    lines = lines if step > 0 else -lines
    return (scroll_by_lines if current_line(state) is None else move_by_lines)(state, lines)


def scroll_by_lines(state: AppState, step: int) -> Result:
    """Scroll, and select another line if the selected one leaves the screen."""
    layout = lines_layout(state)
    line = layout.line
    wanted = max(0, min(layout.scroll_y + step, layout.length - layout.visible))
    if wanted == layout.scroll_y:
        return state, (RingBell(),)
    if line is None or not layout.visible:
        return state.at(state.position._replace(scroll_y=wanted)), ()
    return _select_line(
        state, layout, max(wanted, min(line, wanted + layout.visible - 1)), wanted
    ), ()


def move_to(state: AppState, line: int) -> Result:
    return go_to_line(state, line), ()


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
    texts, width = ([], 0) if long_lines is None else long_lines(state)
    widths = (
        len(text) if text.isascii() else cell_width(safe(text, limit=MAX_SCROLL)) for text in texts
    )
    return min(max(0, max(widths, default=0) - width), MAX_SCROLL)


def open_screen(state: AppState, screen: Screen) -> Result:
    opened = state._replace(
        screen=screen,
        behind=(*state.behind, state.screen),
        prefix='',
    ).at(ListPosition())
    return opened.spec.prepare(state, opened)


def go_back(state: AppState) -> Result:
    """Return to the screen below."""
    *behind, screen = state.behind or (state.program.home,)
    below = state._replace(screen=screen, behind=tuple(behind), dialog=None)
    return state.spec.leave(state, below)


def leave_tree(tree: AppState, state: AppState) -> Result:
    """Let the main screen take over the selection of the tree."""
    selected = tree.selection.identity
    if selected is None or (state.selected and state.selected.identity == selected):
        return state, ()
    keys = [row.key for row in state.lists.rows if row.identity == selected]
    return (select_key(state, keys[0]) if keys else deselect(state)), ()


def leave(state: AppState) -> Result:
    """Leave the page of a device, else return to the list of events, else leave the monitor."""
    if state.main.shows_page:
        return toggle_page(state)
    if state.screen is Screen.MAIN and state.behind:
        # A replay stands still while its events are read.
        return go_back(state)[0], (Travel('pause', 1.0),)
    return state, (Quit(),)


#: Maximum time (seconds) between the clicks of a double click.
DOUBLE_CLICK_SECONDS = 0.4


def is_double(state: AppState, event: MousePressed) -> bool:
    """Whether a click is the second one on the same row within a short time."""
    y, monotonic = state.clicked
    return event.y == y and state.monotonic - monotonic <= DOUBLE_CLICK_SECONDS


def is_on_line(state: AppState, event: MousePressed) -> bool:
    if state.screen is Screen.MAIN:
        return event.hit[0] in ('process', 'job')
    return lines_layout(state).at(event.y - state.inside.y) is not None


def click(state: AppState, event: MousePressed) -> Result:
    """Select a line. Elsewhere, clear the selection."""
    kind, value = event.hit
    if kind == 'column' and state.spec.orders:
        sort = lists.list_sort(state, state.screen)
        return lists.sort_list(state, value, reverse=sort.order == value and not sort.reverse)
    if state.screen is Screen.MAIN:
        return _click_main(state, event), ()
    line = lines_layout(state).at(event.y - state.inside.y)
    if line is not None:
        return go_to_line(state, line), ()
    return clear_selection(state) if state.spec.can_deselect else state, ()


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
