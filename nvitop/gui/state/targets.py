# SPDX-License-Identifier: GPL-3.0-only
"""Whom a signal would go to, why to nobody, and what is to be said of those it would go to."""

from __future__ import annotations

from typing import Callable

from nvitop.gui.state.app_state import AppState, Screen, Target
from nvitop.gui.state.listing import selected_index, tree_index
from nvitop.gui.state.types import SPECIAL_COMMANDS
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessKey, ProcessSample

#: Where a process of the host alone is said to run, in the key that a signal goes to.
NO_DEVICE = DeviceKey(-1)
#: What is said of a target, in its line; with words that follow how many there are.
REMARKS = {'hidden': 'hidden by the filter', 'no longer listed': 'no longer listed'}


def signal_targets(state: AppState) -> tuple[Target, ...]:
    """Whom a signal would go to: all that are tagged, else the selected one if it may be signalled.

    Each process once, however many devices it runs on.
    """
    if state.view.readonly:
        return ()
    by_key = {process.key: process for process in state.shown.processes}
    targets: dict[tuple[int, float], Target] = {}
    for process in state.shown.processes:
        if process.key in state.main.tagged:
            targets.setdefault(process.key[:2], _target(process))
    hosts = {(p.pid, p.start_time): p for p in state.shown.host_processes}
    for host_key in sorted(state.tree.tagged):
        if host_key in hosts:
            host = hosts[host_key]
            key = ProcessKey(*host_key, NO_DEVICE)
            targets.setdefault(host_key, Target(key, host.username or '?', _command(host)))
    if targets:
        return tuple(targets.values())
    if state.screen is Screen.TREE:
        chosen = hosts.get(state.tree.selected) if state.tree.selected else None
        if chosen is None or not chosen.is_own or tree_index(state) is None:
            return ()
        key = ProcessKey(chosen.pid, chosen.start_time, NO_DEVICE)
        return (Target(key, chosen.username or '?', _command(chosen)),)
    selected = by_key.get(state.main.selected) if state.main.selected else None
    if selected is None or not selected.is_own or selected not in state.rows:
        return ()
    return (_target(selected),)


def why_no_target(state: AppState) -> str:
    """Why a signal would go to nobody."""
    if state.view.readonly:
        return 'read-only (--readonly)'
    in_tree = state.screen is Screen.TREE
    selected = state.tree.selected if in_tree else state.main.selected
    if selected is None:
        return 'select or tag a process'
    if in_tree and not state.shown.host_processes:
        return 'the tree has not been measured yet'
    return hidden_by_filter(state) or f'{selected[0]} is not yours; tag it to try'


def hidden_by_filter(state: AppState) -> str:
    """That the filter hides the selected process, which is then not meant by any key."""
    in_tree = state.screen is Screen.TREE
    is_measured = bool(state.shown.host_processes) or not in_tree
    selected = state.tree.selected if in_tree else state.main.selected
    index = tree_index(state) if in_tree else selected_index(state)
    if not state.query or not is_measured or selected is None or index is not None:
        return ''
    return f'the filter hides {selected[0]}'


def remark_on(state: AppState) -> Callable[[Target], str]:
    """What is to be said of a target, one of :data:`REMARKS` or ``''``.

    Whether it is still listed, the latest sample says, also where the display is frozen. Why it is
    not is not known: it may have ended, or have left the GPU.
    """
    sample = state.sample
    on_host = {(process.pid, process.start_time) for process in sample.host_processes}
    listed = {process.key[:2] for process in sample.processes} | on_host
    in_tree = state.screen is Screen.TREE
    seen = {row.key for row in state.forest} if in_tree else {row.key[:2] for row in state.rows}

    def remark(target: Target) -> str:
        is_measured = bool(on_host) or target.key.device != NO_DEVICE
        if is_measured and target.key[:2] not in listed:
            return 'no longer listed'
        return 'hidden' if state.query and target.key[:2] not in seen else ''

    return remark


def _target(process: ProcessSample) -> Target:
    return Target(process.key, process.username or '?', _command(process) or process.name or '')


def _command(process: ProcessSample | HostProcessSample) -> str:
    return process.command or SPECIAL_COMMANDS.get(process.status, '')
