# SPDX-License-Identifier: Apache-2.0
"""Where in a TOML text a key stands: the parser does not tell, and errors should."""

from __future__ import annotations

import re
from typing import Union

Part = Union[str, int]

_HEADER = re.compile(r'^\s*(\[\[?)\s*([A-Za-z0-9_.\- ]+?)\s*\]\]?\s*(?:#.*)?$')
_KEY = re.compile(r'^\s*([A-Za-z0-9_-]+)\s*=')


def key_lines(text: str) -> dict[tuple[Part, ...], int]:
    """Path of each table and key → number of its line, e.g. ``('gpu', 0, 'name')`` → 7.

    Good enough for messages: keys within inline tables and multi-line values are not found.
    """
    lines: dict[tuple[Part, ...], int] = {}
    table: tuple[Part, ...] = ()
    counts: dict[tuple[Part, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header:
            table = _table_path(header.group(2).split('.'), header.group(1) == '[[', counts)
            lines.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            lines.setdefault((*table, key.group(1)), number)
    return lines


def _table_path(
    names: list[str], is_array: bool, counts: dict[tuple[Part, ...], int]
) -> tuple[Part, ...]:
    path: tuple[Part, ...] = ()
    for i, name in enumerate(names):
        path = (*path, name.strip())
        if is_array and i == len(names) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path
