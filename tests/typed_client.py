"""A program that uses the library with type annotations, checked by ``mypy --strict``."""

from __future__ import annotations

from nvitop import (
    CudaDevice,
    Device,
    GpuProcess,
    HostProcess,
    MigDevice,
    NaType,
    PhysicalDevice,
    host,
)


def total_memory_used(devices: list[Device]) -> int:
    total = 0
    for device in devices:
        used = device.memory_used()
        if not isinstance(used, NaType):
            total += used
    return total


def find_devices() -> None:
    devices: list[Device] = Device.all()
    physical: list[PhysicalDevice] = PhysicalDevice.all()
    migs: list[MigDevice] = MigDevice.all()
    cuda: list[CudaDevice] = CudaDevice.all()
    cuda = Device.cuda.all()
    cuda = Device.from_cuda_visible_devices()
    assert [device.index for device in devices] == [gpu.index for gpu in physical]
    assert [mig.parent.index + mig.mig_index for mig in migs]
    assert [device.cuda_index + 1 for device in cuda]
    assert total_memory_used(devices) > 0


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


def main() -> None:
    find_devices()
    list_processes()
    read_host()
