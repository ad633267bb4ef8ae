"""The main screen: notes, scrolling, selection, and properties of any main screen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.console.options import MODES
from nvitop.gui.layout.main import count_rows, lay_out_page
from nvitop.gui.model.choices import MainState, Sort, ViewState
from nvitop.gui.render.ascii import to_ascii
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role
from nvitop.gui.render.width import cell_width, safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.ordering import ORDERS, list_processes
from nvitop.gui.view.hints import signal_hints, title_hints
from nvitop.gui.view.panels.header import Header
from nvitop.gui.view.screens.main import MainView, draw_main
from nvitop.sampling.history import History
from nvitop.sampling.types import ProcessKey, Sample
from tests.gui.anything import Anything
from tests.gui.samples import SAMPLES

HINT = title_hints(AppState())
HEADER = Header('Tue Jan 02 03:04:05 2024', (), HINT, version='1.0.0')


def history_of(sample: Sample, seconds: int = 200) -> History:
    """Return a history in which values rise and fall."""
    history = History()
    for i in range(seconds):
        wave = abs((i * 3) % 120 - 60) / 60
        devices = tuple(
            device._replace(
                gpu_utilization_percent=round((device.gpu_utilization_percent or 0) * wave),
                memory_percent=(device.memory_percent or 0) * (0.5 + wave / 2),
            )
            for device in sample.devices
        )
        host = sample.host._replace(cpu_percent=(sample.host.cpu_percent or 0) * (1 + 3 * wave))
        history.record(
            sample._replace(monotonic=800.0 + i, devices=devices, host=host, processes=())
        )
    return history


def draw(
    sample: Sample, width: int, height: int, state: MainState, view: ViewState, **extra: Any
) -> tuple[Buffer, MainView]:
    rows = list_processes(sample.processes, state.filter, state.sort)
    arranged = MainView(
        rows,
        lay_out_page(sample, rows, state, view, width, height),
        has_foreign=count_rows(rows).has_foreign,
    )
    buffer = Buffer(width, height)
    seen = AppState(main=state, view=view, rows=rows, sample=sample)
    header = HEADER._replace(signal_hint=signal_hints(seen))
    draw_main(buffer, arranged, sample, state, view, header, **extra)
    return buffer, arranged


def key(scenario: str, index: int) -> ProcessKey:
    """Return the key of a process of a scenario."""
    return SAMPLES[scenario].processes[index].key


def test_root_is_warned_and_foreign_processes_are_explained() -> None:
    sample = SAMPLES['odd-processes']
    sample = sample._replace(host=sample.host._replace(is_superuser=True))
    buffer, arranged = draw(sample, 130, 40, MainState(), ViewState())
    assert buffer.lines()[arranged.layout.processes.area.y] == (
        ' ! root: signals reach every process  another PID namespace: run with --pid=host'
    )


def test_ascii_screen_is_ascii_and_has_a_compact_host() -> None:
    sample = SAMPLES['h100x8']
    view = ViewState(ascii=True, mode='full')
    state = MainState(Sort('time'), selected=key('h100x8', 3))
    buffer, arranged = draw(sample, 123, 70, state, view, history=history_of(sample))
    assert arranged.layout.host.area.height == 2
    assert '\n'.join(to_ascii(buffer).lines()).isascii()


def test_long_page_scrolls_to_its_end() -> None:
    sample = SAMPLES['processes200']
    buffer, arranged = draw(sample, 100, 30, MainState(scroll_y=10_000), ViewState())
    layout = arranged.layout
    assert layout.scroll_y == layout.page_height - 30
    assert buffer.lines()[-1] == '╘' + '═' * 98 + '╛'
    assert '10199' in buffer.lines()[-2]


@pytest.mark.parametrize('scroll_x', [1, 2, 7, 20])
def test_scrolling_sideways_moves_headings_with_rows(scroll_x: int) -> None:
    sample = SAMPLES['processes200']
    start, _ = draw(sample, 79, 40, MainState(), ViewState(mode='compact'))
    moved, _ = draw(sample, 79, 40, MainState(scroll_x=scroll_x), ViewState(mode='compact'))
    top = next(i for i, line in enumerate(start.lines()) if 'COMMAND' in line)
    for y in (top, top + 2, top + 5):
        before, after = start.lines()[y], moved.lines()[y]
        assert after[:43] == before[:43]
        kept = before[43 + scroll_x : 74]
        assert after[43 : 43 + len(kept)] == f'..{kept[2:]}'


def test_device_of_the_selected_process_is_bold() -> None:
    sample = SAMPLES['h100x8']
    buffer, arranged = draw(
        sample, 100, 60, MainState(selected=key('h100x8', 4)), ViewState(mode='compact')
    )
    for row in arranged.layout.devices.rows:
        styles = {style for _, text, style in buffer.row(row.y) if text.strip(' │N/A')}
        assert {(style.bold, style.dim) for style in styles} == {(row.device == 4, row.device != 4)}


def test_only_the_selected_mig_device_and_its_gpu_are_bold() -> None:
    state = MainState(selected=key('mig', 1))
    buffer, arranged = draw(SAMPLES['mig'], 130, 60, state, ViewState(mode='compact'))
    bold = [
        any(style.bold for _, _, style in buffer.row(row.y)) for row in arranged.layout.devices.rows
    ]
    assert bold == [True, False, True, False, False]


def test_selected_and_tagged_rows_are_filled_to_the_border() -> None:
    selected = key('h100x8', 1)
    state = MainState(selected=selected, tagged=frozenset({key('h100x8', 2)}))
    buffer, arranged = draw(SAMPLES['h100x8'], 100, 80, state, ViewState())
    roles = []
    for row in arranged.layout.processes.rows:
        for x, text, style in buffer.row(row.y):
            if style.role in (Role.SELECTED, Role.TAGGED):
                assert (x, cell_width(text)) == (1, 98)
                roles.append(style.role)
    assert roles == [Role.SELECTED, Role.TAGGED]


def test_other_rows_of_the_selected_process_are_marked() -> None:
    sample = SAMPLES['one']
    device = sample.devices[0]
    twin = device._replace(key=device.key._replace(physical_index=1))
    (process,) = sample.processes
    other = process._replace(key=process.key._replace(device=twin.key))
    stranger = other._replace(key=other.key._replace(start_time=1.0))
    sample = sample._replace(devices=(device, twin), processes=(process, other, stranger))
    buffer, arranged = draw(sample, 80, 60, MainState(selected=process.key), ViewState())
    marks = [buffer.lines()[row.y][5] for row in arranged.layout.processes.rows]
    assert marks == [' ', '=', ' ']


SCENARIOS = st.sampled_from(sorted(SAMPLES))


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(SCENARIOS, st.integers(0, 1 << 32)),
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
    state = MainState(
        Sort(order, flag),
        selected=selected,
        tagged=frozenset(keys[1:2]),
        scroll_y=scroll_y,
        scroll_x=scroll_x,
    )
    view = ViewState(mode=mode, colorful=flag, show_host=not flag or height % 2 == 0)
    history = history_of(sample, 5)
    buffer, arranged = draw(sample, width, height, state, view, history=history)
    for line in buffer.lines():
        assert cell_width(line) <= width
        assert safe(line) == line
    if not arranged.layout.is_too_small:
        box = arranged.layout.processes.area
        # The header may cover a row.
        for row in (row for row in arranged.layout.processes.rows if row.y):
            spans = buffer.row(row.y)
            assert spans[0][:2] == (0, '│')
            assert spans[-1][:2] == (box.width - 1, '│')
