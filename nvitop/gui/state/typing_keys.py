# SPDX-License-Identifier: GPL-3.0-only
"""A line being typed: the live filter, and the search that moves the selection."""

from __future__ import annotations

from nvitop.gui.state.app_state import AppState, Screen, TextField
from nvitop.gui.state.dialog import Result
from nvitop.gui.state.filtering import matches, matches_host_process, parse_query
from nvitop.gui.state.listing import (
    relist,
    select_process,
    select_tree_row,
    selected_index,
    tree_index,
    uses_of_devices,
)
from nvitop.gui.state.notices import replace_notice, withdraw_notice

MAX_LENGTH = 200
_NOT_FOUND = 'Not found'


def open_field(state: AppState, purpose: str) -> AppState:
    """Begin to type; the filter begins with what is in force."""
    text = state.query if purpose == 'filter' else ''
    return state._replace(field=TextField(purpose, text, before=state.query))


def press(state: AppState, key: str) -> Result:
    """A key while a line is being typed."""
    field = state.field
    assert field is not None
    if key == 'Enter':
        return state._replace(field=None), ()
    if key == 'Esc':
        return _changed(state._replace(query=field.before), None), ()
    if key in ('Up', 'Down', 'F3'):
        return find(state, field.text, -1 if key == 'Up' else 1), ()
    if key == 'Backspace':
        return _changed(state, field._replace(text=field.text[:-1])), ()
    if key == 'Ctrl-U':
        return _changed(state, field._replace(text='')), ()
    if key == 'Ctrl-W':
        kept = field.text.rstrip().rpartition(' ')
        return _changed(state, field._replace(text=kept[0] + kept[1])), ()
    if key == 'Ctrl-C':
        return press(state, 'Esc')
    return (
        insert(state, ' ' if key == 'Space' else key)
        if len(key) == 1 or key == 'Space'
        else (state, ())
    )


def insert(state: AppState, text: str) -> Result:
    """Add text at the end of the line; what cannot be drawn is left out."""
    field = state.field
    assert field is not None
    typed = ''.join(char if char.isprintable() else ' ' for char in text)
    return _changed(state, field._replace(text=(field.text + typed)[:MAX_LENGTH])), ()


def _changed(state: AppState, field: TextField | None) -> AppState:
    """The line has changed or is closed: the filter follows at once, or the selection does."""
    is_search = (field or state.field or TextField('filter')).purpose == 'search'
    state = state._replace(field=field)
    if is_search:
        return find(state, field.text if field is not None else '', 0)
    if field is not None:
        state = state._replace(query=field.text)
    return relist(state)


def find(state: AppState, text: str, step: int) -> AppState:
    """Select the next process that has the words, round and round; step 0: stay if it has them.

    Where there is none, a notice says so for as long as that is what was asked for last.
    """
    query = parse_query(text)
    state = withdraw_notice(state, _NOT_FOUND)
    if not query.parts:
        return state
    if state.screen is Screen.TREE:
        uses = uses_of_devices(state)
        hits = [
            i
            for i, row in enumerate(state.forest)
            if matches_host_process(row.process, query, uses)
        ]
        if hits:
            return select_tree_row(state, _next(hits, tree_index(state), step))
    else:
        hits = [i for i, row in enumerate(state.rows) if matches(row, query)]
        if hits:
            return select_process(state, _next(hits, selected_index(state), step))
    where = ' in what the filter shows' if state.query else ''
    return replace_notice(state, _NOT_FOUND, f'{text.strip()}{where}')


def _next(hits: list[int], at: int | None, step: int) -> int:
    if at is None:
        return hits[0]
    if step < 0:
        return next((hit for hit in reversed(hits) if hit < at), hits[-1])
    return next((hit for hit in hits if hit > at or (step == 0 and hit == at)), hits[0])
