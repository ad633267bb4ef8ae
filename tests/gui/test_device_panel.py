"""The device panel: texts and styles of its rows."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.gui.layout.device import lay_out_devices, traits_of
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.view.panels.device import DeviceList, draw_device_panel
from nvitop.health import findings, worst_findings
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceSample, Problem, Sample
from tests.gui.samples import GIB, MIB, SAMPLES, gpu, machine, mig, process

_ERROR, _WARNING = Style(Role.ERROR, bold=True), Style(Role.WARNING, bold=True)


def panel(sample: Sample, width: int = 79, form: str = 'rows', **options: Any) -> Buffer:
    keys = [device.key for device in sample.devices]
    layout = lay_out_devices(0, width, keys, form, traits_of(sample.devices))
    buffer = Buffer(width, layout.area.height)
    view = options.pop('view', ViewState())
    history = options.pop('history', None)
    listed = DeviceList(worst_findings(findings(sample)), **options)
    draw_device_panel(buffer, layout, sample, view, listed, history=history)
    return buffer


def rows(device: DeviceSample, form: str = 'rows', width: int = 79) -> list[str]:
    lines = panel(machine(device), width, form).lines()
    return lines[-2:] if form == 'full' else lines[-1:]


def styles_of(buffer: Buffer, text: str) -> set[Style]:
    """Return the styles of all pieces of a panel that contain a text."""
    return {
        style for y in range(buffer.height) for _, drawn, style in buffer.row(y) if text in drawn
    }


def test_columns_without_any_value_give_up_their_place() -> None:
    silent = gpu(0, 'A', fan_speed_percent=None, temperature_celsius=None, power_usage_mw=None)
    heading = panel(machine(silent), 240).lines()[1]
    assert not {'FAN', 'TEMP', 'POWER', 'NAME'} & {*heading.split()}
    assert {'FAN', 'TEMP'} <= {
        *panel(machine(silent, gpu(1, 'A', fan_speed_percent=30)), 240).lines()[1].split()
    }


@pytest.mark.parametrize(
    ('form', 'width'),
    [('rows', 40), ('rows', 79), ('rows', 160), ('full', 79), ('full', 110), ('full', 160)],
)
def test_finding_marks_its_row_and_a_limit_in_passing(form: str, width: int) -> None:
    hot = gpu(0, 'A', temperature_celsius=93, sm_clock_mhz=1005, gpu_utilization_percent=87)
    hot = hot._replace(info=hot.info._replace(temperature_slowdown_threshold_celsius=89))
    capped = gpu(1, 'A', clock_event_reasons=('sw_power_cap',), gpu_utilization_percent=90)
    buffer = panel(machine(hot, capped), width, form)
    assert styles_of(buffer, 'HOT') == {_WARNING}
    if form == 'rows' and width > 40:
        assert styles_of(buffer, 'PWR') == {Style()}
    (marked,) = [line for line in buffer.lines() if '!' in line]
    assert marked.split('!')[0].strip(' │') == '0'
    if width == 160 and form == 'rows':
        assert '1005 MHz' in marked
        assert 'busy HOT' in marked
        assert styles_of(buffer, '93°C') == {_ERROR}
    if form == 'full':
        assert styles_of(buffer, '93°C') == {_ERROR}
        # The mark does not replace the percentage at the bar.
        assert '\n'.join(buffer.lines()[1:]).count('87%') == 1 + (width > 100)


def test_long_name_keeps_its_right_end_and_gets_more_room_on_a_wider_screen() -> None:
    device = SAMPLES['workstation'].devices[1]._replace(gpu_utilization_percent=50)
    assert '..TX 4090 Laptop GPU Off' in rows(device, 'full')[0]
    assert '  GeForce RTX 4090 Laptop GPU' in rows(device, 'full', 90)[0]


def test_headings_depend_on_the_devices() -> None:
    plain = gpu(0, 'A', mig_mode=None)
    assert 'Persistence-M│' in panel(machine(plain), form='full').lines()[1]
    # One GPU with a MIG mode is enough.
    assert ' MIG M. │' in panel(machine(plain, gpu(1, 'B')), form='full').lines()[1]
    windows = gpu(0, 'A', current_driver_model='WDM')
    assert 'TCC/WDDM │' in panel(machine(windows), form='full').lines()[1]
    assert ' TCC │' in rows(windows, 'full')[0]


@pytest.mark.parametrize(
    ('width', 'cell'), [(79, 'carol +1'), (100, 'carol +1'), (180, 'carol +1 slurm 7')]
)
def test_full_form_has_columns_for_state_and_user(width: int, cell: str) -> None:
    device = gpu(0, 'A', gpu_utilization_percent=87, clock_event_reasons=('sw_power_cap',))
    part = mig(gpu(1, 'A', mig_mode='Enabled'), 0, '1g.10gb', 1, 10 * GIB, GIB)
    owner = make_owner((Layer('slurm', '7'),))
    running = (
        process(device, 1, 'x', username='carol', gpu_memory_bytes=2 * MIB, owner=owner),
        process(device, 2, 'x', username='bob', gpu_memory_bytes=MIB),
        process(part, 3, 'x', username='dave', gpu_memory_bytes=MIB),
    )
    lines = panel(machine(device, part, processes=running), width, 'full').lines()
    state, user = lines[1].index('State'), lines[1].index('User')
    assert lines[4][state:].startswith('busy PWR ')
    assert lines[4][user:].startswith(f'{cell} ')
    assert 'PWR' not in lines[5][state:].split('│', 1)[0]
    assert lines[7][user:].startswith('dave ')


@pytest.mark.parametrize(('width', 'word'), [(40, 'used '), (79, 'in use '), (160, 'in use ')])
def test_device_without_a_measured_utilization_is_in_use_not_busy(width: int, word: str) -> None:
    device = gpu(0, 'A', mig_mode='Enabled', gpu_utilization_percent=None)
    part = mig(device, 0, '1g.10gb', 1, 10 * GIB, GIB)._replace(gpu_utilization_percent=None)
    running = (process(part, 1, 'x', gpu_sm_utilization_percent=None),)
    lines = panel(machine(device, part, processes=running), width).lines()
    assert [line[lines[1].index('STATE') :].startswith(word) for line in lines[2:]] == [True, True]


def test_device_whose_processes_do_not_use_it_now_is_in_use_not_busy() -> None:
    device = gpu(0, 'A', gpu_utilization_percent=0, memory_used_bytes=30 * GIB)
    running = (process(device, 1, 'x', running_time_seconds=5.0, gpu_sm_utilization_percent=0),)
    for form in ('rows', 'full'):
        assert 'in use ' in '\n'.join(panel(machine(device, processes=running), form=form).lines())


def test_mig_devices_of_two_gpus_are_separated_in_full() -> None:
    first, second = (gpu(index, 'NVIDIA A100', mig_mode='Enabled') for index in range(2))
    parts = [mig(each, i, '1g.10gb', i, 10 * GIB, GIB) for each in (first, second) for i in (0, 1)]
    lines = panel(machine(*parts), form='full').lines()
    assert [line[1:5].strip() or line[:2] for line in lines[4:]] == [
        *('0:0', '0:1', '────', '1:0', '1:1')
    ]
    assert [line.split()[1] for line in panel(machine(*parts)).lines()[2:]] == [
        *('0:0', '0:1', '1:0', '1:1')
    ]


@pytest.mark.parametrize('form', ['full', 'rows'])
def test_device_that_never_responded_shows_the_reason_once(form: str) -> None:
    device = SAMPLES['lost'].devices[1]
    nameless = device.info._replace(name=None, bus_id=None)
    device = device._replace(info=nameless, status='lost', reason='GPU is lost')
    text = ' '.join(rows(device, form))
    assert text.count('GPU is lost') == 1
    assert 'ERROR' not in text
    assert 'N/A' not in text


def test_users_of_graphics_are_named_while_only_they_use_the_gpu() -> None:
    def words(percent: int, *types: str) -> list[str]:
        device = gpu(0, 'A', gpu_utilization_percent=percent)
        running = [
            process(device, 1 + i, 'x', type=kind, username=kind, gpu_memory_bytes=(9 - i) * MIB)
            for i, kind in enumerate(types)
        ]
        line = panel(machine(device, processes=tuple(running))).lines()[-1]
        return line.split('%')[-1].split()[:-1]

    assert words(40, 'G') == ['busy', 'G']
    assert words(40, 'G', 'C') == ['busy', 'C']
    assert words(3, 'G') == ['free']


@pytest.mark.parametrize(
    ('width', 'user', 'other', 'name'),
    [
        (120, 'bob', None, 'serving/llama-70b-0'),
        (160, 'carol', 'dave', 'serving/llama-70b-0123'),
    ],
)
def test_jobs_are_whole_before_bars_and_sparklines_grow(
    width: int, user: str, other: str | None, name: str
) -> None:
    device = gpu(0, 'A', gpu_utilization_percent=50)
    pod = process(device, 1, 'x', username=user, owner=make_owner((Layer('pod', 'id', name),)))
    others = (process(device, 2, 'y', username=other, gpu_memory_bytes=MIB),) if other else ()
    line = panel(machine(device, processes=(pod, *others)), width).lines()[-1]
    assert f'{user} +1 pod {name} ' in line if other else f'{user} pod {name} ' in line


def test_heading_of_the_sparkline_is_above_the_newest_value() -> None:
    sample = SAMPLES['h100x8']
    history = History()
    history.record(sample)
    lines = panel(sample, 180, history=history).lines()
    newest = lines[2].rindex('▇')
    assert lines[1][: newest + 1].endswith('UTIL 10m')


def test_marks_that_need_an_explanation_are_words_where_there_is_room() -> None:
    odd = gpu(0, 'A', gpu_utilization_percent=50)
    problem = Problem(odd.key, 'memory_used', '2 TiB is implausible', 'impossible')
    sample = machine(odd, processes=(process(odd, 1, 'x'),), problems=(problem,))
    assert 'busy ODD ' in panel(sample).lines()[-1]
    assert 'busy odd values ' in panel(sample, 180).lines()[-1]
