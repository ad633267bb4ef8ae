# SPDX-License-Identifier: GPL-3.0-only
"""The tree screen: GPU processes below their ancestors, with their children."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model.columns import command_text
from nvitop.gui.model.format import brief_commands
from nvitop.gui.model.table import Placed, width_of
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import DIM, PLAIN, TAGGED
from nvitop.gui.render.width import clip_scrolled
from nvitop.gui.state.app_state import AppState, ListLayout
from nvitop.gui.state.lists import tree_columns
from nvitop.gui.state.navigation import shown_scroll_x
from nvitop.gui.state.process_rows import TreeRow
from nvitop.gui.state.tags import tree_tags
from nvitop.gui.view.hints import set_title
from nvitop.gui.view.panels.process import TAG, empty_message, limits_of, row_style, unknown_note
from nvitop.gui.view.table import draw_table
from nvitop.gui.view.text import BORDER, draw_message
from nvitop.sampling.history import History

#: Minimum width of a command that is shortened, and of one next to branches of three columns per level.
_BRIEF, _ROOMY = 10, 20


def draw_tree(buf: Buffer, state: AppState, layout: ListLayout, _: History) -> None:
    rows, tagged, placed = state.lists.tree_rows, tree_tags(state), tree_columns(state)
    set_title(buf, layout, _titles(state, rows), (unknown_note(state.shown_sample),))
    deepest = max([len(row.prefix) for row in rows], default=0)
    step = 3 if placed and placed[-1].width - deepest < _ROOMY else 1
    narrow = [row._replace(prefix=row.prefix[::step]) for row in layout.shown_lines]
    shown = _drawn_rows(narrow, placed, shown_scroll_x(state))
    for y, row in enumerate(shown, layout.area.y):
        if row.key in tagged:
            buf.write(0, y, TAG, TAGGED)
    draw_table(
        buf,
        layout.with_headings,
        placed,
        shown,
        style_of=lambda row: row_style(row.process, is_tagged=row.key in tagged),
        cursor=layout.cursor,
    )
    if not rows:
        draw_message(buf, layout.area, _empty_message(state), DIM)


def _drawn_rows(
    rows: Sequence[TreeRow], placed: Sequence[Placed], scroll_x: int
) -> Sequence[TreeRow]:
    """Return rows with their commands, shortened together with those next to equally long branches."""
    width = width_of('command', placed)
    commands: dict[tuple[int, float], str] = {}
    for prefix in {len(row.prefix) for row in rows}:
        group = [row for row in rows if len(row.prefix) == prefix]
        texts = [command_text(row.process) for row in group]
        if not scroll_x:
            texts = brief_commands(texts, max(_BRIEF, width - prefix))
        commands.update(zip([row.key for row in group], texts))
    drawn = []
    for row in rows:
        line = clip_scrolled(f'{row.prefix}{commands[row.key]}', scroll_x, width)
        branches = max(0, len(row.prefix) - scroll_x)
        drawn.append(row._replace(command=((line[:branches], BORDER), (line[branches:], PLAIN))))
    return drawn


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
