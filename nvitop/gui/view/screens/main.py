# SPDX-License-Identifier: GPL-3.0-only
"""The main screen: its first line, and the device, host and process panels below it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Mapping, NamedTuple, Sequence, Tuple

from nvitop.basics.lazy import LastResult
from nvitop.gui.layout.main import LOWEST, MainLayout
from nvitop.gui.model.choices import GraphState, MainState, ViewState, row_role
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import NARROWEST, Rect
from nvitop.gui.render.style import DIM, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.view.panels.device import DeviceList, bottom_uprights, draw_device_panel
from nvitop.gui.view.panels.host import draw_host_panel, select_graphs
from nvitop.gui.view.panels.process import Limits, ProcessList, draw_process_panel
from nvitop.gui.view.panels.tiles import TileDetails, draw_tiles
from nvitop.gui.view.text import (
    MORE,
    MORE_ABOVE,
    MORE_BELOW,
    Badge,
    Note,
    draw_at_right,
    draw_badges,
    draw_centered_line,
)
from nvitop.health import Finding, worst_findings
from nvitop.sampling.types import DeviceKey, HostSample, ProcessSample, Sample
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.gui.layout.device import DeviceLayout
    from nvitop.gui.layout.host import HostLayout
    from nvitop.gui.model.device_columns import RowState
    from nvitop.gui.render.buffer import Span
    from nvitop.sampling.history import History

    #: Rows of devices and host, and the columns of the vertical lines at their end.
    MeasuredRows = Tuple[list[tuple[Span, ...]], tuple[int, ...]]


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
    # The page of a device has no other one to tell it from.
    current = None if state.shows_page else state.selected_device
    selected = state.selected_device or running_on
    listed_devices = DeviceList(worst_findings(found), running_on, current, details_note)
    devices = _Devices(buf.area, layout.devices, sample, view, listed_devices, history)
    rows, above = measured_rows(_Measured(devices, layout.host, state.graphs, selected))
    top = max(0, layout.devices.area.y)
    buf.paste(top, rows[top : layout.processes.area.y])
    listed = ProcessList(
        processes,
        len(sample.processes) if sample.sequence else None,
        Limits(state.filter, query, state.selected_device),
        state.sort,
        state.selected,
        state.tagged,
        state.scroll_x,
        notes=() if is_report else _notes(layout, has_foreign=has_foreign),
        hints=header.signal_hint,
    )
    styles = {
        device.key: Style(row_role(device, view.thresholds), bold=selected == device.key)
        for device in sample.devices
    }
    if layout.rows_below:
        buf.clear(layout.processes.area)
        above = (0, buf.width - 1)
    draw_process_panel(buf, layout.processes, listed, sample, styles, above)
    # Otherwise the border of the processes shows the position.
    if layout.processes.heading_y >= buf.height:
        buf.write(buf.width - 1, buf.height - 1, MORE_BELOW, MORE)
    if layout.scroll_y:  # the first line stays visible
        buf.clear(Rect(0, 0, buf.width, 1))
    draw_header(buf, sample, header)


class _Devices(NamedTuple):
    """What devices show. It stays the same while a user moves in the list of processes."""

    screen: Rect
    layout: DeviceLayout
    sample: Sample
    view: ViewState
    listed: DeviceList
    history: History | None


class _Measured(NamedTuple):
    """What devices and host show."""

    devices: _Devices
    host: HostLayout
    graphs: GraphState
    selected: DeviceKey | None


def _draw_devices(
    shown: _Devices,
) -> tuple[list[tuple[Span, ...]], Mapping[DeviceKey, RowState]]:
    """Return the rows of devices, and what is wrong with each device."""
    screen, layout, sample, view, listed, history = shown
    buf = Buffer(screen.width, screen.height)
    states = draw_device_panel(buf, layout, sample, view, listed, history=history)
    return [buf.row(y) for y in range(min(buf.height, layout.area.bottom))], states


def _draw_measured(shown: _Measured) -> MeasuredRows:
    """Return the rows of devices and host, and the columns of the vertical lines at their end."""
    devices, host, graphs, selected = shown
    screen, layout, sample, view, _, history = devices
    buf = Buffer(screen.width, screen.height)
    rows, states = device_rows(devices)
    buf.paste(0, rows)
    above = bottom_uprights(layout, sample.devices)
    if host.tiles:
        details = TileDetails(graphs, states, selected)
        above = draw_tiles(buf, host, sample, view, above, details, history)
    plotted = select_graphs(sample.devices, graphs, selected)
    draw_host_panel(buf, host, sample, view, above, plotted, history=history)
    return [buf.row(y) for y in range(buf.height)], host.uprights or above


#: Kept apart, because a key that changes graphs changes nothing of the devices.
device_rows = LastResult(_draw_devices)
measured_rows = LastResult(_draw_measured)


def draw_too_small(buf: Buffer) -> None:
    """Draw the minimum size, on a screen that is too small for anything else."""
    text = f'too small: {NARROWEST} x {LOWEST} needed'
    draw_centered_line(buf, buf.area, text if len(text) <= buf.width else 'too small')


def _notes(layout: MainLayout, *, has_foreign: bool) -> tuple[Note, ...]:
    """Return warnings about the processes, and what of the devices is not on the screen."""
    notes = []
    rows, first_y, bottom = layout.devices.rows, layout.devices.rows_y, layout.processes.area.y
    above = sum(row.y < first_y for row in rows)
    below = sum(row.y + row.height > bottom for row in rows)
    arrows = MORE_ABOVE * bool(above) + MORE_BELOW * bool(layout.rows_below)
    if arrows:
        hidden = above + below
        what = f'{hidden} more device{"" if hidden == 1 else "s"}' if hidden else 'more'
        notes.append(Note((f'{arrows} {what}', arrows), MORE, 1))
    if has_foreign:
        text = 'another PID namespace: run with --pid=host'
        notes.append(Note((text, 'run with --pid=host'), Style(Role.WARNING), 2))
    return tuple(notes)


#: Cells before a badge, and before user and host.
_GAP = 2
#: Maximum width of the name of the user and of that of the host.
_NAME_WIDTH = 24


class Header(NamedTuple):
    """Contents of the line."""

    #: Date and time.
    clock: str = ''
    #: States that the user must not forget: a filter, a frozen display.
    badges: tuple[Badge, ...] = ()
    #: Pieces of the hint at the right end of the line, each with its style.
    hint: tuple[tuple[str, Style], ...] = ()
    #: Pieces of the hint in the border of the processes, about signals.
    signal_hint: tuple[tuple[str, Style], ...] = ()
    version: str = __version__.partition('+')[0]


def draw_header(buf: Buffer, sample: Sample, header: Header) -> None:
    """Draw the first line. Version, date, user and host yield to badges and keys."""
    owner = _owner(sample.host)
    owner_width = _width(owner) + _GAP if owner else 0
    hint_width = _width(header.hint) + _GAP if header.hint else 0
    badge_width = sum(_GAP + cell_width(badge.forms[0]) for badge in header.badges)
    time = next((part for part in header.clock.split() if ':' in part), header.clock)
    # That the machine is simulated is shown at every width.
    name = safe(sample.simulated)
    simulated = (f'SIMULATED: {name}', 'SIMULATED', 'SIM') if name else ('',)
    version = f'nvitop {header.version}'
    room = buf.width - hint_width - badge_width
    clocks = ((version, header.clock), (version, time), ('', time))
    for (title, clock), form, with_owner in (
        *itertools.product(clocks[:1], simulated[:2], (True,)),
        *itertools.product(clocks, simulated[1:] or simulated, (False,)),
    ):
        left = '  '.join(filter(None, (title, clock)))
        needed = cell_width(left) + (cell_width(form) + _GAP if form else 0)
        if needed + (owner_width if with_owner else 0) <= room:
            break
    x = buf.write(0, 0, title, TITLE)
    x += buf.write(x, 0, left[len(title) :], width=buf.width - x)
    badges = (Badge((form,), WARNING),) if form else ()
    x = draw_badges(buf, x, (*badges, *header.badges))
    # From left to right, so that the buffer does not have to sort the spans.
    left_of_hint = x + _GAP
    if with_owner and owner_width <= buf.width - hint_width - x:
        x = buf.width - hint_width - owner_width + _GAP
        for text, style in owner:
            x += buf.write(x, 0, text, style)
    draw_at_right(buf, 0, header.hint, left=left_of_hint)


def _width(pieces: tuple[tuple[str, Style], ...]) -> int:
    return sum(cell_width(text) for text, _ in pieces)


def _owner(host: HostSample) -> tuple[tuple[str, Style], ...]:
    """Return pieces for ``user@host``."""
    if not (host.username or host.hostname):
        return ()
    user = clip(safe(host.username), _NAME_WIDTH, '+')
    name = clip(safe(host.hostname), _NAME_WIDTH, '+') + (' (WSL)' if host.wsl else '')
    role = Role.ROOT if host.is_superuser else Role.USER
    return (user, Style(role)), ('@', DIM), (name, Style(Role.HOST))
