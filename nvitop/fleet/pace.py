# SPDX-License-Identifier: Apache-2.0
"""Time between requests: new values are soon seen, and the server is not overloaded. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nvitop.fleet.types import Fleet

#: A server spends at most one part in this number of its time on one viewer.
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
        """Return the pace after an answer."""
        pace = self._replace(seconds=fleet.seconds)
        known = {host.name: host.measured for host in before.hosts}
        steps = []
        for host in fleet.hosts:
            last = known.get(host.name)
            if last is not None and host.measured is not None and host.measured > last:
                steps.append(host.measured - last)
        if not steps:
            return pace
        # A period that is too long would skip values, and never notice.
        step = sorted(steps)[len(steps) // 2]
        return pace._replace(scrape_interval=min(step, 60.0))
