# SPDX-License-Identifier: GPL-3.0-only
"""Roles (the meaning of a piece of text) and styles. A theme turns them into colors at the end."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Role(enum.IntEnum):
    """Meaning of a piece of text. Views know roles; only themes know colors."""

    TEXT = 0
    DIM = enum.auto()
    BORDER = enum.auto()
    #: A title in a border or in the first line of a screen; headings of columns in a panel.
    TITLE = enum.auto()
    HEADING = enum.auto()
    #: Measured percentage below the first threshold, between the two, from the second on, and
    #: unknown, if there is no gradient.
    LIGHT = enum.auto()
    MODERATE = enum.auto()
    HEAVY = enum.auto()
    UNKNOWN = enum.auto()
    #: Text about a device with such a percentage. Most themes draw it as ordinary text.
    ROW_LIGHT = enum.auto()
    ROW_MODERATE = enum.auto()
    ROW_HEAVY = enum.auto()
    #: A device that no process uses.
    IDLE = enum.auto()
    #: The empty part of a bar, and lines at 50 % and 100 % of a graph.
    TRACK = enum.auto()
    #: The line of a graph: the highest of the devices that the graph is the mean of.
    SPREAD = enum.auto()
    #: Measured percentages of the host, if there is no gradient.
    CPU = enum.auto()
    MEMORY = enum.auto()
    SWAP = enum.auto()
    #: Something is wrong: a lost or hot device, a failed action. No other role is red.
    ERROR = enum.auto()
    WARNING = enum.auto()
    #: An action succeeded: a signal was sent.
    SUCCESS = enum.auto()
    #: A key that can be pressed, in hints and in the help.
    KEY = enum.auto()
    USER = enum.auto()
    ROOT = enum.auto()
    HOST = enum.auto()
    #: The row under the cursor, rows that are tagged, and both.
    SELECTED = enum.auto()
    TAGGED = enum.auto()
    SELECTED_TAGGED = enum.auto()
    #: The lines of the process tree, and the row under its cursor.
    TREE = enum.auto()
    SELECTED_TREE = enum.auto()
    #: A bar above a list: names of columns, title of a screen.
    HEADER = enum.auto()
    #: Text typed by the user.
    INPUT = enum.auto()
    #: Steps of the gradient from 0 % to 100 %; see :func:`gradient`.
    GRADIENT_0 = enum.auto()
    GRADIENT_1 = enum.auto()
    GRADIENT_2 = enum.auto()
    GRADIENT_3 = enum.auto()
    GRADIENT_4 = enum.auto()
    GRADIENT_5 = enum.auto()
    GRADIENT_6 = enum.auto()
    GRADIENT_7 = enum.auto()
    GRADIENT_8 = enum.auto()
    GRADIENT_9 = enum.auto()
    GRADIENT_10 = enum.auto()
    GRADIENT_11 = enum.auto()
    GRADIENT_12 = enum.auto()
    GRADIENT_13 = enum.auto()
    GRADIENT_14 = enum.auto()
    GRADIENT_15 = enum.auto()
    GRADIENT_16 = enum.auto()
    GRADIENT_17 = enum.auto()
    GRADIENT_18 = enum.auto()
    GRADIENT_19 = enum.auto()

    # That of Enum is a Python function, and styles are looked up for each span of a frame.
    __hash__ = int.__hash__


#: The steps of the gradient, from 0 % to 100 %.
GRADIENT = tuple(role for role in Role if role.name.startswith('GRADIENT_'))


def gradient(fraction: float) -> Role:
    """Return the step of the gradient for a fraction; values outside 0.0–1.0 get the nearest one."""
    return GRADIENT[min(len(GRADIENT) - 1, max(0, int(fraction * len(GRADIENT))))]


class Style(NamedTuple):
    """A role and additional attributes."""

    role: Role = Role.TEXT
    bold: bool = False
    dim: bool = False
    underline: bool = False
    reverse: bool = False
    italic: bool = False
    blink: bool = False


#: Style of ordinary text.
PLAIN = Style()
#: Styles that several panels and screens use.
DIM, HEADING = Style(Role.DIM), Style(Role.HEADING)
ERROR, WARNING = Style(Role.ERROR, bold=True), Style(Role.WARNING, bold=True)
IDLE, TITLE = Style(Role.IDLE, bold=True), Style(Role.TITLE, bold=True)
#: A user name, if it is that of the user of the monitor.
OWN = Style(Role.USER, bold=True)
