# SPDX-License-Identifier: GPL-3.0-only
"""Options of the monitor from arguments, the environment and the configuration file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Collection

from nvitop.console.lifecycle import CommandFailure, write_output
from nvitop.console.messages import Message
from nvitop.console.options import PRESET, Invocation, Options, merge, parse_environment
from nvitop.gui.model.columns import COLUMNS
from nvitop.platforms import config_file, saved_file

if TYPE_CHECKING:
    from nvitop.gui.state.events import SaveSettings, SettingsSaved

_COLUMN_NAMES = tuple(column.name for column in COLUMNS)


def read_options(invocation: Invocation, messages: list[Message]) -> Options:
    """Merge the arguments with the environment, the configuration file and the saved settings."""
    columns = invocation.layer.get('columns')
    if columns is not None:
        from nvitop.console.option_table import OPTIONS

        try:
            OPTIONS['columns'].check(columns, _COLUMN_NAMES)
        except ValueError as error:
            raise CommandFailure(f'--columns: {error}', 2) from None
    options = merge(*(layer for _, layer in _layers(invocation, messages)))
    path = (invocation.config or '') if invocation.reads_config else None
    return options._replace(config_path=path)


def _layers(
    invocation: Invocation, messages: list[Message]
) -> tuple[tuple[str, dict[str, object]], ...]:
    layer, problems = parse_environment(os.environ)
    messages += [Message('warning', text) for text in problems]
    return (
        *_read_config(invocation, messages),
        ('the environment', layer),
        ('the command line', invocation.layer),
    )


def choices() -> dict[str, Collection[str]]:
    """Return the words that the settings of the configuration file may have."""
    # Loads the states of all screens, which reports do not need.
    from nvitop.gui.state.bindings import PRESETS, USUAL_KEYS

    return {'columns': _COLUMN_NAMES, 'keys': USUAL_KEYS, PRESET: PRESETS}


def _read_config(
    invocation: Invocation, messages: list[Message]
) -> list[tuple[str, dict[str, object]]]:
    if not invocation.reads_config:
        return []
    path = invocation.config
    config_path = config_file() if path is None else path
    saved = saved_file(config_path)
    if path is None and not _may_exist(config_path) and not _may_exist(saved):
        return []
    from nvitop.console.config import read_config  # most users have no file

    config = read_config(path, choices())
    if path is not None and config.problems:  # the user asked for this very file
        raise CommandFailure('\n'.join(config.problems), 2)
    layers = [(config_path, config)]
    if _may_exist(saved):
        layers.append((saved, read_config(saved, choices())))
    messages += [Message('warning', problem) for _, layer in layers for problem in layer.problems]
    return [(name, layer.layer) for name, layer in layers]


def _may_exist(path: str) -> bool:
    """Whether there is a file, even if this user may not read it."""
    try:
        os.stat(path)
    except OSError as error:
        return not isinstance(error, (FileNotFoundError, NotADirectoryError))
    return True


def print_config(invocation: Invocation, options: Options) -> None:
    """Print the options as a configuration file, and where those come from that are set."""
    from nvitop.console.config import format_config
    from nvitop.gui.state.bindings import USUAL_KEYS

    origins = {field: name for name, layer in _layers(invocation, []) for field in layer}
    write_output(format_config(options, choices(), USUAL_KEYS, origins))


def save(effect: SaveSettings, path: str | None) -> SettingsSaved:
    """Save settings next to the configuration file; ``path`` is as in Options.config_path."""
    from nvitop.console.config import save_settings
    from nvitop.gui.state.events import SettingsSaved

    if path is None:
        return SettingsSaved('', 'no configuration file is used (--no-config)')
    try:
        return SettingsSaved(save_settings(path, dict(effect.values), choices()))
    except OSError as error:
        return SettingsSaved(error.filename or path, error.strerror or str(error))
