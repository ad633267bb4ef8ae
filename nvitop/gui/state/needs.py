# SPDX-License-Identifier: GPL-3.0-only
"""Needs of keys: functions that return why a key cannot work now, and ``''`` if it can."""

from __future__ import annotations

from typing import Callable

from nvitop.basics.masking import is_secret
from nvitop.gui.model.choices import Screen
from nvitop.gui.state import navigation
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.dialog import signal_targets, why_no_target
from nvitop.gui.state.keymap import Binding, Need


def need_secrets(state: AppState) -> str:
    if not state.environ.variables:
        return 'There are no variables'
    has_secrets = any(is_secret(name) for name, _ in state.environ.variables)
    return '' if has_secrets else 'No name here looks like a secret'


def working_binding(state: AppState, keys: str, met: dict[Need, bool]) -> Binding | None:
    """Return the first binding of keys that works now. ``met`` caches checked needs."""
    for binding in state.keymap.find_all(state.screen, keys):
        for need in binding.needs:
            if need not in met:
                met[need] = not need(state)
            if not met[need]:
                break
        else:
            return binding
    return None


def unmet_need(state: AppState, binding: Binding) -> str:
    return next(filter(None, (need(state) for need in binding.needs)), '')


def _need(is_met: Callable[[AppState], object], why: str) -> Need:
    return lambda state: '' if is_met(state) else why


need_device = _need(lambda state: state.main.selected_device, 'Select a GPU first')
need_job = _need(lambda state: state.job is not None, 'Select a job first')
#: No selected job: a process on its own, or one of a job.
need_no_job = _need(lambda state: state.selection.identity, 'Select one of its processes')
need_past = _need(lambda state: state.origin.can_travel, 'No samples of other times are kept')
need_recording = _need(lambda state: not state.origin.is_live, 'Works only in a recording')


def need_process(state: AppState) -> str:
    if state.selection.processes:
        return ''
    return navigation.hidden_by_filter(state) or 'Select a process first'


def need_search(state: AppState) -> str:
    return '' if state.searched else f'Search first{state.with_key("/", " ({})")}'


def need_shown_process(state: AppState) -> str:
    """A selected process, or the one on its page."""
    return '' if state.selection.is_page else need_process(state)


def need_target(state: AppState) -> str:
    """A process that may be signaled; never met with ``--readonly``."""
    return '' if state.dialog is not None or signal_targets(state) else why_no_target(state)


def need_processes_here(state: AppState) -> str:
    """Processes of this machine that run now."""
    return state.origin.no_signals


# When there is no point in the hint of a key.


def sees_all_lines(state: AppState) -> bool:
    layout = navigation.lines_layout(state)
    return layout.length <= layout.visible and not navigation.scrolls_facts(state)


def sleeps(state: AppState) -> bool:
    """Whether the main screen has nothing to choose, because all GPUs are asleep."""
    devices = state.shown_sample.devices
    is_asleep = bool(devices) and all(device.status == 'asleep' for device in devices)
    return is_asleep and not state.shown_sample.processes and state.screen is Screen.MAIN
