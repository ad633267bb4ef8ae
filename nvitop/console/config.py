# SPDX-License-Identifier: Apache-2.0
"""The configuration file: TOML → checked values, with line numbers in errors, and saving."""

from __future__ import annotations

import os
import re
from typing import Any, Collection, Mapping, NamedTuple

from nvitop.basics.toml import TomlDocument, TomlError, suggestion
from nvitop.console.option_table import KEY_TABLE, SETTINGS, Option, format_value
from nvitop.console.options import PRESET, Options
from nvitop.platforms import config_file


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
#: Key → words that only other packages know; see :func:`nvitop.gui.settings.choices`.
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
        option = SETTINGS.get(name.replace('_', '-'))
        wrong: dict[tuple[str, ...], str] = {}
        if option is None:
            hint = suggestion(name, SETTINGS) or f'; known keys: {", ".join(SETTINGS)}'
            wrong[name,] = f'unknown key {name!r}{hint}'
        elif option.kind is KEY_TABLE:
            given = _check_keys(name, value, choices, wrong)
            layer.update({option.field: given} if given else {})
        else:
            try:
                layer[option.field] = check_value(option, value, choices)
            except ValueError as error:
                wrong[name,] = str(error)
        problems += [
            ConfigProblem(path, document.line_of(place), message)
            for place, message in wrong.items()
        ]
    return Config(layer, tuple(problems), tables)


def check_value(option: Option, value: object, choices: Choices) -> object:
    """Return the value of a field for a value in TOML. Raises ValueError with the allowed values."""
    try:
        return option.kind.check(value, choices.get(option.key, ()))
    except ValueError as error:
        raise ValueError(f'{option.key} {error}') from None


def _check_keys(
    name: str, value: object, choices: Choices, wrong: dict[tuple[str, ...], str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return actions with their keys; add a message for each invalid action to ``wrong``."""
    if not isinstance(value, dict):
        wrong[name,] = f'{name} must be a table, not {value!r}'
        return ()
    given = []
    allowed, presets = choices.get(name, ()), choices.get(PRESET, ())
    for action, keys in value.items():
        if action == PRESET:
            if keys in presets:
                given.append((action, (str(keys),)))
            else:
                names = ', '.join(map(repr, presets))
                wrong[name, action] = f'{action} must be one of {names}, not {keys!r}'
            continue
        keys = [keys] if isinstance(keys, str) else keys
        if action not in allowed:
            wrong[name, action] = f'unknown action {action!r}{suggestion(action, allowed)}'
        elif isinstance(keys, list) and all(map(_is_key, keys)):
            given.append((action, tuple(keys)))
        else:
            wrong[name, action] = (
                f'{action} must be a list of keys as shown in the help, not {keys!r}'
            )
    return tuple(given)


def _is_key(text: object) -> bool:
    """Whether a text is the name of a key, or of two keys to press in order."""
    keys = text.split(' ') if isinstance(text, str) else []
    return 1 <= len(keys) <= 2 and all(re.fullmatch(_KEY, key) for key in keys)


def format_config(
    options: Options, choices: Choices, default_keys: Mapping[str, tuple[str, ...]] | None = None
) -> str:
    """Format the effective configuration as a commented file, for ``--print-config``."""
    lines = ['# Configuration of nvitop. Options and environment variables override this file.']
    for key, option in SETTINGS.items():
        if option.kind is KEY_TABLE:
            lines += ['', f'# {option.comment}', *_key_lines(key, options, default_keys or {})]
            continue
        allowed = option.kind.arguments.get('choices') or choices.get(key)
        words = f' ({", ".join(allowed)})' if allowed else ''
        value = getattr(options, option.field)
        setting = f'# {key} = ' if value is None else f'{key} = {option.kind.format(value)}'
        lines += ['', f'# {option.comment}{words}', setting]
    return '\n'.join(lines) + '\n'


def _key_lines(
    key: str, options: Options, default_keys: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """The table of keys: those of the user, and the default ones as comments."""
    given = dict(options.keys)
    lines = [f'[{key}]']
    for name, default in {**default_keys, **given}.items():
        mark = '' if name in given else '# '
        value = given.get(name, default)
        lines.append(f'{mark}{name} = {format_value(value[0] if name == PRESET else value)}')
    return lines


# Saving settings, which keeps comments and all other lines


def save_settings(path: str, values: Mapping[str, object]) -> str:
    """Write settings by name to a file, which is created if necessary; return its path.

    If the file has these settings already, or none is needed, return ``''`` and write nothing.
    ``''`` is the file at :func:`nvitop.platforms.config_file`. Raises OSError if it cannot be
    written, ValueError if it is not a valid configuration file, which is then left unchanged.
    """
    shown = path or config_file()
    target = os.path.realpath(shown)  # the file may be a link into a folder of dotfiles
    try:
        with open(target, encoding='utf-8', newline='') as file:
            text = file.read()
    except FileNotFoundError:
        text = ''
    changed = with_settings(text, values)
    if changed == text:
        return ''
    os.makedirs(os.path.dirname(target), exist_ok=True)
    _replace(target, changed)
    return shown


def with_settings(text: str, values: Mapping[str, object]) -> str:
    """Return the text of a configuration file with these settings.

    A setting with its default value is not added. Raises ValueError if the text is not valid.
    """
    before = TomlDocument(text)
    defaults = Options()
    mark = '\ufeff' if text.startswith('\ufeff') else ''
    lines = text[len(mark) :].splitlines(keepends=True)
    end_of_line = '\r\n' if lines and lines[0].endswith('\r\n') else '\n'
    # From the last line to the first, so that the numbers of other lines stay true.
    places = {name: before.line_of((name,)) - 1 for name in values if name in before.values}
    for name, first in sorted(places.items(), key=lambda place: -place[1]):
        last = _end_of_value(lines, first)
        comment = _comment_of(lines[first]) if last == first + 1 else ''
        lines[first:last] = [
            f'{name} = {SETTINGS[name].kind.format(values[name])}{comment}{end_of_line}'
        ]
    added = [
        f'{name} = {SETTINGS[name].kind.format(value)}{end_of_line}'
        for name, value in values.items()
        if name not in places and value != getattr(defaults, SETTINGS[name].field)
    ]
    top = next((i for i, line in enumerate(lines) if line.lstrip().startswith('[')), len(lines))
    while 0 < top < len(lines) and not lines[top - 1].split('#')[0].strip():
        top -= 1  # comments above the first table belong to it
    if added and top > 0 and not lines[top - 1].endswith(('\n', '\r')):
        lines[top - 1] += end_of_line
    lines[top:top] = added
    changed = mark + ''.join(lines)
    after = TomlDocument(changed).values
    kept = {name: value for name, value in before.values.items() if name not in values}
    if any(after.get(name) != value for name, value in kept.items()):
        raise ValueError('the other settings of the file could not be kept')
    return changed


def _end_of_value(lines: list[str], first: int) -> int:
    """Return the number of the line after the value that begins in a line."""
    for end in range(first + 1, len(lines) + 1):
        try:
            TomlDocument(''.join(lines[first:end]))
        except TomlError:
            continue
        return end
    return first + 1


def _comment_of(line: str) -> str:
    """Return the comment at the end of a line with a setting, with the spaces before it."""
    value = TomlDocument(line).values
    for i, char in enumerate(line):
        if char == '#':
            try:
                is_comment = TomlDocument(line[:i]).values == value
            except TomlError:
                continue
            if is_comment:
                start = len(line[:i].rstrip())
                return line[start:].rstrip('\r\n')
    return ''


def _replace(path: str, text: str) -> None:
    """Replace the content of a file at once, so that it is never half written."""
    temporary = f'{path}.{os.getpid()}.tmp'
    try:
        with open(temporary, 'w', encoding='utf-8', newline='') as file:
            file.write(text)
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
        os.replace(temporary, path)
    except OSError:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
