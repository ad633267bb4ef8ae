# SPDX-License-Identifier: Apache-2.0
"""Which processes descend from the ones that somebody is interested in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api import host
from nvitop.api.process import HostProcess

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The ancestor of all processes.
INIT_PID = 1


class ProcessTreeFilter:
    """Root processes and their descendants.

    Roots are processes, not numbers: a PID that is given to another process later does not count.
    """

    def __init__(self, root_pids: Iterable[int]) -> None:
        pids = set(root_pids)
        self.is_empty = not pids
        self._is_everything = INIT_PID in pids
        # Held, because a process is known by its object only as long as somebody holds that.
        self._roots = {HostProcess(pid) for pid in pids}
        #: Of the processes that were asked for the last time.
        self._verdicts: dict[HostProcess, bool] = {}

    def select(self, processes: Iterable[HostProcess]) -> set[HostProcess]:
        """Those of the processes that are roots or descend from one.

        A process that was a descendant stays one, also when those between it and the root are gone.
        """
        wanted = set(processes)
        if self._is_everything:
            return wanted
        self._roots = {p if p.is_identified else HostProcess(p.pid) for p in self._roots}
        # All the known ones first: they are what unknown ones may descend from.
        verdicts = {p: self._verdicts[p] for p in wanted if p in self._verdicts}
        for process in wanted:
            if process not in verdicts:
                verdicts[process] = self._descends(process)
        self._verdicts = verdicts
        return {process for process, verdict in verdicts.items() if verdict}

    def _descends(self, process: HostProcess) -> bool:
        ancestor: HostProcess | None = process
        seen = set()
        try:
            while ancestor is not None and ancestor not in seen:
                if ancestor in self._roots:
                    return True
                known = self._verdicts.get(ancestor)
                if known is not None:
                    return known
                seen.add(ancestor)
                ancestor = ancestor.parent()
        except (host.PsutilError, OSError):  # no file descriptor may be left
            return False
        return False
