"""Input on Windows: keys, mouse buttons, and polling."""

from __future__ import annotations

import pytest

from nvitop.gui.state.events import Event, KeyPressed, MousePressed, MouseScrolled
from nvitop.gui.term.windows import MAX_KEYS, Key, WindowsInput, event_of

#: Some constants of curses on Windows.
CONSTANTS = """
    KEY_UP=259 KEY_DOWN=258 KEY_F1=265 KEY_PPAGE=339 KEY_BTAB=351 PADENTER=459 PADPLUS=465
    KEY_A1=449 CTL_BKSP=505 ALT_K=427 CTL_LEFT=443 BUTTON1_PRESSED=0x2 BUTTON1_CLICKED=0x4
    BUTTON2_PRESSED=0x40 BUTTON3_PRESSED=0x800 BUTTON4_PRESSED=0x10000
    BUTTON5_PRESSED=0x200000 BUTTON_SHIFT=0x4000000 BUTTON_CTRL=0x8000000
"""
KEYS = {pair.split('=')[0]: int(pair.split('=')[1], 0) for pair in CONSTANTS.split()}


@pytest.mark.parametrize(
    ('key', 'event'),
    [
        ('q', KeyPressed('q')),
        (' ', KeyPressed('Space')),
        ('\x03', KeyPressed('Ctrl-C')),
        ('\x1b', KeyPressed('Esc')),
        ('\r', KeyPressed('Enter')),
        (259, KeyPressed('Up')),
        (265, KeyPressed('F1')),
        (339, KeyPressed('PageUp')),
        (465, KeyPressed('+')),
        (449, KeyPressed('Home')),
        (505, KeyPressed('Backspace')),
        (351, KeyPressed('Shift-Tab')),
        (459, KeyPressed('Enter')),
        (427, KeyPressed('Alt-k')),
        (443, KeyPressed('Ctrl-Left')),
        (9999, None),
        ((3, 4, 0x2), MousePressed(3, 4, 1)),
        ((3, 4, 0x4), MousePressed(3, 4, 1)),
        ((3, 4, 0x800), MousePressed(3, 4, 3)),
        ((3, 4, 0x10000), MouseScrolled(3, 4, 0, -1)),
        ((3, 4, 0x200000 | 0x4000000), MouseScrolled(3, 4, 0, 1, shift=True)),
        ((3, 4, 0x200000 | 0x8000000), MouseScrolled(3, 4, 0, 1, ctrl=True)),
        ((3, 4, 0x1), None),
    ],
)
def test_results_of_curses_become_events(key: Key, event: Event | None) -> None:
    assert event_of(key, KEYS) == event


def test_batch_of_keys_is_limited() -> None:
    keys = iter('x' * (MAX_KEYS + 5))
    source = WindowsInput(lambda _: next(keys, None), lambda: (80, 25), KEYS)
    assert [len(source.wait(0)) for _ in range(2)] == [MAX_KEYS, 5]
