# SPDX-License-Identifier: GPL-3.0-only
"""Roles and styles of measured percentages, and of text about a device."""

from __future__ import annotations

from nvitop.console.options import Thresholds
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.style import Role, Style, gradient
from nvitop.sampling.types import DeviceSample

#: Role of the text of a device → role of its text in most themes' ordinary color.
_ROWS = {
    Role.LIGHT: Role.ROW_LIGHT,
    Role.MODERATE: Role.ROW_MODERATE,
    Role.HEAVY: Role.ROW_HEAVY,
    Role.UNKNOWN: Role.TEXT,
}


def load_role(percent: float | None, thresholds: tuple[int, int]) -> Role:
    """Return the role: light below the first threshold, heavy from the second on, else moderate."""
    if percent is None:
        return Role.UNKNOWN
    moderate, heavy = thresholds
    if percent < moderate:
        return Role.LIGHT
    return Role.MODERATE if percent < heavy else Role.HEAVY


def load_style(percent: float | None, thresholds: tuple[int, int], view: ViewState) -> Style:
    """Return the style of a measured percentage and its bar."""
    if view.colorful and percent is not None:
        return Style(gradient(percent / 100))
    return Style(load_role(percent, thresholds))


def host_style(percent: float | None, role: Role, view: ViewState) -> Style:
    """Return the style of a percentage of the host, which has a ``role`` if there is no gradient."""
    if percent is None:
        return Style(Role.UNKNOWN)
    return Style(gradient(percent / 100)) if view.colorful else Style(role)


def device_role(device: DeviceSample, thresholds: Thresholds) -> Role:
    """Return the heavier role of GPU and memory; an error if the device does not respond."""
    if device.status != 'ok':
        return Role.ERROR if device.is_silent else Role.DIM
    gpu = load_role(device.gpu_utilization_percent, thresholds.gpu)
    memory = load_role(device.memory_percent, thresholds.memory)
    if Role.UNKNOWN in (gpu, memory):
        return min(gpu, memory)
    return max(gpu, memory)


def row_role(device: DeviceSample, thresholds: Thresholds) -> Role:
    """Return the role of text about a device: of its row, and of its index in other panels."""
    role = device_role(device, thresholds)
    return _ROWS.get(role, role)
