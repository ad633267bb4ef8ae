# SPDX-License-Identifier: Apache-2.0
"""Interfaces of sources of samples."""

from __future__ import annotations

from typing import Protocol

from nvitop.sampling.types import Demand, Origin, Sample


class Source(Protocol):
    """A source of samples: the live machine, a recording, another host, or a test.

    A source is used by one thread at a time.
    """

    @property
    def origin(self) -> Origin:
        """Where the last sample comes from. It may change with each sample."""

    def sample(self, demand: Demand) -> Sample:
        """Measure what is due for this demand; the rest of the sample is as before.

        A source should return within seconds whatever the driver does, and report failures in
        :attr:`Sample.problems`.
        """

    def next_due(self) -> float:
        """Return when something falls due next, on the monotonic clock."""

    def refresh(self) -> None:
        """Make everything due now."""


class MonitoredSource(Source, Protocol):
    """A source for the monitor."""

    @property
    def threads_inside(self) -> int:
        """Number of threads inside calls now; unless it is 0, leave the process by ``os._exit``."""
