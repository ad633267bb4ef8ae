# SPDX-License-Identifier: GPL-3.0-only
"""Selecting and tagging processes, and selecting a device, which restricts the processes to it."""

from __future__ import annotations

from nvitop.gui.layout.main import scroll_to_process
from nvitop.gui.model.choices import Screen
from nvitop.gui.state.app_state import AppState, ListPosition, Result
from nvitop.gui.state.lists import (
    listed_problems,
    listed_users,
    main_layout,
    relist,
    selected_index,
    tree_index,
    tree_layout,
)
from nvitop.gui.state.notices import refuse
from nvitop.gui.state.process_rows import subtree
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessSample


def selected_key(state: AppState) -> tuple[int, float] | None:
    """Return PID and start time of the selected process, whether it is listed or not."""
    key = state.tree.selected if state.screen is Screen.TREE else state.main.selected
    return None if key is None else key[:2]


def selected_process(state: AppState) -> ProcessSample | HostProcessSample | None:
    """Return the selected process if it is listed."""
    if state.screen is Screen.TREE:
        index = tree_index(state)
        return None if index is None else state.tree_rows[index].process
    index = selected_index(state)
    return None if index is None else state.rows[index]


def hidden_by_filter(state: AppState) -> str:
    """Return a message if the filter hides the selected process, so that keys ignore it; or ``''``."""
    is_measured = bool(state.shown.host_processes) or state.screen is not Screen.TREE
    key = selected_key(state)
    if not state.query or not is_measured or key is None or selected_process(state) is not None:
        return ''
    return f'{key[0]} is hidden by the filter; Esc clears it'


def select_process(state: AppState, index: int | None) -> AppState:
    """Select the row nearest to an index, or none, and scroll it into view."""
    if index is None or not state.rows:
        return state._replace(main=state.main._replace(selected=None))
    index = max(0, min(index, len(state.rows) - 1))
    state = state._replace(main=state.main._replace(selected=state.rows[index].key))
    layout = main_layout(state)
    if layout.is_too_small:
        return state
    scroll_y = scroll_to_process(layout, index)
    return state._replace(main=state.main._replace(scroll_y=scroll_y))


def select_tree_row(state: AppState, index: int) -> AppState:
    """Select the line of the tree nearest to an index, and scroll it into view."""
    rows = state.tree_rows
    if not rows:
        return state
    index = max(0, min(index, len(rows) - 1))
    state = state._replace(tree=state.tree._replace(selected=rows[index].key))
    scroll_y = tree_layout(state).lines.scroll_y
    return state._replace(position=state.position._replace(scroll_y=scroll_y))


def keep_selection_seen(state: AppState) -> AppState:
    """Scroll the selected process back into view after something that may have moved it."""
    index = selected_index(state) if state.main.selected is not None else None
    if index is None or state.screen is not Screen.MAIN:
        return state
    return select_process(state, index)


def clear_selection(state: AppState) -> AppState:
    """Clear selection and tags on all screens."""
    return state._replace(
        main=state.main._replace(selected=None, tagged=frozenset()),
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
    index = selected_index(state)
    if index is None:
        return state
    tagged = state.main.tagged ^ {state.rows[index].key}
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
        main = main._replace(selected=None)
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
    name = users[min(state.position.cursor, len(users) - 1)].name
    if name is None:
        return refuse(state, f'The {what} of these processes is unknown')
    others = (word for word in state.query.split() if not word.lower().startswith(prefixes))
    query = ' '.join((*others, *(f'{prefixes[0]}{word}' for word in name.split())))
    return relist(_to_main(state)._replace(query=query)), ()


def show_device(state: AppState) -> Result:
    """Return to the main screen, and select the device of the problem in the current line."""
    lines = listed_problems(state)
    subject = lines[min(state.position.cursor, len(lines) - 1)].device if lines else None
    if subject is None:
        return refuse(state, 'This line is not about a single GPU')
    return select_device(_to_main(state), subject), ()


def _to_main(state: AppState) -> AppState:
    return state._replace(screen=Screen.MAIN, behind=(), position=ListPosition())
