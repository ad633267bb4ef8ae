"""The process panel: columns, styles and texts of its rows, and processes folded by job."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.gui.model.choices import ProcessFilter, Sort, ViewState
from nvitop.gui.model.columns import DEFAULT_COLUMNS, column_widths
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.state.events import Resized
from nvitop.gui.state.jobs import fold, group_by_job
from nvitop.gui.view.panels.process import Limits, ProcessView, draw_processes
from nvitop.owner.types import Layer, Owner, make_owner
from nvitop.sampling.types import PROCESSES, Problem, ProcessSample, Sample
from tests.gui.drawing import lines_of
from tests.gui.driving import after, press, pressed, state_of
from tests.gui.samples import GIB, SAMPLES, gpu, machine, process

JOB = make_owner((Layer('session', '3'), Layer('slurm', '42', detail='0')))
DIM = Style(Role.DIM)


def panel(
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
        column_widths(sample.processes),
        len(sample.processes),
        len(blocks),
        len(sample.processes),
    )._replace(**fields)
    buffer = Buffer(width, 3 + max(1, len(lines)))
    draw_processes(buffer, buffer.area, listed, sample)
    return buffer


def style_of(buffer: Buffer, text: str) -> Style:
    """Return the style of the first piece with a text."""
    return next(
        style for y in range(buffer.height) for _, piece, style in buffer.row(y) if text in piece
    )


def ranks(*, owner: Owner | None = JOB) -> tuple[Sample, tuple[ProcessSample, ...]]:
    """Return four GPUs with a job on them, and another process on the first."""
    gpus = [gpu(i, 'A') for i in range(4)]
    rows = [
        process(each, 100 + i, f'python3 train.py --rank {i} --bf16', username='ann', owner=owner)
        for i, each in enumerate(gpus)
    ]
    rows = [row._replace(gpu_memory_bytes=(i + 1) * GIB) for i, row in enumerate(rows)]
    other = process(gpus[0], 7, 'vllm', username='bob', gpu_memory_bytes=9 * GIB)
    return machine(*gpus, processes=(*rows, other)), (*rows, other)


def test_job_is_a_row_with_its_sums_and_shows_below_only_what_differs() -> None:
    sample, _ = ranks()
    lines = panel(sample, 140).lines()
    assert lines[2].split() == [
        *('│▾', '0-3', 'ann', 'slurm', '42', '4', 'procs', '10.0'),
        *lines[2].split()[8:],
    ]
    assert lines[2].rstrip(' │').endswith('python3 train.py --rank --bf16')
    assert [line.split()[-2] for line in lines[3:7]] == ['0', '1', '2', '3']
    assert not any('ann' in line or 'slurm' in line for line in lines[3:7])
    assert style_of(panel(sample, 140), '4 procs').bold
    folded = panel(sample, 140, room=3).lines()
    assert [line[1] for line in folded[2:4]] == ['▸', ' ']
    assert len(folded) == 5


def test_processes_without_a_job_are_folded_by_user() -> None:
    sample, _ = ranks(owner=make_owner((Layer('session', '31'),)))
    lines = panel(sample, 140, room=3).lines()
    assert lines[2].split()[1:5] == ['0-3', 'ann', 'session', '31']


def test_different_programs_are_named_and_nobody_with_a_job_needs_no_column() -> None:
    plain = make_owner((Layer('session', '31'),))
    card = gpu(0, 'A')
    commands = ('/usr/bin/gnome-shell --x', 'firefox', 'Xorg :0', 'firefox -P')
    rows = tuple(
        process(card, 100 + i, command, username='ann', owner=plain)
        for i, command in enumerate(commands)
    )
    lines = panel(machine(card, processes=rows), 100, room=1).lines()
    assert ' JOB ' not in lines[1]
    assert 'gnome-shell, firefox, +1 ' in lines[2]
    assert ' JOB ' in panel(machine(card, processes=rows), 100, ('pid', 'owner')).lines()[1]
    unknown = (rows[0]._replace(owner=None), *rows[1:])
    assert ' JOB ' in panel(machine(card, processes=unknown), 100).lines()[1]


def test_folded_jobs_are_sorted_by_their_sums() -> None:
    _, processes = ranks()
    first = [block[0] for block in group_by_job(processes, Sort('gpu_memory'))]
    assert [line.is_job for line in first] == [True, False]
    first = [block[0] for block in group_by_job(processes, Sort('gpu_memory', reverse=True))]
    assert [line.is_job for line in first] == [False, True]


def test_keys_fold_tag_and_signal_a_job() -> None:
    sample, rows = ranks()
    own = tuple(row._replace(is_own=True) for row in rows)
    state = pressed(state_of(sample._replace(processes=own), 120, 60, ViewState()), 'Down')
    assert state.job == ('ann', 'slurm 42')
    folded = pressed(state, 'Enter')
    assert ['▸' in line for line in lines_of(folded)].count(True) == 1
    assert lines_of(pressed(folded, 'Enter')) == lines_of(state)
    tagged = pressed(state, 'Space')
    assert tagged.main.tagged == {row.key for row in rows[:4]}
    assert pressed(tagged, 'Up', 'Space').main.tagged == frozenset()
    dialog = press(state, 'T')[0].dialog
    assert dialog is not None
    assert {target.key for target in dialog.targets} == {row.key for row in rows[:4]}


def test_search_finds_processes_of_folded_jobs_and_flat_lists_have_none() -> None:
    sample, rows = ranks()
    state = pressed(state_of(sample, 120, 60, ViewState()), 'Down', 'Enter', '/', *'rank', 'Enter')
    assert state.job == ('ann', 'slurm 42')
    flat = pressed(state_of(sample, 120, 60, ViewState()), 'J', 'Down')
    assert flat.selected == rows[4].key or flat.selected in {row.key for row in rows}
    assert 'slurm 42' in '\n'.join(lines_of(flat))
    assert not any('▾' in line or '▸' in line for line in lines_of(flat))


def test_selected_process_of_a_job_that_is_folded_for_want_of_room_selects_the_job() -> None:
    sample, rows = ranks()
    state = pressed(state_of(sample, 120, 60, ViewState()), 'Down', 'Down', 'Down')
    assert state.selected == rows[1].key
    assert after(state, Resized(80, 14)).job == ('ann', 'slurm 42')


def test_user_takes_the_longest_name_before_the_command() -> None:
    sample, rows = ranks()
    long = tuple(row._replace(username='christopher_lee') for row in rows)
    assert 'christopher_lee' in panel(sample._replace(processes=long), 80).lines()[2]


def test_idle_memory_is_amber() -> None:
    device = gpu(0, 'A')
    rows = tuple(
        process(device, i, 'x', username=name, gpu_memory_bytes=GIB)._replace(gpu_idle_seconds=idle)
        for i, name, idle in ((1, 'ann', 3600.0), (2, 'bob', 60.0))
    )
    buffer = panel(machine(device, processes=rows), 120)
    assert style_of(buffer, '1h').role is Role.WARNING
    assert style_of(buffer, '1m').role is Role.TEXT


def test_machine_that_reports_no_processes_has_a_dim_note() -> None:
    sample = SAMPLES['h100x8']._replace(processes=())
    problems = tuple(Problem(device.key, PROCESSES, 'no list') for device in sample.devices)
    row = panel(sample._replace(problems=problems)).row(0)
    assert 'processes are not reported' in [text for _, text, style in row if style == DIM]
    row = panel(sample._replace(problems=problems[1:])).row(0)
    assert any('unreadable' in text for _, text, style in row if style != DIM)


def test_owner_of_another_host_is_safe_and_wide_enough() -> None:
    (only,) = SAMPLES['one'].processes
    hostile = make_owner((Layer('docker', '4f', 'a\x1b[2J'),))
    notebook = make_owner((Layer('jupyter', '1b', '分析.ipynb'),))
    rows = tuple(only._replace(owner=owner) for owner in (hostile, notebook))
    text = '\n'.join(panel(SAMPLES['one']._replace(processes=rows), 160).lines())
    assert ' docker a␛[2J ' in text
    assert ' nb 分析.ipynb ' in text


def test_title_has_both_the_counts_and_the_hidden_sorted_column() -> None:
    columns = ('pid', 'command')
    title = panel(SAMPLES['one'], columns=columns, total=8, sort=Sort('time')).lines()[0]
    assert ' Jobs 1, processes 1 · 7 hidden by the filter · by TIME▼ ─' in title


def test_processes_of_a_gpu_that_does_not_respond_are_dim_without_its_values() -> None:
    lost = SAMPLES['one'].processes[0]._replace(is_outdated=True, gpu_memory_bytes=None)
    buffer = panel(SAMPLES['one']._replace(processes=(lost,)), 120)
    assert style_of(buffer, str(lost.key.pid)).role is Role.DIM
    assert buffer.lines()[2].split().count('?') == 4


@pytest.mark.parametrize(
    ('fields', 'wsl', 'message'),
    [
        ({'lines': (), 'total': None}, '', 'Looking for processes ...'),
        ({'lines': (), 'total': 0}, '', 'No process is running on a GPU'),
        ({'lines': (), 'total': 0}, 'Ubuntu', 'No process is running on a GPU (in WSL)'),
        ({'lines': (), 'total': 7}, '', 'No match: 7 processes hidden by the filter'),
        ({'lines': (), 'total': 1}, '', 'No match: 1 process hidden by the filter'),
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
    lines = panel(sample, **fields).lines()
    # There are no headings without any process; they stay while a filter hides all.
    assert lines[1 + ('PID' in lines[1])] == f'│ {message}'.ljust(78) + '│'
    assert ('PID' in lines[1]) == message.startswith('No match')
