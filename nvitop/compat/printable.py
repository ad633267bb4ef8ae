# SPDX-License-Identifier: Apache-2.0
"""Text from outside, made safe to print."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with all that could steer a terminal replaced: control and formatting characters."""
    if text.isprintable():
        return text
    return ''.join(char if char.isprintable() else '�' for char in text)
