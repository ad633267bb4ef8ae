# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the main screen, and of a report, which is a screen as high as its page."""

from __future__ import annotations

import functools
from typing import Mapping, Sequence

from nvitop.gui.layout.device import (
    CLASSIC,
    COMPACT,
    DENSE,
    FULL,
    NARROW,
    NARROWEST,
    ONE_BAR,
    VERSION_ROWS,
    Details,
    DeviceLayout,
    device_height,
    lay_out_devices,
    place_details,
    product_name,
)
from nvitop.gui.layout.host import COMPACT_HEIGHT, FULL_HEIGHT, HostLayout, lay_out_host
from nvitop.gui.layout.process import (
    ProcessLayout,
    group_sizes,
    lay_out_processes,
    place_columns,
    process_height,
)
from nvitop.gui.model.choices import MainState, ViewState
from nvitop.gui.model.columns import column_widths
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.width import cell_width
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import DeviceKey, ProcessSample, Sample

#: Minimum height of the main screen.
LOWEST = 6
#: Rows of processes that should stay visible in automatic mode.
_FEW_PROCESSES = 4
#: Maximum width of a report, unless commands need more.
_REPORT_WIDTH = 140


class Content(NamedTuple):
    """Everything the layout of a page depends on, except the size of the screen."""

    devices: tuple[DeviceKey, ...] = ()
    #: Sizes of the groups of successive processes on the same GPU.
    groups: tuple[int, ...] = ()
    #: Whether there may be lines between these groups.
    is_grouped: bool = True
    #: Names of the columns of the process panel.
    columns: tuple[str, ...] = ()
    #: Widths of columns whose values are wider than usual.
    column_widths: tuple[tuple[str, int], ...] = ()
    details: Details = ()
    #: Width of the longest name of a GPU.
    name_width: int = 0


class RowCounts(NamedTuple):
    """Counts over all rows of processes, on the screen or not."""

    #: Sizes of the groups of successive rows on the same GPU.
    groups: tuple[int, ...] = ()
    #: Widths of columns whose values are wider than usual.
    column_widths: Mapping[str, int] = {}
    #: Whether any process is in another PID namespace.
    has_foreign: bool = False


def count_rows(rows: Sequence[ProcessSample]) -> RowCounts:
    """Count over all rows, once per list and not once per key."""
    has_foreign = any(row.status == 'foreign' for row in rows)
    return RowCounts(group_sizes(rows), column_widths(rows), has_foreign)


class MainLayout(NamedTuple):
    """Places of the panels from top to bottom.

    Rows above the screen are negative, rows below it are at least its height.
    """

    width: int
    height: int
    #: Rows of all panels, and how many of them are above the screen.
    page_height: int
    scroll_y: int
    devices: DeviceLayout
    host: HostLayout
    processes: ProcessLayout

    @property
    def is_too_small(self) -> bool:
        """Whether there is room for no panel, only for a message."""
        return not self.page_height


class _Forms(NamedTuple):
    device: str
    host_height: int
    separated: bool
    versions: bool = True


def _forms(content: Content, width: int, height: int, *, mode: str, host_height: int) -> _Forms:
    """Choose the forms of the panels. ``host_height`` is the height of the largest host panel."""
    compact_host = min(host_height, COMPACT_HEIGHT)
    grouped = content.is_grouped
    if mode == 'full' and width >= CLASSIC:
        return _Forms(FULL, host_height, grouped)
    if mode != 'auto':
        return _Forms(NARROW if width < CLASSIC else COMPACT, compact_host, False)
    if width < CLASSIC:
        return _squeezed(content, height, _Forms(NARROW, compact_host, False))
    processes = process_height(content.groups, separated=grouped)
    full = device_height(content.devices, FULL, len(content.details))
    compact = device_height(content.devices, COMPACT, len(content.details))
    separated = grouped and height >= compact + compact_host + processes
    if height < compact + compact_host + process_height((_FEW_PROCESSES,), separated=False):
        return _squeezed(content, height, _Forms(DENSE, compact_host, separated))
    return _Forms(
        FULL if height >= full + host_height + processes else COMPACT,
        host_height if height >= compact + host_height + processes else compact_host,
        separated,
    )


def _squeezed(content: Content, height: int, forms: _Forms) -> _Forms:
    """Drop the versions, then the host panel, if too few processes would be visible otherwise.

    The choice depends on devices and screen only, so that panels do not jump when a process starts
    or exits.
    """
    devices = device_height(content.devices, forms.device, len(content.details))
    few = process_height((_FEW_PROCESSES,), separated=False) - 1
    if not content.devices or height >= devices + forms.host_height + few:
        return forms
    forms = forms._replace(versions=False)
    devices -= VERSION_ROWS
    if height >= devices + forms.host_height + few:
        return forms
    one = process_height((1,), separated=False) - 1
    if height >= devices + one:
        return forms._replace(host_height=0)
    return forms._replace(versions=True)


# Cached: a key needs the layout up to four times, and most keys do not change it.
@functools.lru_cache(maxsize=16)
def lay_out_main(
    content: Content,
    width: int,
    height: int,
    *,
    mode: str = 'auto',
    host_height: int = FULL_HEIGHT,
    scroll_y: int = 0,
) -> MainLayout:
    """Lay out a screen of this size.

    ``host_height`` is the height of the largest host panel allowed, 0 to hide it. ``scroll_y`` is
    limited by the end of the page.
    """
    if width < NARROWEST or height < LOWEST:
        return _nothing(width, height)
    forms = _forms(content, width, height, mode=mode, host_height=host_height)
    heights = (
        device_height(content.devices, forms.device, len(content.details), versions=forms.versions),
        forms.host_height,
        process_height(content.groups, separated=forms.separated),
    )
    page_height = sum(heights)
    scroll_y = max(0, min(scroll_y, page_height - height))
    y = -scroll_y
    devices = lay_out_devices(
        y,
        width,
        content.devices,
        forms.device,
        content.details,
        versions=forms.versions,
        name_width=content.name_width,
    )
    return MainLayout(
        width,
        height,
        page_height,
        scroll_y,
        devices,
        lay_out_host(y + heights[0], width, height=heights[1], box=devices.cells[-1].right + 1),
        lay_out_processes(
            y + heights[0] + heights[1],
            width,
            content.groups,
            place_columns(content.columns, width, dict(content.column_widths)),
            separated=forms.separated,
            screen_height=height,
        ),
    )


def lay_out_page(
    sample: Sample,
    rows: Sequence[ProcessSample],
    main: MainState,
    view: ViewState,
    width: int,
    height: int,
    counts: RowCounts | None = None,
) -> MainLayout:
    """Lay out devices and host of a sample, and these rows of its processes.

    ``counts`` are those of the rows, if they are known already.
    """
    counts = counts or count_rows(rows)
    is_natural = main.sort.order == 'natural'
    content = Content(
        tuple(device.key for device in sample.devices),
        counts.groups if is_natural else (len(rows),) if rows else (),
        is_natural,
        view.columns,
        tuple(counts.column_widths.items()),
        _details(sample, width) if view.shows_details else (),
        _name_width(sample),
    )
    # Graphs need more than ASCII characters.
    host_height = COMPACT_HEIGHT if view.ascii else FULL_HEIGHT
    return lay_out_main(
        content,
        width,
        height,
        mode=view.mode,
        host_height=host_height if view.show_host else 0,
        scroll_y=main.scroll_y,
    )


def _name_width(sample: Sample) -> int:
    """Return the width of the longest name drawn: not of MIG devices or of GPUs that never responded."""
    names = (device.info.name for device in sample.devices if not device.key.is_mig)
    drawn = (product_name(name) for name in names if name is not None)
    return max(map(cell_width, drawn), default=0)


def _details(sample: Sample, width: int) -> Details:
    with_nvlink = any(device.info.nvlink_link_count for device in sample.devices)
    return place_details(width, with_nvlink=with_nvlink)


def _nothing(width: int, height: int) -> MainLayout:
    """Return the layout of a screen too small for any panel."""
    nowhere = Rect(0, 0, 0, 0)
    devices = DeviceLayout(nowhere, NARROW, 0, 0, (), (), ())
    processes = ProcessLayout(nowhere, (), (), ())
    return MainLayout(width, height, 0, 0, devices, HostLayout(nowhere), processes)


def scroll_to_process(layout: MainLayout, process: int, *, covered: int = 0) -> int:
    """Return the ``scroll_y`` nearest to the present one at which a process is visible.

    The first ``covered`` rows of the screen show something else.
    """
    row = layout.processes.row_of(process) + layout.scroll_y
    return max(row + 1 - layout.height, min(layout.scroll_y, row - covered))


def report_width(terminal: int, longest_row: int, *, has_devices: bool) -> int:
    """Return the width of a report: that of box and bars, more if commands need it.

    ``longest_row`` is the width at which no process is cut. A terminal narrower than the narrowest
    form wraps the report.
    """
    terminal = max(terminal, NARROWEST)
    if not has_devices or terminal < CLASSIC:
        return min(terminal, CLASSIC)
    wanted = min(terminal if terminal >= ONE_BAR else CLASSIC, longest_row)
    return max(wanted, min(terminal, _REPORT_WIDTH))
