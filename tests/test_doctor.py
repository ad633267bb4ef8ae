"""The report of ``nvitop doctor``: each check on a machine where it fails."""

from __future__ import annotations

import pathlib

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


def test_working_machine_has_status_0() -> None:
    with simulation.machine('mig', processes='none'):
        status, found = report()
    assert status == 0
    assert found['driver'] == 'ok       550.127.05, CUDA 12.4, simulated: mig'
    assert found['GPUs'] == 'ok       4 × NVIDIA A100-SXM4-80GB'
    assert found['NVML binding'].startswith('ok       nvidia-ml-py')
    assert set(found) == {
        *('system', 'NVML binding', 'driver', 'GPUs', 'CUDA', 'permissions', 'terminal'),
        *('configuration', 'packages'),
    }


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


def test_without_a_driver_the_other_checks_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise libnvml.NVMLError(9)

    monkeypatch.setattr(libnvml, 'nvmlInit', fail)
    with simulation.machine('empty'):
        status, found = report()
    assert status == 1
    assert found['driver'].startswith('failed   Failed to initialize NVML: Driver Not Loaded')
    assert 'GPUs' not in found
    assert 'packages' in found


def test_silent_gpu_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, 'CHECK_SECONDS', 0.5)
    with simulation.machine('half-busy', processes='none') as machine:
        machine.hang('nvmlDeviceGetUUID')
        status, found = report()
        machine.release()
    assert status == 1
    assert found['gpus'].startswith('failed   The NVIDIA driver has not')


def test_mistake_in_the_configuration_file_is_a_failure(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'config.toml'
    monkeypatch.setattr(doctor, 'config_file', lambda: str(path))
    assert doctor.check_config() == ('configuration', f'no file ({path})', 'ok')
    path.write_text('columns = ["pid", "gpu"]\n')
    assert doctor.check_config() == ('configuration', str(path), 'ok')
    path.write_text('them = "dark"\n')
    _, text, state = doctor.check_config()
    assert (text, state) == (f"{path}:1: unknown key 'them'; did you mean 'theme'?", 'failed')


def test_hidden_processes_limit_what_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, 'surroundings', lambda: 'container')
    monkeypatch.setattr(doctor, '_content', lambda path: 'bash\n')
    assert doctor.check_place().state == 'limited'
    assert '--pid=host' in doctor.check_place().text
    monkeypatch.setattr(doctor, '_content', lambda path: 'kthreadd\n')
    assert doctor.check_place().state == 'ok'
    monkeypatch.setattr(doctor, 'is_superuser', lambda: False)
    monkeypatch.setattr(doctor, '_content', lambda path: 'proc /proc proc rw,hidepid=2 0 0\n')
    assert doctor.check_permissions().state == 'limited'
    monkeypatch.setattr(doctor, '_content', lambda path: 'proc /proc proc rw 0 0\n')
    assert doctor.check_permissions().state == 'ok'


def test_packages_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, 'PACKAGES', {'psutil': 'required', 'no-such-package': 'nothing'})
    _, text, state = doctor.check_packages()
    assert text.startswith('psutil ')
    assert text.endswith('; not installed: no-such-package (nothing)')
    assert state == 'ok'


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


@pytest.mark.parametrize(
    ('environment', 'words'),
    [
        ({'TERM': 'xterm-256color'}, ', 256 colors'),
        ({'TERM': 'xterm-256color', 'COLORTERM': 'truecolor'}, ', 256 colors'),
        ({'COLORTERM': 'truecolor', 'NO_COLOR': '1'}, ', no colors (NO_COLOR is set)'),
        ({'TERM': 'xterm'}, ''),
    ],
)
def test_colors_of_the_terminal_are_named(
    environment: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ('TERM', 'COLORTERM', 'NO_COLOR'):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert doctor.check_terminal().text.endswith(f'redirected, utf-8{words}')
