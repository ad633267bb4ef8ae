"""Selecting a GPU, and going from users and problems to their processes."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.model.choices import DETAILS, Screen
from nvitop.gui.model.device_columns import FACT_METRICS
from nvitop.gui.state.events import MouseScrolled, Quit
from nvitop.gui.state.lists import process_lines
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceSample, Problem
from tests.gui.drawing import click_hit, state_on, text_of
from tests.gui.driving import after, arrived, demand_of, press, pressed, state_of
from tests.gui.samples import SAMPLES

EIGHT = SAMPLES['h100x8']


def test_enter_on_a_problem_selects_its_gpu() -> None:
    lost = next(d.key for d in SAMPLES['lost'].devices if d.status != 'ok')
    state = pressed(state_of(SAMPLES['lost']), '!', 'Enter')
    assert (state.screen, state.main.selected_device) == (Screen.MAIN, lost)


def test_double_click_shows_graphs_and_right_click_asks_for_a_signal() -> None:
    state = state_of(EIGHT)
    line = process_lines(state)[-1]
    click = click_hit(state, 'process', line.key)
    once, _ = update(state, click)
    assert (once.screen, once.selected) == (Screen.MAIN, line.key)
    assert update(once, click)[0].screen is Screen.METRICS
    later = once._replace(monotonic=once.monotonic + 1)
    assert update(later, click)[0].screen is Screen.MAIN
    own = next(row for row in state.rows if row.is_own)
    assert update(state, click_hit(state, 'process', own.key, button=3))[0].dialog is not None


@pytest.mark.parametrize('keys', ['', '2', 'Down'])
def test_double_click_on_a_gpu_opens_its_page(keys: str) -> None:
    state = pressed(state_of(EIGHT, 120, 40), *keys.split())
    click = click_hit(state, 'device', EIGHT.devices[2].key)
    page = after(state, click, click)
    assert (page.main.shows_page, page.main.selected_device) == (True, EIGHT.devices[2].key)
    # The only row of the page is not another GPU for the next click.
    assert after(page, click_hit(page, 'device', EIGHT.devices[2].key)).main == page.main
    left, effects = press(page, 'q')
    assert (left.main.shows_page, effects) == (False, ())
    assert press(left, 'q')[1] == (Quit(),)


def test_clicks_and_the_wheel_select_gpus() -> None:
    state = state_of(EIGHT, 120, 40)
    click = click_hit(state, 'device', EIGHT.devices[2].key)
    clicked = after(state, click)
    assert clicked.main.selected_device == EIGHT.devices[2].key
    wheel = MouseScrolled(click.x, click.y, dy=1, hit=click.hit)
    assert after(clicked, wheel).main.selected_device == EIGHT.devices[3].key
    again = clicked._replace(monotonic=clicked.monotonic + 1)
    assert after(again, click).main.selected_device is None


def test_page_of_a_gpu_shows_all_its_metrics_and_facts() -> None:
    page = pressed(state_on('h100x8', 140, 50), '3', 'Enter')
    assert [row.device.key for row in page.page_devices] == [EIGHT.devices[3].key]
    assert {*DETAILS, *FACT_METRICS} <= {*demand_of(page).shown_metrics}
    text = text_of(page)
    assert f'UUID         {EIGHT.devices[3].info.uuid}' in text
    assert re.search('PROBLEM +none +│', text)
    for title in ('UTIL', 'MEM', 'POWER', 'TEMP', 'SM CLOCK', 'PCIe RX', 'PCIe TX', 'NVLink TX'):
        assert f'│ {title} ' in text
    devices = list(EIGHT.devices)
    devices[3] = devices[3]._replace(remapped_rows_pending=True)
    wrong = text_of(arrived(page, EIGHT._replace(devices=tuple(devices), sequence=9)))
    assert re.search('PROBLEM +pending row remapping.* is not affected', wrong, re.DOTALL)
    assert '3! busy remapping · ' in wrong
    following = pressed(page, 'Tab')
    assert following.page_devices[0].device.key == EIGHT.devices[4].key
    back = pressed(page, 'Esc')
    assert (back.main.shows_page, back.main.selected_device) == (False, EIGHT.devices[3].key)


def test_arrows_move_among_gpus_while_one_is_selected_and_then_among_its_processes() -> None:
    chosen = pressed(state_on('h100x8', 140, 50), 'Tab', 'Down', 'Down', 'Up')
    assert (chosen.main.selected_device, chosen.selected) == (EIGHT.devices[1].key, None)
    assert pressed(chosen, 'Up', 'Up').main.selected_device == EIGHT.devices[0].key
    page = pressed(chosen, 'Enter')
    assert page.main.shows_page
    process = pressed(page, 'Down')
    assert process.selected is not None
    assert process.selected.device == EIGHT.devices[1].key
    assert pressed(chosen, 'Esc', 'Down').main.selected_device is None


@pytest.mark.parametrize('count', [1, 3])
def test_page_ends_when_its_gpu_vanishes(count: int) -> None:
    state = pressed(state_of(EIGHT), '7', 'Enter')
    left = EIGHT._replace(devices=EIGHT.devices[:count], sequence=EIGHT.sequence + 1)
    state = arrived(state, left)
    assert not state.main.shows_page
    assert len(state.page_devices) == count
    _, effects = press(state, 'q')
    assert any(isinstance(effect, Quit) for effect in effects)


def test_the_only_gpu_says_that_it_is_asleep_and_how_to_wake_it() -> None:
    first = EIGHT.devices[0]
    asleep = DeviceSample(first.key, first.info, 'asleep', 'asleep (D3cold); press r to wake it')
    state = state_of(EIGHT._replace(devices=(asleep,), processes=()), 100, 30)
    lines = draw_frame(state, History()).lines()
    assert lines[2][2:].startswith(
        'GPU 0 is asleep (D3cold) and draws no power. Press r to wake it'
    )


def test_a_sleeping_gpu_is_neither_wrong_nor_part_of_totals() -> None:
    third = EIGHT.devices[2]
    asleep = DeviceSample(third.key, third.info, 'asleep', 'asleep (D3cold) for 5 min')
    problem = Problem(third.key, 'status', 'asleep; reading its values would wake it')
    devices = (*EIGHT.devices[:2], asleep, *EIGHT.devices[3:])
    rows = tuple(row for row in EIGHT.processes if row.key.device != third.key)
    sample = EIGHT._replace(devices=devices, processes=rows, problems=(problem,))
    for size in ((120, 40), (80, 24), (180, 60)):
        buffer = draw_frame(state_of(sample, *size), History())
        text = '\n'.join(buffer.lines())
        assert re.search('2  +asleep +.D3cold. for 5 min', text)
        assert '2!' not in text
        assert 'unreadable' not in text
    assert '1 asleep: GPU 2' in text
    busy = [gpu.gpu_utilization_percent for gpu in devices if gpu.status == 'ok']
    assert f'{sum(filter(None, busy)) / 7:.0f}% util' in text


def test_escape_leaves_a_machine_of_a_fleet_when_nothing_is_left_to_clear() -> None:
    state = pressed(state_of(EIGHT, 120, 40), 'Down')
    assert press(state, 'Esc', 'Esc')[1] == ()
    chosen = state._replace(origin=state.origin._replace(is_chosen=True))
    assert press(chosen, 'Esc')[1] == ()
    assert press(chosen, 'Esc', 'Esc')[1] == (Quit(),)
