# SPDX-License-Identifier: GPL-3.0-only
"""The list of processes: what is in it, what is selected and tagged, and which part is seen."""

from __future__ import annotations

from typing import Callable

from nvitop.gui.layout.main import MainLayout, count_rows, lay_out_page, scroll_to_process
from nvitop.gui.layout.tree import TreeLayout, lay_out_tree
from nvitop.gui.model.choices import ProcessFilter
from nvitop.gui.model.columns import growing_widths
from nvitop.gui.state.app_state import AppState, Screen
from nvitop.gui.state.filtering import Uses, filter_processes, matches_host_process, parse_query
from nvitop.gui.state.ordering import is_listed, list_processes
from nvitop.gui.state.ranges import devices_text
from nvitop.gui.state.summary import unknown_among
from nvitop.gui.state.tree import TreeRow, build_tree
from nvitop.sampling.types import HostProcessSample, ProcessSample

#: The widest that the devices of a process are written in the tree.
_DEVICES_WIDTH = 16


def relist(state: AppState) -> AppState:
    """List the processes of the shown sample anew; a selection that is gone is cleared."""
    found = filter_processes(state.shown.processes, parse_query(state.query))
    rows = list_processes(found, state.main.filter, state.main.sort)
    main = state.main
    if main.selected is not None or main.tagged:
        alive = {process.key for process in state.shown.processes}
        if main.selected not in alive:
            main = main._replace(selected=None)
        if not main.tagged <= alive:
            # A GPU that does not answer may come back, and with it what runs there.
            gone = main.tagged - alive
            kept = {key for key in gone if unknown_among((key.device,), state.shown)}
            main = main._replace(tagged=(main.tagged & alive) | kept)
    tree = state.tree
    # The first samples after the tree was opened may not have them yet.
    if state.screen is Screen.TREE and state.shown.host_processes:
        present = {(p.pid, p.start_time) for p in state.shown.host_processes}
        if tree.selected is not None and tree.selected not in present:
            tree = tree._replace(selected=None)
        tree = tree._replace(tagged=tree.tagged & present)
    forest = grow_forest(state)
    return state._replace(
        rows=rows,
        row_counts=count_rows(rows),
        main=main,
        tree=tree,
        forest=forest,
        forest_widths=_forest_widths(forest),
    )


def main_layout(state: AppState) -> MainLayout:
    """Where everything on the main screen is."""
    return lay_out_page(
        state.shown,
        state.rows,
        state.main,
        state.view,
        state.width,
        state.height,
        state.row_counts,
    )


def grow_forest(state: AppState) -> tuple[TreeRow, ...]:
    """The lines of the tree screen: processes on devices that the options leave, their ancestors
    and their children. With words of a filter: of these lines those that match, with ancestors."""
    processes = state.shown.host_processes
    if not processes:
        return ()
    wanted = state.main.filter
    if wanted != ProcessFilter():
        rows = (row for row in state.shown.processes if is_listed(row, wanted))
        listed = {row.key[:2] for row in rows}
        listed_pids = {pid for pid, _ in listed}
        processes = _with_ancestors(
            processes,
            lambda process: (
                (process.pid, process.start_time) in listed
                or (process.parent_pid in listed_pids and not process.devices)
            ),
        )
    query = parse_query(state.query)
    if query.parts:
        uses = uses_of_devices(state)
        processes = _with_ancestors(
            processes, lambda process: matches_host_process(process, query, uses)
        )
    return build_tree(processes)


def _with_ancestors(
    processes: tuple[HostProcessSample, ...], is_wanted: Callable[[HostProcessSample], bool]
) -> tuple[HostProcessSample, ...]:
    by_pid = {process.pid: process for process in processes}
    kept: set[int] = set()
    for process in processes:
        pid: int | None = process.pid if is_wanted(process) else None
        while pid is not None and pid in by_pid and pid not in kept:
            kept.add(pid)
            pid = by_pid[pid].parent_pid
    return tuple(process for process in processes if process.pid in kept)


def uses_of_devices(state: AppState) -> Uses:
    """The rows of the process panel, filtered or not, by the PID and start time of the tree."""
    uses: dict[tuple[int, float], list[ProcessSample]] = {}
    for row in state.shown.processes:
        uses.setdefault((row.key.pid, row.key.start_time), []).append(row)
    return uses


def _forest_widths(rows: tuple[TreeRow, ...]) -> dict[str, int]:
    """Widths of columns of the tree that grow: looked for once, and not at every key."""
    threads = 0
    devices = set()
    for row in rows:
        threads = max(threads, row.process.thread_count or 0)
        devices.add(row.process.devices)
    widths = growing_widths(
        [row.process.pid for row in rows], [row.process.running_time_seconds for row in rows]
    )
    widths['threads'] = len(str(threads))
    longest = max((len(devices_text(keys)) for keys in devices), default=0)
    widths['device'] = min(_DEVICES_WIDTH, longest)
    return widths


def tree_layout(state: AppState) -> TreeLayout:
    """Where everything on the tree screen is."""
    return lay_out_tree(
        state.width,
        state.height,
        len(state.forest),
        state.forest_widths,
        scroll_y=state.tree.scroll_y,
        cursor=tree_index(state),
    )


def tree_index(state: AppState) -> int | None:
    """Index of the selected line of the tree."""
    selected = state.tree.selected
    if selected is None:
        return None
    return next((i for i, row in enumerate(state.forest) if row.key == selected), None)


def selected_index(state: AppState) -> int | None:
    """Index in :attr:`AppState.rows` of the selected process."""
    key = state.main.selected
    return next((i for i, row in enumerate(state.rows) if row.key == key), None)


def select_process(state: AppState, index: int | None) -> AppState:
    """Select a row, as near as there is one, and scroll until it is seen; ``None``: no row."""
    if index is None or not state.rows:
        return state._replace(main=state.main._replace(selected=None))
    index = max(0, min(index, len(state.rows) - 1))
    state = state._replace(main=state.main._replace(selected=state.rows[index].key))
    layout = main_layout(state)
    if layout.is_too_small:
        return state
    # The page is scrolled under its first line.
    scroll_y = scroll_to_process(layout, index, covered=1)
    return state._replace(main=state.main._replace(scroll_y=scroll_y))


def keep_selection_seen(state: AppState) -> AppState:
    """Scroll until the selected process is seen, after something that may have moved it."""
    index = selected_index(state) if state.main.selected is not None else None
    if index is None or state.screen is not Screen.MAIN:
        return state
    return select_process(state, index)


def move_selection(state: AppState, step: int) -> tuple[AppState, bool]:
    """Select the next or previous process; whether there was one that way."""
    if state.screen is Screen.TREE:
        return _move_tree_selection(state, step)
    index = selected_index(state)
    wanted = (0 if step > 0 else len(state.rows) - 1) if index is None else index + step
    moved = select_process(state, wanted)
    return moved, moved.main.selected != state.main.selected


def _move_tree_selection(state: AppState, step: int) -> tuple[AppState, bool]:
    rows = state.forest
    if not rows:
        return state, False
    index = tree_index(state)
    wanted = (0 if step > 0 else len(rows) - 1) if index is None else index + step
    return select_tree_row(state, wanted), index != max(0, min(wanted, len(rows) - 1))


def select_tree_row(state: AppState, index: int) -> AppState:
    """Select a line of the tree, as near as there is one, and scroll until it is seen."""
    rows = state.forest
    if not rows:
        return state
    index = max(0, min(index, len(rows) - 1))
    state = state._replace(tree=state.tree._replace(selected=rows[index].key))
    scroll_y = tree_layout(state).lines.scroll_y
    return state._replace(tree=state.tree._replace(scroll_y=scroll_y))


def toggle_tag(state: AppState) -> AppState:
    """Tag the selected process, or take its tag away. Not where the filter hides it."""
    if state.screen is Screen.TREE:
        key = state.tree.selected
        if key is None or tree_index(state) is None:
            return state
        return tag_host_processes(state, {key})
    selected = state.main.selected
    if selected is None or selected_index(state) is None:
        return state
    return state._replace(main=state.main._replace(tagged=state.main.tagged ^ {selected}))


def tag_host_processes(state: AppState, keys: set[tuple[int, float]]) -> AppState:
    """Tag processes of the tree, or, where all of them are tagged, take the tags away."""
    tagged = tree_tags(state)
    on_devices = frozenset(
        process.key
        for process in state.shown.processes
        if (process.key.pid, process.key.start_time) in keys
    )
    if keys <= tagged:
        main = state.main.tagged - on_devices
        tree = state.tree.tagged - keys
    else:
        main = state.main.tagged | on_devices
        here = {(key.pid, key.start_time) for key in on_devices}
        tree = state.tree.tagged | (keys - here)
    return state._replace(
        main=state.main._replace(tagged=main), tree=state.tree._replace(tagged=tree)
    )


def tree_tags(state: AppState) -> frozenset[tuple[int, float]]:
    """All tagged processes as the tree knows them."""
    return state.tree.tagged | {(key.pid, key.start_time) for key in state.main.tagged}


def clear_selection(state: AppState) -> AppState:
    """No selection and no tags, on any screen."""
    return state._replace(
        main=state.main._replace(selected=None, tagged=frozenset()),
        tree=state.tree._replace(selected=None, tagged=frozenset()),
    )
