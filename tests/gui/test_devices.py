"""Selecting a GPU, and going from users and problems to their processes."""

from __future__ import annotations

import re

import pytest

from nvitop.basics.units import GiB
from nvitop.gui.model.choices import DETAILS, Screen, ViewState
from nvitop.gui.model.device_columns import FACT_METRICS
from nvitop.gui.render.style import Role
from nvitop.gui.state.events import MousePressed, MouseScrolled, Quit
from nvitop.gui.state.lists import main_layout
from nvitop.gui.state.process_rows import parse_query
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceKey, DeviceSample, Problem
from tests.gui.drawing import lines_of, state_on
from tests.gui.driving import after, demand_of, press, pressed, state_of, texts
from tests.gui.samples import SAMPLES, process, with_details

EIGHT = SAMPLES['h100x8']


def devices_of(keys: str) -> set[DeviceKey]:
    return {row.key.device for row in pressed(state_of(EIGHT), *keys.split()).rows}


def test_digits_select_a_gpu_and_its_processes() -> None:
    key = EIGHT.processes[0].key.device
    index = str(key.physical_index)
    assert devices_of(index) == {key}
    assert len(devices_of(f'{index} {index}')) > 1
    assert '[GPU 7]' in lines_of(state_on('h100x8', 120, 30, '7'))[0]
    assert texts(pressed(state_of(EIGHT), '9')) == ['There is no GPU 9']


def test_enter_opens_what_was_selected_last() -> None:
    state = pressed(state_of(EIGHT), 'Down')
    assert state.main.selected is not None
    digit = str(state.main.selected.device.physical_index)
    page = pressed(state, digit, 'Enter')
    assert (page.screen, page.main.shows_page) == (Screen.MAIN, True)
    assert pressed(state, digit, 'Down', 'Enter').screen is Screen.METRICS


def test_esc_deselects_the_gpu_last() -> None:
    state = pressed(state_of(EIGHT), '0', 'Down', '\\', 'p', 'Enter')
    for _ in range(2):
        state = pressed(state, 'Esc')
        assert state.main.selected_device is not None
    assert (state.query, state.main.selected) == ('', None)
    assert pressed(state, 'Esc').main.selected_device is None


def test_enter_on_a_user_shows_their_processes() -> None:
    state = pressed(state_of(EIGHT), '\\', *'user:x', 'Ctrl-U', 'Enter', 'U', 'Enter')
    assert state.screen is Screen.MAIN
    (part,) = parse_query(state.query)
    assert part[0] == 'user'
    assert {row.username for row in state.rows} == {part[1]}


def test_enter_on_a_problem_selects_its_gpu() -> None:
    lost = next(d.key for d in SAMPLES['lost'].devices if d.status != 'ok')
    state = pressed(state_of(SAMPLES['lost']), '!', 'Enter')
    assert (state.screen, state.main.selected_device) == (Screen.MAIN, lost)


def test_double_click_shows_graphs_and_right_click_asks_for_a_signal() -> None:
    state = state_of(EIGHT)
    row = main_layout(state).processes.rows[0]
    click = MousePressed(5, row.y)
    once, _ = update(state, click)
    assert (once.screen, once.main.selected) == (Screen.MAIN, state.rows[row.process].key)
    assert update(once, click)[0].screen is Screen.METRICS
    later = once._replace(monotonic=once.monotonic + 1)
    assert update(later, click)[0].screen is Screen.MAIN
    assert update(state, click._replace(button=3))[0].dialog is not None


def test_clicks_on_details_select_their_gpu() -> None:
    sample = with_details(EIGHT)
    state = pressed(state_of(sample, 120, 60), 'd')
    details = main_layout(state).devices.details
    assert details is not None
    chosen = [
        after(state, MousePressed(5, details.first_y + i)).main.selected_device
        for i in range(len(details.devices) + 1)
    ]
    assert chosen[0] == sample.devices[0].key
    assert chosen[-2:] == [sample.devices[details.devices[-1]].key, None]
    for x in (0, 119):  # the borders
        assert after(state, MousePressed(x, details.first_y)).main.selected_device is None


@pytest.mark.parametrize('keys', ['', '2', 'Down'])
def test_double_click_on_a_gpu_opens_its_page(keys: str) -> None:
    state = pressed(state_of(EIGHT, 120, 40), *keys.split())
    click = MousePressed(5, main_layout(state).devices.rows[2].y)
    page = after(state, click, click)
    assert (page.main.shows_page, page.main.selected_device) == (True, EIGHT.devices[2].key)
    # The only row of the page is not another GPU for the next click.
    assert after(page, click).main == page.main
    left, effects = press(page, 'q')
    assert (left.main.shows_page, effects) == (False, ())
    assert press(left, 'q')[1] == (Quit(),)


def test_clicks_and_the_wheel_select_gpus() -> None:
    state = state_of(EIGHT, 120, 40)
    row = main_layout(state).devices.rows[2]
    clicked, _ = update(state, MousePressed(5, row.y))
    assert clicked.main.selected_device == EIGHT.devices[2].key
    assert update(clicked, MouseScrolled(5, row.y, dy=1))[0].main.selected_device == (
        EIGHT.devices[3].key
    )
    again = clicked._replace(monotonic=clicked.monotonic + 1)
    assert update(again, MousePressed(5, row.y))[0].main.selected_device is None


def test_enter_shows_the_page_of_the_selected_gpu() -> None:
    page = pressed(state_on('h100x8', 120, 40), '3', 'Enter')
    assert [device.key for device in page.page[0].devices] == [EIGHT.devices[3].key]
    assert {*DETAILS, *FACT_METRICS} <= {*demand_of(page).shown_metrics}
    assert len(main_layout(page).devices.rows) == 1
    for size, number in (((120, 40), 15), ((180, 60), 15), ((100, 30), 7), ((40, 12), 0)):
        sized = pressed(state_on('h100x8', *size), '3', 'Enter')
        text = '\n'.join(lines_of(sized))
        assert (f'UUID         {EIGHT.devices[3].info.uuid}' in text) == bool(number)
        facts = main_layout(sized).devices.facts
        assert len(facts.facts if facts else ()) == number
        assert ('PWR' in text) == (size[0] >= 100)
    following = pressed(page, 'Tab')
    assert following.page[0].devices[0].key == EIGHT.devices[4].key
    back = pressed(page, 'Esc')
    assert (back.main.shows_page, back.main.selected_device) == (False, EIGHT.devices[3].key)
    assert '\n'.join(lines_of(page)).count('H100') <= 2


@pytest.mark.parametrize(
    ('size', 'text'),
    [
        ((120, 40), 'remapping. Reset it when convenient (nvidia-smi --gpu-reset -i 5) '),
        (
            (180, 60),
            ': a memory row will be remapped at the next reset. Reset it when convenient (nvidia',
        ),
    ],
)
def test_page_of_a_gpu_begins_with_its_problem(size: tuple[int, int], text: str) -> None:
    fifth = EIGHT.devices[5]._replace(remapped_rows_pending=True)
    devices = (*EIGHT.devices[:5], fifth, *EIGHT.devices[6:])
    state = pressed(state_of(EIGHT._replace(devices=devices), *size), '5', 'Enter')
    buffer = draw_frame(state, History())
    facts = main_layout(state).devices.facts
    assert facts is not None
    line = buffer.lines()[facts.problem.y]
    assert re.match('│ PROBLEM +pending row remapping', line)
    assert text in line
    row = buffer.row(facts.problem.y)
    roles = {style.role for x, _, style in row if x == facts.problem.x + 13}
    assert roles == {Role.WARNING}
    healthy = lines_of(pressed(state, 'Tab'))[facts.problem.y]
    assert re.match('│ PROBLEM +none +│', healthy)


def test_page_of_a_held_gpu_names_who_holds_it() -> None:
    fields = {'username': 'carol', 'running_time_seconds': 9999.0}
    holder = process(EIGHT.devices[0], 1, 'x', gpu_memory_bytes=40 * GiB, **fields)
    holder = holder._replace(gpu_idle_seconds=3600.0)
    user = process(EIGHT.devices[0], 2, 'y', gpu_memory_bytes=GiB, username='dave')
    user = user._replace(gpu_idle_seconds=0.0)
    idle = EIGHT.devices[0]._replace(gpu_utilization_percent=3)
    sample = EIGHT._replace(devices=(idle, *EIGHT.devices[1:]), processes=(holder, user))
    held = 'PROBLEM +carol holds 40.0 GiB without using it for 1h'
    text = '\n'.join(lines_of(pressed(state_of(sample, 120, 40), '0', 'Enter')))
    assert re.search(f'{held}; another process uses the GPU +│', text)
    sample = sample._replace(processes=(holder,))
    text = '\n'.join(lines_of(pressed(state_of(sample, 120, 40), '0', 'Enter')))
    assert re.search(f'{held} +│', text)


@pytest.mark.parametrize(('size', 'hidden'), [((80, 24), 5), ((100, 30), 9), ((60, 20), 9)])
def test_facts_without_room_scroll_before_the_processes(size: tuple[int, int], hidden: int) -> None:
    state = state_on('h100x8', *size, view=ViewState(shows_hints=True))
    page = pressed(state, '3', 'Enter')
    assert f' ▼ {hidden} more ─┤' in '\n'.join(lines_of(page))
    assert 'BOARD' not in '\n'.join(lines_of(page))
    assert 'PageUp PageDown Scroll' in lines_of(page)[-1]
    end = pressed(page, *['PageDown'] * 2)
    text = '\n'.join(lines_of(end))
    assert f' ▲ {hidden} more ─┤' in text
    assert ('BOARD' in text, 'PROBLEM' in text) == (True, True)
    before, after = main_layout(page), main_layout(end)
    assert (before.host, before.processes) == (after.host, after.processes)
    # Processes on the screen are selected where they are.
    assert pressed(page, 'Down').main.scroll_y == 0


def test_graphs_above_each_other_begin_in_the_same_column() -> None:
    lines = lines_of(pressed(state_of(with_details(EIGHT), 120, 40), '3', 'Enter'))

    def start(title: str) -> int:
        y = max(y for y, line in enumerate(lines) if title in line)
        return next(x for x in range(lines[y].index(title), 120) if '⠁' <= lines[y + 1][x] <= '⣿')

    assert start(' PWR ') == start(' PCIe RX ')
    assert start(' TEMP ') == start(' NVLink RX ')


def test_engines_that_are_not_used_leave_their_tile_to_others() -> None:
    device = (
        SAMPLES['one']
        .devices[0]
        ._replace(
            pcie_tx_throughput_kib_per_s=0,
            encoder_utilization_percent=0,
            decoder_utilization_percent=62,
        )
    )
    sample = SAMPLES['one']._replace(devices=(device,))
    history = History()
    history.record(sample)
    text = '\n'.join(lines_of(state_of(sample, 120, 40), history))
    assert ' DEC 62% ' in text
    assert ' ENC ' not in text


def test_the_selected_row_is_filled_and_its_page_has_no_cursor() -> None:
    state = state_on('h100x8', 120, 30, '1')
    buffer = draw_frame(state, History())
    row = next(y for y, line in enumerate(buffer.lines()) if line.startswith('│   1 '))
    styles = {style.role for x, text, style in buffer.row(row) if 0 < x < 119}
    assert styles == {Role.SELECTED}
    page = draw_frame(press(state, 'Enter')[0], History())
    assert not any(style.role is Role.SELECTED for y in range(29) for _, _, style in page.row(y))


def test_a_sleeping_gpu_is_neither_wrong_nor_part_of_totals() -> None:
    third = EIGHT.devices[2]
    asleep = DeviceSample(third.key, third.info, 'asleep', 'asleep (D3cold) for 5 min')
    problem = Problem(third.key, 'status', 'asleep; reading its values would wake it')
    devices = (*EIGHT.devices[:2], asleep, *EIGHT.devices[3:])
    rows = tuple(row for row in EIGHT.processes if row.key.device != third.key)
    sample = EIGHT._replace(devices=devices, processes=rows, problems=(problem,))
    for size, keys in (((120, 40), ''), ((80, 24), ''), ((180, 60), ''), ((160, 50), '3')):
        state = pressed(state_of(sample, *size), *keys)
        buffer = draw_frame(state, History())
        text = '\n'.join(buffer.lines())
        assert 'asleep (D3cold) for 5 min' in text
        assert '  2   H100 80GB HBM3: asleep (D3cold) for 5 min ' in text
        assert '2!' not in text
        assert 'unreadable' not in text
        roles = {
            style.role
            for y in range(size[1])
            for _, piece, style in buffer.row(y)
            if 'asleep (D3cold)' in piece
        }
        assert roles == {Role.DIM}
    text = '\n'.join(lines_of(state_of(sample, 160, 50)))
    assert '1 asleep' in text
    busy = [gpu.gpu_utilization_percent for gpu in devices if gpu.status == 'ok']
    assert f'{sum(filter(None, busy)) / 7:.0f}% util' in text


def test_tiles_show_only_known_metrics_on_axes_that_fit() -> None:
    one = SAMPLES['one']
    device = one.devices[0]._replace(power_limit_mw=None, enforced_power_limit_mw=None)
    device = device._replace(info=device.info._replace(max_power_limit_mw=None))

    def tiles(gpu: DeviceSample) -> tuple[int, str]:
        state = state_of(one._replace(devices=(gpu,)), 120, 40)
        history = History()
        for _ in range(3):
            history.record(state.sample)
        frame = draw_frame(state, history)
        return len(main_layout(state).host.tiles), '\n'.join(frame.lines())

    count, text = tiles(device)
    assert count == 6
    assert '│0 W' not in text
    brief = device._replace(fan_speed_percent=None, sm_clock_mhz=None, memory_clock_mhz=None)
    few = brief._replace(encoder_utilization_percent=None, decoder_utilization_percent=None)
    count, text = tiles(few)
    assert count == 4
    assert 'ENC' not in text


def test_title_of_a_tile_keeps_the_user_before_temperature_and_power() -> None:
    devices = [gpu._replace(remapped_rows_pending=True) for gpu in EIGHT.devices]
    state = state_of(EIGHT._replace(devices=tuple(devices)), 180, 60)
    text = '\n'.join(draw_frame(state, History()).lines())
    # No tile has more parts than another, whatever its user is called.
    assert 'GPU 5! · busy REMAP · carol ──────────' in text
    assert 'GPU 6! · in use REMAP · maximilian ──────' in text
    problem = Problem(EIGHT.devices[5].key, 'temperature', 'Unknown Error', 'error')
    text = '\n'.join(lines_of(state_of(EIGHT._replace(problems=(problem,)), 180, 60)))
    assert 'GPU 5! · busy unreadable · carol ' in text
    assert 'busy unreadable  carol' in text


def test_a_sleeping_gpu_leaves_no_empty_frames_of_graphs() -> None:
    one = SAMPLES['one']
    device = one.devices[0]
    reason = 'asleep (D3cold), 2 h 10 min in total; press r to wake it'
    asleep = DeviceSample(device.key, device.info, 'asleep', reason)
    state = state_of(one._replace(devices=(asleep,), processes=()), 120, 40)
    lines = draw_frame(state, History()).lines()
    host = main_layout(state).host
    assert len(host.tiles) == 8
    assert {line[0] + line[-1] for line in lines[host.area.y : host.area.bottom]} == {'├┤', '││'}
    assert f' {reason} ' in lines[host.tiles[0].y]
    narrow = draw_frame(state_of(one._replace(devices=(asleep,)), 52, 20), History()).lines()
    assert 'asleep (D3cold) ' in narrow[3]
    middle = {line[1:-1] for line in lines[host.area.y : host.area.bottom + 1]}
    assert not any(set('│┬┼┴') & set(line) for line in middle)
    awake = draw_frame(state_of(one, 120, 40), History()).lines()
    assert awake[host.tiles[-1].y - 1].count('┼') == 2
