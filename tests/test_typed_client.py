"""A program of a user, which type checkers accept (``make lint``) and which runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nvitop
from nvitop import Device, NaType, host, libcuda, libnvml, select_devices, simulation
from nvitop.libnvml import nvmlQuery
from nvitop.process import GpuProcess
from nvitop.utils import bytes2human

if TYPE_CHECKING:
    from nvitop import CudaDevice, PhysicalDevice, Snapshot


def reason_of(error: libnvml.NVMLError) -> str:
    return str(error)


def test_typed_program_runs() -> None:
    with simulation.machine('half-busy'):
        with libnvml:
            count: int = libnvml.nvmlDeviceGetCount()
            error = libnvml.last_error('nvmlDeviceGetCount')
            assert error is None or reason_of(error)
        devices: list[Device] = Device.all()
        gpus: list[PhysicalDevice] = nvitop.PhysicalDevice.all()
        indices: list[int] = select_devices()
        uuids: list[str] = select_devices(format='uuid')
        cuda_devices: list[CudaDevice] = Device.cuda.all()
        used: int | NaType = devices[0].memory_used()
        processes: dict[int, GpuProcess] = devices[0].processes()
        snapshot: Snapshot = devices[0].as_snapshot()
        assert count == len(devices) == len(gpus) == len(indices) == len(uuids)
        assert len(cuda_devices) == count
        assert bytes2human(used) == nvitop.utils.bytes2human(snapshot.memory_used)
        assert all(process.device == devices[0] for process in processes.values())
        assert nvmlQuery('nvmlDeviceGetCount') == count
    percent: float = host.cpu_percent()
    assert percent + host.virtual_memory().percent >= 0
    cuda_error: libcuda.CUDAError = libcuda.CUDAError(libcuda.CUDA_ERROR_NO_DEVICE)
    assert cuda_error == libcuda.CUDAError_NoDevice()
    text: str = nvitop.timedelta2human(75)
    assert text == '1:15'
