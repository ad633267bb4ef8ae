# SPDX-License-Identifier: GPL-3.0-only
"""Whom a signal would go to, why to nobody, and what is to be said of those it would go to."""

from __future__ import annotations

from typing import Callable, Iterable

from nvitop.gui.model.choices import SPECIAL_COMMANDS
from nvitop.gui.state.app_state import AppState, Screen, SignalTarget
from nvitop.gui.state.listing import selected_index, tree_index
from nvitop.gui.state.ranges import devices_text
from nvitop.gui.state.summary import unknown_among
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessKey, ProcessSample

#: Where a process of the host alone is said to run, in the key that a signal goes to.
NO_DEVICE = DeviceKey(-1)
#: What is said of a target, in its line; with words that follow how many there are.
REMARKS = {'hidden': 'hidden by the filter', 'no longer listed': 'no longer listed'}
#: Status of a process → why no signal can reach it.
_OUT_OF_REACH = {
    'gone': 'there is no process {}',
    'foreign': '{} is in another PID namespace',
}


def signal_targets(state: AppState) -> tuple[SignalTarget, ...]:
    """Whom a signal would go to: all that are tagged, else the selected one if it may be signalled.

    Each process once, however many devices it runs on.
    """
    if state.view.readonly:
        return ()
    targets: dict[tuple[int, float], SignalTarget] = {}
    for process in state.shown.processes if state.main.tagged else ():
        if process.key in state.main.tagged:
            targets.setdefault(process.key[:2], _target(process))
    for host in state.shown.host_processes if state.tree.tagged else ():
        if (host.pid, host.start_time) in state.tree.tagged:
            targets.setdefault((host.pid, host.start_time), _target(host))
    if targets or state.main.tagged:
        return tuple(targets.values())
    selected = selected_process(state)
    return (_target(selected),) if selected is not None and selected.is_own else ()


def tagged_unseen(state: AppState, targets: Iterable[SignalTarget]) -> tuple[int, str]:
    """How many processes are tagged, but not listed, beside these targets; and what is known of them."""
    others = {target.key[:2] for target in targets}
    listed = {process.key for process in state.shown.processes}
    unseen = [key for key in state.main.tagged - listed if key[:2] not in others]
    devices = unknown_among((key.device for key in unseen), state.shown)
    where = f'unknown on {devices_text(devices)}' if devices else 'not listed'
    return len({key[:2] for key in unseen}), where


def has_targets(state: AppState) -> bool:
    """Whether a signal would go to anybody: without looking at each process, as for each frame."""
    if state.view.readonly:
        return False
    if state.tree.tagged and state.shown.host_processes:
        return True
    if state.main.tagged:
        return any(process.key in state.main.tagged for process in state.shown.processes)
    selected = selected_process(state)
    return selected is not None and selected.is_own


def why_no_target(state: AppState) -> str:
    """Why a signal would go to nobody."""
    if state.view.readonly:
        return 'read-only (--readonly)'
    unseen, where = tagged_unseen(state, ())
    if unseen:
        return f'what is tagged is {where}'
    in_tree = state.screen is Screen.TREE
    key = state.tree.selected if in_tree else state.main.selected
    if key is None:
        return 'select or tag a process'
    if in_tree and not state.shown.host_processes:
        return 'the tree has not been measured yet'
    selected = selected_process(state)
    if selected is None:
        return hidden_by_filter(state) or 'select or tag a process'
    return _OUT_OF_REACH.get(selected.status, '{} is not yours; tag it to try').format(key[0])


def selected_process(state: AppState) -> ProcessSample | HostProcessSample | None:
    """The selected process, where it is among those that are listed."""
    if state.screen is Screen.TREE:
        index = tree_index(state)
        return None if index is None else state.forest[index].process
    index = selected_index(state)
    return None if index is None else state.rows[index]


def hidden_by_filter(state: AppState) -> str:
    """That the filter hides the selected process, which is then not meant by any key."""
    in_tree = state.screen is Screen.TREE
    is_measured = bool(state.shown.host_processes) or not in_tree
    key = state.tree.selected if in_tree else state.main.selected
    if not state.query or not is_measured or key is None or selected_process(state) is not None:
        return ''
    return f'the filter hides {key[0]}'


def remark_on(state: AppState) -> Callable[[SignalTarget], str]:
    """What is to be said of a target, one of :data:`REMARKS` or ``''``.

    Whether it is still listed, the latest sample says, also where the display is frozen. Why it is
    not is not known: it may have ended, or have left the GPU.
    """
    sample = state.sample
    on_host = {(process.pid, process.start_time) for process in sample.host_processes}
    listed = {process.key[:2] for process in sample.processes} | on_host
    in_tree = state.screen is Screen.TREE
    seen = {row.key for row in state.forest} if in_tree else {row.key[:2] for row in state.rows}

    def remark(target: SignalTarget) -> str:
        is_measured = bool(on_host) or target.key.device != NO_DEVICE
        if is_measured and target.key[:2] not in listed:
            return 'no longer listed'
        return 'hidden' if state.query and target.key[:2] not in seen else ''

    return remark


def _target(process: ProcessSample | HostProcessSample) -> SignalTarget:
    if isinstance(process, ProcessSample):
        key, name = process.key, process.name
    else:
        key, name = ProcessKey(process.pid, process.start_time, NO_DEVICE), None
    command = process.command or SPECIAL_COMMANDS.get(process.status) or name or ''
    return SignalTarget(key, process.username or '?', command)
