# SPDX-License-Identifier: Apache-2.0
"""A scenario as plain values: the content of a scenario file, checked and in the driver's units.

Values that change with time are pure functions with exact integrals, so that counters match rates.
Defaults and meanings are in :mod:`nvitop.simulation.schema`.
"""

from __future__ import annotations

import math
import zlib
from typing import Mapping, NamedTuple, Union

TAU = 2.0 * math.pi
SHAPES = ('sine', 'square', 'saw')
#: Period in seconds and weight of the three sines that make up noise.
NOISE = ((3.1, 0.2), (7.3, 0.3), (17.9, 0.5))


class Pulse(NamedTuple):
    """A change of a value for a part of each period."""

    #: Seconds.
    period: float
    #: Seconds.
    duration: float
    #: Is added to the value.
    change: float
    #: Time (seconds) at which one of the pulses begins.
    start: float

    def value(self, t: float) -> float:
        return self.change if (t - self.start) % self.period < self.duration else 0.0

    def integral(self, t: float) -> float:
        """The integral from 0 to *t*; negative before 0."""
        return self.change * (self._active(t - self.start) - self._active(-self.start))

    def _active(self, seconds: float) -> float:
        periods, rest = divmod(seconds, self.period)
        return periods * self.duration + min(rest, self.duration)


class Signal(NamedTuple):
    """A number that varies around a mean, or follows steps."""

    mean: float
    amplitude: float = 0.0
    #: Seconds.
    period: float = 60.0
    #: Fraction of the period that has passed at time 0, 0 to 1.
    phase: float = 0.0
    shape: str = 'sine'
    #: Amplitude of an added smooth, irregular movement.
    noise: float = 0.0
    #: 0 to 1; distinguishes one noise from another.
    noise_phase: float = 0.0
    #: ``((seconds, value), …)`` in order of time: each value from its time on. Replaces the wave.
    steps: tuple[tuple[float, float], ...] = ()
    pulses: tuple[Pulse, ...] = ()

    def value(self, t: float) -> float:
        if self.steps:
            current = self.steps[0][1]
            for at, value in self.steps:
                if at > t:
                    break
                current = value
            return current
        result = self.mean
        if self.amplitude:
            result += self.amplitude * _wave(self.shape, t / self.period + self.phase)
        if self.noise:
            for period, weight in NOISE:
                result += self.noise * weight * math.sin(TAU * (t / period + self.noise_phase))
        for pulse in self.pulses:
            result += pulse.value(t)
        return result

    def integral(self, t: float) -> float:
        """The integral from 0 to *t*; negative before 0."""
        if self.steps:
            return self._integral_of_steps(t)
        result = self.mean * t
        if self.amplitude:
            turns = t / self.period + self.phase
            area = _wave_area(self.shape, turns) - _wave_area(self.shape, self.phase)
            result += self.amplitude * self.period * area
        if self.noise:
            for period, weight in NOISE:
                start = math.cos(TAU * self.noise_phase)
                end = math.cos(TAU * (t / period + self.noise_phase))
                result += self.noise * weight * period / TAU * (start - end)
        return result + sum(pulse.integral(t) for pulse in self.pulses)

    def _integral_of_steps(self, t: float) -> float:
        result = self.steps[0][1] * min(t, self.steps[0][0])
        for i, (at, value) in enumerate(self.steps):
            until = self.steps[i + 1][0] if i + 1 < len(self.steps) else math.inf
            if t > at:
                result += value * (min(t, until) - at)
        return result

    @property
    def low(self) -> float:
        if self.steps:
            return min(value for _, value in self.steps)
        pulses = sum(min(0.0, pulse.change) for pulse in self.pulses)
        return self.mean - abs(self.amplitude) - abs(self.noise) + pulses

    @property
    def high(self) -> float:
        if self.steps:
            return max(value for _, value in self.steps)
        pulses = sum(max(0.0, pulse.change) for pulse in self.pulses)
        return self.mean + abs(self.amplitude) + abs(self.noise) + pulses


def phase_of(*parts: object) -> float:
    """A pseudo-random number from 0 to 1 that depends only on *parts*, in every run and Python."""
    return zlib.crc32('/'.join(map(str, parts)).encode()) / 2**32


def _wave(shape: str, turns: float) -> float:
    turn = turns % 1.0
    if shape == 'sine':
        return math.sin(TAU * turn)
    if shape == 'square':
        return 1.0 if turn < 0.5 else -1.0
    return 2.0 * turn - 1.0


def _wave_area(shape: str, turns: float) -> float:
    """An antiderivative of :func:`_wave`; whole periods add nothing."""
    turn = turns % 1.0
    if shape == 'sine':
        return -math.cos(TAU * turn) / TAU
    if shape == 'square':
        return turn if turn < 0.5 else 1.0 - turn
    return turn**2 - turn


#: A value of a GPU: a number that may change, text, a flag; :data:`None` is *not available*.
Value = Union[Signal, str, bool, int, Mapping[str, int], None]


class ScenarioError(ValueError):
    """A scenario has a mistake; the message names file, line and key, and what is allowed."""


class Mig(NamedTuple):
    """A MIG device: ``[[gpu.mig]]``."""

    mig_index: int
    profile: str
    gpu_slices: int
    compute_slices: int
    gpu_instance_id: int
    compute_instance_id: int
    values: Mapping[str, Value]
    #: Number of units of each kind; :data:`None`: computed from the profile.
    engines: Mapping[str, int] | None = None
    start: float = -math.inf
    stop: float = math.inf


class Gpu(NamedTuple):
    """A GPU: ``[[gpu]]``, once for each of its ``count``."""

    position: int
    #: Values by the names in ``GPU_KEYS``; missing ones are computed.
    values: Mapping[str, Value]
    migs: tuple[Mig, ...] = ()


class ProcessSpec(NamedTuple):
    """A process: ``[[process]]``, once for each of its GPUs unless it is shared."""

    command: tuple[str, ...]
    #: Positions of the GPUs that it uses.
    gpus: tuple[int, ...]
    type: str
    #: Bytes; :data:`None`: the driver does not know it.
    memory: Signal | None
    sm: Signal
    memory_utilization: Signal
    encoder: Signal
    decoder: Signal
    state: str
    # Values in process lists; None and '' stand for the actual value of its child.
    user: str = ''
    #: Percent of one CPU.
    cpu: Signal | None = None
    #: Bytes.
    host_memory: Signal | None = None
    threads: int | None = None
    directory: str = ''
    #: Running time (seconds) when the scenario starts.
    age: float | None = None
    #: Contents of its files in ``/proc``.
    cgroup: str = '0::/'
    environ: tuple[str, ...] = ()
    mountinfo: str = ''
    login_uid: int | None = None
    container_log: str = ''
    mig: int | None = None
    start: float = -math.inf
    stop: float = math.inf
    pid: int | None = None
    sample_pid: int | None = None


class Host(NamedTuple):
    """The host as it is shown: ``[host]``."""

    cpus: int
    #: Percent of all CPUs, without the processes of the scenario.
    cpu: Signal
    memory: Signal
    memory_base: Signal
    swap: Signal
    swap_used: Signal
    #: Time (seconds) since boot when the scenario starts.
    uptime: float
    #: ``''``: that of this host.
    name: str = ''
    user: str = ''


class Event(NamedTuple):
    """A change of values of GPUs at a time: ``[[event]]``."""

    at: float
    gpus: tuple[int, ...]
    values: Mapping[str, Value]
    #: Time at which the previous values return.
    until: float = math.inf


class Fault(NamedTuple):
    """Calls that fail, are slow or hang: ``[[fault]]``."""

    call: str
    #: Position of a GPU and its MIG devices, ``(gpu, mig)``, or :data:`None` for any.
    gpu: int | tuple[int, int] | None = None
    #: Return code; :data:`None`: the call succeeds, but late.
    code: int | None = None
    delay: float = 0.0
    hang: bool = False
    after: int = 0
    every: int = 1
    times: int | None = None
    start: float = -math.inf
    stop: float = math.inf


class Scenario(NamedTuple):
    """A simulated machine."""

    name: str
    description: str
    seed: int
    #: ``''``: not available.
    driver_version: str
    #: 13000 is 13.0; 0: not available.
    cuda_version: int
    process_struct: str
    gpus: tuple[Gpu, ...]
    processes: tuple[ProcessSpec, ...]
    events: tuple[Event, ...]
    faults: tuple[Fault, ...]
    #: :data:`None`: the host that runs this program is shown.
    host: Host | None = None
    #: Names of missing functions, with ``*`` and ``?``.
    hidden: tuple[str, ...] = ()
    #: Whether functions and fields newer than the driver exist, as far as GPUs have values.
    complete: bool = False
