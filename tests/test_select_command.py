"""``nvisel``: output, messages and exit status."""

from __future__ import annotations

from typing import Iterator, NoReturn

import pytest

from nvitop import simulation
from nvitop.api.device import Device
from nvitop.select import main
from nvitop.select.command import limited_reader
from tests.command_run import CommandRun
from tests.select_machine import select_machine


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[simulation.Machine]:
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
    with select_machine() as running:
        yield running


def nvisel(arguments: str) -> CommandRun:
    return CommandRun(main, *arguments.split())


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
        ('-G 0 -M 0', '\n'),
        ('-i 1', '1\n'),
        ('-i 2,0 -S', '2,0\n'),
        ('--account-as-free -n 1', '2\n'),
        ('--account-as-free ada emmy -n 1', '2\n'),
    ],
)
def test_the_chosen_devices_are_printed(
    machine: simulation.Machine, arguments: str, out: str
) -> None:
    ran = nvisel(arguments)
    assert (ran.status, ran.out) == (0, out)


@pytest.mark.parametrize(
    ('arguments', 'devices'),
    [('-t 1GiB -C 2', (2, 1)), ('-t 1GiB -i 3', ((3, 0),)), ('-i -S', (1, 0))],
)
def test_uuids_are_printed_in_full(
    machine: simulation.Machine,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
    devices: tuple[int | tuple[int, int], ...],
) -> None:
    visible = ','.join(Device(index).uuid()[:12] for index in (1, 0))
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', visible)
    ran = nvisel(f'{arguments} -O uuid')
    expected = ','.join(Device(index).uuid() for index in devices)
    assert (ran.status, ran.out) == (0, f'{expected}\n')
    assert ran.err == f'CUDA_VISIBLE_DEVICES="{expected}"\n'  # stdout is not a terminal


def test_skipped_devices_are_counted(machine: simulation.Machine) -> None:
    machine.fail('nvmlDeviceGetUtilizationRates', 'NOT_SUPPORTED', gpu=0)
    machine.set(gpu=1, lost=True)
    ran = nvisel('-G 50')
    assert (ran.status, ran.out) == (0, '2\n')
    assert ran.err.splitlines()[1:] == [
        'nvisel: warning: skipped 3 devices: the driver does not report a value that is limited',
        'nvisel: warning: skipped GPU 1: lost or not responding',
    ]


def test_a_gpu_that_may_have_mig_devices_is_not_chosen(machine: simulation.Machine) -> None:
    machine.fail('nvmlDeviceGetMigMode', 'UNKNOWN', gpu=1)
    ran = nvisel('')
    assert (ran.status, ran.out) == (0, '2,0\n')
    assert 'skipped GPU 1: lost or not responding' in ran.err


def test_unhealthy_gpus_are_skipped_with_the_reason_unless_wanted(
    machine: simulation.Machine,
) -> None:
    machine.set(gpu=2, total_volatile_uncorrected_ecc_errors=1)
    ran = nvisel('')
    assert '2' not in ran.out.strip().split(',')
    text = 'skipped GPU 2: uncorrected memory errors\n  Use --include-unhealthy to offer it.'
    assert f'nvisel: warning: {text}' in ran.err
    ran = nvisel('--include-unhealthy')
    assert '2' in ran.out.strip().split(',')
    assert 'uncorrected' not in ran.err


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ('-n 1', None),
        ('-C 2', 'GPU 1 is not free: more than 10 % of the memory is in use\n  Without limits'),
        ('', 'GPUs 1, 0 are not free'),
        ('-S -n 1', 'GPU 0 is not free'),
        ('-S', None),
        ('-f 1GiB', None),
        ('-f 100GiB', 'no GPU matches, so that CUDA would show none\n  -n 1 makes'),
        ('-C 0', None),
    ],
)
def test_a_choice_that_may_harm_is_said_on_standard_error(
    machine: simulation.Machine, arguments: str, words: str | None
) -> None:
    machine.set(gpu=0, memory_used='60 GiB')
    machine.set(gpu=1, memory_used='20 GiB')
    machine.set(gpu=2, memory_used='1 GiB')
    ran = nvisel(arguments)
    assert ran.status == 0
    warning = ran.err.partition('nvisel: warning: ')[2]
    assert warning.startswith(words) if words else not warning


def test_too_few_devices_are_printed_with_status_4(machine: simulation.Machine) -> None:
    ran = nvisel('-c 5')
    assert (ran.status, ran.out) == (4, '2,1,0\n')
    assert ran.err.endswith('nvisel: error: not enough devices: 5 required, 3 found\n')


def test_a_cuda_error_is_status_3(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(value: str) -> None:
        raise RuntimeError('out of order')

    monkeypatch.setattr(Device, 'parse_cuda_visible_devices', staticmethod(broken))
    ran = nvisel('-i 0')
    assert (ran.status, ran.out, ran.err) == (3, '', 'nvisel: error: CUDA failed: out of order\n')


def test_invalid_arguments_query_no_gpu(machine: simulation.Machine) -> None:
    assert nvisel('-C 1 -c 2').status == 2
    assert machine.calls == {}


def test_wait_for_a_device_until_it_is_free_or_the_time_is_over(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr('nvitop.select.choice.time.monotonic', lambda: sum(waits))

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            machine.set(gpu=1, gpu_utilization=0)

    monkeypatch.setattr('nvitop.select.choice.time.sleep', sleep)
    ran = nvisel('--wait 8 -G 10')
    assert (ran.status, ran.out, waits) == (4, '\n', [5.0, 3.0])
    assert ran.err.count('nvisel: waiting: not enough devices: 1 required, 0 found\n') == 1
    assert nvisel('--wait 1h -G 10').out == '1\n'
    assert len(waits) == 3
    assert nvisel('--wait 5 -C 0').status == 2


def test_separator_that_cannot_be_printed_is_refused() -> None:
    ran = CommandRun(main, '--separator', '\ud800')
    assert ran.status == 2
    assert 'not a text that can be printed' in ran.err


def test_error_of_the_program_itself_is_raised() -> None:
    def fail() -> NoReturn:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        limited_reader('nvisel')({0: fail})
