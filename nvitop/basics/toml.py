# SPDX-License-Identifier: Apache-2.0
"""TOML files: parsed values, and where each key is, for error messages."""

from __future__ import annotations

import re
import sys
from typing import Any, Collection, Iterable, Sequence, Union

#: A key of a table, or an index into an array of tables.
Part = Union[str, int]

_NAME = r'(?:[A-Za-z0-9_-]+|"[^"]*"|\'[^\']*\')'
_PATH = rf'{_NAME}(?:\s*\.\s*{_NAME})*'
_HEADER = rf'\s*(\[\[?)\s*({_PATH})\s*\]'
_KEY = rf'\s*({_PATH})\s*='
#: A message about an unknown word lists the known ones only if there are at most this many.
MOST_LISTED = 40
_PLACE = r'\s*\(at (?:line (\d+), column \d+|end of document)\)'


class TomlError(ValueError):
    """The text is not valid TOML."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        #: Counts from 1; 0 if the parser does not report it.
        self.line = line


class TomlDocument:
    """A parsed TOML text that knows the line of each key."""

    def __init__(self, text: str) -> None:
        """Parse the text, without a byte order mark; TomlError if it is not valid TOML."""
        self._text = text[1:] if text.startswith('\ufeff') else text
        self._lines: dict[tuple[Part, ...], int] | None = None
        self.values = _parse(self._text)

    def line_of(self, path: Sequence[Part]) -> int:
        """The line that sets a key, or opens the innermost table around it; 0 if unknown.

        ``('gpu', 0, 'name')`` is the key ``name`` of the first table ``[[gpu]]``. Keys of inline
        tables have the line of the key that holds the table.
        """
        if self._lines is None:
            self._lines = _key_lines(self._text)
        for end in range(len(path), 0, -1):
            line = self._lines.get(tuple(path[:end]))
            if line is not None:
                return line
        return 0


def suggestion(word: str, known: Iterable[str]) -> str:
    """``"; did you mean 'name'?"`` if a known word is similar or begins so, else ``''``."""
    import difflib  # only needed in error messages

    # Leading hyphens would make all short options similar.
    names = {name.lstrip('-'): name for name in known}
    wanted = word.lstrip('-')
    similar = [name for name in names if name.startswith(f'{wanted}.')]
    similar = similar or difflib.get_close_matches(wanted, names, 1)
    if not similar and len(wanted) > 2:
        similar = [name for name in names if name.startswith(wanted)]
    return f'; did you mean {names[similar[0]]!r}?' if similar else ''


def unknown(noun: str, word: str, known: Collection[str]) -> str:
    """A message about an unknown word: the known ones are listed, if there are not too many."""
    hint = suggestion(word, known)
    if not hint and len(known) <= MOST_LISTED:
        hint = f'; use {", ".join(known)}'
    return f'unknown {noun} {word!r}{hint}'


def _parse(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = re.search(_PLACE, message)
        if place is None:
            raise TomlError(f'not valid TOML: {message}', 0) from None
        line = int(place.group(1) or text.rstrip().count('\n') + 1)
        message = message.replace(place.group(), '')
        raise TomlError(f'not valid TOML: {message}', line) from None


def _key_lines(text: str) -> dict[tuple[Part, ...], int]:
    """Line of each table and of each key at the start of a line; the first one counts."""
    lines: dict[tuple[Part, ...], int] = {}
    table: tuple[Part, ...] = ()
    counts: dict[tuple[Part, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(_HEADER, line)
        if header:
            table = _table_path(_names(header.group(2)), header.group(1) == '[[', counts)
            lines.setdefault(table, number)
            continue
        key = re.match(_KEY, line)
        if key:
            names = _names(key.group(1))
            for end in range(1, len(names) + 1):
                lines.setdefault((*table, *names[:end]), number)
    return lines


def _names(path: str) -> list[str]:
    return [name.strip('"\'') for name in re.findall(_NAME, path)]


def _table_path(
    names: list[str], is_array: bool, counts: dict[tuple[Part, ...], int]
) -> tuple[Part, ...]:
    path: tuple[Part, ...] = ()
    for i, name in enumerate(names):
        path = (*path, name)
        if is_array and i == len(names) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
