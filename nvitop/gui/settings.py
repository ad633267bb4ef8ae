# SPDX-License-Identifier: GPL-3.0-only
"""Options of the monitor from arguments, the environment and the configuration file."""

from __future__ import annotations

import os
import sys

from nvitop.console.messages import Message
from nvitop.console.options import THEME_NAMES, Invocation, Options, merge, parse_environment
from nvitop.console.outcome import CommandFailure, writing
from nvitop.gui.model.columns import COLUMNS
from nvitop.platforms import config_file


def read_options(invocation: Invocation, messages: list[Message]) -> Options:
    """Merge the arguments with the environment and the configuration file."""
    _check_columns(invocation)
    options = merge(
        _read_config(invocation, messages), parse_environment(os.environ), invocation.layer
    )
    path = (invocation.config or '') if invocation.reads_config else None
    return options._replace(config_path=path)


class _Choices(dict):  # type: ignore[type-arg]  # - Python 3.8 cannot subscript it
    """Allowed words of each setting; the key bindings are imported only if they are needed."""

    def __missing__(self, name: str) -> tuple[str, ...]:
        if name != 'keys':
            raise KeyError(name)
        from nvitop.gui.state.keymap import USUAL_KEYS

        return tuple(USUAL_KEYS)


def choices() -> dict[str, tuple[str, ...]]:
    """Return the allowed words of each setting."""
    return _Choices(theme=THEME_NAMES, columns=tuple(column.name for column in COLUMNS))


def _read_config(invocation: Invocation, messages: list[Message]) -> dict[str, object]:
    """Read the configuration file, if there is one, as a layer of options."""
    if not invocation.reads_config or (invocation.config is None and not _has_config_file()):
        return {}
    from nvitop.console.config import read_config  # most users have no file

    config = read_config(invocation.config, choices())
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
    if isinstance(given, tuple):
        from nvitop.console.config import check_names

        try:
            check_names('columns', given, choices()['columns'])
        except ValueError as error:
            raise CommandFailure(f'--{error}', 2) from None


def print_config(options: Options) -> None:
    """Print the options as a configuration file."""
    from nvitop.console.config import format_config
    from nvitop.gui.state.keymap import USUAL_KEYS

    with writing():
        sys.stdout.write(format_config(options, choices(), USUAL_KEYS))
        sys.stdout.flush()
