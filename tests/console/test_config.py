"""Options: the configuration file, messages about invalid settings, environment variables, saved ones."""

from __future__ import annotations

import pathlib

import pytest

from nvitop.console.config import format_config, parse_config, read_config
from nvitop.console.option_table import SETTINGS
from nvitop.console.options import Options, environment_problems, merge, parse_environment

DEFAULT_KEYS = {'quit': ('q', 'Q'), 'sort-by-pid': ('o p',), 'filter': ('\\', 'F4'), 'back': ()}
CHOICES = {
    'columns': ('pid', 'user', 'command'),
    'keys': tuple(DEFAULT_KEYS),
    'preset': ('nvitop-1',),
}


@pytest.mark.parametrize(
    ('text', 'layer'),
    [
        ('', {}),
        ('interval = "500ms"\nscroll-back = "2h"', {'interval': 0.5, 'scroll_back': 7200.0}),
        ('scroll-back = 10', {'scroll_back': 600.0}),
        ('ascii = false', {'ascii': False}),
        ('show_host = false', {'show_host': False}),
        ('columns = ["command", "pid"]', {'columns': ('command', 'pid')}),
        ('[keys]\nquit = "F10"', {'keys': (('quit', ('F10',)),)}),
        (
            'keys = {quit = ["Ctrl-Q", "é"], back = []}',
            {'keys': (('quit', ('Ctrl-Q', 'é')), ('back', ()))},
        ),
        (
            "[keys]\nfilter = ['Alt-Shift-Up', 'g \\']",
            {'keys': (('filter', ('Alt-Shift-Up', 'g \\')),)},
        ),
        ('[keys]\npreset = "nvitop-1"', {'keys': (('preset', ('nvitop-1',)),)}),
    ],
)
def test_settings(text: str, layer: dict[str, object]) -> None:
    config = parse_config(text, 'config.toml', CHOICES)
    assert config.layer == layer
    assert config.problems == ()
    assert isinstance(merge(config.layer), Options)


@pytest.mark.parametrize(
    ('text', 'line', 'words'),
    [
        ('# first\nmoed = "full"', 2, "unknown key 'moed'; did you mean 'mode'?"),
        ('zzzzz = 1', 1, 'known keys: mode, interval'),
        ('mode = "wide"', 1, 'one of auto, full, compact'),
        ('\n\ninterval = 0.1', 3, 'from 0.25 to 1000000 seconds'),
        ('interval = true', 1, 'a number of seconds'),
        ('readonly = "yes"', 1, 'true or false'),
        ('columns = "pid"', 1, 'must be a list'),
        ('columns = ["pid", "pid"]', 1, 'twice'),
        ('columns = []', 1, 'at least one of pid, user'),
        ('keys = 3', 1, 'must be a table'),
        ('[keys]\n\nqiut = "x"', 3, "unknown action 'qiut'; did you mean 'quit'?"),
        ('[keys]\nquit = ["Escape"]', 2, 'quit must be a list of keys as shown in the help'),
        ('[keys]\nquit = 1', 2, 'list of keys'),
        ('[keys]\nquit = "a b c"', 2, 'list of keys'),
    ],
)
def test_invalid_parts_are_reported_with_their_line(text: str, line: int, words: str) -> None:
    config = parse_config(text, 'config.toml', CHOICES)
    assert config.layer == {}
    (problem,) = config.problems
    assert problem.line == line
    assert words in str(problem)
    assert str(problem).startswith(f'config.toml:{line}: ')


def test_valid_parts_of_a_file_with_a_mistake_are_used() -> None:
    config = parse_config('mode = "full"\ninterval = 0\ntheme = "light"', 'f', CHOICES)
    assert config.layer == {'mode': 'full', 'theme': 'light'}


def test_files_that_cannot_be_read(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / 'config.toml'
    monkeypatch.setattr('nvitop.console.config.config_file', lambda: path)
    assert read_config(None, CHOICES)[:2] == ({}, ())
    path.write_text('ascii = true', encoding='utf-8-sig')  # with a byte order mark, as on Windows
    assert read_config(None, CHOICES)[:2] == ({'ascii': True}, ())
    path.write_bytes(b'mode = "auto"\ntheme = "\xff"\n')
    for file, words in (
        (tmp_path / 'absent', ': file not found'),
        (path, ':2: is not UTF-8 text'),
        (tmp_path, ': cannot be read: '),
    ):
        (problem,) = read_config(file, CHOICES).problems
        assert str(problem).startswith(f'{file}{words}')


@pytest.mark.parametrize(
    'options',
    [
        Options(),
        Options(
            interval=2.5,
            readonly=True,
            columns=('pid', 'command'),
            keys=(('filter', ('\\', '"', "'")), ('back', ())),
        ),
    ],
)
def test_a_printed_configuration_can_be_read(options: Options) -> None:
    text = format_config(options, CHOICES, DEFAULT_KEYS)
    config = parse_config(text, 'f', CHOICES)
    assert config.problems == ()
    assert merge(config.layer) == options
    for option in SETTINGS.values():
        assert f'\n# {option.comment}' in text


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('FULL', {'mode': 'full'}),
        (' compact , colorful ', {'mode': 'compact'}),
        ('auto,full,compact', {}),
        ('colorful,plain', {}),
        ('light', {'theme': 'light'}),
        ('light,dark', {'theme': 'dark'}),
        ('nonsense,readonly', {'readonly': True}),
    ],
)
def test_monitor_mode_variable(text: str, expected: dict[str, object]) -> None:
    assert parse_environment({'NVITOP_MONITOR_MODE': text}) == expected


def test_ignored_parts_of_variables_are_named() -> None:
    fine = {'NVITOP_MONITOR_MODE': 'Full,light,'}
    assert environment_problems(fine) == []
    wrong = {'NVITOP_MONITOR_MODE': 'ful,auto,full,xy'}
    known = 'auto, full, compact, colorful, plain, light, dark, readonly'
    assert environment_problems(wrong) == [
        "NVITOP_MONITOR_MODE: unknown word 'ful'; did you mean 'full'?",
        f"NVITOP_MONITOR_MODE: unknown word 'xy'; expected {known}",
        'NVITOP_MONITOR_MODE: auto and full exclude each other',
    ]


def test_later_layers_win_field_by_field() -> None:
    options = merge({'mode': 'full', 'interval': 5.0}, {'mode': 'compact'}, {'interval': 2.0})
    assert options == Options(mode='compact', interval=2.0)
    with pytest.raises((TypeError, ValueError), match='nonsense'):  # since Python 3.13, TypeError
        merge({'nonsense': 1})
