# SPDX-License-Identifier: GPL-3.0-only
"""The lists of the screens: their lines, orders and positions."""

from __future__ import annotations

from typing import Any, Callable, Collection, Iterable, Mapping, Sequence

from nvitop.basics.text import contains
from nvitop.basics.units import format_hours
from nvitop.gui.model.choices import ProcessFilter, Screen, Sort
from nvitop.gui.model.columns import COLUMNS, TREE_COLUMNS, USER_COLUMNS, empty_columns
from nvitop.gui.model.device_columns import device_widths
from nvitop.gui.model.device_rows import device_rows, is_on, is_user, unknown_among
from nvitop.gui.model.format import NOT_AVAILABLE, UNKNOWN_USER, devices_text
from nvitop.gui.model.main_layout import MainLayout, main_layout
from nvitop.gui.model.table import Placed, Sorted, place
from nvitop.gui.render.buffer import Cells
from nvitop.gui.state import orders, process_filter, process_rows
from nvitop.gui.state.app_state import AppState, ListInputs, Lists, Result, notify
from nvitop.gui.state.orders import Order, orders_of
from nvitop.gui.state.problems import ProblemCount, missing_values
from nvitop.sampling.types import HostProcessSample, ProcessSample, Sample

# fmt: off
#: Screen of the monitor → its orders; the first one is the default.
LIST_ORDERS: Mapping[Screen, tuple[Order, ...]] = {
    Screen.MAIN: orders.ORDERS,
    Screen.USERS: orders_of(USER_COLUMNS, (
        Order('gpu_memory', None),
        Order('user', lambda row: row.name, is_descending=False, is_text=True),
        Order('processes', lambda row: row.process_count),
        Order('idle_memory', lambda row: row.idle_memory_bytes),
        Order('sm', lambda row: row.total.gpu_sm_utilization_percent),
        Order('cpu', lambda row: row.total.cpu_percent),
        Order('oldest', lambda row: row.total.running_time_seconds),
        Order('hours', lambda row: row.gpu_times and row.gpu_times[0]),
    )),
    Screen.PROBLEMS: (
        Order('severity', None, first='critical', letter='s', title='severity'),
        Order('last', lambda line: line.last, first='latest', letter='l', title='LAST'),
        Order('first', lambda line: line.first, first='latest', letter='f', title='FIRST'),
        Order('times', lambda line: line.times, letter='t', title='SAMPLES'),
        Order('where', lambda line: line.where, is_descending=False, is_text=True, letter='w', title='WHERE'),
    ),
}
# fmt: on


def list_sort(state: AppState, screen: Screen) -> Sort:
    return state.list_sorts.get(screen, Sort(state.program.screens[screen].orders[0].name))


def sorted_lines(state: AppState, screen: Screen, lines: Iterable[Any]) -> tuple[Any, ...]:
    name, reverse = list_sort(state, screen)
    return orders.in_order(lines, _order(state, screen, name), reverse=reverse)


def sorted_by(state: AppState) -> Sorted:
    """Return the order of the list on the screen."""
    name, reverse = list_sort(state, state.screen)
    order = _order(state, state.screen, name)
    return Sorted(name, order.title, '▼' if order.is_descending != reverse else '▲')


def _order(state: AppState, screen: Screen, name: str) -> Order:
    return next(order for order in state.program.screens[screen].orders if order.name == name)


def sort_list(state: AppState, order: str, *, reverse: bool) -> Result:
    screen = state.screen
    list_order = _order(state, screen, order)
    state = state._replace(list_sorts={**state.list_sorts, screen: Sort(order, reverse)})
    return notify(state, 'key', f'Order: {list_order.describe(reverse=reverse)}'), ()


#: Maximum width of the devices column of the tree.
_DEVICES_WIDTH = 16


def relist(state: AppState) -> AppState:
    """Make the lists again if their inputs have changed."""
    inputs = state.lists.inputs
    if inputs is None or inputs.sample is not state.shown_sample:
        state = drop_gone(state)
    inputs = _inputs_of(state)
    if inputs != state.lists.inputs:
        state = state._replace(lists=make_lists(inputs))
    return _with_widths(state)


def _inputs_of(state: AppState) -> ListInputs:
    main = state.main
    return ListInputs(
        state.shown_sample,
        state.findings,
        main.filter,
        state.query,
        main.selected_device,
        main.shows_page,
        state.sort,
        state.view.flat,
        _lacks_host(state),
    )


def make_lists(inputs: ListInputs) -> Lists:
    processes = inputs.sample.processes
    found = process_filter.filter_processes(processes, process_filter.parse_query(inputs.query))
    matching = found
    if inputs.device is not None:
        matching = tuple(row for row in found if is_on(row.key.device, inputs.device))
    rows = orders.list_processes(matching, inputs.wanted, inputs.sort)
    blocks = (
        tuple((process_rows.Line(process),) for process in rows)
        if inputs.flat
        else process_rows.group_by_job(rows, inputs.sort)
    )
    listed = (matching if inputs.shows_page else found) or processes
    empty = empty_columns(listed)
    if inputs.lacks_host:
        empty |= _columns_without_values(processes)
    devices = device_rows(inputs.sample, inputs.findings)
    tree_rows = _list_tree(inputs)
    return Lists(
        inputs,
        devices,
        rows,
        blocks,
        tree_rows,
        process_rows.list_widths(listed, blocks),
        empty,
        device_widths(devices),
        _tree_widths(tree_rows),
    )


def drop_gone(state: AppState) -> AppState:
    """Drop selection, tags and folds of devices, jobs and processes that have left the sample."""
    main, sample = state.main, state.shown_sample
    if main.selected_device not in (None, *(device.key for device in sample.devices)):
        main = main._replace(selected_device=None, shows_page=False)
    alive = {process.key for process in sample.processes}
    jobs = {process_rows.job_key(process) for process in sample.processes}
    # A GPU that is not responding may recover, and its processes with it.
    kept = {key for key in main.tagged - alive if unknown_among((key.device,), sample)}
    folded = {job: is_folded for job, is_folded in main.folded.items() if job in jobs}
    main = main._replace(folded=folded, tagged=main.tagged & (alive | kept))
    state = _drop_selection(state._replace(main=main), Screen.MAIN, alive | jobs)
    # The first samples after the tree was opened may not have host processes yet.
    if sample.host_processes:
        present = {process.identity for process in sample.host_processes}
        state = _drop_selection(state, Screen.TREE, present)
        state = state._replace(tagged_hosts=state.tagged_hosts & present)
    return state


def _with_widths(state: AppState) -> AppState:
    """Fit the columns to a filter or page; none moves while the user types or when a job starts."""
    state = state._replace(device_widths=_widest(state.device_widths, state.lists.device_widths))
    if state.field is not None and state.field.purpose.is_filter:
        return state
    widths_of = state.query, state.main.selected_device if state.main.shows_page else None
    before = state.widths if widths_of == state.widths_of else {}
    widths = _widest(before, state.lists.widths)
    # A column in which there were values stays.
    empty = {name for name in state.lists.empty_columns if not widths.get(name)}
    return state._replace(widths=widths, widths_of=widths_of, empty_columns=empty)


def _widest(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Return the widths of columns, which never shrink: no heading moves when a job ends."""
    return {name: max(width, before.get(name, 0)) for name, width in now.items()}


def _columns_without_values(processes: Sequence[ProcessSample]) -> set[str]:
    """Return the columns that may be left out in which no process has a value."""
    lines = [process_rows.Line(process) for process in processes]
    return {
        column.name
        for column in COLUMNS
        if column.rank
        and all(
            column.text(line, column.sizes[0]) in (NOT_AVAILABLE, UNKNOWN_USER) for line in lines
        )
    }


def _drop_selection(state: AppState, screen: Screen, keys: Collection[object]) -> AppState:
    """Select nothing on a screen if the key of its selected line is none of these."""
    position = state.position_on(screen)
    if position.key is None or position.key in keys:
        return state
    return state.at(position._replace(key=None), screen)


def _lacks_host(state: AppState) -> bool:
    """Whether the samples come from an exporter or nvidia-smi, which report little but GPUs."""
    return state.origin.is_chosen and state.shown_sample.host.memory_total_bytes is None


def layout_of(state: AppState) -> MainLayout:
    view = state.view
    if _lacks_host(state):
        view = view._replace(show_host=False)
    return main_layout(
        state.page_devices,
        view,
        state.width,
        state.body_height,
        is_page=state.main.shows_page,
    )


def process_lines(state: AppState) -> tuple[process_rows.Line, ...]:
    """Return the lines of the process panel: jobs with their processes as far as there is room."""
    if state.view.flat:
        return tuple(line for (line,) in state.lists.blocks)
    return process_rows.fold(state.lists.blocks, layout_of(state).listed, state.main.folded)


def _list_tree(inputs: ListInputs) -> tuple[process_rows.TreeRow, ...]:
    """Return the lines of the tree screen.

    These are the processes on devices that match the options, with their ancestors and children.
    A filter keeps the lines that match it, with their ancestors.
    """
    processes = inputs.sample.host_processes
    if not processes:
        return ()
    uses = uses_of_devices(inputs.sample)
    wanted, device = inputs.wanted, inputs.device
    if wanted != ProcessFilter() or device is not None:
        rows = (
            row
            for row in inputs.sample.processes
            if process_filter.is_listed(row, wanted)
            and (device is None or is_on(row.key.device, device))
        )
        listed = {row.identity for row in rows}
        listed_pids = {pid for pid, _ in listed}
        processes = _with_ancestors(
            processes,
            lambda process: (
                process.identity in listed
                or (process.parent_pid in listed_pids and not process.devices)
            ),
        )
    query = process_filter.parse_query(inputs.query)
    if query:
        processes = _with_ancestors(
            processes, lambda process: process_filter.matches_host_process(process, query, uses)
        )
    totals = {key: process_rows.total_of(rows) for key, rows in uses.items()}
    tree = process_rows.build_tree(processes)
    return tuple(row._replace(total=totals.get(row.key)) for row in tree)


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


def uses_of_devices(sample: Sample) -> process_filter.Uses:
    """Return all processes on devices, filtered or not, by PID and start time."""
    uses: dict[tuple[int, float], list[ProcessSample]] = {}
    for row in sample.processes:
        uses.setdefault(row.identity, []).append(row)
    return uses


def _tree_widths(rows: tuple[process_rows.TreeRow, ...]) -> dict[str, int]:
    threads = 0
    devices = set()
    for row in rows:
        threads = max(threads, row.process.thread_count or 0)
        devices.add(row.process.devices)
    widths = {'pid': len(str(max([0, *(row.process.pid for row in rows)])))}
    widths['threads'] = len(str(threads))
    longest = max((len(devices_text(keys)) for keys in devices), default=1)
    widths['device'] = min(_DEVICES_WIDTH, longest)
    return widths


def tree_columns(state: AppState) -> tuple[Placed, ...]:
    return place(TREE_COLUMNS, Cells(0, state.inside.width), state.lists.tree_widths)


def listed_users(state: AppState) -> tuple[process_rows.Group, ...]:
    """Return the users or owners, users with their GPU time if it is known.

    Unless a filter is set, users who have no process now are among them.
    """
    users = process_rows.summarize_users(state.lists.rows, by_owner=state.sums_by_owner)
    if not state.sums_by_owner and state.gpu_times:
        # Recordings call unknown users '?', and those of free GPUs ''.
        times = {None if name == '?' else name: t for name, t in state.gpu_times.items() if name}
        users = tuple(user._replace(gpu_times=times.pop(user.name, (0.0, 0.0))) for user in users)
        if not (state.query or state.main.selected_device or state.main.filter != ProcessFilter()):
            absent = (
                process_rows.group_of((name or '', ''), ())._replace(gpu_times=t)
                for name, t in times.items()
            )
            users = (*users, *(user for user in absent if any(user.gpu_times or ())))
        users = _with_hours(users)
    if not state.sums_by_owner:
        sample = state.shown_sample
        users = tuple(user._replace(is_user=is_user(sample, user.name)) for user in users)
    users = sorted_lines(state, Screen.USERS, users)
    # Time without a known user is below all users.
    return tuple(sorted(users, key=lambda user: not (user.name or user.processes)))


def _with_hours(users: Sequence[process_rows.Group]) -> tuple[process_rows.Group, ...]:
    """Return users with the texts of their GPU-hours; none held is blank, as no idle memory is."""
    total = sum(sum(user.gpu_times or ()) for user in users)
    times = [user.gpu_times or (0.0, 0.0) for user in users]
    return tuple(
        user._replace(hours=(format_hours(used, total), format_hours(held, total) if held else ''))
        for user, (used, held) in zip(users, times)
    )


def listed_problems(state: AppState) -> tuple[ProblemCount, ...]:
    all_lines = state.shown_tally.lines
    lines = sorted_lines(state, Screen.PROBLEMS, [line for line in all_lines if line.is_failure])
    lines = (*lines, *missing_values(all_lines))
    words = state.query_on(Screen.PROBLEMS).split()
    return tuple(
        line for line in lines if all(contains(problem_text(line), word) for word in words)
    )


def problem_text(line: ProblemCount) -> str:
    """Return what a filter or search finds."""
    return f'{line.where} {line.what} {line.reason}'
