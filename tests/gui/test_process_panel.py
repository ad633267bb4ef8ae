"""The process panel: columns, styles and texts of its rows, and processes folded by job."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.gui.model.choices import ProcessFilter, Screen, Sort, ViewState
from nvitop.gui.model.columns import DEFAULT_COLUMNS, column_widths
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import Role, Style
from nvitop.gui.state.events import Resized
from nvitop.gui.state.process_rows import fold, group_by_job
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


def test_environment_needs_one_process_of_a_job() -> None:
    state = pressed(state_of(ranks()[0], 120, 60, ViewState()), 'Down', 'e')
    assert state.screen is Screen.MAIN
    assert state.notices[-1].text == 'Select one of its processes'
    assert pressed(state, 'Down', 'e').environ.pid == 100


def test_selected_process_of_a_job_that_is_folded_for_want_of_room_selects_the_job() -> None:
    sample, rows = ranks()
    state = pressed(state_of(sample, 120, 60, ViewState()), 'Down', 'Down', 'Down')
    assert state.selected == rows[1].key
    assert after(state, Resized(80, 14)).job == ('ann', 'slurm 42')


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


@pytest.mark.parametrize(
    ('fields', 'wsl', 'message'),
    [
        ({'lines': (), 'total': None}, '', 'Looking for processes ...'),
        ({'lines': (), 'total': 0}, 'Ubuntu', 'No process is running on a GPU (in WSL)'),
        ({'lines': (), 'total': 7}, '', 'No match: 7 processes hidden by the filter'),
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
