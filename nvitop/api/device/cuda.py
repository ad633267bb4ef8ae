# SPDX-License-Identifier: Apache-2.0
"""CudaDevice: devices by the index that CUDA programs use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvitop.api.device.device import Device, MigDevice
from nvitop.api.device.handles import index_or_uuid, is_mig_device_uuid
from nvitop.api.device.visible import describe_visible, parse_cuda_visible_devices
from nvitop.api.utils import NA, NaType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nvitop.api.utils import Snapshot


class CudaDevice(Device):
    """A GPU or MIG device that is visible to CUDA programs, by its CUDA index. See :class:`Device`.

    The CUDA index is the one of ``cudaSetDevice`` and frameworks (``cuda:0``). It depends on
    ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER``: by default the fastest GPU comes first, so
    with different GPUs the CUDA index may differ from the index in nvidia-smi. The rules are those
    of :func:`parse_cuda_visible_devices`.

    >>> CudaDevice(0)                   # or Device.cuda(0)
    CudaDevice(cuda_index=0, nvml_index=3, name='NVIDIA H100 80GB HBM3', total_memory=79.65GiB)

    A CUDA device has no MIG devices; it is always a leaf device. A MIG device becomes a
    :class:`CudaMigDevice`.

    Args:
        cuda_index: CUDA index, or UUID.
        nvml_index: NVML index; (GPU index, MIG index) for MIG devices.
        uuid: UUID of a GPU or of a MIG device.

    Raises:
        TypeError: Not exactly one argument, or an argument of the wrong type.
        RuntimeError: The device is not visible to CUDA, or NVML cannot be initialized.
        NVMLError: NVML has no such device.
    """

    _numbering = 'CUDA'
    #: NVML index or UUID that the device was created from.
    _sought: tuple[int | tuple[int, int] | None, str | None]
    #: ``None`` until it is determined; ``NA`` if the device may be invisible to CUDA.
    _cuda_index: int | NaType | None

    def __new__(
        cls,
        cuda_index: int | str | None = None,
        *,
        nvml_index: int | tuple[int, int] | None = None,
        uuid: str | None = None,
    ) -> CudaDevice:
        """Find the NVML index, which decides the class."""
        if isinstance(cuda_index, str) and uuid is None:
            _, uuid = index_or_uuid(cuda_index, None, None)
            cuda_index = None
        if sum(argument is not None for argument in (cuda_index, nvml_index, uuid)) != 1:
            raise TypeError(
                'a CUDA device needs exactly one of cuda_index, nvml_index and uuid, got '
                f'cuda_index={cuda_index!r}, nvml_index={nvml_index!r}, uuid={uuid!r}'
            )
        if cuda_index is not None:
            nvml_index = _nvml_indices([cuda_index])[0]
        is_mig = isinstance(nvml_index, tuple) or is_mig_device_uuid(uuid)
        device: CudaDevice = object.__new__(CudaMigDevice if is_mig and cls is CudaDevice else cls)
        known_index: Any = cuda_index
        device._cuda_index = known_index
        device._sought = nvml_index, uuid
        return device

    def __init__(
        self,
        cuda_index: int | str | None = None,
        *,
        nvml_index: int | tuple[int, int] | None = None,
        uuid: str | None = None,
    ) -> None:
        """Find the device in NVML, and check that it is visible to CUDA."""
        nvml_index, uuid = self._sought
        super().__init__(nvml_index, uuid=uuid)
        if self._cuda_index is None:
            self._cuda_index = super().cuda_index

    @property
    def cuda_index(self) -> int:
        """CUDA index, as given when the device was created, or determined once.

        Raises:
            RuntimeError: The device is not visible to CUDA.
        """
        if not isinstance(self._cuda_index, int):
            self._cuda_index = super().cuda_index
        return self._cuda_index

    def _cuda_index_or_na(self) -> int | str:
        try:
            return self.cuda_index
        except RuntimeError:
            return NA

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(cuda_index={self._cuda_index_or_na()}, '
            f'nvml_index={self.nvml_index}, name={self.name()!r}, '
            f'total_memory={self.memory_total_human()})'
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # The CUDA index may be another device where the pickle is loaded.
        return _create, (type(self), NA, *self._sought)

    def as_snapshot(self) -> Snapshot:
        """Values as in :meth:`Device.as_snapshot`, and ``cuda_index``, ``NA`` if not visible to CUDA."""
        snapshot = super().as_snapshot()
        snapshot['cuda_index'] = self._cuda_index_or_na()
        return snapshot

    @classmethod
    def count(cls) -> int:
        """Number of devices that are visible to CUDA; 0 if NVML cannot be initialized."""
        return len(parse_cuda_visible_devices())

    @classmethod
    def from_indices(
        cls, indices: int | Iterable[int | tuple[int, int]] | None = None
    ) -> list[Any]:
        """Devices with the given CUDA indices, in their order.

        Without indices, all that are visible to CUDA. The list is empty if NVML cannot be
        initialized.

        Raises:
            RuntimeError: Fewer devices are visible to CUDA.
        """
        if indices is None:
            visible: list[Any] = parse_cuda_visible_devices()
            cuda_indices: list[Any] = list(range(len(visible)))
        else:
            cuda_indices = [indices] if isinstance(indices, int) else list(indices)
            visible = _nvml_indices(cuda_indices)
        return [_create(cls, *found) for found in zip(cuda_indices, visible)]


class CudaMigDevice(CudaDevice, MigDevice):
    """The only MIG device that is visible to CUDA. See :class:`CudaDevice`."""


def _nvml_indices(cuda_indices: Sequence[object]) -> list[Any]:
    """Return the NVML indices of CUDA indices."""
    visible: list[Any] = parse_cuda_visible_devices()
    found = []
    for index in cuda_indices:
        if not isinstance(index, int) or isinstance(index, bool):
            raise TypeError(f'a CUDA index must be an int, not {index!r}')
        if not 0 <= index < len(visible):
            raise RuntimeError(
                f'CUDA error: invalid device ordinal: {index}, {describe_visible(len(visible))}'
            )
        found.append(visible[index])
    return found


def _create(
    cls: type[CudaDevice],
    cuda_index: int | NaType,
    nvml_index: int | tuple[int, int] | None,
    uuid: str | None = None,
) -> CudaDevice:
    """Create a device without checking that it is visible to CUDA."""
    device = cls.__new__(cls, nvml_index=nvml_index, uuid=uuid)
    device._cuda_index = cuda_index
    type(device).__init__(device, nvml_index=nvml_index, uuid=uuid)
    return device


# The public path, as shown in reprs, pickles and the documentation.
CudaDevice.__module__ = CudaMigDevice.__module__ = 'nvitop.api.device'
