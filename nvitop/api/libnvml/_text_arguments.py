# SPDX-License-Identifier: Apache-2.0
"""Handles by names: the binding takes text for some of them, bytes for others, by its release."""

from __future__ import annotations

from typing import Any

from nvitop.api.libnvml._binding import BINDING


def _encode(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def nvmlDeviceGetHandleByUUID(uuid: str | bytes) -> Any:
    """The handle of the GPU or MIG device with this UUID.

    Raises:
        NVMLError_NotFound: There is none.
    """
    return BINDING.nvmlDeviceGetHandleByUUID(_encode(uuid))


def nvmlDeviceGetHandleBySerial(serial: str | bytes) -> Any:
    """The handle of the GPU on the board with this serial number.

    Raises:
        NVMLError_NotFound: There is none.
    """
    return BINDING.nvmlDeviceGetHandleBySerial(_encode(serial))


def nvmlDeviceGetHandleByPciBusId(pciBusId: str | bytes) -> Any:
    """The handle of the GPU at this PCI bus id (``'00000000:3B:00.0'``).

    Raises:
        NVMLError_NotFound: There is none.
    """
    return BINDING.nvmlDeviceGetHandleByPciBusId(_encode(pciBusId))
