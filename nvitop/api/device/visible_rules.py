# SPDX-License-Identifier: Apache-2.0
"""CUDA's rules for ``CUDA_VISIBLE_DEVICES``, as pure functions of the value and the GPUs."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    CudaVisible = Union['VisibleGpu', 'VisibleMig']

#: An index, parsed like C's ``strtoul``: ``'1st'`` is 1. More than 9 digits are not an index.
_INDEX = r'\s*\+?0*([0-9]{1,9})(?![0-9])'
#: A MIG device by its GPU and its two instances, the only form before R470.
_INSTANCES = 'MIG-(GPU-[^/]*)/([0-9]+)/([0-9]+)'
_PREFIX = '^(mig-)?(gpu-)?'


class VisibleMig(NamedTuple):
    """A MIG device: one compute instance."""

    #: (GPU index, MIG index).
    nvml_index: tuple[int, int]
    uuid: str
    gpu_uuid: str
    gpu_instance_id: int
    compute_instance_id: int

    def matches(self, identifier: str) -> bool:
        """Return whether ``identifier`` is a prefix of the UUID or names the instances."""
        instances = re.fullmatch(_INSTANCES, identifier)
        return self.uuid.startswith(identifier) or (
            instances is not None
            and self.gpu_uuid.startswith(instances.group(1))
            and self.gpu_instance_id == int(instances.group(2))
            and self.compute_instance_id == int(instances.group(3))
        )


class VisibleGpu(NamedTuple):
    """A physical GPU."""

    #: NVML index.
    nvml_index: int
    uuid: str
    #: Domain, bus, device.
    bus_id: tuple[int, int, int]
    is_mig_mode_enabled: bool = False
    migs: tuple[VisibleMig, ...] = ()

    def matches(self, identifier: str) -> bool:
        """Return whether ``identifier`` is a prefix of the UUID."""
        return self.uuid.startswith(identifier)


def digits(uuid: str) -> str:
    """Return the hexadecimal digits of a UUID, with or without the prefix of NVML."""
    return uuid.rpartition('GPU-')[2].rpartition('MIG-')[2].replace('-', '').lower()


class OnlyCudaKnowsError(Exception):
    """The result depends on something that only the CUDA driver can decide."""


def select(
    value: str | None,
    gpus: Sequence[VisibleGpu],
    *,
    is_in_cuda_order: Callable[[], bool],
    guess: bool = False,
) -> list[CudaVisible]:
    """Return the devices that CUDA enumerates, in its order.

    Args:
        value: Value of ``CUDA_VISIBLE_DEVICES``, ``None`` if not set.
        gpus: The GPUs in PCI order.
        is_in_cuda_order: Returns whether CUDA has the same order. Called at most once, if needed.
        guess: Return the most likely result instead of raising.

    Raises:
        OnlyCudaKnowsError: The result is not certain.
    """
    if value is None:
        if not guess and not is_in_cuda_order():
            raise OnlyCudaKnowsError('order of the GPUs')
        return _enumerated(gpus)
    identifiers = value.split(',')
    kind = identifiers[0].strip()[:4].upper()
    chosen: list[CudaVisible]
    if kind in ('GPU-', 'MIG-'):
        chosen = list(_by_uuid(identifiers, gpus, guess=guess))
    else:
        indices = list(_indices(identifiers))
        if indices and not guess:
            _require_certain_indices(gpus, is_in_cuda_order)
        chosen = [gpus[i] for i in itertools.takewhile(lambda i: i < len(gpus), indices)]
    if len(set(chosen)) < len(chosen):
        return []
    return _enumerated(list(itertools.takewhile(_is_usable, chosen)))


def _require_certain_indices(
    gpus: Sequence[VisibleGpu], is_in_cuda_order: Callable[[], bool]
) -> None:
    """Raise unless CUDA indices are positions in ``gpus``."""
    if not all(_is_usable(gpu) for gpu in gpus):
        raise OnlyCudaKnowsError('whether a GPU in MIG mode without instances is counted')
    if not is_in_cuda_order():
        raise OnlyCudaKnowsError('order of the GPUs')


def _is_usable(device: CudaVisible) -> bool:
    """Return whether CUDA can use the device: not a GPU in MIG mode without instances."""
    return isinstance(device, VisibleMig) or not device.is_mig_mode_enabled or bool(device.migs)


def _enumerated(devices: Sequence[CudaVisible]) -> list[CudaVisible]:
    """Return the devices that CUDA enumerates: either GPUs or a single MIG device."""
    usable: list[CudaVisible] = [
        device.migs[0] if isinstance(device, VisibleGpu) and device.migs else device
        for device in devices
        if _is_usable(device)
    ]
    migs = [device for device in usable if isinstance(device, VisibleMig)]
    return [migs[0]] if migs else usable


def _indices(identifiers: Sequence[str]) -> Iterator[int]:
    """Yield the leading indices, up to the first identifier that is not an index."""
    for identifier in identifiers:
        match = re.match(_INDEX, identifier)
        if match is None:
            return
        yield int(match.group(1))


def _by_uuid(
    identifiers: Sequence[str], gpus: Sequence[VisibleGpu], *, guess: bool
) -> Iterator[CudaVisible]:
    """Yield the devices of the leading identifiers that match one device each, all of one kind."""
    devices: list[CudaVisible] = [*gpus, *(mig for gpu in gpus for mig in gpu.migs)]
    kind: type[CudaVisible] | None = None
    for identifier in identifiers:
        device = _only_one(identifier, devices)
        is_exact = device is not None
        if device is None:
            device = _only_one(_in_nvidia_smi_form(identifier), devices)
        if device is None:
            return
        # NVIDIA documents neither spaces and capitals nor MIG devices after GPUs.
        if not guess and (not is_exact or (kind is VisibleGpu and isinstance(device, VisibleMig))):
            raise OnlyCudaKnowsError(f'whether {identifier!r} is valid here')
        if kind not in (None, type(device)):
            return
        kind = type(device)
        yield device


def _only_one(identifier: str, devices: Sequence[CudaVisible]) -> CudaVisible | None:
    matching = [device for device in devices if device.matches(identifier)]
    return matching[0] if len(matching) == 1 else None


def _in_nvidia_smi_form(identifier: str) -> str:
    lower = identifier.strip().lower()
    return re.sub(_PREFIX, lambda prefix: prefix.group().upper(), lower)
