# SPDX-License-Identifier: Apache-2.0
"""The state of a simulated machine: GPUs, MIG devices and processes over a clock, and faults of calls."""

from __future__ import annotations

import fnmatch
import itertools
import math
import threading
import uuid
from collections import Counter
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from nvitop.api.libnvml._errors import GPU_IS_LOST, INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS
from nvitop.basics.toml import unknown
from nvitop.platforms.kernel import renew_in_child
from nvitop.simulation.abi import DriverError
from nvitop.simulation.scenario import Fault, Gpu, Mig, ProcessSpec, Scenario, Signal, Value


class FaultRule:
    """A fault, and the number of calls that it has matched."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self._matched = 0

    def hits(self, key: tuple[int, int] | None, t: float) -> bool:
        """Whether the fault affects this call, for this node, at this time. Counts the call."""
        fault = self.fault
        is_concerned = fault.gpu is None or fault.gpu == key or (key and fault.gpu == key[0])
        if not is_concerned or not fault.start <= t < fault.stop:
            return False
        self._matched += 1
        hits, rest = divmod(self._matched - fault.after, fault.every)
        return hits > 0 and rest == 0 and (fault.times is None or hits <= fault.times)


class Faults:
    """The faults of a machine, and the number of calls of each function."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._functions: tuple[str, ...] = ()
        self._lock = threading.Lock()
        renew_in_child(self, _lock=threading.Lock)
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
            raise ValueError(unknown('function', fault.call, self._functions))
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
        with self._lock:
            self._counts[name] += 1

    @property
    def counts(self) -> Counter[str]:
        with self._lock:
            return Counter(self._counts)

    def reset_counts(self) -> None:
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


#: Values change once per tick (seconds), so that values read together belong together.
TICK = 0.1
#: Time (seconds) without processes and queries after which a GPU that may sleep does so.
SLEEP_SECONDS = 5.0
MIB = 1 << 20
_MISSING = object()
_NO_MOMENT: tuple[int, dict[str, Value], int] = (-1, {}, SUCCESS)
#: Each machine has its own range of handle addresses, so that handles of other machines are invalid.
_GENERATIONS = itertools.count(1)
_GENERATION_SIZE = 1 << 24
_GPU_SIZE = 1 << 12
_MIG_SIZE = 1 << 4
_OTHER_OFFSET = 1 << 23


class Task:
    """A process of the scenario on this machine."""

    def __init__(self, spec: ProcessSpec, number: int) -> None:
        self.spec = spec
        self.number = number
        #: Time (seconds) at which its child was found dead.
        self.ended = math.inf
        #: Fraction of its SM utilization that it gets if the processes of its GPU want over 100 %.
        self.share = 1.0

    def runs(self, t: float) -> bool:
        return self.spec.start <= t < min(self.spec.stop, self.ended)

    def sm(self, t: float) -> float:
        """SM utilization in percent."""
        return self.share * self.spec.sm.value(t) if self.runs(t) else 0.0

    def sm_integral(self, start: float, stop: float) -> float:
        return self.share * self._integral(self.spec.sm, start, stop)

    def _integral(self, signal: Signal, start: float, stop: float) -> float:
        """The integral of *signal* over the part of a time in which it exists."""
        start = max(start, self.spec.start)
        stop = min(stop, self.spec.stop, self.ended)
        return signal.integral(stop) - signal.integral(start) if stop > start else 0.0

    def memory_utilization(self, t: float) -> float:
        """Memory utilization in percent: from the scenario, or derived from the SM utilization."""
        utilization = self.spec.memory_utilization
        if utilization.high > 0:
            return utilization.value(t) if self.runs(t) else 0.0
        return 0.55 * self.sm(t)

    def memory(self, t: float) -> int | None:
        """GPU memory in bytes, in whole MiB; :data:`None` if the driver does not know it."""
        return None if self.spec.memory is None else int(self.spec.memory.value(t)) & -MIB

    def cpu(self, t: float) -> float | None:
        """CPU usage in percent of one CPU; :data:`None`: that of its child."""
        cpu = self.spec.cpu
        return None if cpu is None else max(0.0, float(cpu.value(t)))

    def cpu_seconds(self, start: float, stop: float) -> float:
        cpu = self.spec.cpu
        return 0.0 if cpu is None else self._integral(cpu, start, stop) / 100.0

    def host_memory(self, t: float) -> int | None:
        """Resident memory of the host in bytes; :data:`None`: that of its child."""
        memory = self.spec.host_memory
        return None if memory is None else max(0, int(memory.value(t)))


class Pids:
    """Source of the PIDs of processes.

    These are given by the caller, for the first processes of the scenario; the others do not exist.
    """

    def __init__(self, pids: Sequence[int] = ()) -> None:
        self._pids = tuple(pids)

    def pid(self, task: Task) -> int | None:
        return self._pids[task.number] if task.number < len(self._pids) else None

    def number(self, pid: int) -> int | None:
        """The number of the process that has this PID instead of a process of the system."""
        return None  # given PIDs have files of their own in /proc


class Change(NamedTuple):
    """A new value of a key from a time on; ``_MISSING`` returns to the computed value."""

    at: float
    value: object


class Node:
    """A GPU or a MIG device, which is what a handle refers to."""

    def __init__(
        self,
        world: World,
        gpu: Gpu,
        rules: Mapping[str, Rule],
        *,
        mig: Mig | None = None,
        parent: Node | None = None,
    ) -> None:
        self.world = world
        self.spec = gpu
        self.mig = mig
        #: The GPU itself, or the parent of a MIG device.
        self.gpu: Node = parent or self
        self.address = world.base + gpu.position * _GPU_SIZE
        if mig is not None:
            self.address += (mig.mig_index + 1) * _MIG_SIZE
        #: Position of the GPU; index of the MIG device, or -1.
        self.key: tuple[int, int] = (gpu.position, -1 if mig is None else mig.mig_index)
        self.values = gpu.values if mig is None else mig.values
        self.changes: dict[str, list[Change]] = {}
        self.tasks: list[Task] = []
        self.migs: list[Node] = []
        #: Time of the last call of the driver for this GPU or a MIG device of it.
        self.queried_at = -math.inf
        self._rules = rules
        self._moment = _NO_MOMENT

    def moment(self) -> tuple[int, dict[str, Value], int]:
        """The current tick: its number, the values read in it, and the return code of all calls."""
        world = self.world
        # seconds(), inlined: every call of the driver passes here
        tick = math.floor((world.clock() + world.offset) / TICK)
        moment = self._moment
        if moment[0] != tick:
            moment = self._moment = (tick, {}, self._code_at(tick * TICK))
        return moment

    def forget(self) -> None:
        """Discard the values of the current tick, because the scenario changed within it."""
        self._moment = _NO_MOMENT
        for mig in self.migs:
            mig.forget()

    def value(self, name: str) -> Any:
        """The current value of a key; :data:`None` if it is not available."""
        tick, values, _ = self.moment()
        result: object = values.get(name, _MISSING)
        if result is _MISSING:
            result = values[name] = self.value_at(name, tick * TICK)
        return result

    def read(self, name: str) -> Any:
        """The current value of a key; raises *not supported* if it is not available."""
        result = self.value(name)
        if result is None:
            raise DriverError(NOT_SUPPORTED)
        return result

    def scenario_value(self, name: str, t: float) -> object:
        """The value that the scenario gives a key at a time; ``_MISSING`` if it gives none."""
        result: object = self.values.get(name, _MISSING)
        for change in self.changes.get(name, ()):
            if change.at > t:
                break
            result = change.value
        return result

    def value_at(self, name: str, t: float) -> Any:
        """The value of a key at a time: from the scenario, or computed from other keys."""
        value = self.scenario_value(name, t)
        if value is _MISSING:
            rule = self._rules.get(name)
            return None if rule is None else rule(self, t)
        return max(0, round(value.value(t))) if isinstance(value, Signal) else value

    def total_of_rate(
        self, name: str, t: float, *, sm_factor: float, idle: float = 0.0
    ) -> float | None:
        """The integral from 0 to *t* of a rate.

        The rate is the key's value, or *idle* + *sm_factor* × SM utilization.
        """
        total = 0.0
        starts = [0.0, *(change.at for change in self.changes.get(name, ()) if 0.0 < change.at < t)]
        for start, stop in zip(starts, [*starts[1:], t]):
            value = self.scenario_value(name, start)
            if value is _MISSING:
                total += idle * (stop - start) + sm_factor * self.sm_integral(start, stop)
            elif isinstance(value, Signal):
                total += value.integral(stop) - value.integral(start)
            else:
                return None
        return total

    def change(
        self, name: str, value: Value, at: float | None = None, *, until: float = math.inf
    ) -> None:
        """Change a key from a time on (now by default), until it returns to its previous value."""
        t = self.world.seconds() if at is None else at
        if at is None:  # the change takes effect in the current tick
            t = math.floor(t / TICK) * TICK
        changes = [*self.changes.get(name, ()), Change(t, value)]
        if until < math.inf:
            changes.append(Change(until, self.scenario_value(name, t)))
        with self.world.changed:
            self.changes[name] = sorted(changes, key=lambda change: change.at)
            self.forget()
            self.world.changed.notify_all()

    # Utilization

    def sm(self, t: float) -> float:
        """SM utilization of all processes, in percent."""
        return sum(task.sm(t) for task in self.tasks)

    def sm_integral(self, start: float, stop: float) -> float:
        return sum(task.sm_integral(start, stop) for task in self.tasks)

    # Memory

    def in_memory(self) -> list[Task]:
        """The processes in its memory. Compute instances of one GPU instance share their memory."""
        if self.mig is None:
            return self.tasks
        instance = self.mig.gpu_instance_id
        migs = [node for node in self.gpu.migs if node.mig and node.mig.gpu_instance_id == instance]
        return [task for node in migs for task in node.tasks]

    # Existence

    def check(self) -> None:
        """Raise the error of every call for this node while it is lost or absent."""
        tick, _, code = self.moment()
        self.gpu.queried_at = tick * TICK
        if code != SUCCESS:
            raise DriverError(code)

    def _code_at(self, t: float) -> int:
        if self.gpu.value_at('lost', t) or not self.gpu.exists(t):
            return GPU_IS_LOST
        return SUCCESS if self.exists(t) else INVALID_ARGUMENT

    def exists(self, t: float) -> bool:
        """Whether the GPU is present, or the MIG device is created, at a time."""
        if self.mig is None:
            return bool(self.value_at('present', t))
        return bool(self.gpu.value_at('mig_mode', t)) and self.mig.start <= t < self.mig.stop

    def is_asleep(self) -> bool:
        t = self.world.seconds()
        return (
            bool(self.value('may_sleep'))
            and t - self.queried_at > SLEEP_SECONDS
            and not any(task.runs(t) for task in self.tasks)
        )

    def index(self) -> int:
        """NVML index: the position among the present GPUs, or the index of the MIG device."""
        if self.mig is not None:
            return self.mig.mig_index
        return self.world.present().index(self)

    def legacy_uuid(self) -> str | None:
        """``MIG-GPU-…/gi/ci``, the other name of a MIG device; :data:`None` for a GPU."""
        if self.mig is None:
            return None
        uuid = self.gpu.value('uuid')
        return f'MIG-{uuid}/{self.mig.gpu_instance_id}/{self.mig.compute_instance_id}'


Rule = Callable[[Node, float], Value]


class World:
    """State of a simulated machine, over a clock that starts at 0.

    The simulated drivers read and change this object only.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
        sleep: Callable[[float], None],
        gpu_rules: Mapping[str, Rule],
        mig_rules: Mapping[str, Rule],
    ) -> None:
        self.scenario = scenario
        self.base = next(_GENERATIONS) * _GENERATION_SIZE
        self.faults = Faults(sleep)
        #: Number of nvmlInit calls without a matching nvmlShutdown.
        self.init_count = 0
        #: GPM samples by handle: node and time (seconds), once they are taken.
        self.gpm_samples: dict[int, tuple[Node, float] | None] = {}
        #: Sets of events by handle.
        self.event_sets: dict[int, object] = {}
        #: Notified of each change, for those who wait for events.
        self.changed = threading.Condition()
        renew_in_child(self, changed=threading.Condition)
        self.is_closed = False
        #: Handles of GPM samples and sets of events.
        self.new_handles = itertools.count(self.base + _OTHER_OFFSET)
        #: (GPU, number of processes that the size of a list does not count yet).
        self.growth: list[tuple[int | None, int]] = []
        self.pids = Pids()
        self.clock = clock
        #: Difference (seconds) between the machine's time and the clock.
        self.offset = -clock()
        self._wall_clock = wall_clock
        self._advanced = 0.0
        #: Seconds since the epoch at time 0. It does not change when the wall clock is set.
        self.began = wall_clock()
        self.gpus = [Node(self, gpu, gpu_rules) for gpu in scenario.gpus]
        for node in self.gpus:
            node.migs = [
                Node(self, node.spec, mig_rules, mig=mig, parent=node) for mig in node.spec.migs
            ]
        nodes = [*self.gpus, *(mig for node in self.gpus for mig in node.migs)]
        self.by_address = {node.address: node for node in nodes}
        self.tasks = [Task(spec, number) for number, spec in enumerate(scenario.processes)]
        for task in self.tasks:
            self._place(task)
        for node in self.gpus:
            demand = sum(task.spec.sm.high for task in node.tasks)
            for task in node.tasks:
                task.share = min(task.share, 100.0 / demand if demand > 100.0 else 1.0)
        for event in scenario.events:
            for position in event.gpus:
                for name, value in event.values.items():
                    self.gpus[position].change(name, value, event.at, until=event.until)

    def _place(self, task: Task) -> None:
        for position in task.spec.gpus:
            node = self.gpus[position]
            node.tasks.append(task)
            for mig in node.migs:
                if mig.mig is not None and mig.mig.mig_index == task.spec.mig:
                    mig.tasks.append(task)

    def seconds(self) -> float:
        """Seconds since the machine was created, by its own clock."""
        return self.clock() + self.offset

    def epoch(self) -> float:
        """Seconds since the epoch; :meth:`advance` moves it too."""
        return self._wall_clock() + self._advanced

    def advance(self, seconds: float) -> None:
        with self.changed:
            self._advanced += seconds
            self.offset += seconds
            self.changed.notify_all()

    def pid_of(self, task: Task) -> int | None:
        return task.spec.pid if task.spec.pid is not None else self.pids.pid(task)

    def task_of(self, pid: int) -> Task | None:
        number = self.pids.number(pid)
        if number is None or not 0 <= number < len(self.tasks):
            return None
        return self.tasks[number]

    def start_time(self, task: Task, actual: float) -> float:
        """Start time (seconds since the epoch) of a process whose child started at *actual*."""
        return actual if task.spec.age is None else self.began - task.spec.age

    def visible_devices(self, task: Task) -> str:
        """Value of ``CUDA_VISIBLE_DEVICES`` for a process: its own devices."""
        if task.spec.mig is None:
            return ','.join(map(str, task.spec.gpus))
        migs = (mig for gpu in self.gpus for mig in gpu.migs if task in mig.tasks)
        return ','.join(str(mig.value_at('uuid', 0.0)) for mig in migs)

    def close(self) -> None:
        """Wake up who waits for events."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    def present(self) -> list[Node]:
        """The GPUs that the driver currently lists, in order."""
        return [node for node in self.gpus if node.value('present')]

    def uuid(self, *parts: object) -> str:
        """A UUID that depends only on the scenario's name and seed, and on *parts*."""
        name = '/'.join(map(str, (self.scenario.name, self.scenario.seed, *parts)))
        return str(uuid.uuid5(uuid.NAMESPACE_OID, name))
