# SPDX-License-Identifier: GPL-3.0-only
"""Selecting a device, which restricts the processes to those on it and the graphs to its values."""

from __future__ import annotations

from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import AppState, ListState, Result
from nvitop.gui.state.listing import relist
from nvitop.gui.state.notices import refuse
from nvitop.gui.state.selection import keep_selection_seen
from nvitop.gui.state.summary import problem_lines, summarize_users
from nvitop.sampling.types import DeviceKey


def select_device(state: AppState, key: DeviceKey | None) -> AppState:
    """Select a device, or none. The selected process stays selected if it is on the device."""
    shows_page = state.main.shows_page and key is not None
    main = state.main._replace(selected_device=key, shows_page=shows_page)
    state = relist(state._replace(main=main))
    selected = state.main.selected
    if selected is not None and all(row.key != selected for row in state.rows):
        state = state._replace(main=state.main._replace(selected=None))
    return keep_selection_seen(state)


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
    prefix, what = ('owner:', 'owner') if state.sums_by_owner else ('user:', 'user')
    users = summarize_users(state.rows, by_owner=state.sums_by_owner)
    if not users:
        return refuse(state, 'The list is empty')
    name = users[min(state.listing.cursor, len(users) - 1)].name
    if name is None:
        return refuse(state, f'The {what} of these processes is unknown')
    others = (word for word in state.query.split() if not word.lower().startswith(prefix))
    query = ' '.join((*others, *(f'{prefix}{word}' for word in name.split())))
    return relist(_to_main(state)._replace(query=query)), ()


def show_device(state: AppState) -> Result:
    """Return to the main screen, and select the device of the problem in the current line."""
    lines = problem_lines(state.shown_tally.problems)
    subject = lines[min(state.listing.cursor, len(lines) - 1)].device if lines else None
    if subject is None:
        return refuse(state, 'This line is not about a single GPU')
    return select_device(_to_main(state), subject), ()


def _to_main(state: AppState) -> AppState:
    return state._replace(screen=Screen.MAIN, behind=(), listing=ListState())
