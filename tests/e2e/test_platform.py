"""The terminal of each platform; that of Windows runs with the curses of this system."""

from __future__ import annotations

import locale
import pathlib
import sys

import pytest

from nvitop.gui.term import has_utf8_locale, holds_escape_back, terminal_here
from nvitop.gui.term.posix import PosixTerminal
from nvitop.gui.term.windows import WindowsTerminal
from tests.e2e.emulator import MOUSE_BUTTONS
from tests.e2e.monitor import Monitors
from tests.e2e.program import NVITOP, Program

WINDOWS = (sys.executable, str(pathlib.Path(__file__).parents[1] / 'program_on_windows.py'))


def test_monitor_with_the_windows_terminal() -> None:
    with Program((*WINDOWS, 'nvitop.cli', '--no-config', '--demo', 'workstation')) as program:
        program.wait_for(r'  q Quit$')
        program.press('h', 'Help: lines 1 ')
        program.resize(80, 24)
        program.wait_for('Help: lines 1 ')
        program.press('\x1bOB', 'Help: lines 2 ')  # decoded by curses
        program.type('\x1a')  # no effect on Windows
        program.press('q', r'  q Quit$')
        assert program.leave() == 0


@pytest.mark.parametrize(
    ('platform', 'kind'),
    [('linux', PosixTerminal), ('darwin', PosixTerminal), ('win32', WindowsTerminal)],
)
def test_platform_determines_the_terminal(
    monkeypatch: pytest.MonkeyPatch, platform: str, kind: type
) -> None:
    monkeypatch.setattr(sys, 'platform', platform)
    assert type(terminal_here(256)) is kind


def test_windows_consoles_have_all_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    def set_none(*args: object) -> str:
        raise locale.Error('unknown locale')

    monkeypatch.setattr(locale, 'setlocale', set_none)
    assert not has_utf8_locale()
    monkeypatch.setattr(sys, 'platform', 'win32')
    assert has_utf8_locale()


@pytest.mark.parametrize(
    ('environ', 'expected'),
    [
        ({'TERM': 'screen.xterm-256color', 'STY': '4711.pts-0.host'}, True),
        ({'TERM': 'screen', 'STY': '4711.pts-0.host', 'TMUX': ''}, True),
        # tmux, which may run inside GNU screen, and a terminal started from GNU screen.
        ({'TERM': 'screen-256color', 'TMUX': '/tmp/tmux-0/default,1,0'}, False),
        ({'TERM': 'screen', 'STY': '4711.pts-0.host', 'TMUX': '/tmp/tmux-0/default,1,0'}, False),
        ({'TERM': 'xterm-256color', 'STY': '4711.pts-0.host'}, False),
        ({}, False),
    ],
)
def test_gnu_screen_delays_escape_while_the_mouse_is_captured(
    environ: dict[str, str], expected: bool
) -> None:
    assert holds_escape_back(environ) is expected


def test_mouse_is_released_in_gnu_screen_by_default(monitors: Monitors) -> None:
    command = (*NVITOP, '--demo', str(monitors.machine.path))
    inside = {'TERM': 'screen', 'STY': '4711.pts-0.host'}
    with Program(command, columns=80, variables=inside) as program:
        program.wait_for(r'\[mouse: terminal\]')
        assert MOUSE_BUTTONS not in program.modes
        program.type('\x1bm')
        program.wait_until_gone('mouse: terminal')
        assert MOUSE_BUTTONS in program.modes
        assert program.leave() == 0
