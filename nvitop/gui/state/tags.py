# SPDX-License-Identifier: GPL-3.0-only
"""Tags of processes, to which a signal is sent."""

from __future__ import annotations

from nvitop.gui.model.choices import Screen
from nvitop.gui.state import navigation
from nvitop.gui.state.app_state import AppState, Result
from nvitop.gui.state.lists import process_lines
from nvitop.gui.state.process_rows import subtree


def tree_tags(state: AppState) -> frozenset[tuple[int, float]]:
    return state.tagged_hosts | {key.identity for key in state.main.tagged}


def tag_subtree(state: AppState) -> Result:
    """Tag the selected process of the tree and all its descendants, or untag them all."""
    index = navigation.current_line(state)
    if index is None:
        return state, ()
    return _toggle_tags(state, {row.key for row in subtree(state.lists.tree_rows, index)}), ()


def _toggle_tags(state: AppState, keys: set[tuple[int, float]]) -> AppState:
    """Tag processes on all their devices; untag them if all are tagged."""
    on_devices = frozenset(
        process.key for process in state.shown_sample.processes if process.identity in keys
    )
    if keys <= tree_tags(state):
        main = state.main.tagged - on_devices
        hosts = state.tagged_hosts - keys
    else:
        main = state.main.tagged | on_devices
        hosts = state.tagged_hosts | (keys - {key.identity for key in on_devices})
    return state._replace(main=state.main._replace(tagged=main), tagged_hosts=hosts)


def tag(state: AppState) -> Result:
    """Tag or untag the process or job, and go to the next."""
    tagged = _toggle_tags(state, {process.identity for process in state.selection.processes})
    if state.screen is not Screen.MAIN or state.job is None:
        return navigation.move_by_lines(tagged, 1)[0], ()
    line = navigation.current_line(state) or 0
    rest = process_lines(state)[line + 1 :]
    after = (i for i, later in enumerate(rest, line + 1) if later.job is None or later.is_job)
    return navigation.go_to_line(tagged, next(after, line)), ()
