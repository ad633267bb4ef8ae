# SPDX-License-Identifier: Apache-2.0
"""Reads the files of processes in ``/proc``, and the names that others keep of containers."""

from __future__ import annotations

import os

from nvitop.api.host import procfs_path
from nvitop.api.system import system

#: Maximum size (bytes) of what is read of a file. The lines of twelve hierarchies with the longest
#: possible paths fit in; of an environment and of mounts, the rest is ignored.
MAX_BYTES = 1 << 17


def read_file(pid: int, name: str) -> bytes:
    """Read a file of a process, such as ``'cgroup'``.

    Raises:
        OSError: There is no such process, or this user may not read it.
    """
    replacement = system().process_file(pid, name)
    if replacement is not None:
        return replacement
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
    return system().process_file(pid, 'cgroup') is not None
