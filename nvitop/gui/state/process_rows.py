# SPDX-License-Identifier: GPL-3.0-only
"""Processes of a sample: the live filter, the orders, the tree, sums per user, and their devices."""

from __future__ import annotations

from typing import (
    Any,
    Callable,
    Collection,
    Iterable,
    Mapping,
    NamedTuple,
    Sequence,
    Tuple,
    TypeVar,
)

from nvitop.basics.text import contains, filter_words, is_named, name_in_quotes, split_word
from nvitop.gui.model.choices import ProcessFilter, Sort
from nvitop.gui.model.columns import column_widths, owner_text
from nvitop.gui.model.format import join_labels, special_command
from nvitop.health.states import is_idle_holder
from nvitop.sampling.types import (
    DeviceKey,
    DeviceSample,
    HostProcessSample,
    ProcessKey,
    ProcessSample,
    Sample,
)

#: The device of processes on the host.
_NO_DEVICE = DeviceKey(-1)
#: Processes on devices by PID and start time.
Uses = Mapping[Tuple[int, float], Sequence[ProcessSample]]
#: A parsed filter: a prefix (``''`` if there is none) and a word for each part.
Query = Sequence[Tuple[str, str]]


def parse_query(text: str) -> Query:
    """Parse the words of a filter, which may have a prefix: ``user: gpu: pid: type: job:``.

    ``owner:`` is the same as ``job:``, and ``=`` as ``:``. The case of prefixes does not matter. A prefix without a word, as
    while it is being typed, matches everything. ``user:"al"`` and ``job:"slurm 42"`` match whole names.
    """
    parts = []
    for word in filter_words(text):
        prefix, _, rest = split_word(word)
        field = _OTHER_NAMES.get(prefix, prefix)
        if field in _FIELDS:
            if rest not in ('', '"', '""'):
                parts.append((field, rest))
        else:
            parts.append(('', word))
    return tuple(parts)


def _has_device(process: ProcessSample, word: str) -> bool:
    device = process.key.device
    return word in (device.label, str(device.physical_index)) or (
        bool(device.uuid) and device.uuid.lower().startswith(word.lower())
    )


def _has_type(process: ProcessSample, word: str) -> bool:
    kinds = (process.type or '').split('+')
    return word.upper() in (*kinds, process.type) or (word.upper() == 'X' and len(kinds) == 2)


def _has_owner(process: ProcessSample, word: str) -> bool:
    """Whether the owner or one of its layers has a word: ``pod``, ``ml/train-0``, a whole ID."""
    owner = process.owner
    if owner is None:
        return False
    group = name_in_quotes(word)
    if group is not None:
        return owner.group == group
    texts = (
        owner_text(process),
        *(text for layer in owner.layers for text in (str(layer), layer.id)),
    )
    return any(contains(text, word) for text in texts)


_FIELDS: dict[str, Callable[[ProcessSample, str], bool]] = {
    'user': lambda process, word: is_named(process.username, word),
    'gpu': _has_device,
    'pid': lambda process, word: str(process.key.pid).startswith(word),
    'type': _has_type,
    'owner': _has_owner,
}
_OTHER_NAMES = {'job': 'owner'}


def _has_word(process: ProcessSample, word: str) -> bool:
    special = special_command(process.status, process.name)
    texts = (process.command, process.name, process.username, special)
    return word == str(process.key.pid) or any(contains(text, word) for text in texts)


def matches(process: ProcessSample, query: Query) -> bool:
    return all(
        _FIELDS[prefix](process, word) if prefix else _has_word(process, word)
        for prefix, word in query
    )


def matches_host_process(process: HostProcessSample, query: Query, uses: Uses) -> bool:
    """Whether a process of the tree matches, by itself or as a process on a device."""
    alone = ProcessSample(
        ProcessKey(process.pid, process.start_time, _NO_DEVICE),
        status=process.status,
        username=process.username,
        name=process.name,
        command=process.command,
    )
    rows = uses.get((process.pid, process.start_time), ())
    return any(matches(row, query) for row in (*rows, alone))


def filter_processes(processes: Iterable[ProcessSample], query: Query) -> tuple[ProcessSample, ...]:
    if not query:
        return tuple(processes)
    return tuple(process for process in processes if matches(process, query))


#: Values to compare in turn; ``None`` if not available.
Values = Tuple[object, ...]
T = TypeVar('T')


class Order(NamedTuple):
    """A way to sort the lines of a screen."""

    name: str
    #: The key after ``o``.
    letter: str
    #: Heading of the column.
    title: str
    #: The value of a line, which is last without one; of a process, values to compare in turn.
    #: ``None``: as the lines are listed anyway.
    value: Callable[[Any], Any] | None
    is_descending: bool = True
    #: Whether it is alphabetical: from A to Z instead of lowest first.
    is_text: bool = False

    def describe(self, *, reverse: bool) -> str:
        """Return the order in words: ``'UTIL, highest first'``."""
        is_descending = self.is_descending != reverse
        if self.is_text:
            return f'{self.title}, {"Z to A" if is_descending else "A to Z"}'
        return f'{self.title}, {"highest" if is_descending else "lowest"} first'


def _natural(process: ProcessSample) -> Values:
    return (process.key.device, process.status == 'gone', process.username, process.key.pid)


def _username(process: ProcessSample) -> Values:
    return (process.status == 'gone', process.username, process.key.pid, process.key.device)


def _owner(process: ProcessSample) -> Values:
    is_known = process.owner is not None and bool(process.owner.kind)
    text = owner_text(process) if is_known else None
    return (text, process.username, process.key.pid, process.key.device)


def _by(*fields: str) -> Callable[[ProcessSample], Values]:
    def values(process: ProcessSample) -> Values:
        pid, _, device = process.key
        return (*(getattr(process, field) for field in fields), pid, device)

    return values


def _time(process: ProcessSample) -> Values:
    # Running times of processes that started together differ by when they were measured.
    pid, start_time, device = process.key
    is_known = process.running_time_seconds is not None and start_time >= 0
    return (-start_time if is_known else process.running_time_seconds, -pid, device)


# fmt: off
#: ``,`` and ``.`` step through them in this order.
ORDERS: tuple[Order, ...] = (
    Order('natural', 'n', 'GPU', _natural, is_descending=False),
    Order('pid', 'p', 'PID', _by(), is_descending=False),
    Order('username', 'u', 'USER', _username, is_descending=False, is_text=True),
    Order('owner', 'w', 'JOB', _owner, is_descending=False, is_text=True),
    Order('gpu_memory', 'g', 'MEM GiB', _by('gpu_memory_bytes', 'gpu_sm_utilization_percent', 'cpu_percent')),
    Order('sm_utilization', 's', '%SM', _by('gpu_sm_utilization_percent', 'gpu_memory_bytes', 'cpu_percent')),
    Order('gpu_memory_utilization', 'b', '%BW', _by('gpu_memory_utilization_percent', 'gpu_memory_bytes', 'cpu_percent')),
    Order('idle', 'i', 'IDLE', _by('gpu_idle_seconds', 'gpu_memory_bytes')),
    Order('cpu_percent', 'c', '%CPU', _by('cpu_percent', 'memory_percent')),
    Order('memory_percent', 'm', '%MEM', _by('memory_percent', 'cpu_percent')),
    Order('time', 't', 'TIME', _time),
)
# fmt: on

ORDERS_BY_NAME: dict[str, Order] = {order.name: order for order in ORDERS}


def is_descending(sort: Sort) -> bool:
    return ORDERS_BY_NAME[sort.order].is_descending != sort.reverse


def in_order(lines: Iterable[T], order: Order, *, reverse: bool) -> tuple[T, ...]:
    """Return lines in an order. Those without a value are last in both directions."""
    rows, value_of = tuple(lines), order.value
    if value_of is None:
        return rows[::-1] if reverse else rows
    is_descending = order.is_descending != reverse

    def key(line: T) -> list[object]:
        # A flat list is fast to compare, and all processes are compared after each measurement. The
        # flag before each value decides between missing and available ones, so that 0 is compared
        # with 0 only.
        flat: list[object] = []
        sort_value = value_of(line)
        for value in sort_value if isinstance(sort_value, tuple) else (sort_value,):
            if value is None:
                flat += (not is_descending, 0)
            elif value.__class__ is bool:
                # Processes that exited stay last in both directions.
                flat += (is_descending, value != is_descending)
            else:
                flat += (is_descending, value)
        return flat

    return tuple(sorted(rows, key=key, reverse=is_descending))


def is_listed(process: ProcessSample, wanted: ProcessFilter) -> bool:
    return (
        (wanted.users is None or process.username in wanted.users)
        and (wanted.pids is None or process.key.pid in wanted.pids)
        and (wanted.types is None or process.type in wanted.types)
    )


def list_processes(
    processes: Sequence[ProcessSample], wanted: ProcessFilter, sort: Sort
) -> tuple[ProcessSample, ...]:
    """Return the rows of the process panel: the processes that match the filter, sorted."""
    if wanted != ProcessFilter():
        processes = [process for process in processes if is_listed(process, wanted)]
    return in_order(processes, ORDERS_BY_NAME[sort.order], reverse=sort.reverse)


class TreeRow(NamedTuple):
    """A line of the tree screen."""

    process: HostProcessSample
    #: Branches before the command: ``'│  ├─ '``.
    prefix: str
    #: Number of ancestors among the lines.
    depth: int

    @property
    def key(self) -> tuple[int, float]:
        return (self.process.pid, self.process.start_time)


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


def is_on(device: DeviceKey, selected: DeviceKey) -> bool:
    """Whether a device is the selected one, or a MIG device on it."""
    return device == selected or (
        not selected.is_mig and device.physical_index == selected.physical_index
    )


def whole_devices(devices: Iterable[DeviceSample]) -> tuple[DeviceSample, ...]:
    """Return the devices that are not part of another one: MIG devices only if their GPU is missing."""
    devices = tuple(devices)
    gpus = {device.key.physical_index for device in devices if not device.key.is_mig}
    return tuple(
        device
        for device in devices
        if not device.key.is_mig or device.key.physical_index not in gpus
    )


def devices_without_list(sample: Sample) -> list[DeviceKey]:
    """Return the devices that respond but do not report their processes."""
    silent = {problem.device for problem in sample.problems if problem.hides_processes}
    devices = sample.devices if silent else ()
    return [device.key for device in devices if device.status == 'ok' and device.key in silent]


def unknown_devices(sample: Sample) -> list[DeviceKey]:
    """Return the GPUs and MIG devices that do not report their processes, or do not respond."""
    silent = whole_devices(device for device in sample.devices if device.is_silent)
    return [*(device.key for device in silent), *devices_without_list(sample)]


def unknown_among(devices: Iterable[DeviceKey], sample: Sample) -> list[DeviceKey]:
    """Return the unknown devices that are among these devices or contain one of them."""
    devices = tuple(devices)
    return [key for key in unknown_devices(sample) if any(is_on(device, key) for device in devices)]


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
    #: Sums over the processes, with the key and the command of the first one.
    total: ProcessSample
    #: Seconds × GPUs used and held idle; ``None``: unknown.
    gpu_times: tuple[float, float] | None = None

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
        return len({process.key[:2] for process in self.processes})

    @property
    def counted(self) -> str:
        return f'{self.process_count} procs'

    @property
    def has_one_owner(self) -> bool:
        """Whether all processes belong to the same job, or to the same session or the like."""
        return bool(self.key[1]) or len({process.owner for process in self.processes}) == 1

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
    """A line of the list of processes."""

    #: A process, or the sums of a job.
    process: ProcessSample
    #: The job that the line is about, or that the process is listed below.
    job: Group | None = None
    is_job: bool = False
    #: Whether the processes of the job are hidden.
    is_folded: bool = False

    @property
    def key(self) -> ProcessKey | JobKey:
        return self.job.key if self.is_job and self.job is not None else self.process.key

    @property
    def processes(self) -> tuple[ProcessSample, ...]:
        return self.job.processes if self.is_job and self.job is not None else (self.process,)


def group_by_job(processes: Sequence[ProcessSample], sort: Sort) -> tuple[tuple[Line, ...], ...]:
    """Return the lines of each job, unfolded, in the order of the list; a single process is one line."""
    blocks = [
        (Line(job.total, job, is_job=True), *(Line(process, job) for process in job.processes))
        if len(job.processes) > 1
        else (Line(job.processes[0]),)
        for job in group_by(processes, job_key)
    ]
    order = ORDERS_BY_NAME[sort.order]
    value_of = order.value
    assert value_of is not None
    of_block = order._replace(value=lambda lines: value_of(lines[0].process))
    return in_order(blocks, of_block, reverse=sort.reverse)


def fold(
    blocks: Sequence[Sequence[Line]], room: int, turned: Collection[JobKey] = ()
) -> tuple[Line, ...]:
    """Return the lines of jobs: unfolded if all fit into ``room``, else folded.

    ``turned`` are the jobs that the user folded or unfolded against that.
    """
    is_folded = sum(map(len, blocks)) > room
    lines: list[Line] = []
    for block in blocks:
        first = block[0]
        if first.is_job and (is_folded != (first.key in turned)):
            lines.append(first._replace(is_folded=True))
        else:
            lines.extend(block)
    return tuple(lines)


#: Values of a job: means over devices of the sum over its processes, and sums over its processes.
_MEANS = tuple(f'gpu_{what}_utilization_percent' for what in ('sm', 'memory', 'encoder', 'decoder'))
_SUMS = ('cpu_percent', 'memory_percent', 'host_memory_bytes')
#: What a user without processes has of the first one.
_NOTHING = ProcessSample(ProcessKey(0, 0.0, _NO_DEVICE))


def total_of(processes: Sequence[ProcessSample]) -> ProcessSample:
    """Return the sums over processes as one process; a value that is unknown of any of them is unknown."""
    first = processes[0] if processes else _NOTHING
    # A process has the same values of the host on all its devices.
    hosts = {process.key[:2]: process for process in processes}.values()
    idle = [p.gpu_idle_seconds for p in processes if p.gpu_idle_seconds is not None]
    times = [p.running_time_seconds for p in hosts if p.running_time_seconds is not None]
    values: dict[str, Any] = {field: _mean_over_devices(processes, field) for field in _MEANS}
    values.update((field, _sum(getattr(p, field) for p in hosts)) for field in _SUMS)
    return first._replace(
        status=first.status if len({process.status for process in processes}) == 1 else 'running',
        is_own=all(process.is_own for process in processes),
        is_outdated=all(process.is_outdated for process in processes),
        gpu_memory_bytes=_sum(process.gpu_memory_bytes for process in processes),
        gpu_memory_percent=None,
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
    """Return the words that all commands share, and what differs of each.

    Commands of different programs share nothing: the words are the names of the programs.
    """
    parts = [command.split(' ') for command in commands]
    programs = list(dict.fromkeys(words[0].rpartition('/')[2] for words in parts))
    if len(programs) > 1:
        more = f', +{len(programs) - _MOST_PROGRAMS}' if len(programs) > _MOST_PROGRAMS else ''
        return ', '.join(programs[:_MOST_PROGRAMS]) + more, list(commands)
    if len({len(words) for words in parts}) != 1:
        return (commands[0] if commands else ''), list(commands)
    shared = [words[0] if len(set(words)) == 1 else None for words in zip(*parts)]
    rest = [' '.join(w for w, same in zip(words, shared) if same is None) for words in parts]
    text = ' '.join(word for word in shared if word is not None)
    return text or commands[0], rest if text else list(commands)


def list_widths(
    processes: Sequence[ProcessSample], blocks: Sequence[Sequence[Line]]
) -> dict[str, int]:
    """Return the widths of the widest values of processes, and of the jobs in the lines."""
    jobs = [block[0].job for block in blocks if block[0].job is not None]
    widths = column_widths(processes)
    widths['gpu'] = min(_MOST_LABELS, max((len(job.labels) for job in jobs), default=1))
    widths['pid'] = max([widths['pid'], *(len(job.counted) for job in jobs)])
    return widths
