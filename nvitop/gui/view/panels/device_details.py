# SPDX-License-Identifier: GPL-3.0-only
"""Details of a device: links, traffic, codecs, memory temperature, energy and clock reasons."""

from __future__ import annotations

from typing import Callable, Sequence, Tuple

from nvitop.gui.layout.device import DetailSlot
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import clip
from nvitop.gui.view import format as fmt
from nvitop.sampling.types import DeviceSample

_DIM = Style(Role.DIM)
_WARNING = Style(Role.WARNING)
#: Parts of the names of clock reasons that deserve a warning.
_ALARMING = ('slowdown', 'brake', 'reliability')

Pieces = Sequence[Tuple[str, Style]]


def draw_details(
    buf: Buffer,
    y: int,
    lines: Sequence[Sequence[DetailSlot]],
    device: DeviceSample,
    *,
    note: Sequence[str] = (),
) -> None:
    """Draw the details of a device from row ``y`` on, or instead the first ``note`` that fits."""
    if note:
        x, room = lines[0][0].x, buf.width - 4
        buf.write(x, y, next((text for text in note if len(text) <= room), ''), _DIM)
        return
    for i, slots in enumerate(lines):
        for slot in slots:
            x = slot.x
            for text, style in _PIECES[slot.name](device, slot.width):
                room = slot.x + slot.width - x
                style = _DIM if text.strip() == fmt.NOT_AVAILABLE else style
                x += buf.write(x, y + i, clip(text, room), style)


def _link(device: DeviceSample, _: int) -> Pieces:
    info = device.info
    now = fmt.format_pcie_link(device.pcie_link_generation, device.pcie_link_width)
    most = fmt.format_pcie_link(info.max_pcie_link_generation, info.max_pcie_link_width)
    text = now if most in (now, fmt.NOT_AVAILABLE) else f'{now}/{most}'
    if device.pcie_link_down_trained:
        return (('Link', _DIM), ('!', _WARNING._replace(bold=True)), (text, _WARNING))
    return (('Link ', _DIM), (text, PLAIN))


def _traffic(title: str, tx: int | None, rx: int | None) -> Pieces:
    return (
        (f'{title} TX ', _DIM),
        (f'{fmt.format_throughput(tx):>10}', PLAIN),
        (' RX ', _DIM),
        (f'{fmt.format_throughput(rx):>10}', PLAIN),
    )


def _pcie(device: DeviceSample, _: int) -> Pieces:
    tx, rx = device.pcie_tx_throughput_kib_per_s, device.pcie_rx_throughput_kib_per_s
    return _traffic('PCIe', tx, rx)


def _nvlink(device: DeviceSample, _: int) -> Pieces:
    tx, rx = device.nvlink_tx_throughput_kib_per_s, device.nvlink_rx_throughput_kib_per_s
    return _traffic('NVLink', tx, rx)


def _codec(device: DeviceSample, _: int) -> Pieces:
    encoder = fmt.format_percent(device.encoder_utilization_percent)
    decoder = fmt.format_percent(device.decoder_utilization_percent)
    return (('Enc ', _DIM), (f'{encoder:>4}', PLAIN), (' Dec ', _DIM), (f'{decoder:>4}', PLAIN))


def _memory_temperature(device: DeviceSample, _: int) -> Pieces:
    celsius = device.memory_temperature_celsius
    if celsius is None and device.info.is_unified_memory:
        return (('Mem ', _DIM), ('host', PLAIN))
    text = fmt.format_temperature(celsius)
    return (('Mem ', _DIM), (f'{text:>4}', PLAIN))


def _energy(device: DeviceSample, _: int) -> Pieces:
    joules = device.total_energy_joules
    if joules is None:
        return (('Energy N/A', _DIM),)
    return ((f'{fmt.format_energy(joules):>10}', PLAIN),)


def _reasons(device: DeviceSample, room: int) -> Pieces:
    reasons = device.clock_event_reasons
    if reasons is None:
        return (('Clocks N/A', _DIM),)
    if not reasons:
        return (('not throttled', _DIM),)
    is_alarming = any(word in reason for reason in reasons for word in _ALARMING)
    text = fmt.format_reasons(reasons)
    text = text if len(text) <= room else fmt.format_brief_reasons(reasons)
    return ((text, _WARNING if is_alarming else PLAIN),)


#: Name of a detail → its pieces for a device and a width in cells.
_PIECES: dict[str, Callable[[DeviceSample, int], Pieces]] = {
    'link': _link,
    'pcie': _pcie,
    'codec': _codec,
    'nvlink': _nvlink,
    'memory_temperature': _memory_temperature,
    'energy': _energy,
    'reasons': _reasons,
}
