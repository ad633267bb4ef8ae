"""Cost of drawing: ``python -m tests.gui.frames [PROCESSES]`` in the repository.

Prints the cost of a frame and of a key on each screen, at 180 × 60 with 8 GPUs and 50 processes, or as
many as the argument says; that of writing what differs from the main screen; then that of the parts of drawing. The budget of a frame is 2 ms: the sampler
cannot run while a frame is drawn. In CPU time, which other programs affect least.
"""

from __future__ import annotations

import math
import sys
import time
import timeit
from functools import partial
from typing import Callable

from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.monitor_screens import MONITOR, SCREENS
from nvitop.gui.render.ansi import to_ansi, to_ascii
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.theme import theme_named
from nvitop.gui.render.width import cell_width, safe
from nvitop.gui.report import draw_report
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import EnvironmentRead, KeyPressed, SampleArrived
from nvitop.gui.state.update import update
from nvitop.gui.view.charts import draw_history, draw_meter
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.types import ProcessKey, Sample
from tests.gui.driving import keys_that_open
from tests.gui.samples import ENVIRONMENT, NOW, SAMPLES, history_of, with_details, with_families

WIDTH, HEIGHT = 180, 60
FRAME_BUDGET = 16_000.0
STYLES = [Style(Role.LIGHT), Style(Role.TEXT), Style(Role.DIM), Style(Role.BORDER)]
DARK = theme_named('dark')
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


def measure(what: str, function: Callable[[], object]) -> None:
    """Print the time of a call."""
    print(f'{what:58} {microseconds(function):9.1f} µs')


def flat_frame(spans: int, *, overlap: bool = False) -> None:
    """Draw ``spans`` spans in each row, with ``overlap`` over a line across the screen."""
    buffer = Buffer(WIDTH, HEIGHT)
    text = 'x' * (WIDTH // spans)
    line = '│' + ' ' * (WIDTH - 2) + '│'
    for y in range(HEIGHT):
        if overlap:
            buffer.write(0, y, line)
        for i in range(spans):
            buffer.write(i * len(text), y, text, STYLES[i & 3])
    rows(buffer)


def rows(buffer: Buffer) -> None:
    """Flatten each row, as terminals do to compare rows."""
    for y in range(buffer.height):
        buffer.row(y)


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
            rows(buffer)
            return buffer

        def press(state: AppState = state) -> None:
            update(state, KeyPressed('Down'))

        cost = microseconds(frame)
        print(f'{name:30} {cost:6.0f} µs {cost / FRAME_BUDGET:7.0%} {microseconds(press):9.0f} µs')


def busier(sample: Sample) -> Sample:
    """Return a sample in which the measured values differ."""
    devices = tuple(
        device._replace(
            gpu_utilization_percent=99 - (device.gpu_utilization_percent or 0),
            memory_used_bytes=(device.memory_used_bytes or 0) * 9 // 10,
            power_usage_mw=(device.power_usage_mw or 0) + 12_345,
            temperature_celsius=(device.temperature_celsius or 0) + 7,
        )
        for device in sample.devices
    )
    processes = tuple(
        process._replace(
            gpu_sm_utilization_percent=99 - (process.gpu_sm_utilization_percent or 0),
            cpu_percent=(process.cpu_percent or 0) + 12.3,
        )
        for process in sample.processes
    )
    return sample._replace(devices=devices, processes=processes)


def measure_parts() -> None:
    """Print the cost of the parts of drawing."""
    for spans in (6, 12, 30):
        measure(f'buffer: {spans} spans a row, written and flattened', partial(flat_frame, spans))
    measure('buffer: 12 spans a row over a line', partial(flat_frame, 12, overlap=True))
    report = partial(draw_report, SAMPLES['processes200'], WIDTH)
    measure('report: 2 GPUs and 200 processes, all of them', report)
    screen = draw_frame(
        state_of(SAMPLES['h100x8'], '', ViewState()), history_of(SAMPLES['h100x8'], 600)
    )
    measure('dimming the screen below a dialog', lambda: screen.restyle(screen.area, dim=True))
    for colors in (0, 8, 256):
        measure(f'main screen to text, {colors} colors', partial(to_ansi, screen, DARK, colors))
    measure('main screen to ASCII', lambda: to_ascii(screen))

    values = [50 + 50 * math.sin(i / 9) for i in range(600)]
    buffer = Buffer(WIDTH, HEIGHT)
    print()
    style = Style(Role.UTILIZATION)
    graph = Rect(0, 0, 120, 5)
    measure('history 120 × 5', lambda: draw_history(Buffer(120, 5), graph, values, style))
    area = Rect(0, 0, 40, 1)
    measure('bar 40', lambda: draw_meter(Buffer(40, 1), area, 38.9, style))
    measure('write of 12 cells', lambda: buffer.write(0, 0, 'some texts..'))

    command = 'python3 train.py --config configs/llama-70b.yaml --lr 3e-4 --batch-size 16 --resume'
    print()
    measure('safe: a command in ASCII', lambda: safe(command))
    measure('safe: a command in Chinese', lambda: safe('python3 实验/训练.py --数据集 中文维基'))
    measure('safe: a command with control characters', lambda: safe('\x1b]0;' + command + '\x07\n'))
    measure('safe: 1 MiB of ASCII', lambda: safe('x' * 2**20))
    measure('safe: 1 MiB of escapes and marks', lambda: safe('\x1b\u0301\u202e漢' * 2**18))
    measure('cell_width: a line of a box', lambda: cell_width('│' + '─' * 178 + '│'))


def main() -> None:
    """Print all figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    measure_screens(count)
    print()
    print()
    measure_parts()


if __name__ == '__main__':
    main()
