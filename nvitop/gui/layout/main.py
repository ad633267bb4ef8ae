# SPDX-License-Identifier: GPL-3.0-only
"""Where everything on the main screen is, and in a report, which is a screen as high as its page."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Mapping, Sequence

from nvitop.gui.layout.device import (
    CLASSIC,
    COMPACT,
    DENSE,
    FULL,
    NARROW,
    NARROWEST,
    ONE_BAR,
    VERSION_ROWS,
    DeviceLayout,
    device_height,
    lay_out_devices,
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

if TYPE_CHECKING:
    from nvitop.gui.layout.device import Details

#: The fewest rows in which the main screen is drawn.
LOWEST = 6
#: Rows of processes that should be seen before the lines between GPUs are given up.
_FEW_PROCESSES = 4
#: Wider than this only for the sake of commands.
_REPORT_WIDTH = 140


class Content(NamedTuple):
    """What is to be placed."""

    devices: tuple[DeviceKey, ...] = ()
    #: Numbers of processes in a row on the same GPU, in the order in which they are listed.
    groups: tuple[int, ...] = ()
    #: Whether lines may be drawn between these groups.
    is_grouped: bool = True
    #: Names of the columns of the process panel.
    columns: tuple[str, ...] = ()
    #: Columns whose values are wider than usual, with their widths.
    column_widths: tuple[tuple[str, int], ...] = ()
    #: The details of each GPU, by line.
    details: Details = ()
    #: Cells of the longest name of a GPU.
    name_width: int = 0


class RowCounts(NamedTuple):
    """What has to be known of all rows of processes, on the screen or not."""

    #: Numbers of rows in a row on the same GPU.
    groups: tuple[int, ...] = ()
    #: Widths of columns whose values are wider than usual.
    column_widths: Mapping[str, int] = {}
    #: Whether any is in another PID namespace.
    has_foreign: bool = False


def count_rows(rows: Sequence[ProcessSample]) -> RowCounts:
    """Look at all rows once, and not at every key."""
    has_foreign = any(row.status == 'foreign' for row in rows)
    return RowCounts(group_sizes(rows), column_widths(rows), has_foreign)


class MainLayout(NamedTuple):
    """Places of the panels from top to bottom. Rows above and below the screen are negative or
    beyond its height."""

    width: int
    height: int
    #: Rows of all panels together, and how many of them are above the screen.
    page_height: int
    scroll_y: int
    devices: DeviceLayout
    host: HostLayout
    processes: ProcessLayout

    @property
    def is_too_small(self) -> bool:
        """Whether only a message that says so can be drawn."""
        return not self.page_height


class _Forms(NamedTuple):
    device: str
    host_height: int
    separated: bool
    versions: bool = True


def _forms(content: Content, width: int, height: int, *, mode: str, host_height: int) -> _Forms:
    """How much room each panel takes. ``host_height`` is that of its largest form."""
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
    """The same, without the versions, and without the host too, where else no processes are seen.

    It depends on devices and screen alone, so that nothing jumps when a process begins or ends.
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


# Remembered: one key asks up to four times where things lie, and most keys move nothing.
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
    """Places for a screen of this size.

    ``host_height`` is that of the largest form the host panel may take, 0 to hide it.
    ``scroll_y`` becomes less where the page ends before.
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
    """Places of what is shown: devices and host of a sample, and these rows of its processes.

    ``counts`` are those of the rows, where they are known.
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
    # Graphs need characters that ASCII does not have.
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
    """Cells of the longest name that is drawn: of no MIG device, nor of a GPU that never answered."""
    names = (device.info.name for device in sample.devices if not device.key.is_mig)
    drawn = (product_name(name) for name in names if not name.startswith('ERROR: '))
    return max(map(cell_width, drawn), default=0)


def _details(sample: Sample, width: int) -> Details:
    from nvitop.gui.layout.details import place_details  # only where they are shown

    with_nvlink = any(device.info.nvlink_link_count for device in sample.devices)
    return place_details(width, with_nvlink=with_nvlink)


def _nothing(width: int, height: int) -> MainLayout:
    """The layout of a screen too small for any panel."""
    nowhere = Rect(0, 0, 0, 0)
    devices = DeviceLayout(nowhere, NARROW, 0, 0, (), (), ())
    processes = ProcessLayout(nowhere, (), (), ())
    return MainLayout(width, height, 0, 0, devices, HostLayout(nowhere), processes)


def scroll_to_process(layout: MainLayout, process: int, *, covered: int = 0) -> int:
    """The ``scroll_y`` nearest to the present one with which the row of a process is seen.

    So many rows at the top of the screen are ``covered`` by something else.
    """
    row = layout.processes.row_of(process) + layout.scroll_y
    return max(row + 1 - layout.height, min(layout.scroll_y, row - covered))


def report_width(terminal: int, longest_row: int, *, has_devices: bool) -> int:
    """How wide a report is: as wide as its box and bars need, and up to the terminal's width where
    commands are long.

    ``longest_row`` is the width at which the row of no process is cut. Never less than the
    narrowest form, which a narrower terminal wraps.
    """
    terminal = max(terminal, NARROWEST)
    if not has_devices or terminal < CLASSIC:
        return min(terminal, CLASSIC)
    wish = min(terminal if terminal >= ONE_BAR else CLASSIC, longest_row)
    return max(wish, min(terminal, _REPORT_WIDTH))
