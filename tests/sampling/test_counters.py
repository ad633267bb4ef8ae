"""Energy counters that jump."""

from __future__ import annotations

from nvitop.sampling.counters import EnergyCounters
from tests.sampling.fakes import device_sample


def test_impossible_jump_of_the_energy_counter_is_dropped_once() -> None:
    counters = EnergyCounters()
    kept, problems = [], []
    for now, joules in enumerate([9e6, 9e6 + 700, 9e9, 9e6 + 2100, 9e6 + 2800, None]):
        gpu = device_sample(0, power_limit_mw=700_000, total_energy_joules=joules)
        (checked,), found = counters.check([gpu], float(now))
        kept.append(checked.total_energy_joules)
        problems += found
    assert kept == [9e6, 9e6 + 700, None, 9e6 + 2100, 9e6 + 2800, None]
    (problem,) = problems
    assert (problem.what, problem.kind) == ('total_energy', 'impossible')


def test_a_counter_may_be_read_late_and_the_limit_exceeded_for_a_moment() -> None:
    counters = EnergyCounters()
    for now, joules, is_kept in ((0.0, 0.0, True), (1.0, 6000.0, True), (2.0, 12_600.0, False)):
        gpu = device_sample(0, power_limit_mw=700_000, total_energy_joules=joules)
        (checked,), _ = counters.check([gpu], now)
        assert (checked.total_energy_joules is not None) == is_kept, now
