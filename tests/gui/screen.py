"""A terminal emulator that returns what a person would see."""

from __future__ import annotations

import pyte


def shown(output: str, *, columns: int = 80, rows: int = 24) -> list[list[str]]:
    """Return the cells of a screen after ``output``; the second of a wide character is ``''``."""
    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    # Fed one by one because pyte drops the text after a mark that it cannot compose.
    for char in output.replace('\n', '\r\n'):
        stream.feed(char)
    return [[screen.buffer[y][x].data for x in range(columns)] for y in range(rows)]
