# SPDX-License-Identifier: GPL-3.0-only
"""A buffer in fewer characters, cell by cell the same, for terminals and encodings without more."""

from __future__ import annotations

from typing import Callable, Mapping

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


#: Dots in the upper and in the lower half of a braille character.
_UPPER_DOTS, _LOWER_DOTS = 0b00011011, 0b11100100


def _halves_of(dots: int) -> str:
    return ' ▀▄█'[bool(dots & _UPPER_DOTS) + 2 * bool(dots & _LOWER_DOTS)]


_IN_HALVES = {
    **dict.fromkeys(map(ord, '▉▊▋'), '█'),
    **dict.fromkeys(map(ord, '▍▎'), '▌'),
    ord('▏'): '│',
    **dict.fromkeys(map(ord, '╴╶'), '─'),
    **{0x2800 + dots: _halves_of(dots) for dots in range(0x100)},
}


def lacks_fine_blocks(environ: Mapping[str, str]) -> bool:
    """Whether the fonts of the terminal have frames and halves of blocks, but neither eighths nor
    braille: those of the Linux console."""
    return environ.get('TERM') == 'linux'


def to_halves(buffer: Buffer) -> Buffer:
    """A copy without the characters that the fonts of the Linux console lack: it has frames,
    whole and half blocks, but no eighths of a block and no braille."""
    return _translated(buffer, lambda text: text.translate(_IN_HALVES))


def to_ascii(buffer: Buffer) -> Buffer:
    """A copy with ASCII characters only.

    Frames become ``- = + |``, blocks ``|``, shades spaces, braille ``=``, triangles ``^ v``. Any
    other character becomes ``?`` in each of its cells; combining marks are left out.
    """
    return _translated(buffer, ascii_text)


def _translated(buffer: Buffer, translate: Callable[[str], str]) -> Buffer:
    copy = Buffer(buffer.width, buffer.height)
    for y in range(buffer.height):
        for x, text, style in buffer.row(y):
            copy.write(x, y, translate(text), style)
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
