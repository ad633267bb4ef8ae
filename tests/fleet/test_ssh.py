"""Machines over ssh: a script takes the place of ssh, and simulated machines that of the others."""

from __future__ import annotations

import json
import pathlib
import time
from typing import Callable

import psutil
import pytest

from nvitop.fleet import source as ssh
from nvitop.fleet.reading import host_of_sample
from nvitop.fleet.source import SshSource
from nvitop.fleet.types import Fleet, FleetHost
from nvitop.gui.fleet.command import main
from nvitop.remote.hosts import targets
from nvitop.sampling.serialization import serialize
from nvitop.sampling.types import DeviceInfo, DeviceKey, DeviceSample, Sample
from tests.exporter.machines import sample_of
from tests.fleet.session import Session
from tests.remote.conftest import stand_in  # noqa: F401 - the fixture
from tests.waiting import PATIENCE, wait_until

#: What hosts do, by their names.
SCRIPT = """
case $host in
    good*) eval "$*" ;;
    locked) echo "Permission denied (publickey)." >&2; exit 255 ;;
    unknown) echo "Host key verification failed." >&2; exit 255 ;;
    bare) exit 69 ;;
    silent) exec sleep 60 ;;
    greets) yes 'Welcome to the machine' ;;
    endless) cat "$SAMPLE"; sleep 60 ;;
    newer) while echo '{"nvitop_sample": 99}'; do sleep 1; done ;;
    hostile) printf '\\033[2J{"nvitop_sample"'; head -c 50000000 /dev/zero | tr '\\0' x; sleep 60 ;;
    quits) exit 0 ;;
esac
"""


@pytest.fixture
def machines(
    stand_in: Callable[[str], None],  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in(SCRIPT)
    monkeypatch.setattr(ssh, 'DEMO', ('--demo=half-busy',))
    monkeypatch.setattr(ssh, 'SAMPLE_SECONDS', 0.5)


def named(fleet: Fleet) -> dict[str, FleetHost]:
    return {host.name: host for host in fleet.hosts}


def fault_of(source: SshSource, name: str) -> str:
    (problem,) = named(source.read())[name].problems
    return problem.text


def test_each_fault_is_one_clear_row_and_others_do_not_suffer(machines: None) -> None:
    faulty = ('locked', 'unknown', 'bare', 'hostile', 'greets', 'newer', 'quits')
    names = ['good[1-2]', *faulty, 'silent']
    source = SshSource(targets(names), 1.0)
    try:
        wait_until(lambda: len(named(source.read())['good1'].gpus) == 8, 'values')
        wait_until(lambda: len(named(source.read())['good2'].gpus) == 8, 'values')
        wait_until(
            lambda: not any('connecting' in fault_of(source, name) for name in faulty), 'faults'
        )
        hosts = named(source.read())
    finally:
        source.close()
    assert [*hosts] == ['good1', 'good2', *names[1:]]
    texts = {name: [problem.text for problem in host.problems] for name, host in hosts.items()}
    assert texts['good1'] == ['simulated: these are not its GPUs']
    assert texts['locked'] == ['Permission denied (publickey).']
    assert texts['unknown'] == [
        'Host key verification failed. Run "ssh unknown" once to check its key.'
    ]
    assert 'neither nvitop 2 nor nvidia-smi' in texts['bare'][0]
    assert 'pipx install nvitop' in texts['bare'][0]
    assert texts['silent'] in (['connecting'], ['not responding'])
    for name in ('hostile', 'greets'):
        assert texts[name] == ['sent more than 4 MiB without a sample']
    assert 'newer version of nvitop' in texts['newer'][0]
    assert not [text for words in texts.values() for text in words if not text.isprintable()]
    assert {name for name, host in hosts.items() if not host.is_silent} == {'good1', 'good2'}
    assert [hosts[name].severity for name in faulty[:3]] == ['critical'] * 3


def test_machine_with_too_many_gpus_is_refused(
    machines: None, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    sample = sample_of('half-busy', ('own', 'dcgm'))
    keys = [DeviceKey(index, -1, f'GPU-{index}') for index in range(ssh.MAX_DEVICES + 1)]
    device = DeviceSample(keys[0], DeviceInfo(keys[0], 0))
    devices = [device._replace(key=key, info=DeviceInfo(key, key.physical_index)) for key in keys]
    stored = serialize(sample._replace(devices=tuple(devices), processes=()))
    (tmp_path / 'sample').write_text(f'{json.dumps(stored)}\n')
    monkeypatch.setenv('SAMPLE', str(tmp_path / 'sample'))
    source = SshSource(targets(['endless']), 1.0)
    try:
        wait_until(lambda: 'reports 1025 GPUs' in fault_of(source, 'endless'), 'refusal')
    finally:
        source.close()


def test_list_is_printed_once(machines: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['good1', 'locked', '-1', '--format', 'csv', '--fail-on', 'critical']) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(',')[:2] for line in lines[1:]] == [['good1', '8'], ['locked', '0']]
    assert main(['good1', '-1', '--users']) == 0
    assert 'USER' in capsys.readouterr().out


def test_machine_that_hangs_fails_a_check(machines: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, 'START_SECONDS', 0.5)
    monkeypatch.setattr(ssh, 'ONCE_SECONDS', 1.0)
    assert main(['silent', '-1', '--fail-on', 'critical']) == 1


def test_hosts_come_from_a_file_or_the_configuration(
    machines: None, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / 'hosts').write_text('[lab]\ngood[1-2]\n')
    assert main(['--hosts', str(tmp_path / 'hosts'), '-1', '--format', 'csv']) == 0
    assert capsys.readouterr().out.count('\ngood') == 2
    (tmp_path / 'config.toml').write_text('[fleet]\nhosts = ["good1"]\n')
    assert main(['--config', str(tmp_path / 'config.toml'), '-1', '--gpus']) == 0
    assert 'good1' in capsys.readouterr().out


def test_screens_show_users_jobs_and_problems_and_send_no_signals(
    machines: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, 'DEMO', ('--demo=dgx-h100',))
    source = SshSource(targets(['good1', 'locked']), 1.0)
    with Session(source, interval=0.5) as session:
        session.wait_for('Permission denied')
        for key, text in (('U', 'carol'), ('J', 'slurm'), ('!', 'Permission denied (publickey).')):
            session.terminal.press(key)
            session.wait_for(text)
        session.terminal.press('q', 'q', 'q', 'Home', 'Enter')
        session.wait_for(' fleet › good1 ')
        session.wait_for('COMMAND')
        sample = source.sample(FleetHost('good1'))
        assert abs(time.time() - sample.timestamp) < PATIENCE
        pids = [process.key.pid for process in sample.processes]
        session.terminal.press('Down')
        for key in ('T', 'K', 'I'):
            session.terminal.press(key)
            session.wait_for('Not available: the processes run on another machine')
        assert all(map(psutil.pid_exists, pids))
        session.terminal.press('Esc', 'q')
        session.wait_for('─ Hosts ')


def test_samples_become_rows_with_mig_devices_instead_of_their_gpu() -> None:
    sample = sample_of('mig', ('own', 'dcgm'))
    host = host_of_sample('m', sample, 1.0)
    assert [gpu.label for gpu in host.gpus] == ['0:0', '0:2', '1:0', '1:1', '1:2', '2', '3']
    power = sum((d.power_usage_mw or 0) / 1000 for d in sample.devices if not d.key.is_mig)
    assert host.power_watts == pytest.approx(power)
    assert host_of_sample('empty', Sample(1.0), 1.0).gpus == ()
    faulty = host_of_sample('f', sample_of('faults', ('own', 'dcgm')), 1.0)
    assert 'critical' in {problem.severity for problem in faulty.problems}
