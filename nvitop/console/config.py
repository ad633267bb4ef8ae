# SPDX-License-Identifier: Apache-2.0
"""The configuration file: TOML → checked values, with line numbers in errors."""

from __future__ import annotations

import os
import re
from typing import Any, Collection, Mapping, NamedTuple, Sequence

from nvitop.console.options import (
    MODES,
    OWNER_NAMES,
    Options,
    check_interval,
    check_minutes,
    parse_thresholds,
)
from nvitop.platforms import config_file


class Setting(NamedTuple):
    """A key of the configuration file."""

    name: str
    #: Key in a layer of options; see :func:`nvitop.console.options.merge`.
    field: str
    #: ``'bool'``, ``'seconds'``, ``'minutes'``, ``'choice'``, ``'thresholds'``, ``'names'`` or ``'keys'``.
    kind: str
    help: str
    #: Allowed words of a choice or of names; empty: the caller passes them.
    choices: tuple[str, ...] = ()


# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting('mode', 'mode', 'choice', 'size of the device panel', MODES),
    Setting('interval', 'interval', 'seconds', 'seconds between samples, at least 0.25 (default: devices 1, processes 2)'),
    Setting('scroll-back', 'scroll_back', 'minutes', 'minutes of samples that the monitor keeps in memory, to look back at them; 0: none'),
    Setting('theme', 'theme', 'choice', 'colors; auto is dark or light like the background of the terminal'),
    Setting('colorful', 'colorful', 'bool', 'draw bars and graphs in a color gradient (default: with 256 colors or more, except in the theme classic)'),
    Setting('ascii', 'ascii', 'bool', 'draw with ASCII characters only'),
    Setting('readonly', 'readonly', 'bool', 'disable sending signals to processes'),
    Setting('show-host', 'show_host', 'bool', 'show the host panel'),
    Setting('hints', 'hints', 'bool', 'show keys in the last row'),
    Setting('columns', 'columns', 'names', 'columns of the process panel, from left to right'),
    Setting('owner-names', 'owner_names', 'choice', 'where names of containers and pods are looked up: readable files, also sockets of Docker and Podman, or none', OWNER_NAMES),
    Setting('gpu-utilization-thresholds', 'gpu_thresholds', 'thresholds', 'percentages at which GPU utilization is moderate and heavy'),
    Setting('memory-utilization-thresholds', 'memory_thresholds', 'thresholds', 'percentages at which memory utilization is moderate and heavy'),
    # A table must be last in a file.
    Setting('keys', 'keys', 'keys', 'keys of the monitor; each list replaces the default keys of an action'),
)
# fmt: on

SETTINGS_BY_NAME: dict[str, Setting] = {setting.name: setting for setting in SETTINGS}


class ConfigProblem(NamedTuple):
    """A part of the file that is ignored because it is invalid."""

    path: str
    #: Counts from 1; 0 means the whole file.
    line: int
    message: str

    def __str__(self) -> str:
        where = f'{self.path}:{self.line}' if self.line else self.path
        return f'{where}: {self.message}'


class Config(NamedTuple):
    """A configuration file: a layer of options, and the parts that are invalid."""

    layer: dict[str, object]
    problems: tuple[ConfigProblem, ...] = ()
    #: Tables that belong to commands, which check them: name → values.
    tables: Mapping[str, Mapping[str, Any]] = {}


#: A key as the help shows it, except that a letter with Ctrl is in upper case.
_KEY = (
    r'(Alt-|Shift-)*'
    r'(Ctrl-[A-Z^_\]\\]|(Ctrl-)?(Enter|Esc|Space|Tab|Backspace|Insert|Delete|Home|End|PageUp|PageDown'
    r'|Up|Down|Left|Right|F[1-9]|F1[0-2])|\S)'
)

#: Tables that belong to commands.
TABLES = ('fleet',)
#: Setting → allowed words.
Choices = Mapping[str, Collection[str]]


def read_config(path: str | os.PathLike[str] | None, choices: Choices) -> Config:
    """Read the file; ``None`` means :func:`~nvitop.platforms.config_file`, which may be missing."""
    wanted = config_file() if path is None else path
    name = os.fspath(wanted)
    try:
        with open(wanted, 'rb') as file:
            text = file.read().decode('utf-8')
    except (FileNotFoundError, NotADirectoryError):  # a service may have the home /dev/null
        if path is None:
            return Config({})
        return Config({}, (ConfigProblem(name, 0, 'file not found'),))
    except OSError as error:
        return Config({}, (ConfigProblem(name, 0, f'cannot be read: {error.strerror}'),))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b'\n') + 1
        return Config({}, (ConfigProblem(name, line, 'is not UTF-8 text'),))
    return parse_config(text, name, choices)


def parse_config(text: str, path: str, choices: Choices) -> Config:
    """Parse the text of a file. Invalid parts are reported and left out."""
    from nvitop.toml import TomlDocument, TomlError  # most users have no file

    try:
        document = TomlDocument(text)
    except TomlError as error:
        return Config({}, (ConfigProblem(path, error.line, str(error)),))
    layer: dict[str, object] = {}
    problems = []
    tables = {}
    for name, value in document.values.items():
        if name in TABLES and isinstance(value, dict):
            tables[name] = value
            continue
        try:
            setting = _setting(name)
            if setting.kind == 'keys':
                given, wrong = _check_keys(setting, value, choices)
                layer.update({setting.field: given} if given else {})
                problems += [
                    ConfigProblem(path, document.line_of((name, action)), message)
                    for action, message in wrong
                ]
            else:
                layer[setting.field] = _check(setting, value, choices)
        except ValueError as error:
            problems.append(ConfigProblem(path, document.line_of((name,)), str(error)))
    return Config(layer, tuple(problems), tables)


def _setting(name: str) -> Setting:
    """The setting of this name, with hyphens or underscores. Raises ValueError if unknown."""
    setting = SETTINGS_BY_NAME.get(name.replace('_', '-'))
    if setting is None:
        from nvitop.toml import suggestion

        hint = suggestion(name, SETTINGS_BY_NAME)
        raise ValueError(
            f'unknown key {name!r}{hint or "; known keys: " + ", ".join(SETTINGS_BY_NAME)}'
        )
    return setting


def _check(setting: Setting, value: Any, choices: Choices) -> object:
    """The value of an option. Raises ValueError with the allowed values if it is invalid."""
    allowed = _allowed(setting, choices)
    if setting.kind == 'bool':
        if not isinstance(value, bool):
            raise ValueError(f'{setting.name} must be true or false, not {value!r}')
        return value
    if setting.kind in ('seconds', 'minutes'):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f'{setting.name} must be a number of {setting.kind}, not {value!r}')
        check = check_interval if setting.kind == 'seconds' else check_minutes
        try:
            return float(check(value))
        except ValueError as error:
            raise ValueError(f'{setting.name} {error}') from None
    if setting.kind == 'choice':
        return _one_of(setting.name, value, allowed)
    if not isinstance(value, list):
        raise ValueError(f'{setting.name} must be a list, not {value!r}')
    if setting.kind == 'thresholds':
        try:
            return parse_thresholds([str(item) for item in value])
        except ValueError:
            raise ValueError(
                f'{setting.name} must be two whole numbers from 1 to 99, not {value!r}'
            ) from None
    return check_names(setting.name, value, allowed)


def check_names(setting: str, value: Sequence[object], allowed: Collection[str]) -> tuple[str, ...]:
    """Return words in this order. Raises ValueError if one is not allowed, or there is none."""
    if not value:
        raise ValueError(f'{setting} must name at least one of {", ".join(allowed)}')
    names = tuple(_one_of(setting, item, allowed) for item in value)
    if len(set(names)) < len(names):
        raise ValueError(f'{setting} contains a word twice')
    return names


def _check_keys(
    setting: Setting, value: object, choices: Choices
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], list[tuple[str, str]]]:
    """Actions with their keys, and a message for each invalid action."""
    if not isinstance(value, dict):
        raise ValueError(f'{setting.name} must be a table, not {value!r}')
    allowed = _allowed(setting, choices)
    from nvitop.toml import suggestion

    given, wrong = [], []
    for name, keys in value.items():
        keys = [keys] if isinstance(keys, str) else keys
        if name not in allowed:
            wrong.append((name, f'unknown action {name!r}{suggestion(name, allowed)}'))
        elif isinstance(keys, list) and all(map(_is_key, keys)):
            given.append((name, tuple(keys)))
        else:
            wrong.append(
                (name, f'{name} must be a list of keys as shown in the help, not {keys!r}')
            )
    return tuple(given), wrong


def _is_key(text: object) -> bool:
    """Whether a text is the name of a key, or of two keys to press in order."""
    keys = text.split(' ') if isinstance(text, str) else []
    return 1 <= len(keys) <= 2 and all(re.fullmatch(_KEY, key) for key in keys)


def _allowed(setting: Setting, choices: Choices) -> tuple[str, ...]:
    try:
        return setting.choices or tuple(choices[setting.name])
    except KeyError:
        return ()


def _one_of(name: str, value: object, allowed: Collection[str]) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    raise ValueError(f'{name} must be one of {", ".join(allowed)}, not {value!r}')


def format_config(
    options: Options, choices: Choices, default_keys: Mapping[str, tuple[str, ...]] | None = None
) -> str:
    """Format the effective configuration as a commented file, for ``--print-config``."""
    lines = ['# Configuration of nvitop. Options and environment variables override this file.']
    for setting in SETTINGS:
        if setting.kind == 'keys':
            lines += ['', f'# {setting.help}', *_key_lines(setting, options, default_keys or {})]
            continue
        allowed = _allowed(setting, choices)
        words = f' ({", ".join(allowed)})' if allowed else ''
        lines += ['', f'# {setting.help}{words}']
        value = _value_of(options, setting)
        if value is None:
            lines.append(f'# {setting.name} = ')
        else:
            lines.append(f'{setting.name} = {format_value(value)}')
    return '\n'.join(lines) + '\n'


def _key_lines(
    setting: Setting, options: Options, default_keys: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """The table of keys: those of the user, and the default ones as comments."""
    given = dict(options.keys)
    lines = [f'[{setting.name}]']
    for name, default in {**default_keys, **given}.items():
        mark = '' if name in given else '# '
        lines.append(f'{mark}{name} = {format_value(given.get(name, default))}')
    return lines


def _value_of(options: Options, setting: Setting) -> object:
    if setting.kind == 'thresholds':
        return getattr(options.thresholds, setting.field.split('_', 1)[0])
    return getattr(options, setting.field)


def format_value(value: object) -> str:
    """Format a value in TOML."""
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, tuple):
        return f'[{", ".join(format_value(item) for item in value)}]'
    if isinstance(value, str):
        text = value.replace('\\', '\\\\').replace('"', '\\"')
        return f'"{text}"'
    return repr(value)
