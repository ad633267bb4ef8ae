"""pynvml.smi: a repeated query."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.compat.pynvml_smi import LoopAsync, nvidia_smi
from tests.compat.machines import machine
from tests.waiting import PATIENCE


@pytest.fixture
def gpus() -> Iterator[simulation.Machine]:
    with machine() as running:
        yield running


def test_loop_repeats_until_it_is_canceled(gpus: simulation.Machine) -> None:
    seen: list[tuple[LoopAsync, Any]] = []
    enough = threading.Event()

    def callback(loop: LoopAsync, results: Any) -> None:
        seen.append((loop, results))
        if len(seen) == 3:
            loop.cancel()
            enough.set()
        raise ArithmeticError(len(seen))  # does not end the loop

    loop = nvidia_smi.loop(1, 'serial', callback)
    assert enough.wait(PATIENCE)
    loop._thread.join(PATIENCE)
    assert not loop._thread.is_alive()
    assert loop.is_aborted()
    expected = nvidia_smi.DeviceQuery('serial')
    assert seen == [(loop, expected)] * 3
    assert loop.result() == expected
    assert str(loop.exception()) == '3'


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'time_in_milliseconds': -1}, 'at least 0 ms'),
        ({'time_in_milliseconds': float('nan')}, 'at least 0 ms'),
        ({'filter': 'nothing', 'strict': True}, 'nothing'),
        ({'errors': 'none'}, "errors='value' or 'raise'"),
    ],
)
def test_invalid_arguments_raise_without_starting_a_thread(
    arguments: dict[str, Any], message: str
) -> None:
    threads = set(threading.enumerate())  # a thread of another test may end meanwhile
    with pytest.raises(ValueError, match=message):
        nvidia_smi.loop(**arguments)
    assert set(threading.enumerate()) <= threads


def test_period_includes_the_time_of_the_query() -> None:
    now = [100.0]
    waits: list[float] = []
    durations = iter([0.25, 0.0, 2.5, 0.125, 0.0])

    def query() -> None:
        now[0] += next(durations)

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        now[0] += seconds
        return len(waits) == 5

    loop = LoopAsync(1.0, query, clock=lambda: now[0], wait=wait)
    loop._thread.join(PATIENCE)
    # The third query took longer than two periods; the missed queries are skipped.
    assert waits == [0.75, 1.0, 0.5, 0.875, 1.0]
    assert now[0] == 107.0
