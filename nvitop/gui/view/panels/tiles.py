# SPDX-License-Identifier: GPL-3.0-only
"""Tiles: a small graph of each GPU, or of each metric of one or two GPUs.

The frame of a tile names the GPU, what it is doing and who uses it. Its first row names what is plotted,
in the colors of the graph and the line over it, and has temperature and power::

    ├─ GPU 5! · busy REMAP · bob +1 docker 4e7c.. ────┬─ GPU 6 · held 1h · carol +1 ─────────────────┤
    │ UTIL 34%   MEM 43%                  41°C  267 W │ UTIL 2%   MEM 52%                 32°C  84 W │
    │⣀⣀⣠⣤⣶⣶⣶⣤⣤⣀⣀⣠⣤⣶⣶⣶⣤⣤⣀                              │⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀            │
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, NamedTuple, Sequence

from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import GraphState, ViewState, tile_metrics
from nvitop.gui.model.device_columns import RowState, why_silent
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import DIM, ERROR, OWN, PLAIN, TITLE, Role, Style
from nvitop.gui.render.width import cell_width, clip
from nvitop.gui.state.process_rows import whole_devices
from nvitop.gui.view.charts import ASCII, BRAILLE, GraphWindow, draw_plot
from nvitop.gui.view.panels.host import graph_style, highest_possible, scale_of
from nvitop.gui.view.text import Note, draw_notes, draw_rule, draw_uprights, highest_rank
from nvitop.sampling.history import DEVICE_FIELDS, History

if TYPE_CHECKING:
    from nvitop.gui.layout.host import HostLayout
    from nvitop.sampling.types import DeviceKey, DeviceSample, Sample

_SELECTED = Style(Role.KEY, bold=True)
_LINE = Style(Role.MEMORY)
#: Metrics whose tiles come last if they were 0 for some minutes.
_ENGINES, _UNUSED_SECONDS = ('encoder_utilization', 'decoder_utilization'), 300.0
#: Minimum width of a job.
_JOB = 12
#: Width of the widest value of an axis that fits its values.
_FITTING = len('80.0 GiB/s')


class TileDetails(NamedTuple):
    """Contents of the tiles in addition to the sample."""

    graphs: GraphState
    #: What devices are doing and who uses them.
    states: Mapping[DeviceKey, RowState]
    selected: DeviceKey | None = None


class _Tile(NamedTuple):
    device: DeviceSample
    metric: str
    #: Metric of the line, ``''`` for none.
    line: str = ''


def draw_tiles(
    buf: Buffer,
    layout: HostLayout,
    sample: Sample,
    view: ViewState,
    above: tuple[int, ...],
    details: TileDetails,
    history: History | None,
) -> tuple[int, ...]:
    """Draw the tiles; ``above`` are the columns of the vertical lines of the panel above.

    Return the columns of the vertical lines at the bottom.
    """
    graphs = details.graphs
    past = GraphWindow(history or History(), graphs.minutes, ASCII if view.ascii else BRAILLE)
    devices = whole_devices(sample.devices)
    tiles = tuple(zip(_tiles(devices, len(layout.tiles), graphs, past.history), layout.tiles))
    label_widths: dict[int, int] = {}
    for tile, area in tiles:
        width = _label_width(tile)
        label_widths[area.x] = max(width, label_widths.get(area.x, 0))
    has_metric = len(devices) < len(tiles)
    titles = {} if has_metric else _titles(tiles, details)
    for y in sorted({area.y for area in layout.tiles}):
        row = [(tile, area) for tile, area in tiles if area.y == y]
        # Tiles without a metric, as of a GPU that sleeps, are part of the tile before them.
        inner = [area.x - 1 for tile, area in row[1:] if tile.metric]
        uprights = (0, *inner, layout.area.width - 1)
        if any(tile.metric for tile, _ in row):
            draw_rule(buf, y - 1, above, uprights)
        else:
            draw_uprights(buf, y - 1, uprights)
        above = uprights
        # From left to right, so that the buffer does not have to sort the spans.
        for tile, area in row:
            if area.x - 1 in uprights:
                _draw_upright(buf, area, area.x - 1)
            if tile.device.status != 'ok':
                right = next(x for x in uprights if x >= area.x)
                area = area._replace(width=right - area.x)
            _draw_tile(
                buf,
                area,
                tile,
                view,
                titles.get(tile.device.key),
                details.states.get(tile.device.key, RowState()),
                past,
                label_widths[area.x],
                has_index=len(devices) > 1,
            )
        _draw_upright(buf, row[0][1], uprights[-1])
    return above


def _draw_upright(buf: Buffer, area: Rect, x: int) -> None:
    """Draw the vertical line left or right of a tile."""
    for y in range(area.y, area.bottom):
        draw_uprights(buf, y, (x,))


def _tiles(
    devices: Sequence[DeviceSample], count: int, graphs: GraphState, history: History
) -> list[_Tile]:
    """Return what is plotted in ``count`` tiles."""
    if not devices:
        return []
    each = count // len(devices)
    if each == 1:
        return [_Tile(device, graphs.lower, graphs.upper) for device in devices]
    tiles = []
    for device in devices:
        unused = [m for m in _ENGINES if not history.maximum(device.key, m, _UNUSED_SECONDS)]
        first, *others = tile_metrics(device, graphs, unused)
        tiles.append(_Tile(device, first, graphs.upper))
        tiles += [_Tile(device, metric) for metric in others[: each - 1]]
        tiles += [_Tile(device, '')] * (each - 1 - len(others))
    return tiles


def _label_width(tile: _Tile) -> int:
    """Return the width of the values of its axis, so that graphs above each other begin in the same column."""
    if not tile.metric:
        return 0
    plotted = METRICS_BY_NAME[tile.metric]
    top = highest_possible(plotted, [tile.device])
    return len(fmt.format_measured(plotted.unit, top)) if top else _FITTING


def _draw_tile(
    buf: Buffer,
    area: Rect,
    tile: _Tile,
    view: ViewState,
    title: list[Note] | None,
    state: RowState,
    past: GraphWindow,
    label_width: int,
    *,
    has_index: bool,
) -> None:
    """Draw a graph and its frame, which names the metric if there is no title of the device."""
    device, metric, line = tile
    if not metric:
        return
    frame = Rect(area.x - 1, area.y - 1, area.width + 2, 1)
    if title is None:
        draw_notes(buf, frame, _metric_notes(device, metric, line, has_index=has_index))
    else:
        draw_notes(buf, frame, title)
    if device.status != 'ok':
        _draw_reason(buf, area, device)
        return
    if title is not None:
        _draw_legend(buf, area, tile, state, view)
        area = area.inset(0, 1, 0, 0)
    plotted = METRICS_BY_NAME[metric]
    values = past.values(device.key, metric, area.width)
    now = getattr(device, DEVICE_FIELDS[metric])
    top = highest_possible(plotted, [device])
    scale = scale_of(plotted, top, values)
    over: tuple[float | None, ...] | None = None
    if line and line != metric and (view.ascii or not view.mono):
        over = past.values(device.key, line, area.width)
        other = METRICS_BY_NAME[line]
        top = scale_of(other, highest_possible(other, [device]), over).bound
        if top != scale.bound:
            over = tuple(None if value is None else value * scale.bound / top for value in over)
    draw_plot(
        buf,
        area,
        values,
        scale,
        graph_style(plotted, now, view),
        past=past,
        line=over,
        line_style=_LINE,
        has_labels=title is None,
        label_width=label_width,
    )


def _draw_reason(buf: Buffer, area: Rect, device: DeviceSample) -> None:
    """Draw why a device has no graph."""
    texts = why_silent(device)
    room = max(0, area.width - 2)
    text = next((each for each in texts if cell_width(each) <= room), texts[-1])
    style = ERROR if device.is_failing else DIM
    buf.write(area.x + 1, area.y, clip(text, room), style)


def _draw_legend(buf: Buffer, area: Rect, tile: _Tile, state: RowState, view: ViewState) -> None:
    """Draw names and values of what is plotted, and at the right temperature and power if they fit."""
    device, x = tile.device, area.x + 1
    for metric in dict.fromkeys((tile.metric, tile.line)):
        if metric:
            plotted = METRICS_BY_NAME[metric]
            value = getattr(device, DEVICE_FIELDS[metric])
            text = f'{plotted.graph} {fmt.format_measured(plotted.unit, value)}'
            style = graph_style(plotted, value, view) if metric == tile.metric else _LINE
            x += buf.write(x, area.y, text, style, width=max(0, area.right - x)) + 3
    is_hot = state.finding is not None and state.finding.mark == 'HOT'
    watts = fmt.format_measured('W', device.power_usage_mw)
    celsius = fmt.format_measured('°C', device.temperature_celsius)
    parts = []
    if device.temperature_celsius is not None:
        parts.append((celsius, ERROR if is_hot else PLAIN))
    if device.power_usage_mw is not None:
        parts.append((watts, PLAIN))
    while parts and x + sum(len(text) + 2 for text, _ in parts) > area.right + 1:
        parts.pop()
    at = area.right - 1
    for text, style in reversed(parts):
        at -= len(text)
        buf.write(at, area.y, text, style)
        at -= 2


def _titles(
    tiles: Sequence[tuple[_Tile, Rect]], details: TileDetails
) -> dict[DeviceKey, list[Note]]:
    """Return the notes of each GPU: the parts for which all tiles have room."""
    titles: dict[DeviceKey, list[Note]] = {}
    parts = []
    for tile, area in tiles:
        device = tile.device
        state = details.states.get(device.key, RowState())
        titles[device.key] = _device_notes(device, state, selected=device.key == details.selected)
        # As if selected, so that no part comes and goes with the selection.
        widest = _device_notes(device, state, selected=True)
        parts.append(highest_rank(widest, area.width + 2))
    last = min(parts, default=0)
    return {key: [note for note in notes if note.rank <= last] for key, notes in titles.items()}


def _device_notes(device: DeviceSample, state: RowState, *, selected: bool) -> list[Note]:
    """Return index, what the device is doing, and who uses it."""
    index = f'{device.key.label}!' if device.is_failing or state.is_wrong else device.key.label
    style = ERROR if index.endswith('!') else TITLE
    forms = (f'►GPU {index}', f'►{index}') if selected else (f'GPU {index}', index)
    notes = [Note(forms, _SELECTED if selected else style, 0)]
    if state.word:
        notes.append(Note((state.word,), state.word_style, 1))
    if state.marks and device.status == 'ok':
        notes.append(Note(state.marks, state.mark_style, 1, ' '))
    if state.user:
        who = f'{state.user} +{state.other_users}' if state.other_users else state.user
        style = OWN if state.is_own else PLAIN
        notes.append(Note((who, state.user), style, 2))
        if state.job:
            shorter = (clip(state.job, width) for width in range(_JOB, len(state.job))[::-1])
            notes.append(Note((state.job, *shorter), DIM, 3, ' '))
    return notes


def _metric_notes(device: DeviceSample, metric: str, line: str, *, has_index: bool) -> list[Note]:
    """Return the GPU, and the names and values of what is plotted."""
    notes: list[Note] = []
    for name, style in ((metric, TITLE), (line, _LINE)):
        if name:
            plotted = METRICS_BY_NAME[name]
            text = fmt.format_measured(plotted.unit, getattr(device, DEVICE_FIELDS[name]))
            brief = f'{plotted.graph} {text}'
            forms = (f'GPU {device.key.label} {brief}', brief, brief.replace(' ', ''), text)
            notes.append(Note(forms[1:] if notes or not has_index else forms, style, len(notes)))
    return notes
