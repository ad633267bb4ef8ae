# SPDX-License-Identifier: GPL-3.0-only
"""Lines of text in columns, centered or wrapped; titles of screens, and frames with titles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, NamedTuple, Sequence, Tuple

from nvitop.gui.model.format import NOT_AVAILABLE
from nvitop.gui.model.table import Placed
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import HEADING, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, fit, pad, wrap

if TYPE_CHECKING:
    #: Pieces of a line, each with its style.
    Pieces = Sequence[Tuple[str, Style]]


def draw_text(buf: Buffer, x: int, y: int, text: str, style: Style = PLAIN) -> int:
    """Write text, with each ``N/A`` in it dim; return the number of cells used."""
    if NOT_AVAILABLE not in text:
        return buf.write(x, y, text, style)
    start = x
    dim = style._replace(role=Role.DIM, bold=False)
    for i, piece in enumerate(text.split(NOT_AVAILABLE)):
        if i:
            x += buf.write(x, y, NOT_AVAILABLE, dim)
        if piece:
            x += buf.write(x, y, piece, style)
    return x - start


def draw_bar_row(buf: Buffer, y: int, text: str, style: Style = HEADING) -> None:
    """Draw a row across the whole screen in one style: the headings of a list, or a selected line."""
    buf.write(0, y, pad(text, buf.width), style)


def draw_list_line(
    buf: Buffer, y: int, text: str, style: Style = PLAIN, *, is_current: bool
) -> None:
    """Draw a line of a list, the current one as a bar across the screen."""
    if is_current:
        draw_bar_row(buf, y, text, Style(Role.SELECTED))
    else:
        draw_text(buf, 0, y, text, style)


def draw_message(buf: Buffer, area: Rect, text: str, style: Style = PLAIN) -> None:
    """Draw safe text in place of the lines of a list, wrapped to the width of ``area``."""
    for i, line in enumerate(wrap(text, max(2, area.width - 2))[: area.height]):
        buf.write(area.x + 1, area.y + i, line, style)


def draw_centered_line(buf: Buffer, area: Rect, text: str, style: Style = PLAIN) -> None:
    """Draw safe text in the middle of ``area``, clipped to its width."""
    if not area.is_empty:
        y = area.y + (area.height - 1) // 2
        buf.write(area.x, y, pad(clip(text, area.width), area.width, '^'), style)


def row_text(places: Iterable[Placed], texts: Iterable[str], ellipsis: str = '+') -> str:
    """Join safe texts in their columns, from column 0 on; ``ellipsis`` marks a text that was cut.

    One write of a whole row is cheaper than one for each column.
    """
    parts = []
    x = 0
    for place, text in zip(places, texts):
        if place.x > x:
            parts.append(' ' * (place.x - x))
        parts.append(fit(text, place.width, place.column.align, ellipsis))
        x = place.right
    return ''.join(parts)


def heading_text(places: Iterable[Placed]) -> str:
    """Join the headings of the columns."""
    places = tuple(places)
    return row_text(places, [place.column.title for place in places])


KEY = Style(Role.KEY, bold=True, italic=True)
#: Empty parts of bars that have the color of the filled parts.
MONO_TRACKS = {ord('▇'): '░'}


class Item(NamedTuple):
    """A part of a line, from its longest to its shortest form."""

    forms: tuple[str, ...]
    style: Style = PLAIN
    #: Parts of a lower rank have room first.
    rank: int = 1
    #: The default key that a click on it presses; ``''``: none.
    key: str = ''


def fit_items(items: Sequence[Item], room: int, gap: int) -> list[str]:
    """Return the form of each item that fits, ``''`` for those left out.

    All get room in their shortest form by rank; what is left lengthens them by rank.
    """
    shown = [''] * len(items)
    by_rank = sorted(range(len(items)), key=lambda number: items[number].rank)
    room += gap
    for number in by_rank:
        cells = gap + cell_width(items[number].forms[-1])
        if cells <= room:
            shown[number] = items[number].forms[-1]
            room -= cells
    for number in by_rank:
        if shown[number]:
            room += cell_width(shown[number])
            shown[number] = next(f for f in items[number].forms if cell_width(f) <= room)
            room -= cell_width(shown[number])
    return shown


BORDER = Style(Role.BORDER)
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
    #: What is between it and the note before it.
    separator: str = _SEPARATOR


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
    at_left = [(text, note) for note, text in zip(left, shown) if text]
    at_right = [(text, note) for note, text in zip(right, shown[len(left) :]) if text]
    if at_left:
        start = _draw_side(buf, line.x + 1, line.y, at_left)
    if at_right:
        cells = sum(cell_width(text) for text, _ in at_right)
        end -= cells + sum(len(note.separator) for _, note in at_right[1:]) + _AROUND
        _draw_side(buf, end - 1, line.y, at_right)
    return start, end


def _draw_side(buf: Buffer, x: int, y: int, notes: Sequence[tuple[str, Note]]) -> int:
    """Draw notes between spaces, the first one in column ``x + 2``; return the column after them."""
    x += 1
    for number, (text, note) in enumerate(notes):
        x += buf.write(x, y, note.separator if number else ' ')
        x += buf.write(x, y, text, note.style)
    return x + buf.write(x, y, ' ')


def _fit_notes(notes: Sequence[Note], lefts: int, width: int) -> list[str]:
    """Return the form of each note, ``''`` for those without room."""
    shown = [''] * len(notes)
    room = width - 2 * _AROUND
    sides = [False, False]
    for number in sorted(range(len(notes)), key=lambda i: (notes[i].rank, i)):
        is_right = number >= lefts
        separator = notes[number].separator
        around = len(separator) if sides[is_right] else _BETWEEN if any(sides) else 0
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
