"""The process panel: columns, styles and texts of its rows."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.console.options import Thresholds
from nvitop.gui.layout.process import group_sizes, lay_out_processes, place_columns, process_height
from nvitop.gui.model.choices import ProcessFilter, Sort
from nvitop.gui.model.columns import COLUMNS, DEFAULT_COLUMNS, OPTIONAL_COLUMNS, column_widths
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.state.ordering import ORDERS
from nvitop.gui.view.column_text import CELLS, longest_command
from nvitop.gui.view.load_style import row_role
from nvitop.gui.view.panels.process import ProcessList, draw_process_panel
from nvitop.gui.view.process_list import Limits
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.types import PROCESSES, Problem, Sample
from tests.gui.samples import SAMPLES

JOB = make_owner((Layer('session', '3'), Layer('slurm', '42', detail='0')))
#: Orders by columns that are always shown by default.
SHOWN_ORDERS = [order.name for order in ORDERS if order.name not in OPTIONAL_COLUMNS]
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
    assert any('not readable on GPU' in text for _, text, style in row if style != DIM)


def test_every_column_has_a_text() -> None:
    assert set(CELLS) == {column.name for column in COLUMNS}
    process = SAMPLES['one'].processes[0]._replace(owner=JOB)
    texts = {name: text_of(process, None) for name, text_of in CELLS.items()}
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


def test_owner_is_shown_if_it_is_more_than_a_session() -> None:
    sample = SAMPLES['one']
    (process,) = sample.processes
    session = process._replace(owner=make_owner((Layer('session', '3'),)))
    for hidden in (process, session):
        assert 'OWNER' not in panel(sample._replace(processes=(hidden,)), 160).lines()[1]
    rows = process._replace(owner=JOB), session, process
    lines = panel(sample._replace(processes=rows), 160).lines()
    at = lines[1].index('OWNER')
    assert [line[at : at + 11].rstrip() for line in lines[2:5]] == [
        'slurm 42.0',
        'session 3',
        'N/A',
    ]


def test_owner_of_another_host_is_safe_and_wide_enough() -> None:
    (process,) = SAMPLES['one'].processes
    hostile = make_owner((Layer('docker', '4f', 'a\x1b[2J'),))
    notebook = make_owner((Layer('jupyter', '1b', '分析.ipynb'),))
    rows = tuple(process._replace(owner=owner) for owner in (hostile, notebook))
    lines = panel(SAMPLES['one']._replace(processes=rows), 160).lines()
    assert ' docker a␛[2J ' in lines[-3]
    assert ' nb 分析.ipynb ' in lines[-2]


def test_columns_are_drawn_in_the_chosen_order() -> None:
    lines = panel(SAMPLES['one'], columns=('command', 'time', 'sm', 'gpu')).lines()
    assert lines[1] == '│ COMMAND'.ljust(60) + '    TIME %SM  GPU │'
    assert lines[2][:12] == '│ python3 tr'
    assert lines[2][60:] == ' 3:25:07  64    0 │'


@pytest.mark.parametrize('reverse', [False, True])
@pytest.mark.parametrize('order', SHOWN_ORDERS)
def test_sorted_column_is_marked(order: str, reverse: bool) -> None:
    sort = Sort(order, reverse)
    buffer = panel(SAMPLES['one'], sort=sort)
    marked = [text for _, text, style in buffer.row(1) if style.underline and style.bold]
    if sort == Sort():
        assert marked == []
    else:
        rising = order in {'natural', 'pid', 'username'}
        title = next(column.title for column in COLUMNS if column.order == order)
        assert marked == [title + ('▲' if rising is not reverse else '▼')]
    # The mark is in the gap, so that no heading moves.
    plain = panel(SAMPLES['one']).lines()[1]
    shown = buffer.lines()[1].replace('▲', ' ').replace('▼', ' ')
    assert shown == plain


@pytest.mark.parametrize('reverse', [False, True])
@pytest.mark.parametrize('order', SHOWN_ORDERS)
def test_title_names_a_hidden_sorted_column(order: str, reverse: bool) -> None:
    sort = Sort(order, reverse)
    title = panel(SAMPLES['one'], columns=('type', 'command'), sort=sort).lines()[0]
    if sort == Sort():
        assert 'by' not in title
    else:
        heading = next(column.title for column in COLUMNS if column.order == order)
        rising = order in {'natural', 'pid', 'username'}
        arrow = '▲' if rising is not reverse else '▼'
        assert title.startswith(f'╭─ Processes 1 · by {heading}{arrow} ─')
    # A visible heading has the mark already.
    assert 'by' not in panel(SAMPLES['one'], sort=sort).lines()[0]


def test_title_has_both_the_counts_and_the_hidden_sorted_column() -> None:
    columns = ('pid', 'command')
    title = panel(SAMPLES['one'], columns=columns, total=8, sort=Sort('time')).lines()[0]
    assert title.startswith('╭─ Processes 1 · 7 hidden by the filter · by TIME▼ ─')


def test_rows_have_the_style_of_their_status() -> None:
    buffer = panel(SAMPLES['odd-processes'], 100)
    assert [row_style(buffer, pid).role for pid in range(501, 508)] == [
        Role.TEXT,
        Role.WARNING,
        Role.WARNING,
        Role.ERROR,
        Role.DIM,
        Role.DIM,
        Role.DIM,
    ]


def test_processes_of_a_gpu_that_does_not_respond_are_dim_without_its_values() -> None:
    process = SAMPLES['one'].processes[0]._replace(is_outdated=True, gpu_memory_bytes=None)
    buffer = panel(SAMPLES['one']._replace(processes=(process,)))
    assert row_style(buffer, process.key.pid).role is Role.DIM
    assert buffer.lines()[2].split()[5:9] == ['?', '?', '?', '99.7']


def test_title_shows_the_position_in_a_longer_list() -> None:
    sample = SAMPLES['processes200']
    places = place_columns(DEFAULT_COLUMNS, 79, column_widths(sample.processes))
    layout = lay_out_processes(Rect(0, 5, 79, 20), (200,), places, separated=False, offset=100)
    buffer = Buffer(79, 25)
    listed = ProcessList(sample.processes, 200)
    draw_process_panel(buffer, layout, listed, sample, {}, ())
    assert buffer.lines()[5].startswith('╭─ Processes 101–117 of 200 ')
    assert buffer.lines()[6].startswith('│ GPU ')


def test_long_values_are_cut_or_widen_their_column() -> None:
    lines = panel(SAMPLES['hostile'], 100).lines()
    (row,) = [line for line in lines if 'aaaa' in line]
    assert ' 4294967295 C aaaaaa+ ' in row
    assert ' 9999+ ' in row
    assert any(' C 山田太+ ' in line for line in lines)


def test_long_pids_and_times_widen_their_columns() -> None:
    processes = SAMPLES['extreme'].processes
    assert column_widths(processes) == {'pid': 10, 'time': len('1234.5 days')}
    assert column_widths(()) == {'pid': 1, 'time': 4}


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
        (79, 504, '   N/A   N/A        No Such Process'),
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


@pytest.mark.parametrize('scroll_x', [0, 1, 6, 12, 30, 5000])
def test_scrolling_sideways_keeps_the_borders(scroll_x: int) -> None:
    lines = panel(SAMPLES['hostile'], 79, scroll_x=scroll_x).lines()
    assert {line[-1] for line in lines} <= set('╮│┤╯')
    assert '..' in lines[2]


def test_number_cut_at_its_left_end_is_marked() -> None:
    sample = SAMPLES['processes200']
    busy = sample.processes[0]._replace(cpu_percent=100.0)
    for scroll_x in range(1, 30):
        lines = panel(sample._replace(processes=(busy,)), 79, scroll_x=scroll_x).lines()
        assert {line[43:45] for line in (lines[1], lines[2])} == {'..'}


def test_title_names_a_sorted_column_that_is_scrolled_away() -> None:
    sort = Sort('cpu_percent')
    for scroll_x, is_named in ((0, False), (2, True)):
        lines = panel(SAMPLES['processes200'], 79, sort=sort, scroll_x=scroll_x).lines()
        assert (' by %CPU▼ ' in lines[0]) is is_named
