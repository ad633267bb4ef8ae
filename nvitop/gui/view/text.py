# SPDX-License-Identifier: GPL-3.0-only
"""Lines of text in columns, centered or wrapped; titles of screens, and frames with titles."""

from __future__ import annotations

import re
from typing import Iterable, Sequence

from nvitop.gui.model.format import EIGHTHS, NOT_AVAILABLE, WHOLE
from nvitop.gui.model.table import WITH_BAR
from nvitop.gui.render.buffer import Buffer, Item, Rect, fit
from nvitop.gui.render.theme import BADGE, ERROR, HEADING, PLAIN, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, wrap

_NOT_AVAILABLE = re.compile(f'({NOT_AVAILABLE})')


def draw_text(buf: Buffer, x: int, y: int, text: str, style: Style = PLAIN) -> int:
    """Write text, with each ``N/A`` in it dim; return the number of cells used."""
    start = x
    dim = style._replace(role=Role.DIM, bold=False)
    for part in _NOT_AVAILABLE.split(text):
        x += buf.write(x, y, part, dim if part == NOT_AVAILABLE else style)
    return x - start


def draw_message(buf: Buffer, area: Rect, text: str, style: Style = PLAIN) -> None:
    """Draw safe text in place of the lines of a list, wrapped to the width of ``area``."""
    for i, line in enumerate(wrap(text, max(2, area.width - 2))[: area.height]):
        buf.write(area.x + 1, area.y + i, line, style)


def draw_facts(buf: Buffer, area: Rect, facts: Iterable[tuple[str, str]], label_cells: int) -> int:
    """Draw labels and safe texts next to them, wrapped, as far as they fit; return the number of rows.

    Without ``label_cells`` there are no labels.
    """
    y = area.y
    for label, text in facts:
        lines = wrap(text, max(2, area.width - label_cells))[: area.bottom - y]
        if lines and label_cells:
            buf.write(area.x, y, clip(label, label_cells - 1), HEADING)
        for line in lines:
            draw_text(buf, area.x + label_cells, y, line)
            y += 1
    return y - area.y


def badge(style: Style, *forms: str, key: str = '') -> Item:
    # Without colors, only the brackets separate badges from each other.
    return Item(tuple(f'[{form}]' for form in forms), style, 1, key)


def simulated_badge(width: int) -> Item:
    """Return the badge of a simulated machine; its form does not change with what else is shown."""
    return badge(BADGE, 'SIMULATED' if width >= WITH_BAR else 'SIM')


#: Empty parts of bars that have the color of the filled parts.
_MONO_TRACKS = dict.fromkeys(map(ord, '▇█'), '░')


def draw_mono_bars(buf: Buffer) -> None:
    """Draw bars again for a terminal with too few colors for their tracks.

    A cell that is partly filled becomes a whole one or a part of the track, unless it is all there is.
    """
    before = '', PLAIN

    def changed(text: str, style: Style) -> tuple[str, Style]:
        nonlocal before
        is_first, back = not before[0].endswith(WHOLE), before[1].back
        before = text, style
        if style.role is Role.TRACK:
            return text.translate(_MONO_TRACKS), style
        if style.back is not Role.TRACK:
            return text, style
        style = style._replace(back=back)  # as of the row
        if is_first and text == EIGHTHS[0]:
            return text, style
        return (WHOLE, style) if text in EIGHTHS[3:] else ('░', Style(Role.TRACK, back=back))

    buf.change(changed)


BORDER = Style(Role.BORDER)
_LINE = '─'
#: Joints (left end, between, right end) with vertical lines that continue above and below, only
#: below, and only above.
_JOINTS = ('├┼┤', '╭┬╮', '╰┴╯')
_UPRIGHT = '│'
#: Between two parts of a border; cells around those of one side: lines and spaces.
_SEPARATOR, _AROUND = ' · ', 3


def rule(above: tuple[int, ...], below: tuple[int, ...]) -> str:
    """Return a line from column 0 that joins vertical lines in these columns above and below it."""
    columns = sorted({*above, *below})
    chars = [_LINE] * (columns[-1] + 1)
    for column in columns:
        through, down, up = _JOINTS
        kind = through if column in above and column in below else down if column in below else up
        chars[column] = kind[0 if column == columns[0] else 2 if column == columns[-1] else 1]
    return ''.join(chars)


def draw_rule(buf: Buffer, y: int, above: tuple[int, ...], below: tuple[int, ...]) -> None:
    buf.write(0, y, rule(above, below), BORDER)


def draw_border(
    buf: Buffer,
    y: int,
    above: tuple[int, ...],
    below: tuple[int, ...],
    left: Sequence[Item] = (),
    right: Sequence[Item] = (),
) -> None:
    """Draw a :func:`rule` with the parts that fit: a title at its left, and totals at its right.

    The first part of the left side is always shown, and clipped if necessary.
    """
    draw_rule(buf, y, above, below)
    start, end = min(*above, *below), max(*above, *below)
    room = end + 1 - start - 2 * _AROUND
    texts = fit((*left, *right), room, len(_SEPARATOR))
    if left and not texts[0]:
        texts = [clip(left[0].forms[-1], max(0, room)), *[''] * (len(texts) - 1)]
    at_right = [text for text in texts[len(left) :] if text]
    cells = sum(cell_width(text) + len(_SEPARATOR) for text in at_right)
    for x, items, forms in (
        (start + 2, left, texts),
        (end - cells, right, texts[len(left) :]),
    ):
        shown = [(text, item.style) for text, item in zip(forms, items) if text]
        for number, (text, style) in enumerate(shown):
            x += buf.write(x, y, _SEPARATOR if number else ' ')
            x += buf.write(x, y, text, style)
        buf.write(x, y, ' ' if shown else '')


def draw_uprights(buf: Buffer, y: int, columns: Sequence[int]) -> None:
    for column in columns:
        buf.write(column, y, _UPRIGHT, BORDER)


def severity_sign(severity: str) -> tuple[str, Style]:
    if severity == 'critical':
        return '●', ERROR
    return '▲', WARNING if severity == 'warning' else PLAIN


def draw_section(buf: Buffer, y: int, title: str) -> Rect:
    """Begin another part of a list with a line across its frame; return what is below."""
    buf.rules.add(y)
    buf.write(0, y, f' {title} ' if title else '', TITLE)
    return Rect(0, y + 1, buf.width, max(0, buf.height - 1 - y))
