# SPDX-License-Identifier: GPL-3.0-only
"""Bars of CPU, memory and swap of the host, and the notes of its panel."""

from __future__ import annotations

from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role
from nvitop.gui.view import format as fmt
from nvitop.gui.view.load_style import host_style
from nvitop.gui.view.widgets.bar import draw_bar
from nvitop.gui.view.widgets.box import Note
from nvitop.sampling.types import HostSample

#: Cells of the text right of a bar: ``331/2048 GiB``.
_TEXT = 12


def draw_host_bar(buf: Buffer, area: Rect, label: str, host: HostSample, view: ViewState) -> None:
    """Draw the bar of ``CPU``, ``MEM`` or ``SWP``."""
    role, percent, text = {
        'CPU': (Role.CPU, host.cpu_percent, _cores(host)),
        'MEM': (
            Role.MEMORY,
            host.memory_percent,
            _used(host.memory_used_bytes, host.memory_total_bytes),
        ),
        'SWP': (Role.SWAP, host.swap_percent, _used(host.swap_used_bytes, host.swap_total_bytes)),
    }[label]
    style = host_style(percent, role, view)
    draw_bar(buf, area, label, percent, style, text=text, text_width=_TEXT, colorful=view.colorful)


def _cores(host: HostSample) -> str:
    return (
        ''
        if host.cpu_count is None
        else f'{host.cpu_count} core{"" if host.cpu_count == 1 else "s"}'
    )


def _used(used: int | None, total: int | None) -> str:
    return fmt.format_part(used, total)


def host_notes(host: HostSample) -> tuple[Note, ...]:
    """Return load average and uptime."""
    notes = []
    if host.load_average is not None:
        loads = [fmt.format_load(load).strip() for load in host.load_average]
        notes.append(Note((f'load {" ".join(loads)}', f'load {loads[0]}'), rank=1))
    if host.uptime_seconds is not None:
        notes.append(Note((f'up {fmt.format_uptime(host.uptime_seconds)}',), rank=2))
    return tuple(notes)
