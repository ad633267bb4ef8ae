"""Cost of the exporter: ``python -m benchmarks.exporter [PEER …]``.

Uses the driver that the loader finds. Each ``nvitop-exporter`` measures once a second and is scraped
once a second, all of them at the same time. Prints CPU time per second, memory
and the time of a scrape. ``nvitop exporter`` with its own names and interval follows, and with more names.
"""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from typing import NamedTuple

import psutil

from benchmarks.programs import arguments, environment

#: Seconds before the measurement: imports and first readings.
WARM_UP = 8


class Exporter:
    """A running exporter."""

    def __init__(self, name: str, command: list[str], option: str = '--port={}') -> None:
        self.name = name
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self.port: int = free.getsockname()[1]
        self.process = subprocess.Popen(
            [*command, option.format(self.port)],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)
        self.times: list[float] = []
        self.size = 0

    def scrape(self) -> None:
        """Read the metrics once, as Prometheus does."""
        started = time.perf_counter()
        try:
            self.connection.request('GET', '/metrics', headers={'Accept-Encoding': 'gzip'})
            self.size = len(self.connection.getresponse().read())
        except OSError:
            self.connection.close()
            return
        self.times.append(time.perf_counter() - started)

    def cpu(self) -> float:
        """Return the CPU time so far, in seconds."""
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system


class Costs(NamedTuple):
    """CPU time, memory, time of a scrape, and size of a page."""

    cpu_ms: float
    memory: float
    median_ms: float
    size: int


def measure(exporters: list[Exporter], seconds: int) -> list[Costs]:
    """Scrape all exporters once a second."""
    for _ in range(WARM_UP):
        time.sleep(1)
        for exporter in exporters:
            exporter.scrape()
    before = [exporter.cpu() for exporter in exporters]
    started = time.monotonic()
    for exporter in exporters:
        exporter.times.clear()
    for _ in range(seconds):
        time.sleep(1)
        for exporter in exporters:
            exporter.scrape()
    elapsed = time.monotonic() - started
    return [
        Costs(
            (exporter.cpu() - cpu) / elapsed * 1e3,
            psutil.Process(exporter.process.pid).memory_info().rss / (1 << 20),
            sorted(exporter.times)[len(exporter.times) // 2] * 1e3,
            exporter.size,
        )
        for exporter, cpu in zip(exporters, before)
    ]


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument('--seconds', type=int, default=30, help='duration (default: 30)')
    options = parser.parse_args()
    ours = [sys.executable, '-c', 'from nvitop.console.lifecycle import nvitop_exporter as f; f()']
    own, listen = [sys.executable, '-m', 'nvitop', 'exporter'], '--listen=127.0.0.1:{}'
    exporters = [
        Exporter('nvitop-exporter', ours),
        *(Exporter(peer, [f'{peer}/bin/nvitop-exporter']) for peer in options.peers),
        Exporter('nvitop exporter', own, listen),
        Exporter('… --names own,dcgm --owners', [*own, '--names=own,dcgm', '--owners'], listen),
    ]
    try:
        costs = measure(exporters, options.seconds)
    finally:
        for exporter in exporters:
            exporter.process.terminate()
            exporter.process.wait()
    print(f'{"":40} CPU ms per s   RSS MiB   scrape ms   bytes   nvitop ÷ it: CPU    RSS')
    for exporter, cost in zip(exporters, costs):
        line = (
            f'{exporter.name:40} {cost.cpu_ms:12.1f} {cost.memory:9.1f} {cost.median_ms:11.1f} '
            f'{cost.size:7}'
        )
        if exporter.name in options.peers:
            line += f'{costs[0].cpu_ms / cost.cpu_ms:19.2f} {costs[0].memory / cost.memory:6.2f}'
        print(line)


if __name__ == '__main__':
    main()
