"""Cost of drawing: ``python -m tests.gui.frames [PROCESSES]`` in the repository.

Prints the cost of a frame and of a key on each screen, at 180 × 60 with 8 GPUs and 50 processes, or as
many as the argument says. In CPU time, which other programs affect least.
"""

from __future__ import annotations

import sys
import time
import timeit
from typing import Callable

from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.monitor_screens import MONITOR, SCREENS
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import EnvironmentRead, KeyPressed, SampleArrived
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.types import ProcessKey, Sample
from tests.gui.driving import keys_that_open
from tests.gui.samples import ENVIRONMENT, NOW, SAMPLES, history_of, with_details, with_families

WIDTH, HEIGHT = 180, 60
FRAME_BUDGET = 16_000.0
#: Situations on the main screen and other long ways → keys and view. Other screens are added.
SITUATIONS: dict[str, tuple[str, ViewState]] = {
    'main': ('', ViewState()),
    'main, in full': ('f', ViewState()),
    'main, a process selected': ('Down', ViewState()),
    'main, graphs of ten minutes': ('f + + + + +', ViewState()),
    'main, flat': ('J', ViewState()),
    'main, filtered': ('\\ w o r k Enter', ViewState()),
    'main, in ASCII': ('', ViewState(ascii=True)),
    'main, below a dialog': ('Down T', ViewState()),
    'tree, filtered': ('t \\ w o r k', ViewState()),
    'metrics, of an hour': ('Down Enter + + + + + + +', ViewState()),
}


def situations() -> dict[str, tuple[str, ViewState]]:
    """Return all situations, with each screen in its usual one."""
    found = dict(SITUATIONS)
    for screen in SCREENS:
        keys = ' '.join(keys_that_open(screen)) + (' read' if screen is Screen.ENVIRON else '')
        found.setdefault(screen.value, (keys, ViewState()))
    return dict(sorted(found.items()))


def machine(count: int) -> Sample:
    """Return eight GPUs with this number of processes."""
    sample = SAMPLES['h100x8']
    first = sample.processes[0]
    processes = []
    for i in range(count):
        device = sample.devices[i * 8 // count].key
        key = ProcessKey(10_000 + i, first.key.start_time, device)
        command = f'python3 worker.py --rank {i} --world-size {count} --data /data/set{i}'
        user = ('alice', 'bob', 'carol')[i % 3]
        processes.append(first._replace(key=key, command=command, username=user))
    return with_details(with_families(sample._replace(processes=tuple(processes))))


def state_of(sample: Sample, keys: str, view: ViewState) -> AppState:
    """Return the state after these keys; ``read`` provides an environment."""
    state = AppState(MONITOR, WIDTH, HEIGHT, timestamp=NOW, view=view)
    state, _ = update(state, SampleArrived(sample))
    for key in keys.split():
        environ = state.environ
        read = EnvironmentRead(environ.pid, environ.start_time, ENVIRONMENT * 5)
        state, _ = update(state, read if key == 'read' else KeyPressed(key))
    return state


def microseconds(function: Callable[[], object]) -> float:
    """Return the CPU time of a call, the least of five runs."""
    timer = timeit.Timer(function, timer=time.process_time)
    number = max(1, timer.autorange()[0] // 10)
    return min(timer.repeat(5, number)) / number * 1e6


def measure_screens(count: int) -> None:
    """Print the cost of each screen."""
    sample = machine(count)
    history = history_of(sample, 600)
    print(f'{WIDTH} × {HEIGHT}, 8 GPUs, {count} processes\n')
    print(f'{"":30} {"frame":>9} {"budget":>7} {"key":>12}')
    for name, (keys, view) in situations().items():
        state = state_of(sample, keys, view)

        def frame(state: AppState = state) -> Buffer:
            buffer = draw_frame(state, history)
            for y in range(buffer.height):  # as terminals do to compare rows
                buffer.row(y)
            return buffer

        def press(state: AppState = state) -> None:
            update(state, KeyPressed('Down'))

        cost = microseconds(frame)
        print(f'{name:30} {cost:6.0f} µs {cost / FRAME_BUDGET:7.0%} {microseconds(press):9.0f} µs')


def main() -> None:
    """Print all figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    measure_screens(count)


if __name__ == '__main__':
    main()
