# SPDX-License-Identifier: GPL-3.0-only
"""The main screen: the device, host and process panels, one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Sequence

from nvitop.gui.layout.main import LOWEST, MainLayout
from nvitop.gui.model.choices import MainState, ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import NARROWEST, Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.view.load_style import row_role
from nvitop.gui.view.panels.device import DeviceList, bottom_uprights, draw_device_panel
from nvitop.gui.view.panels.header import Header, draw_header
from nvitop.gui.view.panels.host import draw_host_panel
from nvitop.gui.view.panels.process import ProcessList, draw_process_panel
from nvitop.gui.view.process_list import Limits
from nvitop.gui.view.widgets.box import Note
from nvitop.gui.view.widgets.text import draw_centered_line
from nvitop.health import Finding, worst_findings
from nvitop.sampling.types import ProcessSample, Sample

if TYPE_CHECKING:
    from nvitop.sampling.history import History

_WARNING = Style(Role.WARNING)


class MainView(NamedTuple):
    """Contents of the main screen: its processes and its layout."""

    processes: Sequence[ProcessSample]
    layout: MainLayout
    #: Whether any of the processes is in another PID namespace.
    has_foreign: bool = False
    #: Why there are no details of devices, the longest form first.
    details_note: tuple[str, ...] = ()
    #: The text of the filter.
    query: str = ''
    #: Findings about the devices.
    found: tuple[Finding, ...] = ()


def draw_main(
    buf: Buffer,
    arranged: MainView,
    sample: Sample,
    state: MainState,
    view: ViewState,
    header: Header,
    *,
    history: History | None = None,
    is_report: bool = False,
) -> None:
    """Draw the screen. A report has neither hints nor warnings, which are about keys."""
    processes, layout, has_foreign, details_note, query, found = arranged
    if layout.is_too_small:
        draw_too_small(buf)
        return
    running_on = state.selected.device if state.selected else None
    used = frozenset(process.key.device for process in sample.processes)
    # The page of a device has no other one to tell it from.
    current = None if state.shows_page else state.selected_device
    devices = DeviceList(worst_findings(found), used, running_on, current, details_note)
    draw_device_panel(buf, layout.devices, sample, view, devices, history=history)
    selected = state.selected_device or running_on
    graphs = None
    if layout.host.graphs is not None:
        from nvitop.gui.view.panels.host_graphs import select_graphs  # reports have no graphs

        graphs = select_graphs(sample.devices, state.graphs, selected)
    above = bottom_uprights(layout.devices, sample.devices)
    draw_host_panel(buf, layout.host, sample, view, above, history=history, graphs=graphs)
    listed = ProcessList(
        processes,
        len(sample.processes) if sample.sequence else None,
        Limits(state.filter, query, state.selected_device),
        state.selected_device,
        state.sort,
        state.selected,
        state.tagged,
        state.scroll_x,
        notes=() if is_report else _notes(has_foreign=has_foreign),
        hints=header.signal_hint,
    )
    styles = {
        device.key: Style(row_role(device, view.thresholds), bold=selected == device.key)
        for device in sample.devices
    }
    above = layout.host.uprights or above
    draw_process_panel(buf, layout.processes, listed, sample, styles, above)
    if layout.scroll_y:  # the first line stays visible
        buf.fill(Rect(0, 0, buf.width, 1))
    draw_header(buf, 0, sample, header)


def draw_too_small(buf: Buffer) -> None:
    """Draw the minimum size, on a screen that is too small for anything else."""
    text = f'too small: {NARROWEST} x {LOWEST} needed'
    draw_centered_line(buf, buf.area, text if len(text) <= buf.width else 'too small')


def _notes(*, has_foreign: bool) -> tuple[Note, ...]:
    """Return warnings about the processes."""
    if not has_foreign:
        return ()
    text = 'another PID namespace: run with --pid=host'
    return (Note((text, 'run with --pid=host'), _WARNING, 2),)
