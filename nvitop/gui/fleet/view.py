# SPDX-License-Identifier: GPL-3.0-only
"""Draws the fleet screens. Pure: the same state is always the same frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from nvitop.fleet.output import (
    VIEWS,
    View,
    age_text,
    counted,
    memory_text,
    no_hosts,
    percent_text,
    power_text,
    problems_of,
    temperature_text,
    totals_texts,
    users_text,
)
from nvitop.fleet.queries import HEAT_METRICS
from nvitop.fleet.types import LATE_SECONDS, OLD_SECONDS, Fleet, FleetGpu, FleetHost
from nvitop.gui.fleet.state import ORDERS_BY_NAME, fleet_of, lay_out_heat_map, selected_host
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
    from nvitop.fleet.types import FaultSeverity, FleetJob, FleetUser

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
#: Columns besides host, glyphs and problems, the most important one first → minimum width that the
#: problems keep next to it.
_LEAST_PROBLEMS = {
    **dict.fromkeys(('free', 'held'), 10),
    **dict.fromkeys(('users', 'utilization'), 14),
    **dict.fromkeys(('temperature', 'age', 'gpus', 'memory', 'power'), 20),
}
#: Maximum number of hosts with old data that are listed.
_MAX_OLD = 50


class HostColumn(NamedTuple):
    """A column of the list of hosts."""

    name: str
    title: str
    width: int
    #: The text of a host at a time.
    text: Callable[[FleetHost, float], str]
    align: str = '>'
    #: The style of a host at a time.
    style: Callable[[FleetHost, float], Style] = lambda *_: PLAIN


# fmt: off
HOST_COLUMNS: tuple[HostColumn, ...] = (
    HostColumn('host', 'HOST', 4, lambda host, _: host.name, '<'),
    HostColumn('glyphs', 'GPU', 3, lambda *_: '', '<'),
    HostColumn('utilization', 'UTIL', 5, lambda host, _: percent_text(host.utilization_percent), style=lambda host, _: _heat(host.utilization_percent)),
    HostColumn('memory', 'MEMORY', 13, lambda host, _: memory_text(host.memory_used_bytes, host.memory_total_bytes)),
    HostColumn('power', 'POWER', 11, lambda host, _: power_text(host.power_watts, host.power_limit_watts)),
    HostColumn('temperature', 'TEMP', 5, lambda host, _: temperature_text(host.temperature_celsius)),
    HostColumn('free', 'FREE', 5, lambda host, _: str(host.free or ''), style=lambda *_: IDLE),
    HostColumn('held', 'HELD', 5, lambda host, _: str(host.held or ''), style=lambda *_: _HELD),
    HostColumn('gpus', 'GPUS', 4, lambda host, _: str(len(host.gpus))),
    HostColumn('age', 'AGE', 6, lambda host, now: age_text(host.age(now)), style=lambda host, now: _age_style(host.age(now))),
    HostColumn('users', 'USERS', 14, lambda host, _: users_text(host.users), '<'),
    HostColumn('findings', 'PROBLEMS', 0, lambda *_: '', '<', style=lambda host, _: _style_of(host.severity)),
)
# fmt: on


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
    return fleet_of(state).error or '; '.join(_answer(state).warnings)


def _answer(state: AppState) -> Fleet:
    """Return the answer that the screen shows."""
    fleet = fleet_of(state)
    if state.screen is Screen.HEAT_MAP:
        return fleet.gpus
    if state.screen is Screen.JOBS:
        return fleet.jobs
    return fleet.users if state.screen is Screen.USERS else fleet.fleet


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
            parts['faulty'] = parts['faulty'].partition(' (')[0]
        else:
            parts.pop(name)
    styles = {
        'gone': WARNING,
        'hidden': WARNING,
        'free': IDLE if sums.free else PLAIN,
        'held': _HELD if sums.held else PLAIN,
        'faulty': _style_of('critical' if sums.critical else 'warning') if sums.faulty else PLAIN,
        'age': _age_style(shown.age),
    }
    x = 1
    for name, text in parts.items():
        x += draw_text(buf, x, 1, text, styles.get(name, PLAIN)) + 2


def _now(state: AppState) -> float:
    """Return the time that ages refer to."""
    if state.frozen is not None:
        return state.frozen.sample.timestamp
    return max(state.timestamp, fleet_of(state).fleet.timestamp)


def _age_style(age: float | None) -> Style:
    if age is None:
        return DIM
    if age >= OLD_SECONDS:
        return ERROR
    return WARNING if age >= LATE_SECONDS else PLAIN


# Hosts


def _columns(state: AppState) -> list[HostColumn]:
    """Return the columns that fit; findings have the width that the others leave."""
    hosts = fleet_of(state).rows or fleet_of(state).fleet.hosts
    glyphs = min(_MAX_GLYPHS, max((len(host.gpus) for host in hosts), default=1))
    widest = max((cell_width(host.name) for host in hosts), default=4)
    host, gpus, *others, findings = HOST_COLUMNS
    host = host._replace(width=max(host.width, min(_MAX_NAME, widest, state.width // 3)))
    gpus = gpus._replace(
        width=max(gpus.width, glyphs), title='PER GPU' if glyphs >= 7 else gpus.title
    )
    room = state.width - host.width - gpus.width - 4
    fitting = set()
    widths = {column.name: column.width + 1 for column in others}
    for name, least in _LEAST_PROBLEMS.items():
        if room - widths[name] >= least:
            room -= widths[name]
            fitting.add(name)
    shown = [column for column in others if column.name in fitting]
    return [host, gpus, *shown, findings._replace(width=max(0, room))]


def draw_hosts(buf: Buffer, state: AppState, _: History) -> None:
    """Draw the list of hosts."""
    fleet, columns = fleet_of(state), _columns(state)
    titles = []
    for column in columns:
        arrow = ''
        if column.name == fleet.order and column.width > len(column.title):
            is_down = ORDERS_BY_NAME[fleet.order].is_descending != fleet.is_reversed
            arrow = '▼' if is_down else '▲'
        titles.append(fit(f'{column.title}{arrow}', column.width, column.align, ''))
    layout = _draw_frame(buf, state, ' '.join(titles))
    if not fleet.rows:
        _draw_no_hosts(buf, state, layout.area)
    cursor, now, heights = selected_host(state), _now(state), _heights(state)
    for line in layout.shown:
        y = layout.row_of(line)
        is_current = line == cursor
        if is_current:
            buf.write(0, y, ' ' * buf.width, _SELECTED)
        _draw_host(buf, y, fleet.rows[line], columns, now, heights, is_current=is_current)


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


def _draw_host(
    buf: Buffer,
    y: int,
    host: FleetHost,
    columns: list[HostColumn],
    now: float,
    heights: str,
    *,
    is_current: bool,
) -> None:
    if host.gone_since is not None:
        name = fit(host.name, columns[0].width)
        text = f' {name} gone {age_text(max(0.0, now - host.gone_since))}'
        buf.write(0, y, clip(text, buf.width), _SELECTED if is_current else DIM)
        return
    x = 1
    for column in columns:
        if column.name == 'glyphs':
            _draw_gpus(buf, x, y, host.gpus[: column.width], heights)
        else:
            text = column.text(host, now)
            if column.name == 'findings':
                text = findings_text(host, column.width)
            text = fit(text, column.width, column.align)
            style = _SELECTED if is_current else column.style(host, now)
            if text.strip():
                draw_text(buf, x, y, text, style)
        x += column.width + 1


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
        return 'z' if gpu.is_asleep else '·', DIM
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
    title, _unit = HEAT_METRICS[fleet.metric]
    layout = _draw_frame(buf, state, f'{title[0].upper()}{title[1:]}: one block per GPU')
    hosts = fleet.gpus.hosts
    if not hosts or fleet.gpus_metric != fleet.metric:
        draw_message(buf, layout.area, '' if fleet.error else 'Waiting for the answer ...', DIM)
        return
    heat, heights = lay_out_heat_map(state), _heights(state)
    for line in layout.shown:
        y = layout.row_of(line)
        for column in range(heat.columns):
            place = line * heat.columns + column
            if place >= len(hosts):
                break
            host, x = hosts[place], 1 + column * heat.stride
            is_old = _age_style(host.age(_now(state))) != PLAIN
            name = fit(host.name, heat.name_width)
            style = DIM if host.gone_since or is_old else PLAIN
            buf.write(x, y, name, _SELECTED if host.name == fleet.selected else style)
            x += heat.name_width + 1
            for number, gpu in enumerate(host.gpus[: heat.gpus]):
                glyph, style = _heat_glyph(gpu, fleet.metric, heights)
                if gpu.id in fleet.held and not gpu.findings:
                    style = _HELD
                buf.write(x + number, y, glyph, style)


def _heat_glyph(gpu: FleetGpu, metric: str, heights: str) -> tuple[str, Style]:
    if gpu.findings or gpu.is_asleep or metric == 'utilization':
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
    users = fleet_of(state).users.users
    width = max(8, min(32, max((cell_width(user.name) for user in users), default=8)))
    headings = f'{pad("USER", width)}  HOSTS   GPUS   HELD  PROCESSES        MEMORY'

    def text_of(user: FleetUser) -> str:
        processes = 'N/A' if user.processes is None else f'{user.processes:,}'
        return (
            f' {fit(user.name, width)} {user.hosts:>6,} {user.gpus:>6,} {user.held_gpus or 0:>6,} '
            f'{processes:>10} {memory_text(user.memory_bytes, None):>13}'
        )

    _draw_table(buf, state, VIEWS['users'], headings, text_of)


def draw_jobs(buf: Buffer, state: AppState, _: History) -> None:
    """Draw the jobs, pods and others over all hosts."""
    jobs = fleet_of(state).jobs.jobs
    width = max(12, min(40, max((cell_width(job.name) for job in jobs), default=0)))
    headings = f'{pad("JOB", width)}   GPUS   HELD   UTIL  HOSTS  {pad("USER", 16)} FIRST HOST'

    def text_of(job: FleetJob) -> str:
        return (
            f' {fit(job.name, width)} {job.gpus:>6,} {job.held_gpus:>6,} '
            f'{percent_text(job.utilization_percent):>6} {len(job.hosts):>6,}  '
            f'{fit(users_text(job.users), 16)} {job.hosts[0]}'
        )

    _draw_table(buf, state, VIEWS['jobs'], headings, text_of)


def _draw_table(
    buf: Buffer, state: AppState, view: View, headings: str, text_of: Callable[[Any], str]
) -> None:
    """Draw the rows of an answer, or why there are none."""
    answer, layout = _answer(state), _draw_frame(buf, state, headings)
    rows = view.rows(answer)
    if not rows:
        waiting = '' if fleet_of(state).error else 'Waiting for the answer ...'
        draw_message(buf, layout.area, view.empty if answer.timestamp else waiting, DIM)
    draw_lines(buf, state, lambda line: (text_of(rows[line]), PLAIN))


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


#: Dialect → program that usually has its names.
_PROGRAMS = {
    'own': 'nvitop exporter',
    'dcgm': 'dcgm-exporter',
    'nvitop-exporter': 'nvitop-exporter 1.7',
}


def problem_texts(state: AppState) -> list[ProblemText]:
    """Return lines about everything that is wrong, old data, the server, and the exporters."""
    fleet, now = fleet_of(state).fleet, state.timestamp
    lines = [
        ProblemText(f'  {one.host}: {one.text}', _style_of(one.finding.severity), one.host)
        for one in problems_of(fleet)
    ]
    lines = lines or [ProblemText('  nothing wrong is known', DIM)]
    silent = sum(all(one.dialect != 'own' for one in host.exporters) for host in fleet.hosts)
    if silent:
        text = f'  {counted(silent, "host")} without "nvitop exporter": few or no findings are reported'
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
    answers = fleet_of(state)
    fleet, error = answers.fleet, answers.error
    size = f', {fleet.size_bytes / 1e6:.2f} MB' if fleet.size_bytes else ''
    last = f'last request: {fleet.seconds:.2f} s{size}; one every {answers.period:.0f} s'
    counts: dict[str, int] = {}
    for host in fleet.hosts:
        for name in {one.dialect for one in host.exporters if host.gone_since is None}:
            counts[name] = counts.get(name, 0) + 1
    exporters = [
        ProblemText(f'  {counted(count, "host")} with {_PROGRAMS[name]} (dialect "{name}")')
        for name, count in sorted(counts.items())
    ]
    return [
        ProblemText(''),
        ProblemText(' Server', TITLE),
        ProblemText(f'  {answers.server}'),
        ProblemText(f'  {last if fleet.timestamp else "no answer yet"}'),
        *(ProblemText(f'  {error}', ERROR) for error in [error] if error),
        *(ProblemText(f'  warning: {text}', WARNING) for text in fleet.warnings),
        ProblemText(''),
        ProblemText(' Exporters', TITLE),
        *(exporters or [ProblemText('  none found', DIM)]),
    ]


def _age_line(host: FleetHost, now: float) -> ProblemText | None:
    if host.gone_since is not None:
        text = f'  {host.name}: gone for {age_text(now - host.gone_since)}'
        return ProblemText(f'{text}; the server has no current values', WARNING, host.name)
    age = host.age(now)
    if age is None or age < LATE_SECONDS:
        return None
    return ProblemText(f'  {host.name}: {age_text(age)} old', WARNING, host.name)
