# SPDX-License-Identifier: Apache-2.0
"""For scripts that come from igpu: ``import nvitop.compat.igpu as igpu``.

What a GPU does not tell is *not a number* (``nan``), or the text ``'N/A'``; in texts it is ``N/A``.
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
    """(major, minor) of a driver, and all the rest of it.

    >>> version = DriverVersion('535.129.03')
    >>> version, version.parts, version.text
    ((535, 129), (535, 129, 3), '535.129.03')
    """

    #: All parts.
    parts: tuple[int, ...]
    #: As the driver says it.
    text: str

    def __new__(cls, text: str) -> DriverVersion:
        """Take the version apart; ``(None, None)`` of an empty text."""
        parts = tuple(int(part) for part in text.split('.') if part.isdigit())
        version = super().__new__(cls, (*parts[:2], None, None)[:2])
        version.parts, version.text = parts, text
        return version

    def __getnewargs__(self) -> tuple[str]:
        return (self.text,)


def nvidia_driver_version() -> DriverVersion:
    """(major, minor) of the driver, with all parts as ``parts``; (None, None) without a driver."""
    try:
        version = Device.driver_version()
    except NVMLError:
        version = ''
    return DriverVersion(version)


def count_devices() -> int:
    """Number of GPUs; 0 without a driver."""
    try:
        return Device.count()
    except NVMLError:
        return 0


def devices_index() -> list[int]:
    """Indices of all GPUs."""
    return list(range(count_devices()))


def get_device(device_index: Index) -> GPUInfo:
    """A GPU by its index, or a MIG device by (index of the GPU, index on it).

    Raises:
        ValueError: There is no such GPU, or none at all, or the driver does not give it.
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
        raise ValueError(f'there is no GPU {device_index!r}: there are {indices}')
    try:
        return GPUInfo(Device(int(device_index)))
    except NVMLError as error:
        raise ValueError(f'GPU {int(device_index)} cannot be had: {error}') from error


def devices() -> list[GPUInfo]:
    """All GPUs."""
    return [get_device(index) for index in devices_index()]


def count_visible_devices() -> int:
    """Number of devices that CUDA programs see."""
    return len(visible_devices_index())


def visible_devices_index() -> list[Any]:
    """Indices of the devices that CUDA programs see: ``CUDA_VISIBLE_DEVICES`` by CUDA's own rules.

    All GPUs where it is not set. A MIG device is (index of the GPU, index on it).
    """
    return list(Device.parse_cuda_visible_devices())


def visible_devices() -> list[GPUInfo]:
    """The devices that CUDA programs see."""
    return [get_device(index) for index in visible_devices_index()]
