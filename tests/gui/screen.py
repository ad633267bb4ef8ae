"""A terminal emulator that says what a person would see."""

from __future__ import annotations

import pyte


def shown(output: str, *, columns: int = 80, rows: int = 24) -> list[list[str]]:
    """The cells of a screen after ``output``; the second one of a wide character is ``''``."""
    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    # One by one: pyte drops the rest of a piece of text after a mark that it cannot compose.
    for char in output.replace('\n', '\r\n'):
        stream.feed(char)
    return [[screen.buffer[y][x].data for x in range(columns)] for y in range(rows)]


def shown_lines(output: str, *, columns: int = 80, rows: int = 24) -> list[str]:
    """The same as text, without the spaces at the end of a row and the empty rows below."""
    lines = [''.join(row).rstrip(' ') for row in shown(output, columns=columns, rows=rows)]
    while lines and not lines[-1]:
        lines.pop()
    return lines
