# SPDX-License-Identifier: GPL-3.0-only
"""What colour a load is."""

from __future__ import annotations

from nvitop.console.options import Thresholds
from nvitop.gui.render.style import Role, Style
from nvitop.sampling.types import DeviceSample

#: What the loads of the host look like, however high they are.
CPU, MEMORY, SWAP = Style(Role.CPU), Style(Role.MEMORY), Style(Role.SWAP)


def load_role(percent: float | None, thresholds: tuple[int, int]) -> Role:
    """Light below the first threshold, moderate from it on, heavy from the second on."""
    if percent is None:
        return Role.UNKNOWN
    moderate, heavy = thresholds
    if percent < moderate:
        return Role.LIGHT
    return Role.MODERATE if percent < heavy else Role.HEAVY


def device_role(device: DeviceSample, thresholds: Thresholds) -> Role:
    """The heavier load of processor and memory; an error where the device does not answer."""
    if device.status != 'ok':
        return Role.ERROR
    gpu = load_role(device.gpu_utilization_percent, thresholds.gpu)
    memory = load_role(device.memory_percent, thresholds.memory)
    if Role.UNKNOWN in (gpu, memory):
        return min(gpu, memory)
    return max(gpu, memory)


def device_style(
    device: DeviceSample, thresholds: Thresholds, *, is_selected: bool | None = None
) -> Style:
    """Style of the row of a device, and of its index wherever it stands.

    ``is_selected`` is whether a selected process runs on it; ``None`` while none is selected.
    """
    return Style(
        device_role(device, thresholds), bold=is_selected is True, dim=is_selected is False
    )
