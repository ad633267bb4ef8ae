"""The screens that are lists: users, columns and the process tree."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.render.style import Role
from nvitop.gui.state.cursor import current_line
from nvitop.gui.state.lists import listed_users
from nvitop.owner.types import Layer, make_owner
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
    assert lines[1].startswith('╭─ Jobs 1 ')
    assert lines[2].split()[1] == 'JOB'
    assert lines[3].startswith('│  slurm 42 ')
    assert demand_of(state).owners
    assert lines_of(pressed(state, 'U'))[2].split()[1] == 'USER'


def test_users_are_a_map_with_the_free_gpus_and_the_processes_of_the_selected_one() -> None:
    lines = lines_of(state_on('h100x8', 120, 40, 'U', 'Down'))
    headings = lines[2]
    for gpu in range(8):
        assert f' {gpu} ' in headings
    place = headings.index(' 4 ') + 1
    assert lines[4].split()[1] == 'bob'
    assert [lines[y][place : place + 2] for y in (3, 4, 5)] == ['  ', '▇▇', '  ']
    free = next(line for line in lines if line.startswith('│  free'))
    assert free[headings.index(' 7 ') + 1 :].startswith('free')
    assert any(line.startswith('├─ bob: 1 process on GPU 4 ') for line in lines)
    assert any(line.startswith('│ GPU 4 ') for line in lines)
    assert 'GPU 7' in next(line for line in lines_on('h100x8', 60, 16, 'U') if 'free' in line[:9])


def test_cursor_follows_its_line_when_the_order_changes() -> None:
    state = pressed(state_on('h100x8', 120, 40), 'U', 'Down')
    name = listed_users(state)[current_line(state) or 0].name
    state = pressed(state, 'o', 'c')
    assert listed_users(state)[current_line(state) or 0].name == name
    assert listed_users(state)[1].name != name


def test_cursor_stays_visible_on_every_list() -> None:
    for key in ('!', 'U', 'C'):
        for height in (6, 8, 12, 40):
            for to in ('End', 'Home'):
                buffer = frame_on('h100x8', 80, height, key, to)
                roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
                assert Role.SELECTED in roles or key == '!'


# The tree


def test_empty_tree_shows_the_reason() -> None:
    assert 'Looking for processes ...' in lines_on('nothing-yet', 80, 24, 't')[3]
    assert 'No match: 16 processes' in lines_on('h100x8', 80, 24, 't', '\\', '#')[3]


def test_long_commands_are_shortened_as_on_the_main_screen() -> None:
    sample = with_families(SAMPLES['h100x8'])
    hosts = [
        process._replace(command=f'/opt/conda/bin/python3 -u train.py {"--bf16 " * 20}--rank={i}')
        for i, process in enumerate(sample.host_processes)
    ]
    state = state_on(sample._replace(host_processes=tuple(hosts)), 80, 24, 't')
    lines = [line.rstrip('│ ') for line in lines_of(state)[3:11]]
    assert all('python3 train' in line for line in lines)
    assert re.search(r'─ python3 train.*\.\.\S*\d+$', lines[1])
    assert 'bin/python3 -u train' in lines_of(pressed(state, 'Right'))[3]
