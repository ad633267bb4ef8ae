# SPDX-License-Identifier: Apache-2.0
"""Text from outside made safe to print, rows as aligned columns and as CSV, words of a filter. Pure."""

from __future__ import annotations

import re
from typing import Callable, Container, Iterable, Mapping, Sequence
from unicodedata import category

#: Numbers are compared in groups of digits, because converting thousands of digits takes long.
_DIGITS = re.compile('([0-9]{1,18})')
#: A space at which text is not wrapped.
NO_BREAK = '\xa0'
_IN_COMMANDS = re.compile(r' (?=-)|(?<= -\w) |(?<=nvidia-smi) ')
#: A column is not cut to fewer cells.
LEAST_TEXT = 12
#: Line and paragraph separators.
_SEPARATORS = frozenset('\u2028\u2029')


def has_light_background(environ: Mapping[str, str]) -> bool:
    """Whether ``COLORFGBG``, which ends with an index of the palette with 16 colors, says so of the terminal."""
    background = environ.get('COLORFGBG', '').rpartition(';')[2]
    return background.isdecimal() and (background == '7' or int(background) > 8)


def printable(text: str) -> str:
    """Replace characters that control a terminal or the direction of text by �."""
    if text.isprintable():
        return text
    # Control, format (bidirectional marks too) and surrogate characters.
    return ''.join(
        '�' if category(char) in ('Cc', 'Cf', 'Cs') or char in _SEPARATORS else char
        for char in text
    )


def printable_lines(text: str) -> str:
    """Make a text of several lines printable, keeping its line breaks."""
    return '\n'.join(map(printable, text.split('\n')))


def with_whole_commands(text: str) -> str:
    """Replace spaces in commands by :data:`NO_BREAK`, which wrapping keeps: ``nvidia-smi -i 5``."""
    return _IN_COMMANDS.sub(NO_BREAK, text)


def aligned(
    rows: Sequence[Sequence[str]],
    left: Container[int],
    paint: Callable[[int, int, str], str] = lambda row, column, text: text,
) -> str:
    """Return rows as text with aligned columns: those in ``left`` to the left, others to the right.

    ``paint`` adds colors to the text in a row and column.
    """
    widths = [max(map(text_width, column)) for column in zip(*rows)]
    lines = []
    for row, texts in enumerate(rows):
        padded = []
        for at, (text, width) in enumerate(zip(texts, widths)):
            space = ' ' * (width - text_width(text))
            text = paint(row, at, text)
            padded.append(text + space if at in left else space + text)
        lines.append('  '.join(padded).rstrip() + '\n')
    return ''.join(lines)


def narrowed(rows: Sequence[Sequence[str]], columns: Sequence[int], width: int) -> list[list[str]]:
    """Return rows for :func:`aligned` that fit a width: long texts of some columns are cut.

    A width of 0 is no limit.
    """
    widths = [max(map(text_width, column)) for column in zip(*rows)]
    while width and columns and sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(columns, key=widths.__getitem__)
        if widths[widest] <= LEAST_TEXT:
            break
        widths[widest] -= 1
    return [[_cut(text, room) for text, room in zip(row, widths)] for row in rows]


def _cut(text: str, width: int) -> str:
    if text_width(text) <= width:
        return text
    while text_width(text) > width - 2:
        text = text[:-1]
    return f'{text}..'


def text_width(text: str) -> int:
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # 25 ms: only for texts that need it

    width: int = wcswidth(text)
    return max(0, width)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV; items of lists are separated by semicolons, and ``None`` is empty."""
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        value = ';'.join('' if item is None else str(item) for item in value)
    if not isinstance(value, str):
        return value
    return printable(value)


#: A word in quotes, with its prefix, may have spaces; while it is typed, it ends with the text.
_WORD = re.compile(r'[A-Za-z]+[:=]".*?(?:"(?=\s|$)|$)|\S+', re.DOTALL)


def filter_words(text: str) -> list[str]:
    """Return the words of a filter, with their prefixes and quotes."""
    return _WORD.findall(text)


def split_word(word: str) -> tuple[str, str, str]:
    """Return the prefix of a word in lower case, ``:`` or ``=``, and the rest; ``''`` without a prefix."""
    match = re.fullmatch(r'([A-Za-z]+)([:=])(.*)', word, re.DOTALL)
    return (match.group(1).lower(), match.group(2), match.group(3)) if match else ('', '', word)


def exact_word(prefix: str, name: str) -> str:
    """Return the word that matches only this whole name: ``'user:"al"'``."""
    return f'{prefix}:"{name}"'


def name_in_quotes(word: str) -> str | None:
    """Return the name inside the quotes of a word without its prefix; ``None`` if it has no quotes."""
    if not word.startswith('"'):
        return None
    return word[1:-1] if len(word) > 1 and word.endswith('"') else word[1:]


def contains(text: str | None, word: str) -> bool:
    """Whether the text contains a word. Case matters if the word has an upper-case letter."""
    return text is not None and word in (text if word != word.lower() else text.lower())


def is_named(text: str | None, word: str) -> bool:
    """Whether the text contains a word of a filter, or is the name in its quotes."""
    name = name_in_quotes(word)
    return contains(text, word) if name is None else text == name


def natural(text: str) -> tuple[list[str | int], str]:
    """Return a key that sorts ``gpu9`` before ``gpu10``."""
    parts: list[str | int] = [*_DIGITS.split(text)]
    parts[1::2] = [int(digits) for digits in parts[1::2]]
    return parts, text


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``'1 host'``, ``'2,000 hosts'``, ``'3 processes'``."""
    ending = '' if number == 1 else 'es' if noun.endswith('s') else 's'
    return f'{number:,} {noun}{ending}'
