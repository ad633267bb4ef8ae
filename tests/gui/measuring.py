"""A sampler for runs of the application in tests."""

from __future__ import annotations

from nvitop.sampling.types import Demand


class FakeMeasuring:
    """A sampler that measures nothing and records the calls."""

    def __init__(self) -> None:
        self.demands: list[Demand] = []
        self.refreshes = 0
        self.starts = 0

    def start(self) -> None:
        self.starts += 1

    def demand(self, demand: Demand) -> None:
        if not self.demands or demand != self.demands[-1]:
            self.demands.append(demand)

    def refresh(self) -> None:
        self.refreshes += 1
