"""The device panel: texts and styles of its rows."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.console.options import Thresholds
from nvitop.gui.layout.device import lay_out_devices
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.view.load_style import device_role, load_role
from nvitop.gui.view.panels.device import draw_device_panel
from nvitop.gui.view.panels.header import Header
from nvitop.sampling.types import DeviceSample, Problem, Sample
from tests.gui.samples import GIB, SAMPLES, gpu, machine, mig


def panel(sample: Sample, width: int = 79, form: str = 'full', **options: Any) -> Buffer:
    layout = lay_out_devices(0, width, [device.key for device in sample.devices], form)
    buffer = Buffer(width, layout.area.height)
    header = options.pop('header', Header('clock', version='1.0.0'))
    view = options.pop('view', ViewState())
    draw_device_panel(buffer, layout, sample, view, header, **options)
    return buffer


def rows(device: DeviceSample, form: str = 'full', width: int = 79) -> list[str]:
    """Draw the rows of one device."""
    lines = panel(machine(device), width, form).lines()
    return lines[-3:-1] if form == 'full' else lines[-2:-1]


def test_full_row_has_two_lines() -> None:
    device = SAMPLES['workstation'].devices[0]
    assert rows(device) == [
        '│   0  GeForce RTX 4090     Off │ 00000000:07:00.0  On │                  N/A │',
        '│ MAX   83C   P2    450W / 450W │  17195MiB / 23.99GiB │    100%      Default │',
    ]


@pytest.mark.parametrize(
    ('form', 'width', 'text'),
    [
        ('full', 79, '│   0!'),
        ('compact', 79, '│   0!MAX'),
        ('dense', 79, '│   0!MAX'),
        ('narrow', 60, '│   0!MAX'),
        ('narrow', 40, '│   0! '),
    ],
)
def test_device_with_a_failure_has_a_mark(form: str, width: int, text: str) -> None:
    device, other = SAMPLES['workstation'].devices
    reset = Problem(device.key, 'processes', 'GPU requires restart', 'error')
    lacking = Problem(other.key, 'fan_speed', 'Not Supported')
    sample = machine(device, other)._replace(problems=(reset, lacking))
    buffer = panel(sample, width, form)
    assert [line for line in buffer.lines() if '!' in line] == [
        line for line in buffer.lines() if line.startswith(text)
    ]
    marks = [style for y in range(buffer.height) for _, t, style in buffer.row(y) if t == '!']
    assert marks == [Style(Role.WARNING, bold=True)]
    lost = device._replace(status='lost', reason='GPU is lost')
    assert '!' not in '\n'.join(panel(machine(lost)._replace(problems=(reset,)), width).lines())


def test_compact_row_has_one_line() -> None:
    device = SAMPLES['workstation'].devices[1]
    assert rows(device, 'compact') == [
        '│   1  0% 100C  P8    7W / 450W │  13.00MiB / 23.99GiB │      0%   E. Process │',
    ]


@pytest.mark.parametrize(
    ('usage', 'limit', 'state', 'cell'),
    [
        (999_000, 999_000, 'P0', '│   0 N/A  40C  P0  999W / 999W │'),
        (999_000, 1_000_000, 'P0', '│   0 N/A  40C P0  999W / 1000W │'),
        (1_000_000, 1_000_000, 'P0', '│   0 N/A  40C P0 1000W / 1000W │'),
        (1_000_000, 1_000_000, 'P12', '│   0 N/A  40C P12  1000W/1000W │'),
        (12_345_000, 14_000_000, 'P0', '│   0 N/A  40C P0 12345W/14000W │'),
        (10**12, 10**12, 'P0', '│   0 N/A  40C P0 1000000000W/+ │'),
        (None, None, None, '│   0 N/A  40C N/A    N/A / N/A │'),
    ],
)
def test_kilowatts_do_not_move_the_border(
    usage: int | None, limit: int | None, state: str | None, cell: str
) -> None:
    device = gpu(0, 'B200', power_usage_mw=usage, power_limit_mw=limit, performance_state=state)
    (row,) = rows(device, 'compact')
    assert row[: len(cell)] == cell


def test_long_name_keeps_its_right_end_and_gets_more_room_on_a_wider_screen() -> None:
    device = SAMPLES['workstation'].devices[1]
    assert '..TX 4090 Laptop GPU Off' in rows(device)[0]
    assert '  GeForce RTX 4090 Laptop GPU' in rows(device, width=90)[0]


def test_headings_depend_on_the_devices() -> None:
    plain = gpu(0, 'A', mig_mode=None)
    assert 'Volatile Uncorr. ECC' in panel(machine(plain)).lines()[4]
    # One GPU with a MIG mode is enough.
    assert 'MIG M.   Uncorr. ECC' in panel(machine(plain, gpu(1, 'B'))).lines()[4]
    assert 'Persistence-M│' in panel(machine(plain)).lines()[4]
    windows = gpu(0, 'A', current_driver_model='WDM')
    assert 'TCC/WDDM │' in panel(machine(windows)).lines()[4]
    assert ' TCC │' in rows(windows)[0]


def test_mig_device_without_its_gpu_has_a_complete_box() -> None:
    parent = gpu(1, 'NVIDIA A100', mig_mode='Enabled')
    part = mig(parent, 2, '3g.40gb', 1, 40 * GIB, 10 * GIB)
    lines = panel(machine(part), 100).lines()
    assert lines[-3:] == [
        '╞═══════════════════════════════╪══════════════════════╪══════════════════════╪════════════════════╕',
        '│ 1:2      3g.40gb @ GI/CI: 1/0 │  10240MiB / 40.00GiB │ BAR1:  2.00MiB /  0% │ MEM: ██▎ 10240MiB  │',
        '╘═══════════════════════════════╧══════════════════════╧══════════════════════╧════════════════════╛',
    ]


def test_mig_devices_of_two_gpus_are_separated() -> None:
    first, second = (gpu(index, 'NVIDIA A100', mig_mode='Enabled') for index in range(2))
    parts = [mig(each, i, '1g.10gb', i, 10 * GIB, GIB) for each in (first, second) for i in (0, 1)]
    lines = panel(machine(*parts), form='compact').lines()
    assert [line[1:5].strip() or line[:2] for line in lines[6:11]] == [
        *('0:0', '0:1', '────', '1:0', '1:1')
    ]


@pytest.mark.parametrize('form', ['full', 'compact', 'dense'])
@pytest.mark.parametrize('width', [79, 100, 130])
def test_row_of_a_lost_device_is_red_and_has_the_reason(form: str, width: int) -> None:
    sample = SAMPLES['lost']
    buffer = panel(sample, width, form)
    lines = buffer.lines()
    y = next(i for i, line in enumerate(lines) if 'GPU is lost' in line)
    styles = {style for _, text, style in buffer.row(y) if text.strip(' │')}
    assert styles == {Style(Role.ERROR)}
    assert any('the driver has not answered for 12 s' in line for line in lines)
    # Values that cannot be measured are left out.
    assert 'N/A' not in lines[y]


@pytest.mark.parametrize('form', ['full', 'compact', 'dense'])
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
    for form in ('full', 'compact'):
        assert rows(device, form)[-1].endswith('.. │')
    assert rows(device._replace(reason=''), 'compact')[0].rstrip(' │').endswith('lost')


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
    buffer = panel(machine(device), 160)
    roles = {
        text[:3]: style.role
        for y in range(buffer.height)
        for _, text, style in buffer.row(y)
        if text[3:5] == ': '
    }
    assert roles == {
        'MEM': Role.HEAVY,
        'MBW': Role.MODERATE,
        'UTL': Role.LIGHT,
        'PWR': Role.HEAVY,
    }
    view = ViewState(thresholds=Thresholds(gpu=(1, 2), memory=(60, 70)))
    buffer = panel(machine(device), 160, view=view)
    assert {style.role for _, text, style in buffer.row(8) if text[:3] == 'UTL'} == {Role.HEAVY}
    assert {style.role for _, text, style in buffer.row(7) if text[:3] == 'MBW'} == {Role.LIGHT}


def test_power_without_a_limit_has_no_bar() -> None:
    device = gpu(0, 'A', power_usage_mw=38_400, power_limit_mw=None)
    assert 'PWR: 38W  ' in rows(device, width=130)[1]


def test_name_gets_the_room_that_its_state_leaves() -> None:
    name = 'NVIDIA Tesla V100-SXM2-32GB'
    for mode, cell in (
        ('Enabled', 'Tesla V100-SXM2-32GB  On'),
        ('Disabled', 'Tesla V100-SXM2-32GB Off'),
        (None, 'Tesla V100-SXM2-32GB N/A'),
    ):
        row = rows(gpu(0, name, persistence_mode=mode))[0]
        assert row.startswith(f'│   0  {cell} │')


def test_date_and_machine_name_yield_to_the_hint() -> None:
    hint = (('press ', Style(Role.DIM)), ('h', Style(Role.KEY)))
    header = Header('Tue Jan 02 03:04:05 2024', hint=hint)
    sample = SAMPLES['one']
    assert panel(sample, header=header).lines()[0] == header.clock + ' ' * 48 + 'press h'
    assert panel(sample, 160, header=header).lines()[0].endswith(' press h')
    simulated = sample._replace(simulated='x' * 30)
    assert panel(simulated, header=header).lines()[0].endswith(' press h')
    simulated = sample._replace(simulated='x' * 40)
    line = panel(simulated, header=header).lines()[0]
    assert line == f'03:04:05 SIMULATED: {"x" * 40}{" " * 12}press h'
    simulated = sample._replace(simulated='x' * 58)
    line = panel(simulated, header=header).lines()[0]
    assert line == f'03:04:05 SIMULATED{" " * 54}press h'


@pytest.mark.parametrize(
    ('driver', 'line'),
    [
        (
            '550.54.15',
            '│ NVITOP 1.0.0      Driver Version: 550.54.15       CUDA Driver Version: 12.4 │',
        ),
        (
            '550.54.15-something-very-long-indeed',
            '│ NVITOP 1.0.0   Driver: 550.54.15-something-very-long-indeed      CUDA: 12.4 │',
        ),
        ('x' * 80, '│ NVITOP                      xxxxxxxxxx..                       CUDA 12.4 │'),
    ],
)
def test_versions_are_as_long_as_fits(driver: str, line: str) -> None:
    sample = SAMPLES['one']._replace(driver_version=driver)
    shown = panel(sample).lines()[2]
    assert shown.split() == line.split()
    assert len(shown) == 79
