# SPDX-License-Identifier: GPL-3.0-only
"""Details of devices as a table: links, traffic, codecs, memory temperature, energy, clock reasons."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence, Tuple

from nvitop.gui.layout.device import DetailsLayout
from nvitop.gui.layout.process import PlacedColumn
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import clip
from nvitop.gui.view import format as fmt
from nvitop.gui.view.load_style import row_role
from nvitop.gui.view.widgets.box import TITLE, Note, draw_border, draw_uprights
from nvitop.sampling.types import DeviceSample

_DIM, _HEADING = Style(Role.DIM), Style(Role.HEADING)
_WARNING, _ERROR = Style(Role.WARNING), Style(Role.ERROR, bold=True)
#: Parts of the names of clock reasons that deserve a warning.
_ALARMING = ('slowdown', 'brake', 'reliability')
#: Columns of traffic → the field of the device in KiB/s.
_RATES = {
    'pcie_rx': 'pcie_rx_throughput_kib_per_s',
    'pcie_tx': 'pcie_tx_throughput_kib_per_s',
    'nvlink_rx': 'nvlink_rx_throughput_kib_per_s',
    'nvlink_tx': 'nvlink_tx_throughput_kib_per_s',
}


class _Detail(NamedTuple):
    """Everything the text of a cell depends on, except its column."""

    device: DeviceSample
    #: Column of traffic → its highest value, which chooses the unit of all of them.
    highest: dict[str, int]
    style: Style


_Cell = Tuple[str, Style]


def draw_details(
    buf: Buffer,
    layout: DetailsLayout,
    ends: tuple[int, int],
    above: tuple[int, ...],
    devices: Sequence[DeviceSample],
    view: ViewState,
    *,
    note: Sequence[str] = (),
) -> None:
    """Draw the table, or headings with the first ``note`` that fits instead of values.

    ``ends`` are the columns of the frame, ``above`` those of the vertical lines above.
    """
    draw_border(buf, layout.y, above, ends, (Note(('Details',), TITLE, 0),))
    y = layout.y + 1
    draw_uprights(buf, y, ends)
    for place in layout.columns:
        title = clip(place.column.title, place.width, '')
        x = place.x if place.column.align == '<' else place.right - len(title)
        buf.write(x, y, title, _HEADING)
    highest = {
        name: max((getattr(devices[i], field) or 0 for i in layout.devices), default=0)
        for name, field in _RATES.items()
    }
    for y, index in enumerate(layout.devices, layout.first_y):
        draw_uprights(buf, y, ends)
        device = devices[index]
        row = _Detail(device, highest, Style(row_role(device, view.thresholds)))
        _draw_row(buf, y, layout.columns, row, note)


def _draw_row(
    buf: Buffer,
    y: int,
    columns: Sequence[PlacedColumn],
    row: _Detail,
    note: Sequence[str],
) -> None:
    places = columns if row.device.status == 'ok' and not note else columns[:1]
    for place in places:
        text, style = _CELLS[place.column.name](row, place)
        text = clip(text, place.width)
        x = place.x if place.column.align == '<' else place.right - len(text)
        buf.write(x, y, text, _DIM if text == fmt.NOT_AVAILABLE else style)
    if note and row.device.status == 'ok':
        x = columns[0].right + 2
        room = columns[-1].right - x
        buf.write(x, y, next((text for text in note if len(text) <= room), ''), _DIM)


def _index(row: _Detail, _: PlacedColumn) -> _Cell:
    return row.device.key.label, row.style if row.device.status == 'ok' else _ERROR


def _link(row: _Detail, place: PlacedColumn) -> _Cell:
    device, info = row.device, row.device.info
    now = fmt.format_pcie_link(device.pcie_link_generation, device.pcie_link_width)
    most = fmt.format_pcie_link(info.max_pcie_link_generation, info.max_pcie_link_width)
    if most in (now, fmt.NOT_AVAILABLE) or len(now) + len(most) + 1 > place.width:
        return now, _WARNING if device.pcie_link_down_trained else row.style
    return f'{now}/{most}', _WARNING if device.pcie_link_down_trained else row.style


def _rate(row: _Detail, place: PlacedColumn) -> _Cell:
    name = place.column.name
    rate = getattr(row.device, _RATES[name])
    return fmt.format_rate_like(rate, row.highest[name]), row.style


def _memory_temperature(row: _Detail, _: PlacedColumn) -> _Cell:
    celsius = row.device.memory_temperature_celsius
    if celsius is None and row.device.info.is_unified_memory:
        return 'host', row.style
    return fmt.format_measured('°C', celsius), row.style


def _reasons(row: _Detail, place: PlacedColumn) -> _Cell:
    reasons = row.device.clock_event_reasons
    if reasons is None:
        return fmt.NOT_AVAILABLE, row.style
    if not reasons:
        return 'nothing', _DIM
    is_alarming = any(word in reason for reason in reasons for word in _ALARMING)
    text = fmt.format_reasons(reasons)
    text = text if len(text) <= place.width else fmt.format_brief_reasons(reasons)
    return text, _WARNING if is_alarming else row.style


# fmt: off
_CELLS: dict[str, Callable[[_Detail, PlacedColumn], _Cell]] = {
    'index': _index,
    'link': _link,
    'pcie_rx': _rate,
    'pcie_tx': _rate,
    'nvlink_rx': _rate,
    'nvlink_tx': _rate,
    'encoder': lambda row, _: (fmt.format_share(row.device.encoder_utilization_percent), row.style),
    'decoder': lambda row, _: (fmt.format_share(row.device.decoder_utilization_percent), row.style),
    'memory_temperature': _memory_temperature,
    'energy': lambda row, _: (fmt.format_energy(row.device.total_energy_joules), row.style),
    'reasons': _reasons,
}
# fmt: on
