# SPDX-License-Identifier: GPL-3.0-only
"""Whole frames: the current screen, and the notices and input line drawn over it."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model.main_layout import LOWEST
from nvitop.gui.model.table import NARROWEST
from nvitop.gui.render.ansi import to_ascii
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, ERROR, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, clip_left, pad, safe, wrap
from nvitop.gui.state.app_state import AppState, TextField
from nvitop.gui.state.input_line import unknown_field
from nvitop.gui.state.navigation import deselect, lines_layout
from nvitop.gui.view.first_line import crumbs, draw_first_line
from nvitop.gui.view.hints import draw_hints, draw_next_keys, title_badges
from nvitop.gui.view.text import draw_border, draw_mono_bars, draw_rule, draw_uprights
from nvitop.sampling.history import History

_INPUT = Style(Role.INPUT)
_CURSOR = Style(Role.INPUT, reverse=True)


def draw_frame(state: AppState, history: History) -> Buffer:
    """Draw a frame; it depends on the arguments and on the time zone of the clock only."""
    buf = Buffer(state.width, state.body_height)
    if state.is_too_small:
        _draw_too_small(buf)
    else:
        if state.frozen is not None:
            history = history.until(max(state.frozen.until, state.frozen.sample.monotonic))
        _draw_screen(buf, state, history)
    if buf.height < state.height:
        buf.add_row()
    if not state.is_too_small:
        _mark_words(buf, state.searched_words)
        if state.field is not None:
            _draw_field(buf, state, state.field)
        rows = draw_next_keys(buf, state) if state.prefix else 0
        if not state.prefix and state.has_hints and not state.notices:
            buf.clear(buf.height - 1)
            draw_hints(buf, buf.height - 1, state)
        _draw_notices(buf, state, buf.height - rows)
    if state.theme == 'mono' or state.colors < 16:
        draw_mono_bars(buf)
    return to_ascii(buf) if state.view.ascii else buf


def _draw_screen(buf: Buffer, state: AppState, history: History) -> None:
    if state.spec.is_framed:
        _draw_framed(buf, state, history)
    else:
        state.spec.draw(buf, state, lines_layout(state), history)


def _draw_framed(buf: Buffer, state: AppState, history: History) -> None:
    """Draw a list screen inside its frame, below the first line.

    The frame of the signal screen ends below its list, over the dimmed screen that it was opened on.
    """
    x, _, width, height = state.inside
    inner = Buffer(width, height)
    state.spec.draw(inner, state, lines_layout(state), history)
    bottom = buf.height - 1
    if state.listing is not state.screen:
        below = deselect(state._replace(screen=state.listing, behind=state.behind[:-1]))
        _draw_screen(buf, below, history)
        buf.hits.clear()
        buf.restyle(buf.area, dim=True, back=None)  # a background cannot be dim
        used = max((y for y in range(inner.height) if inner.row(y)), default=0)
        bottom = min(bottom, used + 2)
        buf.clear(0, bottom + 1)
    draw_first_line(buf, state, (*crumbs(state, state.spec.name(state)), *title_badges(state)))
    ends = 0, buf.width - 1
    draw_border(buf, 1, (), ends, inner.title)
    for y in range(1, bottom - 1):
        if y in inner.rules:
            draw_rule(buf, y + 1, ends, ends)
        else:
            draw_uprights(buf, y + 1, ends)
        for column, text, style in inner.row(y):
            buf.write(x + column, y + 1, text, style)
    draw_rule(buf, bottom, ends, ())
    for rect, (kind, value) in inner.hits:
        buf.hit(rect._replace(x=rect.x + x, y=rect.y + 1), kind, value)


def _mark_words(buf: Buffer, words: Sequence[str]) -> None:
    for y, line in enumerate(buf.lines() if words else ()):
        for word in words if y else ():
            text = line if word != word.lower() else line.lower()
            start = text.find(word)
            while start >= 0 and len(text) == len(line):
                x = cell_width(line[:start])
                buf.restyle(Rect(x, y, cell_width(word), 1), reverse=True)
                start = text.find(word, start + len(word))


def _draw_notices(buf: Buffer, state: AppState, bottom: int) -> None:
    """Draw notices over the rows above ``bottom``, the newest lowest.

    Notices are never cut in part, because the key that helps may be named at their end.
    """
    most = max(1, buf.height // 3)
    lines: list[tuple[str, Style]] = []
    for notice in reversed(state.notices):
        role = Role.ERROR if notice.is_error else Role.TEXT
        style = Style(role, bold=True)
        texts = wrap(safe(notice.text), buf.width - 2, most)
        if lines and len(texts) + len(lines) > most:
            break
        lines = [*((line, style) for line in texts), *lines]
    for y, (line, style) in enumerate(lines, bottom - len(lines)):
        buf.clear(y)
        buf.write(1, y, line, style)


def _draw_field(buf: Buffer, state: AppState, field: TextField) -> None:
    """Draw the input line in place of the header, with the number of processes that match.

    A search shows which match is the current one.
    """
    purpose = field.purpose
    has_fields = purpose.is_filter or purpose.is_search
    unknown = unknown_field(state, field.text) if has_fields else ''
    count = clip(unknown or purpose.found(state, field.text), max(0, buf.width - 22))
    count = f'  {count}' if count else ''
    right = buf.width - 1 - len(count)
    buf.clear(0)
    buf.hits.clear()  # keys are text now
    x = 1 + buf.write(1, 0, f'{purpose.name}: ', PLAIN._replace(bold=True))
    x += buf.write(x, 0, clip_left(safe(field.text), right - x - 1), _INPUT)
    x += buf.write(x, 0, ' ', _CURSOR)
    example = purpose.example(state)
    if state.has_hints and not field.text and x + 1 + len(example) <= right:
        buf.write(x + 1, 0, example, DIM)
    buf.write(right, 0, count, ERROR if unknown else PLAIN)


def _draw_too_small(buf: Buffer) -> None:
    """Draw the minimum size, on a screen that is too small for anything else."""
    text = f'too small: {NARROWEST} x {LOWEST} needed'
    text = clip(text if len(text) <= buf.width else 'too small', buf.width)
    buf.write(0, (buf.height - 1) // 2, pad(text, buf.width, '^'))
