# SPDX-License-Identifier: GPL-3.0-only
"""The columns of devices, of their details and the facts on the page of a GPU: each in one row of a table.

All columns of devices, which no screen is wide enough for::

     GPU  NAME      TEMP   FAN  PERF      POWER     CLOCK  MEM                         UTIL             STATE     USER
       0! H100 PCIe 91°C   80%  P0    608/700 W  1005 MHz  ■■■■■■■■·· 86%  68.6/79.6G  ■■■■■■■■■· 89%  busy HOT  ann slurm 42
       1  H100 PCIe 30°C   30%  P8     71/700 W   210 MHz  ·········· 0%    0.0/79.6G  ··········  0%  idle
     1:0   1g.10gb                                         ■■■······· 31%   3.1/ 9.8G                  held 1h   bob +1
       2! H100 PCIe  GPU is lost
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, Sequence, Tuple

from nvitop.basics.units import GiB
from nvitop.gui.model import format as fmt
from nvitop.gui.model.choices import ViewState, load_style
from nvitop.gui.model.table import Column
from nvitop.gui.render.style import DIM, ERROR, IDLE, OWN, PLAIN, WARNING, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.health import DeviceState, Finding, is_wrong
from nvitop.sampling.types import DeviceSample

#: Pieces of text, and the percentages of their colors.
Sparkline = Tuple[Tuple[str, Optional[float]], ...]
#: Pieces of the text of a cell with their styles.
Pieces = Sequence[Tuple[str, Style]]


#: What a device is doing that has processes, but isn't busy.
_IN_USE = 'in use'
#: What marks that need an explanation mean, where there is room.
_MEANINGS = {'LAG': 'slow reply', 'ODD': 'odd values', 'ERR': 'unreadable'}


class RowState(NamedTuple):
    """Marks of a row, its selection, and its sparkline."""

    #: The most severe finding about the device.
    finding: Finding | None = None
    state: DeviceState = DeviceState('unknown')
    #: The user with the most memory, safe to draw; the job, pod or container of this memory; and the
    #: number of other users.
    user: str = ''
    job: str = ''
    other_users: int = 0
    #: Whether the user of the monitor is this user.
    is_own: bool = False
    #: Whether the user has only claimed the device, which is free; ``job`` is for how long.
    is_claimed: bool = False
    #: Whether the device is selected, and whether the selected process runs on it.
    is_selected: bool = False
    is_marked: bool = False
    #: The last minutes.
    sparkline: Sparkline = ()

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong with the device."""
        return self.finding is not None and is_wrong(self.finding)

    @property
    def marks(self) -> tuple[str, ...]:
        """The mark of the finding, the longest form first: ``('slow reply', 'LAG')``."""
        if self.finding is None:
            return ()
        mark = self.finding.mark
        return (_MEANINGS[mark], mark) if mark in _MEANINGS else (mark,)

    @property
    def mark_style(self) -> Style:
        """Style of the mark of the finding."""
        if self.finding is None or not self.is_wrong:
            return PLAIN
        return ERROR if self.finding.severity == 'critical' else WARNING

    @property
    def word(self) -> str:
        """What the device is doing: ``'free'``, ``'held 1h'``; ``''`` if this is not known."""
        word, seconds = self.state
        if word == 'unknown':
            return ''
        if self.is_claimed:
            return 'claimed'
        return word if seconds is None else f'{word} {fmt.format_idle_time(seconds)}'

    @property
    def word_style(self) -> Style:
        """Style of what the device is doing."""
        if self.is_claimed:
            return PLAIN
        return {'free': IDLE, 'held': WARNING, 'asleep': DIM}.get(self.state.word, PLAIN)

    def problem(self, room: int) -> str:
        """Return what is wrong and what to do, in words that fit; ``''`` if nothing is wrong."""
        if self.finding is None or not self.is_wrong:
            return ''
        words, evidence, action = self.finding.words, self.finding.evidence, self.finding.action
        causes = (f'{words}: {evidence}' if evidence else words, words)
        advice = (action, action.partition('. ')[0]) if action else ('',)
        forms = [f'{cause}. {text}' if text else cause for text in advice for cause in causes]
        return next(
            (safe(form) for form in forms if cell_width(safe(form)) <= room), safe(forms[0])
        )

    def advice(self, room: int) -> str:
        """Return what to do, or its first sentence, after a separator; ``''`` if there is no room."""
        action = '' if self.finding is None else self.finding.action
        forms = (f' · {text}' for text in (action, action.partition('. ')[0]) if text)
        return next((form for form in forms if cell_width(form) <= room), '')


def why_silent(device: DeviceSample, *, has_name: bool = False) -> tuple[str, ...]:
    """Return why a device has no values; for one that sleeps in several forms, the longest first.

    The first forms have the name of such a device if wanted.
    """
    reason = safe(device.reason or device.status)
    if device.status == 'not permitted':
        reason = f'{device.status}: {reason}'
    if device.status != 'asleep':
        return (reason,)
    reasons = (reason, *(reason.partition(end)[0] for end in (';', ',', ' (')))
    name = device.info.name
    if not has_name or name is None:
        return reasons
    return (*(f'{fmt.product_name(name)}: {text}' for text in reasons), *reasons)


class MeasuredRow(NamedTuple):
    """Everything the text of a cell depends on, except its width."""

    device: DeviceSample
    state: RowState
    view: ViewState
    #: Style of ordinary text in this row.
    style: Style

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong with the device, or it does not respond."""
        return self.device.is_failing or self.state.is_wrong


class DetailRow(NamedTuple):
    """Everything the text of a detail depends on, except its width."""

    device: DeviceSample
    #: Metric of traffic → its highest value, which chooses the unit of all of them.
    highest: dict[str, int]
    style: Style

    @property
    def is_wrong(self) -> bool:
        """Whether the device does not respond."""
        return self.device.is_failing


class DeviceColumn(NamedTuple):
    """A column of the device panel with one row for each device."""

    name: str
    title: str
    #: One line of help.
    help: str
    #: Makes the text for a row and the width of the column.
    text: Callable[[MeasuredRow, int], Pieces]
    #: Widths, from narrow to wide, and the turn of each: room is given in turns, the lowest first, and
    #: a width that does not fit is skipped. Widths of turns below :data:`ALWAYS` are always given.
    steps: tuple[tuple[int, int], ...]
    #: Metrics: the column is shown if any GPU has one of them. Without metrics it is always shown.
    metrics: tuple[str, ...] = ()
    #: Whether it is shown only if GPUs differ in the first of these metrics.
    if_different: bool = False
    #: Whether it is left out while the table of details shows it.
    is_detail: bool = False
    #: Whether MIG devices have a value.
    of_mig: bool = False
    #: Returns the percentage of a bar and its thresholds; the bar is drawn instead of a text.
    bar: Callable[[MeasuredRow], tuple[float | None, tuple[int, int]]] | None = None
    align: str = '>'
    #: Empty cells before the column.
    gap: int = 2


#: Width of a user with a job, also a long one, and cells of a job and the gap before it, from which it
#: is shown.
USER_WITH_JOB, WIDE_JOB, _LEAST_JOB = 16, 35, 6
#: The first turn that needs room.
ALWAYS = 50
#: Widths of a power draw in watts and of a memory in GiB, and of two of them with their unit. Layout
#: adds the digits of larger numbers.
POWER_WIDTH, BOTH_POWERS = len('700'), len('608/700 W')
MEMORY_WIDTH, BOTH_MEMORIES = len('79.6'), len('68.6/79.6G')
#: Cells of the sparkline of five minutes.
_FIVE_MINUTES = 15


def _index(row: MeasuredRow | DetailRow, _: int) -> Pieces:
    return ((row.device.key.label, ERROR if row.is_wrong else row.style),)


def _name(row: MeasuredRow, width: int) -> Pieces:
    style = ERROR if row.device.is_failing else row.style
    return ((fmt.format_device_name(row.device.info.name, width), style),)


def _temperature(row: MeasuredRow, width: int) -> Pieces:
    text = fmt.format_temperature(row.device.temperature_celsius, width)
    finding = row.state.finding
    style = ERROR if finding is not None and finding.mark == 'HOT' else row.style
    return ((text, style),)


def _power(row: MeasuredRow, width: int) -> Pieces:
    usage, limit = row.device.power_usage_mw, row.device.power_limit_mw
    if usage is None:
        return ((fmt.NOT_AVAILABLE, row.style),)
    text = f'{usage / 1000:.0f}'
    bound = f'/{limit / 1000:.0f} W' if limit else ''
    if not bound or len(text) + len(bound) > width:
        return ((f'{text} W', row.style),)
    return ((text, row.style), (bound, DIM))


def _memory(row: MeasuredRow, width: int) -> Pieces:
    used, total = row.device.memory_used_bytes, row.device.info.memory_total_bytes
    if used is None:
        return ((fmt.NOT_AVAILABLE, row.style),)
    bound = '' if total is None else f'/{total / GiB:.1f}G'
    text = f'{used / GiB:.1f}'
    if not bound or len(text) + len(bound) > width:
        return ((f'{text}G', row.style),)
    return ((text, row.style), (bound, DIM))


def _clock(row: MeasuredRow, width: int) -> Pieces:
    clock = row.device.sm_clock_mhz
    if clock is None:
        return ((fmt.NOT_AVAILABLE, row.style),)
    text = f'{clock:.0f} MHz'
    return ((text if len(text) <= width else f'{clock:.0f}', row.style),)


def _state(row: MeasuredRow, width: int) -> Pieces:
    state = row.state
    if state.finding is None or (not state.is_wrong and state.state.word not in ('busy', _IN_USE)):
        fits = state.is_claimed or len(state.word) <= width
        brief = 'used' if state.word == _IN_USE else state.state.word
        word = state.word if fits else brief
        return ((clip(word, width, ''), state.word_style),)
    mark = next((m for m in state.marks if len(state.word) + 1 + len(m) <= width), '')
    if not mark:
        return ((clip(state.finding.mark, width, ''), state.mark_style),)
    return ((f'{state.word} '.lstrip(), state.word_style), (mark, state.mark_style))


def _user(row: MeasuredRow, width: int) -> Pieces:
    state = row.state
    others = f' +{state.other_users}' if state.other_users else ''
    name = clip(state.user, width - len(others), '+')
    room = width - cell_width(name) - len(others)
    has_room = room > (len(state.job) if state.is_claimed else _LEAST_JOB)
    job = f' {clip(state.job, room - 1)}' if state.job and has_room else ''
    style = OWN if state.is_own else row.style
    return ((name, style), (others, row.style), (job, DIM))


def _sparkline(row: MeasuredRow, _: int) -> Pieces:
    thresholds = row.view.thresholds.gpu
    return [
        (text, load_style(percent, thresholds, row.view)) for text, percent in row.state.sparkline
    ]


def _plain(
    text_of: Callable[[DeviceSample], str],
) -> Callable[[MeasuredRow | DetailRow, int], Pieces]:
    return lambda row, _: ((text_of(row.device), row.style),)


# fmt: off
#: Columns of devices, from left to right.
DEVICE_COLUMNS: tuple[DeviceColumn, ...] = (
    DeviceColumn('index', 'GPU', 'GPU index (GPU:MIG)', _index, ((10, 4),), of_mig=True),
    DeviceColumn('mark', '', '`!` if something is wrong with it', lambda row, _: (('!', ERROR),) if row.is_wrong else (), ((20, 1),), of_mig=True, align='<', gap=0),
    DeviceColumn('name', 'NAME', 'product name, if there are different ones', _name, ((115, 0),),
                 ('name',), if_different=True, align='<'),
    DeviceColumn('temperature', 'TEMP', 'temperature of the GPU', _temperature, ((60, 4),), ('temperature',)),
    DeviceColumn('memory_temperature', 'MEM TEMP', 'temperature of the memory',
                 _plain(lambda device: fmt.format_measured('°C', device.memory_temperature_celsius)), ((245, 8),),
                 ('memory_temperature',), is_detail=True),
    DeviceColumn('fan', 'FAN', 'fan speed; MAX from 100 % on',
                 _plain(lambda device: fmt.format_short_percent(device.fan_speed_percent)), ((220, 4),), ('fan_speed',)),
    DeviceColumn('performance', 'PERF', 'performance state',
                 _plain(lambda device: clip(fmt.format_word(device.performance_state), 4, '+')), ((250, 4),),
                 ('performance_state',), if_different=True, align='<'),
    DeviceColumn('power', 'POWER', 'power draw and limit', _power,
                 ((80, POWER_WIDTH + 2), (100, BOTH_POWERS)), ('power_usage',)),
    DeviceColumn('clock', 'CLOCK', 'SM clock', _clock, ((200, 8),), ('sm_clock',)),
    DeviceColumn('memory_clock', 'MEM CLK', 'memory clock',
                 _plain(lambda device: fmt.format_measured('MHz', device.memory_clock_mhz)), ((240, 8),),
                 ('memory_clock',), if_different=True),
    DeviceColumn('memory_bar', 'MEM', 'used memory in percent; with enough room also used and installed memory', lambda *_: (),
                 ((45, 3), (90, 6), (138, 8), (140, 10), (180, 14), (230, 18), (280, 24)), of_mig=True, bar=lambda row: (row.device.memory_percent, row.view.thresholds.memory), align='<'),
    DeviceColumn('memory_percent', '', 'used memory in percent',
                 _plain(lambda device: fmt.format_share(device.memory_percent)), ((30, 4),), of_mig=True, gap=1),
    DeviceColumn('memory', '', 'used memory, and all memory', _memory,
                 ((131, MEMORY_WIDTH + 1), (132, BOTH_MEMORIES)), of_mig=True),
    DeviceColumn('bandwidth', 'MBW', 'share of time in which memory was read or written',
                 _plain(lambda device: fmt.format_share(device.memory_utilization_percent)), ((235, 4),), ('memory_utilization',)),
    DeviceColumn('utilization_bar', 'UTIL', 'share of time in which a kernel ran', lambda *_: (),
                 ((45, 3), (90, 6), (138, 8), (140, 10), (180, 14), (230, 18), (280, 24)), of_mig=True, bar=lambda row: (row.device.gpu_utilization_percent, row.view.thresholds.gpu), align='<'),
    DeviceColumn('utilization_percent', '', 'share of time in which a kernel ran, in percent',
                 _plain(lambda device: fmt.format_share(device.gpu_utilization_percent)), ((40, 4),), of_mig=True, gap=1),
    DeviceColumn('sparkline', 'UTIL 5m', 'utilization in the last minutes, the oldest at the left', _sparkline,
                 ((127, 6), (136, 9), (170, _FIVE_MINUTES), (225, 2 * _FIVE_MINUTES), (290, 3 * _FIVE_MINUTES), (320, 5 * _FIVE_MINUTES)),
                 align='<'),
    DeviceColumn('encoder', 'ENC', 'utilization of the video encoder',
                 _plain(lambda device: fmt.format_share(device.encoder_utilization_percent)), ((260, 4),),
                 ('encoder_utilization',), is_detail=True),
    DeviceColumn('decoder', 'DEC', 'utilization of the video decoder',
                 _plain(lambda device: fmt.format_share(device.decoder_utilization_percent)), ((270, 4),),
                 ('decoder_utilization',), is_detail=True),
    DeviceColumn('pcie_rx', 'PCIe RX', 'PCIe traffic to the GPU',
                 _plain(lambda device: fmt.format_rate(device.pcie_rx_throughput_kib_per_s)), ((300, 10),),
                 ('pcie_rx_throughput',), is_detail=True),
    DeviceColumn('pcie_tx', 'PCIe TX', 'PCIe traffic from the GPU',
                 _plain(lambda device: fmt.format_rate(device.pcie_tx_throughput_kib_per_s)), ((310, 10),),
                 ('pcie_tx_throughput',), is_detail=True),
    DeviceColumn('state', 'STATE', '`free`, `claimed` (free, but claimed with `nvitop run`), `busy`, `in use` (by processes, but its utilization is below 5 % now or not measured) or `held` (memory of processes, but no kernel for 10 minutes), and what is wrong or limits it (`HOT`, `PWR`)', _state,
                 ((55, 5), (95, 8), (128, len('busy REMAP')), (215, 15)), of_mig=True, align='<'),
    DeviceColumn('user', 'USER', 'the user with the most memory, the number of others, and the job, pod or container', _user,
                 ((57, 7), (58, 8), (105, 9), (125, USER_WITH_JOB), (129, 27), (134, WIDE_JOB)), of_mig=True, align='<'),
)
# fmt: on

#: Metrics of traffic, which have one unit for all devices.
RATES = (
    'pcie_rx_throughput',
    'pcie_tx_throughput',
    'nvlink_total_rx_throughput',
    'nvlink_total_tx_throughput',
)
#: Parts of the names of clock reasons that deserve a warning.
_ALARMING = ('slowdown', 'brake', 'reliability')


def _link(row: DetailRow, width: int) -> Pieces:
    device, info = row.device, row.device.info
    now = fmt.format_pcie_link(device.pcie_link_generation, device.pcie_link_width)
    most = fmt.format_pcie_link(info.max_pcie_link_generation, info.max_pcie_link_width)
    style = WARNING if device.pcie_link_down_trained else row.style
    if most in (now, fmt.NOT_AVAILABLE) or len(now) + len(most) + 1 > width:
        return ((now, style),)
    return ((f'{now}/{most}', style),)


def _rate(metric: str) -> Callable[[DetailRow, int], Pieces]:
    def pieces(row: DetailRow, _: int) -> Pieces:
        rate = getattr(row.device, f'{metric}_kib_per_s')
        return ((fmt.format_rate_like(rate, row.highest[metric]), row.style),)

    return pieces


def _memory_temperature(row: DetailRow, _: int) -> Pieces:
    celsius = row.device.memory_temperature_celsius
    if celsius is None and row.device.info.is_unified_memory:
        return (('host', row.style),)
    return ((fmt.format_measured('°C', celsius), row.style),)


def _reasons(row: DetailRow, width: int) -> Pieces:
    reasons = row.device.clock_event_reasons
    if reasons is None:
        return ((fmt.NOT_AVAILABLE, row.style),)
    if not reasons:
        return (('none', DIM),)
    is_alarming = any(word in reason for reason in reasons for word in _ALARMING)
    text = fmt.format_reasons(reasons)
    text = text if len(text) <= width else fmt.format_brief_reasons(reasons)
    return ((text, WARNING if is_alarming else row.style),)


# fmt: off
#: Columns of details. Text: pieces for a :class:`DetailRow` and the width of the column.
DETAIL_COLUMNS: tuple[Column, ...] = (
    Column('index', 'GPU', (4,), 'index of the GPU', _index, gap=0),
    Column('link', 'LINK', (8,), 'PCIe generation and lanes; if they are lower than possible, also the highest ones', _link,
           align='<', gap=2, rank=2, metrics=('pcie_link_generation', 'pcie_link_width', 'pcie_link_down_trained')),
    Column('pcie_rx', 'PCIe RX', (10,), 'PCIe traffic to the GPU', _rate('pcie_rx_throughput'),
           gap=2, rank=3, metrics=('pcie_rx_throughput',)),
    Column('pcie_tx', 'PCIe TX', (10,), 'PCIe traffic from the GPU', _rate('pcie_tx_throughput'),
           rank=4, metrics=('pcie_tx_throughput',)),
    Column('nvlink_rx', 'NVLink RX', (11,), 'NVLink traffic to the GPU', _rate('nvlink_total_rx_throughput'),
           gap=2, rank=5, metrics=('nvlink_total_rx_throughput',)),
    Column('nvlink_tx', 'NVLink TX', (11,), 'NVLink traffic from the GPU', _rate('nvlink_total_tx_throughput'),
           rank=6, metrics=('nvlink_total_tx_throughput',)),
    Column('encoder', 'ENC', (4,), 'utilization of the video encoder',
           _plain(lambda device: fmt.format_share(device.encoder_utilization_percent)),
           gap=2, rank=9, metrics=('encoder_utilization',)),
    Column('decoder', 'DEC', (4,), 'utilization of the video decoder',
           _plain(lambda device: fmt.format_share(device.decoder_utilization_percent)),
           rank=9, metrics=('decoder_utilization',)),
    Column('memory_temperature', 'MEM TEMP', (8,), 'temperature of the memory; ``host`` if it has no memory of its own', _memory_temperature,
           gap=2, rank=7, metrics=('memory_temperature',)),
    Column('energy', 'ENERGY', (9,), 'energy used since the driver was loaded',
           _plain(lambda device: fmt.format_energy(device.total_energy_joules)),
           gap=2, rank=8, metrics=('total_energy',)),
    Column('reasons', 'CLOCK LIMIT', (19, 0), 'why the clocks are low', _reasons,
           align='<', gap=2, metrics=('clock_event_reasons',)),
)
# fmt: on


class Fact(NamedTuple):
    """A label, and the text of a device."""

    label: str
    text: Callable[[DeviceSample], str]


def _listed(*parts: tuple[str, object]) -> str:
    """Return the known values, each after its words: ``slowdown 89°C, shutdown 92°C``."""
    known = [f'{words} {safe(str(value))}'.strip() for words, value in parts if value is not None]
    return ', '.join(known) or fmt.NOT_AVAILABLE


def _measured(unit: str, value: float | None) -> str | None:
    return None if value is None else fmt.format_measured(unit, value)


def _identity(device: DeviceSample) -> str:
    info = device.info
    name = info.name if info.mig_profile is None else f'MIG {info.mig_profile}'
    family = (info.architecture, info.cuda_compute_capability)
    return _listed(('', name), ('', ' '.join(filter(None, family)) or None))


def _all_links(device: DeviceSample) -> str:
    info = device.info
    now = fmt.format_pcie_link(device.pcie_link_generation, device.pcie_link_width)
    most = fmt.format_pcie_link(info.max_pcie_link_generation, info.max_pcie_link_width)
    if most not in (now, fmt.NOT_AVAILABLE):
        now += f' of {most}'
    links, down = info.nvlink_link_count, device.nvlink_down_count
    nvlinks = f'{links} NVLinks' if links else None
    return _listed(('PCIe', now), ('', nvlinks), ('NVLinks down:', down or None))


def _power_limits(device: DeviceSample) -> str:
    info = device.info
    limits = (info.min_power_limit_mw, info.max_power_limit_mw)
    ends = None if None in limits else ' to '.join(f'{(mw or 0) / 1000:.0f}' for mw in limits)
    return _listed(
        ('limit', ends and f'{ends} W'),
        ('default', _measured('W', info.default_power_limit_mw)),
    )


def _thresholds(device: DeviceSample) -> str:
    info = device.info
    return _listed(
        ('slowdown', _measured('°C', info.temperature_slowdown_threshold_celsius)),
        ('shutdown', _measured('°C', info.temperature_shutdown_threshold_celsius)),
    )


def _memory_thresholds(device: DeviceSample) -> str:
    info = device.info
    if device.memory_temperature_celsius is None and info.is_unified_memory:
        return 'that of the host'
    return _listed(
        ('', _measured('°C', device.memory_temperature_celsius)),
        ('limit', _measured('°C', info.max_memory_temperature_threshold_celsius)),
    )


def _clocks(device: DeviceSample) -> str:
    now = [_measured('MHz', clock) for clock in (device.sm_clock_mhz, device.memory_clock_mhz)]
    info = device.info
    most = [_measured('MHz', clock) for clock in (info.max_sm_clock_mhz, info.max_memory_clock_mhz)]
    texts = [part if full in (None, part) else f'{part} of {full}' for part, full in zip(now, most)]
    return _listed(*zip(('SM', 'memory'), texts))


def _ecc(device: DeviceSample) -> str:
    return _listed(
        ('uncorrected', device.total_volatile_uncorrected_ecc_errors),
        ('ever', device.total_aggregate_uncorrected_ecc_errors),
        ('corrected', device.total_volatile_corrected_ecc_errors),
    )


def _repairs(device: DeviceSample) -> str:
    rows = (device.remapped_rows_correctable, device.remapped_rows_uncorrectable)
    pages = (device.retired_pages_single_bit_ecc, device.retired_pages_double_bit_ecc)
    return _listed(
        ('remapped rows', None if None in rows else sum(count or 0 for count in rows)),
        ('retired pages', None if None in pages else sum(count or 0 for count in pages)),
        ('', 'remapping pending' if device.remapped_rows_pending else None),
        ('', 'remapping failed' if device.remapped_rows_failure else None),
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

#: The most important ones first. A short screen shows only the first ones.
FACTS: tuple[Fact, ...] = (
    Fact('NAME', _identity),
    Fact('UUID', lambda device: fmt.format_word(device.info.uuid)),
    Fact(
        'BUS ID',
        lambda device: _listed(('', device.info.bus_id), ('NUMA node', device.info.numa_node)),
    ),
    Fact('LINK', _all_links),
    Fact('POWER', _power_limits),
    Fact('TEMP', _thresholds),
    Fact('MEM TEMP', _memory_thresholds),
    Fact('CLOCKS', _clocks),
    Fact('CLOCK LIMIT', lambda device: fmt.format_reasons(device.clock_event_reasons)),
    Fact('ECC ERRORS', _ecc),
    Fact('REPAIRS', _repairs),
    Fact('ENERGY', lambda device: fmt.format_energy(device.total_energy_joules)),
    Fact(
        'CODECS',
        lambda device: _listed(
            ('encoder', _measured('%', device.encoder_utilization_percent)),
            ('decoder', _measured('%', device.decoder_utilization_percent)),
        ),
    ),
    Fact('MODES', _modes),
    Fact(
        'BOARD',
        lambda device: _listed(
            ('serial', device.info.serial), ('VBIOS', device.info.vbios_version)
        ),
    ),
)
