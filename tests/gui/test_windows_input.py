"""Input on Windows: keys, mouse buttons, and polling."""

from __future__ import annotations

import collections
import os
import signal
import threading

import pytest

from nvitop.gui.state.events import Event, KeyPressed, MousePressed, MouseScrolled, Resized
from nvitop.gui.term.windows import (
    MAX_KEYS,
    READ_MILLISECONDS,
    Key,
    WindowsInput,
    event_of,
    keys_of,
)

#: Some constants of curses on Windows.
CONSTANTS: dict[str, object] = {
    '__name__': 'curses',
    'KEY_UP': 259,
    'KEY_DOWN': 258,
    'KEY_F1': 265,
    'KEY_PPAGE': 339,
    'KEY_BTAB': 351,
    'PADENTER': 459,
    'PADPLUS': 465,
    'KEY_A1': 449,
    'CTL_BKSP': 505,
    'ALT_K': 427,
    'CTL_LEFT': 443,
    'BUTTON1_PRESSED': 0x2,
    'BUTTON1_CLICKED': 0x4,
    'BUTTON2_PRESSED': 0x40,
    'BUTTON3_PRESSED': 0x800,
    'BUTTON4_PRESSED': 0x10000,
    'BUTTON5_PRESSED': 0x200000,
    'BUTTON_SHIFT': 0x4000000,
    'BUTTON_CTRL': 0x8000000,
}
KEYS = keys_of(CONSTANTS)


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


class Console:
    """A console with prepared keys, whose clock advances with each read."""

    def __init__(self, *keys: Key) -> None:
        self.keys: collections.deque[Key] = collections.deque(keys)
        self.window = (80, 25)
        self.now = 100.0
        self.input = WindowsInput(self.read_key, lambda: self.window, KEYS, monotonic=self.clock)

    def clock(self) -> float:
        return self.now

    def read_key(self, milliseconds: int) -> Key | None:
        assert milliseconds in (0, READ_MILLISECONDS)
        if self.keys:
            return self.keys.popleft()
        self.now += milliseconds / 1000
        return None


def test_batch_of_keys_is_limited() -> None:
    console = Console(*'x' * (MAX_KEYS + 5))
    assert len(console.input.wait(None)) == MAX_KEYS
    assert len(console.input.wait(None)) == 5


def test_new_size_is_one_event() -> None:
    console = Console()
    console.window = (100, 30)
    assert console.input.wait(None) == [Resized(100, 30)]
    assert console.input.wait(0.1) == []


def test_other_threads_can_wake_the_wait() -> None:
    console = Console()
    thread = threading.Thread(target=console.input.wake)
    thread.start()
    assert console.input.wait(None) == []
    thread.join()


@pytest.mark.skipif(os.name != 'posix', reason='os.kill would end this process')
def test_signals_become_events_and_handlers_are_restored() -> None:
    console = Console()
    previous = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with console.input.signals_caught():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        events = console.input.wait(None)
    assert [type(event).__name__ for event in events] == ['KeyPressed', 'Terminated']
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == previous
    console.input.close()
