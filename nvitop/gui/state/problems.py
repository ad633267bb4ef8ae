# SPDX-License-Identifier: GPL-3.0-only
"""Problems with their times and counts, and the texts of their subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Iterator, NamedTuple, Sequence

from nvitop.gui.model.format import join_labels
from nvitop.health import SEVERITIES, Finding, is_wrong
from nvitop.health.types import cause, plain_reason, value_words
from nvitop.sampling.types import NO_FAILURES, STATUS, Cost, DeviceKey, Problem

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
    #: Of a line: its subjects (``'GPU 0-7'``), the first of the devices among them, and the number of
    #: values that are missing for the same reason; ``what`` has their names.
    where: str = ''
    device: DeviceKey | None = None
    value_count: int = 1

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
    found: tuple[Finding, ...] = ()
    #: Costs of the last samples, oldest first, with their times on the monotonic clock.
    costs: tuple[tuple[float, Cost], ...] = ()


#: Words of a finding about single values → kind of the problems of these values, which it explains.
_EXPLAINED: dict[str, ProblemKind] = {
    'unreadable values': 'error',
    'implausible values': 'impossible',
    'needs a reset': 'reset needed',
}


def problem_lines(counts: Iterable[ProblemCount]) -> tuple[ProblemCount, ...]:
    """Return the lines of the problems screen: failures before missing values, current before past.

    Findings come first, the most severe ones at the top, and those of one device together.
    If several devices or processes share a problem, it is one line with the highest of their counts.
    So are the values that a device cannot read for the same reason. A missing value never becomes
    past, because the value is still missing while its device is lost.
    """
    rows = _without_explained(list(counts))
    shared: dict[tuple[str, str, str, ProblemKind, bool], list[ProblemCount]] = {}
    for row in rows:
        is_past = row.is_failure and not row.is_current
        key = (row.what, row.reason, row.action, row.kind, is_past)
        shared.setdefault(key, []).append(row)
    lines: dict[tuple[object, ...], list[ProblemCount]] = {}
    for key, group in shared.items():
        first = group[0]
        subjects = frozenset(row.subject for row in group)
        is_value = first.severity is None and first.what != STATUS and not key[-1]
        of_device = all(isinstance(subject, DeviceKey) for subject in subjects)
        same = (subjects, first.reason, first.kind) if is_value and of_device else key
        lines.setdefault(same, []).extend(group)
    return tuple(_line(rows) for rows in sorted(lines.values(), key=_gravity))


def missing_values(lines: Iterable[ProblemCount]) -> tuple[ProblemCount, ...]:
    """Return one line for all values that a device does not have, or not for this user."""
    missing = [line for line in lines if not line.is_failure]
    if len(missing) < 2:
        return tuple(missing)
    names = dict.fromkeys(name for line in missing for name in line.what.split(', '))
    reasons = '; '.join(f'{line.reason} {line.where}' for line in missing)
    where, what = 'Not available', ', '.join(names)
    line = missing[0]._replace(where=where, what=what, reason=reasons, device=None)
    return (line._replace(value_count=len(names)),)


def _without_explained(rows: list[ProblemCount]) -> list[ProblemCount]:
    """Return findings with all values that they explain, and the problems that none explains."""
    values: dict[tuple[Subject, ProblemKind], dict[str, list[str]]] = {}
    for row in rows:
        if row.is_current and row.severity is None:
            reasons = values.setdefault((row.subject, row.kind), {})
            reasons.setdefault(row.reason, []).append(value_words(row.what))
    explained = set()
    kept = []
    for row in rows:
        kind = _EXPLAINED.get(row.what) if row.severity is not None and row.is_current else None
        if kind is not None and (row.subject, kind) in values:
            explained.add((row.subject, kind))
            reasons = values[row.subject, kind]
            texts = [
                _explained(kind, ', '.join(sorted(names, key=len)), why)
                for why, names in reasons.items()
            ]
            row = row._replace(reason='; '.join(texts))
        kept.append(row)
    return [
        row
        for row in kept
        if row.severity is not None
        or not row.is_current
        or (row.subject, row.kind) not in explained
    ]


def _explained(kind: ProblemKind, names: str, why: str) -> str:
    """Return the values of a finding and their reason, as its evidence has them."""
    if kind == 'impossible':
        return f'{names}: {cause(why)}'
    return f'{names} unreadable' if kind == 'reset needed' else f'{names} ({cause(why)})'


def _line(rows: list[ProblemCount]) -> ProblemCount:
    first = rows[0]
    names = dict.fromkeys(row.what for row in rows)
    return first._replace(
        what=', '.join(names),
        reason=plain_reason(first.reason),
        first=min(row.first for row in rows),
        last=max(row.last for row in rows),
        times=max(row.times for row in rows),
        is_current=any(row.is_current for row in rows),
        where=subjects_text(row.subject for row in rows),
        device=min(
            (row.subject for row in rows if isinstance(row.subject, DeviceKey)), default=None
        ),
        value_count=len(names),
    )


def _gravity(rows: list[ProblemCount]) -> tuple[object, ...]:
    """Return the sort key of a line: findings by severity and then by device; devices that do not
    respond come before single values."""
    first = rows[0]
    is_past = not any(row.is_current for row in rows)
    subjects = sorted(subject_order(row.subject) for row in rows)
    begin = (not first.is_failure, first.kind == 'na', is_past)
    if first.severity is not None and first.is_failure and not is_past:
        return (*begin, 0, SEVERITIES.index(first.severity), subjects[:1], first.what)
    order = 2 if is_past or first.what != STATUS else 1
    return (*begin, order, -max(row.last for row in rows), subjects, first.what)


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
        words, severity = finding.words, finding.severity
        yield ProblemCount(
            finding.device,
            words,
            finding.evidence,
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
            each.label if isinstance(each, DeviceKey) else str(each)
            for each in sorted(members, key=subject_order)
        )
        words = 'processes' if kind == 'process' and len(members) > 1 else kind
        texts.append(kind if kind in members else f'{words} {labels}')
    return ', '.join(texts)


def subject_order(subject: Subject) -> tuple[str, int, int]:
    """Return the sort key of a subject: devices first, then driver, host, monitor, processes."""
    if isinstance(subject, DeviceKey):
        return 'device', subject.physical_index, subject.mig_index
    return (subject, 0, 0) if isinstance(subject, str) else ('process', subject, 0)
