# SPDX-License-Identifier: GPL-3.0-only
"""Replaces characters that a terminal or an encoding lacks, without moving any cell."""

from __future__ import annotations

from typing import Callable, Mapping

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role
from nvitop.gui.render.width import cell_width

_SAME_CELLS = {
    **dict.fromkeys(map(ord, '─╴╶┄┈━╌'), '-'),
    **dict.fromkeys(map(ord, '═'), '='),
    **dict.fromkeys(map(ord, '│┆┊┃║'), '|'),
    **dict.fromkeys(map(ord, '┌┐└┘├┤┬┴┼╒╕╘╛╞╡╤╧╪╔╗╚╝╠╣╦╩╬╓╖╙╜╟╢╥╨╫╭╮╯╰'), '+'),
    **dict.fromkeys(map(ord, '█▉▊▋▌▍▎▏▇▆▅▄▃▂▁▀▐'), '|'),
    ord('■'): '#',
    **dict.fromkeys(map(ord, '░▒▓'), ' '),
    **dict.fromkeys(range(0x2800, 0x2900), '='),
    ord('▲'): '^',
    ord('▼'): 'v',
    ord('•'): '*',
    ord('·'): '.',
    ord('…'): '~',
    ord('►'): '>',
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


#: Dots in the upper half and in the lower half of a braille character.
_UPPER_DOTS, _LOWER_DOTS = 0b00011011, 0b11100100


def _halves_of(dots: int) -> str:
    return ' ▀▄█'[bool(dots & _UPPER_DOTS) + 2 * bool(dots & _LOWER_DOTS)]


#: Guides and spreads of graphs and empty parts of bars, which must not look like values.
_HALVES_OF_TRACKS = dict.fromkeys((*range(0x2801, 0x2900), ord('■')), '·')
_ASCII_OF_TRACKS = {ord('■'): '.'}

_IN_HALVES = {
    **dict.fromkeys(map(ord, '▉▊▋'), '█'),
    **dict.fromkeys(map(ord, '▍▎'), '▌'),
    ord('▏'): '│',
    **dict.fromkeys(map(ord, '▁▂'), '_'),
    **dict.fromkeys(map(ord, '▃▅'), '▄'),
    **dict.fromkeys(map(ord, '▆▇'), '█'),
    **dict.fromkeys(map(ord, '╴╶┄┈╌'), '─'),
    **dict(zip(map(ord, '╭╮╯╰'), '┌┐┘└')),
    ord('×'): 'x',
    ord('–'): '-',
    ord('…'): '~',
    **{0x2800 + dots: _halves_of(dots) for dots in range(0x100)},
}


def to_halves(buffer: Buffer) -> Buffer:
    """Return a copy in which eighth blocks and braille are replaced by whole and half blocks."""
    return _translated(buffer, lambda text: text.translate(_IN_HALVES), _HALVES_OF_TRACKS)


def to_ascii(buffer: Buffer) -> Buffer:
    """Return a copy with ASCII characters only.

    Box lines become ``- = + |``, blocks ``|``, shades spaces, braille ``=``, triangles ``^ v``. Any
    other character becomes ``?`` in each of its cells. Combining marks are removed.
    """
    return _translated(buffer, ascii_text, _ASCII_OF_TRACKS)


def _translated(
    buffer: Buffer, translate: Callable[[str], str], tracks: Mapping[int, str]
) -> Buffer:
    copy = Buffer(buffer.width, buffer.height)
    for y in range(buffer.height):
        for x, text, style in buffer.row(y):
            if style.role in (Role.TRACK, Role.SPREAD):
                text = text.translate(tracks)
            copy.write(x, y, translate(text), style)
    copy.targets = buffer.targets
    return copy


def ascii_text(text: str) -> str:
    """Convert safe text to ASCII in the same number of cells, by the rules of :func:`to_ascii`."""
    if text.isascii():
        return text
    text = text.translate(_SAME_CELLS)
    if text.isascii():
        return text
    others = {ord(char): '?' * cell_width(char) for char in set(text) if not char.isascii()}
    return text.translate(others)
