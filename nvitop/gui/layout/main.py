# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the main screen, and of a report, which is a screen as high as its page."""

from __future__ import annotations

import functools
from typing import Mapping, NamedTuple, Sequence

from nvitop.gui.layout.device import (
    FULL,
    IN_DETAILS,
    ROWS,
    DeviceLayout,
    DeviceTraits,
    all_fact_rows,
    device_height,
    lay_out_devices,
    traits_of,
)
from nvitop.gui.layout.host import (
    BARS_HEIGHT,
    FULL_GRAPHS,
    LEAST_GRAPHS,
    MANY_GPUS,
    MOST_TILES,
    HostLayout,
    lay_out_host,
    lowest_tiles,
    tile_count,
)
from nvitop.gui.layout.process import (
    TOP_ROWS,
    ProcessLayout,
    group_sizes,
    lay_out_processes,
    place_columns,
    process_height,
)
from nvitop.gui.model.choices import GraphState, MainState, ViewState, tile_metrics
from nvitop.gui.model.columns import column_widths
from nvitop.gui.model.format import product_name
from nvitop.gui.render.geometry import CLASSIC, NARROWEST, ONE_BAR, Rect
from nvitop.gui.render.width import cell_width
from nvitop.sampling.types import DeviceKey, ProcessSample, Sample

#: Minimum height of the main screen.
LOWEST = 6
#: Rows of processes that are visible before other panels get more than they need.
_FEW_PROCESSES = 4
#: Minimum rows of processes next to graphs, and next to graphs that are not as low as possible. Both
#: are at least ``_PER_GPU`` for each GPU, but not more than ``_MOST_PROCESSES``.
_SOME_PROCESSES, _MANY_PROCESSES, _PER_GPU, _MOST_PROCESSES = 6, 12, 2, 20
#: Minimum number of devices that can be in two columns, minimum width of the screen for these, and rows
#: of processes that are visible then.
_MANY_DEVICES, _TWO_FRAMES, _USUAL_PROCESSES = 8, 2 * NARROWEST - 1, 8
#: Rows of the problem of a GPU and of facts about it that are more important than graphs.
_FEW_FACTS = 4
#: Maximum share of the screen for graphs of averages, for tiles of many GPUs, and of one or two.
_AVERAGES, _TILES, _FEW_TILES = 0.35, 0.6, 0.55
#: Share of the screen for the graphs of the page of a GPU, unless there is more room.
_PAGE_GRAPHS = 0.55
#: Minimum width of the screen for graphs.
GRAPHS_WIDTH = 60
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
    traits: DeviceTraits = DeviceTraits()
    #: Whether details of devices are shown.
    has_details: bool = False
    #: Width of the longest name of a GPU.
    name_width: int = 0
    #: Whether this is the page of one GPU, with facts about it.
    is_page: bool = False
    #: Number of metrics that a tile can show, of the GPU that has the fewest.
    metrics: int = MOST_TILES
    #: Whether the usage of each core of the host is known and of interest.
    has_cores: bool = False
    #: As in :class:`ViewState`.
    mode: str = 'auto'
    show_host: bool = True
    #: A report has no graphs, and is as high as it needs to be.
    is_report: bool = False


class RowCounts(NamedTuple):
    """Counts over all rows of processes, on the screen or not."""

    #: Sizes of the groups of successive rows on the same GPU.
    groups: tuple[int, ...] = ()
    #: Widths of columns whose values are wider than usual.
    column_widths: Mapping[str, int] = {}
    #: Whether any process is in another PID namespace.
    has_foreign: bool = False


def count_rows(
    rows: Sequence[ProcessSample], processes: Sequence[ProcessSample] | None = None
) -> RowCounts:
    """Count over all rows, once per list and not once per key.

    Columns have the widths of all ``processes``, so that they do not move while rows are filtered.
    """
    has_foreign = any(row.status == 'foreign' for row in rows)
    widths = column_widths(rows if processes is None else processes)
    return RowCounts(group_sizes(rows), widths, has_foreign)


class MainLayout(NamedTuple):
    """Places of the panels from top to bottom, below the first line of the screen.

    Usually only the list of processes scrolls, in its panel. If devices and host leave no room for a
    few processes, the process panel covers their end, and they scroll first. On the page of a GPU,
    facts without room scroll before all others.
    """

    width: int
    height: int
    #: Rows of the first line and of all panels with all processes; 0 if there is room for none.
    page_height: int
    scroll_y: int
    #: Number of rows by which devices and host are scrolled at most, and facts before them.
    scroll_limit: int
    devices: DeviceLayout
    host: HostLayout
    processes: ProcessLayout
    #: Rows of the process panel on the screen while nothing is scrolled; 0 if only some of it is.
    kept_rows: int = 0
    fact_limit: int = 0

    @property
    def rows_below(self) -> int:
        """The number of rows of devices and host that the process panel covers."""
        return max(0, self.host.area.bottom - self.processes.area.y)

    def device_at(self, x: int, y: int) -> int | None:
        """Return the index of the device in this cell of the screen."""
        return self.devices.at(x, y) if y < self.processes.area.y else None

    @property
    def is_too_small(self) -> bool:
        """Whether there is room for no panel, only for a message."""
        return not self.page_height


class _Forms(NamedTuple):
    device: str
    host_height: int
    separated: bool = False
    #: Number of tiles in the host panel.
    tiles: int = 0


def _forms(content: Content, width: int, height: int) -> _Forms:
    """Choose the forms of the panels.

    The choice depends on devices and screen only, so that panels do not jump.
    """
    if content.mode == 'full' and width >= CLASSIC:
        room = height - 1 - _devices_height(content, FULL, 0) - process_height((), separated=False)
        has_room = not content.is_report and room >= FULL_GRAPHS + _SOME_PROCESSES
        graphs = FULL_GRAPHS if has_room else BARS_HEIGHT
        return _Forms(FULL, graphs if content.show_host else 0, content.is_grouped)
    if not content.show_host:
        return _Forms(ROWS, 0)
    facts = _fact_rows(content, width, height)
    frames = _frames(content, width, height)
    below = height - 1 - _devices_height(content, ROWS, facts, frames)
    around = process_height((), separated=False) - 1
    if content.mode == 'auto' and not content.is_report and width >= GRAPHS_WIDTH:
        # Whatever runs, so that nothing moves when a process starts or a filter is typed.
        room = below - around
        gpus = len({key.physical_index for key in content.devices})
        usual = min(_PER_GPU * gpus, _MOST_PROCESSES)
        tiles = tile_count(gpus, width, height, content.metrics)
        if tiles and content.is_page:
            wanted = max(int(height * _PAGE_GRAPHS), room - _SOME_PROCESSES)
            graphs = min(wanted, room - _FEW_PROCESSES)
        elif tiles:
            wanted = room - max(_MANY_PROCESSES, usual)
            least = lowest_tiles(tiles, width)
            share = _TILES if gpus >= MANY_GPUS else _FEW_TILES
            graphs = min(max(least, min(int(height * share), wanted)), room - _SOME_PROCESSES)
        if tiles and graphs >= LEAST_GRAPHS + BARS_HEIGHT:
            return _Forms(ROWS, graphs, tiles=tiles)
        processes = max(_SOME_PROCESSES, usual)
        wanted = min(int(height * _AVERAGES), room - max(_MANY_PROCESSES, processes))
        graphs = max(LEAST_GRAPHS, wanted)
        if graphs <= room - processes:
            return _Forms(ROWS, graphs)
    least = _FEW_PROCESSES if frames == 1 else _USUAL_PROCESSES
    has_room = below - BARS_HEIGHT >= around + least
    return _Forms(ROWS, BARS_HEIGHT if has_room else 0)


# Cached: a key needs the layout up to four times, and most keys do not change it.
@functools.lru_cache(maxsize=16)
def lay_out_main(
    content: Content,
    width: int,
    height: int,
    *,
    scroll_y: int = 0,
) -> MainLayout:
    """Lay out a screen of this size.

    ``scroll_y`` is limited by the end of the page. The process panel ends at the end of the screen,
    in a report after the last process.
    """
    if width < NARROWEST or height < LOWEST:
        return _nothing(width, height)
    forms = _forms(content, width, height)
    facts = _fact_rows(content, width, height)
    frames = 1 if content.is_report or forms.device == FULL else _frames(content, width, height)
    above = _devices_height(content, forms.device, facts, frames) + forms.host_height
    kept = 0 if content.is_report else _kept_rows(height)
    all_processes = max(kept, process_height(content.groups, separated=forms.separated))
    hidden = all_fact_rows(width) - facts if facts else 0
    page_height = 1 + above + all_processes
    page_height = max(page_height, height) + hidden if hidden else page_height
    scroll_y = max(0, min(scroll_y, page_height - height))
    scrolled_facts = min(scroll_y, hidden)
    limit = _scroll_limit(above, all_processes, height)
    scrolled = min(scroll_y - scrolled_facts, limit)
    devices = lay_out_devices(
        1,
        width,
        content.devices,
        forms.device,
        content.traits,
        details=content.has_details,
        fact_rows=facts,
        name_width=content.name_width,
        frames=frames,
        scrolled=scrolled,
        scrolled_facts=scrolled_facts,
    )
    y = devices.area.bottom
    host = lay_out_host(y, width, forms.host_height, tiles=forms.tiles, has_cores=content.has_cores)
    top = min(host.area.bottom, height - kept) if kept else host.area.bottom
    bottom = top + all_processes if content.is_report else height
    processes = lay_out_processes(
        Rect(0, top, width, max(TOP_ROWS + 1, bottom - top)),
        content.groups,
        place_columns(content.columns, width, dict(content.column_widths)),
        separated=forms.separated,
        offset=scroll_y - scrolled_facts - scrolled,
    )
    kept = max(kept, height - 1 - above) if kept else 0
    return MainLayout(
        width, height, page_height, scroll_y, limit, devices, host, processes, kept, hidden
    )


def _devices_height(content: Content, form: str, facts: int, frames: int = 1) -> int:
    return device_height(
        content.devices, form, details=content.has_details, fact_rows=facts, frames=frames
    )


def _frames(content: Content, width: int, height: int) -> int:
    """Return 2 if devices in one column would leave too few rows for processes, else 1."""
    if content.is_page or width < _TWO_FRAMES or len(content.devices) < _MANY_DEVICES:
        return 1
    below = height - 1 - _devices_height(content, ROWS, 0)
    around = process_height((), separated=False) - 1
    return 1 if below >= around + _SOME_PROCESSES else 2


def _fact_rows(content: Content, width: int, height: int) -> int:
    """Return the rows of the problem and of facts: all, or as many as leave room for some processes and for graphs."""
    if not content.is_page:
        return 0
    around = process_height((), separated=False) - 1
    # Without the line above the facts.
    room = height - 2 - _devices_height(content, ROWS, 0) - around - _FEW_PROCESSES
    most = all_fact_rows(width)
    if tile_count(1, width, height):
        most = min(most, max(_FEW_FACTS, room - LEAST_GRAPHS - BARS_HEIGHT))
    # They are more important than the host.
    return max(0, min(most, room))


def _kept_rows(height: int) -> int:
    """Return the rows of the process panel that are always on the screen; 0 on a low one."""
    rows = min(TOP_ROWS + 1 + _FEW_PROCESSES, (height - 1) // 3)
    return rows if rows > TOP_ROWS + 1 else 0


def _scroll_limit(above: int, processes: int, height: int) -> int:
    """Return the number of rows ``above`` the processes that can leave the screen."""
    wanted = min(processes, TOP_ROWS + 1 + _FEW_PROCESSES)
    return max(0, min(above, above + wanted - (height - 1)))


def lay_out_page(
    sample: Sample,
    rows: Sequence[ProcessSample],
    main: MainState,
    view: ViewState,
    width: int,
    height: int,
    counts: RowCounts | None = None,
    *,
    is_report: bool = False,
) -> MainLayout:
    """Lay out devices and host of a sample, and these rows of its processes.

    ``counts`` are those of the rows, if they are known already. A report has no graphs, and is as
    high as it needs to be.
    """
    counts = counts or count_rows(rows)
    traits = traits_of(sample.devices)
    if is_report:
        traits = traits._replace(columns=traits.columns - {'sparkline'})
    if view.shows_details:
        traits = traits._replace(columns=traits.columns - IN_DETAILS)
    is_natural = main.sort.order == 'natural'
    content = Content(
        tuple(device.key for device in sample.devices),
        counts.groups if is_natural else (len(rows),) if rows else (),
        is_natural,
        view.columns,
        tuple(counts.column_widths.items()),
        traits,
        view.shows_details,
        _name_width(sample),
        main.shows_page,
        _tile_metrics(sample, main.graphs),
        bool(sample.host.cpu_core_percents) and wants_cores(sample, main),
        view.mode,
        view.show_host,
        is_report,
    )
    return lay_out_main(content, width, height, scroll_y=main.scroll_y)


def wants_cores(sample: Sample, main: MainState) -> bool:
    """Whether the cores of the host are of interest: with one or two GPUs, not on a page of one."""
    gpus = {device.key.physical_index for device in sample.devices}
    return not main.shows_page and 0 < len(gpus) < MANY_GPUS


def _name_width(sample: Sample) -> int:
    """Return the width of the longest name drawn: not of MIG devices or of GPUs that never responded."""
    names = {device.info.name for device in sample.devices if not device.key.is_mig}
    return max((cell_width(product_name(name)) for name in names if name is not None), default=0)


def _tile_metrics(sample: Sample, graphs: GraphState) -> int:
    """Return the number of metrics of the GPU that has the fewest, if GPUs have several tiles."""
    gpus = [gpu for gpu in sample.devices if gpu.status == 'ok' and not gpu.key.is_mig]
    if len(gpus) >= MANY_GPUS:
        return MOST_TILES
    return min((len(tile_metrics(gpu, graphs)) for gpu in gpus), default=MOST_TILES)


def _nothing(width: int, height: int) -> MainLayout:
    """Return the layout of a screen too small for any panel."""
    nowhere = Rect(0, 0, 0, 0)
    devices = DeviceLayout(nowhere, ROWS, DeviceTraits(), 0)
    processes = ProcessLayout(nowhere, ())
    return MainLayout(width, height, 0, 0, 0, devices, HostLayout(nowhere), processes)


def scroll_to_process(layout: MainLayout, process: int) -> int:
    """Return the ``scroll_y`` nearest to the current one at which a process is visible."""
    line = layout.processes.line_of(process)
    # The row of the first process if nothing is scrolled or covered.
    scrolled = max(0, min(layout.scroll_y - layout.fact_limit, layout.scroll_limit))
    first_y = layout.host.area.bottom + TOP_ROWS + scrolled + layout.fact_limit
    is_kept = line < layout.kept_rows - TOP_ROWS - 1
    lowest = 0 if is_kept else first_y + line + 1 - (layout.height - 1)
    return max(lowest, min(layout.scroll_y, layout.fact_limit + layout.scroll_limit + line))


def report_width(terminal: int, longest_row: int, *, has_devices: bool) -> int:
    """Return the width of a report: that of cells and bars, more if commands need it.

    ``longest_row`` is the width at which no process is cut. A terminal narrower than the narrowest
    form wraps the report.
    """
    terminal = max(terminal, NARROWEST)
    if not has_devices or terminal < CLASSIC:
        return min(terminal, CLASSIC)
    wanted = min(terminal if terminal >= ONE_BAR else CLASSIC, longest_row)
    return max(wanted, min(terminal, _REPORT_WIDTH))
