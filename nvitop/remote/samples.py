# SPDX-License-Identifier: Apache-2.0
"""Whole samples as lines of JSON, for a monitor on another machine (``nvitop --ssh``)."""

from __future__ import annotations

import queue
import sys
import time
from typing import TYPE_CHECKING, BinaryIO, Callable

from nvitop.console.driver import start_devices
from nvitop.console.lifecycle import Interrupts, Output, writing
from nvitop.sampling.plan import REPORT_METRICS, Intervals, intervals
from nvitop.sampling.serialization import CommandFilter, SerializationError, dumps, loads_demand
from nvitop.sampling.source import LiveSource
from nvitop.sampling.threads import Sampler, start_daemon
from nvitop.sampling.types import Demand, Sample

if TYPE_CHECKING:
    import argparse

#: A viewer repeats its demand at least this often (seconds); without it, the viewer is gone.
VIEWER_SECONDS = 120.0
#: Hides secrets in command lines, which leave the machine.
MASKED = CommandFilter('full')
#: Maximum size (bytes) of a demand.
MAX_DEMAND_BYTES = 1 << 20


def _stream(source: LiveSource, output: Output, demands: BinaryIO | None) -> None:
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


def run_samples(program: str, options: argparse.Namespace) -> int:
    """Run ``nvitop query --samples``; return the exit status."""
    with Interrupts() as interrupts:
        only = start_devices(program, options.only, options.demo)
        every = intervals(options.loop)
        # Processes are read at most as often as by default.
        every = every._replace(processes=max(every.processes, Intervals().processes))
        source = LiveSource(every, only=only, owner_names=options.owner_names)
        output = Output(options.filename, interrupts)
        with writing(output.name):
            if options.loop is not None:
                is_program = sys.stdin is not None and not sys.stdin.isatty()
                _stream(source, output, sys.stdin.buffer if is_program else None)
                return 0
            sample = source.complete_sample(Demand(owners=True), metrics=REPORT_METRICS)
            output.write([f'{dumps(MASKED.apply(sample))}\n'])
            output.close()
            return int(all(device.is_silent for device in sample.devices))
