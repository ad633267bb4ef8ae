"""Cell widths, compared with a terminal emulator, and hostile text made safe."""

from __future__ import annotations

import re
import unicodedata

import pytest
import wcwidth
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nvitop.gui.render.width import (
    cell_width,
    clip,
    clip_left,
    clip_scrolled,
    cut,
    fit,
    pad,
    safe,
    wrap,
)
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
    assert cell_width(result) == wcwidth.wcswidth(result)


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
        assert cell_width(char) == wcwidth.wcwidth(char) == cells, hex(ord(char))
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
        assert cell_width(fit(text, size, align)) == size


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
        (fit('漢字', 3, ellipsis='+'), '漢+'),
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
