# SPDX-License-Identifier: GPL-3.0-only
"""The notes in the top border of the device panel: models, versions, and totals of all GPUs."""

from __future__ import annotations

from typing import Sequence

from nvitop.api.utils import GiB
from nvitop.gui.layout.device_columns import product_name
from nvitop.gui.render.style import Role, Style
from nvitop.gui.state.usage import whole_devices
from nvitop.gui.view.format import format_word
from nvitop.gui.view.widgets.box import TITLE, Note
from nvitop.sampling.types import DeviceSample, Sample

_IDLE = Style(Role.IDLE)


def machine_notes(sample: Sample) -> tuple[Note, ...]:
    """Return what is in the machine: its GPUs, and the versions of driver and CUDA."""
    gpus = [device for device in sample.devices if not device.key.is_mig]
    migs = len(sample.devices) - len(gpus)
    notes = [Note(_models(gpus or sample.devices), TITLE, 0)]
    if migs and gpus:
        notes.append(Note((f'{migs} MIG devices' if migs > 1 else '1 MIG device',), rank=4))
    if sample.sequence:
        driver, cuda = map(format_word, (sample.driver_version, sample.cuda_driver_version))
        notes.append(Note((f'driver {driver}', driver), rank=5))
        notes.append(Note((f'CUDA {cuda}',), rank=6))
    return tuple(notes)


def _models(gpus: Sequence[DeviceSample]) -> tuple[str, ...]:
    """Return the model if all GPUs have the same one, and their number; the longest form first."""
    names = {product_name(gpu.info.name) for gpu in gpus if gpu.info.name is not None}
    count = f'{len(gpus)} GPU{"" if len(gpus) == 1 else "s"}'
    if len(names) != 1:
        return (count if gpus else 'GPUs',)
    (name,) = names
    return (name,) if len(gpus) == 1 else (f'{len(gpus)} × {name}', count)


def total_notes(sample: Sample, idle: int) -> tuple[Note, ...]:
    """Return totals of all GPUs that respond; ``idle`` is the number of GPUs without a process."""
    gpus = [device for device in whole_devices(sample.devices) if device.status == 'ok']
    notes = []
    loads = [g.gpu_utilization_percent for g in gpus if g.gpu_utilization_percent is not None]
    if loads and len(gpus) > 1:
        notes.append(Note((f'{sum(loads) / len(loads):.0f}% util',), rank=1))
    if len(gpus) > 1:
        memory = [(g.memory_used_bytes, g.info.memory_total_bytes) for g in gpus]
        used = sum(used for used, total in memory if used is not None and total is not None)
        total = sum(total for used, total in memory if used is not None and total is not None)
        if total:
            notes.append(Note((f'{used / GiB:.0f}/{total / GiB:.0f} GiB',), rank=3))
        notes += _power(gpus)
    if idle:
        notes.append(Note((f'{idle} idle',), _IDLE, rank=2))
    return tuple(notes)


def _power(gpus: Sequence[DeviceSample]) -> list[Note]:
    known = [gpu for gpu in gpus if gpu.power_usage_mw and gpu.power_limit_mw]
    if not known:
        return []
    usage = sum(gpu.power_usage_mw or 0 for gpu in known)
    limit = sum(gpu.power_limit_mw or 0 for gpu in known)
    if limit >= 1e6:
        return [Note((f'{usage / 1e6:.1f}/{limit / 1e6:.1f} kW',), rank=7)]
    return [Note((f'{usage / 1e3:.0f}/{limit / 1e3:.0f} W',), rank=7)]
