"""``nvisel``: output, messages and exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import IO, Iterator

import pytest

from nvitop import simulation
from nvitop.api.device import Device
from nvitop.select import main
from tests.patience import PATIENCE
from tests.test_select import MACHINE


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[simulation.Machine]:
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
    scenario = simulation.parse_scenario(MACHINE, name='select')
    with simulation.machine(scenario, processes='fixed') as running:
        yield running


def uuids(*indices: int | tuple[int, int]) -> list[str]:
    return [Device(index).uuid() for index in indices]


@pytest.mark.parametrize(
    ('arguments', 'out'),
    [
        ('', '2,1,0\n'),
        ('-S', '0,1,2\n'),
        ('--no-sort --newline', '0\n1\n2\n'),
        ('-0', '2\0001\0000\000'),
        ('--null -C 0', ''),
        ('-C 2', '2,1\n'),
        ('--max-count=0', '\n'),
        ('-n 1', '2\n'),
        ('--count 2 -s :', '2:1\n'),
        ('-c 1 -f 69GiB', '2,1,0\n'),
        ('-f 71GiB', '\n'),
        ('-f 71GiB --tol 5', '2,1,0\n'),
        ('-t 79GiB --tolerance 0', '2,1,0\n'),
        ('-G 19', '\n'),
        ('-G 19 --tol 1', '2,1,0\n'),
        ('-G 20 -M 10', '2,1,0\n'),
        ('-M 9', '\n'),
        ('-i 1', '1\n'),
        ('-i 2,0 -S', '2,0\n'),
        ('--account-as-free -n 1', '2\n'),
        ('--account-as-free ada emmy -n 1', '2\n'),
    ],
)
def test_the_chosen_devices_are_printed(
    machine: simulation.Machine,
    capfd: pytest.CaptureFixture[str],
    arguments: str,
    out: str,
) -> None:
    assert main(arguments.split()) == 0
    assert capfd.readouterr().out == out


def test_uuids_are_printed(machine: simulation.Machine, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(['-O', 'uuid', '-C', '2']) == 0
    assert capfd.readouterr().out == ','.join(uuids(2, 1)) + '\n'


def test_a_mig_device_is_printed_by_uuid(
    machine: simulation.Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(['-i', '3']) == 0
    assert capfd.readouterr().out == uuids((3, 0))[0] + '\n'


def test_short_uuids_of_the_environment_are_completed(
    machine: simulation.Machine,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = uuids(1, 0)
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', ','.join(uuid[:12] for uuid in chosen))
    assert main(['-i', '-S', '-O', 'uuid']) == 0
    assert capfd.readouterr().out == ','.join(chosen) + '\n'


def test_the_choice_is_shown_on_stderr_if_stdout_is_a_pipe(
    machine: simulation.Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(['-0', '-C', '2']) == 0
    assert capfd.readouterr().err == 'CUDA_VISIBLE_DEVICES="2,1"\n'


def test_skipped_devices_are_counted(
    machine: simulation.Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.fail('nvmlDeviceGetUtilizationRates', 'NOT_SUPPORTED', gpu=0)
    machine.set(gpu=1, lost=True)
    assert main(['-G', '50']) == 0
    captured = capfd.readouterr()
    assert captured.out == '2\n'
    assert captured.err.splitlines()[1:] == [
        'nvisel: warning: 3 devices skipped: the driver does not report a value that is limited',
        'nvisel: warning: 1 device skipped: not responding',
    ]


def test_too_few_devices_are_printed_with_status_4(
    machine: simulation.Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(['-c', '5']) == 4
    captured = capfd.readouterr()
    assert captured.out == '2,1,0\n'
    assert captured.err.endswith('nvisel: error: not enough devices: 5 required, 3 found\n')


def test_a_cuda_error_is_status_3(
    machine: simulation.Machine,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(value: str) -> None:
        raise RuntimeError('out of order')

    monkeypatch.setattr(Device, 'parse_cuda_visible_devices', staticmethod(broken))
    assert main(['-i', '0']) == 3
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ('', 'nvisel: error: CUDA failed: out of order\n')


@pytest.mark.parametrize(
    'arguments',
    [
        '-C 1 -c 2',
        '-c -1',
        '-c ²',
        '-f much',
        '-G many',
        '--tol -1',
        '-O name',
        '--newline -0',
        '-n 1 -C 3',
        '-n 1 -c 0',
    ],
)
def test_invalid_arguments_are_status_2(
    machine: simulation.Machine, capfd: pytest.CaptureFixture[str], arguments: str
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments.split())
    assert exit_.value.code == 2
    captured = capfd.readouterr()
    assert captured.out == ''
    (line,) = captured.err.splitlines()
    assert line.startswith('nvisel: error: ')
    assert machine.calls == {}


def run(
    *arguments: str, scenario: str = 'workstation', stdout: int | IO[str] = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, '-m', 'nvitop.select', *arguments],
        env={**os.environ, 'NVITOP_DEMO': scenario},
        stderr=subprocess.PIPE,
        stdout=stdout,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_module_is_the_program() -> None:
    done = run('-S')
    assert done.returncode == 0
    assert done.stdout == '0\n'
    done = run('--version')
    assert done.stdout.startswith('nvisel ')
    done = run('--help')
    assert done.stdout.startswith('usage: nvisel ')


def test_demo_simulates_a_machine() -> None:
    done = run('--demo', 'mig', '-n', '1', scenario='')
    assert (done.returncode, done.stdout) == (0, '3\n')
    assert done.stderr.startswith("nvitop: simulated machine 'mig'")


def test_memory_that_cannot_be_read_fails_limits(
    machine: simulation.Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.fail('nvmlDeviceGetMemoryInfo*', 'UNKNOWN', gpu=2)
    assert main(['-f', '1GiB']) == 0
    captured = capfd.readouterr()
    assert captured.out == '1,0\n'
    assert '1 device skipped: the driver does not report' in captured.err
    machine.heal()
    machine.fail('nvmlDeviceGetMemoryInfo*', 'NOT_SUPPORTED', gpu=2)
    assert main(['-f', '1GiB']) == 0
    assert capfd.readouterr().out == '1,0,2\n'


def test_a_gpu_that_may_have_mig_devices_is_not_chosen(
    machine: simulation.Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.fail('nvmlDeviceGetMigMode', 'UNKNOWN', gpu=1)
    assert main([]) == 0
    captured = capfd.readouterr()
    assert captured.out == '2,0\n'
    assert '1 device skipped: not responding' in captured.err
