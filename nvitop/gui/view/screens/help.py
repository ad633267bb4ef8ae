# SPDX-License-Identifier: GPL-3.0-only
"""The help screen, with keys and what they do, and the columns screen."""

from __future__ import annotations

from nvitop.gui.layout.process import place_columns
from nvitop.gui.model.columns import COLUMNS_BY_NAME, column_widths
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import DIM, ERROR, OWN, PLAIN, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import pad
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.appearance import columns_in_order
from nvitop.gui.state.help_contents import help_lines
from nvitop.gui.state.navigation import lines_layout
from nvitop.gui.view.hints import draw_lines, draw_screen_title
from nvitop.gui.view.text import draw_bar_row

_STYLES = {
    'heading': TITLE,
    'keys': Style(Role.KEY, bold=True),
    'text': PLAIN,
    'legend': PLAIN,
    'mark': PLAIN,
}
_LEVELS = {'light': Role.LIGHT, 'moderate': Role.MODERATE, 'heavy': Role.HEAVY}
_MARKS = {
    '! HOT': ERROR,
    'PWR': PLAIN,
    'held 1h': WARNING,
    'line': Style(Role.MEMORY, bold=True),
    '► =': Style(Role.KEY, bold=True),
    'gap ?': DIM,
    'bold': OWN,
    'tagged': Style(Role.TAGGED),
}
_NOTE = 'read-only: dim keys do nothing '
#: Minimum width of the screen for the note.
_WITH_NOTE = 60


def draw_help(buf: Buffer, state: AppState) -> None:
    """Draw the help screen."""
    lines, layout = help_lines(state), lines_layout(state)
    draw_screen_title(buf, state, [f'nvitop {state.version}'])
    first, last = layout.shown.start + 1, layout.shown.stop
    is_whole = layout.length <= layout.area.height
    text = ' Help' if is_whole else f' Help: lines {first} to {last} of {len(lines)}'
    if state.view.readonly and buf.width >= _WITH_NOTE:
        text = f'{pad(text, buf.width - len(_NOTE))}{_NOTE}'
    draw_bar_row(buf, 1, text)
    for line in layout.shown:
        y = layout.row_of(line)
        for x, text, kind, is_disabled in lines[line]:
            style = _MARKS.get(text, PLAIN) if kind == 'mark' else _STYLES[kind]
            buf.write(x, y, text, DIM if is_disabled else style)
            for word, role in _LEVELS.items() if kind == 'legend' else ():
                if word in text:
                    buf.restyle(Rect(x + text.index(word), y, len(word), 1), role=role)


def draw_columns(buf: Buffer, state: AppState) -> None:
    """Draw the screen."""
    shown = state.view.columns
    placed = place_columns(shown, state.width, column_widths(state.rows))
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
