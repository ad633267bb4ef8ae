"""What a frame of each screen costs, made anew and with rows that are remembered, and a key: ``python -m benchmarks.frames`` in the repository.

180 × 60, 8 GPUs and 50 processes, or as many as the argument says. In CPU time, which a busy
machine disturbs least.
"""

from __future__ import annotations

import sys
import time
import timeit

from nvitop.gui.model.choices import ViewState
from nvitop.gui.model.screens import Screen
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import EnvironmentRead, Event, KeyPressed, SampleArrived
from nvitop.gui.state.update import update, update_all
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.types import ProcessKey, Sample
from tests.gui.remembered import forget_rows
from tests.gui.samples import ENVIRONMENT, NOW, SAMPLES, history_of, with_details, with_families
from tests.gui.ways import way_to

WIDTH, HEIGHT = 180, 60
FRAME_BUDGET = 2000.0
#: What is measured → the keys that lead there, and how things are drawn.
SCREENS: dict[str, tuple[str, ViewState]] = {
    'main': ('', ViewState()),
    'main, in full': ('f', ViewState()),
    'main, a process selected': ('Down', ViewState()),
    'main, graphs of ten minutes': ('f + + + + +', ViewState()),
    'main, with details': ('d', ViewState()),
    'main, filtered': ('\\ w o r k Enter', ViewState()),
    'main, colorful': ('f', ViewState(colorful=True)),
    'main, in ASCII': ('', ViewState(ascii=True)),
    'main, under a dialog': ('Down T', ViewState()),
    **{
        screen.value: (' '.join(way_to(screen)), ViewState())
        for screen in Screen
        if screen not in (Screen.MAIN, Screen.ENVIRON)
    },
    'tree, filtered': ('t \\ w o r k', ViewState()),
    'environment': ('e read', ViewState()),
    'metrics of an hour': ('Down Enter + + + + + + +', ViewState()),
}


def machine(count: int) -> Sample:
    """Eight GPUs with so many processes."""
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
    """The monitor after these keys."""
    state = AppState(WIDTH, HEIGHT, timestamp=NOW, view=view)
    read = EnvironmentRead(0, -1.0, ENVIRONMENT * 5)
    events: list[Event] = [read if key == 'read' else KeyPressed(key) for key in keys.split()]
    return update_all(state, (SampleArrived(sample), *events))[0]


def microseconds(statement: object) -> float:
    """The best of many runs."""
    assert callable(statement)
    timer = timeit.Timer(statement, timer=time.process_time)
    return min(timer.repeat(40, 3)) / 3 * 1e6


def main() -> None:
    """Print what each screen costs."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    sample = machine(count)
    history = history_of(sample, 600)
    print(f'{WIDTH} × {HEIGHT}, 8 GPUs, {count} processes\n')
    print(f'{"":30} {"frame":>9} {"budget":>7} {"remembered":>12} {"key":>12}')
    for name, (keys, view) in SCREENS.items():
        state = state_of(sample, keys, view)

        def frame(state: AppState = state) -> Buffer:
            buffer = draw_frame(state, history)
            for y in range(buffer.height):
                buffer.row(y)
            return buffer

        def anew() -> None:
            forget_rows()
            frame()

        def press(state: AppState = state) -> None:
            update(state, KeyPressed('Down'))

        cost = microseconds(anew)
        print(
            f'{name:30} {cost:6.0f} µs {cost / FRAME_BUDGET:7.0%} {microseconds(frame):9.0f} µs '
            f'{microseconds(press):9.0f} µs'
        )


if __name__ == '__main__':
    main()
