"""The files in share/ for Grafana, Prometheus, systemd and Kubernetes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from typing import Any

import pytest

from nvitop.console.commands import find_command
from nvitop.exporter.dialects import Observation
from nvitop.exporter.families import make_families
from nvitop.owner.names import Places
from nvitop.sampling.types import DeviceEvent
from tests.exporter.machines import EVERYTHING, observed
from tests.exporter.shipped import SHARE, dashboard, expressions
from tests.waiting import PATIENCE

NAME = re.compile(r'\bnvitop_\w+')


def test_dashboard_is_up_to_date() -> None:
    assert (SHARE / 'grafana' / 'nvitop.json').read_text(encoding='utf-8') == dashboard()


def broken(scenario: str) -> Observation:
    """Return an observation of a machine with a missing GPU and an Xid error."""
    observation = observed(scenario, EVERYTHING)
    sample = observation.sample
    events = (DeviceEvent(sample.devices[0].key, 'xid', 79),)
    sample = sample._replace(events=events, missing_gpus=('0000:3d:00.0',))
    return observation._replace(sample=sample)


@pytest.mark.parametrize('name', expressions())
def test_expressions_use_series_that_exist(name: str) -> None:
    made = {
        family.name
        for scenario in ('dgx-h100', 'faults', 'laptop')
        for family in make_families(['own'], broken(scenario))
    }
    # Counters of owners and of free time need two observations; Prometheus scrapes them elsewhere.
    made |= {'nvitop_gpu_owner_info', 'nvitop_free_gpu_energy_joules_total'}
    made |= {f'nvitop_owner_gpu_{name}seconds_total' for name in ('', 'held_idle_')}
    used = set(NAME.findall(re.sub(r'"[^"]*"', '', expressions()[name])))
    assert used <= made


@pytest.mark.parametrize('name', ['exporter', 'record'])
def test_service_starts_its_command_and_can_read_processes_and_devices(name: str) -> None:
    text = (SHARE / 'systemd' / f'nvitop-{name}.service').read_text(encoding='utf-8')
    service = dict(re.findall(r'^(\w+)=(.*)$', text, re.MULTILINE))
    ((variable, example),) = re.findall(r'^# +(NVITOP_\w+)="(.*)"$', text, re.MULTILINE)
    started = shlex.split(service['ExecStart'].replace(f'${variable}', example))
    assert started[:3] == ['/usr/bin/env', 'nvitop', name]
    found = find_command(started[2:])
    assert found is not None
    command, arguments = found
    command.load().make_parser().parse(arguments)
    assert 'DynamicUser' in service or 'User' in service
    hiding = {'ProtectProc', 'PrivateDevices', 'PrivateUsers', 'PrivatePIDs'}
    denying = {'DeviceAllow', 'ProtectClock'}  # ProtectClock implies DeviceAllow
    assert not (hiding | denying) & service.keys()
    assert 'SupplementaryGroups' not in service  # a missing group prevents the start


@pytest.mark.parametrize('words', ['verify --man=no', 'security --offline=true --threshold=40'])
@pytest.mark.skipif(not shutil.which('systemd-analyze'), reason='needs systemd-analyze')
def test_systemd_accepts_the_services_which_are_little_exposed(words: str) -> None:
    services = sorted(map(str, (SHARE / 'systemd').glob('*.service')))
    done = subprocess.run(
        ['systemd-analyze', *words.split(), '--no-pager', *services],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if 'unrecognized option' in done.stdout:
        pytest.skip('needs systemd 250 or newer')
    assert done.returncode == 0, done.stdout
    assert 'verify' not in words or not done.stdout


def manifests(name: str) -> list[Any]:
    yaml: Any = pytest.importorskip('yaml')
    return list(yaml.safe_load_all((SHARE / name).read_text(encoding='utf-8')))


def test_rules_for_kubernetes_are_those_for_prometheus() -> None:
    (made,) = manifests('kubernetes/nvitop-rules.yaml')
    groups = [
        group
        for name in ('alerts', 'usage')
        for group in manifests(f'prometheus/nvitop-{name}.yml')[0]['groups']
    ]
    assert made['kind'] == 'PrometheusRule'
    assert made['spec'] == {'groups': groups}


def test_pods_are_restricted_and_monitored() -> None:
    _, daemons, service = manifests('kubernetes/nvitop-exporter.yaml')
    (monitor,) = manifests('kubernetes/nvitop-podmonitor.yaml')
    template = daemons['spec']['template']
    pod, (container,) = template['spec'], template['spec']['containers']
    assert pod['securityContext'] == {'seccompProfile': {'type': 'RuntimeDefault'}}
    parsed = find_command(container['command'][1:])
    assert parsed is not None
    parsed[0].load().make_parser().parse(parsed[1])
    node = {'name': 'NODE_NAME', 'valueFrom': {'fieldRef': {'fieldPath': 'spec.nodeName'}}}
    assert node in container['env']
    mounts = {(m['name'], m['mountPath']): m['readOnly'] for m in container['volumeMounts']}
    assert {path for _, path in mounts} == {'/etc/passwd', *Places()[:2]}
    assert mounts == {(v['name'], v['hostPath']['path']): True for v in pod['volumes']}
    (port,) = container['ports']
    endpoint = monitor['spec']['podMetricsEndpoints'][0]
    probes = {container[f'{kind}Probe']['httpGet']['port'] for kind in ('liveness', 'readiness')}
    assert probes == {port['name'], endpoint['port'], service['spec']['ports'][0]['targetPort']}
    labels = template['metadata']['labels']
    assert monitor['spec']['selector']['matchLabels'] == service['spec']['selector'] == labels
