"""The configuration file: its settings, and messages about invalid ones."""

from __future__ import annotations

import pathlib

import platformdirs
import pytest

from nvitop.console.config import format_config, parse_config, read_config
from nvitop.console.option_table import SETTINGS
from nvitop.console.options import Options, merge
from nvitop.platforms import config_file

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
        ('# nothing', {}),
        ('mode = "compact"', {'mode': 'compact'}),
        ('interval = 5', {'interval': 5.0}),
        ('interval = 0.25', {'interval': 0.25}),
        ('interval = "500ms"\nscroll-back = "2h"', {'interval': 0.5, 'scroll_back': 7200.0}),
        ('scroll-back = 10', {'scroll_back': 600.0}),
        ('theme = "light"', {'theme': 'light'}),
        ('colorful = true\nascii = false', {'colorful': True, 'ascii': False}),
        ('readonly = true', {'readonly': True}),
        ('show-host = false', {'show_host': False}),
        ('show_host = false', {'show_host': False}),
        ('columns = ["command", "pid"]', {'columns': ('command', 'pid')}),
        ('gpu-utilization-thresholds = [20, 80]', {'gpu_thresholds': (20, 80)}),
        ('memory-utilization-thresholds = [1, 99]', {'memory_thresholds': (1, 99)}),
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
        ('report-on-exit = false', {'report_on_exit': False}),
        ('[keys]', {}),
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
        ('scroll-back = 1441', 1, 'scroll-back must be from 0 to 1440 minutes, not 1441'),
        ('interval = 10_000_000', 1, 'from 0.25 to 1000000 seconds'),
        ('theme = "pink"', 1, 'one of auto, dark, light, classic, mono, colorblind'),
        ('readonly = "yes"', 1, 'true or false'),
        ('columns = "pid"', 1, 'must be a list'),
        ('columns = ["pid", "cost"]', 1, 'one of pid, user, command'),
        ('columns = ["pid", "pid"]', 1, 'twice'),
        ('columns = []', 1, 'at least one of pid, user'),
        ('gpu-utilization-thresholds = [0, 50]', 1, 'from 1 to 99'),
        ('gpu-utilization-thresholds = [1.5, 2]', 1, 'from 1 to 99'),
        ('keys = 3', 1, 'must be a table'),
        ('[keys]\n\nqiut = "x"', 3, "unknown action 'qiut'; did you mean 'quit'?"),
        ('[keys]\nquit = ["Escape"]', 2, 'quit must be a list of keys as shown in the help'),
        ('[keys]\nquit = [""]', 2, 'list of keys'),
        ('[keys]\nquit = ["Ctrl-q"]', 2, 'list of keys'),
        ('[keys]\nquit = 1', 2, 'list of keys'),
        ('mode = "auto"\nmode = "full"', 2, 'not valid TOML'),
        ('ok = \n', 1, 'not valid TOML'),
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
    assert [problem.line for problem in config.problems] == [2]


def test_a_given_file_must_exist(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'absent.toml'
    (problem,) = read_config(path, CHOICES).problems
    assert str(problem) == f'{path}: file not found'


def test_the_default_file_may_be_missing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('nvitop.console.config.config_file', lambda: tmp_path / 'config.toml')
    assert read_config(None, CHOICES)[:2] == ({}, ())
    for encoding in ('utf-8', 'utf-8-sig'):  # with a byte order mark, as on Windows
        (tmp_path / 'config.toml').write_text('ascii = true', encoding=encoding)
        assert read_config(None, CHOICES)[:2] == ({'ascii': True}, ())


def test_the_default_folder_is_that_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ('', '/somewhere/else'):
        monkeypatch.setenv('XDG_CONFIG_HOME', folder)
        expected = platformdirs.user_config_path('nvitop', appauthor=False) / 'config.toml'
        assert pathlib.Path(config_file()) == expected


def test_an_unreadable_file_is_reported(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'config.toml'
    path.write_bytes(b'mode = "auto"\ntheme = "\xff"\n')
    (problem,) = read_config(path, CHOICES).problems
    assert str(problem) == f'{path}:2: is not UTF-8 text'
    (problem,) = read_config(tmp_path, CHOICES).problems
    assert str(problem).startswith(f'{tmp_path}: cannot be read: ')


@pytest.mark.parametrize(
    'options',
    [
        Options(),
        Options(
            mode='full',
            interval=2.5,
            theme='light',
            colorful=True,
            readonly=True,
            show_host=False,
            columns=('pid', 'command'),
            gpu_thresholds=(5, 50),
            memory_thresholds=(6, 60),
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
