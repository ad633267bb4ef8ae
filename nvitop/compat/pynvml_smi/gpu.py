# SPDX-License-Identifier: Apache-2.0
"""One GPU of a query: values of :class:`nvitop.Device`, with an error in place of a missing one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api import libnvml
from nvitop.api.device import Device
from nvitop.api.libnvml import NVMLError, NVMLError_NotSupported
from nvitop.api.utils import NA

if TYPE_CHECKING:
    from collections.abc import Callable


class SmiGpu:
    """The values of one GPU at one time."""

    def __init__(self, index: int, *, raises: bool) -> None:
        """Find the GPU. If it is lost, every value is that error."""
        self.device = Device(index)
        self._raises = raises

    def read(self, method: str, *args: Any, unknown: str = '') -> Any:
        """Return the value of a getter of :class:`nvitop.Device`.

        Args:
            method: Name of the getter.
            args: Arguments of the getter.
            unknown: The value if the driver returns a number that has no name.

        Raises:
            NVMLError: The value is not available.
        """
        value, reason = self.device.reading(method, *args)
        if value is not NA:
            return value
        if unknown and reason is None:
            return unknown
        raise reason if isinstance(reason, NVMLError) else NVMLError_NotSupported()

    def pcie_throughput(self, direction: int) -> int:
        """Return the PCIe throughput (0: transmitted, 1: received) over 20 ms in KB/s.

        The getters of :class:`nvitop.Device` measure between two calls instead, if they can.

        Raises:
            NVMLError: The value is not available.
        """
        if self.device.handle is None:
            self.read('uuid')
        return int(libnvml.nvmlDeviceGetPcieThroughput(self.device.handle, direction))

    def value(self, read: Callable[[SmiGpu], object]) -> object:
        """Return a value, or the text of the error: ``'N/A'`` if the value is not supported.

        Raises:
            NVMLError: The value is not available for another reason, and errors are raised.
        """
        try:
            return read(self)
        except NVMLError_NotSupported:
            return str(NA)
        except NVMLError as error:
            if self._raises:
                raise
            return str(error)
