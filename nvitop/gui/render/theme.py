# SPDX-License-Identifier: GPL-3.0-only
"""Roles (the meaning of a piece of text), styles, and named themes: role → colors and attributes, for any number of colors.

Each metric has one hue. Green is only a free GPU, amber is waste or degradation (held, throttled), red is broken.
"""

from __future__ import annotations

import enum
import functools
from typing import TYPE_CHECKING, NamedTuple, Sequence, Tuple

from nvitop.basics.text import has_light_background

if TYPE_CHECKING:
    from collections.abc import Mapping

    #: A color for terminals with 8 colors (0 black, 1 red, 2 green, 3 yellow, 4 blue, 5 magenta,
    #: 6 cyan, 7 white), with 16 (those, and from 8 on their bright variants), and with 256.
    Color = Tuple[int, int, int]


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
    #: Traffic that is sent, next to that which is received.
    SENT = enum.auto()
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
    #: Behind the row under the cursor, whose text keeps its roles.
    SELECTED = enum.auto()
    #: A row that is tagged.
    TAGGED = enum.auto()
    #: Text typed by the user.
    INPUT = enum.auto()
    # That of Enum is a Python function, and styles are looked up for each span of a frame.
    __hash__ = int.__hash__


#: Bars, which are never reversed in colors: their filled parts would look empty.
_BARS = frozenset((Role.UTILIZATION, Role.MEMORY, Role.OTHER, Role.HELD, Role.TRACK))


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


#: Pieces of a line or of a cell, each with its style.
Pieces = Sequence[Tuple[str, Style]]
#: Style of ordinary text.
PLAIN = Style()
#: Styles that several panels and screens use.
DIM, HEADING = Style(Role.DIM), Style(Role.HEADING)
ERROR, WARNING = Style(Role.ERROR, bold=True), Style(Role.WARNING, bold=True)
BADGE, IDLE, TITLE = Style(Role.BADGE), Style(Role.IDLE, bold=True), Style(Role.TITLE, bold=True)
TAGGED, KEY = Style(Role.TAGGED), Style(Role.KEY, bold=True)
#: A user name, if it is that of the user of the monitor.
OWN = Style(Role.USER, bold=True)


DEFAULT = -1


class Look(NamedTuple):
    """How a terminal shows a cell. Colors are indices of its palette; -1 is its default."""

    foreground: int = DEFAULT
    background: int = DEFAULT
    bold: bool = False
    dim: bool = False
    underline: bool = False
    reverse: bool = False
    italic: bool = False
    blink: bool = False


NO_COLOR: Color = (DEFAULT, DEFAULT, DEFAULT)


class Paint(NamedTuple):
    """The color and attributes of a role in a theme. That of a role behind text is its background."""

    color: Color = NO_COLOR
    bold: bool = False
    dim: bool = False
    underline: bool = False
    reverse: bool = False


class Theme(NamedTuple):
    """A named theme. Roles without an entry look like ordinary text."""

    name: str
    paints: Mapping[Role, Paint]
    #: Other ones on the background of a row that is selected, which 256 colors have.
    selected: Mapping[Role, Paint] = {}

    def look(self, style: Style, colors: int) -> Look:
        """Return how a terminal with this many colors shows a style; with 0, by attributes alone."""
        paints = _MONO if colors < 8 else self.paints
        at = 0 if colors < 16 else 1 if colors < 256 else 2
        paint = paints.get(style.role, _PLAIN)
        background = DEFAULT if style.back is None else paints.get(style.back, _PLAIN).color[at]
        is_reversed = style.reverse or paint.reverse
        if style.back is Role.SELECTED and background == DEFAULT:
            is_bar = style.role in _BARS
            is_reversed ^= paints is _MONO or not is_bar
            paint = paint._replace(dim=paint.dim and is_bar)  # dim text would be a gray block
        elif style.back is Role.SELECTED:
            paint = self.selected.get(style.role, paint)
            if paint.color[at] == DEFAULT:
                paint = paint._replace(color=self.selected[Role.TEXT].color)
        foreground = paint.color[at]
        return Look(
            foreground=foreground,
            background=background,
            bold=style.bold or paint.bold,
            # A gray of 256 colors is dim by itself, and legible.
            dim=style.dim or (paint.dim and foreground < 16),
            underline=style.underline or paint.underline,
            reverse=is_reversed,
            italic=style.italic,
            blink=style.blink,
        )


_PLAIN = Paint()


def _paint(color: int, basic: int, bright: int | None = None, *, bold: bool = False) -> Paint:
    """Return the paint of a color of 256, one of 8, and one of 16."""
    return Paint((basic, basic if bright is None else bright, color), bold=bold)


_MONO: Mapping[Role, Paint] = {
    Role.DIM: Paint(dim=True),
    Role.BORDER: Paint(dim=True),
    Role.TITLE: Paint(bold=True),
    Role.UNKNOWN: Paint(dim=True),
    Role.HELD: Paint(bold=True),
    Role.TRACK: Paint(dim=True),
    Role.IDLE: Paint(bold=True),
    Role.ERROR: Paint(bold=True),
    Role.WARNING: Paint(bold=True),
    Role.KEY: Paint(bold=True),
    Role.USER: Paint(bold=True),
    Role.ROOT: Paint(bold=True, underline=True),
    Role.BADGE: Paint(bold=True, reverse=True),
    Role.TAGGED: Paint(bold=True),
    Role.INPUT: Paint(bold=True),
}

_BRIGHT_BLUE = _paint(75, 6, 14)
_DARK: Mapping[Role, Paint] = {
    Role.DIM: _paint(245, DEFAULT)._replace(dim=True),
    Role.UNKNOWN: _paint(245, DEFAULT)._replace(dim=True),
    Role.HEADING: _paint(245, DEFAULT)._replace(dim=True),
    Role.BORDER: _paint(241, DEFAULT, 8),
    Role.TITLE: Paint(bold=True),
    Role.UTILIZATION: _paint(74, 6),
    Role.MEMORY: _paint(141, 5, 13),
    Role.OTHER: _paint(73, 4, 12),
    Role.SENT: _paint(30, 4),
    Role.HELD: _paint(214, 3, 11, bold=True),
    Role.TRACK: _paint(238, DEFAULT, 8),
    Role.IDLE: _paint(83, 2, 10, bold=True),
    Role.WARNING: _paint(214, 3, 11),
    Role.ERROR: _paint(203, 1, 9),
    Role.KEY: _BRIGHT_BLUE._replace(bold=True),
    Role.INPUT: _BRIGHT_BLUE._replace(bold=True),
    Role.USER: Paint(bold=True),
    Role.ROOT: Paint(bold=True),
    Role.BADGE: Paint(bold=True, reverse=True),
    # Dark enough for every color above. With few colors, all of them are too close to any other one.
    Role.SELECTED: _paint(18, DEFAULT),
    Role.TAGGED: _BRIGHT_BLUE._replace(bold=True),
}
_ON_SELECTED: Mapping[Role, Paint] = {Role.TEXT: _paint(231, DEFAULT)}

# On white, the same hues are darker.
_BLUE = _paint(25, 4)
_LIGHT: Mapping[Role, Paint] = {
    **_DARK,
    Role.DIM: _paint(242, DEFAULT)._replace(dim=True),
    Role.UNKNOWN: _paint(242, DEFAULT)._replace(dim=True),
    Role.HEADING: _paint(242, DEFAULT)._replace(dim=True),
    Role.BORDER: _paint(249, DEFAULT, 7),
    Role.UTILIZATION: _paint(31, 4),
    Role.MEMORY: _paint(97, 5),
    Role.OTHER: _paint(30, 6),
    Role.SENT: _paint(23, 6),
    Role.HELD: _paint(130, 3, bold=True),
    Role.TRACK: _paint(253, DEFAULT, 7),
    Role.IDLE: _paint(28, 2, bold=True),
    Role.WARNING: _paint(130, 3),
    Role.ERROR: _paint(160, 1),
    Role.KEY: _BLUE._replace(bold=True),
    Role.INPUT: _BLUE._replace(bold=True),
    Role.SELECTED: _paint(195, DEFAULT),
    Role.TAGGED: _BLUE._replace(bold=True),
}
_ON_SELECTED_LIGHT: Mapping[Role, Paint] = {
    Role.TEXT: _paint(16, DEFAULT),
    Role.HELD: _paint(94, DEFAULT, bold=True),
    Role.IDLE: _paint(22, DEFAULT, bold=True),
    Role.WARNING: _paint(94, DEFAULT),
}

# Colors that differ in lightness too, for people who cannot distinguish red and green: errors are
# vermilion and bold, free GPUs are pale blue.
_SKY = _paint(117, 6, 14, bold=True)
_COLORBLIND: Mapping[Role, Paint] = {
    **_DARK,
    Role.UTILIZATION: _paint(69, 4, 12),
    Role.MEMORY: _paint(175, 5, 13),
    Role.OTHER: _paint(109, 7),
    Role.SENT: _paint(66, 8),
    Role.HELD: _paint(221, 3, 11, bold=True),
    Role.IDLE: _SKY,
    Role.WARNING: _paint(221, 3, 11),
    Role.ERROR: _paint(208, 1, 9, bold=True),
}

#: All themes, in the order in which the monitor cycles through them.
THEMES: tuple[Theme, ...] = (
    Theme('dark', _DARK, _ON_SELECTED),
    Theme('light', _LIGHT, _ON_SELECTED_LIGHT),
    Theme('mono', _MONO),
    Theme('colorblind', _COLORBLIND, _ON_SELECTED),
)


def resolve_theme(name: str, environ: Mapping[str, str]) -> str:
    """Return the name of a theme; ``auto`` is that of the background, dark if it is unknown."""
    if name != 'auto':
        return name
    return 'light' if has_light_background(environ) else 'dark'


# Cached because a terminal draws a complete frame if its theme is another object.
@functools.lru_cache(maxsize=None)
def theme_named(name: str, *, is_paused: bool = False) -> Theme:
    """Return the theme of this name; raise KeyError if there is none.

    While the display is paused, borders have the color of text.
    """
    theme = {theme.name: theme for theme in THEMES}[name]
    if is_paused and theme.paints:
        theme = theme._replace(paints={**theme.paints, Role.BORDER: Paint()})
    return theme
