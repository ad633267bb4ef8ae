# SPDX-License-Identifier: Apache-2.0
"""Reports of the use of GPUs: by user, job, command, GPU or host, as tables, CSV and JSON. Pure.

The time of a GPU is used, held idle, allocated (to a job that does not use it), free or not observed.
All rows of a report add up to the length of the period × the number of GPUs.
"""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
import time
from typing import TYPE_CHECKING, Any, Callable, Container, Iterable, NamedTuple, Sequence

from nvitop.accounting.shares import NO_USER, UNKNOWN_USER
from nvitop.basics.text import LEAST_TEXT, aligned, counted, csv_text, narrowed, natural, printable
from nvitop.basics.units import CLOCK_SECONDS, format_hours, format_time
from nvitop.health.states import HELD_SECONDS, is_holder, is_idle_holder, percent_of
from nvitop.owner.types import short_id

if TYPE_CHECKING:
    from nvitop.sampling.types import Sample

#: What rows can be divided by: who has used GPUs, and where.
WHO = ('user', 'job', 'command', 'group', 'account', 'partition')
PLACES = ('gpu', 'host', 'day')
DIMENSIONS = (*WHO, *PLACES)

#: User of the time that was not observed.
UNOBSERVED = '(unobserved)'
_SPECIAL = {NO_USER: '(free)', UNKNOWN_USER: '(unknown)', UNOBSERVED: UNOBSERVED}
_MISSING = {'job': '(no job)', 'account': '(none)', 'partition': '(none)'}
FORMATS = ('table', 'csv', 'json')
#: Version of the JSON structure; increased by changes that would break programs.
SCHEMA = 1
#: Columns that a terminal does not show if the others have too little room, the first one first.
_SPARED = ('JOBS', '%', 'PEAK GiB')
#: Tables leave out less free or unobserved time (seconds), which may be a rounding error.
SHOWN_SECONDS = 0.5

#: Note about rows with memory but no time.
BESIDE = """\
A row without GPU-HOURS had idle memory on GPUs that others used: their time
is divided by work. "nvitop usage --held" lists who holds memory unused."""

_HOUR = 3600.0
_JOULES_PER_KWH = 3.6e6


@dataclasses.dataclass
class Sums:
    """Use of GPUs; times are seconds × GPUs."""

    used: float = 0.0
    held_idle: float = 0.0
    #: Time that a batch system allocated to a job without a process on the GPU.
    allocated: float = 0.0
    free: float = 0.0
    unobserved: float = 0.0
    #: Time in which kernels ran, of the time in which the utilization is known.
    kernels: float = 0.0
    measured: float = 0.0
    #: Highest memory of one command on one GPU; 0 if it is unknown.
    peak_bytes: float = 0.0
    joules: float = 0.0
    #: The jobs, and users and commands that belong to no job.
    jobs: set[tuple[str, str]] = dataclasses.field(default_factory=set)

    @property
    def seconds(self) -> float:
        """The time of all kinds."""
        return self.used + self.held_idle + self.allocated + self.free + self.unobserved

    @property
    def utilization_percent(self) -> float | None:
        """Mean utilization while held; ``None`` if it is unknown."""
        return 100 * self.kernels / self.measured if self.measured else None

    def add(self, other: Sums) -> None:
        """Add other sums to these."""
        for name, value in vars(other).items():
            before = getattr(self, name)
            if name == 'jobs':
                before |= value
            else:
                setattr(self, name, max(before, value) if name == 'peak_bytes' else before + value)


#: First text of a row, or title of a column → its look.
_LOOKS = {'(total)': 'title', '(free)': 'free', 'HELD h': 'held', 'MEM GiB': 'held'}
#: Gives text a look: ``'title'``, ``'dim'``, ``'badge'``, ``'free'`` or ``'held'``.
Paint = Callable[[str, str], str]


class Row(NamedTuple):
    """A row of a report."""

    #: A text for each dimension.
    key: tuple[str, ...]
    sums: Sums
    #: Whether it is the time of a user, known or not.
    is_held: bool


class Report(NamedTuple):
    """The use of GPUs in a period."""

    #: Seconds since the epoch.
    since: float
    until: float
    by: tuple[str, ...]
    rows: tuple[Row, ...]
    hosts: tuple[str, ...]
    gpus: int
    #: What could not be counted, and why.
    problems: tuple[str, ...] = ()
    #: Name of the scenario if the machines were simulated, otherwise ``''``.
    simulated: str = ''

    @property
    def total(self) -> Sums:
        """The sum of all rows."""
        return total_of(self.rows)

    @property
    def gpu_seconds(self) -> float:
        """The length of the period × the number of GPUs."""
        return self.gpus * (self.until - self.since)


class Table:
    """Adds up sums by the dimensions of a report."""

    def __init__(self, by: tuple[str, ...]) -> None:
        self.by = by
        self._rows: dict[tuple[str, ...], Row] = {}

    def add(self, sums: Sums, user: str = NO_USER, **place: str) -> None:
        """Add the use of GPUs by one user, or of none, at a place: a text for each dimension."""
        job, command = place.get('job', ''), place.get('command', '')
        texts = []
        for dimension in self.by:
            if dimension in WHO and user in _SPECIAL and not (dimension == 'job' and job):
                texts.append(_SPECIAL[user])
            else:
                text = user if dimension == 'user' else place.get(dimension, '')
                texts.append(text or _MISSING.get(dimension, '(unknown)'))
        key = tuple(texts)
        row = self._rows.get(key)
        if row is None:
            is_held = user not in (NO_USER, UNOBSERVED) or not {*WHO}.intersection(self.by)
            row = self._rows[key] = Row(key, Sums(), is_held)
        row.sums.add(sums)
        is_job = user not in _SPECIAL and (job or command)
        if is_job and sums.used + sums.held_idle + sums.allocated:
            # The same command of two users is two.
            row.sums.jobs.add((job, '') if job else (user, command))

    def rows(self) -> tuple[Row, ...]:
        """Return the rows."""
        return tuple(self._rows.values())


def total_of(rows: Iterable[Row]) -> Sums:
    """Return the sum of rows."""
    total = Sums()
    for row in rows:
        total.add(row.sums)
    return total


def _longest(seconds: float, step: float) -> tuple[int, bool]:
    """Return a key that sorts the longest time first; those that look the same in a table are equal."""
    return -round(seconds / step), not seconds


#: Orders of rows: ``--sort``. Arguments: the row, and how exact tables are (seconds).
ORDERS: dict[str, Callable[[Row, float], object]] = {
    'hours': lambda row, step: _longest(row.sums.seconds, step),
    'used': lambda row, step: _longest(row.sums.used, step),
    'held-idle': lambda row, step: _longest(row.sums.held_idle, step),
    'energy': lambda row, _: -row.sums.joules,
    'memory': lambda row, _: -row.sums.peak_bytes,
    'utilization': lambda row, _: (not row.sums.measured, row.sums.utilization_percent or 0.0),
    'name': lambda *_: 0,
}


def arrange(report: Report, order: str, top: int | None, users: Iterable[str]) -> Report:
    """Return a report with its rows in an order, then by name; those of free and unobserved time last.

    Args:
        report: The report.
        order: A key of :data:`ORDERS`.
        top: Number of rows of users; the others become one row.
        users: Only these users, if there are any. Unknown and unobserved time remain, which may be
            theirs.
    """
    step = 1.0 if report.gpu_seconds < CLOCK_SECONDS else 0.1 * _HOUR

    def place(row: Row) -> tuple[object, ...]:
        return not row.is_held, ORDERS[order](row, step), [*map(natural, row.key)]

    rows = sorted(report.rows, key=place)
    wanted = {*users}
    if wanted:
        at = report.by.index('user')
        wanted |= {_SPECIAL[UNKNOWN_USER], UNOBSERVED}
        rows = [row for row in rows if row.key[at] in wanted]
    held = [row for row in rows if row.is_held]
    if top is not None and len(held) > top:
        others = len(held) - top
        text = '(1 other)' if others == 1 else f'({others} others)'
        key = (text, *[''] * (len(report.by) - 1))
        rest = Row(key, total_of(held[top:]), True)
        rows = [*held[:top], rest, *rows[len(held) :]]
    return report._replace(rows=tuple(rows))


def values_of(sums: Sums) -> dict[str, Any]:
    """Return the values of a row by name, as in CSV and JSON; ``None`` if not available."""
    percent = sums.utilization_percent
    return {
        'gpu_hours': _hours(sums.seconds),
        'used_gpu_hours': _hours(sums.used),
        'held_idle_gpu_hours': _hours(sums.held_idle),
        'allocated_unused_gpu_hours': _hours(sums.allocated),
        'free_gpu_hours': _hours(sums.free),
        'unobserved_gpu_hours': _hours(sums.unobserved),
        'mean_utilization_percent': None if percent is None else round(percent, 2),
        'peak_memory_bytes': round(sums.peak_bytes) or None,
        'energy_kwh': round(sums.joules / _JOULES_PER_KWH, 6),
        'jobs': len(sums.jobs) or None,
    }


def _hours(seconds: float) -> float:
    return round(seconds / _HOUR, 6) + 0.0  # no -0.0


def report_text(
    report: Report,
    kind: str,
    *,
    with_total: bool = False,
    paint: Paint = lambda text, _: text,
    width: int = 0,
) -> str:
    """Return a report in one of :data:`FORMATS`; tables have the total, CSV has it on request.

    Tables for a terminal have its ``width``, others have whole texts.
    """
    rows = report.rows
    if with_total or (kind == 'table' and len(rows) > 1):
        rows += (Row(('(total)', *[''] * (len(report.by) - 1)), report.total, False),)
    if kind == 'json':
        return _json(report)
    if kind == 'table':
        return _table(report, rows, paint, width)
    names, mark = [*report.by, *values_of(Sums())], []
    if report.simulated:
        names, mark = [*names, 'simulated'], [report.simulated]
    values = ([*row.key, *values_of(row.sums).values(), *mark] for row in rows)
    return csv_text([names, *values])


def _json(report: Report) -> str:
    document = {
        'schema': SCHEMA,
        'simulated': report.simulated or None,
        'since': _utc(report.since),
        'until': _utc(report.until),
        'hosts': list(report.hosts),
        'gpus': report.gpus,
        'rows': [{**dict(zip(report.by, row.key)), **values_of(row.sums)} for row in report.rows],
        'total': values_of(report.total),
        'problems': list(report.problems),
    }
    return json.dumps(document, indent=2) + '\n'


def _utc(seconds: float) -> str:
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(seconds))


def _table(report: Report, rows: tuple[Row, ...], paint: Paint, width: int) -> str:
    total = report.gpu_seconds or 1.0
    unit = 'kWh' if report.total.joules >= _JOULES_PER_KWH else 'Wh'
    titles = ['GPU-HOURS', '%', 'USED h', 'HELD h', 'ALLOCATED h', 'UTIL', 'PEAK GiB']
    lines = [[*map(str.upper, report.by), *titles, f'ENERGY {unit}', 'JOBS']]
    for row in rows:
        sums, percent = row.sums, row.sums.utilization_percent
        is_total = row.key[0] == '(total)'
        if not row.is_held and not is_total and sums.seconds < SHOWN_SECONDS:
            continue
        parts = (sums.used, sums.held_idle, sums.allocated)
        lines.append(
            [
                *map(_shown, report.by, row.key),
                format_hours(sums.seconds, total),
                f'{100 * sums.seconds / total:.1f}',
                *(format_hours(seconds, total) if seconds else '' for seconds in parts),
                '' if percent is None else f'{percent:.0f}%',
                f'{sums.peak_bytes / (1 << 30):,.1f}' if sums.peak_bytes else '',
                _energy(sums.joules, unit) if sums.joules else '',
                str(len(sums.jobs) or ''),
            ]
        )
    # What no row has, such as energy or jobs, has no column.
    columns = [column for column in zip(*lines) if any(column[1:]) or len(lines) == 1]
    texts = range(len(report.by))
    for title in _SPARED if width else ():
        widths = [2 + max(map(len, column)) for column in columns]
        least = (min(room, LEAST_TEXT + 2) for room in widths[: len(texts)])
        if sum(least) + sum(widths[len(texts) :]) > width + 1:
            columns = [column for column in columns if column[0] != title]
    has_idle = any(row.sums.peak_bytes and not row.sums.seconds for row in rows)
    note = f'\n{textwrap.indent(BESIDE, " ")}\n' if has_idle else ''
    rows_shown = narrowed([*zip(*columns)], texts, width and width - 1)
    return _title(report, paint) + _painted(rows_shown, texts, paint) + note


def _shown(dimension: str, text: str) -> str:
    """Return a text of a row as people see it, who compare it with the monitor: with the short ID of a job."""
    kind, _, number = text.partition(' ')
    return printable(f'{kind} {short_id(number)}' if dimension == 'job' and number else text)


def _painted(rows: Sequence[Sequence[str]], left: Container[int], paint: Paint) -> str:
    """Return a table with a margin and dim headings; rows and columns have the looks of :data:`_LOOKS`."""

    def cell(row: int, column: int, text: str) -> str:
        look = _LOOKS.get(rows[row][0]) or _LOOKS.get(rows[0][column], '')
        return paint(text, look if row else 'dim')

    return textwrap.indent(aligned(rows, left, cell), ' ')


def _title(report: Report, paint: Paint) -> str:
    hosts = report.hosts[0] if len(report.hosts) == 1 else counted(len(report.hosts), 'host')
    ends = [format_time(report.since), format_time(math.ceil(report.until))]
    if report.gpu_seconds >= CLOCK_SECONDS or all(end.endswith(':00') for end in ends):
        ends = [end[:-3] for end in ends]
    (day, _), (last_day, clock) = (end.split() for end in ends)
    period = f'{ends[0]} to {clock if last_day == day else ends[1]}'
    title = f'GPU usage of {printable(hosts)}'
    return _head((title, counted(report.gpus, 'GPU'), period), report.simulated, paint)


def _head(words: Sequence[str], scenario: str, paint: Paint) -> str:
    """Return the line above a table: a title, facts about it, and whether the machine is simulated."""
    title, *facts = words
    badges = [paint('[SIMULATED]', 'badge')] if scenario else []
    parts = (paint(title, 'title'), *(paint(fact, 'dim') for fact in facts), *badges)
    return f' {"  ".join(parts)}\n\n'


def _energy(joules: float, unit: str) -> str:
    if unit == 'kWh':
        return f'{joules / _JOULES_PER_KWH:,.2f}'
    return f'{joules / _HOUR:,.1f}' if joules >= 0.05 * _HOUR else '<0.1'


def held_text(
    samples: list[Sample],
    users: Sequence[str] = (),
    *,
    paint: Paint = lambda text, _: text,
    width: int = 0,
) -> str:
    """Return a table, for a mail, of the memory that is held without being used.

    ``users``: only these users, if there are any.
    """
    lines = [['USER', 'HOST', 'GPU', 'MEM GiB', 'IDLE SINCE', 'COMMAND']]
    total = unknown = 0
    for sample in samples:
        for process in sorted(
            sample.processes, key=lambda process: -(process.gpu_memory_bytes or 0)
        ):
            user = process.username or '(unknown)'
            if users and user not in users:
                continue
            if not is_idle_holder(process):
                unknown += is_holder(process) and percent_of(process) is None
                continue
            since = '(unknown)'
            if process.gpu_idle_seconds is not None:
                since = format_time(sample.timestamp - process.gpu_idle_seconds)[:-3]
                since = f'before {since}' if process.is_idle_longer else since
            size = process.gpu_memory_bytes or 0
            total += size
            texts = user, sample.host.hostname, process.command or process.name or ''
            user, host, command = map(printable, texts)
            size_text = f'{size / (1 << 30):,.1f}'
            lines.append([user, host, process.key.device.label, size_text, since, command])
    times = sorted(format_time(sample.timestamp)[:-3] for sample in samples)
    as_of = 'at ' + ' to '.join(dict.fromkeys((times[0], times[-1])))
    count = f'{unknown} process' + ('es' if unknown > 1 else '')
    note = f' Left out, because their utilization is unknown: {count}.\n' if unknown else ''
    scenario = samples[0].simulated
    if len(lines) == 1:
        minutes = f'{HELD_SECONDS / 60:.0f} minutes'
        title = f'No GPU memory was held for {minutes} without being used'
        return _head((title, as_of), scenario, paint)[:-1] + note
    size_text = f'{total / (1 << 30):,.1f} GiB'
    head = _head((f'GPU memory held without being used: {size_text}', as_of), scenario, paint)
    table = _painted(narrowed(lines, [5], width and width - 1), {0, 1, 4, 5}, paint)
    return head + table + (note and f'\n{note}')
