"""The simulated CUDA driver: devices and ``CUDA_VISIBLE_DEVICES``."""

from __future__ import annotations

from typing import Callable

import pynvml
import pytest

from nvitop import simulation
from nvitop.api import libcuda
from tests.simulation.conftest import handle, text

Start = Callable[..., simulation.Machine]
THREE = '[[gpu]]\ncount = 3\n'


def uuid(index: int) -> str:
    return text(pynvml.nvmlDeviceGetUUID(handle(index)))


def mig_uuid(gpu: int, index: int) -> str:
    device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle(gpu), index)
    return text(pynvml.nvmlDeviceGetUUID(device))


def visible() -> list[str]:
    """UUIDs of the devices that CUDA shows, without prefix."""
    try:
        libcuda.cuInit()
    except libcuda.CUDAError_NoDevice:
        return []
    return [libcuda.cuDeviceGetUuid(i) for i in range(libcuda.cuDeviceGetCount())]


def test_uuid_of_a_mig_device_is_that_of_its_gpu_before_r470(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = start('mig')
    machine.hide('cuDeviceGetUuid_v2')
    pynvml.nvmlInit()
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', mig_uuid(0, 2))
    assert visible() == [uuid(0)[4:]]


def test_device_reports_its_properties(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '4')
    start()
    libcuda.cuInit()
    assert libcuda.cuDriverGetVersion() == '13.0'
    assert libcuda.cuDeviceGetCount() == 1
    device = libcuda.cuDeviceGet(0)
    assert libcuda.cuDeviceGetUuid(device) == libcuda.cuDeviceGetUuid_v2(device) == uuid(4)[4:]
    for unknown in (1, -1):
        with pytest.raises(libcuda.CUDAError_InvalidDevice):
            libcuda.cuDeviceGet(unknown)


def test_calls_before_cuinit_fail(start: Start) -> None:
    start()
    with pytest.raises(libcuda.CUDAError_NotInitialized):
        libcuda.cuDeviceGetCount()
    with pytest.raises(libcuda.CUDAError_NotInitialized):
        libcuda.cuDeviceGet(0)


def test_lost_gpu_is_not_listed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    machine = start(THREE)
    machine.set(gpu=1, lost=True)
    assert visible() == [uuid(0)[4:], uuid(2)[4:]]
    start('empty')
    assert visible() == []
    assert not libcuda.is_available()
