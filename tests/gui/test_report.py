"""Reports: a line for each GPU, jobs, and findings."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.console.options import Options
from nvitop.gui.model.choices import ProcessFilter, Sort, ViewState
from nvitop.gui.model.format import format_timestamp
from nvitop.gui.report import draw_report, filter_of
from nvitop.gui.state.orders import list_processes
from nvitop.gui.view.report_lines import brief_finding, finding_lines
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.types import Sample
from tests.gui.goldens import assert_golden
from tests.gui.samples import SAMPLES, gpu, machine, process


def report(sample: Sample, width: int = 100, **fields: Any) -> list[str]:
    return draw_report(sample, width, version='1.0.0', **fields).lines()


@pytest.mark.parametrize(('scenario', 'width'), [('h100x8', 80), ('lost', 120)])
def test_reports_match_their_goldens(scenario: str, width: int) -> None:
    buffer = draw_report(SAMPLES[scenario], width, ViewState(), version='1.0.0')
    assert_golden(f'report-{scenario}-{width}', buffer)


def test_report_has_the_words_that_scripts_look_for() -> None:
    for width, view in ((40, ViewState()), (100, ViewState()), (100, ViewState(mode='full'))):
        text = '\n'.join(report(SAMPLES['h100x8'], width, view=view))
        for words in ('NVITOP 1.0.0', 'Driver Version: ', 'CUDA Driver Version: ', 'Processes:'):
            assert words in text
    assert '│ Fan  Temp  Perf  Pwr:Usage/Cap│' in text


@pytest.mark.parametrize('scenario', ['h100x8', 'lost', 'mig'])
def test_lines_of_the_classic_table_meet_below_the_answer(scenario: str) -> None:
    for width in (79, 90, 123, 160):
        lines = report(SAMPLES[scenario], width, view=ViewState(mode='full'))
        assert lines[0] == report(SAMPLES[scenario], width)[0]
        table = lines[next(y for y, line in enumerate(lines) if line[0] == '╭') :]
        pairs = [*zip(table, table[1:])]
        # Only the host and the processes below it are two titles in a row.
        assert sum(line[0] in '╭├' and below[0] in '├' for line, below in pairs) == 1
        for line, below in pairs:
            down, up = vertical_lines(line, '│┬┼├┤╭╮'), vertical_lines(below, '│┴┼├┤╰╯')
            for x in down.keys() & up.keys():
                assert down[x] == up[x], f'{line}\n{below}'


def vertical_lines(line: str, joining: str) -> dict[int, bool]:
    """Return whether a vertical line goes on at each column, except below titles, which hide it."""
    return {
        x: char in joining for x, char in enumerate(line) if line[0] == '│' or char in '│─├┤┬┴┼╭╮╰╯'
    }


def test_first_line_is_not_cut_at_any_width() -> None:
    for width in range(40, 120, 2):
        assert len(report(SAMPLES['h100x8'], width)[0]) < width


def test_report_of_8_gpus_and_8_processes_fits_24_lines_with_the_prompt() -> None:
    sample = SAMPLES['h100x8']
    assert len(sample.devices) == len(sample.processes) == 8
    lines = report(sample, 80, height=24)
    assert len(lines) < 24
    assert 'free: GPU ' in lines[0]
    # A report that cannot fit keeps all words.
    assert report(SAMPLES['lost'], 80, height=10)[-1] == report(SAMPLES['lost'], 80)[-1]


def test_spare_lines_are_for_whole_findings_and_then_for_the_processes_of_jobs() -> None:
    gpus = [
        gpu(i, 'A', recovery_action=what) for i, what in enumerate(('reset', 'drain and reset'))
    ]
    owner = make_owner((Layer('slurm', '42'),))
    rows = [process(gpus[0], pid, f'train --rank {pid}', owner=owner) for pid in (7, 8, 9)]
    sample = machine(*gpus, processes=tuple(rows))
    whole = report(sample, 80)
    assert any('─ Processes: 3 in 1 job ─' in line for line in whole)
    assert whole[-1].strip() == 'kernel log'
    folded = [*whole[:9], *whole[12:]]
    brief = [*whole[:9], *whole[12:-2], ' critical  GPU 1: needs recovery. See the kernel log']
    for height, lines in (
        (len(whole) - 5, folded),  # too high for the prompt in any case
        (len(whole) - 3, brief),
        (len(whole) - 2, folded),
        (len(whole), folded),
        (len(whole) + 1, whole),
    ):
        shown = report(sample, 80, height=height)
        assert shown[-3:] == lines[-3:]
        assert len(shown) == len(lines) - (height == len(whole) - 5)  # without a line for the time


def test_brief_finding_has_advice_only_as_whole_sentences() -> None:
    action = 'Stop it; reset it: nvidia-smi -i 5. If it lasts, reboot'
    for room, text in (
        (60, 'hot. Stop it; reset it: nvidia-smi -i 5. If it lasts, reboot'),
        (40, 'hot. Stop it; reset it: nvidia-smi -i 5'),
        (30, 'hot. Stop it; reset it'),
        (21, 'hot. Stop it'),
    ):
        ((_, (shown, _)),) = brief_finding('critical', 'hot', '91°C', action, room + 12)
        assert shown == text
    ((_, (shown, _)),) = brief_finding('critical', 'hot', '91°C at 5 AM', 'Stop all programs', 0)
    assert shown == 'hot: 91°C at 5 AM'


def test_commands_of_advice_are_whole_at_any_width() -> None:
    text = 'Stop its processes, then reset it: nvidia-smi --gpu-reset -i 5'
    for width in range(45, 90):
        lines = [pieces[1][0] for pieces in finding_lines('critical', 'lost', text, width)]
        assert ' '.join(lines) == f'lost. {text}'
        assert any('nvidia-smi --gpu-reset -i 5' in line for line in lines)


def test_report_has_idle_times_and_jobs_only_if_there_are_any() -> None:
    sample = SAMPLES['h100x8']
    waiting = sample.processes[0]._replace(gpu_idle_seconds=None, gpu_sm_utilization_percent=0)
    for seconds, is_shown in ((None, False), (60.0, True)):
        process = waiting._replace(gpu_idle_seconds=seconds)
        lines = report(sample._replace(processes=(process,)), 80)
        assert any(' IDLE ' in line for line in lines) == is_shown
        lines = report(sample._replace(processes=(process._replace(owner=make_owner(())),)), 80)
        assert not any('JOB ' in line for line in lines if ' PID ' in line)
    asleep = report(sample._replace(devices=(sample.devices[0]._replace(status='asleep'),)), 40)
    assert any(line.split()[1:3] == ['GPU', 'STATE'] for line in asleep)


@pytest.mark.parametrize(
    ('width', 'height'), [(40, 0), (70, 0), (80, 0), (80, 22), (80, 50), (160, 0)]
)
def test_report_always_has_the_time(width: int, height: int) -> None:
    lines = report(SAMPLES['h100x8'], width, height=height)
    time = format_timestamp(SAMPLES['h100x8'].timestamp)
    (y,) = [y for y, line in enumerate(lines) if time in line]
    assert ('NVITOP' in lines[y]) == (width == 160)
    assert lines[y].startswith('╰' if height == 22 else ' ')
    simulated = SAMPLES['h100x8']._replace(simulated='dgx')
    assert any('SIM' in line for line in report(simulated, width, height=height))


def test_filtered_report_shows_how_many_processes_match() -> None:
    wanted = ProcessFilter(users=frozenset({'bob'}))
    lines = report(SAMPLES['h100x8'], wanted=wanted)
    assert any('Processes: 1 · 7 hidden by -u bob' in line for line in lines)
    listed = lines[next(y for y, line in enumerate(lines) if 'Processes: 1' in line) + 1 :]
    assert sum(' bob ' in line for line in listed) == 1
    lines = report(SAMPLES['h100x8'], wanted=ProcessFilter(pids=frozenset()))
    assert any('No match: 8 processes hidden by the options' in line for line in lines)


@pytest.mark.parametrize(
    ('options', 'types'),
    [
        (Options(), ['C', 'G', 'C+G', 'M', None]),
        (Options(compute=True), ['C', 'C+G', 'M']),
        (Options(only_compute=True), ['C', 'M', None]),
        (Options(only_graphics=True), ['G']),
        (Options(users=('alice',)), ['C', 'G', 'C+G', 'M', None]),
        (Options(users=()), []),
    ],
)
def test_options_filter_processes(options: Options, types: list[str | None]) -> None:
    process = SAMPLES['one'].processes[0]
    processes = [process._replace(type=type_) for type_ in ('C', 'G', 'C+G', 'M', None)]
    assert [p.type for p in list_processes(processes, filter_of(options), Sort())] == types
