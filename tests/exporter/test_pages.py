"""Pages are made from the last sample, and never have old values."""

from __future__ import annotations

import gzip
import sys

import psutil
import pytest

from nvitop.exporter.exposition import OPENMETRICS, TEXT
from nvitop.exporter.pages import Pages
from nvitop.exporter.state import KEPT_SECONDS, MAX_USERS, UserTime
from nvitop.exporter.tables import SeriesOptions
from nvitop.sampling.types import DeviceKey, Problem, Sample
from tests.clock import Clock
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
    pages.write(sample_at(clock.now))
    clock.turn(15)
    assert b'nvitop_gpu_temperature_celsius' in pages.page(TEXT)
    clock.turn(0.1)
    page = pages.page(TEXT)
    assert b'temperature_celsius' not in page
    assert b'nvitop_gpu_up{gpu="0"' in page
    assert b'reason="no sample for 15 s"' in page
    assert b'nvitop_last_collect_success 0\n' in page


def test_without_a_sample_there_is_a_page_about_the_exporter() -> None:
    pages, _ = made()
    assert not pages.has_sample
    assert b'nvitop_last_collect_success 0\n' in pages.page(TEXT)


def test_pages_have_the_series_of_a_process_that_exporters_share() -> None:
    pages, _ = made()
    found = dict(
        line.split() for line in pages.page(TEXT).decode().splitlines() if line[:8] == 'process_'
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
    plain = pages.page(TEXT)
    assert pages.page(TEXT) is plain
    assert gzip.decompress(pages.page(TEXT, is_compressed=True)) == plain
    assert pages.page(OPENMETRICS).endswith(b'# EOF\n')
    pages.write(sample_at(clock.now, 2))
    assert pages.page(TEXT) is not plain


def test_failures_of_the_driver_are_counted() -> None:
    pages, clock = made()
    problem = Problem('driver', 'initialization', 'Driver Not Loaded', 'error')
    for number in (1, 2):
        pages.write(sample_at(clock.now, number, problems=(problem,), devices=()))
    page = pages.page(TEXT)
    assert b'nvitop_collect_failures_total 2\n' in page
    assert b'nvitop_last_collect_success 0\n' in page


def test_user_time_is_added_for_each_gpu() -> None:
    users = UserTime(longest=15.0)
    other = DeviceKey(1, -1, 'GPU-other')
    first = process_sample(1, username='ada')
    second = process_sample(2, username='ada')
    second = second._replace(key=second.key._replace(device=other))
    for now in (100.0, 105.0, 105.0, 110.0, 200.0):
        users.add(sample_at(now, processes=(first, first, second)))
    # Nothing is known about the 90 seconds without a sample.
    assert users.totals() == {'ada': 20.0}


@pytest.mark.parametrize('count', [1, MAX_USERS + 5])
def test_users_are_forgotten(count: int) -> None:
    users = UserTime(longest=1e9)
    users.add(
        sample_at(1.0, processes=tuple(process_sample(n, username=f'u{n}') for n in range(count)))
    )
    assert len(users.totals()) == min(count, MAX_USERS)
    users.add(sample_at(2.0 + KEPT_SECONDS))
    assert users.totals() == {}
