# SPDX-License-Identifier: Apache-2.0
"""Rows as text: aligned columns for people, and CSV. Pure."""

from __future__ import annotations

import csv
import io
from typing import Container, Iterable, Sequence

from nvitop.basics.printable import printable


def aligned(rows: Sequence[Sequence[str]], left: Container[int]) -> str:
    """Return rows as text with aligned columns: those in ``left`` to the left, others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ''.join(
        '  '.join(
            text.ljust(width) if at in left else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths))
        ).rstrip()
        + '\n'
        for row in rows
    )


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
