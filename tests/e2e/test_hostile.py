"""Hostile commands in a real terminal: no sequence in them reaches it."""

from __future__ import annotations

import pathlib
import re

from tests.e2e.program import NVITOP, Program

#: Sequences that nvitop never writes, and control characters.
ATTACKS = (
    '\x1b]0;owned\x07',
    '\x1bP+q\x1b\\',
    '\x1b[6n',
    '\x1bc',
    '\x1b[?1004h',
    '\x9b2J',
    '\x9d0;x\x9c',
)
MARKS = ('\u202e', '\u2066', '\u200f', '\u2028', '\x85', '\x07', '\x7f')
SCENARIO = """\
[[gpu]]
model = "H100"

[[process]]
command = ["python3", "train.py", "TEXT"]
user = "alice"
"""


def scenario(directory: pathlib.Path) -> str:
    text = ''.join(f'\\u{ord(char):04x}' for char in ''.join((*ATTACKS, *MARKS)))
    path = directory / 'hostile.toml'
    path.write_text(SCENARIO.replace('TEXT', text), encoding='utf-8')
    return str(path)


def assert_is_safe(data: bytes) -> None:
    """Check that output has no sequence from a command."""
    for attack in (*ATTACKS, *MARKS):
        assert attack.encode() not in data
    # Without the sequences of curses and nvitop, only cursor movements remain.
    rest = re.sub(rb'\x1b(\[[0-9;?]*[A-Za-z]|[()][0B]|[=>78M])', b'', data)
    assert not set(rest) & ({*range(32), 127} - {*b'\r\n\b\t\x0e\x0f'})
    assert not re.search('[\x80-\x9f]', rest.decode())


def test_commands_cannot_control_the_terminal_from_any_screen(tmp_path: pathlib.Path) -> None:
    with Program((*NVITOP, '--theme=dark', '--demo', scenario(tmp_path)), columns=300) as program:
        program.wait_for('train.py')
        for keys, pattern in (
            ('\x1b[B', 'train.py'),
            ('t', 'Process tree'),
            ('q', 'UTIL'),
            ('U', 'Users 1'),
            ('q', 'UTIL'),
            ('\r', 'Process'),
            ('q', 'UTIL'),
            ('T', 'SIGTERM'),
        ):
            program.press(keys, pattern)
        program.type('\x1b')
        program.wait_until_gone('SIGTERM')
        assert program.leave() == 0
        assert b'train.py' in program.written
        assert_is_safe(bytes(program.written))
