"""The host panel: bars and graphs."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.layout.host import lay_out_host
from nvitop.gui.model.choices import GraphState, ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role
from nvitop.gui.state.appearance import set_theme
from nvitop.gui.state.lists import main_layout
from nvitop.gui.view.charts import GraphWindow
from nvitop.gui.view.frame import draw_frame
from nvitop.gui.view.panels.host import (
    DeviceGraphs,
    draw_host_panel,
    select_graphs,
)
from nvitop.sampling.history import History
from nvitop.sampling.types import Sample
from tests.gui.drawing import lines_of
from tests.gui.driving import demand_of, state_of
from tests.gui.samples import SAMPLES


def panel(
    sample: Sample,
    width: int,
    height: int,
    history: History | None = None,
    graphs: DeviceGraphs | None = None,
) -> list[str]:
    layout = lay_out_host(0, width, height)
    buffer = Buffer(width, height)
    if graphs is None:
        graphs = select_graphs(sample.devices, GraphState(), None)
    draw_host_panel(buffer, layout, sample, ViewState(), (), graphs, history=history)
    return buffer.lines()


def recorded(sample: Sample, seconds: int = 100) -> History:
    """Return a history in which the sample never changed."""
    history = History()
    for i in range(seconds):
        history.record(sample._replace(monotonic=1000.0 - seconds + i))
    return history


def column_of(lines: list[str], x: int) -> str:
    return ''.join(line[x] for line in lines)


@pytest.mark.parametrize('minutes', [0, 1, 2, 5, 10, 15, 20, 30, 60])
def test_all_times_of_an_axis_have_one_unit(minutes: int) -> None:
    for width in (20, 40, 77, 161, 400):
        seconds = 60 * minutes or 2 * width
        for column, text in GraphWindow(History(), minutes).ticks(width):
            # Minutes and seconds are not mixed.
            mark = re.fullmatch('╴(\\d+)m┬' if minutes >= 5 else '╴(\\d+)s┬', text)
            assert mark is not None
            age = int(mark[1]) * (60 if minutes >= 5 else 1)
            assert abs(age - seconds / width * (width - column - len(text))) <= seconds / width


def test_metrics_that_mig_devices_lack_are_those_of_their_gpu() -> None:
    sample = SAMPLES['mig']
    devices = tuple(
        device._replace(power_usage_mw=None if device.key.is_mig else 100_000 * (1 + i))
        for i, device in enumerate(sample.devices)
    )
    sample = sample._replace(devices=devices, processes=())
    state = GraphState('power_usage', 'memory_percent')
    history = recorded(sample)
    lines = panel(sample, 130, 12, history, select_graphs(devices, state, None))
    assert ' AVG PWR 300 W · lowest 100 W, highest 500 W ' in lines[0]
    chosen = select_graphs(devices, state, devices[2].key)
    lines = panel(sample, 130, 12, history, chosen)
    assert ' GPU 0 PWR 100 W ' in lines[0]
    # A quarter of the power limit of the GPU.
    assert column_of(lines[1:6], 128) == '⠉ ⠒⣀⣿'
    assert ' GPU 0:1 MEM 26% ' in lines[6]
    # If the GPU has no value either, the label is that of the MIG device.
    loads = chosen._replace(state=GraphState('gpu_utilization', 'memory_percent'))
    assert ' GPU 0:1 UTIL N/A ' in panel(sample, 130, 12, history, loads)[0]
    alone = select_graphs(devices[1:3], state, devices[2].key)
    assert ' GPU 0:1 PWR N/A ' in panel(sample, 130, 12, history, alone)[0]


def test_straggler_is_visible_in_the_mean_of_all_gpus() -> None:
    sample = SAMPLES['h100x8']
    devices = tuple(
        device._replace(gpu_utilization_percent=100 if i else 20)
        for i, device in enumerate(sample.devices)
    )
    sample = sample._replace(devices=devices)
    lines = panel(sample, 130, 12, recorded(sample))
    assert ' AVG UTIL 90% · lowest 20%, highest 100% ' in lines[6]
    # The highest value is a line above the mean.
    assert column_of(lines[7:12], 128) == '⣭⣿⣿⣿⣿'
    devices = tuple(
        device._replace(gpu_utilization_percent=20 if i else 80)
        for i, device in enumerate(sample.devices)
    )
    lines = panel(
        sample._replace(devices=devices), 130, 12, recorded(sample._replace(devices=devices))
    )
    # Empty between the thin line and the mean, except for the guide in the middle.
    assert column_of(lines[7:12], 128) == '⠉⠉⠒⣤⣿'


def test_units_of_a_title_scale() -> None:
    sample = SAMPLES['h100x8']
    devices = tuple(
        d._replace(nvlink_total_tx_throughput_kib_per_s=54 << 20) for d in sample.devices
    )
    here = sample._replace(devices=devices)
    graphs = select_graphs(devices, GraphState(lower='nvlink_total_tx_throughput'), None)
    lines = panel(here, 130, 12, recorded(here), graphs)
    assert ' AVG NVLink TX 54.0 GiB/s ' in lines[6]
    assert lines[7].split('│')[2].startswith('60.0 GiB/s ')


@pytest.mark.parametrize(
    ('metric', 'text'),
    [
        ('power_usage', 'GPU PWR 350 W'),
        ('temperature', 'GPU TEMP 62°C'),
        ('sm_clock', 'GPU SM CLOCK 990 MHz'),
    ],
)
def test_other_metrics_have_their_units_and_their_own_top(metric: str, text: str) -> None:
    sample = SAMPLES['h100x8']
    device = sample.devices[0]._replace(
        power_usage_mw=350_000, temperature_celsius=62, sm_clock_mhz=990
    )
    sample = sample._replace(devices=(device,), processes=())
    history = recorded(sample, 200)
    state = GraphState(metric, metric)
    layout = lay_out_host(0, 130, 12)
    buffer = Buffer(130, 12)
    graphs = select_graphs(sample.devices, state, None)
    draw_host_panel(buffer, layout, sample, ViewState(), (), graphs, history=history)
    lines = buffer.lines()
    assert f' {text} ' in lines[0]
    # Half of the power limit and of the highest clock; 62 of 100 degrees.
    assert column_of(lines[1:6], 128) == ('⠉⣀⣿⣿⣿' if metric == 'temperature' else '⠉ ⣤⣿⣿')
    assert {style.role for _, t, style in buffer.row(0) if text in t} == {Role.TITLE}


def test_graphs_move_every_two_seconds() -> None:
    sample, history = SAMPLES['h100x8'], History()
    drawings = []
    for second in range(6):
        host = sample.host._replace(cpu_percent=10.0 * second)
        history.record(sample._replace(host=host, monotonic=1000.0 + second))
        drawings.append(panel(sample, 120, 12, history))
    assert drawings[0] == drawings[1] != drawings[2] == drawings[3] != drawings[4] == drawings[5]


@pytest.mark.parametrize(('count', 'bars'), [(4, '███ '), (32, '██ '), (90, '█'), (300, '█')])
def test_each_core_has_a_bar_next_to_the_graphs_of_few_gpus(count: int, bars: str) -> None:
    sample = SAMPLES['one']
    busy = sample._replace(host=sample.host._replace(cpu_core_percents=(100.0,) * count))
    lines = lines_of(state_of(busy, 120, 40))
    (line,) = [line for line in lines if ' CORES ' in line]
    cells = line.split(' CORES ')[1].rstrip(' │')
    # Neighbors share a bar if there are more cores than cells.
    assert cells.replace('▇', '█') == (bars * (count if count < 300 else 100)).rstrip()
    assert [y for y, text in enumerate(lines) if 'Processes' in text] == [
        y for y, text in enumerate(lines_of(state_of(sample, 120, 40))) if 'Processes' in text
    ]
    assert demand_of(state_of(sample, 120, 40)).cpu_cores
    for other in (state_of(busy, 80, 24), state_of(SAMPLES['h100x8'], 180, 60)):
        assert ' CORES ' not in '\n'.join(lines_of(other))
        assert not demand_of(other).cpu_cores


def test_bars_of_the_host_have_at_most_24_cells_below_tiles() -> None:
    for width, height in ((180, 60), (240, 70)):
        line = next(x for x in lines_of(state_of(SAMPLES['h100x8'], width, height)) if 'SWP ' in x)
        bars = re.findall('[■·]+', line)
        assert len(bars) == 3
        assert max(map(len, bars)) <= 24


@pytest.mark.parametrize(('colors', 'has_line'), [(0, False), (8, True), (256, True)])
def test_tiles_name_what_they_plot_and_have_a_line_if_it_is_visible(
    colors: int, has_line: bool
) -> None:
    state = set_theme(state_of(SAMPLES['h100x8'], 160, 45)._replace(colors=colors), 'dark')
    frame = draw_frame(state, recorded(state.sample))
    tiles = main_layout(state).host.tiles
    assert len(tiles) == 8
    first = tiles[0]
    spans = [span for span in frame.row(first.y) if span[0] < first.right]
    names = {text.split()[0]: style.role for _, text, style in spans if text.strip(' │')}
    assert names['MEM'] == Role.MEMORY != names['UTIL']
    graphs = {y for tile in tiles for y in range(tile.y + 1, tile.bottom)}
    drawn = {style.role for y in graphs for *_, style in frame.row(y)}
    assert (Role.MEMORY in drawn) == has_line
