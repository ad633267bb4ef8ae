"""Pages are made from the last sample, and never have old values; sinks pass samples on."""

from __future__ import annotations

import gzip
import pathlib
import sys
import threading
import time
from typing import Any

import psutil
import pytest

from nvitop.exporter.command import recorded_xids
from nvitop.exporter.dialects import SeriesOptions
from nvitop.exporter.pages import (
    DELAY_SECONDS,
    KEPT_SECONDS,
    MAX_HOLDERS,
    Pages,
    TextFile,
    UsageCounters,
)
from nvitop.owner.types import Owner
from nvitop.recording.recorder import Recorder
from nvitop.sampling.types import DeviceEvent, Problem, Sample
from tests.clock import Clock
from tests.exporter.serving import make_pages
from tests.sampling.fakes import device_sample, process_sample


def sample_at(now: float, number: int = 1, **values: object) -> Sample:
    device = device_sample(temperature_celsius=40)
    sample = Sample(now, monotonic=now, sequence=number, processes_monotonic=now, devices=(device,))
    return sample._replace(**values)  # type: ignore[arg-type]


def made(interval: float = 5.0) -> tuple[Pages, Clock]:
    clock = Clock()
    return Pages(['own'], SeriesOptions(), interval=interval, clock=clock), clock


def test_values_end_after_three_intervals_without_a_sample() -> None:
    pages, clock = made()
    assert b'nvitop_last_collect_success 0\n' in pages.page()
    user = b'nvitop_user_gpu_processes{user="ada"'
    sample = sample_at(clock.now, processes=(process_sample(1, username='ada'),))
    pages.write(sample)
    clock.turn(15)
    assert b'nvitop_gpu_temperature_celsius' in pages.page()
    assert user in pages.page()
    clock.turn(0.1)
    # Processes that are older than the values of their GPU.
    pages.write(sample._replace(monotonic=clock.now))
    assert b'nvitop_gpu_temperature_celsius' in pages.page()
    assert user not in pages.page()
    clock.turn(15.1)
    page = pages.page()
    assert b'temperature_celsius' not in page
    assert b'nvitop_gpu_up{gpu="0"' in page
    assert b'reason="no sample for 15 s"' in page
    assert b'nvitop_last_collect_success 0\n' in page


def test_pages_have_the_series_of_a_process_that_exporters_share() -> None:
    pages, _ = made()
    found = dict(
        line.split() for line in pages.page().decode().splitlines() if line[:8] == 'process_'
    )
    process = psutil.Process()
    assert float(found['process_start_time_seconds']) == process.create_time()
    seconds = float(found['process_cpu_seconds_total'])
    assert 0 < seconds < sum(process.cpu_times()[:2]) + 0.01
    memory = process.memory_info().rss
    assert float(found['process_resident_memory_bytes']) == pytest.approx(memory, rel=0.1)
    if sys.platform == 'linux':
        assert float(found['process_open_fds']) > 3


def test_pages_are_made_once_for_each_sample_and_format() -> None:
    pages, clock = made()
    pages.write(sample_at(clock.now))
    plain = pages.page()
    assert pages.page() is plain
    assert gzip.decompress(pages.page(is_compressed=True)) == plain
    pages.write(sample_at(clock.now, 2))
    assert pages.page() is not plain


def test_failures_of_the_driver_are_counted() -> None:
    pages, clock = made()
    problem = Problem('driver', 'initialization', 'Driver Not Loaded', 'error')
    for number in (1, 2):
        pages.write(sample_at(clock.now, number, problems=(problem,), devices=()))
    page = pages.page()
    assert b'nvitop_collect_failures_total 2\n' in page
    assert b'nvitop_last_collect_success 0\n' in page


def used(now: float, **values: Any) -> Sample:
    """Return a sample in which ada uses GPU 0 at 60 % and bob at 20 %, and GPU 1 is free."""
    gpu = device_sample(0, power_usage_mw=100_000)
    owner = Owner('slurm', '42', 'train')
    return sample_at(
        now,
        devices=(gpu, device_sample(1)),
        processes=(
            process_sample(1, username='ada', gpu_sm_utilization_percent=60, owner=owner),
            process_sample(2, username='bob', gpu_sm_utilization_percent=20),
        ),
    )._replace(**values)


ADA, BOB = (('user', 'ada'),), (('user', 'bob'),)


def test_owners_are_counted_on_request() -> None:
    counters = UsageCounters(15.0, owners=True)
    counters.add(used(100.0))
    # Nothing is known about the 90 seconds without a sample.
    for now in (105.0, 105.0, 195.0, 195.0 + DELAY_SECONDS):
        counters.add(used(now))
    owner = (('owner_kind', 'slurm'), ('owner_id', '42'), ('owner_name', 'train'))
    assert set(counters.totals()) == {ADA, ADA + owner, BOB, ()}
    assert [*counters.totals()[ADA + owner].values()] == [3.75, 0.0, 375.0, 3.0, 5.0]


def test_new_counters_begin_at_0_so_that_increases_are_complete() -> None:
    counters = UsageCounters(15.0)
    values = []
    for tick in range(20):
        counters.add(used(100.0 + 10 * tick))
        values.append(counters.totals().get(ADA, {'seconds': 0.0})['seconds'])
    late = int(DELAY_SECONDS / 10)
    assert values == [0.0] * late + [7.5 * tick for tick in range(20 - late)]
    assert ADA in counters.totals()


@pytest.mark.parametrize('count', [1, MAX_HOLDERS + 5])
def test_users_are_forgotten(count: int) -> None:
    counters = UsageCounters(1e9)
    processes = tuple(process_sample(n, username=f'u{n}') for n in range(count))
    counters.add(sample_at(0.0, processes=processes))
    counters.add(sample_at(1.0, processes=processes))
    assert len(counters.totals()) == min(count, MAX_HOLDERS)
    counters.add(sample_at(2.0 + KEPT_SECONDS))
    assert set(counters.totals()) == {()}


def test_text_file_is_written_again_after_failures(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = make_pages()
    directory = tmp_path / 'textfiles'
    directory.mkdir()
    path = directory / 'nvitop.prom'
    problems: list[str] = []
    textfile = TextFile(str(path), pages, problems.append)
    with monkeypatch.context() as patch:
        patch.setattr(pages, 'file_content', lambda: 1 // 0)
        textfile.replace()
    path.unlink()
    directory.rmdir()
    for _ in range(2):
        textfile.replace()
    directory.mkdir()
    textfile.replace()
    assert b'nvitop_build_info' in path.read_bytes()
    hangs = threading.Event()
    monkeypatch.setattr('nvitop.exporter.pages.WRITE_SECONDS', 0.05)
    with monkeypatch.context() as patch:
        patch.setattr(pages, 'file_content', hangs.wait)
        textfile.replace()
    hangs.set()
    assert problems == [
        f'{path} failed: ZeroDivisionError: integer division or modulo by zero',
        f'cannot write {path}: No such file or directory',
        f'cannot write {path}: the disk does not respond',
    ]
    textfile.close()
    assert not path.exists()


def test_last_xid_survives_a_restart_of_the_exporter_where_a_recorder_runs(
    tmp_path: pathlib.Path,
) -> None:
    path = str(tmp_path / 'record.db')
    assert recorded_xids([path, f'{path}.none']) == {}
    device = device_sample(0)
    device = device._replace(key=device.key._replace(uuid='GPU-1'))
    recorder = Recorder(path, interval_seconds=1.0, on_message=lambda *_: None)
    now = time.time()
    for second in range(4):
        moment = now - 30 + second
        xid = DeviceEvent(device.key, 'xid', 79, now - 29, moment, second)
        events = (xid, DeviceEvent(device.key, 'memory error', 0, moment)) if second else ()
        recorder.write(Sample(moment, second + 1.0, second + 1, devices=(device,), events=events))
    recorder.close()
    past = recorded_xids([path, f'{path}.none'])
    assert past == {('GPU-1', 79): pytest.approx(now - 27, abs=0.5)}
    pages = Pages(['own'], SeriesOptions(), interval=5.0, past_xids=past)
    pages.write(Sample(now, time.monotonic(), 1, devices=(device,)))
    text = pages.page().decode()
    assert 'nvitop_gpu_xid_last_seen_timestamp_seconds{gpu="0",uuid="GPU-1",xid="79"' in text
    assert 'nvitop_gpu_xid_errors_total' not in text
