"""The files in share/ for Grafana, Prometheus, systemd and Kubernetes."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess

import pytest

from nvitop.console.commands import find_command
from nvitop.exporter.families import make_families
from nvitop.exporter.tables import Observation
from nvitop.sampling.types import DeviceEvent
from tests.exporter.machines import EVERYTHING, observed
from tests.exporter.shipped import SHARE, dashboard, expressions
from tests.waiting import PATIENCE

NAME = re.compile(r'\bnvitop_\w+')


def test_dashboard_is_up_to_date() -> None:
    assert (SHARE / 'grafana' / 'nvitop.json').read_text(encoding='utf-8') == dashboard()


def test_panels_have_distinct_places() -> None:
    panels = json.loads(dashboard())['panels']
    cells = [
        (x, y)
        for place in (panel['gridPos'] for panel in panels)
        for x in range(place['x'], place['x'] + place['w'])
        for y in range(place['y'], place['y'] + place['h'])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    assert len({panel['id'] for panel in panels}) == len(panels)


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
        for scenario in ('dgx-h100', 'faults')
        for family in make_families(['own'], broken(scenario))
    }
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


@pytest.mark.skipif(not shutil.which('systemd-analyze'), reason='needs systemd-analyze')
def test_systemd_accepts_the_services() -> None:
    services = sorted(map(str, (SHARE / 'systemd').glob('*.service')))
    done = subprocess.run(
        ['systemd-analyze', 'verify', '--man=no', *services],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, '')
