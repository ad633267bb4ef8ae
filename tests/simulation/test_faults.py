"""Faults of a simulated machine."""

from __future__ import annotations

from typing import Callable

import pynvml
import pytest

from nvitop import simulation
from nvitop.api import libcuda
from tests.simulation.conftest import handle

Start = Callable[..., simulation.Machine]


def codes(count: int, gpu: int = 0) -> list[int]:
    """The return codes of *count* calls."""
    result = []
    for _ in range(count):
        try:
            pynvml.nvmlDeviceGetPowerUsage(handle(gpu))
            result.append(0)
        except pynvml.NVMLError as error:
            result.append(error.value)
    return result


def test_fault_has_a_start_an_interval_and_a_maximum(start: Start) -> None:
    machine = start()
    machine.fail('nvmlDeviceGetPowerUsage', 'TIMEOUT', after=2, every=2, times=2)
    assert codes(8) == [0, 0, 0, 10, 0, 10, 0, 0]


def test_unknown_functions_codes_and_gpus_are_explained() -> None:
    mig = simulation.machine('mig', processes='none')
    name = 'nvmlDeviceGetUtilizationRates'
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: mig.fail('nvmlDeviceGetUtilizationRate', 1), f"did you mean '{name}'"),
        (lambda: mig.fail(name, 'GPU_LOST'), "code 'GPU_LOST'; did you mean 'GPU_IS_LOST'"),
        (lambda: mig.fail(name, 'LOST'), 'expected one of .*, GPU_IS_LOST,'),
        (lambda: mig.fail(name, 'NVML_ERROR_UNKNOWN', gpu=4), 'no GPU 4; the machine has 4, from'),
        (lambda: mig.delay(name, 1, gpu=-1), 'no GPU -1'),
        (lambda: mig.hang(name, gpu=(0, 9)), r'no MIG device \(0, 9\); GPU 0 has \(0, 0\), '),
        (lambda: mig.set(gpu=12, lost=True), 'no GPU 12'),
        (lambda: mig.set(gpu=(2, 0), lost=True), 'GPU 2 has none'),
        (lambda: mig.grow(3, gpu=12), 'no GPU 12'),
        (
            lambda: mig.set(temprature=1),
            "^Machine.set: temprature: unknown key; did you mean 'temp",
        ),
        (lambda: mig.hide('nvmlNo*'), 'no function'),
    )
    for call, message in calls:
        with pytest.raises(ValueError, match=message):
            call()


def test_cuda_driver_has_the_devices_of_the_environment_and_fails(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '0')
    machine = start()
    for call in (libcuda.cuDeviceGetCount, lambda: libcuda.cuDeviceGet(0)):
        with pytest.raises(libcuda.CUDAError_NotInitialized):
            call()
    machine.fail('cuInit', 999)
    with pytest.raises(libcuda.CUDAError_Unknown):
        libcuda.cuInit()
    machine.heal()
    machine.hide('cuDeviceGetUuid_v2')
    libcuda.cuInit()
    assert libcuda.cuDriverGetVersion() == '13.0'
    assert libcuda.cuDeviceGetCount() == 1
    assert libcuda.cuDeviceGetUuid(0).startswith('687e4c4b')
    for unknown in (1, -1):
        with pytest.raises(libcuda.CUDAError_InvalidDevice):
            libcuda.cuDeviceGet(unknown)
