"""Whole frames: what lies over every screen, and properties of any state at any size."""

from __future__ import annotations

import pytest

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.state.app_state import AppState, Notice
from nvitop.gui.state.columns import column_widths
from nvitop.gui.state.events import Event, KeyPressed, SampleArrived
from nvitop.gui.state.listing import main_layout
from nvitop.gui.state.types import ViewState
from nvitop.gui.state.update import update_all
from nvitop.gui.view.format import format_running_time
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from tests.gui.samples import NOW, SAMPLES


def state_of(
    name: str, width: int, height: int, *keys: str, view: ViewState | None = None
) -> AppState:
    """The monitor on a stored machine, after these keys."""
    state = AppState(width=width, height=height, timestamp=NOW, view=view or ViewState())
    events: list[Event] = [SampleArrived(SAMPLES[name]), *map(KeyPressed, keys)]
    return update_all(state, tuple(events))[0]


def frame_of(
    name: str, width: int, height: int, *keys: str, view: ViewState | None = None
) -> Buffer:
    """What it shows then."""
    return draw_frame(state_of(name, width, height, *keys, view=view), History())


def test_a_filter_being_typed_stands_in_the_first_row_and_stays_there_as_a_badge() -> None:
    lines = frame_of('h100x8', 100, 40, '\\', 'b', 'o', 'b').lines()
    assert lines[0].startswith('Filter: bob  ')
    assert any('Processes: 1 of 8' in line for line in lines)
    lines = frame_of('h100x8', 100, 40, '\\', 'b', 'o', 'b', 'Enter').lines()
    assert 'filter: bob' in lines[0]
    assert 'Tue Jan 02' in lines[0]


def test_badges_are_seen_while_the_header_is_scrolled_away() -> None:
    for keys in (('z',), ('z', *['Down'] * 8)):
        line = frame_of('h100x8', 80, 24, *keys).lines()[0]
        assert 'FROZEN ' in line
        assert ':04:05' in line


def test_notices_stand_over_the_last_rows_and_leave_most_of_the_screen() -> None:
    notices = tuple(Notice(f'SIGTERM to {pid}: sent', 9.0, pid == 7) for pid in range(8))
    state = state_of('h100x8', 80, 12)._replace(notices=notices)
    lines = draw_frame(state, History()).lines()
    assert [pid for pid in range(8) if any(f' SIGTERM to {pid}: sent ' in x for x in lines)] == [
        4,
        5,
        6,
        7,
    ]
    assert ' SIGTERM to 7: sent ' in lines[-1]


def test_the_dialog_names_its_targets_and_is_drawn_where_nothing_else_fits() -> None:
    text = '\n'.join(frame_of('h100x8', 100, 40, 'Down', 'T').lines())
    assert '20100 (alice) /usr/bin/python3 -m torch.distributed.run' in text
    assert ' SIGTERM ' in text
    text = '\n'.join(frame_of('h100x8', 30, 4, 'Down', 'T').lines())
    assert 'Send a signal' in text


@pytest.mark.parametrize(('width', 'height'), [(39, 40), (100, 5), (1, 1)])
def test_a_screen_too_small_says_so(width: int, height: int) -> None:
    lines = [line.strip() for line in frame_of('h100x8', width, height).lines()]
    assert sum(map(bool, lines)) == 1
    assert 'too small'.startswith(''.join(lines)[:9].rstrip('.'))


def test_ascii_frames_are_ascii() -> None:
    for keys in ((), ('Down', 'T')):
        buffer = frame_of('hostile', 100, 40, *keys, view=ViewState(ascii=True))
        assert all(line.isascii() for line in buffer.lines())


def test_columns_grow_with_what_stands_in_them_and_clicks_know_it() -> None:
    processes = SAMPLES['extreme'].processes
    widths = column_widths(processes)
    texts = [format_running_time(process.running_time_seconds) for process in processes]
    assert widths == {'pid': 10, 'time': max(map(len, texts))}
    assert column_widths([processes[0]._replace(running_time_seconds=1e300)])['time'] == 4
    state = state_of('extreme', 120, 40)
    heading_y = main_layout(state).processes.heading_y
    line = draw_frame(state, History()).lines()[heading_y]
    column = main_layout(state).processes.column_at(line.index('TIME'), heading_y)
    assert column is not None
    assert column.name == 'time'
