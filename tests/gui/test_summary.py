"""Sums per user, problems with their times and counts, own cost."""

from __future__ import annotations

from typing import Any

import pytest

from nvitop.gui.state.events import KeyPressed
from nvitop.gui.state.problems import ProblemCount, Tally, count_problems, problem_lines
from nvitop.gui.state.process_rows import summarize_users, whole_devices
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import Cost, DeviceKey, Problem, ProcessKey, ProcessSample
from tests.gui.driving import after, state_of
from tests.gui.samples import SAMPLES

GPU0, GPU1, GPU3 = DeviceKey(0), DeviceKey(1), DeviceKey(3)


def process(
    pid: int, device: DeviceKey, user: str | None, memory: int | None, sm: int | None
) -> ProcessSample:
    return ProcessSample(
        ProcessKey(pid, 1.0, device),
        username=user,
        gpu_memory_bytes=memory,
        gpu_sm_utilization_percent=sm,
    )


def test_users_are_summed_on_the_host() -> None:
    first = process(1, GPU0, 'ann', 16 << 20, 0)._replace(
        cpu_percent=50.0, running_time_seconds=90.0
    )
    rows = (
        first._replace(gpu_idle_seconds=600.0),
        first._replace(key=first.key._replace(device=GPU1), gpu_idle_seconds=599.0),
        process(2, GPU0, 'ann', 70, 0)._replace(cpu_percent=5.0, running_time_seconds=3600.0),
    )
    (user,) = summarize_users(rows)
    assert user[-4:] == (16 << 20, 55.0, 3600.0, None)
    assert summarize_users([rows[-1]])[0].idle_memory_bytes is None


def test_mig_devices_are_part_of_their_gpu_if_it_is_listed() -> None:
    devices = SAMPLES['mig'].devices
    parent, first, _, _, other = devices
    assert whole_devices(devices) == (parent, other)
    # With --only 0:0 1, a MIG device is not part of a listed GPU.
    assert whole_devices((first, other)) == (first, other)


@pytest.mark.parametrize(
    ('what', 'reason', 'kind'),
    [
        ('status', 'no response for {} s', 'timed out'),
        ('status', 'takes {} s to respond', 'slow'),
        ('memory_used', '{}TiB is implausible', 'impossible'),
    ],
)
def test_problem_whose_reason_varies_is_one_problem(what: str, reason: str, kind: Any) -> None:
    counts = count_problems((), [], 9.0)
    for second in (10, 11, 12):
        problem = Problem(DeviceKey(4), what, reason.format(second), kind)
        counts = count_problems(counts, [problem], float(second))
    (line,) = problem_lines(counts)
    assert (line.reason, line.is_failure) == (reason.format(12), True)
    assert (line.times, line.first, line.last) == (3, 10.0, 12.0)


def test_own_cost_is_that_of_the_samples_after_the_first() -> None:
    costs = [
        (10.0, Cost(9.0, 900, 1.0)),
        (11.0, Cost(0.004, 40, 1.01)),
        (14.0, Cost(0.002, 20, 1.04)),
    ]
    state = after(state_of(SAMPLES['h100x8']), KeyPressed('h'))
    for measured, words in (
        (costs, 'used 1.0% CPU, 15 NVML calls/s and 3.0 ms per sample in the last 4 s'),
        ([costs[0], costs[0]], ''),
    ):
        title = draw_frame(state._replace(tally=Tally(costs=tuple(measured))), History()).lines()[1]
        assert words in title
        assert ('CPU' in title) == bool(words)


def test_problems_are_in_the_order_of_severity_and_say_each_thing_once() -> None:
    def row(gpu: int, what: str, reason: str, kind: Any, severity: Any = None) -> ProblemCount:
        return ProblemCount(DeviceKey(gpu), what, reason, kind, 9.0, 9.0, severity=severity)

    rows = [
        row(3, 'unreadable values', 'unknown driver error: temperature', 'error', 'unknown'),
        *(row(3, what, 'Unknown Error', 'error') for what in ('max_temperature', 'temperature')),
        row(2, 'slowed', '1005 MHz', 'error', 'warning'),
        row(6, 'power_usage', '4 MW', 'impossible'),
        *(row(gpu, what, 'Not Supported', 'na') for what in ('fan', 'numa') for gpu in (0, 1)),
        row(4, 'late', '0.4 s', 'error', 'warning'),
        row(2, 'fan_speed', 'Unknown Error', 'error'),
        *(row(5, what, 'GPU is tired', 'error') for what in ('clock', 'power_usage')),
        row(4, 'lost', 'GPU is lost', 'error', 'critical'),
    ]
    lines = problem_lines(rows)
    assert [(line.where, line.what, line.value_count) for line in lines] == [
        ('GPU 4', 'lost', 1),
        ('GPU 2', 'slowed', 1),
        ('GPU 4', 'late', 1),
        ('GPU 3', 'unreadable values', 1),
        ('GPU 2', 'fan_speed', 1),
        ('GPU 5', 'clock, power_usage', 2),
        ('GPU 6', 'power_usage', 1),
        ('GPU 0,1', 'fan, numa', 2),
    ]
    unknown = 'unknown driver error'
    assert lines[3].reason == f'{unknown}: temperature, max temperature'
    assert lines[3].brief == f'{unknown}: temperature and 1 more'
    past = [line._replace(is_current=False) for line in rows[:2]]
    assert len(problem_lines(past)) == 2
