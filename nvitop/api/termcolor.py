# SPDX-License-Identifier: Apache-2.0
"""Text in ANSI colors: :mod:`termcolor` with the same behavior in all of its releases."""

from __future__ import annotations

import os
import sys
from typing import Any, Iterable

import termcolor
from termcolor import ATTRIBUTES, COLORS, HIGHLIGHTS, RESET

__all__ = ['ATTRIBUTES', 'COLORS', 'HIGHLIGHTS', 'RESET', 'can_colorize', 'colored', 'cprint']

ATTRIBUTES.setdefault('strike', 9)  # termcolor 2.4, the last release for Python 3.8, lacks it


def can_colorize(*, no_color: bool | None = None, force_color: bool | None = None) -> bool:
    """Return whether text on standard output should be colored.

    Arguments come first. Then the environment decides: a nonempty ``ANSI_COLORS_DISABLED`` or
    ``NO_COLOR`` forbids colors, ``FORCE_COLOR`` demands them (``0`` forbids them), and ``TERM=dumb`` forbids
    them.
    Otherwise standard output must be a terminal.

    The environment is read at each call. termcolor 3 keeps its first decision, and termcolor 2 takes
    an empty variable for a set one.
    """
    if no_color or force_color:
        return not no_color
    forced = os.environ.get('FORCE_COLOR')
    if os.environ.get('ANSI_COLORS_DISABLED') or os.environ.get('NO_COLOR') or forced == '0':
        return False
    if forced:
        return True
    if os.environ.get('TERM') == 'dumb':
        return False
    try:
        return sys.stdout is not None and sys.stdout.isatty()
    except (AttributeError, ValueError):  # not a real file, or closed
        return False


def colored(
    text: object,
    color: str | None = None,
    on_color: str | None = None,
    attrs: Iterable[str] | None = None,
    *,
    no_color: bool | None = None,
    force_color: bool | None = None,
) -> str:
    """Add a color, a background and attributes to text if :func:`can_colorize` allows it.

    Args:
        text: The text, or any other object.
        color: Name in :data:`COLORS`: ``black red green yellow blue magenta cyan light_grey``,
            ``dark_grey light_red … light_cyan white``.
        on_color: Name in :data:`HIGHLIGHTS`: the same after ``on_``.
        attrs: Names in :data:`ATTRIBUTES`: ``bold dark underline blink reverse concealed strike``.
        no_color: Add nothing.
        force_color: Add the colors in any case.

    Raises:
        KeyError: A name is unknown.

    >>> colored('hot', 'red', attrs=['bold'], force_color=True)
    '\\x1b[1m\\x1b[31mhot\\x1b[0m'
    """
    if not can_colorize(no_color=no_color, force_color=force_color):
        return str(text)
    return termcolor.colored(text, color, on_color, attrs, force_color=True)


def cprint(
    text: object,
    color: str | None = None,
    on_color: str | None = None,
    attrs: Iterable[str] | None = None,
    *,
    no_color: bool | None = None,
    force_color: bool | None = None,
    **kwargs: Any,
) -> None:
    """Print :func:`colored` text. Other keyword arguments are passed to :func:`print`."""
    print(
        colored(text, color, on_color, attrs, no_color=no_color, force_color=force_color), **kwargs
    )
