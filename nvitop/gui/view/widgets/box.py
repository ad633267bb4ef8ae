# SPDX-License-Identifier: GPL-3.0-only
"""Frames with titles, and dialogs over the screen."""

from __future__ import annotations

import functools
from typing import NamedTuple, Sequence

from nvitop.gui.layout.dialog import DialogLayout, button_text
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, pad
from nvitop.gui.view.widgets.text import draw_centered_line

BORDER = Style(Role.BORDER)
TITLE = Style(Role.TITLE, bold=True)
_LINE = '─'
#: Joints (left end, between, right end) with vertical lines that continue above and below, only
#: below, and only above.
_JOINTS = ('├┼┤', '╭┬╮', '╰┴╯')
_UPRIGHT = '│'
#: Between two notes.
_SEPARATOR = ' · '
#: Cells around the notes of one side, and between both sides: lines and spaces.
_AROUND, _BETWEEN = 3, 3


class Note(NamedTuple):
    """A few words in a border."""

    #: The text, from its longest to its shortest form.
    forms: tuple[str, ...]
    style: Style = PLAIN
    #: Notes of a lower rank are shown first if there is no room for all of them.
    rank: int = 1


@functools.lru_cache(maxsize=64)  # every frame has the same lines
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
    """Draw a :func:`rule`."""
    buf.write(0, y, rule(above, below), BORDER)


def draw_border(
    buf: Buffer,
    y: int,
    above: tuple[int, ...],
    below: tuple[int, ...],
    left: Sequence[Note] = (),
    right: Sequence[Note] = (),
) -> tuple[int, int]:
    """Draw a :func:`rule` with the notes that fit: a title at its left, and totals at its right.

    Return the columns between both sides.
    """
    draw_rule(buf, y, above, below)
    columns = (*above, *below)
    return draw_notes(buf, Rect(min(columns), y, max(columns) + 1 - min(columns), 1), left, right)


def draw_notes(
    buf: Buffer, line: Rect, left: Sequence[Note], right: Sequence[Note] = ()
) -> tuple[int, int]:
    """Draw the notes that fit over a line; return the columns between both sides.

    The first note of the left side is always shown, and clipped if necessary.
    """
    shown = _fit_notes((*left, *right), len(left), line.width)
    start, end = line.x + 1, line.right - 1
    at_left = [(text, note.style) for note, text in zip(left, shown) if text]
    at_right = [(text, note.style) for note, text in zip(right, shown[len(left) :]) if text]
    if at_left:
        start = _draw_side(buf, line.x + 1, line.y, at_left)
    if at_right:
        cells = sum(cell_width(text) for text, _ in at_right)
        end -= cells + len(_SEPARATOR) * (len(at_right) - 1) + _AROUND
        _draw_side(buf, end - 1, line.y, at_right)
    return start, end


def _draw_side(buf: Buffer, x: int, y: int, notes: Sequence[tuple[str, Style]]) -> int:
    """Draw notes between spaces, the first one in column ``x + 2``; return the column after them."""
    x += 1
    for number, (text, style) in enumerate(notes):
        x += buf.write(x, y, _SEPARATOR if number else ' ')
        x += buf.write(x, y, text, style)
    return x + buf.write(x, y, ' ')


def _fit_notes(notes: Sequence[Note], lefts: int, width: int) -> list[str]:
    """Return the form of each note, ``''`` for those without room."""
    shown = [''] * len(notes)
    room = width - 2 * _AROUND
    sides = [False, False]
    for number in sorted(range(len(notes)), key=lambda i: (notes[i].rank, i)):
        is_right = number >= lefts
        around = len(_SEPARATOR) if sides[is_right] else _BETWEEN if any(sides) else 0
        forms = notes[number].forms
        fitting = next((form for form in forms if cell_width(form) + around <= room), '')
        if not fitting and not any(sides) and number == 0:
            fitting = clip(forms[-1], max(0, room))
        if fitting:
            shown[number] = fitting
            sides[is_right] = True
            room -= cell_width(fitting) + around
    return shown


def draw_uprights(buf: Buffer, y: int, columns: Sequence[int]) -> None:
    """Draw the vertical lines of one row."""
    for column in columns:
        buf.write(column, y, _UPRIGHT, BORDER)


def draw_box(buf: Buffer, rect: Rect, *, title: str = '') -> None:
    """Draw a box along the edge of ``rect`` and empty its inside."""
    if rect.width < 2 or rect.height < 2:
        return
    inner = rect.inset(1, 1)
    ends = (0, rect.width - 1)
    buf.write(rect.x, rect.y, rule((), ends), BORDER)
    sides = f'{_UPRIGHT}{" " * inner.width}{_UPRIGHT}'
    for y in range(inner.y, inner.bottom):
        buf.write(rect.x, y, sides, BORDER)
    buf.write(rect.x, rect.bottom - 1, rule(ends, ()), BORDER)
    if title and inner.width > 4:
        buf.write(rect.x + 2, rect.y, f' {clip(title, inner.width - 4)} ', TITLE)


_CURRENT = Style(Role.SELECTED, bold=True)


class Button(NamedTuple):
    """A button of a message box."""

    label: str
    #: The letter of the label that presses it; ``''`` for none.
    hot_letter: str = ''


def draw_dialog(
    buf: Buffer,
    layout: DialogLayout,
    buttons: Sequence[Button] = (),
    *,
    current: int = 0,
    title: str = '',
    is_ready: bool = True,
) -> None:
    """Draw a dialog and dim the screen below; ``current`` is the button under the cursor.

    Buttons are dim until the dialog ``is_ready`` to accept keys.
    """
    buf.restyle(buf.area, dim=True)
    if layout.box.is_empty:
        draw_centered_line(buf, layout.text, ' '.join(layout.lines), _CURRENT)
        return
    draw_box(buf, layout.box, title=title)
    for i, line in enumerate(layout.lines):
        buf.write(layout.text.x, layout.text.y + i, pad(line, layout.text.width), PLAIN)
    for i, (button, place) in enumerate(zip(buttons, layout.buttons)):
        style = _CURRENT if i == current else PLAIN
        buf.write(place.x, place.y, button_text(button.label), style)
        hot = button.label.lower().find(button.hot_letter.lower()) if button.hot_letter else -1
        if hot >= 0:
            letter = Rect(place.x + 1 + cell_width(button.label[:hot]), place.y, 1, 1)
            buf.restyle(letter, underline=True, bold=True, role=None if i == current else Role.KEY)
        if not is_ready:
            buf.restyle(place, bold=False, dim=True)
