# SPDX-License-Identifier: GPL-3.0-only
"""Layout of a dialog: lines of text and buttons."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from nvitop.gui.model.format import brief_commands
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.width import cell_width, clip, pad, safe, wrap

#: Maximum width of a dialog with paragraphs. Lists may be wider.
_MAX_WIDTH = 100
#: Columns of the border and the padding.
DIALOG_MARGIN = 4
#: Maximum number of lines of a wrapped paragraph, such as a long command.
_MAX_LINES = 3
#: Columns between two buttons, if there is room.
_GAP = 2


class DialogLayout(NamedTuple):
    """Places in a dialog, and its text as lines that fit."""

    #: Place including the border. It is empty if there is no room: then the beginning of the text
    #: is one line without buttons.
    box: Rect
    #: Place of the lines.
    text: Rect
    lines: tuple[str, ...]
    #: Places of the buttons, in order.
    buttons: tuple[Rect, ...]
    #: Maximum ``scroll_y``.
    scroll_limit: int = 0
    #: Number of visible lines of the paragraphs that are not fixed.
    body_rows: int = 0

    def button_at(self, x: int, y: int) -> int | None:
        """Return the index of the button in this cell of the screen."""
        return next((i for i, b in enumerate(self.buttons) if b.contains(x, y)), None)


def button_text(label: str) -> str:
    """Return a button as it is drawn."""
    return f' {label} '


def lay_out_dialog(
    area: Rect,
    message: Sequence[str],
    labels: Sequence[str],
    *,
    scroll_y: int = 0,
    fixed: int = 0,
    wrapped: bool = True,
) -> DialogLayout:
    """Lay out paragraphs, made safe, and a row of buttons in the middle of ``area``.

    Paragraphs are ``wrapped``, or clipped to a line each. If there are too many lines, the first
    ``fixed`` paragraphs stay, the others scroll, and the last line shows the position. Buttons that
    do not fit in a row are stacked.
    """
    message = [safe(paragraph) for paragraph in message]
    sizes = [cell_width(button_text(label)) for label in labels]
    room = (min(area.width, _MAX_WIDTH) if wrapped else area.width) - DIALOG_MARGIN
    gaps = max(0, len(sizes) - 1)
    gap = next((gap for gap in range(_GAP, 0, -1) if sum(sizes) + gap * gaps <= room), 0)
    in_a_row = sum(sizes) + gap * gaps
    stacked = in_a_row > room
    button_rows = len(sizes) if stacked else min(1, len(sizes))
    text_rows = area.height - 2 - (button_rows + 1 if sizes else 0)
    if room < max([*sizes, 2]) or text_rows < 1:
        line = clip(next(filter(None, message), ''), area.width)
        return DialogLayout(Rect(area.x, area.y, 0, 0), area, (line,), ())
    head = [line for paragraph in message[:fixed] for line in wrap(paragraph, room)]
    body = [
        line
        for paragraph in message[fixed:]
        for line in (_wrapped(paragraph, room) if wrapped else [clip(paragraph, room)])
    ]
    noun = 'line' if wrapped else ''
    lines, scroll_limit = _fit_lines(head, body, room, text_rows, scroll_y, noun)
    # As wide as all lines need, so that scrolling does not resize the dialog.
    widest = [cell_width(line) for line in (*head, *body, *lines)]
    width = min(room, max([*widest, max(sizes, default=0) if stacked else in_a_row]))
    height = len(lines) + (button_rows + 1 if sizes else 0)
    box = area.centered(width + DIALOG_MARGIN, height + 2)
    inner = box.inset(2, 1)
    text, below = inner.split_top(len(lines))
    buttons = _buttons(below, sizes, gap, stacked=stacked)
    is_cut = len(head) + len(body) > text_rows
    body_rows = text_rows - min(len(head), max(0, text_rows - 2)) - 1 if is_cut else len(body)
    return DialogLayout(box, text, tuple(lines), buttons, scroll_limit, max(0, body_rows))


def align_targets(
    subjects: Sequence[str], commands: Sequence[str], width: int
) -> tuple[list[str], list[str]]:
    """Return subjects of equal width, and commands that fit next to them on a screen of this width."""
    safe_subjects = [safe(subject) for subject in subjects]
    most = max(map(cell_width, safe_subjects))
    room = max(0, width - DIALOG_MARGIN - most - 1)
    brief = brief_commands([safe(command) for command in commands], room)
    return [pad(subject, most) for subject in safe_subjects], brief


def _wrapped(paragraph: str, room: int) -> list[str]:
    """Wrap a paragraph to a few lines; the last one is clipped."""
    lines = wrap(paragraph, room)
    if len(lines) <= _MAX_LINES:
        return lines
    last = _MAX_LINES - 1
    return [*lines[:last], clip(' '.join(lines[last:]), room)]


def _fit_lines(
    head: list[str], body: list[str], room: int, rows: int, scroll_y: int, noun: str
) -> tuple[list[str], int]:
    """Return the lines visible in ``rows`` rows, and the maximum ``scroll_y`` of the body.

    The ``noun`` is what the position counts; it may be empty.
    """
    if len(head) + len(body) <= rows:
        return head + body, 0
    head = head[: max(0, rows - 2)]
    seen = max(0, rows - len(head) - 1)
    limit = len(body) - seen
    first = max(0, min(scroll_y, limit))
    digits = len(str(len(body)))
    last = f'-{first + seen}' if seen > 1 else ''
    width = 2 * digits + 1 if last else digits
    part = f'{f"{first + 1}{last}":>{width}} of {len(body)}'
    if noun:
        part = f'{noun}{"s" if last else ""} {part}'
    notes = (f'{part}, PageUp and PageDown for more', f'{part}, PageUp PageDown')
    note = next((note for note in notes if seen and len(note) <= room), '')
    if not note:
        note = f'.. {len(body) - seen} more lines'
    return [*head, *body[first : first + seen], clip(note, room)], limit


def _buttons(area: Rect, sizes: Sequence[int], gap: int, *, stacked: bool) -> tuple[Rect, ...]:
    if stacked:
        return tuple(
            Rect(area.x + (area.width - size) // 2, area.y + 1 + i, size, 1)
            for i, size in enumerate(sizes)
        )
    x = area.x + (area.width - sum(sizes) - gap * max(0, len(sizes) - 1)) // 2
    places = []
    for size in sizes:
        places.append(Rect(x, area.y + 1, size, 1))
        x += size + gap
    return tuple(places)
