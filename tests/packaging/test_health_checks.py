"""``share/health``: scripts with a fake Slurm, and configuration for other health checks."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from nvitop import simulation
from nvitop.health.command import main, make_parser
from tests.command_run import CommandRun
from tests.programs import ROOT

HEALTH = ROOT / 'share' / 'health'
#: Some fields of ``scontrol --oneliner show node`` of Slurm 22.05.
IDLE = (
    'NodeName=node07 Arch=x86_64 AvailableFeatures=(null) Gres=nic:1,gpu:h100:8(S:0-1) '
    'NodeAddr=10.0.0.7 State=IDLE ThreadsPerCore=2 TmpDisk=0 Owner=N/A Partitions=DRAINAGE'
)
DRAINED = IDLE.replace('IDLE', 'MIXED*+DRAIN')
REASON = 'nvitop: GPU 3 lost (automatic 2143590945)'
OURS = f'{DRAINED} Reason={REASON} [root@2026-11-24T10:00:00]'
OF_ANOTHER = OURS.replace('GPU 3 lost', 'GPU 2 lost').replace('2143590945', '815002160')
EXTENDED = OURS.replace(') [', '), RMA ticket 123 [')
EDITED = OURS.replace('lost', 'lost, RMA ticket 123')
OTHERS = f'{DRAINED} Reason=replace fan [ann@2026-11-24T10:00:00]'
DOWN = OTHERS.replace('MIXED*+DRAIN', 'DOWN')
WITHOUT_GPUS = IDLE.replace('nic:1,gpu:h100:8(S:0-1)', '(null)').replace('DRAINAGE', 'gpu')
LOST = '[[gpu]]\ncount = 4\n[[event]]\nat = 0\ngpus = [3]\nset = { lost = true }\n'
WARNED = (
    '[[gpu]]\ncount = 4\n[[event]]\nat = 0\ngpus = [1]\nset = { remapped_rows_pending = true }\n'
)

needs_shell = pytest.mark.skipif(os.name != 'posix', reason='needs a POSIX shell')


@functools.lru_cache(maxsize=None)
def stand_in(scenario: str) -> str:
    """Return a script that prints what the check of the node prints on a simulated machine."""
    words = 'health --format=nagios --fail-on=critical --timeout=20 --expect=4'
    with simulation.machine(simulation.parse_scenario(scenario, name='node'), processes='none'):
        ran = CommandRun(main, *words.split()[1:])
    return f'[ "$*" = "{words}" ] || exit 9\necho {shlex.quote(ran.out.strip())}\nexit {ran.status}'


class Node:
    """A node with nvitop on a simulated machine, and a scontrol that writes down its arguments."""

    def __init__(self, home: pathlib.Path, scenario: str, state: str) -> None:
        self.home = home
        (home / 'scenario.toml').write_text(scenario)
        (home / 'calls').touch()
        nvitop = f'cd {shlex.quote(str(ROOT))} && exec {shlex.quote(sys.executable)} -m nvitop "$@"'
        self.install('nvitop', f'{nvitop} --demo {shlex.quote(str(home / "scenario.toml"))}')
        calls = shlex.quote(str(home / 'calls'))
        show = f'if [ "$2" = show ]; then echo {shlex.quote(state)}; else echo "$@" >> {calls}; fi'
        self.install('scontrol', show)

    def install(self, name: str, body: str) -> None:
        path = self.home / name
        path.write_text(f'#!/bin/sh\n{body}\n')
        path.chmod(0o755)

    def run(
        self, script: str, *arguments: str, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        path = f'{self.home}:/usr/bin:/bin'
        return subprocess.run(
            [str(HEALTH / script), *arguments],
            env={'PATH': path, 'SLURMD_NODENAME': 'node07', **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        return (self.home / 'calls').read_text().splitlines()


DRAIN = f'update nodename=node07 state=drain reason={REASON}'


@needs_shell
@pytest.mark.parametrize(
    ('scenario', 'state', 'resume', 'expected'),
    [
        (LOST, IDLE, 'no', [DRAIN]),
        (LOST, OURS, 'no', []),
        (LOST, OF_ANOTHER, 'no', [DRAIN]),
        (LOST, OURS.replace('MIXED*+DRAIN', 'IDLE'), 'no', [DRAIN]),
        (LOST, OTHERS, 'yes', []),
        (LOST, DOWN, 'yes', []),
        (WARNED, IDLE, 'yes', []),
        (WARNED, OURS, 'no', []),
        (WARNED, OURS, 'yes', ['update nodename=node07 state=resume']),
        (WARNED, OTHERS, 'yes', []),
        (WARNED, DOWN, 'yes', []),
        (LOST, EXTENDED, 'yes', []),
        (WARNED, EXTENDED, 'yes', []),
        (LOST, EDITED, 'yes', []),
        (WARNED, EDITED, 'yes', []),
    ],
)
def test_the_health_check_drains_a_node_and_resumes_only_what_it_drained(
    tmp_path: pathlib.Path, scenario: str, state: str, resume: str, expected: list[str]
) -> None:
    node = Node(tmp_path, scenario, state)
    node.install('nvitop', stand_in(scenario))
    done = node.run('slurm-health-check.sh', '--expect=4', NVITOP_RESUME=resume)
    assert (done.returncode, done.stderr) == (int(scenario == LOST), '')
    assert node.calls == expected


@needs_shell
@pytest.mark.parametrize(
    'nvitop',
    [
        'exit 127',
        'echo "ModuleNotFoundError: nvitop" >&2; exit 1',
        'echo "python: cannot open file" >&2; exit 2',
        'echo "GPU UNKNOWN - no response for 20s"; exit 3',
        'kill -9 $$',
    ],
)
@pytest.mark.parametrize('state', [IDLE, OURS])
def test_a_node_is_left_alone_if_nothing_is_known(
    tmp_path: pathlib.Path, nvitop: str, state: str
) -> None:
    node = Node(tmp_path, LOST, state)
    node.install('nvitop', nvitop)
    done = node.run('slurm-health-check.sh', NVITOP_RESUME='yes')
    assert (done.returncode, node.calls) == (1, [])
    assert 'nothing is known about the GPUs' in done.stderr
    done = node.run('slurm-prolog.sh', SLURM_JOB_GPUS='0')
    assert done.returncode == 0
    assert 'nothing is known about the GPUs' in done.stderr


@needs_shell
def test_a_node_without_gpus_is_left_alone(tmp_path: pathlib.Path) -> None:
    assert Node(tmp_path, LOST, WITHOUT_GPUS).run('slurm-health-check.sh').returncode == 0
    assert Node(tmp_path, LOST, WITHOUT_GPUS).calls == []


@needs_shell
@pytest.mark.parametrize(('gpus', 'status'), [('0,1', 0), ('0,3', 1), ('4', 0), ('', 0)])
def test_the_prolog_checks_only_the_gpus_of_the_job(
    tmp_path: pathlib.Path, gpus: str, status: int
) -> None:
    done = Node(tmp_path, LOST, IDLE).run('slurm-prolog.sh', SLURM_JOB_GPUS=gpus)
    assert (done.returncode, done.stdout) == (status, '')
    assert ('GPU 3 lost' in done.stderr) == (gpus == '0,3')


def test_the_plugin_of_the_node_problem_detector() -> None:
    config = json.loads((HEALTH / 'node-problem-detector.json').read_text())
    types = {condition['type'] for condition in config['conditions']}
    statuses = []
    for rule in config['rules']:
        assert (rule['type'], rule.get('condition') in types) in (
            ('permanent', True),
            ('temporary', False),
        )
        with simulation.machine('half-busy', processes='none') as machine:
            machine.set(gpu=1, remapped_rows_pending=True)
            ran = CommandRun(main, *rule['args'][1:])
        assert len(ran.out.encode()) <= 1 + config['pluginConfig']['max_output_length']
        statuses.append(ran.status)
    assert statuses == [0, 1]


@needs_shell
def test_node_health_check_runs_a_script_that_fails_for_critical_findings(
    tmp_path: pathlib.Path,
) -> None:
    script = (HEALTH / 'nhc.conf').read_text().strip().rpartition('/')[2]
    for scenario in (LOST, WARNED):
        assert Node(tmp_path, scenario, IDLE).run(script).returncode == (scenario == LOST)


def test_options_of_the_command_for_nagios_exist() -> None:
    lines = re.findall(r'nvitop health (.*)', (HEALTH / 'nagios.cfg').read_text())
    assert len(lines) == 2
    for line in lines:
        make_parser().parse(shlex.split(line.replace('$ARG1$', '')))
