# SPDX-License-Identifier: GPL-3.0-only
"""The signal screen: the targets of a signal, which it lists, and their confirmation."""

from __future__ import annotations

import signal as signals
from typing import Iterable

from nvitop.gui.model.choices import Screen, neighbor
from nvitop.gui.model.device_rows import unknown_among
from nvitop.gui.model.format import devices_text, special_command
from nvitop.gui.render.width import cell_width, safe, wrap
from nvitop.gui.state import navigation
from nvitop.gui.state.app_state import (
    AppState,
    ListPosition,
    Result,
    SignalDialog,
    SignalTarget,
    refuse,
)
from nvitop.gui.state.events import RingBell, SendSignal
from nvitop.gui.state.process_filter import NO_DEVICE
from nvitop.sampling.types import HostProcessSample, ParentProcess, ProcessKey, ProcessSample

#: Note in the line of a target → words that follow the number of such targets.
NOTES = {
    'hidden': 'hidden by the filter',
    'no longer listed': 'no longer listed',
    'zombie': 'already exited',
    'first process of the system': 'the first process of the system',
    'ancestor of nvitop': 'above nvitop, which may end with it',
}
#: Status of a process → why it cannot be signaled.
_OUT_OF_REACH = {
    'gone': 'There is no process {}',
    'foreign': '{} is in another PID namespace',
}


def signal_targets(state: AppState) -> tuple[SignalTarget, ...]:
    """Return the tagged processes, or the selected one if none is tagged and it is the user's own.

    A process on several devices is one target. There are none with ``--readonly``. On the page of a
    process, only this process is one.
    """
    if state.view.readonly:
        return ()
    targets: dict[tuple[int, float], SignalTarget] = {}
    tagged, tagged_hosts = state.main.tagged, state.tagged_hosts
    if state.selection.is_page:
        tagged, tagged_hosts = tagged & {state.shown_process}, frozenset()
    for process in state.shown_sample.processes if tagged else ():
        if process.key in tagged:
            targets.setdefault(process.identity, _target(process, state))
    for host in state.shown_sample.host_processes if tagged_hosts else ():
        if host.identity in tagged_hosts:
            targets.setdefault(host.identity, _target(host, state))
    if targets or tagged:
        return tuple(targets.values())
    for selected in state.selection.processes:
        if selected.is_own:
            targets.setdefault(selected.identity, _target(selected, state))
    return tuple(targets.values())


def why_no_target(state: AppState) -> str:
    if state.view.readonly:
        return state.origin.no_signals or 'Read-only: no signals (--readonly)'
    unseen, where = tagged_unseen(state, ())
    if unseen:
        return f'Tagged processes are {where}'
    identity, processes, is_measured, _ = state.selection
    if identity is None and not processes:
        quits = state.with_key('q', ' ({} quits)') if state.screen is Screen.MAIN else ''
        return f'Select or tag a process first{quits}'
    if not is_measured:
        return 'The tree has not been measured yet'
    if not processes:
        return navigation.hidden_by_filter(state) or 'The process is no longer listed'
    selected = processes[0]
    other = (
        f'{{}} belongs to {safe(selected.username or "another user")}; tag it to signal it anyway'
    )
    return _OUT_OF_REACH.get(selected.status, other).format(identity[0] if identity else 'This job')


def tagged_unseen(state: AppState, targets: Iterable[SignalTarget]) -> tuple[int, str]:
    """Return the number of tagged processes that are neither listed nor targets, and why."""
    if state._replace(screen=state.listing).selection.is_page:
        return 0, ''
    others = {target.key.identity for target in targets}
    listed = {process.key for process in state.shown_sample.processes}
    unseen = [key for key in state.main.tagged - listed if key.identity not in others]
    devices = unknown_among((key.device for key in unseen), state.shown_sample)
    where = f'not readable on {devices_text(devices)}' if devices else 'not listed'
    return len({key.identity for key in unseen}), where


def notes_on(state: AppState, targets: Iterable[SignalTarget]) -> tuple[str, ...]:
    """Return the note on each target: a key of :data:`NOTES` or ``''``.

    Whether a target is still listed depends on the latest sample, even while the display is frozen.
    A target that is not may have exited, or stopped using the GPU.
    """
    sample = state.sample
    statuses = {process.identity: process.status for process in sample.processes}
    statuses.update({process.identity: process.status for process in sample.host_processes})
    is_filtered = bool(state.query_on(state.listing))
    lines = state.program.screens[state.listing].lines(state) if is_filtered else ()
    seen = {process.identity for line in lines for process in line.processes}

    def note(target: SignalTarget) -> str:
        is_measured = bool(sample.host_processes) or target.key.device != NO_DEVICE
        if is_measured and target.key.identity not in statuses:
            return 'no longer listed'
        if statuses.get(target.key.identity) == 'zombie':
            return 'zombie'
        if target.key.pid == 1:
            return 'first process of the system'
        if target.key.pid in sample.host.own_ancestry:
            return 'ancestor of nvitop'
        return 'hidden' if is_filtered and target.key.identity not in seen else ''

    return tuple(map(note, targets))


def _target(process: ProcessSample | HostProcessSample, state: AppState) -> SignalTarget:
    uses = [p for p in state.shown_sample.processes if p.identity == process.identity]
    if isinstance(process, ProcessSample):
        key, parent = process.key, process.parent
    else:
        key = ProcessKey(*process.identity, NO_DEVICE)
        parent = uses[0].parent if uses else None
        if parent is None and process.status == 'zombie':
            above = [p for p in state.shown_sample.host_processes if p.pid == process.parent_pid]
            for p in above[:1]:
                is_own = p.is_own and p.pid not in state.shown_sample.host.own_ancestry
                parent = ParentProcess(p.pid, p.start_time, p.name, p.username, is_own)
    name = process.name
    command = process.command or special_command(process.status, name) or name or ''
    devices = tuple(p.key.device for p in uses)
    return SignalTarget(key, process.username or 'unknown user', command, parent, devices)


#: Signal → the key that chooses it.
SIGNAL_KEYS = {
    'SIGTERM': 'T',
    'SIGKILL': 'K',
    'SIGINT': 'I',
    'SIGHUP': 'H',
    'SIGQUIT': 'D',  # it dumps core; Q leaves the screen
    'SIGSTOP': 'S',
    'SIGCONT': 'C',
    'SIGUSR1': '1',
    'SIGUSR2': '2',
}
#: Those that the system has. Windows can only end processes.
SIGNALS = tuple(
    name for number, name in enumerate(SIGNAL_KEYS) if number < 3 or hasattr(signals, name)
)


def ask_for_signal(state: AppState, signal: str) -> Result:
    """Open the signal screen for the tagged or selected processes, or choose the signal on it."""
    if state.dialog is not None:
        return state._replace(dialog=state.dialog._replace(signal=signal)), ()
    targets = signal_targets(state)
    if not targets:
        return refuse(state, why_no_target(state))
    return navigation.open_screen(
        state._replace(dialog=SignalDialog(targets, signal)), Screen.SIGNAL
    )


def next_signal(state: AppState, step: int) -> Result:
    assert state.dialog is not None
    return ask_for_signal(state, neighbor(SIGNALS, state.dialog.signal, step))


def need_parent(state: AppState) -> str:
    """A zombie as the only target, whose parent may be signaled."""
    return '' if state.dialog and parent_target(state.dialog) else 'There is no parent to signal'


def ask_about_parent(state: AppState) -> Result:
    """Ask about the parent of a zombie instead, which has to be read first."""
    assert state.dialog is not None
    parent = parent_target(state.dialog)
    assert parent is not None  # see need_parent
    dialog = SignalDialog((parent,), state.dialog.signal)
    return state._replace(dialog=dialog).at(ListPosition()), ()


def parent_target(dialog: SignalDialog) -> SignalTarget | None:
    """Return the parent of the only target if that is a zombie, and the parent may be signaled."""
    parent = dialog.targets[0].parent if len(dialog.targets) == 1 else None
    if parent is None or not parent.is_own or parent.pid <= 1:
        return None
    key = ProcessKey(parent.pid, parent.start_time, NO_DEVICE)
    return SignalTarget(key, parent.username or 'unknown user', parent.name or '')


def note_drawn(state: AppState, monotonic: float) -> AppState:
    """Note that the question has been drawn, so that the user can read it from now on."""
    dialog = state.dialog
    if dialog is None or dialog.drawn_at is not None:
        return state
    return state._replace(dialog=dialog._replace(drawn_at=monotonic))


def await_answer(state: AppState, since: float) -> AppState:
    """Accept an answer to the dialog if it had been on the screen long enough at ``since``.

    No key was waiting to be read at that time.
    """
    dialog = state.dialog
    if dialog is None or dialog.ready_at is None or since < dialog.ready_at:
        return state
    return state._replace(dialog=dialog._replace(is_ready=True))


def require_reading(state: AppState) -> AppState:
    """Accept no answer to the dialog until it has been drawn and read again."""
    dialog = state.dialog
    if dialog is None:
        return state
    return state._replace(dialog=dialog._replace(drawn_at=None, is_ready=False))


def require_reading_of_changes(before: AppState, state: AppState) -> AppState:
    """Accept no answer to a dialog whose text has changed until it has been read again."""
    if state.dialog is None or question(before) == question(state):
        return state
    return require_reading(state)


def confirm(state: AppState) -> Result:
    """Send the signal to the listed targets, if the user had time to read them."""
    dialog = state.dialog
    if dialog is None or state.view.readonly:
        return navigation.go_back(state)
    if not dialog.is_ready or state.is_too_small:
        return state, (RingBell(),)
    keys = tuple(target.key for target in dialog.targets)
    state, _ = navigation.go_back(state)
    if not state.selection.is_page:
        state = navigation.clear_selection(state)
    return state, (SendSignal(dialog.signal, keys),)


def question(state: AppState) -> tuple[str, tuple[str, ...]]:
    """Return what to consider about the targets, safe to draw, and the note on each of them."""
    assert state.dialog is not None
    targets = state.dialog.targets
    notes = notes_on(state, targets)
    counts = [(notes.count(note), words) for note, words in NOTES.items()]
    if len(notes) == 1:  # the line of the target has its note
        counts = []
    unseen, where = tagged_unseen(state, targets)
    counts.append((unseen, f'more tagged, {where}'))
    about = [f'{count} {words}' for count, words in counts if count]
    if notes == ('zombie',):
        target, parent = targets[0], 'its parent'
        if target.parent is not None:
            parent += f' {target.parent.pid} ({target.parent.name or "?"})'
        text = f'{target.key.pid} has already exited (zombie), and {parent} has not collected its'
        about.insert(0, f'{text} exit status: a signal to it usually has no effect')
    return safe(', '.join(about)), notes


def noted_command(target: SignalTarget, note: str) -> str:
    return f'({note}) ' * bool(note) + safe(target.command)


def note_lines(state: AppState) -> list[str]:
    """Return the notes above the targets, as lines that leave room for the targets."""
    notes, _ = question(state)
    lines = wrap(notes, max(2, state.inside.width - 2)) if notes else []
    return lines[: max(0, state.inside.height - 6)]


#: Maximum width of what is before the commands in the list.
_BEFORE_COMMAND = 40


def command_lines(state: AppState) -> list[str]:
    """Return the whole command of the current target in a few lines, if the list may cut it."""
    assert state.dialog is not None
    at = navigation.current_line(state) or 0
    target, note = state.dialog.targets[at], question(state)[1][at]
    if cell_width(noted_command(target, note)) <= state.inside.width - _BEFORE_COMMAND:
        return []
    most = max(0, (state.inside.height - 7) // 3)
    return wrap(safe(target.command), max(2, state.inside.width - 2))[:most]
