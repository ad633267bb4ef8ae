"""Latency of the monitor while the driver hangs: ``python -m benchmarks.latency`` in the repository.

On a simulated machine in a pseudo-terminal of 180 × 60, first with a driver that responds, then with
one whose calls all hang. Times are from a key, or a new size, to the first and to the last byte of
the effect, and from ``q`` to the exit of the process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time
from typing import Callable, Iterator

from benchmarks.monitor import COLUMNS, QUIET_SECONDS, ROWS, drain, quantile
from tests.e2e.hang_on_request import Orders
from tests.e2e.pseudoterminal import Pseudoterminal

#: Longer than the monitor waits before it shows that a GPU does not respond.
SILENCE_SECONDS = 4.0
NO_ANSWER_SECONDS = 5.0


@contextlib.contextmanager
def monitor(scenario: str, *, hangs: bool) -> Iterator[Pseudoterminal]:
    """Run the monitor."""
    with tempfile.TemporaryDirectory() as folder:
        orders = Orders(pathlib.Path(folder) / 'orders')
        environment = {**os.environ, 'TERM': 'xterm-256color'}
        with Pseudoterminal(
            orders.command(pathlib.Path(scenario)),
            columns=COLUMNS,
            rows=ROWS,
            environment=environment,
        ) as terminal, contextlib.closing(orders):
            orders.open()
            drain(terminal, 3.0)
            if hangs:
                orders.hang('nvml*')
                drain(terminal, SILENCE_SECONDS)
            yield terminal


def answer(terminal: Pseudoterminal, act: Callable[[], None]) -> tuple[float, float]:
    """Return the seconds to the first and to the last byte of the effect of an action."""
    started = time.perf_counter()
    act()
    data = terminal.read(NO_ANSWER_SECONDS)
    first = last = time.perf_counter()
    if not data:
        raise SystemExit('the monitor does not respond')
    while data:
        last = time.perf_counter()
        data = terminal.read(QUIET_SECONDS)
    return first - started, last - started


def measure_answers(terminal: Pseudoterminal, count: int) -> dict[str, list[tuple[float, float]]]:
    """Repeat each action ``count`` times at irregular times."""
    chance = random.Random(1)
    answers: dict[str, list[tuple[float, float]]] = {}

    def repeat(name: str, *actions: Callable[[], None]) -> None:
        answers[name] = []
        for i in range(count):
            drain(terminal, chance.uniform(0.05, 0.3))
            answers[name].append(answer(terminal, actions[i % len(actions)]))

    repeat('h, and back', lambda: terminal.type('h'), lambda: terminal.type('q'))
    repeat(
        'another size',
        lambda: terminal.resize(COLUMNS - 60, ROWS - 20),
        lambda: terminal.resize(COLUMNS, ROWS),
    )
    terminal.type('C')  # a list that does not depend on the driver
    drain(terminal, 0.5)
    repeat('arrows', lambda: terminal.type('\x1b[B'), lambda: terminal.type('\x1b[A'))
    return answers


def measure_leaving(scenario: str, *, hangs: bool) -> float:
    """Return the seconds from ``q`` to the exit of the process."""
    with monitor(scenario, hangs=hangs) as terminal:
        started = time.perf_counter()
        terminal.type('q')
        while terminal.process.poll() is None:
            terminal.read(0.001)
        return time.perf_counter() - started


def print_row(name: str, values: list[float]) -> None:
    """Print the median, p99 and maximum in milliseconds."""
    ms = [1000 * value for value in values]
    figures = (statistics.median(ms), quantile(ms, 0.99), max(ms))
    print(f'  {name:34}' + ''.join(f' {value:9.1f}' for value in figures))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--demo', default='dgx-h100', help='the simulated machine')
    parser.add_argument('--keys', type=int, default=100, help='number of presses of each key')
    parser.add_argument('--runs', type=int, default=5, help='number of times to quit')
    options = parser.parse_args()
    for hangs in (False, True):
        state = 'all driver calls hang' if hangs else 'the driver responds'
        print(f'{state + ": ms":36} {"median":>9} {"p99":>9} {"max":>9}')
        with monitor(options.demo, hangs=hangs) as terminal:
            for name, answers in measure_answers(terminal, options.keys).items():
                print_row(f'{name}, first byte', [first for first, _ in answers])
                print_row(f'{name}, whole', [last for _, last in answers])
        print_row(
            'q, to the exit of the process',
            [measure_leaving(options.demo, hangs=hangs) for _ in range(options.runs)],
        )
        sys.stdout.flush()


if __name__ == '__main__':
    main()
