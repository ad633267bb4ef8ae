# SPDX-License-Identifier: Apache-2.0
"""Messages of commands on standard error (``nvitop: warning: …``), and the widths of terminals."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Iterable, Literal, Mapping, NamedTuple, TextIO

from nvitop.basics.text import NO_BREAK, has_light_background, printable_lines, with_whole_commands

if TYPE_CHECKING:
    Kind = Literal['error', 'warning', 'hint']

_COLORS = {'error': 'red', 'warning': 'yellow', 'hint': 'green'}


class Message(NamedTuple):
    """A message to print later. An error means a nonzero exit status."""

    kind: Kind
    text: str
    #: Exit status of an error.
    status: int = 1


def print_message(program: str, kind: Kind, text: str) -> None:
    """Print ``PROGRAM: KIND: TEXT`` to standard error, with all lines but the first indented.

    On a terminal the kind is colored and the text is wrapped between words. A standard error that
    cannot be written to is ignored.
    """
    message = f'{program}: {kind}: {printable_lines(text)}'.replace('\n', '\n  ')
    with contextlib.suppress(OSError):
        if sys.stderr.isatty():
            from nvitop.api.termcolor import colored  # most commands need none

            label = colored(f'{kind}:', _COLORS[kind], attrs=('bold',))
            message = wrapped(message, sys.stderr).replace(f'{kind}:', label, 1)
        print(message, file=sys.stderr)


#: Look of text in a report → its codes for terminals with few colors, which follow their theme, and
#: for those with 256 and a dark or a light background, as in the monitor.
_LOOKS = {
    'title': ('1', '1', '1'),
    'dim': ('2', '38;5;245', '38;5;242'),
    'badge': ('7', '7', '7'),
    'free': ('32', '38;5;83', '38;5;28'),
    'held': ('33', '38;5;214', '38;5;130'),
    'warning': ('1;33', '1;38;5;214', '1;38;5;130'),
    'critical': ('1;31', '1;38;5;203', '1;38;5;160'),
}


def painted(text: str, look: str) -> str:
    """Return text for standard output in the look of a part of a report, if it takes colors."""
    from nvitop.api.termcolor import can_colorize  # most commands need none

    if not text or not look or not can_colorize():
        return text
    has_many = os.environ.get('COLORTERM') or '256color' in os.environ.get('TERM', '')
    few, dark, light = _LOOKS[look]
    many = light if has_light_background(os.environ) else dark
    return f'\033[{many if has_many else few}m{text}\033[m'


def print_messages(program: str, messages: Iterable[Message]) -> None:
    """Print messages in their order."""
    for message in messages:
        print_message(program, message.kind, message.text)


def exit_status(messages: Iterable[Message]) -> int:
    """Return the highest status of the errors, 0 if there is none."""
    return max((message.status for message in messages if message.kind == 'error'), default=0)


def names_ascii(environ: Mapping[str, str]) -> bool:
    """Whether the user has chosen the locale C or POSIX, and not that Python writes UTF-8 with it.

    Python writes UTF-8 anyway, and sets ``LC_CTYPE`` to C.UTF-8 unless there is ``LC_ALL``. No locale at
    all, as in many containers, is no choice.
    """
    if environ.get('PYTHONIOENCODING') or environ.get('PYTHONUTF8') == '1':
        return False
    ctype = environ.get('LC_CTYPE')
    language = environ.get('LANG')
    chosen = environ.get('LC_ALL') or (language if ctype == 'C.UTF-8' else ctype or language)
    return chosen in ('C', 'POSIX')


def stdout_has_utf8() -> bool:
    """Whether standard output shows all characters."""
    encoding = (getattr(sys.stdout, 'encoding', '') or 'utf-8').lower()
    return encoding.startswith('utf') and not names_ascii(os.environ)


def stdout_width() -> int:
    """Number of columns of stdout: ``COLUMNS`` if it is set, else that of the terminal, else 79."""
    with contextlib.suppress(ValueError):
        columns = int(os.environ.get('COLUMNS', ''))
        if columns > 0:
            return columns
    return _size(sys.stdout)[0] or 79


def terminal_width() -> int:
    """Number of columns of stdout if it is a terminal, else 0."""
    return stdout_width() if sys.stdout is not None and sys.stdout.isatty() else 0


def stdout_height() -> int:
    """Number of rows of the terminal of stdout; 0 if it is none."""
    return _size(sys.stdout)[1]


def _size(stream: TextIO) -> tuple[int, int]:
    """Return columns and rows of the terminal of a stream; 0 if it is none."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        size = os.get_terminal_size(stream.fileno())
        return size.columns, size.lines
    return 0, 0


def wrapped(text: str, stream: TextIO, indent: int = 2) -> str:
    """Return lines wrapped between words if the stream is a terminal, and indented at least as before."""
    width = _size(stream)[0]
    if not width:
        return text
    import textwrap  # few commands print messages

    rows = []
    for line in with_whole_commands(text).split('\n'):
        margin = ' ' * max(indent, len(line) - len(line.lstrip(' ')))
        rows += textwrap.wrap(
            line, width, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
        ) or ['']
    return '\n'.join(rows).replace(NO_BREAK, ' ')
