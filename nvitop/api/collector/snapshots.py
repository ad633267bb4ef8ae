# SPDX-License-Identifier: Apache-2.0
"""take_snapshots: devices and processes of one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api.device import Device
from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nvitop.api.process import GpuProcess
    from nvitop.api.utils import Snapshot


class SnapshotResult(NamedTuple):
    """What :func:`take_snapshots` gives."""

    #: Snapshots of the devices.
    devices: list[Snapshot]
    #: Snapshots of the processes, by device.
    gpu_processes: list[Snapshot]


def take_snapshots(
    devices: Device | Iterable[Device] | None = None,
    *,
    gpu_processes: bool | GpuProcess | Iterable[GpuProcess] | None = None,
) -> SnapshotResult:
    """Snapshots of devices and of the processes on them; no fact is asked twice.

    Without arguments, of all GPUs, their MIG devices and all processes. ``gpu_processes`` may be
    ``False`` or empty, for none, or the processes wanted: then the devices are theirs, unless
    ``devices`` says otherwise. Processes run on leaf devices: on a GPU in MIG mode, on its MIG
    devices. A process that is gone or hidden has texts and :data:`~nvitop.NA` for what is not known.

    The first call reads the counters of PCIe traffic twice, 20 ms apart, once for all GPUs: a rate is
    what lies between two readings. Later calls give the rate since the call before.

    The devices are none where NVML cannot be initialised.

    >>> result = take_snapshots()
    >>> for device in result.devices:
    ...     print(device.index, device.memory_usage, device.temperature)
    """
    from nvitop.api.process import GpuProcess, procfs

    if isinstance(gpu_processes, GpuProcess):
        gpu_processes = [gpu_processes]
    processes: list[GpuProcess] | None
    if isinstance(gpu_processes, bool) or gpu_processes is None:
        processes = [] if gpu_processes is False else None
    else:
        processes = list(gpu_processes)
    with_slices = devices is None and not processes
    if devices is None:
        devices = unique(p.device for p in processes) if processes else Device.all()
    devices = [devices] if isinstance(devices, Device) else list(devices)

    # At the first look all of them at once: otherwise each would wait for its own first rate.
    for device in devices:
        device.begin_pcie_throughput(restart=False)
    snapshots = []
    leaves: list[Device] = []
    for device in devices:
        # Never two devices at a time: blocks of one shot hold the devices' locks.
        with device.oneshot():
            snapshots.append(device.as_snapshot())
            below = device.to_leaf_devices() if with_slices or processes is None else []
        leaves.extend(below)
        if with_slices:
            snapshots.extend(leaf.as_snapshot() for leaf in below if leaf is not device)
    # All drivers' answers first, which may take their time: the host is looked at in one go.
    asked = unique(leaves) if processes is None else []
    usages = [(leaf, leaf.process_usage()) for leaf in asked]
    with procfs.stat_cache():
        if processes is None:
            processes = [p for leaf, usage in usages for p in leaf.processes_of(usage).values()]
        of_processes = GpuProcess.take_snapshots(processes, failsafe=True)
    _looked_at[:] = processes
    return SnapshotResult(snapshots, of_processes)


#: Held until the next look, whose CPU percentages are then those since this one.
_looked_at: list[GpuProcess] = []


def unique(devices: Iterable[Device]) -> list[Device]:
    """Each device once, in order."""
    return list(dict.fromkeys(devices))
