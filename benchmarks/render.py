"""Cost of drawing in microseconds: ``python -m benchmarks.render`` in the repository.

The budget of a frame of 180 × 60 is 2 ms: the sampler cannot run while a frame is drawn.
"""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import tempfile
import timeit
from functools import partial
from typing import Callable

from nvitop.gui.layout.main import lay_out_page
from nvitop.gui.model.choices import MainState, ViewState
from nvitop.gui.render.ansi import to_ansi, to_ascii
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.theme import theme_named
from nvitop.gui.render.width import cell_width, safe
from nvitop.gui.report import draw_report
from nvitop.gui.view.screens.main import Header, MainView, draw_main
from nvitop.gui.view.widgets.bar import draw_bar
from nvitop.gui.view.widgets.graph import draw_graph
from nvitop.sampling.history import History
from tests.gui.row_caches import clear_row_caches
from tests.gui.samples import SAMPLES, history_of

WIDTH, HEIGHT = 180, 60
STYLES = [Style(Role.LIGHT), Style(Role.TEXT), Style(Role.DIM), Style(Role.BORDER)]
DARK = theme_named('dark')
FRAME_BUDGET = 2000.0


def measure(what: str, function: Callable[[], object], budget: float | None = None) -> None:
    """Print the time of a call, the least of five runs."""
    timer = timeit.Timer(function)
    number = max(1, timer.autorange()[0] // 10)
    microseconds = min(timer.repeat(5, number)) / number * 1e6
    share = f'{microseconds / budget:6.0%} of its budget' if budget else ''
    print(f'{what:58} {microseconds:9.1f} µs {share}')


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


def main_screen(name: str, history: History, view: ViewState) -> Buffer:
    """Draw the main screen of a stored sample."""
    sample = SAMPLES[name]
    state = MainState()
    buffer = Buffer(WIDTH, HEIGHT)
    layout = lay_out_page(sample, sample.processes, state, view, WIDTH, HEIGHT)
    arranged = MainView(sample.processes, layout)
    header = Header('Tue Jan 02 03:04:05 2024', version='1.0.0')
    clear_row_caches()
    draw_main(buffer, arranged, sample, state, view, header, history=history)
    rows(buffer)
    return buffer


def import_cost(module: str) -> float:
    """Return the milliseconds of an import in a new interpreter, without common modules."""
    code = (
        'import sys, time, re, enum, typing, nvitop.version\n'
        f'start = time.perf_counter(); import {module}\n'
        'print((time.perf_counter() - start) * 1000)'
    )
    environ = {name: text for name, text in os.environ.items() if name != 'PYTHONDONTWRITEBYTECODE'}
    with tempfile.TemporaryDirectory() as cache:
        environ['PYTHONPYCACHEPREFIX'] = cache
        runs = [
            subprocess.run(
                [sys.executable, '-c', code],
                env=environ,
                capture_output=True,
                text=True,
                check=True,
            )
            for _ in range(6)
        ]
    return min(float(run.stdout) for run in runs)


def main() -> None:
    """Print all figures."""
    print(f'Python {platform.python_version()}, {WIDTH} × {HEIGHT}\n')
    for spans in (6, 12, 30):
        measure(f'buffer: {spans} spans a row, written and flattened', partial(flat_frame, spans))
    measure('buffer: 12 spans a row over a line', partial(flat_frame, 12, overlap=True))
    for name in ('h100x8', 'processes50', 'processes200', 'gpus16', 'hostile'):
        history = history_of(SAMPLES[name], 600)
        for view in (ViewState(), ViewState(colorful=True)):
            kind = 'colorful ' if view.colorful else ''
            draw = partial(main_screen, name, history, view)
            measure(f'{kind}main screen, flattened: {name}', draw, FRAME_BUDGET)
    report = partial(draw_report, SAMPLES['processes50'], WIDTH)
    measure('report: 8 GPUs and 50 processes, all of them', report, FRAME_BUDGET)
    screen = main_screen('h100x8', history_of(SAMPLES['h100x8'], 600), ViewState())
    measure('dimming the screen below a dialog', lambda: screen.restyle(screen.area, dim=True))
    for colors in (0, 8, 256):
        measure(f'main screen to text, {colors} colors', partial(to_ansi, screen, DARK, colors))
    measure('main screen to ASCII', lambda: to_ascii(screen))

    values = [50 + 50 * math.sin(i / 9) for i in range(600)]
    buffer = Buffer(WIDTH, HEIGHT)
    print()
    measure('graph 77 × 5', lambda: draw_graph(Buffer(77, 5), Rect(0, 0, 77, 5), values))
    measure('graph 250 × 90', lambda: draw_graph(Buffer(250, 90), Rect(0, 0, 250, 90), values))
    area = Rect(0, 0, 40, 1)
    measure('bar 40', lambda: draw_bar(Buffer(40, 1), area, 'MEM', 38.9, text='31.08GiB'))
    measure('bar 40, colorful', lambda: draw_bar(Buffer(40, 1), area, 'MEM', 90.0, colorful=True))
    measure('write of 12 cells', lambda: buffer.write(0, 0, 'some texts..'))

    command = 'python3 train.py --config configs/llama-70b.yaml --lr 3e-4 --batch-size 16 --resume'
    print()
    measure('safe: a command in ASCII', lambda: safe(command))
    measure('safe: a command in Chinese', lambda: safe('python3 实验/训练.py --数据集 中文维基'))
    measure('safe: a command with control characters', lambda: safe('\x1b]0;' + command + '\x07\n'))
    measure('safe: 1 MiB of ASCII', lambda: safe('x' * 2**20))
    measure('safe: 1 MiB of escapes and marks', lambda: safe('\x1b\u0301\u202e漢' * 2**18))
    measure('cell_width: a line of a box', lambda: cell_width('│' + '─' * 178 + '│'))

    print()
    for module in ('nvitop.gui.render.buffer', 'nvitop.gui.render.ansi', 'wcwidth'):
        print(f'{"import " + module:58} {import_cost(module):9.1f} ms')


if __name__ == '__main__':
    main()
