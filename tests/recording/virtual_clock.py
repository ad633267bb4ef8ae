"""Machines on a virtual clock that record days in seconds."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any, Iterable, Iterator

from nvitop.recording.reader import Recording
from nvitop.recording.recorder import RECORDED, Recorder
from nvitop.recording.store import USAGE_SUMS
from nvitop.sampling.types import DeviceKey, DeviceSample, HostSample, ProcessKey, Sample
from tests.sampling.conftest import ClockedMachine
from tests.sampling.fakes import device_sample, process_sample

#: Tue Nov 14 22:13:20 2023 UTC: the time of the first sample, within a minute.
START = 1.7e9


class SimpleMachine:
    """Samples of a few GPUs whose values the test sets, at times that the test chooses."""

    def __init__(self, gpus: int = 1, *, start: float = START) -> None:
        self.devices = [gpu(index) for index in range(gpus)]
        self.processes: list[Any] = []
        self.wall = start
        self.monotonic = 1000.0
        self.driver: str | None = '580.65.06'
        self.problems: tuple[Any, ...] = ()
        self._sequence = 0

    def sample(self, seconds: float = 0.0, *, step: float = 0.0) -> Sample:
        """Take a sample ``seconds`` later; ``step`` is how far the clock was set meanwhile."""
        self.wall += seconds + step
        self.monotonic += seconds
        self._sequence += 1
        return Sample(
            timestamp=self.wall,
            monotonic=self.monotonic,
            sequence=self._sequence,
            driver_version=self.driver,
            host=HostSample(hostname='gpu07'),
            devices=tuple(self.devices),
            processes=tuple(self.processes),
            problems=self.problems,
            processes_monotonic=self.monotonic,
        )

    def set(self, index: int, **values: Any) -> None:
        """Set values of a GPU."""
        self.devices[index] = self.devices[index]._replace(**values)

    def free(self, index: int) -> None:
        """Let a GPU have nothing to do."""
        self.set(index, gpu_utilization_percent=0, memory_used_bytes=0)

    def run(self, pid: int, device: int = 0, **values: Any) -> None:
        """Start a process on a GPU; values are those of its sample."""
        usual: dict[str, Any] = {
            'type': 'C',
            'username': 'ann',
            'name': 'python3',
            'command': 'python3 train.py',
            'gpu_memory_bytes': 1 << 30,
            'gpu_sm_utilization_percent': 50,
        }
        key = ProcessKey(pid, 1.5, self.devices[device].key)
        self.processes.append(process_sample(pid)._replace(key=key, **{**usual, **values}))


def percent(user: str, value: int | None, **values: Any) -> dict[str, Any]:
    """Return the values of a process of a user with a utilization; at 0 %, idle for an hour."""
    idle = None if value is None else 0.0 if value else 3600.0
    return {
        'username': user,
        'gpu_sm_utilization_percent': value,
        'gpu_idle_seconds': idle,
        **values,
    }


def gpu(index: int, **values: Any) -> DeviceSample:
    """Return a GPU that is half busy."""
    usual: dict[str, Any] = {
        'gpu_utilization_percent': 50,
        'memory_used_bytes': 1 << 30,
        'power_usage_mw': 100_000,
        'temperature_celsius': 40,
    }
    return device_sample(index, **{**usual, **values})


def mig(parent: DeviceSample, index: int, profile: str = '3g.40gb', **values: Any) -> DeviceSample:
    """Return a MIG device of a GPU."""
    key = DeviceKey(parent.key.physical_index, index, f'MIG-{parent.key.physical_index}-{index}')
    info = parent.info._replace(key=key, mig_profile=profile)
    return DeviceSample(key, info, memory_used_bytes=1 << 30, **values)


def simulated_samples(
    bench: ClockedMachine, count: int, interval: float = 10.0
) -> Iterator[Sample]:
    """Yield samples of a simulated machine, measured as a recorder does."""
    bench.demand = RECORDED
    for _ in range(count):
        yield bench.sample(interval)


def record(path: Path, samples: Iterable[Sample], **options: Any) -> None:
    """Record samples to a database."""
    with contextlib.closing(Recorder(str(path), **options)) as sink:
        for sample in samples:
            sink.write(sample)


def rows_below_first(buffer: Any) -> list[Any]:
    """Return the rows of a frame but the first, which has the clock, and the ruler of time.

    The ruler ends with "now" in the present, and with a time in the past.
    """
    rows = (tuple(buffer.row(y)) for y in range(1, buffer.height))
    return [row for row in rows if not any(set(text) & {'┬', '◆'} for _, text, _ in row)]


def samples_of(path: Path) -> list[Sample]:
    recording = Recording(str(path))
    frame: int | None = recording.span().first
    samples = []
    while frame is not None:
        samples.append(recording.sample(frame))
        frame = recording.neighbor(frame, 1)
    recording.close()
    return samples


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    db = sqlite3.connect(str(path))
    try:
        return db.execute(statement).fetchall()
    finally:
        db.close()


def events(path: Path) -> list[tuple[str, str]]:
    """Return kinds and texts of all events but the start and the end."""
    found = rows(path, 'SELECT kind, text FROM event ORDER BY id')
    return [event for event in found if event[0] not in ('start', 'stop')]


def usage(path: Path, *by: str) -> dict[Any, dict[str, int]]:
    """Return the sums of the usage table by some of its columns."""
    sums = ', '.join(f'sum({name})' for name in USAGE_SUMS)
    found = rows(path, f'SELECT {", ".join(by)}, {sums} FROM usage GROUP BY {", ".join(by)}')
    keys = [row[0] if len(by) == 1 else row[: len(by)] for row in found]
    return {key: dict(zip(USAGE_SUMS, row[len(by) :])) for key, row in zip(keys, found)}
