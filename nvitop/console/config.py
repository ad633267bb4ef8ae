# SPDX-License-Identifier: Apache-2.0
"""The configuration file: TOML → checked values, with line numbers in errors."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Collection, Mapping

from nvitop.console.options import MODES, Options, check_interval, parse_thresholds
from nvitop.namedtuple import NamedTuple
from nvitop.platforms import settings_folder


class Setting(NamedTuple):
    """A key of the configuration file."""

    name: str
    #: Name in the layer of options; see :func:`nvitop.console.options.merge`.
    field: str
    #: ``'bool'``, ``'seconds'``, ``'choice'``, ``'thresholds'``, ``'names'`` or ``'keys'``.
    kind: str
    help: str
    #: Allowed words of a choice or of names; empty: those the program gives.
    choices: tuple[str, ...] = ()


# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting('mode', 'mode', 'choice', 'how much room the panels take', MODES),
    Setting('interval', 'interval', 'seconds', 'seconds between samples, 0.25 or more; without it devices 1, processes 2'),
    Setting('theme', 'theme', 'choice', 'colors'),
    Setting('colorful', 'colorful', 'bool', 'bars and graphs in a gradient, on terminals with 256 colors or more'),
    Setting('ascii', 'ascii', 'bool', 'draw with ASCII characters only'),
    Setting('readonly', 'readonly', 'bool', 'do not let signals be sent to processes'),
    Setting('show-host', 'show_host', 'bool', 'whether the host panel is shown'),
    Setting('columns', 'columns', 'names', 'columns of the process panel, from left to right'),
    Setting('gpu-utilization-thresholds', 'gpu_thresholds', 'thresholds', 'percentages from which GPU load is moderate and heavy'),
    Setting('memory-utilization-thresholds', 'memory_thresholds', 'thresholds', 'percentages from which memory load is moderate and heavy'),
    # A table, so it stands last in a file.
    Setting('keys', 'keys', 'keys', 'keys of the monitor, each list instead of the usual ones of an action'),
)
# fmt: on

SETTINGS_BY_NAME: dict[str, Setting] = {setting.name: setting for setting in SETTINGS}


class ConfigProblem(NamedTuple):
    """Something in the file that could not be used; the rest of the file was."""

    path: str
    #: Counts from 1, 0: the whole file.
    line: int
    message: str

    def __str__(self) -> str:
        where = f'{self.path}:{self.line}' if self.line else self.path
        return f'{where}: {self.message}'


class Config(NamedTuple):
    """What a configuration file says: a layer of options, and what was wrong with it."""

    layer: dict[str, object]
    problems: tuple[ConfigProblem, ...] = ()


#: A key as the help names it, but for a letter with Ctrl, which is in upper case.
_KEY = re.compile(
    r'(Alt-|Shift-)*'
    r'(Ctrl-[A-Z^_\]\\]|(Ctrl-)?(Enter|Esc|Space|Tab|Backspace|Insert|Delete|Home|End|PageUp|PageDown'
    r'|Up|Down|Left|Right|F[1-9]|F1[0-2])|\S)'
)

#: Where a file may name only what the program knows: setting → words.
Choices = Mapping[str, Collection[str]]


def default_path() -> str:
    """Where the file lives unless ``--config`` names another one: the platform's own folder."""
    return os.path.join(settings_folder(), 'config.toml')


def read_config(path: str | os.PathLike[str] | None, choices: Choices) -> Config:
    """Read the file, ``None``: the one at :func:`default_path`, which need not exist."""
    wanted = default_path() if path is None else path
    name = os.fspath(wanted)
    try:
        with open(wanted, 'rb') as file:
            text = file.read().decode('utf-8')
    except (FileNotFoundError, NotADirectoryError):
        # The home of a service is /dev/null.
        if path is None:
            return Config({})
        return Config({}, (ConfigProblem(name, 0, 'there is no such file'),))
    except OSError as error:
        return Config({}, (ConfigProblem(name, 0, f'cannot be read: {error.strerror}'),))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b'\n') + 1
        return Config({}, (ConfigProblem(name, line, 'is not UTF-8 text'),))
    if text.startswith('\ufeff'):  # editors of Windows put this mark before it
        text = text[1:]
    return parse_config(text, name, choices)


def parse_config(text: str, path: str, choices: Choices) -> Config:
    """The layer that the text of a file makes. What cannot be used is left out and reported."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Config({}, (_syntax_problem(text, path, str(error)),))
    layer: dict[str, object] = {}
    problems = []
    for name, value in values.items():
        try:
            setting = _setting(name)
            if setting.kind == 'keys':
                given, wrong = _check_keys(setting, value, choices)
                layer.update({setting.field: given} if given else {})
                problems += [ConfigProblem(path, _line_of(text, each), why) for each, why in wrong]
            else:
                layer[setting.field] = _check(setting, value, choices)
        except ValueError as error:
            problems.append(ConfigProblem(path, _line_of(text, name), str(error)))
    return Config(layer, tuple(problems))


def _syntax_problem(text: str, path: str, message: str) -> ConfigProblem:
    match = re.search(r'\s*\(at (?:line (\d+), column \d+|end of document)\)', message)
    if match is None:
        return ConfigProblem(path, 0, f'is not valid TOML: {message}')
    line = int(match.group(1) or text.rstrip().count('\n') + 1)
    return ConfigProblem(path, line, f'is not valid TOML: {message.replace(match.group(), "")}')


def _setting(name: str) -> Setting:
    """The setting of this name, also with underscores. Raises ValueError where there is none."""
    setting = SETTINGS_BY_NAME.get(name.replace('_', '-'))
    if setting is None:
        import difflib  # only needed to explain

        nearest = difflib.get_close_matches(name, SETTINGS_BY_NAME, n=1)
        hint = (
            f'did you mean {nearest[0]!r}?'
            if nearest
            else f'known are {", ".join(SETTINGS_BY_NAME)}'
        )
        raise ValueError(f'unknown key {name!r}: {hint}')
    return setting


def _check(setting: Setting, value: Any, choices: Choices) -> object:
    """The value as options have it. Raises ValueError, with what is allowed, where it is none."""
    allowed = _allowed(setting, choices)
    if setting.kind == 'bool':
        if not isinstance(value, bool):
            raise ValueError(f'{setting.name} must be true or false, not {value!r}')
        return value
    if setting.kind == 'seconds':
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f'{setting.name} must be a number of seconds, not {value!r}')
        try:
            return float(check_interval(value))
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
    if not value:
        raise ValueError(f'{setting.name} must name at least one of {", ".join(allowed)}')
    names = tuple(_one_of(setting.name, item, allowed) for item in value)
    if len(set(names)) < len(names):
        raise ValueError(f'{setting.name} names something twice')
    return names


def _check_keys(
    setting: Setting, value: object, choices: Choices
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], list[tuple[str, str]]]:
    """Names of actions with their keys, and what was wrong with which of them."""
    if not isinstance(value, dict):
        raise ValueError(f'{setting.name} must be a table, not {value!r}')
    allowed = _allowed(setting, choices)
    given, wrong = [], []
    for name, keys in value.items():
        keys = [keys] if isinstance(keys, str) else keys
        if name not in allowed:
            import difflib  # only needed to explain

            nearest = difflib.get_close_matches(name, allowed, n=1)
            hint = f': did you mean {nearest[0]!r}?' if nearest else ''
            wrong.append((name, f'unknown action {name!r}{hint}'))
        elif isinstance(keys, list) and all(map(_is_key, keys)):
            given.append((name, tuple(keys)))
        else:
            wrong.append((name, f'{name} must be a list of keys as in the help, not {keys!r}'))
    return tuple(given), wrong


def _is_key(text: object) -> bool:
    """Whether it names a key, or two that are pressed one after the other."""
    if not isinstance(text, str):
        return False
    return bool(text) and all(map(_KEY.fullmatch, text.split(' '))) and text.count(' ') <= 1


def _allowed(setting: Setting, choices: Choices) -> tuple[str, ...]:
    try:
        return setting.choices or tuple(choices[setting.name])
    except KeyError:
        return ()


def _one_of(name: str, value: object, allowed: Collection[str]) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    raise ValueError(f'{name} must be one of {", ".join(allowed)}, not {value!r}')


def _line_of(text: str, name: str) -> int:
    """The line that sets a key or opens a table of this name, 0: not found."""
    key = re.escape(name)
    pattern = re.compile(rf'^\s*(\[+\s*)?["\']?{key}["\']?\s*[]=.]', re.MULTILINE)
    match = pattern.search(text)
    return text.count('\n', 0, match.end()) + 1 if match else 0


def format_config(
    options: Options, choices: Choices, usual_keys: Mapping[str, tuple[str, ...]] | None = None
) -> str:
    """The effective configuration as a file with comments, for ``--print-config``."""
    lines = ['# Configuration of nvitop. Flags and environment variables beat what stands here.']
    for setting in SETTINGS:
        if setting.kind == 'keys':
            lines += ['', f'# {setting.help}', *_key_lines(setting, options, usual_keys or {})]
            continue
        allowed = _allowed(setting, choices)
        words = f' ({", ".join(allowed)})' if allowed else ''
        lines += ['', f'# {setting.help}{words}']
        value = _value_of(options, setting)
        if value is None:
            lines.append(f'# {setting.name} = ')
        else:
            lines.append(f'{setting.name} = {_toml(value)}')
    return '\n'.join(lines) + '\n'


def _key_lines(
    setting: Setting, options: Options, usual_keys: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """The table of keys: what the user has chosen, the others as comments."""
    given = dict(options.keys)
    lines = [f'[{setting.name}]']
    for name, usual in {**usual_keys, **given}.items():
        mark = '' if name in given else '# '
        lines.append(f'{mark}{name} = {_toml(given.get(name, usual))}')
    return lines


def _value_of(options: Options, setting: Setting) -> object:
    if setting.kind == 'thresholds':
        return getattr(options.thresholds, setting.field.split('_', 1)[0])
    return getattr(options, setting.field)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, tuple):
        return f'[{", ".join(_toml(item) for item in value)}]'
    if isinstance(value, str):
        text = value.replace('\\', '\\\\').replace('"', '\\"')
        return f'"{text}"'
    return repr(value)
