# SPDX-License-Identifier: Apache-2.0
"""Snapshots of devices and processes at one moment."""

from __future__ import annotations

from typing import Iterable, NamedTuple, TypeVar

from nvitop.api import process
from nvitop.api.device import Device
from nvitop.api.process import procfs
from nvitop.api.utils import Snapshot

_Value = TypeVar('_Value')


class SnapshotResult(NamedTuple):
    """Result of :func:`take_snapshots`."""

    #: Snapshots of the devices.
    devices: list[Snapshot]
    #: Snapshots of the processes, by device.
    gpu_processes: list[Snapshot]


def take_snapshots(
    devices: Device | Iterable[Device] | None = None,
    *,
    gpu_processes: bool | process.GpuProcess | Iterable[process.GpuProcess] | None = None,
) -> SnapshotResult:
    """Return snapshots of devices and of the processes on them, with each value queried once.

    The driver measures PCIe traffic for 20 ms in each direction, so this takes 42 ms for each GPU.

    If NVML cannot be initialized, there are no devices.

    >>> result = take_snapshots()
    >>> for device in result.devices:
    ...     print(device.index, device.memory_usage, device.temperature)

    Args:
        devices: ``None``: those of the given processes, or all GPUs and their MIG devices.
        gpu_processes: The processes to include. ``None`` or ``True``: all on these devices; those on
            a GPU in MIG mode belong to its MIG devices. ``False`` or empty: none, and then MIG
            devices are left out too, unless ``devices`` contains them. Snapshots of processes that
            exited or are hidden contain texts and :data:`~nvitop.NA` for unknown values.

    Raises:
        TypeError: An argument is or contains something else.
    """
    if isinstance(gpu_processes, process.GpuProcess):
        gpu_processes = [gpu_processes]
    processes: list[process.GpuProcess] | None
    if isinstance(gpu_processes, bool) or gpu_processes is None:
        processes = [] if gpu_processes is False else None
    else:
        processes = _checked('gpu_processes', gpu_processes, process.GpuProcess)
    with_mig_devices = devices is None and processes is None
    if devices is None:
        devices = unique(p.device for p in processes) if processes else Device.all()
    devices = [devices] if isinstance(devices, Device) else _checked('devices', devices, Device)

    snapshots = []
    leaves: list[Device] = []
    for device in devices:
        with device.oneshot():
            snapshots.append(device.as_snapshot())
            below = device.to_leaf_devices() if with_mig_devices or processes is None else []
        leaves.extend(below)
        if with_mig_devices:
            snapshots.extend(leaf.as_snapshot() for leaf in below if leaf is not device)
    return SnapshotResult(snapshots, _processes(unique(leaves), processes))


def _checked(name: str, values: Iterable[_Value], kind: type[_Value]) -> list[_Value]:
    values = list(values) if isinstance(values, Iterable) else [values]
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f'{name} must be {kind.__name__} objects, not {value!r}')
    return values


def _processes(
    leaves: Iterable[Device], processes: list[process.GpuProcess] | None
) -> list[Snapshot]:
    """Return snapshots of the given processes; ``None``: of all processes on these devices."""
    # The driver first, because it may be slow: the host is then read at one moment.
    usages = [(leaf, leaf.process_usage()) for leaf in (leaves if processes is None else ())]
    with procfs.stat_cache():
        if processes is None:
            listed = [leaf.processes_of(usage) for leaf, usage in usages]
            processes = [process for of_leaf in listed for process in of_leaf.values()]
        snapshots = process.GpuProcess.take_snapshots(processes, failsafe=True)
    _last_processes[:] = processes
    return snapshots


#: Kept until the next call, whose CPU percentages cover the time since this one.
_last_processes: list[process.GpuProcess] = []


def unique(devices: Iterable[Device]) -> list[Device]:
    """Return each device once, in order."""
    return list(dict.fromkeys(devices))
