"""The main screen: how its panels share the rows, what stays in its place, and properties of any main screen."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.gui.model.choices import MainState, ViewState
from nvitop.gui.model.device_rows import device_rows
from nvitop.gui.model.main_rows import main_rows
from nvitop.gui.state.app_state import AppState, ListPosition
from nvitop.gui.state.lists import panel_rows, relist
from nvitop.gui.state.process_rows import job_key
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.types import Sample
from tests.gui.drawing import lines_of, state_on
from tests.gui.driving import arrived, pressed
from tests.gui.samples import SAMPLES, gpu, history_of, machine

COMPACT = ViewState(mode='compact')


def state_with(
    sample: Sample, width: int, height: int, main: MainState, view: ViewState = COMPACT
) -> AppState:
    return relist(state_on(sample, width, height, view=view)._replace(main=main))


@pytest.mark.parametrize('count', [1, 2, 8, 16, 40])
def test_processes_have_a_third_of_the_screen_and_free_gpus_are_seen_at_every_height(
    count: int,
) -> None:
    busy = [gpu(i, 'A', gpu_utilization_percent=90) for i in range(count)]
    devices = (*busy[: count // 2], *(gpu(i, 'A') for i in range(count // 2, count)))
    sample = machine(*devices)
    rows = device_rows(sample)
    for height in range(9, 90):
        panel = main_rows(rows, ViewState(), 100, height)
        assert panel.devices + panel.host + panel.processes == height - 1
        assert panel.processes >= height // 3
        state = state_on(sample, 100, height)
        lines = lines_of(state)
        assert any('free' in line for line in lines[2 : 1 + panel.devices])
        assert 'free' in lines[0]


@given(
    st.sampled_from(['h100x8', 'one', 'processes200', 'mig', 'workstation', 'lost']),
    st.tuples(st.integers(40, 260), st.integers(8, 80)),
    st.lists(
        st.sampled_from(['\\ b Enter', '\\ ~', '0', '1', 'Down', '/ a', 'Esc', 'job', 'z']),
        max_size=6,
    ),
)
@settings(max_examples=60)
def test_panels_stay_while_a_user_filters_or_selects_and_while_jobs_start_and_end(
    name: str, size: tuple[int, int], steps: list[str]
) -> None:
    sample = SAMPLES[name]
    state = state_on(sample, *size, view=ViewState())
    before = panel_rows(state)
    for number, step in enumerate(steps):
        if step == 'job':
            processes = sample.processes if number % 2 else sample.processes[:-1]
            state = arrived(state, sample._replace(processes=processes))
        else:
            state = pressed(state, *step.split())
        assert panel_rows(state)[:3] == before[:3]


def test_other_rows_of_the_selected_process_are_marked() -> None:
    sample = SAMPLES['one']
    device = sample.devices[0]
    twin = device._replace(key=device.key._replace(physical_index=1))
    (process,) = sample.processes
    other = process._replace(key=process.key._replace(device=twin.key))
    stranger = other._replace(key=other.key._replace(start_time=1.0))
    sample = sample._replace(devices=(device, twin), processes=(process, other, stranger))
    state = state_with(sample, 80, 60, MainState()).at(ListPosition(process.key))
    rows = [line[1] for line in lines_of(state) if str(process.key.pid) in line]
    assert rows == [' ', '=', ' ']


@pytest.mark.parametrize(('width', 'height'), [(80, 24), (120, 40), (180, 60)])
def test_no_heading_moves_in_a_minute_in_which_jobs_start_and_end(width: int, height: int) -> None:
    """The first sample has all jobs; later ones have some of them, with other values."""
    sample = SAMPLES['h100x8']
    state = state_on('h100x8', width, height, view=ViewState())
    random = Random(1)
    seen = set()
    for second in range(60):
        ended = {job_key(each) for each in sample.processes if random.random() < 0.2}
        few = tuple(each for each in sample.processes if job_key(each) not in ended)
        few = tuple(
            each._replace(
                gpu_memory_bytes=random.randrange(1 << 36),
                cpu_percent=3 * random.random() ** 9 * 1e3,
            )
            for each in few
        )
        devices = tuple(
            each._replace(
                gpu_utilization_percent=random.randrange(101),
                temperature_celsius=random.randrange(30, 90),
                power_usage_mw=random.randrange(70_000, 700_000),
            )
            for each in sample.devices
        )
        moment = sample._replace(processes=few if second else sample.processes, devices=devices)
        state = arrived(state, moment)
        lines = draw_frame(state, history_of(moment, 5)).lines()
        headings = [
            (y, line) for y, line in enumerate(lines) if ' UTIL ' in line or ' COMMAND' in line
        ]
        titles = tuple(y for y, line in enumerate(lines) if line.startswith(('├', '╭', '╰')))
        seen.add((tuple((y, line.rstrip('│ ')) for y, line in headings), titles))
    assert len(seen) == 1, '\n'.join(line for each in seen for _, line in each[0])


def test_low_screen_has_hints_in_place_of_its_border_and_room_for_another_gpu() -> None:
    lines = lines_of(state_on('h100x8', 40, 12, view=ViewState(shows_hints=True)))
    assert all(line.split()[1].startswith(str(gpu)) for gpu, line in enumerate(lines[3:7]))
    assert lines[7].split()[1:3] == ['7', 'free']
    assert lines[-1].split()[1] == 'Help'


def test_host_without_values_says_so() -> None:
    sample = SAMPLES['h100x8']
    nothing = sample.host._replace(cpu_percent=None, memory_used_bytes=None)
    text = '\n'.join(lines_of(state_on(sample._replace(host=nothing), 120, 60)))
    assert 'CPU and memory of this host are not reported' in text
    assert 'not reported' not in '\n'.join(lines_of(state_on(sample, 120, 60)))


@pytest.mark.parametrize(
    ('height', 'host', 'lines'), [(30, 1, 1), (40, 1, 2), (60, 3, 4), (80, 3, 6)]
)
def test_host_has_histories_if_everything_else_has_room(height: int, host: int, lines: int) -> None:
    panel = panel_rows(state_on('h100x8', 120, height, view=ViewState()))
    assert (panel.host, panel.lines) == (host, lines)
