# SPDX-License-Identifier: GPL-3.0-only
"""Buffers as text with ANSI escape sequences, for reports, and as ASCII."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.theme import DEFAULT, Look, Theme
from nvitop.gui.render.width import cell_width

if TYPE_CHECKING:
    from collections.abc import Mapping

RESET = '\x1b[m'
_PLAIN = Look()
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
    looks: dict[Style, Look] = {}
    codes: dict[tuple[Look, Look], str] = {}
    lines = []
    for y in range(buffer.height):
        pieces: list[tuple[str, Look]] = []
        column = 0
        for x, text, style in buffer.row(y):
            look = looks.get(style)
            if look is None:
                look = looks[style] = theme.look(style, colors)
            if x > column:
                pieces.append((' ' * (x - column), _PLAIN))
            pieces.append((text, look))
            column = x + cell_width(text)
        lines.append(_line(pieces, codes))
    return ''.join(lines)


def _line(pieces: list[tuple[str, Look]], codes: dict[tuple[Look, Look], str]) -> str:
    while pieces and not shows_on_spaces(pieces[-1][1]):
        text, look = pieces.pop()
        text = text.rstrip(' ')
        if text:
            pieces.append((text, look))
            break
    current = _PLAIN
    parts = []
    for text, look in pieces:
        if look != current and not (
            text.isspace() and not shows_on_spaces(look) and not shows_on_spaces(current)
        ):
            change = codes.get((current, look))
            if change is None:
                change = codes[current, look] = change_of_look(current, look)
            parts.append(change)
            current = look
        parts.append(text)
    parts.append('\n' if current == _PLAIN else f'{RESET}\n')
    return ''.join(parts)


def shows_on_spaces(look: Look) -> bool:
    """Return whether a space in this look differs from an empty cell."""
    return look.reverse or look.underline or look.background != DEFAULT


def change_of_look(old: Look, new: Look) -> str:
    """Return the shortest sequence that switches a terminal from one look to another."""
    lost = any(getattr(old, name) and not getattr(new, name) for name, _ in _ATTRIBUTES)
    if new == _PLAIN:
        return RESET
    added = []
    if lost:
        added.append('0')
        old = _PLAIN
    added.extend(
        code for name, code in _ATTRIBUTES if getattr(new, name) and not getattr(old, name)
    )
    if new.foreground != old.foreground:
        added.append(_color(new.foreground, 30))
    if new.background != old.background:
        added.append(_color(new.background, 40))
    return f'\x1b[{";".join(added)}m'


def _color(color: int, base: int) -> str:
    if color == DEFAULT:
        return str(base + 9)
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
    **dict.fromkeys(map(ord, '█▉▊▋▌▍▎▏▀▐'), '|'),
    **dict(zip(map(ord, '▁▂▃▄▅▆▇'), '_.-=+*#')),
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


#: Empty parts of bars, which must not look like values.
_ASCII_OF_TRACKS = {ord('█'): '.', ord('■'): '.'}


def to_ascii(buffer: Buffer) -> Buffer:
    """Return a copy with ASCII characters only.

    Box lines become ``- = + |``, blocks ``|``, shades spaces, braille ``=``, triangles ``^ v``. Any
    other character becomes ``?`` in each of its cells. Combining marks are removed.
    """
    copy = Buffer(buffer.width, buffer.height)
    for y in range(buffer.height):
        for x, text, style in buffer.row(y):
            if style.role is Role.TRACK:
                text = text.translate(_ASCII_OF_TRACKS)
            copy.write(x, y, ascii_text(text), style)
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
