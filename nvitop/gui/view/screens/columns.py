# SPDX-License-Identifier: GPL-3.0-only
"""The columns screen: the columns of the process list and their order."""

from __future__ import annotations

from nvitop.gui.layout.process import place_columns
from nvitop.gui.model.columns import COLUMNS_BY_NAME, column_widths
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import clip
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.appearance import columns_in_order
from nvitop.gui.state.navigation import lines_layout
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.widgets.text import draw_bar_row

_DIM = Style(Role.DIM)


def draw_columns(buf: Buffer, state: AppState) -> None:
    """Draw the screen."""
    layout = lines_layout(state)
    shown = state.view.columns
    placed = place_columns(shown, state.width, column_widths(state.rows))
    with_room = {place.column.name for place in placed}
    draw_screen_title(buf, state, ['Columns'])
    draw_bar_row(buf, 1, ' [x] shown  [-] no room  [ ] hidden')
    names = columns_in_order(state)
    for line in layout.shown:
        column = COLUMNS_BY_NAME[names[line]]
        is_shown = column.name in shown
        mark = '[ ]' if not is_shown else '[x]' if column.name in with_room else '[-]'
        title = column.title or '(type)'
        text = clip(f' {mark} {title:<10} {column.help}', buf.width)
        y = layout.row_of(line)
        if line == state.listing.cursor:
            draw_bar_row(buf, y, text, Style(Role.SELECTED))
        else:
            buf.write(0, y, text, PLAIN if is_shown else _DIM)
