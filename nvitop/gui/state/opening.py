# SPDX-License-Identifier: GPL-3.0-only
"""Opening screens and going back."""

from __future__ import annotations

from typing import Callable

from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import AppState, ListState, Result
from nvitop.gui.state.environ import begin_reading
from nvitop.gui.state.listing import relist
from nvitop.gui.state.selection import select_process


def open_screen(state: AppState, screen: Screen) -> Result:
    """Open a screen on top of the present one."""
    opened = state._replace(
        screen=screen,
        behind=(*state.behind, (state.screen, state.listing)),
        listing=ListState(),
        prefix='',
    )
    if screen is Screen.USERS:
        opened = opened._replace(sums_by_owner=False)
    prepare = _PREPARE.get(screen)
    return (opened, ()) if prepare is None else prepare(state, opened)


def go_back(state: AppState) -> Result:
    """Return to the screen below. The main screen takes over the selection of the tree."""
    *behind, (screen, listing) = state.behind or ((Screen.MAIN, ListState()),)
    selected = state.tree.selected if state.screen is Screen.TREE else None
    state = relist(state._replace(screen=screen, behind=tuple(behind), listing=listing))
    if selected is not None and selected != (state.main.selected or ())[:2]:
        rows = [i for i, row in enumerate(state.rows) if row.key[:2] == selected]
        return select_process(state, rows[0] if rows else None), ()
    return state, ()


def _prepare_tree(before: AppState, state: AppState) -> Result:
    """Select the process in the tree that is selected on the main screen."""
    selected = before.main.selected
    key = None if selected is None else (selected.pid, selected.start_time)
    return relist(state._replace(tree=state.tree._replace(selected=key, scroll_y=0))), ()


def _prepare_metrics(before: AppState, state: AppState) -> Result:
    return state._replace(metrics=before.main.selected), ()


#: Screens that begin with the selected process: state before and after opening → result.
_PREPARE: dict[Screen, Callable[[AppState, AppState], Result]] = {
    Screen.TREE: _prepare_tree,
    Screen.ENVIRON: begin_reading,
    Screen.METRICS: _prepare_metrics,
}
