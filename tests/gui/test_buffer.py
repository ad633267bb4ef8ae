"""Buffers, compared with a simple grid of cells."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from wcwidth import wcwidth

from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import BARS, PLAIN, STATES, Role, Style
from nvitop.gui.render.width import cell_width

BOLD = Style(bold=True)
CPU = Style(Role.UTILIZATION)

WIDTH, HEIGHT = 12, 3
COLUMNS = st.integers(-4, WIDTH + 4)
TEXTS = st.text('ab │漢e\u0301', max_size=8).filter(lambda text: not text.startswith('\u0301'))
STYLES = st.sampled_from([PLAIN, BOLD, CPU])
RECTS = st.builds(Rect, COLUMNS, st.integers(-1, HEIGHT), st.integers(0, 8), st.integers(0, 4))
WRITES = st.tuples(
    COLUMNS, st.integers(-1, HEIGHT), TEXTS, STYLES, st.one_of(st.none(), st.integers(0, 6))
)


class Grid:
    """A screen as a grid of cells. The right half of a wide character is an empty string."""

    def __init__(self) -> None:
        self.cells = [[(' ', PLAIN)] * WIDTH for _ in range(HEIGHT)]

    def put(self, x: int, y: int, text: str, style: Style) -> None:
        """Set the cells of a character. Wide characters that it cuts in half become spaces."""
        row = self.cells[y]
        cells = [(text, style)] + [('', style)] * (wcwidth(text[0]) - 1)
        for i in range(x, x + len(cells)):
            if row[i][0] == '':
                row[i - 1 : i + 1] = [(' ', row[i - 1][1]), (' ', row[i][1])]
            if i + 1 < WIDTH and row[i + 1][0] == '':
                row[i : i + 2] = [(' ', row[i][1]), (' ', row[i + 1][1])]
        row[x : x + len(cells)] = cells

    def write(self, x: int, y: int, text: str, style: Style, width: int | None) -> None:
        if not 0 <= y < HEIGHT:
            return
        right = WIDTH if width is None else min(WIDTH, x + width)
        characters: list[str] = []
        for char in text:
            if wcwidth(char):
                characters.append(char)
            else:
                characters[-1] += char
        for character in characters:
            size = wcwidth(character[0])
            if x >= 0 and x + size <= right:
                self.put(x, y, character, style)
            else:
                for i in range(x, x + size):
                    if 0 <= i < right:
                        self.put(i, y, ' ', style)
            x += size

    def restyle(self, rect: Rect) -> None:
        for y, row in enumerate(self.cells):
            for x in (rect.x, rect.right):  # half a wide character cannot be restyled
                if rect.y <= y < rect.bottom and rect.width and 0 < x < WIDTH and row[x][0] == '':
                    row[x - 1 : x + 1] = [(' ', row[x - 1][1]), (' ', row[x][1])]
            for x, (char, style) in enumerate(row):
                if rect.contains(x, y):
                    if style.role in BARS | STATES:
                        row[x] = (char, style._replace(back=style.back or Role.SELECTED))
                    else:
                        row[x] = (char, style._replace(role=Role.SELECTED))


def grid_of(buffer: Buffer) -> list[list[tuple[str, Style]]]:
    grid = Grid()
    for y in range(HEIGHT):
        end = 0
        for x, text, style in buffer.row(y):
            assert x >= end, 'spans overlap or are not sorted'
            end = x + cell_width(text)
            assert end <= WIDTH, 'a span reaches beyond the buffer'
            assert end > x, 'a span is empty'
            grid.write(x, y, text, style, None)
    return grid.cells


@settings(max_examples=300)
@given(st.lists(st.one_of(WRITES, RECTS), max_size=12))
def test_buffer_shows_the_same_as_a_grid_of_cells(steps: list[tuple[object, ...]]) -> None:
    buffer, grid = Buffer(WIDTH, HEIGHT), Grid()
    for step in steps:
        if isinstance(step, Rect):
            buffer.restyle(step, role=Role.SELECTED)
            grid.restyle(step)
        else:
            x, y, text, style, width = step
            assert isinstance(x, int)
            assert isinstance(y, int)
            assert isinstance(text, str)
            assert isinstance(style, Style)
            assert width is None or isinstance(width, int)
            used = buffer.write(x, y, text, style, width=width)
            cells = sum(max(0, wcwidth(char)) for char in text)
            assert used == (cells if width is None else min(cells, width))
            grid.write(x, y, text, style, width)
    assert grid_of(buffer) == grid.cells
    assert buffer.lines() == [''.join(c for c, _ in row).rstrip(' ') for row in grid.cells]
