# SPDX-License-Identifier: GPL-3.0-only
"""Width of text in cells, and the one function that makes text from outside safe to draw."""

from __future__ import annotations

import functools
import re
import unicodedata

#: Default maximum length of text from outside, in characters.
LIMIT = 4096
#: Maximum number of combining marks on one character; others are removed.
MAX_MARKS = 3

#: Maximum length of text whose width is remembered.
_LONGEST_KNOWN = 256
_UNKNOWN = '\ufffd'
# Common characters, which need no look-up of each one: Latin, Greek, Cyrillic, punctuation, arrows,
# mathematics, control pictures, boxes, blocks, triangles, braille …
_NARROW = (
    ' -~\xa0-\xac\xae-\u02ff\u0391-\u03a1\u03a3-\u03ce\u0400-\u045f\u2010-\u2027\u2030-\u205e'
    '\u20ac\u2190-\u22ff\u2400-\u2426\u2500-\u25fc\u2800-\u28ff\ufffd'
)
# … kana, CJK ideographs and punctuation, Hangul syllables, full-width forms.
_WIDE = '\u3000-\u3029\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fa5\uac00-\ud7a3\uff01-\uff60'
# Joiners, variation selectors and skin tones. Terminals disagree on the width of sequences with
# them, and agree on the width of the characters without them.
_JOINING = '\u200c\u200d\ufe00-\ufe0f\u180b-\u180d\u180f\U000e0100-\U000e01ef\U0001f3fb-\U0001f3ff'
# Vowels of Hangul, fillers, and symbols that became wide in Unicode 16: tables disagree on their width.
# Terminals use tables like them. The tests compare the width of all others with that of wcwidth, which
# takes 25 ms to import.
_DISPUTED = (
    '\u1160-\u11ff\u1734\u2630-\u2637\u268a-\u268f\u3164\u4dc0-\u4dff\ud7b0-\ud7fb\uffa0'
    '\U0001171e\U0001d300-\U0001d376\U0001f93b\U0001f946'
)

_all_narrow = re.compile(f'[{_NARROW}]*').fullmatch


# Compiled on use and cached by `re`: this takes 3 ms, and few commands contain such characters.
def _all_agreed(text: str) -> re.Match[str] | None:
    return re.fullmatch(f'[{_NARROW}{_WIDE}]*', text)


def cell_width(text: str) -> int:
    """Return the width of safe text in cells: 0 for combining marks, 2 for East Asian wide ones."""
    if text.isascii():
        return len(text)
    return _known_width(text) if len(text) <= _LONGEST_KNOWN else _width(text)


def _width(text: str) -> int:
    if _all_narrow(text):
        return len(text)
    if _all_agreed(text):
        return len(text) + len(re.findall(f'[{_WIDE}]', text))
    widths = _widths(text)
    return sum(widths[char] for char in text)


# Cached because the same borders and bars are in every frame.
_known_width = functools.lru_cache(maxsize=1024)(_width)


def _widths(text: str) -> dict[str, int]:
    return {char: _char_width(char) for char in set(text)}


def _char_width(char: str) -> int:
    if unicodedata.category(char) == 'Mn':
        return 0
    return 2 if unicodedata.east_asian_width(char) in {'W', 'F'} else 1


def cut(text: str, start: int, width: int) -> str:
    """Return the cells from ``start`` to ``start + width`` of safe text.

    A wide character that is only half inside becomes a space. A combining mark stays with its
    character. The result is ``width`` cells wide if the text is long enough.
    """
    if width <= 0:
        return ''
    if text.isascii() or _all_narrow(text):
        return text[start : start + width]
    widths = _widths(text)
    kept: list[str] = []
    end = start + width
    x = 0
    inside = False
    for char in text:
        cells = widths[char]
        if cells == 0:
            if inside:
                kept.append(char)
            continue
        if x >= end:
            break
        inside = x >= start and x + cells <= end
        if inside:
            kept.append(char)
        elif x + cells > start:
            kept.append(' ')
        x += cells
    return ''.join(kept)


def clip(text: str, width: int, ellipsis: str = '..') -> str:
    """Cut safe text at its right end to at most ``width`` cells; ``ellipsis`` marks the cut.

    Points right before it are left out, which would read as a longer mark.
    """
    if cell_width(text) <= width:
        return text
    room = width - cell_width(ellipsis)
    if room <= 0:
        return cut(ellipsis, 0, width)
    start = cut(text, 0, room)
    return start.rstrip('.') + ellipsis if ellipsis else start


def clip_left(text: str, width: int) -> str:
    """Cut safe text at its left end to at most ``width`` cells, for names that differ at the end."""
    cells = cell_width(text)
    if cells <= width:
        return text
    room = width - len('..')
    return '..' + cut(text, cells - room, room) if room > 0 else '..'[:width]


def clip_scrolled(text: str, start: int, width: int) -> str:
    """Cut safe text that is scrolled by ``start`` cells; ``..`` marks the cut at each end.

    Without the mark at the left end, a part of a number would read as another number.
    """
    if text and start:
        text = '..' + cut(text, start + len('..'), cell_width(text))
    return clip(text, width)


def pad(text: str, width: int, align: str = '<') -> str:
    """Fill safe text with spaces to ``width`` cells, without cutting it.

    ``align`` is ``<``, ``>`` or ``^``.
    """
    missing = width - cell_width(text)
    if missing <= 0:
        return text
    if align == '<':
        return text + ' ' * missing
    left = missing if align == '>' else missing // 2
    return ' ' * left + text + ' ' * (missing - left)


def wrap(text: str, width: int, most: int = 1000) -> list[str]:
    """Wrap safe text to lines of at most ``width`` cells (2 or more), between words if possible.

    The last of at most ``most`` lines is cut.
    """
    lines = ['']
    for word in _words(text):
        longer = f'{lines[-1]} {word}' if lines[-1] else word
        if cell_width(longer) <= width:
            lines[-1] = longer
        else:
            pieces = _pieces(word, width)
            lines[-1:] = [lines[-1], *pieces] if lines[-1] else pieces
    if len(lines) > most:
        lines[most - 1 :] = [clip(' '.join(lines[most - 1 :]), width)]
    return lines


def _words(text: str) -> list[str]:
    """Split text at spaces, except at those with a combining mark."""
    words: list[str] = []
    for word in text.split(' '):
        if words and word and not word[0].isascii() and _char_width(word[0]) == 0:
            words[-1] += f' {word}'
        else:
            words.append(word)
    return words


def _pieces(word: str, width: int) -> list[str]:
    widths = _widths(word)
    pieces = ['']
    x = 0
    for char in word:
        if x + widths[char] > width:
            pieces.append('')
            x = 0
        pieces[-1] += char
        x += widths[char]
    return pieces


def safe(text: str, *, limit: int = LIMIT) -> str:
    """Make text from outside safe to draw; all terminals draw the result in the same cells.

    * Text longer than ``limit`` characters is cut and ends in ``..``.
    * A control character becomes its picture: escape ``␛``, tab ``␉``, newline ``␤``, delete ``␡``.
    * Other characters that control a terminal or whose width differs become ``�``: C1 controls,
      bidirectional marks, overrides and isolates, other invisible characters, line separators,
      lone surrogates, spacing marks, unassigned characters.
    * Flags become their two letters. Joiners, variation selectors, skin tones and enclosing marks
      are removed: a joined emoji is drawn as its parts.
    * At most three combining marks stay on a character, and none without a character before it.

    The function is idempotent.
    """
    if len(text) > limit:
        text = text[: max(0, limit - 2)] + '..'[:limit]
    if (text.isascii() and text.isprintable()) or _all_agreed(text):
        return text
    text = unicodedata.normalize('NFC', text)
    text = text.translate({ord(char): _drawn(char) for char in set(text)})
    text = unicodedata.normalize('NFC', text)
    return text if all(_widths(text).values()) else _with_few_marks(text)


@functools.lru_cache(maxsize=2048)
def _drawn(char: str) -> str:
    """Return the text drawn for one character from outside."""
    if _all_narrow(char) or _all_agreed(char):
        return char
    code = ord(char)
    if code < 0x20:
        return '␤' if char == '\n' else chr(0x2400 + code)
    if code == 0x7F:
        return '␡'
    if 0x1F1E6 <= code <= 0x1F1FF:
        return chr(code - 0x1F1E6 + ord('A'))
    if re.match(f'[{_JOINING}]', char):
        return ''
    category = unicodedata.category(char)
    if category == 'Me':
        return ''
    is_drawn = category not in {'Cc', 'Cf', 'Cs', 'Cn', 'Zl', 'Zp', 'Mc'}
    return char if is_drawn and not re.match(f'[{_DISPUTED}]', char) else _UNKNOWN


def _with_few_marks(text: str) -> str:
    kept: list[str] = []
    marks = MAX_MARKS
    for char in text:
        if _char_width(char):
            marks = 0
        else:
            marks += 1
            if marks > MAX_MARKS:
                if not kept:
                    kept.append(_UNKNOWN)
                continue
        kept.append(char)
    return ''.join(kept)
