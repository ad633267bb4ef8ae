# SPDX-License-Identifier: Apache-2.0
"""For how long processes have not used their GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nvitop.sampling.types import ProcessKey, ProcessSample

#: Time (seconds) without observation after which a process may have been active unnoticed.
LONGEST_GAP_SECONDS = 60.0


class _Observed(NamedTuple):
    """When a process was observed, on the monotonic clock."""

    #: When it was active last; when it was first seen if it never was.
    since: float
    #: Whether it was active at that time.
    was_active: bool


class IdleTimes:
    """Measures idle times from one reading of the processes to the next."""

    def __init__(self, longest_gap: float = LONGEST_GAP_SECONDS) -> None:
        self._longest_gap = max(LONGEST_GAP_SECONDS, longest_gap)
        self._observed: dict[ProcessKey, _Observed] = {}
        #: When processes were last observed; ``None`` before the first time.
        self.now: float | None = None

    def observe(self, processes: Sequence[ProcessSample], now: float) -> None:
        """Take notice of processes that were measured at this time, and forget all others."""
        before = self._observed
        if self.now is not None and now - self.now > self._longest_gap + 0.001:  # rounding
            before = {}
        self._observed = {}
        for process in processes:
            is_active = _is_active(process)
            if is_active:
                self._observed[process.key] = _Observed(now, True)
            elif is_active is not None:
                self._observed[process.key] = before.get(process.key) or _Observed(now, False)
        self.now = now

    def add_to(self, processes: Sequence[ProcessSample]) -> tuple[ProcessSample, ...]:
        """Return the processes with their idle times at the last observation."""
        return tuple(map(self._with_idle_time, processes))

    def _with_idle_time(self, process: ProcessSample) -> ProcessSample:
        observed = self._observed.get(process.key)
        if observed is None or self.now is None:
            return process
        seconds = self.now - observed.since
        if seconds <= 0 and not observed.was_active:  # seen for the first time
            return process
        return process._replace(gpu_idle_seconds=seconds, is_idle_longer=not observed.was_active)


def _is_active(process: ProcessSample) -> bool | None:
    """Return whether a process uses any part of its device; ``None`` if this is unknown."""
    parts = (
        process.gpu_sm_utilization_percent,
        process.gpu_memory_utilization_percent,
        process.gpu_encoder_utilization_percent,
        process.gpu_decoder_utilization_percent,
    )
    return None if parts[0] is None else any(parts)
