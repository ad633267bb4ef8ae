# SPDX-License-Identifier: GPL-3.0-only
"""Draws the fleet screens. Pure: the same state is always the same frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Sequence

from nvitop.fleet.lists import (
    VIEWS,
    age_look,
    age_text,
    counted,
    no_hosts,
    totals_texts,
)
from nvitop.fleet.types import LATE_SECONDS, FleetGpu, FleetHost
from nvitop.gui.fleet.state import (
    HEAT_METRICS,
    ORDERS_BY_NAME,
    fleet_of,
    lay_out_heat_map,
    selected_host,
)
from nvitop.gui.layout.screens import ListLayout
from nvitop.gui.model.choices import Screen
from nvitop.gui.model.format import format_timestamp
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import DIM, ERROR, IDLE, PLAIN, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, fit, pad, safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.navigation import lines_layout
from nvitop.gui.view.hints import draw_lines, draw_screen_title, title_hints
from nvitop.gui.view.text import draw_bar_row, draw_message, draw_text
from nvitop.sampling.history import History

if TYPE_CHECKING:
    from nvitop.fleet.lists import ListColumn
    from nvitop.fleet.types import FaultSeverity

_SELECTED = Style(Role.SELECTED)
#: Up to 7/8 of the cell, so that rows do not touch each other.
_HEIGHTS = '▁▂▃▄▅▆▇'
_DIGITS = '0123456789'
#: Temperature (°C) and power (W) at which the heat map shows 100 %.
_FULL_HEAT = {'temperature': 100.0, 'power': 700.0}
#: Maximum number of glyphs of a host in the list.
_MAX_GLYPHS = 16
_MAX_NAME = 28
_HELD = WARNING
#: Sums that a narrow screen leaves out, the first one first.
_LEFT_OUT = ('power', 'age', 'memory', 'utilization', 'critical', 'gpus', 'hosts')
#: Columns besides host, GPUs and problems, the most important one first → minimum width that the
#: problems keep next to it.
_LEAST_PROBLEMS = {
    **dict.fromkeys(('free_gpus', 'held_gpus'), 10),
    **dict.fromkeys(('users', 'utilization_percent'), 14),
    **dict.fromkeys(('temperature_celsius', 'age_seconds', 'gpus'), 20),
    **dict.fromkeys(('memory_used_bytes', 'power_watts'), 20),
}
#: Maximum number of hosts with old data that are listed.
_MAX_OLD = 50
_LOOKS = {'good': IDLE, 'warning': WARNING, 'critical': ERROR, 'dim': DIM}


def _draw_frame(buf: Buffer, state: AppState, headings: str) -> ListLayout:
    """Draw the rows above and below the lines; return the places of the lines."""
    layout = lines_layout(state)
    where = ''
    if layout.length > layout.area.height > 0:
        where = f'{layout.shown.start + 1}–{layout.shown.stop} of {layout.length:,}'
    clock = format_timestamp(state.timestamp).split()[3] if state.timestamp else ''
    hint = title_hints(state) or ((clock, DIM),)
    titles = (f'FLEET  {safe(fleet_of(state).server)}', 'FLEET')
    draw_screen_title(buf, state, titles, ((where,) if where else (),), hint)
    _draw_totals(buf, state)
    draw_bar_row(buf, 2, clip(f' {headings}', buf.width))
    trouble = trouble_of(state)
    if trouble:
        error, since = fleet_of(state).error, fleet_of(state).error_since
        seconds = max(0.0, state.timestamp - since)
        text = f'{trouble} (since {age_text(seconds)})' if error and seconds >= 1 else trouble
        style = ERROR if error else WARNING
        y = buf.height - 1
        buf.write(0, y, pad(clip(f' {text}', buf.width), buf.width), style)
    return layout


def trouble_of(state: AppState) -> str:
    """Return the line below the others: the error, or the warnings of the server."""
    if state.screen in (Screen.PROBLEMS, Screen.HELP):  # problems are listed there anyway
        return ''
    return fleet_of(state).error or '; '.join(fleet_of(state).fleet.warnings)


def _draw_totals(buf: Buffer, state: AppState) -> None:
    fleet = fleet_of(state)
    sums, now = fleet.sums, _now(state)
    if not fleet.fleet.timestamp:
        return
    shown = sums
    if sums.age is not None:
        shown = sums._replace(age=sums.age + max(0.0, now - fleet.fleet.timestamp))
    parts = totals_texts(shown, fleet.everything)
    for name in _LEFT_OUT:
        if cell_width('  '.join(parts.values())) < buf.width:
            break
        if name == 'critical':
            parts['problems'] = parts['problems'].partition(' (')[0]
        else:
            parts.pop(name)
    styles = {
        'gone': WARNING,
        'hidden': WARNING,
        'free': IDLE if sums.free else PLAIN,
        'held': _HELD if sums.held else PLAIN,
        'problems': _style_of('critical' if sums.critical else 'warning')
        if sums.problems
        else PLAIN,
        'age': _LOOKS.get(age_look(shown.age), PLAIN),
    }
    x = 1
    for name, text in parts.items():
        x += draw_text(buf, x, 1, text, styles.get(name, PLAIN)) + 2


def _now(state: AppState) -> float:
    """Return the time that ages refer to."""
    if state.frozen is not None:
        return state.frozen.sample.timestamp
    return max(state.timestamp, fleet_of(state).fleet.timestamp)


# Hosts


def _columns(state: AppState) -> list[ListColumn]:
    """Return the columns that fit; problems have the width that the others leave."""
    hosts = fleet_of(state).rows or fleet_of(state).fleet.hosts
    widest = max((cell_width(host.name) for host in hosts), default=4)
    shown = {column.name: column for column in VIEWS['hosts'].columns if column.title}
    host, findings = shown.pop('host'), shown.pop('findings')
    host = host._replace(width=max(4, min(_MAX_NAME, widest, state.width // 3)))
    room = state.width - host.width - _glyph_width(state) - 4
    fitting = set()
    for name, least in _LEAST_PROBLEMS.items():
        if room - shown[name].width - 1 >= least:
            room -= shown[name].width + 1
            fitting.add(name)
    others = [column for name, column in shown.items() if name in fitting]
    return [host, *others, findings._replace(width=max(0, room))]


def _glyph_width(state: AppState) -> int:
    """Return the cells of the glyphs of all GPUs of a host, after its name."""
    hosts = fleet_of(state).rows or fleet_of(state).fleet.hosts
    return max(3, min(_MAX_GLYPHS, max((len(host.gpus) for host in hosts), default=1)))


def draw_hosts(buf: Buffer, state: AppState, _: History) -> None:
    """Draw the list of hosts."""
    fleet, columns, glyphs = fleet_of(state), _columns(state), _glyph_width(state)
    titles = []
    for column in columns:
        arrow = ''
        if column.name == fleet.order and column.width > len(column.title):
            is_down = ORDERS_BY_NAME[fleet.order].is_descending != fleet.is_reversed
            arrow = '▼' if is_down else '▲'
        titles.append(fit(f'{column.title}{arrow}', column.width, column.align, ''))
    titles.insert(1, fit('PER GPU' if glyphs >= 7 else 'GPU', glyphs))
    layout = _draw_frame(buf, state, ' '.join(titles))
    if not fleet.rows:
        _draw_no_hosts(buf, state, layout.area)
    cursor, now, heights = selected_host(state), _now(state), _heights(state)
    for line in layout.shown:
        y, host = layout.row_of(line), fleet.rows[line]
        is_current = line == cursor
        if is_current:
            buf.write(0, y, ' ' * buf.width, _SELECTED)
        x = 1
        for column in columns:
            if host.is_gone and column.name not in ('host', 'age_seconds', 'findings'):
                text = ''
            elif column.name == 'findings':
                text = findings_text(host, column.width)
            else:
                text = column.shown(host, now)
            style = _SELECTED if is_current else _style(column, host, now)
            if text:
                draw_text(buf, x, y, fit(text, column.width, column.align), style)
            x += column.width + 1
            if column.name == 'host':
                _draw_gpus(buf, x, y, host.gpus[:glyphs], heights)
                x += glyphs + 1


def _style(column: ListColumn, host: FleetHost, now: float) -> Style:
    if column.name == 'host' and host.is_gone:
        return DIM
    look = column.look(host, now)
    if look == 'heat':
        return _heat(host.utilization_percent)
    return _LOOKS.get(look, PLAIN)


def _draw_no_hosts(buf: Buffer, state: AppState, area: Rect) -> None:
    fleet = fleet_of(state)
    if not fleet.fleet.timestamp:
        text = 'Waiting for the first answer ...' if not fleet.error else ''
    elif fleet.fleet.hosts or state.query:
        text = 'No host matches the filter'
    else:
        text = no_hosts(fleet.scope)
        text = f'{text[0].upper()}{text[1:]}'
    draw_message(buf, area, text, DIM)


def findings_text(host: FleetHost, width: int) -> str:
    """Return the findings that fit, and the number of the others: ``'GPU 3 lost +2'``."""
    texts = [problem.text for problem in host.problems]
    for count in range(len(texts), 1, -1):
        text = ', '.join(texts[:count]) + (f' +{len(texts) - count}' if len(texts) > count else '')
        if cell_width(text) <= width:
            return text
    if len(texts) < 2:
        return ''.join(texts)
    rest = f' +{len(texts) - 1}'
    return clip(texts[0], max(0, width - len(rest))) + rest


def _draw_gpus(buf: Buffer, x: int, y: int, gpus: tuple[FleetGpu, ...], heights: str) -> None:
    """Draw one glyph for each GPU; neighbors with the same style are one write."""
    run, look = '', PLAIN
    for gpu in gpus:
        glyph, own = _glyph(gpu, heights)
        if run and own != look:
            x += buf.write(x, y, run, look)
            run = ''
        run, look = run + glyph, own
    if run:
        buf.write(x, y, run, look)


def _glyph(gpu: FleetGpu, heights: str) -> tuple[str, Style]:
    if gpu.findings:
        return '!', _style_of(gpu.severity)
    percent = gpu.utilization_percent
    if percent is None:
        return 'z' if gpu.state == 'asleep' else '·', DIM
    if gpu.state == 'held':
        return heights[0], WARNING
    return height_of(percent, heights), _heat(percent)


def _style_of(severity: FaultSeverity | None) -> Style:
    return ERROR if severity == 'critical' else WARNING


def _heat(percent: float | None) -> Style:
    """Return the color of a percentage. Red is for things that are wrong."""
    return DIM if percent is None else Style(Role.UTILIZATION)


def height_of(percent: float, heights: str = _HEIGHTS) -> str:
    """Return the glyph of a percentage."""
    count = len(heights)
    return heights[max(0, min(count - 1, int(percent * count / 100)))]


def _heights(state: AppState) -> str:
    return _DIGITS if state.view.ascii else _HEIGHTS


# Other screens


def draw_heat_map(buf: Buffer, state: AppState, _: History) -> None:
    """Draw the heat map: one block per GPU."""
    fleet = fleet_of(state)
    title = HEAT_METRICS[fleet.metric]
    layout = _draw_frame(buf, state, f'{title[0].upper()}{title[1:]}: one block per GPU')
    hosts = fleet.matching.hosts
    if not hosts:
        _draw_no_hosts(buf, state, layout.area)
        return
    heat, heights = lay_out_heat_map(state), _heights(state)
    for line in layout.shown:
        y = layout.row_of(line)
        for column in range(heat.columns):
            place = line * heat.columns + column
            if place >= len(hosts):
                break
            host, x = hosts[place], 1 + column * heat.stride
            is_old = age_look(host.age(_now(state))) in ('warning', 'critical')
            name = fit(host.name, heat.name_width)
            style = DIM if host.is_gone or is_old else PLAIN
            buf.write(x, y, name, _SELECTED if host.name == fleet.selected else style)
            x += heat.name_width + 1
            for number, gpu in enumerate(host.gpus[: heat.gpus]):
                glyph, style = _heat_glyph(gpu, fleet.metric, heights)
                if gpu.state == 'held' and not gpu.findings:
                    style = _HELD
                buf.write(x + number, y, glyph, style)


def _heat_glyph(gpu: FleetGpu, metric: str, heights: str) -> tuple[str, Style]:
    if gpu.findings or gpu.state == 'asleep' or metric == 'utilization':
        return _glyph(gpu, heights)
    if metric == 'memory':
        percent = gpu.memory_percent
    else:
        value = gpu.temperature_celsius if metric == 'temperature' else gpu.power_watts
        percent = None if value is None else 100.0 * value / _FULL_HEAT[metric]
    if percent is None:
        return '·', DIM
    return height_of(percent, heights), _heat(percent)


def draw_users_of_fleet(buf: Buffer, state: AppState, _: History) -> None:
    """Draw the users over all hosts."""
    _draw_table(buf, state, 'users', fleet_of(state).users)


def draw_jobs(buf: Buffer, state: AppState, _: History) -> None:
    """Draw the jobs, pods and others over all hosts."""
    _draw_table(buf, state, 'jobs', fleet_of(state).jobs)


def _draw_table(buf: Buffer, state: AppState, name: str, rows: Sequence[object]) -> None:
    """Draw a list, or why it is empty."""
    view, now = VIEWS[name], _now(state)
    first, *others = [column for column in view.columns if column.title]
    width = max(12, min(40, max((cell_width(first.shown(row, now)) for row in rows), default=0)))
    columns = [first._replace(width=width), *others]
    headings = ' '.join(fit(column.title, column.width, column.align) for column in columns)
    layout = _draw_frame(buf, state, headings)
    if not rows:
        waiting = '' if fleet_of(state).error else 'Waiting for the hosts ...'
        text = 'Nothing matches the filter' if state.query else view.empty
        text = text if fleet_of(state).fleet.timestamp else waiting
        draw_message(buf, layout.area, text, DIM)

    def text_of(line: int) -> tuple[str, Style]:
        cells = [
            fit(column.shown(rows[line], now), column.width, column.align) for column in columns
        ]
        return ' ' + ' '.join(cells), PLAIN

    draw_lines(buf, state, text_of)


def draw_problems_of_fleet(buf: Buffer, state: AppState, _: History) -> None:
    """Draw what is wrong, and what is known about the server and the exporters."""
    lines = problem_texts(state)
    _draw_frame(buf, state, 'Problems')
    draw_lines(buf, state, lambda line: lines[line][:2])


class ProblemText(NamedTuple):
    """A line of the problems screen."""

    text: str
    style: Style = PLAIN
    #: Name of the host that it is about.
    host: str = ''


#: Kind of host → where its values come from.
_WAYS = {
    'own': 'with nvitop exporter',
    'dcgm': 'with dcgm-exporter',
    'ssh': 'with nvitop over ssh',
    'nvidia-smi': 'with nvidia-smi over ssh: fewer values',
}


def problem_texts(state: AppState) -> list[ProblemText]:
    """Return lines about everything that is wrong, old data, the server, and the exporters."""
    fleet, now = fleet_of(state).fleet, state.timestamp
    lines = [
        ProblemText(
            f'  {problem.host}: {problem.text}', _style_of(problem.finding.severity), problem.host
        )
        for problem in fleet.problems
    ]
    lines = lines or [ProblemText('  nothing wrong is known', DIM)]
    silent = sum(host.kind == 'dcgm' and not host.is_gone for host in fleet.hosts)
    if silent:
        text = f'  {counted(silent, "host")} without "nvitop exporter": few findings are reported'
        lines.append(ProblemText(text, DIM))
    lines += [ProblemText(''), ProblemText(' Age of data', TITLE)]
    old = [_age_line(host, now) for host in fleet.hosts]
    shown = [line for line in old if line is not None]
    known = 'up to date' if fleet.hosts else 'unknown'
    lines += shown[:_MAX_OLD] or [ProblemText(f'  {known}', DIM)]
    if len(shown) > _MAX_OLD:
        lines.append(ProblemText(f'  and {len(shown) - _MAX_OLD:,} more'))
    return [*lines, *_server_texts(state)]


def _server_texts(state: AppState) -> list[ProblemText]:
    """Return lines about the server and the exporters."""
    state_of_fleet = fleet_of(state)
    fleet, error = state_of_fleet.fleet, state_of_fleet.error
    size = f', {fleet.size_bytes / 1e6:.2f} MB' if fleet.size_bytes else ''
    last = f'last request: {fleet.seconds:.2f} s{size}; one every {state_of_fleet.period:.0f} s'
    kinds = [host.kind for host in fleet.hosts if not host.is_gone]
    hosts = [
        ProblemText(f'  {counted(kinds.count(kind), "host")} {way}')
        for kind, way in _WAYS.items()
        if kind in kinds
    ]
    return [
        ProblemText(''),
        ProblemText(' Server', TITLE),
        ProblemText(f'  {state_of_fleet.server}'),
        ProblemText(f'  {last if fleet.timestamp else "no answer yet"}'),
        *([ProblemText(f'  {error}', ERROR)] if error else []),
        *(ProblemText(f'  warning: {text}', WARNING) for text in fleet.warnings),
        ProblemText(''),
        ProblemText(' Hosts', TITLE),
        *(hosts or [ProblemText('  none found', DIM)]),
    ]


def _age_line(host: FleetHost, now: float) -> ProblemText | None:
    age = host.age(now)
    if host.is_gone:
        since = '' if age is None else f' for {age_text(age)}'
        return ProblemText(f'  {host.name}: no values{since}', WARNING, host.name)
    if age is None or age < LATE_SECONDS:
        return None
    return ProblemText(f'  {host.name}: {age_text(age)} old', WARNING, host.name)
