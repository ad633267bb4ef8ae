# SPDX-License-Identifier: GPL-3.0-only
"""Lines that are shown for a while and need no answer."""

from __future__ import annotations

from nvitop.gui.model.effects import RingBell
from nvitop.gui.state.app_state import AppState, Notice
from nvitop.gui.state.dialog import Result

#: How long a notice stays, in seconds.
NOTICE_SECONDS = 5.0
MAX_NOTICES = 8


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
    """Answer a key with ``subject: text``, instead of what was said about the subject before."""
    others = withdraw_notice(state, subject).notices
    until = state.monotonic + NOTICE_SECONDS
    notice = Notice(f'{subject}: {text}', until, is_answer=True)
    return state._replace(notices=(*others, notice)[-MAX_NOTICES:])


def withdraw_notice(state: AppState, subject: str) -> AppState:
    """Show nothing about the subject any more."""
    others = tuple(n for n in state.notices if not n.text.startswith(f'{subject}: '))
    return state._replace(notices=others)


def outdate_answers(before: AppState, after: AppState) -> AppState:
    """Without what earlier keys were answered, where one did something and there is nothing to say
    about it: that the display is frozen is not true any more, and a key works here now. While a
    line is typed, its keys are part of the one that began it."""
    if after == before or after.notices is not before.notices or before.field is not None:
        return after
    return after._replace(notices=tuple(n for n in after.notices if not n.is_answer))


def refuse(state: AppState, what: str, why: str) -> Result:
    """Do nothing, and say why: the bell alone is silent in many terminals."""
    return replace_notice(state, what, why), (RingBell(),)
