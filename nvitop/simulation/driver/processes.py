# SPDX-License-Identifier: Apache-2.0
"""Process lists in the struct layouts of all driver versions, process utilization, accounting."""

from __future__ import annotations

import ctypes
from typing import Callable, Mapping

from nvitop.api.libnvml._errors import (
    ARGUMENT_VERSION_MISMATCH,
    INSUFFICIENT_SIZE,
    NOT_FOUND,
    NOT_SUPPORTED,
)
from nvitop.api.libnvml._overrides import (
    ProcessesUtilization,
    c_nvmlProcessInfo_v1_t,
    c_nvmlProcessInfo_v2_t,
    c_nvmlProcessInfo_v3_t,
)
from nvitop.simulation.abi import (
    UNKNOWN_MEMORY,
    DriverError,
    fill_struct,
    number,
    room_for,
    target,
    write_bytes,
)
from nvitop.simulation.driver import GPU, NODE, add_symbol
from nvitop.simulation.world import Node, Task

NO_INSTANCE = 0xFFFFFFFF
#: PID and memory; from v2 on GPU and compute instance; in v3 protected memory too.
LAYOUTS: Mapping[str, type[ctypes.Structure]] = {
    'v1': c_nvmlProcessInfo_v1_t,
    'v2': c_nvmlProcessInfo_v2_t,
    'v3': c_nvmlProcessInfo_v3_t,
}
#: List of NVML → types of the processes in it.
LISTS = {'Compute': ('C', 'C+G'), 'Graphics': ('G', 'C+G'), 'MPSCompute': ('M',)}
#: Fields of a utilization sample of a process in NVML.
UTILIZATION = ('pid', 'timeStamp', 'smUtil', 'memUtil', 'encUtil', 'decUtil')
#: Interval (microseconds) between utilization samples of the driver.
SAMPLE_PERIOD = 1_000_000 // 6


def _instances(node: Node, task: Task) -> tuple[int, int]:
    for mig in (node, *node.migs):
        if mig.mig is not None and task in mig.tasks:
            return mig.mig.gpu_instance_id, mig.mig.compute_instance_id
    return NO_INSTANCE, NO_INSTANCE


def _rows(node: Node, types: tuple[str, ...]) -> list[tuple[int, ...]]:
    """PID, memory, instances and protected memory of the processes of these types."""
    t = node.world.seconds()
    rows: list[tuple[int, ...]] = []
    for task in node.tasks:
        if task.spec.type not in types or not task.runs(t):
            continue
        pid = node.world.pid_of(task)
        if pid is not None:
            rows.append((pid, _memory(task, t), *_instances(node, task), 0))
    return rows


def _memory(task: Task, t: float) -> int:
    memory = task.memory(t)
    return UNKNOWN_MEMORY if memory is None else memory


def _lister(types: tuple[str, ...], layout: str) -> Callable[[Node, object, object], None]:
    def list_processes(node: Node, count: object, infos: object) -> None:
        version = node.world.scenario.process_struct if layout == 'v3' else layout
        rows = _rows(node, types)
        if infos is None or target(count).value == 0:
            starting = sum(n for gpu, n in node.world.growth if gpu in (None, node.key[0]))
            rows = rows[: max(0, len(rows) - starting)]
        if room_for(count, infos, len(rows)):
            info = LAYOUTS[version]
            fields = len(info._fields_)
            write_bytes(infos, b''.join(bytes(info(*row[:fields])) for row in rows))

    return list_processes


for _name, _types in LISTS.items():
    for _suffix, _layout in (('', 'v1'), ('_v2', 'v2'), ('_v3', 'v3')):
        add_symbol(NODE, f'nvmlDeviceGet{_name}RunningProcesses{_suffix}')(_lister(_types, _layout))


def _samples(node: Node, since: int) -> list[dict[str, int]]:
    """The latest sample of each process if it is newer than *since* (microseconds since the epoch)."""
    world = node.world
    is_unknown = any(task.spec.state == 'listed' for task in node.tasks)
    if node.mig is not None or node.value('mig_mode') or is_unknown:
        raise DriverError(NOT_SUPPORTED)
    now = int(world.epoch() * 1e6)
    stamp = now - now % SAMPLE_PERIOD
    t = world.seconds() - (now - stamp) / 1e6
    samples = []
    for task in node.tasks if stamp > since else ():
        pid = world.pid_of(task) if task.runs(t) else None
        spec = task.spec
        loads = (
            task.sm(t),
            task.memory_utilization(t),
            spec.encoder.value(t),
            spec.decoder.value(t),
        )
        if pid is not None and any(loads):
            values = (spec.sample_pid or pid, stamp, *map(round, loads))
            samples.append(dict(zip(UTILIZATION, values)))
    if not samples:
        raise DriverError(NOT_FOUND)
    return samples


@add_symbol(NODE)
def nvmlDeviceGetProcessUtilization(
    node: Node, samples: object, count: object, since: object
) -> None:
    newer = _samples(node, number(since))
    if room_for(count, samples, len(newer)):
        for entry, sample in zip(target(samples), newer):
            fill_struct(entry, sample)


@add_symbol(NODE)
def nvmlDeviceGetProcessesUtilizationInfo(node: Node, info: object) -> None:
    """``(device, struct *)`` with a pointer to an array of samples."""
    struct = target(info)
    if struct.version != ProcessesUtilization.VERSION:
        raise DriverError(ARGUMENT_VERSION_MISMATCH)
    newer = _samples(node, struct.lastSeenTimeStamp)
    room, struct.processSamplesCount = struct.processSamplesCount, len(newer)
    if not struct.procUtilArray or room < len(newer):
        raise DriverError(INSUFFICIENT_SIZE)
    for place, sample in enumerate(newer):
        fill_struct(struct.procUtilArray[place], sample)


def _accounted(node: Node) -> dict[int, Task]:
    """Running processes by PID if accounting is on, else no processes."""
    t = node.world.seconds()
    tasks = node.tasks if node.read('accounting') else []
    tasks_by_pid = {node.world.pid_of(task): task for task in tasks if task.runs(t)}
    return {pid: task for pid, task in tasks_by_pid.items() if pid is not None}


add_symbol(GPU, 'nvmlDeviceGetAccountingPids')(lambda node: list(_accounted(node)))


@add_symbol(GPU)
def nvmlDeviceGetAccountingStats(node: Node, pid: object) -> dict[str, int]:
    """``(device, pid, struct *)``: the current utilization."""
    if not node.read('accounting'):
        raise DriverError(NOT_SUPPORTED)
    task = _accounted(node).get(number(pid))
    if task is None:
        raise DriverError(NOT_FOUND)
    t = node.world.seconds()
    return {
        'gpuUtilization': round(task.sm(t)),
        'memoryUtilization': round(task.memory_utilization(t)),
        'maxMemoryUsage': _memory(task, t),
        'time': 0,  # NVML reports the time after the process has exited
        'startTime': int((node.world.epoch() - t + max(0.0, task.spec.start)) * 1e6),
        'isRunning': 1,
    }
