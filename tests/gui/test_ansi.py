"""Reports with ANSI colors, read back by a terminal emulator."""

from __future__ import annotations

import pyte
import pyte.graphics
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.render.ansi import color_depth, to_ansi, to_ascii
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import DEFAULT, THEMES, Look, Role, Style, theme_named
from nvitop.gui.render.width import cell_width, safe

NAMES = [theme.name for theme in THEMES]
WIDTH, HEIGHT = 16, 3
STYLES = st.builds(
    Style,
    st.sampled_from(list(Role)),
    *[st.booleans()] * 2,
    *[st.sampled_from([False, False, True])] * 4,
)
WRITES = st.tuples(
    st.integers(-2, WIDTH), st.integers(0, HEIGHT - 1), st.text('ab 漢│', max_size=6), STYLES
)


def drawn(writes: list[tuple[int, int, str, Style]]) -> Buffer:
    buffer = Buffer(WIDTH, HEIGHT)
    for x, y, text, style in writes:
        buffer.write(x, y, text, style)
    return buffer


def color_name(color: int, base: int) -> str:
    if color == DEFAULT:
        return 'default'
    if color < 16:
        basic, bright = pyte.graphics.FG, pyte.graphics.FG_AIXTERM
        if base == 40:
            basic, bright = pyte.graphics.BG, pyte.graphics.BG_AIXTERM
        return str(basic[base + color] if color < 8 else bright[base + 60 + color - 8])
    return str(pyte.graphics.FG_BG_256[color])


@given(st.lists(WRITES, max_size=8), st.sampled_from(NAMES), st.sampled_from([8, 16, 256]))
def test_terminal_shows_the_buffer(
    writes: list[tuple[int, int, str, Style]], name: str, colors: int
) -> None:
    buffer, theme = drawn(writes), theme_named(name)
    screen = pyte.Screen(WIDTH + 1, HEIGHT + 1)
    pyte.Stream(screen).feed(to_ansi(buffer, theme, colors).replace('\n', '\r\n'))
    for y in range(HEIGHT):
        looks = [Look()] * WIDTH
        for x, text, style in buffer.row(y):
            looks[x : x + cell_width(text)] = [theme.look(style, colors)] * cell_width(text)
        cells = [screen.buffer[y][x] for x in range(WIDTH)]
        assert ''.join(cell.data for cell in cells).rstrip() == buffer.lines()[y]
        for cell, look in zip(cells, looks):
            # Only these attributes are visible on a space.
            assert cell.bg == color_name(look.background, 40)
            assert (cell.reverse, cell.underscore) == (look.reverse, look.underline)
            if cell.data.strip() or look.reverse or look.underline:
                assert cell.fg == color_name(look.foreground, 30)
                assert (cell.bold, cell.italics, cell.blink) == (look.bold, look.italic, look.blink)
        assert screen.buffer[y][WIDTH] == screen.default_char


@pytest.mark.parametrize(
    ('environ', 'is_terminal', 'force', 'expected'),
    [
        ('TERM=xterm-256color', True, False, 256),
        ('WT_SESSION=1', True, False, 256),
        ('TERM=xterm', True, False, 16),
        ('TERM=linux', True, False, 8),
        ('TERM=xterm-256color', False, False, 0),
        ('TERM=xterm-256color', False, True, 256),
        ('TERM=xterm-256color NO_COLOR=1', True, False, 0),
        ('TERM=xterm-256color ANSI_COLORS_DISABLED=1 FORCE_COLOR=1', True, False, 0),
        ('TERM=dumb', True, False, 0),
        ('TERM=dumb FORCE_COLOR=1', True, False, 16),
    ],
)
def test_color_depth(environ: str, is_terminal: bool, force: bool, expected: int) -> None:
    variables = dict(pair.split('=', 1) for pair in environ.split())
    assert color_depth(variables, is_terminal=is_terminal, force=force) == expected


def test_ascii_keeps_every_cell() -> None:
    rows = {
        '╒══╤══╕ ├──┼──┤ ╘══╧══╛': '+==+==+ +--+--+ +==+==+',
        '│ MEM: ███▍ 38% ░░░ N/A│': '| MEM: ###. 38%     N/A|',
        '⢀⣴⣾⣿⣿ PID▲ %SM▼ ├─ └─ │': '===== PID^ %SMv +- +- |',
        '漢字 é ␤ q\u0323x': '???? ? ? qx',
    }
    buffer = Buffer(30, len(rows))
    for y, text in enumerate(rows):
        buffer.write(0, y, safe(text), Style(Role.BORDER))
    copy = to_ascii(buffer)
    assert copy.lines() == list(rows.values())
    assert all(copy.row(y)[0][2] == Style(Role.BORDER) for y in range(len(rows)))
    assert buffer.lines() != copy.lines()
