# SPDX-License-Identifier: Apache-2.0
"""Devices by the names that users give them: index, UUID, PCI bus ID or serial number."""

from __future__ import annotations

import functools
import re
from typing import Collection, Iterable, Mapping, NamedTuple, Sequence, Tuple, Union

from nvitop import api
from nvitop.api import libnvml
from nvitop.api.system import system
from nvitop.platforms import stuck_calls
from nvitop.sampling.threads import Watchdog, call_with_limit
from nvitop.sampling.types import DeviceKey, DeviceSample

#: Index of a GPU, or (GPU, MIG device).
DeviceIndex = Union[int, Tuple[int, int]]

#: Forms of names, for messages.
EXPECTED = 'an index, GPU:MIG indices, a UUID, a PCI bus ID or a serial number'
#: Maximum time (seconds) for one GPU to report its names.
NAMES_SECONDS = 2.0

_INDEX = r'([0-9]{1,9})(?::([0-9]{1,9}))?'
_UUID = r'(?ai)(GPU|MIG)-[0-9A-Z/-]+'
_BUS_ID = r'(?i)(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])'


class _Names(NamedTuple):
    """Names of a GPU or MIG device; ``''`` if they are unknown."""

    device: DeviceIndex
    uuid: str = ''
    bus_id: str = ''
    serial: str = ''

    def include(self, name: str) -> bool:
        index = re.fullmatch(_INDEX, name)
        if index is not None:
            gpu, mig = index.groups()
            return self.device == (int(gpu) if mig is None else (int(gpu), int(mig)))
        if re.fullmatch(_UUID, name):
            return self.uuid.lower().startswith(name.lower())
        bus_id = _full_bus_id(name)
        return self.bus_id == bus_id if bus_id else name.isalnum() and self.serial == name


def split_names(names: str | int | Iterable[str | int | tuple[int, int]]) -> list[str]:
    """Split names at commas and write indices as text: ``(0, 1)`` becomes ``'0:1'``."""
    words: list[str] = []
    for name in [names] if isinstance(names, (str, int)) else names:
        if isinstance(name, str):
            words += [word.strip() for word in name.split(',') if word.strip()]
        else:
            words.append(':'.join(map(str, name)) if isinstance(name, tuple) else str(name))
    return words


def is_device_name(text: str) -> bool:
    """Whether a text has the form of a name of a device."""
    return bool(
        re.fullmatch(_INDEX, text) or re.fullmatch(_UUID, text) or re.fullmatch(_BUS_ID, text)
    ) or (text.isascii() and text.isalnum() and text[:1].isdigit())  # a serial number


def require_devices(
    names: str | int | Iterable[str | int | tuple[int, int]],
) -> tuple[DeviceIndex, ...]:
    """Find the devices with these names; raise ValueError if one matches no device, or several."""
    words = split_names(names)
    if not words:
        raise ValueError('no device given')
    devices, problems = match_devices(words)
    if problems:
        raise ValueError(problems[0])
    return devices


def match_devices(names: Iterable[str]) -> tuple[tuple[DeviceIndex, ...], tuple[str, ...]]:
    """Find the devices with these names; also return a message for each name that matches not one.

    A name is an index, ``GPU:MIG`` indices, the beginning of a UUID, a PCI bus ID (without a domain
    or with one of any length) or a serial number. GPUs are queried for names only if an index is
    not enough; a GPU that does not respond does not block the others.

    Raises NVMLError, or TimeoutError after 10 seconds, if the driver does not respond.
    """
    names = list(names)
    query = functools.partial(libnvml.nvmlQuery, 'nvmlDeviceGetCount', ignore_errors=False)
    count = int(call_with_limit(query))
    to_read = _gpus_to_read(names, count)
    asleep = {gpu: power for gpu, power in enumerate(system().gpu_powers()) if power.is_asleep}
    #: GPU → its names, and those of its MIG devices.
    known: dict[int, list[_Names]] = {gpu: [_Names(gpu)] for gpu in range(count)}
    silent = _read_names(known, [gpu for gpu in to_read if gpu not in asleep])
    for gpu in asleep.keys() & {*to_read}:
        bus_id = asleep[gpu].bus_id
        known[gpu] = [_Names(gpu, system().sleep_info(bus_id).uuid, _full_bus_id(bus_id))]
    if asleep and not all(_find(name, known) for name in names):
        silent = _read_names(known, to_read)  # this wakes them
    devices: dict[DeviceIndex, None] = {}
    problems = []
    for name in names:
        matches = _find(name, known)
        if len(matches) == 1:
            devices[matches[0]] = None
        else:
            problems.append(_explain(name, len(matches), known, silent))
    return tuple(devices), tuple(problems)


def match_measured(
    names: Iterable[str], devices: Iterable[DeviceSample]
) -> tuple[frozenset[DeviceKey], tuple[str, ...]]:
    """Find devices with these names among measured ones; also return the names that match none."""
    known = {}
    for key, info, *_ in devices:
        index = (key.physical_index, key.mig_index) if key.is_mig else key.physical_index
        bus_id = '' if key.is_mig else _full_bus_id(info.bus_id or '')
        known[key] = _Names(index, key.uuid, bus_id, '' if key.is_mig else info.serial or '')
    matches = {
        name: [key for key, candidate in known.items() if candidate.include(name)] for name in names
    }
    matched = frozenset(key for keys in matches.values() for key in keys)
    return matched, tuple(name for name, keys in matches.items() if not keys)


def _gpus_to_read(names: Iterable[str], count: int) -> Collection[int]:
    """The GPUs whose names are needed: none if all devices are given by index."""
    wanted: set[int] = set()
    for name in names:
        index = re.fullmatch(_INDEX, name)
        if index is None:
            return range(count)
        if index.group(2) is not None and int(index.group(1)) < count:
            wanted.add(int(index.group(1)))
    return sorted(wanted)


def _read_names(known: dict[int, list[_Names]], gpus: Collection[int]) -> list[int]:
    """Read the names of GPUs; return those that do not respond."""
    steps = {gpu: functools.partial(_names_of, gpu) for gpu in gpus}
    silent = []
    for gpu, outcome in Watchdog('nvitop-start').run(steps, limit=NAMES_SECONDS).items():
        if not isinstance(outcome.error, (type(None), libnvml.NVMLError, TimeoutError)):
            raise outcome.error
        if outcome.value:
            known[gpu] = outcome.value
        if outcome.timed_out or isinstance(outcome.error, TimeoutError):
            silent.append(gpu)
    return silent


def _names_of(gpu: int) -> list[_Names]:
    with stuck_calls.calling(gpu):
        device = api.Device(gpu)
        mig = [
            _Names((gpu, int(leaf.mig_index)), str(leaf.uuid())) for leaf in device.mig_devices()
        ]
        bus_id = _full_bus_id(device.bus_id())
        return [_Names(gpu, str(device.uuid()), bus_id, str(device.serial())), *mig]


def _find(name: str, known: Mapping[int, Iterable[_Names]]) -> list[DeviceIndex]:
    return [names.device for group in known.values() for names in group if names.include(name)]


def _explain(
    name: str, count: int, known: Mapping[int, Sequence[_Names]], silent: Iterable[int]
) -> str:
    """Why a name is not that of exactly one device, and which devices there are."""
    if count:
        return f'{name!r} matches {count} devices: give more of the UUID'
    if not is_device_name(name):
        return f'unknown device {name!r}: expected {EXPECTED}'
    index = re.fullmatch(_INDEX, name)
    gpu = int(index.group(1)) if index and index.group(2) else -1
    if gpu in known and known[gpu][0].uuid:
        pairs = ', '.join(split_names([mig.device for mig in known[gpu][1:]]))
        devices = f'the MIG devices {pairs}' if pairs else 'no MIG devices'
        return f'unknown device {name!r}: GPU {gpu} has {devices}'
    silence = ''.join(f'; GPU {gpu} is not responding' for gpu in silent)
    from nvitop.api.device.handles import gpu_range  # it needs the NVML binding

    return f'unknown device {name!r}: this machine has {gpu_range(len(known))}{silence}'


def _full_bus_id(text: str) -> str:
    """A PCI bus ID in its long form, ``''`` if the text is not one."""
    match = re.fullmatch(_BUS_ID, text)
    if match is None:
        return ''
    domain, bus, device, function = match.groups(default='0')
    return f'{int(domain, 16):08x}:{bus}:{device}.{function}'.lower()
