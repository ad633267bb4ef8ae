# SPDX-License-Identifier: GPL-3.0-only
"""The part of the state that only the fleet has."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.fleet.queries import Scope
from nvitop.fleet.types import Fleet, FleetHost, FleetJob, FleetUser, Totals


class FleetState(NamedTuple):
    """The hosts, and how they are listed."""

    scope: Scope = Scope()
    #: Where the hosts come from, for people.
    server: str = ''
    #: All hosts, and their sums.
    fleet: Fleet = Fleet()
    everything: Totals = Totals()
    #: The hosts and GPUs that match the filter, and their sums.
    matching: Fleet = Fleet()
    sums: Totals = Totals()
    #: The matching hosts in the order of the screen, and the users and jobs on their GPUs.
    rows: tuple[FleetHost, ...] = ()
    users: tuple[FleetUser, ...] = ()
    jobs: tuple[FleetJob, ...] = ()
    #: Metric of the heat map.
    metric: str = 'utilization'
    #: Name of the column by which hosts are sorted.
    order: str = 'host'
    is_reversed: bool = False
    #: Name of the selected host.
    selected: str = ''
    #: Why the hosts cannot be read, and since when this is so.
    error: str = ''
    error_since: float = 0.0
    #: Time between requests (seconds).
    period: float = 0.0
