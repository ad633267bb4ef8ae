# SPDX-License-Identifier: GPL-3.0-only
"""A buffer in ASCII, cell by cell the same, for terminals and encodings without more."""

from __future__ import annotations

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.width import cell_width

_SAME_CELLS = {
    **dict.fromkeys(map(ord, '─╴╶┄┈━╌'), '-'),
    **dict.fromkeys(map(ord, '═'), '='),
    **dict.fromkeys(map(ord, '│┆┊┃║'), '|'),
    **dict.fromkeys(map(ord, '┌┐└┘├┤┬┴┼╒╕╘╛╞╡╤╧╪╔╗╚╝╠╣╦╩╬╓╖╙╜╟╢╥╨╫╭╮╯╰'), '+'),
    **dict.fromkeys(map(ord, '█▉▊▋▌▍▎▏▇▆▅▄▃▂▁▀▐'), '|'),
    **dict.fromkeys(map(ord, '░▒▓'), ' '),
    **dict.fromkeys(range(0x2800, 0x2900), '='),
    ord('▲'): '^',
    ord('▼'): 'v',
    ord('•'): '*',
    ord('·'): '.',
    ord('…'): '~',
    ord('→'): '>',
    ord('←'): '<',
    ord('↑'): '^',
    ord('↓'): 'v',
    ord('×'): 'x',
    ord('°'): ' ',
    ord('–'): '-',
    ord('—'): '-',
    0xA0: ' ',
}


def to_ascii(buffer: Buffer) -> Buffer:
    """A copy with ASCII characters only.

    Frames become ``- = + |``, blocks ``|``, shades spaces, braille ``=``, triangles ``^ v``. Any
    other character becomes ``?`` in each of its cells; combining marks are left out.
    """
    copy = Buffer(buffer.width, buffer.height)
    for y in range(buffer.height):
        for x, text, style in buffer.row(y):
            copy.write(x, y, ascii_text(text), style)
    return copy


def ascii_text(text: str) -> str:
    """Safe text in ASCII, in the same number of cells; the rules are those of :func:`to_ascii`."""
    if text.isascii():
        return text
    text = text.translate(_SAME_CELLS)
    if text.isascii():
        return text
    others = {ord(char): '?' * cell_width(char) for char in set(text) if not char.isascii()}
    return text.translate(others)
