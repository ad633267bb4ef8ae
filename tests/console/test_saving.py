"""Saved settings, which are read after the configuration file."""

from __future__ import annotations

import pathlib

import pytest

from nvitop.console.options import Invocation, Options
from nvitop.gui.model.columns import DEFAULT_COLUMNS
from nvitop.gui.settings import print_config, read_options, save
from nvitop.gui.state.events import SaveSettings

VALUES = {'theme': 'auto', 'mode': 'auto', 'show-host': True, 'hints': True}


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
    return save(SaveSettings(tuple(given.items())), str(path)).path


def test_last_choice_wins_and_the_configuration_file_is_left_alone(config: pathlib.Path) -> None:
    before = config.read_bytes()
    saved = save_all(config, theme='mono', columns=DEFAULT_COLUMNS)
    assert saved == str(config.parent / 'saved.toml')
    # A reset to the default columns is saved too.
    assert options_of(config)[:1] == Options()[:1]
    assert (options_of(config).theme, options_of(config).columns) == ('mono', DEFAULT_COLUMNS)
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
