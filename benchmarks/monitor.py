"""Cost and latency of the monitor: ``python -m benchmarks.monitor`` in the repository.

Runs ``python -m nvitop``, and at the same time another monitor (``--peer PROGRAM``), in
pseudo-terminals of 180 × 60, on the installed driver. ``--demo`` simulates one, for nvitop only.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from concurrent import futures
from functools import partial
from typing import Callable, Mapping, NamedTuple, Sequence

import psutil

from benchmarks.pseudoterminal import Pseudoterminal

DOWN, UP = '\x1b[B', '\x1b[A'
#: Pressed first: processes one by one, one of them selected, for keys that act on it; and tagged, in
#: case it is another user's.
FIRST_KEYS = ('J', DOWN, DOWN, ' ')
#: Kinds of keys: what has an effect and what undoes it, pressed in turn. None is Esc,
#: which is recognized after a pause only.
KEYS = {
    'arrow': (DOWN, UP),
    'help': ('h', 'h'),
    'tree': ('t', 't'),
    'signal dialog': ('T', 'n'),
    'graphs of a process': ('\r', '\r'),
    'environment': ('e', 'e'),
    'users': ('U', 'q'),
    'problems': ('!', '!'),
    'columns': ('C', 'C'),
    'sort order': ('.', ','),
    'compact panels': ('c', 'a'),
    'full panels': ('f', 'a'),
    'metric of a graph': ('g', 'g'),
    'pause': ('z', 'z'),
    'filter': ('\\', 'p', '\x7f', '\r'),
    'theme': ('L', 'L'),
}
#: Time (seconds) without output after which a frame is complete.
QUIET_SECONDS = 0.03
#: Maximum time (seconds) to wait for the effect of a key.
NO_ANSWER_SECONDS = 2.0
#: Maximum time (seconds) to the first output after a key whose effect is certain. The clock on the
#: screen changes each second, and would be taken for an effect.
NO_EFFECT_SECONDS = 0.7
#: Maximum time (seconds) to wait until all programs have started.
NO_BEGIN_SECONDS = 60.0
COLUMNS, ROWS = 180, 60
#: Repetition rate of a key that is held down.
KEYS_PER_SECOND = 30


class Rest(NamedTuple):
    """The cost of a monitor at rest."""

    cpu_percent: float
    wakeups_per_s: float
    rss_mib: float
    bytes_per_s: float
    threads: float
    calls_per_s: float


def drain(terminal: Pseudoterminal, seconds: float) -> int:
    """Read output for some seconds; return the number of bytes."""
    until = time.perf_counter() + seconds
    written = 0
    while (remaining := until - time.perf_counter()) > 0:
        written += len(terminal.read(remaining))
    return written


def start(command: Sequence[str], calls: str) -> Pseudoterminal:
    """Start a monitor and wait until it has drawn; ``calls`` is a file for counts of the driver."""
    environment = {
        **os.environ,
        'TERM': 'xterm-256color',
        'FAKENVML_STATS': calls,
    }
    terminal = Pseudoterminal(command, columns=COLUMNS, rows=ROWS, environment=environment)
    # Programs may query the terminal, for example for colors, and wait for a reply.
    drain(terminal, 5.0)
    if terminal.process.poll() is not None:
        raise SystemExit(f'{command[0]} has exited: {terminal.errors()}')
    return terminal


def counted_calls(path: str) -> int:
    """Return the number of calls counted by the driver; 0 if it does not count."""
    try:
        with open(path, encoding='ascii') as file:
            return sum(int(line.split()[1]) for line in file)
    except OSError:
        return 0


def switches(pid: int) -> int:
    """Return how often the main thread has begun to wait."""
    with open(f'/proc/{pid}/task/{pid}/status', encoding='ascii') as status:
        found = re.search(r'^voluntary_ctxt_switches:\s+(\d+)', status.read(), re.MULTILINE)
    return int(found.group(1)) if found else 0


def working_process(terminal: Pseudoterminal) -> psutil.Process:
    """Return the process that does the work: the child if the program only waits for it."""
    process = psutil.Process(terminal.process.pid)
    # Other children are the processes of a simulated machine.
    return max([process, *process.children()], key=lambda each: each.cpu_times().user)


def measure_rest(terminal: Pseudoterminal, seconds: float, calls: str) -> Rest:
    """Measure a monitor at rest."""
    process = working_process(terminal)
    pid = process.pid
    before, waits, counted = process.cpu_times(), switches(pid), counted_calls(calls)
    started = time.perf_counter()
    written = drain(terminal, seconds)
    elapsed = time.perf_counter() - started
    after = process.cpu_times()
    cpu = after.user + after.system - before.user - before.system
    return Rest(
        100 * cpu / elapsed,
        (switches(pid) - waits) / elapsed,
        process.memory_info().rss / 2**20,
        written / elapsed,
        process.num_threads(),
        (counted_calls(calls) - counted) / elapsed,
    )


def answer(
    terminal: Pseudoterminal, act: Callable[[], object], limit: float = NO_ANSWER_SECONDS
) -> tuple[float, float]:
    """Return the seconds from a key or a resize to the first and to the last byte of its effect."""
    started = time.perf_counter()
    act()
    data = terminal.read(limit)
    first = last = time.perf_counter()
    while data:
        last = time.perf_counter()
        data = terminal.read(QUIET_SECONDS)
    return first - started, last - started


def measure_answers(
    terminal: Pseudoterminal, keys: int, pause: tuple[float, float]
) -> list[tuple[float, float]]:
    """Press arrow keys at irregular times; each of them moves the selection."""
    chance = random.Random(1)
    drain(terminal, 1.0)
    answers = []
    for i in range(keys):
        # More often down than up, to stay away from the ends of the list.
        answers.append(answer(terminal, partial(terminal.type, DOWN if i % 3 < 2 else UP)))
        drain(terminal, chance.uniform(*pause))
    return answers


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process. That of ``/proc`` counts hundredths."""
    return time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid of the C library


def measure_kinds(terminal: Pseudoterminal, count: int) -> dict[str, list[tuple[float, float]]]:
    """Return milliseconds to the last byte of the effect, and of CPU, for kinds of keys and a resize."""
    chance = random.Random(1)
    actions: dict[str, list[Callable[[], object]]] = {
        name: [partial(terminal.type, key) for key in keys] for name, keys in KEYS.items()
    }
    actions['resize'] = [
        partial(terminal.resize, COLUMNS - 1, ROWS - 1),
        partial(terminal.resize, COLUMNS, ROWS),
    ]
    for key in FIRST_KEYS:
        terminal.type(key)
        drain(terminal, 0.5)
    pid = working_process(terminal).pid
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in actions}
    for name, acts in actions.items():
        for i in range(count - count % len(acts)):
            drain(terminal, chance.uniform(0.05, 0.3))
            before = cpu_seconds(pid)
            first, last = answer(terminal, acts[i % len(acts)], NO_EFFECT_SECONDS)
            if terminal.process.poll() is not None:
                raise SystemExit(f'{name}: nvitop has exited: {terminal.errors()}')
            if first >= NO_EFFECT_SECONDS:
                raise SystemExit(f'{name}: key {i % len(acts) + 1} of the kind has no effect')
            found[name].append((1000 * last, 1000 * (cpu_seconds(pid) - before)))
    return found


def measure_typing(terminal: Pseudoterminal, seconds: float) -> float:
    """Return the CPU percentage while an arrow key is held down."""
    process = working_process(terminal)
    before, started = process.cpu_times(), time.perf_counter()
    count = round(seconds * KEYS_PER_SECOND)
    for i in range(count):
        # Ten down and ten up, to stay away from the ends of the list.
        terminal.type(DOWN if i % 20 < 10 else UP)
        drain(terminal, started + (i + 1) / KEYS_PER_SECOND - time.perf_counter())
    after, elapsed = process.cpu_times(), time.perf_counter() - started
    return 100 * (after.user + after.system - before.user - before.system) / elapsed


def quantile(values: Sequence[float], part: float) -> float:
    """Return the quantile of values for a fraction."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def measure_side_by_side(
    programs: Mapping[str, Sequence[str]], seconds: float, warm_up: float
) -> dict[str, dict[str, float]]:
    """Measure all programs at rest at the same time, after a number of seconds.

    They then show the same host, whose values are half of their output.
    """
    begin = threading.Barrier(len(programs))

    def rest(command: Sequence[str]) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            calls = os.path.join(folder, 'calls')
            with start(command, calls) as terminal:
                drain(terminal, warm_up)
                begin.wait(NO_BEGIN_SECONDS)
                return dict(zip(Rest._fields, measure_rest(terminal, seconds, calls)))

    with futures.ThreadPoolExecutor(len(programs)) as pool:
        return dict(zip(programs, pool.map(rest, programs.values())))


def measure(command: Sequence[str], options: argparse.Namespace) -> dict[str, float]:
    """Measure how fast one monitor responds."""
    with tempfile.TemporaryDirectory() as folder:
        calls = os.path.join(folder, 'calls')
        with start(command, calls) as terminal:
            figures: dict[str, float] = {}
            figures['cpu percent, 30 keys per second'] = measure_typing(
                terminal, options.seconds / 3
            )
            for name, count, pause in (
                ('while busy', options.keys, (0.05, 0.3)),
                ('from rest', options.keys // 3, (1.2, 1.7)),
            ):
                answers = measure_answers(terminal, count, pause)
                for which, index in (('', 0), (', whole', 1)):
                    values = [1000 * each[index] for each in answers]
                    figures[f'key {name}{which}: median ms'] = statistics.median(values)
                    figures[f'key {name}{which}: p99 ms'] = quantile(values, 0.99)
            terminal.type('q')
            began = time.perf_counter()
            while terminal.process.poll() is None and time.perf_counter() - began < 10:
                drain(terminal, 0.005)
            figures['quit ms'] = 1000 * (time.perf_counter() - began)
    return figures


def print_kinds(command: Sequence[str], count: int) -> None:
    """Measure and print the time to the last byte of the effect of each kind of key."""
    with tempfile.TemporaryDirectory() as folder, start(
        command, os.path.join(folder, 'calls')
    ) as terminal:
        found = measure_kinds(terminal, count)
    found['all'] = [pair for pairs in found.values() for pair in pairs]
    print(f'load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs')
    print(
        f'{"to the last byte":24} {"median ms":>10} {"p99 ms":>10} {"CPU: median":>12} {"p99":>8}'
    )
    for name, pairs in found.items():
        times, cpu = zip(*pairs)
        print(
            f'{name:24} {statistics.median(times):10.2f} {quantile(times, 0.99):10.2f}'
            f' {statistics.median(cpu):12.2f} {quantile(cpu, 0.99):8.2f}'
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--peer', help='another monitor to measure the same way')
    parser.add_argument('--demo', help='a simulated machine')
    parser.add_argument('--seconds', type=float, default=30.0, help='duration of the rest')
    parser.add_argument(
        '--warm-up',
        type=float,
        default=0.0,
        help='seconds before the rest; graphs of one second per dot are full after 90',
    )
    parser.add_argument('--keys', type=int, default=150, help='number of keys')
    parser.add_argument(
        '--kinds', type=int, default=0, help='only nvitop, this many keys of each kind'
    )
    parser.add_argument('--rounds', type=int, default=1, help='number of rounds; prints medians')
    options = parser.parse_args()
    ours = [sys.executable, '-m', 'nvitop', '--no-config']
    ours += ['--demo', options.demo] if options.demo else []
    if options.kinds:
        print_kinds(ours, options.kinds)
        return
    programs = {'nvitop': ours, **({'peer': [options.peer]} if options.peer else {})}
    rounds = []
    for _ in range(options.rounds):
        figures = measure_side_by_side(programs, options.seconds, options.warm_up)
        # Keys are measured one program after the other.
        for name, command in programs.items():
            figures[name].update(measure(command, options))
        rounds.append(figures)
    print(f'{"":36} {"nvitop":>10}' + (f' {"peer":>10} {"ratio":>7}' if options.peer else ''))
    for figure in rounds[0]['nvitop']:
        values = {
            name: statistics.median(each[name][figure] for each in rounds) for name in programs
        }
        print(f'{figure.replace("_", " "):36}', *(f'{v:10.2f}' for v in values.values()), end='')
        if values.get('peer'):
            print(f' {values["nvitop"] / values["peer"]:7.2f}', end='')
        print()


if __name__ == '__main__':
    main()
