"""Reports: a few goldens; otherwise a report is the main screen of the same width, drawn in full."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.console.options import MODES, Options
from nvitop.gui.model.choices import ProcessFilter, Sort, ViewState
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.ansi import to_ascii
from nvitop.gui.render.width import cell_width, safe
from nvitop.gui.report import draw_report, filter_of, report_text
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import SampleArrived
from nvitop.gui.state.lists import main_layout
from nvitop.gui.state.process_rows import list_processes
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.gui.view.screens.main import Header
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.history import History
from tests.gui.drawing import assert_boxes_close
from tests.gui.goldens import assert_golden
from tests.gui.random_samples import RandomSamples
from tests.gui.samples import NOW, SAMPLES

HEADER = Header('Tue Jan 02 03:04:05 2024', version='1.0.0')
VIEWS = {
    'plain': ViewState(),
    'ascii': ViewState(ascii=True),
    'columns': ViewState(columns=tuple(each.name for each in COLUMNS if each.name != 'owner')),
}

#: Machines that no golden frame shows, in each form of the report and drawn in each way.
CASES = [
    ('all-lost', 79, 'plain'),
    ('h100x8', 160, 'plain'),
    ('mig', 123, 'plain'),
    ('odd-processes', 100, 'ascii'),
    ('wddm', 40, 'plain'),
    ('workstation', 240, 'plain'),
]
#: The line with version and clock.
HEADER_ROWS = 1


@pytest.mark.parametrize(('scenario', 'width', 'view'), CASES)
def test_reports_match_their_goldens(scenario: str, width: int, view: str) -> None:
    buffer = draw_report(SAMPLES[scenario], width, VIEWS[view], header=HEADER)
    if view == 'ascii':
        buffer = to_ascii(buffer)
    suffix = '' if view == 'plain' else f'-{view}'
    assert_golden(f'report-{scenario}-{width}{suffix}', buffer, header=HEADER_ROWS)


@pytest.mark.parametrize('scenario', SAMPLES)
def test_report_is_the_main_screen_of_the_same_width(scenario: str) -> None:
    sample = SAMPLES[scenario]
    views = (
        ViewState(show_host=False),
        ViewState(show_host=False, ascii=True),
    )
    # Between 40 and 79 columns, only the monitor has sparklines.
    for width, view in zip((40, 79, 100, 123, 240), itertools.cycle(views)):
        report = draw_report(sample, width, view, header=HEADER)
        state = AppState(
            MONITOR,
            report.width,
            # The monitor has room for more processes.
            report.height + 8,
            timestamp=NOW,
            version='1.0.0',
            view=view._replace(mode='full'),
        )
        if sample.sequence:
            state, _ = update(state, SampleArrived(sample))
        frame = draw_frame(state, History())
        if view.ascii:
            report = to_ascii(report)
        # The monitor adds keys, badges and warnings to the header and above the processes.
        own = (0, main_layout(state).processes.area.y)
        for y in range(report.height - 1):
            assert y in own or report.row(y) == frame.row(y)


def test_report_has_the_columns_of_the_screen_that_was_left() -> None:
    sample = SAMPLES['h100x8']
    owner = make_owner((Layer('slurm', '7'),))
    rows = tuple(p._replace(owner=owner, gpu_idle_seconds=7.0) for p in sample.processes)
    known = sample._replace(processes=rows)
    for one, names in ((sample, False), (known, True)):
        headings = next(x for x in draw_report(one, 120).lines() if ' PID ' in x).split()
        assert ('JOB' in headings, 'IDLE' in headings) == (names, names)


def test_filtered_report_shows_how_many_processes_match() -> None:
    wanted = ProcessFilter(users=frozenset({'bob'}))
    lines = draw_report(SAMPLES['h100x8'], 100, wanted=wanted, header=HEADER).lines()
    assert lines[0].startswith('nvitop 1.0.0  Tue Jan 02 03:04:05 2024  [only user bob]  ')
    assert any('Processes 1 · 1 GPU · 7 hidden by -u bob' in line for line in lines)
    listed = lines[next(y for y, line in enumerate(lines) if 'Processes 1' in line) + 1 :]
    assert sum(' bob ' in line for line in listed) == 1
    lines = draw_report(
        SAMPLES['h100x8'], 100, wanted=ProcessFilter(pids=frozenset()), header=HEADER
    ).lines()
    assert any('No match: 8 processes hidden by the options' in line for line in lines)


@pytest.mark.parametrize(
    ('options', 'types'),
    [
        (Options(), ['C', 'G', 'C+G', 'M', None]),
        (Options(compute=True), ['C', 'C+G', 'M']),
        (Options(only_compute=True), ['C', 'M', None]),
        (Options(graphics=True), ['G', 'C+G']),
        (Options(only_graphics=True), ['G']),
        (Options(compute=True, graphics=True), ['C+G']),
        (Options(only_compute=True, only_graphics=True), []),
        (Options(users=('alice',)), ['C', 'G', 'C+G', 'M', None]),
        (Options(users=('nobody',)), []),
        (Options(users=()), []),
    ],
)
def test_options_filter_processes(options: Options, types: list[str | None]) -> None:
    process = SAMPLES['one'].processes[0]
    processes = [process._replace(type=type_) for type_ in ('C', 'G', 'C+G', 'M', None)]
    assert [p.type for p in list_processes(processes, filter_of(options), Sort())] == types


def test_report_is_full_in_every_mode() -> None:
    (text,) = {
        report_text(SAMPLES['one'], Options(mode=mode), width=100, colors=0) for mode in MODES
    }
    assert 'UTIL ■' in text


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 1 << 32), st.one_of(st.integers(1, 130), st.integers(1, 500)))
def test_report_of_any_sample_is_aligned_and_complete(seed: int, width: int) -> None:
    sample = RandomSamples(seed).sample()
    buffer = draw_report(sample, width, ViewState())
    assert 40 <= buffer.width <= max(40, width)
    assert_boxes_close(buffer)
    for line in buffer.lines():
        assert safe(line) == line
        assert cell_width(line) <= buffer.width
    pids = {str(process.key.pid) for process in sample.processes}
    text = '\n'.join(buffer.lines())
    assert all(pid in text for pid in pids)
