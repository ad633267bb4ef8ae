# SPDX-License-Identifier: GPL-3.0-only
"""Problems with their times and counts, the texts of their subjects, and the own cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Iterator, NamedTuple, Sequence

from nvitop.gui.model.format import join_labels
from nvitop.health import SEVERITIES, Finding, is_wrong
from nvitop.sampling.types import (
    NO_FAILURES,
    STATUS,
    Cost,
    DeviceKey,
    Problem,
)

if TYPE_CHECKING:
    from nvitop.health import Severity
    from nvitop.sampling.types import ProblemKind, Subject

#: Maximum number of problems; those not seen for the longest time are forgotten first.
MAX_PROBLEMS = 500
#: Kinds of problems whose reason may differ from sample to sample.
_VARYING = frozenset({'timed out', 'slow', 'impossible'})
#: Time (seconds) after a failure during which the header points to it.
FAILURE_SECONDS = 60.0
#: Number of samples over which the own cost is measured.
MAX_COSTS = 60


class ProblemCount(NamedTuple):
    """A problem, the times it was first and last seen, and the number of samples that had it."""

    subject: Subject
    what: str
    reason: str
    kind: ProblemKind
    first: float
    last: float
    times: int = 1
    #: Whether the latest sample has it.
    is_current: bool = True
    #: ``None`` unless a rule about the health of devices found it.
    severity: Severity | None = None
    #: Advice; ``''`` if there is none.
    action: str = ''

    @property
    def is_failure(self) -> bool:
        """Whether it is a failure, as in :attr:`nvitop.sampling.types.Problem.is_failure`."""
        return self.kind not in NO_FAILURES


class ProblemLine(NamedTuple):
    """A line of the problems screen: a problem that several subjects may share."""

    #: Text: ``'GPU 0-7'``.
    subject: str
    what: str
    reason: str
    kind: ProblemKind
    first: float
    last: float
    #: The highest count of any subject.
    times: int
    is_current: bool
    #: ``None`` unless a rule about the health of devices found it.
    severity: Severity | None = None
    #: Advice; ``''`` if there is none.
    action: str = ''
    #: The first of the devices that share it.
    device: DeviceKey | None = None

    @property
    def is_failure(self) -> bool:
        """Whether it is a failure, as in :attr:`nvitop.sampling.types.Problem.is_failure`."""
        return self.kind not in NO_FAILURES


class Tally(NamedTuple):
    """Counts over samples, and what is wrong with the devices of the last one."""

    problems: tuple[ProblemCount, ...] = ()
    found: tuple[Finding, ...] = ()
    #: Costs of the last samples, oldest first, with their times on the monotonic clock.
    costs: tuple[tuple[float, Cost], ...] = ()


def problem_lines(counts: Iterable[ProblemCount]) -> tuple[ProblemLine, ...]:
    """Return the lines of the problems screen: failures before missing values, current before past.

    Findings about devices come before other failures, the most severe first. If several devices or
    processes share a problem, it is one line with the highest of their counts. A missing value never
    becomes past, because the value is still missing while its device is lost.
    """
    groups: dict[tuple[str, str, str, ProblemKind, bool], list[ProblemCount]] = {}
    for row in counts:
        is_past = row.is_failure and not row.is_current
        key = (row.what, row.reason, row.action, row.kind, is_past)
        groups.setdefault(key, []).append(row)
    return tuple(_line(rows) for rows in sorted(groups.values(), key=_gravity))


def _line(rows: list[ProblemCount]) -> ProblemLine:
    first = rows[0]
    return ProblemLine(
        subjects_text(row.subject for row in rows),
        first.what,
        first.reason,
        first.kind,
        min(row.first for row in rows),
        max(row.last for row in rows),
        max(row.times for row in rows),
        any(row.is_current for row in rows),
        first.severity,
        first.action,
        min((row.subject for row in rows if isinstance(row.subject, DeviceKey)), default=None),
    )


def _gravity(rows: list[ProblemCount]) -> tuple[object, ...]:
    """Return the sort key of a line: devices that do not respond come before single values, and the
    problems of one device are together."""
    first = rows[0]
    is_past = not any(row.is_current for row in rows)
    subjects = sorted(subject_order(row.subject) for row in rows)
    begin = (not first.is_failure, first.kind == 'na', is_past)
    if first.severity is not None and not is_past:
        gravity = SEVERITIES.index(first.severity)
        return (*begin, 0, gravity, '', subjects, first.what)
    order = 2 if is_past or first.what != STATUS else 1
    return (*begin, order, -max(row.last for row in rows), '', subjects, first.what)


class OwnCost(NamedTuple):
    """Cost of nvitop itself over the last samples."""

    #: Percent of one core.
    cpu_percent: float
    nvml_calls_per_second: float
    seconds_per_sample: float
    #: Time over which this was measured.
    seconds: float


def own_cost(costs: Sequence[tuple[float, Cost]]) -> OwnCost | None:
    """Return the own cost, given the costs of samples in order; ``None`` if there are too few."""
    if len(costs) < 2:
        return None
    (begin, first), (end, last) = costs[0], costs[-1]
    seconds = end - begin
    if seconds <= 0:
        return None
    later = [cost for _, cost in costs[1:]]
    return OwnCost(
        100.0 * max(0.0, last.cpu_seconds - first.cpu_seconds) / seconds,
        sum(cost.nvml_calls for cost in later) / seconds,
        sum(cost.seconds for cost in later) / len(later),
        seconds,
    )


def count_problems(
    counts: Sequence[ProblemCount],
    problems: Iterable[Problem],
    now: float,
    found: Iterable[Finding] = (),
) -> tuple[ProblemCount, ...]:
    """Return the counts after one more sample: current problems first, then the most recent.

    A device that does not respond is a finding, not a problem as well.
    """
    past = {_identity(row): row for row in counts}
    current: dict[tuple[Subject, str, str], ProblemCount] = {}
    for row in _occurrences(problems, now, tuple(filter(is_wrong, found))):
        identity = _identity(row)
        before = past.pop(identity, None) or current.get(identity)
        if before is not None:
            row = row._replace(first=before.first, times=before.times + 1)
        current[identity] = row
    rows = [*current.values(), *(row._replace(is_current=False) for row in past.values())]
    rows.sort(key=lambda row: (-row.last, subject_order(row.subject), row.what))
    return tuple(rows[:MAX_PROBLEMS])


def _occurrences(
    problems: Iterable[Problem], now: float, found: Sequence[Finding]
) -> Iterator[ProblemCount]:
    explained = set()
    for finding in found:
        words, evidence, severity = finding.words, finding.evidence, finding.severity
        yield ProblemCount(
            finding.device,
            words,
            evidence,
            'error',
            now,
            now,
            severity=severity,
            action=finding.action,
        )
        explained.add(finding.device)
    for subject, what, reason, kind in problems:
        if what != STATUS or subject not in explained:
            yield ProblemCount(subject, what, reason, kind, now, now)


def _identity(row: ProblemCount) -> tuple[Subject, str, str]:
    """Return what makes two problems the same. Times and measured values in a reason do not."""
    varies = row.severity is not None or row.kind in _VARYING
    return row.subject, row.what, row.kind if varies else row.reason


def has_failures(counts: Iterable[ProblemCount], now: float) -> bool:
    """Whether something failed within the last minute. Values a device lacks are not failures."""
    return any(row.is_failure and now - row.last < FAILURE_SECONDS for row in counts)


def note_problem(
    counts: Sequence[ProblemCount], subject: Subject, what: str, reason: str, now: float
) -> tuple[ProblemCount, ...]:
    """Return the counts after a failure outside of samples: a signal that was not sent."""
    table = {(row.subject, row.what, row.reason): row for row in counts}
    row = table.pop((subject, what, reason), None)
    times = row.times + 1 if row is not None else 1
    first = row.first if row is not None else now
    new = ProblemCount(subject, what, reason, 'error', first, now, times, is_current=False)
    return (new, *table.values())[:MAX_PROBLEMS]


def subjects_text(subjects: Iterable[Subject]) -> str:
    """Return the subjects of problems: ``GPU 3``, ``GPU 0-7``, ``process 42, host``."""
    devices: set[DeviceKey] = set()
    pids: set[int] = set()
    words: set[str] = set()
    order: dict[str, None] = {}
    for subject in subjects:
        if isinstance(subject, DeviceKey):
            devices.add(subject)
            order['GPU'] = None
        elif isinstance(subject, int):
            pids.add(subject)
            order['process'] = None
        else:
            words.add(subject)
            order[subject] = None
    labels = {
        'GPU': [key.label for key in sorted(devices)],
        'process': [str(pid) for pid in sorted(pids)],
    }
    return ', '.join(_counted(noun, labels[noun]) if noun in labels else noun for noun in order)


def subject_order(subject: Subject) -> tuple[str, int, int]:
    """Return the sort key of a subject: devices first, then driver, host, monitor, processes."""
    if isinstance(subject, DeviceKey):
        return 'device', subject.physical_index, subject.mig_index
    return (subject, 0, 0) if isinstance(subject, str) else ('process', subject, 0)


def _counted(noun: str, labels: Sequence[str]) -> str:
    is_plural = noun == 'process' and len(labels) > 1
    return f'{"processes" if is_plural else noun} {join_labels(labels)}'
