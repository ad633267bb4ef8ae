"""Options: the configuration file, messages about invalid settings, environment variables, saved ones."""

from __future__ import annotations

import os
import pathlib
import threading

import pytest

from nvitop.console.config import format_config, parse_config, read_config
from nvitop.console.option_table import SETTINGS
from nvitop.console.options import Invocation, Options, merge, parse_environment
from nvitop.gui.model.columns import DEFAULT_COLUMNS
from nvitop.gui.settings import print_config, read_options, save
from nvitop.gui.state.events import SaveSettings

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
        ('zzzzz = 1', 1, "unknown key 'zzzzz'; use mode, interval"),
        ('mode = "wide"', 1, "mode: unknown word 'wide'; use auto, full, compact"),
        ('\n\ninterval = 0.1', 3, 'from 0.25 to 1000000 seconds'),
        ('interval = true', 1, 'a number of seconds'),
        ('readonly = "yes"', 1, 'true or false'),
        ('columns = "pid"', 1, 'must be a list'),
        ('columns = ["pid", "pid"]', 1, 'twice'),
        ('columns = []', 1, 'at least one of pid, user'),
        ('keys = 3', 1, 'must be a table'),
        ('[keys]\n\nqiut = "x"', 3, "unknown action 'qiut'; did you mean 'quit'?"),
        ('[keys]\nquit = ["Escape"]', 2, 'quit: must be a list of keys as shown in the help'),
        ('[keys]\nquit = 1', 2, 'list of keys'),
        ('[keys]\nquit = "a b c"', 2, 'list of keys'),
    ],
)
def test_invalid_parts_are_reported_with_their_line(text: str, line: int, words: str) -> None:
    config = parse_config(f'theme = "light"\n{text}', 'config.toml', CHOICES)
    assert config.layer == {'theme': 'light'}  # valid parts are used
    (problem,) = config.problems
    assert problem.startswith(f'config.toml:{line + 1}: ')
    assert words in problem


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
        assert problem.startswith(f'{file}{words}')


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
    assert parse_environment({'NVITOP_MONITOR_MODE': text})[0] == expected


def test_ignored_parts_of_variables_are_named() -> None:
    fine = {'NVITOP_MONITOR_MODE': 'Full,light,'}
    assert parse_environment(fine)[1] == []
    wrong = {'NVITOP_MONITOR_MODE': 'ful,auto,full,xy'}
    known = 'auto, full, compact, colorful, plain, light, dark, readonly'
    assert parse_environment(wrong)[1] == [
        "NVITOP_MONITOR_MODE: unknown word 'ful'; did you mean 'full'?",
        f"NVITOP_MONITOR_MODE: unknown word 'xy'; use {known}",
        'NVITOP_MONITOR_MODE: auto and full exclude each other',
    ]


def test_later_layers_win_field_by_field() -> None:
    options = merge({'mode': 'full', 'interval': 5.0}, {'mode': 'compact'}, {'interval': 2.0})
    assert options == Options(mode='compact', interval=2.0)
    with pytest.raises((TypeError, ValueError), match='nonsense'):  # since Python 3.13, TypeError
        merge({'nonsense': 1})


# Saved settings, which are read after the configuration file

VALUES = {'theme': 'auto', 'mode': 'auto', 'show_host': True, 'flat': False, 'hints': True}


@pytest.fixture
def config(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / 'folder' / 'config.toml'
    path.parent.mkdir()
    path.write_text('theme = "light"  # mine\ncolumns = ["pid", "encoder", "command"]\n')
    return path


def options_of(path: pathlib.Path) -> Options:
    return read_options(Invocation({}, config=str(path)), [])


def save_all(path: pathlib.Path, **values: object) -> str:
    given = {**VALUES, 'theme': 'light', 'columns': ('pid', 'encoder', 'command'), **values}
    saved = save(SaveSettings(tuple(given.items())), str(path))
    assert not saved.error
    return saved.path


def test_last_choice_wins_and_the_configuration_file_is_left_alone(config: pathlib.Path) -> None:
    before = config.read_bytes()
    saved = save_all(config, theme='mono', columns=DEFAULT_COLUMNS, flat=True, readonly=True)
    assert saved == str(config.parent / 'saved.toml')
    # A reset to the default columns is saved too.
    options = options_of(config)
    assert options[:1] == Options()[:1]
    assert (options.theme, options.columns) == ('mono', DEFAULT_COLUMNS)
    assert (options.flat, options.readonly) == (True, False)  # --readonly is no choice of a key
    assert 'mode' not in pathlib.Path(saved).read_text()
    assert config.read_bytes() == before
    # Nothing differs from the configuration file, so nothing is kept.
    assert save_all(config) == ''
    assert not pathlib.Path(saved).exists()
    save_all(config, theme='mono')
    assert save(SaveSettings(()), str(config)).path == ''
    assert options_of(config).theme == 'light'


def test_folder_is_created_and_errors_are_reported(tmp_path: pathlib.Path) -> None:
    assert save_all(tmp_path / 'new' / 'config.toml', theme='mono')
    (tmp_path / 'file').write_text('')
    result = save(SaveSettings((('theme', 'mono'),)), str(tmp_path / 'file' / 'config.toml'))
    assert result.error
    assert 'no configuration file' in save(SaveSettings(()), None).error


def test_two_threads_may_save_at_the_same_time(
    config: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def replace_later(source: str, target: str) -> None:
        monkeypatch.setattr(os, 'replace', replace)
        other = threading.Thread(target=save_all, args=(config,), kwargs={'theme': 'dark'})
        other.start()
        other.join()
        replace(source, target)

    monkeypatch.setattr(os, 'replace', replace_later)
    assert save_all(config, theme='mono')
    assert options_of(config).theme == 'mono'
    assert len(list(config.parent.iterdir())) == 2


def test_printed_configuration_names_the_origin_of_each_value(
    config: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_all(config, mode='compact')
    invocation = Invocation({'interval': 5.0}, config=str(config))
    print_config(invocation, read_options(invocation, []))
    lines = capsys.readouterr().out.splitlines()
    assert f'theme = "light"  # from {config}' in lines
    assert f'mode = "compact"  # from {config.parent / "saved.toml"}' in lines
    assert 'interval = 5  # from the command line' in lines
    assert 'ascii = false' in lines
