# SPDX-License-Identifier: GPL-3.0-only
"""Buffers as ANSI escape sequences: whole ones for reports, and changes since the last frame.

If most rows are other rows, as after a switch to another screen, whole rows are written, which is fast;
otherwise only the cells that changed, which takes fewer bytes. curses writes more bytes while all values change, and knows 256 colors at most.
"""

from __future__ import annotations

import bisect
import itertools
import operator
from typing import TYPE_CHECKING, Callable, Iterable, Mapping, Sequence, Tuple

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.theme import ALL_COLORS, DEFAULT, EXACT, Look, Theme
from nvitop.gui.render.width import cell_width, cells_of

if TYPE_CHECKING:
    from nvitop.gui.render.buffer import Span

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


def lacks_fine_blocks(environ: Mapping[str, str]) -> bool:
    """Return whether this is the Linux console, whose fonts lack eighth blocks and braille."""
    return environ.get('TERM') == 'linux'


def color_depth(environ: Mapping[str, str], *, is_terminal: bool, force: bool = False) -> int:
    """Return the number of colors to use: 0, 8, 16, 256, or all of 24 bits.

    ``force`` is the user's option. Otherwise, nonempty ``ANSI_COLORS_DISABLED`` and ``NO_COLOR``
    disable colors, nonempty ``FORCE_COLOR`` enables them (in this order), and the default is colors
    on terminals, except if ``TERM`` is ``dumb``.
    """
    term = environ.get('TERM', '')
    if not force:
        if environ.get('ANSI_COLORS_DISABLED') or environ.get('NO_COLOR'):
            return 0
        if not environ.get('FORCE_COLOR') and (term == 'dumb' or not is_terminal):
            return 0
    if has_all_colors(environ):
        return ALL_COLORS
    if environ.get('COLORTERM') or environ.get('WT_SESSION') or '256color' in term:
        return 256
    return 8 if term.startswith(_EIGHT_COLORS) else 16


def has_all_colors(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal shows any color of 24 bits. GNU screen does not pass them on."""
    is_screen = environ.get('TERM', '').startswith('screen') and not environ.get('TMUX')
    return environ.get('COLORTERM', '').lower() in ('truecolor', '24bit') and not is_screen


def to_ansi(buffer: Buffer, theme: Theme, colors: int) -> str:
    """Return the rows of a buffer as lines that end in a newline.

    ``colors`` is 0 (plain text), 8, 16, 256 or all of 24 bits. Each line begins and ends with the terminal's
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
    if color < EXACT:
        return f'{base + 8};5;{color}'
    color -= EXACT
    return f'{base + 8};2;{color >> 16};{color >> 8 & 255};{color & 255}'


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
_DOTS_OF_TRACKS = {ord('■'): '·', **dict(zip(map(ord, '⠉⠒⣀'), '⠁⠂⡀'))}

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


def dot_tracks(buffer: Buffer) -> None:
    """Draw empty parts of bars, and guides of graphs, with one dot in each cell."""
    buffer.translate(Role.TRACK, _DOTS_OF_TRACKS)


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


_CLEAR_TO_RIGHT = '\x1b[K'
#: Delete the character at the cursor and insert a space; the rest of the row moves.
_DELETE, _INSERT = '\x1b[P', '\x1b[@'
#: Graphs are moved if that changes at least this many cells, which take more bytes.
_MOVED = 8
#: Gaps of up to this many cells are rewritten instead of skipped.
_SHORT = 3

#: Number of cells that are compared at once.
_PART = 30

#: Column and row of a cursor that has to be placed.
_UNKNOWN = (-1, -1)

#: The characters of a row, ``''`` after a wide one, and the letters of their looks.
_Cells = Tuple[Sequence[str], str]

#: The letter of the look in which an empty screen is.
_NO_LOOK = chr(0)


class ChangeWriter:
    """Writes frames to a terminal with this many colors, which lacks some attributes.

    ``clear`` empties the screen.
    """

    def __init__(
        self, colors: int, lacking: Iterable[str] = (), *, clear: str = '\x1b[H\x1b[2J'
    ) -> None:
        self._clear = f'{RESET}{clear}'
        self._colors = colors
        self._lacking = dict.fromkeys(lacking, False)
        self._theme: Theme | None = None
        #: Letter of the look of each style. A row of letters is compared faster than one of looks.
        self._letters: dict[Style, str] = {}
        self._looks: dict[str, Look] = {}
        #: Whether each look is visible on spaces.
        self._is_visible: dict[str, bool] = {}
        #: (look, next look) → sequence.
        self._switches: dict[tuple[str, str], str] = {}
        self._size = (0, 0)
        self._rows: list[tuple[Span, ...]] = []
        #: The cells of rows that were compared; most of them are compared again with the next sample.
        self._cells: dict[int, _Cells] = {}
        #: Letter of the look in which the terminal writes.
        self._look = _NO_LOOK
        self._position = _UNKNOWN
        self._parts: list[str] = []
        self._forget_looks()

    def _forget_looks(self) -> None:
        self._letters = {}
        self._looks = {_NO_LOOK: Look()}
        self._is_visible = {_NO_LOOK: False}
        self._switches = {}

    def forget(self) -> None:
        """Clear the screen and write all of the next frame."""
        self._size = (0, 0)

    def changes(self, buffer: Buffer, theme: Theme) -> str:
        """Return what to write to a terminal that shows the last frame."""
        if theme is not self._theme:
            self._theme = theme
            self._forget_looks()
            self.forget()
        self._parts = []
        self._position = _UNKNOWN
        if self._size != (buffer.width, buffer.height):
            self._size = (buffer.width, buffer.height)
            self._parts.append(self._clear)
            self._look = _NO_LOOK
            self._rows = [()] * buffer.height
            self._cells.clear()
        rows = [buffer.row(y) for y in range(buffer.height)]
        changed = [y for y, old in enumerate(self._rows) if rows[y] != old]
        others = sum(_is_another(self._rows[y], rows[y]) for y in changed)
        if others > buffer.height // 3:
            self._cells.clear()
            for y in changed:
                self._write_row(y, rows[y])
        else:
            for y in changed:
                old = self._cells.get(y) or self._cells_of(self._rows[y])
                self._cells[y] = self._cells_of(rows[y])
                self._write_changes(y, old, self._cells[y])
        self._rows = rows
        return ''.join(self._parts)

    def _write_row(self, y: int, row: tuple[Span, ...]) -> None:
        """Write all of a row."""
        end = 0
        for x, text, style in row:
            if x > end:
                self._write(end, y, ' ' * (x - end), x - end, _NO_LOOK)
            look = self._letters.get(style) or self._letter_of(style)
            if x == row[-1][0] and not self._is_visible[look]:
                text = text.rstrip(' ')
            cells = len(text) if text.isascii() else cell_width(text)
            end = x + cells
            self._write(x, y, text, cells, look)
        if end < self._size[0]:
            self._clear_from(end, y)

    def _cells_of(self, row: tuple[Span, ...]) -> _Cells:
        chars: list[str] = []
        looks: list[str] = []
        end = 0
        for x, text, style in row:
            if x > end:
                chars.append(' ' * (x - end))
                looks.append(_NO_LOOK * (x - end))
            cells = len(text) if text.isascii() else cell_width(text)
            chars.append(text)
            looks.append((self._letters.get(style) or self._letter_of(style)) * cells)
            end = x + cells
        rest = self._size[0] - end
        return cells_of(''.join(chars) + ' ' * rest), ''.join(looks) + _NO_LOOK * rest

    def _letter_of(self, style: Style) -> str:
        assert self._theme is not None
        look = self._theme.look(style, self._colors)._replace(**self._lacking)
        letter = next((letter for letter, known in self._looks.items() if known == look), '')
        if not letter:
            letter = chr(len(self._looks))
            self._looks[letter] = look
            self._is_visible[letter] = shows_on_spaces(look)
        self._letters[style] = letter
        return letter

    def _write_changes(self, y: int, old: _Cells, new: _Cells) -> None:
        """Write the cells of a row that have changed, and clear its end if that is shorter."""
        chars, looks = new
        changed = _changed_cells(old, new)
        if len(changed) >= _MOVED:
            changed = _changed_cells(self._move_graphs(y, old, new, changed), new)
        end = len(chars)
        while end and chars[end - 1] == ' ' and not self._is_visible[looks[end - 1]]:
            end -= 1
        clears = end < len(chars) and sum(x >= end for x in changed) > _SHORT
        if clears:
            changed = [x for x in changed if x < end]
        pieces: list[tuple[int, int]] = []
        for start, stop in _runs(changed, chars, looks):
            while start < stop:
                x = start
                while start < stop and looks[start] == looks[x]:
                    start += 1
                pieces.append((x, start))
        # By look, the current one first: moving the cursor takes half the bytes of another look.
        pieces.sort(key=lambda piece: (looks[piece[0]] != self._look, looks[piece[0]]))
        for x, stop in pieces:
            self._write(x, y, ''.join(chars[x:stop]), stop - x, looks[x])
        if clears:
            self._clear_from(end, y)

    def _move_graphs(self, y: int, old: _Cells, new: _Cells, changed: Sequence[int]) -> _Cells:
        """Move the parts of a row that are one cell further left now; return what the row shows then."""
        chars, looks = old
        new_chars, new_looks = new
        if not isinstance(chars, str) or not isinstance(new_chars, str):
            return old  # it has characters that are not one cell wide
        for start, end in _moved_parts(old, new, changed):
            self._move(start, y)
            self._parts.append(_DELETE)
            self._move(end, y)
            if self._is_visible[self._look]:
                self._switch(_NO_LOOK)
            self._parts.append(_INSERT)
            self._write(end, y, new_chars[end], 1, new_looks[end])
            chars = f'{chars[:start]}{new_chars[start : end + 1]}{chars[end + 1 :]}'
            looks = f'{looks[:start]}{new_looks[start : end + 1]}{looks[end + 1 :]}'
        return chars, looks

    def _write(self, x: int, y: int, text: str, cells: int, look: str) -> None:
        """Write text of one look at a place."""
        self._move(x, y)
        if look != self._look and (
            self._is_visible[look] or self._is_visible[self._look] or not text.isspace()
        ):
            self._switch(look)
        self._parts.append(text)
        # Terminals disagree about the width of some characters.
        self._position = (x + cells, y) if cells == len(text) else _UNKNOWN

    def _clear_from(self, x: int, y: int) -> None:
        """Clear the end of a row."""
        self._move(x, y)
        if self._is_visible[self._look]:
            self._switch(_NO_LOOK)
        self._parts.append(_CLEAR_TO_RIGHT)

    def _move(self, x: int, y: int) -> None:
        """Place the cursor, with the shortest sequence."""
        if self._position != (x, y):
            old_x, old_y = self._position
            if y != old_y or x < old_x:
                self._parts.append(f'\x1b[{y + 1};{x + 1}H')
            elif x == old_x + 1:
                self._parts.append('\x1b[C')
            else:
                self._parts.append(f'\x1b[{x - old_x}C')
            self._position = (x, y)

    def _switch(self, look: str) -> None:
        change = self._switches.get((self._look, look))
        if change is None:
            change = change_of_look(self._looks[self._look], self._looks[look])
            self._switches[self._look, look] = change
        self._parts.append(change)
        self._look = look


def _is_another(old: tuple[Span, ...], new: tuple[Span, ...]) -> bool:
    """Return whether at most half of the spans begin in a column and style that the old row had."""
    kept = {(x, style) for x, _, style in old}
    return 2 * sum((x, style) in kept for x, _, style in new) <= len(new)


def _changed_cells(old: _Cells, new: _Cells) -> list[int]:
    """Return the columns whose character or look differs."""
    changed = _different(new[0], old[0])
    if new[1] != old[1]:
        changed = sorted({*changed, *_different(new[1], old[1])})
    return changed


def _moved_parts(old: _Cells, new: _Cells, changed: Sequence[int]) -> list[tuple[int, int]]:
    """Return the parts of a row that have moved left by one cell: the first column, and the one after it."""
    same_chars = map(operator.eq, old[0][1:], new[0])
    same_looks = map(operator.eq, old[1][1:], new[1])
    parts: list[tuple[int, int]] = []
    end = 0
    for has_moved, cells in itertools.groupby(map(operator.and_, same_chars, same_looks)):
        start, end = end, end + len([*cells])
        is_other = bisect.bisect_left(changed, end) - bisect.bisect_left(changed, start) >= _MOVED
        if has_moved and is_other:
            parts.append((start, end))
    return parts


def _different(values: Sequence[object], others: Sequence[object]) -> list[int]:
    """Return the indices of the values that differ; most parts of a row do not."""
    found: list[int] = []
    for start in range(0, len(values), _PART):
        part, other = values[start : start + _PART], others[start : start + _PART]
        if part != other:
            differ = map(operator.ne, part, other)  # loops in C, as a row has hundreds of cells
            found += itertools.compress(range(start, start + len(part)), differ)
    return found


def _runs(changed: Sequence[int], chars: Sequence[str], looks: str) -> list[tuple[int, int]]:
    """Return what to write in a row: whole characters, with short gaps between them."""
    runs: list[tuple[int, int]] = []
    start = stop = -1
    for x in changed:
        first = x if chars[x] else x - 1
        gap = first - stop
        if gap > 0 and (
            stop < 0
            or gap > _SHORT
            or not ''.join(chars[stop:first]).isascii()
            or set(looks[stop:first]) != {looks[stop - 1]}
        ):
            if stop >= 0:
                runs.append((start, stop))
            start = first
        stop = x + 1
        if stop < len(chars) and not chars[stop]:
            stop += 1
    if stop >= 0:
        runs.append((start, stop))
    return runs
