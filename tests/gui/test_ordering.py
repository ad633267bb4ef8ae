"""Sort orders of processes, the keys that choose them, and the filter of the options."""

from __future__ import annotations

import random
from typing import Any

import pytest

from nvitop.gui.model.choices import Screen, Sort
from nvitop.gui.state.lists import LIST_ORDERS, listed_problems, listed_users
from nvitop.gui.state.process_rows import sort_processes
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import DeviceKey, ProcessKey, ProcessSample
from tests.gui.drawing import click_hit, lines_of
from tests.gui.driving import after, pressed, state_of, texts
from tests.gui.samples import SAMPLES


def process(pid: int, gpu: int = 0, **fields: Any) -> ProcessSample:
    sample = ProcessSample(ProcessKey(pid, 1.0, DeviceKey(gpu)), username='user')
    return sample._replace(**fields)


MIB = 1 << 20
PROCESSES = [
    process(10, 1, username='zoe', gpu_memory_bytes=9 * MIB, cpu_percent=50.0, type='C'),
    process(11, 0, username='ann', gpu_memory_bytes=None, cpu_percent=None, type='G'),
    process(12, 0, username='zoe', gpu_memory_bytes=9 * MIB, cpu_percent=80.0, type='C+G'),
    process(13, 0, username='ann', gpu_memory_bytes=1 * MIB, status='gone', type=None),
    process(14, 1, username=None, gpu_memory_bytes=5 * MIB, cpu_percent=0.0, type='M'),
]


def pids(sort: Sort) -> list[int]:
    shuffled = PROCESSES[:]
    random.Random(4).shuffle(shuffled)
    return [p.key.pid for p in sort_processes(shuffled, sort)]


@pytest.mark.parametrize(
    ('order', 'usual', 'reverse'),
    [
        ('natural', [11, 12, 13, 10, 14], [10, 14, 12, 11, 13]),
        ('pid', [10, 11, 12, 13, 14], [14, 13, 12, 11, 10]),
        ('username', [11, 10, 12, 14, 13], [12, 10, 11, 14, 13]),
        ('gpu_memory', [12, 10, 14, 13, 11], [13, 14, 10, 12, 11]),
        ('cpu_percent', [12, 10, 14, 13, 11], [14, 10, 12, 11, 13]),
    ],
)
def test_exited_processes_and_unknown_values_are_last_in_both_directions(
    order: str, usual: list[int], reverse: list[int]
) -> None:
    assert pids(Sort(order)) == usual
    assert pids(Sort(order, reverse=True)) == reverse


def test_users_and_problems_are_sorted_with_the_same_keys() -> None:
    users = pressed(state_of(SAMPLES['h100x8']), 'U')
    by_memory = [user.name for user in listed_users(users)]
    assert [user.name for user in listed_users(pressed(users, 'R'))] == by_memory[::-1]
    by_name = pressed(users, 'o', 'u')
    assert [user.name for user in listed_users(by_name)] == sorted(filter(None, by_memory))
    assert texts(by_name) == ['Order: USER, A to Z']
    assert listed_users(pressed(users, '.')) == listed_users(by_name)
    hours = users._replace(gpu_times={'bob': (9.0, 0.0), 'alice': (5.0, 0.0)})
    assert [user.name for user in listed_users(pressed(hours, 'o', 'h'))][:2] == ['bob', 'alice']
    problems = pressed(state_of(SAMPLES['lost']), '!')
    places = [line.subject for line in listed_problems(pressed(problems, 'o', 'W'))]
    assert places == sorted(places, reverse=True)
    assert len(set(places)) > 1
    assert listed_problems(pressed(problems, 'o', 'W', 'o', 's')) == listed_problems(problems)


def test_headings_of_users_show_the_order_and_a_click_changes_it() -> None:
    state = pressed(state_of(SAMPLES['h100x8'], 160, 40), 'U')
    by_memory = listed_users(state)
    assert '▼MEM GiB' in lines_of(state)[2]
    state = after(state, click_hit(state, 'column', 'gpu-memory'))
    assert listed_users(state) == by_memory[::-1]
    assert '▲MEM GiB' in lines_of(state)[2]
    for heading, arrow in (('▼PROCESSES', -1), ('▲PROCESSES', 1)):
        state = after(state, click_hit(state, 'column', 'processes'))
        counts = [user.processes for user in listed_users(state)]
        assert counts == sorted(counts, reverse=arrow < 0)
        assert heading in lines_of(state)[2]
    hits = draw_frame(state, History()).hits
    columns = {value for _, (kind, value) in hits if kind == 'column'}
    assert columns <= {order.name for order in LIST_ORDERS[Screen.USERS]}


def test_users_and_problems_have_a_filter() -> None:
    users = pressed(state_of(SAMPLES['h100x8']), 'U', '\\', *'user:bob', 'Enter')
    assert [user.name for user in listed_users(users)] == ['bob']
    problems = pressed(state_of(SAMPLES['lost']), '!')
    found = pressed(problems, '\\', *'gpu responding')
    assert {line.what for line in listed_problems(found)} == {'not responding'}
    assert (found.query, len(found.rows)) == ('', len(problems.rows))
    assert listed_problems(pressed(found, 'Esc')) == listed_problems(problems)
    assert listed_problems(pressed(found, 'Enter', 'q', '!')) == listed_problems(problems)
    nothing = pressed(problems, '\\', *'~~~', 'Enter')
    assert 'No problem matches the filter' in '\n'.join(lines_of(nothing))
