"""The device panel: texts and styles of its rows."""

from __future__ import annotations

import re

import pytest

from nvitop.basics.units import GiB
from nvitop.gui.model.choices import GraphState, ViewState
from nvitop.gui.model.device_rows import answers, device_rows, fold_free
from nvitop.gui.model.main_rows import DEVICE_FRAME, MainRows, full_height
from nvitop.gui.model.table import Item, fit
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import PLAIN, Role, Style
from nvitop.gui.view.charts import Ruler
from nvitop.gui.view.panels.device import DeviceView, draw_devices
from nvitop.gui.view.panels.device_full import draw_full_devices
from nvitop.gui.view.text import draw_mono_bars
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceSample, Problem, ProcessSample, Sample
from tests.gui.samples import GIB, MIB, SAMPLES, gpu, machine, mig, process

_WARNING, _WARNING = Style(Role.ERROR, bold=True), Style(Role.WARNING, bold=True)


def panel(
    sample: Sample,
    width: int = 100,
    lines: int = 1,
    *,
    full: bool = False,
    history: History | None = None,
    metric: str = 'gpu_utilization',
) -> Buffer:
    rows = device_rows(sample)
    ruler = None if history is None else Ruler(history)
    shown = DeviceView(sample, ruler, GraphState(metric))
    height = full_height(rows) if full else DEVICE_FRAME + lines * len(rows)
    buffer = Buffer(width, height)
    if full:
        draw_full_devices(buffer, buffer.area, rows, ViewState(), shown)
    else:
        arranged = MainRows(height, 0, 0, fold_free(rows)._replace(rows=rows, free=()), lines)
        draw_devices(buffer, Rect(0, 0, width, height), arranged, shown)
    return buffer


def lines_of(device: DeviceSample, lines: int = 1, width: int = 100) -> list[str]:
    return panel(machine(device), width, lines).lines()[2:]


def styles_of(buffer: Buffer, text: str) -> set[Style]:
    return {
        style for y in range(buffer.height) for _, drawn, style in buffer.row(y) if text in drawn
    }


def history_of(sample: Sample, count: int = 60) -> History:
    history = History()
    for second in range(count):
        history.record(sample._replace(monotonic=1000.0 + second, sequence=second + 1))
    return history


def test_columns_without_any_value_give_up_their_place() -> None:
    silent = gpu(0, 'A', temperature_celsius=None, power_usage_mw=None)
    heading = panel(machine(silent), 160).lines()[1].split()
    assert not {'TEMP', 'POWER', 'NAME'} & {*heading}
    other = gpu(1, 'B', temperature_celsius=30)
    assert {'TEMP', 'NAME'} <= {*panel(machine(silent, other), 160).lines()[1].split()}


def test_ruler_names_times_that_are_complete_and_a_chosen_metric() -> None:
    sample = machine(gpu(0, 'A', gpu_utilization_percent=50), gpu(1, 'A'))
    heading = panel(sample, 120, 2, history=history_of(sample)).lines()[1]
    assert re.search(r'UTIL +(┬90s +)?┬60s +┬30s +now │$', heading)
    heading = panel(sample, 120, 2, history=history_of(sample), metric='power_usage').lines()[1]
    assert re.search(r'UTIL +POWER +(┬90s +)?┬60s +┬30s +now │$', heading)


def test_free_mig_device_does_not_fill_with_the_memory_of_its_neighbor() -> None:
    parent = SAMPLES['mig'].devices[0]
    parts = [mig(parent, i, '1c.4g.40gb', 1, 40 * GIB, 11 * GIB) for i in (0, 1)]
    running = (process(parts[0], 3, 'x', username='dave', gpu_memory_bytes=11 * GIB),)
    sample = machine(parent, *parts, processes=running)
    used, free = panel(sample, 120, history=history_of(sample)).lines()[3:]
    assert '11.0/40' in used
    assert re.search(' - +MEM ▂', used)
    assert 'MEM' not in free
    assert 'free' in free
    assert 'shared' in free
    assert '▇' not in free


@pytest.mark.parametrize('full', [False, True])
def test_device_that_never_responded_shows_the_reason_once(full: bool) -> None:
    device = SAMPLES['lost'].devices[1]
    nameless = device.info._replace(name=None, bus_id=None)
    device = device._replace(info=nameless, status='lost', reason='GPU is lost')
    text = ' '.join(panel(machine(device), full=full).lines())
    assert text.count('GPU is lost') == full
    assert full or 'Reboot, or reset it' in text
    assert 'N/A' not in text


def answer(*devices: DeviceSample, processes: tuple[ProcessSample, ...] = ()) -> list[str]:
    rows = device_rows(machine(*devices, processes=processes))
    return [each.forms[0] for each in answers(rows)]


def test_first_line_names_free_held_busy_and_broken_gpus() -> None:
    gpus = [
        gpu(i, 'A', gpu_utilization_percent=90 if i in (0, 1) else 0, memory_used_bytes=0)
        for i in range(5)
    ]
    gpus[3] = gpus[3]._replace(remapped_rows_pending=True)
    running = tuple(
        process(gpus[i], i + 1, 'x', username='ann', gpu_memory_bytes=GiB) for i in (0, 1)
    )
    holder = process(gpus[2], 9, 'x', username='carol', gpu_memory_bytes=40 * GiB)
    holder = holder._replace(gpu_idle_seconds=3600.0)
    assert answer(*gpus, processes=(*running, holder)) == [
        '1 free: GPU 4',
        '1 held: GPU 2 carol 1h',
        '2 busy: ann 0,1',
        '! GPU 3 pending row remapping',
    ]
    assert answer(gpus[0], processes=running[:1]) == ['no GPU free', '1 busy: ann 0']


def test_full_form_marks_a_finding_in_red() -> None:
    hot = gpu(0, 'A', temperature_celsius=93, sm_clock_mhz=1005, gpu_utilization_percent=87)
    hot = hot._replace(info=hot.info._replace(temperature_slowdown_threshold_celsius=89))
    for width in (79, 110, 160):
        buffer = panel(machine(hot), width, full=True)
        assert styles_of(buffer, 'hot') == styles_of(buffer, '93°C') == {_WARNING}
        # The mark does not replace the percentage at the bar.
        assert '\n'.join(buffer.lines()[1:]).count('87%') == 1 + (width > 100)


def test_full_form_has_columns_for_state_and_user() -> None:
    device = gpu(0, 'A', gpu_utilization_percent=87, clock_event_reasons=('sw_power_cap',))
    part = mig(gpu(1, 'A', mig_mode='Enabled'), 0, '1g.10gb', 1, 10 * GIB, GIB)
    owner = make_owner((Layer('slurm', '7'),))
    running = (
        process(device, 1, 'x', username='carol', gpu_memory_bytes=2 * MIB, owner=owner),
        process(device, 2, 'x', username='bob', gpu_memory_bytes=MIB),
        process(part, 3, 'x', username='dave', gpu_memory_bytes=MIB),
    )
    lines = panel(machine(device, part, processes=running), 79, full=True).lines()
    state, user = lines[1].index('State'), lines[1].index('User')
    assert lines[4][state:].startswith('busy ')
    assert lines[4][user:].startswith('carol +1 ')
    assert lines[7][user:].startswith('dave ')


@pytest.mark.parametrize(
    ('lines', 'mono', 'percent', 'expected'),
    [
        (1, False, 55.0, '▇' * 16),
        (2, False, 55.0, '████████▊███████'),
        (2, True, 55.0, '█████████░░░░░░░'),
        (1, True, 55.0, '▇▇▇▇▇▇▇▇▇░░░░░░░'),
        (1, False, 1.0, '▏' + '▇' * 15),
        (1, True, 1.0, '▏' + '░' * 15),
        (1, False, 0.0, '▇' * 16),
    ],
)
def test_bar_has_no_notch_no_hole_and_no_empty_track_of_a_small_value(
    lines: int, mono: bool, percent: float, expected: str
) -> None:
    buffer = panel(machine(gpu(0, 'A', memory_percent=percent), gpu(1, 'A')), 120, lines)
    if mono:
        draw_mono_bars(buffer)
    assert f' {expected} ' in buffer.lines()[2]


@pytest.mark.parametrize(
    ('width', 'state'),
    [(40, 'remapping'), (80, 'busy remap'), (100, 'busy remap'), (160, 'busy remapping')],
)
def test_word_of_a_problem_is_shown_at_any_width(width: int, state: str) -> None:
    wrong = gpu(0, 'A', gpu_utilization_percent=50, remapped_rows_pending=True)
    sample = machine(wrong, processes=(process(wrong, 1, 'x'),))
    assert f'0! {state} ' in panel(sample, width, history=history_of(sample)).lines()[2]
    if width >= 100:
        full = panel(sample, width, full=True).lines()[4]
        assert '│ busy remap ' in full


def test_first_line_keeps_the_problem_before_who_is_busy() -> None:
    wrong = gpu(1, 'A', gpu_utilization_percent=50, remapped_rows_pending=True)
    running = (process(wrong, 1, 'x', username='ann'),)
    rows = device_rows(machine(gpu(0, 'A'), wrong, processes=running))
    for room in (24, 30, 40):
        texts = fit([*answers(rows), Item(('03:04',), rank=5)], room, 3)
        assert '! GPU 1 remap' in texts or '! GPU 1 remapping' in texts, texts


def test_facts_are_below_their_columns_and_those_that_a_model_lacks_are_left_out() -> None:
    first = gpu(0, 'A', memory_utilization_percent=None, memory_temperature_celsius=50)
    second = gpu(1, 'B', memory_utilization_percent=9, fan_speed_percent=56)
    second = second._replace(info=second.info._replace(temperature_slowdown_threshold_celsius=89))
    lines = panel(machine(first, second), 120, 4).lines()
    state, user, util = (lines[1].index(title) for title in ('STATE', 'USER', 'UTIL'))
    assert lines[3][state:].startswith('40°C ')
    assert lines[4].strip('│ ') == 'mem 50°C'
    assert lines[7][state:].startswith('40/89°C ')
    assert lines[7][user:].startswith('110/700 W ')
    assert lines[7][: util + 4].endswith(' 1410 MHz')
    assert lines[8].split() == ['│', 'mem', 'bw', '9%', '│']
    assert lines[8].index('mem bw') == user
    assert lines[9].strip('│ ') == 'fan 56%'


def test_problem_others_and_advice_are_below_the_job_and_not_below_the_bar() -> None:
    good = gpu(0, 'A', clock_event_reasons=('sw_power_cap',), memory_used_bytes=9 * GiB)
    wrong = gpu(1, 'A', remapped_rows_pending=True, memory_used_bytes=9 * GiB)
    running = tuple(
        process(wrong, pid, 'x', username=user, gpu_memory_bytes=pid * GiB)
        for pid, user in ((2, 'ann'), (4, 'bob'))
    )
    for lines, width in ((2, 100), (3, 120), (4, 140), (4, 220), (6, 140)):
        drawn = panel(machine(good, wrong, processes=running), width, lines).lines()
        job, bar = drawn[1].index('JOB'), drawn[2].index('█')
        power, problem = drawn[3][job:bar], drawn[lines + 3][job:bar]
        assert power.startswith(('at its power limit ', 'clocks lowered to hold '))
        assert problem.startswith('pending row remapping ')
        text = ' '.join(line.strip('│ ') for line in drawn[lines + 3 :])
        assert lines < 3 or 'reset -i 1)' in text
        assert lines < 6 or 'Running work is not affected' in text
        assert lines < 6 or drawn[lines + 4][job:].startswith('also ann 2.0 GiB ')


def test_unknown_user_and_unknown_severity_are_no_guess_and_no_warning() -> None:
    unreadable = gpu(3, 'A', gpu_utilization_percent=50)
    problem = Problem(unreadable.key, 'temperature', 'Unknown Error', 'error')
    sample = machine(unreadable, problems=(problem,))
    (row,) = device_rows(sample)
    assert (row.mark, row.mark_style) == ('unreadable', PLAIN)
    forms = next(item.forms for item in answers([row]) if 'busy' in item.forms[0])
    assert forms == ('1 busy: unknown user: 3', '1 busy: unknown 3', '1 busy')
