# SPDX-License-Identifier: GPL-3.0-only
"""Selecting and tagging processes, and selecting a device, which restricts the processes to it."""

from __future__ import annotations

from typing import cast

from nvitop.basics.text import exact_word, filter_words, split_word
from nvitop.gui.model.choices import Screen
from nvitop.gui.state.app_state import AppState, ListPosition, Result
from nvitop.gui.state.cursor import current_line, deselect
from nvitop.gui.state.jobs import job_key
from nvitop.gui.state.lists import listed_problems, listed_users, process_lines, relist
from nvitop.gui.state.notices import refuse
from nvitop.gui.state.process_rows import subtree
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessKey, ProcessSample


def selected_key(state: AppState) -> tuple[int, float] | None:
    """Return PID and start time of the selected process, whether it is listed or not."""
    if state.screen is Screen.TREE:
        return cast('tuple[int, float] | None', state.position.key)
    return None if state.selected is None else state.selected[:2]


def selected_process(state: AppState) -> ProcessSample | HostProcessSample | None:
    """Return the selected process, or the first one of the selected job, if it is listed."""
    if state.screen is Screen.TREE:
        index = current_line(state)
        return None if index is None else state.tree_rows[index].process
    return next(iter(selected_processes(state)), None)


def selected_processes(state: AppState) -> tuple[ProcessSample | HostProcessSample, ...]:
    """Return the selected process, or those of the selected job, if they are listed."""
    if state.screen is Screen.TREE:
        process = selected_process(state)
        return () if process is None else (process,)
    key = state.positions.get(Screen.MAIN, ListPosition()).key
    if isinstance(key, ProcessKey):
        return tuple(row for row in state.rows if row.key == key)
    return () if key is None else tuple(row for row in state.rows if job_key(row) == key)


def hidden_by_filter(state: AppState) -> str:
    """Return a message if the filter hides the selected process, so that keys ignore it; or ``''``."""
    is_measured = bool(state.shown.host_processes) or state.screen is not Screen.TREE
    key = selected_key(state)
    if not state.query or not is_measured or key is None or selected_process(state) is not None:
        return ''
    return f'{key[0]} is hidden by the filter; Esc clears it'


def select_key(state: AppState, key: ProcessKey) -> AppState:
    """Select a process on the main screen, and unfold its job."""
    row = next((row for row in state.rows if row.key == key), None)
    if row is None:
        return state
    position = state.positions.get(Screen.MAIN, ListPosition())
    state = state.at(position._replace(key=key), Screen.MAIN)
    if any(line.key == key for line in process_lines(state)):
        return state
    turned = state.main.turned ^ {job_key(row)}
    return state._replace(main=state.main._replace(turned=turned))


def turn_job(state: AppState) -> Result:
    index = current_line(state)
    job = None if index is None else process_lines(state)[index].job
    if job is None:
        return refuse(state, 'This process is the only one of its job')
    state = state._replace(main=state.main._replace(turned=state.main.turned ^ {job.key}))
    return state.at(state.position._replace(key=job.key)), ()


def select_folded(state: AppState) -> AppState:
    """Select the job of the selected process if it was folded for want of room."""
    if state.screen is not Screen.MAIN or state.selected is None or current_line(state) is not None:
        return state
    row = next((row for row in state.rows if row.key == state.selected), None)
    return state if row is None else state.at(state.position._replace(key=job_key(row)))


def clear_selection(state: AppState) -> AppState:
    positions = {
        screen: position._replace(key=None) if screen in (Screen.MAIN, Screen.TREE) else position
        for screen, position in state.positions.items()
    }
    return state._replace(
        positions=positions,
        main=state.main._replace(tagged=frozenset()),
        tagged_hosts=frozenset(),
    )


def tree_tags(state: AppState) -> frozenset[tuple[int, float]]:
    return state.tagged_hosts | {key[:2] for key in state.main.tagged}


def toggle_tag(state: AppState) -> AppState:
    """Tag or untag the selected process, if it is listed."""
    if state.screen is Screen.TREE:
        index = current_line(state)
        return state if index is None else _toggle_tags(state, {state.tree_rows[index].key})
    keys = {
        process.key for process in selected_processes(state) if isinstance(process, ProcessSample)
    }
    tagged = state.main.tagged
    tagged = tagged - keys if keys <= tagged else tagged | keys
    return state._replace(main=state.main._replace(tagged=tagged))


def tag_subtree(state: AppState) -> Result:
    """Tag the selected process of the tree and all its descendants, or untag them all."""
    index = current_line(state)
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
        hosts = state.tagged_hosts - keys
    else:
        main = state.main.tagged | on_devices
        hosts = state.tagged_hosts | (keys - {key[:2] for key in on_devices})
    return state._replace(main=state.main._replace(tagged=main), tagged_hosts=hosts)


def select_device(state: AppState, key: DeviceKey | None) -> AppState:
    """Select a device instead of the selected process, so that Enter opens it; or none."""
    shows_page = state.main.shows_page and key is not None
    state = state._replace(main=state.main._replace(selected_device=key, shows_page=shows_page))
    return select_folded(relist(state if key is None else deselect(state)))


def toggle_device(state: AppState, key: DeviceKey) -> AppState:
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
    main = state.main._replace(shows_page=not state.main.shows_page)
    return state._replace(main=main).at(state.position._replace(scroll_y=0)), ()


def show_user(state: AppState) -> Result:
    """Return to the processes, and show those of the user or owner in the current line."""
    prefixes, what = (('job', 'owner'), 'job') if state.sums_by_owner else (('user',), 'user')
    users = listed_users(state)
    if not users:
        return refuse(state, 'The list is empty')
    name = users[current_line(state) or 0].name
    if name is None:
        return refuse(state, f'The {what} of these processes is unknown')
    others = (word for word in filter_words(state.query) if split_word(word)[0] not in prefixes)
    query = ' '.join((*others, exact_word(prefixes[0], name)))
    return relist(_to_main(state)._replace(query=query)), ()


def show_device(state: AppState) -> Result:
    """Return to the main screen, and select the device of the problem in the current line."""
    lines = listed_problems(state)
    subject = lines[current_line(state) or 0].device if lines else None
    if subject is None:
        return refuse(state, 'This line is not about a single GPU')
    return select_device(_to_main(state), subject), ()


def _to_main(state: AppState) -> AppState:
    return state._replace(screen=Screen.MAIN, behind=())
