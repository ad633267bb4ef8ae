# SPDX-License-Identifier: GPL-3.0-only
"""Named themes: role → colors and attributes, for terminals with 0, 8, 16 and 256 colors."""

from __future__ import annotations

from typing import Mapping

from nvitop.gui.render.style import GRADIENT, Role, Style
from nvitop.namedtuple import NamedTuple

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


class Paint(NamedTuple):
    """The colors and attributes of a role in a theme, with one color for each size of palette."""

    #: With 8 colors: 0 black, 1 red, 2 green, 3 yellow, 4 blue, 5 magenta, 6 cyan, 7 white.
    basic: int = DEFAULT
    #: With 16 colors: those 8, and from 8 on their bright variants.
    bright: int = DEFAULT
    #: With 256 colors: those 16, the color cube from 16 on, and grays from 232 on.
    extended: int = DEFAULT
    background: int = DEFAULT
    bold: bool = False
    dim: bool = False
    underline: bool = False
    reverse: bool = False


class Theme(NamedTuple):
    """A named theme. Roles without an entry look like ordinary text."""

    name: str
    paints: Mapping[Role, Paint]

    def look(self, style: Style, colors: int) -> Look:
        """Return how a terminal with this many colors shows a style; with 0, by attributes alone."""
        paints = self.paints if colors >= 8 else _MONO
        paint = paints.get(style.role, _PLAIN)
        return Look(
            foreground=paint[0 if colors < 16 else 1 if colors < 256 else 2],
            background=paint.background,
            bold=style.bold or paint.bold,
            dim=style.dim or paint.dim,
            underline=style.underline or paint.underline,
            reverse=style.reverse or paint.reverse,
            italic=style.italic,
            blink=style.blink,
        )


_PLAIN = Paint()


def _gradient(low: Paint, middle: Paint, high: Paint, extended: str) -> dict[Role, Paint]:
    """Return the paints of the gradient: a color for each step if there are 256, else 3 zones."""
    colors = [int(color) for color in extended.split()]
    third = len(GRADIENT) // 3
    zones = [low] * third + [middle] * third + [high] * third
    return {
        role: zone._replace(extended=color, bold=False)
        for role, zone, color in zip(GRADIENT, zones, colors)
    }


_MONO: Mapping[Role, Paint] = {
    Role.DIM: Paint(dim=True),
    Role.TITLE: Paint(bold=True),
    Role.HEAVY: Paint(bold=True),
    Role.UNKNOWN: Paint(dim=True),
    Role.ERROR: Paint(bold=True),
    Role.WARNING: Paint(bold=True),
    Role.KEY: Paint(bold=True),
    Role.USER: Paint(bold=True),
    Role.ROOT: Paint(bold=True, underline=True),
    Role.HOST: Paint(bold=True),
    Role.SELECTED: Paint(reverse=True),
    Role.TAGGED: Paint(bold=True, underline=True),
    Role.SELECTED_TAGGED: Paint(reverse=True, bold=True, underline=True),
    Role.TREE: Paint(bold=True),
    Role.SELECTED_TREE: Paint(reverse=True),
    Role.HEADER: Paint(reverse=True),
    Role.INPUT: Paint(bold=True),
}

_GREEN, _YELLOW, _RED = Paint(2, 2, 2), Paint(3, 3, 3), Paint(1, 9, 9)
_DARK: Mapping[Role, Paint] = {
    Role.DIM: Paint(dim=True),
    Role.TITLE: Paint(bold=True),
    Role.LIGHT: _GREEN,
    Role.MODERATE: _YELLOW,
    Role.HEAVY: _RED,
    Role.UNKNOWN: Paint(dim=True),
    Role.CPU: Paint(6, 6, 6),
    Role.MEMORY: Paint(5, 5, 5),
    Role.SWAP: Paint(4, 12, 12),
    Role.ERROR: _RED,
    Role.WARNING: _YELLOW,
    Role.SUCCESS: _GREEN,
    Role.KEY: Paint(5, 5, 5, bold=True),
    Role.USER: Paint(5, 5, 5, bold=True),
    Role.ROOT: Paint(3, 3, 3, bold=True),
    Role.HOST: Paint(2, 2, 2, bold=True),
    Role.SELECTED: Paint(6, 6, 6, reverse=True),
    Role.TAGGED: Paint(3, 3, 3, bold=True),
    Role.SELECTED_TAGGED: Paint(3, 3, 3, reverse=True),
    Role.TREE: Paint(2, 2, 2, bold=True),
    Role.SELECTED_TREE: Paint(2, 2, 2, reverse=True),
    Role.HEADER: Paint(6, 6, 6, reverse=True),
    Role.INPUT: Paint(6, 6, 6, bold=True),
    **_gradient(_GREEN, _YELLOW, _RED, '77 77 113 113 149 149 185 179 179 173 173 167'),
}

# On white, the terminal's own green, yellow and cyan are too pale: use darker ones if there are
# any. Text on colored bars is black.
_DARK_GREEN, _OCHRE, _DARK_RED = Paint(2, 2, 28), Paint(3, 3, 130), Paint(1, 1, 160)
_LIGHT: Mapping[Role, Paint] = {
    **_DARK,
    Role.LIGHT: _DARK_GREEN,
    Role.MODERATE: _OCHRE,
    Role.HEAVY: _DARK_RED,
    Role.CPU: Paint(6, 6, 30),
    Role.MEMORY: Paint(5, 5, 127),
    Role.SWAP: Paint(4, 4, 26),
    Role.ERROR: _DARK_RED,
    Role.WARNING: _OCHRE,
    Role.SUCCESS: _DARK_GREEN,
    Role.KEY: Paint(5, 5, 127, bold=True),
    Role.USER: Paint(5, 5, 127, bold=True),
    Role.ROOT: Paint(3, 3, 130, bold=True),
    Role.HOST: Paint(2, 2, 28, bold=True),
    Role.SELECTED: Paint(0, 0, 16, background=6),
    Role.TAGGED: Paint(3, 3, 130, bold=True),
    Role.SELECTED_TAGGED: Paint(0, 0, 16, background=3),
    Role.TREE: Paint(2, 2, 28, bold=True),
    Role.SELECTED_TREE: Paint(0, 0, 16, background=2),
    Role.HEADER: Paint(0, 0, 16, background=6),
    Role.INPUT: Paint(6, 6, 30, bold=True),
    **_gradient(_DARK_GREEN, _OCHRE, _DARK_RED, '28 28 64 64 64 100 100 94 94 130 124 160'),
}

# Blue, yellow and vermilion also differ in lightness, so they can be distinguished without seeing
# a difference between red and green. High values and errors are bold in addition.
_BLUE, _LEMON, _VERMILION = Paint(6, 14, 75), Paint(3, 11, 227), Paint(1, 9, 166, bold=True)
_COLORBLIND: Mapping[Role, Paint] = {
    **_DARK,
    Role.LIGHT: _BLUE,
    Role.MODERATE: _LEMON,
    Role.HEAVY: _VERMILION,
    Role.CPU: Paint(7, 15, 255),
    Role.MEMORY: Paint(5, 13, 175),
    Role.SWAP: Paint(4, 12, 33),
    Role.ERROR: _VERMILION,
    Role.WARNING: Paint(3, 11, 214),
    Role.SUCCESS: _BLUE,
    Role.KEY: Paint(5, 13, 175, bold=True),
    Role.USER: Paint(5, 13, 175, bold=True),
    Role.ROOT: Paint(3, 11, 214, bold=True),
    Role.HOST: Paint(6, 14, 75, bold=True),
    Role.SELECTED: Paint(6, 14, 75, reverse=True),
    Role.TAGGED: Paint(3, 11, 227, bold=True),
    Role.SELECTED_TAGGED: Paint(3, 11, 227, reverse=True),
    Role.TREE: Paint(6, 14, 75, bold=True),
    Role.SELECTED_TREE: Paint(6, 14, 75, reverse=True),
    Role.HEADER: Paint(7, 15, 255, reverse=True),
    Role.INPUT: Paint(7, 15, 255, bold=True),
    **_gradient(_BLUE, _LEMON, _VERMILION, '25 32 74 74 151 185 221 178 178 172 172 166'),
}

#: All themes, in the order in which the monitor cycles through them.
THEMES: tuple[Theme, ...] = (
    Theme('dark', _DARK),
    Theme('light', _LIGHT),
    Theme('mono', _MONO),
    Theme('colorblind', _COLORBLIND),
)


def theme_named(name: str) -> Theme:
    """Return the theme of this name; raise KeyError if there is none."""
    return {theme.name: theme for theme in THEMES}[name]
