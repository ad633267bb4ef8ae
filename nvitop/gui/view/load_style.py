# SPDX-License-Identifier: GPL-3.0-only
"""Roles and styles of utilization percentages."""

from __future__ import annotations

from nvitop.console.options import Thresholds
from nvitop.gui.render.style import Role, Style
from nvitop.sampling.types import DeviceSample

#: Styles of the host's percentages, which do not depend on their values.
CPU, MEMORY, SWAP = Style(Role.CPU), Style(Role.MEMORY), Style(Role.SWAP)


def load_role(percent: float | None, thresholds: tuple[int, int]) -> Role:
    """Return the role: light below the first threshold, heavy from the second on, else moderate."""
    if percent is None:
        return Role.UNKNOWN
    moderate, heavy = thresholds
    if percent < moderate:
        return Role.LIGHT
    return Role.MODERATE if percent < heavy else Role.HEAVY


def device_role(device: DeviceSample, thresholds: Thresholds) -> Role:
    """Return the heavier role of GPU and memory; an error if the device does not respond."""
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
    """Return the style of the row of a device, and of its index in other panels.

    ``is_selected`` says whether the selected process runs on it, ``None`` that none is selected.
    """
    return Style(
        device_role(device, thresholds), bold=is_selected is True, dim=is_selected is False
    )
