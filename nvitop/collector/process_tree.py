# SPDX-License-Identifier: Apache-2.0
"""Selects the processes that descend from given root processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvitop.api import host
from nvitop.api.process import HostProcess
from nvitop.api.process.observed import ancestry

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The ancestor of all processes.
INIT_PID = 1


class ProcessTreeFilter:
    """Root processes and their descendants.

    Roots are processes, not PIDs: a PID that is reused later does not count.
    """

    def __init__(self, root_pids: Iterable[int]) -> None:
        pids = set(root_pids)
        self.is_empty = not pids
        self._is_everything = INIT_PID in pids
        # Keeps the objects alive: a process is identified by its object only while that exists.
        self._roots = {HostProcess(pid) for pid in pids}
        #: Whether the processes of the last selection descend from a root.
        self._verdicts: dict[HostProcess, bool] = {}

    def select(self, processes: Iterable[HostProcess]) -> set[HostProcess]:
        """Return the processes that are roots or descend from one.

        A descendant stays one after the processes between it and the root exit.
        """
        candidates = set(processes)
        if self._is_everything:
            return candidates
        self._roots = {p if p.is_identified else HostProcess(p.pid) for p in self._roots}
        # Known processes first: unknown ones may descend from them.
        verdicts = {p: self._verdicts[p] for p in candidates if p in self._verdicts}
        for process in candidates:
            if process not in verdicts:
                verdicts[process] = self._descends(process)
        self._verdicts = verdicts
        return {process for process, verdict in verdicts.items() if verdict}

    def _descends(self, process: HostProcess) -> bool:
        try:
            for ancestor in ancestry(process, HostProcess.parent):
                if ancestor in self._roots:
                    return True
                known = self._verdicts.get(ancestor)
                if known is not None:
                    return known
        except (host.PsutilError, OSError):  # OSError: no file descriptor may be left
            return False
        return False
