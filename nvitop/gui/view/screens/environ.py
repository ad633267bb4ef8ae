# SPDX-License-Identifier: GPL-3.0-only
"""The environment screen: the environment variables of a process when it started."""

from __future__ import annotations

from nvitop.basics.masking import is_secret
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import DIM, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, clip_scrolled, cut, safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.cursor import current_line, lines_layout
from nvitop.gui.state.environ import environ_lines, owner_lines
from nvitop.gui.state.navigation import shown_scroll_x
from nvitop.gui.view.hints import draw_screen_title, shown_key
from nvitop.gui.view.text import draw_bar_row, draw_message

_NAME = Style(Role.HEADING, bold=True)
_BEST = Style(Role.TEXT, bold=True)
#: Cells that the source of an owner keeps.
_SOURCE_WIDTH = 24
#: Maximum number of characters of a value that can be scrolled into view.
_LIMIT = 1 << 16


def draw_environ(buf: Buffer, state: AppState) -> None:
    environ = state.environ
    layout = lines_layout(state)
    title = f'Environment of process {environ.pid}'
    who = (f'{title} ({safe(environ.title)})',) if environ.title else ()
    draw_screen_title(buf, state, (*who, title, f'Environment of {environ.pid}'))
    owners = owner_lines(state)
    longest = max((cell_width(safe(line.text)) for line in owners), default=0)
    width = max(0, min(longest, buf.width - _SOURCE_WIDTH))
    for y, owner in enumerate(owners, 1):
        buf.write(1, y, clip(safe(owner.text), width), _BEST if owner.is_owner else PLAIN)
        x = 1 + width + 2
        buf.write(x, y, clip(safe(owner.source), max(0, buf.width - x)), DIM)
    draw_bar_row(buf, 1 + len(owners), _summary(state))
    if environ.error or not environ.variables:
        text = 'Reading ...' if environ.variables is None else 'No environment variables'
        style = Style(Role.ERROR) if environ.error else DIM
        draw_message(buf, layout.area, safe(environ.error or text), style)
        return
    lines = environ_lines(environ)
    cursor, scroll_x = current_line(state), shown_scroll_x(state)
    for line in layout.shown:
        _draw_line(buf, layout.row_of(line), lines[line], scroll_x, is_cursor=line == cursor)


def _summary(state: AppState) -> str:
    environ = state.environ
    key = shown_key(state, 'v')
    variables = environ.variables or ()
    if not variables:
        return ''
    text = f' {(current_line(state) or 0) + 1} of {len(variables)}'
    secrets = sum(1 for name, value in variables if value and is_secret(name))
    if secrets:
        text += f', {secrets} secret' if environ.reveals_secrets else f', {secrets} hidden'
    if secrets and key:
        text += f': {key} {"hides" if environ.reveals_secrets else "shows"} them'
    return text


def _draw_line(buf: Buffer, y: int, line: tuple[str, str], x: int, *, is_cursor: bool) -> None:
    name, value = (safe(text, limit=_LIMIT) for text in line)
    text = clip_scrolled(f'{name}={value}', x, buf.width - 2)
    if is_cursor:
        draw_bar_row(buf, y, f' {text}', Style(Role.SELECTED))
        return
    name_cells = min(max(0, cell_width(name) - x), cell_width(text))
    buf.write(1, y, cut(text, 0, name_cells), _NAME)
    buf.write(1 + name_cells, y, cut(text, name_cells, buf.width), PLAIN)
