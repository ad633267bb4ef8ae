# SPDX-License-Identifier: Apache-2.0
"""Reads the use of GPUs from the tables of recordings."""

from __future__ import annotations

import contextlib
from datetime import date, timedelta
from typing import Any, Dict, Iterator, Sequence, Set, Tuple

from nvitop.basics.units import LATEST_TIME, format_time, start_of_day
from nvitop.platforms.kernel import unix_group
from nvitop.recording.reader import Recording, open_database
from nvitop.recording.store import RecordingError
from nvitop.usage.report import UNOBSERVED, Report, Sums, Table

#: Default length of a report in seconds.
DEFAULT_SECONDS = 7 * 86400.0

#: GPU → minutes that were counted, to count those in several recordings once.
Minutes = Dict[str, Set[int]]
#: Name of a GPU or MIG device in the tables → name of the GPU that it is or belongs to, and its label.
Devices = Dict[str, Tuple[str, str]]

_COUNTED = ('share_ms', 'idle_held_ms', 'allocated_ms', 'sm_percent_ms', 'measured_ms', 'energy_mj')
_KEYS = 'gpu, user, owner_kind, owner_id, command'
#: Keys and sums. The peak of the memory is the highest mean of a minute.
_USAGE = f"""
    SELECT {_KEYS}, {', '.join(f'total({name} * part)' for name in _COUNTED)},
        max(CASE WHEN held_ms > 0 THEN memory_byte_ms / held_ms ELSE 0 END)
    FROM ({{rows}}) WHERE minute >= ? AND minute < ? AND {{condition}} GROUP BY {_KEYS}
"""
_ROWS = 'SELECT *, 1 AS part FROM usage'
#: A minute was recorded twice if the clock was set back. It counts as one minute.
_ROWS_ONCE = """
    SELECT usage.*, coalesce(min(1, 60000.0 / observed_ms), 1) AS part
    FROM usage LEFT JOIN gpu_minute USING (minute, gpu)
"""
_TWICE = 'SELECT 1 FROM gpu_minute WHERE observed_ms > 60000 AND minute >= ? AND minute < ?'
_ENDS = """
    SELECT (SELECT min(started) FROM run WHERE ended >= ?),
        (SELECT max(ended) FROM run WHERE started < ?),
        (SELECT max(observed_ms) FROM gpu_minute WHERE minute = ?),
        (SELECT max(observed_ms) FROM gpu_minute WHERE minute = ?)
"""


class RecordedUsage(Recording):
    """The usage tables of a recording, from the minute ``first`` to before ``last`` since the epoch."""

    def __init__(self, path: str) -> None:
        """Open a recording.

        Raises:
            RecordingError: It cannot be read, is not a recording, or has no usage.
        """
        super().__init__(path, open_database(path))
        try:
            self.host: str = self.meta('host') or '(unknown)'
            limit = int(LATEST_TIME // 60)
            first, last = self.row(
                'SELECT min(minute), max(minute) FROM gpu_minute WHERE minute BETWEEN 0 AND ?',
                limit,
            )
            if first is None:
                raise RecordingError(f'{path} holds no usage')
            self.first, self.last = int(first), int(last) + 1
            #: When the first and the last sample were taken, in seconds since the epoch.
            self.begin, self.end = self._ends()
            #: Job → account and partition.
            self.jobs: dict[str, tuple[str, str]] = {
                f'{kind} {number}': (account, partition)
                for kind, number, account, partition in self.rows(
                    'SELECT kind, id, account, partition FROM job'
                )
            }
        except RecordingError:
            self.close()
            raise

    def _ends(self) -> tuple[float, float]:
        """Return when the first and the last sample of the outer minutes were taken.

        The time observed in these minutes counts too: it is longer than the runs if the recorder was
        killed, or reopened the file.
        """
        begin, end = self.first * 60_000, self.last * 60_000
        row = self.row(_ENDS, begin, end, self.first, self.last - 1)
        started, ended, in_first, in_last = (
            value if isinstance(value, (int, float)) else None for value in row
        )
        until = max(ended or 0, end - 60_000 + (in_last or 0))
        until = until if end - 60_000 < until <= end else end
        most = min(begin + 60_000, until)
        since = min(most - (in_first or 0), most if started is None else started)
        return (since if begin <= since < most else begin) / 1000, until / 1000

    def devices(self, since: int, until: int) -> Devices:
        """Return the devices that existed in some minutes."""
        devices = {}
        for name, index, mig, parent in self.rows(
            'SELECT gpu, physical_index, mig_index, parent FROM device '
            'WHERE last_seen >= ? AND first_seen < ?',
            *(since * 60_000, until * 60_000),
        ):
            is_mig = isinstance(mig, int) and mig >= 0
            gpu = parent or f'GPU {index}' if is_mig else name
            devices[name] = gpu, f'{index}:{mig}' if is_mig else str(index)
        return devices

    def read(self, since: int, until: int, seen: Minutes) -> list[tuple[tuple[str, ...], Sums]]:
        """Return device, user, kind and ID of the owner, command, and sums; without minutes seen."""

        def is_new(gpu: str, minute: int) -> bool:
            return minute not in seen.get(gpu, ())

        self.add_function('is_new', is_new)
        statement = _USAGE.format(
            rows=_ROWS_ONCE if self.row(_TWICE, since, until) else _ROWS,
            condition='is_new(gpu, minute)' if seen else '1',
        )
        return [_use_of(row) for row in self.rows(statement, since, until)]

    def add_minutes(self, seen: Minutes, since: int, until: int) -> None:
        """Add the minutes in which devices were observed."""
        for gpu, minute in self.rows(
            'SELECT gpu, minute FROM gpu_minute WHERE observed_ms > 0 '
            'AND minute >= ? AND minute < ?',
            *(since, until),
        ):
            seen.setdefault(gpu, set()).add(minute)


def _use_of(row: Sequence[Any]) -> tuple[tuple[str, ...], Sums]:
    key = tuple('' if value is None else str(value) for value in row[:5])
    share, held_idle, allocated, percent, measured, energy = (value / 1000 for value in row[5:11])
    if not key[1]:
        return key, Sums(free=share, joules=energy)
    return key, Sums(
        used=share - held_idle - allocated,
        held_idle=held_idle,
        allocated=allocated,
        kernels=percent / 100,
        measured=measured,
        peak_bytes=row[11],
        joules=energy,
    )


def read_report(
    paths: Sequence[str], since: float | None, until: float | None, by: tuple[str, ...]
) -> Report:
    """Return the use of GPUs in a period, by default the last week recorded.

    Times that are given are rounded down to the minute. By default, the period is that from the first
    to the last sample: what was before and after is not unobserved.

    Raises:
        RecordingError: No file can be read, nothing was recorded in the period, or simulated and
            real machines would be added up.
    """
    sources: list[RecordedUsage] = []
    problems = []
    with contextlib.ExitStack() as stack:
        for path in paths:
            try:
                sources.append(stack.enter_context(contextlib.closing(RecordedUsage(path))))
            except RecordingError as error:
                problems.append(str(error))
        if not sources:
            raise RecordingError('\n'.join(problems))
        return _add_up(sources, since, until, by, problems)


def _add_up(
    sources: Sequence[RecordedUsage],
    since: float | None,
    until: float | None,
    by: tuple[str, ...],
    problems: list[str],
) -> Report:
    simulated = [source for source in sources if source.simulated]
    if 0 < len(simulated) < len(sources):
        raise RecordingError(
            f'{simulated[0].path} is of a simulated machine; it is not added to those of real ones'
        )
    begin, end = min(s.first for s in sources), max(s.last for s in sources)
    last = end if until is None else int(until // 60)
    first = max(begin, last - round(DEFAULT_SECONDS / 60)) if since is None else int(since // 60)
    start, stop = first * 60.0, last * 60.0
    if since is None:
        start = max(start, min(source.begin for source in sources))
    if until is None:
        stop = max(source.end for source in sources)
    hosts: dict[str, list[RecordedUsage]] = {}
    for source in sorted(sources, key=lambda source: source.first):
        if source.first < last and source.last > first:
            hosts.setdefault(source.host, []).append(source)
    if not hosts or first >= last:
        raise RecordingError(
            'nothing was recorded in this period; the recordings are from '
            f'{format_time(begin * 60)[:-3]} to {format_time(end * 60)[:-3]}'
        )
    table, gpus = Table(by), 0
    days = list(_days(start, stop)) if 'day' in by else [('', start, stop)]
    for host, of_host in hosts.items():
        prefix = '' if len(hosts) == 1 or 'host' in by else f'{host}/'
        gpus += _read_host(table, of_host, prefix, days, problems)
    return Report(
        *(start, stop, by, table.rows(), tuple(hosts), gpus, tuple(dict.fromkeys(problems))),
        simulated=simulated[0].simulated if simulated else '',
    )


def _days(start: float, stop: float) -> Iterator[tuple[str, float, float]]:
    """Yield the local days of a period, and when each begins and ends within it."""
    day = date.fromtimestamp(start)
    while start_of_day(day) < stop:
        following = day + timedelta(days=1)
        yield day.isoformat(), max(start, start_of_day(day)), min(stop, start_of_day(following))
        day = following


def _read_host(
    table: Table,
    sources: Sequence[RecordedUsage],
    prefix: str,
    days: Sequence[tuple[str, float, float]],
    problems: list[str],
) -> int:
    """Add the recordings of one host, and the time that none observed; return its number of GPUs."""
    host = sources[0].host
    since, until = int(days[0][1] // 60), -int(-days[-1][2] // 60)
    devices: Devices = {}
    #: Day and GPU → the seconds that were observed.
    observed: dict[tuple[str, str], float] = {}
    seen: Minutes = {}
    for source in sources:
        try:
            devices.update(source.devices(since, until))
            for day, start, stop in days:
                for key, sums in source.read(int(start // 60), -int(-stop // 60), seen):
                    name, user, kind, number, command = key
                    gpu, label = devices.setdefault(name, (name, name))
                    observed[day, gpu] = observed.get((day, gpu), 0.0) + sums.seconds
                    job = f'{kind} {number}'.strip()
                    account, partition = source.jobs.get(job, ('', ''))
                    group = unix_group(user) if 'group' in table.by else ''
                    place = {'gpu': prefix + label, 'host': host, 'day': day, 'group': group}
                    place.update(job=job, command=command, account=account, partition=partition)
                    table.add(sums, user, **place)
            if len(sources) > 1:
                source.add_minutes(seen, since, until)
        except RecordingError as error:
            problems.append(str(error))
    gpus = {gpu: label for gpu, label in devices.values() if ':' not in label}
    for gpu, label in devices.values():
        gpus.setdefault(gpu, label)
    for day, start, stop in days:
        for gpu, label in gpus.items():
            # Recordings have milliseconds.
            rest = max(0.0, round(stop - start - observed.get((day, gpu), 0.0), 3))
            table.add(Sums(unobserved=rest), UNOBSERVED, gpu=prefix + label, host=host, day=day)
    return len(gpus)
