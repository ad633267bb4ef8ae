from __future__ import annotations

import gc
import math
import sys
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvitop.sampling import history
from nvitop.sampling.history import HOST, History, Ring
from nvitop.sampling.types import HostSample
from tests.sampling.fakes import device_key, device_sample, process_key, process_sample, sample


def filled(values: dict[float, float | None], slot: float = 1.0) -> Ring:
    ring = Ring(slot)
    for time, value in values.items():
        ring.append(time, value)
    return ring


def test_values_of_a_column_per_second_are_what_was_appended() -> None:
    ring = filled({100 + i: float(i) for i in range(10)})
    assert ring.values(109, 5, 5) == [5, 6, 7, 8, 9]


def test_values_before_the_first_one_are_none() -> None:
    ring = filled({100: 1.0, 101: 2.0})
    assert ring.values(101, 4, 4) == [None, None, 1, 2]


@settings(max_examples=300, deadline=None)
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
    thorough = filled({float(time): values[time] for time in sorted(values)}, slot)
    thorough._first_slot = -100_000
    assert ring.values(now, seconds, columns) == thorough.values(now, seconds, columns)


def test_the_empty_part_of_a_graph_is_not_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ring = filled({1000.0 + i: 1.0 for i in range(5)})
    looked_at: list[int] = []
    resample = ring._resample

    def counting(end: int, width: float, columns: int) -> list[float]:
        looked_at.append(columns)
        return resample(end, width, columns)

    monkeypatch.setattr(Ring, '_resample', lambda _, *arguments: counting(*arguments))
    assert ring.values(1004, 3600, 3600) == [*[None] * 3595, *[1.0] * 5]
    assert looked_at[0] < 30


def test_an_empty_ring_has_no_values() -> None:
    assert Ring().values(100, 4, 4) == [None] * 4


@pytest.mark.parametrize('columns', [0, -1])
def test_no_columns_give_no_values(columns: int) -> None:
    assert filled({1: 1.0}).values(1, 60, columns) == []


def test_several_values_in_a_slot_give_their_mean() -> None:
    ring = filled({100.0: 1.0, 100.25: 2.0, 100.75: 6.0, 101.0: 5.0})
    assert ring.values(101, 2, 2) == [3, 5]


def test_an_unavailable_value_does_not_count_for_the_mean_of_its_slot() -> None:
    ring = filled({100.0: 1.0, 100.5: None, 100.75: 3.0})
    assert ring.values(100, 1, 1) == [2]
    assert filled({100.0: None, 100.5: 3.0}).values(100, 1, 1) == [3]


def test_a_column_of_several_slots_is_their_mean() -> None:
    ring = filled({float(i): float(i) for i in range(100, 120)})
    assert ring.values(119, 20, 4) == [102, 107, 112, 117]


def test_column_borders_do_not_move_with_time() -> None:
    ring = filled({float(i): float(i * i % 37) for i in range(100, 220)})
    before = ring.values(219, 60, 12)
    for i in range(220, 225):
        ring.append(i, 0.0)
    assert ring.values(224, 60, 12)[:11] == before[1:]


def test_seconds_without_a_sample_are_interpolated() -> None:
    ring = filled({100: 10.0, 105: 20.0, 106: 21.0})
    assert ring.values(106, 7, 7) == [10, 12, 14, 16, 18, 20, 21]


def test_a_long_gap_is_not_interpolated() -> None:
    ring = filled({100: 10.0, 120: 20.0})
    values = ring.values(120, 21, 21)
    assert values[0] == 10
    assert values[-1] == 20
    assert set(values[1:-1]) == {None}


@pytest.mark.parametrize('unknown', [None, math.nan])
def test_an_unavailable_value_is_a_hole(unknown: float | None) -> None:
    ring = filled({102: 10.0, 103: unknown, 104: 30.0})
    assert ring.values(104, 3, 3) == [10, None, 30]
    assert ring.values(104, 3, 1) == [20]


def test_columns_finer_than_the_slots_are_interpolated() -> None:
    ring = filled({100: 0.0, 101: 2.0, 102: 4.0})
    assert ring.values(102, 2.5, 5) == [0, 1, 2, 3, 4]


def test_the_left_edge_is_interpolated_too() -> None:
    ring = filled({float(i): float(i) for i in range(100, 200, 5)}, slot=5.0)
    values = ring.values(195, 30, 30)
    assert values == pytest.approx([float(i) for i in range(166, 196)])


def test_a_full_ring_drops_the_oldest_values() -> None:
    ring = Ring(1.0, 10.0)
    for i in range(100, 125):
        ring.append(i, float(i))
    assert ring.values(124, 15, 15) == [None] * 5 + [float(i) for i in range(115, 125)]


def test_a_pause_longer_than_the_ring_empties_it() -> None:
    ring = Ring(1.0, 10.0)
    for i in range(100, 110):
        ring.append(i, 1.0)
    ring.append(175, 5.0)
    assert ring.values(175, 10, 10) == [None] * 9 + [5.0]


def test_values_of_a_clock_that_went_back_count_for_the_newest_slot() -> None:
    ring = filled({100: 1.0})
    ring.append(50, 3.0)
    assert ring.values(100, 2, 2) == [None, 2]


def test_a_graph_that_ended_moves_to_the_left() -> None:
    ring = filled({100: 1.0, 101: 1.0})
    assert ring.values(103, 4, 4) == [None, None, 1, 1]  # may still go on
    assert ring.values(104, 4, 4) == [1, None, None, None]


def test_returned_values_are_a_copy() -> None:
    ring = filled({100: 1.0})
    ring.values(100, 1, 1).append(9.0)
    assert ring.values(100, 1, 1) == [1]


def test_history_records_devices_and_host_by_metric() -> None:
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


def test_a_metric_is_recorded_from_its_first_value_on() -> None:
    h = History()
    h.record(sample(100, device_sample(0)))
    assert 'pcie_tx_throughput' not in h.metrics(device_key())
    h.record(sample(101, device_sample(0, pcie_tx_throughput_kib_per_s=5)))
    h.record(sample(102, device_sample(0)))
    h.record(sample(103, device_sample(0, pcie_tx_throughput_kib_per_s=7)))
    assert h.values(device_key(), 'pcie_tx_throughput', 4, 4) == [None, 5, None, 7]


def test_maximum_covers_the_window_only() -> None:
    h = History()
    for i, value in enumerate([90.0, 10.0, 30.0, 20.0]):
        h.append('x', 'm', 100 + i, value)
    assert h.maximum('x', 'm', 3) == 30
    assert h.maximum('x', 'm', 4) == 90
    assert h.maximum('x', 'other', 4) is None


def test_processes_are_recorded_once_per_measurement() -> None:
    h = History()
    one = process_sample(1, cpu_percent=10.0, gpu_memory_bytes=1024)
    h.record(sample(100, processes=(one,)))
    again = one._replace(cpu_percent=90.0)
    h.record(sample(101, processes=(again,))._replace(processes_monotonic=100.0))
    assert h.last(process_key(1), 'cpu_percent') == 10
    assert h.last(process_key(1), 'gpu_memory') == 1024


def test_off_screen_processes_are_recorded_only_if_watched() -> None:
    h = History()
    hidden = process_sample(1, gpu_memory_bytes=1)
    h.record(sample(100, processes=(hidden,)))
    assert process_key(1) not in h.known_keys()
    h.record(sample(102, processes=(hidden,)), watched=[process_key(1)])
    assert h.last(process_key(1), 'gpu_memory') == 1


@pytest.mark.parametrize('status', ['gone', 'foreign', 'no permission'])
def test_processes_without_cpu_percent_are_recorded_last(
    status: str,
) -> None:
    h = History()
    unknown = process_sample(1, status=status, gpu_memory_bytes=1)
    h.record(sample(100, processes=(unknown,)))
    assert h.last(process_key(1), 'gpu_memory') == 1

    busy = tuple(
        process_sample(pid, cpu_percent=1.0) for pid in range(10, 10 + history.MAX_PROCESSES)
    )
    h.record(sample(102, processes=(unknown, *busy)))
    assert h.known_keys() - {HOST} == {process.key for process in busy}


def test_process_rings_are_bounded_and_the_watched_one_stays() -> None:
    h = History()
    for tick in range(20):
        pids = [9999, *range(tick * 30, tick * 30 + 30)]
        h.record(
            sample(
                100 + 2 * tick, processes=tuple(process_sample(p, cpu_percent=1.0) for p in pids)
            ),
            watched=[process_key(9999)],
        )
    keys = h.known_keys() - {HOST}
    assert len(keys) == history.MAX_PROCESSES
    assert h.values(process_key(9999), 'cpu_percent', 20, 10) == [1.0] * 10


def test_a_vanished_device_is_forgotten_after_the_capacity() -> None:
    h = History()
    gpus = [device_sample(index, temperature_celsius=50) for index in range(2)]
    h.record(sample(100, *gpus))
    h.record(sample(101, gpus[0]))
    assert device_key(1) in h.known_keys()
    h.record(sample(101 + history.CAPACITY_SECONDS, gpus[0]))
    assert h.known_keys() == {HOST, device_key(0)}


def test_forget_drops_all_rings_of_a_key() -> None:
    h = History()
    h.record(sample(100, device_sample(0, encoder_utilization_percent=3)))
    h.forget(device_key(0))
    assert h.metrics(device_key(0)) == ()


def test_memory_does_not_grow_over_time() -> None:
    h = History()

    def run(ticks: range) -> None:
        for tick in ticks:
            processes = tuple(process_sample(tick + i, cpu_percent=1.0) for i in range(3))
            h.record(sample(float(tick), device_sample(0), processes=processes))

    run(range(1000, 3000))
    before = size_of(h)
    run(range(3000, 5000))
    assert size_of(h) <= before


def size_of(whole: object) -> int:
    """Return the bytes of everything reachable, except through classes, modules and functions."""
    seen: dict[int, object] = {}
    todo = [whole]
    while todo:
        each = todo.pop()
        if id(each) not in seen and not isinstance(
            each, (type, types.ModuleType, types.FunctionType)
        ):
            seen[id(each)] = each
            todo += gc.get_referents(each)
    return sum(map(sys.getsizeof, seen.values()))


def test_a_frozen_history_does_not_change() -> None:
    history = History()
    for i in range(100, 130):
        history.append(HOST, 'cpu_percent', float(i), float(i % 7))
    frozen = history.until(history.now)
    before = frozen.values(HOST, 'cpu_percent', 60, 60)
    highest = frozen.maximum(HOST, 'cpu_percent', 60)
    for i in range(130, 400):
        history.append(HOST, 'cpu_percent', float(i), 99.0)
        assert frozen.values(HOST, 'cpu_percent', 60, 60) == before
    assert frozen.maximum(HOST, 'cpu_percent', 60) == highest
    assert history.maximum(HOST, 'cpu_percent', 60) == 99
