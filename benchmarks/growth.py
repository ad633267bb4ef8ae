"""Growth of costs with GPUs and processes: ``python -m benchmarks.growth`` in the repository.

Measures CPU time on simulated machines with real idle processes, each in a fresh Python. The time of
the simulated driver, which is Python too, is included, also in the floor: the same calls and the same
reads of ``/proc`` without processing the results. ``--plot FILE.svg`` draws it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import pathlib
import subprocess
import sys
import time
from typing import Callable, Iterator, NamedTuple, Sequence

GPUS = (1, 2, 4, 8, 16)
PROCESSES = (0, 50, 100, 200, 400)
#: In addition: the smallest machine, the largest, and one with MIG devices.
SINGLE = (1, 3, 0), (16, 2000, 0), (16, 112, 7)


class Size(NamedTuple):
    """Size of a machine."""

    gpus: int
    processes: int
    #: MIG devices on each GPU.
    slices: int = 0

    @property
    def name(self) -> str:
        """The size in words."""
        if self.slices:
            return f'{self.gpus * self.slices} MIG devices, {self.processes} processes'
        return f'{self.gpus} GPUs, {self.processes} processes'


class Cost(NamedTuple):
    """CPU milliseconds."""

    #: A tick of the monitor with 50 processes in view, and with all of them.
    tick: float
    whole_tick: float
    #: ``take_snapshots()``.
    snapshots: float
    #: The bare calls and reads of the first.
    floor: float
    #: NVML calls per tick and GPU.
    calls: float


@contextlib.contextmanager
def idle_processes(count: int) -> Iterator[list[int]]:
    """Run ``count`` idle processes, which end with this one however it ends."""
    waiting, held = os.pipe()
    pids = []
    for _ in range(count):
        pid = os.fork()
        if not pid:
            os.close(held)
            os.read(waiting, 1)
            os._exit(0)
        pids.append(pid)
    try:
        yield pids
    finally:
        os.close(held)
        for pid in pids:
            os.waitpid(pid, 0)
        os.close(waiting)


def scenario(size: Size) -> str:
    """Return the machine as a scenario file."""
    lines = ['[[gpu]]', f'count = {size.gpus}', 'model = "A100"']
    for index in range(size.slices):
        lines += ['[[gpu.mig]]', 'profile = "1g.10gb"', f'gpu_instance_id = {7 + index}']
    for number in range(size.processes):
        lines += ['[[process]]', f'gpus = [{number % size.gpus}]', 'command = ["worker"]']
        lines += ['memory = "30 MiB"', 'sm = 1']
        lines += [f'mig = {number // size.gpus % size.slices}'] if size.slices else []
    return '\n'.join(lines)


def measure(size: Size, ticks: int) -> Cost:
    """Return all costs on one machine, measured in this process."""
    # The processes are forked before nvitop is imported, so that they are small.
    with idle_processes(size.processes) as pids:
        from benchmarks import tick
        from nvitop import simulation, take_snapshots
        from nvitop.sampling import Demand

        machine = simulation.parse_scenario(scenario(size), name=size.name)
        with simulation.machine(machine, processes=pids):
            bench = tick.Bench()
            bench.tick(Demand())
            rows = bench.source.sample(Demand()).processes
            assert len(rows) == size.processes, (len(rows), size)
            in_view = Demand(visible_processes=tuple(row.key for row in rows[:50]))

            def mean(work: Callable[[], object]) -> float:
                work()
                started = time.process_time()
                for _ in range(ticks):
                    work()
                return (time.process_time() - started) / ticks * 1e3

            handles = tick.handles()
            cost = Cost(
                mean(lambda: bench.tick(in_view)),
                mean(lambda: bench.tick(Demand())),
                mean(take_snapshots),
                tick.tick_seconds(handles, {row.key.pid for row in rows[:50]}) * 1e3,
                sum(bench.tick(in_view)[2] for _ in range(ticks)) / ticks / size.gpus,
            )
    return cost


def measured(size: Size, ticks: int) -> Cost:
    """Return the costs on one machine, measured in a fresh Python."""
    command = [sys.executable, '-m', 'benchmarks.growth', '--ticks', str(ticks), '--size']
    done = subprocess.run(
        [*command, *map(str, size)], check=True, stdout=subprocess.PIPE, encoding='utf-8'
    )
    return Cost(*json.loads(done.stdout))


def print_costs(costs: dict[Size, Cost]) -> None:
    """Print a table of all sizes."""
    print(f'{"CPU ms":36} tick, 50 in view   tick, all   take_snapshots   floor   calls per GPU')
    for size, cost in costs.items():
        print(
            f'{size.name:36} {cost.tick:16.2f} {cost.whole_tick:11.2f} {cost.snapshots:16.2f} '
            f'{cost.floor:7.2f} {cost.calls:15.1f}'
        )


# The plot

#: Lines: field of the cost, color, text.
LINES = (
    ('snapshots', '#8250df', 'take_snapshots()'),
    ('whole_tick', '#bf8700', 'tick, all processes measured'),
    ('tick', '#0969da', 'tick, 50 processes in view'),
    ('floor', '#6e7781', 'minimum: bare driver calls and reads'),
)
WIDTH, HEIGHT, MARGIN = 360, 220, 48


def plot(panels: Sequence[tuple[str, Sequence[tuple[int, Cost]]]]) -> str:
    """Return an SVG with a panel for each dimension."""
    highest = max(max(cost[:4]) for _, points in panels for _, cost in points)
    top = 20 * math.ceil(highest / 20)
    parts = []
    for number, (label, points) in enumerate(panels):
        x0, right = MARGIN + number * (WIDTH + MARGIN), max(x for x, _ in points)

        def at(x: float, y: float, x0: int = x0, right: int = right) -> str:
            return f'{x0 + x / right * WIDTH:.1f},{MARGIN + HEIGHT * (1 - y / top):.1f}'

        parts.append(_axes(x0, label, [x for x, _ in points], right, top))
        for field, color, _ in LINES:
            path = ' '.join(at(x, getattr(cost, field)) for x, cost in points)
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
            )
    for number, (_, color, text) in enumerate(LINES):
        y = 2 * MARGIN + HEIGHT + 12 + 18 * (number // 2)
        x = MARGIN + number % 2 * (WIDTH + MARGIN)
        parts.append(f'<rect x="{x}" y="{y - 9}" width="18" height="3" fill="{color}"/>')
        parts.append(f'<text x="{x + 24}" y="{y - 4}">{text}</text>')
    width, height = MARGIN + len(panels) * (WIDTH + MARGIN), 2 * MARGIN + HEIGHT + 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" fill="#57606a">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        + '\n'.join(parts)
        + '\n</svg>\n'
    )


def _axes(x0: int, label: str, marks: Sequence[int], right: int, top: float) -> str:
    bottom = MARGIN + HEIGHT
    parts = [f'<text x="{x0}" y="{MARGIN - 14}">CPU ms</text>']
    for part in range(5):
        y = bottom - part * HEIGHT / 4
        parts.append(f'<path d="M{x0} {y:.0f}h{WIDTH}" stroke="#d0d7de"/>')
        value = part * top / 4
        parts.append(f'<text x="{x0 - 6}" y="{y + 4:.0f}" text-anchor="end">{value:.0f}</text>')
    for mark in marks:
        x = x0 + mark / right * WIDTH
        parts.append(f'<text x="{x:.0f}" y="{bottom + 16}" text-anchor="middle">{mark}</text>')
    middle = x0 + WIDTH // 2
    parts.append(f'<text x="{middle}" y="{bottom + 32}" text-anchor="middle">{label}</text>')
    return '\n'.join(parts)


def main() -> None:
    """Measure, print, and draw if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--ticks', type=int, default=20, help='number of measurements of each (default: 20)'
    )
    parser.add_argument('--plot', type=pathlib.Path, help='SVG file to write')
    parser.add_argument('--size', type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.size:
        print(json.dumps(measure(Size(*options.size), options.ticks)))
        return
    by_gpus = {Size(count, 50): count for count in GPUS}
    by_processes = {Size(8, count): count for count in PROCESSES}
    single = [Size(*size) for size in SINGLE]
    sizes = dict.fromkeys([*by_gpus, *by_processes, *single])
    costs = {size: measured(size, options.ticks) for size in sizes}
    print_costs(costs)
    if options.plot:
        panels = (
            ('GPUs, with 50 processes', [(count, costs[size]) for size, count in by_gpus.items()]),
            (
                'processes, on 8 GPUs',
                [(count, costs[size]) for size, count in by_processes.items()],
            ),
        )
        options.plot.write_text(plot(panels), encoding='utf-8')


if __name__ == '__main__':
    main()
