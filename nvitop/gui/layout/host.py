# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the host panel: bars of CPU and memory, or graphs of the host and of the devices."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.gui.render.geometry import CLASSIC, Cells, Rect, inside

#: Height of the form with bars, and minimum height of the form with graphs. The first row of both is
#: the top border, which is the bottom border of the device panel.
BARS_HEIGHT, LEAST_GRAPHS = 2, 8
#: Height of the graphs in the full mode.
FULL_GRAPHS = 12
#: Minimum width of the screen for graphs of the devices next to those of the host.
_SIDE_BY_SIDE = 60
#: Rows of the bars of memory and swap below the graph of the CPU.
_BAR_ROWS = 2
#: Minimum rows of the graphs of the devices for two of them.
_TWO_GRAPHS = 5
#: Share of the screen in which tiles must fit.
_TILES_SHARE = 0.45
#: Minimum number of GPUs with one tile each, and minimum size of a tile with its frame.
MANY_GPUS, _TILE_WIDTH, _TILE_HEIGHT = 3, 36, 5
#: Minimum width of a tile of a single GPU, whose title is shorter, and maximum number of its tiles.
_NARROW_TILE = 28
MOST_TILES = 8
#: Number of metrics from which a single GPU has tiles.
_FEWEST_METRICS = 2
#: Number of tiles that are always in one row, and the most of up to :data:`MOST_TILES` in one row.
_ONE_ROW, _MOST_IN_ROW = 3, 5
#: Cells between two bars, and maximum width of one with its label, percentage and text: the bar itself
#: takes 24 cells.
_GAP, _WIDEST_BAR = 3, 46


class HostGraphs(NamedTuple):
    """The form with graphs. The title of a graph is in the line above it."""

    cpu: Rect
    #: Bars of one row each.
    memory: Rect
    swap: Rect
    #: Column of the line between host and devices; the graphs of the devices, the upper one if there
    #: is room for both.
    middle_x: int | None = None
    upper: Rect | None = None
    lower: Rect | None = None


class HostLayout(NamedTuple):
    """Places in the host panel. Both forms are empty while it is hidden."""

    area: Rect
    graphs: HostGraphs | None = None
    #: Bars in one row: CPU, memory and swap.
    bars: tuple[Rect, ...] = ()
    #: Graphs above the bars, row by row: one for each GPU, or several for each of a few GPUs. The
    #: title of a tile is in the line above it.
    tiles: tuple[Rect, ...] = ()
    #: The bars of all cores, below the others.
    cores: Rect | None = None

    @property
    def widest_graph(self) -> Rect | None:
        """A graph whose width decides which time it shows; ``None`` without graphs."""
        if self.tiles:
            return self.tiles[0]
        return None if self.graphs is None else self.graphs.upper or self.graphs.cpu

    @property
    def plots_devices(self) -> bool:
        """Whether there are graphs of the two metrics that the user chose."""
        return bool(self.tiles) or (self.graphs is not None and self.graphs.upper is not None)

    @property
    def uprights(self) -> tuple[int, ...]:
        """Columns of the vertical lines below the top border."""
        if self.area.is_empty:
            return ()
        middle = () if self.graphs is None else (self.graphs.middle_x,)
        return (0, *(x for x in middle if x is not None), self.area.width - 1)


def lay_out_host(
    y: int, width: int, height: int, *, tiles: int = 0, has_cores: bool = False
) -> HostLayout:
    """Lay out a panel of this size that begins at row ``y``. The height determines the form.

    With ``tiles``, this number of graphs is above the bars, and a row of cores may be below them.
    """
    area = Rect(0, y, width, height)
    if tiles:
        above = Rect(0, y, width, height - BARS_HEIGHT - has_cores)
        cells = inside(width)
        cores = Rect(cells.x, area.bottom - 1, cells.width, 1) if has_cores else None
        bars = _bars(above.bottom + 1, width)
        return HostLayout(area, bars=bars, tiles=_tiles(above, tiles), cores=cores)
    if height >= LEAST_GRAPHS:
        return HostLayout(area, graphs=_graphs(area))
    if height >= BARS_HEIGHT:
        return HostLayout(area, bars=_bars(y + 1, width))
    return HostLayout(area)


def tile_count(gpus: int, width: int, height: int, metrics: int = MOST_TILES) -> int:
    """Return the number of tiles on a screen of this size; 0 if there is no room for them.

    One or two GPUs have several tiles each, at most one for each of ``metrics``.
    """
    # The last row of the screen has hints.
    if gpus >= MANY_GPUS:
        has_room = width >= 160 and height >= 44
        rows = int(height * _TILES_SHARE) // _TILE_HEIGHT
        return gpus if has_room and gpus <= _tile_columns(width) * rows else 0
    if not gpus or width < 100 or height < 29:
        return 0
    if gpus > 1:
        return gpus * min(4, (width - 1) // _NARROW_TILE, metrics)
    if metrics < _FEWEST_METRICS:
        return 0
    most = min(MOST_TILES, 2 * ((width - 1) // _NARROW_TILE), metrics)
    # Full rows have no empty places.
    return most if most <= _ONE_ROW else most // 2 * 2


def _tile_columns(width: int) -> int:
    return (width - 1) // _TILE_WIDTH


def lowest_tiles(count: int, width: int) -> int:
    """Return the height of a panel with this number of tiles that are as low as possible."""
    return _rows_of_tiles(count, width) * _TILE_HEIGHT + BARS_HEIGHT


def _rows_of_tiles(count: int, width: int) -> int:
    """Return in how many rows tiles are: as few as possible, or one more if these are full then."""
    # More of a few tiles in a row would be higher than wide.
    most = _tile_columns(width) if count > MOST_TILES else min(_MOST_IN_ROW, _tile_columns(width))
    rows = (
        -(-count // most)
        if count > MOST_TILES
        else 1
        if count <= _ONE_ROW
        else min(2, -(-count // most))
    )
    return next((n for n in (rows, rows + 1) if count % n == 0), rows)


def _tiles(area: Rect, count: int) -> tuple[Rect, ...]:
    """Return the places of tiles of about the same size."""
    rows = _rows_of_tiles(count, area.width)
    columns = -(-count // rows)
    xs = [round(i * (area.width - 1) / columns) for i in range(columns + 1)]
    ys = [area.y + round(i * area.height / rows) for i in range(rows + 1)]
    places = [
        Rect(xs[i] + 1, ys[j] + 1, xs[i + 1] - xs[i] - 1, ys[j + 1] - ys[j] - 1)
        for j in range(rows)
        for i in range(columns)
    ]
    return tuple(places[:count])


def _graphs(area: Rect) -> HostGraphs:
    inner = Rect(1, area.y + 1, area.width - 2, area.height - 1)
    if area.width < _SIDE_BY_SIDE:
        return _host_graphs(inner)
    # The devices get more room than the host.
    left, right = inner.split_left(min(inner.width * 2 // 5, 76))
    middle_x = left.right
    right = right.inset(1, 0, 0, 0)
    graphs = _host_graphs(left)._replace(middle_x=middle_x, lower=right)
    if right.height < _TWO_GRAPHS:
        return graphs
    upper, rest = right.split_top((right.height - 1) // 2)
    return graphs._replace(upper=upper, lower=rest.inset(0, 1, 0, 0))


def _host_graphs(inner: Rect) -> HostGraphs:
    cpu, below = inner.split_top(inner.height - _BAR_ROWS)
    memory, swap = below.inset(1, 0).split_top(1)
    return HostGraphs(cpu, memory, swap)


def _bars(y: int, width: int) -> tuple[Rect, ...]:
    cells = inside(width)
    count = 3 if width >= CLASSIC else 2
    each = (cells.width - _GAP * (count - 1)) // count
    runs = [Cells(cells.x + i * (each + _GAP), min(each, _WIDEST_BAR)) for i in range(count)]
    return tuple(Rect(run.x, y, run.width, 1) for run in runs)
