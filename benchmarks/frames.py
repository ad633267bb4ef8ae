"""Cost of drawing: ``python -m benchmarks.frames`` in the repository.

Prints the CPU time of a frame and of a key on each screen at 200 × 60, on a simulated machine with
16 GPUs and 200 processes, whose histories are full.
"""

from __future__ import annotations

import time
import timeit
from typing import Callable

from benchmarks.growth import Size, scenario
from nvitop import simulation
from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.monitor_screens import MONITOR, SCREENS
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.events import KeyPressed, SampleArrived
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling import Demand
from nvitop.sampling.history import History
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Sample

SIZE = Size(16, 200)
WIDTH, HEIGHT = 200, 60
HISTORY_SECONDS = 600
FRAME_BUDGET = 16_000.0
#: Situations on the main screen → keys. Other screens are added.
SITUATIONS = {
    'main': '',
    'main, in full': 'f',
    'main, without jobs': 'J',
    'main, a process selected': 'Down',
    'main, filtered': '\\ w o r k Enter',
    'main, below a dialog': 'Down T',
}


def situations() -> dict[str, str]:
    """Return all situations, with each screen in its usual one."""
    opening = {binding.opens: f'J Down {binding.keys[0]}' for binding in BINDINGS if binding.opens}
    others = {screen.value: opening[screen] for screen in SCREENS if screen in opening}
    return {**SITUATIONS, **others}


def measured() -> tuple[Sample, History]:
    """Return a sample of the simulated machine, and a history that is full of it."""
    machine = simulation.parse_scenario(scenario(SIZE), name=SIZE.name)
    with simulation.machine(machine, processes='fixed'):
        sample = LiveSource().sample(Demand(host_processes=True))
    history = History()
    for second in range(HISTORY_SECONDS):
        history.record(sample._replace(monotonic=float(second), processes_monotonic=float(second)))
    return sample, history


def microseconds(function: Callable[[], object]) -> float:
    """Return the CPU time of a call, the least of five runs."""
    timer = timeit.Timer(function, timer=time.process_time)
    number = max(1, timer.autorange()[0] // 10)
    return min(timer.repeat(5, number)) / number * 1e6


def main() -> None:
    """Print the cost of each screen."""
    sample, history = measured()
    print(f'{WIDTH} × {HEIGHT}, {SIZE.name}\n\n{"":30} {"frame":>9} {"budget":>7} {"key":>12}')
    for name, keys in situations().items():
        state = AppState(
            MONITOR, WIDTH, HEIGHT, timestamp=sample.timestamp, view=ViewState(), screen=Screen.MAIN
        )
        state, _ = update(state, SampleArrived(sample))
        for key in keys.split():
            state, _ = update(state, KeyPressed(key))
        cost = microseconds(lambda: draw_frame(state, history))  # noqa: B023
        press = microseconds(lambda: update(state, KeyPressed('Down')))  # noqa: B023
        print(f'{name:30} {cost:6.0f} µs {cost / FRAME_BUDGET:7.0%} {press:9.0f} µs')


if __name__ == '__main__':
    main()
