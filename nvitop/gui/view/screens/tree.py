# SPDX-License-Identifier: GPL-3.0-only
"""The tree screen: GPU processes below their ancestors, with their children."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model.format import brief_commands
from nvitop.gui.model.table import Placed
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import DIM, Role, Style
from nvitop.gui.render.width import clip_scrolled, fit
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.cursor import ListLayout, lines_layout
from nvitop.gui.state.lists import tree_columns
from nvitop.gui.state.navigation import shown_scroll_x
from nvitop.gui.state.process_rows import TreeRow
from nvitop.gui.state.selection import tree_tags
from nvitop.gui.view.hints import draw_screen_title, shown_key
from nvitop.gui.view.panels.process import (
    Limits,
    no_match_message,
    no_processes_message,
    row_style,
    unknown_note,
)
from nvitop.gui.view.text import BORDER, draw_bar_row, draw_message, heading_text, row_text

#: Minimum width of a command that is shortened.
_BRIEF = 10


def draw_tree(buf: Buffer, state: AppState) -> None:
    """Draw the screen."""
    rows = state.tree_rows
    layout, columns = lines_layout(state), tree_columns(state)
    tagged = tree_tags(state)
    notes = (unknown_note(state.shown),)
    draw_screen_title(buf, state, _titles(state, rows), notes)
    draw_bar_row(buf, layout.area.y - 1, heading_text(columns))
    commands = _brief_commands(rows, layout, columns[-1], shown_scroll_x(state))
    for line in layout.shown:
        row = rows[line]
        y = layout.row_of(line)
        style = row_style(
            row.process,
            is_selected=row.key == state.position.key,
            is_tagged=row.key in tagged,
        )
        _draw_row(buf, y, row, commands.get(line), columns, style, state)
    if not rows:
        draw_message(buf, layout.area, _empty_message(state), DIM)


def _titles(state: AppState, rows: tuple[TreeRow, ...]) -> tuple[str, ...]:
    total = len(state.shown.host_processes)
    count = f'{len(rows)} of {total}' if len(rows) != total else str(total)
    return tuple(f'{name} ({count})' if total else name for name in ('Process tree', 'Tree'))


def _empty_message(state: AppState) -> str:
    if state.shown.host_processes:
        return no_match_message(
            len(state.shown.host_processes),
            Limits(state.main.filter, state.query, state.main.selected_device),
        )
    if state.frozen is not None:
        reason = 'Paused before the tree was measured'
        key = shown_key(state, 'z')
        return f'{reason} ({key}: resume)' if key else reason
    if state.shown.processes or not state.shown.sequence:
        return 'Looking for processes ...'
    return no_processes_message(state.shown)


def _brief_commands(
    rows: tuple[TreeRow, ...], layout: ListLayout, place: Placed, scroll_x: int
) -> dict[int, str]:
    """Return the commands on the screen that do not fit next to the lines of the tree, by line."""
    long: dict[int, dict[int, str]] = {}
    for line in layout.shown if not scroll_x else ():
        text, width = place.column.text(rows[line].process), place.width - len(rows[line].prefix)
        if len(text) > width >= _BRIEF and text.isascii():
            long.setdefault(width, {})[line] = text
    return {
        line: text
        for width, texts in long.items()
        for line, text in zip(texts, brief_commands(list(texts.values()), width))
    }


def _draw_row(
    buf: Buffer,
    y: int,
    row: TreeRow,
    brief: str | None,
    columns: Sequence[Placed],
    style: Style,
    state: AppState,
) -> None:
    *others, command = columns
    scroll_x = shown_scroll_x(state)
    line = f'{row.prefix}{brief or command.column.text(row.process)}'
    line = clip_scrolled(line, scroll_x, command.width)
    texts = [place.column.text(row.process) for place in others]
    if style.role in _MARKED:
        draw_bar_row(buf, y, fit(row_text(others, texts), command.x) + line, style)
        return
    for place, text in zip(others, texts):
        is_dim = place.column.name == 'device' and not row.process.devices
        text = fit(text, place.width, place.column.align, '+')
        buf.write(place.x, y, text, DIM if is_dim else style)
    branches = max(0, min(len(row.prefix) - scroll_x, command.width))
    x = command.x + buf.write(command.x, y, line[:branches], BORDER)
    buf.write(x, y, line[branches:], style)


_MARKED = (Role.SELECTED, Role.TAGGED, Role.SELECTED_TAGGED)
