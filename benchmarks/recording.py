"""Size, CPU time and seek time of recordings: ``python -m benchmarks.recording``.

Simulated samples of a machine with 8 GPUs, measured on a manual clock, are recorded for a day at
10 s. Copies of its frames make a week, to which jumps are timed: they read the frames of the graphs,
too. Then a replay plays the week and keeps its last hour, as the monitor does.
"""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import resource
import sqlite3
import statistics
import tempfile
import time

from nvitop import simulation
from nvitop.recording.reader import Recording
from nvitop.recording.recent import RecentSamples
from nvitop.recording.recorder import RECORDED, Recorder
from nvitop.recording.replay import ReplaySource
from nvitop.recording.store import Retention
from nvitop.sampling.history import History
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, Sample

INTERVAL = 10.0
DAY = 86400.0
#: Number of different samples; they are repeated at later times.
DIFFERENT = 360
SEEKS = 9
#: Number of samples played, and after how many of them all memory is in use.
PLAYED = 6000
SETTLED = 1000


def measured_samples() -> list[Sample]:
    """Return an hour of samples of a simulated machine."""
    now, samples = 100.0, []
    with simulation.machine('dgx-h100', processes='fixed', clock=lambda: now):
        source = LiveSource(clock=lambda: now, wall_clock=lambda: 1.7e9 + now)
        for _ in range(DIFFERENT):
            now += INTERVAL
            samples.append(source.sample(RECORDED))
    return samples


def later(samples: list[Sample], count: int) -> itertools.chain[Sample]:
    """Return samples for ``count`` ticks, at later and later times."""
    span = DIFFERENT * INTERVAL
    rounds = range(-(-count // DIFFERENT))
    return itertools.chain.from_iterable(
        (
            sample._replace(
                timestamp=sample.timestamp + number * span,
                monotonic=sample.monotonic + number * span,
                processes_monotonic=sample.processes_monotonic + number * span,
            )
            for sample in samples
        )
        for number in rounds
    )


def record(path: pathlib.Path, samples: list[Sample], days: float) -> float:
    """Record a number of days; return the CPU seconds."""
    recorder = Recorder(str(path), interval_seconds=INTERVAL, retention=Retention(30 * DAY))
    before = time.process_time()
    for sample in later(samples, round(days * DAY / INTERVAL)):
        recorder.write(sample)
    spent = time.process_time() - before
    recorder.close()
    return spent


def copy_day(path: pathlib.Path, days: int) -> None:
    """Append copies of the frames of a day for ``days`` more days."""
    with contextlib.closing(sqlite3.connect(str(path))) as db, db:
        (count,) = db.execute('SELECT max(id) FROM frame').fetchone()
        for day in range(1, days + 1):
            db.execute(
                'INSERT INTO frame (id, t, run, keyframe, z) '
                'SELECT id + ?, t + ?, run, keyframe, z FROM frame WHERE id <= ?',
                (day * count, round(1000 * day * DAY), count),
            )


def seek_seconds(path: pathlib.Path, days: float) -> float:
    """Return the median time of a jump with its history."""
    recording = Recording(str(path))
    source = ReplaySource(recording)
    source.sample(Demand())
    begin = recording.span().first_time
    times = []
    for number in range(SEEKS):
        source.travel('time', begin + (number + 0.5) * days * DAY / SEEKS)
        started = time.perf_counter()
        source.sample(Demand())
        times.append(time.perf_counter() - started)
    recording.close()
    return statistics.median(times)


def played(path: pathlib.Path) -> tuple[float, float]:
    """Play a recording; return milliseconds per sample, and the growth of memory in MiB."""
    recording = Recording(str(path))
    now, kept = 0.0, RecentSamples()
    source = ReplaySource(recording, clock=lambda: now)
    history, settled = History(), 0.0
    before = time.process_time()
    for number in range(PLAYED):
        sample = source.sample(Demand())
        history = source.take_delivery().history or history
        history.record(sample)
        kept.add(sample)
        now += INTERVAL
        if number == SETTLED:
            settled = memory_mib()
    recording.close()
    return 1000 * (time.process_time() - before) / PLAYED, memory_mib() - settled


def memory_mib() -> float:
    """Return the greatest memory in use so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def kept_in_memory(samples: list[Sample]) -> tuple[float, float]:
    """Return MiB for an hour at one sample per second, and milliseconds per sample."""
    kept = RecentSamples(most_bytes=1 << 30)
    before = time.process_time()
    for number, sample in enumerate(later(samples, 3600)):
        kept.add(sample._replace(monotonic=float(number), host_processes=()))
    spent = time.process_time() - before
    return kept.size_bytes / (1 << 20), 1000 * spent / 3600


def main() -> None:
    """Measure and print."""
    samples = measured_samples()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, 'a.db')
        memory = memory_mib()
        spent = record(path, samples, 1.0)
        grown = memory_mib() - memory
        print(f'a day at 10 s, 8 GPUs, {len(samples[0].processes)} processes:')
        print(f'  file            {path.stat().st_size / 1e6:8.1f} MB')
        print(f'  CPU of writing  {100 * spent / DAY:8.3f} % of a core')
        print(f'  memory growth   {grown:8.1f} MiB')
        copy_day(path, 6)
        print('a week of it, replayed:')
        print(f'  jump to a time  {1000 * seek_seconds(path, 7.0):8.0f} ms')
        spent, grown = played(path)
        print(f'  next sample     {spent:8.1f} ms')
        print(f'  memory growth   {grown:8.1f} MiB over {PLAYED - SETTLED} samples')
    mib, milliseconds = kept_in_memory(samples)
    print('an hour in memory at 1 s:')
    print(f'  size            {mib:8.1f} MiB')
    print(f'  CPU             {milliseconds / 10:8.3f} % of a core')


if __name__ == '__main__':
    main()
