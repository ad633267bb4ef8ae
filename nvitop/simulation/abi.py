# SPDX-License-Identifier: Apache-2.0
"""Errors of the simulated driver, and access to ctypes arguments from Python functions."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

from nvitop.api.libnvml import _errors
from nvitop.api.libnvml._errors import (
    ARGUMENT_VERSION_MISMATCH,
    INSUFFICIENT_SIZE,
    INVALID_ARGUMENT,
)

#: Memory that the driver does not know.
UNKNOWN_MEMORY = 0xFFFFFFFFFFFFFFFF

#: Name without ``NVML_ERROR_`` → (code, text of nvmlErrorString).
NVML_ERRORS: dict[str, tuple[int, str]] = {
    name: (getattr(_errors, name), text)
    for name, text in {
        'UNINITIALIZED': 'Uninitialized',
        'INVALID_ARGUMENT': 'Invalid Argument',
        'NOT_SUPPORTED': 'Not Supported',
        'NO_PERMISSION': 'Insufficient Permissions',
        'ALREADY_INITIALIZED': 'Already Initialized',
        'NOT_FOUND': 'Not Found',
        'INSUFFICIENT_SIZE': 'Insufficient Size',
        'INSUFFICIENT_POWER': 'Insufficient External Power',
        'DRIVER_NOT_LOADED': 'Driver Not Loaded',
        'TIMEOUT': 'Timeout',
        'IRQ_ISSUE': 'Interrupt Request Issue',
        'LIBRARY_NOT_FOUND': 'NVML Shared Library Not Found',
        'FUNCTION_NOT_FOUND': 'Function Not Found',
        'CORRUPTED_INFOROM': 'Corrupted infoROM',
        'GPU_IS_LOST': 'GPU is lost',
        'RESET_REQUIRED': 'GPU requires restart',
        'OPERATING_SYSTEM': 'The operating system has blocked the request.',
        'LIB_RM_VERSION_MISMATCH': 'RM has detected an NVML/RM version mismatch.',
        'IN_USE': 'In use by another client',
        'MEMORY': 'Insufficient Memory',
        'NO_DATA': 'No data',
        'VGPU_ECC_NOT_SUPPORTED': 'vGPU ECC not supported',
        'INSUFFICIENT_RESOURCES': 'Insufficient Resources',
        'FREQ_NOT_SUPPORTED': 'Frequency not supported',
        'ARGUMENT_VERSION_MISMATCH': 'Argument version mismatch',
        'DEPRECATED': 'Deprecated',
        'NOT_READY': 'Not Ready',
        'GPU_NOT_FOUND': 'GPU Not Found',
        'INVALID_STATE': 'Invalid State',
        'UNKNOWN': 'Unknown Error',
    }.items()
}


class DriverError(Exception):
    """A call of the simulated driver fails with this return code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def target(argument: object) -> Any:
    """The ctypes object that an argument refers to: through ``byref()``, or an array.

    Raises :class:`DriverError` (invalid argument) for NULL.
    """
    behind = getattr(argument, '_obj', None)
    if behind is not None:
        return behind
    if argument is None:
        raise DriverError(INVALID_ARGUMENT)
    return argument


def number(argument: Any) -> int:
    """An integer argument, passed as a ctypes value or as an ``int``."""
    return int(getattr(argument, 'value', argument))


def fill_number(argument: object, value: float) -> None:
    """Store a number through a pointer. The C type truncates numbers that do not fit."""
    target(argument).value = int(value)


def fill_text(buffer: object, length: object, text: str) -> None:
    """Store text and a final NUL in a ``char`` array; raises *insufficient size* if it is too short."""
    data = text.encode('utf-8')
    if len(data) + 1 > number(length):
        raise DriverError(INSUFFICIENT_SIZE)
    target(buffer).value = data


def text_of(argument: Any) -> str:
    """A ``const char *`` argument, passed as ``c_char_p`` or as bytes."""
    value = getattr(argument, 'value', argument)
    if value is None:
        raise DriverError(INVALID_ARGUMENT)
    return value.decode('utf-8', 'replace') if isinstance(value, bytes) else str(value)


def fill_handle(argument: object, address: int) -> None:
    """Store an address in a handle through a pointer."""
    handle = target(argument)
    handle.contents = type(handle)._type_.from_address(address)


def write_bytes(array: object, data: bytes) -> None:
    """Copy raw structs into an array of the caller, up to its end."""
    where = target(array)
    ctypes.memmove(ctypes.addressof(where), data, min(len(data), ctypes.sizeof(where)))


def check_version(struct: Any, *allowed: int) -> None:
    """Raise *version mismatch* if the ``version`` field of a struct is not allowed."""
    if struct.version not in allowed:
        raise DriverError(ARGUMENT_VERSION_MISMATCH)


# NVML's protocol for lists: a call with size 0 returns the size, a second one fills the array.


def room_for(count: object, array: object, wanted: int) -> bool:
    """Store the size of a list in *count*, and return whether to fill the array.

    Raises *insufficient size* if the array is too short. An empty list always succeeds.
    """
    given = target(count).value
    fill_number(count, wanted)
    if wanted == 0:
        return False
    if array is None or given < wanted:
        raise DriverError(INSUFFICIENT_SIZE)
    return True


def answer_list(count: object, array: object, numbers: Sequence[int]) -> None:
    """Return a list of numbers."""
    if room_for(count, array, len(numbers)):
        room = target(array)
        for i, value in enumerate(numbers):
            room[i] = value
