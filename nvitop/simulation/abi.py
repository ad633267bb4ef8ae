# SPDX-License-Identifier: Apache-2.0
"""Return codes of NVML, and access to ctypes arguments from Python functions."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
ARGUMENT_VERSION_MISMATCH = 25
#: Memory that the driver does not know.
UNKNOWN_MEMORY = 0xFFFFFFFFFFFFFFFF

#: Name without ``NVML_ERROR_`` → (code, text of nvmlErrorString).
NVML_ERRORS: dict[str, tuple[int, str]] = {
    'UNINITIALIZED': (1, 'Uninitialized'),
    'INVALID_ARGUMENT': (2, 'Invalid Argument'),
    'NOT_SUPPORTED': (3, 'Not Supported'),
    'NO_PERMISSION': (4, 'Insufficient Permissions'),
    'ALREADY_INITIALIZED': (5, 'Already Initialized'),
    'NOT_FOUND': (6, 'Not Found'),
    'INSUFFICIENT_SIZE': (7, 'Insufficient Size'),
    'INSUFFICIENT_POWER': (8, 'Insufficient External Power'),
    'DRIVER_NOT_LOADED': (9, 'Driver Not Loaded'),
    'TIMEOUT': (10, 'Timeout'),
    'IRQ_ISSUE': (11, 'Interrupt Request Issue'),
    'LIBRARY_NOT_FOUND': (12, 'NVML Shared Library Not Found'),
    'FUNCTION_NOT_FOUND': (13, 'Function Not Found'),
    'CORRUPTED_INFOROM': (14, 'Corrupted infoROM'),
    'GPU_IS_LOST': (15, 'GPU is lost'),
    'RESET_REQUIRED': (16, 'GPU requires restart'),
    'OPERATING_SYSTEM': (17, 'The operating system has blocked the request.'),
    'LIB_RM_VERSION_MISMATCH': (18, 'RM has detected an NVML/RM version mismatch.'),
    'IN_USE': (19, 'In use by another client'),
    'MEMORY': (20, 'Insufficient Memory'),
    'NO_DATA': (21, 'No data'),
    'VGPU_ECC_NOT_SUPPORTED': (22, 'vGPU ECC not supported'),
    'INSUFFICIENT_RESOURCES': (23, 'Insufficient Resources'),
    'FREQ_NOT_SUPPORTED': (24, 'Frequency not supported'),
    'ARGUMENT_VERSION_MISMATCH': (25, 'Argument version mismatch'),
    'DEPRECATED': (26, 'Deprecated'),
    'NOT_READY': (27, 'Not Ready'),
    'GPU_NOT_FOUND': (28, 'GPU Not Found'),
    'INVALID_STATE': (29, 'Invalid State'),
    'UNKNOWN': (999, 'Unknown Error'),
}


class DriverError(Exception):
    """A call of the simulated driver fails with this return code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def target(argument: object) -> Any:
    """The ctypes object that an argument refers to: through ``byref()``, a pointer, or an array.

    Raises :class:`DriverError` (invalid argument) for NULL.
    """
    behind = getattr(argument, '_obj', None)
    if behind is not None:
        return behind
    if argument is None:
        raise DriverError(INVALID_ARGUMENT)
    if hasattr(argument, 'contents'):
        try:
            return argument.contents
        except ValueError:  # a NULL pointer
            raise DriverError(INVALID_ARGUMENT) from None
    return argument


def number(argument: Any) -> int:
    """An integer argument, passed as a ctypes value or as an ``int``."""
    return int(getattr(argument, 'value', argument))


def fill_number(argument: object, value: float) -> None:
    """Store a number through a pointer. The C type truncates numbers that do not fit."""
    behind = getattr(argument, '_obj', None)
    if behind is None:
        behind = target(argument)
    behind.value = int(value)


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


def address_of(handle: Any) -> int:
    """The address in a device handle (opaque pointer, ``c_void_p`` or ``int``); 0 for NULL."""
    try:
        return ctypes.addressof(handle.contents)
    except AttributeError:
        value = getattr(handle, 'value', handle)
        return value if isinstance(value, int) else 0
    except ValueError:
        return 0


def fill_handle(argument: object, address: int) -> None:
    """Store an address in a handle through a pointer."""
    handle = target(argument)
    pointed: Any = getattr(type(handle), '_type_', None)
    if hasattr(pointed, 'from_address'):
        handle.contents = pointed.from_address(address)
    else:
        handle.value = address


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
