# SPDX-License-Identifier: GPL-3.0-only
"""The first line of the main screen: version, clock, badges, user and host, keys."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.view.widgets.title import Badge, draw_at_right, fit_badges
from nvitop.sampling.types import HostSample, Sample
from nvitop.version import __version__

_TITLE = Style(Role.TITLE, bold=True)
_SIMULATED = Style(Role.WARNING, bold=True)
#: Cells before a badge, and before user and host.
_GAP = 2
#: Maximum width of the name of the user and of that of the host.
_NAME_WIDTH = 24


class Header(NamedTuple):
    """Contents of the line."""

    #: Date and time.
    clock: str = ''
    #: States that the user must not forget: a filter, a frozen display.
    badges: tuple[Badge, ...] = ()
    #: Pieces of the hint at the right end of the line, each with its style.
    hint: tuple[tuple[str, Style], ...] = ()
    #: Pieces of the hint in the border of the processes, about signals.
    signal_hint: tuple[tuple[str, Style], ...] = ()
    version: str = __version__.partition('+')[0]


def draw_header(buf: Buffer, y: int, sample: Sample, header: Header) -> None:
    """Draw the line. Version, date, user and host yield to badges and keys."""
    owner = _owner(sample.host)
    owner_width = _width(owner) + _GAP if owner else 0
    hint_width = _width(header.hint) + _GAP if header.hint else 0
    badge_width = sum(_GAP + cell_width(badge.forms[0]) for badge in header.badges)
    time = next((part for part in header.clock.split() if ':' in part), header.clock)
    # That the machine is simulated is shown at every width.
    name = safe(sample.simulated)
    simulated = (f'SIMULATED: {name}', 'SIMULATED', 'SIM') if name else ('',)
    version = f'nvitop {header.version}'
    room = buf.width - hint_width - badge_width
    clocks = ((version, header.clock), (version, time), ('', time))
    for (title, clock), form, with_owner in (
        *itertools.product(clocks[:1], simulated[:2], (True,)),
        *itertools.product(clocks, simulated[1:] or simulated, (False,)),
    ):
        left = '  '.join(filter(None, (title, clock)))
        needed = cell_width(left) + (cell_width(form) + _GAP if form else 0)
        if needed + (owner_width if with_owner else 0) <= room:
            break
    x = buf.write(0, y, title, _TITLE)
    x += buf.write(x, y, left[len(title) :], width=buf.width - x)
    badges = (Badge((form,), _SIMULATED),) if form else ()
    for text, style in fit_badges((*badges, *header.badges), buf.width - x, gap=_GAP):
        x += _GAP + buf.write(x + _GAP, y, text, style)
    # From left to right, so that the buffer does not have to sort the spans.
    left_of_hint = x + _GAP
    if with_owner and owner_width <= buf.width - hint_width - x:
        x = buf.width - hint_width - owner_width + _GAP
        for text, style in owner:
            x += buf.write(x, y, text, style)
    draw_at_right(buf, y, header.hint, left=left_of_hint)


def _width(pieces: tuple[tuple[str, Style], ...]) -> int:
    return sum(cell_width(text) for text, _ in pieces)


def _owner(host: HostSample) -> tuple[tuple[str, Style], ...]:
    """Return pieces for ``user@host``."""
    if not (host.username or host.hostname):
        return ()
    user = clip(safe(host.username), _NAME_WIDTH, '+')
    name = clip(safe(host.hostname), _NAME_WIDTH, '+') + (' (WSL)' if host.wsl else '')
    role = Role.ROOT if host.is_superuser else Role.USER
    return (user, Style(role)), ('@', Style(Role.DIM)), (name, Style(Role.HOST))
