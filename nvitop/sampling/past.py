# SPDX-License-Identifier: Apache-2.0
"""Samples of the time before the first one, which only a simulated machine knows."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, TypeVar

from nvitop.api.system import Past, system
from nvitop.sampling.history import CAPACITY_SECONDS
from nvitop.sampling.types import DeviceSample, HostSample, ProcessSample, Sample

#: Interval (seconds) of the samples, which decides what they cost; history interpolates longer gaps.
INTERVAL_SECONDS = 10
#: Interval (seconds) within the last ``RECENT_SECONDS``, which fill a graph of usual width.
RECENT_INTERVAL_SECONDS = 2
RECENT_SECONDS = 240
#: Interval (seconds) of past processes.
PROCESS_INTERVAL_SECONDS = 60

_T = TypeVar('_T', HostSample, DeviceSample, ProcessSample)


def past_samples(sample: Sample) -> Iterator[Sample]:
    """Yield samples of the hour before the first sample, oldest first; none of a real machine.

    They have the values that graphs show; the others are those of the first sample.
    """
    for seconds in (
        *range(int(CAPACITY_SECONDS), RECENT_SECONDS, -INTERVAL_SECONDS),
        *range(RECENT_SECONDS, 0, -RECENT_INTERVAL_SECONDS),
    ):
        past = system().past(seconds)
        if past is None:
            return
        yield _earlier(sample, seconds, past)


def past_processes(
    processes: Iterable[ProcessSample],
) -> Iterator[tuple[int, tuple[ProcessSample, ...]]]:
    """Yield how many seconds ago, and the processes of that time, as :func:`past_samples`."""
    for seconds in range(int(CAPACITY_SECONDS), 0, -PROCESS_INTERVAL_SECONDS):
        past = system().past(seconds)
        if past is None:
            return
        yield seconds, _earlier_processes(processes, past)


def _earlier(sample: Sample, seconds: float, past: Past) -> Sample:
    return sample._replace(
        timestamp=sample.timestamp - seconds,
        monotonic=sample.monotonic - seconds,
        processes_monotonic=sample.monotonic - seconds,
        host=_replaced(sample.host, past.host),
        devices=tuple(
            _replaced(device, past.devices.get(device.key.physical_index, {}))
            for device in sample.devices
            if not device.key.is_mig
        ),
        processes=_earlier_processes(sample.processes, past),
    )


def _earlier_processes(processes: Iterable[ProcessSample], past: Past) -> tuple[ProcessSample, ...]:
    return tuple(
        _replaced(process, past.processes[process.key.pid])
        for process in processes
        if process.key.pid in past.processes
    )


def _replaced(values: _T, past: Mapping[str, Any]) -> _T:
    return values._replace(**{name: value for name, value in past.items() if value is not None})
