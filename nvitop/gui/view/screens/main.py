# SPDX-License-Identifier: GPL-3.0-only
"""The main screen: device, host and process panel, one below the other."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from nvitop.gui.layout.device import NARROWEST
from nvitop.gui.layout.host import COMPACT_HEIGHT, FULL_HEIGHT
from nvitop.gui.layout.main import LOWEST, Content, MainLayout, lay_out_main
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.state.columns import column_widths
from nvitop.gui.state.ordering import group_sizes, list_processes
from nvitop.gui.state.types import MainState, ViewState
from nvitop.gui.view.cells import longest_command
from nvitop.gui.view.load import device_style
from nvitop.gui.view.panels.device import Header, draw_device_panel
from nvitop.gui.view.panels.host import draw_host_panel, host_uprights, select_graphs
from nvitop.gui.view.panels.process import ProcessList, draw_process_panel
from nvitop.gui.view.widgets.message import draw_centred_line
from nvitop.sampling.history import History
from nvitop.sampling.types import ProcessSample, Sample

_KEY = Style(Role.KEY, bold=True, italic=True)
_HINT = Style(Role.DIM)
#: The hint in the first line of the monitor.
HEADER_HINT = (
    ('(Press ', _HINT),
    ('h', _KEY),
    (' for help or ', _HINT),
    ('q', _KEY),
    (' to quit)', _HINT),
)
_SIGNAL_HINT = (
    ('(Press ', _HINT),
    ('^C', _KEY),
    ('(INT)/', _HINT),
    ('T', _KEY),
    ('(TERM)/', _HINT),
    ('k', _KEY),
    ('(KILL) to send signals)', _HINT),
)
_WARNING = Style(Role.WARNING)


class MainView(NamedTuple):
    """What the main screen shows: the rows of its processes, and where everything is."""

    processes: tuple[ProcessSample, ...]
    layout: MainLayout


def arrange_main(
    sample: Sample,
    state: MainState,
    view: ViewState,
    width: int,
    height: int,
    *,
    processes: tuple[ProcessSample, ...] | None = None,
) -> MainView:
    """Place everything on a screen of this size. ``processes`` are the rows where they have been
    listed already."""
    if processes is None:
        processes = list_processes(sample.processes, state.filter, state.sort)
    is_natural = state.sort.order == 'natural'
    content = Content(
        tuple(device.key for device in sample.devices),
        group_sizes(processes) if is_natural else (len(processes),) if processes else (),
        is_natural,
        view.columns,
        column_widths(processes),
    )
    # Graphs need characters that ASCII does not have.
    host_height = COMPACT_HEIGHT if view.ascii else FULL_HEIGHT
    layout = lay_out_main(
        content,
        width,
        height,
        mode=view.mode,
        host_height=host_height if view.show_host else 0,
        scroll_y=state.scroll_y,
    )
    return MainView(processes, layout)


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
    """Draw the screen. A report has neither hints nor cautions, which are about keys."""
    processes, layout = arranged
    if layout.is_too_small:
        draw_too_small(buf)
        return
    selected = state.selected.device if state.selected else None
    draw_device_panel(
        buf,
        layout.devices,
        sample,
        view,
        header,
        joints_below=host_uprights(layout.host),
        selected=selected,
    )
    draw_host_panel(
        buf,
        layout.host,
        sample,
        view,
        history=history,
        graphs=select_graphs(sample.devices, state.graphs, selected),
    )
    has_targets = bool(state.selected or state.tagged) and not view.readonly
    listed = ProcessList(
        processes,
        len(sample.processes) if sample.sequence else None,
        state.sort,
        state.selected,
        state.tagged,
        state.scroll_x,
        notes=() if is_report else _notes(sample, processes),
        hints=_SIGNAL_HINT if has_targets and not is_report else (),
    )
    styles = {
        device.key: device_style(
            device, view.thresholds, is_selected=selected and selected == device.key
        )
        for device in sample.devices
    }
    draw_process_panel(buf, layout.processes, listed, sample, styles)


def scroll_limit(arranged: MainView) -> int:
    """The highest ``scroll_x`` that still shows something of the rows on the screen."""
    layout = arranged.layout.processes
    moving = layout.moving
    if not moving:
        return 0
    shown = (arranged.processes[row.process] for row in layout.rows)
    overhang = longest_command(shown) - moving[-1].width
    return max(0, overhang) if not moving[-1].column.width else 0


def draw_too_small(buf: Buffer) -> None:
    """One line that says so, on a screen in which nothing else fits."""
    text = f'too small: {NARROWEST} x {LOWEST} needed'
    draw_centred_line(buf, buf.area, text if len(text) <= buf.width else 'too small')


def _notes(sample: Sample, processes: Sequence[ProcessSample]) -> tuple[tuple[str, Style], ...]:
    """What a user should know about the processes."""
    notes: list[tuple[str, Style]] = []
    if sample.host.is_superuser:
        notes += [
            ('!', _WARNING._replace(bold=True, blink=True)),
            ('CAUTION: you are root, signals reach every process.  ', _WARNING),
        ]
    if any(process.status == 'foreign' for process in processes):
        text = 'PIDs of another namespace: run nvitop on the host, or with --pid=host.'
        notes.append((text, _WARNING))
    return tuple(notes)
