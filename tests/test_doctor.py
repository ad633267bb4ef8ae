"""The report of ``nvitop doctor``: each check on a machine where it fails."""

from __future__ import annotations

import os
import pathlib
import sys
import threading
from unittest import mock

import pytest

from nvitop import doctor, simulation
from nvitop.api import libnvml
from tests.command_run import CommandRun


def report() -> tuple[object, dict[str, str]]:
    """Exit status, and name of a check → its state and text."""
    ran = CommandRun(doctor.main)
    found: dict[str, str] = {}
    name = ''
    for line in ran.out.splitlines()[1:]:
        name = line[9:23].strip() or name
        found[name] = (
            f'{found[name]}\n{line.strip()}' if name in found else f'{line[:9]}{line[24:]}'
        )
    return ran.status, found


def test_long_texts_are_wrapped_below_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('nvitop.console.messages._size', lambda _: (60, 20))
    with simulation.machine('faults', processes='none'):
        lines = CommandRun(doctor.main).out.splitlines()
    begin = next(at for at, line in enumerate(lines) if 'GPU 1: lost. Reboot' in line)
    assert max(map(len, lines)) <= 60
    assert lines[begin + 1].startswith(24 * ' ' + 'it is lost again, check')
    assert f'{24 * " "}nvidia-smi --gpu-reset -i 7' in '\n'.join(lines)  # a command is not wrapped


def test_working_machine_has_status_0() -> None:
    with simulation.machine('mig', processes='none'):
        status, found = report()
    assert status == 0
    assert found['driver'] == 'ok       550.127.05, CUDA 12.4, simulated: mig'
    assert found['GPUs'] == 'ok       4 × NVIDIA A100-SXM4-80GB'
    assert found['NVML binding'].startswith('ok       nvidia-ml-py')
    assert ' '.join(found) == 'system NVML binding driver GPUs permissions terminal'


def test_capture_says_where_it_is(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'c.toml'
    with simulation.machine('half-busy', processes='none'):
        ran = CommandRun(doctor.main, '--capture', str(path))
    assert f'nvitop doctor: wrote {path}' in ran.err
    assert path.exists()


def test_lost_gpu_is_a_failure_but_can_be_captured() -> None:
    with simulation.machine('half-busy', processes='none') as machine:
        machine.set(gpu=3, lost=True)
        status, found = report()
        captured = CommandRun(doctor.main, '--capture', '-').out
    assert status == 1
    assert found['GPUs'].startswith(
        'failed   7 × NVIDIA H100 80GB HBM3; no name: GPU 3\nGPU 3: lost. Reboot'
    )
    assert 'GPU 3: error 15: GPU is lost: ' in captured
    assert captured.count('lost = true') == 1


def test_empty_machine_is_a_failure() -> None:
    with simulation.machine('empty'):
        status, found = report()
    assert (status, found['GPUs']) == (1, 'failed   the driver lists none')


def test_gpu_that_may_not_be_opened_is_no_failure() -> None:
    scenario = simulation.parse_scenario('[[gpu]]\nmodel = "A100"\n', name='one')
    with simulation.machine(scenario, processes='fixed') as machine:
        machine.fail('nvmlDeviceGetHandleBy*', 'NO_PERMISSION')
        check = doctor._check_gpus()
    assert check.state == 'limited'
    assert check.text.startswith('GPU 0: not permitted. Ask for the GPU')


def test_without_a_driver_the_other_checks_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise libnvml.NVMLError(9)

    monkeypatch.setattr(libnvml, 'nvmlInit', fail)
    with simulation.machine('empty'):
        status, found = report()
    assert status == 1
    assert found['driver'].startswith('failed   Failed to initialize NVML: Driver Not Loaded')
    assert 'GPUs' not in found
    assert 'terminal' in found


def test_a_check_that_does_not_end_or_raises_keeps_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise ZeroDivisionError('by 0')

    monkeypatch.setattr(doctor, 'CHECK_SECONDS', 0.5)
    endless = threading.Event()
    checks = {**doctor.CHECKS, 'terminal': endless.wait, 'system': fail}
    monkeypatch.setattr(doctor, 'CHECKS', checks)
    with simulation.machine('half-busy', processes='none') as machine:
        machine.hang('nvmlDeviceGetUUID')
        status, found = report()
        machine.release()
    endless.set()
    assert status == 1
    assert found['GPUs'].startswith('failed   The NVIDIA driver has not responded for')
    assert found['terminal'].endswith('a file system or a device may hang')
    assert found['system'] == 'failed   ZeroDivisionError: by 0'
    assert found['permissions'].startswith('ok ')


def test_a_hanging_gpu_does_not_prevent_the_capture_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, 'GPU_SECONDS', 0.5)
    with simulation.machine('half-busy', processes='none') as machine:
        machine.hang('nvmlDeviceGetTemperature*', gpu=1)
        text = doctor.capture_text()
        machine.release()
    assert '# GPU 1: no response for ' in text
    assert text.count('\nmodel = ') == 8
    assert text.count('\ntemperature = ') == 7
    assert text.count('\nname = ') == 8  # was read before


def test_hidden_processes_limit_what_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, 'surroundings', lambda: 'container')
    monkeypatch.setattr(doctor, '_content', lambda path: 'bash\n')
    assert doctor._check_place().state == 'limited'
    assert '--pid=host' in doctor._check_place().text
    monkeypatch.setattr(doctor, '_content', lambda path: 'kthreadd\n')
    assert doctor._check_place().state == 'ok'
    monkeypatch.setattr(doctor, 'is_superuser', lambda: False)
    monkeypatch.setattr(doctor, '_content', lambda path: 'proc /proc proc rw,hidepid=2 0 0\n')
    assert doctor._check_permissions().state == 'limited'
    monkeypatch.setattr(doctor, '_content', lambda path: 'proc /proc proc rw 0 0\n')
    assert doctor._check_permissions().state == 'ok'


def test_terminal_without_unicode_limits_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setattr(sys, 'stdin', mock.Mock(isatty=lambda: True))
    monkeypatch.setattr(os, 'get_terminal_size', lambda _: os.terminal_size((80, 24)))
    for encoding, state in (('utf-8', 'ok'), ('ascii', 'limited')):
        monkeypatch.setattr(sys, 'stdout', mock.Mock(isatty=lambda: True, encoding=encoding))
        check = doctor._check_terminal()
        assert (check.text.splitlines()[0], check.state) == (f'xterm, 80 × 24, {encoding}', state)


def test_sizes_in_a_capture_are_exact() -> None:
    text = """
    [[gpu]]
    memory_total = "8 GiB"
    memory_reserved = 0
    memory_used = "3 KiB"
    memory_free = "1000 B"
    """
    with simulation.machine(simulation.parse_scenario(text, name='sizes')):
        found = doctor.capture_text()
    assert (
        'memory_total = "8192 MiB"\nmemory_reserved = "0 MiB"\nmemory_used = "3 KiB"\nmemory_free = "1000 B"\n'
        in found
    )
