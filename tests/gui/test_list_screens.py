"""The screens that are lists: users and columns."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.render.style import Role
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.demand import demand_of
from nvitop.gui.state.events import KeyPressed, SampleArrived
from nvitop.gui.state.update import update
from nvitop.owner.types import Layer, make_owner
from tests.gui.drawing import frame_on, lines_of, state_on
from tests.gui.samples import SAMPLES

pytestmark = pytest.mark.usefixtures('utc')


def test_users_are_listed_with_their_usage() -> None:
    lines = frame_on('h100x8', 100, 24, 'U').lines()
    assert lines[0].startswith('GPU usage by user (5)')
    assert re.sub('[■·]+', '-', lines[2]).split() == [
        *('alice', '4', '-', '44.4', '284.0GiB', 'N/A', '98.5', '398.8', '3:25:07'),
        *('GPU', '0-3'),
    ]
    assert lines[7].split()[:4:3] == ['Total', '53.0']
    assert 'No process is running' in frame_on('no-gpu', 100, 24, 'U').lines()[2]


def test_second_key_sums_up_by_owner() -> None:
    sample = SAMPLES['h100x8']
    owner = make_owner((Layer('slurm', '42', detail='0'),))
    rows = tuple(process._replace(owner=owner) for process in sample.processes)
    state = state_on(sample._replace(processes=rows), 100, 24, 'U', 'U')
    lines = lines_of(state)
    assert lines[0].startswith('GPU usage by owner (1)')
    assert lines[1].split()[0] == 'OWNER'
    assert lines[2].startswith(' slurm 42 ')
    assert demand_of(state).owners
    first = state_on(sample, 100, 24, 'U', 'U', 'U', 'U')
    assert lines_of(first)[1].split()[0] == 'USER'
    assert not demand_of(first).owners


def test_title_of_users_counts_processes_with_unknown_memory() -> None:
    sample = SAMPLES['h100x8']._replace(sequence=1)
    for silent, text in ((0, 'GPU usage by user (5)  '), (1, 'memory of 1 process unknown')):
        rows = tuple(
            process._replace(gpu_memory_bytes=None) if i < silent else process
            for i, process in enumerate(sample.processes)
        )
        state, _ = update(AppState(80, 24), SampleArrived(sample._replace(processes=rows)))
        state, _ = update(state, KeyPressed('U'))
        assert text in lines_of(state)[0]


def test_filter_applies_to_users() -> None:
    names = [
        line.split()[0] for line in frame_on('h100x8', 100, 24, 'U').lines()[2:] if line.strip()
    ]
    assert (len(names), names[-1]) == (6, 'Total')
    filtered = frame_on('h100x8', 100, 24, '\\', *'user:bob', 'Enter', 'U').lines()
    assert 'filter: user:bob' in filtered[0]
    assert [line.split()[0] for line in filtered[2:] if line.strip()] == ['bob']
    assert (
        'No match: 8 processes hidden by the filter'
        in frame_on('h100x8', 100, 24, '\\', '#', 'Enter', 'U').lines()[2]
    )


def test_memory_of_users_has_no_percentage_if_total_memory_is_unknown() -> None:
    state = state_on('one', 100, 24, 'U')
    device = state.sample.devices[0]
    unknown = device._replace(info=device.info._replace(memory_total_bytes=None))
    state = state._replace(sample=state.sample._replace(devices=(unknown,)))
    assert lines_of(state)[2].split()[3:5] == ['N/A', '33.0GiB']


def test_memory_of_users_is_in_percent_of_mig_devices_without_their_gpu() -> None:
    state = state_on('mig', 100, 24, '\\', *'gpu:0', 'Enter', 'U')
    sample = state.sample
    # 40120 MiB, of 80 GiB and of the 40192, 19968 and 9856 MiB of three MIG devices without their GPU.
    for devices, percent in ((sample.devices[:4], '49.0'), (sample.devices[1:4], '57.3')):
        shown = state._replace(sample=sample._replace(devices=devices))
        assert lines_of(shown)[2].split()[3] == percent


def test_columns_screen_marks_chosen_columns_and_those_without_room() -> None:
    lines = frame_on('one', 40, 24, 'C').lines()
    marks = {line[5:].split()[0]: line[1:4] for line in lines[2:17]}
    assert marks['PID'] == '[x]'
    assert marks['%MEM'] == '[-]'
    assert marks['%ENC'] == '[ ]'
    hidden = frame_on('one', 40, 24, 'C', 'Down', 'Space').lines()
    assert sum('[ ]' in line for line in hidden) == sum('[ ]' in line for line in lines) + 1


def test_columns_are_explained_in_full_at_80_columns() -> None:
    text = '\n'.join(frame_on('one', 80, 24, 'C').lines())
    assert 'X both, M MPS client' in text
    assert '..' not in text


def test_cursor_stays_visible_on_every_list() -> None:
    for key in ('!', 'U', 'C'):
        for height in (6, 8, 12, 40):
            for to in ('End', 'Home'):
                buffer = frame_on('h100x8', 80, height, key, to)
                roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
                assert Role.SELECTED in roles or key == '!'
