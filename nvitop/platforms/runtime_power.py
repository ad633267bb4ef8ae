# SPDX-License-Identifier: Apache-2.0
"""Runtime power management on Linux: which GPUs sleep. Reading these files never wakes a GPU.

``config`` and ``current_link_speed`` of a sleeping GPU are never read: they would wake it.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_FIELD = re.compile(r'^([^:\n]+):[ \t]*(.*?)[ \t]*$', re.MULTILINE)
#: Values of ``runtime_status`` of a GPU that is off, or about to be.
_ASLEEP = ('suspended', 'suspending')


class GpuPower(NamedTuple):
    """Runtime power management of a GPU."""

    #: Such as ``'0000:01:00.0'``.
    bus_id: str
    #: ``'active'``, ``'suspended'``, ``'suspending'``, ``'resuming'``, …; ``''`` if unknown.
    status: str
    #: Whether kernel and driver let it sleep when no program uses it.
    may_sleep: bool

    @property
    def is_asleep(self) -> bool:
        """Whether a query would wake it."""
        return is_asleep(self.status)


class SleepInfo(NamedTuple):
    """What is known of a GPU without waking it; ``''`` and ``None`` for unknown values."""

    name: str = ''
    uuid: str = ''
    #: PCI power state: ``'D3cold'``.
    power_state: str = ''
    #: Time (seconds) for which it has slept since the system was started.
    suspended_seconds: float | None = None


def is_asleep(status: str) -> bool:
    """Return whether this ``runtime_status`` is that of a sleeping GPU."""
    return status in _ASLEEP


def read_gpu_powers(root: str = '/') -> tuple[GpuPower, ...]:
    """Return the GPUs of NVIDIA's driver in the order of NVML, which is that of their bus IDs.

    Empty on servers and everywhere else where no GPU sleeps or may sleep, and where the files are
    missing: on Windows, in WSL, and in containers without ``/proc/driver/nvidia``.
    """
    try:
        bus_ids = sorted(os.listdir(os.path.join(root, 'proc/driver/nvidia/gpus')))
    except OSError:
        return ()
    powers = [
        GpuPower(bus_id, read_runtime_status(bus_id, root), _may_sleep(bus_id, root))
        for bus_id in bus_ids
    ]
    return tuple(powers) if any(gpu.is_asleep or gpu.may_sleep for gpu in powers) else ()


def read_runtime_status(bus_id: str, root: str = '/') -> str:
    """Return ``'active'``, ``'suspended'``, …; ``''`` if unknown. One small read."""
    return _read(root, 'sys/bus/pci/devices', bus_id, 'power/runtime_status')


def read_sleep_info(bus_id: str, root: str = '/') -> SleepInfo:
    """Return what is known of a GPU without waking it."""
    text = _read(root, 'proc/driver/nvidia/gpus', bus_id, 'information')
    fields = {name.strip(): value for name, value in _FIELD.findall(text)}
    uuid = fields.get('GPU UUID', '')
    slept = _read(root, 'sys/bus/pci/devices', bus_id, 'power/runtime_suspended_time')
    return SleepInfo(
        fields.get('Model', ''),
        '' if '?' in uuid else uuid,  # not initialized yet
        _read(root, 'sys/bus/pci/devices', bus_id, 'power_state'),
        int(slept) / 1000 if slept.isdecimal() else None,
    )


def _may_sleep(bus_id: str, root: str) -> bool:
    if _read(root, 'sys/bus/pci/devices', bus_id, 'power/control') != 'auto':
        return False
    text = _read(root, 'proc/driver/nvidia/gpus', bus_id, 'power')
    fields: dict[str, str] = dict(_FIELD.findall(text))
    return fields.get('Runtime D3 status', '').startswith('Enabled')


def _read(*parts: str) -> str:
    try:
        with open(os.path.join(*parts), encoding='utf-8', errors='replace') as file:
            return file.read(4096).strip()
    except OSError:
        return ''
