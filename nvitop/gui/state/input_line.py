# SPDX-License-Identifier: GPL-3.0-only
"""The input line: the filter, the search that moves the selection, and a time to go to."""

from __future__ import annotations

from typing import Any, Callable

from nvitop.basics.text import contains, filter_words, split_word
from nvitop.gui.model.choices import Screen
from nvitop.gui.state.app_state import (
    TYPED,
    AppState,
    IsHit,
    Purpose,
    Result,
    TextField,
    notify,
    withdraw_notice,
)
from nvitop.gui.state.events import RingBell
from nvitop.gui.state.lists import drop_gone
from nvitop.gui.state.navigation import current_line, go_to_line, lines_layout, move_line
from nvitop.gui.state.time_travel import go_to_time

#: Maximum number of characters.
MAX_LENGTH = 200


def open_field(state: AppState, purpose: Purpose) -> Result:
    """Open the input line, with the filter if it is for one."""
    before = state.query_on(state.screen)
    text = before if purpose.is_filter else ''
    return state._replace(field=TextField(purpose, text, before, state.positions)), ()


def press_in_field(state: AppState, field: TextField, key: str) -> Result:
    purpose = field.purpose
    if key == 'Enter':
        return purpose.enter(state, field.text)
    if key in ('Esc', 'Ctrl-C'):
        state = withdraw_notice(state._replace(field=None), TYPED)
        state = state.filtered(field.before) if purpose.is_filter else state
        return _at_start(state, field), ()
    if key in ('Up', 'Down', 'F3') and (purpose.is_search or purpose.is_filter):
        step = -1 if key == 'Up' else 1
        # In a filter, they select a line that it keeps.
        return move_line(state, step) if purpose.is_filter else (find(state, field.text, step), ())
    return change_line(state, field, edit(field.text, key)), ()


def _at_start(state: AppState, field: TextField) -> AppState:
    """Return to the lines where typing began, unless they have left."""
    return drop_gone(state._replace(positions=field.start))


def _apply(state: AppState, text: str, searched: str) -> Result:
    """Close the line, unless there is a mistake in it, which is next to it."""
    if unknown_field(state, text):
        return state, (RingBell(),)
    return state._replace(searched=searched, field=None), ()


def unknown_field(state: AppState, text: str) -> str:
    """Return a message about a word such as ``foo:bar`` that nothing has; ``''`` if all are known."""
    wanted = state.spec.filter
    for word in filter_words(text):
        prefix, sign, rest = split_word(word)
        if not prefix or prefix in wanted.fields or not rest or rest[0] in '/:=':
            continue
        if not wanted.is_text(state, word):
            return f'{prefix}{sign} is not a field ({" ".join(wanted.fields)})'
    return ''


def search_again(state: AppState, step: int) -> Result:
    return find(state, state.searched, step), ()


def edit(line: str, key: str) -> str:
    """Return a line after a key, which changes nothing if it is not for editing."""
    if key == 'Backspace':
        return line[:-1]
    if key == 'Ctrl-U':
        return ''
    if key == 'Ctrl-W':
        return ''.join(line.rstrip().rpartition(' ')[:2])
    text = ' ' if key == 'Space' else key
    return append_text(line, text) if len(text) == 1 else line


def append_text(line: str, text: str) -> str:
    """Return a line with more text. Spaces replace characters that cannot be drawn."""
    typed = ''.join(char if char.isprintable() else ' ' for char in text)
    return (line + typed)[:MAX_LENGTH]


def change_line(state: AppState, field: TextField, text: str) -> AppState:
    """Replace the text that was typed; filter or search at once."""
    if text == field.text:
        return state
    return field.purpose.change(state._replace(field=field._replace(text=text)), text)


def find(state: AppState, text: str, step: int) -> AppState:
    """Go to the next (1) or previous (-1) line that matches, wrapping around.

    With step 0 the selection stays if it matches. A notice reports that nothing was found.
    """
    state = withdraw_notice(state, TYPED)
    hits = _hits(state, text)
    if hits:
        return go_to_line(state, _next(hits, current_line(state), step))
    if state.field is not None and state.field.purpose.is_search:
        state = _at_start(state, state.field)
    if hits is None:
        return state
    is_filtered = bool(state.query_on(state.screen))
    where = f' among the filtered {state.spec.filter.noun}' if is_filtered else ''
    return notify(state, TYPED, f'Not found: {text.strip()}{where}')


def match_text(state: AppState, text: str) -> str:
    """Return which of the lines that match is the current one: ``'2 of 5'``; ``''`` if none is."""
    hits = _hits(state, text) if state.spec.has_cursor else None
    line = current_line(state)
    if not hits or line is None or line not in hits:
        return ''
    return f'{hits.index(line) + 1} of {len(hits)}'


def _hits(state: AppState, text: str) -> list[int] | None:
    """Return the lines that match. Lists without a cursor are scrolled as far as they can be."""
    is_hit = state.spec.search(state, text)
    if is_hit is None:
        return None
    hits = [number for number, line in enumerate(state.spec.lines(state)) if is_hit(line)]
    if state.spec.has_cursor:
        return hits
    layout = lines_layout(state)
    last = max(0, layout.length - layout.visible)
    return sorted({min(line, last) for line in hits})


def words_of(text_of: Callable[[Any], str]) -> Callable[[AppState, str], IsHit | None]:
    """Return a search for lines whose texts contain all words."""

    def search(_: AppState, text: str) -> IsHit | None:
        words = text.split()
        if not words:
            return None
        return lambda line: all(contains(text_of(line), word) for word in words)

    return search


def _next(hits: list[int], at: int | None, step: int) -> int:
    if at is None:
        return hits[0]
    if step < 0:
        return next((hit for hit in reversed(hits) if hit < at), hits[-1])
    return next((hit for hit in hits if hit > at or (step == 0 and hit == at)), hits[0])


def _count_processes(state: AppState, _: str) -> str:
    if state.screen is not Screen.MAIN:
        return ''
    return f'{len(state.lists.rows)} of {len(state.shown_sample.processes)}'


_EDITING = (('Ctrl-U', 'delete'), ('Enter', 'apply'), ('Esc', 'cancel'))
FILTER = Purpose(
    'Filter',
    _EDITING,
    lambda state: state.spec.filter.example,
    AppState.filtered,
    lambda state, text: _apply(state, text, state.searched),
    _count_processes,
    is_filter=True,
)
SEARCH = Purpose(
    'Search',
    (('Down', 'next'), ('Up', 'previous'), *_EDITING[1:]),
    lambda state: state.spec.search_example,
    lambda state, text: find(state, text, 0),
    lambda state, text: _apply(state, text, text.strip()),
    match_text,
    is_search=True,
)
TIME = Purpose('Time', _EDITING, lambda _: '14:05 or -30m', lambda state, _: state, go_to_time)
