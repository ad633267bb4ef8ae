# SPDX-License-Identifier: GPL-3.0-only
"""Lines that are shown for a while and need no answer."""

from __future__ import annotations

from nvitop.gui.state.app_state import AppState, Notice
from nvitop.gui.state.dialog import Result
from nvitop.gui.state.effects import RingBell

#: How long a notice stays, in seconds.
NOTICE_SECONDS = 5.0
MAX_NOTICES = 8


def add_notice(state: AppState, text: str) -> AppState:
    """Show a line, which need not be safe."""
    notice = Notice(text, state.monotonic + NOTICE_SECONDS)
    return state._replace(notices=(*state.notices, notice)[-MAX_NOTICES:])


def note_outcome(
    state: AppState, signal: str, pid: int, outcome: str, *, is_error: bool
) -> AppState:
    """Show what became of a signal, in one line for all processes of which the same is to be said:
    eight lines of their own would have no room."""
    told = (signal, outcome)
    before = next((notice.pids for notice in state.notices if notice.outcome == told), ())
    pids = (*(each for each in before if each != pid), pid)
    text = f'{signal} to {", ".join(map(str, pids))}: {outcome}'
    if len(pids) > 1 and len(text) > state.width - 2:
        text = f'{signal} to {len(pids)} processes: {outcome}'
    others = tuple(notice for notice in state.notices if notice.outcome != told)
    until = state.monotonic + NOTICE_SECONDS
    notice = Notice(text, until, is_error=is_error, outcome=told, pids=pids)
    return state._replace(notices=(*others, notice)[-MAX_NOTICES:])


def replace_notice(state: AppState, subject: str, text: str) -> AppState:
    """Show ``subject: text`` instead of what was said about the subject before."""
    return add_notice(withdraw_notice(state, subject), f'{subject}: {text}')


def withdraw_notice(state: AppState, subject: str) -> AppState:
    """Show nothing about the subject any more."""
    others = tuple(n for n in state.notices if not n.text.startswith(f'{subject}: '))
    return state._replace(notices=others)


def refuse(state: AppState, what: str, why: str) -> Result:
    """Do nothing, and say why: the bell alone is silent in many terminals."""
    return replace_notice(state, what, why), (RingBell(),)
