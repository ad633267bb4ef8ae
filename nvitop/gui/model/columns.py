# SPDX-License-Identifier: GPL-3.0-only
"""The columns of all lists, in tables that drawing, sorting, help and documentation use."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple, Sequence

from nvitop.api.utils import NA, duration2human
from nvitop.gui.render.width import cell_width, safe
from nvitop.sampling.types import ProcessSample

if TYPE_CHECKING:
    from nvitop.owner.types import Owner


class Column(NamedTuple):
    """A column of a list. ``view.column_text`` makes the text of process columns."""

    #: Name in the configuration file.
    name: str
    title: str
    #: Width without the gap; some columns grow to the width of their widest value.
    width: int
    #: One line of help: meaning and unit.
    help: str
    #: ``'>'``, or ``'<'`` for text.
    align: str = '>'
    #: Empty cells before the column.
    gap: int = 1
    #: Name of the order in ``ordering.ORDERS`` that sorts by it; ``''`` if there is none.
    order: str = ''
    #: Whether it scrolls sideways with the command.
    scrolls: bool = False
    #: On a narrow screen the columns of the highest rank are dropped first; rank 0 never.
    rank: int = 0


#: Meaning of the letters in the type column.
TYPES = 'C compute, G graphics, X both, M MPS client'

# fmt: off
COLUMNS: tuple[Column, ...] = (
    Column('gpu', 'GPU', 4, 'GPU index (GPU:MIG)', order='natural'),
    Column('pid', 'PID', 7, 'process ID', order='pid'),
    Column('type', '', 1, f'use of the GPU: {TYPES}', align='<', rank=2),
    Column('user', 'USER', 7, 'owner of the process', order='username', rank=1),
    Column('owner', 'OWNER', 5, 'job, pod, container, unit or session that it belongs to', align='<', gap=2, order='owner', rank=10),
    Column('gpu_memory', 'GPU-MEM', 8, 'GPU memory of the process', order='gpu_memory'),
    Column('gpu_memory_percent', '%GPUMEM', 7, 'GPU-MEM in percent of the memory of the device', rank=9),
    Column('idle', 'IDLE', 4, 'time since it last used the GPU, from 10 s on; > means at least', order='idle', rank=10),
    Column('sm', '%SM', 3, 'share of time its kernels were running', order='sm_utilization'),
    Column('gmbw', '%GMBW', 5, 'time that it accessed GPU memory, in percent', order='gpu_memory_utilization', rank=6),
    Column('encoder', '%ENC', 4, 'utilization of the video encoder', rank=7),
    Column('decoder', '%DEC', 4, 'utilization of the video decoder', rank=9),
    Column('cpu', '%CPU', 5, 'CPU time, in percent of one core', order='cpu_percent', scrolls=True, rank=3),
    Column('memory', '%MEM', 5, 'resident memory in percent of the memory of the host', order='memory_percent', scrolls=True, rank=5),
    Column('host_memory', 'HOST-MEM', 8, 'resident memory', scrolls=True, rank=8),
    Column('start', 'START', 12, 'when it was started', scrolls=True, rank=10),
    Column('time', 'TIME', 4, 'running time', gap=2, order='time', scrolls=True, rank=4),
    Column('command', 'COMMAND', 0, 'command line', align='<', gap=2, scrolls=True),
)
#: Columns of the device panel with one row for each device, from left to right.
#: ``layout.device_columns`` decides which are shown and how wide they are.
DEVICE_COLUMNS: tuple[Column, ...] = (
    Column('index', 'GPU', 0, 'GPU index (GPU:MIG)', gap=2),
    Column('mark', '', 0, '`!` if something is wrong with it', align='<', gap=0),
    Column('name', 'NAME', 0, 'product name, if there are different ones', align='<', gap=2),
    Column('temperature', 'TEMP', 0, 'temperature of the GPU', gap=2),
    Column('fan', 'FAN', 0, 'fan speed; MAX from 100 % on', gap=2),
    Column('performance', 'PERF', 0, 'performance state', align='<', gap=2),
    Column('power', 'POWER', 0, 'power draw and limit', gap=2),
    Column('memory_bar', 'MEM', 0, 'used memory in percent; with enough room also used and installed memory', align='<', gap=2),
    Column('memory_percent', '', 0, 'used memory in percent'),
    Column('memory', '', 0, 'used memory, and all memory', gap=2),
    Column('utilization_bar', 'UTIL', 0, 'share of time in which a kernel ran', align='<', gap=2),
    Column('utilization_percent', '', 0, 'share of time in which a kernel ran, in percent'),
    Column('clock', 'CLOCK', 0, 'SM clock, and what is wrong or why it is low (`HOT`, `PWR`); `idle` if no process uses the GPU', align='<', gap=2),
    Column('memory_clock', 'MEM CLK', 0, 'memory clock', gap=2),
    Column('encoder', 'ENC', 0, 'utilization of the video encoder', gap=2),
    Column('decoder', 'DEC', 0, 'utilization of the video decoder', gap=2),
    Column('pcie_rx', 'PCIe RX', 0, 'PCIe traffic to the GPU', gap=2),
    Column('pcie_tx', 'PCIe TX', 0, 'PCIe traffic from the GPU', gap=2),
    Column('sparkline', 'UTIL 5 MIN', 0, 'utilization in the last minutes, the oldest at the left', align='<', gap=2),
)
DETAIL_COLUMNS: tuple[Column, ...] = (
    Column('index', 'GPU', 4, 'index of the GPU', gap=0),
    Column('link', 'LINK', 8, 'PCIe generation and lanes; if they are lower than possible, also the highest ones', align='<', gap=2, rank=2),
    Column('pcie_rx', 'PCIe RX', 10, 'PCIe traffic to the GPU', gap=2, rank=3),
    Column('pcie_tx', 'PCIe TX', 10, 'PCIe traffic from the GPU', rank=4),
    Column('nvlink_rx', 'NVLINK RX', 11, 'NVLink traffic to the GPU', gap=2, rank=5),
    Column('nvlink_tx', 'NVLINK TX', 11, 'NVLink traffic from the GPU', rank=6),
    Column('encoder', 'ENC', 4, 'utilization of the video encoder', gap=2, rank=9),
    Column('decoder', 'DEC', 4, 'utilization of the video decoder', rank=9),
    Column('memory_temperature', 'MEM TEMP', 8, 'temperature of the memory; ``host`` if it has no memory of its own', gap=2, rank=7),
    Column('energy', 'ENERGY', 9, 'energy used since the driver was loaded', gap=2, rank=8),
    Column('reasons', 'CLOCKS HELD DOWN BY', 0, 'why the clocks are low', align='<', gap=2),
)
TREE_COLUMNS: tuple[Column, ...] = (
    Column('pid', 'PID', 7, 'process ID', gap=0),
    Column('user', 'USER', 7, 'owner of the process', align='<', rank=2),
    Column('device', 'DEVICE', 6, 'GPUs of the process; Host if none', align='<'),
    Column('threads', 'NLWP', 4, 'number of its threads', rank=6),
    Column('cpu', '%CPU', 5, 'CPU time, in percent of one core', rank=3),
    Column('memory', '%MEM', 5, 'resident memory in percent of the memory of the host', rank=5),
    Column('time', 'TIME', 4, 'running time', gap=2, rank=4),
    Column('command', 'COMMAND', 0, 'command line, indented below the parent', align='<', gap=2, scrolls=True),
)
USER_COLUMNS: tuple[Column, ...] = (
    Column('user', 'USER', 10, 'owner of the processes', align='<', gap=0),
    Column('processes', 'PROCESSES', 9, 'GPU processes, each counted once', rank=1),
    Column('share', 'SHARE', 6, 'bar of %GPUMEM', align='<', gap=2, rank=4),
    Column('gpu_memory_percent', '%GPUMEM', 7, 'GPU-MEM in percent of the memory of all devices', rank=2),
    Column('gpu_memory', 'GPU-MEM', 9, 'GPU memory of all processes'),
    Column('idle_memory', 'IDLE-MEM', 8, 'GPU memory of processes that have not used their GPU for a minute', rank=3),
    Column('sm', 'AVG %SM', 7, 'time that their kernels ran, in percent; mean of these devices'),
    Column('cpu', '%CPU', 6, 'CPU time of all processes, in percent of one core', rank=5),
    Column('oldest', 'OLDEST', 9, 'running time of the process that was started first', rank=6),
    Column('devices', 'DEVICES', 0, 'devices they run on', align='<', gap=2),
)
PROBLEM_COLUMNS: tuple[Column, ...] = (
    Column('last', 'LAST', 8, 'time of the latest sample that had it; now if that is the latest of all', gap=0, rank=2),
    Column('first', 'FIRST', 8, 'time of the first sample that had it', rank=4),
    Column('times', 'TIMES', 6, 'number of samples that had it', rank=3),
    Column('subject', 'WHERE', 8, 'device, process, host or driver', align='<', gap=2),
    Column('what', 'WHAT', 8, 'metric or NVML function', align='<', gap=2),
    Column('reason', 'REASON', 0, 'why there is no value', align='<', gap=2),
)
# fmt: on

COLUMNS_BY_NAME: dict[str, Column] = {column.name: column for column in COLUMNS}

#: Columns shown by default. The monitor hides the owner while it would say no more than the user, and
#: the idle time until it is known; both if there is no room for them. A report hides both.
DEFAULT_COLUMNS: tuple[str, ...] = (
    'gpu',
    'pid',
    'type',
    'user',
    'owner',
    'gpu_memory',
    'idle',
    'sm',
    'gmbw',
    'cpu',
    'memory',
    'time',
    'command',
)

#: Default columns that are shown only if there is room, and never in a report.
OPTIONAL_COLUMNS = ('owner', 'idle')

#: Maximum width of the owner.
MAX_OWNER = 40
#: Maximum running time (seconds) that is plausible.
MAX_RUNNING_SECONDS = 86400 * 1e6


def column_widths(processes: Sequence[ProcessSample]) -> dict[str, int]:
    """Return the widths of the growing columns of the process panel.

    ``'owner'`` is left out while all owners are plain sessions, ``'idle'`` until an idle time is known.
    """
    widths = growing_widths(
        [process.key.pid for process in processes],
        [process.running_time_seconds for process in processes],
    )
    owners = {process.owner for process in processes if process.owner is not None}
    if any(not owner.is_plain for owner in owners):
        widths['owner'] = min(MAX_OWNER, max(cell_width(_owner_text(owner)) for owner in owners))
    if any(process.gpu_idle_seconds is not None for process in processes):
        widths['idle'] = COLUMNS_BY_NAME['idle'].width
    return widths


def owner_text(process: ProcessSample) -> str:
    """Return the owner of a process, safe to draw: ``'slurm 42.0'``; ``'-'`` if it has none."""
    return str(NA) if process.owner is None else _owner_text(process.owner)


# The text takes longer than a look-up, and each draw and each sort needs that of every process.
@functools.lru_cache(maxsize=4096)
def _owner_text(owner: Owner) -> str:
    return safe(str(owner))


def growing_widths(pids: Sequence[int], running: Sequence[float | None]) -> dict[str, int]:
    """Return the widths of ``pid`` and ``time`` for these PIDs and running times in seconds."""
    pid = max(pids, default=0)
    seconds = max([s for s in running if s and s < MAX_RUNNING_SECONDS], default=0.0)
    # Longer times never take fewer characters.
    return {'pid': len(str(pid)), 'time': len(duration2human(seconds))}
