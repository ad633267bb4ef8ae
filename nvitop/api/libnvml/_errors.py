# SPDX-License-Identifier: Apache-2.0
"""NVML's return codes by name, and what each of them means for a device and its values.

The codes are part of NVML's binary interface and never change. Old bindings lack the names of the
newer ones, so all of them are listed here. Code outside this module asks one of the questions below
instead of comparing codes.
"""

from __future__ import annotations

from typing import Collection

from nvitop.api.libnvml._binding import NVMLError

SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
ALREADY_INITIALIZED = 5
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
INSUFFICIENT_POWER = 8
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
IRQ_ISSUE = 11
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
CORRUPTED_INFOROM = 14
GPU_IS_LOST = 15
RESET_REQUIRED = 16
OPERATING_SYSTEM = 17
LIB_RM_VERSION_MISMATCH = 18
IN_USE = 19
MEMORY = 20
NO_DATA = 21
VGPU_ECC_NOT_SUPPORTED = 22
INSUFFICIENT_RESOURCES = 23
FREQ_NOT_SUPPORTED = 24
ARGUMENT_VERSION_MISMATCH = 25
DEPRECATED = 26
NOT_READY = 27
GPU_NOT_FOUND = 28
INVALID_STATE = 29
UNKNOWN = 999

_LOST = frozenset(
    {UNINITIALIZED, DRIVER_NOT_LOADED, GPU_IS_LOST, LIB_RM_VERSION_MISMATCH, GPU_NOT_FOUND}
)
_UNSUPPORTED = frozenset({NOT_SUPPORTED, FUNCTION_NOT_FOUND})
#: A device control group refuses with the second code.
_DENIED = frozenset({NO_PERMISSION, OPERATING_SYSTEM})
_LASTING = _UNSUPPORTED | _DENIED
_HARMLESS = _LASTING | {INVALID_ARGUMENT, NOT_FOUND}


def is_lost(error: object) -> bool:
    """Return whether the GPU, or the whole driver, is gone for now."""
    return _has_code(error, _LOST)


def is_without_driver(error: object) -> bool:
    """Return whether there is no driver: its kernel module or its library is missing."""
    return _has_code(error, {DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND})


def is_reset_required(error: object) -> bool:
    """Return whether the GPU must be reset before it can be used."""
    return _has_code(error, {RESET_REQUIRED})


def is_unreachable(error: object) -> bool:
    """Return whether the driver lists a GPU but cannot open it: it is lost or failed unspecifically."""
    return _has_code(error, {GPU_IS_LOST, UNKNOWN})


def is_unsupported(error: object, *, or_invalid: bool = False) -> bool:
    """Return whether the device or the driver does not have the value, now or later.

    Args:
        error: The error, or anything else for False.
        or_invalid: Count "invalid argument" too. Drivers return it for values that MIG devices do
            not have, and for links and fields that they do not know.
    """
    return _has_code(error, _UNSUPPORTED) or (or_invalid and _has_code(error, {INVALID_ARGUMENT}))


def is_denied(error: object) -> bool:
    """Return whether the user lacks the permission to read the value."""
    return _has_code(error, _DENIED)


def is_lasting(error: object) -> bool:
    """Return whether repeating the query is pointless: the value is unsupported or denied."""
    return _has_code(error, _LASTING)


def is_harmless(error: object) -> bool:
    """Return whether a working device may return this error for a value that it does not have.

    MIG devices return "invalid argument" and "not found" where other devices return "not supported".
    A MIG device that was destroyed returns the same two.
    """
    return _has_code(error, _HARMLESS)


def is_too_new(error: object) -> bool:
    """Return whether the driver is too old for this version of a function or structure."""
    return _has_code(error, {FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH})


def _has_code(error: object, codes: Collection[int]) -> bool:
    return isinstance(error, NVMLError) and error.value in codes
