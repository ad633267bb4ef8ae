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
NAMES = {0: b'cudaSuccess', 101: b'cudaErrorInvalidDevice'}
_GPU = '[[gpu]]\nmodel = "A100"\nuuid = "GPU-{}"\nbus_id = "0000{}"\n'


def driver(*hidden: str) -> Any:
    """A driver with two devices, without the functions called ``hidden``."""
    simulated = machine(''.join(_GPU.format(*device) for device in DEVICES.items()))
    for name in hidden:
        simulated.cuda.hide(name)
    return simulated.cuda


def fill(reference: Any, value: object) -> int:
    """``*reference = value``."""
    reference._obj.value = value
    return 0


def runtime() -> object:
    errors = [101]

    def number(value: int) -> Any:
        return lambda pointer: fill(pointer, value)

    functions: dict[str, Any] = {
        'cudaGetErrorName': lambda error: NAMES.get(error.value, b'unrecognized'),
        'cudaGetErrorString': lambda error: f'words of the runtime for {error.value}'.encode(),
        'cudaGetLastError': lambda: errors.pop() if errors else 0,
        'cudaPeekAtLastError': lambda: errors[-1] if errors else 0,
        'cudaDriverGetVersion': number(13000),
        'cudaRuntimeGetVersion': number(12090),
        'cudaGetDeviceCount': number(len(UUIDS)),
    }

    def cudaDeviceGetByPCIBusId(device: Any, bus_id: Any) -> int:
        if bus_id.value.decode() not in BUS_IDS:
            return 101
        return fill(device, BUS_IDS.index(bus_id.value.decode()))

    def cudaDeviceGetPCIBusId(text: Any, size: Any, device: Any) -> int:
        assert ctypes.sizeof(text) == size.value
        text.value = BUS_IDS[device.value].encode()
        return 0

    functions.update(
        cudaDeviceGetByPCIBusId=cudaDeviceGetByPCIBusId, cudaDeviceGetPCIBusId=cudaDeviceGetPCIBusId
    )
    return SimpleNamespace(**functions)
