# SPDX-License-Identifier: GPL-3.0-only
"""Named themes: role → colors and attributes, for terminals with any number of colors."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple, Tuple

from nvitop.gui.render.style import GRADIENT, Role, Style

if TYPE_CHECKING:
    from collections.abc import Mapping

    #: A color for terminals with 8 colors (0 black, 1 red, 2 green, 3 yellow, 4 blue, 5 magenta,
    #: 6 cyan, 7 white), with 16 (those, and from 8 on their bright variants), and with more (one of
    #: those, or :data:`EXACT` + ``0xRRGGBB``).
    Color = Tuple[int, int, int]

DEFAULT = -1
#: Number of colors of a terminal that shows any color (24 bits).
ALL_COLORS = 1 << 24
#: Added to a color that is not an index of the palette but red, green and blue (``0xRRGGBB``).
EXACT = 1 << 24


class Look(NamedTuple):
    """How a terminal shows a cell.

    Colors are indices of its palette, or :data:`EXACT` + ``0xRRGGBB``; -1 is its default.
    """

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
    """The colors and attributes of a role in a theme."""

    foreground: Color = NO_COLOR
    background: Color = NO_COLOR
    bold: bool = False
    dim: bool = False
    underline: bool = False
    reverse: bool = False


class Theme(NamedTuple):
    """A named theme. Roles without an entry look like ordinary text."""

    name: str
    paints: Mapping[Role, Paint]
    #: Colors (``0xRRGGBB``) of the gradient at equal distances, from 0 % to 100 %; empty: none.
    stops: tuple[int, ...] = ()
    #: The gradient in the palette of 256 colors; empty: the colors nearest to the stops.
    palette: tuple[int, ...] = ()

    def look(self, style: Style, colors: int) -> Look:
        """Return how a terminal with this many colors shows a style; with 0, by attributes alone."""
        if colors < 8:
            paint = _MONO.get(style.role, _PLAIN)
        elif style.role >= Role.GRADIENT_0 and self.stops:
            paint = self._gradient_paint(style.role - Role.GRADIENT_0, colors)
        else:
            paint = self.paints.get(style.role, _PLAIN)
        return Look(
            foreground=_color_of(paint.foreground, colors),
            background=_color_of(paint.background, colors),
            bold=style.bold or paint.bold,
            # An exact color is dim by itself, and legible.
            dim=style.dim or (paint.dim and not (colors >= 256 and paint.foreground[2] >= EXACT)),
            underline=style.underline or paint.underline,
            reverse=style.reverse or paint.reverse,
            italic=style.italic,
            blink=style.blink,
        )

    def _gradient_paint(self, step: int, colors: int) -> Paint:
        """Return a step of the gradient. With fewer than 256 colors it has three, a third each."""
        few = self.paints[(Role.LIGHT, Role.MODERATE, Role.HEAVY)[3 * step // len(GRADIENT)]]
        if colors < ALL_COLORS and self.palette:
            index = self.palette[step * len(self.palette) // len(GRADIENT)]
            return Paint((*few.foreground[:2], index))
        place = step / (len(GRADIENT) - 1) * (len(self.stops) - 1)
        left = min(int(place), len(self.stops) - 2)
        red, green, blue = (
            round(a + (b - a) * (place - left))
            for a, b in zip(_parts(self.stops[left]), _parts(self.stops[left + 1]))
        )
        return _paint(red << 16 | green << 8 | blue, *few.foreground[:2])


_PLAIN = Paint()
#: Levels of red, green and blue in the color cube of 256 colors.
_CUBE = (0, 95, 135, 175, 215, 255)


def _parts(rgb: int) -> tuple[int, int, int]:
    return rgb >> 16, rgb >> 8 & 255, rgb & 255


def _nearest_step(part: int) -> int:
    return min(range(6), key=lambda step: abs(_CUBE[step] - part))


def nearest_extended(rgb: int) -> int:
    """Return the color of the 256-color palette nearest to a color, outside the first 16."""
    parts = _parts(rgb)
    steps = [_nearest_step(part) for part in parts]
    gray = max(0, min(23, round((sum(parts) / 3 - 8) / 10)))
    candidates = (
        ([_CUBE[step] for step in steps], 16 + 36 * steps[0] + 6 * steps[1] + steps[2]),
        ([8 + 10 * gray] * 3, 232 + gray),
    )
    return min(candidates, key=lambda c: sum((a - b) ** 2 for a, b in zip(c[0], parts)))[1]


def _color_of(color: Color, colors: int) -> int:
    """Return the color for a terminal with this many colors."""
    basic, bright, exact = color
    if colors < 256:
        return basic if colors < 16 else bright
    if exact < EXACT or colors >= ALL_COLORS:
        return exact
    return nearest_extended(exact - EXACT)


def _color(rgb: int, basic: int, bright: int | None = None) -> Color:
    return basic, basic if bright is None else bright, EXACT + rgb


def _paint(rgb: int, basic: int, bright: int | None = None, *, bold: bool = False) -> Paint:
    return Paint(_color(rgb, basic, bright), bold=bold)


def _palette(basic: int, bright: int | None = None) -> Paint:
    """Return a paint in a color that the user chose for the palette of the terminal."""
    bright = basic if bright is None else bright
    return Paint((basic, bright, bright))


_MONO: Mapping[Role, Paint] = {
    Role.DIM: Paint(dim=True),
    Role.BORDER: Paint(dim=True),
    Role.TITLE: Paint(bold=True),
    Role.UNKNOWN: Paint(dim=True),
    Role.TRACK: Paint(dim=True),
    Role.SPREAD: Paint(dim=True),
    Role.IDLE: Paint(bold=True),
    Role.ERROR: Paint(bold=True),
    Role.WARNING: Paint(bold=True),
    Role.KEY: Paint(bold=True),
    Role.USER: Paint(bold=True),
    Role.ROOT: Paint(bold=True, underline=True),
    Role.SELECTED: Paint(reverse=True),
    Role.TAGGED: Paint(bold=True, underline=True),
    Role.SELECTED_TAGGED: Paint(reverse=True, bold=True, underline=True),
    Role.TREE: Paint(dim=True),
    Role.SELECTED_TREE: Paint(reverse=True),
    Role.HEADER: Paint(bold=True, underline=True),
    Role.INPUT: Paint(bold=True),
}

# Measured values go from indigo over cyan to ice: green is for idle GPUs, amber and red for what is
# wrong. With few colors, the highest ones have the color of text.
_INDIGO, _CYAN, _ICE = _paint(0x6C7FF0, 4, 12), _paint(0x35AACB, 6, 14), _paint(0xA6ECF7, DEFAULT)
_TEAL = _paint(0x22A8A0, 6, 14)
_GREEN, _RED = _paint(0x7AC74F, 2), _paint(0xFF6B6B, 1, 9)
_AMBER, _BLUE = _paint(0xEEB34C, 3, 11), _paint(0x74B0E4, 6)
_DARK: Mapping[Role, Paint] = {
    Role.DIM: _paint(0x9AA2AE, DEFAULT)._replace(dim=True),
    Role.BORDER: _paint(0x545B68, DEFAULT, 8),
    Role.TITLE: Paint(bold=True),
    Role.HEADING: _paint(0x9AA2AE, DEFAULT),
    Role.LIGHT: _INDIGO,
    Role.MODERATE: _CYAN,
    Role.HEAVY: _ICE,
    Role.UNKNOWN: _paint(0x9AA2AE, DEFAULT)._replace(dim=True),
    Role.IDLE: _GREEN,
    Role.TRACK: _paint(0x3C424E, DEFAULT, 8),
    Role.SPREAD: _paint(0x7D8799, DEFAULT, 8),
    Role.CPU: _TEAL,
    Role.MEMORY: _paint(0xB48EAD, 5),
    Role.SWAP: _paint(0x5E81AC, 4, 12),
    Role.ERROR: _RED,
    Role.WARNING: _AMBER,
    Role.SUCCESS: _GREEN,
    Role.KEY: _BLUE._replace(bold=True),
    Role.USER: Paint(bold=True),
    Role.ROOT: _AMBER._replace(bold=True),
    Role.SELECTED: Paint(_color(0xFFFFFF, 0), _color(0x24527A, 6)),
    Role.TAGGED: _BLUE._replace(bold=True, underline=True),
    Role.SELECTED_TAGGED: Paint(
        _color(0xFFFFFF, 0), _color(0x24527A, 6), bold=True, underline=True
    ),
    Role.TREE: _paint(0x6E7683, DEFAULT, 8),
    Role.SELECTED_TREE: Paint(_color(0xFFFFFF, 0), _color(0x24527A, 6)),
    Role.HEADER: Paint(_color(0xC9CED6, 0), _color(0x2B303A, 7), bold=True),
    Role.INPUT: _BLUE._replace(bold=True),
}

# On white, the same hues have to be darker, and the darkest one is the strongest.
_DARK_CYAN, _DARK_INDIGO = _paint(0x107079, 6), _paint(0x3B2E9E, DEFAULT)
_DARK_GREEN, _DARK_TEAL = _paint(0x2F7A12, 2), _paint(0x127A75, 6)
_DARK_RED, _OCHRE, _DARK_BLUE = _paint(0xC62828, 1), _paint(0x8A6100, 3), _paint(0x1D63A8, 4)
_LIGHT: Mapping[Role, Paint] = {
    **_DARK,
    Role.DIM: _paint(0x5F6773, DEFAULT)._replace(dim=True),
    Role.UNKNOWN: _paint(0x5F6773, DEFAULT)._replace(dim=True),
    Role.BORDER: _paint(0xB4BAC4, DEFAULT, 7),
    Role.HEADING: _paint(0x636B78, DEFAULT),
    Role.LIGHT: _DARK_CYAN,
    Role.MODERATE: _paint(0x2A62B0, 4),
    Role.HEAVY: _DARK_INDIGO,
    Role.IDLE: _DARK_GREEN,
    Role.TRACK: _paint(0xD6DAE0, DEFAULT, 7),
    Role.SPREAD: _paint(0x8C94A0, DEFAULT, 7),
    Role.CPU: _DARK_TEAL,
    Role.MEMORY: _paint(0x8A3B8F, 5),
    Role.SWAP: _paint(0x2B5A9E, 4),
    Role.ERROR: _DARK_RED,
    Role.WARNING: _OCHRE,
    Role.SUCCESS: _DARK_GREEN,
    Role.KEY: _DARK_BLUE._replace(bold=True),
    Role.ROOT: _OCHRE._replace(bold=True),
    Role.SELECTED: Paint(_color(0x000000, 0), _color(0xC9E0F7, 6)),
    Role.TAGGED: _DARK_BLUE._replace(bold=True, underline=True),
    Role.SELECTED_TAGGED: Paint(
        _color(0x000000, 0), _color(0xC9E0F7, 6), bold=True, underline=True
    ),
    Role.TREE: _paint(0x8C94A0, DEFAULT, 8),
    Role.SELECTED_TREE: Paint(_color(0x000000, 0), _color(0xC9E0F7, 6)),
    Role.HEADER: Paint(_color(0x30353D, 0), _color(0xE7EAEE, 7), bold=True),
    Role.INPUT: _DARK_BLUE._replace(bold=True),
}

# For an unknown background: as bright as a middle gray. The contrast is at least 4.5 on black and
# #101216; it is 4.1 on #1E1E1E and on white, because no color has more on both.
_EITHER: Mapping[Role, Paint] = {
    **_DARK,
    Role.DIM: _paint(0x767E8C, DEFAULT)._replace(dim=True),
    Role.UNKNOWN: _paint(0x767E8C, DEFAULT)._replace(dim=True),
    Role.HEADING: _paint(0x767E8C, DEFAULT),
    Role.LIGHT: _paint(0x6975D7, 4, 12),
    Role.MODERATE: _paint(0x4180CA, 6, 14),
    Role.HEAVY: _paint(0x0F89A2, DEFAULT),
    Role.IDLE: _paint(0x2C9036, 2),
    Role.TRACK: _paint(0x767E8C, DEFAULT, 8),
    Role.BORDER: _paint(0x8C94A0, DEFAULT, 8),
    Role.SPREAD: _paint(0x7D8593, 4, 8),
    Role.CPU: _paint(0x128C86, 6),
    Role.MEMORY: _paint(0xA664B7, 5),
    Role.SWAP: _paint(0x577EBF, 4, 12),
    Role.ERROR: _paint(0xDF4747, 1, 9),
    Role.WARNING: _paint(0xA97300, 3),
    Role.SUCCESS: _paint(0x2C9036, 2),
    Role.KEY: _paint(0x3181CD, 6, bold=True),
    Role.ROOT: _paint(0xA97300, 3, bold=True),
    Role.TAGGED: _paint(0x3181CD, 6)._replace(bold=True, underline=True),
    Role.INPUT: _paint(0x3181CD, 6, bold=True),
}

# Blue, green and yellow that also differ in lightness (as in the palette viridis) look different even to
# people who cannot distinguish red and green. Errors are vermilion and bold.
_VIOLET, _SEA, _LEMON = _paint(0x5E7CE2, 4, 12), _paint(0x22A884, 6), _paint(0xFDE725, 7, 15)
_VERMILION, _SKY, _ORANGE = (
    _paint(0xF0662B, 1, 9, bold=True),
    _paint(0x6FC0F5, 6, 14),
    _paint(0xF5C04A, 3),
)
_COLORBLIND: Mapping[Role, Paint] = {
    **_DARK,
    Role.LIGHT: _VIOLET,
    Role.MODERATE: _SEA,
    Role.HEAVY: _LEMON,
    Role.IDLE: _SKY,
    Role.CPU: _paint(0xE4E4E4, 7, 15),
    Role.MEMORY: _paint(0xD7A1D7, 5, 13),
    Role.SWAP: _paint(0x3E7FD6, 4, 12),
    Role.ERROR: _VERMILION,
    Role.WARNING: _ORANGE,
    Role.SUCCESS: _SKY,
    Role.KEY: _SKY._replace(bold=True),
    Role.ROOT: _ORANGE._replace(bold=True),
    Role.TAGGED: _SKY._replace(bold=True, underline=True),
    Role.INPUT: _SKY._replace(bold=True),
}

# The colors of nvitop 1.7: those of the palette, for whole rows, and red for high values.
_OLD_GREEN, _OLD_YELLOW, _OLD_RED = _palette(2), _palette(3), _palette(1, 9)
_OLD_CYAN, _MAGENTA = _palette(6), _palette(5)
_CLASSIC: Mapping[Role, Paint] = {
    Role.DIM: Paint(dim=True),
    Role.TITLE: Paint(bold=True),
    Role.LIGHT: _OLD_GREEN,
    Role.MODERATE: _OLD_YELLOW,
    Role.HEAVY: _OLD_RED,
    Role.UNKNOWN: Paint(dim=True),
    Role.ROW_LIGHT: _OLD_GREEN,
    Role.ROW_MODERATE: _OLD_YELLOW,
    Role.ROW_HEAVY: _OLD_RED,
    Role.IDLE: _OLD_GREEN,
    Role.TRACK: Paint(dim=True),
    Role.SPREAD: Paint(dim=True),
    Role.CPU: _OLD_CYAN,
    Role.MEMORY: _MAGENTA,
    Role.SWAP: _palette(4, 12),
    Role.ERROR: _OLD_RED,
    Role.WARNING: _OLD_YELLOW,
    Role.SUCCESS: _OLD_GREEN,
    Role.KEY: _MAGENTA._replace(bold=True),
    Role.USER: _MAGENTA._replace(bold=True),
    Role.ROOT: _OLD_YELLOW._replace(bold=True),
    Role.HOST: _OLD_GREEN._replace(bold=True),
    Role.SELECTED: _OLD_CYAN._replace(reverse=True),
    Role.TAGGED: _OLD_YELLOW._replace(bold=True),
    Role.SELECTED_TAGGED: _OLD_YELLOW._replace(reverse=True),
    Role.TREE: _OLD_GREEN._replace(bold=True),
    Role.SELECTED_TREE: _OLD_GREEN._replace(reverse=True),
    Role.HEADER: _OLD_CYAN._replace(reverse=True, bold=True),
    Role.INPUT: _OLD_CYAN._replace(bold=True),
}

#: For an unknown background.
_AUTO = Theme('auto', _EITHER, (0x7571DA, 0x5A79D7, 0x4180CA, 0x2086B9, 0x0F89A2))
#: All themes, in the order in which the monitor cycles through them.
THEMES: tuple[Theme, ...] = (
    Theme(
        'dark',
        _DARK,
        (0x6C7FF0, 0x4A94DC, 0x35AACB, 0x5CCDE3, 0xA6ECF7),
        (63, 69, 68, 74, 38, 44, 80, 116, 159),
    ),
    Theme(
        'light',
        _LIGHT,
        (0x107079, 0x1F72A0, 0x2A62B0, 0x3B4BAE, 0x3B2E9E),
        (30, 31, 25, 26, 20, 19),
    ),
    Theme('classic', _CLASSIC, (0x5FD75F, 0x87D75F, 0xAFD75F, 0xD7AF5F, 0xD7875F, 0xD75F5F)),
    Theme('mono', _MONO),
    Theme(
        'colorblind',
        _COLORBLIND,
        (0x5E5FC4, 0x3B7BC0, 0x22A884, 0x7AD151, 0xFDE725),
        (61, 67, 73, 72, 71, 77, 113, 149, 185, 221, 227),
    ),
)


def has_dotted_tracks(theme: str, colors: int) -> bool:
    """Return whether empty parts of bars and guides of graphs are dotted, because no dim color suits every background."""
    return theme == _AUTO.name and colors >= 256


def resolve_theme(name: str, environ: Mapping[str, str]) -> str:
    """Return the name of a theme; ``auto`` becomes light or dark if ``COLORFGBG`` says what the background is.

    That variable ends with the background, an index of the palette with 16 colors.
    """
    background = environ.get('COLORFGBG', '').rpartition(';')[2]
    if name != 'auto' or not background.isdecimal():
        return name
    return 'light' if background == '7' or int(background) > 8 else 'dark'


# Cached because a terminal draws a complete frame if its theme is another object.
@functools.lru_cache(maxsize=None)
def theme_named(name: str, *, is_paused: bool = False) -> Theme:
    """Return the theme of this name; raise KeyError if there is none.

    ``auto`` is for an unknown background. While the display is paused, borders have the color of warnings.
    """
    theme = {theme.name: theme for theme in (_AUTO, *THEMES)}[name]
    if is_paused and theme.paints:
        theme = theme._replace(paints={**theme.paints, Role.BORDER: theme.paints[Role.WARNING]})
    return theme
