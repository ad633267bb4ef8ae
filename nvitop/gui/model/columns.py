# SPDX-License-Identifier: GPL-3.0-only
"""The columns of processes, the tree and users: everything about a column in one row of a table.

The tables of other lists are in ``device_columns.py`` and next to their screens.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, AbstractSet, Any, Callable, Mapping, Sequence

from nvitop.basics.units import NA
from nvitop.gui.model import format as fmt
from nvitop.gui.model.format import devices_text
from nvitop.gui.model.table import CLASSIC, Column, Content, Placed, place
from nvitop.gui.render.buffer import Cells
from nvitop.gui.render.theme import DIM, OWN, PLAIN, WARNING
from nvitop.gui.render.width import cell_width, safe
from nvitop.health.states import HELD_SECONDS, IDLE_RULE, WASTED_BYTES
from nvitop.sampling.types import HostProcessSample, ProcessSample

if TYPE_CHECKING:
    from nvitop.owner.types import Owner

#: Text of a value that a device reported before it stopped responding.
_UNKNOWN = '?'


def _of_device(text_of: Callable[[Any], str]) -> Callable[[Any, int], str]:
    """Format a value of the device, which is unknown if it no longer lists the process."""
    return lambda row, _: _UNKNOWN if row.process.is_outdated else text_of(row)


def _amber_if_held(text_of: Callable[[Any, int], str]) -> Callable[[Any, int], Content]:
    """Mark values of processes that hold memory without using it."""
    return lambda row, width: ((text_of(row, width), WARNING if row.holds_idle_memory else PLAIN),)


def _once(column: Column) -> Column:
    """Return a column in which processes leave out what the line of their job shows."""
    return column._replace(
        text=lambda row, width: '' if column.name in row.shown_above else column.text(row, width)
    )


def command_text(process: ProcessSample | HostProcessSample) -> str:
    return fmt.format_command(process.command, process.status, name=process.name)


def _user(row: Any, width: int) -> Content:
    name = fmt.format_user(row.process.username, width)
    return ((name, OWN),) if row.is_user else name


def _owner(row: Any, _: int) -> str:
    if not row.is_job:
        return owner_text(row.process)
    return safe(row.job.key[1]) or (owner_text(row.process) if row.job.has_one_owner else '')


def _gpu_memory(row: Any) -> str:
    """Return the memory of a process, which the driver does not know with the WDDM of Windows."""
    size = row.process.gpu_memory_bytes
    return 'WDDM' if size is None and row.has_wddm else fmt.format_gib_count(size)


def _start(row: Any, _: int) -> str:
    process = max(row.processes, key=lambda process: process.running_time_seconds or 0.0)
    return fmt.format_start(process.key.start_time, process.running_time_seconds)


def user_name(user: Any, width: int) -> Content:
    if user.name is None:
        return (('unknown', DIM),)
    return ((fmt.format_user(user.name, width), OWN if user.is_user else PLAIN),)


def _idle_memory(user: Any, _: int) -> Content:
    size = user.idle_memory_bytes
    if size == 0:
        return ''
    style = DIM if size is None else WARNING if size >= WASTED_BYTES else PLAIN
    return ((fmt.format_gib_count(size), style),)


#: Meaning of the letters in the type column.
TYPES = 'C compute, G graphics, X both, M MPS client'

# fmt: off
#: Columns of the process panel. Text: of a :class:`~nvitop.gui.state.process_rows.Line`, for the width.
#: The command is 24 and 34 cells wide (ranks 17 and 25, see `place`) before `%BW` and `%HOST` have room.
COLUMNS: tuple[Column, ...] = (
    Column('gpu', 'GPU', (3,), 'GPU index (GPU:MIG)', lambda row, _: row.labels,
           order='natural', letter='n', source='NVML index, PCI bus order'),
    _once(Column('user', 'USER', (7, 16), 'user who runs it', _user,
           align='<', order='username', letter='u', rank=1, source='psutil `username`')),
    _once(Column('owner', 'JOB', (10, 16, 24, 40), 'job, pod, container, unit or session that it belongs to', _owner,
           align='<', gap=2, order='owner', letter='w', rank=6, source='`/proc/PID/cgroup`, see [Owners of processes](owners.md)')),
    Column('pid', 'PID', (7,), 'process ID', lambda row, _: row.job.counted if row.is_job else str(row.process.key.pid),
           order='pid', letter='p', source='`nvmlDeviceGetComputeRunningProcesses`, `…Graphics…`, `…MPSCompute…`'),
    Column('type', '', (1,), f'use of the GPU: {TYPES}', lambda row, _: '' if row.is_job else fmt.format_process_type(row.process.type),
           align='<', rank=2, source='the lists that contain the process'),
    Column('gpu_memory', 'MEM GiB', (7,), 'GPU memory of the process', _amber_if_held(_of_device(_gpu_memory)),
           order='gpu_memory', letter='g', unit='B', source='the same lists (`usedGpuMemory`)'),
    Column('gpu_memory_percent', '%GPUMEM', (7,), 'GPU memory in percent of device memory', _of_device(lambda row: fmt.format_tenths(row.process.gpu_memory_percent)),
           rank=11, unit='%', source='`MEM GiB` / `memory_total`'),
    Column('idle', 'IDLE', (4,), 'time without use of the GPU, from 10 s; > means at least', _amber_if_held(_of_device(lambda row: fmt.format_idle_time(row.process.gpu_idle_seconds, is_longer=row.process.is_idle_longer))),
           order='idle', letter='i', rank=5, source='the last reading in which a value of `nvmlDeviceGetProcessUtilization` was not 0'),
    Column('sm', '%SM', (3,), 'share of time its kernels were running', _of_device(lambda row: fmt.format_count(row.process.gpu_sm_utilization_percent)),
           order='sm_utilization', letter='s', unit='%', source='`nvmlDeviceGetProcessUtilization` (`smUtil`), average since the previous reading'),
    Column('gmbw', '%BW', (3,), 'share of time it accessed GPU memory', _of_device(lambda row: fmt.format_count(row.process.gpu_memory_utilization_percent)),
           order='gpu_memory_utilization', letter='b', rank=18, unit='%', source='`nvmlDeviceGetProcessUtilization` (`memUtil`)'),
    Column('encoder', '%ENC', (4,), 'utilization of the video encoder', _of_device(lambda row: fmt.format_count(row.process.gpu_encoder_utilization_percent)),
           rank=7, unit='%', source='`nvmlDeviceGetProcessUtilization` (`encUtil`)'),
    Column('decoder', '%DEC', (4,), 'utilization of the video decoder', _of_device(lambda row: fmt.format_count(row.process.gpu_decoder_utilization_percent)),
           rank=9, unit='%', source='`nvmlDeviceGetProcessUtilization` (`decUtil`)'),
    Column('cpu', '%CPU', (5,), 'CPU time, in percent of one core', lambda row, _: fmt.format_cpu_percent(row.process.cpu_percent),
           order='cpu_percent', letter='c', rank=3, unit='% of a core', source='psutil `cpu_percent`'),
    Column('memory', '%HOST', (5,), 'resident memory in percent of host memory', lambda row, _: fmt.format_tenths(row.process.memory_percent),
           order='memory_percent', letter='m', rank=26, unit='%', source='psutil `memory_percent`'),
    Column('host_memory', 'HOST GiB', (8,), 'resident memory', lambda row, _: fmt.format_gib_count(row.process.host_memory_bytes),
           rank=12, unit='B', source='psutil `memory_info().rss`'),
    Column('start', 'START', (12,), 'when it was started', _start,
           rank=13, source='psutil `create_time`'),
    _once(Column('time', 'TIME', (4,), 'running time', lambda row, _: fmt.format_age(row.process.running_time_seconds),
           gap=2, order='time', letter='t', rank=4, source='current time − psutil `create_time`')),
    Column('command', 'COMMAND', (14, 24, 34, 0), 'command line', lambda row, _: ((row.command, DIM),) if row.repeats_command else row.command,
           align='<', gap=2, source='psutil `cmdline`, quoted for a shell'),
)
#: Columns of the tree. Text: of a :class:`~nvitop.gui.state.process_rows.TreeRow`, for the width.
TREE_COLUMNS: tuple[Column, ...] = (
    Column('pid', 'PID', (7,), 'process ID', lambda row, _: str(row.process.pid),
           gap=0, source='psutil `pids`, `ppid`'),
    Column('user', 'USER', (7,), 'user who runs it', lambda row, _: fmt.format_user(row.process.username, 7),
           align='<', rank=2, source='psutil `username`'),
    Column('device', 'GPU', (6,), 'GPUs of the process; Host if none', lambda row, _: devices_text(row.process.devices) if row.process.devices else (('Host', DIM),),
           align='<', source='the process lists of each GPU'),
    Column('gpu_memory', 'MEM GiB', (7,), 'GPU memory on all of its GPUs', lambda row, _: fmt.format_gib_count(row.total.gpu_memory_bytes) if row.total else '',
           rank=1, unit='B', source='sum of `MEM GiB`'),
    Column('sm', '%SM', (4,), 'time that its kernels ran, in percent; mean of its GPUs', lambda row, _: fmt.format_count(row.total.gpu_sm_utilization_percent) if row.total else '',
           rank=1, unit='%', source='mean of `%SM`'),
    Column('threads', 'THREADS', (7,), 'number of its threads', lambda row, _: fmt.format_count(row.process.thread_count),
           rank=6, unit='count', source='psutil `num_threads`'),
    Column('cpu', '%CPU', (5,), 'CPU time, in percent of one core', lambda row, _: fmt.format_cpu_percent(row.process.cpu_percent),
           rank=3, unit='% of a core', source='psutil `cpu_percent`'),
    Column('memory', '%HOST', (5,), 'resident memory in percent of host memory', lambda row, _: fmt.format_tenths(row.process.memory_percent),
           rank=5, unit='%', source='psutil `memory_percent`'),
    Column('time', 'TIME', (4,), 'running time', lambda row, _: fmt.format_age(row.process.running_time_seconds),
           gap=2, rank=4, source='current time − psutil `create_time`'),
    Column('command', 'COMMAND', (30, 0), 'command line, indented below the parent', lambda row, _: row.command,
           align='<', gap=2, source='psutil `cmdline`, quoted for a shell'),
)
#: Columns of users. Text: of a :class:`~nvitop.gui.state.process_rows.Group`, for the width.
USER_COLUMNS: tuple[Column, ...] = (
    Column('user', 'USER', (7, 16, 32), 'user who runs the processes', user_name,
           align='<', gap=0, order='user', letter='u', source='psutil `username`'),
    Column('processes', 'PROCS', (5,), 'GPU processes, each counted once', lambda row, _: fmt.format_count(row.process_count),
           rank=4, order='processes', letter='p', unit='count', source='PIDs of the process rows'),
    Column('devices', 'GPU', (7, 14), 'GPUs they run on; with enough room a map of the memory on each GPU', lambda row, _: row.labels,
           align='<', gap=2, source='NVML index, PCI bus order'),
    Column('gpu_memory', 'MEM GiB', (7,), 'GPU memory of all processes', lambda row, _: fmt.format_gib_count(row.total.gpu_memory_bytes),
           gap=2, order='gpu_memory', letter='g', unit='B', source='sum of `MEM GiB`'),
    Column('idle_memory', 'HELD GiB', (8,), f'GPU memory of processes that have run {IDLE_RULE}', _idle_memory,
           rank=1, order='idle_memory', letter='i', unit='B', source=f'sum of `MEM GiB` where `IDLE` is at least {HELD_SECONDS / 60:.0f} minutes'),
    Column('sm', '%SM', (5,), 'time that their kernels ran, in percent; mean of these devices', lambda row, _: fmt.format_count(row.total.gpu_sm_utilization_percent),
           order='sm', letter='s', unit='%', source='sum of `%SM` on each device'),
    Column('hours', 'USED h', (7,), 'GPU-hours used in the scroll-back, or on the day of a recording', lambda row, _: row.hours[0],
           rank=2, order='hours', letter='h', unit='h', source='`nvitop usage`'),
    Column('held_hours', 'HELD h', (7,), 'GPU-hours held idle in that time', lambda row, _: row.hours[1],
           rank=3, unit='h', source='`nvitop usage`'),
    Column('cpu', '%CPU', (6,), 'CPU time of all processes, in percent of one core', lambda row, _: fmt.format_count(row.total.cpu_percent),
           rank=9, order='cpu', letter='c', unit='% of a core', source='sum of `%CPU`'),
    Column('oldest', 'OLDEST', (6,), 'running time of the process that was started first', lambda row, _: fmt.format_age(row.total.running_time_seconds),
           rank=10, order='oldest', letter='t', source='highest `TIME`'),
)
# fmt: on

COLUMNS_BY_NAME: dict[str, Column] = {column.name: column for column in COLUMNS}

#: Columns shown by default.
DEFAULT_COLUMNS: tuple[str, ...] = (
    *('gpu', 'user', 'owner', 'pid', 'type', 'gpu_memory', 'idle', 'sm', 'gmbw'),
    *('cpu', 'memory', 'time', 'command'),
)


#: Cells of the marks of a line before its columns.
_MARKS = 2


def empty_columns(processes: Sequence[ProcessSample]) -> set[str]:
    """Return the columns in which it is known that no process has a value."""
    is_known = processes and all(p.owner is not None and p.owner.is_plain for p in processes)
    return {'owner'} if is_known else set()


def shown_columns(names: tuple[str, ...], empty: AbstractSet[str]) -> tuple[str, ...]:
    """Return the columns that were chosen, or the default ones without the empty ones."""
    return names if names != DEFAULT_COLUMNS else tuple(n for n in names if n not in empty)


def column_widths(processes: Sequence[ProcessSample]) -> dict[str, int]:
    """Return the widths of the widest values in columns of the process panel that grow."""
    has_owners = 'owner' not in empty_columns(processes)
    owners = {p.owner for p in processes if p.owner is not None and has_owners}
    names = {p.username for p in processes}
    names = set() if names == {None} else names
    return {
        'pid': len(str(max([0, *(process.key.pid for process in processes)]))),
        'user': max((cell_width(fmt.format_user(name)) for name in names), default=0),
        'owner': max((cell_width(_owner_text(owner)) for owner in owners), default=0),
    }


def owner_text(process: ProcessSample) -> str:
    """Return the owner of a process, safe to draw: ``'slurm 42'``, ``'slurm 42.1'``; ``'-'`` if it has none.

    The step of a job is left out if it is 0, as that of most jobs.
    """
    return str(NA) if process.owner is None else _owner_text(process.owner)


# The text takes longer than a look-up, and each draw and each sort needs that of every process.
@functools.lru_cache(maxsize=4096)
def _owner_text(owner: Owner) -> str:
    return safe(owner.group if owner.step == '0' else str(owner))


def place_processes(
    names: Sequence[str], width: int, widths: Mapping[str, int]
) -> tuple[Placed, ...]:
    """Place columns inside the borders of the panel, after the marks of the lines."""
    room = width - 2 - _MARKS - (width >= CLASSIC)  # an empty cell before the border
    return place([COLUMNS_BY_NAME[name] for name in names], Cells(1 + _MARKS, room), widths)
