# SPDX-License-Identifier: Apache-2.0
"""Values that change with time: pure functions with exact integrals, so that counters match rates."""

from __future__ import annotations

import math
import zlib
from typing import NamedTuple

TAU = 2.0 * math.pi
SHAPES = ('sine', 'square', 'triangle', 'saw')
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
        """The change at time *t* (seconds)."""
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
        """The value at time *t* (seconds)."""
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
        """The lowest possible value."""
        if self.steps:
            return min(value for _, value in self.steps)
        pulses = sum(min(0.0, pulse.change) for pulse in self.pulses)
        return self.mean - abs(self.amplitude) - abs(self.noise) + pulses

    @property
    def high(self) -> float:
        """The highest possible value."""
        if self.steps:
            return max(value for _, value in self.steps)
        pulses = sum(max(0.0, pulse.change) for pulse in self.pulses)
        return self.mean + abs(self.amplitude) + abs(self.noise) + pulses


def phase_of(*what: object) -> float:
    """A pseudo-random number from 0 to 1 that depends only on *what*, in every run and Python."""
    return zlib.crc32('/'.join(map(str, what)).encode()) / 2**32


def _wave(shape: str, turns: float) -> float:
    turn = turns % 1.0
    if shape == 'sine':
        return math.sin(TAU * turn)
    if shape == 'square':
        return 1.0 if turn < 0.5 else -1.0
    if shape == 'triangle':
        return 4.0 * turn - 1.0 if turn < 0.5 else 3.0 - 4.0 * turn
    return 2.0 * turn - 1.0


def _wave_area(shape: str, turns: float) -> float:
    """An antiderivative of :func:`_wave`; whole periods add nothing."""
    turn = turns % 1.0
    if shape == 'sine':
        return -math.cos(TAU * turn) / TAU
    if shape == 'square':
        return turn if turn < 0.5 else 1.0 - turn
    if shape == 'triangle':
        return 2.0 * turn**2 - turn if turn < 0.5 else 3.0 * turn - 2.0 * turn**2 - 1.0
    return turn**2 - turn
