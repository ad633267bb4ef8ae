from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvitop.collector.tags import NAN, Statistics


def statistics_of(samples: list[tuple[float, float]]) -> Statistics:
    """Return the statistics of (time, value) pairs."""
    found = Statistics()
    previous = NAN
    for moment, value in samples:
        found.add(value, moment, previous)
        previous = moment
    return found


@pytest.mark.parametrize(
    ('samples', 'mean'),
    [
        ([(t, 2 * t + 1) for t in (0.0, 0.1, 0.2, 3.0, 3.5, 10.0)], 11.0),  # exact for a line
        ([(0, 10.0), (1, 10.0), (2, NAN), (5, 40.0), (6, 40.0), (7, NAN)], 25.0),
        ([(0, 10.0), (1, NAN), (2, 40.0)], 25.0),  # of no time
        ([(0, 7.0)], 7.0),
    ],
)
def test_mean(samples: list[tuple[float, float]], mean: float) -> None:
    assert statistics_of(samples).mean == pytest.approx(mean)


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 1e4), st.one_of(st.just(NAN), st.floats(-1e9, 1e9))), max_size=30
    )
)
def test_mean_is_between_minimum_and_maximum(steps: list[tuple[float, float]]) -> None:
    times = itertools.accumulate(step for step, _ in steps)
    found = statistics_of([(time, value) for time, (_, value) in zip(times, steps)])
    known = [value for _, value in steps if value == value]
    if known:
        assert found.minimum == min(known) <= found.mean <= max(known) == found.maximum
        assert found.last == known[-1]
    else:
        assert math.isnan(found.mean)
