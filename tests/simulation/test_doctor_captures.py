"""Captures of ``nvitop doctor`` become machines with the same values, and keep secrets."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from nvitop import doctor, simulation
from nvitop.api.device import Device
from nvitop.basics.toml import TomlDocument
from nvitop.simulation.capture import scenario_text
from tests.command_run import CommandRun
from tests.simulation.conftest import NEWEST, needs, read_capture

#: Getters that a scenario cannot set: performance counters, lists, and what is compared below.
OTHERS = ('gpm_', 'nvlink_tx', 'nvlink_rx', 'mig', 'process')

#: Captures of real machines.
REAL = sorted((pathlib.Path(__file__).parent.parent / 'captures' / 'doctor').glob('*.toml'))


def captured(path: pathlib.Path) -> dict[str, Any]:
    ran = CommandRun(doctor.main, '--capture', str(path))
    assert (ran.status, ran.err) == (0, '')
    values: dict[str, Any] = TomlDocument(path.read_text(encoding='utf-8')).values
    return values


def without_code(value: object) -> object:
    return 'error' if isinstance(value, str) and value.startswith('error ') else value


def values_of(gpu: dict[str, Any]) -> dict[str, Any]:
    return {name: without_code(value) for name, value in gpu.items() if not name.startswith(OTHERS)}


def missing_alike(values: dict[str, Any]) -> dict[str, Any]:
    """Values with one text for what is missing, with or without an error of NVML."""
    return {name: 'error' if value == 'N/A' else value for name, value in values.items()}


def processes(gpu: dict[str, Any]) -> list[Any]:
    names = ('pid', 'type', 'gpu_memory', 'gpu_instance_id', 'compute_instance_id')
    return sorted(tuple(one[name] for name in names) for one in gpu.get('process', ()))


@pytest.mark.parametrize('name', ['dgx-h100', 'mig', 'workstation', 'old-driver'])
def test_machine_of_a_capture_has_the_same_values(name: str, tmp_path: pathlib.Path) -> None:
    first, second = tmp_path / 'first.toml', tmp_path / 'second.toml'
    with simulation.machine(name, processes='fixed', clock=lambda: 0.0):
        before = captured(first)
        uuids = [device.uuid() for device in Device.all()]
    text = scenario_text(read_capture(first), '')
    with simulation.machine(simulation.parse_scenario(text, name=name), clock=lambda: 0.0):
        after = captured(second)
        assert len({device.uuid() for device in Device.all()}) == len(uuids)
    assert after['driver_version'] == before['driver_version']
    assert len(after['gpu']) == len(before['gpu'])
    for gpu, other in zip(before['gpu'], after['gpu']):
        assert values_of(other) == values_of(gpu)
        assert processes(other) == processes(gpu)
        migs, others = ([values_of(mig) for mig in one.get('mig', ())] for one in (gpu, other))
        assert others == migs


@needs(*NEWEST)
@pytest.mark.parametrize('path', REAL, ids=lambda path: path.stem)
def test_what_nvml_returned_on_a_real_machine_comes_back(
    path: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    before = TomlDocument(path.read_text(encoding='utf-8')).values
    with simulation.machine(path, clock=lambda: 0.0):
        after = captured(tmp_path / 'capture.toml')
    assert len(after['gpu']) == len(before['gpu'])
    for gpu, other in zip(before['gpu'], after['gpu']):
        assert missing_alike(values_of(other)) == missing_alike(values_of(gpu))
        assert processes(other) == processes(gpu)


def test_capture_is_small_and_has_no_names_or_numbers_of_boards(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'gpus.toml'
    with simulation.machine('dgx-h100', processes='fixed') as machine:
        captured(path)
        devices = Device.all()
        secrets = {text for device in devices for text in (device.serial(), device.uuid())}
        secrets |= {task.spec.user for task in machine.world.tasks if task.spec.user}
        secrets |= {word for task in machine.world.tasks for word in task.spec.command}
        secrets |= {'dgx01'}
    text = path.read_text(encoding='utf-8')
    assert len(secrets) > 30
    assert [secret for secret in secrets if len(secret) > 4 and secret in text] == []
    assert len(text) < 100_000


@pytest.mark.parametrize('text', ['capture = "x"', 'x = 1', 'capture = 1\n[gpu', b'\xff'])
def test_other_files_are_no_captures(text: str | bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'other.toml'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(simulation.ScenarioError, match=r'other\.toml'):
        read_capture(path)
    with pytest.raises(simulation.ScenarioError):
        simulation.load(path)
