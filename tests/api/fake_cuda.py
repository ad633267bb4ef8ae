"""A CUDA driver of the simulation, and a CUDA runtime of plain functions."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

from tests.api.machines import machine

#: UUID → bus ID.
DEVICES = {
    'aaaaaaaa-0000-0000-0000-0000000000ff': '0000:1b:00.0',
    'bbbbbbbb-1111-0000-0000-000000000000': '0000:43:00.0',
}
UUIDS, BUS_IDS = list(DEVICES), list(DEVICES.values())
_GPU = '[[gpu]]\nmodel = "A100"\nuuid = "GPU-{}"\nbus_id = "0000{}"\n'


def driver(*hidden: str) -> Any:
    """A driver with two devices, without the functions called ``hidden``."""
    simulated = machine(''.join(_GPU.format(*device) for device in DEVICES.items()))
    for name in hidden:
        simulated.cuda.hide(name)
    return simulated.cuda


def fill(reference: Any, value: object) -> None:
    """``*reference = value``."""
    reference._obj.value = value


def runtime(*hidden: str) -> object:
    """A runtime with two devices, without the functions called ``hidden``."""
    errors = [101]

    def cudaGetErrorName(error: Any) -> bytes:
        return {0: b'cudaSuccess', 101: b'cudaErrorInvalidDevice'}.get(error.value, b'unrecognized')

    def cudaGetErrorString(error: Any) -> bytes:
        return f'words of the runtime for {error.value}'.encode()

    def cudaGetLastError() -> int:
        return errors.pop() if errors else 0

    def cudaPeekAtLastError() -> int:
        return errors[-1] if errors else 0

    def cudaDriverGetVersion(version: Any) -> int:
        fill(version, 13000)
        return 0

    def cudaRuntimeGetVersion(version: Any) -> int:
        fill(version, 12090)
        return 0

    def cudaGetDeviceCount(count: Any) -> int:
        fill(count, len(UUIDS))
        return 0

    def cudaDeviceGetByPCIBusId(device: Any, bus_id: Any) -> int:
        if bus_id.value.decode() not in BUS_IDS:
            return 101
        fill(device, BUS_IDS.index(bus_id.value.decode()))
        return 0

    def cudaDeviceGetPCIBusId(text: Any, size: Any, device: Any) -> int:
        assert ctypes.sizeof(text) == size.value
        text.value = BUS_IDS[device.value].encode()
        return 0

    functions = {name: value for name, value in locals().items() if name.startswith('cuda')}
    return SimpleNamespace(**{name: f for name, f in functions.items() if name not in hidden})
