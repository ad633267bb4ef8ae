# SPDX-License-Identifier: Apache-2.0
"""Reads the files of processes in ``/proc``, and the names that others keep of containers."""

from __future__ import annotations

import os
import sys
from typing import Any

from nvitop.api.host import procfs_path

#: Maximum size (bytes) of what is read of a file. The lines of twelve hierarchies with the longest
#: possible paths fit in; of an environment and of mounts, the rest is ignored.
MAX_BYTES = 1 << 17


def read_file(pid: int, name: str) -> bytes:
    """Read a file of a process, such as ``'cgroup'``.

    Raises:
        OSError: There is no such process, or this user may not read it.
    """
    simulated = _simulation('process_file', pid, name)
    if isinstance(simulated, bytes):
        return simulated
    descriptor = os.open(f'{procfs_path()}/{pid}/{name}', os.O_RDONLY)
    try:
        content = os.read(descriptor, 4096)
        chunk = content
        while chunk and len(content) < MAX_BYTES:
            chunk = os.read(descriptor, 1 << 16)
            content += chunk
    finally:
        os.close(descriptor)
    return content


def read_text(pid: int, name: str) -> str:
    """Read a file of a process as text; ``''`` if it cannot be read."""
    try:
        return read_file(pid, name).decode('utf-8', 'replace')
    except OSError:
        return ''


def is_simulated(pid: int) -> bool:
    """Return whether a process is one of a simulated machine."""
    return _simulation('process_file', pid, 'cgroup') is not None


def simulated_container_logs() -> list[str]:
    """Return the names of the logs of containers of a simulated machine."""
    names: list[str] = _simulation('container_logs') or []
    return names


def _simulation(function: str, *arguments: object) -> Any:
    """Return what a simulated machine has in place of a file; ``None``: nothing."""
    simulation = sys.modules.get('nvitop.simulation')
    return None if simulation is None else getattr(simulation, function)(*arguments)
