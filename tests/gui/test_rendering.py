"""Cells, buffers, themes and colors: hostile text, styles, and reports with ANSI colors."""

from __future__ import annotations

import re
import unicodedata

import pyte
import pyte.graphics
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wcwidth import wcswidth, wcwidth

from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.ansi import color_depth, to_ansi, to_ascii
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import (
    DEFAULT,
    PLAIN,
    THEMES,
    Look,
    Role,
    Style,
    Theme,
    resolve_theme,
    theme_named,
)
from nvitop.gui.render.width import cell_width, clip, clip_left, clip_scrolled, cut, pad, safe, wrap
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import BackgroundReported
from nvitop.gui.state.update import update
from tests.gui.drawing import shown
from tests.gui.random_samples import HOSTILE

SAFE = HOSTILE.map(safe)
FORBIDDEN = re.compile(
    '[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff'
    '\ufe00-\ufe0f\U000e0000-\U000e0fff]'
)


@settings(max_examples=400)
@given(HOSTILE)
@example('\x1b]0;title\x07\x1b[31m')
@example('👩\u200d👩\u200d👧 🇩🇪🇫🇷 ❤\ufe0f 1\ufe0f\u20e3 👍🏽 🏴\U000e0067\U000e0062\U000e007f')
@example('e\u0301' * 5 + '\u0301' * 50)
@example('\u0958\ufb1d\u212b\u2126')
def test_safe_text_has_the_width_that_a_terminal_gives_it(text: str) -> None:
    result = safe(text)
    assert not FORBIDDEN.search(result)
    assert safe(result) == result
    assert unicodedata.is_normalized('NFC', result)
    row = shown(result + '⟧', columns=80, rows=1)[0]
    assert len(row) - 1 - row[::-1].index('⟧') == cell_width(result)
    assert cell_width(result) == wcswidth(result)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('\x1b]0;owned\x07', '␛]0;owned␇'),
        ('a\nb\tc\x00d\x7f', 'a␤b␉c␀d␡'),
        ('\x9b31m\x85', '\ufffd31m\ufffd'),
        ('\u2066a\u2069\u200b\ufeff\u2028', '\ufffda\ufffd\ufffd\ufffd\ufffd'),
        ('cafe\u0301', 'café'),
        ('x\u0301\u0302\u0303\u0304\u0305', 'x\u0301\u0302\u0303'),
        ('\u0301abc', '\ufffdabc'),
        ('🇩🇪', 'DE'),
        ('❤\ufe0f', '❤'),
        ('\U0010ffff\u0378', '\ufffd\ufffd'),
    ],
)
def test_safe_text(text: str, expected: str) -> None:
    assert safe(text) == expected


def test_characters_that_are_drawn_have_the_same_width_in_all_tables() -> None:
    # One of 16 ideographs and syllables is enough.
    codes = (*range(0x3400), *range(0x3400, 0xD7B0, 16), *range(0xD7B0, 0x20000))
    drawn = [char for char in map(chr, codes) if safe(char) == char]
    assert len(drawn) > 10_000
    for char in drawn:
        cells = 1 + (unicodedata.east_asian_width(char) in {'W', 'F'})
        assert cell_width(char) == wcwidth(char) == cells, hex(ord(char))
        assert unicodedata.normalize('NFC', char) == char, hex(ord(char))


@given(SAFE, st.integers(0, 30), st.integers(0, 30))
def test_cut_returns_the_requested_cells(text: str, start: int, size: int) -> None:
    piece = cut(text, start, size)
    assert cell_width(piece) == max(0, min(size, cell_width(text) - start))
    if start >= cell_width(text):
        assert piece == ''
    whole = cut(text, 0, start) + piece + cut(text, start + size, 1000)
    assert cell_width(whole) == cell_width(text)


@given(SAFE, st.integers(0, 30))
def test_clipped_text_fits_its_width(text: str, size: int) -> None:
    for clipped in (clip(text, size), clip_left(text, size)):
        assert cell_width(clipped) == min(cell_width(text), size)
        assert cell_width(text) > size or clipped == text
    for align in '<>^':
        assert cell_width(pad(text, size, align)) == max(cell_width(text), size)


@pytest.mark.parametrize(
    ('result', 'expected'),
    [
        (clip('NVIDIA H100', 8), 'NVIDIA..'),
        (clip('1c.4g.40gb', 8), '1c.4g..'),
        (clip('1c.4g.40gb', 6, ''), '1c.4g.'),
        (clip('username', 2), '..'),
        (clip('漢字漢字', 5), '漢 ..'),
        (clip_left('Tesla V100-SXM2-32GB', 12), '..-SXM2-32GB'),
        (clip_scrolled('HOME=/root', 3, 9), '../root'),
        (clip_scrolled('HOME=/root', 30, 6), '..'),
        (clip_scrolled('漢字漢字', 1, 9), '.. 漢字'),
        (cut('漢字漢字', 1, 4), ' 字 '),
        (pad('ab', 5, '^'), ' ab  '),
        (clip('漢字', 3, '+'), '漢+'),
    ],
)
def test_width_examples(result: str, expected: str) -> None:
    assert result == expected


@given(SAFE, st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_only_spaces(text: str, size: int) -> None:
    lines = wrap(text, size)
    assert all(cell_width(line) <= size for line in lines)
    assert ''.join(lines).replace(' ', '') == text.replace(' ', '')
    assert all(cell_width(line[:1]) for line in lines if line)


# Buffers, compared with a simple grid of cells


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
                    row[x] = (char, style._replace(back=style.back or Role.SELECTED))


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
            buffer.restyle(step, back=Role.SELECTED)
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


# Themes: every role in every theme and size of palette


PALETTES = (8, 16, 256)
METRICS = (Role.UTILIZATION, Role.MEMORY, Role.OTHER)
THEME_BARS = (*METRICS, Role.HELD)
themes = pytest.mark.parametrize('theme', THEMES, ids=[theme.name for theme in THEMES])


@themes
@pytest.mark.parametrize('colors', [0, *PALETTES])
def test_roles_that_must_differ_look_different(theme: Theme, colors: int) -> None:
    def look(role: Role, back: Role | None = None) -> Look:
        return theme.look(Style(role, back=back), colors)

    assert look(Role.TEXT) == Look() != look(Role.DIM)
    rows = [(role, back) for role in (Role.TEXT, Role.TAGGED) for back in (None, Role.SELECTED)]
    assert len({look(*row) for row in rows}) == 4
    if colors and theme.name != 'mono':
        states = {look(role) for role in (Role.TEXT, Role.WARNING, Role.IDLE, Role.ERROR)}
        assert len(states) == 4
        # A tagged zombie must look tagged, because it gets a signal. Without colors, only its mark does.
        assert look(Role.TAGGED) not in {look(Role.WARNING), look(Role.ERROR)}
        assert look(Role.UTILIZATION) != look(Role.MEMORY)
        assert colors < 256 or look(Role.OTHER) != look(Role.SENT)
        assert states.isdisjoint({look(role) for role in METRICS})


def test_borders_are_brighter_while_paused() -> None:
    for theme in THEMES:
        paused = theme_named(theme.name, is_paused=True)
        assert paused.look(Style(Role.BORDER), 256) == Look()
        assert paused.look(Style(Role.DIM), 256) == theme.look(Style(Role.DIM), 256)


#: Theme → backgrounds that it is made for.
BACKGROUNDS = {'dark': (0x000000, 0x101216), 'light': (0xFFFFFF,), 'colorblind': (0x101216,)}
#: Roles of text that people read; others are lines and tracks.
READ = (
    *(Role.DIM, Role.HEADING, Role.IDLE, Role.ERROR, Role.WARNING, Role.KEY, Role.TAGGED),
    Role.INPUT,
)


def rgb(color: int) -> tuple[int, int, int]:
    """Return red, green and blue of a color of the palette with 256 colors."""
    assert color >= 16, 'the first 16 colors are chosen by the user of the terminal'
    if color >= 232:
        return (8 + 10 * (color - 232),) * 3
    levels = (0, 95, 135, 175, 215, 255)
    color -= 16
    return levels[color // 36], levels[color // 6 % 6], levels[color % 6]


def luminance(parts: tuple[int, ...]) -> float:
    """Return the relative luminance as in WCAG 2: 0 to 1."""
    shares = [part / 255 for part in parts]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Return the contrast of two colors as in WCAG 2: 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize('name', BACKGROUNDS)
def test_contrast_on_the_background_of_the_theme(name: str) -> None:
    for background in BACKGROUNDS[name]:
        parts = tuple(background >> shift & 255 for shift in (16, 8, 0))
        # Bars and graphs are visible without being text.
        for role in (*READ, *THEME_BARS):
            look = theme_named(name).look(Style(role), 256)
            behind = parts if look.background == DEFAULT else rgb(look.background)
            least = 3.0 if role in THEME_BARS else 4.5
            assert contrast(rgb(look.foreground), behind) >= least, (role, background)
            assert not look.dim


#: Foreground color of 256, or of a reversed cell of few colors → hue that it must keep in a selected row.
HUES = {
    **dict.fromkeys((2, 10, 22, 28, 83), 'green'),
    **dict.fromkeys((6, 14, 117), 'sky'),
    **dict.fromkeys((3, 11, 94, 130, 214, 221), 'amber'),
    **dict.fromkeys((1, 9, 160, 203, 208), 'red'),
}


@pytest.mark.parametrize('name', BACKGROUNDS)
def test_selected_row_keeps_hues_and_is_legible(name: str) -> None:
    theme = theme_named(name)
    for role in (Role.TEXT, *READ, *THEME_BARS):
        style = Style(role)
        look = theme.look(style._replace(back=Role.SELECTED), 256)
        least = 3.5 if role in THEME_BARS else 4.5
        assert contrast(rgb(look.foreground), rgb(look.background)) >= least, role
        assert look.bold == theme.look(style, 256).bold
        assert not look.dim
        assert not look.reverse
        for colors in PALETTES:
            usual, selected = (
                theme.look(style._replace(back=b), colors) for b in (None, Role.SELECTED)
            )
            if role in (Role.IDLE, Role.HELD, Role.WARNING, Role.ERROR):
                assert HUES[selected.foreground] == HUES[usual.foreground]
            elif role != Role.TEXT:
                assert selected.foreground == usual.foreground


@themes
@pytest.mark.parametrize('colors', [0, *PALETTES])
def test_selected_row_is_reversed_if_there_are_few_colors(theme: Theme, colors: int) -> None:
    has_hues = theme.name != 'mono' and colors
    for role in (Role.TEXT, Role.DIM, Role.WARNING, *THEME_BARS, Role.TRACK):
        look = theme.look(Style(role, back=Role.SELECTED), colors)
        if has_hues and colors == 256:
            assert look.background not in (DEFAULT, look.foreground)
        else:  # a reversed bar would be a hole
            is_bar = role in (*THEME_BARS, Role.TRACK)
            assert look.reverse == (not has_hues or not is_bar)
            assert is_bar or not look.dim
    found = theme.look(Style(reverse=True, back=Role.SELECTED), colors)
    assert found != theme.look(Style(back=Role.SELECTED), colors)


def test_automatic_theme_is_that_of_the_background() -> None:
    themes_of = {'': 'dark', '0;15': 'light', '0;default;15': 'light', '12;8': 'dark'}
    for background, name in themes_of.items():
        assert resolve_theme('auto', {'COLORFGBG': background}) == name
    state = AppState(MONITOR, theme_is_auto=True)
    for is_light, name in ((True, 'light'), (False, 'dark')):
        state, _ = update(state, BackgroundReported(is_light))
        assert state.theme == name


# Reports with ANSI colors, read back by a terminal emulator


NAMES = [theme.name for theme in THEMES]
WIDTH, HEIGHT = 16, 3
ANSI_STYLES = st.builds(
    Style,
    st.sampled_from(list(Role)),
    *[st.booleans()] * 2,
    *[st.sampled_from([False, False, True])] * 4,
)
ANSI_WRITES = st.tuples(
    st.integers(-2, WIDTH), st.integers(0, HEIGHT - 1), st.text('ab 漢│', max_size=6), ANSI_STYLES
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


@given(st.lists(ANSI_WRITES, max_size=8), st.sampled_from(NAMES), st.sampled_from([8, 16, 256]))
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
