# SPDX-License-Identifier: Apache-2.0
"""A replacement for igpu: ``import nvitop.compat.igpu as igpu``.

Unavailable numbers are ``nan``, unavailable text is ``'N/A'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Tuple

from nvitop.api.device import Device
from nvitop.api.libnvml import NVMLError
from nvitop.compat.igpu.gpu import GPUInfo
from nvitop.compat.igpu.groups import (
    GPUClockInfo,
    GPUMemoryInfo,
    GPUPCIInfo,
    GPUPowerInfo,
    GPUProcessesInfo,
    GPUProcessInfo,
    GPUUtilizationInfo,
)

if TYPE_CHECKING:
    from typing import Union

    from nvitop.compat.igpu.gpu import Index

    _Pair = Tuple[Union[int, None], Union[int, None]]
else:
    _Pair = tuple

__all__ = [
    'DriverVersion',
    'GPUClockInfo',
    'GPUInfo',
    'GPUMemoryInfo',
    'GPUPCIInfo',
    'GPUPowerInfo',
    'GPUProcessInfo',
    'GPUProcessesInfo',
    'GPUUtilizationInfo',
    'count_devices',
    'count_visible_devices',
    'devices',
    'devices_index',
    'get_device',
    'nvidia_driver_version',
    'visible_devices',
    'visible_devices_index',
]


class DriverVersion(_Pair):
    """Version of the driver: (major, minor), and all parts.

    >>> version = DriverVersion('535.129.03')
    >>> version, version.parts, version.text
    ((535, 129), (535, 129, 3), '535.129.03')
    """

    #: All parts.
    parts: tuple[int, ...]
    #: Version as text.
    text: str

    def __new__(cls, text: str) -> DriverVersion:
        """Parse a version; an empty text is ``(None, None)``."""
        parts = tuple(int(part) for part in text.split('.') if part.isdigit())
        version = super().__new__(cls, (*parts[:2], None, None)[:2])
        version.parts, version.text = parts, text
        return version

    def __getnewargs__(self) -> tuple[str]:
        return (self.text,)


def nvidia_driver_version() -> DriverVersion:
    """Return (major, minor) of the driver; (None, None) without a driver."""
    try:
        version = Device.driver_version()
    except NVMLError:
        version = ''
    return DriverVersion(version)


def count_devices() -> int:
    """Return the number of GPUs; 0 without a driver."""
    try:
        return Device.count()
    except NVMLError:
        return 0


def devices_index() -> list[int]:
    """Return the indices of all GPUs."""
    return list(range(count_devices()))


def get_device(device_index: Index) -> GPUInfo:
    """Return a GPU by its index, or a MIG device by (GPU index, MIG index).

    Raises:
        ValueError: The device does not exist, or the driver cannot open it.
    """
    indices = devices_index()
    if not indices:
        raise ValueError('there is no GPU')
    if isinstance(device_index, tuple):
        try:
            return GPUInfo(Device(device_index))
        except (NVMLError, TypeError):
            raise ValueError(f'there is no MIG device {device_index}') from None
    if not isinstance(device_index, int) or device_index not in indices:
        raise ValueError(f'there is no GPU {device_index!r}; the indices are {indices}')
    try:
        return GPUInfo(Device(int(device_index)))
    except NVMLError as error:
        raise ValueError(f'cannot open GPU {int(device_index)}: {error}') from error


def devices() -> list[GPUInfo]:
    """Return all GPUs."""
    return [get_device(index) for index in devices_index()]


def count_visible_devices() -> int:
    """Return the number of devices that CUDA programs see."""
    return len(visible_devices_index())


def visible_devices_index() -> list[Any]:
    """Return the indices of the devices that CUDA programs see, by the rules of CUDA.

    These are all GPUs if ``CUDA_VISIBLE_DEVICES`` is not set. A MIG device is (GPU index, MIG index).
    """
    return list(Device.parse_cuda_visible_devices())


def visible_devices() -> list[GPUInfo]:
    """Return the devices that CUDA programs see."""
    return [get_device(index) for index in visible_devices_index()]
