"""``nvitop``: output, messages and exit status of the report, and start of the monitor."""

from __future__ import annotations

import gc
import os
import pathlib
import re
import sys
from typing import Iterator

import pytest

from nvitop import Device, cli, simulation
from nvitop.api import host
from nvitop.console import lifecycle
from nvitop.console.messages import Message, stdout_width
from nvitop.console.options import Options
from nvitop.gui import monitor, show
from nvitop.gui.report import warnings_about
from nvitop.sampling.source import LiveSource
from tests.api.machines import machine as make_machine
from tests.command_run import CommandRun
from tests.gui.samples import SAMPLES


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('NVITOP_MONITOR_MODE', 'NO_COLOR', 'FORCE_COLOR', 'CUDA_VISIBLE_DEVICES'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
    monkeypatch.setenv('COLUMNS', '100')


def report(*arguments: str) -> CommandRun:
    return CommandRun(cli.main, '-1', '--no-config', *arguments)


def report_on(scenario: str, *arguments: str) -> CommandRun:
    with simulation.machine(scenario, processes='fixed'):
        return report(*arguments)


def test_failed_queries_are_reported_once(machine: simulation.Machine) -> None:
    machine.fail('nvmlDeviceGetTemperature*', 'UNKNOWN')
    machine.fail('nvmlDeviceGetPowerUsage', 'NOT_SUPPORTED')
    machine.fail('nvmlDeviceGetDisplayMode', 'UNKNOWN', gpu=1)
    machine.set(gpu=2, memory_used='2 TiB')
    ran = report()
    assert ran.status == 0
    assert 'GPU 2: implausible values: memory used: 2.00 TiB of 79.65 GiB' in ran.out
    assert 'GPU 0-7: unreadable values: ' in ran.out
    assert not [line for line in ran.err.splitlines() if ': GPU' in line]
    assert ' warning   GPU 5: pending row remapping: a memory row will be remapped' in ran.out


def test_a_lost_gpu_keeps_its_row_and_status_0(machine: simulation.Machine) -> None:
    machine.set(gpu=3, lost=True)
    ran = report()
    assert ran.status == 0
    assert re.search(r'^│ +3! lost +Reboot, or reset it', ran.out, re.MULTILINE)
    assert '\n critical  GPU 3: lost. ' in ran.out


def test_all_gpus_lost_is_status_1(machine: simulation.Machine) -> None:
    machine.set(lost=True)
    ran = report()
    assert (ran.status, ran.out.count(' critical  GPU 0-7: lost. ')) == (1, 1)


def test_processes_of_another_namespace_are_explained_once() -> None:
    messages = warnings_about(SAMPLES['odd-processes'])
    (hint,) = [message.text for message in messages if message.kind == 'hint']
    assert '--pid=host' in hint


@pytest.mark.parametrize(
    ('arguments', 'terminal'), [(['-1', '--no-config'], False), (['--no-config'], True)]
)
def test_no_gpu_is_explained_below_the_report(
    arguments: list[str], terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: terminal)
    with simulation.machine('empty'):
        ran = CommandRun(cli.main, *arguments)
    assert ran.status == 1
    assert 'No GPU is visible' in ran.out
    assert ran.err.startswith('nvitop: error: no GPU found')


def test_a_failure_to_count_gpus_is_not_reported_as_no_gpu(machine: simulation.Machine) -> None:
    machine.fail('nvmlDeviceGetCount_v2', 'GPU_IS_LOST')
    ran = report()
    assert ran.status == 1
    assert 'No GPU is visible: GPU is lost' in ran.out
    assert ran.err.startswith('nvitop: error: no GPU can be read: GPU is lost')


def test_the_monitor_needs_a_terminal(machine: simulation.Machine) -> None:
    ran = CommandRun(cli.main, '-m', '--no-config')
    assert ran.status == 1
    assert 'H100' in ran.out
    assert 'nvitop: error: the monitor needs a terminal for input and output\n' in ran.err


def test_only_takes_mig_devices() -> None:
    out = report_on('mig', '-o', '1:0').out
    assert re.findall(r'^│ +└(\S+) ', out, re.MULTILINE) == ['1:0']


def test_an_unknown_device_is_an_error_next_to_known_ones(machine: simulation.Machine) -> None:
    ran = report('-o', '0', '99')
    assert (ran.status, ran.out.count('H100 80GB')) == (2, 1)
    assert ran.err == "nvitop: error: unknown device '99': this machine has GPUs 0 to 7\n"


def test_only_visible(machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '2,5')
    ran = report('-ov')
    assert re.findall(r'^│ +(\d)[ !] +(?:free|busy|in use)', ran.out, re.MULTILINE) == ['2', '5']
    ran = report('-ov', '-o', '1')
    assert re.findall(r'^│ +(\d)[ !] +(?:free|busy|in use)', ran.out, re.MULTILINE) == ['1']


@pytest.mark.parametrize('value', ['', '-1', 'garbage', '0,0', 'MIG-none'])
def test_visible_devices_without_a_gpu_are_explained(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', value)
    ran = report('-ov')
    assert ran.status == 1
    assert 'H100' not in ran.out
    assert ran.err.startswith(f'nvitop: error: CUDA_VISIBLE_DEVICES is {value!r}, which')


def test_the_reason_why_the_only_visible_mig_device_fails_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with simulation.machine('mig', processes='none') as machine:
        (gpu, *_) = [device for device in Device.all() if device.mig_devices()]
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', gpu.mig_devices()[0].uuid())
        machine.fail('nvmlDeviceGetMemoryInfo*', 'GPU_IS_LOST')
        ran = report('--only-visible')
    assert ran.status == 1
    assert ' critical  GPU 0:0: lost. ' in ran.out


def pids_of(ran: CommandRun) -> list[str]:
    panel = ran.out[ran.out.index(' Processes: ') :]
    return re.findall(r' (\d+) [CGXM] ', panel)


def test_processes_are_filtered(machine: simulation.Machine) -> None:
    everything = pids_of(report())
    assert pids_of(report('-p', everything[0])) == everything[:1]
    assert sorted(pids_of(report('-p', ','.join(everything[:2])))) == sorted(everything[:2])
    assert pids_of(report('-G')) == []
    assert pids_of(report('-C')) == everything


def test_user_without_a_name_means_the_current_user(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, ...] | None] = []

    def keep_users(options: Options, messages: list[Message]) -> int:
        shown.append(options.users)
        return 0

    monkeypatch.setattr(show, 'show', keep_users)
    monkeypatch.setattr(host, 'getuser', lambda: 'ann')
    for arguments in (['-u'], ['-u', 'bob', 'eve'], ['-u', 'bob,eve', 'dan'], []):
        assert report(*arguments).status == 0
    assert shown == [('ann',), ('bob', 'eve'), ('bob', 'eve', 'dan'), None]


@pytest.fixture
def garbage_collection() -> Iterator[None]:
    former = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*former)


@pytest.mark.usefixtures('garbage_collection')
@pytest.mark.parametrize('mode', ['full', 'compact'])
def test_leaving_the_monitor_prints_the_report_of_its_last_sample(
    mode: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    collection: list[tuple[bool, int, bool]] = []

    def run_monitor(*_: object, **__: object) -> monitor.MonitorExit:
        collection.append((gc.isenabled(), gc.get_threshold()[0], gc.get_freeze_count() > 0))
        return monitor.MonitorExit(0, SAMPLES['lost'], True, Options(mode=mode))

    monkeypatch.setattr(monitor, 'run_monitor', run_monitor)
    messages: list[Message] = []
    assert show.show_monitor(LiveSource(), Options(), messages) == 0
    out = capsys.readouterr().out
    assert ('GPU-Util' in out) is (mode == 'full')
    assert ' critical  GPU 2: not responding: the driver has not answered for 12 s' in out
    assert messages == []
    assert collection == [(True, lifecycle.COLLECTED_AFTER, True)]


@pytest.mark.parametrize(('columns', 'width'), [('0', 79), ('-5', 79), ('wide', 79), ('132', 132)])
def test_invalid_columns_are_ignored(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    def no_terminal(descriptor: int) -> os.terminal_size:
        raise OSError(descriptor)

    monkeypatch.setattr(os, 'get_terminal_size', no_terminal)
    monkeypatch.setenv('COLUMNS', columns)
    assert stdout_width() == width


def test_an_invalid_setting_is_a_warning_and_the_others_are_used(
    machine: simulation.Machine, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('XDG_CONFIG_HOME', str(tmp_path))
    path = tmp_path / 'nvitop' / 'config.toml'
    path.parent.mkdir()
    path.write_text('ascii = true\ntheme = "pink"\n', encoding='utf-8')
    ran = CommandRun(cli.main, '-1')
    assert ran.status == 0
    assert ran.out.isascii()
    assert f'nvitop: warning: {path}:2: theme: unknown word' in ran.err


def test_options_override_environment_overrides_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'config.toml'
    path.write_text('mode = "full"\ntheme = "mono"\nreadonly = false\n', encoding='utf-8')
    monkeypatch.setenv('NVITOP_MONITOR_MODE', 'light,readonly')
    ran = CommandRun(cli.main, '--config', str(path), '--print-config', '--no-readonly')
    assert ran.status == 0
    for line in ('mode = "full"  # from ', 'theme = "light"  # from ', 'readonly = false  # from '):
        assert f'\n{line}' in ran.out


OWNERS = """
[[gpu]]
model = "H100"
[[process]]
command = ["python3", "train.py"]
cgroup = "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0"
"""


def test_report_has_owners_unless_it_is_the_classic_table() -> None:
    with make_machine(OWNERS, processes='real'):
        usual, classic = report(), report('-m', 'full')
        chosen = report('-m', 'full', '--columns', 'pid,owner')
        wrong = report('--columns=pid,ownr')
    assert 'slurm 42' in usual.out
    assert 'slurm 42' not in classic.out
    assert 'slurm 42' in chosen.out
    assert wrong.status == 2
    assert '--columns: unknown word' in wrong.err
