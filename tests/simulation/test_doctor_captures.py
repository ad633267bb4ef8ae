"""Captures of ``nvitop doctor`` become machines with the same values, and keep secrets."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from nvitop import doctor, simulation
from nvitop.api.device import Device
from nvitop.basics.metrics import EXTENDED_METRICS, METRICS
from nvitop.basics.toml import TomlDocument
from nvitop.basics.units import NA
from tests.command_run import CommandRun
from tests.simulation.conftest import NEWEST, needs

#: Captures of real machines.
REAL = sorted((pathlib.Path(__file__).parent.parent / 'captures' / 'doctor').glob('*.toml'))


def captured(path: pathlib.Path) -> dict[str, Any]:
    ran = CommandRun(doctor.main, '--capture', str(path))
    assert (ran.status, ran.err) == (0, f'nvitop doctor: wrote {path}\n')
    values: dict[str, Any] = TomlDocument(path.read_text(encoding='utf-8')).values
    return values


@pytest.mark.parametrize('name', ['dgx-h100', 'mig', 'workstation', 'old-driver'])
def test_machine_of_a_capture_has_the_same_values(name: str, tmp_path: pathlib.Path) -> None:
    first = tmp_path / 'first.toml'
    with simulation.machine(name, processes='fixed', clock=lambda: 0.0):
        before = captured(first)
        texts = [shown(device) for device in Device.all()]
    with simulation.machine(first, clock=lambda: 0.0):
        assert captured(tmp_path / 'second.toml') == before
        assert [shown(device) for device in Device.all()] == texts
        assert len({device.uuid() for device in Device.all()}) == len(texts)


def shown(device: Device) -> dict[str, str]:
    """Values of getters, but for those that a scenario cannot set, or that a capture masks."""
    others = (*doctor.MASKED, 'index', 'vbios_version')
    return {
        metric.name: 'N/A' if value is NA else str(value)
        for metric in (*METRICS, *EXTENDED_METRICS)
        if metric.name not in others and not metric.name.startswith(('gpm_', 'nvlink_'))
        for value in (device.reading(metric.method)[0],)
    }


@needs(*NEWEST)
@pytest.mark.parametrize('path', REAL, ids=lambda path: path.stem)
def test_what_nvml_returned_on_a_real_machine_comes_back(
    path: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    before = TomlDocument(path.read_text(encoding='utf-8')).values
    with simulation.machine(path, clock=lambda: 0.0):
        assert captured(tmp_path / 'capture.toml') == before


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
