"""The host panel: boxes and graphs."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.layout.host import lay_out_host
from nvitop.gui.model.choices import GraphState, ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role
from nvitop.gui.view.panels.host import draw_host_panel, host_uprights
from nvitop.gui.view.panels.host_graphs import DeviceGraphs, select_graphs
from nvitop.gui.view.widgets.graph_window import GraphWindow
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceKey, Sample
from tests.gui.samples import SAMPLES


def panel(
    sample: Sample,
    width: int,
    height: int,
    history: History | None = None,
    graphs: DeviceGraphs | None = None,
) -> list[str]:
    layout = lay_out_host(
        0, width, height=height, box=79 if sample.devices and width >= 100 else width
    )
    buffer = Buffer(width, height)
    if graphs is None:
        graphs = select_graphs(sample.devices, GraphState(), None)
    draw_host_panel(buffer, layout, sample, ViewState(), history=history, graphs=graphs)
    return buffer.lines()


@pytest.mark.parametrize(
    ('width', 'lines'),
    [
        (40, ['[ CPU: █▎ 12.5%       ]  ( LOAD:  8.21 )', '[ MEM: █▋ 16.2%       ]  [ SWP: ▏ 6.2% ]']),
        (
            59,
            [
                '[ CPU: █▎ 12.5%        UPTIME: 12.1 days ]  ( LOAD:  8.21 )',
                '[ MEM: ██▏ 16.2%          USED: 331.0GiB ]  [ SWP: ▏ 6.2% ]',
            ],
        ),
        (
            60,
            [
                '[ CPU: █▎ 12.5%       ]  ( Load Average:  8.21  7.65  9.02 )',
                '[ MEM: █▋ 16.2%       ]  [ SWP: █▍ 6.2%                    ]',
            ],
        ),
        (
            79,
            [
                '[ CPU: █▎ 12.5%        UPTIME: 12.1 days ]  ( Load Average:  8.21  7.65  9.02 )',
                '[ MEM: ██▏ 16.2%          USED: 331.0GiB ]  [ SWP: █▍ 6.2%                    ]',
            ],
        ),
    ],
)  # fmt: skip
def test_boxes_have_the_texts_that_fit(width: int, lines: list[str]) -> None:
    assert panel(SAMPLES['one'], width, 2) == lines


@pytest.mark.parametrize('percent', [0.0, 50.0, 99.9, 100.0])
def test_text_right_of_a_bar_does_not_move(percent: float) -> None:
    sample = SAMPLES['one']
    host = sample.host._replace(cpu_percent=percent, memory_percent=percent)
    before = panel(sample, 79, 2)
    after = panel(sample._replace(host=host), 79, 2)
    assert [line.index('UP') for line in (before[0], after[0])] == [23, 23]
    assert [line.index('USED') for line in (before[1], after[1])] == [26, 26]


def test_unknown_values_are_not_available() -> None:
    lines = panel(SAMPLES['missing'], 79, 2)
    assert lines[0].endswith('UPTIME: N/A ]  ( Load Average:   N/A   N/A   N/A )')
    assert '░ N/A' in lines[1]
    lines = panel(SAMPLES['missing'], 79, 12)
    assert 'CPU: N/A' in lines[1]
    assert 'MEM: N/A (N/A)' in lines[9]


@pytest.mark.parametrize('width', [40, 79, 160])
def test_bars_of_unknown_values_have_the_unknown_role(width: int) -> None:
    buffer = Buffer(width, 2)
    layout = lay_out_host(0, width, height=2, box=width)
    draw_host_panel(buffer, layout, SAMPLES['missing'], ViewState())
    bars = [(text, style) for y in (0, 1) for _, text, style in buffer.row(y) if '░' in text]
    assert [text[:4] for text, _ in bars] == ['CPU:', 'MEM:', 'SWP:']
    assert {style.role for _, style in bars} == {Role.UNKNOWN}


def test_hidden_panel_is_not_drawn() -> None:
    layout = lay_out_host(5, 80, height=0, box=80)
    buffer = Buffer(80, 10)
    draw_host_panel(buffer, layout, SAMPLES['one'], ViewState())
    assert buffer.lines() == [''] * 10
    assert host_uprights(layout) == ()


def recorded(sample: Sample, seconds: int = 100) -> History:
    """Return a history in which the sample never changed."""
    history = History()
    for i in range(seconds):
        history.record(sample._replace(monotonic=1000.0 - seconds + i))
    return history


def flat(sample: Sample, percent: float) -> History:
    """Return a history in which all values were this percentage."""
    devices = tuple(
        device._replace(memory_percent=percent, gpu_utilization_percent=round(percent))
        for device in sample.devices
    )
    host = sample.host._replace(cpu_percent=percent, memory_percent=percent, swap_percent=percent)
    return recorded(sample._replace(devices=devices, host=host), 400)


def test_graphs_are_as_high_as_the_percentage() -> None:
    sample = SAMPLES['h100x8']
    lines = panel(sample, 100, 12, flat(sample, 50.0))
    # The last columns of the left and of the right graphs, away from the texts.
    assert [line[70] for line in lines[:5]] == [' ', ' ', '⣤', '⣿', '⣿']
    assert [line[70] for line in lines[6:11]] == ['⣿', '⣿', ' ', ' ', '⣤']
    assert [line[98] for line in lines[:5]] == [' ', ' ', '⣤', '⣿', '⣿']
    assert [line[98] for line in lines[6:11]] == ['⣿', '⣿', '⠛', ' ', ' ']


def test_full_graph_leaves_room_for_the_values() -> None:
    sample = SAMPLES['h100x8']
    lines = panel(sample, 130, 12, flat(sample, 100.0))
    assert lines[0].startswith('│ Load Average:  8.21  7.65  9.02 ⣿')
    assert lines[1].startswith('│ CPU: 12.5% ⣿')
    assert '│ AVG GPU MEM: 53.9% ⣿' in lines[0]
    assert '│ AVG GPU UTL: 61.5% ⣿' in lines[10]


def test_time_axis_has_marks() -> None:
    sample = SAMPLES['one']
    line = panel(sample, 160, 12)[5]
    left, right = line[1:78], line[79:159]
    for text in (left, right):
        for seconds in (30, 60, 120):
            # Two samples, one a second each, in a cell.
            assert text[len(text) - 1 - seconds // 2] == '├'
    graphs = DeviceGraphs((), state=GraphState(minutes=60))
    lines = panel(sample, 160, 12, graphs=graphs)
    assert '╴30m├' in lines[5]
    assert '30s' not in lines[5]
    # The length of the graph is shown on its axis only, not next to current values.
    assert [line.count(' min') for line in lines] == [2 if y == 5 else 0 for y in range(12)]


@pytest.mark.parametrize('minutes', [0, 1, 2, 5, 10, 15, 20, 30, 60])
def test_all_times_of_an_axis_have_one_unit(minutes: int) -> None:
    for width in (20, 40, 77, 161, 400):
        axis = GraphWindow(History(), minutes).axis(width)
        end = re.match(r'(\d+)( min|s) ago╶', axis)
        assert end is not None
        seconds = 60 * minutes or 2 * width
        assert int(end[1]) * (60 if end[2] == ' min' else 1) == seconds
        marks = list(re.finditer(r'╴(\d+)(s|m)├', axis))
        # Minutes and seconds are not mixed.
        assert {mark[2] for mark in marks} <= {'m' if minutes >= 5 else 's'}
        for mark in marks:
            age = int(mark[1]) * (60 if minutes >= 5 else 1)
            assert abs(age - seconds / width * (width - mark.end())) <= seconds / width


def test_graphs_plot_the_mean_of_gpus_or_the_selected_device() -> None:
    state = GraphState()
    devices = SAMPLES['mig'].devices
    mean = select_graphs(devices, state, None)
    assert [key.label for key in mean.keys] == ['0', '1']
    assert mean.prefix == 'AVG GPU'
    chosen = select_graphs(devices, state, devices[2].key)
    assert (chosen.keys, chosen.prefix) == ((devices[2].key,), 'GPU 0:1')
    gone = select_graphs(devices, state, DeviceKey(9))
    assert gone == mean
    alone = select_graphs(devices[4:], state, devices[4].key)
    assert (alone.keys, alone.prefix) == ((devices[4].key,), 'GPU')
    # MIG devices whose GPU is not shown, as with --only 0:0 0:1.
    parts = select_graphs(devices[1:3], state, None)
    assert (parts.keys, parts.prefix) == ((devices[1].key, devices[2].key), 'AVG GPU')


def test_empty_mig_device_does_not_change_the_mean() -> None:
    sample = SAMPLES['mig']
    gpu, first, second, _empty, other = sample.devices
    known = [device.memory_percent or 0.0 for device in (gpu, other)]
    for devices in ((gpu, first, second, other), sample.devices):
        here = sample._replace(devices=devices, processes=())
        assert f' AVG GPU MEM: {sum(known) / 2:.1f}% ' in panel(here, 130, 12, History())[0]


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
    assert ' AVG GPU PWR: 300W ' in lines[0]
    chosen = select_graphs(devices, state, devices[2].key)
    lines = panel(sample, 130, 12, history, chosen)
    assert ' GPU 0 PWR: 100W ' in lines[0]
    # A quarter of the power limit of the GPU.
    assert [line[128] for line in lines[:5]] == [' ', ' ', ' ', '⣀', '⣿']
    assert ' GPU 0:1 MEM: 25.7% ' in lines[10]
    # If the GPU has no value either, the label is that of the MIG device.
    loads = chosen._replace(state=GraphState('gpu_utilization', 'memory_percent'))
    assert ' GPU 0:1 UTL: N/A ' in panel(sample, 130, 12, history, loads)[0]
    alone = select_graphs(devices[1:3], state, devices[2].key)
    assert ' GPU 0:1 PWR: N/A ' in panel(sample, 130, 12, history, alone)[0]


def test_mean_is_that_of_devices_with_a_value() -> None:
    sample = SAMPLES['h100x8']
    devices = tuple(
        device._replace(gpu_utilization_percent=None if i else 60, memory_percent=10.0 * i)
        for i, device in enumerate(sample.devices)
    )
    sample = sample._replace(devices=devices, processes=())
    history = recorded(sample)
    lines = panel(sample, 130, 12, history)
    assert [line[128] for line in lines[:5]] == [' ', ' ', ' ', '⣶', '⣿']
    assert [line[128] for line in lines[6:11]] == ['⣿', '⣿', '⣿', ' ', ' ']
    assert ' AVG GPU MEM: 35.0% ' in lines[0]
    assert ' AVG of 1/8 GPUs UTL: 60.0% ' in lines[10]
    assert '│ AVG 1/8 UTL: 60.0% │' in panel(sample, 100, 12, history)[10]
    unknown = tuple(device._replace(gpu_utilization_percent=None) for device in devices)
    lines = panel(sample._replace(devices=unknown), 130, 12, History())
    assert ' AVG GPU UTL: N/A ' in lines[10]


def test_title_is_shortened_before_its_value() -> None:
    sample = SAMPLES['h100x8']
    clocks = [device._replace(memory_clock_mhz=12345) for device in sample.devices]
    state = GraphState('memory_clock', 'memory_clock')
    for devices in (clocks, [clocks[0]._replace(memory_clock_mhz=None), *clocks[1:]]):
        here = sample._replace(devices=tuple(devices), processes=())
        graphs = select_graphs(here.devices, state, None)
        assert '│MEM CLOCK: 12345MHz │' in panel(here, 100, 12, History(), graphs)[0]
        wide = panel(here, 130, 12, History(), graphs)[0]
        whose = 'AVG GPU' if devices is clocks else 'AVG of 7/8 GPUs'
        assert f' {whose} MEM CLOCK: 12345MHz ' in wide


@pytest.mark.parametrize(
    ('metric', 'text'),
    [
        ('power_usage', 'GPU PWR: 350W'),
        ('temperature', 'GPU TEMP: 62C'),
        ('sm_clock', 'GPU SM CLOCK: 990MHz'),
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
    layout = lay_out_host(0, 130, height=12, box=79)
    buffer = Buffer(130, 12)
    graphs = select_graphs(sample.devices, state, None)
    draw_host_panel(buffer, layout, sample, ViewState(), history=history, graphs=graphs)
    lines = buffer.lines()
    assert f' {text} ' in lines[0]
    # Half of the power limit and of the highest clock; 62 of 100 degrees.
    assert [line[128] for line in lines[:5]] == (
        [' ', '⣀', '⣿', '⣿', '⣿'] if metric == 'temperature' else [' ', ' ', '⣤', '⣿', '⣿']
    )
    assert {style.role for _, t, style in buffer.row(0) if text in t} == {Role.TEXT}


def test_graph_without_a_fixed_top_shows_its_highest_value() -> None:
    sample = SAMPLES['h100x8']
    history = History()
    for i, mib in enumerate((500, 100, 20)):
        device = sample.devices[0]._replace(pcie_tx_throughput_kib_per_s=1024 * mib)
        sample = sample._replace(devices=(device,), processes=(), monotonic=100.0 + i)
        history.record(sample)
    state = GraphState('pcie_tx_throughput', 'power_usage')
    graphs = select_graphs(sample.devices, state, None)
    lines = panel(sample, 130, 12, history, graphs)
    assert ' GPU PCIE TX: 20MiB/s  max: 500MiB/s ' in lines[0]
    assert 'max' not in lines[10]
    assert ' GPU PCIE TX: 20MiB/s  ' in panel(sample, 110, 12, history, graphs)[0]
    # The title is left out before the value.
    assert '│ PCIE TX: 20MiB/s ' in panel(sample, 100, 12, history, graphs)[0]


def test_time_without_measurements_is_a_gap() -> None:
    history = History()
    sample = SAMPLES['one']
    for second in range(40):
        rate = 4000 if not 16 <= second < 26 else None  # another screen was shown
        device = sample.devices[0]._replace(pcie_tx_throughput_kib_per_s=rate)
        sample = sample._replace(devices=(device,), monotonic=1000.0 + second)
        history.record(sample)
    graphs = select_graphs(sample.devices, GraphState(lower='pcie_tx_throughput'), None)
    first = panel(sample, 120, 12, history, graphs)[6]
    assert first[79:119].strip() == f'{"⣿" * 8}{"░" * 5}{"⣿" * 7}'
