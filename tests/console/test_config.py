"""The configuration file: what it may say, and what is said about what it may not."""

from __future__ import annotations

import pathlib

import platformdirs
import pytest

from nvitop.console.config import SETTINGS, default_path, format_config, parse_config, read_config
from nvitop.console.options import Options, Thresholds, merge

USUAL_KEYS = {'quit': ('q', 'Q'), 'sort-by-pid': ('o p',), 'filter': ('\\', 'F4'), 'back': ()}
CHOICES = {
    'theme': ('dark', 'light'),
    'columns': ('pid', 'user', 'command'),
    'keys': tuple(USUAL_KEYS),
}


@pytest.mark.parametrize(
    ('text', 'layer'),
    [
        ('', {}),
        ('# nothing', {}),
        ('mode = "compact"', {'mode': 'compact'}),
        ('interval = 5', {'interval': 5.0}),
        ('interval = 0.25', {'interval': 0.25}),
        ('theme = "light"', {'theme': 'light'}),
        ('colorful = true\nascii = false', {'colorful': True, 'ascii': False}),
        ('readonly = true', {'readonly': True}),
        ('show-host = false', {'show_host': False}),
        ('show_host = false', {'show_host': False}),
        ('columns = ["command", "pid"]', {'columns': ('command', 'pid')}),
        ('gpu-utilization-thresholds = [80, 20]', {'gpu_thresholds': (20, 80)}),
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
        ('[keys]', {}),
    ],
)
def test_what_a_file_may_say(text: str, layer: dict[str, object]) -> None:
    config = parse_config(text, 'config.toml', CHOICES)
    assert config.layer == layer
    assert config.problems == ()
    assert isinstance(merge(config.layer), Options)


@pytest.mark.parametrize(
    ('text', 'line', 'words'),
    [
        ('# first\nmoed = "full"', 2, "unknown key 'moed': did you mean 'mode'?"),
        ('zzzzz = 1', 1, 'known are mode, interval'),
        ('mode = "wide"', 1, 'one of auto, full, compact'),
        ('mode = 3', 1, 'not 3'),
        ('\n\ninterval = 0.1', 3, '0.25 seconds or more'),
        ('interval = true', 1, 'a number of seconds'),
        ('interval = nan', 1, '0.25 seconds or more'),
        ('interval = inf', 1, '0.25 seconds or more'),
        ('interval = 10_000_000', 1, 'below 1000000'),
        ('theme = "pink"', 1, 'one of dark, light'),
        ('readonly = "yes"', 1, 'true or false'),
        ('columns = "pid"', 1, 'must be a list'),
        ('columns = ["pid", "cost"]', 1, 'one of pid, user, command'),
        ('columns = ["pid", "pid"]', 1, 'twice'),
        ('columns = []', 1, 'at least one of pid, user'),
        ('gpu-utilization-thresholds = [0, 50]', 1, 'from 1 to 99'),
        ('gpu-utilization-thresholds = [1, 2, 3]', 1, 'from 1 to 99'),
        ('gpu-utilization-thresholds = [1.5, 2]', 1, 'from 1 to 99'),
        ('keys = 3', 1, 'must be a table'),
        ('[keys]\n\nqiut = "x"', 3, "unknown action 'qiut': did you mean 'quit'?"),
        ('[keys]\nquit = ["Escape"]', 2, 'quit must be a list of keys as in the help'),
        ('[keys]\nquit = ["a b c"]', 2, 'list of keys'),
        ('[keys]\nquit = [""]', 2, 'list of keys'),
        ('[keys]\nquit = ["Ctrl-q"]', 2, 'list of keys'),
        ('[keys]\nquit = 1', 2, 'list of keys'),
        ('[table]\nx = 1', 1, "unknown key 'table'"),
        ('a.b = 1', 1, "unknown key 'a'"),
        ('"quoted" = 1', 1, "unknown key 'quoted'"),
        ('mode = "auto"\nmode = "full"', 2, 'is not valid TOML'),
        ('ok = \n', 1, 'is not valid TOML'),
    ],
)
def test_what_cannot_be_used_is_reported_with_its_line(text: str, line: int, words: str) -> None:
    config = parse_config(text, 'config.toml', CHOICES)
    assert config.layer == {}
    (problem,) = config.problems
    assert problem.line == line
    assert words in str(problem)
    assert str(problem).startswith(f'config.toml:{line}: ')


def test_the_rest_of_a_file_with_a_mistake_is_used() -> None:
    config = parse_config('mode = "full"\ninterval = 0\ntheme = "light"', 'f', CHOICES)
    assert config.layer == {'mode': 'full', 'theme': 'light'}
    assert [problem.line for problem in config.problems] == [2]


def test_a_file_that_was_named_must_be_there(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'absent.toml'
    (problem,) = read_config(path, CHOICES).problems
    assert str(problem) == f'{path}: there is no such file'


def test_the_usual_file_need_not_be_there(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('nvitop.console.config.default_path', lambda: tmp_path / 'config.toml')
    assert read_config(None, CHOICES) == ({}, ())
    for encoding in ('utf-8', 'utf-8-sig'):  # with a mark before it, as from Windows
        (tmp_path / 'config.toml').write_text('ascii = true', encoding=encoding)
        assert read_config(None, CHOICES) == ({'ascii': True}, ())


def test_the_usual_place_is_the_one_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ('', '/somewhere/else'):
        monkeypatch.setenv('XDG_CONFIG_HOME', folder)
        expected = platformdirs.user_config_path('nvitop', appauthor=False) / 'config.toml'
        assert pathlib.Path(default_path()) == expected


def test_a_file_that_is_not_text_or_not_a_file_is_reported(tmp_path: pathlib.Path) -> None:
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
            thresholds=Thresholds(gpu=(5, 50), memory=(6, 60)),
            keys=(('filter', ('\\', '"', "'")), ('back', ())),
        ),
    ],
)
def test_what_is_printed_can_be_read_again(options: Options) -> None:
    text = format_config(options, CHOICES, USUAL_KEYS)
    config = parse_config(text, 'f', CHOICES)
    assert config.problems == ()
    assert merge(config.layer) == options
    for setting in SETTINGS:
        assert f'\n# {setting.help}' in text
