"""Themes: every role in every theme and size of palette."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.console.options import THEME_NAMES, Options
from nvitop.gui.render.style import GRADIENT, PLAIN, Role, Style, gradient
from nvitop.gui.render.theme import (
    ALL_COLORS,
    DEFAULT,
    EXACT,
    THEMES,
    Look,
    Theme,
    resolve_theme,
    theme_named,
)

PALETTES = (8, 16, 256, ALL_COLORS)
#: Hues of red: no measured value has one in the new themes.
RED_INDICES = {1, 9, 124, 160, 161, 196, 197, 203, 204}

themes = pytest.mark.parametrize('theme', THEMES, ids=[theme.name for theme in THEMES])


def test_themes_by_name() -> None:
    assert ('auto', *(theme.name for theme in THEMES)) == THEME_NAMES
    assert all(theme_named(theme.name) is theme for theme in THEMES)
    assert theme_named(Options().theme).name == 'auto'
    with pytest.raises(KeyError):
        theme_named('neon')


@themes
@pytest.mark.parametrize('colors', PALETTES)
def test_colors_are_in_the_palette(theme: Theme, colors: int) -> None:
    for role in Role:
        look = theme.look(Style(role), colors)
        for color in (look.foreground, look.background):
            assert DEFAULT <= color < (2 * EXACT if colors == ALL_COLORS else colors), role
        if theme.name == 'mono':
            assert (look.foreground, look.background) == (DEFAULT, DEFAULT), role


@themes
@pytest.mark.parametrize('colors', [0, *PALETTES])
def test_roles_that_must_differ_look_different(theme: Theme, colors: int) -> None:
    def look(role: Role) -> Look:
        return theme.look(Style(role), colors)

    with_colors = colors and theme.name != 'mono'
    assert look(Role.TEXT) == Look() != look(Role.DIM)
    if with_colors:
        loads = [look(Role.LIGHT), look(Role.MODERATE), look(Role.HEAVY)]
        assert len(set(loads)) == 3
        assert look(Role.ERROR) not in loads or theme.name == 'classic'
    rows = [PLAIN.role, Role.SELECTED, Role.TAGGED, Role.SELECTED_TAGGED]
    assert len({look(role) for role in rows}) == 4
    # A tagged zombie must look tagged, because it gets a signal.
    assert look(Role.TAGGED) not in {look(Role.WARNING), look(Role.ERROR)}
    selected = look(Role.SELECTED)
    assert selected.reverse or selected.background != DEFAULT
    assert (
        look(Role.ERROR) not in {look(Role.TEXT), look(Role.WARNING), look(Role.IDLE)}
        or not with_colors
    )
    assert look(Role.USER) != look(Role.ROOT)
    if with_colors:
        assert len({look(Role.CPU), look(Role.MEMORY), look(Role.SWAP)}) == 3


@themes
def test_gradient_has_three_zones_or_many_colors(theme: Theme) -> None:
    few = [theme.look(Style(role), 16) for role in GRADIENT]
    many = [theme.look(Style(role), 256) for role in GRADIENT]
    exact = [theme.look(Style(role), ALL_COLORS) for role in GRADIENT]
    if theme.name == 'mono':
        assert set(few) == set(many) == {Look()}
    else:
        assert len(set(few)) == 3
        assert few[0].foreground == theme.look(Style(Role.LIGHT), 16).foreground
        assert few[-1].foreground == theme.look(Style(Role.HEAVY), 16).foreground
        assert len(set(many)) >= 6
        assert len(set(exact)) == len(GRADIENT)
        if theme.name != 'classic':
            assert {look.foreground for look in (*few, *many)}.isdisjoint(RED_INDICES)


def test_borders_have_another_color_while_paused() -> None:
    for theme in THEMES:
        paused = theme_named(theme.name, is_paused=True)
        for role, like in ((Role.BORDER, Role.WARNING), (Role.DIM, Role.DIM)):
            assert paused.look(Style(role), 256) == theme.look(Style(like), 256)


def test_gradient_covers_all_percentages() -> None:
    assert gradient(-1.0) is gradient(0.0) is Role.GRADIENT_0
    assert gradient(1.0) is gradient(7.0) is GRADIENT[-1]
    assert {gradient(i / 100) for i in range(101)} == set(GRADIENT)


@themes
def test_attributes_of_the_style_are_kept(theme: Theme) -> None:
    for name in ('bold', 'dim', 'underline', 'reverse', 'italic', 'blink'):
        flags: dict[str, Any] = {name: True}
        for colors in (0, *PALETTES):
            assert getattr(theme.look(Style(**flags), colors), name)
            assert theme.look(Style(), colors) == Look()


def test_light_theme_has_black_text_on_colored_rows() -> None:
    light = theme_named('light')
    for role in (Role.SELECTED, Role.SELECTED_TAGGED, Role.SELECTED_TREE, Role.HEADER):
        for colors in PALETTES:
            look = light.look(Style(role), colors)
            assert look.background > 0
            assert not look.reverse


@pytest.mark.parametrize(
    ('theme', 'colorfgbg', 'resolved'),
    [
        ('auto', '', 'auto'),
        ('auto', '15;0', 'dark'),
        ('auto', '0;15', 'light'),
        ('auto', '0;default;15', 'light'),
        ('auto', '12;8', 'dark'),
        ('auto', 'nonsense', 'auto'),
        ('classic', '0;15', 'classic'),
    ],
)
def test_automatic_theme_is_that_of_the_background(
    theme: str, colorfgbg: str, resolved: str
) -> None:
    assert resolve_theme(theme, {'COLORFGBG': colorfgbg}) == resolved


#: Theme → backgrounds that it is made for.
BACKGROUNDS = {
    'dark': (0x000000, 0x1E1E1E, 0x282C34),
    'light': (0xFFFFFF,),
    'colorblind': (0x000000, 0x1E1E1E),
    'auto': (0x000000, 0x101216, 0x1E1E1E, 0xFFFFFF),
}
#: Contrast where it is less than 4.5: no color has 4.2 on both of these.
LEAST = {('auto', 0x1E1E1E): 4.0, ('auto', 0xFFFFFF): 4.0}
#: Roles of text that people read; others are lines, bars and graphs.
READ = (
    *(Role.DIM, Role.HEADING, Role.IDLE, Role.ERROR, Role.WARNING, Role.SUCCESS, Role.KEY),
    *(Role.ROOT, Role.TAGGED, Role.INPUT, Role.SELECTED, Role.SELECTED_TAGGED, Role.HEADER),
)


def contrast(one: int, other: int) -> float:
    """Return the contrast of two colors as in WCAG 2: 1 to 21."""

    def luminance(rgb: int) -> float:
        parts = [(rgb >> shift & 255) / 255 for shift in (16, 8, 0)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize('name', BACKGROUNDS)
@pytest.mark.parametrize('role', READ)
def test_text_is_legible_on_the_background_of_the_theme(name: str, role: Role) -> None:
    look = theme_named(name).look(Style(role), ALL_COLORS)
    assert not look.dim
    for background in BACKGROUNDS[name]:
        text, behind = look.foreground - EXACT, background
        if look.background != DEFAULT:
            behind = look.background - EXACT
        assert look.foreground >= EXACT
        assert contrast(text, behind) >= LEAST.get((name, background), 4.5)


@pytest.mark.parametrize('name', ['light', 'auto'])
def test_legends_of_graphs_are_legible_at_any_value(name: str) -> None:
    theme = theme_named(name)
    # A little darker than white too, as in many light themes of terminals.
    for background in (*BACKGROUNDS[name], *([0xF0F0F0] if name == 'light' else [])):
        for role in (Role.LIGHT, Role.MODERATE, Role.HEAVY, Role.MEMORY, *GRADIENT):
            color = theme.look(Style(role), ALL_COLORS).foreground - EXACT
            assert contrast(color, background) >= LEAST.get((name, background), 4.5), role


def test_only_warnings_are_amber_or_red() -> None:
    for theme in THEMES:
        if theme.name in ('classic', 'mono'):
            continue
        roles = (Role.LIGHT, Role.MODERATE, Role.HEAVY, Role.TAGGED, Role.SELECTED_TAGGED)
        for role in (*roles, *GRADIENT):
            for colors in PALETTES:
                look = theme.look(Style(role), colors)
                color = look.foreground
                assert color not in (1, 3, 9, 11), (theme.name, role, colors)
                assert look.background not in (1, 3, 9, 11), (theme.name, role, colors)
                # Yellow is the end of the other gradient, where warnings are orange.
                if color >= EXACT and theme.name != 'colorblind':
                    red, green = color - EXACT >> 16, color - EXACT >> 8 & 255
                    assert red <= green or color & 255 > green, (theme.name, role)


@pytest.mark.parametrize('name', ['auto', 'dark', 'light'])
def test_green_is_only_for_idle_gpus(name: str) -> None:
    theme = theme_named(name)
    for role in (Role.LIGHT, Role.MODERATE, Role.HEAVY, *GRADIENT):
        for colors in (8, 16):
            assert theme.look(Style(role), colors).foreground not in (2, 10)
        exact = theme.look(Style(role), ALL_COLORS).foreground - EXACT
        assert exact & 255 >= exact >> 8 & 255
        # A bar is visible without being text.
        assert all(contrast(exact, background) >= 3 for background in BACKGROUNDS[name])
