"""``nvitop health``: its formats, exit status, devices, and time limit."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any, Iterator

import pytest

from nvitop import doctor, simulation
from nvitop.api.system import system
from nvitop.health import check, is_wrong
from nvitop.health.command import format_text, judge, main
from nvitop.health.types import Finding
from nvitop.platforms import stuck_calls
from nvitop.sampling.types import DeviceKey, Sample
from tests.command_run import CommandRun
from tests.gui.goldens import assert_golden_text
from tests.programs import ROOT
from tests.schema_check import violations

CAPTURES = sorted((ROOT / 'tests' / 'captures').glob('[dx]*/*.*ml'))

FORMATS = ('text', 'nagios', 'npd', 'json')


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    with simulation.machine('half-busy', processes='none', clock=lambda: 0.0) as machine:
        yield machine


def health(*arguments: str) -> CommandRun:
    return CommandRun(main, *arguments)


def kinds(*arguments: str) -> list[tuple[str, object]]:
    """Findings of the JSON output, and their GPU or PCI bus ID."""
    found = json.loads(health('--format=json', *arguments).out)['findings']
    return [(f['kind'], f['pci_bus_id'] if f['gpu'] is None else f['gpu']) for f in found]


def test_formats_of_a_healthy_and_of_a_broken_machine(machine: simulation.Machine) -> None:
    healthy = [health('--format', form).out for form in FORMATS]
    machine.set(gpu=1, lost=True)
    machine.set(gpu=2, remapped_rows_pending=True, nvlink_down_count=2)
    machine.fail('nvmlDeviceGetTemperature*', 'UNKNOWN', gpu=3)
    machine.set(gpu=5, total_volatile_uncorrected_ecc_errors=3)
    text = ''.join([*healthy, *(health('--format', form).out for form in FORMATS)])
    text = re.sub(r'"(20\d\d-[^"]+)"', '"NOW"', text)
    assert_golden_text('health', text.replace(json.dumps(system().hostname()), '"HOST"'))
    ignored = json.loads(health('--format=json', '--ignore=memory_errors').out)
    assert [f['kind'] for f in ignored['findings'] if not f['counts']] == ['memory_errors']


@pytest.mark.parametrize(
    ('options', 'status', 'npd'),
    [
        ('-o 1', 2, 1),
        ('-o 2', 1, 1),
        ('-o 3', 3, 2),
        ('-o 4', 0, 0),
        ('-o 5', 2, 1),
        ('-o 1 2 3', 2, 1),
        ('-o 2 3', 1, 1),
        ('-o 2 3 --fail-on critical', 0, 0),
        ('-o 1 --fail-on critical', 2, 1),
        ('-o 1 --ignore lost', 0, 0),
        ('--ignore lost,unreadable,reset_needed', 1, 1),
        ('--ignore lost unreadable --ignore remap_pending reset_needed', 0, 0),
    ],
)
def test_exit_status(machine: simulation.Machine, options: str, status: int, npd: int) -> None:
    machine.set(gpu=1, lost=True)
    machine.set(gpu=2, remapped_rows_pending=True)
    machine.fail('nvmlDeviceGetTemperature*', 'UNKNOWN', gpu=3)
    # Only the lists of processes report it.
    machine.fail('nvmlDeviceGetComputeRunningProcesses*', 'RESET_REQUIRED', gpu=5)
    for form in ('text', 'json', 'nagios'):
        assert health(*options.split(), '--format', form).status == status
    assert health(*options.split(), '--format', 'npd').status == npd


@pytest.mark.parametrize('path', CAPTURES, ids=lambda path: path.stem)
def test_captured_machines_have_no_findings_but_real_ones(path: pathlib.Path) -> None:
    with simulation.machine(path):
        found = {finding.kind for finding in check.check_health().findings if is_wrong(finding)}
    real = {'lost', 'memory_errors', 'remap_failed'} if 'mock' in path.stem else set()
    assert found == real


def test_a_second_look_shows_what_lasts_and_what_grows(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(system()), 'uptime', lambda _self: 1e6)
    machine.set(gpu=1, nvlink_errors=150, pcie_replays=150)
    machine.set(gpu=2, temperature=91)
    assert kinds() == [('hot', 2)]

    def change(_seconds: float) -> None:
        machine.set(gpu=2, temperature=60)
        machine.set(gpu=1, nvlink_errors=450, pcie_replays=160)

    monkeypatch.setattr('nvitop.health.check.time.sleep', change)
    monkeypatch.setattr('nvitop.health.check.SECOND_LOOK_SECONDS', 0.0)
    ran = health()
    assert ran.status == 1
    assert ran.out.startswith('1 warning of 8 GPUs\nGPU 1: warning: NVLink errors\n')
    assert 'also warning: PCIe errors\n' in ran.out


def test_text_counts_gpus_by_severity_and_colors_it(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.set(gpu=0, remapped_rows_pending=True)
    machine.set(gpu=2, lost=True)
    monkeypatch.setenv('FORCE_COLOR', '1')
    for terminal, background, red, amber in (
        ('xterm-256color', '', '38;5;203', '38;5;214'),
        ('xterm-256color', '0;15', '38;5;160', '38;5;130'),
        ('xterm', '0;15', '31', '33'),
    ):
        monkeypatch.setenv('TERM', terminal)
        monkeypatch.setenv('COLORFGBG', background)
        monkeypatch.delenv('COLORTERM', raising=False)
        critical, warning = f'\033[1;{red}mcritical\033[m', f'\033[1;{amber}mwarning\033[m'
        lines = health('--expect', '9').out.splitlines()
        assert lines[0] == f'2 {critical}, 1 {warning} of 9 GPUs'
        named = [line for line in lines if line.startswith('\033[1mGPU ')]
        assert [line.partition('\033[m: ')[2] for line in named] == [
            f'{critical}: missing',
            f'{critical}: lost',
            f'{warning}: pending row remapping',
        ]


def test_text_counts_a_gpu_with_mig_devices_once() -> None:
    devices = [DeviceKey(0, mig) for mig in (-1, 0, 1)]
    found = tuple(Finding(key, 'hot', 'warning', 'hot', '', '', 'hot') for key in devices)
    text = format_text(judge(check.HealthCheck(Sample(0.0), found, 2, 2)))
    assert text.startswith('1 warning of 2 GPUs\nGPU 0: ')
    assert text.count('\nGPU 0') == 3


@pytest.mark.parametrize('scenario', ['faults', 'half-busy', 'empty', 'mig'])
def test_json_follows_its_schema(scenario: str) -> None:
    schema = json.loads((ROOT / 'share/health/health.schema.json').read_text(encoding='utf-8'))
    with simulation.machine(scenario, processes='none'):
        data = json.loads(health('--format=json', '--expect=9').out)
    assert list(data) == schema['required']
    assert [*violations(schema, data)] == []


def test_missing_gpus(machine: simulation.Machine) -> None:
    assert kinds('--expect=8') == kinds('--expect=auto') == kinds('--expect=2') == []
    assert kinds('--expect=9') == [('missing', None)]
    assert 'the driver lists 8 of 9 GPUs' in health('--expect=9').out
    machine.set(gpu=3, present=False)
    assert kinds() == kinds('--expect=8') == [('missing', '0000:5a:00.0')]
    assert kinds('--expect=9') == [('missing', None), ('missing', '0000:5a:00.0')]
    assert kinds('--expect=7') == kinds('-o', '0') == []
    machine.set(gpu=3, present=True, lost=True)
    (finding,) = json.loads(health('--format=json').out)['findings']
    assert (finding['kind'], finding['pci_bus_id']) == ('lost', '0000:5a:00.0')


def test_devices_are_found_by_any_name(machine: simulation.Machine) -> None:
    machine.set(total_volatile_uncorrected_ecc_errors=3)
    for name in ('5', '00000000:84:00.0', '84:00.0', '1652323000005'):
        assert kinds('-o', name) == [('memory_errors', 5)]


@pytest.mark.parametrize('name', ['8', '12', '0:0', 'GPU-123', '165', '85:00.0'])
def test_a_name_of_no_gpu_is_an_error(machine: simulation.Machine, name: str) -> None:
    ran = health('-o', '4', name)
    assert (ran.status, ran.out) == (3, f'unknown: no GPU is {name!r}; the driver lists 8\n')


def test_a_name_of_a_gpu_that_should_be_there_is_a_missing_gpu(machine: simulation.Machine) -> None:
    machine.set(gpu=7, present=False)
    for name in ('7', 'e4:00.0', 'GPU-123'):
        assert kinds('-o', name) == [('missing', None)], name
    assert ('missing', None) in kinds('-o', '8', '--expect=9')
    assert health('-o', '8').status == 3


@pytest.mark.parametrize('words', ['--ignore nosuch', '--expect x', '--demo nosuch', '-o'])
def test_wrong_arguments_are_not_a_critical_finding(words: str) -> None:
    assert health(*words.split()).status == 3


def test_findings_about_the_gpu_of_a_mig_device_count() -> None:
    with simulation.machine('mig', processes='none') as machine:
        machine.set(gpu=0, total_volatile_uncorrected_ecc_errors=3)
        machine.set(gpu=1, total_volatile_uncorrected_ecc_errors=3)
        uuid = next(mig.value('uuid') for mig in machine.world.gpus[0].migs)
        assert kinds('-o', str(uuid)) == kinds('-o', '0:0') == [('memory_errors', 0)]


def test_a_hanging_gpu_is_named_and_others_are_judged(machine: simulation.Machine) -> None:
    machine.hang('nvmlDeviceGetTemperature*', gpu=5)
    machine.set(gpu=6, total_volatile_uncorrected_ecc_errors=3)
    arguments = ('--timeout', '2')
    assert kinds(*arguments) == [('not_responding', 5), ('memory_errors', 6)]
    assert kinds('-o', '6', *arguments) == [('memory_errors', 6)]
    ran = health('-o', 'GPU-123', *arguments)
    assert "no GPU is 'GPU-123'" in ran.out  # the names of GPU 5 were read before


def test_gpus_without_known_names_may_be_the_missing_one(machine: simulation.Machine) -> None:
    machine.hang('nvmlDeviceGetHandle*')
    ran = health('-o', 'GPU-123', '--timeout', '2')
    assert 'no such GPU; GPU 0, 1, 2, 3, 4, 5, 6, 7 is not responding\n' in ran.out


@pytest.mark.parametrize('form', ['text', 'json', 'nagios', 'npd'])
@pytest.mark.parametrize('hangs', [True, False])
def test_a_driver_that_does_not_work_is_unknown(
    machine: simulation.Machine, form: str, hangs: bool
) -> None:
    if hangs:
        machine.hang('nvmlDeviceGetCount*')
    else:
        machine.fail('nvml*', 'DRIVER_NOT_LOADED')
    ran = health('--format', form, '--timeout', '0.2', '--fail-on', 'critical')
    assert ran.status == (2 if form == 'npd' else 3)
    assert ('no response for' if hangs else 'Driver Not Loaded') in ran.out


@pytest.mark.parametrize(
    ('error', 'expected', 'status'),
    [
        ('DRIVER_NOT_LOADED', '8', 2),
        ('LIBRARY_NOT_FOUND', '8', 2),
        ('DRIVER_NOT_LOADED', 'auto', 3),
        ('DRIVER_NOT_LOADED', '0', 3),
        ('UNKNOWN', '8', 3),
    ],
)
def test_without_a_driver_no_expected_gpu_works(
    machine: simulation.Machine, error: str, expected: str, status: int
) -> None:
    machine.fail('nvml*', error)
    ran = health('--expect', expected, '--format=nagios')
    assert ran.status == status
    assert ('CRITICAL - the driver lists 0 of 8 GPUs: ' in ran.out) == (status == 2)


def test_a_lock_file_that_cannot_be_used_is_a_warning(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(stuck_calls, '_path', lambda _user: str(tmp_path))
    monkeypatch.setattr(stuck_calls, 'problem', '')
    stuck_calls.heed()
    ran = health()
    assert (ran.status, ran.out) == (0, 'ok: 8 GPUs\n')
    assert ran.err == (
        f'nvitop health: warning: {tmp_path} cannot be used: Is a directory; if the driver hangs, '
        'each command may leave a process\n'
    )
    assert doctor._check_permissions().state == 'limited'


@pytest.mark.parametrize(('age', 'status'), [(30, 'unknown'), (90, 'critical')])
def test_a_driver_that_has_kept_a_process_for_long_is_critical(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch, age: float, status: str
) -> None:
    holder = stuck_calls.Holder(4711, age, 'Z')
    monkeypatch.setattr(stuck_calls, '_files', [-1])
    monkeypatch.setattr(stuck_calls, 'find_holder', lambda _subject: holder)
    ran = health()
    assert ran.status == {'unknown': 3, 'critical': 2}[status]
    assert ran.out.startswith(f'{status}: the driver does not work: no response since 20')
    assert ran.out.endswith(': process 4711 hangs in a call to the driver\n')


def test_a_machine_without_gpus_is_unknown() -> None:
    with simulation.machine('empty'):
        assert (health().status, health().out) == (3, 'unknown: the driver lists no GPU\n')
        assert health('--expect', '2').status == 2


def test_an_internal_error_is_unknown(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError('a | b')

    monkeypatch.setattr(check, 'findings', fail)
    ran = health('--format=nagios')
    text = 'GPU UNKNOWN - internal error: ZeroDivisionError: a / b\n'
    assert (ran.status, ran.out) == (3, text)
