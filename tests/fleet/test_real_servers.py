"""Prometheus and VictoriaMetrics with 1,000 hosts, and the way from the exporter to the screens."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import pathlib
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Iterator

import psutil
import pytest

from nvitop.console.options import Options
from nvitop.fleet.client import Client
from nvitop.fleet.demo import MIXED, Cluster, DemoServer
from nvitop.fleet.host import read_history, read_host
from nvitop.fleet.queries import Scope, parse_filter
from nvitop.fleet.settings import make_settings
from nvitop.fleet.source import Pace, Question, ask, used_labels
from nvitop.fleet.types import Fleet, totals
from nvitop.gui.fleet.command import state_of
from nvitop.gui.fleet.data import FleetState
from nvitop.gui.fleet.state import question_of, update_fleet
from nvitop.gui.state.events import FleetArrived, KeyPressed
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from tests.fleet.servers import (
    STEP,
    environment,
    exposition,
    fill_victoria,
    free_port,
    program,
    prometheus,
    query,
    recent,
    victoria,
    wait_for,
)

if TYPE_CHECKING:
    from nvitop.gui.state.app_state import AppState
    from tests.e2e.pseudoterminal import Pseudoterminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program('prometheus') is None, reason='NOT INSTALLED: prometheus'),
]
HOSTS = 1000
KEYS = 200
#: Its times show how busy the machine is.
ECHO = [
    sys.executable,
    '-c',
    'import os, tty; tty.setraw(0)\nwhile True: os.write(1, os.read(0, 10))',
]
NVITOP = [sys.executable, '-m', 'nvitop']


class Data:
    """A cluster, and the moment of its last values."""

    def __init__(self) -> None:
        self.cluster = Cluster(HOSTS, dialects=MIXED)
        now = time.time()
        # No host restarts at this moment.
        self.moment = now - now % STEP
        if self.moment % 180 >= 120:
            self.moment -= 60


@functools.lru_cache(maxsize=None)
def expected(data: Data, question: Question) -> Fleet:
    """Return the response of the simulated server, which takes its time."""
    return ask(DemoServer(data.cluster, clock=lambda: data.moment), question)


@pytest.fixture(scope='module')
def data() -> Data:
    return Data()


@pytest.fixture(scope='module')
def url(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp('prometheus')
    with prometheus(folder, exposition(recent(data.cluster, data.moment))) as found:
        yield found


def values(fleet: Fleet) -> list[object]:
    return [
        [
            host.name,
            [round(gpu.utilization_percent or 0, 6) for gpu in host.gpus],
            round(host.memory_used_bytes or 0, -6),
            round(host.memory_total_bytes or 0, -6),
            round(host.power_watts or 0, 3),
            host.temperature_celsius,
            host.users,
            [problem.text for problem in host.problems],
        ]
        for host in fleet.hosts
    ]


def counts(fleet: Fleet) -> list[object]:
    return [
        *((user.name, user.hosts, user.gpus, user.held_gpus) for user in fleet.users),
        *((job.name, job.users, job.hosts, job.gpus, job.held_gpus) for job in fleet.jobs),
    ]


def check_all_questions(url: str, data: Data) -> float:
    """Compare all responses with the cluster; return the median time of the query of hosts."""
    client = Client(make_settings({'url': url}))
    seconds = []
    for _ in range(3):
        fleet = ask(client, Question())
        seconds.append(fleet.seconds)
    assert client.requests == 3
    assert values(fleet) == values(expected(data, Question()))
    assert {round(host.measured or 0) for host in fleet.hosts} == {data.moment}
    scope = Scope(used_labels=used_labels(fleet))
    for text in (
        'host:gpu0007',
        'gpu:3',
        'model:H100',
        'user:bob host:gpu00',
        'job:41005',
        'job:train-7',
        'a"b',
    ):
        filtered = Question('hosts', scope._replace(filters=parse_filter(text)))
        hosts = ask(client, filtered).hosts
        assert {host.measured for host in hosts} <= {data.moment}
        assert [host.name for host in hosts] == [
            host.name for host in expected(data, filtered).hosts
        ], text
    for kind in ('users', 'jobs'):
        question = Question(kind)
        assert counts(ask(client, question)) == counts(expected(data, question))
    for metric in ('', 'memory', 'power'):
        gpus = ask(client, Question('gpus', metric=metric)).hosts
        assert sum(len(host.gpus) for host in gpus) == 8 * HOSTS
    for host in fleet.hosts[:4]:
        response, _ = client.query(Question('host', host=host))
        sample = read_host(response.series, host, time.time())
        found = [device.gpu_utilization_percent for device in sample.devices]
        assert found == [round(gpu.utilization_percent or 0) for gpu in host.gpus]
        end = data.moment + 1
        past = client.query_range(Question('history', host=host), end - 120, end, STEP)
        assert len(read_history(past, sample)) >= 3
    client.close()
    return statistics.median(seconds)


def test_prometheus_answers_all_questions(url: str, data: Data) -> None:
    seconds = check_all_questions(url, data)
    print(f'\nPrometheus, {HOSTS} hosts: {seconds:.2f} s for the query of hosts with its reading')


def test_victoria_metrics_answers_all_questions(data: Data, tmp_path: pathlib.Path) -> None:
    if program('victoria-metrics') is None:
        pytest.skip('NOT INSTALLED: victoria-metrics')
    with victoria(tmp_path) as url:
        fill_victoria(url, exposition(recent(data.cluster, data.moment), milliseconds=True))
        seconds = check_all_questions(url, data)
    print(f'\nVictoriaMetrics, {HOSTS} hosts: {seconds:.2f} s')


def answered_by_fleet(fleet: Fleet) -> AppState:
    state = state_of(FleetState(server='demo'), Options())._replace(width=160, height=40)
    event = FleetArrived(question_of(state), fleet, totals(fleet.hosts, fleet.timestamp), Pace())
    return update_fleet(state, event)[0]


def read_until_quiet(terminal: Pseudoterminal, seconds: float) -> str:
    """Return the output until there is none for a time."""
    return b''.join(iter(lambda: terminal.read(seconds), b'')).decode('utf-8', 'replace')


def milliseconds(terminal: Pseudoterminal, key: bytes) -> float:
    """Return the time from a key to the first output."""
    started = time.perf_counter()
    terminal.type(key)
    assert terminal.read(10)
    return 1000 * (time.perf_counter() - started)


def times_of_keys(
    terminal: Pseudoterminal, other: Pseudoterminal, request_every: int = 0
) -> tuple[list[float], list[float]]:
    """Return the times of keys in nvitop, and of keys in a program on another terminal."""
    times, echoes = [], []
    for number in range(KEYS):
        if request_every and number % request_every == 0:
            terminal.type('r')
            read_until_quiet(terminal, 0.03)
        times.append(milliseconds(terminal, b'\x1b[B' if number % 40 < 20 else b'\x1b[A'))
        read_until_quiet(terminal, 0.01 + 0.002 * (number % 11))
        echoes.append(milliseconds(other, b'x'))
    return times, echoes


def summary(times: list[float]) -> str:
    times = sorted(times)
    late = times[int(0.99 * len(times))]
    return f'median {statistics.median(times):.1f} ms, p99 {late:.1f} ms'


@pytest.mark.skipif(sys.platform == 'win32', reason='needs a pseudo-terminal')
def test_keys_are_fast_and_memory_is_small(url: str) -> None:
    """Some keys meet a request or the reading of its response: as many as in use, then more."""
    monitor = [*NVITOP, 'fleet', '--prometheus', url, '--interval', '1']
    from tests.e2e.pseudoterminal import Pseudoterminal  # POSIX only

    variables = environment(TERM='xterm-256color')
    start = functools.partial(Pseudoterminal, columns=160, rows=50, environment=variables)
    with start(monitor) as terminal, start(ECHO) as other:
        output, deadline = '', time.monotonic() + 60
        while 'gpu0001' not in output:
            assert time.monotonic() < deadline, output[-2000:]
            output += read_until_quiet(terminal, 0.2)
        terminal.type(b'\x1b[B')  # select the first host
        read_until_quiet(terminal, 0.2)
        usual, echoes = times_of_keys(terminal, other)
        often, _ = times_of_keys(terminal, other, request_every=80)
        memory = psutil.Process(terminal.process.pid).memory_info().rss / 2**20
    print(f'\nkeys: {summary(usual)}; {memory:.0f} MiB of memory')
    print(f'keys with a request every two seconds: {summary(often)}')
    print(f'a program that only echoes keys, in the same time as the first: {summary(echoes)}')
    assert memory < 80


@pytest.mark.skipif(sys.platform == 'win32', reason='needs signals')
def test_from_the_exporter_to_the_hosts(tmp_path: pathlib.Path) -> None:
    """Simulated machines → exporter → Prometheus → fleet: the numbers are those of nvitop query."""
    with contextlib.ExitStack() as stack:
        targets = {}
        scenarios = {'half-busy': ('own', 'dcgm'), 'mig': ('own',), 'dgx-h100': ('own',)}
        for scenario, names in scenarios.items():
            port = free_port()
            targets[scenario] = f'localhost:{port}'
            address = f'--listen=127.0.0.1:{port}'
            command = [*NVITOP, 'exporter', '--demo', scenario, '--interval', '1', address]
            command += ['--hostname', scenario, '--names', ','.join(names)]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment())
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
        jobs = ','.join(
            f'{{targets: ["{target}"], labels: {{node: {scenario}}}}}'
            for scenario, target in targets.items()
        )
        config = (
            'global: {scrape_interval: 1s}\n'
            f'scrape_configs: [{{job_name: gpus, static_configs: [{jobs}]}}]\n'
        )
        url = stack.enter_context(prometheus(tmp_path, config=config))
        wait_for(lambda: len(query(url, 'count(nvitop_gpu_up) by (node)')) == 3, 'all machines')
        client = Client(make_settings({'url': url, 'host_label': 'node'}))
        fleet = ask(client, Question(scope=Scope(host_label='node')))
        client.close()
    assert [host.name for host in fleet.hosts] == ['dgx-h100', 'half-busy', 'mig']
    sick, host, mig = fleet.hosts
    assert [problem.text for problem in sick.problems] == ['GPU 5 with pending row remapping']
    state = answered_by_fleet(fleet)
    for keys in ((), ('!',)):  # the list, and all problems
        shown = functools.reduce(
            lambda one, key: update_fleet(one, KeyPressed(key))[0], keys, state
        )
        lines = draw_frame(shown, History()).lines()
        assert any('dgx-h100' in line and 'GPU 5 with pending' in line for line in lines)
    assert {'ann', 'bob'} <= {*mig.users}  # on MIG devices only
    assert {one.dialect for one in host.exporters} == {'own', 'dcgm'}
    fields = 'uuid,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu'
    command = [*NVITOP, 'query', '--demo', 'half-busy', f'--gpu={fields}']
    command += ['--format', 'csv,noheader,nounits']
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment()).stdout
    rows = list(csv.reader(io.StringIO(text.decode()), skipinitialspace=True))
    assert len(host.gpus) == len(rows)
    for gpu, row in zip(host.gpus, rows):
        assert gpu.id == row[0].lower().replace('gpu-', '')
        assert gpu.utilization_percent == pytest.approx(float(row[1]))
        assert gpu.memory_used_bytes == float(row[2]) * 2**20
    totals = [sum(float(row[place]) for row in rows) for place in (2, 3, 4)]
    assert host.memory_total_bytes == totals[1] * 2**20
    assert host.memory_used_bytes == totals[0] * 2**20
    assert host.power_watts == pytest.approx(totals[2], rel=1e-3)
