"""The process panel: columns, styles and texts of its rows."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.console.options import Thresholds
from nvitop.gui.layout.process import group_sizes, lay_out_processes, place_columns, process_height
from nvitop.gui.model.choices import ProcessFilter, Sort, row_role
from nvitop.gui.model.columns import (
    COLUMNS,
    DEFAULT_COLUMNS,
    column_widths,
    longest_command,
)
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.view.panels.process import Limits, ProcessList, draw_process_panel
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.types import PROCESSES, Problem, Sample
from tests.gui.samples import SAMPLES

JOB = make_owner((Layer('session', '3'), Layer('slurm', '42', detail='0')))
DIM = Style(Role.DIM)


def panel(
    sample: Sample, width: int = 79, columns: tuple[str, ...] = DEFAULT_COLUMNS, **fields: Any
) -> Buffer:
    listed = ProcessList(sample.processes, len(sample.processes))._replace(**fields)
    places = place_columns(columns, width, column_widths(listed.processes))
    groups = group_sizes(listed.processes)
    area = Rect(0, 0, width, process_height(groups, separated=True))
    layout = lay_out_processes(area, groups, places, separated=True)
    buffer = Buffer(width, area.height)
    styles = {device.key: Style(row_role(device, Thresholds())) for device in sample.devices}
    draw_process_panel(buffer, layout, listed, sample, styles, ())
    return buffer


def row_style(buffer: Buffer, pid: int) -> Style:
    """Return the style of the text right of the GPU's index in the row of a process."""
    for y in range(buffer.height):
        for _, text, style in buffer.row(y):
            if f' {pid} ' in text:
                return style
    raise AssertionError(f'no row of {pid}')


def test_machine_that_reports_no_processes_has_a_dim_note() -> None:
    sample = SAMPLES['h100x8']._replace(processes=())
    problems = tuple(Problem(device.key, PROCESSES, 'no list') for device in sample.devices)
    row = panel(sample._replace(problems=problems)).row(0)
    assert 'processes are not reported' in [text for _, text, style in row if style == DIM]
    row = panel(sample._replace(problems=problems[1:])).row(0)
    assert any('unreadable' in text for _, text, style in row if style != DIM)


def test_every_column_has_a_text() -> None:
    process = SAMPLES['one'].processes[0]._replace(owner=JOB)
    texts = {column.name: column.text(process, None) for column in COLUMNS}
    assert texts == {
        'gpu': '0',
        'pid': '4242',
        'type': 'C',
        'user': 'alice',
        'owner': 'slurm 42.0',
        'gpu_memory': '33.0GiB',
        'gpu_memory_percent': '41.2',
        'idle': 'N/A',
        'sm': '64',
        'gmbw': '38',
        'encoder': 'N/A',
        'decoder': 'N/A',
        'cpu': '99.7',
        'memory': '1.5',
        'host_memory': '31.00GiB',
        'start': 'Jan  1 23:44',
        'time': '3:25:07',
        'command': 'python3 train.py --model llama-70b --lr 3e-4 --epochs 100 --data /datasets/c4',
    }


def test_owner_of_another_host_is_safe_and_wide_enough() -> None:
    (process,) = SAMPLES['one'].processes
    hostile = make_owner((Layer('docker', '4f', 'a\x1b[2J'),))
    notebook = make_owner((Layer('jupyter', '1b', '分析.ipynb'),))
    rows = tuple(process._replace(owner=owner) for owner in (hostile, notebook))
    lines = panel(SAMPLES['one']._replace(processes=rows), 160).lines()
    assert ' docker a␛[2J ' in lines[-3]
    assert ' nb 分析.ipynb ' in lines[-2]


def test_title_has_both_the_counts_and_the_hidden_sorted_column() -> None:
    columns = ('pid', 'command')
    title = panel(SAMPLES['one'], columns=columns, total=8, sort=Sort('time')).lines()[0]
    assert title.startswith('╭─ Processes 1 · 7 hidden by the filter · by TIME▼ ─')


def test_processes_of_a_gpu_that_does_not_respond_are_dim_without_its_values() -> None:
    process = SAMPLES['one'].processes[0]._replace(is_outdated=True, gpu_memory_bytes=None)
    buffer = panel(SAMPLES['one']._replace(processes=(process,)))
    assert row_style(buffer, process.key.pid).role is Role.DIM
    assert buffer.lines()[2].split()[5:8] == ['?', '?', '99.7']


def test_longest_command_is_measured_in_cells() -> None:
    processes = SAMPLES['hostile'].processes
    assert longest_command(processes) == 4096
    assert longest_command(processes[1:2]) == 47
    assert longest_command(()) == 0


@pytest.mark.parametrize(
    ('width', 'pid', 'end'),
    [
        (60, 503, '   N/A  No Permissions'),
        # Columns are hidden only if the text needs their room.
        (60, 504, '   N/A  No Such Process'),
        (60, 505, ' Process of Another..'),
        (79, 504, '   N/A      N/A  No Such Process'),
        (79, 505, ' Process of Another PID Namespace'),
        (100, 503, ' No Permissions'),
        (100, 505, ' Process of Another PID Namespace'),
    ],
)
def test_status_in_place_of_a_command_hides_other_columns_only_if_needed(
    width: int, pid: int, end: str
) -> None:
    (line,) = [
        line for line in panel(SAMPLES['odd-processes'], width).lines() if f' {pid} ' in line
    ]
    assert line.rstrip(' │').endswith(end)
    assert line.endswith('│')


@pytest.mark.parametrize(
    ('fields', 'wsl', 'message'),
    [
        ({'processes': (), 'total': None}, '', 'Looking for processes ...'),
        ({'processes': (), 'total': 0}, '', 'No process is running on a GPU'),
        ({'processes': (), 'total': 0}, 'Ubuntu', 'No process is running on a GPU (in WSL)'),
        ({'processes': (), 'total': 7}, '', 'No match: 7 processes hidden by the filter'),
        ({'processes': (), 'total': 1}, '', 'No match: 1 process hidden by the filter'),
        (
            {'processes': (), 'total': 7, 'limits': Limits(ProcessFilter(pids=frozenset({1})))},
            '',
            'No match: 7 processes hidden by -p 1',
        ),
    ],
)
def test_empty_list_shows_the_reason(fields: dict[str, Any], wsl: str, message: str) -> None:
    sample = SAMPLES['no-gpu']
    sample = sample._replace(host=sample.host._replace(wsl=wsl))
    lines = panel(sample, **fields).lines()
    assert lines[2] == f'│ {message}'.ljust(78) + '│'
