"""Per-user sums, and problems with time and count."""

from __future__ import annotations

from nvitop.gui.state.summary import MAX_PROBLEMS, count_problems, summarise_users
from nvitop.sampling.types import DeviceKey, Problem, ProcessKey, ProcessSample

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
    rows = summarise_users(
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
        ('bob', 2, (GPU1,), 70, 15.0),
        ('ann', 1, (GPU0, GPU1), 40, 40.0),
        ('eve', 1, (GPU0,), None, None),
        (None, 1, (GPU0,), 5, None),
    ]


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


def test_the_memory_of_problems_is_bounded() -> None:
    counts = count_problems((), [Problem(f'process {i}', 'x', 'y') for i in range(2000)], 1.0)
    assert len(counts) == MAX_PROBLEMS
    counts = count_problems(counts, [Problem('new', 'x', 'y')], 2.0)
    assert len(counts) == MAX_PROBLEMS
    assert counts[0].subject == 'new'
