# SPDX-License-Identifier: Apache-2.0
"""The simulated machine at a moment: nodes (GPUs, MIG devices) and tasks (processes) over a clock."""

from __future__ import annotations

import itertools
import math
import uuid
from typing import Any, Callable, Mapping, Protocol

from nvitop.namedtuple import NamedTuple
from nvitop.simulation.abi import GPU_IS_LOST, INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, DriverError
from nvitop.simulation.scenario import Gpu, Mig, ProcessSpec, Scenario, Value
from nvitop.simulation.waveforms import Signal

#: Values hold still for so long (seconds), so that what is read together belongs together.
TICK = 0.1
MIB = 1 << 20
_MISSING = object()
_NOTHING_HELD: tuple[int, dict[str, Value], int] = (-1, {}, SUCCESS)
#: Each machine has its own range of handle addresses: a handle of another one is invalid.
_GENERATIONS = itertools.count(1)
_GENERATION_SIZE = 1 << 24
_GPU_SIZE = 1 << 12
_MIG_SIZE = 1 << 4
_GPM_OFFSET = 1 << 23


class Task:
    """A process of the scenario on this machine."""

    def __init__(self, spec: ProcessSpec, number: int) -> None:
        self.spec = spec
        self.number = number
        #: When it was seen to have ended by itself (killed), in seconds.
        self.ended = math.inf
        #: Part of its wish for SM time that it gets on a GPU with more wishes than time.
        self.share = 1.0

    def runs(self, t: float) -> bool:
        """Whether it exists at time *t*."""
        return self.spec.start <= t < min(self.spec.stop, self.ended)

    def sm(self, t: float) -> float:
        """SM utilization in percent."""
        return self.share * self.spec.sm.value(t) if self.runs(t) else 0.0

    def sm_integral(self, start: float, stop: float) -> float:
        """SM utilization × seconds from *start* to *stop*."""
        start = max(start, self.spec.start)
        stop = min(stop, self.spec.stop, self.ended)
        if stop <= start:
            return 0.0
        return self.share * (self.spec.sm.integral(stop) - self.spec.sm.integral(start))

    def memory_utilization(self, t: float) -> float:
        """Memory utilization in percent: given, or from the SM utilization."""
        given = self.spec.memory_utilization
        if given.high > 0:
            return given.value(t) if self.runs(t) else 0.0
        return 0.55 * self.sm(t)

    def memory(self, t: float) -> int | None:
        """GPU memory in bytes, whole MiB; :data:`None` where the driver does not know."""
        return None if self.spec.memory is None else int(self.spec.memory.value(t)) & -MIB


class Pids(Protocol):
    """Who gives processes their PIDs."""

    def pid(self, task: Task) -> int | None:
        """The PID of a process, :data:`None` where it has none (any more)."""
        ...


class NoPids:
    """No process exists."""

    def pid(self, task: Task) -> int | None:
        """:data:`None`."""
        return None


class Change(NamedTuple):
    """From a time on a key has another value, or ``_MISSING``: the one that is computed."""

    at: float
    value: object


class Node:
    """A GPU or a MIG device: what a handle stands for."""

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
        #: The GPU itself, or the one a MIG device is on.
        self.gpu: Node = parent or self
        self.address = world.base + gpu.position * _GPU_SIZE
        if mig is not None:
            self.address += (mig.mig_index + 1) * _MIG_SIZE
        #: Position of the GPU, and index of the MIG device or -1.
        self.key = (gpu.position, -1 if mig is None else mig.mig_index)
        self.values = gpu.values if mig is None else mig.values
        self.changes: dict[str, list[Change]] = {}
        self.tasks: list[Task] = []
        self.migs: list[Node] = []
        self._rules = rules
        self._held = _NOTHING_HELD

    def hold(self) -> tuple[int, dict[str, Value], int]:
        """This moment: its number, its values so far, what each call ends with (0: it goes on)."""
        world = self.world
        tick = math.floor((world.clock() + world.offset) / TICK)  # seconds(), in the hottest place
        held = self._held
        if held[0] != tick:
            held = self._held = (tick, {}, self._code_at(tick * TICK))
        return held

    def forget(self) -> None:
        """The scenario was changed within this moment."""
        self._held = _NOTHING_HELD
        for mig in self.migs:
            mig.forget()

    def value(self, name: str) -> Any:
        """The value of a key now, :data:`None` where it is not available."""
        tick, values, _ = self.hold()
        result: object = values.get(name, _MISSING)
        if result is _MISSING:
            result = values[name] = self.value_at(name, tick * TICK)
        return result

    def read(self, name: str) -> Any:
        """The value of a key now; raises *not supported* where it is not available."""
        result = self.value(name)
        if result is None:
            raise DriverError(NOT_SUPPORTED)
        return result

    def given(self, name: str, t: float) -> object:
        """What the scenario says about a key at a time, ``_MISSING`` where it says nothing."""
        result: object = self.values.get(name, _MISSING)
        for change in self.changes.get(name, ()):
            if change.at > t:
                break
            result = change.value
        return result

    def value_at(self, name: str, t: float) -> Any:
        """The value of a key at a time: given, else computed from others."""
        given = self.given(name, t)
        if given is _MISSING:
            rule = self._rules.get(name)
            return None if rule is None else rule(self, t)
        return max(0, round(given.value(t))) if isinstance(given, Signal) else given

    def total_of_rate(
        self, name: str, t: float, *, sm_factor: float, idle: float = 0.0
    ) -> float | None:
        """The integral from 0 to *t* of a rate: given, or *idle* + *sm_factor* × SM load."""
        total = 0.0
        starts = [0.0, *(change.at for change in self.changes.get(name, ()) if 0.0 < change.at < t)]
        for start, stop in zip(starts, [*starts[1:], t]):
            given = self.given(name, start)
            if given is _MISSING:
                total += idle * (stop - start) + sm_factor * self.sm_integral(start, stop)
            elif isinstance(given, Signal):
                total += given.integral(stop) - given.integral(start)
            else:
                return None
        return total

    def change(
        self, name: str, value: Value, at: float | None = None, *, until: float = math.inf
    ) -> None:
        """From a time on, or now, a key has another value; later again what it had before."""
        t = self.world.seconds() if at is None else at
        if at is None:  # values hold still within a tick: let this tick have it
            t = math.floor(t / TICK) * TICK
        changes = [*self.changes.get(name, ()), Change(t, value)]
        if until < math.inf:
            changes.append(Change(until, self.given(name, t)))
        self.changes[name] = sorted(changes, key=lambda change: change.at)
        self.forget()

    # Load

    def sm(self, t: float) -> float:
        """SM utilization by all processes, in percent."""
        return sum(task.sm(t) for task in self.tasks)

    def sm_integral(self, start: float, stop: float) -> float:
        """SM utilization × seconds by all processes."""
        return sum(task.sm_integral(start, stop) for task in self.tasks)

    # Memory

    def in_memory(self) -> list[Task]:
        """The processes in its memory, which compute instances of one GPU instance share."""
        if self.mig is None:
            return self.tasks
        instance = self.mig.gpu_instance
        migs = [node for node in self.gpu.migs if node.mig and node.mig.gpu_instance == instance]
        return [task for node in migs for task in node.tasks]

    # Existence

    def check(self) -> None:
        """Raise what each call for this node ends with while it is lost or gone."""
        code = self.hold()[2]
        if code != SUCCESS:
            raise DriverError(code)

    def _code_at(self, t: float) -> int:
        if self.gpu.value_at('lost', t) or not self.gpu.exists(t):
            return GPU_IS_LOST
        return SUCCESS if self.exists(t) else INVALID_ARGUMENT

    def exists(self, t: float) -> bool:
        """Whether a GPU is there, or a MIG device is made, at a time."""
        if self.mig is None:
            return bool(self.value_at('present', t))
        return bool(self.gpu.value_at('mig_mode', t)) and self.mig.start <= t < self.mig.stop

    def index(self) -> int:
        """NVML index: its place among the GPUs that are there, or a MIG device's index."""
        if self.mig is not None:
            return self.mig.mig_index
        return self.world.present().index(self)


Rule = Callable[[Node, float], Value]


class World:
    """All nodes and tasks of a scenario, over a clock that starts at 0."""

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
        self.sleep = sleep
        #: Samples of performance monitoring by handle: node and seconds, once taken.
        self.gpm_samples: dict[int, tuple[Node, float] | None] = {}
        self._gpm_handles = itertools.count(self.base + _GPM_OFFSET)
        #: (GPU, processes to leave out when only the size of a list is asked for).
        self.growth: list[tuple[int | None, int]] = []
        self.pids: Pids = NoPids()
        self.clock = clock
        #: What makes the clock's time the machine's.
        self.offset = -clock()
        self._wall_clock = wall_clock
        self._advanced = 0.0
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
            wishes = sum(task.spec.sm.high for task in node.tasks)
            for task in node.tasks:
                task.share = min(task.share, 100.0 / wishes if wishes > 100.0 else 1.0)
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
        """Seconds since the machine was made, as its clock has it."""
        return self.clock() + self.offset

    def epoch(self) -> float:
        """Seconds since the epoch, moved along by :meth:`advance`."""
        return self._wall_clock() + self._advanced

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self._advanced += seconds
        self.offset += seconds

    def pid_of(self, task: Task) -> int | None:
        """The PID of a process, :data:`None` where it has none (any more)."""
        return task.spec.pid if task.spec.pid is not None else self.pids.pid(task)

    def visible_devices(self, task: Task) -> str:
        """What hides all devices but its own from a process: ``CUDA_VISIBLE_DEVICES``."""
        if task.spec.mig is None:
            return ','.join(map(str, task.spec.gpus))
        parts = (mig for gpu in self.gpus for mig in gpu.migs if task in mig.tasks)
        return ','.join(str(mig.value_at('uuid', 0.0)) for mig in parts)

    def undercount(self, key: tuple[int, int]) -> int:
        """How many processes start between asking for the size of a list and for the list."""
        return sum(count for gpu, count in self.growth if gpu is None or gpu == key[0])

    def new_gpm_sample(self) -> int:
        """A handle for a sample that has not been taken."""
        handle = next(self._gpm_handles)
        self.gpm_samples[handle] = None
        return handle

    def present(self) -> list[Node]:
        """The GPUs the driver lists now, in order."""
        return [node for node in self.gpus if node.value('present')]

    def uuid(self, *what: object) -> str:
        """A UUID that depends on the scenario's seed and *what* alone."""
        name = '/'.join(map(str, (self.scenario.name, self.scenario.seed, *what)))
        return str(uuid.uuid5(uuid.NAMESPACE_OID, name))
