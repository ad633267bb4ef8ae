# SPDX-License-Identifier: GPL-3.0-only
"""Which binding of a key counts now, and which of its needs is not met."""

from __future__ import annotations

from typing import Callable

from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.bindings import Binding, Need
from nvitop.gui.state.selection import hidden_by_filter, selected_process
from nvitop.gui.state.targets import has_targets, why_no_target


def binding_for(state: AppState, keys: str) -> Binding | None:
    """Return the first binding of keys on the screen whose needs are met, else the first one."""
    bindings = state.keymap.find_all(state.screen, keys)
    working = (binding for binding in bindings if not unmet_need(state, binding))
    return next(working, bindings[0] if bindings else None)


def working_binding(state: AppState, keys: str, met: dict[Need, bool]) -> Binding | None:
    """Return the first binding of keys whose needs are met; ``met`` keeps them for other keys."""
    for binding in state.keymap.find_all(state.screen, keys):
        for need in binding.needs:
            if need not in met:
                met[need] = not _REASONS[need](state)
            if not met[need]:
                break
        else:
            return binding
    return None


def unmet_need(state: AppState, binding: Binding) -> str:
    """Return why a binding cannot work now; ``''`` if it can."""
    return next(filter(None, (_REASONS[need](state) for need in binding.needs)), '')


def _why_no_process(state: AppState) -> str:
    if selected_process(state) is not None:
        return ''
    return hidden_by_filter(state) or 'Select a process first'


def _why_hidden(state: AppState) -> str:
    return '' if state.screen is Screen.METRICS else hidden_by_filter(state)


def _why_no_target(state: AppState) -> str:
    return '' if has_targets(state) else why_no_target(state)


#: Need → why it is not met; ``''`` if it is.
_REASONS: dict[Need, Callable[[AppState], str]] = {
    Need.DEVICE: lambda state: '' if state.main.selected_device else 'Select a GPU first',
    Need.PROCESS: _why_no_process,
    Need.NOT_HIDDEN: _why_hidden,
    Need.TARGET: _why_no_target,
    Need.BY_USER: lambda state: 'Already by owner' if state.sums_by_owner else '',
    Need.PAST: lambda state: (
        '' if state.origin.can_travel else 'No samples of other times are kept'
    ),
    Need.RECORDING: lambda state: 'Works only in a recording' if state.origin.is_live else '',
    Need.HERE: lambda state: state.origin.no_signals,
}
