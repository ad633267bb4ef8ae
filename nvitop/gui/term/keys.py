# SPDX-License-Identifier: GPL-3.0-only
"""Decodes bytes of a terminal to events: keys, mouse, pastes. The result does not depend on reads."""

from __future__ import annotations

import codecs
import re
from typing import Union

from nvitop.gui.state.events import (
    BackgroundReported,
    KeyPressed,
    MousePressed,
    MouseScrolled,
    Pasted,
)

InputEvent = Union[BackgroundReported, KeyPressed, MousePressed, MouseScrolled, Pasted]

PASTE_START, PASTE_END = '\x1b[200~', '\x1b[201~'
#: Maximum length of a paste, in characters; the rest is dropped.
MAX_PASTE = 1 << 16
#: Maximum length of an escape sequence, in characters; a longer one is dropped.
MAX_SEQUENCE = 64

#: Final byte of ``ESC [ …`` and ``ESC O …``.
_FINALS = {
    'A': 'Up',
    'B': 'Down',
    'C': 'Right',
    'D': 'Left',
    'E': 'Begin',
    'F': 'End',
    'H': 'Home',
    'M': 'Enter',
    'P': 'F1',
    'Q': 'F2',
    'R': 'F3',
    'S': 'F4',
    'Z': 'Shift-Tab',
}
#: Number of ``ESC [ number ~``, as sent by xterm, VT220, rxvt and the Linux console.
_NUMBERS = {
    1: 'Home',
    2: 'Insert',
    3: 'Delete',
    4: 'End',
    5: 'PageUp',
    6: 'PageDown',
    7: 'Home',
    8: 'End',
    **{11 + i: f'F{1 + i}' for i in range(5)},
    **{17 + i: f'F{6 + i}' for i in range(5)},
    23: 'F11',
    24: 'F12',
}
#: ``ESC [ [ letter`` of the Linux console.
_LINUX = {'A': 'F1', 'B': 'F2', 'C': 'F3', 'D': 'F4', 'E': 'F5'}
#: rxvt: lower-case finals are the shifted arrows, behind ``ESC O`` those with Ctrl.
_RXVT = {'a': 'Up', 'b': 'Down', 'c': 'Right', 'd': 'Left'}
_CONTROLS = {
    '\x00': 'Ctrl-Space',
    '\t': 'Tab',
    '\n': 'Enter',
    '\r': 'Enter',
    '\x1b': 'Esc',
    ' ': 'Space',
    '\x7f': 'Backspace',
    '\x08': 'Backspace',
}
_CSI = re.compile(r'\x1b\[([0-?]*)([ -/]*)([@-~])')
#: A character that cannot be part of an escape sequence.
_NOT_IN_SEQUENCE = re.compile(r'[^ -~]')
#: The reply to a query of the color of the background: 4 to 16 bits of red, green and blue.
_BACKGROUND = re.compile(r'\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)')
_SGR_MOUSE = re.compile(r'<(\d+);(\d+);(\d+)')


def key_name(char: str) -> str:
    if char in _CONTROLS:
        return _CONTROLS[char]
    if char < ' ':
        return f'Ctrl-{chr(ord(char) + 64)}'
    return char


class Decoder:
    """Decodes the input of a terminal.

    :meth:`feed` takes bytes as they arrive. An escape character may be the Esc key or the beginning
    of a sequence: if :attr:`is_waiting`, call :meth:`flush` after a short pause.
    """

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder('utf-8')('replace')
        self._pending = ''
        self._paste: list[str] | None = None
        #: Whether the terminal was asked for its background and its attributes, and hasn't replied.
        self.awaits_reply = False

    @property
    def is_in_reply(self) -> bool:
        """Whether pending bytes are the beginning of the reply, which can arrive in pieces."""
        return self._pending.startswith('\x1b]1') or (
            self.awaits_reply and self._pending in ('\x1b', '\x1b]')
        )

    @property
    def is_waiting(self) -> bool:
        """Whether pending bytes may be a whole key or the beginning of a sequence."""
        return bool(self._pending) and self._paste is None

    @property
    def is_pasting(self) -> bool:
        return self._paste is not None

    def feed(self, data: bytes) -> list[InputEvent]:
        """Return the events that these bytes complete."""
        self._pending += self._utf8.decode(data)
        return self._drain(final=False)

    def flush(self) -> list[InputEvent]:
        """Return the events of pending bytes, because no more bytes arrived in time."""
        return self._drain(final=True)

    def end_paste(self) -> list[InputEvent]:
        """Return a paste whose end mark never arrived."""
        if self._paste is None:
            return []
        text = ''.join(self._paste) + self._pending
        self._paste, self._pending = None, ''
        return [Pasted(text[:MAX_PASTE])]

    def _drain(self, *, final: bool) -> list[InputEvent]:
        events: list[InputEvent] = []
        while self._pending:
            if self._paste is not None:
                if not self._take_paste(events):
                    break
                continue
            size = self._take(self._pending, events, final=final)
            if size == 0:
                break
            self._pending = self._pending[size:]
        return events

    def _take_paste(self, events: list[InputEvent]) -> bool:
        """Move pasted text out of the pending text; return whether the paste is complete."""
        assert self._paste is not None
        end = self._pending.find(PASTE_END)
        # The end mark may be split between two reads, so all but one of its characters stay.
        upto = end if end >= 0 else max(0, len(self._pending) - len(PASTE_END) + 1)
        if sum(map(len, self._paste)) < MAX_PASTE:
            self._paste.append(self._pending[:upto])
        if end < 0:
            self._pending = self._pending[upto:]
            return False
        self._pending = self._pending[end + len(PASTE_END) :]
        events.append(Pasted(''.join(self._paste)[:MAX_PASTE]))
        self._paste = None
        return True

    def _take(self, text: str, events: list[InputEvent], *, final: bool) -> int:
        """Decode one key or sequence; return its length in characters, 0 if it is incomplete."""
        if text[0] != '\x1b':
            events.append(KeyPressed(key_name(text[0])))
            return 1
        if len(text) == 1:
            if final:
                events.append(KeyPressed('Esc'))
            return int(final)
        if text[1] == '[':
            return self._take_csi(text, events, final=final)
        if text[1] == 'O':
            return self._take_ss3(text, events, final=final)
        if text.startswith('\x1b]1') or (text == '\x1b]' and not final):
            return self._take_reply(text, events, final=final)
        if text[1] == '\x1b':
            # Esc pressed twice, or Esc before a sequence: the first one is a key of its own.
            events.append(KeyPressed('Esc'))
            return 1
        events.append(KeyPressed(f'Alt-{key_name(text[1])}'))
        return 2

    def _take_ss3(self, text: str, events: list[InputEvent], *, final: bool) -> int:
        if len(text) == 2:
            if final:
                events.append(KeyPressed('Alt-O'))
            return 2 * final
        key = _FINALS.get(text[2]) or (_RXVT.get(text[2]) and f'Ctrl-{_RXVT[text[2]]}')
        if key:
            events.append(KeyPressed(key))
        return 3

    def _take_reply(self, text: str, events: list[InputEvent], *, final: bool) -> int:
        """Decode ``ESC ] 11 ; color``, which ends with BEL or ``ESC \\``; drop other replies."""
        end = next((text.find(mark) + len(mark) for mark in ('\x07', '\x1b\\') if mark in text), 0)
        if not end:
            return len(text) if final or len(text) > MAX_SEQUENCE else 0
        match = _BACKGROUND.match(text)
        if match is not None:
            red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
            events.append(BackgroundReported(0.3 * red + 0.59 * green + 0.11 * blue > 0.5))
        return end

    def _take_csi(self, text: str, events: list[InputEvent], *, final: bool) -> int:
        if text.startswith('\x1b[[') and len(text) > 3:
            if text[3] in _LINUX:
                events.append(KeyPressed(_LINUX[text[3]]))
            return 4
        if text.startswith('\x1b[M'):
            # Three bytes follow, from terminals that do not support SGR reports.
            return 0 if len(text) < 6 and not final else min(len(text), 6)
        match = None if text.startswith('\x1b[[') else _CSI.match(text)
        if match is None:
            return self._give_up(text, events, final=final)
        if match.group() == PASTE_START:
            self._paste = []
        else:
            self._interpret(match.group(1), match.group(3), events)
        return match.end()

    def _give_up(self, text: str, events: list[InputEvent], *, final: bool) -> int:
        """Drop a sequence that is incomplete or invalid."""
        if final and len(text) == 2:
            events.append(KeyPressed('Alt-['))
        if final or len(text) > MAX_SEQUENCE:
            return len(text)
        torn = _NOT_IN_SEQUENCE.search(text, 2)
        if torn is None:
            return 0
        # An escape begins a new sequence; any other character is dropped with the broken one.
        return torn.end() - (torn.group() == '\x1b')

    def _interpret(self, parameters: str, last: str, events: list[InputEvent]) -> None:
        """Decode a complete ``ESC [ parameters last``; unknown ones are dropped."""
        if last in 'Mm' and parameters.startswith('<'):
            self._interpret_mouse(parameters, last, events)
            return
        if parameters[:1] in {'<', '=', '>', '?'}:  # a reply of the terminal, not a key
            # Its attributes are the reply after that about the background, if it sends one.
            self.awaits_reply = self.awaits_reply and last != 'c'
            return
        first, _, modifier = parameters.partition(';')
        if last == '~':
            key = _NUMBERS.get(int(first)) if first.isdecimal() else None
        elif last == 'u':  # some terminals report keys by code point
            key = key_name(chr(int(first))) if first.isdecimal() and int(first) < 0x110000 else None
        elif last in _RXVT:
            key, modifier = _RXVT[last], '2'
        else:
            key = _FINALS.get(last)
        if key:
            # xterm sends modifiers as 1 + Shift 1 + Alt 2 + Ctrl 4.
            bits = int(modifier) - 1 if modifier.isdecimal() else 0
            names = [name for bit, name in ((4, 'Ctrl-'), (2, 'Alt-'), (1, 'Shift-')) if bits & bit]
            events.append(KeyPressed(''.join((*names, key))))

    def _interpret_mouse(self, parameters: str, last: str, events: list[InputEvent]) -> None:
        """Decode an SGR report: button with modifiers, column, line; ``M`` press, ``m`` release."""
        match = _SGR_MOUSE.fullmatch(parameters)
        if match is None or last == 'm':
            return
        button, x, y = (int(group) for group in match.groups())
        shift, ctrl, motion, wheel = (bool(button & bit) for bit in (4, 16, 32, 64))
        which, x, y = button & 3, max(x - 1, 0), max(y - 1, 0)
        if wheel:
            dx, dy = ((0, -1), (0, 1), (-1, 0), (1, 0))[which]
            events.append(MouseScrolled(x, y, dx, dy, shift, ctrl))
        elif not motion and which < 3:
            events.append(MousePressed(x, y, which + 1))
