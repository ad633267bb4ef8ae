"""A program that uses the library with type annotations: ``make lint`` checks it, and it runs."""

from __future__ import annotations

import contextlib

from nvitop import (
    CudaDevice,
    Device,
    GpuProcess,
    HostProcess,
    MigDevice,
    NaType,
    PhysicalDevice,
    Snapshot,
    host,
    libcuda,
    libnvml,
    select_devices,
    take_snapshots,
)
from nvitop.libnvml import nvmlQuery
from nvitop.utils import bytes2human, timedelta2human
from tests.api.machines import machine


def find_devices() -> None:
    devices: list[Device] = Device.all()
    physical: list[PhysicalDevice] = PhysicalDevice.all()
    migs: list[MigDevice] = MigDevice.all()
    cuda: list[CudaDevice] = CudaDevice.all()
    cuda = Device.cuda.all()
    cuda = Device.from_cuda_visible_devices()
    with contextlib.suppress(AttributeError):
        cuda[0].gpu_utilisation()  # type: ignore[attr-defined]
    with contextlib.suppress(AttributeError):
        Device.cuda.al()  # type: ignore[attr-defined]
    indices: list[int] = select_devices(include_unhealthy=True)
    uuids: list[str] = select_devices(format='uuid', include_unhealthy=True)
    assert [device.index for device in devices] == [gpu.index for gpu in physical]
    assert [mig.parent.index + mig.mig_index for mig in migs]
    assert [device.cuda_index + 1 for device in cuda]
    assert len(indices) == len(uuids)


def read_values() -> None:
    total = 0
    for device in Device.all():
        used: int | NaType = device.memory_used()
        if not isinstance(used, NaType):
            total += used
        snapshot: Snapshot = device.as_snapshot()
        assert bytes2human(used) == bytes2human(snapshot.memory_used)
    assert total > 0


def read_snapshots() -> None:
    # As with nvitop 1.7: fields have no narrower type, and snapshots are one class.
    found = take_snapshots()
    devices: list[Snapshot] = found.devices
    processes: list[Snapshot] = found.gpu_processes
    total: int = devices[0].memory_total
    commands: list[str] = [process.command for process in processes]
    assert total > 0
    assert len(commands) == len(processes)


def list_processes() -> None:
    for device in Device.all():
        processes: dict[int, GpuProcess] = device.processes()
        for pid, process in processes.items():
            owner: Device = process.device
            host_process: HostProcess = process.host
            assert (owner, host_process.pid) == (device, pid)


def read_host() -> None:
    percent: float = host.cpu_percent()
    assert percent >= 0
    assert host.virtual_memory().total > 0
    assert host.load_average() is not None
    try:
        host.Process(2**31 - 1)
    except (host.NoSuchProcess, host.PsutilError) as error:
        print(error)


def describe(error: libnvml.NVMLError) -> str:
    return str(error)


def call_libraries() -> None:
    libnvml.nvmlInit()
    count: int = libnvml.nvmlDeviceGetCount()
    last_error = libnvml.last_error('nvmlDeviceGetCount')
    assert last_error is None or describe(last_error)
    assert nvmlQuery('nvmlDeviceGetCount') == count
    libnvml.nvmlShutdown()
    cuda_error: libcuda.CUDAError = libcuda.CUDAError(libcuda.CUDA_ERROR_NO_DEVICE)
    assert cuda_error == libcuda.CUDAError_NoDevice()
    text: str = timedelta2human(75)
    assert text == '1:15'


def test_typed_client_runs() -> None:
    with machine(clock=lambda: 0.0):
        find_devices()
        read_values()
        read_snapshots()
        list_processes()
        read_host()
        call_libraries()
