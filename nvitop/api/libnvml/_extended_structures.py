# SPDX-License-Identifier: Apache-2.0
"""Answers in structures that not every binding knows."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from nvitop.api.libnvml._binding import BINDING, NVMLError
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
    """Make the function that asks a device for a structure.

    Where a device has none it raises an :class:`NVMLError`, as functions of the binding do.
    """

    def read(handle: Any) -> Any:
        answer: Any = structure()
        answer.version = version_of(structure, number)
        code = BINDING._nvmlGetFunctionPointer(name)(handle, ctypes.byref(answer))
        if code:
            raise NVMLError(code)
        return answer

    read.__name__ = name
    return read


def read_gsp_modes(handle: Any) -> tuple[int, int]:
    """Whether the GPU's own processor works, and whether it does by default.

    The function of the binding wants its results as arguments, or gives all callers the same ones.

    Raises:
        NVMLError: There is no answer.
    """
    current, default = _uint(), _uint()
    function = BINDING._nvmlGetFunctionPointer('nvmlDeviceGetGspFirmwareMode')
    code = function(handle, ctypes.byref(current), ctypes.byref(default))
    if code:
        raise NVMLError(code)
    return current.value, default.value


read_gsp_modes.__name__ = 'nvmlDeviceGetGspFirmwareMode'
read_pci_info_ext = _reader('nvmlDeviceGetPciInfoExt', PciInfoExt, 1)
read_fabric_info = _reader('nvmlDeviceGetGpuFabricInfoV', FabricInfo, 2)
read_platform_info = _reader('nvmlDeviceGetPlatformInfo', PlatformInfo, 2)
read_sram_ecc_status = _reader('nvmlDeviceGetSramEccErrorStatus', SramEccStatus, 1)
#: All of them: not every driver has them.
READERS = (
    read_gsp_modes,
    read_pci_info_ext,
    read_fabric_info,
    read_platform_info,
    read_sram_ecc_status,
)
