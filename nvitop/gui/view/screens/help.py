# SPDX-License-Identifier: GPL-3.0-only
"""The help screen, with keys and what they do, and the columns screen."""

from __future__ import annotations

from nvitop.gui.model.columns import COLUMNS_BY_NAME, place_processes
from nvitop.gui.model.table import Column
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import DIM, PLAIN
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.appearance import columns_in_order
from nvitop.gui.state.cursor import current_line, lines_layout
from nvitop.gui.state.help_contents import help_lines
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.table import draw_table
from nvitop.gui.view.text import draw_bar_row


def draw_help(buf: Buffer, state: AppState) -> None:
    lines, layout = help_lines(state), lines_layout(state)
    draw_screen_title(buf, state, [f'nvitop {state.version}'])
    is_whole = layout.length <= layout.area.height
    shown = f': lines {layout.shown.start + 1} to {layout.shown.stop} of {len(lines)}'
    readonly = '  (read-only: dim keys do nothing)' if state.view.readonly else ''
    draw_bar_row(buf, 1, f' Help{"" if is_whole else shown}{readonly}')
    for line in layout.shown:
        x, y = 1, layout.row_of(line)
        for keys, text, style in lines[line]:
            if keys:
                buf.write(x, y, keys.rstrip(), style)
                x += cell_width(keys) + 1
            x += buf.write(x, y, text, PLAIN if keys else style)


def draw_columns(buf: Buffer, state: AppState) -> None:
    layout, shown = lines_layout(state), state.view.columns
    placed = place_processes(shown, state.width, state.widths)
    with_room = {place.column.name for place in placed}

    def mark(name: str, _: int) -> str:
        return '[ ]' if name not in shown else '[x]' if name in with_room else '[-]'

    draw_screen_title(buf, state, ['Columns'])
    draw_table(
        buf,
        Rect(0, 1, buf.width, layout.area.height + 1),
        (
            Column('mark', '', (3,), '', mark, align='<'),
            Column(
                'title',
                'COLUMN',
                (10,),
                '',
                lambda name, _: COLUMNS_BY_NAME[name].title or '(type)',
                align='<',
            ),
            Column(
                'help',
                '[x] SHOWN  [-] NO ROOM  [ ] HIDDEN',
                (10, 0),
                '',
                lambda name, _: COLUMNS_BY_NAME[name].help,
                align='<',
            ),
        ),
        columns_in_order(state),
        style_of=lambda name: PLAIN if name in shown else DIM,
        first=layout.scroll_y,
        cursor=current_line(state),
    )
