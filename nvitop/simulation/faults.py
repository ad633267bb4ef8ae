# SPDX-License-Identifier: Apache-2.0
"""Calls that fail, are slow, hang or are not there."""

from __future__ import annotations

import fnmatch
import threading
import weakref
from collections import Counter
from typing import Callable

from nvitop.platforms.kernel import at_fork
from nvitop.simulation.abi import DriverError
from nvitop.simulation.scenario import Fault


class Rule:
    """A fault, and how often it was met."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self._met = 0
        self._hit = 0

    def hits(self, key: tuple[int, int] | None, t: float) -> bool:
        """Whether this call, for this node, at this time, is one that goes wrong. Counts it."""
        fault = self.fault
        if not fault.start <= t < fault.stop or not _concerns(fault.gpu, key):
            return False
        self._met += 1
        if self._met <= fault.after or (self._met - fault.after) % fault.every:
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
    """The rules of a machine, and the count of its calls."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        #: What functions there are to name in a rule.
        self.names: tuple[str, ...] = ()
        self._sleep = sleep
        self._lock = threading.Lock()
        _ALL.add(self)
        self._counts: Counter[str] = Counter()
        #: Function → its rules; only ever changed in place.
        self.rules: dict[str, tuple[Rule, ...]] = {}
        self._released = threading.Event()

    def add(self, fault: Fault) -> None:
        """Add a rule for the functions it names; an unknown name is an error."""
        names = fnmatch.filter(self.names, fault.call)
        if not names:
            raise ValueError(f'the simulated driver knows no function {fault.call!r}')
        rule = Rule(fault)
        with self._lock:
            if fault.hang and self._released.is_set():
                self._released = threading.Event()
            for name in names:
                self.rules[name] = (*self.rules.get(name, ()), rule)

    def clear(self) -> None:
        """Forget all rules and let hanging calls go."""
        with self._lock:
            self.rules.clear()
            self._released.set()

    def release(self) -> None:
        """Let hanging calls go, and hang no more."""
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
        """Begin to count anew."""
        with self._lock:
            self._counts.clear()

    def apply(self, name: str, key: tuple[int, int] | None, t: float) -> None:
        """Do to a call what the rules say: hang, wait, raise its return code."""
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
    # The thread that held one does not exist in the child.
    for faults in tuple(_ALL):
        faults._lock = threading.Lock()


at_fork(after_in_child=_renew_locks)
