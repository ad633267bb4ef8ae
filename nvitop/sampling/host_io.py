# SPDX-License-Identifier: Apache-2.0
"""Reads network interfaces, disks and file systems of the host."""

from __future__ import annotations

from typing import Any

from nvitop.api import host
from nvitop.sampling.types import DiskSample, FilesystemSample, HostIo, NetworkSample


def read_host_io() -> HostIo:
    """Read the counters of interfaces and disks, and the usage of local file systems.

    The call blocks while a file system does not respond. A file system that cannot be read is left
    out.

    Raises:
        OSError: The system does not provide the counters.
    """
    return HostIo(
        memory_free_bytes=host.virtual_memory().free,
        networks=tuple(
            NetworkSample(name, io.bytes_sent, io.bytes_recv, io.packets_sent, io.packets_recv)
            for name, io in _by_name(host.net_io_counters(pernic=True))
        ),
        disks=tuple(
            DiskSample(name, io.read_bytes, io.write_bytes)
            for name, io in _by_name(host.disk_io_counters(perdisk=True))
        ),
        filesystems=_filesystems(),
    )


def _by_name(counters: dict[str, Any] | None) -> list[tuple[str, Any]]:
    return sorted((counters or {}).items())


def _filesystems() -> tuple[FilesystemSample, ...]:
    found: dict[str, FilesystemSample] = {}
    for partition in host.disk_partitions(all=False):
        try:
            usage = host.disk_usage(partition.mountpoint)
        except OSError:  # not readable by this user, or unmounted meanwhile
            continue
        found[partition.mountpoint] = FilesystemSample(
            partition.mountpoint, usage.total, usage.used, usage.free, usage.percent
        )
    return tuple(found.values())
