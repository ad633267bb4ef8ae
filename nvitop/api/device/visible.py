# SPDX-License-Identifier: Apache-2.0
"""The devices that are visible to CUDA programs (``CUDA_VISIBLE_DEVICES``).

:mod:`~nvitop.api.device.visible_devices` finds them; it is imported on use.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from nvitop.api import libnvml
from nvitop.api.device.base import DeviceBase

if TYPE_CHECKING:
    from nvitop.api.device.visible_rules import CudaVisible


class _FromEnvironment(str):
    """The default argument: the environment variable of this process."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "os.environ.get('CUDA_VISIBLE_DEVICES')"


FROM_ENVIRONMENT = _FromEnvironment()


def parse_cuda_visible_devices(
    cuda_visible_devices: str | None = FROM_ENVIRONMENT,
) -> list[int] | list[tuple[int, int]]:
    """Return the NVML indices of the devices that are visible to CUDA, in the order of CUDA indices.

    A GPU is represented by its index, a MIG device by (GPU index, MIG index). The rules are CUDA's:

    - not set: all GPUs; ``''``: none;
    - a comma-separated list of indices (``'1,0'``), of UUIDs of GPUs (``'GPU-18ef14e9,…'``) or of
      MIG devices (``'MIG-…'`` or ``'MIG-GPU-<uuid>/<gpu instance>/<compute instance>'``). UUIDs
      can be abbreviated if only one device matches;
    - the list ends at the first invalid item: out of range, negative, unknown, ambiguous, or of
      another kind than the first;
    - if a device is listed twice, none is visible;
    - a GPU in MIG mode means its first MIG device; a list with a MIG device makes only that one
      visible.

    Indices count the GPUs in the order of ``CUDA_DEVICE_ORDER``: with ``PCI_BUS_ID`` by bus ID,
    otherwise with the fastest first, as decided by the CUDA driver. GPUs that are equal in NVML
    (name, PCI device, memory, cores, clocks, modes) are taken as equally fast and ordered by bus ID.
    The CUDA driver is queried, once, in a helper process, if the GPUs differ, if a GPU is lost, and
    for lists that NVIDIA's documentation does not cover (``'gpu-18EF14E9'``, a MIG device after a
    GPU). If the CUDA driver does not respond, GPUs are counted by bus ID.

    >>> parse_cuda_visible_devices('2,0')
    [2, 0]

    Args:
        cuda_visible_devices: The value; ``None`` means not set. By default the current value of the
            environment variable.

    Returns:
        The indices; ``[]`` if NVML cannot be initialized.
    """
    indices: list[Any] = [device.nvml_index for device in _visible_devices(cuda_visible_devices)]
    return indices


def normalize_cuda_visible_devices(cuda_visible_devices: str | None = FROM_ENVIRONMENT) -> str:
    """Return the full UUIDs of the devices that are visible to CUDA, separated by commas.

    The selection is the same, but without abbreviations and independent of ``CUDA_DEVICE_ORDER``.
    The rules and the argument are those of :func:`parse_cuda_visible_devices`.

    >>> normalize_cuda_visible_devices('0')
    'GPU-18ef14e9-dec6-1d3e-1284-3010c6ce98b1'
    """
    return ','.join(device.uuid for device in _visible_devices(cuda_visible_devices))


def _visible_devices(value: str | None) -> list[CudaVisible]:
    """Return the devices that are visible to CUDA; few programs need the module."""
    from nvitop.api.device.visible_devices import visible_devices

    if isinstance(value, _FromEnvironment):
        value = os.environ.get('CUDA_VISIBLE_DEVICES')
    return visible_devices(value)


class VisibilityMixin(DeviceBase):
    """Devices as CUDA programs number them."""

    parse_cuda_visible_devices = staticmethod(parse_cuda_visible_devices)
    normalize_cuda_visible_devices = staticmethod(normalize_cuda_visible_devices)

    @property
    def cuda_index(self) -> int:
        """Index in CUDA programs started now, see :func:`parse_cuda_visible_devices`.

        Raises:
            RuntimeError: The device is not visible to CUDA: it is not in ``CUDA_VISIBLE_DEVICES``,
                or not the MIG device that CUDA chooses.
        """
        indices = parse_cuda_visible_devices()
        for cuda_index, nvml_index in enumerate(indices):
            if nvml_index == self._index:
                return cuda_index
        raise RuntimeError(
            f'CUDA error: device {self._index} is not visible, {describe_visible(len(indices))}'
        )


def describe_visible(count: int) -> str:
    """Return how many devices are visible to CUDA, and why, for error messages."""
    try:
        libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
    except libnvml.NVMLError as error:
        reason = f'NVML: {error}'
    else:
        value = os.environ.get('CUDA_VISIBLE_DEVICES')
        is_set = value is not None
        reason = f'CUDA_VISIBLE_DEVICES={value!r}' if is_set else 'CUDA_VISIBLE_DEVICES is not set'
    return f'CUDA sees {count} {"device" if count == 1 else "devices"} ({reason})'
