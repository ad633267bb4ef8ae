# SPDX-License-Identifier: GPL-3.0-only
"""The frame that all lists share: where you are, the list, and below it the detail of the selection."""

from __future__ import annotations

from nvitop.gui.model.table import Item
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import TITLE
from nvitop.gui.state.app_state import AppState
from nvitop.gui.view.hints import title_badges
from nvitop.gui.view.screens.main import crumbs, draw_first_line
from nvitop.gui.view.text import BORDER, draw_border, draw_rule, draw_uprights
from nvitop.sampling.history import History


def draw_framed(buf: Buffer, state: AppState, history: History) -> None:
    """Draw a list screen inside its frame, below the first line."""
    inside = state.inner
    inner = Buffer(inside.width, inside.height)
    state.spec.draw(inner, inside, history)
    draw_first_line(buf, state, (*crumbs(state, state.screen.value), *title_badges(state)))
    ends, x = (0, buf.width - 1), state.margin
    title = ' · '.join(text for _, text, _ in inner.row(0)) if inner.height else ''
    draw_border(buf, 1, (), ends, [Item((title,), TITLE)] if title else ())
    for y in range(1, inner.height):
        row = inner.row(y)
        if row and row[-1][2] == BORDER and row[-1][1].endswith('─'):
            draw_rule(buf, y + 1, ends, ends)
        else:
            draw_uprights(buf, y + 1, ends)
        for column, text, style in row:
            buf.write(x + column, y + 1, text, style)
    draw_rule(buf, buf.height - 1, ends, ())
    for rect, (kind, value) in inner.hits:
        buf.hit(rect._replace(x=rect.x + x, y=rect.y + 1), kind, value)


def draw_section(buf: Buffer, y: int, title: str) -> None:
    """Begin another part inside the frame with a line that joins it."""
    buf.write(0, y, '─' * buf.width, BORDER)
    if title:
        buf.write(0, y, f' {title} ', TITLE, width=max(0, buf.width - 1))
