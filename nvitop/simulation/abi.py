# SPDX-License-Identifier: Apache-2.0
"""Errors of the simulated driver, its arguments, and how it stores results for its caller."""

from __future__ import annotations

import ctypes
from typing import Any, Mapping, Sequence, TypeVar

from nvitop.api.libnvml import _errors
from nvitop.api.libnvml._errors import (
    ARGUMENT_VERSION_MISMATCH,
    INSUFFICIENT_SIZE,
    INVALID_ARGUMENT,
    NOT_SUPPORTED,
)

T = TypeVar('T')

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


class Handle(int):
    """Address of the object that a handle refers to."""


def known(value: T | None) -> T:
    """Return a value; raises *not supported* if there is none."""
    if value is None:
        raise DriverError(NOT_SUPPORTED)
    return value


# Arguments


def target(argument: object) -> Any:
    """The ctypes object behind ``byref()``, or an array; *invalid argument* for NULL."""
    behind = getattr(argument, '_obj', None)
    if behind is not None:
        return behind
    if argument is None:
        raise DriverError(INVALID_ARGUMENT)
    return argument


def number(argument: Any) -> int:
    """An integer argument, passed as a ctypes value or as an ``int``."""
    return int(getattr(argument, 'value', argument))


def text_of(argument: Any) -> str:
    """A ``const char *`` argument, passed as ``c_char_p`` or as bytes."""
    value = getattr(argument, 'value', argument)
    if value is None:
        raise DriverError(INVALID_ARGUMENT)
    return value.decode('utf-8', 'replace') if isinstance(value, bytes) else str(value)


# Results


def store(result: object, outs: Sequence[object]) -> None:
    """Store the result of a function through the pointers of its caller.

    A number, several numbers, or a handle: one pointer each. Text: a buffer and its length. A
    mapping: the fields of a struct. A list: its length, and one array for each part of an item.
    """
    if isinstance(result, str):
        _store_text(result, *outs)
    elif isinstance(result, Mapping):
        fill_struct(outs[0], result)
    elif isinstance(result, list):
        count, *arrays = outs
        if room_for(count, arrays[0], len(result)):
            for place, item in enumerate(result):
                for array, value in zip(arrays, item if isinstance(item, tuple) else (item,)):
                    target(array)[place] = value
    elif isinstance(result, Handle):
        handle = target(outs[0])
        handle.contents = type(handle)._type_.from_address(result)
    elif result is not None:
        for out, value in zip(outs, result if isinstance(result, tuple) else (result,)):
            target(out).value = int(value)  # the C type truncates numbers that do not fit


def _store_text(text: str, buffer: object, length: object) -> None:
    data = text.encode('utf-8')
    if len(data) + 1 > number(length):
        raise DriverError(INSUFFICIENT_SIZE)
    target(buffer).value = data


def fill_struct(argument: object, fields: Mapping[str, object]) -> None:
    """Store values in a struct that has these fields; *version mismatch* for another one."""
    struct = target(argument)
    if 'version' in fields and struct.version != fields['version']:
        raise DriverError(ARGUMENT_VERSION_MISMATCH)
    for name, value in fields.items():
        field = getattr(type(struct), name, None)
        if field is not None and isinstance(value, bytes):  # an array of any kind of bytes
            where, size = ctypes.addressof(struct) + field.offset, field.size
            ctypes.memmove(where, value.ljust(size, b'\0'), size)
        elif field is not None:
            setattr(struct, name, value)


def write_bytes(array: object, data: bytes) -> None:
    """Copy raw structs into an array of the caller, up to its end."""
    where = target(array)
    ctypes.memmove(ctypes.addressof(where), data, min(len(data), ctypes.sizeof(where)))


def room_for(count: object, array: object, wanted: int) -> bool:
    """Store the size of a list in *count*, and return whether to fill the array.

    A first call, with size 0, returns the size; a second one fills the array. Raises *insufficient
    size* if the array is too short. An empty list always succeeds.
    """
    size = target(count)
    room, size.value = size.value, wanted
    if wanted == 0:
        return False
    if array is None or room < wanted:
        raise DriverError(INSUFFICIENT_SIZE)
    return True
