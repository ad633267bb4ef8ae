"""Terminals of all types, colors, locales and sizes."""

from __future__ import annotations

import pathlib
import re

import pytest

from nvitop.gui.model.choices import Screen
from tests.e2e.monitor import TITLES, Monitor
from tests.e2e.program import NVITOP, Program

BORDER = '─ '
RIGHT, WHEEL_UP = 2, 64
COLORS = re.compile(rb'\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|4[0-7]|38;5;\d+)(?:;\d+)*m')


def command_for(steady: pathlib.Path) -> tuple[str, ...]:
    return (*NVITOP, '--demo', str(steady))


@pytest.mark.parametrize(
    ('variables', 'has_colors'),
    [
        ({'TERM': 'xterm'}, True),
        ({'TERM': 'xterm', 'NO_COLOR': '1'}, False),
        ({'TERM': 'linux'}, True),
        ({'TERM': 'vt100'}, False),
    ],
)
def test_terminal_type(steady: pathlib.Path, variables: dict[str, str], has_colors: bool) -> None:
    with Program(command_for(steady), columns=80, variables=variables) as program:
        program.wait_for('server')
        is_console = variables['TERM'] == 'linux'
        if variables['TERM'] == 'vt100':  # it cannot hide its cursor
            cursor = program.emulator.screen.cursor
            program.wait(lambda: (cursor.x, cursor.y) == (79, 49))
        border = '-' if is_console else BORDER
        program.wait(lambda: program.lines[1][1:].startswith(border))
        program.press('h', r' 1.\d+ of')
        program.press('\x1bOB', r' 2.\d+ of')  # the arrow key in application mode
        program.press('q', 'server')
        assert bool(COLORS.search(program.written)) is has_colors
        assert program.leave() == 0
        assert program.written.isascii() is is_console
        program.assert_restored()
        assert program.errors() == ''


def test_terminal_without_cursor_movement_gets_a_report(steady: pathlib.Path) -> None:
    with Program(command_for(steady), variables={'TERM': 'dumb'}) as program:
        assert program.wait_for_exit() == 1
        program.wait_for('server --port')
        assert "a terminal of type 'dumb' cannot place its cursor" in program.errors()
        assert 'Try: TERM=xterm-256color nvitop' in program.errors()
        program.assert_restored()


def test_message_is_wrapped_between_words() -> None:
    command = (*NVITOP, '--demo', 'empty')
    with Program(command, columns=60, joins_errors=True) as program:
        assert program.wait_for_exit() == 1
        text = ' '.join(line.strip() for line in program.lines)
    assert (
        'nvitop: error: no GPU found: the driver works but reports none Check whether the system '
        'sees the card (lspci -d 10de:), and whether a container was started with --gpus all.'
    ) in text


def test_clicks_the_wheel_and_sizes_reach_the_monitor(steady: pathlib.Path) -> None:
    with Monitor(steady) as monitor:
        monitor.click(30, monitor.row('renderer'))
        monitor.wait_until_selected('renderer')
        monitor.scroll(WHEEL_UP, y=monitor.row('renderer'))
        monitor.wait_until_selected('trainer')
        monitor.click(30, monitor.row('renderer'), button=RIGHT)
        monitor.wait_for(r' GPU 1  renderer --scene=castle')
        monitor.type('\x1b')
        monitor.wait_until_gone('Send a signal')
        monitor.resize(39, 5)
        monitor.wait_for(r'\A\s*too small: 40 x 6 needed\s*\Z')
        monitor.type('z')  # keys still work
        monitor.resize(104, 41)
        monitor.wait_for(r'\[PAUSED')
        monitor.type('z')
        monitor.wait_until_gone('PAUSED')
        monitor.wait_for(TITLES[Screen.MAIN])
