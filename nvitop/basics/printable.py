# SPDX-License-Identifier: Apache-2.0
"""Text from outside, such as process names, made safe to print."""

from __future__ import annotations

from unicodedata import category

#: Line and paragraph separators.
_SEPARATORS = frozenset('\u2028\u2029')


def printable(text: str) -> str:
    """Replace characters that control a terminal or the direction of text by �."""
    if text.isprintable():
        return text
    # Control, format (bidirectional marks too) and surrogate characters.
    return ''.join(
        '�' if category(char) in ('Cc', 'Cf', 'Cs') or char in _SEPARATORS else char
        for char in text
    )


def printable_lines(text: str) -> str:
    """Make a text of several lines printable, keeping its line breaks."""
    return '\n'.join(map(printable, text.split('\n')))
