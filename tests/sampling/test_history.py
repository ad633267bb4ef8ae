from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.sampling import history
from nvitop.sampling.history import HOST, History, Ring
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, HostSample
from tests.api.machines import machine as make_machine
from tests.sampling.fakes import device_key, device_sample, process_key, process_sample, sample


def filled(values: dict[float, float | None], slot: float = 1.0, capacity: float = 3600.0) -> Ring:
    ring = Ring(slot, capacity)
    for time, value in values.items():
        ring.append(time, value)
    return ring


def line(start: int, stop: int, step: int = 1) -> dict[float, float | None]:
    return {float(time): float(time) for time in range(start, stop, step)}


@pytest.mark.parametrize(
    ('values', 'window', 'expected'),
    [
        # One column per second, and times before the first value.
        (line(100, 110), (109, 5, 5), [105, 106, 107, 108, 109]),
        ({100: 1.0, 101: 2.0}, (101, 4, 4), [None, None, 1, 2]),
        ({}, (100, 4, 4), [None] * 4),
        ({1: 1.0}, (1, 60, 0), []),
        ({1: 1.0}, (1, 60, -1), []),
        # Several values in a slot, several slots in a column.
        ({100.0: 1.0, 100.25: 2.0, 100.75: 6.0, 101.0: 5.0}, (101, 2, 2), [3, 5]),
        ({100.0: 1.0, 100.5: None, 100.75: 3.0}, (100, 1, 1), [2]),
        ({100.0: None, 100.5: 3.0}, (100, 1, 1), [3]),
        (line(100, 120), (119, 20, 4), [102, 107, 112, 117]),
        # Short gaps and columns finer than slots are interpolated, long gaps are not.
        ({100: 10.0, 105: 20.0, 106: 21.0}, (106, 7, 7), [10, 12, 14, 16, 18, 20, 21]),
        ({100: 0.0, 101: 2.0, 102: 4.0}, (102, 2.5, 5), [0, 1, 2, 3, 4]),
        ({100: 0.0, 111: 11.0}, (111, 12, 12), [*range(12)]),
        ({100: 0.0, 112: 12.0}, (112, 13, 13), [0, *[None] * 11, 12]),
        # An unavailable value is a hole.
        ({102: 10.0, 103: None, 104: 30.0}, (104, 3, 3), [10, None, 30]),
        ({102: 10.0, 103: math.nan, 104: 30.0}, (104, 3, 3), [10, None, 30]),
        ({102: 10.0, 103: None, 104: 30.0}, (104, 3, 1), [20]),
        # A clock that goes back counts for the newest slot.
        ({100: 1.0, 50: 3.0}, (100, 2, 2), [None, 2]),
        # The newest value holds for two slots, then the metric has ended; others stay at their time.
        ({100: 1.0, 101: 2.0}, (103, 4, 4), [1, 2, 2, 2]),
        ({100: 1.0, 101: 2.0}, (104, 4, 4), [2, None, None, None]),
        ({100: 1.0, 101: 2.0, 102: 3.0}, (104, 6, 3), [1.5, 3, 3]),
    ],
)
def test_values_of_a_ring(
    values: dict[float, float | None],
    window: tuple[float, float, int],
    expected: list[float | None],
) -> None:
    assert filled(values).values(*window) == expected


@settings(deadline=None)
@given(
    st.dictionaries(
        st.integers(0, 400), st.one_of(st.none(), st.floats(0, 100, width=32)), min_size=1
    ),
    st.integers(0, 500),
    st.sampled_from([5.0, 7.5, 60.0, 90.0, 300.0, 3600.0]),
    st.integers(1, 200),
    st.sampled_from([1.0, 2.0, 2.5]),
)
def test_skipping_the_empty_part_of_a_graph_changes_nothing(
    values: dict[int, float | None], now: int, seconds: float, columns: int, slot: float
) -> None:
    ring = filled({float(time): values[time] for time in sorted(values)}, slot)
    whole = filled({0.0: None}, slot)  # nothing is skipped after a first slot without a value
    for time in sorted(values):
        whole.append(float(time), values[time])
    assert ring.values(now, seconds, columns) == whole.values(now, seconds, columns)


def test_devices_and_host_are_recorded_by_metric() -> None:
    h = History()
    gpu = device_sample(3, gpu_utilization_percent=50, temperature_celsius=None)
    h.record(sample(100, gpu)._replace(host=HostSample(cpu_percent=7.5, swap_percent=0.0)))
    key = device_key(3)
    assert h.values(key, 'gpu_utilization', 60, 2) == [None, 50]
    assert h.values(key, 'temperature', 60, 2) == [None, None]
    assert h.values(HOST, 'cpu_percent', 60, 2) == [None, 7.5]
    assert h.values(HOST, 'swap_percent', 60, 2) == [None, 0]
    assert h.values(device_key(0), 'gpu_utilization', 60, 2) == [None, None]
    assert h.last(key, 'gpu_utilization') == 50
    assert h.last(key, 'temperature') is None
    assert h.last(key, 'nothing') is None


def test_rings_are_bounded_frozen_and_have_a_maximum() -> None:
    ring = filled(line(100, 125), capacity=10.0)
    assert ring.values(124, 15, 15) == [None] * 5 + [float(i) for i in range(115, 125)]
    h = History()
    for i, value in enumerate([90.0, 10.0, 30.0, 20.0]):
        h.append('x', 'm', 100 + i, value)
    assert [h.maximum('x', 'm', 3), h.maximum('x', 'm', 4), h.maximum('x', 'n', 4)] == [
        30,
        90,
        None,
    ]
    frozen = h.until(102)
    h.append('x', 'm', 104, 99.0)
    assert [frozen.maximum('x', 'm', 2), h.maximum('x', 'm', 3)] == [30, 99]


def test_process_rings_are_bounded_and_the_watched_one_stays() -> None:
    h = History()
    for tick in range(20):
        pids = [9999, *range(tick * 30, tick * 30 + 30)]
        busy = tuple(process_sample(pid, cpu_percent=1.0) for pid in pids)
        h.record(sample(100 + 2 * tick, processes=busy), watched=[process_key(9999)])
    known = [pid for pid in (9999, *range(600)) if h.last(process_key(pid), 'cpu_percent')]
    assert len(known) == history.MAX_PROCESSES
    assert h.values(process_key(9999), 'cpu_percent', 20, 10) == [1.0] * 10


def test_a_vanished_device_is_forgotten_after_the_capacity() -> None:
    h = History()
    gpus = [device_sample(index, temperature_celsius=50) for index in range(2)]
    h.record(sample(100, *gpus))
    h.record(sample(101, gpus[0]))
    assert h.last(device_key(1), 'temperature') == 50
    h.record(sample(101 + history.CAPACITY_SECONDS, gpus[0]))
    assert h.last(device_key(1), 'temperature') is None
    h.forget(device_key(0))
    assert h.last(device_key(0), 'temperature') is None


# The time before the first sample of a simulated machine


def test_a_process_that_was_idle_in_the_past_is_idle_since_then() -> None:
    text = '[[gpu]]\n[[process]]\ncommand = ["a"]\nmemory = "1 GiB"\nstarted = "2h"\n'
    with make_machine(text, processes='real'):
        (process,) = LiveSource().sample(Demand()).processes
        assert process.gpu_idle_seconds == pytest.approx(3600, abs=60)
        assert process.is_idle_longer
