# SPDX-License-Identifier: Apache-2.0
"""Series about the process of the exporter, with the names that exporters for Prometheus share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.exporter.tables import Family, Point

if TYPE_CHECKING:
    from nvitop.exporter.tables import SeriesType

#: Name → type and help. The text file has none of them: node_exporter has series of the same names.
PROCESS_SERIES: dict[str, tuple[SeriesType, str]] = {
    'process_cpu_seconds_total': ('counter', 'CPU time of the exporter, user and system'),
    'process_resident_memory_bytes': ('gauge', 'resident memory of the exporter'),
    'process_virtual_memory_bytes': ('gauge', 'virtual memory of the exporter'),
    'process_start_time_seconds': ('gauge', 'when the exporter was started'),
    'process_open_fds': ('gauge', 'number of open file descriptors of the exporter'),
}


def process_families() -> list[Family]:
    """Return the series about this process that the system has values for."""
    values = _values()
    return [
        Family(name, kind, text, (Point({}, values[name]),))
        for name, (kind, text) in PROCESS_SERIES.items()
        if name in values
    ]


def _values() -> dict[str, float]:
    process = HostProcess()
    found: dict[str, float] = {}
    try:
        with process.oneshot():
            cpu, memory = process.cpu_times(), process.memory_info()
            found['process_cpu_seconds_total'] = round(cpu.user + cpu.system, 3)
            found['process_resident_memory_bytes'] = memory.rss
            found['process_virtual_memory_bytes'] = memory.vms
            found['process_start_time_seconds'] = process.create_time()
        if hasattr(process, 'num_fds'):  # not on Windows
            found['process_open_fds'] = process.num_fds()
    except (OSError, host.PsutilError):
        pass
    return found
