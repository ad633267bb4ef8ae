# SPDX-License-Identifier: GPL-3.0-only
"""Badges: states of the monitor that the user must not forget, for the first line of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.gui.model.choices import ProcessFilter
from nvitop.gui.model.screens import SCREENS
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import clip, safe
from nvitop.gui.state.problems import has_failures
from nvitop.gui.view.format import format_process_type, format_timestamp
from nvitop.gui.view.widgets.title import Badge
from nvitop.health import headline, health_status

if TYPE_CHECKING:
    from nvitop.gui.state.app_state import AppState
    from nvitop.sampling.types import Origin

_ERROR = Style(Role.ERROR, bold=True)
_WARNING = Style(Role.WARNING, bold=True)
_KEY = Style(Role.KEY, bold=True)
_INPUT = Style(Role.INPUT, bold=True)
#: Maximum width of the text of a filter, in cells, if it has to be shortened.
_QUERY_WIDTH = 40
#: Maximum width of the name of a host, in cells, if it has to be shortened.
_HOST_WIDTH = 12
_TYPES = ('C', 'C+G', 'G', 'M', None)


def header_badges(state: AppState, problems_key: str) -> tuple[Badge, ...]:
    """Return a badge for what is wrong or failed recently, then :func:`state_badges`.

    It names the key that shows the problems, unless that has none.
    """
    return (*_problem_badge(state, problems_key), *state_badges(state))


def _problem_badge(state: AppState, key: str) -> tuple[Badge, ...]:
    text = headline(state.found)
    if text:
        style = _ERROR if health_status(state.found) == 'critical' else _WARNING
        parts = text.split(', ')
        some = (f'{", ".join(parts[:count])} ..' for count in range(len(parts) - 1, 1, -1))
        forms = (text, *some, text.partition(':')[0], '')
        shown = (f'{key or "!"} {form}'.rstrip() for form in forms)
        return (_badge(style, *shown, key='!'),)
    troubled = key and has_failures(state.shown_tally.problems, state.timestamp)
    return (_badge(_KEY, f'{key} problems', key, key='!'),) if troubled else ()


def state_badges(state: AppState) -> tuple[Badge, ...]:
    """Return badges for another machine, a frozen display, filters, and a released mouse."""
    badges = [*origin_badges(state.origin, state.shown.timestamp)]
    if state.frozen is not None:
        time_of_day = format_timestamp(state.frozen.timestamp).split()[3]
        badges.append(_badge(_WARNING, f'PAUSED {time_of_day}', 'PAUSED', key='z'))
    is_limited = SCREENS[state.screen].is_filtered
    badges += option_badges(state.main.filter) if is_limited else ()
    if state.main.selected_device is not None and is_limited:
        badges.append(_badge(_INPUT, f'GPU {state.main.selected_device.label}'))
    if state.query and is_limited:
        query = safe(state.query)
        shorter = clip(query, _QUERY_WIDTH)
        badges.append(_badge(_INPUT, f'filter: {query}', f'filter: {shorter}', 'filter', key='Esc'))
    if not state.captures_mouse:
        badges.append(_badge(_WARNING, 'mouse: terminal', 'no mouse', key='M'))
    return tuple(badges)


def origin_badges(origin: Origin, timestamp: float) -> tuple[Badge, ...]:
    """Return a badge for the past, or for another machine and why it sends no samples."""
    if not origin.is_live:
        pace = 'paused' if origin.is_paused else f'×{origin.speed:g}'
        time_of_day = format_timestamp(timestamp).split()[3]
        timed = (f'REPLAY {time_of_day} {pace}',) if timestamp else ()  # 0: no sample yet
        return (_badge(_WARNING, *timed, f'REPLAY {pace}', 'REPLAY'),)
    host, trouble = safe(origin.host), safe(origin.trouble)
    if trouble:
        forms = [clip(f'{host}: {trouble}'.lstrip(': '), _QUERY_WIDTH), trouble, 'NO SAMPLES']
        return (_badge(_ERROR, *forms),)
    return (_badge(_KEY, host, clip(host, _HOST_WIDTH)),) if host else ()


def title_badges(state: AppState) -> tuple[Badge, ...]:
    """Return :func:`state_badges` after one for a simulated machine, which other screens need."""
    simulated = (_badge(_WARNING, 'SIMULATED', 'SIM'),) if state.shown.simulated else ()
    return (*simulated, *state_badges(state))


def option_badges(wanted: ProcessFilter) -> tuple[Badge, ...]:
    """Return a badge that says which processes the options select, or none if all of them."""
    letters = [format_process_type(kind) for kind in _TYPES if kind in (wanted.types or ())]
    parts = (
        ('user', wanted.users is not None, sorted(wanted.users or ())),
        ('pid', wanted.pids is not None, map(str, sorted(wanted.pids or ()))),
        ('type', wanted.types is not None, letters),
    )
    only = '; '.join(
        f'{what} {", ".join(which) or "none"}' for what, given, which in parts if given
    )
    text = clip(safe(f'only {only}'), _QUERY_WIDTH)
    return (_badge(_INPUT, text, 'only some'),) if only else ()


def _badge(style: Style, *forms: str, key: str = '') -> Badge:
    # Without colors, only the brackets separate badges from each other.
    return Badge(tuple(f'[{form}]' for form in forms), style, key)
