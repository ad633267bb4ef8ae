# SPDX-License-Identifier: GPL-3.0-only
"""The columns of processes and of the tree: everything about a column in one row of a table.

The tables of other lists are in ``device_columns.py`` and next to their screens.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from nvitop.basics.units import NA
from nvitop.gui.model import format as fmt
from nvitop.gui.model.format import devices_text
from nvitop.gui.model.table import CLASSIC, Column, Placed, place
from nvitop.gui.render.buffer import Cells
from nvitop.gui.render.theme import DIM
from nvitop.gui.render.width import cell_width, safe
from nvitop.sampling.types import HostProcessSample, ProcessSample

if TYPE_CHECKING:
    from nvitop.owner.types import Owner

_Text = Callable[[ProcessSample, int], str]

#: Text of a value that a device reported before it stopped responding.
_UNKNOWN = '?'


def _of_device(text_of: _Text) -> _Text:
    """Format a value of the device, which is unknown if it no longer lists the process."""
    return lambda process, width: _UNKNOWN if process.is_outdated else text_of(process, width)


def _command(process: ProcessSample | HostProcessSample, _: int = 0) -> str:
    return fmt.format_command(process.command, process.status, name=process.name)


def _summed(column: Column) -> Column:
    """Return a column whose text of a job is that of the sum, mean or maximum over its processes."""
    return column._replace(job_text=lambda job, width: column.text(job.total, width))


def _job_owner(job: Any, _: int) -> str:
    return safe(job.key[1]) or (owner_text(job.total) if job.has_one_owner else '')


def _start(process: ProcessSample, _: int = 0) -> str:
    return fmt.format_start(process.key.start_time, process.running_time_seconds)


def _job_start(job: Any, _: int) -> str:
    return _start(max(job.processes, key=lambda process: process.running_time_seconds or 0.0))


#: Meaning of the letters in the type column.
TYPES = 'C compute, G graphics, X both, M MPS client'

# fmt: off
#: Columns of the process panel. Text: of a :class:`ProcessSample`, for the width.
COLUMNS: tuple[Column, ...] = (
    Column('gpu', 'GPU', (3,), 'GPU index (GPU:MIG)', lambda row, _: row.key.device.label,
           order='natural', source='NVML index, PCI bus order', job_text=lambda job, _: job.labels),
    Column('user', 'USER', (7, 16), 'user who runs it', lambda row, _: fmt.format_user(row.username),
           align='<', order='username', rank=1, source='psutil `username`'),
    Column('owner', 'JOB', (10, 16, 24, 40), 'job, pod, container, unit or session that it belongs to', lambda row, _: owner_text(row),
           align='<', gap=2, order='owner', rank=6, source='`/proc/PID/cgroup`, see [Owners of processes](owners.md)', job_text=_job_owner),
    Column('pid', 'PID', (7,), 'process ID', lambda row, _: str(row.key.pid),
           order='pid', source='`nvmlDeviceGetComputeRunningProcesses`, `…Graphics…`, `…MPSCompute…`', job_text=lambda job, _: job.counted),
    Column('type', '', (1,), f'use of the GPU: {TYPES}', lambda row, _: fmt.format_process_type(row.type),
           align='<', rank=2, source='the lists that contain the process', job_text=lambda *_: ''),
    _summed(Column('gpu_memory', 'MEM GiB', (7,), 'GPU memory of the process', _of_device(lambda row, _: fmt.format_gib_count(row.gpu_memory_bytes)),
           order='gpu_memory', unit='B', source='the same lists (`usedGpuMemory`)')),
    _summed(Column('gpu_memory_percent', '%GPUMEM', (7,), 'GPU memory in percent of device memory', _of_device(lambda row, _: fmt.format_tenths(row.gpu_memory_percent)),
           rank=11, unit='%', source='`MEM GiB` / `memory_total`')),
    _summed(Column('idle', 'IDLE', (4,), 'time without use of the GPU, from 10 s; > means at least', _of_device(lambda row, _: fmt.format_idle_time(row.gpu_idle_seconds, is_longer=row.is_idle_longer)),
           order='idle', rank=5, source='the last reading in which a value of `nvmlDeviceGetProcessUtilization` was not 0')),
    _summed(Column('sm', '%SM', (3,), 'share of time its kernels were running', _of_device(lambda row, _: fmt.format_count(row.gpu_sm_utilization_percent)),
           order='sm_utilization', unit='%', source='`nvmlDeviceGetProcessUtilization` (`smUtil`), average since the previous reading')),
    _summed(Column('gmbw', '%BW', (3,), 'share of time it accessed GPU memory', _of_device(lambda row, _: fmt.format_count(row.gpu_memory_utilization_percent)),
           order='gpu_memory_utilization', rank=8, unit='%', source='`nvmlDeviceGetProcessUtilization` (`memUtil`)')),
    _summed(Column('encoder', '%ENC', (4,), 'utilization of the video encoder', _of_device(lambda row, _: fmt.format_count(row.gpu_encoder_utilization_percent)),
           rank=7, unit='%', source='`nvmlDeviceGetProcessUtilization` (`encUtil`)')),
    _summed(Column('decoder', '%DEC', (4,), 'utilization of the video decoder', _of_device(lambda row, _: fmt.format_count(row.gpu_decoder_utilization_percent)),
           rank=9, unit='%', source='`nvmlDeviceGetProcessUtilization` (`decUtil`)')),
    _summed(Column('cpu', '%CPU', (5,), 'CPU time, in percent of one core', lambda row, _: fmt.format_cpu_percent(row.cpu_percent),
           order='cpu_percent', rank=3, unit='% of a core', source='psutil `cpu_percent`')),
    _summed(Column('memory', '%MEM', (5,), 'resident memory in percent of host memory', lambda row, _: fmt.format_tenths(row.memory_percent),
           order='memory_percent', rank=10, unit='%', source='psutil `memory_percent`')),
    _summed(Column('host_memory', 'HOST GiB', (8,), 'resident memory', lambda row, _: fmt.format_gib_count(row.host_memory_bytes),
           rank=12, unit='B', source='psutil `memory_info().rss`')),
    Column('start', 'START', (12,), 'when it was started', _start,
           rank=13, source='psutil `create_time`', job_text=_job_start),
    _summed(Column('time', 'TIME', (4,), 'running time', lambda row, _: fmt.format_age(row.running_time_seconds),
           gap=2, order='time', rank=4, source='current time − psutil `create_time`')),
    Column('command', 'COMMAND', (14, 20, 24, 0), 'command line', _command,
           align='<', gap=2, source='psutil `cmdline`, quoted for a shell'),
)
#: Columns of the tree. Text: of a line with a :class:`HostProcessSample`, for the width.
TREE_COLUMNS: tuple[Column, ...] = (
    Column('pid', 'PID', (7,), 'process ID', lambda row, _: str(row.process.pid),
           gap=0, source='psutil `pids`, `ppid`'),
    Column('user', 'USER', (7,), 'user who runs it', lambda row, _: fmt.format_user(row.process.username, 7),
           align='<', rank=2, source='psutil `username`'),
    Column('device', 'GPU', (6,), 'GPUs of the process; Host if none', lambda row, _: devices_text(row.process.devices) if row.process.devices else (('Host', DIM),),
           align='<', source='the process lists of each GPU'),
    Column('gpu_memory', 'MEM GiB', (7,), 'GPU memory on all of its GPUs', lambda *_: '',
           rank=1, unit='B', source='sum of `MEM GiB`'),
    Column('sm', '%SM', (4,), 'time that its kernels ran, in percent; mean of its GPUs', lambda *_: '',
           rank=1, unit='%', source='mean of `%SM`'),
    Column('threads', 'THREADS', (7,), 'number of its threads', lambda row, _: fmt.format_count(row.process.thread_count),
           rank=6, unit='count', source='psutil `num_threads`'),
    Column('cpu', '%CPU', (5,), 'CPU time, in percent of one core', lambda row, _: fmt.format_cpu_percent(row.process.cpu_percent),
           rank=3, unit='% of a core', source='psutil `cpu_percent`'),
    Column('memory', '%MEM', (5,), 'resident memory in percent of host memory', lambda row, _: fmt.format_tenths(row.process.memory_percent),
           rank=5, unit='%', source='psutil `memory_percent`'),
    Column('time', 'TIME', (4,), 'running time', lambda row, _: fmt.format_age(row.process.running_time_seconds),
           gap=2, rank=4, source='current time − psutil `create_time`'),
    Column('command', 'COMMAND', (30, 0), 'command line, indented below the parent', lambda row, _: _command(row.process),
           align='<', gap=2, source='psutil `cmdline`, quoted for a shell'),
)
# fmt: on

COLUMNS_BY_NAME: dict[str, Column] = {column.name: column for column in COLUMNS}

#: Columns shown by default.
DEFAULT_COLUMNS: tuple[str, ...] = (
    *('gpu', 'user', 'owner', 'pid', 'type', 'gpu_memory', 'idle', 'sm', 'gmbw'),
    *('cpu', 'memory', 'time', 'command'),
)


#: The marks of a line before its columns, and an empty cell before the border.
_MARKS = Column('marks', '', (2,), '', lambda *_: '')
_EDGE = Column('edge', '', (1,), '', lambda *_: '', gap=0)
#: Columns that yield to commands narrower than this.
_YIELDING = {'memory': 34, 'gmbw': 24}


def column_widths(processes: Sequence[ProcessSample]) -> dict[str, int]:
    """Return the widths of the widest values in columns of the process panel that grow.

    The column of jobs has width 0 if it is known that no process belongs to one.
    """
    widths = {'pid': len(str(max([0, *(process.key.pid for process in processes)])))}
    names = {process.username for process in processes}
    widths['user'] = max([4, *(cell_width(fmt.format_user(name)) for name in names)])
    owners = {process.owner for process in processes if process.owner is not None}
    widths['owner'] = max([4, *(cell_width(_owner_text(owner)) for owner in owners)])
    if processes and all(p.owner is not None and p.owner.is_plain for p in processes):
        widths['owner'] = 0
    return widths


def columns_without_values(processes: Sequence[ProcessSample]) -> list[str]:
    """Return the columns that may be left out in which no process has a value."""
    return [
        column.name
        for column in COLUMNS
        if column.rank
        and all(column.text(process, column.sizes[0]) == fmt.NOT_AVAILABLE for process in processes)
    ]


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
    if tuple(names) != DEFAULT_COLUMNS:  # chosen columns stay
        widths = {name: widest or 4 for name, widest in widths.items()}
    columns = [_MARKS, *(COLUMNS_BY_NAME[name] for name in names)]
    if width >= CLASSIC:
        columns.append(_EDGE)
    columns[1] = columns[1]._replace(gap=int(columns[1].align == '<'))
    placed = place(columns, Cells(1, width - 2), widths)
    for name, least in _YIELDING.items():
        if any(cell.column.name == 'command' and cell.width < least for cell in placed):
            columns = [column for column in columns if column.name != name]
            placed = place(columns, Cells(1, width - 2), widths)
    return placed
