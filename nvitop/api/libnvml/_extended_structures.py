# SPDX-License-Identifier: Apache-2.0
"""Queries that return structures. Not every binding has them."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from nvitop.api.libnvml._binding import call_driver
from nvitop.api.libnvml._structures import version_of

_uint, _ulonglong = ctypes.c_uint, ctypes.c_ulonglong


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
read_platform_info = _reader('nvmlDeviceGetPlatformInfo', PlatformInfo, 2)
read_sram_ecc_status = _reader('nvmlDeviceGetSramEccErrorStatus', SramEccStatus, 1)
