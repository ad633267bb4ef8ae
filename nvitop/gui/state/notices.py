# SPDX-License-Identifier: GPL-3.0-only
"""Lines that are shown for a while and need no answer."""

from __future__ import annotations

from nvitop.gui.state.app_state import AppState, Notice
from nvitop.gui.state.dialog import Result
from nvitop.gui.state.effects import RingBell

#: How long a notice stays, in seconds.
NOTICE_SECONDS = 5.0
MAX_NOTICES = 8


def add_notice(state: AppState, text: str, *, is_error: bool = False) -> AppState:
    """Show a line, which need not be safe."""
    notice = Notice(text, state.monotonic + NOTICE_SECONDS, is_error=is_error)
    return state._replace(notices=(*state.notices, notice)[-MAX_NOTICES:])


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
