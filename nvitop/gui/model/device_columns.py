# SPDX-License-Identifier: GPL-3.0-only
"""What is shown of a GPU: the columns of its row, the facts below them, and those of its page."""

from __future__ import annotations

from typing import Callable, Iterable, Iterator, List, Mapping, Sequence, Tuple

from nvitop.basics.metrics import METRICS_BY_NAME, Metric
from nvitop.basics.units import GiB
from nvitop.gui.model import format as fmt
from nvitop.gui.model.device_rows import GpuRow
from nvitop.gui.model.table import Column, content_width
from nvitop.gui.render.theme import DIM, HEADING, OWN, PLAIN, Pieces, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe, wrap
from nvitop.sampling.types import DeviceSample

_UTILIZATION, MEMORY, _TRACK = Style(Role.UTILIZATION), Style(Role.MEMORY), Style(Role.TRACK)
#: Percentages from which a bar of whole cells has at least an eighth, and at least one cell.
_LEAST_EIGHTH, _LEAST_SHARE = 0.5, 5.0
#: Percentage below which the last cell of a bar of whole cells stays empty: such a bar would say full.
_FULL_SHARE = 99.0


def metric_style(metric: Metric) -> Style:
    """Return the style of the bar and the history of a metric: one hue for each kind of metrics."""
    if metric.name == 'memory_percent':
        return MEMORY
    is_other = metric.unit != '%' or metric.name in ('fan_speed', 'memory_utilization')
    return Style(Role.OTHER) if is_other else _UTILIZATION


def bar_pieces(
    percent: float | None, width: int, style: Style, *, is_alone: bool = False
) -> Pieces:
    """Return a bar on a track; an unknown value is a row of dots.

    ``is_alone``: there is no bar right above or below, so that it has the height of the line, and
    ends with an eighth block. Other bars are lower and have whole cells; only one that would be
    empty has an eighth, and the height of the line.
    """
    if percent is None or percent != percent:
        return ((fmt.UNKNOWN_MARK * width, DIM),)
    if not is_alone:
        cells = round(max(0.0, min(100.0, percent)) * width / 100)
        if percent < _FULL_SHARE:
            cells = min(cells, width - 1)
        cells = max(cells, int(percent >= _LEAST_SHARE and width > 0))
        if not cells and percent >= _LEAST_EIGHTH and width:
            eighth = (fmt.EIGHTHS[0], style._replace(back=Role.TRACK))
            return (eighth, (fmt.WHOLE * (width - 1), _TRACK))
        return ((fmt.FULL * cells, style), (fmt.FULL * (width - cells), _TRACK))
    filled = fmt.format_bar(percent, width)
    whole = filled.rstrip(fmt.EIGHTHS)
    end = filled[len(whole) :]
    return (
        (whole, style),
        (end, style._replace(back=Role.TRACK)),
        (fmt.WHOLE * (width - len(filled)), _TRACK),
    )


def _index(row: GpuRow, _: int) -> Pieces:
    style, label = row.mark_style if row.is_wrong else PLAIN, row.device.key.label
    if not row.device.key.is_mig:
        return ((label, style),)
    return (('└' if row.is_last else '├', DIM), (label, style))


def _name(row: GpuRow, width: int) -> Pieces:
    if row.device.key.is_mig:
        return ((clip(row.name, width), PLAIN),)
    return ((fmt.format_device_name(row.name, width), DIM),)


def _state(row: GpuRow, width: int) -> Pieces:
    """Return what a device is doing and what is wrong with it, which is more important."""
    word = row.word if cell_width(row.word) <= width else row.word.partition(' ')[0]
    has_room = row.mark and len(f'{word} {row.mark}') <= width
    if row.is_wrong and row.mark and not has_room:
        return ((clip(row.mark, width), row.mark_style),)
    if not has_room or not (row.is_wrong or row.is_used):
        return ((clip(word, width, ''), row.word_style),)
    return ((f'{word} '.lstrip(), row.word_style), (row.mark, row.mark_style))


def _user(row: GpuRow, width: int) -> Pieces:
    if not row.user and (row.is_used or row.state.word == 'held'):
        return ((fmt.UNKNOWN_USER, DIM),)
    others = row.who[len(row.user) :]
    name = clip(row.user, max(1, width - len(others)))
    return ((name, OWN if row.is_user else PLAIN), (others, PLAIN))


def _job(row: GpuRow, width: int) -> Pieces:
    return ((clip(row.job, width), DIM),)


def _memory(row: GpuRow, width: int) -> Pieces:
    used, total = row.device.memory_used_bytes, row.device.info.memory_total_bytes
    if used is None:
        return ((fmt.NOT_AVAILABLE, PLAIN),)
    if row.is_others_memory:
        return (('shared', DIM),)
    text = f'{used / GiB:.1f}'
    if total is None or _memory_width(row.device) > width:
        return ((text, PLAIN),)
    return ((text, PLAIN), (f'/{total / GiB:.0f}', DIM))


def _memory_width(device: DeviceSample) -> int:
    """Return the cells that used and installed memory need at most."""
    total = (device.info.memory_total_bytes or 0) / GiB
    return len(f'{total:.1f}/{total:.0f}')


def _memory_bar(row: GpuRow, width: int) -> Pieces:
    return () if row.is_others_memory else bar_pieces(row.device.memory_percent, width, MEMORY)


def _high_memory_bar(row: GpuRow, width: int) -> Pieces:
    return bar_pieces(row.device.memory_percent, width, MEMORY, is_alone=True)


def _utilization(row: GpuRow, _: int) -> Pieces:
    return _value(fmt.format_share(row.device.gpu_utilization_percent))


def _temperature(row: GpuRow, width: int) -> Pieces:
    celsius = row.device.temperature_celsius
    text = fmt.format_temperature(celsius, width)
    style = row.heat_style
    limit = row.device.info.temperature_slowdown_threshold_celsius
    if celsius is not None and limit is not None and len(f'{celsius}/{limit}°C') <= width:
        return ((f'{celsius}', style), (f'/{limit}°C', DIM))
    return _value(text, '°C') if style is PLAIN else ((text, style),)


def _power(row: GpuRow, width: int) -> Pieces:
    usage, limit = row.device.power_usage_mw, row.device.power_limit_mw
    if usage is None:
        return ((fmt.NOT_AVAILABLE, PLAIN),)
    text = f'{usage / 1000:.0f}'
    bound = f'{limit / 1000:.0f}' if limit else ''
    if not bound or 2 * len(bound) + len('/ W') > width:
        return ((text, PLAIN), (' W', DIM))
    return ((f'{text:>{len(bound)}}', PLAIN), (f'/{bound} W', DIM))


def _clock(row: GpuRow, _: int) -> Pieces:
    return _value(fmt.format_measured('MHz', row.device.sm_clock_mhz), ' MHz')


def _value(text: str, unit: str = '') -> Pieces:
    if unit and text.endswith(unit):
        return ((text[: -len(unit)], PLAIN), (unit, DIM))
    return ((text, PLAIN),)


# fmt: off
#: Columns of devices. Text: pieces for a :class:`GpuRow` and the width of the column.
DEVICE_COLUMNS: tuple[Column, ...] = (
    Column('index', 'GPU', (5,), 'GPU index; MIG devices are indented below', _index, source='NVML index, PCI bus order'),
    Column('mark', '', (1,), '`!` if something is wrong with it', lambda row, _: (('!', row.mark_style),) if row.is_wrong else (), align='<', gap=0),
    Column('name', 'NAME', (10, 12, 16, 28), 'product name if there are different ones; profile of a MIG device', _name, align='<', gap=1, rank=5),
    Column('state', 'STATE', (8, 11, 11, 16), 'what it is doing; see [STATE](monitor.md#gpus)', _state, align='<'),
    Column('user', 'USER', (8, 12, 20), 'the user with the most memory, and the number of others', _user, align='<', gap=2, rank=2),
    Column('job', 'JOB', (15, 20, 40), 'the job, pod or container with the most memory, or the command if it belongs to none', _job, align='<', rank=8, gap=2),
    Column('memory_bar', '', (4, 10, 10, 16), 'used memory in percent', _memory_bar, align='<', gap=1, rank=4),
    Column('memory', 'MEM GiB', (7, 9), 'used memory, and with enough room all memory; `shared`: that of a MIG device that uses the same memory', _memory, source='`memory_used`, `memory_total`'),
    Column('utilization', 'UTIL', (4,), 'share of time in which a kernel ran; without it, the history is that of the memory', _utilization, gap=2, source='`gpu_utilization`'),
    Column('temperature', 'TEMP', (4,), 'temperature of the GPU', _temperature, gap=2, rank=5, metrics=('temperature',)),
    Column('power', 'POWER', (5, 9, 11), 'power draw, and with enough room its limit', _power, gap=2, rank=7, metrics=('power_usage',)),
    Column('clock', 'SM CLOCK', (8,), 'SM clock', _clock, gap=2, rank=9, metrics=('sm_clock',)),
    Column('history', '', (14, 36, 0), 'utilization, or the metric that `g` chose, in the last minutes', lambda *_: (), align='<', gap=2, rank=3),
)
# fmt: on
DEVICE_COLUMNS_BY_NAME = {column.name: column for column in DEVICE_COLUMNS}


#: Columns of a device that has no values.
_SILENT_COLUMNS = ('index', 'mark', 'name', 'state')


def columns_of(rows: Sequence[GpuRow], *, is_tall: bool, has_history: bool) -> list[Column]:
    """Return the columns that have values; those of tall rows leave out what is below them."""
    left_out = {fact.name for facts in LINE_FACTS.values() for fact in facts} if is_tall else set()
    left_out |= set() if has_history else {'history'}
    left_out |= set() if any(row.name for row in rows) else {'name'}
    responding = [row.device for row in rows if row.device.status == 'ok']
    if not responding:
        left_out |= {column.name for column in DEVICE_COLUMNS} - {*_SILENT_COLUMNS}
    is_spaced = is_tall and not any(row.device.key.is_mig for row in rows)  # no bar below another
    return [
        column._replace(text=_high_memory_bar)
        if column.name == 'memory_bar' and is_spaced
        else column
        for column in DEVICE_COLUMNS
        if not left_out.intersection((column.name, *column.metrics))
        and has_value(column, responding)
    ]


def has_text(column: Column, row: GpuRow) -> bool:
    """Whether a column says something about a device; a MIG device lacks values that its GPU has."""
    if row.device.status != 'ok':
        return column.name in _SILENT_COLUMNS
    return not row.device.key.is_mig or has_value(column, [row.device])


def has_value(column: Column, devices: Iterable[DeviceSample]) -> bool:
    """Whether a column shows something else than metrics, or one that any of the devices has."""
    return not column.metrics or any(is_known(d, name) for d in devices for name in column.metrics)


def _fact(
    metric: str,
    size: int,
    text: Callable[[GpuRow, int], Pieces] | None = None,
    *,
    label: str = '',
    align: str = '<',
) -> Column:
    """Return a fact: a metric with its label, or with a text of its own."""

    def labeled(row: GpuRow, _: int) -> Pieces:
        unit, value = METRICS_BY_NAME[metric].unit, value_of(row.device, metric)
        return ((f'{label} ', DIM), *_value(fmt.format_measured(unit, value)))

    return Column(metric, '', (size,), '', text or labeled, align, metrics=(metric,))


#: Facts of a GPU below a column, from its second line down.
LINE_FACTS: Mapping[str, tuple[Column, ...]] = {
    'state': (
        _fact('temperature', 8, _temperature),
        _fact('memory_temperature', 8, label='mem'),
        _fact('fan_speed', 8, label='fan'),
    ),
    'user': (
        _fact('power_usage', 11, _power),
        _fact('memory_utilization', 11, label='mem bw'),
    ),
    'utilization': (_fact('sm_clock', 8, _clock, align='>'),),
}


def device_widths(rows: Sequence[GpuRow]) -> dict[str, int]:
    """Return the widths that columns of texts need, and the memory.

    That of a text is one of the sizes after the narrowest, so that it rarely changes.
    """
    widths = {'memory': max([_memory_width(row.device) for row in rows], default=0)}
    for name in ('name', 'state', 'user', 'job'):
        column = DEVICE_COLUMNS_BY_NAME[name]
        texts = [column.text(row, column.sizes[-1]) for row in rows]
        widest = max(map(content_width, texts), default=0)
        widths[name] = next((s for s in column.sizes[1:] if s >= widest), column.sizes[-1])
    return widths


def value_of(device: DeviceSample, metric: str) -> float | None:
    field = METRICS_BY_NAME[metric].field
    return getattr(device, field, getattr(device.info, field, None))


def is_known(device: DeviceSample, metric: str) -> bool:
    return value_of(device, metric) is not None


def top_of(metric: Metric, devices: Sequence[DeviceSample]) -> float | None:
    """Return the highest possible value of a metric, such as a power limit; ``None`` if unknown."""
    if metric.maximum:
        known = [value_of(device, metric.maximum) for device in devices]
        return max((top for top in known if top), default=None)
    return 100.0 if metric.unit in ('%', '°C') else None


def base_of(metric: Metric) -> int:
    """Return the factor between two units of a metric."""
    return 1024 if metric.unit == 'KiB/s' else 1000


#: Metrics of a GPU whose row has a line for each metric, and further ones on its page.
_FEW_METRICS = (
    'gpu_utilization',
    'memory_percent',
    'power_usage',
    'temperature',
    'sm_clock',
    'fan_speed',
)
_MORE_METRICS = (
    'memory_utilization',
    'pcie_rx_throughput',
    'pcie_tx_throughput',
    'nvlink_total_rx_throughput',
    'nvlink_total_tx_throughput',
)


def metrics_of(device: DeviceSample, *, is_page: bool) -> tuple[Metric, ...]:
    """Return the metrics that have a line of their own if a single GPU is shown."""
    names = _FEW_METRICS + (_MORE_METRICS if is_page else ())
    # Expensive values are measured only on the page; until then they must not move the others. MIG
    # devices have none of them, and their page says that their utilization is not measured.
    waiting = [name for name in names if is_page and METRICS_BY_NAME[name].tier == 'shown']
    if not device.info.nvlink_link_count:
        waiting = [name for name in waiting if not name.startswith('nvlink')]
    if device.key.is_mig:
        waiting = ['gpu_utilization']
    return tuple(
        METRICS_BY_NAME[name] for name in names if name in waiting or is_known(device, name)
    )


def _listed(*parts: tuple[str, object]) -> str:
    """Return the known values, each after its words: ``slowdown 89°C, shutdown 92°C``."""
    known = [f'{words} {safe(str(value))}'.strip() for words, value in parts if value is not None]
    return ', '.join(known) or fmt.NOT_AVAILABLE


def _measured(device: DeviceSample, metric: str) -> object:
    """Return a value with its unit if it has one; ``None`` if it is not known."""
    value, unit = value_of(device, metric), METRICS_BY_NAME[metric].unit
    return value if value is None or unit in ('', 'count') else fmt.format_measured(unit, value)


def _metrics(*parts: tuple[str, str]) -> Callable[[DeviceSample], str]:
    """Return the function that lists the known values of metrics, each after its words."""
    return lambda device: _listed(*[(words, _measured(device, name)) for words, name in parts])


def _all_links(device: DeviceSample) -> str:
    info = device.info
    now = fmt.format_pcie_link(device.pcie_link_generation, device.pcie_link_width)
    most = fmt.format_pcie_link(info.max_pcie_link_generation, info.max_pcie_link_width)
    if fmt.NOT_AVAILABLE not in (now, most) and most != now:
        now += f' of {most}'
    links, down = info.nvlink_link_count, device.nvlink_down_count
    nvlinks = f'NVLinks {links - down} of {links} up' if links and down else f'{links} NVLinks'
    return _listed(
        ('PCIe', None if now == fmt.NOT_AVAILABLE else now), ('', nvlinks if links else None)
    )


def _power_limits(device: DeviceSample) -> str:
    info = device.info
    limits = (info.min_power_limit_mw, info.max_power_limit_mw)
    ends = None if None in limits else ' to '.join(f'{(mw or 0) / 1000:.0f}' for mw in limits)
    return _listed(
        ('limit', ends and f'{ends} W'),
        ('default', _measured(device, 'default_power_limit')),
    )


def _memory_temperature(device: DeviceSample) -> str:
    if device.memory_temperature_celsius is None and device.info.is_unified_memory:
        return 'that of the host'
    parts = (('', 'memory_temperature'), ('limit', 'max_memory_temperature_threshold'))
    return _metrics(*parts)(device)


def _repairs(device: DeviceSample) -> str:
    rows = (device.remapped_rows_correctable, device.remapped_rows_uncorrectable)
    pages = (device.retired_pages_single_bit_ecc, device.retired_pages_double_bit_ecc)
    return _listed(
        ('remapped rows', None if None in rows else sum(count or 0 for count in rows)),
        ('retired pages', None if None in pages else sum(count or 0 for count in pages)),
        ('', 'remap pending' if device.remapped_rows_pending else None),
        ('', 'remap failed' if device.remapped_rows_failure else None),
    )


def _modes(device: DeviceSample) -> str:
    return _listed(
        ('persistence', device.persistence_mode and fmt.format_switch(device.persistence_mode)),
        ('compute', device.compute_mode),
        ('MIG', device.mig_mode and fmt.format_switch(device.mig_mode)),
        ('', device.performance_state),
    )


#: Metrics that are measured only while the facts are shown.
FACT_METRICS: tuple[str, ...] = (
    'total_volatile_corrected_ecc_errors',
    'total_aggregate_uncorrected_ecc_errors',
    'remapped_rows_correctable',
    'remapped_rows_uncorrectable',
    'retired_pages_single_bit_ecc',
    'retired_pages_double_bit_ecc',
)

#: Labels, and the texts of a device, the most important ones first: a low screen scrolls to the others.
FACTS: tuple[tuple[str, Callable[[DeviceSample], str]], ...] = (
    (
        'ECC ERRORS',
        _metrics(
            ('uncorrected', 'total_volatile_uncorrected_ecc_errors'),
            ('ever', 'total_aggregate_uncorrected_ecc_errors'),
            ('corrected', 'total_volatile_corrected_ecc_errors'),
        ),
    ),
    ('REPAIRS', _repairs),
    ('CLOCK LIMIT', lambda device: fmt.format_reasons(device.clock_event_reasons)),
    ('LINK', _all_links),
    ('UUID', _metrics(('', 'uuid'))),
    ('BUS ID', _metrics(('', 'bus_id'), ('NUMA node', 'numa_node'))),
    ('POWER', _power_limits),
    (
        'TEMP',
        _metrics(
            ('slowdown', 'temperature_slowdown_threshold'),
            ('shutdown', 'temperature_shutdown_threshold'),
        ),
    ),
    ('MEM TEMP', _memory_temperature),
    ('MEM CLOCK', _metrics(('', 'memory_clock'), ('limit', 'max_memory_clock'))),
    ('ENERGY', lambda device: fmt.format_energy(device.total_energy_joules)),
    ('CODECS', _metrics(('encoder', 'encoder_utilization'), ('decoder', 'decoder_utilization'))),
    ('MODES', _modes),
    ('BOARD', _metrics(('serial', 'serial'), ('VBIOS', 'vbios_version'))),
)


#: Cells of the label of a fact; minimum width inside the panel for one, two and three facts in a line.
_FACT_LABEL, _FACT_COLUMNS = 12, (0, 91, 162)
#: Labels and texts next to each other, each with its place in the panel.
FactLine = List[Tuple[int, str, Style]]


def fact_lines(rows: Sequence[GpuRow], width: int) -> list[FactLine]:
    """Return what is wrong with a GPU, then facts about it and its MIG devices; short ones share lines."""
    count = sum(width >= least for least in _FACT_COLUMNS)
    cell = width // count
    lines: list[FactLine] = []
    last: FactLine = []  # the last line with a short fact
    for label, parts, style in _facts(rows, max(2, width - _FACT_LABEL)):
        is_short = len(parts) == 1 and cell_width(parts[0]) < cell - _FACT_LABEL
        x = cell * len(last) // 2
        if is_short and 0 < x < cell * count:
            last += [(x, label, HEADING), (x + _FACT_LABEL, parts[0], style)]
            continue
        for part in parts:
            lines.append([(0, label, HEADING), (_FACT_LABEL, part, style)])
            label = ''
        if is_short:
            last = lines[-1]
    return lines


def _facts(rows: Sequence[GpuRow], width: int) -> Iterator[tuple[str, list[str], Style]]:
    row, *parts = rows
    for text, advice, style in row.troubles or (('none', '', PLAIN),):
        lines = fmt.advice_lines(advice, width, before=f'{text} · ')
        yield 'PROBLEM', lines or wrap(text, width), style
    has_few = row.device.key.is_mig or row.device.status != 'ok'
    for label, text_of in FACTS:
        text = text_of(row.device)
        if text != fmt.NOT_AVAILABLE or not has_few:
            yield label, wrap(text, width), PLAIN
    for part in parts:
        uuid = safe(part.device.info.uuid or fmt.NOT_AVAILABLE)
        yield part.device.key.label, wrap(f'{part.name} {uuid}', width), PLAIN
