"""Hosts from series, filters, and lists."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from nvitop.exporter.dialects import Observation, SeriesOptions
from nvitop.exporter.families import make_families
from nvitop.fleet.client import make_settings
from nvitop.fleet.demo import DemoSource
from nvitop.fleet.lists import (
    VIEWS,
    fleet_text,
    names_text,
    parse_filter,
    problems_of,
    select,
    sorted_rows,
)
from nvitop.fleet.reading import host_name, host_of_sample, read_fleet
from nvitop.fleet.series import ROW, Scope, fleet_query
from nvitop.fleet.types import Fleet, FleetHost, Series, totals
from nvitop.health import KINDS
from nvitop.remote.hosts import targets
from nvitop.sampling.types import ClaimSample, DeviceSample, Sample
from tests.exporter.machines import sample_of
from tests.sampling.fakes import device_sample, process_sample

NOW = 1_795_000_000.0
GIB = 2.0**30


def row(name: str, value: float, mark: str = '', **labels: str) -> Series:
    return Series(name, {**labels, ROW: mark} if mark else labels, value)


def read(*series: Series, scope: Scope | None = None) -> Fleet:
    return read_fleet(series, scope or Scope(), NOW)


def own(name: str, value: float, gpu: str = '0', **labels: str) -> Series:
    labels = {'hostname': 'n1', 'instance': 'n1:9836', 'job': 'gpus', **labels}
    return Series(f'nvitop_{name}', {'gpu': gpu, 'uuid': f'GPU-{gpu}', **labels}, value)


def dcgm(name: str, value: float, gpu: str = '0', mark: str = '', **labels: str) -> Series:
    labels = {'Hostname': 'n2', 'instance': 'n2:9400', 'job': 'dcgm', **labels}
    return row(f'DCGM_FI_{name}', value, mark, gpu=gpu, UUID=f'GPU-{gpu}', **labels)


def only(fleet: Fleet) -> FleetHost:
    (host,) = fleet.hosts
    return host


def read_sample(sample: Sample, *names: str) -> Fleet:
    """Return the hosts of an exporter's page."""
    options = SeriesOptions(owners=True)
    sample = sample._replace(simulated='')  # which has a series of its own
    series = [
        Series(family.name, {**point.labels, 'instance': 'x:1', 'job': 'gpus'}, point.value)
        for family in make_families(names, Observation(sample, options))
        for point in family.points
    ]
    return read(*series)


def test_values_of_both_kinds_are_the_same() -> None:
    sample = sample_of('dgx-h100', ('own', 'dcgm'))._replace(timestamp=NOW)
    mine, theirs = (only(read_sample(sample, name)) for name in ('own', 'dcgm'))
    both = only(read_sample(sample, 'own', 'dcgm'))
    assert (mine.kind, theirs.kind) == ('own', 'dcgm')
    assert both == mine
    assert len(mine.gpus) == len(theirs.gpus) == 8
    for host in (mine, theirs):
        assert host.power_watts == pytest.approx(
            sum((device.power_usage_mw or 0) / 1000 for device in sample.devices)
        )
        assert host.memory_total_bytes == pytest.approx(8 * 80 * GIB, rel=0.01)
    for first, second in zip(mine.gpus, theirs.gpus):
        assert (first.id, first.label, first.model) == (second.id, second.label, second.model)
        assert first.utilization_percent == pytest.approx(second.utilization_percent)
        assert first.memory_used_bytes == pytest.approx(second.memory_used_bytes)
        assert first.temperature_celsius == second.temperature_celsius


def test_exporter_that_two_jobs_read_counts_once() -> None:
    series = [
        own(name, value, job=job, **labels)
        for job in ('a', 'b')
        for name, value, labels in (
            ('gpu_memory_used_bytes', GIB, {}),
            ('user_gpu_memory_bytes', GIB, {'user': 'ann'}),
            ('user_gpu_processes', 2, {'user': 'ann'}),
        )
    ]
    fleet = read(*series)
    assert only(fleet).memory_used_bytes == GIB
    assert [(u.name, u.gpus, u.processes, u.memory_bytes) for u in fleet.users] == [
        ('ann', 1, 2, GIB)
    ]


def test_free_mig_devices_are_free() -> None:
    part = {'mig_uuid': 'MIG-1', 'gpu_instance': '1'}
    last = {'mig_uuid': 'MIG-2', 'gpu_instance': '2'}
    host = only(
        read(
            own('gpu_up', 1),
            own('gpu_state', 1, state='free'),
            own('gpu_temperature_celsius', 40),
            own('gpu_power_usage_watts', 300),
            own('gpu_health', 3, kind='hot'),
            own('gpu_state', 0, state='held', **part),
            own('gpu_state', 1, state='free', **part),
            own('gpu_state', 1, state='held', **last),
            own('gpu_up', 1, **last),
            own('gpu_up', 1, **part),
        )
    )
    assert [(gpu.label, gpu.state, gpu.temperature_celsius) for gpu in host.gpus] == [
        ('0:0', 'free', 40),
        ('0:1', 'held', 40),
    ]
    # Power is that of the GPU; one with a critical finding is not free.
    assert (host.power_watts, host.free, host.held) == (300, 0, 1)
    assert [(problem.gpu, problem.words, problem.severity) for problem in host.problems] == [
        ('0', KINDS['hot'].counted, 'critical')
    ]


@pytest.mark.parametrize(
    ('past', 'used', 'state'),
    [
        (0.0, 2 * GIB, 'held'),
        (80.0, 2 * GIB, 'in use'),
        (None, 2 * GIB, 'in use'),
        (0.0, 0, 'free'),
    ],
)
def test_nothing_is_held_before_ten_minutes_of_history(
    past: float | None, used: float, state: str
) -> None:
    series = [dcgm('DEV_GPU_UTIL', 0), dcgm('DEV_FB_USED', used / 2**20)]
    if past is not None:
        labels = {**series[0].labels, ROW: 'past'}
        series.append(Series('', labels, past))
    host = only(read(*series))
    assert [gpu.state for gpu in host.gpus] == [state]
    assert totals([host]).memory_used_bytes is None  # of an unknown total


def test_names_since_dcgm_exporter_4_9_have_the_same_values() -> None:
    before = (('GPU_UTIL', 50), ('FB_USED', 1024), ('FB_TOTAL', 8192), ('POWER_USAGE', 300))
    since = (
        ('GPU_UTIL_RATIO', 0.5),
        ('FB_USED_BYTES', 2.0**30),
        ('FB_CAPACITY_BYTES', 2.0**33),
        ('BOARD_POWER_WATTS', 300),
    )
    hosts = [only(read(*(dcgm(f'DEV_{name}', v) for name, v in rows))) for rows in (before, since)]
    assert hosts[0] == hosts[1]
    assert hosts[0].memory_total_bytes == 8 * GIB


def test_hosts_without_values_are_down_gone_or_forgotten() -> None:
    seen = {'hostname': 'n9', 'instance': 'n9:9836', 'job': 'gpus'}
    fleet = read(
        own('gpu_up', 1),
        own('last_collect_timestamp_seconds', NOW - 7),
        row('', NOW - 7, 'seen', hostname='n1', instance='n1:9836', job='gpus'),
        row('', NOW - 900, 'seen', **seen),
        row('', NOW - 300, 'seen', hostname='n8', instance='n8:9836', job='gpus'),
        row('', NOW - 60, 'seen', hostname='n7', instance='n7:9836', job='gpus'),
        row('up', 0, 'down', instance='n9:9836', job='gpus'),
        row('up', 0, 'down', instance='n6:9836', job='gpus'),
        row('up', 0, 'down', instance='db:5432', job='postgres'),
        row('up', 0, 'down', instance='n1:9400', job='gpus'),
        own('gpu_up', 1, hostname='a', instance='proxy:1'),
        own('gpu_up', 1, hostname='b', instance='proxy:2'),
        row('', NOW - 900, 'seen', hostname='c', instance='proxy:3', job='gpus'),
        row('up', 0, 'down', instance='proxy:3', job='gpus'),
        row('up', 0, 'down', instance='proxy:4', job='gpus'),
        row('up', 0, 'down', instance='n1:9401', job='gpus', host='n5'),
    )
    assert [(h.name, h.is_silent, problems_of(h), h.severity) for h in fleet.hosts] == [
        ('a', False, [], None),
        ('b', False, [], None),
        ('c', True, ['not responding for 15m'], 'critical'),
        ('n1', False, [], None),
        ('n5', True, ['not responding'], 'critical'),
        ('n6', True, ['not responding'], 'critical'),
        ('n8', True, ['no longer scraped for 5m'], 'warning'),
        ('n9', True, ['not responding for 15m'], 'critical'),
        ('proxy:4', True, ['not responding'], 'critical'),
    ]
    sums = totals(fleet.hosts)
    assert fleet.hosts[3].age_seconds == 7
    assert (sums.hosts, sums.hosts_not_responding, sums.problems) == (9, 6, 6)


def test_findings_of_a_gpu_are_each_listed_once() -> None:
    fleet = read(
        own('gpu_up', 0),
        own('gpu_up', 1, gpu='1'),
        own('gpu_health', 3, kind='lost'),
        own('gpu_health', 2, gpu='1', kind='hot'),
        own('gpu_health', 1, gpu='1', kind='power_cap'),
        own('gpu_missing', 1, pci_bus_id='0000:3d:00.0'),
        own('last_collect_success', 0),
        own('simulation_info', 1, scenario='mig'),
    )
    assert [(p.text, p.severity) for p in fleet.problems] == [
        ('GPU 0000:3d:00.0 missing', 'critical'),
        ('driver does not respond', 'critical'),
        ('GPU 0 not responding', 'critical'),
        ('simulated: these are not its GPUs', 'warning'),
        (f'GPU 1 {KINDS["hot"].counted}', 'warning'),
    ]
    assert [p.gpu for p in fleet.problems if p.is_hot] == ['1']


@pytest.mark.parametrize(
    ('age', 'state', 'severity'),
    [(119.0, 'free', None), (120.0, 'unknown', 'warning')],
)
def test_old_values_are_a_problem_and_do_not_say_which_gpus_are_free(
    age: float, state: str, severity: str | None
) -> None:
    series = [own('gpu_up', 1.0, gpu) for gpu in '01']
    states = [own('gpu_state', 1.0, '0', state='free'), own('gpu_state', 1.0, '1', state='busy')]
    host = only(read(*series, *states, own('last_collect_timestamp_seconds', NOW - age)))
    assert host.age_seconds == age
    assert [gpu.state for gpu in host.gpus] == [state, 'busy']
    assert host.severity == severity
    assert len(host.problems) == totals([host]).problems == (severity is not None)


def test_gpu_that_the_exporter_may_not_open_is_listed() -> None:
    problem = own('gpu_problem_info', 1.0, '1', status='not permitted', reason='Permission')
    lost = own('gpu_problem_info', 1.0, '2', status='lost', reason='GPU is lost')
    (host,) = read(own('gpu_up', 1.0), problem, own('gpu_up', 0.0, '2'), lost).hosts
    states = [(gpu.label, gpu.state, gpu.severity, gpu.is_free) for gpu in host.gpus]
    assert states[1:] == [('1', 'not permitted', None, False), ('2', 'lost', 'critical', False)]


@pytest.mark.parametrize('kind', ['own', 'ssh'])
def test_claimed_gpus_are_not_free(kind: str) -> None:
    free, idle = device_sample(0, gpu_utilization_percent=0), device_sample(1)
    asleep = DeviceSample(idle.key, idle.info, 'asleep', 'asleep')
    used = device_sample(2, gpu_utilization_percent=50)
    devices = (free, asleep, used)
    claims = tuple(ClaimSample(device.key.uuid, 'ann') for device in devices)
    sample = Sample(1.0, sequence=1, devices=devices, claims=claims)
    host = host_of_sample('n', sample, 1.0) if kind == 'ssh' else only(read_sample(sample, 'own'))
    assert [gpu.state for gpu in host.gpus] == ['claimed', 'claimed', 'busy']
    assert host.free == 0


def test_problems_of_dcgm() -> None:
    fleet = read(
        dcgm('DEV_XID_ERRORS', 79),
        dcgm('DEV_XID_ERRORS', 13, gpu='1'),
        dcgm('DEV_ROW_REMAP_FAILURE', 1, gpu='2'),
    )
    texts = [problem.text for problem in fleet.problems]
    assert texts == ['GPU 0 Xid 79', 'GPU 2 with failed row remapping']


def test_values_that_are_no_finite_numbers_are_left_out() -> None:
    fleet = read(
        own('gpu_up', 1),
        own('gpu_utilization_ratio', math.nan),
        own('gpu_memory_used_bytes', math.inf),
        dcgm('DEV_FB_USED', 1e305),
        row('', math.inf, 'seen', hostname='n5'),
    )
    assert all(gpu.memory_used_bytes is None for host in fleet.hosts for gpu in host.gpus)
    for name in VIEWS:
        for kind in ('csv', 'json'):
            assert fleet_text(fleet, kind, name)


def test_owners_come_from_labels_of_processes_or_pods() -> None:
    process = process_sample(1, username='ann', gpu_memory_bytes=5 << 30)
    sample = Sample(NOW, devices=(device_sample(0),), processes=(process,))
    assert [user.name for user in read_sample(sample, 'own').users] == ['ann']
    hidden = read_sample(sample._replace(processes=(process._replace(username=None),)), 'own')
    assert [[row.name for row in rows] for rows in (hidden.users, hidden.without_users)] == [
        [],
        ['unknown'],
    ]
    fleet = read(
        *(own('gpu_up', 1, gpu=gpu) for gpu in '012'),
        own('gpu_owner_info', 1, user='ann', owner_kind='slurm', owner_id='42', owner_name=''),
        own(
            'gpu_owner_info', 1, gpu='1', user='bob', owner_kind='tmux', owner_id='', owner_name='x'
        ),
        own('gpu_owner_info', 1, gpu='2', user='', owner_kind='session', owner_id='3'),
        own('gpu_state', 1, state='held'),
        dcgm('DEV_GPU_UTIL', 80, '5', exported_pod='chat', exported_namespace='ml', pod='x'),
        dcgm('DEV_GPU_UTIL', 40, '6', hpc_job='42', pod='dcgm-exporter-x'),
    )
    assert [(job.name, job.gpus, job.held_gpus, job.hosts) for job in fleet.jobs] == [
        ('slurm 42', 2, 1, ('n1', 'n2')),
        ('pod ml/chat', 1, 0, ('n2',)),
        ('session 3', 1, 0, ('n1',)),
        ('tmux x', 1, 0, ('n1',)),
    ]
    assert not read(dcgm('DEV_GPU_UTIL', 40, pod='dcgm-exporter-x')).jobs
    assert [job.filter for job in fleet.jobs] == [
        'job:"slurm 42"',
        'job:"pod ml/chat"',
        'job:"session 3" host:"n1"',
        'job:"tmux x" user:"bob"',
    ]


@pytest.mark.parametrize(
    ('words', 'hosts', 'gpus'),
    [
        ('gpu0007', ['gpu0007'], 8),
        ('host:GPU', [], 0),
        ('gpu000 gpu:3', [f'gpu000{n}' for n in range(1, 10)], 9),
        ('free:8', ['gpu0017', 'gpu0019', 'gpu0020'], 24),  # the values of gpu0018 are old
        ('user:carol', ['gpu0009', 'gpu0010', 'gpu0012'], 12),
        ('host=gpu0010 user=carol', ['gpu0010'], 4),
        ('user:"caro"', [], 0),
        ('user:"carol" host:"gpu0010"', ['gpu0010'], 4),
        ('job:"slurm 4103"', [], 0),
        ('host:"gpu000"', [], 0),
        ('job:41034', ['gpu0013', 'gpu0014', 'gpu0015', 'gpu0016'], 32),
        ('model:h100', [f'gpu{n:04}' for n in range(1, 21)], 160),
    ],
)
def test_filters(words: str, hosts: list[str], gpus: int) -> None:
    fleet = select(DemoSource(20, lambda: NOW).read(), parse_filter(words))
    assert [host.name for host in fleet.hosts] == hosts
    assert sum(len(host.gpus) for host in fleet.hosts) == gpus


def test_gpus_that_are_free_and_healthy_are_first() -> None:
    rows = VIEWS['gpus'].rows(DemoSource(80, lambda: NOW).read())
    ranks = {
        (True, False): 0,
        (True, True): 1,
        (False, True): 1,
    }
    found = [ranks.get((row.free > 0, row.gpus[0].severity is not None), 2) for row in rows]
    assert found == sorted(found)
    assert {(row.free > 0, row.gpus[0].severity is not None) for row in rows} > ranks.keys()


def test_lists_are_sorted_by_any_column() -> None:
    fleet = DemoSource(20, lambda: NOW).read()
    view = VIEWS['hosts']
    for name in view.columns:
        assert len(sorted_rows(view, fleet.hosts, name)) == 20
    free = [host.free for host in sorted_rows(view, fleet.hosts, 'free_gpus')]
    assert free == sorted(free, reverse=True)
    document: dict[str, Any] = json.loads(fleet_text(fleet, 'json', 'users', 'gpus'))
    assert document['schema'] == 1
    assert document['totals']['gpus'] == 160
    assert [*document['users'][0]] == [*VIEWS['users'].columns]


def test_hostile_labels_are_printable() -> None:
    text = 'a\x1b[2J\u202eb"\n'
    labels = {'hostname': text, 'gpu': '9' * 5000, 'uuid': text, 'user': text, 'kind': text}
    owner = {'owner_kind': text, 'owner_id': text, 'owner_name': text}
    names = ('gpu_up', 'gpu_health', 'user_gpu_processes', 'gpu_owner_info', 'gpu_missing')
    fleet = read(*(Series(f'nvitop_{name}', {**labels, **owner}, 3.0) for name in names))
    for name in VIEWS:
        assert '\x1b' not in fleet_text(fleet, 'csv', name)


@pytest.mark.parametrize(
    ('value', 'name'),
    [('gpu1:9100', 'gpu1'), ('10.0.0.1:9', '10.0.0.1'), ('[::1]:9', '::1'), ('', '(unnamed)')],
)
def test_names_of_hosts(value: str, name: str) -> None:
    assert host_name('instance', value) == name


@pytest.mark.parametrize(
    'names',
    [['gpu9', 'gpu10', 'gpu12'], ['a09', 'a10'], ['a99', 'a100'], ['n9', 'n010']],
)
def test_ranges_of_names_can_be_read_again(names: list[str]) -> None:
    assert [host.name for host in targets([names_text(names)])] == names


def test_query_is_short_and_quotes_the_selector() -> None:
    query = fleet_query(make_settings({'match': '{cluster="a}", rack=~"r[12]"}'}).scope)
    assert len(query) < 2500
    assert ',,' not in fleet_query(Scope())
    assert query.count('",cluster="a}", rack=~"r[12]"') == 13


def test_label_of_the_user_names_hosts_in_natural_order() -> None:
    names = ('gpu10', 'gpu9', 'gpu010')
    fleet = read(*(own('gpu_up', 1, rack=name) for name in names), scope=Scope(host_label='rack'))
    assert [host.name for host in fleet.hosts] == ['gpu9', 'gpu010', 'gpu10']


def test_host_with_own_names_is_read_by_them_alone() -> None:
    host = only(
        read(
            own('gpu_utilization_ratio', 0.5),
            own('gpu_state', 1, state='busy'),
            dcgm('DEV_GPU_UTIL', 90, Hostname='node-1.example'),
            dcgm('DEV_GPU_UTIL', 90, '7', Hostname='n1'),
        )
    )
    assert (host.name, [gpu.utilization_percent for gpu in host.gpus]) == ('n1', [50])


def test_mig_devices_of_dcgm_are_ordered_and_have_the_utilization_of_their_engine() -> None:
    name = 'PROF_GR_ENGINE_ACTIVE'
    host = only(read(dcgm(name, 0.5, GPU_I_ID='2'), dcgm(name, 0.02, GPU_I_ID='1')))
    rows = [(gpu.label, gpu.utilization_percent, gpu.state) for gpu in host.gpus]
    assert rows == [('0:0', 2, 'free'), ('0:1', 50, 'busy')]
