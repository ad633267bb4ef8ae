# SPDX-License-Identifier: Apache-2.0
"""The queries: one for the fleet, and two for the screens of one host. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Iterable, NamedTuple

from nvitop.fleet.host import COLLECTED, RENAMED, graph_series, series_names
from nvitop.health.states import HELD_SECONDS

if TYPE_CHECKING:
    from nvitop.fleet.types import FleetHost

LABEL = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
#: Label that names the part of a query from which a row comes.
ROW = 'nvitop_row'
#: Labels that name the host, the most specific first. ``instance`` has a port and may be an address.
_HOST_LABELS = ('Hostname', 'hostname', 'host', 'node', 'kubernetes_node', 'exported_instance')
INSTANCE = 'instance'
#: Series of ``nvitop exporter`` that lists need.
_OWN_NAMES = frozenset(
    f'nvitop_{name}'
    for name in (
        *('gpu_up', 'gpu_asleep', 'gpu_state', 'gpu_health', 'gpu_missing', 'gpu_info'),
        'gpu_problem_info',
        *('gpu_utilization_ratio', 'gpu_memory_used_bytes', 'gpu_memory_total_bytes'),
        *('gpu_power_usage_watts', 'gpu_power_limit_watts', 'gpu_temperature_celsius'),
        *('user_gpu_processes', 'user_gpu_memory_bytes', 'gpu_owner_info'),
        *('last_collect_success', 'last_collect_timestamp_seconds', 'simulation_info'),
    )
)
#: Series of dcgm-exporter that lists need.
_DCGM_NAMES = frozenset(
    f'DCGM_FI_{name}'
    for name in (
        *('DEV_GPU_UTIL', 'PROF_GR_ENGINE_ACTIVE', 'DEV_FB_USED', 'DEV_FB_FREE'),
        *('DEV_FB_RESERVED', 'DEV_POWER_USAGE', 'DEV_GPU_TEMP', 'DEV_XID_ERRORS'),
        *('DEV_FB_TOTAL', 'DEV_ROW_REMAP_FAILURE'),
    )
)
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
        return tuple(dict.fromkeys((*own, *_HOST_LABELS, INSTANCE)))


def fleet_query(scope: Scope) -> str:
    """Return the query of all hosts: values, those that were seen, and targets that are down."""
    # One GPU of each host is enough.
    first = equals('gpu', '0')
    seen = [vector([name], scope.match, first) for name in _with_renamed(['DCGM_FI_DEV_GPU_TEMP'])]
    seen.append(vector(['nvitop_build_info'], scope.match))
    times = ' or '.join(f'timestamp({series})' for series in seen)
    host = ', '.join(('job', *scope.host_labels))
    past = []
    for name in _with_renamed(['DCGM_FI_DEV_GPU_UTIL']):
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
            vector((*_OWN_NAMES, *_with_renamed(_DCGM_NAMES)), scope.match),
        )
    )


def host_query(host: FleetHost, scope: Scope) -> str:
    """Return the query of everything that is known about one host."""
    names = (*_with_renamed(series_names(host.kind)), COLLECTED)
    return vector(names, scope.match, equals(*host.selector))


def history_query(host: FleetHost, scope: Scope) -> str:
    """Return the query of a range of the values of one host that graphs show."""
    return vector(_with_renamed(graph_series(host.kind)), scope.match, equals(*host.selector))


def _with_renamed(names: Iterable[str]) -> list[str]:
    """Return names with those that they have since dcgm-exporter 4.9."""
    known = set(names)
    return [*known, *(new for new, (old, _) in RENAMED.items() if old in known)]


def quoted(text: str) -> str:
    """Return a text as a string of PromQL: ``'a"b'`` → ``'"a\\\\"b"'``."""
    return json.dumps(text, ensure_ascii=False)  # has the same escapes


def equals(label: str, value: str) -> str:
    """Return a condition for a label: ``host="gpu01"``."""
    return f'{label}={quoted(value)}'


def vector(names: Iterable[str], *conditions: str) -> str:
    """Return the selector of all series with one of these names that meet conditions."""
    name = f'__name__=~{quoted("|".join(sorted(set(names))))}'
    return '{' + ','.join(filter(None, (name, *conditions))) + '}'


def marked(expression: str, mark: str) -> str:
    """Return an expression whose rows have the label ``nvitop_row``.

    The operator ``or`` ignores names: without different labels, it would drop rows.
    """
    return f'label_replace({expression}, "{ROW}", "{mark}", "", "")'
