# SPDX-License-Identifier: Apache-2.0
"""CUDA's rules for ``CUDA_VISIBLE_DEVICES``: a value and a machine in, devices out. Pure."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Union

from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: What CUDA reads of an index: like C's ``strtoul``, so ``'1st'`` is 1. More digits are no index.
_INDEX = r'\s*\+?0*([0-9]{1,9})(?![0-9])'
#: A MIG device by its GPU and the two instances, the only form before R470.
_INSTANCES = 'MIG-(GPU-[^/]*)/([0-9]+)/([0-9]+)'
_PREFIX = '^(mig-)?(gpu-)?'


class VisibleMig(NamedTuple):
    """A MIG device: one compute instance."""

    #: NVML index of the GPU, index of the MIG device on it.
    nvml_index: tuple[int, int]
    uuid: str
    gpu_uuid: str
    gpu_instance_id: int
    compute_instance_id: int

    def is_meant_by(self, identifier: str) -> bool:
        """Whether ``identifier`` is its UUID, the beginning of it, or names its instances."""
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

    def is_meant_by(self, identifier: str) -> bool:
        """Whether ``identifier`` is its UUID or the beginning of it."""
        return self.uuid.startswith(identifier)


CudaVisible = Union[VisibleGpu, VisibleMig]


def digits(uuid: str) -> str:
    """The hexadecimal digits of a UUID, with or without the prefix of NVML."""
    return uuid.rpartition('GPU-')[2].rpartition('MIG-')[2].replace('-', '').lower()


class OnlyCudaKnowsError(Exception):
    """The answer depends on something that only the CUDA driver decides."""


def select(
    value: str | None,
    gpus: Sequence[VisibleGpu],
    *,
    is_in_cuda_order: Callable[[], bool],
    guess: bool = False,
) -> list[CudaVisible]:
    """The devices that CUDA enumerates, in its order, when the variable has ``value``.

    ``gpus`` are in PCI order; ``is_in_cuda_order`` is asked, once at most, when it matters whether
    that is CUDA's order too. Raises :exc:`OnlyCudaKnowsError` where that and other things are not
    certain, unless a best ``guess`` is asked for.
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
    """Raise unless an index of CUDA is a position in ``gpus``."""
    if not all(_is_usable(gpu) for gpu in gpus):
        raise OnlyCudaKnowsError('whether a GPU in MIG mode without instances is counted')
    if not is_in_cuda_order():
        raise OnlyCudaKnowsError('order of the GPUs')


def _is_usable(device: CudaVisible) -> bool:
    """Whether CUDA can compute on it: not on a GPU that is in MIG mode and has no instances."""
    return isinstance(device, VisibleMig) or not device.is_mig_mode_enabled or bool(device.migs)


def _enumerated(devices: Sequence[CudaVisible]) -> list[CudaVisible]:
    """What CUDA makes of the devices it may use: with MIG at most one instance and nothing else."""
    seen: list[CudaVisible] = [
        device.migs[0] if isinstance(device, VisibleGpu) and device.migs else device
        for device in devices
        if _is_usable(device)
    ]
    migs = [device for device in seen if isinstance(device, VisibleMig)]
    return [migs[0]] if migs else seen


def _indices(identifiers: Sequence[str]) -> Iterator[int]:
    """The leading identifiers that are indices; what follows the first that is none is ignored."""
    for identifier in identifiers:
        match = re.match(_INDEX, identifier)
        if match is None:
            return
        yield int(match.group(1))


def _by_uuid(
    identifiers: Sequence[str], gpus: Sequence[VisibleGpu], *, guess: bool
) -> Iterator[CudaVisible]:
    """The devices of the leading identifiers that belong to one device each, all of one kind."""
    devices: list[CudaVisible] = [*gpus, *(mig for gpu in gpus for mig in gpu.migs)]
    kind: type[CudaVisible] | None = None
    for identifier in identifiers:
        device = _only_one(identifier, devices)
        is_spelt_well = device is not None
        if device is None:
            device = _only_one(_as_nvidia_smi_writes(identifier), devices)
        if device is None:
            return
        # Of blanks, of capitals, and of MIG devices behind GPUs NVIDIA says nothing.
        if not guess and (
            not is_spelt_well or (kind is VisibleGpu and isinstance(device, VisibleMig))
        ):
            raise OnlyCudaKnowsError(f'whether {identifier!r} is valid here')
        if kind not in (None, type(device)):
            return
        kind = type(device)
        yield device


def _only_one(identifier: str, devices: Sequence[CudaVisible]) -> CudaVisible | None:
    meant = [device for device in devices if device.is_meant_by(identifier)]
    return meant[0] if len(meant) == 1 else None


def _as_nvidia_smi_writes(identifier: str) -> str:
    lower = identifier.strip().lower()
    return re.sub(_PREFIX, lambda prefix: prefix.group().upper(), lower)
