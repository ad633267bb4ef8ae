# SPDX-License-Identifier: GPL-3.0-only
"""The device panel: a row or two for each GPU and MIG device, and bars beside them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Sequence

from nvitop.gui.layout.device import BESIDE_NAME, CLASSIC, DENSE, FULL, NARROW, Cells, DeviceLayout
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.buffer import Buffer, Span
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import cell_width, clip, fit, pad, safe
from nvitop.gui.view import format as fmt
from nvitop.gui.view.load_style import device_style, load_role
from nvitop.gui.view.widgets.bar import draw_bar
from nvitop.gui.view.widgets.frame import draw_rule, draw_text, draw_uprights
from nvitop.gui.view.widgets.title import Badge, draw_at_right, fit_badges
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import DeviceKey, DeviceSample, Sample
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.gui.layout.device import Details

TITLE = Style(Role.TITLE, bold=True)
HEADING = Style(Role.HEADING)
_SIMULATED = Style(Role.WARNING, bold=True)
_FAILING = Style(Role.WARNING, bold=True)
#: What the index of a device takes.
_LABEL = 4
_PERSISTENCE, _DRIVER_MODEL = 'Persistence-M', 'TCC/WDDM '


class Header(NamedTuple):
    """The line above the panel, and the version in it."""

    #: Date and time.
    clock: str = ''
    #: What the user should not forget: a filter, a frozen display.
    badges: tuple[Badge, ...] = ()
    #: Pieces of a hint at its right end, each with its style.
    hint: tuple[tuple[str, Style], ...] = ()
    #: The same for signals, which stands above the processes.
    signal_hint: tuple[tuple[str, Style], ...] = ()
    version: str = __version__.partition('+')[0]


class _Traits(NamedTuple):
    """What the devices have in common: it decides about columns."""

    has_mig: bool
    has_driver_model: bool
    #: Whether a power limit needs the cells beside the performance state.
    has_kilowatts: bool


class _Shape(NamedTuple):
    """How the rows of devices are made: what is the same in all of them."""

    form: str
    width: int
    cells: tuple[Cells, ...]
    bars: tuple[Cells, ...]
    details: Details
    #: Why there are none, the longest form first.
    details_note: tuple[str, ...]
    traits: _Traits
    view: ViewState


def draw_device_panel(
    buf: Buffer,
    layout: DeviceLayout,
    sample: Sample,
    view: ViewState,
    header: Header,
    *,
    joints_below: tuple[int, ...] = (),
    selected: DeviceKey | None = None,
    details_note: tuple[str, ...] = (),
) -> None:
    """Draw the panel. ``joints_below`` are the upright lines of a panel that joins its last line;
    ``selected`` is the device of the selected process, ``details_note`` why there are no details."""
    devices = sample.devices
    traits = _Traits(
        any(device.mig_mode is not None for device in devices),
        any(device.current_driver_model is not None for device in devices),
        any(len(fmt.format_power(device.power_limit_mw)) >= 5 for device in devices),
    )
    draw_header(buf, layout.area.y, sample, header)
    box = _uprights(layout.cells)
    outer = (box[0], box[-1])
    top = layout.area.y + 1
    if layout.has_versions:
        draw_rule(buf, top, (), outer, double=True)
        _draw_versions(buf, top + 1, outer[1] + 1, sample, header.version)
        draw_rule(buf, top + 2, outer, box)
    else:
        draw_rule(buf, top, (), box, double=True)
    y = layout.heading_y
    if not devices:
        draw_uprights(buf, y, outer)
        buf.write(2, y, clip(_no_devices_message(sample), outer[1] - 3))
        draw_rule(buf, y + 1, outer, joints_below, double=True)
        return
    for texts in _headings(layout, traits):
        _draw_cells(buf, y, layout.cells, texts, HEADING)
        draw_uprights(buf, y, box[-1:])
        y += 1
    width = layout.area.width
    shape = _Shape(
        layout.form, width, layout.cells, layout.bars, layout.details, details_note, traits, view
    )
    failing = {problem.device for problem in sample.problems if problem.is_failure}
    above = box
    for i, row in enumerate(layout.rows):
        device = devices[row.device]
        below = _row_uprights(layout, device)
        if i == 0:
            draw_rule(buf, y, above, below, double=True)
        elif row.separated:
            draw_rule(buf, row.y - 1, above, below)
        if row.y + row.height > 0 and row.y < buf.height:
            is_selected = None if selected is None else _is_part_of(selected, device.key)
            style = device_style(device, view.thresholds, is_selected=is_selected)
            is_failing = device.key in failing and device.status == 'ok'
            buf.paste(row.y, _rows(shape, device, style, row.height, row.details, is_failing))
        above = (0, layout.area.width - 1) if row.details else below
    draw_rule(buf, layout.bottom_y, above, joints_below, double=True)


# Remembered: between two measurements a key changes no more than the style of a few.
@functools.lru_cache(maxsize=256)
def _rows(
    shape: _Shape,
    device: DeviceSample,
    style: Style,
    height: int,
    details: int,
    is_failing: bool,
) -> tuple[tuple[Span, ...], ...]:
    """The rows of a device: so many, of which so many are for its details."""
    buf = Buffer(shape.width, height)
    _draw_device(buf, shape, device, style)
    if is_failing:
        buf.write(shape.cells[0].x + _LABEL, 0, '!', _FAILING)
    _draw_details(buf, height - details, shape, device)
    return tuple(map(buf.row, range(height)))


def _draw_details(buf: Buffer, y: int, shape: _Shape, device: DeviceSample) -> None:
    lines = range(y, buf.height)
    for line in lines:
        draw_uprights(buf, line, (0,))
    if lines and device.status == 'ok':
        from nvitop.gui.view.panels.device_details import draw_details  # only where they are shown

        draw_details(buf, y, shape.details, device, note=shape.details_note)
    for line in lines:
        draw_uprights(buf, line, (shape.width - 1,))


def _is_part_of(selected: DeviceKey, key: DeviceKey) -> bool:
    """Whether a row is that of the selected device, or of the GPU that device is part of."""
    return selected == key or (not key.is_mig and selected.physical_index == key.physical_index)


def _no_devices_message(sample: Sample) -> str:
    if not sample.sequence:
        return 'Looking for GPUs ...'
    reasons = [safe(problem.reason) for problem in sample.problems if problem.subject == 'driver']
    return ': '.join(['No GPU is visible', *reasons[:1]])


def draw_header(buf: Buffer, y: int, sample: Sample, header: Header) -> None:
    """Draw the line above the panel."""
    clock = header.clock
    name = f'SIMULATED: {safe(sample.simulated)}'
    forms: tuple[str, ...] = (name, 'SIMULATED', 'SIM') if sample.simulated else ()
    machine = 1 + cell_width(name) if sample.simulated else 0
    hint_width = sum(cell_width(text) for text, _ in header.hint)
    badges = [1 + cell_width(badge.forms[0]) for badge in header.badges]
    room = buf.width - sum(badges) - 1 - hint_width
    # What must not be forgotten and the keys matter more than the date, and than which machine is
    # simulated; that it is simulated is said at every width.
    if cell_width(clock) + machine > room:
        clock = next((part for part in clock.split() if ':' in part), clock)
    while len(forms) > 1 and cell_width(clock) + 1 + cell_width(forms[0]) > room:
        forms = forms[1:]
    simulated = (Badge(forms, _SIMULATED),) if forms else ()
    x = 1 + buf.write(0, y, clock, width=buf.width)
    for text, style in fit_badges((*simulated, *header.badges), buf.width - x + 1):
        x += 1 + buf.write(x, y, text, style)
    # At the right end of the box below, or where badges reach beyond that, of the screen.
    right = buf.width if x + hint_width > CLASSIC else min(buf.width, CLASSIC)
    draw_at_right(buf, y, header.hint, left=x, right=right)


def _draw_versions(buf: Buffer, y: int, width: int, sample: Sample, version: str) -> None:
    driver, cuda = map(fmt.format_word, (sample.driver_version, sample.cuda_driver_version))
    room = width - 4
    for left, middle, right in (
        (f'NVITOP {version}', f'Driver Version: {driver}', f'CUDA Driver Version: {cuda}'),
        (f'NVITOP {version}', f'Driver: {driver}', f'CUDA: {cuda}'),
        (f'NVITOP {version}', driver, f'CUDA {cuda}'),
        ('NVITOP', clip(driver, 12), clip(f'CUDA {cuda}', 12)),
    ):
        space = room - len(left) - cell_width(middle) - cell_width(right)
        if space >= 2:
            break
    draw_uprights(buf, y, (0,))
    x = 2 + buf.write(2, y, left, TITLE)
    x += space // 2
    x += draw_text(buf, x, y, middle)
    draw_text(buf, x + space - space // 2, y, right)
    draw_uprights(buf, y, (width - 1,))


def _uprights(cells: Sequence[Cells]) -> tuple[int, ...]:
    return (cells[0].x - 1, *(each.right for each in cells))


def _row_uprights(layout: DeviceLayout, device: DeviceSample) -> tuple[int, ...]:
    """Columns of the upright lines in the row of a device."""
    box = _uprights(layout.cells)
    if device.status != 'ok':
        box = (box[0], box[-1])
    bars = layout.bars
    if not bars:
        return box
    if _has_wide_bar(device):
        return (*box, bars[-1].right + 1)
    return (*box, *(bar.right + 1 for bar in bars))


def _has_wide_bar(device: DeviceSample) -> bool:
    return device.key.is_mig or device.status != 'ok'


def _headings(layout: DeviceLayout, traits: _Traits) -> list[list[str]]:
    if layout.form == NARROW:
        from nvitop.gui.view.panels import device_narrow  # few terminals are that narrow

        return [[device_narrow.heading(layout.cells[0].width)]]
    first = layout.cells[0].width
    usage = ['         Memory-Usage ', ' GPU-Util  Compute M. ']
    if layout.form != FULL:
        return [[_spread(' GPU Fan Temp Perf', 'Pwr:Usg/Cap ', first), *usage]]
    right = _DRIVER_MODEL if traits.has_driver_model else _PERSISTENCE
    ecc = ' MIG M.   Uncorr. ECC ' if traits.has_mig else ' Volatile Uncorr. ECC '
    return [
        [_spread(' GPU  Name', right, first), ' Bus-Id        Disp.A ', ecc],
        [_spread(' Fan  Temp  Perf', 'Pwr:Usage/Cap', first), *usage],
    ]


def _spread(left: str, right: str, width: int) -> str:
    return left + right.rjust(width - len(left))


def _draw_cells(
    buf: Buffer, y: int, cells: Sequence[Cells], texts: Sequence[str], style: Style
) -> None:
    """Write the cells of a row, each after its left border."""
    for each, text in zip(cells, texts):
        draw_uprights(buf, y, (each.x - 1,))
        draw_text(buf, each.x, y, fit(text, each.width), style)


def _draw_device(buf: Buffer, shape: _Shape, device: DeviceSample, style: Style) -> None:
    cells = shape.cells
    right = cells[-1].right
    if device.status != 'ok':
        cells = (Cells(cells[0].x, right - cells[0].x),)
        lines = _lost_lines(device, shape, cells[0].width)
    elif shape.form == NARROW:
        from nvitop.gui.view.panels import device_narrow

        lines = [[device_narrow.row(device, cells[0].width)]]
    elif device.key.is_mig:
        lines = [_mig_cells(device, cells[0].width)]
    elif shape.form == FULL:
        lines = _full_cells(device, cells[0].width, shape.traits)
    else:
        lines = [_compact_cells(device, cells[0].width, shape.traits)]
    for i, texts in enumerate(lines):
        _draw_cells(buf, i, cells, texts, style)
        draw_uprights(buf, i, (right,))
        if shape.bars:
            _draw_bars(buf, i, shape, device, style)


def _lost_lines(device: DeviceSample, shape: _Shape, width: int) -> list[list[str]]:
    """A device that does not answer: what is known of it, and the reason across its row."""
    reason = safe(device.reason or device.status)
    label = f'{device.key.label:>4}'
    if device.key.is_mig or shape.form in (DENSE, NARROW):
        return [[f'{label} {clip(reason, width - 6)} ']]
    if device.info.name.startswith('ERROR: '):
        # It has never answered: its name would say once more why.
        lines = [[f'{label}  {clip(reason, width - 7)} ']]
        return [*lines, ['']] if shape.form == FULL else lines
    room = shape.cells[0].width - BESIDE_NAME
    name = fmt.format_device_name(device.info.name, room)
    if shape.form == FULL:
        bus = fmt.format_word(device.info.bus_id)
        first = f'{label}  {pad(name, shape.cells[0].width - 4)}{bus}'
        return [[first], [f'      {clip(reason, width - 7)} ']]
    room = max(19, cell_width(name))
    return [[f'{label} {pad(name, room)}  {clip(reason, width - room - 8)} ']]


def _full_cells(device: DeviceSample, width: int, traits: _Traits) -> list[list[str]]:
    state = (
        fmt.format_driver_model(device.current_driver_model)
        if traits.has_driver_model
        else fmt.format_switch(device.persistence_mode)
    )
    ecc = fmt.format_count(device.total_volatile_uncorrected_ecc_errors)
    if traits.has_mig:
        third = f' {clip(fmt.format_word(device.mig_mode), 8):>8}  {clip(ecc, 10, "+"):>10} '
    else:
        third = f' {ecc:>20} '
    state = clip(state, 4)
    room = width - 8 - cell_width(state)
    name = pad(fmt.format_device_name(device.info.name, room), room)
    bus = fit(fmt.format_word(device.info.bus_id), 16)
    display = fmt.format_switch(device.display_active)
    power = _power(device, 13).rjust(width - 18)
    fan, temperature, performance = _fan_temperature_performance(device)
    return [
        [
            f'{device.key.label:>4}  {name} {state} ',
            f' {bus} {clip(display, 3):>3} ',
            third,
        ],
        [
            f' {fan:>3}  {temperature:>4}  {performance:^4} {power} ',
            *_usage_cells(device),
        ],
    ]


def _compact_cells(device: DeviceSample, width: int, traits: _Traits) -> list[str]:
    fan, temperature, performance = _fan_temperature_performance(device)
    align = '<' if traits.has_kilowatts else '>'
    power = _power(device, 13 if len(performance) < 3 else 12).rjust(width - 18)
    return [
        f'{device.key.label:>4} {fan:>3} {temperature:>4} {performance:{align}3}{power} ',
        *_usage_cells(device),
    ]


def _mig_cells(device: DeviceSample, width: int) -> list[str]:
    info = device.info
    profile = clip(fmt.format_word(info.mig_profile), width - 19)
    instance = fmt.NOT_AVAILABLE
    if info.gpu_instance_id is not None and info.compute_instance_id is not None:
        instance = f'{info.gpu_instance_id}/{info.compute_instance_id}'
    used = fmt.format_bytes(device.bar1_memory_used_bytes)
    percent = fmt.format_short_percent(device.bar1_memory_percent)
    return [
        f'{device.key.label:>4} {pad(profile, width - 19, ">")} @ GI/CI:{instance:>4} ',
        f' {_memory(device):>20} ',
        f' BAR1: {used:>8} / {percent:>3} ',
    ]


def _usage_cells(device: DeviceSample) -> list[str]:
    load = fmt.format_percent(device.gpu_utilization_percent)
    compute = fmt.format_compute_mode(device.compute_mode)
    return [f' {_memory(device):>20} ', f' {clip(load, 7):>7}  {pad(compute, 11, ">")} ']


def _fan_temperature_performance(device: DeviceSample) -> tuple[str, str, str]:
    return (
        fmt.format_fan_speed(device.fan_speed_percent),
        fmt.format_temperature(device.temperature_celsius)[:4],
        clip(fmt.format_word(device.performance_state), 3, '+'),
    )


def _memory(device: DeviceSample) -> str:
    used = fmt.format_bytes(device.memory_used_bytes)
    total = fmt.format_bytes(device.info.memory_total_bytes)
    return clip(f'{used} / {total:>8}', 20)


def _power(device: DeviceSample, room: int) -> str:
    text = fmt.format_power_usage(device.power_usage_mw, device.power_limit_mw)
    if len(text) > room:
        text = text.replace(' / ', '/')
    return clip(text, room, '+')


def _draw_bars(buf: Buffer, y: int, shape: _Shape, device: DeviceSample, style: Style) -> None:
    """Draw the bars of one line of a device, each with its right border."""
    bars, view = shape.bars, shape.view
    if _has_wide_bar(device):
        wide = Rect(bars[0].x, y, bars[-1].right - bars[0].x, 1)
        if device.status == 'ok':
            _draw_memory_bar(buf, wide, device, view, style)
        draw_uprights(buf, y, (wide.right + 1,))
        return
    drawers = [_draw_memory_bar, _draw_load_bar]
    if shape.form == FULL:
        drawers = (
            [_draw_load_bar, _draw_power_bar] if y else [_draw_memory_bar, _draw_bandwidth_bar]
        )
    for bar, draw in zip(bars, drawers):
        draw(buf, Rect(bar.x, y, bar.width, 1), device, view, style)
        draw_uprights(buf, y, (bar.right + 1,))


def _draw_memory_bar(
    buf: Buffer, area: Rect, device: DeviceSample, view: ViewState, style: Style
) -> None:
    percent = device.memory_percent
    texts = [fmt.format_bytes(device.memory_used_bytes)]
    style = style._replace(role=load_role(percent, view.thresholds.memory))
    draw_bar(buf, area, 'MEM', percent, style, texts=texts, colorful=view.colorful)


def _draw_bandwidth_bar(
    buf: Buffer, area: Rect, device: DeviceSample, view: ViewState, style: Style
) -> None:
    percent = device.memory_utilization_percent
    style = style._replace(role=load_role(percent, view.thresholds.memory))
    extra = _at_clock(device.memory_clock_mhz)
    draw_bar(buf, area, 'MBW', percent, style, extra=extra, colorful=view.colorful)


def _draw_load_bar(
    buf: Buffer, area: Rect, device: DeviceSample, view: ViewState, style: Style
) -> None:
    percent = device.gpu_utilization_percent
    style = style._replace(role=load_role(percent, view.thresholds.gpu))
    extra = _at_clock(device.sm_clock_mhz)
    draw_bar(buf, area, 'UTL', percent, style, extra=extra, colorful=view.colorful)


def _draw_power_bar(
    buf: Buffer, area: Rect, device: DeviceSample, view: ViewState, style: Style
) -> None:
    usage, limit = device.power_usage_mw, device.power_limit_mw
    percent = None if usage is None or not limit else 100.0 * usage / limit
    texts = [fmt.format_power(usage)]
    style = style._replace(role=load_role(percent, view.thresholds.gpu))
    if percent is None and usage is not None:
        # Without a limit there is nothing to draw a share of.
        buf.write(area.x, area.y, clip(f'PWR: {texts[0]}', area.width), style)
        return
    draw_bar(buf, area, 'PWR', percent, style, texts=texts, colorful=view.colorful)


def _at_clock(mhz: int | None) -> str:
    return '' if mhz is None else f'@ {fmt.format_clock(mhz)}'
