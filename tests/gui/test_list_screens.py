"""The screens that are lists: users, columns and the process tree."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.model.choices import Screen
from nvitop.gui.render.style import Role
from nvitop.gui.state.events import Resized
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.owner.types import Layer, make_owner
from nvitop.sampling.history import History
from tests.gui.drawing import frame_on, lines_of, lines_on, state_on
from tests.gui.driving import demand_of, pressed
from tests.gui.samples import SAMPLES, with_families

pytestmark = pytest.mark.usefixtures('utc')


def test_second_key_sums_up_by_owner() -> None:
    sample = SAMPLES['h100x8']
    owner = make_owner((Layer('slurm', '42', detail='0'),))
    rows = tuple(process._replace(owner=owner) for process in sample.processes)
    state = state_on(sample._replace(processes=rows), 100, 24, 'U', 'U')
    lines = lines_of(state)
    assert lines[0].startswith('GPU usage by job (1)')
    assert lines[1].split()[0] == 'JOB'
    assert lines[2].startswith(' slurm 42 ')
    assert demand_of(state).owners
    first = state_on(sample, 100, 24, 'U', 'U', 'U')
    assert lines_of(first)[1].split()[0] == 'USER'


def test_bar_of_a_share_takes_the_room_that_is_left_up_to_its_largest_width() -> None:
    headings = [lines_of(state_on('h100x8', width, 20, 'U'))[1] for width in (100, 110, 120, 160)]
    places = [heading.index('%GPUMEM') - heading.index('SHARE') for heading in headings]
    assert places == [7, 15, 25, 25]


def test_cursor_stays_visible_on_every_list() -> None:
    for key in ('!', 'U', 'C'):
        for height in (6, 8, 12, 40):
            for to in ('End', 'Home'):
                buffer = frame_on('h100x8', 80, height, key, to)
                roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
                assert Role.SELECTED in roles or key == '!'


def test_tree_opens_from_the_users_and_leads_back() -> None:
    state = pressed(state_on('h100x8', 120, 40), 'U', 't')
    assert state.screen is Screen.TREE
    assert pressed(state, 'q').screen is Screen.USERS


# The tree


def test_selected_line_stays_visible_at_every_size() -> None:
    state = state_on('processes200', 80, 50, 't', 'End')
    for height in (50, 20, 6, 40):
        state, _ = update(state, Resized(80, height))
        buffer = draw_frame(state, History())
        roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
        assert Role.SELECTED_TREE in roles


def test_empty_tree_shows_the_reason() -> None:
    assert 'Looking for processes ...' in lines_on('nothing-yet', 80, 24, 't')[2]
    assert 'No match: 16 processes' in lines_on('h100x8', 80, 24, 't', '\\', '#')[2]


def test_long_commands_are_shortened_as_on_the_main_screen() -> None:
    sample = with_families(SAMPLES['h100x8'])
    hosts = [
        process._replace(command=f'/opt/conda/bin/python3 -u train.py {"--bf16 " * 20}--rank={i}')
        for i, process in enumerate(sample.host_processes)
    ]
    state = state_on(sample._replace(host_processes=tuple(hosts)), 80, 24, 't')
    lines = lines_of(state)[2:10]
    assert all('python3 train' in line for line in lines)
    assert re.search(r'─ python3 train.*\.\.\S*\d+$', lines[1])
    assert 'bin/python3 -u train' in lines_of(pressed(state, 'Right'))[2]
