# SPDX-License-Identifier: Apache-2.0
"""PromQL that selects series. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    from nvitop.fleet.types import Series

_ESCAPES = {'\\': '\\\\', '"': '\\"', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\0': '\\x00'}
LABEL = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
#: Label that names the part of a query from which a row comes.
ROW = 'nvitop_row'
#: Labels that name the host, the most specific first. ``instance`` has a port and may be an address.
HOST_LABELS = ('Hostname', 'hostname', 'host', 'node', 'kubernetes_node', 'exported_instance')
INSTANCE = 'instance'
#: Series of ``nvitop exporter`` that lists need.
OWN_NAMES = frozenset(
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
DCGM_NAMES = frozenset(
    f'DCGM_FI_{name}'
    for name in (
        *('DEV_GPU_UTIL', 'PROF_GR_ENGINE_ACTIVE', 'DEV_FB_USED', 'DEV_FB_FREE'),
        *('DEV_FB_RESERVED', 'DEV_POWER_USAGE', 'DEV_GPU_TEMP', 'DEV_XID_ERRORS'),
        *('DEV_FB_TOTAL', 'DEV_ROW_REMAP_FAILURE'),
    )
)
#: Name of a series since dcgm-exporter 4.9 → name before, and the value before / the value since.
RENAMED: dict[str, tuple[str, float]] = {
    f'DCGM_FI_{new}': (f'DCGM_FI_{old}', factor)
    for new, old, factor in (
        ('DEV_SM_CLOCK_HERTZ', 'DEV_SM_CLOCK', 1e-6),
        ('DEV_MEMORY_CLOCK_HERTZ', 'DEV_MEM_CLOCK', 1e-6),
        ('DEV_MEMORY_TEMP_CELSIUS', 'DEV_MEMORY_TEMP', 1.0),
        ('DEV_GPU_TEMP_CELSIUS', 'DEV_GPU_TEMP', 1.0),
        ('DEV_BOARD_POWER_WATTS', 'DEV_POWER_USAGE', 1.0),
        ('DEV_GPU_UTIL_RATIO', 'DEV_GPU_UTIL', 100.0),
        ('DEV_MEMORY_UTIL_RATIO', 'DEV_MEM_COPY_UTIL', 100.0),
        ('DEV_ENC_UTIL_RATIO', 'DEV_ENC_UTIL', 100.0),
        ('DEV_DEC_UTIL_RATIO', 'DEV_DEC_UTIL', 100.0),
        ('DEV_FB_CAPACITY_BYTES', 'DEV_FB_TOTAL', 2.0**-20),
        ('DEV_FB_FREE_BYTES', 'DEV_FB_FREE', 2.0**-20),
        ('DEV_FB_USED_BYTES', 'DEV_FB_USED', 2.0**-20),
        ('DEV_FB_RESERVED_BYTES', 'DEV_FB_RESERVED', 2.0**-20),
        ('DEV_ROW_REMAP_FAILED', 'DEV_ROW_REMAP_FAILURE', 1.0),
        ('PROF_GR_ENGINE_UTIL_RATIO', 'PROF_GR_ENGINE_ACTIVE', 1.0),
    )
}


def with_renamed(names: Iterable[str]) -> list[str]:
    """Return names with those that they have since dcgm-exporter 4.9."""
    known = set(names)
    return [*known, *(new for new, (old, _) in RENAMED.items() if old in known)]


def renamed(series: Series) -> Series:
    """Return a series with the name that it had before dcgm-exporter 4.9."""
    if series.name not in RENAMED:
        return series
    name, factor = RENAMED[series.name]
    return series._replace(name=name, value=series.value * factor)


def quoted(text: str) -> str:
    """Return a text as a string of PromQL: ``'a"b'`` → ``'"a\\\\"b"'``."""
    return '"' + ''.join(_ESCAPES.get(char, char) for char in text) + '"'


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
