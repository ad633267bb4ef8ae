"""The panels of the main screen: texts and styles of rows, how they share the screen, and what stays in its place."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.basics.units import GiB
from nvitop.gui.model import device_columns
from nvitop.gui.model.choices import GraphState, MainState, ProcessFilter, Screen, Sort, ViewState
from nvitop.gui.model.columns import COLUMNS_BY_NAME, DEFAULT_COLUMNS
from nvitop.gui.model.device_columns import DEVICE_COLUMNS, LINE_FACTS, device_widths
from nvitop.gui.model.device_rows import device_rows, first_line_items, fold_free
from nvitop.gui.model.main_layout import DEVICE_FRAME, MainLayout, full_height, main_layout
from nvitop.gui.model.main_layout import lines_of as lines_of_row
from nvitop.gui.model.table import place
from nvitop.gui.render.ansi import to_ascii
from nvitop.gui.render.buffer import Buffer, Cells, Item, Rect, fit
from nvitop.gui.render.theme import PLAIN, WARNING, Role, Style
from nvitop.gui.state.app_state import AppState, ListPosition
from nvitop.gui.state.events import Resized
from nvitop.gui.state.lists import layout_of, process_lines, relist
from nvitop.gui.state.process_rows import Line, fold, group_by_job, job_key, list_widths, total_of
from nvitop.gui.view.charts import Ruler, draw_meter
from nvitop.gui.view.device_histories import device_line
from nvitop.gui.view.frame import draw_frame
from nvitop.gui.view.panels import device
from nvitop.gui.view.panels.device import DeviceView, draw_devices
from nvitop.gui.view.panels.device_full import draw_full_devices
from nvitop.gui.view.panels.process import Limits, ProcessView, draw_processes, title_of
from nvitop.gui.view.text import draw_mono_bars
from nvitop.owner.types import Layer, Owner, make_owner
from nvitop.sampling.history import History
from nvitop.sampling.types import PROCESSES, DeviceKey, DeviceSample, Problem, ProcessSample, Sample
from tests.gui.drawing import click_hit, lines_of, lines_on, state_on, text_of
from tests.gui.driving import after, arrived, press, pressed, state_of, texts
from tests.gui.samples import GIB, MIB, SAMPLES, gpu, history_of, machine, mig, process

_ERROR, _WARNING = Style(Role.ERROR, bold=True), Style(Role.WARNING, bold=True)


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
        draw_full_devices(buffer, buffer.area, rows, shown)
    else:
        arranged = MainLayout(height, 0, 0, fold_free(rows)._replace(rows=rows, free=()), lines)
        draw_devices(buffer, Rect(0, 0, width, height), arranged, shown)
    return buffer


def styles_of(buffer: Buffer, text: str) -> set[Style]:
    return {
        style for y in range(buffer.height) for _, drawn, style in buffer.row(y) if text in drawn
    }


def device_history_of(sample: Sample, count: int = 60) -> History:
    history = History()
    for second in range(count):
        history.record(sample._replace(monotonic=1000.0 + second, sequence=second + 1))
    return history


def test_columns_without_any_value_give_up_their_place() -> None:
    silent = gpu(0, 'A', temperature_celsius=None, power_usage_mw=None)
    heading = panel(machine(silent), 160).lines()[1].split()
    assert not {'TEMP', 'POWER', 'NAME'} & {*heading}
    other = gpu(1, 'B', temperature_celsius=30)
    lines = panel(machine(silent, other), 160).lines()
    assert {'TEMP', 'NAME'} <= {*lines[1].split()}
    assert '110/700 W' in lines[0]


@pytest.mark.parametrize('size', [3, 9])
def test_size_of_a_column_or_fact_in_its_table_is_its_width_on_the_screen(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, Any] = {'memory_temperature_celsius': 50, 'memory_utilization_percent': 9}
    sample = machine(*(gpu(i, 'AB'[i], fan_speed_percent=40, **known) for i in (0, 1)))

    def widths(lines: int) -> set[int]:
        text = '\n'.join(panel(sample, 200, lines, history=History()).lines())
        return {len(run) for run in re.findall('x+', text)}

    marked: dict[str, Any] = {'sizes': (size,), 'text': lambda *_: (('x' * 99, PLAIN),)}
    for name in {column.name for column in DEVICE_COLUMNS} - {'history'}:
        columns = [c._replace(**marked) if c.name == name else c for c in DEVICE_COLUMNS]
        with monkeypatch.context() as patch:
            patch.setattr(device_columns, 'DEVICE_COLUMNS', columns)
            assert widths(1) == {size}, name
    for name, facts in LINE_FACTS.items():
        for number in range(len(facts)):
            changed = [f._replace(**marked) if f is facts[number] else f for f in facts]
            with monkeypatch.context() as patch:
                patch.setattr(device, 'LINE_FACTS', {**LINE_FACTS, name: changed})
                assert widths(5) == {size}, facts[number].name


def test_ruler_names_times_that_are_complete_and_a_chosen_metric() -> None:
    sample = machine(gpu(0, 'A', gpu_utilization_percent=50), gpu(1, 'A'))
    heading = panel(sample, 120, 2, history=device_history_of(sample)).lines()[1]
    assert re.search(r'UTIL +┬60s +┬40s +┬20s +now │$', heading)
    heading = panel(
        sample, 120, 2, history=device_history_of(sample), metric='power_usage'
    ).lines()[1]
    assert re.search(r'UTIL +POWER +┬60s +┬40s +┬20s +now │$', heading)


def test_free_mig_device_does_not_fill_with_the_memory_of_its_neighbor() -> None:
    parent = SAMPLES['mig'].devices[0]
    parts = [mig(parent, i, '1c.4g.40gb', 1, 40 * GIB, 11 * GIB) for i in (0, 1)]
    running = (process(parts[0], 3, 'x', username='dave', gpu_memory_bytes=11 * GIB),)
    sample = machine(parent, *parts, processes=running)
    used, free = panel(sample, 120, history=device_history_of(sample)).lines()[3:]
    assert '11.0/40' in used
    assert re.search(' N/A +MEM ▂', used)
    assert 'MEM' not in free
    assert 'free' in free
    assert 'shared' in free
    assert '▇' not in free
    assert '  shared  ' in ''.join(lines_on(sample, 120, 30, 'h'))
    assert '  shared  ' not in ''.join(lines_on('one', 120, 30, 'h'))


@pytest.mark.parametrize('keys', [(), ('+',), ('g',), ('g', '+')])
def test_gpu_without_utilization_shows_its_memory_at_any_time_and_metric(
    keys: tuple[str, ...],
) -> None:
    assert re.search(' MEM +│$', lines_on('mig', 120, 30, *keys)[5])


def test_page_of_a_mig_device_says_that_its_utilization_is_not_measured() -> None:
    text = '\n'.join(lines_on('mig', 120, 44, 'Tab', 'Tab', 'Enter'))
    assert re.search('UTIL +N/A ', text)
    assert text.count('the driver does not measure this on MIG devices') == 1
    assert 'NVLink' not in text
    assert 'BUS ID' not in text


def test_page_of_a_lost_gpu_has_what_is_known_of_it_and_one_note_about_its_processes() -> None:
    text = '\n'.join(lines_on('lost', 120, 40, '1', 'Enter'))
    assert '╭─ H100 80GB HBM3 · driver ' in text
    assert re.search(
        r'PROBLEM +lost · Reboot.*\n.* UUID +GPU-1 .*\n.* BUS ID +00000000:0F:00.0 ', text
    )
    assert 'N/A' not in text
    assert re.search('│  The processes of GPU 1 cannot be read +│', text)
    assert re.search('on GPU 1 ─+ unreadable ─', text)
    assert text.count('unreadable') == 1
    assert 'unreadable' not in '\n'.join(lines_on('lost', 120, 40, '0', 'Enter'))


def test_page_of_a_gpu_without_nvlinks_has_no_lines_for_them() -> None:
    traffic = {f'nvlink_total_{way}_throughput_kib_per_s': None for way in ('rx', 'tx')}
    text = '\n'.join(lines_on(machine(gpu(0, 'A', **traffic)), 120, 40, '0', 'Enter'))
    assert 'PCIe RX' in text
    assert 'NVLink' not in text


def test_page_of_a_gpu_with_mig_devices_has_its_facts_and_their_names() -> None:
    text = '\n'.join(lines_on('mig', 120, 40, '0', 'Enter'))
    devices = SAMPLES['mig'].devices
    assert f'UUID        {devices[0].info.uuid} ' in text
    for part in devices[1:]:
        if part.key.physical_index == 0:
            name = f'{part.info.mig_profile} {part.info.uuid}'
            assert f'  {part.key.label}         {name} ' in text


def test_each_problem_has_its_advice_and_its_severity_on_the_page_of_a_gpu() -> None:
    broken = gpu(
        5,
        'NVIDIA H100',
        total_volatile_uncorrected_ecc_errors=3,
        remapped_rows_failure=True,
        nvlink_down_count=2,
    )
    state = pressed(state_on(machine(broken), 120, 40), '5', 'Enter')
    (row,) = state.page_devices
    assert len(row.problems) > 1
    labels = [line for line in lines_of(state) if ' PROBLEM ' in line]
    assert [words.words in line for words, line in zip(row.problems, labels)] == [True] * len(
        labels
    )
    assert len(labels) == len(row.problems)
    assert 'more' not in ' '.join(labels)
    assert ' NVLinks 16 of 18 up ' in text_of(state)


@pytest.mark.parametrize('full', [False, True])
def test_device_that_never_responded_shows_the_reason_once(full: bool) -> None:
    device = SAMPLES['lost'].devices[1]
    nameless = device.info._replace(name=None, bus_id=None)
    device = device._replace(info=nameless, status='lost', reason='GPU is lost')
    text = ' '.join(panel(machine(device), full=full).lines())
    assert text.count('GPU is lost') == full
    assert full or 'Reboot, or reset it' in text
    assert 'N/A' not in text


def test_memory_has_a_labeled_line_below_the_utilization_and_the_next_gpu() -> None:
    sample = machine(*(gpu(i, 'A', gpu_utilization_percent=100, memory_percent=50) for i in (0, 1)))
    drawn = panel(sample, 120, 6, history=device_history_of(sample)).lines()
    first, second = ([line[70:].strip(' │') for line in drawn[y : y + 6]] for y in (2, 8))
    assert [line[-1:] for line in first] == ['▆', '█', '█', '█', '▄', '']
    assert re.match('MEM +▄', first[4])
    assert second[4:] == first[4:]


def answer(*devices: DeviceSample, processes: tuple[ProcessSample, ...] = ()) -> list[str]:
    rows = device_rows(machine(*devices, processes=processes))
    return [each.forms[0] for each in first_line_items(rows)]


def test_first_line_names_free_held_busy_and_broken_gpus() -> None:
    gpus = [
        gpu(i, 'A', gpu_utilization_percent=90 if i in (0, 1) else 0, memory_used_bytes=0)
        for i in range(6)
    ]
    gpus[3] = gpus[3]._replace(remapped_rows_pending=True)
    running = tuple(
        process(gpus[i], i + 1, 'x', username='ann', gpu_memory_bytes=GiB) for i in (0, 1)
    )
    holders = (
        process(gpus[i], 9, 'x', username='carol', gpu_memory_bytes=40 * GiB)._replace(
            gpu_idle_seconds=3600.0
        )
        for i in (2, 5)
    )
    assert answer(*gpus, processes=(*running, *holders)) == [
        '1 free: GPU 4',
        '2 held: GPU 2,5 carol 1h',
        '2 busy: ann 0 1',
        '! GPU 3 pending row remapping',
    ]
    assert answer(gpus[0], processes=running[:1]) == ['no GPU free', '1 busy: ann 0']
    others = tuple(
        process(gpus[i], i + 1, 'x', username=name) for i, name in ((2, '10001'), (4, 'eve'))
    )
    sample = machine(*gpus[:3], gpus[4], processes=(*running, *others))
    forms = next(i.forms for i in first_line_items(device_rows(sample)) if 'in use' in i.forms[0])
    assert forms == (
        '2 in use: 10001 2, eve 4',
        '2 in use: 10001, eve',
        '2 in use: 10001 ..',
        '2 in use',
    )


def test_full_form_marks_a_finding_in_red() -> None:
    hot = gpu(0, 'A', temperature_celsius=93, sm_clock_mhz=1005, gpu_utilization_percent=87)
    hot = hot._replace(info=hot.info._replace(temperature_slowdown_threshold_celsius=89))
    for width in (79, 100, 160):
        buffer = panel(machine(hot), width, full=True)
        assert styles_of(buffer, 'hot') == styles_of(buffer, '93°C') == {_WARNING}
        # The mark does not replace the percentage at the bar.
        assert '\n'.join(buffer.lines()[1:]).count('87%') == 1 + (width > 79)
        assert width != 100 or buffer.lines()[5].endswith(' 87% │')
        lost_memory = hot._replace(remapped_rows_failure=True)  # worse than the heat
        buffer = panel(machine(lost_memory), width, full=True)
        assert styles_of(buffer, 'remap') == {_ERROR}
        assert styles_of(buffer, '93°C') == {_WARNING}


def test_full_form_has_columns_for_state_and_user() -> None:
    device = gpu(0, 'A', gpu_utilization_percent=87, clock_event_reasons=('sw_power_cap',))
    part = mig(gpu(1, 'A', mig_mode='Enabled'), 0, '1g.10gb', 1, 10 * GIB, GIB)
    owner = make_owner((Layer('slurm', '7'),))
    running = (
        process(device, 1, 'x', username='carol', gpu_memory_bytes=2 * MIB, owner=owner),
        process(device, 2, 'x', username='bob', gpu_memory_bytes=MIB),
        process(part, 3, 'x', username='dave', gpu_memory_bytes=MIB),
    )
    unknown = gpu(2, 'A', gpu_utilization_percent=None)
    buffer = panel(machine(device, part, unknown, processes=running), 79, full=True)
    assert styles_of(buffer, 'N/A') == {DIM}
    lines = buffer.lines()
    state, user = lines[1].index('State'), lines[1].index('User')
    assert lines[4][state:].startswith('busy ')
    assert lines[4][user:].startswith('carol +1 ')
    assert lines[7][user:].startswith('dave ')


@pytest.mark.parametrize(
    ('is_alone', 'mono', 'percent', 'expected'),
    [
        (False, False, 55.0, '▇' * 16),
        (True, False, 55.0, '████████▊███████'),
        (True, True, 55.0, '█████████░░░░░░░'),
        (False, True, 55.0, '▇▇▇▇▇▇▇▇▇░░░░░░░'),
        (False, False, 1.0, '▏' + '█' * 15),
        (False, True, 1.0, '▏' + '░' * 15),
        (True, True, 7.5, '█' + '░' * 15),
        (False, False, 0.0, '▇' * 16),
    ],
)
def test_bar_has_no_notch_no_hole_and_no_empty_track_of_a_small_value(
    is_alone: bool, mono: bool, percent: float, expected: str
) -> None:
    buffer = Buffer(16, 1)
    draw_meter(buffer, buffer.area, percent, Style(Role.MEMORY), is_alone=is_alone)
    if mono:
        draw_mono_bars(buffer)
        in_ascii = expected.translate(str.maketrans('█▇▏░', '##..'))
        assert to_ascii(buffer).lines() == [in_ascii]
    assert buffer.lines() == [expected]


@pytest.mark.parametrize(
    ('width', 'state'),
    [
        (40, 'remap'),
        (80, 'busy remap'),
        (82, 'busy remap'),
        (100, 'busy remap'),
        (160, 'busy remap'),
    ],
)
def test_word_of_a_problem_is_shown_at_any_width(width: int, state: str) -> None:
    wrong = gpu(0, 'A', gpu_utilization_percent=50, remapped_rows_pending=True)
    sample = machine(wrong, processes=(process(wrong, 1, 'x'),))
    assert f'0! {state} ' in panel(sample, width, history=device_history_of(sample)).lines()[2]
    if width >= 82:
        full = panel(sample, width, full=True).lines()[4]
        assert '│ busy remap ' in full


def test_no_column_is_narrower_on_a_wider_screen() -> None:
    sample = SAMPLES['h100x8']
    widths = list_widths(sample.processes, group_by_job(sample.processes, Sort()))
    processes = [COLUMNS_BY_NAME[name] for name in DEFAULT_COLUMNS]
    for columns, wanted in (
        (DEVICE_COLUMNS, device_widths(device_rows(sample))),
        (processes, {**widths, 'owner': 30}),
    ):
        before: dict[str, int] = {}
        for width in range(40, 201):
            placed = place(columns, Cells(0, width), wanted)
            now = {each.column.name: each.width for each in placed if each.column.sizes[-1]}
            assert all(now.get(name, 0) >= cells for name, cells in before.items()), width
            before = now
    for width in range(80, 201):
        assert 'busy hot' in text_of(state_on('h100x8', width, 24)), width


@pytest.mark.parametrize('name', ['h100x8', 'mig', 'one'])
def test_histories_do_not_touch_the_frame_of_a_narrow_screen(name: str) -> None:
    for width in range(55, 80):
        ruler = next(line for line in lines_on(name, width, 30) if 'now' in line)
        assert ruler.endswith('now │'), width


def test_first_line_keeps_the_problem_before_who_is_busy() -> None:
    wrong = gpu(1, 'A', gpu_utilization_percent=50, remapped_rows_pending=True)
    running = (process(wrong, 1, 'x', username='ann'),)
    rows = device_rows(machine(gpu(0, 'A'), wrong, processes=running))
    for room in (24, 30):
        texts = fit([*first_line_items(rows), Item(('03:04',), rank=5)], room, 3)
        assert '! GPU 1 remap' in texts, texts


def test_facts_are_below_their_columns_and_those_that_a_model_lacks_are_left_out() -> None:
    first = gpu(0, 'A', memory_utilization_percent=None, memory_temperature_celsius=50)
    second = gpu(1, 'B', memory_utilization_percent=9, fan_speed_percent=56)
    second = second._replace(memory_temperature_celsius=None)
    second = second._replace(info=second.info._replace(temperature_slowdown_threshold_celsius=89))
    lines = panel(machine(first, second), 120, 5).lines()
    state, user, util = (lines[1].index(title) for title in ('STATE', 'USER', 'UTIL'))
    assert lines[3][state:].startswith('40°C ')
    assert [lines[y].strip('│ ') for y in (4, 5, 6)] == ['mem 50°C', '', '']
    assert lines[8][state:].startswith('40/89°C ')
    assert lines[8][user:].startswith('110/700 W ')
    assert lines[8][: util + 4].endswith(' 1410 MHz')
    assert lines[9].split() == ['│', 'fan', '56%', 'mem', 'bw', '9%', '│']
    assert lines[9].index('mem bw') == user


def test_problem_is_next_to_the_facts_and_the_words_below_it_before_further_facts() -> None:
    good = gpu(0, 'A', clock_event_reasons=('sw_power_cap',), memory_used_bytes=9 * GiB)
    wrong = gpu(1, 'A', remapped_rows_pending=True, memory_used_bytes=9 * GiB)
    running = tuple(
        process(wrong, pid, 'x', username=user, gpu_memory_bytes=pid * GiB)
        for pid, user in ((2, 'ann'), (4, 'bob'))
    )
    for lines, width in ((2, 100), (3, 120), (4, 140), (4, 220), (6, 140)):
        drawn = panel(machine(good, wrong, processes=running), width, lines).lines()
        job, state = drawn[1].index('JOB'), drawn[1].index('STATE')
        assert drawn[3][job:].startswith('at its power limit ')
        assert drawn[lines + 3][job:].startswith('pending row remapping ')
        below = [line[state:].strip('│ ') for line in drawn[lines + 4 :]]
        assert lines < 3 or 'reset -i 1' in below[0]
        assert lines < 6 or below[0].endswith('-i 1. Running work is not affected')
        assert lines < 6 or below[1] == 'also ann 2.0 GiB'
        assert lines < 4 or not below[-1]
    drawn = panel(machine(good, wrong), 140, 6).lines()
    assert 'mem 65°C' in drawn[4]
    assert drawn[11] == drawn[4]


def test_number_of_other_problems_is_not_that_of_the_errors() -> None:
    wrong = gpu(
        0, 'A', total_volatile_uncorrected_ecc_errors=3, clock_event_reasons=('hw_slowdown',)
    )
    (row,) = device_rows(machine(wrong))
    evidence = '3 uncorrected ECC errors since the driver was loaded'
    assert row.problem_forms == (
        f'uncorrected memory errors: {evidence} · 1 more problem',
        'uncorrected memory errors · 1 more problem',
        'uncorrected memory errors · 1 more',
        'uncorrected memory errors',
    )


def test_fault_comes_before_the_advice_and_is_never_cut() -> None:
    wrong = gpu(0, 'A', total_volatile_uncorrected_ecc_errors=3, power_usage_mw=1000)
    for width, lines in ((40, 2), (40, 3), (50, 3), (50, 5)):
        text = ' '.join(
            line.strip('│ ') for line in panel(machine(wrong), width, lines).lines()[2:]
        )
        assert text.count('uncorrected memory errors') == text.count('uncor') == 1
        assert text.index('uncor') < (text + 'Results').index('Results')
        assert lines < 5 or 'Results' in text
    for lines in (3, 4):  # with one line, the reason is left out, not the command
        text = ' '.join(line.strip('│ ') for line in panel(machine(wrong), 140, lines).lines())
        assert text.endswith(' Stop its processes, then reset it: nvidia-smi --gpu-reset -i 0')
        assert ('Results may be wrong. ' in text) == (lines > 3)


def test_command_of_advice_is_whole_in_its_line_or_left_out_on_all_screens() -> None:
    wrong = machine(gpu(0, 'A', total_volatile_uncorrected_ecc_errors=3, nvlink_down_count=2))
    command = 'nvidia-smi --gpu-reset -i 0'
    drawn = []
    for width in range(20, 201, 9):
        sizes = (12, 24, 40)
        drawn += [
            line
            for height in sizes
            for keys in ((), ('!',), ('0', 'Enter'))
            for line in lines_on(wrong, width, height, *keys)
        ]
        drawn += [line for lines in (1, 2, 3, 4) for line in panel(wrong, width, lines).lines()]
    for line in drawn:
        rest = line.replace(command, '').replace('nvidia-smi nvlink --status', '')
        assert not re.search(r'\bnv|--[a-z.]|-i\b', rest), line
    assert any(command in line for line in drawn)


def test_unknown_user_and_unknown_severity_are_no_guess_and_no_warning() -> None:
    unreadable = gpu(3, 'A', gpu_utilization_percent=50)
    problem = Problem(unreadable.key, 'temperature', 'Unknown Error', 'error')
    sample = machine(unreadable, problems=(problem,))
    (row,) = device_rows(sample)
    assert (row.mark, row.mark_style) == ('unreadable', PLAIN)
    forms = next(item.forms for item in first_line_items([row]) if 'busy' in item.forms[0])
    assert forms == ('1 busy: unknown 3', '1 busy: unknown', '1 busy')
    assert re.match('│ +3! unreadable +unknown ', panel(sample).lines()[2])


# The process panel: columns, styles and texts of its rows, and processes folded by job


JOB = make_owner((Layer('session', '3'), Layer('slurm', '42', detail='0')))
DIM = Style(Role.DIM)


def process_panel(
    sample: Sample,
    width: int = 79,
    columns: tuple[str, ...] = DEFAULT_COLUMNS,
    room: int = 999,
    **fields: Any,
) -> Buffer:
    blocks = group_by_job(sample.processes, Sort())
    lines = fold(blocks, room)
    listed = ProcessView(
        lines,
        columns,
        list_widths(sample.processes, blocks),
        len(sample.processes),
        len(sample.processes),
        title_of(f'Processes {len(sample.processes)}', len(sample.processes), len(blocks)),
    )._replace(**fields)
    buffer = Buffer(width, 3 + max(1, len(lines)))
    draw_processes(buffer, buffer.area, listed, sample)
    return buffer


def style_of(buffer: Buffer, text: str) -> Style:
    return next(
        style for y in range(buffer.height) for _, piece, style in buffer.row(y) if text in piece
    )


def ranks(*, owner: Owner | None = JOB) -> tuple[Sample, tuple[ProcessSample, ...]]:
    """Return four GPUs with a job on them, and another process on the first."""
    gpus = [gpu(i, 'A') for i in range(4)]
    rows = [
        process(each, 100 + i, f'python3 train.py --bf16 --rank {i}', username='ann', owner=owner)
        for i, each in enumerate(gpus)
    ]
    rows = [row._replace(gpu_memory_bytes=(i + 1) * GIB) for i, row in enumerate(rows)]
    other = process(gpus[0], 7, 'vllm', username='bob', gpu_memory_bytes=9 * GIB)
    return machine(*gpus, processes=(*rows, other)), (*rows, other)


def test_keys_fold_tag_and_signal_a_job() -> None:
    sample, rows = ranks()
    *_, other = rows
    own = tuple(row._replace(is_own=True) for row in rows)
    view = ViewState(hints=True)
    state = pressed(state_of(sample._replace(processes=own), 120, 60, view), 'Down')
    assert state.job == ('ann', 'slurm 42')
    assert after(pressed(state, 'Esc'), click_hit(state, 'job', state.job)).job == state.job
    folded = pressed(state, 'Enter')
    assert ['▸' in line for line in lines_of(folded)].count(True) == 1
    assert 'Enter Fold ' in lines_of(state)[-1]
    assert 'Enter Unfold ' in lines_of(folded)[-1]
    assert lines_of(pressed(folded, 'Enter')) == lines_of(state)
    tagged = pressed(state, 'Space')
    assert tagged.main.tagged == {row.key for row in rows[:4]}
    assert tagged.selected == other.key
    assert any(' · 4 tagged ' in line for line in lines_of(tagged))
    assert pressed(tagged, 'Space').main.tagged == {row.key for row in rows}
    assert pressed(tagged, 'Down', 'Home', 'Space').main.tagged == frozenset()
    foreign = sample._replace(processes=tuple(row._replace(is_own=False) for row in rows))
    others = pressed(state_of(foreign, 120, 60, ViewState()), 'Down')
    assert texts(press(others, 'F9')[0]) == ['This job belongs to ann; tag it to signal it anyway']
    only = pressed(state_of(sample._replace(processes=own[:4]), 120, 60, ViewState()), 'Down')
    assert pressed(only, 'Space', 'Space').main.tagged == frozenset()
    dialog = press(state, 'T')[0].dialog
    assert dialog is not None
    assert {target.key for target in dialog.targets} == {row.key for row in rows[:4]}


def test_jobs_are_sorted_by_their_sums_and_a_session_is_no_job() -> None:
    sample, (*ranked, other) = ranks(owner=make_owner((Layer('session', '3'),)))
    large = other._replace(key=other.key._replace(pid=8), username='eve', gpu_memory_bytes=20 * GIB)
    state = state_of(sample._replace(processes=(*ranked, other, large)), 120, 60, ViewState())
    by_memory = [('ann', ''), *(row.key for row in ranked[::-1]), other.key]
    lines = process_lines(pressed(state, 'o', 'g'))
    assert [line.key for line in lines] == [large.key, *by_memory]
    lines = process_lines(pressed(state, 'o', 'G'))
    assert (lines[0].key, lines[-1].key) == (other.key, large.key)


def test_environment_needs_one_process_of_a_job() -> None:
    state = pressed(state_of(ranks()[0], 120, 60, ViewState()), 'Down', 'e')
    assert state.screen is Screen.MAIN
    assert state.notices[-1].text == 'Select one of its processes'
    assert pressed(state, 'Down', 'e').environ.pid == 100


def test_jobs_unfold_as_far_as_there_is_room_those_with_idle_memory_first() -> None:
    device = gpu(0, 'A')
    sizes = ((1, 'ann', 0.0, 9), (2, 'ann', 0.0, 9), (3, 'bob', 0.0, 9), (4, 'bob', 7200.0, 1))
    rows = [
        process(
            device,
            pid,
            'x',
            username=name,
            owner=Owner(),
            gpu_idle_seconds=idle,
            gpu_memory_bytes=count * GiB,
        )
        for pid, name, idle, count in sizes
    ]
    sample = machine(device, processes=tuple(rows))
    for room, shown in ((2, [0, 0]), (3, [0, 0]), (4, [0, 2]), (5, [0, 2]), (6, [2, 2])):
        lines = fold(group_by_job(sample.processes, Sort()), room)
        names = [line.process.username for line in lines if not line.is_job]
        assert [names.count('ann'), names.count('bob')] == shown
    for room in (3, 6):  # folded or not, a job works as long as one of its processes does
        panel = process_panel(sample, room=room)
        assert style_of(panel, '10.0') == PLAIN
    assert style_of(panel, '2h') == WARNING
    held = sample._replace(processes=tuple(row._replace(gpu_idle_seconds=7200.0) for row in rows))
    panel = process_panel(held, room=2)
    assert style_of(panel, '10.0') == style_of(panel, '2h') == WARNING
    # What the user folded or unfolded stays when another job starts.
    state = pressed(state_on(sample, 80, 40, view=ViewState()), 'Down', 'Enter')
    others = tuple(process(device, pid, 'x', username=f'u{pid}') for pid in range(10, 90))
    for processes in (sample.processes, (*sample.processes, *others)):
        state = arrived(state, sample._replace(processes=processes))
        assert [line[:2] for line in lines_of(state) if ' ann ' in line and 'procs' in line] == [
            '│▸'
        ]


def test_selected_process_of_a_job_that_is_folded_for_want_of_room_selects_the_job() -> None:
    sample, rows = ranks()
    state = pressed(state_of(sample, 120, 60, ViewState()), 'Down', 'Down', 'Down')
    assert state.selected == rows[1].key
    assert after(state, Resized(80, 14)).job == ('ann', 'slurm 42')


def test_job_counts_each_process_once_and_its_processes_show_what_differs() -> None:
    sample, (first, second, *others) = ranks()
    first = first._replace(owner=make_owner((Layer('slurm', '42', detail='1'),)))
    twin = first._replace(key=first.key._replace(device=second.key.device))
    _, _, heading, *lines, _, _ = process_panel(
        sample._replace(processes=(first, twin, second, *others)), 120
    ).lines()
    assert re.match(r'│▾ 0-3 ann +slurm 42 +4 procs +11\.0 .* python3 train.py --bf16 ', heading)
    assert all('  --rank ' in line for line in lines[:4])
    assert [line.split()[1] for line in lines] == ['0', '1', '1', '2', '3']
    assert not re.search('ann|slurm|3h|train', ' '.join(lines))
    sessions = (first._replace(owner=make_owner((Layer('session', f'{i}'),))) for i in (8, 9))
    rows = [each._replace(key=each.key._replace(pid=i)) for i, each in enumerate(sessions)]
    rows.append(others[-1])
    _, _, heading, *lines, _ = process_panel(sample._replace(processes=tuple(rows)), 120).lines()
    assert 'session' not in heading
    assert ['session 8' in line for line in lines] == [True, False, False]


def test_zombie_leaves_the_name_of_its_job_and_of_the_others_short() -> None:
    sample, (first, second, *others) = ranks()
    first = first._replace(status='zombie', name='python3')
    rows = (first, second, *others)
    _, _, heading, *lines, _, _ = process_panel(sample._replace(processes=rows), 120).lines()
    assert '  python3 train.py --bf16 ' in heading
    assert ['  python3 <defunct> ' in line for line in lines] == [True, False, False, False]
    assert ['  --rank ' in line for line in lines] == [False, True, True, True]
    heading = process_panel(sample._replace(processes=(first, second)), 120).lines()[2]
    assert '  python3 train.py --bf16 --rank 1 ' in heading
    script = second._replace(command='python3 short.py')
    rows = (first, script, *others)
    _, _, heading, *lines, _, _ = process_panel(sample._replace(processes=rows), 120).lines()
    assert '  python3 short.py, train.py ' in heading
    assert ['  --rank ' in line for line in lines] == [False, False, True, True]


def test_job_shows_the_oldest_start_and_the_time_that_its_processes_share() -> None:
    sample, rows = ranks()
    ages = [row._replace(running_time_seconds=60.0 * row.key.pid) for row in rows]
    ages = [row._replace(key=row.key._replace(start_time=1e9 + row.key.pid)) for row in ages]
    oldest = COLUMNS_BY_NAME['start'].text(Line(ages[3]), 12)
    shown = process_panel(sample._replace(processes=tuple(ages)), 120, ('gpu', 'start', 'command'))
    assert f'▾ 0-3 {oldest:>12}  ' in shown.lines()[2]
    # Times are left out only if all processes have that of the job.
    for times, expected in (((9, 9, 5, 9), ['9h', '9h', '9h', '5h', '9h']), ((9,) * 4, ['9h'])):
        aged = [row._replace(running_time_seconds=3600.0 * n) for row, n in zip(rows, times)]
        shown = process_panel(sample._replace(processes=tuple(aged)), 120, ('gpu', 'time'))
        assert re.findall(r'\d+h', '\n'.join(shown.lines())) == expected


def test_job_is_named_before_its_command_if_its_column_has_no_room() -> None:
    sample, _ = ranks()
    assert ' slurm 42 · train..' in process_panel(sample, 60, room=1).lines()[2]
    assert '·' not in process_panel(sample, 120, room=1).lines()[2]
    assert ' 68 procs ' in process_panel(SAMPLES['processes200'], 80, room=1).lines()[2]


def test_title_counts_jobs_if_a_process_belongs_to_one() -> None:
    sample, rows = ranks()
    alone = tuple(row._replace(owner=None) for row in rows)
    for processes, title in ((rows, ' Processes 5 in 2 jobs '), (alone, ' Processes 5 ')):
        state = state_of(sample._replace(processes=processes), 120, 60, ViewState())
        assert title in text_of(state)


def test_only_the_name_of_the_own_user_is_bold() -> None:
    sample, _ = ranks()
    for name in ('ann', 'bob', 'carol'):
        buffer = process_panel(sample._replace(host=sample.host._replace(username=name)), 120)
        spans = [span for y in range(2, buffer.height) for span in buffer.row(y)]
        bold = {text for _, text, style in spans if style.bold and style.role is not Role.KEY}
        assert bold == {name} - {'carol'}


def test_sums_of_a_job_are_unknown_if_a_part_is_and_limited_to_a_whole_device() -> None:
    device = gpu(0, 'A')
    one = process(device, 1, 'x', gpu_sm_utilization_percent=80, host_memory_bytes=GIB)
    one = one._replace(gpu_idle_seconds=900.0, is_own=True, is_outdated=True, gpu_instance_id=7)
    two = one._replace(
        key=one.key._replace(pid=2),
        is_own=False,
        is_outdated=False,
        gpu_idle_seconds=0.0,
        running_time_seconds=9e9,
    )
    elsewhere = two._replace(key=two.key._replace(device=gpu(1, 'A').key))
    total = total_of((one, two, elsewhere))
    assert (total.gpu_sm_utilization_percent, total.gpu_memory_bytes) == (90, 30 * GIB)
    assert (total.host_memory_bytes, total.running_time_seconds) == (2 * GIB, 9e9)
    assert (total.gpu_idle_seconds, total.gpu_memory_percent) == (0.0, None)
    assert total.gpu_instance_id is None  # not a sum
    assert not total.is_own
    assert not total.is_outdated
    unknown = one._replace(gpu_idle_seconds=None, gpu_memory_bytes=None, cpu_percent=None)
    total = total_of((one, unknown, two))
    assert (total.gpu_idle_seconds, total.gpu_memory_bytes, total.cpu_percent) == (None,) * 3


def test_commands_have_room_before_memory_and_its_bandwidth() -> None:
    sample, _ = ranks()
    for width in range(79, 161):
        heading = process_panel(sample, width, room=1).lines()[1]
        room = width - heading.index('COMMAND') - len(' │')
        assert '%HOST' not in heading or room >= 34
        assert '%BW' not in heading or room >= 24
    assert '%HOST' in heading


def test_lists_scroll_to_the_last_process_and_to_the_end_of_its_command() -> None:
    state = state_of(SAMPLES['processes200'], 80, 24)
    last = str(state.lists.rows[-1].key.pid)
    assert last not in '\n'.join(lines_of(state))
    (line,) = [line for line in lines_of(pressed(state, 'End', '$')) if last in line]
    assert '..' in line
    assert line.endswith(' 200 │')
    title = lines_of(pressed(state, 'o', 'm'))
    assert any(' by %HOST▼ ' in line for line in title)
    assert not any(' by %CPU' in line for line in lines_of(pressed(state, 'o', 'c')))


def test_processes_that_exited_or_are_no_longer_listed_are_dim() -> None:
    device = gpu(0, 'A', current_driver_model='WDDM')
    rows = (
        process(device, 1, 'x', username='ann', gpu_memory_bytes=None),
        process(device, 2, 'x', username='bob', status='gone'),
        process(device, 3, 'x', username='eve', is_outdated=True),
    )
    buffer = process_panel(machine(device, processes=rows), 120)
    assert 'WDDM' in buffer.lines()[2]
    assert [style_of(buffer, row.username or '').role for row in rows] == [
        Role.TEXT,
        Role.DIM,
        Role.DIM,
    ]


def test_idle_memory_is_amber() -> None:
    device = gpu(0, 'A')
    rows = tuple(
        process(device, i, 'x', username=name, gpu_memory_bytes=size)._replace(
            gpu_idle_seconds=idle
        )
        for i, name, idle, size in (
            (1, 'ann', 3600.0, GIB),
            (2, 'bob', 60.0, GIB),
            (3, 'mps', 7200.0, GIB // 2 - 1),
            (4, 'eve', 25200.0, GIB // 2),
            (5, 'kim', 32400.0, None),
        )
    )
    buffer = process_panel(machine(device, processes=rows), 120)
    assert [style_of(buffer, idle).role for idle in ('1h', '2h', '7h', '9h')] == [
        Role.WARNING,
        Role.TEXT,
        Role.WARNING,
        Role.TEXT,
    ]
    assert {style.role for style in styles_of(buffer, '1.0')} == {Role.WARNING, Role.TEXT}
    assert style_of(buffer, '1m').role is Role.TEXT


def test_machine_that_reports_no_processes_has_a_dim_note() -> None:
    sample = SAMPLES['h100x8']._replace(processes=())
    problems = tuple(Problem(device.key, PROCESSES, 'no list') for device in sample.devices)
    row = process_panel(sample._replace(problems=problems)).row(0)
    assert 'processes are not reported' in [text for _, text, style in row if style == DIM]
    row = process_panel(sample._replace(problems=problems[1:])).row(0)
    assert any('unreadable' in text for _, text, style in row if style != DIM)


@pytest.mark.parametrize(
    ('fields', 'wsl', 'message'),
    [
        ({'lines': (), 'total': None}, '', 'Looking for processes'),
        ({'lines': (), 'total': 0}, 'Ubuntu', 'No process is running on a GPU (in WSL)'),
        ({'lines': (), 'total': 7}, '', 'No match: 7 processes hidden by the filter'),
        (
            {'lines': (), 'total': 7, 'limits': Limits(device=DeviceKey(3))},
            '',
            'No process is running on GPU 3',
        ),
        (
            {'lines': (), 'total': 7, 'limits': Limits(ProcessFilter(pids=frozenset({1})))},
            '',
            'No match: 7 processes hidden by -p 1',
        ),
    ],
)
def test_empty_list_shows_the_reason(fields: dict[str, Any], wsl: str, message: str) -> None:
    sample = SAMPLES['no-gpu']
    sample = sample._replace(host=sample.host._replace(wsl=wsl))
    lines = process_panel(sample, **fields).lines()
    # There are no headings without any process; they stay while a filter hides all.
    assert lines[1 + ('PID' in lines[1])] == f'│  {message}'.ljust(78) + '│'
    assert ('PID' in lines[1]) == bool(fields['total'])
    silent = process_panel(SAMPLES['lost']._replace(processes=()))
    assert 'No process is running on the GPUs that respond' in silent.lines()[1]


# The main screen: how its panels share the rows, what stays in its place, and properties of any main screen


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
        panel = main_layout(rows, ViewState(), 100, height)
        assert panel.devices + panel.host + panel.processes == height - 1
        assert panel.processes >= height // 3
        state = state_on(sample, 100, height)
        lines = lines_of(state)
        assert any('free' in line for line in lines[2 : 1 + panel.devices])
        assert 'free' in lines[0]


def test_mig_devices_grow_once_whole_gpus_have_all_their_lines() -> None:
    divided, part, *_, whole = rows = device_rows(SAMPLES['mig'])
    grown = []
    for height in range(24, 90):
        panel = main_layout(rows, ViewState(), 120, height)
        lines = tuple(lines_of_row(row, panel.lines) for row in (divided, part, whole))
        grown += [lines] if lines not in grown else []
    assert grown == [(3, 1, 3), (3, 1, 4), (3, 1, 5), (3, 1, 6), (3, 2, 6)]


@given(
    st.sampled_from(['h100x8', 'one', 'processes200', 'mig', 'workstation', 'lost']),
    st.tuples(st.integers(40, 260), st.integers(8, 80)),
    st.lists(
        st.sampled_from(
            ['\\ b Enter', '\\ ~', '0', '1', 'Down', '/ a', 'Esc', 'job', 'z', '+', 'g']
        ),
        max_size=6,
    ),
)
@settings(max_examples=60)
def test_panels_stay_while_a_user_filters_or_selects_and_while_jobs_start_and_end(
    name: str, size: tuple[int, int], steps: list[str]
) -> None:
    sample = SAMPLES[name]
    state = state_on(sample, *size, view=ViewState())
    before = layout_of(state)
    for number, step in enumerate(steps):
        if step == 'job':
            processes = sample.processes if number % 2 else sample.processes[:-1]
            state = arrived(state, sample._replace(processes=processes))
        else:
            state = pressed(state, *step.split())
        assert layout_of(state)[:3] == before[:3]


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


def test_columns_fit_a_filter_or_page_and_stay_while_it_is_typed_and_while_jobs_end() -> None:
    gpus = [gpu(i, 'A') for i in (0, 1)]
    short, long = (make_owner((Layer('slurm', '7' * count),)) for count in (5, 20))
    brief = process(gpus[0], 1, 'x', username='bob', owner=short)
    others = process(gpus[1], 2, 'x', username='alice', owner=long)
    sample = machine(*gpus, processes=(brief, others))

    def heading(state: AppState) -> str:
        return next(line for line in lines_of(state) if ' PID ' in line)

    state = state_on(sample, 120, 40)
    typed = pressed(state, '\\', *'user=bob')
    wide, filtered = heading(state), pressed(typed, 'Enter')
    narrow = heading(filtered)
    assert heading(typed) == wide
    assert narrow.index(' PID ') < wide.index(' PID ')
    assert heading(pressed(state, 'Tab', 'Enter')) == narrow
    assert heading(pressed(filtered, '\\', 'Ctrl-U')) == narrow
    assert heading(pressed(filtered, 'Esc')) == wide
    longer = brief._replace(owner=long)
    state = arrived(filtered, sample._replace(processes=(longer, others)))
    assert heading(state).index(' PID ') > narrow.index(' PID ')
    assert heading(arrived(state, sample)) == heading(state)


@pytest.mark.parametrize(('width', 'lines'), [(100, 1), (120, 2)])
def test_job_that_is_cut_ends_next_to_the_bar_and_the_bar_next_to_the_memory(
    width: int, lines: int
) -> None:
    owner = make_owner((Layer('slurm', '7' * 40),))
    gpus = [gpu(i, 'A', memory_used_bytes=70 * GIB) for i in (0, 1)]
    running = (process(gpus[0], 1, 'x', gpu_memory_bytes=GIB, owner=owner),)
    sample = machine(*gpus, processes=running)
    row = panel(sample, width, lines, history=device_history_of(sample)).lines()[2]
    assert re.search(r'slurm 7+\.\. [▇█]\S* 70\.0/80 ', row)


def test_low_screen_shows_gpus_with_problems_held_ones_and_the_selected_one() -> None:
    devices = [gpu(i, 'A', gpu_utilization_percent=90, memory_used_bytes=GIB) for i in range(9)]
    devices[6] = devices[6]._replace(remapped_rows_pending=True)
    devices[5] = devices[5]._replace(gpu_utilization_percent=0)
    held = process(devices[5], 1, 'x', gpu_memory_bytes=GIB)._replace(gpu_idle_seconds=3600.0)
    sample = machine(*devices, processes=(held,))
    for keys, expected, arrows in (
        ((), '0 1 2 5 6!', '▼'),
        (('Tab',) * 4, '2 3 4 5 6!', '▲▼'),
        (('Tab',) * 9, '4 5 6! 7 8', '▲'),
    ):
        lines = lines_of(pressed(state_on(sample, 40, 12), *keys))
        assert ' '.join(line.strip('│► ').split()[0] for line in lines[3:8]) == expected
        assert f'5 of 9 {arrows} ' in lines[1]


def test_low_screen_has_hints_in_place_of_its_border_and_room_for_another_gpu() -> None:
    lines = lines_of(state_on('h100x8', 40, 12, view=ViewState(hints=True)))
    assert all(line.split()[1].startswith(str(gpu)) for gpu, line in enumerate(lines[3:7]))
    assert lines[7].split()[1:5] == ['7', 'free', '0.5/80', '0%']
    assert lines[-1].split()[1] == 'Help'


def test_narrow_temperature_leaves_a_space_before_the_power() -> None:
    gpu = SAMPLES['one'].devices[0]
    limits = gpu.info._replace(temperature_slowdown_threshold_celsius=101)
    gpu = gpu._replace(info=limits, temperature_celsius=65, power_limit_mw=450000)
    lines = panel(machine(gpu), 40, lines=2).lines()
    assert '65/101°C 245/450 W ' in lines[3]


def test_host_without_values_says_so() -> None:
    sample = SAMPLES['h100x8']
    nothing = sample.host._replace(cpu_percent=None, memory_used_bytes=None)
    text = '\n'.join(lines_of(state_on(sample._replace(host=nothing), 120, 60)))
    assert 'CPU and memory of this host are not reported' in text
    assert 'not reported' not in '\n'.join(lines_of(state_on(sample, 120, 60)))


def test_core_that_is_fully_used_is_seen_among_many() -> None:
    host = SAMPLES['h100x8'].host._replace(cpu_core_percents=(0.0,) * 200 + (100.0,))
    lines = lines_on(SAMPLES['h100x8']._replace(host=host), 120, 60)
    (cores,) = [line for line in lines if ' CORES ' in line]
    assert cores.partition(' CPU ')[0].rstrip().endswith('▁▇')


@pytest.mark.parametrize(
    ('height', 'host', 'lines'), [(30, 1, 1), (40, 1, 2), (60, 3, 4), (80, 3, 6)]
)
def test_host_has_histories_if_everything_else_has_room(height: int, host: int, lines: int) -> None:
    panel = layout_of(state_on('h100x8', 120, height, view=ViewState()))
    assert (panel.host, panel.lines) == (host, lines)
    for height in range(9, 60, 3):
        panel = layout_of(state_on('h100x8', 120, height, view=ViewState()))
        assert panel.host < 2 or panel.listed >= 16


def test_memory_of_a_lost_gpu_was_a_size() -> None:
    before = SAMPLES['h100x8'].devices[0]
    lost = DeviceSample(before.key, before.info, 'lost', 'lost')
    line = device_line(lost, METRICS_BY_NAME['memory_percent'])
    assert (line.now, line.format(50.0), line.format(line.limit)) == (None, '40.0 GiB', '80.0 GiB')


@pytest.mark.parametrize(
    ('width', 'is_asleep'), [(48, False), (40, True), (100, True), (159, True)]
)
def test_ruler_of_the_host_is_above_both_of_its_histories(width: int, is_asleep: bool) -> None:
    sample = SAMPLES['h100x8']
    if is_asleep:
        only = DeviceSample(sample.devices[0].key, sample.devices[0].info, 'asleep', 'asleep')
        sample = sample._replace(devices=(only,), processes=())
    heights = set()
    for height in range(9, 81, 3):
        state = state_on(sample, width, height, view=ViewState())
        rows = layout_of(state).host
        lines = lines_of(state, history_of(sample))
        start = next((y for y, line in enumerate(lines) if line.startswith('├─ dgx01')), height)
        below = [line[1:-1] for line in lines[start + 1 : start + rows]]
        heights.add(rows)
        if below:
            each = len(below[1:]) // 2
            labels = [line.split()[0] if line.strip() else '' for line in below]
            assert below[0].rstrip().endswith('now')
            assert labels[0].startswith('┬')
            assert [labels[each], labels[2 * each]] == ['CPU', 'MEM']
    assert heights >= {1, 4}
    assert max(heights) <= 12


@pytest.mark.parametrize('mono', [False, True])
@pytest.mark.parametrize('keys', ['Down', 'Tab', 'Tab Down Down'])
def test_selected_row_keeps_the_styles_of_its_cells(keys: str, *, mono: bool) -> None:
    devices = [gpu(i, 'A', memory_percent=33 * i) for i in range(3)]
    held = process(devices[0], 1, 'x')._replace(gpu_idle_seconds=3600.0)
    sample = machine(*devices, processes=(held,))
    state = state_on(sample, 100, 30, view=ViewState())._replace(colors=8 if mono else 256)
    before, after = (draw_frame(each, History()) for each in (state, pressed(state, *keys.split())))

    def cells(buffer: Buffer, y: int) -> list[tuple[str, Style]]:
        return [
            (char, style._replace(back=None))
            for _, text, style in buffer.row(y)
            for char in text
            if char != ' '
        ]

    (y,) = (y for y in range(30) if any(style.back is Role.SELECTED for *_, style in after.row(y)))
    assert cells(after, y) == cells(before, y)
    assert not mono or Role.TRACK not in {style.back for *_, style in after.row(y)}
    if keys == 'Down':
        assert _WARNING._replace(back=Role.SELECTED) in [style for *_, style in after.row(y)]
