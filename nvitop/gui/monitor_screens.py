# SPDX-License-Identifier: GPL-3.0-only
"""The screens of the monitor: one description each, of what it lists, measures and draws."""

from __future__ import annotations

from typing import cast

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.model.choices import DETAILS, PROCESS_TRAFFIC, Screen
from nvitop.gui.model.columns import COLUMNS_BY_NAME, place_processes
from nvitop.gui.model.device_columns import FACT_METRICS
from nvitop.gui.model.table import width_of
from nvitop.gui.state import lists
from nvitop.gui.state.actions import begin_reading, columns_in_order
from nvitop.gui.state.app_state import (
    AppState,
    Filter,
    IsHit,
    ListPosition,
    Program,
    Result,
    ScreenSpec,
    Selected,
)
from nvitop.gui.state.bindings import USUAL
from nvitop.gui.state.dialog import command_lines, note_lines
from nvitop.gui.state.events import Travel
from nvitop.gui.state.help_contents import help_lines, monitor_help
from nvitop.gui.state.input_line import words_of
from nvitop.gui.state.navigation import current_line, leave_tree, lines_layout
from nvitop.gui.state.orders import ORDERS_BY_NAME
from nvitop.gui.state.problems import problem_key
from nvitop.gui.state.process_filter import FIELDS, matches, matches_host_process, parse_query
from nvitop.gui.state.time_travel import select_event
from nvitop.gui.state.update import update
from nvitop.gui.view.screens.environ import draw_environ, environ_lines, environ_margins
from nvitop.gui.view.screens.help import draw_columns, draw_help, meaning_height
from nvitop.gui.view.screens.main import draw_main_screen
from nvitop.gui.view.screens.problems import card_heights, draw_events, draw_problems
from nvitop.gui.view.screens.problems import detail_height as problem_height
from nvitop.gui.view.screens.process import draw_process
from nvitop.gui.view.screens.signal import draw_signal
from nvitop.gui.view.screens.tree import draw_tree
from nvitop.gui.view.screens.users import detail_height, draw_users
from nvitop.sampling.types import Demand, ProcessKey

#: Maximum number of processes that are all measured, visible or not. Then no value is missing just
#: after scrolling or changing the screen, or in the report printed on exit.
_FEW_PROCESSES = 64
#: Maximum number of processes that are measured because they or their job are visible.
_MOST_VISIBLE = 256


def main_demand(state: AppState) -> Demand:
    """Return what the main screen shows, on other screens too, so that it misses nothing on return.

    Counters are expensive: they are read only while their values or problems are shown.
    """
    shown = ['memory_temperature']
    if state.listing in (Screen.MAIN, Screen.PROBLEMS):
        metric = state.main.graphs.metric
        shown += [metric] if METRICS_BY_NAME[metric].tier == 'shown' else []
        shown += (*DETAILS, *FACT_METRICS) if state.main.shows_page else ()
    main = state._replace(screen=Screen.MAIN)
    return Demand(
        shown_metrics=tuple(dict.fromkeys(shown)),
        visible_processes=_visible(main),
        process_codec=not {'encoder', 'decoder'}.isdisjoint(state.view.columns),
        cpu_cores=lists.layout_of(main).host > 1,
        owners=True,
    )


def tree_demand(state: AppState) -> Demand:
    return main_demand(state)._replace(host_processes=True)


def process_demand(state: AppState) -> Demand:
    demand = main_demand(state)
    visible = demand.visible_processes
    return demand._replace(
        shown_metrics=(*demand.shown_metrics, PROCESS_TRAFFIC),
        visible_processes=visible
        if visible is None or state.shown_process is None
        else (*visible, state.shown_process),
        process_codec=True,
        detailed_process=state.shown_process,
    )


def _visible(state: AppState) -> tuple[ProcessKey, ...] | None:
    """Return the processes whose CPU %, memory and command are visible; ``None`` for all."""
    main = state.main
    if len(state.shown_sample.processes) <= _FEW_PROCESSES:
        return None
    if ORDERS_BY_NAME[state.sort.order].needs_all:
        return None
    if state.query or state.field is not None or main.filter.users is not None:
        return None
    layout = lines_layout(state)
    seen = layout.lines[layout.shown.start : layout.shown.stop]
    keys = [process.key for line in seen for process in line.processes]
    others = () if state.selected is None or state.selected in keys else (state.selected,)
    return (*dict.fromkeys(keys[:_MOST_VISIBLE]), *others)


_FILTER = Filter(
    'processes',
    'text, or user: gpu: pid: type: job:',
    tuple(FIELDS),
    lambda state, word: any(
        matches(process, parse_query(word)) for process in state.shown_sample.processes
    ),
)


def _find_process(_: AppState, text: str) -> IsHit | None:
    """Search processes, and jobs whose processes are not listed."""
    query = parse_query(text)
    if not query:
        return None
    return lambda line: (
        (not line.is_job or line.is_folded)
        and any(matches(process, query) for process in line.processes)
    )


def _find_in_tree(state: AppState, text: str) -> IsHit | None:
    query, uses = parse_query(text), lists.uses_of_devices(state.shown_sample)
    return (lambda row: matches_host_process(row.process, query, uses)) if query else None


def _long_commands(state: AppState) -> tuple[list[str], int]:
    width = width_of('command', place_processes(state.columns, state.width, state.widths))
    return [row.command or '' for row in state.lists.rows] if width else [], width


def _variable(line: tuple[str, str]) -> str:
    return '='.join(line)


def _long_variables(state: AppState) -> tuple[list[str], int]:
    return list(map(_variable, environ_lines(state))), state.inside.width - 2


def _prepare_tree(before: AppState, state: AppState) -> Result:
    selected = before.selected
    key = None if selected is None else selected.identity
    return state.at(ListPosition(key)), ()


def _long_rows(state: AppState) -> tuple[list[str], int]:
    texts = [row.prefix + (row.process.command or '') for row in state.lists.tree_rows]
    return texts, width_of('command', lists.tree_columns(state))


def _selected_in_list(state: AppState) -> Selected:
    key = state.position.key
    lines = (line for block in state.lists.blocks for line in block if line.key == key)
    processes = next((line.processes for line in lines), ())
    return Selected(None if state.selected is None else state.selected.identity, processes)


def _selected_in_tree(state: AppState) -> Selected:
    index = current_line(state)
    processes = () if index is None else (state.lists.tree_rows[index].process,)
    is_measured = bool(state.shown_sample.host_processes)
    return Selected(cast('tuple[int, float] | None', state.position.key), processes, is_measured)


def _process_of_page(state: AppState) -> Selected:
    processes = tuple(row for row in state.shown_sample.processes if row.key == state.shown_process)
    identity = None if state.shown_process is None else state.shown_process.identity
    return Selected(identity, processes, is_page=True)


MAIN = ScreenSpec(
    draw=draw_main_screen,
    selection=_selected_in_list,
    menu=(
        *('h', 'r', 'S s', 'n N', 'PageUp PageDown', 'Up Down', 'Tab', 'Enter', 'T', 'K', 'e'),
        *('Space', 'Esc', '\\', 'F6', '!', 'u', '/', 't', 'J', 'C', 'z', '( )', '{ }', 'b', 'q'),
    ),
    lines=lists.process_lines,
    orders=lists.LIST_ORDERS[Screen.MAIN],
    demand=main_demand,
    margins=lambda state, _: lists.layout_of(state).margins(state.body_height),
    key_of=lambda line: line.key,
    can_deselect=True,
    search=_find_process,
    search_example=_FILTER.example,
    filter=_FILTER,
    long_lines=_long_commands,
    sideways_step=2,
)
TREE = ScreenSpec(
    draw=draw_tree,
    selection=_selected_in_tree,
    menu=(
        *('h', 'S s', 'n N', 'Up Down', 'T', 'K', 'e', 'Space', 'x', 'Esc'),
        *('/', '\\', 'u', '!', 'z', 'q'),
    ),
    lines=lambda state: state.lists.tree_rows,
    demand=tree_demand,
    margins=lambda *_: (2, 0),
    key_of=lambda row: row.key,
    can_deselect=True,
    search=_find_in_tree,
    search_example=_FILTER.example,
    filter=_FILTER,
    long_lines=_long_rows,
    prepare=_prepare_tree,
    leave=leave_tree,
    is_framed=True,
)
ENVIRON = ScreenSpec(
    draw=draw_environ,
    menu=('h', 'v', '/', 'n N', 'Left Right', 'q'),
    lines=environ_lines,
    demand=main_demand,
    margins=environ_margins,
    search=words_of(_variable),
    long_lines=_long_variables,
    prepare=begin_reading,
    name=lambda state: f'environment {state.environ.pid}',
    key_of=lambda line: line[0],
    is_framed=True,
)
PROCESS = ScreenSpec(
    draw=draw_process,
    selection=_process_of_page,
    menu=('h', 'T', 'K', 'e', '+ -', 'z', 'q'),
    lines=lambda _: (),
    demand=process_demand,
    has_cursor=False,
    is_framed=True,
    prepare=lambda before, state: (state._replace(shown_process=before.selected), ()),
    name=lambda state: f'process {state.shown_process.pid}' if state.shown_process else 'process',
)
HELP = ScreenSpec(
    draw=draw_help,
    menu=('PageUp PageDown', '/', 'n N', 'q'),
    # The first line is the heading above them.
    lines=lambda state: help_lines(state)[1:],
    demand=main_demand,
    margins=lambda *_: (2, 0),
    has_cursor=False,
    search=words_of(lambda line: ' '.join(f'{keys} {text}' for keys, text, _ in line)),
    is_framed=True,
)
PROBLEMS = ScreenSpec(
    draw=draw_problems,
    menu=('h', 'Enter', 'PageUp PageDown', 'F6', '/', 'n N', '\\', 'z', 'q'),
    lines=lists.listed_problems,
    orders=lists.LIST_ORDERS[Screen.PROBLEMS],
    demand=main_demand,
    margins=lambda state, lines: (1, problem_height(state, lines)),
    search=words_of(lists.problem_text),
    filter=Filter('problems'),
    prepare=lambda _, state: (state.filtered(''), ()),
    key_of=problem_key,
    is_framed=True,
    heights=card_heights,
)
USERS = ScreenSpec(
    draw=draw_users,
    menu=('h', 'Enter', 'u', 'F6', '/', 'n N', '\\', '!', 'z', 'q'),
    lines=lists.listed_users,
    orders=lists.LIST_ORDERS[Screen.USERS],
    demand=lambda state: main_demand(state)._replace(visible_processes=None),
    margins=lambda state, lines: (2, 1 + detail_height(state, len(lines))),
    search=words_of(lambda user: user.name or ''),
    filter=_FILTER,
    prepare=lambda _, state: (state._replace(sums_by_owner=False), ()),
    name=lambda state: 'jobs' if state.sums_by_owner else 'users',
    key_of=lambda line: line.name,
    is_framed=True,
)
COLUMN_CHOICE = ScreenSpec(
    draw=draw_columns,
    menu=('h', 'Space', 'K J', '/', 'n N', 'q'),
    lines=columns_in_order,
    demand=main_demand,
    margins=lambda state, _: (2, meaning_height(state)),
    search=words_of(lambda name: f'{COLUMNS_BY_NAME[name].title} {COLUMNS_BY_NAME[name].help}'),
    is_framed=True,
)
EVENTS = ScreenSpec(
    draw=draw_events,
    menu=('h', 'Enter', '/', 'z', 'S s', 'q'),
    lines=lambda state: state.events,
    demand=main_demand,
    margins=lambda *_: (2, 0),
    search=words_of(lambda event: event.text),
    prepare=select_event,
    leave=lambda _, state: (state, (Travel('pause', -1.0),)),
    is_framed=True,
)
SIGNAL = ScreenSpec(
    draw=draw_signal,
    menu=('Enter', 'Left Right', 'p', 'Up Down', 'q'),
    lines=lambda state: () if state.dialog is None else state.dialog.targets,
    demand=lambda state: SCREENS[state.listing].demand(state),
    margins=lambda state, _: (
        3 + len(note_lines(state)),
        len(command_lines(state)) + bool(command_lines(state)),
    ),
    key_of=lambda line: line.key,
    is_framed=True,
)

SCREENS: dict[Screen, ScreenSpec] = {
    Screen.MAIN: MAIN,
    Screen.TREE: TREE,
    Screen.ENVIRON: ENVIRON,
    Screen.PROCESS: PROCESS,
    Screen.HELP: HELP,
    Screen.PROBLEMS: PROBLEMS,
    Screen.USERS: USERS,
    Screen.COLUMNS: COLUMN_CHOICE,
    Screen.EVENTS: EVENTS,
    Screen.SIGNAL: SIGNAL,
}

MONITOR = Program(SCREENS, USUAL, update, monitor_help)
