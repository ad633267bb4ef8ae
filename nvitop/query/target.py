# SPDX-License-Identifier: Apache-2.0
"""Which devices are meant: indices, UUIDs, PCI bus ids and serial numbers, as nvidia-smi takes them."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Iterable, Iterator

from nvitop.namedtuple import NamedTuple

if TYPE_CHECKING:
    from nvitop.api.device import Device
    from nvitop.sampling.types import DeviceKey

_INDEX = re.compile(r'(\d+)(?::(\d+))?', re.ASCII)
_BUS_ID = re.compile(r'(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])', re.IGNORECASE)


class DeviceTarget(NamedTuple):
    """A GPU, or one of its MIG devices."""

    gpu: int
    mig: int | None = None

    def covers(self, key: DeviceKey, *, mig: bool) -> bool:
        """Whether it means this device; with ``mig``, a GPU means its MIG devices too."""
        if key.physical_index != self.gpu:
            return False
        if self.mig is None:
            return mig or not key.is_mig
        return key.mig_index == self.mig


class UnknownDeviceError(ValueError):
    """A device that there is not, or a text that can be none."""


def find_targets(
    ids: str | int | Iterable[str | int | tuple[int, int]],
) -> tuple[DeviceTarget, ...]:
    """The devices of these names, each once, in the order of the names.

    Raises:
        UnknownDeviceError: There is no such device, or several whose UUID begins like that.
        NVMLError: The driver does not answer.
    """
    words: list[str] = []
    for given in [ids] if isinstance(ids, (str, int)) else ids:
        if isinstance(given, str):
            words += [word.strip() for word in given.split(',') if word.strip()]
        else:
            words.append(':'.join(map(str, given)) if isinstance(given, tuple) else str(given))
    if not words:
        raise UnknownDeviceError('no device is given')
    return tuple(dict.fromkeys(map(_find, words)))


def _find(word: str) -> DeviceTarget:
    from nvitop.api import libnvml
    from nvitop.api.device import Device

    index = _INDEX.fullmatch(word)
    if index is None or len(word) > 9:
        return _find_by_fact(word)
    count = libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
    gpu, mig = int(index.group(1)), index.group(2)
    if gpu >= count:
        known = f'GPUs 0 to {count - 1}' if count > 1 else f'{count or "no"} GPU'
        raise UnknownDeviceError(f'there is no device {word!r}: the driver has {known}')
    if mig is None:
        return DeviceTarget(gpu)
    target = DeviceTarget(gpu, int(mig))
    if target not in [found for found, _ in _mig_devices(Device(gpu))]:
        raise UnknownDeviceError(f'there is no MIG device {word!r}')
    return target


def _find_by_fact(word: str) -> DeviceTarget:
    """A device by UUID, perhaps a shortened one, by PCI bus id or by serial number."""
    bus_id = _normal_bus_id(word)
    is_uuid = word.upper().startswith(('GPU-', 'MIG-')) and len(word) > 4
    found: list[DeviceTarget] = []
    for device in _gpus():
        target = DeviceTarget(device.physical_index)
        if is_uuid:
            known = [(target, str(device.uuid()))]
            if word.upper().startswith('MIG-'):
                known = _mig_devices(device)
            found += [t for t, uuid in known if uuid.lower().startswith(word.lower())]
        elif _is_fact(device, word, bus_id):
            found.append(target)
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownDeviceError(f'several devices begin with {word!r}')
    raise UnknownDeviceError(
        f'there is no device {word!r}: give an index, GPU:MIG indices, a UUID, a PCI bus id or a '
        'serial number'
    )


def _is_fact(device: Device, word: str, bus_id: str) -> bool:
    """Whether a text is bus id or serial number of a GPU."""
    if bus_id:
        return bus_id == _normal_bus_id(device.bus_id())
    return word.isalnum() and word == device.serial()


def _gpus() -> Iterator[Device]:
    from nvitop.api import libnvml
    from nvitop.api.device import Device

    for index in range(libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)):
        with contextlib.suppress(libnvml.NVMLError):
            yield Device(index)


def _mig_devices(gpu: Device) -> list[tuple[DeviceTarget, str]]:
    index = gpu.physical_index
    return [(DeviceTarget(index, mig.mig_index), str(mig.uuid())) for mig in gpu.mig_devices()]


def _normal_bus_id(text: str) -> str:
    match = _BUS_ID.fullmatch(text)
    if match is None:
        return ''
    domain, bus, device, function = match.groups(default='0')
    return f'{int(domain, 16):08x}:{bus}:{device}.{function}'.lower()
