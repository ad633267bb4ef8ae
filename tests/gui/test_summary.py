"""Per-user sums, and problems with time and count."""

from __future__ import annotations

import pytest

from nvitop.gui.state.ranges import subjects_text
from nvitop.gui.state.summary import (
    MAX_PROBLEMS,
    count_problems,
    note_problem,
    own_cost,
    problem_lines,
    summarize_users,
    total_memory,
    whole_devices,
)
from nvitop.sampling.types import Cost, DeviceKey, Problem, ProcessKey, ProcessSample
from tests.gui.samples import MIB, SAMPLES, mig

GPU0, GPU1 = DeviceKey(0), DeviceKey(1)


def process(
    pid: int, device: DeviceKey, user: str | None, memory: int | None, sm: int | None
) -> ProcessSample:
    return ProcessSample(
        ProcessKey(pid, 1.0, device),
        username=user,
        gpu_memory_bytes=memory,
        gpu_sm_utilization_percent=sm,
    )


def test_users_are_summed_over_devices() -> None:
    rows = summarize_users(
        [
            process(1, GPU0, 'ann', 10, 40),
            process(1, GPU1, 'ann', 30, None),
            process(2, GPU1, 'bob', 70, 10),
            process(3, GPU1, 'bob', None, 20),
            process(4, GPU0, None, 5, None),
            process(5, GPU0, 'eve', None, None),
        ]
    )
    assert [tuple(row) for row in rows] == [
        ('ann', 1, (GPU0, GPU1), 40, 40.0),
        # Not 70: one of the two processes does not tell how much it has.
        ('bob', 2, (GPU1,), None, 30.0),
        ('eve', 1, (GPU0,), None, None),
        (None, 1, (GPU0,), 5, None),
    ]


def test_the_load_of_a_user_is_summed_on_each_device_and_the_mean_of_devices() -> None:
    idle = [process(pid, GPU0, 'ann', 1, 0) for pid in range(2, 6)]
    (user,) = summarize_users([process(1, GPU0, 'ann', 1, 98), *idle])
    assert user.mean_sm_percent == 98.0
    (user,) = summarize_users([process(1, GPU0, 'ann', 1, 98), process(1, GPU1, 'ann', 1, 12)])
    assert user.mean_sm_percent == 55.0
    # Each is measured over a time of its own.
    (user,) = summarize_users([process(1, GPU0, 'ann', 1, 70), process(2, GPU0, 'ann', 1, 31)])
    assert user.mean_sm_percent == 100.0


def test_memory_that_several_devices_share_counts_once() -> None:
    devices = SAMPLES['mig'].devices
    parent, first, second, third, other = devices
    assert whole_devices(devices) == (parent, other)
    assert total_memory(devices) == 2 * 80 * 1024 * MIB
    # Chosen alone, as with --only 0:0 1: there is no GPU that has its memory.
    assert whole_devices((first, other)) == (first, other)
    assert total_memory((first, other)) == (40192 + 80 * 1024) * MIB
    assert total_memory((first, second, third)) == (40192 + 19968 + 9856) * MIB
    # Compute instances of one GPU instance; instance 0 is one, too.
    for instance in (0, 2):
        halves = [mig(parent, i, '1c.4g.40gb', instance, 40192 * MIB, 12 * MIB) for i in (0, 1)]
        assert total_memory(halves) == 40192 * MIB
    unknown = other._replace(info=other.info._replace(memory_total_bytes=None))
    assert total_memory((first, unknown)) is None


def test_problems_are_counted_and_stay_when_they_are_over() -> None:
    lost = Problem('device 3', 'all', 'GPU is lost', 'lost', GPU1)
    fan = Problem('device 0', 'fan_speed', 'Not Supported')
    counts = count_problems((), [fan], 10.0)
    counts = count_problems(counts, [fan, lost], 11.0)
    counts = count_problems(counts, [fan], 12.0)
    assert [(row.subject, row.first, row.last, row.times, row.is_current) for row in counts] == [
        ('device 0', 10.0, 12.0, 3, True),
        ('device 3', 11.0, 11.0, 1, False),
    ]


def test_a_device_that_is_silent_for_longer_and_longer_is_one_problem() -> None:
    counts = count_problems((), [], 9.0)
    for seconds in (2, 3, 4):
        silent = Problem('device 4', 'status', f'no answer for {seconds} s', 'timed out')
        counts = count_problems(counts, [silent], 10.0 + seconds)
    (line,) = problem_lines(counts)
    assert (line.reason, line.times, line.first, line.last) == ('no answer for 4 s', 3, 12.0, 14.0)


def test_a_slow_device_is_one_problem_however_long_it_takes() -> None:
    counts = count_problems((), [], 9.0)
    for now in (10.0, 11.0, 12.0):
        slow = Problem('device 4', 'status', f'slow: takes {now} s to answer', 'slow')
        counts = count_problems(counts, [slow], now)
    (line,) = problem_lines(counts)
    assert (line.reason, line.times, line.is_failure) == ('slow: takes 12.0 s to answer', 3, True)


def test_answers_that_cannot_be_true_are_one_problem_whatever_they_are() -> None:
    counts = count_problems((), [], 9.0)
    for now in (10.0, 11.0, 12.0):
        wrong = Problem('device 6', 'memory_used', f'{now:.0f}TiB cannot be true', 'impossible')
        counts = count_problems(counts, [wrong], now)
    (line,) = problem_lines(counts)
    assert (line.reason, line.first, line.times) == ('12TiB cannot be true', 10.0, 3)


def test_the_memory_of_problems_is_bounded() -> None:
    counts = count_problems((), [Problem(f'process {i}', 'x', 'y') for i in range(2000)], 1.0)
    assert len(counts) == MAX_PROBLEMS
    counts = count_problems(counts, [Problem('new', 'x', 'y')], 2.0)
    assert len(counts) == MAX_PROBLEMS
    assert counts[0].subject == 'new'


def test_the_same_problem_of_many_devices_is_one_line() -> None:
    fans = [Problem(f'device {i}', 'fan_speed', 'Not Supported') for i in range(8)]
    lost = Problem('device 3', 'status', 'GPU is lost', 'lost')
    counts = count_problems((), [fans[0], lost], 10.0)
    counts = count_problems(counts, fans, 20.0)
    lines = problem_lines(counts)
    assert [(line.subject, line.what, line.is_current) for line in lines] == [
        ('device 3', 'status', False),
        ('devices 0-7', 'fan_speed', True),
    ]
    assert (lines[1].first, lines[1].last, lines[1].times) == (10.0, 20.0, 2)
    counts = count_problems(counts, [*fans, lost], 30.0)
    assert [line.what for line in problem_lines(counts)] == ['status', 'fan_speed']


@pytest.mark.parametrize('kind', ['na', 'denied'])
def test_what_a_lost_device_does_not_have_stays_in_the_line_of_the_others(kind: str) -> None:
    missing = [Problem(f'device {i}', 'fan_speed', 'not for you', kind) for i in range(3)]
    failing = [Problem(f'device {i}', 'temperature', 'Unknown Error', 'error') for i in range(3)]
    counts = count_problems((), [*missing, *failing], 10.0)
    counts = count_problems(counts, [*missing[:2], *failing[:2]], 20.0)
    assert [(line.subject, line.what, line.is_current) for line in problem_lines(counts)] == [
        ('devices 0,1', 'temperature', True),
        ('device 2', 'temperature', False),
        ('devices 0-2', 'fan_speed', True),
    ]
    (*_, line) = problem_lines(count_problems(counts, [], 30.0))
    assert (line.subject, line.is_current) == ('devices 0-2', False)


def test_a_device_that_is_gone_is_listed_before_single_values() -> None:
    sensor = Problem('device 3', 'fan_speed', 'Unknown Error', 'error')
    silent = Problem('device 4', 'status', 'no answer for 2 s', 'timed out')
    lost = Problem('device 1', 'status', 'GPU is lost', 'lost')
    counts = count_problems((), [sensor, silent, lost], 10.0)
    assert [line.what for line in problem_lines(counts)] == ['status', 'status', 'fan_speed']
    # What is past stays in the order of time.
    counts = count_problems(counts, [sensor], 20.0)
    counts = count_problems(counts, [], 30.0)
    assert [line.what for line in problem_lines(counts)] == ['fan_speed', 'status', 'status']


def test_what_one_device_has_stands_together() -> None:
    wheres = ('process 4', 'device 10', 'host', 'device 2', 'device 2:1', 'device 3')
    problems = [
        Problem(where, what, f'{where} does not tell', 'error')
        for what in ('temperature', 'power_usage')
        for where in wheres
    ]
    problems += [Problem(f'device {i}', 'fan_speed', 'Unknown Error', 'error') for i in (2, 3)]
    lines = problem_lines(count_problems((), problems, 10.0))
    assert [line.subject for line in lines if line.what != 'temperature'] == [
        'device 2',
        'device 2:1',
        'devices 2,3',
        'device 3',
        'device 10',
        'host',
        'process 4',
    ]
    assert [line.what for line in lines[:2]] == ['power_usage', 'temperature']


def test_a_signal_that_failed_is_a_problem_of_its_own() -> None:
    counts = note_problem((), 'process 42', 'SIGTERM', 'has already exited', 5.0)
    counts = note_problem(counts, 'process 42', 'SIGTERM', 'has already exited', 6.0)
    counts = note_problem(counts, 'process 43', 'SIGTERM', 'has already exited', 7.0)
    (line,) = problem_lines(counts)
    assert line.subject == 'processes 42,43'
    assert (line.first, line.last, line.times, line.is_current) == (5.0, 7.0, 2, False)


@pytest.mark.parametrize(
    ('subjects', 'text'),
    [
        (['driver'], 'driver'),
        (['device 3'], 'device 3'),
        (['device 10', 'device 9', 'device 8', 'device 2'], 'devices 2,8-10'),
        (['device 0:1', 'device 0:0', 'device 1'], 'devices 0:0,0:1,1'),
        (['process 7', 'host', 'process 7'], 'process 7, host'),
    ],
)
def test_subjects_are_named_in_a_few_characters(subjects: list[str], text: str) -> None:
    assert subjects_text(subjects) == text


def test_own_cost_is_that_of_the_samples_between() -> None:
    costs = [
        (10.0, Cost(9.0, 900, 1.0)),
        (11.0, Cost(0.004, 40, 1.01)),
        (14.0, Cost(0.002, 20, 1.04)),
    ]
    cost = own_cost(costs)
    assert cost is not None
    assert cost.cpu_percent == pytest.approx(1.0)
    assert cost.nvml_calls_per_second == pytest.approx(15.0)
    assert cost.seconds_per_sample == pytest.approx(0.003)
    assert cost.seconds == 4.0
    assert own_cost(costs[:1]) is None
    assert own_cost([costs[0], costs[0]]) is None
