# SPDX-License-Identifier: GPL-3.0-only
"""Selecting and tagging processes, and selecting a device, which restricts the processes to it."""

from __future__ import annotations

from nvitop.gui.model.choices import Screen
from nvitop.gui.state.app_state import AppState, ListPosition, Result
from nvitop.gui.state.jobs import job_key
from nvitop.gui.state.lists import (
    current_line,
    listed_problems,
    listed_users,
    panel_rows,
    process_lines,
    relist,
    selected_index,
    tree_index,
    tree_layout,
)
from nvitop.gui.state.notices import refuse
from nvitop.gui.state.process_rows import subtree
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessKey, ProcessSample


def selected_key(state: AppState) -> tuple[int, float] | None:
    """Return PID and start time of the selected process, whether it is listed or not."""
    key = state.tree.selected if state.screen is Screen.TREE else state.main.selected
    return None if key is None else key[:2]


def selected_process(state: AppState) -> ProcessSample | HostProcessSample | None:
    """Return the selected process, or the first one of the selected job, if it is listed."""
    if state.screen is Screen.TREE:
        index = tree_index(state)
        return None if index is None else state.tree_rows[index].process
    return next(iter(selected_processes(state)), None)


def selected_processes(state: AppState) -> tuple[ProcessSample | HostProcessSample, ...]:
    """Return the selected process, or those of the selected job, if they are listed."""
    if state.screen is Screen.TREE:
        process = selected_process(state)
        return () if process is None else (process,)
    key, job = state.main.selected, state.main.job
    if job is not None:
        return tuple(row for row in state.rows if job_key(row) == job)
    return () if key is None else tuple(row for row in state.rows if row.key == key)[:1]


def hidden_by_filter(state: AppState) -> str:
    """Return a message if the filter hides the selected process, so that keys ignore it; or ``''``."""
    is_measured = bool(state.shown.host_processes) or state.screen is not Screen.TREE
    key = selected_key(state)
    if not state.query or not is_measured or key is None or selected_process(state) is not None:
        return ''
    return f'{key[0]} is hidden by the filter; Esc clears it'


def select_process(state: AppState, index: int | None) -> AppState:
    """Select the line nearest to an index, or none, and scroll it into view."""
    lines = process_lines(state)
    if index is None or not lines:
        return state._replace(main=state.main._replace(selected=None, job=None))
    index = max(0, min(index, len(lines) - 1))
    line = lines[index]
    selected = None if line.is_job else line.process.key
    job = line.job.key if line.is_job and line.job is not None else None
    room = max(1, panel_rows(state).listed)
    scroll_y = max(index - room + 1, min(state.main.scroll_y, index))
    scroll_y = max(0, min(scroll_y, len(lines) - room))
    return state._replace(main=state.main._replace(selected=selected, job=job, scroll_y=scroll_y))


def select_key(state: AppState, key: ProcessKey) -> AppState:
    """Select a process, and unfold its job."""
    index = next((i for i, row in enumerate(state.rows) if row.key == key), None)
    if index is None:
        return state
    state = state._replace(main=state.main._replace(selected=key, job=None))
    if selected_index(state) is None:
        turned = state.main.turned ^ {job_key(state.rows[index])}
        state = state._replace(main=state.main._replace(turned=turned))
    return select_process(state, selected_index(state))


def turn_job(state: AppState) -> Result:
    """Fold or unfold the selected job, or that of the selected process."""
    lines = process_lines(state)
    index = selected_index(state)
    job = None if index is None else lines[index].job
    if job is None:
        return refuse(state, 'This process is the only one of its job')
    turned = state.main.turned ^ {job.key}
    main = state.main._replace(turned=turned, selected=None, job=job.key)
    return keep_selection_seen(state._replace(main=main)), ()


def select_tree_row(state: AppState, index: int) -> AppState:
    """Select the line of the tree nearest to an index, and scroll it into view."""
    rows = state.tree_rows
    if not rows:
        return state
    index = max(0, min(index, len(rows) - 1))
    state = state._replace(tree=state.tree._replace(selected=rows[index].key))
    scroll_y = tree_layout(state.inner).lines.scroll_y
    return state._replace(position=state.position._replace(scroll_y=scroll_y))


def keep_selection_seen(state: AppState) -> AppState:
    """Scroll the selected process back into view after something that may have moved it."""
    if state.screen is not Screen.MAIN:
        return state
    index = selected_index(state)
    if index is None and state.main.selected is not None:  # its job was folded for want of room
        row = next((row for row in state.rows if row.key == state.main.selected), None)
        if row is not None:
            state = state._replace(main=state.main._replace(selected=None, job=job_key(row)))
            index = selected_index(state)
    return state if index is None else select_process(state, index)


def clear_selection(state: AppState) -> AppState:
    """Clear selection and tags on all screens."""
    return state._replace(
        main=state.main._replace(selected=None, job=None, tagged=frozenset()),
        tree=state.tree._replace(selected=None, tagged=frozenset()),
    )


def tree_tags(state: AppState) -> frozenset[tuple[int, float]]:
    """Return PIDs and start times of all tagged processes."""
    return state.tree.tagged | {key[:2] for key in state.main.tagged}


def toggle_tag(state: AppState) -> AppState:
    """Tag or untag the selected process, if it is listed."""
    if state.screen is Screen.TREE:
        index = tree_index(state)
        return state if index is None else _toggle_tags(state, {state.tree_rows[index].key})
    keys = {
        process.key for process in selected_processes(state) if isinstance(process, ProcessSample)
    }
    tagged = state.main.tagged
    tagged = tagged - keys if keys <= tagged else tagged | keys
    return state._replace(main=state.main._replace(tagged=tagged))


def tag_subtree(state: AppState) -> Result:
    """Tag the selected process of the tree and all its descendants, or untag them all."""
    index = tree_index(state)
    if index is None:
        return state, ()
    return _toggle_tags(state, {row.key for row in subtree(state.tree_rows, index)}), ()


def _toggle_tags(state: AppState, keys: set[tuple[int, float]]) -> AppState:
    """Tag processes of the tree on all their devices; untag them if all are tagged."""
    on_devices = frozenset(
        process.key for process in state.shown.processes if process.key[:2] in keys
    )
    if keys <= tree_tags(state):
        main = state.main.tagged - on_devices
        tree = state.tree.tagged - keys
    else:
        main = state.main.tagged | on_devices
        tree = state.tree.tagged | (keys - {key[:2] for key in on_devices})
    return state._replace(
        main=state.main._replace(tagged=main), tree=state.tree._replace(tagged=tree)
    )


def select_device(state: AppState, key: DeviceKey | None) -> AppState:
    """Select a device instead of the selected process, so that Enter opens it; or none."""
    shows_page = state.main.shows_page and key is not None
    main = state.main._replace(selected_device=key, shows_page=shows_page)
    if key is not None:
        main = main._replace(selected=None, job=None)
    return keep_selection_seen(relist(state._replace(main=main)))


def toggle_device(state: AppState, key: DeviceKey) -> AppState:
    """Select a device, or none if it is selected already."""
    return select_device(state, None if state.main.selected_device == key else key)


def select_by_index(state: AppState, index: int) -> Result:
    """Select the GPU with an index, or none if it is selected already."""
    for device in state.shown.devices:
        if device.key.physical_index == index:
            return toggle_device(state, device.key), ()
    return refuse(state, f'There is no GPU {index}')


def select_next_device(state: AppState, step: int) -> Result:
    """Select the next (1) or previous (-1) device; after the last one, none."""
    keys = [None, *(device.key for device in state.shown.devices)]
    selected = state.main.selected_device
    place = keys.index(selected) if selected in keys else 0
    return select_device(state, keys[(place + step) % len(keys)]), ()


def toggle_page(state: AppState) -> Result:
    """Show or leave the page of the selected device."""
    main = state.main._replace(shows_page=not state.main.shows_page, scroll_y=0)
    return state._replace(main=main), ()


def show_user(state: AppState) -> Result:
    """Return to the processes, and show those of the user or owner in the current line."""
    prefixes, what = (('job:', 'owner:'), 'job') if state.sums_by_owner else (('user:',), 'user')
    users = listed_users(state)
    if not users:
        return refuse(state, 'The list is empty')
    name = users[current_line(state) or 0].name
    if name is None:
        return refuse(state, f'The {what} of these processes is unknown')
    others = (word for word in state.query.split() if not word.lower().startswith(prefixes))
    query = ' '.join((*others, *(f'{prefixes[0]}{word}' for word in name.split())))
    return relist(_to_main(state)._replace(query=query)), ()


def show_device(state: AppState) -> Result:
    """Return to the main screen, and select the device of the problem in the current line."""
    lines = listed_problems(state)
    subject = lines[current_line(state) or 0].device if lines else None
    if subject is None:
        return refuse(state, 'This line is not about a single GPU')
    return select_device(_to_main(state), subject), ()


def _to_main(state: AppState) -> AppState:
    return state._replace(screen=Screen.MAIN, behind=(), position=ListPosition())
