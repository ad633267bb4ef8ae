# SPDX-License-Identifier: Apache-2.0
"""Time between requests: short enough to see new values, long enough to spare the server. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nvitop.fleet.types import Fleet

#: Pause between requests as a multiple of their duration: one viewer uses at most 5 % of a server.
SHARE = 20


class Pace(NamedTuple):
    """Time between requests."""

    #: Minimum (seconds).
    interval: float = 5.0
    #: Time (seconds) between two values of a host; 0.0: not known yet.
    scrape_interval: float = 0.0
    #: Duration of the last request.
    seconds: float = 0.0

    @property
    def period(self) -> float:
        """Time (seconds) from one request to the next."""
        return max(self.interval, self.scrape_interval, SHARE * self.seconds)

    def after(self, before: Fleet, fleet: Fleet) -> Pace:
        """Return the pace after a response."""
        pace = self._replace(seconds=fleet.seconds)
        known = {host.name: host.measured for host in before.hosts}
        steps = []
        for host in fleet.hosts:
            last = known.get(host.name)
            if last is not None and host.measured is not None and host.measured > last:
                steps.append(host.measured - last)
        if not steps:
            return pace
        # Too long a period would skip values without a sign of it.
        step = sorted(steps)[len(steps) // 2]
        return pace._replace(scrape_interval=min(step, 60.0))
