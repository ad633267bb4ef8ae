"""The terminal of each platform; that of Windows runs with the curses of this system."""

from __future__ import annotations

import locale
import pathlib
import sys

import pytest

from nvitop.gui.term import has_utf8_locale, terminal_here
from nvitop.gui.term.posix import PosixTerminal
from nvitop.gui.term.windows import WindowsTerminal
from tests.e2e.emulator import MOUSE_BUTTONS
from tests.e2e.program import NVITOP, Program

WINDOWS = (sys.executable, str(pathlib.Path(__file__).parents[1] / 'program_on_windows.py'))


def test_monitor_with_the_windows_terminal() -> None:
    with Program((*WINDOWS, 'nvitop.cli', '--no-config', '--demo', 'workstation')) as program:
        program.wait_for(r'  q Quit$')
        program.press('h', r' 1.\d+ of')
        program.resize(80, 24)
        program.wait_for(r' 1.\d+ of')
        program.press('\x1bOB', r' 2.\d+ of')  # decoded by curses
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


def test_mouse_is_released_in_gnu_screen_by_default(steady: pathlib.Path) -> None:
    command = (*NVITOP, '--demo', str(steady))
    inside = {'TERM': 'screen', 'STY': '4711.pts-0.host'}
    with Program(command, columns=80, variables=inside) as program:
        program.wait_for(r'\[mouse: terminal\]')
        assert MOUSE_BUTTONS not in program.modes
        program.type('\x1bm')
        program.wait_until_gone('mouse: terminal')
        assert MOUSE_BUTTONS in program.modes
        assert program.leave() == 0
