# SPDX-License-Identifier: GPL-3.0-only
"""Targets of a signal: which processes would receive it, and why others would not."""

from __future__ import annotations

from typing import Callable, Iterable

from nvitop.gui.model.choices import special_command
from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import AppState, SignalTarget
from nvitop.gui.state.ranges import devices_text
from nvitop.gui.state.selection import hidden_by_filter, selected_key, selected_process
from nvitop.gui.state.summary import unknown_among
from nvitop.sampling.types import (
    DeviceKey,
    HostProcessSample,
    ParentProcess,
    ProcessKey,
    ProcessSample,
    Sample,
)

#: Device in the key of a target that runs on no device.
NO_DEVICE = DeviceKey(-1)
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

    A process on several devices is one target. There are none with ``--readonly``.
    """
    if state.view.readonly:
        return ()
    targets: dict[tuple[int, float], SignalTarget] = {}
    for process in state.shown.processes if state.main.tagged else ():
        if process.key in state.main.tagged:
            targets.setdefault(process.key[:2], _target(process, state))
    for host in state.shown.host_processes if state.tree.tagged else ():
        if (host.pid, host.start_time) in state.tree.tagged:
            targets.setdefault((host.pid, host.start_time), _target(host, state))
    if targets or state.main.tagged:
        return tuple(targets.values())
    selected = selected_process(state)
    return (_target(selected, state),) if selected is not None and selected.is_own else ()


def has_targets(state: AppState) -> bool:
    """Whether there are targets. Fast enough for every frame."""
    if state.view.readonly:
        return False
    if state.tree.tagged and state.shown.host_processes:
        return True
    if state.main.tagged:
        return any(process.key in state.main.tagged for process in state.shown.processes)
    selected = selected_process(state)
    return selected is not None and selected.is_own


def why_no_target(state: AppState) -> str:
    """Return why there are no targets."""
    if state.view.readonly:
        return state.origin.no_signals or 'Read-only: no signals (--readonly)'
    unseen, where = tagged_unseen(state, ())
    if unseen:
        return f'Tagged processes are {where}'
    key = selected_key(state)
    if key is None:
        return 'Select or tag a process first'
    if state.screen is Screen.TREE and not state.shown.host_processes:
        return 'The tree has not been measured yet'
    selected = selected_process(state)
    if selected is None:
        return hidden_by_filter(state) or 'Select or tag a process first'
    return _OUT_OF_REACH.get(selected.status, '{} is not yours; tag it to try').format(key[0])


def tagged_unseen(state: AppState, targets: Iterable[SignalTarget]) -> tuple[int, str]:
    """Return the number of tagged processes that are neither listed nor targets, and why."""
    others = {target.key[:2] for target in targets}
    listed = {process.key for process in state.shown.processes}
    unseen = [key for key in state.main.tagged - listed if key[:2] not in others]
    devices = unknown_among((key.device for key in unseen), state.shown)
    where = f'not readable on {devices_text(devices)}' if devices else 'not listed'
    return len({key[:2] for key in unseen}), where


def note_on(state: AppState) -> Callable[[SignalTarget], str]:
    """Return a function that returns the note on a target: a key of :data:`NOTES` or ``''``.

    Whether a target is still listed depends on the latest sample, even while the display is frozen.
    A target that is not may have exited, or stopped using the GPU.
    """
    sample = state.sample
    on_host = {(process.pid, process.start_time) for process in sample.host_processes}
    listed = {process.key[:2] for process in sample.processes} | on_host
    zombies = {process.key[:2] for process in sample.processes if process.status == 'zombie'} | {
        (process.pid, process.start_time)
        for process in sample.host_processes
        if process.status == 'zombie'
    }
    in_tree = state.screen is Screen.TREE
    seen = {row.key for row in state.forest} if in_tree else {row.key[:2] for row in state.rows}

    def note(target: SignalTarget) -> str:
        is_measured = bool(on_host) or target.key.device != NO_DEVICE
        if is_measured and target.key[:2] not in listed:
            return 'no longer listed'
        if target.key[:2] in zombies:
            return 'zombie'
        if target.key.pid == 1:
            return 'first process of the system'
        if target.key.pid in sample.host.own_line:
            return 'ancestor of nvitop'
        return 'hidden' if state.query and target.key[:2] not in seen else ''

    return note


def _target(process: ProcessSample | HostProcessSample, state: AppState) -> SignalTarget:
    if isinstance(process, ProcessSample):
        key, parent = process.key, process.parent
    else:
        key = ProcessKey(process.pid, process.start_time, NO_DEVICE)
        place = process.pid, process.start_time
        parent = next((p.parent for p in state.shown.processes if p.key[:2] == place), None)
        if parent is None and process.status == 'zombie':
            parent = _parent_of(process, state.shown)
    name = process.name
    command = process.command or special_command(process.status, name) or name or ''
    return SignalTarget(key, process.username or '?', command, parent)


def _parent_of(process: HostProcessSample, sample: Sample) -> ParentProcess | None:
    for each in sample.host_processes:
        if each.pid == process.parent_pid:
            is_own = each.is_own and each.pid not in sample.host.own_line
            return ParentProcess(each.pid, each.start_time, each.name, each.username, is_own)
    return None
