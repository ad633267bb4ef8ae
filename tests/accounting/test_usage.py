from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.accounting.shares import UsageKey
from nvitop.accounting.usage import UsageAccount, split
from nvitop.sampling.types import PROCESSES, Problem
from tests.recording.virtual_clock import START, SimpleMachine, record, rows, usage

#: Samples of ten minutes.
TICKS = 60


def recorded(path: Path, machine: SimpleMachine, ticks: int = TICKS, seconds: float = 10.0) -> Path:
    """Record a machine that changes nothing."""
    record(path, (machine.sample(seconds) for _ in range(ticks)), interval_seconds=seconds)
    return path


def observed(path: Path) -> int:
    """Return the time in which leaf devices were observed."""
    total: int = rows(path, 'SELECT sum(observed_ms) FROM gpu_minute WHERE is_leaf')[0][0]
    return total


def test_utilization_is_known_of_the_time_that_counts_for_a_row(tmp_path: Path) -> None:
    machine = SimpleMachine(2)
    # What its decoder does is no time of kernels.
    machine.run(1, 0, gpu_sm_utilization_percent=60, gpu_decoder_utilization_percent=79)
    machine.run(2, 0, username=None, gpu_sm_utilization_percent=0)
    machine.run(3, 1, username=None, gpu_sm_utilization_percent=None)
    by_user = usage(recorded(tmp_path / 'a.db', machine), 'user')
    seconds = (TICKS - 1) * 10
    assert by_user['ann']['sm_percent_ms'] == 60 * 1000 * seconds
    assert by_user['ann']['measured_ms'] == 1000 * seconds
    assert (by_user['?']['share_ms'], by_user['?']['measured_ms']) == (1000 * seconds, 0)


def test_rounded_shares_add_up_to_the_observed_time(tmp_path: Path) -> None:
    machine = SimpleMachine(1)
    for pid, user in enumerate(('ann', 'bob', 'carol', 'dave', 'erin', 'frank', 'grace')):
        machine.run(pid, username=user)
    path = recorded(tmp_path / 'a.db', machine)
    assert observed(path) == sum(row['share_ms'] for row in usage(path, 'user').values())


def test_energy_adds_up_to_the_counter_and_is_divided_by_utilization(tmp_path: Path) -> None:
    machine = SimpleMachine(1)
    machine.run(1, gpu_sm_utilization_percent=60)
    machine.run(2, username='bob', gpu_sm_utilization_percent=20)

    def samples() -> Any:
        for tick in range(TICKS):
            machine.set(0, total_energy_joules=5e6 + 1234.5 * tick)
            yield machine.sample(10)

    record(tmp_path / 'a.db', samples())
    energies = {user: sums['energy_mj'] for user, sums in usage(tmp_path / 'a.db', 'user').items()}
    total = 1234_500 * (TICKS - 1)
    assert sum(energies.values()) == pytest.approx(total, abs=200)
    assert energies['ann'] == pytest.approx(total * 0.75, abs=100)
    by_gpu = rows(tmp_path / 'a.db', 'SELECT sum(energy_mj), sum(estimated_mj) FROM gpu_minute')
    assert by_gpu == [(pytest.approx(total, abs=100), 0)]


def test_energy_without_counter_is_estimated_from_the_power(tmp_path: Path) -> None:
    machine = SimpleMachine(1)
    machine.free(0)
    path = recorded(tmp_path / 'a.db', machine)
    total = 100_000 * 10 * (TICKS - 1)
    found = rows(path, 'SELECT sum(energy_mj), sum(estimated_mj) FROM gpu_minute')
    assert found == [(total, total)]
    assert usage(path, 'user')['']['energy_mj'] == total


@pytest.mark.parametrize(
    'joules',
    [
        [9e6, 9e6 + 1000, 500.0, 1500.0],  # a new driver
        [9e6, 9e6 + 1000, 5e9, 5e9 + 1000],  # a jump that no GPU can make
        [9e6, 9e6 + 1000, None, 9e6 + 2000],
    ],
)
def test_energy_is_estimated_from_the_power_where_the_counter_is_wrong(
    tmp_path: Path, joules: list[float | None]
) -> None:
    machine = SimpleMachine(1)

    def samples() -> Any:
        for counter in joules:
            machine.set(0, total_energy_joules=counter)
            yield machine.sample(10)

    record(tmp_path / 'a.db', samples())
    found = rows(tmp_path / 'a.db', 'SELECT sum(energy_mj), sum(estimated_mj) FROM gpu_minute')
    wrong = 1_000_000 * (2 if None in joules else 1)
    assert found == [(3_000_000, wrong)]


def test_unknown_process_lists_are_not_idle_time(tmp_path: Path) -> None:
    machine = SimpleMachine(2)
    machine.free(0)
    machine.free(1)
    machine.problems = (Problem(machine.devices[0].key, PROCESSES, 'no permission', 'denied'),)
    path = recorded(tmp_path / 'a.db', machine, 7)
    assert {user: sums['share_ms'] for user, sums in usage(path, 'user').items()} == {
        '?': 60_000,
        '': 60_000,
    }


@given(st.floats(1e9, 2e9), st.floats(0.01, 500))
def test_split_times_add_up(end: float, seconds: float) -> None:
    parts = list(split(end, seconds))
    assert sum(part for _, part in parts) == pytest.approx(1)
    assert all(part > 0 for _, part in parts)
    minutes = [minute for minute, _ in parts]
    assert minutes == list(range(minutes[0], minutes[0] + len(minutes)))
    assert minutes[-1] in (end // 60, end // 60 - 1)


def test_minutes_are_complete_only_when_they_are_over() -> None:
    account, machine = UsageAccount(10.0), SimpleMachine(1)
    for _ in range(5):
        account.add(machine.sample(10))
    begun = START // 60
    assert [rows.minute for rows in account.take(machine.wall)] == [begun]
    (rest,) = account.take()
    assert rest.minute == begun + 1
    assert UsageKey('GPU-0', '?') in rest.usage
