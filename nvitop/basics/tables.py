# SPDX-License-Identifier: Apache-2.0
"""Rows as text: aligned columns for people, and CSV. Pure."""

from __future__ import annotations

import csv
import io
from typing import Container, Iterable, Sequence

from nvitop.basics.printable import printable


def aligned(rows: Sequence[Sequence[str]], left: Container[int]) -> str:
    """Return rows as text with aligned columns: those in ``left`` to the left, others to the right."""
    widths = [max(map(text_width, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        padded = []
        for at, (text, width) in enumerate(zip(row, widths)):
            space = ' ' * (width - text_width(text))
            padded.append(text + space if at in left else space + text)
        lines.append('  '.join(padded).rstrip() + '\n')
    return ''.join(lines)


def text_width(text: str) -> int:
    """Return the width of a text in terminal cells."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # 25 ms: only for texts that need it

    width: int = wcswidth(text)
    return max(0, width)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV; items of lists are separated by semicolons, and ``None`` is empty."""
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        value = ';'.join('' if item is None else str(item) for item in value)
    if not isinstance(value, str):
        return value
    return printable(value)
