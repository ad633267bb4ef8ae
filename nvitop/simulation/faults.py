# SPDX-License-Identifier: Apache-2.0
"""Faults of the simulated drivers: calls that fail, are slow, or hang."""

from __future__ import annotations

import fnmatch
import threading
import weakref
from collections import Counter
from typing import Callable, Iterable

from nvitop.platforms.kernel import at_fork
from nvitop.simulation.abi import DriverError
from nvitop.simulation.scenario import Fault


class FaultRule:
    """A fault, and the number of calls that it has matched."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self._matched = 0
        self._hit = 0

    def hits(self, key: tuple[int, int] | None, t: float) -> bool:
        """Whether the fault affects this call, for this node, at this time. Counts the call."""
        fault = self.fault
        if not fault.start <= t < fault.stop or not _concerns(fault.gpu, key):
            return False
        self._matched += 1
        if self._matched <= fault.after or (self._matched - fault.after) % fault.every:
            return False
        if fault.times is not None and self._hit >= fault.times:
            return False
        self._hit += 1
        return True


def _concerns(gpu: int | tuple[int, int] | None, key: tuple[int, int] | None) -> bool:
    if gpu is None:
        return True
    if key is None:
        return False
    return key == gpu if isinstance(gpu, tuple) else key[0] == gpu


class Faults:
    """The faults of a machine, and the number of calls of each function."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._functions: tuple[str, ...] = ()
        self._lock = threading.Lock()
        _ALL.add(self)
        self._counts: Counter[str] = Counter()
        #: Function → its rules. The dict is changed in place: the drivers hold a reference to it.
        self.rules: dict[str, tuple[FaultRule, ...]] = {}
        self._released = threading.Event()

    def know(self, functions: Iterable[str]) -> None:
        """Add names of functions that faults can be about."""
        self._functions = (*self._functions, *functions)

    def add(self, fault: Fault) -> None:
        """Add a fault for all functions that it names. Raises ValueError if it names none."""
        names = fnmatch.filter(self._functions, fault.call)
        if not names:
            raise ValueError(f'the simulated driver has no function {fault.call!r}')
        rule = FaultRule(fault)
        with self._lock:
            if fault.hang and self._released.is_set():
                self._released = threading.Event()
            for name in names:
                self.rules[name] = (*self.rules.get(name, ()), rule)

    def clear(self) -> None:
        """Remove all faults; hanging calls return."""
        with self._lock:
            self.rules.clear()
            self._released.set()

    def release(self) -> None:
        """Remove the faults that hang; hanging calls return."""
        with self._lock:
            for name, rules in self.rules.items():
                self.rules[name] = tuple(rule for rule in rules if not rule.fault.hang)
            self._released.set()

    def count(self, name: str) -> None:
        """Count a call."""
        with self._lock:
            self._counts[name] += 1

    @property
    def counts(self) -> Counter[str]:
        """A copy of the counts."""
        with self._lock:
            return Counter(self._counts)

    def reset_counts(self) -> None:
        """Set all counts to 0."""
        with self._lock:
            self._counts.clear()

    def apply(self, name: str, key: tuple[int, int] | None, t: float) -> None:
        """Apply the faults of a call: hang, sleep, raise the error code."""
        for rule in self.rules.get(name, ()):
            with self._lock:
                is_hit = rule.hits(key, t)
                released = self._released
            if not is_hit:
                continue
            if rule.fault.hang:
                released.wait()
            if rule.fault.delay:
                self._sleep(rule.fault.delay)
            if rule.fault.code is not None:
                raise DriverError(rule.fault.code)


_ALL: weakref.WeakSet[Faults] = weakref.WeakSet()


def _renew_locks() -> None:
    # The thread that held the lock does not exist in the forked child.
    for faults in tuple(_ALL):
        faults._lock = threading.Lock()


at_fork(after_in_child=_renew_locks)
