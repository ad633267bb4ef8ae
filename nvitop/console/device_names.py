# SPDX-License-Identifier: Apache-2.0
"""Devices by the names that users give them: index, UUID, PCI bus ID or serial number."""

from __future__ import annotations

import functools
import re
from typing import Collection, Iterable, NamedTuple, Tuple, Union

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


class _GpuNames(NamedTuple):
    """Names of a GPU and of its MIG devices."""

    uuid: str
    bus_id: str
    serial: str
    #: MIG index → UUID.
    mig: dict[int, str]


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
    """Find the devices with these names.

    Raises:
        ValueError: A name matches no device, or several.
        NVMLError: The driver does not respond.
    """
    words = split_names(names)
    if not words:
        raise ValueError('no device given')
    found, problems = match_devices(words)
    if problems:
        raise ValueError(problems[0])
    return found


def match_devices(names: Iterable[str]) -> tuple[tuple[DeviceIndex, ...], tuple[str, ...]]:
    """Find the devices with these names; also return a message for each name that matches not one.

    A name is an index, ``GPU:MIG`` indices, the beginning of a UUID, a PCI bus ID (without a domain
    or with one of any length) or a serial number. GPUs are queried for names only if an index is
    not enough; a GPU that does not respond does not block the others.

    Raises:
        NVMLError: The driver does not respond.
        TimeoutError: The same, after 10 seconds.
    """
    names = list(names)
    count = call_with_limit(_count_gpus)
    to_read = _gpus_to_read(names, count)
    asleep = {gpu: power for gpu, power in enumerate(system().gpu_powers()) if power.is_asleep}
    known, silent = _read_names(gpu for gpu in to_read if gpu not in asleep)
    for gpu, power in asleep.items():
        if gpu in to_read:
            uuid = system().sleep_info(power.bus_id).uuid
            known[gpu] = _GpuNames(uuid, _full_bus_id(power.bus_id), '', {})
    if asleep and not all(_matches(name, count, known) for name in names):
        known, silent = _read_names(to_read)  # this wakes them
    devices: dict[DeviceIndex, None] = {}
    problems = []
    for name in names:
        matches = _matches(name, count, known)
        if len(matches) == 1:
            devices[matches[0]] = None
        else:
            problems.append(_explain(name, matches, count, known, silent))
    return tuple(devices), tuple(problems)


def match_measured(
    names: Iterable[str], devices: Iterable[DeviceSample]
) -> tuple[frozenset[DeviceKey], tuple[str, ...]]:
    """Find devices with these names among measured ones; also return the names that match none."""
    keys: dict[DeviceIndex, DeviceKey] = {}
    known: dict[int, _GpuNames] = {}
    for key, info, *_ in devices:
        if key.is_mig:
            keys[key.physical_index, key.mig_index] = key
            gpu = known.setdefault(key.physical_index, _GpuNames('', '', '', {}))
            gpu.mig[key.mig_index] = key.uuid
        else:
            keys[key.physical_index] = key
            bus_id = _full_bus_id(info.bus_id or '')
            known[key.physical_index] = _GpuNames(key.uuid, bus_id, info.serial or '', {})
    count = max(known, default=-1) + 1
    matches = {name: _matches(name, count, known) for name in names}
    matched = {keys[index] for indices in matches.values() for index in indices if index in keys}
    return frozenset(matched), tuple(
        name for name, indices in matches.items() if not any(index in keys for index in indices)
    )


def _count_gpus() -> int:
    count = libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
    return count if isinstance(count, int) else 0


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


def _read_names(gpus: Iterable[int]) -> tuple[dict[int, _GpuNames], list[int]]:
    """Names of GPUs by index, and the GPUs that do not respond."""
    steps = {index: functools.partial(_names_of, index) for index in gpus}
    outcomes = Watchdog('nvitop-start').run(steps, limit=NAMES_SECONDS)
    for outcome in outcomes.values():
        if not isinstance(outcome.error, (type(None), libnvml.NVMLError, TimeoutError)):
            raise outcome.error
    known = {index: outcome.value for index, outcome in outcomes.items() if outcome.value}
    silent = [
        index
        for index, outcome in outcomes.items()
        if outcome.timed_out or isinstance(outcome.error, TimeoutError)
    ]
    return known, silent


def _names_of(index: int) -> _GpuNames:
    with stuck_calls.calling(index):
        device = api.Device(index)
        mig = {int(leaf.mig_index): str(leaf.uuid()) for leaf in device.mig_devices()}
        bus_id = _full_bus_id(device.bus_id())
        return _GpuNames(str(device.uuid()), bus_id, str(device.serial()), mig)


def _matches(name: str, count: int, known: dict[int, _GpuNames]) -> list[DeviceIndex]:
    index = re.fullmatch(_INDEX, name)
    if index is not None:
        gpu, mig = int(index.group(1)), index.group(2)
        if mig is None:
            return [gpu] if gpu < count else []
        return [(gpu, int(mig))] if gpu in known and int(mig) in known[gpu].mig else []
    if re.fullmatch(_UUID, name):
        return _uuid_matches(name.lower(), known)
    bus_id = _full_bus_id(name)
    if bus_id:
        return [gpu for gpu, names in known.items() if names.bus_id == bus_id]
    is_serial = name.isalnum()
    return [gpu for gpu, names in known.items() if is_serial and names.serial == name]


def _uuid_matches(beginning: str, known: dict[int, _GpuNames]) -> list[DeviceIndex]:
    if beginning.startswith('gpu-'):
        return [gpu for gpu, names in known.items() if names.uuid.lower().startswith(beginning)]
    return [
        (gpu, mig)
        for gpu, names in known.items()
        for mig, uuid in names.mig.items()
        if uuid.lower().startswith(beginning)
    ]


def _explain(
    name: str,
    matches: list[DeviceIndex],
    count: int,
    known: dict[int, _GpuNames],
    silent: list[int],
) -> str:
    """Why a name is not that of exactly one device, and which devices there are."""
    if matches:
        return f'{name!r} matches {len(matches)} devices: give more of the UUID'
    if not is_device_name(name):
        return f'unknown device {name!r}: expected {EXPECTED}'
    index = re.fullmatch(_INDEX, name)
    gpu = int(index.group(1)) if index and index.group(2) else -1
    if gpu in known:
        pairs = ', '.join(f'{gpu}:{mig}' for mig in known[gpu].mig)
        devices = f'the MIG devices {pairs}' if pairs else 'no MIG devices'
        return f'unknown device {name!r}: GPU {gpu} has {devices}'
    silence = ''.join(f'; GPU {gpu} is not responding' for gpu in silent)
    from nvitop.api.device.handles import gpu_range  # it needs the NVML binding

    return f'unknown device {name!r}: this machine has {gpu_range(count)}{silence}'


def _full_bus_id(text: str) -> str:
    """A PCI bus ID in its long form, ``''`` if the text is not one."""
    match = re.fullmatch(_BUS_ID, text)
    if match is None:
        return ''
    domain, bus, device, function = match.groups(default='0')
    return f'{int(domain, 16):08x}:{bus}:{device}.{function}'.lower()
