"""``nvitop usage``: hours by user from recordings, and what cannot be read."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Iterable, Iterator

import pytest

from nvitop.basics.units import format_time
from nvitop.owner.types import Owner
from nvitop.recording.recorder import Recorder
from nvitop.recording.store import RecordingError
from nvitop.sampling.types import JobSample, Sample
from nvitop.usage.command import main, parse_moment
from nvitop.usage.recordings import read_report
from nvitop.usage.report import ORDERS, Report, Row, Sums, Table, arrange, held_text, report_text
from tests.recording import virtual_clock
from tests.recording.virtual_clock import START, SimpleMachine, mig, percent
from tests.usage.reports import HOUR, hours

#: The first minute that begins after the usual start.
BEGIN = START + 40
#: Seconds between samples.
INTERVAL = 30


def record(path: Path, samples: Iterable[Sample], interval: float = INTERVAL) -> None:
    """Record samples to a database."""
    virtual_clock.record(path, samples, interval_seconds=interval)


def example(minutes: int = 90, machine: SimpleMachine | None = None) -> Iterator[Sample]:
    """Yield the worked example: 60 minutes, and 30 minutes in which ann and bob share GPU 0.

    First, ann uses GPU 0 at 80 %, and bob holds GPU 1. Then, ann uses GPU 0 at 60 % and bob at 20 %,
    and GPU 1 is free. GPU 0 needs 300 W, GPU 1 100 W.
    """
    machine = machine or SimpleMachine(2, start=BEGIN)
    machine.set(0, power_usage_mw=300_000)
    machine.free(1)
    machine.run(1, 0, **percent('ann', 80))
    machine.run(2, 1, **percent('bob', 0, gpu_memory_bytes=60 << 30))
    yield machine.sample()
    for tick in range(1, 2 * minutes + 1):
        if tick == 121:
            machine.processes.clear()
            machine.run(3, 0, **percent('ann', 60))
            machine.run(4, 0, **percent('bob', 20))
        yield machine.sample(INTERVAL)


@pytest.fixture(scope='module')
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of the worked example."""
    path = tmp_path_factory.mktemp('example') / 'a.db'
    record(path, example())
    return path


@pytest.fixture
def copied(recorded: Path, tmp_path: Path) -> Path:
    """Return a recording of the worked example that a test may change."""
    return Path(shutil.copy(recorded, tmp_path / 'a.db'))


def report_of(*paths: Path, by: str = 'user', **period: float) -> Report:
    """Return the report of recordings; times are seconds after the beginning of the example."""
    since, until = (BEGIN + period[name] if name in period else None for name in ('since', 'until'))
    report = read_report([str(path) for path in paths], since, until, tuple(by.split(',')))
    assert not report.problems
    return report


#: Computed by hand: ann uses 1 h and 0.5 h · 60/80, bob 0.5 h · 20/80.
EXAMPLE = {
    'ann': (1.375, 0, 0, 0),
    'bob': (0.125, 1.0, 0, 0),
    '(free)': (0, 0, 0.5, 0),
    '(unobserved)': (0, 0, 0, 1.0),
}


def test_the_hours_of_the_example_are_those_computed_by_hand(recorded: Path) -> None:
    assert report_of(recorded).until >= BEGIN + 1.5 * HOUR
    report = report_of(recorded, until=2 * HOUR)
    assert hours(report) == EXAMPLE
    assert report.total.seconds == pytest.approx(2 * 2 * HOUR, abs=1e-6)
    sums = {row.key[0]: row.sums for row in report.rows}
    kwh = {name: round(each.joules / 3.6e6, 4) for name, each in sums.items()}
    assert kwh == {'ann': 0.4125, 'bob': 0.1375, '(free)': 0.05, '(unobserved)': 0}
    assert sums['ann'].utilization_percent == pytest.approx((80 * 60 + 60 * 30) / 90, abs=0.01)
    assert sums['bob'].utilization_percent == pytest.approx(20 * 30 / 90, abs=0.01)
    assert sums['bob'].peak_bytes == 60 << 30


def test_rows_can_be_divided_by_gpu_and_host(recorded: Path) -> None:
    assert hours(report_of(recorded, by='gpu', until=2 * HOUR)) == {
        '0': (1.5, 0, 0, 0.5),
        '1': (0, 1.0, 0.5, 0.5),
    }
    by_host = report_of(recorded, by='host,user', until=2 * HOUR)
    assert hours(by_host) == {('gpu07', user): values for user, values in EXAMPLE.items()}
    by_command = report_of(recorded, by='command,gpu', until=2 * HOUR)
    assert ('python3 train.py', '1') in hours(by_command)
    assert ('(unobserved)', '1') in hours(by_command)
    by_gpu = report_of(recorded, by='gpu', until=2 * HOUR)
    # Two users run the same command on GPU 0.
    assert {row.key[0]: len(row.sums.jobs) for row in by_gpu.rows} == {'0': 2, '1': 1}


def test_a_gpu_that_slurm_allocated_and_no_process_uses_counts_for_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = SimpleMachine(3, start=BEGIN - INTERVAL)
    machine.free(1)
    machine.free(2)
    machine.run(1, 0, owner=Owner('slurm', '42', 'train'))
    jobs = (
        JobSample('slurm', '42', 'ann', 'vision', 'gpu', (0, 1)),
        JobSample('slurm', '43', 'bob', '', 'cpu'),
    )
    samples = [machine.sample(INTERVAL)._replace(jobs=jobs) for _ in range(121)]
    record(tmp_path / 'a.db', samples)
    report = report_of(tmp_path / 'a.db', by='user,job,account,partition')
    place = ('ann', 'slurm 42', 'vision', 'gpu')
    assert hours(report)[place] == (1.0, 0, 0, 0)
    sums = {row.key: row.sums for row in report.rows}
    assert (sums[place].allocated, sums[place].seconds) == (HOUR, 2 * HOUR)
    assert hours(report)['(free)', '(free)', '(free)', '(free)'] == (0, 0, 1.0, 0)
    assert report.total.seconds == 3 * HOUR
    assert 'ALLOCATED' in report_text(report, 'table')
    monkeypatch.setattr('nvitop.usage.recordings.unix_group', lambda user: f'group of {user}')
    assert 'group of ann' in hours(report_of(tmp_path / 'a.db', by='group'))


@pytest.mark.parametrize('position', [1, 2])
def test_a_job_that_ends_within_a_minute_has_its_partition(tmp_path: Path, position: int) -> None:
    machine = SimpleMachine(1, start=BEGIN - INTERVAL)
    machine.run(1, 0, owner=Owner('slurm', '42', 'train'))
    samples = [machine.sample(INTERVAL) for _ in range(4)]
    job = JobSample('slurm', '42', 'ann', '', 'gpu', (0,))
    samples[position] = samples[position]._replace(jobs=(job,))
    record(tmp_path / 'a.db', samples)
    assert 'gpu' in hours(report_of(tmp_path / 'a.db', by='partition'))


def test_a_minute_in_several_recordings_counts_once(tmp_path: Path, copied: Path) -> None:
    shutil.copy(copied, tmp_path / 'b.db')
    record(tmp_path / 'c.db', example(60))
    for names in (('a.db', 'b.db'), ('c.db', 'a.db'), ('a.db', 'b.db', 'c.db')):
        paths = [tmp_path / name for name in names]
        assert hours(report_of(*paths, until=2 * HOUR)) == EXAMPLE


def test_recordings_of_several_hosts_are_added(recorded: Path, copied: Path) -> None:
    with contextlib.closing(sqlite3.connect(str(copied))) as db, db:
        db.execute("UPDATE meta SET value = 'gpu08' WHERE key = 'host'")
    report = report_of(recorded, copied, until=2 * HOUR)
    assert hours(report) == {user: tuple(2 * n for n in values) for user, values in EXAMPLE.items()}
    assert (report.gpus, report.hosts) == (4, ('gpu07', 'gpu08'))
    by_gpu = hours(report_of(recorded, copied, by='gpu'))
    assert set(by_gpu) == {'gpu07/0', 'gpu07/1', 'gpu08/0', 'gpu08/1'}


def test_a_clock_that_was_set_back_gives_no_hours(tmp_path: Path) -> None:
    machine = SimpleMachine(1, start=BEGIN)
    machine.run(1)
    samples = [machine.sample(INTERVAL) for _ in range(121)]
    samples += [machine.sample(INTERVAL, step=-1800.0 - INTERVAL)]
    samples += [machine.sample(INTERVAL) for _ in range(60)]
    record(tmp_path / 'a.db', samples)
    report = report_of(tmp_path / 'a.db', since=0, until=HOUR)
    assert report.total.used == pytest.approx(HOUR, abs=70)
    assert report.total.seconds == pytest.approx(HOUR, abs=1e-6)


def test_the_default_is_the_last_week_recorded(tmp_path: Path) -> None:
    machine = SimpleMachine(1, start=BEGIN)
    samples = [machine.sample(seconds) for seconds in (0, HOUR, 8 * 24 * HOUR, HOUR)]
    record(tmp_path / 'a.db', samples, HOUR)
    report = report_of(tmp_path / 'a.db')
    assert report.until == BEGIN + 2 * HOUR + 8 * 24 * HOUR
    assert report.until - report.since == 7 * 24 * HOUR
    assert report.total.used == HOUR
    with pytest.raises(RecordingError, match='nothing was recorded in this period'):
        report_of(tmp_path / 'a.db', since=HOUR, until=HOUR + 30)


@pytest.mark.parametrize('seconds', [3, 20, 59])
def test_time_outside_of_a_recording_is_not_unobserved(tmp_path: Path, seconds: int) -> None:
    start = BEGIN + 35.25
    machine = SimpleMachine(2, start=start - 0.25)
    machine.free(1)
    machine.run(1, 0)
    record(tmp_path / 'a.db', [machine.sample(0.25) for _ in range(4 * seconds + 1)], 0.25)
    report = report_of(tmp_path / 'a.db')
    assert (report.since, report.until) == (start, start + seconds)
    sums = {row.key[0]: row.sums.seconds for row in report.rows}
    assert sums == pytest.approx({'ann': seconds, '(free)': seconds, '(unobserved)': 0}, abs=0.01)
    assert sums['(unobserved)'] == 0  # without rounding errors
    assert '(unobserved)' not in report_text(report, 'table')
    report = report_of(tmp_path / 'a.db', since=0, until=120)
    assert (report.since, report.until) == (BEGIN, BEGIN + 120)
    assert report.total.unobserved == pytest.approx(2 * (120 - seconds), abs=0.01)
    assert report_of(tmp_path / 'a.db', since=0).since == BEGIN
    assert report_of(tmp_path / 'a.db', until=120).until == BEGIN + 120


def test_the_first_sample_of_a_reopened_recording_counts(tmp_path: Path) -> None:
    machine = SimpleMachine(1, start=BEGIN)
    machine.run(1)
    recorder = Recorder(str(tmp_path / 'a.db'), interval_seconds=10)
    for _ in range(3):
        recorder.write(machine.sample(10))
    shutil.move(str(tmp_path / 'a.db'), str(tmp_path / 'b.db'))
    recorder.reopen()
    recorder.write(machine.sample(10))
    recorder.close()
    report = report_of(tmp_path / 'a.db')
    assert (report.total.used, report.until - report.since) == (10, 10)


def test_a_recording_that_is_being_written_ends_with_its_last_minute(tmp_path: Path) -> None:
    machine = SimpleMachine(1, start=BEGIN + 5)
    machine.run(1)
    recorder = Recorder(str(tmp_path / 'a.db'), interval_seconds=10)
    for _ in range(13):
        recorder.write(machine.sample(10))
    report = report_of(tmp_path / 'a.db')
    recorder.close()
    assert (report.since, report.until) == (BEGIN + 15, BEGIN + 120)
    assert (report.total.used, report.total.unobserved) == (105, 0)


def test_time_that_was_observed_after_the_end_of_a_run_counts(tmp_path: Path) -> None:
    machine = SimpleMachine(2, start=BEGIN)
    samples = [machine.sample(10) for _ in range(7)]
    machine.set(1, status='lost')
    record(tmp_path / 'a.db', [*samples, *(machine.sample(10) for _ in range(3))], 10)
    with contextlib.closing(sqlite3.connect(str(tmp_path / 'a.db'))) as db, db:
        db.execute('UPDATE run SET ended = ?', ((BEGIN + 70) * 1000,))
    assert report_of(tmp_path / 'a.db').until == BEGIN + 100


@pytest.mark.parametrize('started', ['started', '0'])
def test_the_period_is_that_of_all_recordings(tmp_path: Path, started: str) -> None:
    machine = SimpleMachine(1, start=BEGIN)
    for name in ('a.db', 'b.db'):
        record(tmp_path / name, [machine.sample(10) for _ in range(3)], 10)
        machine.sample(600)
    with contextlib.closing(sqlite3.connect(str(tmp_path / 'b.db'))) as db, db:
        db.execute(f'UPDATE run SET started = {started}')
    report = report_of(tmp_path / 'a.db', tmp_path / 'b.db')
    assert (report.since, report.until) == (BEGIN + 10, BEGIN + 660)


def arranged(report: Report, order: str = 'hours', top: int | None = None) -> list[str]:
    """Return the first texts of the arranged rows."""
    return [row.key[0] for row in arrange(report, order, top, ()).rows]


def test_rows_are_sorted_and_cut_without_losing_time(recorded: Path) -> None:
    report = report_of(recorded, until=2 * HOUR)
    special = ['(unobserved)', '(free)']
    assert arranged(report) == ['ann', 'bob', *special]
    assert arranged(report, 'held-idle')[:2] == ['bob', 'ann']
    assert arranged(report, 'memory')[:2] == ['bob', 'ann']
    assert arranged(report, 'utilization')[:2] == ['bob', 'ann']
    assert arranged(report, 'energy')[:2] == ['ann', 'bob']
    cut = arrange(report, 'hours', 1, ())
    names = [('ann',), ('(1 other)',), *((name,) for name in special)]
    assert [row.key for row in cut.rows] == names
    assert cut.total.seconds == pytest.approx(report.total.seconds)
    only = arrange(report, 'hours', None, ['bob'])
    assert [row.key[0] for row in only.rows] == ['bob', '(unobserved)']
    assert {*ORDERS} == {'hours', 'used', 'held-idle', 'energy', 'memory', 'utilization', 'name'}


def test_rows_of_unknown_utilization_are_last() -> None:
    sums = {
        'busy': Sums(used=1.0, kernels=0.9, measured=1.0),
        'idle': Sums(used=1.0, kernels=0.0, measured=1.0),
        'unknown': Sums(used=1.0),
    }
    rows = tuple(Row((name,), value, True) for name, value in sums.items())
    report = Report(0.0, 1.0, ('user',), rows, (), 1)
    assert arranged(report, 'utilization') == ['idle', 'busy', 'unknown']
    assert arranged(report, 'utilization', 1) == ['idle', '(2 others)']


@pytest.mark.parametrize(('hours', 'apart'), [(1.0, 0.4), (24.0, 150.0)])
def test_gpus_with_the_same_hours_are_in_order_of_their_indices(hours: float, apart: float) -> None:
    seconds = {'10': hours * HOUR + apart, '9': hours * HOUR, '3': hours * HOUR + 3 * 360, '8': 0.1}
    rows = tuple(Row((gpu,), Sums(used=used), True) for gpu, used in seconds.items())
    report = Report(0.0, 2 * hours * HOUR, ('gpu',), rows, (), 4)
    for order in ('hours', 'used'):
        assert arranged(report, order) == ['3', '9', '10', '8']


def at(after: float) -> str:
    """Return the time some hours after the beginning of the example."""
    return format_time(BEGIN + after * HOUR)[:-3]


TABLE = """\
GPU usage of gpu07  2 GPUs  {begin} to {end}

USER          GPU-HOURS      %   USED h   HELD h  UTIL  PEAK GiB  ENERGY Wh  JOBS
ann             1:22:30   34.4  1:22:30            73%       1.0      412.5     1
bob             1:07:30   28.1  0:07:30  1:00:00    7%      60.0      137.5     1
(unobserved)    1:00:00   25.0
(free)          0:30:00   12.5                                      50.0
(total)         4:00:00  100.0            1:30:00  1:00:00   40%      60.0      600.0     2
"""


@pytest.mark.parametrize(
    ('until', 'joules', 'texts'),
    [
        (36_000, 3.6e6, '0.3 3.3 0.3 1.00'),
        (35_999, 3.6e6 - 360, '0:20:00 3.3 0:20:00 999.9'),
        (35_999, 180, '0:20:00 3.3 0:20:00 0.1'),
        (35_999, 179, '0:20:00 3.3 0:20:00 <0.1'),
    ],
)
def test_small_tables_have_small_units(until: float, joules: float, texts: str) -> None:
    table = Table(('user',))
    table.add(Sums(1200, joules=joules), 'ann')
    report = Report(0, until, ('user',), table.rows(), ('gpu07',), 1)
    lines = report_text(report, 'table').splitlines()
    assert 'HELD h' not in lines[-2]  # which nobody has
    values = lines[-1].split()
    assert values == ['ann', *texts.split()]


def test_tables_leave_out_only_little_time_without_a_user() -> None:
    table = Table(('user',))
    table.add(Sums(0.6), 'ann')
    table.add(Sums(-1.0), 'bob')  # the file is damaged
    table.add(Sums(free=0.2), '')
    report = Report(0.25, 0.75, ('user',), table.rows(), ('gpu07',), 1)
    lines = report_text(report, 'table', with_total=True).splitlines()
    assert re.search(r' \d\d:\d\d:00 to \d\d:\d\d:01$', lines[0])  # one day; never without a length
    assert [line.split()[:2] for line in lines[3:]] == [
        ['ann', '0:00:01'],
        ['bob', '0:00:00'],
        ['(total)', '0:00:00'],
    ]


def test_tables_csv_and_json_have_the_same_numbers(recorded: Path) -> None:
    report = arrange(report_of(recorded, until=2 * HOUR), 'hours', None, ())
    table = report_text(report, 'table', with_total=True)
    assert [line.split() for line in table.splitlines()] == [
        line.split() for line in TABLE.format(begin=at(0), end=at(2)).splitlines()
    ]
    document = json.loads(report_text(report, 'json'))
    assert document['since'] == '2023-11-14T22:14:00Z'
    ann = {
        'gpu_hours': 1.375,
        'used_gpu_hours': 1.375,
        'held_idle_gpu_hours': 0.0,
        'allocated_unused_gpu_hours': 0.0,
        'free_gpu_hours': 0.0,
        'unobserved_gpu_hours': 0.0,
        'mean_utilization_percent': 73.33,
        'peak_memory_bytes': 1 << 30,
        'energy_kwh': 0.4125,
        'jobs': 1,
    }
    assert document['rows'][0] == {'user': 'ann', **ann}
    assert document['total']['gpu_hours'] == 4.0
    lines = list(csv.DictReader(io.StringIO(report_text(report, 'csv', with_total=True))))
    assert lines[0] == {'user': 'ann', **{name: str(value) for name, value in ann.items()}}
    assert lines[-1]['user'] == '(total)'


def test_tables_have_short_ids_of_jobs_as_the_monitor() -> None:
    table = Table(('job',))
    for job in ('pod 5c1d0a52-84f3-4d1b-9a52-6f3f2f1f7c10', f'docker {"0123456789ab" * 6:.64}'):
        table.add(Sums(1200), 'ann', job=job)
    report = Report(0, 3600, ('job',), table.rows(), ('a',), 1)
    text = report_text(report, 'table')
    assert ' pod 5c1d0a52 ' in text
    assert ' docker 0123456789ab ' in text
    assert all(row.key[0] in report_text(report, 'csv') for row in report.rows)


@pytest.mark.parametrize(('width', 'shown'), [(0, 'JOBS'), (100, 'JOBS'), (80, 'ENERGY Wh')])
def test_tables_have_the_width_of_the_terminal(width: int, shown: str) -> None:
    table = Table(('user', 'job'))
    job = f'unit {"long-" * 6}name.service'
    table.add(Sums(1200, held_idle=9, joules=1e6, peak_bytes=1e10), 'ann', job=job)
    text = report_text(
        Report(0, 3600, ('user', 'job'), table.rows(), ('a',), 1), 'table', width=width
    )
    lines = text.splitlines()[2:]
    assert lines[0].endswith(shown)
    assert (job in text) == (width == 0)
    assert not width or max(map(len, lines)) == width
    assert ' 0:20:09 ' in lines[1]


def test_simulated_machines_are_marked_and_not_added_to_real_ones(
    recorded: Path, tmp_path: Path
) -> None:
    path = tmp_path / 'demo.db'
    record(path, (sample._replace(simulated='half-busy') for sample in example(5)))
    report = report_of(path)
    assert report_text(report, 'table').startswith(' GPU usage of gpu07  2 GPUs  ')
    assert '  [SIMULATED]\n' in report_text(report, 'table')
    assert json.loads(report_text(report, 'json'))['simulated'] == 'half-busy'
    (first, *_) = csv.DictReader(io.StringIO(report_text(report, 'csv')))
    assert first['simulated'] == 'half-busy'
    with pytest.raises(RecordingError, match='is of a simulated machine'):
        report_of(path, recorded)


@pytest.mark.skipif(not hasattr(time, 'tzset'), reason='needs time.tzset')
def test_days_are_rows_in_local_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TZ', 'Europe/Berlin')
    time.tzset()
    midnight = time.mktime((2026, 10, 25, 0, 0, 0, 0, 0, -1))  # the day has 25 hours
    machine = SimpleMachine(2, start=midnight - HOUR)
    machine.free(1)
    machine.run(1)
    record(tmp_path / 'a.db', [machine.sample(HOUR / 2) for _ in range(60)], HOUR / 2)
    report = report_of(tmp_path / 'a.db', by='day,user')
    assert hours(report) == {
        ('2026-10-24', 'ann'): (0.5, 0, 0, 0),
        ('2026-10-24', '(free)'): (0, 0, 0.5, 0),
        ('2026-10-24', '(unobserved)'): (0, 0, 0, 0),
        ('2026-10-25', 'ann'): (25, 0, 0, 0),
        ('2026-10-25', '(free)'): (0, 0, 25, 0),
        ('2026-10-25', '(unobserved)'): (0, 0, 0, 0),
        ('2026-10-26', 'ann'): (4, 0, 0, 0),
        ('2026-10-26', '(free)'): (0, 0, 4, 0),
        ('2026-10-26', '(unobserved)'): (0, 0, 0, 0),
    }
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(('utilization', 'has_note'), [(9, False), (50, True)])
def test_a_note_explains_rows_with_memory_but_without_time(
    tmp_path: Path, utilization: int, has_note: bool
) -> None:
    machine = SimpleMachine(1, start=BEGIN)
    machine.set(0, gpu_utilization_percent=utilization)
    machine.run(1, **percent('ann', utilization))
    machine.run(2, **percent('carol', 0, gpu_memory_bytes=40 << 30))
    record(tmp_path / 'a.db', [machine.sample(10) for _ in range(60)])
    text = report_text(report_of(tmp_path / 'a.db'), 'table')
    assert ('A row without GPU-HOURS' in text) == has_note
    assert re.search(r'carol +0:0[09]:\d\d', text)


def test_memory_that_is_held_without_use_is_listed() -> None:
    machine = SimpleMachine(2, start=BEGIN)
    idle = percent('bob', 0, gpu_memory_bytes=60 << 30, gpu_idle_seconds=7200.0)
    machine.run(1, 0, **idle, is_idle_longer=True)
    machine.run(2, 0, **percent('ann', 0, gpu_idle_seconds=599.0))
    machine.run(3, 1, **percent('carol', 0, gpu_idle_seconds=600.0, gpu_memory_bytes=1 << 34))
    machine.run(4, 1, **percent('', 0, status='gone', gpu_memory_bytes=2 << 30))
    machine.run(5, 1, **percent('', None, status='foreign', gpu_memory_bytes=2 << 30))  # unknown
    lines = held_text([machine.sample()]).splitlines()
    assert [re.sub('  +', '  ', line.strip()) for line in lines] == [
        'GPU memory held without being used: 78.0 GiB  at 2023-11-14 22:14',
        '',
        'USER  HOST  GPU  MEM GiB  IDLE SINCE  COMMAND',
        'bob  gpu07  0  60.0  before 2023-11-14 20:14  python3 train.py',
        'carol  gpu07  1  16.0  2023-11-14 22:04  python3 train.py',
        '(unknown)  gpu07  1  2.0  2023-11-14 21:14  python3 train.py',
        '',
        'Left out, because their utilization is unknown: 1 process.',
    ]
    assert held_text([machine.sample()], width=60).splitlines()[3].endswith('  python3 tr..')
    bob = held_text([machine.sample(), machine.sample(3600)], ['bob'])
    assert bob.splitlines()[0].endswith(': 120.0 GiB  at 2023-11-14 22:14 to 2023-11-14 23:14')
    machine.processes.clear()
    assert held_text([machine.sample()]).startswith(' No GPU memory was held')


@pytest.mark.parametrize(
    ('text', 'begin', 'end'),
    [
        ('last month', '2026-10-01', '2026-11-01'),
        ('Last  Week', '2026-11-16', '2026-11-23'),
        ('yesterday', '2026-11-23', '2026-11-24'),
        ('today', '2026-11-24', None),
        ('this month', '2026-11-01', None),
        ('2026-11-01', '2026-11-01', None),
        ('-7d', '2026-11-17 12:00', None),
    ],
)
def test_periods_have_names(text: str, begin: str, end: str | None) -> None:
    def seconds(day: str) -> float:
        form = '%Y-%m-%d %H:%M' if ' ' in day else '%Y-%m-%d'
        return time.mktime(time.strptime(day, form))

    expected = seconds(begin), None if end is None else seconds(end)
    assert parse_moment(text, seconds('2026-11-24 12:00')) == expected


def test_the_demo_needs_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(['--demo'])
    assert 'nvitop record --demo -o FILE' in capsys.readouterr().err


def test_the_command_prints_a_table_and_accepts_negative_times(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(recorded)
    period = ['--since', at(0), '--until', at(2)]
    assert main([path, *period, '--user', 'ann']) == 0
    output = capsys.readouterr()
    assert '\n ann 1:22:30 34.4 1:22:30 ' in re.sub(' +', ' ', output.out)
    assert output.err == ''
    assert main([path, *period, '--user', 'anne']) == 0
    assert "no GPU time of user 'anne' in this period" in capsys.readouterr().err
    assert main([path, '--since', '-7d']) == 1
    assert main(['--since', '-2d', '--until', '-1d', path]) == 1
    assert 'nothing was recorded in this period' in capsys.readouterr().err
    assert main([path, '--held']) == 0
    assert 'held' in capsys.readouterr().out


def test_files_that_cannot_be_read_are_reported_and_others_are_counted(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(recorded, tmp_path / 'good.db')
    record(tmp_path / 'newer.db', example(1))
    db = sqlite3.connect(str(tmp_path / 'newer.db'))
    db.execute('PRAGMA user_version = 99')
    db.close()
    (tmp_path / 'other.txt').write_text('hello\n')
    (tmp_path / 'cut.db').write_bytes((tmp_path / 'good.db').read_bytes()[:5000])
    names = ('good.db', 'newer.db', 'other.txt', 'none.db', 'cut.db')
    assert main([str(tmp_path / name) for name in names]) == 1
    output = capsys.readouterr()
    assert '\n ann ' in output.out
    assert 'newer.db was written by a newer version' in output.err
    for name in ('other.txt', 'none.db', 'cut.db'):
        assert name in output.err
    assert main([str(tmp_path / 'other.txt')]) == 1
    assert main([str(tmp_path / 'none.db'), '--held']) == 1
    assert 'Traceback' not in capsys.readouterr().err


def test_mig_devices_are_rows_of_their_gpu(tmp_path: Path) -> None:
    machine = SimpleMachine(1, start=BEGIN - INTERVAL)
    machine.devices.append(mig(machine.devices[0], 0, '3g.40gb'))
    machine.run(1, 1, gpu_sm_utilization_percent=None)
    record(tmp_path / 'a.db', [machine.sample(INTERVAL) for _ in range(121)])
    report = report_of(tmp_path / 'a.db', by='gpu')
    assert hours(report) == {'0:0': (0.4286, 0, 0, 0), '0': (0, 0, 0.5714, 0)}
    (row,) = (row for row in report.rows if row.key == ('0:0',))
    assert row.sums.utilization_percent is None
