# SPDX-License-Identifier: Apache-2.0
"""Writes settings to the configuration file, keeping comments and all other lines."""

from __future__ import annotations

import os
from typing import Mapping

from nvitop.console.option_table import SETTINGS
from nvitop.console.options import Options
from nvitop.platforms import config_file
from nvitop.toml import TomlDocument, TomlError


def save_settings(path: str, values: Mapping[str, object]) -> str:
    """Write settings by name to a file, which is created if necessary; return its path.

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
        os.makedirs(os.path.dirname(target), exist_ok=True)
    changed = with_settings(text, values)
    if changed != text:
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
