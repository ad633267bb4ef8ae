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
