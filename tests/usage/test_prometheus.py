"""``nvitop usage --prometheus``: the hours of a cluster from the counters of its exporters."""

from __future__ import annotations

import math
import pathlib
from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.exporter.dialects import Observation, SeriesOptions
from nvitop.exporter.families import make_families
from nvitop.exporter.pages import DELAY_SECONDS, UsageCounters
from nvitop.fleet.client import Client, make_settings
from nvitop.fleet.series import Scope
from nvitop.fleet.types import FleetError, PastValues, Series
from nvitop.recording.recorder import RECORDED, Recorder
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Sample
from nvitop.usage.command import main
from nvitop.usage.prometheus import read_prometheus
from nvitop.usage.recordings import read_report
from tests.clock import Clock
from tests.fleet.servers import exposition, program, prometheus
from tests.usage.reports import HOUR, hours


class FakeClient:
    """A server with the same rows in each part of a period."""

    def __init__(self, *rows: tuple[str, dict[str, str], float]) -> None:
        self._rows = rows
        self.parts: list[tuple[float, float, float]] = []

    def values_over_time(
        self, expression: str, start: float, end: float, step: float
    ) -> list[PastValues]:
        self.parts.append((start, end, step))
        number = round((end - start) / step) + 1
        return [
            PastValues('', {**labels, 'nvitop_row': mark}, tuple([(start, value)] * number))
            for mark, labels, value in self._rows
        ]


A = {'instance': 'a:9836'}
ANN = {**A, 'user': 'ann'}
ROWS = (
    ('gpus', A, 2.0),
    ('used', ANN, 10 * HOUR),
    ('held_idle', ANN, 2 * HOUR),
    ('measured', ANN, 20 * HOUR),
    ('kernels', ANN, 5 * HOUR),
    ('joules', ANN, 3.6e6),
    ('peak_bytes', ANN, 5.0),
    ('used', {**A, 'user': '(unknown)'}, HOUR),
    ('free', A, 20 * HOUR),
    ('free joules', A, math.nan),
    ('peak_bytes', {**A, 'user': '(unknown)'}, math.nan),
    ('gpus', A, math.inf),
    ('', A, 1.0),  # not a row of the query
    ('jobs', ANN, 1.0),
)


def test_rows_of_all_parts_are_added() -> None:
    client: Any = FakeClient(*ROWS)
    report = read_prometheus(client, Scope(), 0, 2.5 * 86400, ('user',))
    assert client.parts == [(86400, 172800, 86400), (216000, 216000, 43200)]
    assert hours(report) == {
        'ann': (30, 6, 0, 0),
        '(unknown)': (3, 0, 0, 0),
        '(free)': (0, 0, 60, 0),
        '(unobserved)': (0, 0, 0, 21),
    }
    assert report.total.seconds == 2 * 2.5 * 86400
    (ann,) = (row.sums for row in report.rows if row.key == ('ann',))
    assert (ann.utilization_percent, ann.joules, ann.peak_bytes) == (25.0, 3 * 3.6e6, 5.0)
    assert (report.gpus, report.hosts) == (2, ('a',))


def test_a_host_is_known_by_its_name_at_any_address() -> None:
    host = {'hostname': 'gpu07', 'user': 'ann'}
    rows = [
        ('gpus', {'hostname': 'gpu07', 'instance': '10.0.0.1:9836'}, 2.0),
        ('used', {**host, 'instance': '10.0.0.1:9836'}, 3 * HOUR),
        ('used', {**host, 'instance': '10.0.0.2:9836'}, HOUR),
    ]
    client: Any = FakeClient(*rows)
    assert read_prometheus(client, Scope(), 0, 86400, ('user',)).hosts == ('gpu07',)
    assert hours(read_prometheus(client, Scope(), 0, 86400, ('host', 'user'))) == {
        ('gpu07', 'ann'): (4, 0, 0, 0),
        ('gpu07', '(unobserved)'): (0, 0, 0, 44),
    }
    with_label = read_prometheus(client, Scope(host_label='instance'), 0, 86400, ('user',))
    assert with_label.hosts == ('10.0.0.1',)


def test_a_server_without_counters_is_an_error() -> None:
    with pytest.raises(FleetError, match='no counters'):
        read_prometheus(FakeClient(), Scope(), 0, 60, ('user',))  # type: ignore[arg-type]


def test_a_server_that_does_not_respond_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['--prometheus', 'http://127.0.0.1:1']) == 1
    assert 'no server at http://127.0.0.1:1' in capsys.readouterr().err


#: A machine whose hours are known: ann uses 3/4 of GPU 0 and bob 1/4, carol has GPU 1 for an hour and runs no kernel.
KNOWN = """
[host]
name = "a"
[[gpu]]
count = 2
model = "A100"
[[process]]
gpus = [0]
user = "ann"
command = ["python3", "a.py"]
memory = "10 GiB"
sm = 60
[[process]]
gpus = [0]
user = "bob"
command = ["python3", "b.py"]
memory = "10 GiB"
sm = 20
[[process]]
gpus = [1]
user = "carol"
command = ["python3", "c.py"]
memory = "40 GiB"
until = 3600
"""
#: Seconds between samples, and number of samples: 2 hours.
INTERVAL, COUNT = 15.0, 480


class Simulated:
    """Two hours of a simulated machine, recorded and exported, and its own energy counters."""

    def __init__(self, scenario: str | Any, folder: pathlib.Path) -> None:
        self.moments: list[tuple[float, list[Series]]] = []
        recorder = Recorder(str(folder / 'a.db'), interval_seconds=INTERVAL)
        counters = UsageCounters(2.5 * INTERVAL)
        clock = Clock()
        samples: list[Sample] = []
        with simulation.machine(scenario, clock=clock, sleep=clock.turn):
            source = LiveSource(clock=clock, wall_clock=lambda: 1.7e9 + clock.now, sleep=clock.turn)
            for number in range(COUNT + 1 + int(DELAY_SECONDS / INTERVAL)):
                clock.turn(INTERVAL)
                sample = source.sample(RECORDED)
                if number <= COUNT:
                    recorder.write(sample)
                    samples.append(sample)
                counters.add(sample)
                observation = Observation(sample, SeriesOptions(), usage=counters.totals())
                self.moments.append((sample.timestamp, list(_series(observation))))
        recorder.close()
        first, last = samples[0], samples[-1]
        self.since, self.until = first.timestamp, last.timestamp
        self.joules: float = sum(
            (after.total_energy_joules or 0) - (before.total_energy_joules or 0)
            for before, after in zip(first.devices, last.devices)
            if not after.key.is_mig
        )


def _series(observation: Observation) -> Iterator[Series]:
    # A simulated machine next to the real ones, and two scrape jobs for each of these.
    demo = {'hostname': 'demo', 'job': 'nvitop', 'instance': 'demo:9836'}
    yield Series('nvitop_simulation_info', {**demo, 'scenario': 'half-busy'}, 1.0)
    yield Series('nvitop_gpu_up', {**demo, 'gpu': '0', 'uuid': 'GPU-demo'}, 1.0)
    for family in make_families(['own'], observation):
        prefix = family.name.split('_')[1]
        if family.name == 'nvitop_gpu_up' or prefix in ('user', 'owner', 'free'):
            for point in family.points:
                for job, instance in (('nvitop', 'a:9836'), ('second', '10.0.0.1:9836')):
                    labels = {**point.labels, 'job': job, 'instance': instance}
                    yield Series(family.name, labels, point.value)


@pytest.mark.slow
@pytest.mark.skipif(program('prometheus') is None, reason='NOT INSTALLED: prometheus')
@pytest.mark.parametrize('scenario', ['known', 'mig', 'dgx-h100'])
def test_recordings_and_prometheus_agree_with_the_truth(
    scenario: str, tmp_path: pathlib.Path
) -> None:
    known = simulation.parse_scenario(KNOWN, name='known')
    data = Simulated(known if scenario == 'known' else scenario, tmp_path)
    recorded = read_report([str(tmp_path / 'a.db')], data.since, data.until + 60, ('user',))
    assert not recorded.problems
    with prometheus(tmp_path, exposition(data.moments)) as url:
        client = Client(make_settings({'url': url}))
        until = data.until + DELAY_SECONDS
        scraped = read_prometheus(client, Scope(), data.since, until, ('user',))
    assert (len(scraped.hosts), scraped.simulated) == (1, '')
    found = {row.key[0]: row.sums for row in scraped.rows}
    for row in recorded.rows:
        if row.key == ('(unobserved)',):
            continue
        for name in ('used', 'held_idle', 'free', 'joules', 'kernels', 'measured'):
            value, other = getattr(row.sums, name), getattr(found[row.key[0]], name)
            assert other == pytest.approx(value, rel=0.01, abs=20), (row.key, name)
        # Recordings know it by command, exporters by user.
        assert row.sums.peak_bytes <= 1.01 * found[row.key[0]].peak_bytes
    assert recorded.total.joules == pytest.approx(data.joules, rel=0.01)
    assert scraped.total.joules == pytest.approx(data.joules, rel=0.01)
    if scenario == 'known':
        truth = {
            'ann': (1.5, 0),
            'bob': (0.5, 0),
            'carol': (585 / HOUR, 3015 / HOUR),
            '(free)': (0, 0),
        }
        for report in (recorded, scraped):
            sums = {row.key[0]: row.sums for row in report.rows}
            for user, (used, held) in truth.items():
                assert sums[user].used / HOUR == pytest.approx(used, rel=0.03, abs=1e-6)
                assert sums[user].held_idle / HOUR == pytest.approx(held, rel=0.01, abs=1e-6)
            assert sums['(free)'].free / HOUR == pytest.approx(1, rel=0.01)
