# SPDX-License-Identifier: GPL-3.0-only
"""Trees of host processes: processes on GPUs with their ancestors and direct children."""

from __future__ import annotations

from typing import Iterable, NamedTuple, Sequence

from nvitop.sampling.types import HostProcessSample


class TreeRow(NamedTuple):
    """A line of the tree screen."""

    process: HostProcessSample
    #: Branches before the command: ``'│  ├─ '``.
    prefix: str
    #: Number of ancestors among the lines.
    depth: int

    @property
    def key(self) -> tuple[int, float]:
        """PID and start time."""
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
    """Add a root and its descendants. A long chain of processes would exceed the recursion limit."""
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
    """Return a row and the rows of its descendants."""
    end = index + 1
    while end < len(rows) and rows[end].depth > rows[index].depth:
        end += 1
    return tuple(rows[index:end])
