"""The device panel: texts and styles of its rows."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.console.options import Thresholds
from nvitop.gui.layout.device import lay_out_devices
from nvitop.gui.layout.device_columns import traits_of
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.view.load_style import device_role, load_role
from nvitop.gui.view.panels.device import DeviceList, draw_device_panel
from nvitop.health import findings, worst_findings
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceSample, Sample
from tests.gui.samples import GIB, SAMPLES, gpu, machine, mig

_ERROR = Style(Role.ERROR, bold=True)


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
    """Draw the rows of one device."""
    lines = panel(machine(device), width, form).lines()
    return lines[-2:] if form == 'full' else lines[-1:]


def styles_of(buffer: Buffer, text: str) -> set[Style]:
    """Return the styles of all pieces of a panel that contain a text."""
    return {
        style for y in range(buffer.height) for _, drawn, style in buffer.row(y) if text in drawn
    }


def test_row_has_what_fits() -> None:
    device = SAMPLES['workstation'].devices[0]
    drawn = {width: rows(device, width=width)[0] for width in (40, 60, 80, 130)}
    assert drawn == {
        40: '│   0  83°C ■■·  70% ■■■■ 100% 2745 MHz│',
        60: '│   0  83°C 450 W ■■■■■··  70% ■■■■■■■ 100% 2745           │',
        80: '│    0   83°C  450/450 W  ■■■■■■···  70%  ■■■■■■■■■■ 100%  2745 MHz            │',
        130: '│    0   83°C  450/450 W  ■■■■■■■■■■■····  70%  16.8/24.0G  ■■■■■■■■■■■■■■■ 100%  2745 MHz                                       │',
    }


def test_full_row_has_two_lines() -> None:
    assert rows(SAMPLES['workstation'].devices[0], 'full') == [
        '│   0  GeForce RTX 4090     Off │ 00000000:07:00.0  On │                  N/A │',
        '│ MAX   83C   P2    450W / 450W │  17195MiB / 23.99GiB │    100%      Default │',
    ]


def test_border_has_the_machine_and_its_totals() -> None:
    lines = panel(SAMPLES['h100x8'], 120, used=frozenset()).lines()
    assert lines[0] == (
        '╭─ 8 × H100 80GB HBM3 · driver 550.54.15 · CUDA 12.4 ───────────────────'
        ' 62% util · 345/640 GiB · 3.5/5.6 kW · 2 idle ─╮'
    )
    different = panel(SAMPLES['workstation'], 120).lines()
    assert different[0].startswith('╭─ 2 GPUs · driver 550.54.15 · CUDA 12.4 ─')
    assert ' NAME ' in different[1]
    assert 'GeForce RTX 4090 Laptop GPU' in different[3]
    assert ' NAME ' not in lines[1]


def test_columns_without_any_value_give_up_their_place() -> None:
    silent = gpu(0, 'A', fan_speed_percent=None, temperature_celsius=None, power_usage_mw=None)
    heading = panel(machine(silent), 240).lines()[1]
    assert not {'FAN', 'TEMP', 'POWER', 'NAME'} & {*heading.split()}
    assert {'FAN', 'TEMP'} <= {
        *panel(machine(silent, gpu(1, 'A', fan_speed_percent=30)), 240).lines()[1].split()
    }


def test_device_that_no_process_uses_is_idle() -> None:
    busy, free, part = gpu(0, 'A'), gpu(1, 'A', gpu_utilization_percent=0), gpu(2, 'A')
    part = part._replace(gpu_utilization_percent=0)
    child = mig(part, 0, '1g.10gb', 1, 10 * GIB, GIB)
    sample = machine(busy, free, part, child)
    buffer = panel(sample, 100, used=frozenset({busy.key, child.key}))
    assert [line.split()[1] for line in buffer.lines() if ' idle' in line] == ['3', '1']
    assert '1 idle' in buffer.lines()[0]
    # It is not known whether processes use it.
    assert 'idle' not in '\n'.join(panel(sample, 100, used=None).lines())


@pytest.mark.parametrize(
    ('form', 'width'),
    [('rows', 40), ('rows', 79), ('rows', 160), ('full', 79), ('full', 110), ('full', 160)],
)
def test_finding_marks_its_row_in_red_and_a_limit_in_passing(form: str, width: int) -> None:
    hot = gpu(0, 'A', temperature_celsius=93, sm_clock_mhz=1005, gpu_utilization_percent=87)
    hot = hot._replace(info=hot.info._replace(temperature_slowdown_threshold_celsius=89))
    capped = gpu(1, 'A', clock_event_reasons=('sw_power_cap',))
    buffer = panel(machine(hot, capped), width, form)
    assert styles_of(buffer, 'HOT') == {_ERROR}
    if form == 'rows':
        assert styles_of(buffer, 'PWR') == {Style(Role.DIM)}
    (marked,) = [line for line in buffer.lines() if '!' in line]
    assert marked.split('!')[0].strip(' │') == '0'
    if width == 160 and form == 'rows':
        assert '1005 MHz HOT' in marked
        assert styles_of(buffer, '93°C') == {_ERROR}
    if form == 'full':
        assert styles_of(buffer, '93C') == {_ERROR}
        # The mark does not replace the percentage at the bar.
        assert '\n'.join(buffer.lines()[1:]).count('87%') == 1 + (width > 100)


def test_sparkline_shows_the_last_minutes() -> None:
    history = History()
    sample = machine(gpu(0, 'A'))
    for second in range(300):
        device = sample.devices[0]._replace(gpu_utilization_percent=100 * (second >= 160))
        sample = sample._replace(devices=(device,), monotonic=1000.0 + second)
        history.record(sample)
    lines = panel(sample, 120, history=history).lines()
    assert ' UTIL 5 MIN' in lines[1]
    assert lines[2].endswith(f'{"▁" * 8}{"▇" * 7} │')
    assert '.' not in lines[2]
    ascii_lines = panel(sample, 120, history=history, view=ViewState(ascii=True)).lines()
    assert ascii_lines[2].endswith(f'{"_" * 8}{"#" * 7} │')


def test_selected_process_marks_its_device_and_dims_no_other() -> None:
    sample = SAMPLES['h100x8']
    plain, marked = (panel(sample, 100, marked=key) for key in (None, sample.devices[3].key))
    differing = [y for y in range(plain.height) if plain.row(y) != marked.row(y)]
    assert differing == [2 + 3]
    assert '►' in marked.lines()[5]


def test_colors_are_only_in_bars_and_their_numbers() -> None:
    view = ViewState(colorful=True)
    for form in ('rows', 'full'):
        buffer = panel(SAMPLES['h100x8'], 160, form, view=view)
        for y in range(1, buffer.height):
            for _, text, style in buffer.row(y):
                if style.role >= Role.GRADIENT_0:
                    assert set(text) <= {*'■0123456789% '}, text
                else:
                    assert style.role not in (Role.LIGHT, Role.MODERATE, Role.HEAVY)


def test_long_name_keeps_its_right_end_and_gets_more_room_on_a_wider_screen() -> None:
    device = SAMPLES['workstation'].devices[1]
    assert '..TX 4090 Laptop GPU Off' in rows(device, 'full')[0]
    assert '  GeForce RTX 4090 Laptop GPU' in rows(device, 'full', 90)[0]


def test_headings_depend_on_the_devices() -> None:
    plain = gpu(0, 'A', mig_mode=None)
    assert 'Volatile Uncorr. ECC' in panel(machine(plain), form='full').lines()[1]
    # One GPU with a MIG mode is enough.
    assert 'MIG M.   Uncorr. ECC' in panel(machine(plain, gpu(1, 'B')), form='full').lines()[1]
    assert 'Persistence-M│' in panel(machine(plain), form='full').lines()[1]
    windows = gpu(0, 'A', current_driver_model='WDM')
    assert 'TCC/WDDM │' in panel(machine(windows), form='full').lines()[1]
    assert ' TCC │' in rows(windows, 'full')[0]


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
@pytest.mark.parametrize('width', [79, 100, 130])
def test_row_of_a_lost_device_is_red_and_has_the_reason(form: str, width: int) -> None:
    sample = SAMPLES['lost']
    buffer = panel(sample, width, form)
    lines = buffer.lines()
    y = next(i for i, line in enumerate(lines) if 'GPU is lost' in line)
    assert {style.role for _, text, style in buffer.row(y) if 'GPU is lost' in text} == {Role.ERROR}
    assert any('the driver has not answered for 12 s' in line for line in lines)
    assert 'GPU is lost · Reboot, or reset it' in lines[y]
    # Values that cannot be measured are left out.
    assert 'N/A' not in lines[y]


@pytest.mark.parametrize('form', ['full', 'rows'])
def test_device_that_never_responded_shows_the_reason_once(form: str) -> None:
    device = SAMPLES['lost'].devices[1]
    nameless = device.info._replace(name=None, bus_id=None)
    device = device._replace(info=nameless, status='lost', reason='GPU is lost')
    text = ' '.join(rows(device, form))
    assert text.count('GPU is lost') == 1
    assert 'ERROR' not in text
    assert 'N/A' not in text


def test_long_reason_is_cut_before_the_border() -> None:
    device = SAMPLES['lost'].devices[1]._replace(reason='because ' * 40)
    for form in ('full', 'rows'):
        assert rows(device, form)[-1].rstrip(' │').endswith('..')
    assert '! lost' in rows(device._replace(reason=''))[0].replace('  ', ' ')


@pytest.mark.parametrize(
    ('percent', 'role'),
    [
        (None, Role.UNKNOWN),
        (0, Role.LIGHT),
        (9.99, Role.LIGHT),
        (10, Role.MODERATE),
        (74.9, Role.MODERATE),
        (75, Role.HEAVY),
        (100, Role.HEAVY),
    ],
)
def test_percentage_has_the_higher_role_from_its_threshold_on(
    percent: float | None, role: Role
) -> None:
    assert load_role(percent, Thresholds().gpu) is role


@pytest.mark.parametrize(
    ('load', 'memory', 'status', 'role'),
    [
        (5, 5.0, 'ok', Role.LIGHT),
        (50, 5.0, 'ok', Role.MODERATE),
        (5, 80.0, 'ok', Role.HEAVY),
        (80, 79.0, 'ok', Role.HEAVY),
        (None, 5.0, 'ok', Role.LIGHT),
        (50, None, 'ok', Role.MODERATE),
        (None, None, 'ok', Role.UNKNOWN),
        (5, 5.0, 'lost', Role.ERROR),
        (5, 5.0, 'timed out', Role.ERROR),
    ],
)
def test_device_has_the_role_of_its_heavier_utilization(
    load: int | None, memory: float | None, status: Any, role: Role
) -> None:
    device = gpu(0, 'A', gpu_utilization_percent=load)
    device = device._replace(memory_percent=memory, status=status)
    assert device_role(device, Thresholds()) is role


def test_bars_have_the_roles_of_their_own_values() -> None:
    device = gpu(
        0,
        'A',
        memory_used_bytes=79 * GIB,
        gpu_utilization_percent=5,
        memory_utilization_percent=50,
        power_usage_mw=690_000,
    )
    roles = (Role.HEAVY, Role.MODERATE, Role.LIGHT, Role.HEAVY)
    for thresholds, expected in (
        (Thresholds(), roles),
        (Thresholds(gpu=(1, 2), memory=(60, 70)), (Role.HEAVY, Role.LIGHT, Role.HEAVY, Role.HEAVY)),
    ):
        buffer = panel(machine(device), 160, 'full', view=ViewState(thresholds=thresholds))
        drawn = [
            style.role
            for y in range(buffer.height)
            for _, text, style in buffer.row(y)
            if '■' in text
        ]
        assert tuple(drawn) == expected
