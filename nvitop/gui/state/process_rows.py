# SPDX-License-Identifier: GPL-3.0-only
"""Processes of a sample: the tree, the lines of jobs, sums per user, and their devices."""

from __future__ import annotations

from typing import Any, Callable, Collection, Iterable, Mapping, NamedTuple, Sequence, Tuple

from nvitop.gui.model.choices import Sort
from nvitop.gui.model.columns import column_widths
from nvitop.gui.model.format import format_age, join_labels
from nvitop.gui.model.table import Content
from nvitop.gui.state.orders import ORDERS_BY_NAME, in_order
from nvitop.gui.state.process_filter import NO_DEVICE
from nvitop.health.states import WASTED_BYTES, is_idle_holder
from nvitop.sampling.types import DeviceKey, HostProcessSample, ProcessKey, ProcessSample


class TreeRow(NamedTuple):
    """A line of the tree screen."""

    process: HostProcessSample
    #: Branches before the command: ``'│  ├─ '``.
    prefix: str
    #: Number of ancestors among the lines.
    depth: int
    #: The sums over its devices; ``None`` if it is on none.
    total: ProcessSample | None = None
    #: The command, with its branches, as it is drawn.
    command: Content = ''

    @property
    def key(self) -> tuple[int, float]:
        return self.process.identity

    @property
    def processes(self) -> tuple[HostProcessSample, ...]:
        return (self.process,)


def _sibling_order(process: HostProcessSample) -> tuple[bool, bool, str, int]:
    username = process.username
    return (process.status == 'gone', username is None, username or '', process.pid)


def build_tree(processes: Iterable[HostProcessSample]) -> tuple[TreeRow, ...]:
    """Return the lines from top to bottom: roots by PID; siblings by whether they exited, user, PID.

    A process whose parent is not among the processes is a root. Cycles of parents, which PID reuse
    between two reads can cause, are broken so that every process has a line.
    """
    by_pid = {process.pid: process for process in processes}
    children: dict[int | None, list[HostProcessSample]] = {}
    for process in by_pid.values():
        is_root = process.parent_pid not in by_pid or process.parent_pid == process.pid
        children.setdefault(None if is_root else process.parent_pid, []).append(process)
    rows: list[TreeRow] = []
    seen: set[int] = set()
    # After the roots, all others again: those of a cycle have not been reached.
    for roots in (children.get(None, ()), by_pid.values()):
        # Lines to add, and the branches before their children, the next one last: a long chain of
        # processes would exceed the recursion limit.
        stack = [
            (TreeRow(root, '', 0), '') for root in sorted(roots, key=lambda process: -process.pid)
        ]
        while stack:
            row, stem = stack.pop()
            if row.process.pid in seen:
                continue
            seen.add(row.process.pid)
            rows.append(row)
            below = sorted(children.get(row.process.pid, ()), key=_sibling_order, reverse=True)
            below = [child for child in below if child.pid not in seen]
            for i, child in enumerate(below):
                branch, rest = ('├─ ', '│  ') if i else ('└─ ', '   ')
                stack.append((TreeRow(child, stem + branch, row.depth + 1), stem + rest))
    return tuple(rows)


def subtree(rows: Sequence[TreeRow], index: int) -> tuple[TreeRow, ...]:
    end = index + 1
    while end < len(rows) and rows[end].depth > rows[index].depth:
        end += 1
    return tuple(rows[index:end])


#: A user and a job, each ``''`` if there is none or if the processes of any are meant.
JobKey = Tuple[str, str]
#: Maximum width of the GPUs of a job.
_MOST_LABELS = 11
#: Maximum number of programs that the line of a job names.
_MOST_PROGRAMS = 2


class Group(NamedTuple):
    """The processes of a user, of a job, or of a user in a job, on all devices."""

    key: JobKey
    processes: tuple[ProcessSample, ...]
    #: Sums over the processes, with the key, user and owner of the first one.
    total: ProcessSample
    #: Seconds × GPUs used and held idle; ``None``: unknown.
    gpu_times: tuple[float, float] | None = None
    #: Their texts in hours.
    hours: tuple[str, str] = ('', '')
    #: Whether the monitor runs as this user.
    is_user: bool = False

    @property
    def name(self) -> str | None:
        """The job, or the user if it has none; ``None`` if neither is known."""
        return self.key[1] or self.key[0] or None

    @property
    def devices(self) -> tuple[DeviceKey, ...]:
        return tuple(sorted({process.key.device for process in self.processes}))

    @property
    def labels(self) -> str:
        return join_labels(key.label for key in self.devices)

    @property
    def process_count(self) -> int:
        """Number of processes; one on two devices counts once."""
        return len({process.identity for process in self.processes})

    @property
    def counted(self) -> str:
        return f'{self.process_count} procs'

    @property
    def has_one_owner(self) -> bool:
        """Whether all processes belong to the same job, or to the same session or the like."""
        return bool(self.key[1]) or len({process.owner for process in self.processes}) == 1

    def memory_on(self, device: DeviceKey) -> int | None:
        """Return the memory on a device, ``None`` if none of the processes is on it."""
        here = [process for process in self.processes if process.key.device == device]
        return sum(process.gpu_memory_bytes or 0 for process in here) if here else None

    @property
    def idle_memory_bytes(self) -> int | None:
        """Memory of idle processes; ``None`` if it is unknown which are idle."""
        known = [row for row in self.processes if row.gpu_idle_seconds is not None]
        sizes = [row.gpu_memory_bytes or 0 for row in known if is_idle_holder(row)]
        return sum(sizes) if known else None


def group_of(key: JobKey, processes: Sequence[ProcessSample]) -> Group:
    return Group(key, tuple(processes), total_of(processes))


def group_by(
    processes: Iterable[ProcessSample], key_of: Callable[[ProcessSample], JobKey]
) -> list[Group]:
    groups: dict[JobKey, list[ProcessSample]] = {}
    for process in processes:
        groups.setdefault(key_of(process), []).append(process)
    return [group_of(key, group) for key, group in groups.items()]


def summarize_users(
    processes: Iterable[ProcessSample], *, by_owner: bool = False
) -> tuple[Group, ...]:
    """Return the users or owners, most GPU memory first. The steps of a job are one owner."""
    groups = group_by(processes, _owner_key if by_owner else _user_key)
    memory = {group.key: group.total.gpu_memory_bytes or 0 for group in groups}
    groups.sort(key=lambda row: (row.name is None, -memory[row.key], row.name or ''))
    return tuple(groups)


def _user_key(process: ProcessSample) -> JobKey:
    return process.username or '', ''


def _owner_key(process: ProcessSample) -> JobKey:
    return '', '' if process.owner is None else process.owner.group


def job_key(process: ProcessSample) -> JobKey:
    owner = process.owner
    job = '' if owner is None or owner.is_plain else owner.group
    return process.username or '', job


class Line(NamedTuple):
    """A line of the list of processes, with what its columns show."""

    #: A process, or the sums of a job.
    process: ProcessSample
    #: The job that the line is about, or that the process is listed below.
    job: Group | None = None
    is_job: bool = False
    #: Whether the processes of the job are hidden.
    is_folded: bool = False
    #: Columns of a process that the line of its job shows for all.
    shown_above: Collection[str] = ()
    # Set when it is drawn, the others when it is listed.
    #: The command, or what differs from those of the same job, cut to its column.
    command: str = ''
    #: Whether the command is that of its whole job.
    repeats_command: bool = False
    #: Whether the monitor runs as its user.
    is_user: bool = False
    #: Whether the driver does not know the memory of processes, as in the WDDM of Windows.
    has_wddm: bool = False

    @property
    def key(self) -> ProcessKey | JobKey:
        return self.job.key if self.is_job and self.job is not None else self.process.key

    @property
    def processes(self) -> tuple[ProcessSample, ...]:
        return self.job.processes if self.is_job and self.job is not None else (self.process,)

    @property
    def labels(self) -> str:
        devices = {process.key.device for process in self.processes}
        return join_labels(key.label for key in sorted(devices))

    @property
    def holds_idle_memory(self) -> bool:
        memory = self.process.gpu_memory_bytes or 0
        return is_idle_holder(self.process) and memory >= WASTED_BYTES


def _lines_of(job: Group) -> tuple[Line, ...]:
    """Return the line of a job and those of its processes, or one line if there is only one."""
    if len(job.processes) == 1:
        return (Line(job.processes[0]),)
    shown = {'user', *(['owner'] if job.has_one_owner else [])}
    if len({format_age(process.running_time_seconds) for process in job.processes}) == 1:
        shown.add('time')
    members = (Line(process, job, shown_above=shown) for process in job.processes)
    return (Line(job.total, job, is_job=True), *members)


def group_by_job(processes: Sequence[ProcessSample], sort: Sort) -> tuple[tuple[Line, ...], ...]:
    """Return the lines of each job, unfolded, in the order of the list; a single process is one line."""
    blocks = [_lines_of(job) for job in group_by(processes, job_key)]
    order = ORDERS_BY_NAME[sort.order]
    value_of = order.value
    assert value_of is not None
    of_block = order._replace(value=lambda lines: value_of(lines[0].process))
    return in_order(blocks, of_block, reverse=sort.reverse)


def job_count(blocks: Sequence[Sequence[Line]]) -> int:
    """Return the number of jobs, 0 if no process belongs to one."""
    return len(blocks) if any(job_key(block[-1].process)[1] for block in blocks) else 0


def fold(
    blocks: Sequence[Sequence[Line]], room: int, chosen: Mapping[JobKey, bool] = {}
) -> tuple[Line, ...]:
    """Return the lines of jobs: unfolded if they fit into ``room``, those with idle memory first.

    ``chosen`` is whether the user folded a job, where they did either.
    """
    spare = room - len(blocks)
    unfolded = set()
    by_waste = sorted(blocks, key=lambda block: not any(line.holds_idle_memory for line in block))
    for block in by_waste:
        if len(block) - 1 <= spare:
            spare -= len(block) - 1
            unfolded.add(block[0].key)
    lines: list[Line] = []
    for block in blocks:
        first = block[0]
        if first.job is not None and chosen.get(first.job.key, first.key not in unfolded):
            lines.append(first._replace(is_folded=True))
        else:
            lines.extend(block)
    return tuple(lines)


#: Values of a job: means over devices of the sum over its processes, and sums over its processes.
_MEANS = tuple(f'gpu_{what}_utilization_percent' for what in ('sm', 'memory', 'encoder', 'decoder'))
_SUMS = ('cpu_percent', 'memory_percent', 'host_memory_bytes')
#: What a user without processes has of the first one.
_NOTHING = ProcessSample(ProcessKey(0, 0.0, NO_DEVICE))


def total_of(processes: Sequence[ProcessSample]) -> ProcessSample:
    """Return the sums over processes as one process; a value that is unknown of any of them is unknown."""
    first = processes[0] if processes else _NOTHING
    # A process has the same values of the host on all its devices.
    hosts = {process.identity: process for process in processes}.values()
    idle = [p.gpu_idle_seconds for p in processes if p.gpu_idle_seconds is not None]
    times = [p.running_time_seconds for p in hosts if p.running_time_seconds is not None]
    values: dict[str, Any] = {field: _mean_over_devices(processes, field) for field in _MEANS}
    values.update((field, _sum(getattr(p, field) for p in hosts)) for field in _SUMS)
    return ProcessSample(
        first.key,
        username=first.username,
        owner=first.owner,
        status=first.status if len({process.status for process in processes}) == 1 else 'running',
        is_own=all(process.is_own for process in processes),
        is_outdated=all(process.is_outdated for process in processes),
        gpu_memory_bytes=_sum(process.gpu_memory_bytes for process in processes),
        running_time_seconds=max(times, default=None),
        # A job is as idle as the process that used its device last.
        gpu_idle_seconds=None if len(idle) < len(processes) else min(idle, default=None),
        is_idle_longer=all(process.is_idle_longer for process in processes),
        **values,
    )


def _mean_over_devices(processes: Iterable[ProcessSample], field: str) -> int | None:
    """Return the mean over devices of the sum over their processes with a known value."""
    sums: dict[DeviceKey, float] = {}
    for process in processes:
        value = getattr(process, field)
        if value is not None:
            device = process.key.device
            sums[device] = min(100.0, sums.get(device, 0.0) + value)
    return round(sum(sums.values()) / len(sums)) if sums else None


def _sum(numbers: Iterable[Any]) -> Any:
    values = list(numbers)
    return None if None in values else sum(values)


def common_words(commands: Sequence[str]) -> tuple[str, list[str]]:
    """Return the words that all commands share, and what differs of each: a value with its option.

    Commands of different programs share nothing: the words are the names of the programs. Those of
    different scripts share the program: ``python3 train.py, eval.py``.
    """
    parts = [command.split(' ') for command in commands]
    programs = list(dict.fromkeys(words[0].rpartition('/')[2] for words in parts))
    if len(programs) > 1:
        return _some_of(programs), list(commands)
    if len({len(words) for words in parts}) != 1:
        scripts = list(dict.fromkeys(words[1] if len(words) > 1 else '-' for words in parts))
        if len(scripts) == 1 or any(script.startswith('-') for script in scripts):
            return commands[0], list(commands)
        rest = list(commands)
        for script in scripts:
            same = [number for number, words in enumerate(parts) if words[1] == script]
            if len(same) > 1:
                for number, text in zip(same, common_words([commands[i] for i in same])[1]):
                    rest[number] = text or commands[number]
        return f'{programs[0]} {_some_of(scripts)}', rest
    columns = list(zip(*parts))
    shared = [words[0] if len(set(words)) == 1 else None for words in columns]
    for i, values in enumerate(columns[1:]):
        is_value = shared[i + 1] is None and not values[0].startswith('-')
        if is_value and (shared[i] or '').startswith('-'):
            shared[i] = None
    rest = [' '.join(w for w, same in zip(words, shared) if same is None) for words in parts]
    text = ' '.join(word for word in shared if word is not None)
    return text or commands[0], rest if text else list(commands)


def _some_of(names: Sequence[str]) -> str:
    more = [f'+{len(names) - _MOST_PROGRAMS}'] if len(names) > _MOST_PROGRAMS else []
    return ', '.join([*names[:_MOST_PROGRAMS], *more])


def list_widths(
    processes: Sequence[ProcessSample], blocks: Sequence[Sequence[Line]]
) -> dict[str, int]:
    """Return the widths of the widest values of processes, and of the jobs in the lines."""
    jobs = [block[0].job for block in blocks if block[0].job is not None]
    widths = column_widths(processes)
    widths['gpu'] = min(_MOST_LABELS, max((len(job.labels) for job in jobs), default=1))
    widths['pid'] = max([widths['pid'], *(len(job.counted) for job in jobs)])
    return widths
