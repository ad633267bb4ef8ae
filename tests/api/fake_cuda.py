"""A CUDA driver and a CUDA runtime of plain functions, for the tests of their bindings."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

from nvitop.api import libcuda

INVALID_VALUE, NOT_INITIALIZED, INVALID_DEVICE = 1, 3, 101

#: UUID → bus ID and name.
DEVICES = {
    'aaaaaaaa-0000-0000-0000-0000000000ff': ('0000:1B:00.0', 'NVIDIA A100-SXM4-80GB'),
    'bbbbbbbb-1111-0000-0000-000000000000': ('0000:43:00.0', 'NVIDIA T4'),
}
UUIDS = list(DEVICES)
BUS_IDS = [bus_id for bus_id, _ in DEVICES.values()]


def fill(reference: Any, value: object) -> None:
    """``*reference = value``."""
    reference._obj.value = value


def text_of(pointer: Any) -> str:
    return str(pointer.value.decode())


def driver(*hidden: str) -> object:
    """A driver with two devices, without the functions called ``hidden``."""
    state = SimpleNamespace(initialized=False)

    def cuInit(flags: Any) -> int:
        assert flags.value == 0
        state.initialized = True
        return 0

    def cuDriverGetVersion(version: Any) -> int:
        fill(version, 12040)
        return 0

    def cuGetErrorName(error: Any, text: Any) -> int:
        if error.value not in libcuda.ERROR_NAMES:
            return INVALID_VALUE
        fill(text, libcuda.ERROR_NAMES[error.value].encode())
        return 0

    def cuGetErrorString(error: Any, text: Any) -> int:
        if error.value not in libcuda.ERROR_NAMES:
            return INVALID_VALUE
        fill(text, f'words of the driver for {error.value}'.encode())
        return 0

    def cuDeviceGetCount(count: Any) -> int:
        if not state.initialized:
            return NOT_INITIALIZED
        fill(count, len(UUIDS))
        return 0

    def cuDeviceGet(device: Any, ordinal: Any) -> int:
        if not 0 <= ordinal.value < len(UUIDS):
            return INVALID_DEVICE
        fill(device, ordinal.value)
        return 0

    def cuDeviceGetByPCIBusId(device: Any, bus_id: Any) -> int:
        if text_of(bus_id) not in BUS_IDS:
            return INVALID_DEVICE
        fill(device, BUS_IDS.index(text_of(bus_id)))
        return 0

    def cuDeviceGetPCIBusId(text: Any, size: Any, device: Any) -> int:
        assert ctypes.sizeof(text) == size.value
        text.value = BUS_IDS[device.value].encode()
        return 0

    def cuDeviceGetName(text: Any, size: Any, device: Any) -> int:
        assert ctypes.sizeof(text) == size.value
        text.value = DEVICES[UUIDS[device.value]][1].encode()
        return 0

    def cuDeviceGetUuid(raw: Any, device: Any) -> int:
        raw._obj[:] = bytes.fromhex(UUIDS[device.value].replace('-', ''))
        return 0

    def cuDeviceTotalMem_v2(size: Any, device: Any) -> int:
        fill(size, (80 - device.value) << 30)
        return 0

    functions = {name: value for name, value in locals().items() if name.startswith('cu')}
    functions['cuDeviceGetUuid_v2'] = cuDeviceGetUuid
    return SimpleNamespace(**{name: f for name, f in functions.items() if name not in hidden})


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
        if text_of(bus_id) not in BUS_IDS:
            return 101
        fill(device, BUS_IDS.index(text_of(bus_id)))
        return 0

    def cudaDeviceGetPCIBusId(text: Any, size: Any, device: Any) -> int:
        assert ctypes.sizeof(text) == size.value
        text.value = BUS_IDS[device.value].encode()
        return 0

    functions = {name: value for name, value in locals().items() if name.startswith('cuda')}
    return SimpleNamespace(**{name: f for name, f in functions.items() if name not in hidden})
