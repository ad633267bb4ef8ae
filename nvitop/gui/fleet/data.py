# SPDX-License-Identifier: GPL-3.0-only
"""The part of the state that only the fleet has."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.fleet.queries import Scope
from nvitop.fleet.types import Fleet, FleetHost, Totals


class FleetState(NamedTuple):
    """Answers of the server, and how its hosts are listed."""

    scope: Scope = Scope()
    #: Where the answers come from, for people.
    server: str = ''
    #: The last list of hosts, with those that are gone, and its sums.
    fleet: Fleet = Fleet()
    sums: Totals = Totals()
    #: Sums of the last answer without a filter.
    everything: Totals = Totals()
    #: The hosts in the order of the screen.
    rows: tuple[FleetHost, ...] = ()
    gpus: Fleet = Fleet()
    gpus_metric: str = ''
    #: Held GPUs of the heat map, as the last list of hosts shows them.
    held: frozenset[str] = frozenset()
    users: Fleet = Fleet()
    jobs: Fleet = Fleet()
    #: Metric of the heat map.
    metric: str = 'utilization'
    order: str = 'host'
    is_reversed: bool = False
    #: Name of the selected host.
    selected: str = ''
    #: Why the last question was not answered, and since when this is so.
    error: str = ''
    error_since: float = 0.0
    #: Time between requests (seconds).
    period: float = 0.0
