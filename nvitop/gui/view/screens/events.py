# SPDX-License-Identifier: GPL-3.0-only
"""The events screen of a replay: what happened, and when."""

from __future__ import annotations

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import clip, safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.navigation import current_line, lines_layout
from nvitop.gui.view.hints import title_badges, title_hints
from nvitop.gui.view.widgets.text import (
    draw_bar_row,
    draw_message,
    draw_title,
    fit_title,
    title_room,
)
from nvitop.times import format_time

_DIM = Style(Role.DIM)
#: Kinds of events that need attention, and those about the recorder only.
_BAD = frozenset({'lost', 'error', 'finding', 'missing', 'removed'})
_RECORDER = frozenset({'start', 'stop', 'note'})
#: Minimum width of the screen for times with the year.
_WITH_YEAR = 60


def draw_events(buf: Buffer, state: AppState) -> None:
    """Draw the screen."""
    layout, badges = lines_layout(state), title_badges(state)
    seen = f'{layout.shown.start + 1}-{layout.shown.stop} of ' if layout.shown else ''
    title = fit_title((f'Events: {seen}{layout.length}',), (), title_room(buf.width, badges))
    draw_title(buf, title, badges, title_hints(state))
    cut = 0 if buf.width >= _WITH_YEAR else len('2026-')
    draw_bar_row(buf, 1, f'{"TIME":<{21 - cut}}EVENT')
    cursor = current_line(state)
    for index in layout.shown:
        event = state.events[index]
        text = clip(f'{format_time(event.time)[cut:]}  {safe(event.text)}', buf.width)
        y = layout.row_of(index)
        if index == cursor:
            draw_bar_row(buf, y, text, Style(Role.SELECTED))
        else:
            style = Style(Role.WARNING) if event.kind in _BAD else PLAIN
            buf.write(0, y, text, _DIM if event.kind in _RECORDER else style)
    if not state.events:
        draw_message(buf, layout.area, 'No events', _DIM)
