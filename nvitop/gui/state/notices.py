# SPDX-License-Identifier: GPL-3.0-only
"""Notices: messages at the bottom of the screen that disappear by themselves."""

from __future__ import annotations

from nvitop.gui.state.app_state import AppState, Notice, Result
from nvitop.gui.state.events import RingBell
from nvitop.gui.state.process_rows import devices_without_list
from nvitop.sampling.types import Sample

#: Time (seconds) a notice is shown.
NOTICE_SECONDS = 5.0
MAX_NOTICES = 8


def note_outcome(
    state: AppState, signal: str, pid: int, outcome: str, *, is_error: bool, name: str = ''
) -> AppState:
    """Show the outcome of a signal, in one line for all processes with the same outcome.

    The name of the process is shown if it is the only one.
    """
    key = (signal, outcome)
    before = next((notice.pids for notice in state.notices if notice.outcome == key), ())
    pids = (*(each for each in before if each != pid), pid)
    targets = f'{name} ({pid})' if name and len(pids) == 1 else ', '.join(map(str, pids))
    text = _outcome_text(signal, targets, outcome)
    if len(pids) > 1 and len(text) > state.width - 2:
        text = _outcome_text(signal, f'{len(pids)} processes', outcome)
    others = tuple(notice for notice in state.notices if notice.outcome != key)
    until = state.monotonic + NOTICE_SECONDS
    notice = Notice(text, until, is_error=is_error, outcome=key, pids=pids)
    return state._replace(notices=(*others, notice)[-MAX_NOTICES:])


def _outcome_text(signal: str, targets: str, outcome: str) -> str:
    if outcome == 'exited':
        return f'{targets} exited or left the GPU after {signal}'
    return (
        f'Sent {signal} to {targets}' if outcome == 'sent' else f'{signal} to {targets}: {outcome}'
    )


def note_exits(before: Sample, state: AppState) -> AppState:
    """Show which processes disappeared after a signal whose notice is still shown."""
    if devices_without_list(state.sample):
        return state
    left = {process.key.pid for process in state.sample.processes}
    names = {process.key.pid: process.name or '' for process in before.processes}
    for notice in state.notices:
        signal, outcome = notice.outcome
        for pid in notice.pids if outcome == 'sent' else ():
            if pid in names and pid not in left:
                state = note_outcome(state, signal, pid, 'exited', is_error=False, name=names[pid])
    return state


def replace_notice(state: AppState, subject: str, text: str) -> AppState:
    """Answer a key with ``subject: text``, which replaces the previous notice on the subject."""
    return answer(state, subject, f'{subject}: {text}')


def answer(state: AppState, subject: str, text: str) -> AppState:
    """Answer a key with a text, which replaces the previous notice on the subject."""
    others = withdraw_notice(state, subject).notices
    until = state.monotonic + NOTICE_SECONDS
    notice = Notice(text, until, is_answer=True, subject=subject)
    return state._replace(notices=(*others, notice)[-MAX_NOTICES:])


def withdraw_notice(state: AppState, subject: str) -> AppState:
    others = tuple(notice for notice in state.notices if notice.subject != subject)
    return state._replace(notices=others)


def drop_answers(before: AppState, after: AppState) -> AppState:
    """Drop answers to earlier keys.

    While a line is typed, its keys belong to the key that opened it.
    """
    if before.field is not None:
        return after
    earlier = {id(notice) for notice in before.notices if notice.is_answer}
    return after._replace(notices=tuple(n for n in after.notices if id(n) not in earlier))


def refuse(state: AppState, why: str, *, subject: str = 'key') -> Result:
    """Ring the bell and show why nothing is done. Many terminals do not ring."""
    return answer(state, subject, why), (RingBell(),)
