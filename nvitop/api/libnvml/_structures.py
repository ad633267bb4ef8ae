# SPDX-License-Identifier: Apache-2.0
"""Structures of NVML that not every binding has, or that exist in several versions."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from nvitop.api.libnvml._binding import call_driver

_uint, _ulonglong = ctypes.c_uint, ctypes.c_ulonglong


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
        *c_nvmlProcessInfo_v1_t._fields_,
        ('gpuInstanceId', ctypes.c_uint),
        ('computeInstanceId', ctypes.c_uint),
    )


class c_nvmlProcessInfo_v3_t(_Structure):
    """A row of a process list of the first R535 releases, with protected memory."""

    _fields_ = (
        *c_nvmlProcessInfo_v2_t._fields_,
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


class ProcessUtilization(_Structure):
    """A utilization sample of a process, in percent: ``nvmlProcessUtilizationInfo_v1_t``."""

    _fields_ = (
        ('timeStamp', ctypes.c_ulonglong),  # microseconds
        ('pid', ctypes.c_uint),
        ('smUtil', ctypes.c_uint),
        ('memUtil', ctypes.c_uint),
        ('encUtil', ctypes.c_uint),
        ('decUtil', ctypes.c_uint),
        ('jpgUtil', ctypes.c_uint),
        ('ofaUtil', ctypes.c_uint),
    )


class ProcessesUtilization(_Structure):
    """Utilization samples of processes: ``nvmlProcessesUtilizationInfo_v1_t``."""

    VERSION = 0x01000018

    _fields_ = (
        ('version', ctypes.c_uint),
        ('processSamplesCount', ctypes.c_uint),
        ('lastSeenTimeStamp', ctypes.c_ulonglong),
        ('procUtilArray', ctypes.POINTER(ProcessUtilization)),
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


class PciInfoExt(ctypes.Structure):
    """``nvmlPciInfoExt_v1_t``."""

    _fields_ = (
        *((name, _uint) for name in ('version', 'domain', 'bus', 'device')),
        *((name, _uint) for name in ('pciDeviceId', 'pciSubSystemId', 'baseClass', 'subClass')),
        ('busId', ctypes.c_char * 32),
    )


class FabricInfo(ctypes.Structure):
    """``nvmlGpuFabricInfo_v2_t``."""

    _fields_ = (
        ('version', _uint),
        ('clusterUuid', ctypes.c_ubyte * 16),
        *((name, _uint) for name in ('status', 'cliqueId')),
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
        *(
            (name, ctypes.c_ubyte)
            for name in ('slotNumber', 'trayIndex', 'hostId', 'peerType', 'moduleId')
        ),
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

    Raises:
        NVMLError: The query failed.
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
