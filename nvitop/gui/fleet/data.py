# SPDX-License-Identifier: GPL-3.0-only
"""The part of the state that only the fleet has."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from nvitop.fleet.series import Scope
from nvitop.fleet.types import Fleet, Totals


class FleetState(NamedTuple):
    """The hosts, and how they are listed."""

    scope: Scope = Scope()
    #: Where the hosts come from, for people.
    server: str = ''
    #: All hosts, and their sums.
    reading: Fleet = Fleet()
    everything: Totals = Totals()
    #: Sums over the hosts and GPUs that match the filter.
    sums: Totals = Totals()
    #: Ranges of the hosts with free GPUs, most of them first.
    free_hosts: Sequence[tuple[str, str]] = ()
    #: Ranges of the hosts with problems, those with critical ones first.
    problem_hosts: Sequence[tuple[str, str]] = ()
    #: The rows of the shown list, in its order, see :data:`nvitop.fleet.lists.VIEWS`.
    rows: Sequence[Any] = ()
    #: Why the hosts cannot be read, and since when this is so.
    error: str = ''
    error_since: float = 0.0
    #: Time between requests (seconds).
    period: float = 0.0
