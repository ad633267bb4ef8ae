# SPDX-License-Identifier: GPL-3.0-only
"""Buffers as text with ANSI escape sequences, for reports, and as ASCII."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import DEFAULT, Look, Role, Style, Theme
from nvitop.gui.render.width import cell_width

if TYPE_CHECKING:
    from collections.abc import Mapping

RESET = '\x1b[m'
_ATTRIBUTES = (
    ('bold', '1'),
    ('dim', '2'),
    ('italic', '3'),
    ('underline', '4'),
    ('blink', '5'),
    ('reverse', '7'),
)
#: Prefixes of the names of terminals that have eight colors only.
_EIGHT_COLORS = ('linux', 'vt', 'ansi', 'cygwin')


#: Types of terminals with at least 256 colors.
_MANY_COLORS = re.compile('256color|ghostty|kitty|wezterm|foot|alacritty')


def needs_ascii(environ: Mapping[str, str]) -> bool:
    """Return whether this is the Linux console, whose fonts lack eighth blocks and braille."""
    return environ.get('TERM') == 'linux'


def color_depth(environ: Mapping[str, str], *, is_terminal: bool, force: bool = False) -> int:
    """Return the number of colors to use: 0, 8, 16 or 256.

    ``force`` is the user's option. Otherwise, nonempty ``ANSI_COLORS_DISABLED`` and ``NO_COLOR``
    disable colors, nonempty ``FORCE_COLOR`` enables them, or disables them if it is ``0`` (in this
    order), and the default is colors on terminals, except if ``TERM`` is ``dumb``.
    """
    term = environ.get('TERM', '')
    if not force:
        forced = environ.get('FORCE_COLOR')
        if environ.get('ANSI_COLORS_DISABLED') or environ.get('NO_COLOR') or forced == '0':
            return 0
        if not forced and (term == 'dumb' or not is_terminal):
            return 0
    if environ.get('COLORTERM') or environ.get('WT_SESSION') or _MANY_COLORS.search(term):
        return 256
    return 8 if term.startswith(_EIGHT_COLORS) else 16


def to_ansi(buffer: Buffer, theme: Theme, colors: int) -> str:
    """Return the rows of a buffer as lines that end in a newline.

    ``colors`` is 0 (plain text), 8, 16 or 256. Each line begins and ends with the terminal's
    default look, so lines can be separated. Invisible spaces at the end of a line are left out.
    """
    if colors == 0:
        return ''.join(f'{line}\n' for line in buffer.lines())
    codes: dict[Style, tuple[str, bool]] = {}
    lines = []
    for y in range(buffer.height):
        row = list(buffer.row(y))
        parts: list[str] = []
        column = 0
        for number, (x, text, style) in enumerate(row, 1):
            if style not in codes:
                look = theme.look(style, colors)
                shows = look.reverse or look.underline or look.background != DEFAULT
                codes[style] = _code_of(look), shows
            code, shows_on_spaces = codes[style]
            if number == len(row) and not shows_on_spaces:
                text = text.rstrip(' ')
            parts.append(' ' * (x - column))
            parts.append(f'{code}{text}{RESET}' if code and text else text)
            column = x + cell_width(text)
        line = ''.join(parts)
        lines.append(line if line.endswith(RESET) else line.rstrip(' '))
    return ''.join(f'{line}\n' for line in lines)


def _code_of(look: Look) -> str:
    codes = [code for name, code in _ATTRIBUTES if getattr(look, name)]
    if look.foreground != DEFAULT:
        codes.append(_color(look.foreground, 30))
    if look.background != DEFAULT:
        codes.append(_color(look.background, 40))
    return f'\x1b[{";".join(codes)}m' if codes else ''


def _color(color: int, base: int) -> str:
    if color < 8:
        return str(base + color)
    if color < 16:
        return str(base + 60 + color - 8)
    return f'{base + 8};5;{color}'


_SAME_CELLS = {
    **dict.fromkeys(map(ord, '─╴╶┄┈━╌'), '-'),
    **dict.fromkeys(map(ord, '═'), '='),
    **dict.fromkeys(map(ord, '│┆┊┃║'), '|'),
    **dict.fromkeys(map(ord, '┌┐└┘├┤┬┴┼╒╕╘╛╞╡╤╧╪╔╗╚╝╠╣╦╩╬╓╖╙╜╟╢╥╨╫╭╮╯╰'), '+'),
    **dict.fromkeys(map(ord, '█▉▊▋▌'), '#'),
    **dict.fromkeys(map(ord, '▍▎▏'), '.'),
    **dict.fromkeys(map(ord, '▀▐'), '|'),
    **dict(zip(map(ord, '▁▂▃▄▅▆▇'), '_.-=+*#')),
    ord('■'): '#',
    **dict.fromkeys(map(ord, '░▒▓'), ' '),
    **dict.fromkeys(range(0x2800, 0x2900), '='),
    ord('▲'): '^',
    ord('▼'): 'v',
    ord('•'): '*',
    ord('·'): '.',
    ord('…'): '~',
    **dict.fromkeys(map(ord, '►▸›'), '>'),
    **dict.fromkeys(map(ord, '●◆'), '*'),
    ord('○'): 'o',
    ord('▾'): 'v',
    ord('→'): '>',
    ord('←'): '<',
    ord('↑'): '^',
    ord('↓'): 'v',
    ord('×'): 'x',
    ord('°'): ' ',
    ord('—'): '-',
    0xA0: ' ',
}


#: Empty parts of bars, which must not look like values.
_ASCII_OF_TRACKS = dict.fromkeys(map(ord, '▇█░'), '.')
#: The rest of a cell, in reverse, in a history that hangs from its top.
_ASCII_OF_HANGING = dict(zip(map(ord, '▇▆▅▄▃▂▁ '), "'`^=+*#|"))


def to_ascii(buffer: Buffer) -> Buffer:
    """Return a copy with ASCII characters only.

    Box lines become ``- = + |``, blocks ``#`` or ``.``, shades spaces, braille ``=``, triangles ``^ v``. Any
    other character becomes ``?`` in each of its cells. Combining marks are removed.
    """
    copy = Buffer(buffer.width, buffer.height)
    for y in range(buffer.height):
        for x, text, style in buffer.row(y):
            if style.role is Role.TRACK:
                text = text.translate(_ASCII_OF_TRACKS)
            if style.role is Role.SENT and style.reverse:
                text, style = text.translate(_ASCII_OF_HANGING), style._replace(reverse=False)
            # A part of a cell has no track behind it.
            if style.back is Role.TRACK:
                style = style._replace(back=None)
            copy.write(x, y, ascii_text(' | ' if text == ' · ' else text), style)
    copy.hits = buffer.hits
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
