"""The main screen: warnings, scrolling, selection, and properties of any main screen."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.console.options import MODES
from nvitop.gui.model.choices import MainState, Sort, ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.listing import main_layout, relist
from nvitop.gui.state.ordering import ORDERS
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import ProcessKey, Sample
from tests.gui.anything import Anything
from tests.gui.drawing import assert_is_drawn_inside, lines_of, lines_on, state_on
from tests.gui.samples import SAMPLES, history_of

COMPACT = ViewState(mode='compact')


def state_with(
    sample: Sample, width: int, height: int, main: MainState, view: ViewState = COMPACT
) -> AppState:
    """Return the state of the main screen on a sample."""
    return relist(state_on(sample, width, height, view=view)._replace(main=main))


def draw(state: AppState) -> Buffer:
    return draw_frame(state, History())


def key(scenario: str, index: int) -> ProcessKey:
    """Return the key of a process of a scenario."""
    return SAMPLES[scenario].processes[index].key


def test_foreign_processes_are_explained() -> None:
    lines = lines_on('odd-processes', 130, 40)
    (border,) = [line for line in lines if ' Processes ' in line]
    assert ' another PID namespace: run with --pid=host ─┤' in border


def test_long_page_scrolls_to_its_end() -> None:
    state = state_with(SAMPLES['processes200'], 100, 30, MainState(scroll_y=10_000), ViewState())
    layout = main_layout(state)
    assert layout.scroll_y == layout.page_height - 30
    lines = lines_of(state)
    assert lines[-1] == '╰' + '─' * 98 + '╯'
    assert '10199' in lines[-2]


@pytest.mark.parametrize('scroll_x', [1, 2, 7, 20])
def test_scrolling_sideways_moves_headings_with_rows(scroll_x: int) -> None:
    sample = SAMPLES['processes200']
    start = lines_of(state_with(sample, 79, 40, MainState()))
    moved = lines_of(state_with(sample, 79, 40, MainState(scroll_x=scroll_x)))
    top = next(i for i, line in enumerate(start) if 'COMMAND' in line)
    for y in (top, top + 2, top + 5):
        before, after = start[y], moved[y]
        assert after[:43] == before[:43]
        kept = before[43 + scroll_x : 74]
        assert after[43 : 43 + len(kept)] == f'..{kept[2:]}'


def test_device_of_the_selected_process_is_bold() -> None:
    state = state_with(SAMPLES['h100x8'], 100, 60, MainState(selected=key('h100x8', 4)))
    buffer = draw(state)
    for row in main_layout(state).devices.rows:
        (style,) = [style for _, text, style in buffer.row(row.y) if text == str(row.device)]
        assert style.bold is (row.device == 4)
        assert not style.dim


def test_only_the_selected_mig_device_and_its_gpu_are_bold() -> None:
    state = state_with(SAMPLES['mig'], 130, 60, MainState(selected=key('mig', 1)))
    buffer = draw(state)
    rows = main_layout(state).devices.rows
    bold = [any(style.bold for _, _, style in buffer.row(row.y)) for row in rows]
    assert bold == [True, False, True, False, False]


def test_selected_and_tagged_rows_are_filled_to_the_border() -> None:
    main = MainState(selected=key('h100x8', 1), tagged=frozenset({key('h100x8', 2)}))
    state = state_with(SAMPLES['h100x8'], 100, 80, main)
    buffer = draw(state)
    found = [
        (x, cell_width(text), style.role)
        for row in main_layout(state).processes.rows
        for x, text, style in buffer.row(row.y)
        if style.role in (Role.SELECTED, Role.TAGGED)
    ]
    assert found == [(1, 98, Role.SELECTED), (1, 98, Role.TAGGED)]


def test_other_rows_of_the_selected_process_are_marked() -> None:
    sample = SAMPLES['one']
    device = sample.devices[0]
    twin = device._replace(key=device.key._replace(physical_index=1))
    (process,) = sample.processes
    other = process._replace(key=process.key._replace(device=twin.key))
    stranger = other._replace(key=other.key._replace(start_time=1.0))
    sample = sample._replace(devices=(device, twin), processes=(process, other, stranger))
    state = state_with(sample, 80, 60, MainState(selected=process.key))
    lines = lines_of(state)
    assert [lines[row.y][5] for row in main_layout(state).processes.rows] == [' ', '=', ' ']


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(st.sampled_from(sorted(SAMPLES)), st.integers(0, 1 << 32)),
    st.one_of(st.integers(1, 130), st.integers(1, 500)),
    st.one_of(st.integers(1, 60), st.integers(1, 200)),
    st.sampled_from([order.name for order in ORDERS]),
    st.booleans(),
    st.sampled_from(MODES),
    st.integers(0, 300),
    st.integers(0, 300),
    st.integers(-1, 5),
)
def test_any_screen_is_drawn_safely_and_inside(
    scenario: str | int,
    width: int,
    height: int,
    order: str,
    flag: bool,
    mode: str,
    scroll_y: int,
    scroll_x: int,
    index: int,
) -> None:
    sample = Anything(scenario).sample() if isinstance(scenario, int) else SAMPLES[scenario]
    keys = [process.key for process in sample.processes]
    selected = keys[index] if 0 <= index < len(keys) else None
    main = MainState(
        Sort(order, flag),
        selected=selected,
        tagged=frozenset(keys[1:2]),
        scroll_y=scroll_y,
        scroll_x=scroll_x,
    )
    view = ViewState(mode=mode, colorful=flag, show_host=not flag or height % 2 == 0)
    state = state_with(sample, width, height, main, view)
    buffer = draw_frame(state, history_of(sample, 5))
    assert_is_drawn_inside(buffer, state)
    layout = main_layout(state)
    # The header may cover a row.
    for row in (row for row in layout.processes.rows if row.y and not layout.is_too_small):
        spans = buffer.row(row.y)
        assert spans[0][:2] == (0, '│')
        assert cell_width(spans[-1][1]) + spans[-1][0] == layout.processes.area.width


def test_process_hidden_by_the_filter_marks_no_gpu() -> None:
    state = state_on('h100x8', 120, 40, *['Down'] * 4, '\\', *'gpu:5', 'Enter')
    assert state.main.selected is not None
    nothing = state._replace(main=state.main._replace(selected=None))
    frame, expected = draw_frame(state, History()), draw_frame(nothing, History())
    assert [frame.row(y) for y in range(40)] == [expected.row(y) for y in range(40)]
