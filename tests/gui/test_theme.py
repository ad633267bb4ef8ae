"""Themes: every role in every theme and size of palette."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.console.options import THEME_NAMES, Options
from nvitop.gui.render.style import GRADIENT, PLAIN, Role, Style, gradient
from nvitop.gui.render.theme import DEFAULT, THEMES, Look, Theme, theme_named

PALETTES = (8, 16, 256)
#: Roles of ordinary text, which differ by their place and the attributes set by views.
ORDINARY = {Role.TEXT, Role.BORDER, Role.HEADING}

themes = pytest.mark.parametrize('theme', THEMES, ids=[theme.name for theme in THEMES])


def test_themes_by_name() -> None:
    assert tuple(theme.name for theme in THEMES) == THEME_NAMES
    assert all(theme_named(theme.name) is theme for theme in THEMES)
    assert theme_named(Options().theme) is THEMES[0]
    with pytest.raises(KeyError):
        theme_named('neon')


@themes
@pytest.mark.parametrize('colors', PALETTES)
def test_colors_are_in_the_palette(theme: Theme, colors: int) -> None:
    for role in Role:
        look = theme.look(Style(role), colors)
        assert DEFAULT <= look.foreground < colors, role
        assert DEFAULT <= look.background < colors, role
        if theme.name == 'mono':
            assert (look.foreground, look.background) == (DEFAULT, DEFAULT), role


@themes
@pytest.mark.parametrize('colors', [0, *PALETTES])
def test_roles_that_must_differ_look_different(theme: Theme, colors: int) -> None:
    def look(role: Role) -> Look:
        return theme.look(Style(role), colors)

    with_colors = colors and theme.name != 'mono'
    assert all(
        (look(role) == Look()) == (role in ORDINARY) for role in (*ORDINARY, Role.DIM, Role.HEAVY)
    )
    loads = [look(Role.LIGHT), look(Role.MODERATE), look(Role.HEAVY)]
    assert len(set(loads)) == (3 if with_colors else 2)
    rows = [PLAIN.role, Role.SELECTED, Role.TAGGED, Role.SELECTED_TAGGED]
    assert len({look(role) for role in rows}) == 4
    # A tagged zombie must look tagged, because it gets a signal.
    assert look(Role.TAGGED) not in {look(Role.WARNING), look(Role.ERROR)}
    selected = look(Role.SELECTED)
    assert selected.reverse or selected.background != DEFAULT
    assert look(Role.ERROR) not in {look(Role.TEXT), look(Role.SUCCESS)}
    assert look(Role.USER) != look(Role.ROOT)
    if with_colors:
        assert len({look(Role.CPU), look(Role.MEMORY), look(Role.SWAP)}) == 3


@themes
def test_gradient_has_three_zones_or_many_colors(theme: Theme) -> None:
    few = [theme.look(Style(role), 16) for role in GRADIENT]
    many = [theme.look(Style(role), 256) for role in GRADIENT]
    if theme.name == 'mono':
        assert set(few) == set(many) == {Look()}
    else:
        assert len(set(few)) == 3
        assert few[0].foreground == theme.look(Style(Role.LIGHT), 16).foreground
        assert few[-1].foreground == theme.look(Style(Role.HEAVY), 16).foreground
        assert len(set(many)) >= 6


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
            assert look.foreground in {0, 16}
            assert look.background > 0
            assert not look.reverse
