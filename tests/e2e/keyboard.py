"""Sequences that a terminal sends for the keys of the key table."""

from __future__ import annotations

_SPECIAL = {
    'Enter': '\r',
    'Esc': '\x1b',
    'Space': ' ',
    'Tab': '\t',
    'Shift-Tab': '\x1b[Z',
    'Backspace': '\x7f',
    'Up': '\x1b[A',
    'Down': '\x1b[B',
    'Right': '\x1b[C',
    'Left': '\x1b[D',
    'Home': '\x1b[H',
    'End': '\x1b[F',
    'PageUp': '\x1b[5~',
    'PageDown': '\x1b[6~',
    'F1': '\x1bOP',
    'F2': '\x1bOQ',
    'F3': '\x1bOR',
    'F4': '\x1bOS',
    'F5': '\x1b[15~',
    'F6': '\x1b[17~',
    'F9': '\x1b[20~',
    'F10': '\x1b[21~',
}


def sequence(keys: str) -> str:
    """Return the sequence for a key, or for keys separated by spaces, by their names."""
    return ''.join(_sequence(key) for key in keys.split(' '))


def _sequence(key: str) -> str:
    if key in _SPECIAL:
        return _SPECIAL[key]
    modifier, _, letter = key.rpartition('-')
    if modifier == 'Alt' and len(letter) == 1:
        return f'\x1b{letter}'
    if modifier == 'Ctrl' and 'A' <= letter <= 'Z':
        return chr(ord(letter) - 64)
    if len(key) == 1:
        return key
    raise AssertionError(f'unknown sequence of the key {key!r}; add it to _SPECIAL')
