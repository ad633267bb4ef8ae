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
    #: Measured values: utilization of GPUs, processes and CPUs; memory of any kind; all others.
    UTILIZATION = enum.auto()
    MEMORY = enum.auto()
    OTHER = enum.auto()
    #: The bar of a GPU that is held.
    HELD = enum.auto()
    UNKNOWN = enum.auto()
    #: A device that no process uses. No other role is green.
    IDLE = enum.auto()
    #: The empty part of a bar.
    TRACK = enum.auto()
    #: Something is wrong: a lost or hot device, a failed action. No other role is red.
    ERROR = enum.auto()
    #: Something is wasted or degraded: held memory, a throttled GPU. Only it and HELD are amber.
    WARNING = enum.auto()
    #: A key that can be pressed, in hints and in the help.
    KEY = enum.auto()
    USER = enum.auto()
    ROOT = enum.auto()
    #: A state of the whole screen: simulated, paused, a recording.
    BADGE = enum.auto()
    #: The row under the cursor, rows that are tagged, and both.
    SELECTED = enum.auto()
    TAGGED = enum.auto()
    SELECTED_TAGGED = enum.auto()
    #: Text typed by the user.
    INPUT = enum.auto()
    # That of Enum is a Python function, and styles are looked up for each span of a frame.
    __hash__ = int.__hash__


#: Bars, which keep their colors in front of the row that is selected or tagged.
BARS = frozenset((Role.UTILIZATION, Role.MEMORY, Role.OTHER, Role.HELD, Role.TRACK))
#: What is wrong or free, which is seen in a row that is selected too.
STATES = frozenset((Role.IDLE, Role.WARNING, Role.ERROR))


class Style(NamedTuple):
    """A role and additional attributes."""

    role: Role = Role.TEXT
    bold: bool = False
    dim: bool = False
    underline: bool = False
    reverse: bool = False
    italic: bool = False
    blink: bool = False
    #: The role whose color is behind the text: the empty part of a bar, a row that is selected.
    back: Role | None = None


#: Style of ordinary text.
PLAIN = Style()
#: Styles that several panels and screens use.
DIM, HEADING = Style(Role.DIM), Style(Role.HEADING)
ERROR, WARNING = Style(Role.ERROR, bold=True), Style(Role.WARNING, bold=True)
BADGE, IDLE, TITLE = Style(Role.BADGE), Style(Role.IDLE, bold=True), Style(Role.TITLE, bold=True)
#: A user name, if it is that of the user of the monitor.
OWN = Style(Role.USER, bold=True)
