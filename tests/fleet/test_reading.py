"""Hosts, GPUs and users from responses."""

from __future__ import annotations

import math
import re
from typing import Callable

import pytest

from nvitop import simulation
from nvitop.fleet.demo import MIXED, Cluster, DemoServer
from nvitop.fleet.host import read_history, read_host
from nvitop.fleet.output import VIEWS, fleet_text
from nvitop.fleet.queries import (
    Scope,
    gpus_query,
    hosts_query,
    jobs_query,
    matches,
    of_server,
    parse_filter,
    users_query,
)
from nvitop.fleet.reading import natural, read_fleet, read_jobs
from nvitop.fleet.series import ROW, Matcher, parse_selector, quoted
from nvitop.fleet.source import Question, ask
from nvitop.fleet.types import Fleet, FleetGpu, FleetHost, Series, remember, totals
from nvitop.health import KINDS, findings, is_wrong
from nvitop.sampling import LiveSource

NOW = 1_795_000_000.0
UUID = 'GPU-11111111-2222-3333-4444-555555555555'


def demo_fleet(hosts: int, **scope: object) -> Fleet:
    server = DemoServer(Cluster(hosts, dialects=MIXED), clock=lambda: NOW)
    return ask(server, Question('hosts', Scope(**scope)), clock=lambda: NOW)  # type: ignore[arg-type]


def only(hosts: tuple[FleetHost, ...]) -> FleetHost:
    (host,) = hosts
    return host


def texts(host: FleetHost) -> list[str]:
    return [problem.text for problem in host.problems]


def row(name: str, value: float, mark: str = '', **labels: str) -> Series:
    return Series(name, {**labels, ROW: mark} if mark else labels, value)


def test_two_exporters_of_one_gpu_are_one_host_and_counted_once() -> None:
    series = [
        row('nvitop_gpu_utilization_ratio', 0.5, instance='10.0.0.7:9101', uuid=UUID, gpu='0'),
        row('nvitop_gpu_memory_used_bytes', 2**30, instance='10.0.0.7:9101', uuid=UUID),
        row('nvitop_gpu_power_usage_watts', 300, 'sum', instance='10.0.0.7:9101'),
        row('DCGM_FI_DEV_GPU_UTIL', 49, instance='x:9400', Hostname='node7', UUID=UUID, gpu='0'),
        row('DCGM_FI_DEV_POWER_USAGE', 301, 'sum', instance='x:9400', Hostname='node7'),
    ]
    host = only(read_fleet(series, Scope(), NOW).hosts)
    assert host.name == 'node7'
    assert [gpu.utilization_percent for gpu in host.gpus] == [50]
    assert host.power_watts == 300
    assert {one.dialect for one in host.exporters} == {'own', 'dcgm'}


def test_nan_and_inf_values_are_left_out() -> None:
    labels = {'instance': 'a:1', 'uuid': UUID, 'gpu': '0'}
    series = [
        row('nvitop_gpu_utilization_ratio', math.nan, **labels),
        row('nvitop_gpu_memory_used_bytes', math.inf, **labels),
        row('nvitop_gpu_up', 0, 'down', **labels),
    ]
    host = only(read_fleet(series, Scope(), NOW).hosts)
    assert host.utilization_percent is None
    assert host.memory_used_bytes is None
    assert texts(host) == ['GPU 0 not responding']


def test_all_warnings_and_missing_gpus_are_findings() -> None:
    labels = {'instance': 'a:1', 'uuid': UUID, 'gpu': '0'}
    series = [
        row('nvitop_gpu_health', 2, 'health', **labels, kind='remap_pending'),
        row('nvitop_gpu_health', 3, 'health', **labels, kind='recovery_needed'),
        row('nvitop_gpu_health', 2, 'health', **labels, kind='of_a_newer_version'),
        row('nvitop_gpu_health', 2, 'health', **labels, kind='thermal_slowdown'),
        row('nvitop_gpu_health', 3, 'health', **labels, kind='hot'),
        row('nvitop_gpu_missing', 1, 'missing', instance='a:1', pci_bus_id='0000:5a:00.0'),
        row('nvitop_gpu_missing', 1, 'missing', instance='a:1'),
    ]
    host = only(read_fleet(series, Scope(), NOW).hosts)
    assert host.faulty == 3
    assert texts(host) == [
        'GPU 0 to recover',
        'GPU 0 hot',
        'GPU ? missing: 0000:5a:00.0',
        'GPU ? missing: unknown bus ID',
        'GPU 0 with pending row remapping',
        'GPU 0 of_a_newer_version',
    ]
    assert host.severity == 'critical'
    assert only(read_fleet(series[:1], Scope(), NOW).hosts).severity == 'warning'


def test_a_sleeping_gpu_has_no_values_and_no_findings() -> None:
    labels = {'instance': 'a:1', 'uuid': UUID, 'gpu': '0'}
    series = [
        row('nvitop_gpu_utilization_ratio', 0.5, **labels),
        row('nvitop_gpu_asleep', 1, 'asleep', instance='a:1', gpu='1'),
    ]
    host = only(read_fleet(series, Scope(), NOW).hosts)
    assert [gpu.is_asleep for gpu in host.gpus] == [False, True]
    assert (host.problems, host.free, host.utilization_percent) == ((), 1, 50.0)
    for query in (hosts_query(Scope()), gpus_query(Scope(), 'utilization')):
        assert 'nvitop_gpu_asleep' in query


def test_findings_are_queried_whatever_their_kind() -> None:
    query = hosts_query(Scope())
    kinds = re.search(r'kind!~"([a-z_|]+)"', query)
    assert kinds
    asked = {kind for kind in KINDS if not re.fullmatch(kinds[1], kind)}
    with simulation.machine('faults', processes='fixed'):
        found = findings(LiveSource().complete_sample())
    assert {f.kind for f in filter(is_wrong, found)} - {'lost'} <= asked
    assert 'nvitop_gpu_missing' in query


def test_hosts_that_vanish_stay_without_values() -> None:
    before = demo_fleet(3)
    after = remember(before.hosts, Fleet(before.hosts[:2], timestamp=NOW + 10))
    assert [host.gone_since for host in after.hosts] == [None, None, NOW + 10]
    assert remember(after.hosts, Fleet(before.hosts[:2], timestamp=NOW + 20)).hosts == after.hosts
    sums = totals(after.hosts, NOW + 10)
    assert (sums.hosts, sums.gone, sums.gpus) == (2, 1, 16)


def test_users_are_counted_over_hosts() -> None:
    server = DemoServer(Cluster(20, dialects=('own', 'nvitop-exporter')), clock=lambda: NOW)
    users = ask(server, Question('users')).users
    assert {user.name for user in users} <= {'alice', 'bob', 'carol', 'dave', 'erin', 'frank'}
    assert users[0].gpus >= users[-1].gpus > 0
    assert all(user.processes == user.gpus for user in users)
    # Each process has 30 to 76 GiB. One exporter reports bytes, the other MiB.
    sizes = [(user.memory_bytes or 0) / user.gpus / 2**30 for user in users]
    assert 28 < min(sizes) <= max(sizes) < 77


@pytest.mark.parametrize('place', range(4))
def test_host_becomes_a_sample(place: int) -> None:
    server = DemoServer(Cluster(4, dialects=MIXED), clock=lambda: NOW)
    host = ask(server, Question()).hosts[place]
    response, _ = server.query(Question('host', host=host))
    sample = read_host(response.series, host, NOW)
    assert sample.host.hostname == host.name
    found = [device.gpu_utilization_percent for device in sample.devices]
    assert found == [gpu.utilization_percent for gpu in host.gpus]
    memory = [device.memory_percent or 0.0 for device in sample.devices]
    assert sum(memory) / len(memory) == pytest.approx(host.memory_percent, abs=1)


def test_history_has_the_devices_of_the_sample_and_values_of_the_past() -> None:
    server = DemoServer(Cluster(4, dialects=MIXED), clock=lambda: NOW)
    for host in ask(server, Question()).hosts:
        values, _ = server.query(Question('host', host=host))
        sample = read_host(values.series, host, NOW)
        past = server.query_range(Question('history', host=host), NOW - 60, NOW, 30)
        history = read_history(past, sample)
        assert [moment for moment, _ in history] == [NOW - 60, NOW - 30, NOW]
        for _, earlier in history:
            assert [one.key for one in earlier.devices] == [one.key for one in sample.devices]
        last = [one.gpu_utilization_percent for one in history[-1][1].devices]
        assert last == [one.gpu_utilization_percent for one in sample.devices]


def test_filter_becomes_quoted_matchers() -> None:
    filters = parse_filter('host:a".*} user:bob gpu:3 model:h100 x')
    assert filters == (
        ('host', 'a".*}'),
        ('user', 'bob'),
        ('gpu', '3'),
        ('model', 'h100'),
        ('host', 'x'),
    )
    query = hosts_query(Scope(filters=filters))
    assert r'instance=~"(?i).*a\"\\.\\*\\}.*"' in query
    assert 'nvitop_user_gpu_processes' in query
    assert 'modelName' not in query  # only exporters that know users are queried


def test_filter_uses_an_info_series_only_if_other_series_lack_the_label() -> None:
    query = hosts_query(Scope(filters=(('model', 'h100'),)))
    found = re.findall(r'and on \([^)]*\) {__name__=~"(\w*)",name=~', query)
    assert set(found) == {'nvitop_gpu_info'}
    assert 'modelName=~"(?i).*h100.*"' in query


@pytest.mark.parametrize('text', ['', 'a', 'user:bob', 'gpu:3', 'model:h100 a'])
def test_age_is_that_of_the_values_with_any_filter(text: str) -> None:
    """In PromQL, only ``timestamp`` of a plain selector is the time of the values."""
    labels = (('own', 'host'), ('dcgm', 'Hostname'))
    query = hosts_query(Scope(filters=parse_filter(text), used_labels=labels))
    assert set(re.findall(r'timestamp\((.)', query)) == {'{'}


def test_filter_for_a_job_matches_its_number_or_a_part_of_its_name() -> None:
    query = jobs_query(Scope(filters=parse_filter('job:ml/train-0')))
    assert 'owner_id="ml/train-0"' in query
    assert 'owner_name=~"(?i).*ml/train-0.*"' in query
    assert 'hpc_job="ml/train-0"' in query
    for labels in (
        'namespace=~{},pod=~{},exported_pod=""',
        'exported_namespace=~{},exported_pod=~{}',
    ):
        assert labels.format('"(?i).*ml.*"', '"(?i).*train-0.*"') in query


def test_filter_restricts_the_simulated_cluster() -> None:
    hosts = demo_fleet(40, filters=(('host', 'gpu0007'),)).hosts
    assert [host.name for host in hosts] == ['gpu0007']


def test_selector_is_parsed_and_quoted() -> None:
    matchers = parse_selector(r'{cluster="a\"b", rack=~"r[12]"}')
    assert matchers == (Matcher('cluster', '=', 'a"b'), Matcher('rack', '=~', 'r[12]'))
    assert str(matchers[0]) == r'cluster="a\"b"'
    assert quoted('a\\"\n') == r'"a\\\"\n"'
    with pytest.raises(ValueError, match='expected'):
        parse_selector('{cluster="a"} or vector(1)')


def test_gpus_without_values_count_and_pauses_are_not_held() -> None:
    def labels(number: int) -> dict[str, str]:
        return {'hostname': 'a', 'gpu': str(number), 'uuid': f'GPU-{number}'}

    series = [
        row('nvitop_gpu_up', 1, 'silent', **labels(0)),
        *(row('nvitop_gpu_utilization_ratio', 0.0, **labels(number)) for number in (1, 2, 3, 4)),
        *(row('nvitop_gpu_memory_used_bytes', 2**33, **labels(number)) for number in (1, 2)),
        row('nvitop_gpu_utilization_ratio', 0.0, 'recent', **labels(2)),
        row('nvitop_gpu_health', 3, 'health', **labels(4), kind='reset_needed'),
    ]
    host = only(read_fleet(series, Scope(), NOW).hosts)
    assert [gpu.state for gpu in host.gpus] == ['unknown', 'held', 'in use', 'free', 'free']
    assert (host.free, host.held, host.idle) == (1, 1, 3)
    sums = totals((host,), NOW)
    assert (sums.gpus, sums.free, sums.faulty, sums.critical) == (5, 1, 1, 1)


def test_jobs_span_hosts_and_sessions_do_not() -> None:
    def owner(host: str, kind: str, number: str, name: str = '', user: str = 'ann') -> Series:
        labels = {'owner_kind': kind, 'owner_id': number, 'owner_name': name, 'user': user}
        uuid = f'GPU-{host}'
        return row('nvitop_gpu_owner_info', 1, 'owner', hostname=host, uuid=uuid, **labels)

    pod = {'Hostname': 'c', 'UUID': 'GPU-c', 'namespace': 'dcgm', 'pod': 'exporter'}
    series = [
        owner('a', 'slurm', '42'),
        owner('b', 'slurm', '42', user='bob'),
        owner('a', 'tmux', '7'),
        owner('b', 'tmux', '7'),
        owner('a', 'jupyter', '8', 'my try.ipynb'),
        owner('c', 'pod', '5ba385ca', 'ml/train-0'),
        row(
            'DCGM_FI_DEV_GPU_UTIL',
            3,
            'owner',
            **pod,
            exported_namespace='ml',
            exported_pod='train-0',
        ),
        row('DCGM_FI_DEV_GPU_UTIL', 3, 'owner', Hostname='d', UUID='GPU-d', hpc_job='43'),
        row('DCGM_FI_DEV_GPU_UTIL', 3, 'owner', Hostname='e', UUID='GPU-e'),
        row('nvitop_gpu_utilization_ratio', 0.6, hostname='a', uuid='GPU-a'),
        row('nvitop_gpu_utilization_ratio', 0.0, hostname='b', uuid='GPU-b'),
        row('nvitop_gpu_utilization_ratio', 0.0, 'idle', hostname='b', uuid='GPU-b'),
    ]
    jobs = read_jobs(series, Scope(), NOW).jobs
    assert [(job.name, job.hosts, job.filter) for job in jobs] == [
        ('slurm 42', ('a', 'b'), 'job:42'),
        ('nb my try.ipynb', ('a',), 'job:try.ipynb host:a'),
        ('pod', ('e',), ''),
        ('pod ml/train-0', ('c',), 'job:ml/train-0'),
        ('slurm 43', ('d',), 'job:43'),
        ('tmux server 7', ('a',), 'job:7 host:a'),
        ('tmux server 7', ('b',), 'job:7 host:b'),
    ]
    job = jobs[0]
    assert (job.gpus, job.held_gpus, job.utilization_percent) == (2, 1, 30)
    assert job.users == ('ann', 'bob')


@pytest.mark.parametrize('query', [hosts_query, users_query, jobs_query])
def test_users_and_jobs_on_mig_devices_are_queried(query: Callable[[Scope], str]) -> None:
    selectors = re.findall(r'{__name__=~"([^"]*)"([^}]*)}', query(Scope()))
    found = {names: rest for names, rest in selectors if 'user' in names or 'owner' in names}
    assert found
    assert not any(found.values())


def test_free_gpus_are_filtered_here_and_not_by_the_server() -> None:
    filters = parse_filter('free:2 gpu0 free:many free:')
    assert filters == (('free', '2'), ('host', 'gpu0'), ('host', 'free:many'))
    assert of_server(filters) == filters[1:]
    host = FleetHost('GPU01', gpus=2 * (FleetGpu('x', utilization_percent=0.0),))
    assert matches(host, filters[:2])
    assert not matches(host, (('free', '3'),))
    assert not matches(host, (('host', 'Gpu'),))


@pytest.mark.parametrize('query', [jobs_query, users_query])
def test_jobs_and_users_are_queried_for_each_gpu(query: Callable[[Scope], str]) -> None:
    groups = re.findall(r' by \(([^)]*)\)', query(Scope()))
    assert groups
    assert all({'uuid', 'UUID', 'gpu'} <= {*group.split(', ')} for group in groups)


def test_each_number_in_a_name_is_sorted_as_a_number() -> None:
    names = ['rack10-gpu1', 'rack9-gpu10', 'rack9-gpu9', 'rack9']
    assert sorted(names, key=natural) == names[::-1]


TABLES = {
    'hosts': """\
HOST     GPUS  UTIL       MEMORY       POWER  TEMP  FREE  HELD  AGE  USERS    PROBLEMS
gpu0001     8   64%  242/640 GiB  3.8/5.6 kW  59°C     0     0   9s  alice""",
    'gpus': """\
HOST     GPU  STATE    UTIL     MEMORY  POWER  TEMP  USERS  PROBLEMS
gpu0001    0  busy      64%  30/80 GiB  472 W  55°C  alice""",
    'users': """\
USER   HOSTS  GPUS  HELD  PROCESSES   MEMORY
dave       2    12     0         12  536 GiB""",
    'jobs': """\
JOB           USERS         GPUS  HELD  UTIL  HOSTS
slurm 41005   alice, frank    16     0   67%  gpu0001 +1""",
    'problems': """\
HOST     GPU  SEVERITY  PROBLEM
gpu0007    3  critical  not responding""",
}


@pytest.mark.parametrize('name', VIEWS)
def test_tables_have_units(name: str) -> None:
    server = DemoServer(Cluster(9), clock=lambda: 1e6)
    fleet = ask(server, Question(VIEWS[name].kind, metric=''), clock=lambda: 1e6 + 9)
    lines = fleet_text(fleet, 'table', name).splitlines()
    start = lines.index(TABLES[name].partition('\n')[0])
    assert '\n'.join(lines[start : start + 2]) == TABLES[name]
    assert (start == 1) == (VIEWS[name].kind == 'hosts')  # below the totals
