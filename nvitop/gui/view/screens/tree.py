# SPDX-License-Identifier: GPL-3.0-only
"""The tree screen: GPU processes below their ancestors, with their children."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model.columns import TREE_COLUMNS
from nvitop.gui.model.format import brief_commands, format_count, format_gib_count
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, TAGGED, Style
from nvitop.gui.render.width import clip_scrolled
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.lists import tree_columns, uses_of_devices
from nvitop.gui.state.navigation import lines_layout, shown_scroll_x
from nvitop.gui.state.process_rows import TreeRow, total_of
from nvitop.gui.state.tags import tree_tags
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.panels.process import TAG, empty_message, limits_of, row_style, unknown_note
from nvitop.gui.view.table import Content, draw_table
from nvitop.gui.view.text import BORDER, draw_message

#: Minimum width of a command that is shortened.
_BRIEF = 10


def draw_tree(buf: Buffer, state: AppState) -> None:
    rows, layout, tagged = state.tree_rows, lines_layout(state), tree_tags(state)
    scroll_x = shown_scroll_x(state)
    draw_screen_title(buf, state, _titles(state, rows), (unknown_note(state.shown_sample),))
    shown = [rows[line] for line in layout.shown]
    brief = {} if scroll_x else _brief_commands(shown, tree_columns(state)[-1].width)

    def style_of(row: TreeRow) -> Style:
        return row_style(row.process, is_tagged=row.key in tagged)

    def command(row: TreeRow, width: int) -> Content:
        text = brief.get(row.key) or TREE_COLUMNS[-1].text(row, width)
        line = clip_scrolled(f'{row.prefix}{text}', scroll_x, width)
        branches = max(0, len(row.prefix) - scroll_x)
        return ((line[:branches], BORDER), (line[branches:], style_of(row)))

    totals = {key: total_of(uses) for key, uses in uses_of_devices(state).items()}

    def memory(row: TreeRow, _: int) -> Content:
        total = totals.get(row.key)
        return '' if total is None else format_gib_count(total.gpu_memory_bytes)

    def busy(row: TreeRow, _: int) -> Content:
        total = totals.get(row.key)
        return '' if total is None else format_count(total.gpu_sm_utilization_percent)

    texts = {'gpu_memory': memory, 'sm': busy, 'command': command}
    draw_table(
        buf,
        Rect(0, layout.area.y - 1, buf.width, layout.area.height + 1),
        [column._replace(text=texts.get(column.name, column.text)) for column in TREE_COLUMNS],
        rows,
        style_of=style_of,
        first=layout.scroll_y,
        cursor=layout.line,
        wanted=state.tree_widths,
    )
    for line in layout.shown:
        if rows[line].key in tagged:
            buf.write(0, layout.row_of(line), TAG, TAGGED)
    if not rows:
        draw_message(buf, layout.area, _empty_message(state), DIM)


def _titles(state: AppState, rows: tuple[TreeRow, ...]) -> tuple[str, ...]:
    total = len(state.shown_sample.host_processes)
    count = f'{len(rows):,} of {total:,}' if len(rows) != total else f'{total:,}'
    return tuple(f'{name} {count}' if total else name for name in ('Processes', 'Tree'))


def _empty_message(state: AppState) -> str:
    total = len(state.shown_sample.host_processes)
    if not total and state.frozen is not None:
        return f'Paused before the tree was measured{state.with_key("z", " ({}: resume)")}'
    is_looking = not total and (state.shown_sample.processes or not state.shown_sample.sequence)
    return empty_message(None if is_looking else total, limits_of(state), state.shown_sample)


def _brief_commands(rows: Sequence[TreeRow], width: int) -> dict[tuple[int, float], str]:
    """Return the commands that do not fit next to the lines of the tree, shortened together."""
    long: dict[int, dict[tuple[int, float], str]] = {}
    for row in rows:
        text, room = TREE_COLUMNS[-1].text(row, width), width - len(row.prefix)
        if len(text) > room >= _BRIEF and text.isascii():
            long.setdefault(room, {})[row.key] = text
    return {
        key: text
        for room, texts in long.items()
        for key, text in zip(texts, brief_commands(list(texts.values()), room))
    }
