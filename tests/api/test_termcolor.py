from __future__ import annotations

import io

import pytest

from nvitop.api.termcolor import can_colorize, colored


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('ANSI_COLORS_DISABLED', 'NO_COLOR', 'FORCE_COLOR'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('TERM', 'xterm')


@pytest.mark.parametrize(
    ('terminal', 'environment', 'expected'),
    [
        (False, {}, False),
        (True, {}, True),
        (True, {'TERM': 'dumb'}, False),
        (True, {'NO_COLOR': '1'}, False),
        (True, {'NO_COLOR': ''}, True),
        (False, {'FORCE_COLOR': '1'}, True),
        (False, {'FORCE_COLOR': ''}, False),
        (True, {'FORCE_COLOR': '0'}, False),
        (False, {'FORCE_COLOR': '1', 'TERM': 'dumb'}, True),
        (True, {'FORCE_COLOR': '1', 'NO_COLOR': '1'}, False),
        (True, {'FORCE_COLOR': '1', 'ANSI_COLORS_DISABLED': '1'}, False),
    ],
)
def test_each_call_reads_the_environment_and_the_terminal(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, environment: dict[str, str], expected: bool
) -> None:
    monkeypatch.setattr('sys.stdout', Terminal() if terminal else io.StringIO())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert can_colorize() is expected
    assert (colored('x', 'red') != 'x') is expected
    assert can_colorize(force_color=True)
    assert not can_colorize(no_color=True, force_color=True)


def test_colors_and_attributes_have_their_ansi_codes() -> None:
    assert colored('x', force_color=True) == 'x\033[0m'
    assert colored(5, 'light_red', force_color=True) == '\033[91m5\033[0m'
    assert colored('x', None, 'on_white', force_color=True) == '\033[107mx\033[0m'
    codes = {'bold': 1, 'dark': 2, 'underline': 4, 'blink': 5, 'reverse': 7, 'concealed': 8}
    for name, code in {**codes, 'strike': 9}.items():
        assert colored('x', attrs=[name], force_color=True) == f'\033[{code}mx\033[0m'
    with pytest.raises(KeyError):
        colored('x', 'ultraviolet', force_color=True)
