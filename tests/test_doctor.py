"""The report of ``nvitop doctor``."""

from __future__ import annotations

import pytest

from nvitop import doctor, simulation
from nvitop.api import libnvml
from tests.command_run import CommandRun


def lines() -> tuple[object, list[str]]:
    ran = CommandRun(doctor.main)
    return ran.status, ran.out.splitlines()[1:]


def test_working_machine_is_reported_with_status_0() -> None:
    with simulation.machine('mig', processes='none'):
        status, (binding, *others) = lines()
    assert status == 0
    assert binding.startswith('ok       binding: nvidia-ml-py')
    assert others == [
        'ok       driver: 550.127.05, CUDA 12.4',
        'ok       GPUs: 4 × NVIDIA A100-SXM4-80GB',
    ]


def test_lost_gpu_is_a_failure_but_can_be_captured() -> None:
    with simulation.machine('half-busy', processes='none') as machine:
        machine.set(gpu=3, lost=True)
        assert lines()[0] == 1
        assert lines()[1][-1] == 'failed   GPUs: 1 of 8: GPU 3: GPU is lost'
        assert (
            'temperature = "error 15: GPU is lost"' in CommandRun(doctor.main, '--capture', '-').out
        )


def test_empty_machine_is_a_failure() -> None:
    with simulation.machine('empty'):
        assert lines() == (1, [*lines()[1][:2], 'failed   GPUs: the driver lists none'])


def test_checks_end_at_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise libnvml.NVMLError(9)

    monkeypatch.setattr(libnvml, 'nvmlInit', fail)
    with simulation.machine('empty'):
        status, found = lines()
    assert status == 1
    assert found[1].startswith('failed   driver: Failed to initialize NVML: Driver Not Loaded')
    assert not any('GPUs:' in line for line in found)


def test_silent_driver_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, 'CHECK_SECONDS', 0.5)
    with simulation.machine('half-busy', processes='none') as machine:
        machine.hang('nvmlDeviceGetUUID')
        status, found = lines()
        machine.release()
    assert status == 1
    assert any(line.startswith('failed   gpus: The NVIDIA driver has not') for line in found)
