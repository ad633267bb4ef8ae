"""Saving settings in the configuration file."""

from __future__ import annotations

import pathlib

import pytest

from nvitop.console.config import save_settings, with_settings

TEXT = """# My settings
theme = "light"  # easier on the eyes: "#fff"
columns = [
    "gpu",  # first
    "pid",
]
interval = 2

# Keys that I use
[keys]
quit = ["q"]
"""


def test_settings_replace_their_values_and_keep_everything_else() -> None:
    values = {'theme': 'mono', 'columns': ('pid', 'command'), 'mode': 'compact', 'hints': True}
    assert with_settings(TEXT, values) == (
        '# My settings\n'
        'theme = "mono"  # easier on the eyes: "#fff"\n'
        'columns = ["pid", "command"]\n'
        'interval = 2\n'
        'mode = "compact"\n'
        '\n'
        '# Keys that I use\n'
        '[keys]\n'
        'quit = ["q"]\n'
    )


def test_default_values_are_written_only_over_others() -> None:
    assert with_settings('', {'theme': 'auto', 'hints': False}) == 'hints = false\n'
    assert with_settings('hints = false', {'hints': True}) == 'hints = true\n'


def test_file_is_created_or_changed_behind_a_link(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'new' / 'config.toml'
    assert save_settings(str(path), {'theme': 'auto'}) == ''  # the default: no file is needed
    assert not path.parent.exists()
    assert save_settings(str(path), {'theme': 'mono'}) == str(path)
    assert save_settings(str(path), {'theme': 'mono'}) == ''
    link = tmp_path / 'link.toml'
    link.symlink_to(path)
    save_settings(str(link), {'theme': 'light'})
    assert link.is_symlink()
    assert path.read_text() == 'theme = "light"\n'
    assert [each.name for each in path.parent.iterdir()] == ['config.toml']


def test_saving_keeps_the_permissions_of_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'config.toml'
    path.write_text('theme = "light"\n')
    path.chmod(0o640)
    mode = path.stat().st_mode  # Windows knows fewer permissions
    save_settings(str(path), {'theme': 'mono'})
    assert path.stat().st_mode == mode


def test_invalid_file_is_left_alone(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'config.toml'
    path.write_text('theme = \n')
    with pytest.raises(ValueError, match='not valid TOML'):
        save_settings(str(path), {'theme': 'mono'})
    assert path.read_text() == 'theme = \n'
