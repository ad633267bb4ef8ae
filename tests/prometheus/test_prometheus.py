"""The exporter, scraped by a real Prometheus (`make test-exporter`).

One Prometheus scrapes exporters of all simulated machines while the module runs.
"""

from __future__ import annotations

import functools
import gzip
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from typing import Any, Iterator

import pytest

from nvitop.exporter.dialects import DIALECT_NAMES
from nvitop.exporter.pages import PROCESS_SERIES
from tests.exporter.shipped import SHARE, expressions, instant
from tests.fleet import servers
from tests.fleet.servers import free_port, query, wait_for
from tests.waiting import PATIENCE

if 'NVITOP_PROMETHEUS' not in os.environ:
    pytest.skip('NOTHING WAS SCRAPED (make test-exporter)', allow_module_level=True)
if not shutil.which('prometheus') or not shutil.which('promtool'):
    pytest.skip('NOTHING WAS SCRAPED: Prometheus is not installed', allow_module_level=True)

#: Interpreter with nvitop and nvitop-exporter 1.7.2.
PEER = os.environ.get('NVITOP_PEER', '')
ROOT = SHARE.parent
PROGRAM = ROOT / 'tests' / 'peers' / 'program.py'

#: GPUs that fail with Xid 79, are missing, lost, and hot. Those of the scenario of faults recover.
BROKEN = """
[driver]
version = "580.65.06"
cuda = "13.0"
[[gpu]]
model = "H100"
[[gpu]]
model = "H100"
present = false
[[gpu]]
count = 2
model = "H100"
[[event]]
at = 5
gpus = [0]
set = { xid = 79 }
[[event]]
at = 0
gpus = [2]
set = { lost = true }
[[event]]
at = 0
gpus = [3]
set = { temperature = 95, clock_event_reasons = ["hw-slowdown", "hw-thermal-slowdown"] }
"""
#: Alerts about changes over a longer time, which only promtool tests.
LATER = ('NvitopGpuCountFell', 'NvitopGpuNvlinkErrors')
#: Name of the machine → scenario; ``None``: a machine without a driver.
MACHINES: dict[str, str | None] = {
    'dgx-h100': 'dgx-h100',
    'mig': 'mig',
    'faults': 'faults',
    'old-driver': 'old-driver',
    'cluster-node': 'cluster-node',
    'none': None,
    'broken': BROKEN,
}


def fetch(url: str, **headers: str) -> bytes:
    request = urllib.request.Request(
        url, headers={k.replace('_', '-'): v for k, v in headers.items()}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        body: bytes = response.read()
        return gzip.decompress(body) if response.headers['Content-Encoding'] == 'gzip' else body


def parser(name: str) -> Any:
    module: Any = importlib.import_module(f'prometheus_client.{name}')
    return module.text_string_to_metric_families


class Machine:
    def __init__(self, scenario: str | None, directory: pathlib.Path, name: str) -> None:
        if scenario is not None and '\n' in scenario:
            (directory / f'{name}.toml').write_text(scenario)
            scenario = str(directory / f'{name}.toml')
        self.scenario = scenario
        self.port = free_port()
        self.url = f'http://127.0.0.1:{self.port}'
        command = [sys.executable, '-m', 'nvitop', 'exporter', f'--listen=127.0.0.1:{self.port}']
        command += ['--interval=1', '--processes', '--commands', '--owners', '--profiling']
        command += [f'--names={",".join(DIALECT_NAMES)}']
        command += [] if scenario is None else ['--demo', scenario]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)


@pytest.fixture(scope='module')
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Machine]]:
    directory = tmp_path_factory.mktemp('machines')
    found = {name: Machine(scenario, directory, name) for name, scenario in MACHINES.items()}
    try:
        for name, machine in found.items():
            url = f'{machine.url}/-/ready'
            wait_for(functools.partial(fetch, url), f'{name} is not ready', machine.process)
        yield found
    finally:
        for machine in found.values():
            machine.process.terminate()
        assert {machine.process.wait(PATIENCE) for machine in found.values()} == {0}


@pytest.fixture(scope='module')
def prometheus(
    machines: dict[str, Machine], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    directory = tmp_path_factory.mktemp('prometheus')
    targets = [
        {'targets': [f'127.0.0.1:{machine.port}'], 'labels': {'machine': name}}
        for name, machine in machines.items()
    ]
    targets.append({'targets': [f'127.0.0.1:{free_port()}'], 'labels': {'machine': 'down'}})
    config = {
        'global': {'scrape_interval': '1s', 'scrape_timeout': '1s', 'evaluation_interval': '1s'},
        'rule_files': [str(SHARE / 'prometheus' / 'nvitop-alerts.yml')],
        'scrape_configs': [{'job_name': 'nvitop', 'static_configs': targets}],
    }
    # JSON is YAML. Rates need some scrapes.
    with servers.prometheus(directory, config=json.dumps(config)) as url:
        wait_for(
            lambda: len(query(url, 'count_over_time(nvitop_build_info[1m]) > 9')) == len(machines),
            'Prometheus does not scrape all machines',
        )
        yield url


@pytest.mark.parametrize('name', [name for name in expressions() if name not in LATER])
def test_panels_and_alerts_have_data(prometheus: str, name: str) -> None:
    expression = instant(expressions()[name]).replace(' or vector(0)', '')
    assert query(prometheus, expression), expression


def test_alerts_are_about_the_machines_with_faults(prometheus: str) -> None:
    found = {
        alert: {row['metric']['machine'] for row in query(prometheus, expression)}
        for alert, expression in expressions().items()
        if alert.startswith('Nvitop')
    }
    assert found.pop('NvitopExporterDown') == {'down'}
    assert found.pop('NvitopExporterStale') == {'none'}
    found.pop('NvitopGpuHeld')  # ten minutes of observation; promtool tests it
    assert found.pop('NvitopGpuMissing') == {'broken'}
    for alert in ('NvitopGpuXid', 'NvitopGpuLost', 'NvitopGpuSlow', 'NvitopGpuFinding'):
        assert {'broken'} <= found.pop(alert) <= {'broken', 'faults', 'dgx-h100'}
    assert found.pop('NvitopGpuCountFell') == set()
    assert found == {'NvitopGpuNvlinkErrors': set()}  # their number does not grow


def test_promtool_finds_nothing_in_metrics_and_rules(machines: dict[str, Machine]) -> None:
    for machine in machines.values():
        page = fetch(f'{machine.url}/metrics')
        own = [block for block in page.split(b'# HELP ') if block.startswith(b'nvitop_')]
        # nvitop_info is a name of nvitop-exporter.
        own = [block for block in own if not block.startswith(b'nvitop_info ')]
        assert own
        checked = subprocess.run(
            ['promtool', 'check', 'metrics'],
            input=b''.join(b'# HELP ' + block for block in own),
            capture_output=True,
            check=False,
        )
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, b'', b'')
    for rules in ('nvitop-alerts', 'nvitop-usage'):
        for command in (f'check rules {rules}.yml', f'test rules {rules}-test.yml'):
            subprocess.run(['promtool', *command.split()], cwd=SHARE / 'prometheus', check=True)


@pytest.mark.parametrize('name', ['dgx-h100', 'old-driver'])
def test_names_and_labels_are_those_of_the_released_exporter(
    machines: dict[str, Machine], name: str
) -> None:
    plain = parser('parser')
    assert PEER, 'nvitop-exporter 1.7.2 is not installed'
    printed = subprocess.run(
        [PEER, str(PROGRAM), str(ROOT), 'known-series', name],
        stdout=subprocess.PIPE,
        check=True,
        cwd='/',
    ).stdout
    theirs: dict[str, set[tuple[str, ...]]] = {}
    for line in json.loads(printed):
        series, _, labels = line.partition('[')
        theirs.setdefault(series, set()).add(tuple(sorted(re.findall(r"\('(\w+)', ", labels))))
    ours: dict[str, set[tuple[str, ...]]] = {}
    for family in plain(fetch(f'{machines[name].url}/metrics').decode()):
        for sample in family.samples:
            labels_of = {*sample.labels} - {'pid'}  # left out there, because it differs
            ours.setdefault(sample.name, set()).add(tuple(sorted(labels_of)))
    assert theirs
    assert {series: ours.get(series) for series in theirs} == theirs
    prefixes = ('gpu_', 'host_', 'process_')
    found = {one for one in ours if one.startswith(prefixes)}
    assert found - {*PROCESS_SERIES} <= theirs.keys()
