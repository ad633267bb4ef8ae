"""Values that change with time: bounds and integrals."""

from __future__ import annotations

import math

import pytest

from nvitop.simulation.scenario import SHAPES, Pulse, Signal, phase_of

SIGNALS = [
    Signal(5.0),
    *(Signal(50.0, 20.0, period=7.0, phase=0.3, shape=shape) for shape in SHAPES),
    Signal(50.0, 20.0, period=11.0, noise=9.0, noise_phase=0.7),
    Signal(50.0, 9.0, period=7.0, pulses=(Pulse(10.0, 3.0, -40.0, 2.0),)),
    Signal(0.0, steps=((0.0, 1.0), (2.0, 5.0), (9.5, 0.0))),
    Signal(0.0, steps=((3.0, 4.0), (6.0, 2.0))),
]


def area(signal: Signal, start: float, stop: float) -> float:
    """The integral by the midpoint rule."""
    count = 20_000
    width = (stop - start) / count
    return width * math.fsum(signal.value(start + (i + 0.5) * width) for i in range(count))


@pytest.mark.parametrize('signal', SIGNALS)
@pytest.mark.parametrize(('start', 'stop'), [(0.0, 13.0), (-6.0, 0.0), (2.2, 40.0)])
def test_integral_is_the_area_under_the_value(signal: Signal, start: float, stop: float) -> None:
    exact = signal.integral(stop) - signal.integral(start)
    assert exact == pytest.approx(area(signal, start, stop), rel=2e-3, abs=0.02)


@pytest.mark.parametrize('signal', SIGNALS)
def test_values_span_the_range_from_low_to_high(signal: Signal) -> None:
    values = [signal.value(0.01 * i) for i in range(10_000)]
    assert signal.low - 1e-9 <= min(values)
    assert max(values) <= signal.high + 1e-9
    assert max(values) - min(values) >= 0.8 * (signal.high - signal.low)


def test_step_lasts_until_the_next_one() -> None:
    signal = Signal(0.0, steps=((0.0, 1.0), (2.0, 5.0)))
    assert [signal.value(t) for t in (-1.0, 0.0, 1.99, 2.0, 1e6)] == [1.0, 1.0, 1.0, 5.0, 5.0]


def test_phases_depend_only_on_their_arguments() -> None:
    assert phase_of(1, 'gpu', 0) == 0.26294611394405365
    assert phase_of(1, 'gpu', 0) != phase_of(1, 'gpu', 1)
