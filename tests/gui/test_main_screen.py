"""The main screen: warnings, scrolling, selection, and properties of any main screen."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.console.options import MODES
from nvitop.gui.model.choices import MainState, Sort, ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.width import cell_width
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import MousePressed
from nvitop.gui.state.lists import main_layout, relist
from nvitop.gui.state.process_rows import ORDERS
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import ProcessKey, Sample
from tests.gui.drawing import assert_is_drawn_inside, lines_of, state_on
from tests.gui.driving import after, arrived, pressed
from tests.gui.random_samples import RandomSamples
from tests.gui.samples import SAMPLES, history_of

COMPACT = ViewState(mode='compact')


def state_with(
    sample: Sample, width: int, height: int, main: MainState, view: ViewState = COMPACT
) -> AppState:
    return relist(state_on(sample, width, height, view=view)._replace(main=main))


def draw(state: AppState) -> Buffer:
    return draw_frame(state, History())


def key(scenario: str, index: int) -> ProcessKey:
    return SAMPLES[scenario].processes[index].key


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
    sample = RandomSamples(scenario).sample() if isinstance(scenario, int) else SAMPLES[scenario]
    keys = [process.key for process in sample.processes]
    selected = keys[index] if 0 <= index < len(keys) else None
    main = MainState(
        Sort(order, flag),
        selected=selected,
        tagged=frozenset(keys[1:2]),
        scroll_y=scroll_y,
        scroll_x=scroll_x,
    )
    view = ViewState(mode=mode, show_host=not flag or height % 2 == 0)
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


@given(
    st.sampled_from(['h100x8', 'one', 'gpus16', 'mig', 'workstation', 'lost']),
    st.tuples(st.integers(40, 260), st.integers(8, 80)),
    st.lists(
        st.sampled_from(['\\ b Enter', '\\ ~', '0', '1', 'Down', '/ a', 'Esc', 'job', 'z']),
        max_size=6,
    ),
)
@settings(max_examples=60)
def test_borders_stay_while_a_user_filters_or_selects_and_while_jobs_start_and_end(
    machine: str, size: tuple[int, int], steps: list[str]
) -> None:
    sample = SAMPLES[machine]
    state = state_on(sample, *size, view=ViewState())
    before = main_layout(state)
    for number, step in enumerate(steps):
        if step == 'job':
            processes = sample.processes if number % 2 else sample.processes[:1]
            state = arrived(state, sample._replace(processes=processes))
        else:
            state = pressed(state, *step.split())
        layout = main_layout(state._replace(main=state.main._replace(scroll_y=0)))
        assert layout.devices.area == before.devices.area
        assert layout.host.area == before.host.area
        assert layout.processes.area.y == before.processes.area.y


def test_sixteen_gpus_and_eight_processes_fit_80_by_24() -> None:
    state = state_on('gpus16', 80, 24, view=ViewState(shows_hints=True))
    layout = main_layout(state)
    assert len(layout.processes.rows) >= 8
    lines = lines_of(state)
    for row in range(8):
        left, right = lines[3 + row][1:].split('│')[:2]
        assert (left.split()[0], right.split()[0]) == (str(row), str(row + 8))
    for x, index in ((5, 2), (45, 10)):
        clicked = after(state, MousePressed(x, layout.devices.rows[2].y))
        assert clicked.main.selected_device == state.shown.devices[index].key
    # An odd number of rows leaves the frame closed.
    odd = state.sample._replace(devices=state.sample.devices[:15], processes=())
    assert_is_drawn_inside(draw(arrived(state, odd)), state)
    # Side by side only where rows are short.
    assert len(main_layout(state_on('gpus16', 80, 40)).devices.frames) == 1


def test_processes_stay_on_the_screen_below_long_panels() -> None:
    for keys in (('f',), ('d',)):
        state = pressed(state_on('h100x8', 80, 24, view=ViewState(shows_hints=True)), *keys)
        assert len(main_layout(state).processes.rows) >= 2
        assert state.main.scroll_y == 0
    state = pressed(state, 'f')
    layout = main_layout(state)
    assert layout.rows_below
    lines = lines_of(state)
    border = lines[layout.processes.area.y]
    assert '▼ 4 more devices' in border
    assert (border[0], border[-1]) == ('├', '┤')
    assert 'PageUp PageDown Scroll' in lines[-1]
    # What is covered does not react.
    row = layout.processes.rows[0]
    clicked = after(state, MousePressed(5, row.y))
    assert clicked.main.selected == state.rows[row.process].key
    end = pressed(state, *['PageDown'] * 4)
    assert not main_layout(end).rows_below


def test_headings_of_devices_stay_while_these_scroll() -> None:
    for size, keys, heads in (((80, 24), 'f', 4), ((40, 12), '', 2), ((80, 24), 'd', 2)):
        state = pressed(state_on('h100x8', *size, view=ViewState(shows_hints=True)), *keys)
        scrolled = pressed(state, 'PageDown')
        shown = lines_of(scrolled)
        assert shown[1 : 1 + heads] == lines_of(state)[1 : 1 + heads]
        assert shown[1 + heads] != lines_of(state)[1 + heads]
        assert '▲' in '\n'.join(shown)
        # What is below the headings does not react.
        assert after(scrolled, MousePressed(5, heads)).main.selected_device is None
    details = pressed(state_on('gpus16', 80, 24), 'd', *['PageDown'] * 2)
    assert lines_of(details)[1].startswith('╭─ Details ─')
    assert lines_of(details)[2].startswith('│ GPU  LINK ')
    assert lines_of(details)[3].startswith('│   2  ')
    assert after(details, MousePressed(5, 2)).main.selected_device is None
    third = after(details, MousePressed(5, 3)).main.selected_device
    assert third is not None
    assert third.physical_index == 2


def test_only_processes_scroll_if_a_few_of_them_are_on_the_screen() -> None:
    for size in ((80, 24), (100, 24), (80, 30)):
        sample = SAMPLES['h100x8']
        processes = [
            process._replace(key=process.key._replace(pid=1000 * i + process.key.pid))
            for i in range(9)
            for process in sample.processes
        ]
        state = arrived(state_on('h100x8', *size), sample._replace(processes=tuple(processes)))
        end = pressed(state, *['PageDown'] * 12)
        first, last = main_layout(state), main_layout(end)
        assert (first.devices, first.host) == (last.devices, last.host)
        assert first.processes.area == last.processes.area
        assert last.processes.rows[-1].process == len(processes) - 1


def test_columns_stay_while_a_user_filters_or_selects_a_gpu() -> None:
    for width in (80, 100, 120, 140, 180):
        state = state_on('h100x8', width, 40)
        columns = main_layout(state).processes.columns
        for keys in (('7',), ('3',), ('\\', 'f', 'f', 'm'), ('\\', 'z', 'z', 'z')):
            assert main_layout(pressed(state, *keys)).processes.columns == columns
