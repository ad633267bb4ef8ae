# SPDX-License-Identifier: Apache-2.0
"""Text from outside, made safe to print."""

from __future__ import annotations

#: Separators of lines and paragraphs, which move the text after them.
_MOVING = frozenset('\u2028\u2029')


def printable(text: str) -> str:
    """Text without anything that steers a terminal or turns the direction: � stands for it."""
    if text.isprintable():
        return text
    from unicodedata import category  # a library of its own, which most texts do not need

    # Control, format (bidirectional marks too) and surrogate characters.
    return ''.join(
        '�' if category(char) in ('Cc', 'Cf', 'Cs') or char in _MOVING else char for char in text
    )


def printable_lines(text: str) -> str:
    """The same of a message of several lines."""
    return '\n'.join(map(printable, text.split('\n')))
