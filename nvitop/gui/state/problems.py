# SPDX-License-Identifier: GPL-3.0-only
"""Problems with their times and counts, and the texts of their subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Iterator, NamedTuple, Sequence

from nvitop.gui.model.format import join_labels
from nvitop.health import SEVERITIES, Finding, findings, is_wrong
from nvitop.health.types import cause, plain_reason, value_words
from nvitop.sampling.types import NO_FAILURES, STATUS, Cost, DeviceKey, Problem, Sample

if TYPE_CHECKING:
    from nvitop.health import Severity
    from nvitop.sampling.types import ProblemKind, Subject

#: Maximum number of problems; those not seen for the longest time are forgotten first.
MAX_PROBLEMS = 500
#: Kinds of problems whose reason may differ from sample to sample.
_VARYING = frozenset({'timed out', 'slow', 'impossible'})
#: Number of samples over which the own cost is measured.
MAX_COSTS = 60


class ProblemCount(NamedTuple):
    """A problem, the times it was first and last seen, and the number of samples that had it.

    A line of the problems screen is one, too, in the words of the screen: several subjects may share it.
    """

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
    #: Of a line: its subjects (``'GPU 0-7'``); ``subject`` is the first of them, a device if any is.
    where: str = ''

    @property
    def device(self) -> DeviceKey | None:
        return self.subject if isinstance(self.subject, DeviceKey) else None

    @property
    def varies(self) -> bool:
        return self.severity is not None or self.kind in _VARYING

    @property
    def is_failure(self) -> bool:
        return self.kind not in NO_FAILURES


def problem_key(line: ProblemCount) -> tuple[object, ...]:
    reason = '' if line.varies else line.reason
    return line.where, line.what, line.kind, line.severity is None, reason


class Tally(NamedTuple):
    """Counts over samples, and what is wrong with the devices of the last one."""

    problems: tuple[ProblemCount, ...] = ()
    findings: tuple[Finding, ...] = ()
    #: Costs of the last samples, oldest first, with their times on the monotonic clock.
    costs: tuple[tuple[float, Cost], ...] = ()
    #: The problems as lines of their screen, made once per sample.
    lines: tuple[ProblemCount, ...] = ()

    def with_sample(self, sample: Sample) -> Tally:
        """Return the counts up to the next sample."""
        current = findings(sample, self.findings)
        problems = count_problems(self.problems, sample.problems, sample.timestamp, current)
        costs = (*self.costs, (sample.monotonic, sample.cost))[-MAX_COSTS:]
        return Tally(problems, current, costs, problem_lines(problems))


#: Words of a finding about single values → kind of the problems of these values, which it explains.
_EXPLAINED: dict[str, ProblemKind] = {
    'unreadable values': 'error',
    'implausible values': 'impossible',
    'needs a reset': 'reset needed',
}


def problem_lines(counts: Iterable[ProblemCount]) -> tuple[ProblemCount, ...]:
    """Return the lines of the problems screen: failures before missing values, current before past.

    Findings come first, the most severe ones at the top, and those of one device together. If
    several devices or processes share a problem, it is one line with the highest of their counts. A
    value that a finding explains is only missing, and not listed if the finding names its cause. A
    missing value never becomes past, because the value is still missing while its device is lost.
    """
    rows = tuple(counts)
    explained = {
        (row.subject, _EXPLAINED.get(row.what)): f'GPU {row.what}: {row.reason}'
        for row in rows
        if row.severity and row.is_current
    }
    lines: dict[tuple[object, ...], list[ProblemCount]] = {}
    for row in rows:
        if row.is_current and row.severity is None and (row.subject, row.kind) in explained:
            if cause(row.reason) in explained[row.subject, row.kind]:
                continue
            row = row._replace(kind='na')
        is_past = row.is_failure and not row.is_current
        key = (row.what, row.reason, row.action, row.kind, is_past)
        lines.setdefault(key, []).append(row)
    return tuple(sorted(map(_line, lines.values()), key=_gravity))


def missing_values(lines: Iterable[ProblemCount]) -> tuple[ProblemCount, ...]:
    """Return a line for each reason why devices do not have values, or not for this user."""
    causes: dict[tuple[str, str], list[ProblemCount]] = {}
    for line in lines:
        if not line.is_failure:
            causes.setdefault((line.reason, line.where), []).append(line)
    return tuple(
        group[0]._replace(what=', '.join(value_words(line.what) for line in group))
        for group in causes.values()
    )


def _line(rows: list[ProblemCount]) -> ProblemCount:
    return rows[0]._replace(
        subject=min((row.subject for row in rows), key=subject_order),
        reason=plain_reason(rows[0].reason),
        first=min(row.first for row in rows),
        last=max(row.last for row in rows),
        times=max(row.times for row in rows),
        is_current=any(row.is_current for row in rows),
        where=subjects_text(row.subject for row in rows),
    )


def _gravity(line: ProblemCount) -> tuple[object, ...]:
    """Return the sort key of a line: findings by severity and then by device; devices that do not
    respond come before single values."""
    rank = len(SEVERITIES) + (line.what != STATUS)
    if line.severity is not None and line.is_current:
        rank = SEVERITIES.index(line.severity)
    is_past = line.is_failure and not line.is_current
    return not line.is_failure, is_past, rank, *_place(line)


def _place(row: ProblemCount) -> tuple[object, ...]:
    """Return the sort key of a problem: the last one first, then by subject. Findings stay in order."""
    return -row.last, subject_order(row.subject), '' if row.severity else row.what


def count_problems(
    counts: Sequence[ProblemCount],
    problems: Iterable[Problem],
    now: float,
    findings: Iterable[Finding] = (),
) -> tuple[ProblemCount, ...]:
    """Return the counts after one more sample: current problems first, then the most recent.

    A device that does not respond is a finding, not a problem as well.
    """
    past = {_identity(row): row for row in counts}
    current: dict[tuple[Subject, str, str], ProblemCount] = {}
    for row in _occurrences(problems, now, tuple(filter(is_wrong, findings))):
        identity = _identity(row)
        before = past.pop(identity, None) or current.get(identity)
        if before is not None:
            row = row._replace(first=before.first, times=before.times + 1)
        current[identity] = row
    rows = [*current.values(), *(row._replace(is_current=False) for row in past.values())]
    rows.sort(key=_place)
    return tuple(rows[:MAX_PROBLEMS])


def _occurrences(
    problems: Iterable[Problem], now: float, findings: Sequence[Finding]
) -> Iterator[ProblemCount]:
    for device, _, severity, words, evidence, action, *_ in findings:
        yield ProblemCount(
            device, words, evidence, 'error', now, now, severity=severity, action=action
        )
    explained = {finding.device for finding in findings}
    for subject, what, reason, kind in problems:
        if what != STATUS or subject not in explained:
            yield ProblemCount(subject, what, reason, kind, now, now)


def _identity(row: ProblemCount) -> tuple[Subject, str, str]:
    """Return what makes two problems the same. Times and measured values in a reason do not."""
    return row.subject, row.what, row.kind if row.varies else row.reason


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
    groups: dict[str, set[Subject]] = {}
    for subject in subjects:
        kind = 'process' if isinstance(subject, int) else 'GPU'
        groups.setdefault(subject if isinstance(subject, str) else kind, set()).add(subject)
    texts = []
    for kind, members in groups.items():
        labels = join_labels(
            subject.label if isinstance(subject, DeviceKey) else str(subject)
            for subject in sorted(members, key=subject_order)
        )
        words = 'processes' if kind == 'process' and len(members) > 1 else kind
        texts.append(kind if kind in members else f'{words} {labels}')
    return ', '.join(texts)


def subject_order(subject: Subject) -> tuple[str, int, int]:
    """Return the sort key of a subject: devices first, then driver, host, monitor, processes."""
    if isinstance(subject, DeviceKey):
        return 'device', subject.physical_index, subject.mig_index
    return (subject, 0, 0) if isinstance(subject, str) else ('process', subject, 0)
