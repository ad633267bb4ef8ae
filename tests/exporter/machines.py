"""Samples of simulated machines for tests of the exporter."""

from __future__ import annotations

import functools

from nvitop import simulation
from nvitop.exporter.dialects import DIALECT_NAMES, Observation, SeriesOptions
from nvitop.exporter.families import demand_of
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Sample
from tests.clock import Clock

EVERYTHING = SeriesOptions(processes=True, commands=True)
SCENARIOS = ('dgx-h100', 'mig', 'faults', 'old-driver', 'spark', 'workstation', 'empty')


@functools.lru_cache(maxsize=None)
def sample_of(scenario: str, names: tuple[str, ...] = DIALECT_NAMES) -> Sample:
    """Return a sample with everything that is measured for these dialects, rates included."""
    clock = Clock()
    demand = demand_of(names, EVERYTHING, profiling=True)
    with simulation.machine(scenario, clock=clock, sleep=clock.turn):
        source = LiveSource(clock=clock, wall_clock=lambda: 1.7e9 + clock.now, sleep=clock.turn)
        for _ in range(3):
            sample = source.sample(demand)
            clock.turn(1.0)
        return sample


def observed(scenario: str, options: SeriesOptions = EVERYTHING) -> Observation:
    """Return an observation of a simulated machine."""
    return Observation(sample_of(scenario), options, usage={(('user', 'ada'),): {'seconds': 12.5}})
