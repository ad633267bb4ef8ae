# SPDX-License-Identifier: GPL-3.0-only
"""The terminal on Windows, where curses is polled every 20 ms because a console cannot be awaited."""

from __future__ import annotations

import collections
import curses
import signal
import threading
import time
from typing import Any, Callable, ContextManager, Mapping, Tuple, Union

from nvitop.gui.state.events import (
    Event,
    KeyPressed,
    MousePressed,
    MouseScrolled,
    Resized,
    Terminated,
)
from nvitop.gui.term.curses_terminal import CursesTerminal, handling
from nvitop.gui.term.keys import key_name

#: Maximum time curses waits for a key. New samples are drawn late by up to this time.
READ_MILLISECONDS = 20
#: Maximum number of keys in one batch.
MAX_KEYS = 1000

#: A result of curses: a character, the number of a key, or column, row and buttons of the mouse.
Key = Union[str, int, Tuple[int, int, int]]

#: Names of keys in curses → names in events.
_NAMES = {
    'KEY_HOME': 'Home',
    'KEY_END': 'End',
    'KEY_PPAGE': 'PageUp',
    'KEY_NPAGE': 'PageDown',
    'KEY_IC': 'Insert',
    'KEY_DC': 'Delete',
    'KEY_BACKSPACE': 'Backspace',
    'KEY_ENTER': 'Enter',
    'KEY_BTAB': 'Shift-Tab',
    'KEY_SLEFT': 'Shift-Left',
    'KEY_SRIGHT': 'Shift-Right',
    # The keypad without Num Lock; with it, digits arrive as characters.
    'KEY_A1': 'Home',
    'KEY_A2': 'Up',
    'KEY_A3': 'PageUp',
    'KEY_B1': 'Left',
    'KEY_B3': 'Right',
    'KEY_C1': 'End',
    'KEY_C2': 'Down',
    'KEY_C3': 'PageDown',
    'PAD0': 'Insert',
    'PADENTER': 'Enter',
    'PADPLUS': '+',
    'PADMINUS': '-',
    'PADSTAR': '*',
    'PADSLASH': '/',
    'CTL_BKSP': 'Backspace',
    'CTL_ENTER': 'Enter',
    **{
        f'{prefix}_{arrow.upper()}': f'{modifier}{arrow}'
        for prefix, modifier in (('KEY', ''), ('CTL', 'Ctrl-'), ('ALT', 'Alt-'))
        for arrow in ('Up', 'Down', 'Left', 'Right')
    },
    **{f'KEY_F{number}': f'F{number}' for number in range(1, 13)},
    **{f'ALT_{letter}': f'Alt-{letter.lower()}' for letter in 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'},
}


def event_of(key: Key, constants: Mapping[str, Any]) -> Event | None:
    """Return the event of a key; ``constants`` are those of this build of curses, which may lack some."""
    if isinstance(key, str):
        return KeyPressed(key_name(key))
    if isinstance(key, int):
        names = (name for constant, name in _NAMES.items() if constants.get(constant) == key)
        return next(map(KeyPressed, names), None)
    x, y, state = key

    def has(*names: str) -> bool:
        return any(state & constants.get(name, 0) for name in names)

    for button, step in ((4, -1), (5, 1)):
        if has(f'BUTTON{button}_PRESSED'):
            return MouseScrolled(x, y, 0, step, has('BUTTON_SHIFT'), has('BUTTON_CTRL'))
    for button in (1, 2, 3):
        if has(f'BUTTON{button}_PRESSED', f'BUTTON{button}_CLICKED'):
            return MousePressed(x, y, button)
    return None


class WindowsInput:
    """Keys from curses, signals, changes of size, and wake-ups from other threads.

    ``read_key`` takes a timeout in milliseconds and returns ``None`` if no key was pressed.
    """

    def __init__(
        self,
        read_key: Callable[[int], Key | None],
        size: Callable[[], tuple[int, int]],
        constants: Mapping[str, Any],
    ) -> None:
        self._read_key = read_key
        self._size = size
        self._known_size = size()
        self._constants = constants
        self._woken = threading.Event()
        self._signals: collections.deque[Event] = collections.deque()

    def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def signals_caught(self) -> ContextManager[None]:
        # SIGBREAK: the console is about to close.
        names = {'SIGINT', 'SIGTERM', 'SIGBREAK'}
        return handling((n for n in signal.Signals if n.name in names), self._catch)

    def _catch(self, number: int, frame: object) -> None:
        # Runs between two bytecodes of the main thread, so it only queues an event.
        name = signal.Signals(number).name
        self._signals.append(KeyPressed('Ctrl-C') if name == 'SIGINT' else Terminated(name))

    def wake(self) -> None:
        self._woken.set()

    def wait(self, timeout: float | None) -> list[Event]:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            events = self._poll()
            if self._woken.is_set():
                self._woken.clear()
                return events
            if events or (deadline is not None and time.monotonic() >= deadline):
                return events

    def _poll(self) -> list[Event]:
        events: list[Event] = []
        key = self._read_key(READ_MILLISECONDS)
        while key is not None:
            event = event_of(key, self._constants)
            events += [event] if event is not None else []
            key = self._read_key(0) if len(events) < MAX_KEYS else None
        while self._signals:
            events.append(self._signals.popleft())
        size = self._size()
        if size != self._known_size:
            self._known_size = size
            events.append(Resized(*size))
        return events


class WindowsTerminal(CursesTerminal):
    """A console whose keys are read by curses. Windows cannot stop programs, so Ctrl-Z does nothing."""

    def _check_type(self) -> None:
        """Do nothing: all consoles have the same type."""

    def _open_input(self) -> WindowsInput:
        assert self._screen is not None
        self._screen.keypad(True)
        return WindowsInput(self._read_key, self.size, vars(curses))

    def _read_key(self, milliseconds: int) -> Key | None:
        """Return a key pressed within this time, or column, row and buttons of the mouse."""
        assert self._screen is not None
        self._screen.timeout(milliseconds)
        try:
            key = self._screen.get_wch()
            if key == curses.KEY_MOUSE:
                _, x, y, _, buttons = curses.getmouse()
                return x, y, buttons
        except curses.error:  # no key was pressed
            return None
        return key

    def _set_modes(self, *, mouse: bool) -> None:
        curses.mousemask(curses.ALL_MOUSE_EVENTS if mouse else 0)

    def _unset_modes(self) -> None:
        """Do nothing: curses disables the mouse."""

    def suspend(self) -> None:
        """Do nothing: Windows cannot stop programs."""
