"""Themes: every role in every theme and size of palette."""

from __future__ import annotations

import pytest

from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.theme import (
    DEFAULT,
    PLAIN,
    THEMES,
    Look,
    Role,
    Style,
    Theme,
    resolve_theme,
    theme_named,
)
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import BackgroundReported
from nvitop.gui.state.update import update

PALETTES = (8, 16, 256)
METRICS = (Role.UTILIZATION, Role.MEMORY, Role.OTHER)
BARS = (*METRICS, Role.HELD)
themes = pytest.mark.parametrize('theme', THEMES, ids=[theme.name for theme in THEMES])


@themes
@pytest.mark.parametrize('colors', [0, *PALETTES])
def test_roles_that_must_differ_look_different(theme: Theme, colors: int) -> None:
    def look(role: Role) -> Look:
        return theme.look(Style(role), colors)

    assert look(Role.TEXT) == Look() != look(Role.DIM)
    rows = [PLAIN.role, Role.SELECTED, Role.TAGGED, Role.SELECTED_TAGGED]
    assert len({look(role) for role in rows}) == 4
    selected = look(Role.SELECTED)
    assert selected.reverse or selected.background != DEFAULT
    if colors and theme.name != 'mono':
        states = {look(role) for role in (Role.TEXT, Role.WARNING, Role.IDLE, Role.ERROR)}
        assert len(states) == 4
        # A tagged zombie must look tagged, because it gets a signal. Without colors, only its mark does.
        assert look(Role.TAGGED) not in {look(Role.WARNING), look(Role.ERROR)}
        assert look(Role.UTILIZATION) != look(Role.MEMORY)
        assert states.isdisjoint({look(role) for role in METRICS})


def test_borders_are_brighter_while_paused() -> None:
    for theme in THEMES:
        paused = theme_named(theme.name, is_paused=True)
        assert paused.look(Style(Role.BORDER), 256) == Look()
        assert paused.look(Style(Role.DIM), 256) == theme.look(Style(Role.DIM), 256)


#: Theme → backgrounds that it is made for.
BACKGROUNDS = {'dark': (0x000000, 0x101216), 'light': (0xFFFFFF,), 'colorblind': (0x101216,)}
#: Roles of text that people read; others are lines and tracks.
READ = (
    *(Role.DIM, Role.HEADING, Role.IDLE, Role.ERROR, Role.WARNING, Role.KEY, Role.TAGGED),
    *(Role.INPUT, Role.SELECTED, Role.SELECTED_TAGGED),
)


def rgb(color: int) -> tuple[int, int, int]:
    """Return red, green and blue of a color of the palette with 256 colors."""
    assert color >= 16, 'the first 16 colors are chosen by the user of the terminal'
    if color >= 232:
        return (8 + 10 * (color - 232),) * 3
    levels = (0, 95, 135, 175, 215, 255)
    color -= 16
    return levels[color // 36], levels[color // 6 % 6], levels[color % 6]


def luminance(parts: tuple[int, ...]) -> float:
    """Return the relative luminance as in WCAG 2: 0 to 1."""
    shares = [part / 255 for part in parts]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Return the contrast of two colors as in WCAG 2: 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize('name', BACKGROUNDS)
def test_contrast_on_the_background_of_the_theme(name: str) -> None:
    for background in BACKGROUNDS[name]:
        parts = tuple(background >> shift & 255 for shift in (16, 8, 0))
        # Bars and graphs are visible without being text.
        for role in (*READ, *BARS):
            look = theme_named(name).look(Style(role), 256)
            behind = parts if look.background == DEFAULT else rgb(look.background)
            least = 3.0 if role in BARS else 4.5
            assert contrast(rgb(look.foreground), behind) >= least, (role, background)
            assert not look.dim


@pytest.mark.parametrize('name', BACKGROUNDS)
def test_values_and_states_are_legible_in_a_selected_row(name: str) -> None:
    theme = theme_named(name)
    row = theme.look(Style(Role.SELECTED), 256)
    for role in (*BARS, Role.IDLE, Role.WARNING, Role.ERROR):
        for back in (Role.SELECTED, Role.SELECTED_TAGGED):
            look = theme.look(Style(role, back=back), 256)
            least = 3.5 if role in BARS else 4.5
            assert contrast(rgb(look.foreground), rgb(look.background)) >= least, role
            assert (look.foreground, look.background) != (row.foreground, row.background)
            for colors in (8, 16):
                few = theme.look(Style(role, back=back), colors)
                assert few.background not in (DEFAULT, few.foreground)


@themes
@pytest.mark.parametrize('colors', [0, *PALETTES])
def test_bars_of_a_selected_row_are_no_blocks_and_no_holes(theme: Theme, colors: int) -> None:
    back = Role.SELECTED
    row = theme.look(Style(back), colors)
    for role in BARS:
        look = theme.look(Style(role, back=back), colors)
        assert look.background == row.background
        if theme.name == 'mono' or not colors:
            assert look.reverse


def test_automatic_theme_is_that_of_the_background() -> None:
    themes_of = {'': 'dark', '0;15': 'light', '0;default;15': 'light', '12;8': 'dark'}
    for background, name in themes_of.items():
        assert resolve_theme('auto', {'COLORFGBG': background}) == name
    state = AppState(MONITOR, theme_is_auto=True)
    for is_light, name in ((True, 'light'), (False, 'dark')):
        state, _ = update(state, BackgroundReported(is_light))
        assert state.theme == name
