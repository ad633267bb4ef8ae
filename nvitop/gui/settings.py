# SPDX-License-Identifier: GPL-3.0-only
"""Options of the monitor from arguments, the environment and the configuration file."""

from __future__ import annotations

import os
import sys
from typing import Collection

from nvitop.console.lifecycle import CommandFailure, writing
from nvitop.console.messages import Message
from nvitop.console.options import PRESET, Invocation, Options, merge, parse_environment
from nvitop.gui.model.columns import COLUMNS
from nvitop.platforms import config_file

_COLUMN_NAMES = tuple(column.name for column in COLUMNS)


def read_options(invocation: Invocation, messages: list[Message]) -> Options:
    """Merge the arguments with the environment and the configuration file."""
    _check_columns(invocation)
    options = merge(
        _read_config(invocation, messages), parse_environment(os.environ), invocation.layer
    )
    path = (invocation.config or '') if invocation.reads_config else None
    return options._replace(config_path=path)


def choices() -> dict[str, Collection[str]]:
    """Return the words that the settings of the configuration file may have."""
    # Loads the states of all screens, which reports do not need.
    from nvitop.gui.state.bindings import PRESETS, USUAL_KEYS

    return {'columns': _COLUMN_NAMES, 'keys': USUAL_KEYS, PRESET: PRESETS}


def _read_config(invocation: Invocation, messages: list[Message]) -> dict[str, object]:
    """Read the configuration file, if there is one, as a layer of options."""
    if not invocation.reads_config or (invocation.config is None and not _has_config_file()):
        return {}
    from nvitop.console.config import read_config  # most users have no file

    config = read_config(invocation.config, choices())
    if invocation.config is not None and config.problems:  # the user asked for this very file
        raise CommandFailure('\n'.join(map(str, config.problems)), 2)
    messages += [Message('warning', str(problem)) for problem in config.problems]
    return config.layer


def _has_config_file() -> bool:
    """Whether there is a file at the default path, even if this user may not read it."""
    try:
        os.stat(config_file())
    except OSError as error:
        return not isinstance(error, (FileNotFoundError, NotADirectoryError))
    return True


def _check_columns(invocation: Invocation) -> None:
    """Check the names of ``--columns``. Raises CommandFailure."""
    given = invocation.layer.get('columns')
    if given is not None:
        from nvitop.console import config, option_table

        try:
            config.check_value(option_table.OPTIONS['columns'], given, {'columns': _COLUMN_NAMES})
        except ValueError as error:
            raise CommandFailure(f'--{error}', 2) from None


def print_config(options: Options) -> None:
    """Print the options as a configuration file."""
    from nvitop.console.config import format_config
    from nvitop.gui.state.bindings import USUAL_KEYS

    with writing():
        sys.stdout.write(format_config(options, choices(), USUAL_KEYS))
        sys.stdout.flush()
