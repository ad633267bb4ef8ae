"""Frames written as changes of the last frame, judged by a terminal emulator."""

from __future__ import annotations

import unicodedata

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.render.ansi import ChangeWriter
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.theme import THEMES, theme_named

WIDTH, HEIGHT = 30, 4
DARK = theme_named('dark')
STYLES = (PLAIN, Style(Role.ERROR), Style(Role.SELECTED), Style(Role.TITLE, underline=True))
TEXTS = st.sampled_from(('a', 'ab', ' ', '     ', '12 34', '■■', '世界', 'e\u0301', '·'))
#: Three titles from the first row on.
TITLES = '\x1b[1;1H\x1b[1mabc\x1b[K\x1b[2;1Habc\x1b[K\x1b[3;1Habc\x1b[K'
WRITES = st.tuples(st.integers(0, WIDTH), st.integers(0, HEIGHT), TEXTS, st.sampled_from(STYLES))


def frame(writes: list[tuple[int, int, str, Style]]) -> Buffer:
    buffer = Buffer(WIDTH, HEIGHT)
    for x, y, text, style in writes:
        buffer.write(x, y, text, style)
    return buffer


def cells(screen: pyte.Screen) -> list[list[tuple[object, ...]]]:
    """Return the visible cells of a screen: colors of spaces without a background are not."""
    rows = []
    for y in range(HEIGHT):
        row: list[tuple[object, ...]] = []
        for x in range(WIDTH):
            char = screen.buffer[y][x]
            is_blank = char.data == ' ' and char.bg == 'default' and not char.underscore
            row.append((' ',) if is_blank else tuple(char))
        rows.append(row)
    return rows


@given(st.lists(st.lists(WRITES, max_size=6), max_size=4))
def test_changes_show_the_same_as_a_new_screen(
    frames: list[list[tuple[int, int, str, Style]]],
) -> None:
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(screen)
    writer = ChangeWriter(256)
    for writes in frames:
        stream.feed(writer.changes(frame(writes), DARK))
        whole = pyte.Screen(WIDTH, HEIGHT)
        pyte.Stream(whole).feed(ChangeWriter(256).changes(frame(writes), DARK))
        assert cells(screen) == cells(whole)
        texts = [unicodedata.normalize('NFC', line) for line in frame(writes).lines()]
        assert [line.rstrip(' ') for line in screen.display] == texts


@given(
    st.lists(st.text('⣿⡀⡄ ', min_size=8, max_size=12), min_size=1, max_size=2),
    st.lists(st.sampled_from('⣿⡀⡄ '), max_size=6),
    st.sampled_from(('a', '世', '│')),
    st.lists(st.sampled_from(STYLES), min_size=2, max_size=2),
)
def test_graphs_that_move_show_the_same_as_a_new_screen(
    graphs: list[str], news: list[str], text: str, styles: list[Style]
) -> None:
    screen = pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(screen)
    writer = ChangeWriter(256)
    for new in ('', *news):
        graphs = [f'{graph}{new}'[len(new) :] for graph in graphs]
        buffer = Buffer(WIDTH, HEIGHT)
        for y in range(HEIGHT):
            x = 0
            for i, graph in enumerate(graphs):
                x += buffer.write(x, y, text, styles[-1])
                x += buffer.write(x, y, graph, styles[i])
            buffer.write(x, y, text, styles[0])
        stream.feed(writer.changes(buffer, DARK))
        whole = pyte.Screen(WIDTH, HEIGHT)
        pyte.Stream(whole).feed(ChangeWriter(256).changes(buffer, DARK))
        assert cells(screen) == cells(whole)


@pytest.mark.parametrize(
    ('before', 'after', 'written'),
    [
        # The cursor is moved from one change to the next.
        ([(2, 0, 'abc', PLAIN)], [(2, 0, 'axc', PLAIN)], '\x1b[1;4Hx'),
        ([(0, 0, 'a' * 20, PLAIN)], [(0, 0, 'b' + 'a' * 18 + 'b', PLAIN)], '\x1b[1;1Hb\x1b[18Cb'),
        (
            [(0, 0, 'a', PLAIN), (0, 1, 'a', PLAIN)],
            [(0, 0, 'b', PLAIN), (0, 1, 'b', PLAIN)],
            '\x1b[1;1Hb\x1b[2;1Hb',
        ),
        # A short gap is written again.
        ([(0, 0, 'abcde', PLAIN)], [(0, 0, 'xbcdy', PLAIN)], '\x1b[1;1Hxbcdy'),
        # Other rows are written whole: text, switches of look, and the end cleared.
        (
            [(0, y, 'abcdef', PLAIN) for y in range(3)],
            [(0, y, 'abc ', Style(Role.TITLE)) for y in range(3)],
            TITLES,
        ),
        # The cursor is placed again after a character whose width terminals disagree about.
        (
            [(0, 0, 'ab' + 'c' * 9 + 'd', PLAIN)],
            [(0, 0, '世' + 'c' * 9 + 'x', PLAIN)],
            '\x1b[1;1H世\x1b[1;12Hx',
        ),
        # A graph moves: its first cell is deleted, and one inserted for its new value.
        (
            [(0, 0, '│abababababab│', PLAIN)],
            [(0, 0, '│babababababc│', PLAIN)],
            '\x1b[1;2H\x1b[P\x1b[11C\x1b[@c',
        ),
        # The end of a row is cleared.
        ([(0, 0, 'abcdef', PLAIN)], [(0, 0, 'a', PLAIN)], '\x1b[1;2H\x1b[K'),
        # A space needs no color.
        ([(0, 0, 'ab', Style(Role.ERROR))], [(0, 0, ' b', Style(Role.ERROR))], '\x1b[1;1H '),
    ],
)
def test_only_changes_are_written(
    before: list[tuple[int, int, str, Style]],
    after: list[tuple[int, int, str, Style]],
    written: str,
) -> None:
    writer = ChangeWriter(256)
    writer.changes(frame([(0, 3, '.', PLAIN), *before]), DARK)
    assert writer.changes(frame([(0, 3, '.', PLAIN), *after]), DARK) == written


def test_another_theme_and_a_forgotten_screen_are_written_completely() -> None:
    writer = ChangeWriter(256, ['bold'])
    buffer = frame([(0, 0, 'a', Style(bold=True))])
    first = writer.changes(buffer, DARK)
    assert first == '\x1b[m\x1b[H\x1b[2J\x1b[1;1Ha'
    assert writer.changes(buffer, DARK) == ''
    writer.forget()
    assert writer.changes(buffer, DARK) == first
    assert writer.changes(buffer, THEMES[1]) == first
