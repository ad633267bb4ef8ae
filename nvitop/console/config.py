# SPDX-License-Identifier: Apache-2.0
"""The configuration file: TOML → checked values, with line numbers in errors; saved settings."""

from __future__ import annotations

import os
import re
import threading
from typing import Any, Collection, Mapping, NamedTuple

from nvitop.basics.toml import TomlDocument, TomlError, unknown
from nvitop.console.arguments import one_of
from nvitop.console.option_table import KEY_TABLE, SETTINGS, format_value
from nvitop.console.options import PRESET, Options, merge
from nvitop.platforms import config_file, saved_file


class Config(NamedTuple):
    """A configuration file: a layer of options, and messages about the parts that are invalid."""

    layer: dict[str, object]
    problems: tuple[str, ...] = ()
    #: Tables that belong to commands, which check them: name → values.
    tables: Mapping[str, Mapping[str, Any]] = {}
    #: Whether it has no other problem than invalid settings.
    is_readable: bool = True


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
        return Config({}, (f'{name}: file not found',), is_readable=False)
    except OSError as error:
        return Config({}, (f'{name}: cannot be read: {error.strerror}',), is_readable=False)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b'\n') + 1
        return Config({}, (f'{name}:{line}: is not UTF-8 text',), is_readable=False)
    return parse_config(text, name, choices)


def parse_config(text: str, path: str, choices: Choices) -> Config:
    """Parse the text of a file. Invalid parts are reported and left out."""
    try:
        document = TomlDocument(text)
    except TomlError as error:
        where = f'{path}:{error.line}' if error.line else path
        return Config({}, (f'{where}: {error}',), is_readable=False)
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
            wrong[name,] = unknown('key', name, SETTINGS)
        elif option.arguments is KEY_TABLE:
            keys = _check_keys(value, choices, wrong)
            layer.update({option.field: keys} if keys else {})
        else:
            try:
                layer[option.field] = option.check(value, choices.get(option.key, ()))
            except ValueError as error:
                wrong[name,] = f'{option.key}: {error}'
        problems += [
            f'{path}:{document.line_of(place)}: {message}' for place, message in wrong.items()
        ]
    return Config(layer, tuple(problems), tables)


def _check_keys(
    table: object, choices: Choices, wrong: dict[tuple[str, ...], str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return actions with their keys; add a message for each invalid action to ``wrong``."""
    if not isinstance(table, dict):
        wrong['keys',] = f'keys must be a table, not {table!r}'
        return ()
    actions: dict[str, tuple[str, ...]] = {}
    known = choices.get('keys', ())
    for action, keys in table.items():
        try:
            if action == PRESET:
                actions[action] = (one_of('word', choices.get(PRESET, ()))(str(keys)),)
            elif action in known:
                actions[action] = _checked_keys(keys)
            else:
                wrong['keys', action] = unknown('action', action, known)
        except ValueError as error:
            wrong['keys', action] = f'{action}: {error}'
    return tuple(actions.items())


def _checked_keys(value: object) -> tuple[str, ...]:
    keys = [value] if isinstance(value, str) else value
    if not isinstance(keys, list) or not all(map(_is_key, keys)):
        raise ValueError(f'must be a list of keys as shown in the help, not {value!r}')
    return tuple(keys)


def _is_key(text: object) -> bool:
    """Whether a text is the name of a key, or of two keys to press in order."""
    keys = text.split(' ') if isinstance(text, str) else []
    return 1 <= len(keys) <= 2 and all(re.fullmatch(_KEY, key) for key in keys)


def format_config(
    options: Options,
    choices: Choices,
    default_keys: Mapping[str, tuple[str, ...]] | None = None,
    origins: Mapping[str, str] | None = None,
) -> str:
    """Format the effective configuration as a commented file, for ``--print-config``.

    ``origins`` are the places that set a field: ``saved.toml``.
    """
    lines = ['# Configuration of nvitop. Options and environment variables override this file.']
    for key, option in SETTINGS.items():
        if option.arguments is KEY_TABLE:
            lines += ['', f'# {option.comment}', f'[{key}]']
            chosen = dict(options.keys)
            for name, keys in {**(default_keys or {}), **chosen}.items():
                mark = '' if name in chosen else '# '
                lines.append(f'{mark}{name} = {format_value(keys[0] if name == PRESET else keys)}')
            continue
        allowed = option.arguments.get('choices') or choices.get(key)
        words = f' ({", ".join(allowed)})' if allowed else ''
        value = getattr(options, option.field)
        setting = f'# {key} = ' if value is None else f'{key} = {option.format(value)}'
        origin = (origins or {}).get(option.field, '')
        lines += [
            '',
            f'# {option.comment}{words}',
            setting + (f'  # from {origin}' if origin else ''),
        ]
    return '\n'.join(lines) + '\n'


_SAVED_HEADER = """\
# Saved by the monitor (key W), and read after the configuration file.
# Delete this file, or press Alt-W, to forget these settings.
"""


def save_settings(path: str, values: Mapping[str, object], choices: Choices) -> str:
    """Save the settings that differ from the configuration file; return the path of the file.

    If none does, or no values are given, the file is removed, and ``''`` returned. Raises OSError.
    """
    configured = merge(read_config(path or None, choices).layer)
    lines = [
        f'{key} = {option.format(values[option.field])}\n'
        for key, option in SETTINGS.items()
        if option.is_saved
        and option.field in values
        and values[option.field] != getattr(configured, option.field)
    ]
    target = saved_file(path or config_file())
    if not lines:
        if os.path.exists(target):
            os.remove(target)
        return ''
    os.makedirs(os.path.dirname(target), exist_ok=True)
    # At once, so that the file is never half written. Another thread may save at the same time.
    temporary = f'{target}.{os.getpid()}.{threading.get_ident()}.tmp'
    try:
        with open(temporary, 'w', encoding='utf-8') as file:
            file.write(_SAVED_HEADER + ''.join(lines))
        os.replace(temporary, target)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
    return target
