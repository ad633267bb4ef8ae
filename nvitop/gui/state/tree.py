# SPDX-License-Identifier: GPL-3.0-only
"""Host processes as trees: GPU processes with their ancestors and direct children."""

from __future__ import annotations

from typing import Iterable, Sequence

from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import HostProcessSample


class TreeRow(NamedTuple):
    """A line of the tree screen."""

    process: HostProcessSample
    #: What is drawn before the command: ``'│  ├─ '``.
    prefix: str
    #: How many processes it is below a root.
    depth: int

    @property
    def key(self) -> tuple[int, float]:
        """PID and start time."""
        return (self.process.pid, self.process.start_time)


def _sibling_order(process: HostProcessSample) -> tuple[bool, bool, str, int]:
    username = process.username
    return (process.status == 'gone', username is None, username or '', process.pid)


def build_tree(processes: Iterable[HostProcessSample]) -> tuple[TreeRow, ...]:
    """The lines from top to bottom: roots by PID, siblings by gone, user, PID.

    A process whose parent is not among them is a root. Parents that form a ring, which a PID used
    again between two reads can make, are cut open so that every process has its line.
    """
    by_pid = {process.pid: process for process in processes}
    children: dict[int, list[HostProcessSample]] = {}
    roots = []
    for process in by_pid.values():
        if process.parent_pid in by_pid and process.parent_pid != process.pid:
            assert process.parent_pid is not None
            children.setdefault(process.parent_pid, []).append(process)
        else:
            roots.append(process)
    rows: list[TreeRow] = []
    seen: set[int] = set()
    for root in sorted(roots, key=lambda process: process.pid):
        _add(root, children, rows, seen)
    for process in sorted(by_pid.values(), key=lambda process: process.pid):
        _add(process, children, rows, seen)
    return tuple(rows)


def _add(
    root: HostProcessSample,
    children: dict[int, list[HostProcessSample]],
    rows: list[TreeRow],
    seen: set[int],
) -> None:
    """Add a root and all below it. No recursion: a chain of processes may be long."""
    stack = [TreeRow(root, '', 0)]
    stems = ['']
    while stack:
        row = stack.pop()
        stem = stems.pop()
        if row.process.pid in seen:
            continue
        seen.add(row.process.pid)
        rows.append(row)
        below = sorted(children.get(row.process.pid, ()), key=_sibling_order, reverse=True)
        below = [child for child in below if child.pid not in seen]
        for i, child in enumerate(below):
            is_last = i == 0
            stack.append(TreeRow(child, stem + ('└─ ' if is_last else '├─ '), row.depth + 1))
            stems.append(stem + ('   ' if is_last else '│  '))


def subtree(rows: Sequence[TreeRow], index: int) -> tuple[TreeRow, ...]:
    """The row and all rows below it in the tree."""
    end = index + 1
    while end < len(rows) and rows[end].depth > rows[index].depth:
        end += 1
    return tuple(rows[index:end])
