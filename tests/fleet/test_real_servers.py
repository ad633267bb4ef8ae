"""A real Prometheus with hosts of both kinds, and the way from the exporter to the screens."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import time
from typing import Any, Iterator

import pytest

from nvitop.exporter.dialects import Observation, SeriesOptions
from nvitop.exporter.families import make_families
from nvitop.fleet.client import Client, make_settings
from nvitop.fleet.source import HostSource, PrometheusSource
from nvitop.fleet.types import Fleet, FleetHost, Series
from nvitop.gui.fleet.command import main
from nvitop.sampling.types import Demand, HostSample, Sample
from tests.fleet.servers import (
    environment,
    exposition,
    free_port,
    program,
    prometheus,
    query,
    wait_for,
)
from tests.sampling.fakes import device_sample, process_sample

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program('prometheus') is None, reason='NOT INSTALLED: prometheus'),
]
NVITOP = [sys.executable, '-m', 'nvitop']
GIB = 1 << 30
#: Utilization of the GPUs of a host.
GPUS = (80, 0, 80, 0, 80, 0, 80, 0)
#: Seconds between two values of a host.
STEP = 60
#: Host → names, and the minutes ago in which it had values.
HOSTS = {
    'own': (('own',), range(20)),
    'both': (('own', 'dcgm'), range(20)),
    'old-dcgm': (('dcgm',), range(20)),
    'new-dcgm': (('dcgm',), range(4)),
    'down': (('own',), range(20, 30)),
    'left': (('own',), range(30, 40)),
    'forgotten': (('own',), range(80, 90)),
}


def page(name: str, seconds: float, percents: tuple[int, ...]) -> Sample:
    """Return a host whose GPUs are in use, the first one by a process."""
    values: dict[str, Any] = {
        'power_usage_mw': 300_000,
        'temperature_celsius': 50,
        'memory_reserved_bytes': 0,
    }
    devices = []
    for index, percent in enumerate(percents):
        device = device_sample(
            index,
            gpu_utilization_percent=percent,
            memory_used_bytes=20 * GIB,
            memory_free_bytes=60 * GIB,
            **values,
        )
        key = device.key._replace(uuid=f'GPU-{name}-{index}')
        info = device.info._replace(key=key, uuid=key.uuid, memory_total_bytes=80 * GIB)
        devices.append(device._replace(key=key, info=info))
    process = process_sample(
        7, username='ann', gpu_memory_bytes=20 * GIB, gpu_sm_utilization_percent=80
    )
    process = process._replace(key=process.key._replace(device=devices[0].key))
    return Sample(
        time.time() - seconds,
        host=HostSample(hostname=name),
        devices=tuple(devices),
        processes=(process,),
    )


def series_of(
    name: str, dialects: tuple[str, ...], seconds: float, percents: tuple[int, ...] = (80, 0)
) -> Iterator[Series]:
    """Yield the series of a host whose exporter has these names, of some seconds ago."""
    for dialect in dialects:
        observation = Observation(page(name, seconds, percents), SeriesOptions(processes=True))
        target = {'instance': f'{name}:{dialect}', 'job': 'gpus'}
        for family in make_families([dialect], observation):
            for point in family.points:
                yield Series(family.name, {**point.labels, **target}, point.value)


def history() -> Iterator[tuple[float, list[Series]]]:
    now = time.time() - 5
    for minute in reversed(range(100)):
        series: list[Series] = []
        for name, (dialects, minutes) in HOSTS.items():
            if minute in minutes:
                series += series_of(name, dialects, STEP * minute)
            if minute in minutes or name == 'down':
                target = {'instance': f'{name}:{dialects[0]}', 'job': 'gpus'}
                series.append(Series('up', target, float(minute in minutes)))
        series.append(Series('up', {'instance': 'db:5432', 'job': 'postgres'}, 0.0))
        yield now - STEP * minute, series


@pytest.fixture(scope='module')
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prometheus(tmp_path_factory.mktemp('both'), exposition(history())) as url:
        yield url


def source_of(url: str, **settings: object) -> PrometheusSource:
    made = make_settings({'url': url, 'timeout': 30, **settings})
    return PrometheusSource(Client(made), made.scope)


def named(fleet: Fleet) -> dict[str, FleetHost]:
    return {host.name: host for host in fleet.hosts}


def test_hosts_of_both_kinds(url: str) -> None:
    fleet = source_of(url).read()
    hosts = named(fleet)
    assert [*hosts] == ['both', 'down', 'left', 'new-dcgm', 'old-dcgm', 'own']
    kinds = {name: host.kind for name, host in hosts.items() if not host.is_silent}
    assert kinds == {'both': 'own', 'own': 'own', 'new-dcgm': 'dcgm', 'old-dcgm': 'dcgm'}
    for name in kinds:
        host = hosts[name]
        assert (len(host.gpus), host.power_watts, host.utilization_percent) == (2, 600, 40)
        assert (host.memory_used_bytes, host.memory_total_bytes) == (40 * GIB, 160 * GIB)
        assert host.age_seconds is not None
        assert host.age_seconds < 30
    assert [gpu.state for gpu in hosts['old-dcgm'].gpus] == ['busy', 'held']
    assert [gpu.state for gpu in hosts['new-dcgm'].gpus] == ['busy', 'in use']
    assert [gpu.state for gpu in hosts['own'].gpus] == ['busy', 'in use']
    assert [(user.name, user.gpus) for user in fleet.users] == [('ann', 2)]


def test_hosts_whose_exporter_is_down_are_judged(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = named(source_of(url).read())
    assert [problem.text for problem in hosts['down'].problems] == ['not responding']
    assert hosts['left'].is_silent
    assert [problem.text for problem in hosts['left'].problems] == ['no longer scraped']
    assert main([url, '-1', '--fail-on', 'critical']) == 1
    assert 'not responding' in capsys.readouterr().out
    assert main([url, '-1', '--fail-on', 'critical', '--filter', 'both']) == 0
    assert main([url, '-1', '--jobs', '--filter', 'nosuch']) == 1
    assert "no host matches the filter 'nosuch'" in capsys.readouterr().err


@pytest.mark.parametrize('name', ['own', 'old-dcgm'])
def test_one_host_has_samples_and_a_past(url: str, name: str) -> None:
    fleet = source_of(url)
    source = HostSource(fleet, named(fleet.read())[name])
    sample = source.sample(Demand())
    assert [device.gpu_utilization_percent for device in sample.devices] == [80, 0]
    assert (len(sample.processes), sample.host.hostname) == (int(name == 'own'), name)
    age = time.time() - sample.timestamp
    assert age == pytest.approx(named(fleet.read())[name].age_seconds, abs=5)
    past = source.past()
    assert len(past) > 60
    assert past[-1].monotonic <= sample.monotonic
    assert {device.key for device in past[-1].devices} == {d.key for d in sample.devices}
    assert past[-1].devices[0].memory_used_bytes == 20 * GIB


def test_selector_and_label_of_the_user_apply(url: str) -> None:
    hosts = named(source_of(url, match='{instance=~"o.*"}', host_label='instance').read())
    assert [*hosts] == ['old-dcgm:dcgm', 'own:own']


def test_a_thousand_hosts_are_read_in_one_short_request(tmp_path: pathlib.Path) -> None:
    now = time.time() - 5
    moments = (
        (now - ago, [row for n in range(1000) for row in series_of(f'g{n}', ('own',), ago, GPUS)])
        for ago in (30, 15, 0)
    )
    with prometheus(tmp_path, exposition(moments)) as url:
        source = source_of(url)
        started = time.monotonic()
        fleet = source.read()
        seconds = time.monotonic() - started
    print(f'\n{len(fleet.hosts)} hosts: {fleet.size_bytes / 1e6:.1f} MB in {seconds:.1f} s')
    assert sum(len(host.gpus) for host in fleet.hosts) == 8000
    assert seconds < 30


@pytest.mark.skipif(sys.platform == 'win32', reason='needs signals')
def test_from_the_exporter_to_the_hosts(tmp_path: pathlib.Path) -> None:
    """Simulated machines → exporter → Prometheus → fleet: the numbers are those of nvitop query."""
    names = {'half-busy': 'own', 'mig': 'own', 'dgx-h100': 'dcgm'}
    with contextlib.ExitStack() as stack:
        targets = []
        for scenario, dialect in names.items():
            port = free_port()
            targets.append({'targets': [f'localhost:{port}'], 'labels': {'node': scenario}})
            command = [*NVITOP, 'exporter', '--demo', scenario, '--interval', '1']
            command += [f'--listen=127.0.0.1:{port}', f'--names={dialect}']
            command += ['--hostname', scenario]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment())
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
        scrapes = [{'job_name': 'gpus', 'static_configs': targets}]
        config = {'global': {'scrape_interval': '1s'}, 'scrape_configs': scrapes}
        url = stack.enter_context(prometheus(tmp_path, config=json.dumps(config)))
        values = '{__name__=~"nvitop_gpu_up|DCGM_FI_DEV_GPU_TEMP"}'
        wait_for(lambda: len(query(url, f'count by (node) ({values})')) == 3, 'all machines')
        fleet = source_of(url, host_label='node').read()
    hosts = named(fleet)
    assert {name: host.kind for name, host in hosts.items()} == names
    assert {'ann', 'bob'} <= {*hosts['mig'].users}  # on MIG devices only
    assert any(':' in gpu.label for gpu in hosts['mig'].gpus)
    fields = 'uuid,utilization.gpu,memory.used,power.draw,temperature.gpu'
    command = [*NVITOP, 'query', '--demo=half-busy', f'--gpu={fields}']
    command.append('--format=csv,noheader,nounits')
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment()).stdout
    rows = [line.split(', ') for line in text.decode().splitlines()]
    gpus = hosts['half-busy'].gpus
    assert [gpu.id for gpu in gpus] == [row[0] for row in rows]
    for gpu, row in zip(gpus, rows):
        assert gpu.utilization_percent == pytest.approx(float(row[1]))
        assert gpu.memory_used_bytes == float(row[2]) * 2**20
