# SPDX-License-Identifier: GPL-3.0-only
"""The list of a screen: which line is selected, which follows its key, and which lines are visible."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.gui.render.geometry import Rect
from nvitop.gui.state.app_state import AppState


class ListLayout(NamedTuple):
    """Places of the lines of a list."""

    #: The rows available for lines.
    area: Rect
    #: Number of lines, and index of the first one on the screen.
    length: int
    scroll_y: int
    #: Rows of a line.
    line_height: int = 1

    @property
    def visible(self) -> int:
        return self.area.height // self.line_height

    @property
    def shown(self) -> range:
        return range(self.scroll_y, min(self.length, self.scroll_y + self.visible))

    def row_of(self, line: int) -> int:
        return self.area.y + (line - self.scroll_y) * self.line_height

    def at(self, y: int) -> int | None:
        line = (y - self.area.y) // self.line_height + self.scroll_y
        return line if self.area.y <= y < self.area.bottom and line < self.length else None


def line_count(state: AppState) -> int:
    return len(state.spec.lines(state.inner))


def current_line(state: AppState) -> int | None:
    """Return the index of the selected line, or of the one in its place if it has left.

    ``None`` if no line is selected, which only some lists allow.
    """
    spec, position = state.spec, state.position
    lines, key_of = spec.lines(state.inner), spec.key_of
    if key_of is not None and position.key is not None:
        found = (i for i, line in enumerate(lines) if key_of(line) == position.key)
        index = next(found, None)
        if index is not None:
            return index
    return None if spec.can_deselect else max(0, min(position.cursor, len(lines) - 1))


def lines_layout(state: AppState) -> ListLayout:
    """Return the places of the lines.

    The first line on the screen is as near to the position as possible with the selected one in view.
    """
    spec, inner = state.spec, state.inner
    top, bottom = spec.margins(inner) if spec.margins is not None else (0, 0)
    area = Rect(0, top, inner.width, max(0, inner.body_height - top - bottom))
    visible, count = area.height // spec.line_height, line_count(state)
    scroll_y = state.position.scroll_y
    line = current_line(state) if spec.has_cursor else None
    if line is not None:
        scroll_y = max(line + 1 - visible, min(scroll_y, line))
    scroll_y = max(0, min(scroll_y, count - visible))
    if inner is not state:
        area = area._replace(x=state.margin, y=area.y + 1)
    return ListLayout(area, count, scroll_y, spec.line_height)


def go_to_line(state: AppState, line: int) -> AppState:
    """Select the line nearest to an index, and scroll it into view."""
    scroll_y = lines_layout(state).scroll_y if state.spec.has_cursor else line
    return select_line(state, line, scroll_y)


def select_line(state: AppState, line: int, scroll_y: int) -> AppState:
    """Select the line nearest to an index; ``scroll_y`` is the first one on the screen if possible."""
    spec, lines = state.spec, state.spec.lines(state.inner)
    if not lines:
        return state
    line = max(0, min(line, len(lines) - 1))
    key = None if spec.key_of is None else spec.key_of(lines[line])
    moved = state.at(state.position._replace(key=key, cursor=line, scroll_y=scroll_y))
    scroll_y = lines_layout(moved).scroll_y
    line = line if spec.has_cursor else scroll_y
    return moved.at(moved.position._replace(cursor=line, scroll_y=scroll_y))


def deselect(state: AppState) -> AppState:
    return state.at(state.position._replace(key=None))
