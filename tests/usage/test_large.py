"""Recordings of several hosts and a month, in bounded memory."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest

from nvitop.recording.store import DEVICE_SUMS, USAGE_SUMS, Retention, Store
from tests.programs import ROOT

HOSTS, GPUS, MINUTES = 6, 4, 30 * 24 * 60
#: 1 November 2026, in minutes since the epoch.
BEGIN = 1793491200 // 60
#: Maximum memory (KiB) of the command.
MAX_KIB = 150 << 10
#: Unlike ru_maxrss, VmHWM leaves out the memory of the process that started this one.
RUN = (
    'import sys; from nvitop.usage.command import main; status = main(sys.argv[1:]); '
    'print(next(line.split()[1] for line in open("/proc/self/status") if "VmHWM" in line), '
    'file=sys.stderr); sys.exit(status)'
)


def usage_rows() -> Iterator[tuple[object, ...]]:
    """Yield the usage of a month: each GPU has another user every day, and a job every six hours."""
    sums = {
        'held_ms': 60_000,
        'measured_ms': 60_000,
        'share_ms': 60_000,
        'sm_percent_ms': 3_000_000,
    }
    values = tuple(sums.get(name, 0) for name in USAGE_SUMS)
    for minute in range(BEGIN, BEGIN + MINUTES):
        for gpu in range(GPUS):
            user = f'user{(minute // 1440 + gpu) % 10}'
            job = str(minute // 360 * GPUS + gpu)
            yield (minute, f'GPU-{gpu}', user, 'slurm', job, 'python3 train.py', *values)


def month(path: Path) -> None:
    """Make a recording with the usage of a month."""
    store = Store(str(path), mode=None, retention=Retention())
    store.begin_run(BEGIN * 60, 10, boot='b', meta={'host': 'gpu00'})
    store.close(0.0, 'stopped')
    observed = tuple(60_000 if name == 'observed_ms' else 0 for name in DEVICE_SUMS)
    with sqlite3.connect(str(path)) as db:
        for gpu in range(GPUS):
            row = (f'GPU-{gpu}', gpu, BEGIN * 60_000, (BEGIN + MINUTES) * 60_000)
            db.execute(
                'INSERT INTO device (gpu, physical_index, mig_index, first_seen, last_seen) '
                'VALUES (?, ?, -1, ?, ?)',
                row,
            )
        names = ('minute', 'gpu', 'user', 'owner_kind', 'owner_id', 'command', *USAGE_SUMS)
        marks = ', '.join('?' * len(names))
        db.executemany(f'INSERT INTO usage ({", ".join(names)}) VALUES ({marks})', usage_rows())
        names = ('minute', 'gpu', *DEVICE_SUMS)
        marks = ', '.join('?' * len(names))
        db.executemany(
            f'INSERT INTO gpu_minute ({", ".join(names)}) VALUES ({marks})',
            (
                (minute, f'GPU-{gpu}', *observed)
                for minute in range(BEGIN, BEGIN + MINUTES)
                for gpu in range(GPUS)
            ),
        )
    db.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != 'linux', reason='needs /proc')
def test_recordings_of_a_month_need_little_memory(tmp_path: Path) -> None:
    month(tmp_path / '0.db')
    for number in range(1, HOSTS):
        path = tmp_path / f'{number}.db'
        shutil.copy(tmp_path / '0.db', path)
        with sqlite3.connect(str(path)) as db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'host'", (f'gpu{number:02}',))
        db.close()
    paths = map(str, tmp_path.glob('*.db'))
    arguments = ['--since=2026-10-30', '--format', 'json', *paths]
    done = subprocess.run(
        [sys.executable, '-c', RUN, *arguments], cwd=ROOT, capture_output=True, check=True
    )
    document = json.loads(done.stdout)
    hours = HOSTS * GPUS * MINUTES / 60
    assert document['total']['used_gpu_hours'] == hours
    assert [row['gpu_hours'] for row in document['rows'][:10]] == [hours / 10] * 10
    assert (len(document['hosts']), document['gpus']) == (HOSTS, HOSTS * GPUS)
    assert int(done.stderr) < MAX_KIB
