# SPDX-License-Identifier: Apache-2.0
"""GPU time by user, job, command, GPU or host. Pure.

The time of a GPU is used, held idle, idle (free) or not observed. All rows of a report add up to the
length of the period × the number of GPUs.
"""

from __future__ import annotations

from typing import Callable, Iterable, NamedTuple

from nvitop.recording.shares import NO_USER, UNKNOWN_USER

#: What rows can be divided by: who has used GPUs, and where.
WHO = ('user', 'job', 'command')
PLACES = ('gpu', 'host')
DIMENSIONS = (*WHO, *PLACES)

#: User of the time that was not observed.
UNOBSERVED = '(unobserved)'
_SPECIAL = {NO_USER: '(idle)', UNKNOWN_USER: '(unknown)', UNOBSERVED: UNOBSERVED}
NO_JOB = '(no job)'


class Place(NamedTuple):
    """Who has used a GPU, and which."""

    user: str = NO_USER
    #: Kind and ID of the owner: ``'slurm 42'``; ``''``: there is none.
    job: str = ''
    command: str = ''
    gpu: str = ''
    host: str = ''


class Sums:
    """Use of GPUs; times are seconds × GPUs."""

    def __init__(
        self,
        used: float = 0.0,
        held_idle: float = 0.0,
        *,
        idle: float = 0.0,
        unobserved: float = 0.0,
        kernels: float = 0.0,
        measured: float = 0.0,
        peak_bytes: float = 0.0,
        joules: float = 0.0,
    ) -> None:
        self.used = used
        self.held_idle = held_idle
        self.idle = idle
        self.unobserved = unobserved
        #: Time in which kernels ran, of the time in which the utilization is known.
        self.kernels = kernels
        self.measured = measured
        #: Highest memory of one command on one GPU; 0 if it is unknown.
        self.peak_bytes = peak_bytes
        self.joules = joules
        #: The jobs, or commands that belong to no job.
        self.jobs: set[tuple[str, str]] = set()

    @property
    def seconds(self) -> float:
        """The time of all kinds."""
        return self.used + self.held_idle + self.idle + self.unobserved

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

    @property
    def total(self) -> Sums:
        """The sum of all rows."""
        return total_of(self.rows)


class Table:
    """Adds up sums by the dimensions of a report."""

    def __init__(self, by: tuple[str, ...]) -> None:
        self.by = by
        self._rows: dict[tuple[str, ...], Row] = {}

    def add(self, place: Place, sums: Sums) -> None:
        """Add the use of GPUs by one user, or of none."""
        key = tuple(_text(place, dimension) for dimension in self.by)
        row = self._rows.get(key)
        if row is None:
            is_held = place.user not in (NO_USER, UNOBSERVED) or not {*WHO}.intersection(self.by)
            row = self._rows[key] = Row(key, Sums(), is_held)
        row.sums.add(sums)
        job = (place.job, '' if place.job else place.command)
        if any(job) and place.user not in _SPECIAL and sums.used + sums.held_idle:
            row.sums.jobs.add(job)

    def merge(self, other: Table) -> None:
        """Add all rows of another table with the same dimensions."""
        for key, row in other._rows.items():
            self._rows.setdefault(key, Row(key, Sums(), row.is_held)).sums.add(row.sums)

    def rows(self) -> tuple[Row, ...]:
        """Return the rows."""
        return tuple(self._rows.values())


def _text(place: Place, dimension: str) -> str:
    if dimension in WHO and place.user in _SPECIAL and not (dimension == 'job' and place.job):
        return _SPECIAL[place.user]
    text: str = getattr(place, dimension)
    return text or (NO_JOB if dimension == 'job' else '(unknown)')


def total_of(rows: Iterable[Row]) -> Sums:
    """Return the sum of rows."""
    total = Sums()
    for row in rows:
        total.add(row.sums)
    return total


#: Orders of rows: ``--sort``.
ORDERS: dict[str, Callable[[Row], object]] = {
    'hours': lambda row: -row.sums.seconds,
    'used': lambda row: -row.sums.used,
    'held-idle': lambda row: -row.sums.held_idle,
    'energy': lambda row: -row.sums.joules,
    'memory': lambda row: -row.sums.peak_bytes,
    'utilization': lambda row: row.sums.utilization_percent or 0.0,
    'name': lambda row: row.key,
}


def arrange(report: Report, order: str, top: int | None, users: Iterable[str]) -> Report:
    """Return a report with its rows in an order, those of free and unobserved time last.

    Args:
        report: The report.
        order: A key of :data:`ORDERS`.
        top: Number of rows of users; the others become one row.
        users: Only these users, if there are any. Unknown and unobserved time remain, which may be
            theirs.
    """
    rows = sorted(report.rows, key=lambda row: (not row.is_held, ORDERS[order](row), row.key))
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
