"""Decoding of bytes to events, which does not depend on how reads split the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.gui.state.events import (
    BackgroundReported,
    KeyPressed,
    MousePressed,
    MouseScrolled,
    Pasted,
)
from nvitop.gui.term.keys import MAX_PASTE, Decoder, InputEvent

CASES: list[tuple[bytes, list[InputEvent]]] = [
    (b'a', [KeyPressed('a')]),
    (b'og', [KeyPressed('o'), KeyPressed('g')]),
    (b' ', [KeyPressed('Space')]),
    (b'\r', [KeyPressed('Enter')]),
    (b'\t', [KeyPressed('Tab')]),
    (b'\x1b', [KeyPressed('Esc')]),
    (b'\x1b\x1b', [KeyPressed('Esc'), KeyPressed('Esc')]),
    (b'\x03', [KeyPressed('Ctrl-C')]),
    (b'\x7f', [KeyPressed('Backspace')]),
    (b'\x1c', [KeyPressed('Ctrl-\\')]),
    (b'\x1bk', [KeyPressed('Alt-k')]),
    (b'\x1bO', [KeyPressed('Alt-O')]),
    (b'\x1b[', [KeyPressed('Alt-[')]),
    (b'\x1b[A', [KeyPressed('Up')]),
    (b'\x1bOA', [KeyPressed('Up')]),
    (b'\x1b[B\x1b[C\x1b[D', [KeyPressed('Down'), KeyPressed('Right'), KeyPressed('Left')]),
    (b'\x1b[1;2A', [KeyPressed('Shift-Up')]),
    (b'\x1b[1;5C', [KeyPressed('Ctrl-Right')]),
    (b'\x1b[1;7D', [KeyPressed('Ctrl-Alt-Left')]),
    (b'\x1b[a', [KeyPressed('Shift-Up')]),
    (b'\x1bOa', [KeyPressed('Ctrl-Up')]),
    (b'\x1b[Z', [KeyPressed('Shift-Tab')]),
    (b'\x1b[H\x1b[F', [KeyPressed('Home'), KeyPressed('End')]),
    (b'\x1bOH\x1bOF', [KeyPressed('Home'), KeyPressed('End')]),
    (b'\x1b[1~\x1b[4~', [KeyPressed('Home'), KeyPressed('End')]),
    (b'\x1b[7~\x1b[8~', [KeyPressed('Home'), KeyPressed('End')]),
    (b'\x1b[5~\x1b[6~', [KeyPressed('PageUp'), KeyPressed('PageDown')]),
    (b'\x1bOP\x1bOS', [KeyPressed('F1'), KeyPressed('F4')]),
    (b'\x1b[[A\x1b[[E', [KeyPressed('F1'), KeyPressed('F5')]),
    (b'\x1b[15~', [KeyPressed('F5')]),
    (b'\x1b[15;2~', [KeyPressed('Shift-F5')]),
    (b'\x1b[97u', [KeyPressed('a')]),
    (b'\x1b[27;5u', [KeyPressed('Ctrl-Esc')]),
    (b'\x1b[99999999u', []),
    (b'\x1b[999~', []),
    (b'\x1b[I\x1b[O', []),
    (b'\x1b[?1;2c', []),
    (b'\x1b[<0;1;1M', [MousePressed(0, 0, 1)]),
    (b'\x1b[<2;80;24M', [MousePressed(79, 23, 3)]),
    (b'\x1b[<0;5;6m', []),
    (b'\x1b[<32;5;6M', []),
    (b'\x1b[<64;5;6M', [MouseScrolled(4, 5, 0, -1)]),
    (b'\x1b[<65;5;6M', [MouseScrolled(4, 5, 0, 1)]),
    (b'\x1b[<66;5;6M', [MouseScrolled(4, 5, -1, 0)]),
    (b'\x1b[<69;5;6M', [MouseScrolled(4, 5, 0, 1, shift=True)]),
    (b'\x1b[<80;5;6M', [MouseScrolled(4, 5, 0, -1, ctrl=True)]),
    (b'\x1b[<0;0;0M', [MousePressed(0, 0, 1)]),
    (b'\x1b[<;;M', []),
    (b'\x1b[M !!', []),
    (b'\x1b[M !!q', [KeyPressed('q')]),
    ('é'.encode(), [KeyPressed('é')]),
    (b'\xffq', [KeyPressed('�'), KeyPressed('q')]),
    (b'\x1b[200~rm -rf\n\x1b[A\x03q\x1b[201~x', [Pasted('rm -rf\n\x1b[A\x03q'), KeyPressed('x')]),
    (b'\x1b[200~\x1b[201~', [Pasted('')]),
    (b'\x1b[12\x1b[A', [KeyPressed('Up')]),
    (b'\x1b[12\nq', [KeyPressed('q')]),
]


@pytest.mark.parametrize(('data', 'events'), CASES)
def test_bytes_are_decoded_alike_in_one_read_and_one_by_one(
    data: bytes, events: list[InputEvent]
) -> None:
    decoder = Decoder()
    assert decoder.feed(data) + decoder.flush() == events
    assert not decoder.is_waiting
    seen = [event for byte in data for event in decoder.feed(bytes([byte]))]
    assert seen + decoder.flush() == events


def test_flushed_paste_is_not_typed() -> None:
    decoder = Decoder()
    assert decoder.feed(b'\x1b[200~kill') == []
    assert not decoder.is_waiting
    assert decoder.flush() == []
    assert decoder.feed(b' -9\x1b[20') == []
    assert decoder.feed(b'1~') == [Pasted('kill -9')]


def test_huge_paste_is_cut() -> None:
    decoder = Decoder()
    assert decoder.feed(b'\x1b[200~') == []
    for _ in range(40):
        assert decoder.feed(b'x' * 4096) == []
    events = decoder.feed(b'\x1b[201~q')
    assert events == [Pasted('x' * MAX_PASTE), KeyPressed('q')]


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_are_consumed(chunks: list[bytes]) -> None:
    decoder = Decoder()
    for chunk in chunks:
        decoder.feed(chunk)
    decoder.flush()
    decoder.feed(b'\x1b[201~')  # in case a paste has begun
    decoder.flush()
    # The chunks may end inside a character, whose replacement is then the first key.
    events = decoder.feed(b'q') + decoder.flush()
    assert events[-1:] == [KeyPressed('q')]


@pytest.mark.parametrize(
    ('reply', 'is_light'),
    [
        (b'\x1b]11;rgb:1e1e/1e1e/1e1e\x07', False),
        (b'\x1b]11;rgb:ffff/ffff/ffff\x1b\\', True),
        (b'\x1b]11;rgb:f/f/e\x07', True),
    ],
)
def test_background_that_the_terminal_reports(reply: bytes, is_light: bool) -> None:
    for split in range(len(reply)):
        decoder = Decoder()
        events = [*decoder.feed(reply[:split]), *decoder.feed(reply[split:] + b'x')]
        assert events == [BackgroundReported(is_light), KeyPressed('x')]
    assert Decoder().feed(b'\x1b]11;nonsense\x07x') == [KeyPressed('x')]
