# SPDX-License-Identifier: Apache-2.0
"""Entry points that exist in several versions: the newest one that the driver has."""

from __future__ import annotations

import ctypes
from typing import Any

from nvitop.api.libnvml._binding import BINDING, NVMLError
from nvitop.api.libnvml._errors import ARGUMENT_VERSION_MISMATCH, is_too_new
from nvitop.api.libnvml._log import LOGGER
from nvitop.api.libnvml._query import address_of, count_call
from nvitop.api.libnvml._session import SESSION
from nvitop.api.libnvml._structures import (
    c_nvmlMemory_v1_t,
    c_nvmlMemory_v2_t,
    c_nvmlTemperature_v1_t,
    version_of,
)

_MEMORY_V2 = version_of(c_nvmlMemory_v2_t, 2)
_TEMPERATURE_V1 = version_of(c_nvmlTemperature_v1_t, 1)

#: Entry points that this driver does not have or does not understand.
_absent: set[str] = set()
#: Address behind a handle → total memory in bytes, as last told.
memory_totals: dict[int, int] = {}


def _forget() -> None:
    _absent.clear()
    memory_totals.clear()


SESSION.on_new_library(_forget)


def _call(name: str, *args: Any) -> None:
    code = BINDING._nvmlGetFunctionPointer(name)(*args)
    if code:
        raise NVMLError(code)


def _call_newest(newest: str, *args: Any) -> bool:
    """Call the newest entry point; False where the driver is too old for it."""
    if newest in _absent:
        return False
    try:
        _call(newest, *args)
    except NVMLError as error:
        if not is_too_new(error):
            raise
        _absent.add(newest)
        LOGGER.debug('The driver has no %s: an older entry point is used.', newest)
        if error.value == ARGUMENT_VERSION_MISMATCH:
            count_call()
        return False
    return True


def nvmlDeviceGetMemoryInfo(
    handle: Any, version: int | None = None
) -> c_nvmlMemory_v2_t | c_nvmlMemory_v1_t:
    """Memory of a device in bytes: ``total``, ``free``, ``used`` and, from R510 on, ``reserved``.

    Drivers that know the second version tell reserved memory apart; older ones count it as used.

    Args:
        handle: The device.
        version: Ask only by the second entry point, with just this version of the structure.

    Raises:
        NVMLError: The device has no memory of its own (unified memory) or cannot be asked.
    """
    memory = c_nvmlMemory_v2_t()
    if version is not None:
        memory.version = version
        _call('nvmlDeviceGetMemoryInfo_v2', handle, ctypes.byref(memory))
        return memory
    memory.version = _MEMORY_V2
    if _call_newest('nvmlDeviceGetMemoryInfo_v2', handle, ctypes.byref(memory)):
        memory_totals[address_of(handle)] = memory.total
        return memory
    old = c_nvmlMemory_v1_t()
    _call('nvmlDeviceGetMemoryInfo', handle, ctypes.byref(old))
    memory_totals[address_of(handle)] = old.total
    return old


def nvmlDeviceGetTemperature(handle: Any, sensor: int) -> int:
    """Temperature of a sensor (``NVML_TEMPERATURE_GPU``) in degrees Celsius.

    Raises:
        NVMLError: The device has no such sensor or cannot be asked.
    """
    temperature = c_nvmlTemperature_v1_t(_TEMPERATURE_V1, sensor)
    if _call_newest('nvmlDeviceGetTemperatureV', handle, ctypes.byref(temperature)):
        return int(temperature.temperature)
    old = ctypes.c_uint()
    _call('nvmlDeviceGetTemperature', handle, ctypes.c_uint(sensor), ctypes.byref(old))
    return old.value


def nvmlDeviceGetDriverModel(handle: Any) -> list[int]:
    """The driver model now and after the next restart (``NVML_DRIVER_WDDM``, …); Windows only.

    Raises:
        NVMLError: Not Windows, or the device cannot be asked.
    """
    now, pending = ctypes.c_uint(), ctypes.c_uint()
    args = (handle, ctypes.byref(now), ctypes.byref(pending))
    if not _call_newest('nvmlDeviceGetDriverModel_v2', *args):
        _call('nvmlDeviceGetDriverModel', *args)
    return [now.value, pending.value]


def nvmlDeviceGetCurrentDriverModel(handle: Any) -> int:
    """The driver model now; see :func:`nvmlDeviceGetDriverModel`."""
    return nvmlDeviceGetDriverModel(handle)[0]


def nvmlDeviceGetPendingDriverModel(handle: Any) -> int:
    """The driver model after the next restart; see :func:`nvmlDeviceGetDriverModel`."""
    return nvmlDeviceGetDriverModel(handle)[1]
