# SPDX-License-Identifier: Apache-2.0
"""The queries: one for the fleet, and two for the screens of one host. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nvitop.fleet.host import COLLECTED, GRAPH_SERIES, series_names
from nvitop.fleet.series import (
    DCGM_NAMES,
    HOST_LABELS,
    INSTANCE,
    OWN_NAMES,
    equals,
    marked,
    vector,
    with_renamed,
)
from nvitop.health.states import HELD_SECONDS

if TYPE_CHECKING:
    from nvitop.fleet.types import FleetHost

#: How long (seconds) a host without values is listed.
GONE_SECONDS = 3600.0


class Scope(NamedTuple):
    """The part of the fleet that queries cover."""

    #: Conditions that all series must meet: ``'cluster="a",rack=~"r[12]"'``.
    match: str = ''
    #: The label that names the host; ``''``: found automatically.
    host_label: str = ''

    @property
    def host_labels(self) -> tuple[str, ...]:
        """The labels that may name the host, the most specific first."""
        own = (self.host_label,) if self.host_label else ()
        return tuple(dict.fromkeys((*own, *HOST_LABELS, INSTANCE)))


def fleet_query(scope: Scope) -> str:
    """Return the query of all hosts: values, those that were seen, and targets that are down."""
    # One GPU of each host is enough.
    first = equals('gpu', '0')
    seen = [vector([name], scope.match, first) for name in with_renamed(['DCGM_FI_DEV_GPU_TEMP'])]
    seen.append(vector(['nvitop_build_info'], scope.match))
    times = ' or '.join(f'timestamp({series})' for series in seen)
    host = ', '.join(('job', *scope.host_labels))
    past = []
    for name in with_renamed(['DCGM_FI_DEV_GPU_UTIL']):
        values, factor = vector([name], scope.match), 100 if name.endswith('_RATIO') else 1
        highest = f'{factor} * max_over_time({values}[{HELD_SECONDS:.0f}s])'
        past.append(marked(f'{highest} and {values} offset {HELD_SECONDS:.0f}s', 'past'))
    return ' or '.join(
        (
            marked(f'max by ({host}) ({times})', 'time'),
            marked(f'max by ({host}) (max_over_time(({times})[{GONE_SECONDS:.0f}s:60s]))', 'seen'),
            *past,
            marked(f'{vector(["up"], scope.match)} == 0', 'down'),
            # Last: a server evaluates the left side of each "or" again.
            vector((*OWN_NAMES, *with_renamed(DCGM_NAMES)), scope.match),
        )
    )


def host_query(host: FleetHost, scope: Scope) -> str:
    """Return the query of everything that is known about one host."""
    names = (*with_renamed(series_names(host.kind)), COLLECTED)
    return vector(names, scope.match, equals(*host.selector))


def history_query(host: FleetHost, scope: Scope) -> str:
    """Return the query of a range of the values of one host that graphs show."""
    return vector(with_renamed(GRAPH_SERIES[host.kind]), scope.match, equals(*host.selector))
