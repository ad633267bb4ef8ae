# SPDX-License-Identifier: Apache-2.0
"""Whole samples as lines of JSON, for a monitor on another machine (``nvitop --ssh``)."""

from __future__ import annotations

import queue
import sys
import time
from typing import TYPE_CHECKING, BinaryIO, Callable, Sequence

from nvitop.console.driver import start_devices
from nvitop.console.lifecycle import Interrupts, Output, writing
from nvitop.sampling.plan import REPORT_METRICS, Intervals, intervals
from nvitop.sampling.serialization import CommandFilter, SerializationError, dumps, loads_demand
from nvitop.sampling.source import LiveSource
from nvitop.sampling.threads import Sampler, start_daemon
from nvitop.sampling.types import Demand, Sample

if TYPE_CHECKING:
    import argparse

    from nvitop.console.device_names import DeviceIndex

#: A viewer repeats its demand at least this often (seconds); without it, the viewer is gone.
VIEWER_SECONDS = 120.0
#: Hides secrets in command lines, which leave the machine.
MASKED = CommandFilter('full')
#: Maximum size (bytes) of a demand.
MAX_DEMAND_BYTES = 1 << 20


def write_sample(source: LiveSource, output: Output) -> Sample:
    """Write one complete sample with the values of a report, and return it."""
    sample = source.complete_sample(Demand(owners=True), metrics=REPORT_METRICS)
    output.write([f'{dumps(MASKED.apply(sample))}\n'])
    return sample


def make_source(
    period: float | None, only: Sequence[DeviceIndex] | None, owner_names: str
) -> LiveSource:
    """Return the source of a stream; processes are read at most as often as by default."""
    every = intervals(period)
    every = every._replace(processes=max(every.processes, Intervals().processes))
    return LiveSource(every, only=only, owner_names=owner_names)


def write_samples(source: LiveSource, output: Output, demands: BinaryIO | None) -> None:
    """Write a sample whenever one is taken, until the viewer is gone or the output is closed.

    Each line of ``demands`` is a :class:`~nvitop.sampling.types.Demand` as JSON: what the viewer shows
    now. The first one makes the viewer responsible for the end: when its lines end or stay away for
    two minutes, this function returns.
    """
    samples: queue.Queue[Sample] = queue.Queue()
    sampler = Sampler(source, samples.put, demand=Demand(owners=True))
    viewer = _Viewer(sampler.demand)
    if demands is not None:
        start_daemon('nvitop-viewer', lambda: viewer.listen(demands))
    sampler.start()
    sequence = 0
    try:
        while not viewer.is_gone():
            try:
                sample = samples.get(timeout=0.5)
            except queue.Empty:
                continue
            if sample.sequence != sequence:
                sequence = sample.sequence
                output.write([f'{dumps(MASKED.apply(sample))}\n'])
    finally:
        sampler.stop()


class _Viewer:
    """The program at the other end of a stream."""

    def __init__(self, on_demand: Callable[[Demand], None]) -> None:
        self._on_demand = on_demand
        self._last: float | None = None
        self._has_left = False

    def is_gone(self) -> bool:
        """Whether a viewer was there and no longer is."""
        if self._last is None:
            return False
        return self._has_left or time.monotonic() - self._last > VIEWER_SECONDS

    def listen(self, demands: BinaryIO) -> None:
        """Pass demands on until the end of the input; ignore what is not a demand."""
        while True:
            line = demands.readline(MAX_DEMAND_BYTES)
            if not line:
                self._has_left = True
                return
            try:
                demand = loads_demand(line)
            except SerializationError:
                continue
            self._last = time.monotonic()
            self._on_demand(demand)


def standard_input() -> BinaryIO | None:
    """Return standard input if a program may write demands to it; a terminal does not."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    return sys.stdin.buffer


def run_samples(program: str, options: argparse.Namespace) -> int:
    """Run ``nvitop query --samples``; return the exit status."""
    with Interrupts() as interrupts:
        only = start_devices(program, options.only, options.demo)
        source = make_source(options.loop, only, options.owner_names)
        output = Output(options.filename, interrupts)
        with writing(output.name):
            if options.loop is not None:
                write_samples(source, output, standard_input())
                return 0
            sample = write_sample(source, output)
            output.close()
            return int(all(device.is_silent for device in sample.devices))
