"""Whole frames: what every screen has in common, and properties of any state at any size."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.model.choices import ProcessFilter, ViewState
from nvitop.gui.state.app_state import Notice
from nvitop.gui.state.listing import main_layout, relist
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import Problem
from tests.gui.drawing import (
    frame_on,
    lines_of,
    lines_on,
    state_on,
    text_of,
)
from tests.gui.driving import press, read_dialog, state_of
from tests.gui.remembered import forget_rows
from tests.gui.samples import SAMPLES

pytestmark = pytest.mark.usefixtures('utc')


@pytest.mark.parametrize('name', SAMPLES)
def test_cached_rows_equal_new_rows(name: str) -> None:
    for keys in ('', 'Down', 'Down Down', 'Down Space', 'Down Right', 'End', 'd', 'o p', 'o g /'):
        for width, height in ((180, 60), (100, 24), (79, 30)):
            cached = frame_on(name, width, height, *keys.split())
            forget_rows()
            new = frame_on(name, width, height, *keys.split())
            assert [*map(cached.row, range(height))] == [*map(new.row, range(height))]


@pytest.mark.parametrize(
    ('users', 'keys', 'limits'),
    [
        (None, '\\ # Enter', 'the filter'),
        (frozenset({'stranger'}), '', '-u stranger'),
        (frozenset({'stranger', 'x' * 32}), '\\', 'the options'),
        (frozenset({'stranger'}), '\\ # Enter', '-u stranger and the filter'),
    ],
)
def test_empty_list_names_the_limits_that_no_process_matches(
    users: frozenset[str] | None, keys: str, limits: str
) -> None:
    state = state_on('h100x8', 100, 40)
    main = state.main._replace(filter=ProcessFilter(users=users))
    state, _ = press(relist(state._replace(main=main)), *keys.split())
    for screen in ('', 't', 'U') if state.field is None else ('',):
        assert re.search(f'hidden by {limits}', text_of(press(state, *screen)[0]))


def test_notices_cover_at_most_a_third_of_the_screen() -> None:
    notices = tuple(Notice(f'SIGTERM to {pid}: sent', 9.0, pid == 7) for pid in range(8))
    state = state_on('h100x8', 80, 12)._replace(notices=notices)
    lines = lines_of(state)
    assert lines[-4:] == [f' SIGTERM to {pid}: sent' for pid in (4, 5, 6, 7)]
    assert '│' in lines[-5]


def test_long_notice_is_wrapped_or_cut_to_a_third_of_the_screen() -> None:
    def last_lines(*texts: str) -> list[str]:
        notices = tuple(Notice(text, 9.0) for text in texts)
        state = state_on('h100x8', 40, 12)._replace(notices=notices)
        return lines_of(state)

    long = 'Paused before the details of all eight devices were measured (z: resume the display)'
    wrapped = [
        ' Paused before the details of all eight',
        ' devices were measured (z: resume the',
        ' display)',
    ]
    assert last_lines('Theme: mono', long)[-4:] == [' Theme: mono', *wrapped]
    # A notice is not shown in part.
    lines = last_lines(long, long)
    assert lines[-3:] == wrapped
    assert 'display)' not in lines[-4]
    *above, first, _, _, last = last_lines('x ' * 400)
    assert first.startswith(' x x ')
    assert last.endswith(' x ..')
    assert '│' in above[-1]


def test_dialog_names_its_targets_and_is_drawn_on_any_size() -> None:
    text = text_of(state_on('h100x8', 100, 40, 'Down', 'T'))
    assert '20100 (alice) /usr/bin/python3 -m torch.distributed.run' in text
    assert ' SIGTERM ' in text
    text = text_of(state_on('h100x8', 30, 4, 'Down', 'T'))
    assert 'No room to list the' in text
    assert 'SIGTERM' not in text


def test_buttons_are_dim_until_the_dialog_is_ready() -> None:
    for is_ready in (False, True):
        state = state_on('h100x8', 100, 40, 'Down', 'T')
        if is_ready:
            state = read_dialog(state)
        buffer = draw_frame(state, History())
        styles = [s for y in range(40) for _, text, s in buffer.row(y) if 'Cancel'[1:] in text]
        assert [style.dim for style in styles] == [not is_ready]


@pytest.mark.parametrize(('width', 'height'), [(39, 40), (100, 5), (1, 1)])
def test_small_screen_shows_the_minimum_size(width: int, height: int) -> None:
    lines = [line.strip() for line in lines_on('h100x8', width, height)]
    assert sum(map(bool, lines)) == 1
    assert 'too small'.startswith(''.join(lines)[:9].rstrip('.'))


def test_clicks_hit_columns_that_have_grown() -> None:
    state = state_on('extreme', 120, 40)
    heading_y = main_layout(state).processes.heading_y
    line = lines_of(state)[heading_y]
    column = main_layout(state).processes.column_at(line.index('TIME'), heading_y)
    assert column is not None
    assert column.name == 'time'


def test_headings_and_border_of_the_processes_stay_while_they_scroll() -> None:
    for width, height in ((80, 24), (40, 12), (120, 40)):
        for keys in ('', 'PageDown PageDown', 'End'):
            lines = lines_on('processes200', width, height, *keys.split())
            title = next(y for y, line in enumerate(lines) if ' of 200' in line)
            assert ' PID ' in lines[title + 1]
            assert lines[-1] == '╰' + '─' * (width - 2) + '╯'
        assert '–200 of 200' in lines[title]


def test_page_without_room_for_the_headings_of_its_processes_has_a_mark() -> None:
    full = ViewState(mode='full')
    assert lines_of(state_on('h100x8', 80, 24, view=full))[-1].endswith('▼')
    assert '▼' not in lines_of(state_on('h100x8', 80, 24, 'End', view=full))[-1]


@pytest.mark.parametrize('screen', ['', 't', 'U'])
def test_processes_are_unknown_if_the_driver_does_not_respond(screen: str) -> None:
    text = text_of(state_on('no-driver', 80, 24, *screen))
    assert 'No GPU is responding: running processes are unknown' in text
    assert 'No process is running' not in text


def test_titles_name_devices_that_do_not_list_their_processes() -> None:
    sample = SAMPLES['h100x8']._replace(sequence=1)
    keys = [sample.devices[i].key for i in (2, 3, 7)]
    problems = [Problem(key, 'processes', 'x', 'error') for key in keys]
    other = sample.devices[0].key
    dropped = Problem(other, 'processes', '1 of 2 dropped', 'impossible')
    old = Problem(other, 'mps_processes', 'Function Not Found')
    lost = sample.devices[7]._replace(status='lost')
    sample = sample._replace(
        devices=(*sample.devices[:7], lost), problems=(*problems, dropped, old)
    )
    for width, pressed, title in (
        (
            80,
            '',
            '├─ Processes 8 · 7 GPUs ────────┴────────────────── not readable on GPU 2,3,7 ─┤',
        ),
        (
            80,
            '\\ g p u : 0 Enter',
            '├─ Processes 1 · 1 GPU · 7 hidden by the filter ─── not readable on GPU 2,3,7 ─┤',
        ),
        (80, 'U', 'GPU usage by user (5), not readable on GPU 2,3,7  '),
        (40, '', '├─ Processes 8 ───────── not readable ─┤'),
    ):
        state, _ = press(state_of(sample, width, 60), *pressed.split())
        (line,) = [
            line for line in lines_of(state) if 'unknown on' in line or 'not readable' in line
        ]
        assert line.startswith(title)
