# SPDX-License-Identifier: GPL-3.0-only
"""The first line of all screens: the way to the screen, the answer, user, host and time."""

from __future__ import annotations

from typing import Sequence

from nvitop.gui.model.format import format_clock
from nvitop.gui.model.table import CLASSIC
from nvitop.gui.render.buffer import Buffer, Item, Rect, fit
from nvitop.gui.render.theme import DIM, PLAIN, TITLE, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.state.app_state import AppState

#: Cells between two parts of the first line, also of a narrow one.
_GAP, _NARROW_GAP = 3, 2
#: Maximum width of the name of the user and of that of the host.
_NAME_WIDTH = 24


def crumbs(state: AppState, name: str) -> tuple[Item, ...]:
    """Return the way to a page or screen of this name: ``fleet › dgx01 › users``.

    It is empty for the main screen of this machine.
    """
    if state.fleet is not None:
        is_home = state.screen is state.program.home
        return (Item(('fleet' if is_home else f'fleet › {name}',), TITLE),)
    where = safe(state.shown_sample.host.hostname) or 'nvitop'
    if state.origin.is_chosen:
        where = f'fleet › {safe(state.origin.host)}'
        return (Item((f'{where} › {name}' if name else where, where), TITLE),)
    return (Item((f'{where} › {name}', name), TITLE),) if name else ()


def draw_first_line(buf: Buffer, state: AppState, badges: Sequence[Item]) -> None:
    """Draw which GPUs are free, who has the others and what is wrong; user, host and time at the right.

    What does not fit becomes shorter, and then is left out: badges and free GPUs last.
    """
    host = state.shown_sample.host
    hostname = '' if state.origin.is_chosen else host.hostname  # the way to the screen has it
    user, name = (clip(safe(n), _NAME_WIDTH) for n in (host.username, hostname))
    name = '@'.join(filter(None, (user, name))) + (' (WSL)' if host.wsl else '')
    left = [*(badge._replace(rank=-1) for badge in badges), *state.program.first_line(state)]
    time_of_day = format_clock(state.timestamp)
    clock = Item((time_of_day, time_of_day[:5]), PLAIN, 2, is_whole=True)
    room, gap = buf.width - 2, _GAP if buf.width >= CLASSIC else _NARROW_GAP
    *texts, time = fit([*left, clock], room, gap)
    x = 1
    for item, text in zip(left, texts):
        if text:
            width = buf.write(x, 0, text, item.style)
            if item.key:
                buf.hit(Rect(x, 0, width, 1), 'keys', item.key)
            x += width + gap
    end = 1 + room - cell_width(time)
    buf.write(end, 0, time, clock.style)
    if name and x + cell_width(name) + gap <= end:
        buf.write(
            end - gap - cell_width(name),
            0,
            name,
            Style(Role.ROOT, bold=True) if host.is_superuser else DIM,
        )
