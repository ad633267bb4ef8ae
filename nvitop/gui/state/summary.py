# SPDX-License-Identifier: GPL-3.0-only
"""What is counted over samples: per-user sums, and problems with time and count."""

from __future__ import annotations

from typing import Iterable, NamedTuple, Sequence

from nvitop.gui.state.app_state import ProblemCount
from nvitop.sampling.types import DeviceKey, Problem, ProcessSample

#: How many problems are remembered; the ones not seen for longest are forgotten first.
MAX_PROBLEMS = 500


class UserSummary(NamedTuple):
    """What one user does on all devices."""

    #: ``None``: processes whose user is not known.
    username: str | None
    processes: int
    devices: tuple[DeviceKey, ...]
    #: ``None`` where no process tells.
    gpu_memory_bytes: int | None
    #: Mean over the user's processes that tell.
    mean_sm_percent: float | None


def summarise_users(processes: Iterable[ProcessSample]) -> tuple[UserSummary, ...]:
    """The users, most GPU memory first; a process on two devices counts once."""
    by_user: dict[str | None, list[ProcessSample]] = {}
    for process in processes:
        by_user.setdefault(process.username, []).append(process)
    summaries = [_summarise(name, rows) for name, rows in by_user.items()]
    summaries.sort(
        key=lambda row: (row.username is None, -(row.gpu_memory_bytes or 0), row.username or '')
    )
    return tuple(summaries)


def _summarise(username: str | None, rows: list[ProcessSample]) -> UserSummary:
    memory = [row.gpu_memory_bytes for row in rows if row.gpu_memory_bytes is not None]
    load = [
        row.gpu_sm_utilization_percent for row in rows if row.gpu_sm_utilization_percent is not None
    ]
    return UserSummary(
        username,
        len({(row.key.pid, row.key.start_time) for row in rows}),
        tuple(sorted({row.key.device for row in rows})),
        sum(memory) if memory else None,
        sum(load) / len(load) if load else None,
    )


def count_problems(
    counts: Sequence[ProblemCount], problems: Iterable[Problem], now: float
) -> tuple[ProblemCount, ...]:
    """The counts after one more sample: current ones first, then the most recent."""
    table = {(row.subject, row.what, row.reason): row._replace(is_current=False) for row in counts}
    for subject, what, reason, kind, _ in problems:
        row = table.get((subject, what, reason))
        table[subject, what, reason] = (
            ProblemCount(subject, what, reason, kind, now, now)
            if row is None
            else row._replace(last=now, times=row.times + 1, is_current=True)
        )
    rows = sorted(table.values(), key=lambda row: (-row.last, row.subject, row.what))
    return tuple(rows[:MAX_PROBLEMS])
