# SPDX-License-Identifier: Apache-2.0
"""Functions and structures of NVML that exist in several versions, or that the binding may lack.

Functions are called by the newest entry point that the driver has.
"""

from __future__ import annotations

import ctypes
import functools
import time
from typing import Any, Callable, Sequence, Tuple, Union

from nvitop.api.libnvml._binding import BINDING, NVMLError, call_driver, encoded
from nvitop.api.libnvml._errors import ARGUMENT_VERSION_MISMATCH, UNKNOWN, is_too_new
from nvitop.api.libnvml._query import (
    address_of,
    count_call,
    key_of,
    note_error_of,
    nvmlQuery,
    override,
)
from nvitop.api.libnvml._session import SESSION
from nvitop.basics.log import debug, warn
from nvitop.basics.units import NA, NaType

_uint, _ulonglong = ctypes.c_uint, ctypes.c_ulonglong


def _named(kind: type[Any], names: str) -> tuple[tuple[str, type[Any]], ...]:
    return tuple((name, kind) for name in names.split())


class _Structure(ctypes.Structure):
    """A structure whose repr shows its fields."""

    def __repr__(self) -> str:
        names = (field[0] for field in self._fields_)
        values = ', '.join(f'{name}: {getattr(self, name)}' for name in names)
        return f'{type(self).__name__}({values})'


class c_nvmlProcessInfo_v1_t(_Structure):
    """A row of a process list before R450, without MIG."""

    _fields_ = (('pid', _uint), ('usedGpuMemory', _ulonglong))


class c_nvmlProcessInfo_v2_t(_Structure):
    """A row of a process list: memory in bytes, IDs of the GPU instance and compute instance."""

    _fields_ = (*c_nvmlProcessInfo_v1_t._fields_, *_named(_uint, 'gpuInstanceId computeInstanceId'))


class c_nvmlProcessInfo_v3_t(_Structure):
    """A row of a process list of the first R535 releases, with protected memory."""

    _fields_ = (*c_nvmlProcessInfo_v2_t._fields_, ('usedGpuCcProtectedMemory', _ulonglong))


class c_nvmlMemory_v1_t(_Structure):
    """Memory of a device in bytes; ``used`` includes reserved memory."""

    _fields_ = _named(_ulonglong, 'total free used')


class c_nvmlMemory_v2_t(_Structure):
    """Memory of a device in bytes; ``used`` does not include reserved memory."""

    _fields_ = (('version', _uint), *_named(_ulonglong, 'total reserved free used'))


class c_nvmlTemperature_v1_t(_Structure):
    """Temperature of one sensor in degrees Celsius."""

    _fields_ = (*_named(_uint, 'version sensorType'), ('temperature', ctypes.c_int))


class ProcessUtilization(_Structure):
    """A utilization sample of a process, in percent: ``nvmlProcessUtilizationInfo_v1_t``."""

    _fields_ = (
        ('timeStamp', _ulonglong),  # microseconds
        *_named(_uint, 'pid smUtil memUtil encUtil decUtil jpgUtil ofaUtil'),
    )


class ProcessesUtilization(_Structure):
    """Utilization samples of processes: ``nvmlProcessesUtilizationInfo_v1_t``."""

    VERSION = 0x01000018

    _fields_ = (
        *_named(_uint, 'version processSamplesCount'),
        ('lastSeenTimeStamp', _ulonglong),
        ('procUtilArray', ctypes.POINTER(ProcessUtilization)),
    )


class _Value(ctypes.Union):
    _fields_ = (
        ('dVal', ctypes.c_double),
        ('uiVal', _uint),
        ('ulVal', ctypes.c_ulong),
        ('ullVal', _ulonglong),
        ('sllVal', ctypes.c_longlong),
        ('siVal', ctypes.c_int),
        ('usVal', ctypes.c_ushort),
    )


class FieldValue(_Structure):
    """``nvmlFieldValue_t`` with every value type that a driver may use."""

    _fields_ = (
        *_named(_uint, 'fieldId scopeId'),
        *_named(ctypes.c_int64, 'timestamp latencyUsec'),
        *_named(_uint, 'valueType nvmlReturn'),
        ('value', _Value),
    )


def version_of(structure: type[ctypes.Structure], number: int) -> int:
    """Return the value that NVML expects in the field ``version`` of a structure."""
    return ctypes.sizeof(structure) | (number << 24)


class PciInfoExt(ctypes.Structure):
    """``nvmlPciInfoExt_v1_t``."""

    _fields_ = (
        *_named(_uint, 'version domain bus device pciDeviceId pciSubSystemId baseClass subClass'),
        ('busId', ctypes.c_char * 32),
    )


class FabricInfo(ctypes.Structure):
    """``nvmlGpuFabricInfo_v2_t``."""

    _fields_ = (
        ('version', _uint),
        ('clusterUuid', ctypes.c_ubyte * 16),
        *_named(_uint, 'status cliqueId'),
        ('state', ctypes.c_ubyte),
        ('healthMask', _uint),
    )


class FabricHealth(ctypes.Structure):
    """``nvmlGpuFabricInfo_v3_t``, of drivers since R570."""

    _fields_ = (*FabricInfo._fields_, ('healthSummary', ctypes.c_ubyte))


class PlatformInfo(ctypes.Structure):
    """``nvmlPlatformInfo_v2_t``."""

    _fields_ = (
        ('version', _uint),
        ('ibGuid', ctypes.c_ubyte * 16),
        ('chassisSerialNumber', ctypes.c_char * 16),
        *_named(ctypes.c_ubyte, 'slotNumber trayIndex hostId peerType moduleId'),
    )


class SramEccStatus(ctypes.Structure):
    """``nvmlEccSramErrorStatus_v1_t``."""

    _fields_ = (
        ('version', _uint),
        *(
            (f'{counter}{error}', _ulonglong)
            for counter in ('aggregate', 'volatile')
            for error in ('UncParity', 'UncSecDed', 'Cor')
        ),
        *(
            (f'aggregateUncBucket{part}', _ulonglong)
            for part in ('L2', 'Sm', 'Pcie', 'Mcu', 'Other')
        ),
        ('bThresholdExceeded', _uint),
    )


def _reader(name: str, structure: type[ctypes.Structure], number: int) -> Callable[[Any], Any]:
    """Return a function that reads a structure of a device, with the errors of the binding's."""

    def read(handle: Any) -> Any:
        result: Any = structure()
        result.version = version_of(structure, number)
        call_driver(name, handle, ctypes.byref(result))
        return result

    read.__name__ = name
    return read


def read_gsp_modes(handle: Any) -> tuple[int, int]:
    """Return the current and the default mode of the GPU system processor, 1 if it is enabled.

    Depending on its release, the binding's own function needs output arguments or returns the same
    objects to all callers.
    """
    modes = _uint(), _uint()
    call_driver('nvmlDeviceGetGspFirmwareMode', handle, *map(ctypes.byref, modes))
    return modes[0].value, modes[1].value


read_gsp_modes.__name__ = 'nvmlDeviceGetGspFirmwareMode'
read_pci_info_ext = _reader('nvmlDeviceGetPciInfoExt', PciInfoExt, 1)
read_fabric_info = _reader('nvmlDeviceGetGpuFabricInfoV', FabricInfo, 2)
read_fabric_health = _reader('nvmlDeviceGetGpuFabricInfoV', FabricHealth, 3)
read_platform_info = _reader('nvmlDeviceGetPlatformInfo', PlatformInfo, 2)
read_sram_ecc_status = _reader('nvmlDeviceGetSramEccErrorStatus', SramEccStatus, 1)

#: Maximum number of GPUs that is believed. Drivers support 32; this many can still be listed.
_MAX_GPUS = 1024
_MEMORY_V2 = version_of(c_nvmlMemory_v2_t, 2)
_TEMPERATURE_V1 = version_of(c_nvmlTemperature_v1_t, 1)

#: Entry points that this driver does not have.
_missing: set[str] = set()
#: Entry points, and addresses in handles of devices for which the driver rejects the structure.
_rejected: set[tuple[str, int]] = set()
#: Address in a handle → total memory in bytes, as last read.
memory_totals: dict[int, int] = {}
#: A field ID, or a field ID and its scope, such as a link number.
Field = Union[int, Tuple[int, int]]

_FIELD_VALUES = 'nvmlDeviceGetFieldValues'
#: Members of the union, indexed by ``NVML_VALUE_TYPE_…``.
_VALUE_MEMBERS = ('dVal', 'uiVal', 'ulVal', 'ullVal', 'sllVal', 'siVal', 'usVal')


def _forget() -> None:
    _missing.clear()
    _rejected.clear()
    memory_totals.clear()


SESSION.on_new_library(_forget)


def _call_newest(newest: str, handle: Any, *args: Any) -> bool:
    """Call the newest entry point. Return False if an older one must be called instead."""
    if newest in _missing or (_rejected and (newest, address_of(handle)) in _rejected):
        return False
    try:
        function = BINDING._nvmlGetFunctionPointer(newest)
    except NVMLError as error:
        if not is_too_new(error):
            raise
        _missing.add(newest)
        debug('The driver has no %s: using an older entry point.', newest)
        return False
    code = function(handle, *args)
    if not code:
        return True
    failure = NVMLError(code)
    if not is_too_new(failure):
        raise failure
    count_call()
    if code == ARGUMENT_VERSION_MISMATCH:  # otherwise the failure may be temporary
        _rejected.add((newest, address_of(handle)))
    return False


@override
def nvmlDeviceGetMemoryInfo(
    handle: Any, version: int | None = None
) -> c_nvmlMemory_v2_t | c_nvmlMemory_v1_t:
    """Return the memory of a device in bytes: ``total``, ``free``, ``used``, and ``reserved``.

    Drivers since R510 report reserved memory separately; older ones include it in ``used``.

    Args:
        handle: The device.
        version: Use only the second entry point, with this version of the structure.

    Raises:
        NVMLError: The device has no memory of its own (unified memory), or the query failed.
    """
    memory = c_nvmlMemory_v2_t()
    if version is not None:
        memory.version = version
        call_driver('nvmlDeviceGetMemoryInfo_v2', handle, ctypes.byref(memory))
        return memory
    memory.version = _MEMORY_V2
    if _call_newest('nvmlDeviceGetMemoryInfo_v2', handle, ctypes.byref(memory)):
        memory_totals[address_of(handle)] = memory.total
        return memory
    old = c_nvmlMemory_v1_t()
    call_driver('nvmlDeviceGetMemoryInfo', handle, ctypes.byref(old))
    memory_totals[address_of(handle)] = old.total
    return old


@override
def nvmlDeviceGetTemperature(handle: Any, sensor: int) -> int:
    """Return the temperature of a sensor (``NVML_TEMPERATURE_GPU``) in degrees Celsius.

    Raises:
        NVMLError: The device has no such sensor, or the query failed.
    """
    temperature = c_nvmlTemperature_v1_t(_TEMPERATURE_V1, sensor)
    if _call_newest('nvmlDeviceGetTemperatureV', handle, ctypes.byref(temperature)):
        return int(temperature.temperature)
    old = ctypes.c_uint()
    call_driver('nvmlDeviceGetTemperature', handle, ctypes.c_uint(sensor), ctypes.byref(old))
    return old.value


@override
def nvmlDeviceGetDriverModel(handle: Any) -> list[int]:
    """Return the current and the pending driver model (``NVML_DRIVER_WDDM``, …); Windows only.

    Raises:
        NVMLError: This is not Windows, or the query failed.
    """
    current, pending = ctypes.c_uint(), ctypes.c_uint()
    args = (handle, ctypes.byref(current), ctypes.byref(pending))
    if not _call_newest('nvmlDeviceGetDriverModel_v2', *args):
        call_driver('nvmlDeviceGetDriverModel', *args)
    return [current.value, pending.value]


@override
def nvmlDeviceGetCurrentDriverModel(handle: Any) -> int:
    """Return the current driver model; see :func:`nvmlDeviceGetDriverModel`."""
    return nvmlDeviceGetDriverModel(handle)[0]


@override
def nvmlDeviceGetPendingDriverModel(handle: Any) -> int:
    """Return the driver model after the next restart; see :func:`nvmlDeviceGetDriverModel`."""
    return nvmlDeviceGetDriverModel(handle)[1]


@override
def nvmlDeviceGetCount() -> int:
    """Return the number of GPUs.

    Raises:
        NVMLError_Unknown: The driver returned an impossible number.
        NVMLError: The query failed.
    """
    count = ctypes.c_uint()
    call_driver('nvmlDeviceGetCount_v2', ctypes.byref(count))
    if count.value > _MAX_GPUS:
        warn('The driver reports %d GPUs, which is impossible.', count.value)
        raise NVMLError(UNKNOWN)
    return count.value


@override
def nvmlDeviceGetAccountingStats(handle: Any, pid: int) -> Any:
    """Return the accounting record of a process: ``gpuUtilization``, ``memoryUtilization``, ``time``.

    ``maxMemoryUsage`` is in bytes, or the maximum of its type if the driver does not know it (WDDM);
    the binding's own function fails in that case.

    Raises:
        NVMLError: Accounting mode is off, or there is no record of this process.
    """
    stats = BINDING.c_nvmlAccountingStats_t()
    name = 'nvmlDeviceGetAccountingStats'
    call_driver(name, handle, ctypes.c_uint(pid), ctypes.byref(stats))
    return stats


@override
def nvmlDeviceGetHandleByUUID(uuid: str | bytes) -> Any:
    """Return the handle of the GPU or MIG device with a UUID.

    Raises:
        NVMLError_NotFound: There is no such device.
    """
    return BINDING.nvmlDeviceGetHandleByUUID(encoded(uuid))


@override
def nvmlDeviceGetHandleBySerial(serial: str | bytes) -> Any:
    """Return the handle of the GPU whose board has a serial number.

    Raises:
        NVMLError_NotFound: There is no such device.
    """
    return BINDING.nvmlDeviceGetHandleBySerial(encoded(serial))


@override
def nvmlDeviceGetHandleByPciBusId(pciBusId: str | bytes) -> Any:
    """Return the handle of the GPU with a PCI bus ID (``'00000000:3B:00.0'``).

    Raises:
        NVMLError_NotFound: There is no such device.
    """
    return BINDING.nvmlDeviceGetHandleByPciBusId(encoded(pciBusId))


@override
def nvmlDeviceGetFieldValues(handle: Any, fieldIds: Sequence[Field]) -> Sequence[Any]:
    """Return the structures of several fields, each with its own ``nvmlReturn``.

    Raises:
        NVMLError: The call as a whole failed.
    """
    count = len(fieldIds)
    request = _request(tuple(fieldIds))
    values = type(request).from_buffer_copy(request)
    call_driver(_FIELD_VALUES, handle, ctypes.c_int(count), ctypes.byref(values))
    return values[:count]


@functools.lru_cache(maxsize=64)
def _request(fields: tuple[Field, ...]) -> ctypes.Array[FieldValue]:
    """Return the structures that ask for these fields."""
    # Some drivers write one entry too many.
    values = (FieldValue * (len(fields) + 1))()
    for value, field in zip(values, fields):
        if isinstance(field, int):
            value.fieldId = field
        else:
            value.fieldId, value.scopeId = field
    return values


def nvmlQueryFieldValues(
    handle: Any, field_ids: Sequence[Field]
) -> list[tuple[float | int | NaType, int]]:
    """Query several fields (``NVML_FI_…``) of a device in one call.

    Args:
        handle: The device.
        field_ids: Field IDs, or pairs of a field ID and a scope.

    Returns:
        For each field its value and the time of the measurement in microseconds since the epoch.
        A field that the device or the driver does not have is ``NA`` with the time of the query.
        The reason is ``last_error('nvmlDeviceGetFieldValues', handle, field)``, without ``field`` if
        the call as a whole failed.

    Raises:
        NVMLError: NVML cannot be initialized.
    """
    values = nvmlQuery(nvmlDeviceGetFieldValues, handle, field_ids, default=None)
    now = int(time.time() * 1_000_000)
    address, arguments = key_of(_FIELD_VALUES, (handle,))
    if values is None:
        for field in field_ids:  # drop the reasons of previous calls
            note_error_of(_FIELD_VALUES, (address, (*arguments, field)), 0)
        return [(NA, now)] * len(field_ids)
    results: list[tuple[float | int | NaType, int]] = []
    for field, value in zip(field_ids, values):
        code = value.nvmlReturn
        if not code and value.valueType >= len(_VALUE_MEMBERS):
            code = UNKNOWN
        note_error_of(_FIELD_VALUES, (address, (*arguments, field)), code)
        if code:
            results.append((NA, now))
        else:
            number = getattr(value.value, _VALUE_MEMBERS[value.valueType])
            results.append((number, value.timestamp or now))
    return results
