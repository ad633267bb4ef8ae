# SPDX-License-Identifier: GPL-3.0-only
"""The help screen, with keys and what they do, and the columns screen."""

from __future__ import annotations

from nvitop.gui.model.columns import COLUMNS_BY_NAME, place_processes
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import DIM, PLAIN, Style
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.appearance import columns_in_order
from nvitop.gui.state.cursor import lines_layout
from nvitop.gui.state.help_contents import help_lines
from nvitop.gui.view.hints import draw_lines, draw_screen_title
from nvitop.gui.view.text import draw_bar_row


def draw_help(buf: Buffer, state: AppState) -> None:
    """Draw the help screen."""
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
    """Draw the screen."""
    shown = state.view.columns
    placed = place_processes(shown, state.width, state.widths)
    with_room = {place.column.name for place in placed}
    draw_screen_title(buf, state, ['Columns'])
    draw_bar_row(buf, 1, ' [x] shown  [-] no room  [ ] hidden')
    names = columns_in_order(state)

    def line_of(line: int) -> tuple[str, Style]:
        column = COLUMNS_BY_NAME[names[line]]
        is_shown = column.name in shown
        mark = '[ ]' if not is_shown else '[x]' if column.name in with_room else '[-]'
        text = f' {mark} {column.title or "(type)":<10} {column.help}'
        return text, PLAIN if is_shown else DIM

    draw_lines(buf, state, line_of)
