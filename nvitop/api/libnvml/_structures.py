# SPDX-License-Identifier: Apache-2.0
"""Structures of NVML that exist in several versions. Not every binding has all of them."""

from __future__ import annotations

import ctypes


class _Structure(ctypes.Structure):
    """A structure whose repr shows its fields."""

    def __repr__(self) -> str:
        names = (field[0] for field in self._fields_)
        values = ', '.join(f'{name}: {getattr(self, name)}' for name in names)
        return f'{type(self).__name__}({values})'


class c_nvmlProcessInfo_v1_t(_Structure):
    """A row of a process list before R450, without MIG."""

    _fields_ = (
        ('pid', ctypes.c_uint),
        ('usedGpuMemory', ctypes.c_ulonglong),
    )


class c_nvmlProcessInfo_v2_t(_Structure):
    """A row of a process list: memory in bytes, IDs of the GPU instance and compute instance."""

    _fields_ = (
        ('pid', ctypes.c_uint),
        ('usedGpuMemory', ctypes.c_ulonglong),
        ('gpuInstanceId', ctypes.c_uint),
        ('computeInstanceId', ctypes.c_uint),
    )


class c_nvmlProcessInfo_v3_t(_Structure):
    """A row of a process list of the first R535 releases, with protected memory."""

    _fields_ = (
        ('pid', ctypes.c_uint),
        ('usedGpuMemory', ctypes.c_ulonglong),
        ('gpuInstanceId', ctypes.c_uint),
        ('computeInstanceId', ctypes.c_uint),
        ('usedGpuCcProtectedMemory', ctypes.c_ulonglong),
    )


class c_nvmlMemory_v1_t(_Structure):
    """Memory of a device in bytes; ``used`` includes reserved memory."""

    _fields_ = (
        ('total', ctypes.c_ulonglong),
        ('free', ctypes.c_ulonglong),
        ('used', ctypes.c_ulonglong),
    )


class c_nvmlMemory_v2_t(_Structure):
    """Memory of a device in bytes; ``used`` does not include reserved memory."""

    _fields_ = (
        ('version', ctypes.c_uint),
        ('total', ctypes.c_ulonglong),
        ('reserved', ctypes.c_ulonglong),
        ('free', ctypes.c_ulonglong),
        ('used', ctypes.c_ulonglong),
    )


class c_nvmlTemperature_v1_t(_Structure):
    """Temperature of one sensor in degrees Celsius."""

    _fields_ = (
        ('version', ctypes.c_uint),
        ('sensorType', ctypes.c_uint),
        ('temperature', ctypes.c_int),
    )


class _Value(ctypes.Union):
    _fields_ = (
        ('dVal', ctypes.c_double),
        ('uiVal', ctypes.c_uint),
        ('ulVal', ctypes.c_ulong),
        ('ullVal', ctypes.c_ulonglong),
        ('sllVal', ctypes.c_longlong),
        ('siVal', ctypes.c_int),
        ('usVal', ctypes.c_ushort),
    )


class FieldValue(_Structure):
    """``nvmlFieldValue_t`` with every value type that a driver may use."""

    _fields_ = (
        ('fieldId', ctypes.c_uint),
        ('scopeId', ctypes.c_uint),
        ('timestamp', ctypes.c_int64),
        ('latencyUsec', ctypes.c_int64),
        ('valueType', ctypes.c_uint),
        ('nvmlReturn', ctypes.c_uint),
        ('value', _Value),
    )


def version_of(structure: type[ctypes.Structure], number: int) -> int:
    """Return the value that NVML expects in the field ``version`` of a structure."""
    return ctypes.sizeof(structure) | (number << 24)
