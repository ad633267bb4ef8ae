# SPDX-License-Identifier: GPL-3.0-only
"""The help screen, with keys and what they do, and the columns screen."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model import format as fmt
from nvitop.gui.model.columns import COLUMNS_BY_NAME, place_processes
from nvitop.gui.model.table import CLASSIC, Column
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import DIM, PLAIN, TITLE
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState, ListLayout
from nvitop.gui.state.help_contents import help_lines
from nvitop.gui.state.keymap import HelpEntry
from nvitop.gui.view.hints import set_title
from nvitop.gui.view.table import draw_table, place_for
from nvitop.gui.view.text import draw_message, draw_section
from nvitop.sampling.history import History


def draw_help(buf: Buffer, state: AppState, layout: ListLayout, _: History) -> None:
    lines = help_lines(state)
    first = layout.shown.start
    limited = ('read-only: dim keys do nothing', 'read-only') if state.view.readonly else ()
    set_title(buf, layout, [f'nvitop {state.version}'], [limited, _cost(state)])
    for x, heading in _headings_above(lines, first + 1).items():
        buf.write(1 + x, 1, f'{heading} (continued)' if first else heading, TITLE)
    for line in layout.shown:
        x, y = 1, layout.row_of(line)
        for keys, text, style in lines[line + 1]:
            if keys:
                buf.write(x, y, keys.rstrip(), style)
                x += cell_width(keys) + 1
            x += buf.write(x, y, text, PLAIN if keys else style)


def _cost(state: AppState) -> tuple[str, ...]:
    """Return what nvitop itself uses, from the longest form to the shortest."""
    costs = state.shown_tally.costs
    seconds = costs[-1][0] - costs[0][0] if costs else 0.0
    if seconds <= 0:
        return ()
    (_, first), (_, last) = costs[0], costs[-1]
    later = [cost for _, cost in costs[1:]]
    used = max(0.0, last.cpu_seconds - first.cpu_seconds)
    cpu = f'{fmt.format_percent(100.0 * used / seconds)} CPU'
    calls = f'{sum(cost.nvml_calls for cost in later) / seconds:.0f} NVML calls/s'
    sample = f'{1000 * sum(cost.seconds for cost in later) / len(later):.1f} ms'
    return (
        f'used {cpu}, {calls} and {sample} per sample in the last {fmt.format_age(seconds)}',
        f'uses {cpu}, {calls}',
        cpu,
    )


def _headings_above(lines: Sequence[Sequence[HelpEntry]], first: int) -> dict[int, str]:
    """Return by column the heading of the group that continues in the first line shown."""
    headings: dict[int, str] = {}
    for number, line in enumerate(lines[: first + 1]):
        x, filled = 0, set()
        for keys, text, style in line:
            filled |= {x} if (keys + text).strip() else set()
            if style == TITLE:
                headings[x] = text if number < first else ''
            x += cell_width(keys) + bool(keys) + cell_width(text)
        headings = {x: text for x, text in headings.items() if x in filled and text}
    return headings


# fmt: off
#: Columns of the columns screen. Text: of a name and its mark.
_CHOICES = (
    Column('mark', '', (3,), '', lambda row, _: row[1], align='<'),
    Column('title', 'COLUMN', (10,), '', lambda row, _: COLUMNS_BY_NAME[row[0]].title or '(type)', align='<'),
    Column('help', '[x] SHOWN  [-] NO ROOM  [ ] HIDDEN', (10, 0), '', lambda row, _: COLUMNS_BY_NAME[row[0]].help, align='<'),
)
# fmt: on
_HIDDEN = '[ ]'


def draw_columns(buf: Buffer, state: AppState, layout: ListLayout, _: History) -> None:
    shown = state.view.columns
    placed = place_processes(state.columns, state.width, state.widths)
    with_room = {cell.column.name for cell in placed}
    marks = {name: '[x]' if name in with_room else '[-]' for name in shown}
    rows = [(name, marks.get(name, _HIDDEN)) for name in layout.shown_lines]
    set_title(buf, layout, [f'Columns {len(shown)} of {len(COLUMNS_BY_NAME)}'])
    draw_table(
        buf,
        layout.with_headings,
        place_for(rows, _CHOICES, layout.area),
        rows,
        style_of=lambda row: DIM if row[1] == _HIDDEN else PLAIN,
        cursor=layout.cursor,
    )
    y = layout.area.bottom
    if y < buf.height and layout.line is not None:
        meaning = COLUMNS_BY_NAME[layout.lines[layout.line]].help
        draw_message(buf, draw_section(buf, y, ''), meaning)


def meaning_height(state: AppState) -> int:
    """Return the rows of the meaning of a column, which its line cuts on a narrow screen."""
    return 0 if state.inside.width >= CLASSIC - 4 else 3
