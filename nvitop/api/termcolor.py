# SPDX-License-Identifier: Apache-2.0
"""Text in ANSI colours: termcolor's interface, alike with every release of it.

Releases before 2.2 know neither the bright colours nor ``force_color``, and some remember what they
found in the environment. So the decision is made here, anew at each call.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import termcolor

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = ['ATTRIBUTES', 'COLORS', 'HIGHLIGHTS', 'RESET', 'can_colorize', 'colored', 'cprint']

_DARK = ('black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'light_grey')
_BRIGHT = (
    'dark_grey',
    'light_red',
    'light_green',
    'light_yellow',
    'light_blue',
    'light_magenta',
    'light_cyan',
    'white',
)

#: Text colours by name, with their ANSI codes: ``black red green yellow blue magenta cyan
#: light_grey``, ``dark_grey light_red … light_cyan white``, and ``grey``, which is black.
COLORS: dict[str, int] = {
    'grey': 30,
    **{name: 30 + code for code, name in enumerate(_DARK)},
    **{name: 90 + code for code, name in enumerate(_BRIGHT)},
}
#: Background colours by name: the same, after ``on_``.
HIGHLIGHTS: dict[str, int] = {f'on_{name}': code + 10 for name, code in COLORS.items()}
#: Attributes by name: ``bold dark underline blink reverse concealed strike``, and what the
#: installed termcolor knows beside them.
ATTRIBUTES: dict[str, int] = {**termcolor.ATTRIBUTES, 'strike': 9}
#: The sequence that ends all colours and attributes.
RESET = termcolor.RESET


def can_colorize(*, no_color: bool | None = None, force_color: bool | None = None) -> bool:
    """Whether text on standard output is to be coloured.

    Arguments come first, then the environment: ``ANSI_COLORS_DISABLED`` and ``NO_COLOR`` forbid,
    ``FORCE_COLOR`` demands (set to anything but nothing), ``TERM=dumb`` forbids; else it is
    coloured where standard output is a terminal.
    """
    if no_color or force_color:
        return not no_color
    if os.environ.get('ANSI_COLORS_DISABLED') or os.environ.get('NO_COLOR'):
        return False
    if os.environ.get('FORCE_COLOR'):
        return True
    if os.environ.get('TERM') == 'dumb':
        return False
    isatty = getattr(sys.stdout, 'isatty', None)
    try:
        return isatty is not None and bool(isatty())
    except ValueError:  # closed
        return False


def colored(
    text: object,
    color: str | tuple[int, int, int] | None = None,
    on_color: str | tuple[int, int, int] | None = None,
    attrs: Iterable[str] | None = None,
    *,
    no_color: bool | None = None,
    force_color: bool | None = None,
) -> str:
    """Text in a colour, on a background, with attributes, where :func:`can_colorize` says so.

    Colours are names of :data:`COLORS` and :data:`HIGHLIGHTS` or ``(red, green, blue)`` from 0 to
    255, attributes names of :data:`ATTRIBUTES`; ``KeyError`` for any other name.

    >>> colored('hot', 'red', attrs=['bold'], force_color=True)
    '\\x1b[1m\\x1b[31mhot\\x1b[0m'
    """
    result = str(text)
    if not can_colorize(no_color=no_color, force_color=force_color):
        return result
    if color is not None:
        result = f'\033[{_code(color, COLORS, "38")}m{result}'
    if on_color is not None:
        result = f'\033[{_code(on_color, HIGHLIGHTS, "48")}m{result}'
    for attribute in attrs or ():
        result = f'\033[{ATTRIBUTES[attribute]}m{result}'
    return result + RESET


def _code(color: str | tuple[int, int, int], names: dict[str, int], rgb: str) -> str:
    if isinstance(color, str):
        return str(names[color])
    red, green, blue = color
    return f'{rgb};2;{red};{green};{blue}'


def cprint(
    text: object,
    color: str | tuple[int, int, int] | None = None,
    on_color: str | tuple[int, int, int] | None = None,
    attrs: Iterable[str] | None = None,
    *,
    no_color: bool | None = None,
    force_color: bool | None = None,
    **kwargs: Any,
) -> None:
    """Print :func:`colored` text; other keywords go to :func:`print`."""
    print(
        colored(text, color, on_color, attrs, no_color=no_color, force_color=force_color), **kwargs
    )
