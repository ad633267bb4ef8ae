"""The terminal of each platform; that of Windows with the curses of this system."""

from __future__ import annotations

import locale
import pathlib
import sys

import pytest

from nvitop.gui.term.platform import has_utf8_locale, terminal_here
from nvitop.gui.term.posix import PosixTerminal
from nvitop.gui.term.windows import WindowsTerminal
from tests.e2e.program import Program

WINDOWS = (sys.executable, str(pathlib.Path(__file__).parents[1] / 'program_on_windows.py'))


def test_the_monitor_as_windows_has_it() -> None:
    with Program((*WINDOWS, 'nvitop.cli', '--no-config', '--demo', 'workstation')) as program:
        program.wait_for(r'\A\w+ \w+ .* h help  q quit')
        program.press('h', r'\Anvitop .*\n Help: lines 1 ')
        program.press('\x1bOB', r'\n Help: lines 2 ')  # curses knows the arrow
        program.type('\x1a')  # nothing can be stopped there
        program.resize(80, 24)
        program.press('q', r'\A\w+ \w+ .* h help  q quit')
        assert program.leave() == 0


@pytest.mark.parametrize(
    ('platform', 'kind'),
    [('linux', PosixTerminal), ('darwin', PosixTerminal), ('win32', WindowsTerminal)],
)
def test_the_platform_decides_which_terminal_it_is(
    monkeypatch: pytest.MonkeyPatch, platform: str, kind: type
) -> None:
    monkeypatch.setattr(sys, 'platform', platform)
    assert type(terminal_here(256)) is kind


def test_consoles_of_windows_show_all_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    def set_none(*args: object) -> str:
        raise locale.Error('there is no such locale')

    monkeypatch.setattr(locale, 'setlocale', set_none)
    assert not has_utf8_locale()
    monkeypatch.setattr(sys, 'platform', 'win32')
    assert has_utf8_locale()
