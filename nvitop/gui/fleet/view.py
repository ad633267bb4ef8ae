# SPDX-License-Identifier: GPL-3.0-only
"""Draws the fleet screens. Pure: the same state is always the same frame."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.fleet.output import (
    age_text,
    memory_text,
    no_hosts,
    percent_text,
    power_text,
    temperature_text,
    totals_texts,
    users_text,
)
from nvitop.fleet.queries import HEAT_METRICS, parse_filter
from nvitop.fleet.types import LATE_SECONDS, OLD_SECONDS, FleetGpu, FleetHost
from nvitop.gui.fleet.keys import ORDERS, ORDERS_BY_NAME, FleetScreen, hints_of
from nvitop.gui.fleet.lines import lay_out_heat
from nvitop.gui.fleet.state import FleetState, cursor_of, layout_of, text_lines
from nvitop.gui.layout.screens import ListLayout
from nvitop.gui.model.format import format_timestamp
from nvitop.gui.render.ansi import to_ascii, to_halves
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style, gradient
from nvitop.gui.render.width import cell_width, clip, fit, pad
from nvitop.gui.view.widgets.text import (
    HINT,
    KEY,
    Badge,
    draw_bar_row,
    draw_message,
    draw_text,
    draw_title,
)

_DIM = Style(Role.DIM)
_ERROR = Style(Role.ERROR, bold=True)
_WARNING = Style(Role.WARNING, bold=True)
_INPUT = Style(Role.INPUT)
_SELECTED = Style(Role.SELECTED)
#: Up to 7/8 of the cell, so that rows do not touch each other.
_HEIGHTS = '▁▂▃▄▅▆▇'
_DIGITS = '0123456789'
#: Temperature (°C) and power (W) at which the heat map shows 100 %.
_FULL_HEAT = {'temperature': 100.0, 'power': 700.0}
#: Maximum number of glyphs of a host in the list.
_MAX_GLYPHS = 16
_MAX_NAME = 28
#: Sums that a narrow screen leaves out, the first one first.
_LEFT_OUT = ('age', 'power', 'memory', 'idle', 'utilization')
#: Smallest screen.
_MIN_WIDTH, _MIN_HEIGHT = 24, 6


class _Column(NamedTuple):
    """A column of the list of hosts."""

    name: str
    title: str
    width: int
    align: str = '>'


def draw_fleet(state: FleetState) -> Buffer:
    """Draw a frame."""
    buf = Buffer(state.width, state.height)
    if state.width < _MIN_WIDTH or state.height < _MIN_HEIGHT:
        buf.write(0, 0, clip('terminal too small', buf.width), _WARNING)
        return buf
    _draw_head(buf, state)
    layout = layout_of(state)
    if state.screen is FleetScreen.HOSTS:
        _draw_hosts(buf, state, layout)
    elif state.screen is FleetScreen.GPUS:
        _draw_heat(buf, state, layout)
    elif state.screen is FleetScreen.USERS:
        _draw_users(buf, state, layout)
    else:
        lines = text_lines(state)
        draw_bar_row(buf, 2, ' Help' if state.screen is FleetScreen.HELP else ' Problems')
        for line in layout.shown:
            text = clip(lines[line].text, buf.width)
            y = layout.row_of(line)
            buf.write(0, y, text, lines[line].style)
            if lines[line].keys:
                buf.restyle(Rect(0, y, lines[line].keys, 1), role=Role.KEY, bold=True)
    _draw_foot(buf, state, layout)
    if state.ascii:
        return to_ascii(buf)
    return to_halves(buf) if state.halves else buf


# The first and the last rows


def _draw_head(buf: Buffer, state: FleetState) -> None:
    if state.field is not None:
        x = buf.write(0, 0, 'Filter: ', PLAIN._replace(bold=True))
        x += buf.write(x, 0, clip(state.field, buf.width - x - 1), _INPUT)
        buf.write(x, 0, ' ', _INPUT._replace(reverse=True))
        if any(prefix != 'host' for prefix, _ in parse_filter(state.field)):
            buf.write(x + 2, 0, clip('Enter asks the server', buf.width - x - 2), HINT)
    else:
        badges = [Badge(('[SIMULATED]', '[SIM]'), _WARNING)] if state.is_demo else []
        if state.frozen is not None:
            clock = format_timestamp(state.frozen).split()[3]
            badges.append(Badge((f'[PAUSED {clock}]', '[PAUSED]'), _WARNING))
        if state.query:
            query = clip(state.query, 40)
            badges.append(Badge((f'[filter: {query}]', '[filter]'), _INPUT))
        if state.prefix:
            letters = ' '.join(order.letter for order in ORDERS)
            badges.append(Badge((f'[{state.prefix} and then {letters}]',), KEY))
        clock = format_timestamp(state.timestamp).split()[3] if state.timestamp else ''
        draw_title(buf, f' FLEET  {state.server}', badges, ((clock, HINT),))
    _draw_totals(buf, state)


def _draw_totals(buf: Buffer, state: FleetState) -> None:
    sums, now = state.sums, _now(state)
    if not state.fleet.timestamp:
        return
    shown = sums
    if sums.age is not None:
        shown = sums._replace(age=sums.age + max(0.0, now - state.fleet.timestamp))
    parts = totals_texts(shown)
    for name in _LEFT_OUT:
        if cell_width('  '.join(parts.values())) < buf.width:
            break
        del parts[name]
    styles = {
        'gone': _WARNING,
        'faulty': _ERROR if sums.faulty else PLAIN,
        'age': _age_style(shown.age),
    }
    x = 1
    for name, text in parts.items():
        x += draw_text(buf, x, 1, text, styles.get(name, PLAIN)) + 2


def _now(state: FleetState) -> float:
    """Return the time that ages refer to."""
    return state.frozen or max(state.timestamp, state.fleet.timestamp)


def _age_style(age: float | None) -> Style:
    if age is None:
        return _DIM
    if age >= OLD_SECONDS:
        return _ERROR
    return _WARNING if age >= LATE_SECONDS else PLAIN


def _draw_foot(buf: Buffer, state: FleetState, layout: ListLayout) -> None:
    y = buf.height - 1
    if state.trouble:
        text = state.trouble
        since = max(0.0, state.timestamp - state.error_since)
        if state.error and since >= 1:
            text += f' (since {age_text(since)})'
        style = _ERROR if state.error else _WARNING
        buf.write(0, y - 1, pad(clip(f' {text}', buf.width), buf.width), style)
    where = ''
    if layout.length > layout.area.height > 0:
        shown = layout.shown
        where = f'{shown.start + 1}–{shown.stop} of {layout.length:,}'
    x, right = 1, buf.width - len(where) - 2
    hints = hints_of(state.keys, state.screen)
    # Help and quit, the last ones, are left out last.
    while len(hints) > 1 and sum(len(key) + len(words) + 3 for key, words in hints) - 1 > right:
        del hints[max(0, len(hints) - 3)]
    for key, words in hints:
        width = buf.write(x, y, key, KEY)
        width += buf.write(x + width, y, f' {words}', HINT)
        if state.field is None:  # keys are text while the filter is typed
            buf.add_target(x, y, width, key)
        x += width + 2
    buf.write(buf.width - len(where) - 1, y, where, HINT)


# Hosts


def _columns(state: FleetState) -> list[_Column]:
    """Return the columns that fit, and the width that is left for findings."""
    hosts = state.rows or state.fleet.hosts
    glyphs = min(_MAX_GLYPHS, max((len(host.gpus) for host in hosts), default=1))
    name = min(
        _MAX_NAME, max((cell_width(host.name) for host in hosts), default=4), state.width // 3
    )
    columns = [
        _Column('host', 'HOST', max(4, name), '<'),
        _Column('glyphs', 'PER GPU' if glyphs >= 7 else 'GPU', max(3, glyphs), '<'),
        _Column('utilization', 'UTIL', 5),
    ]
    more = (
        (60, _Column('memory', 'MEMORY', 13)),
        (74, _Column('power', 'POWER', 11)),
        (60, _Column('temperature', 'TEMP', 5)),
        (86, _Column('gpus', 'GPUS', 4)),
        (60, _Column('age', 'AGE', 6)),
        (90, _Column('users', 'USERS', 14, '<')),
    )
    columns += [column for least, column in more if state.width >= least]
    taken = sum(column.width + 1 for column in columns)
    return [*columns, _Column('findings', 'FINDINGS', max(0, state.width - taken - 1), '<')]


def _draw_hosts(buf: Buffer, state: FleetState, layout: ListLayout) -> None:
    columns = _columns(state)
    titles = []
    for column in columns:
        arrow = ''
        if column.name == state.order and column.width > len(column.title):
            is_down = ORDERS_BY_NAME[state.order].is_descending != state.is_reversed
            arrow = '▼' if is_down else '▲'
        titles.append(fit(f'{column.title}{arrow}', column.width, column.align, ''))
    draw_bar_row(buf, 2, ' '.join(titles))
    if not state.rows:
        _draw_no_hosts(buf, state, layout.area)
    cursor, now = cursor_of(state), _now(state)
    for line in layout.shown:
        y = layout.row_of(line)
        is_current = line == cursor
        if is_current:
            buf.write(0, y, ' ' * buf.width, _SELECTED)
        _draw_host(buf, y, state.rows[line], columns, now, _heights(state), is_current=is_current)


def _draw_no_hosts(buf: Buffer, state: FleetState, area: Rect) -> None:
    if not state.fleet.timestamp:
        text = 'Waiting for the first answer ...' if not state.error else ''
    elif state.fleet.hosts or state.query:
        text = 'No host matches the filter'
    else:
        text = no_hosts(state.scope)
        text = f'{text[0].upper()}{text[1:]}'
    draw_message(buf, area, text, _DIM)


def _draw_host(
    buf: Buffer,
    y: int,
    host: FleetHost,
    columns: list[_Column],
    now: float,
    heights: str,
    *,
    is_current: bool,
) -> None:
    if host.gone_since is not None:
        name = fit(host.name, columns[0].width)
        text = f'{name} gone {age_text(max(0.0, now - host.gone_since))}'
        buf.write(0, y, clip(text, buf.width), _SELECTED if is_current else _DIM)
        return
    age = host.age(now)
    styles = {
        'age': _age_style(age),
        'utilization': _heat(host.utilization_percent),
        'findings': _ERROR,
    }
    texts = {
        'host': host.name,
        'utilization': percent_text(host.utilization_percent),
        'memory': memory_text(host.memory_used_bytes, host.memory_total_bytes),
        'power': power_text(host.power_watts, host.power_limit_watts),
        'temperature': temperature_text(host.temperature_celsius),
        'gpus': str(len(host.gpus)),
        'age': age_text(age),
        'users': users_text(host.users),
        'findings': ', '.join(host.findings),
    }
    x = 0
    for column in columns:
        if column.name == 'glyphs':
            _draw_gpus(buf, x, y, host.gpus[: column.width], heights)
        else:
            text = fit(texts[column.name], column.width, column.align)
            style = _SELECTED if is_current else styles.get(column.name, PLAIN)
            if text.strip():
                draw_text(buf, x, y, text, style)
        x += column.width + 1


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
        return '!', _ERROR
    percent = gpu.utilization_percent
    if percent is None:
        return '·', _DIM
    if gpu.is_held:
        return heights[0], _WARNING
    return height_of(percent, heights), _heat(percent)


def _heat(percent: float | None) -> Style:
    """Return the color of a percentage. Red is for things that are wrong."""
    return _DIM if percent is None else Style(gradient(percent / 100))


def height_of(percent: float, heights: str = _HEIGHTS) -> str:
    """Return the glyph of a percentage."""
    count = len(heights)
    return heights[max(0, min(count - 1, int(percent * count / 100)))]


def _heights(state: FleetState) -> str:
    return _DIGITS if state.ascii else _HEIGHTS


# Other screens


def _draw_heat(buf: Buffer, state: FleetState, layout: ListLayout) -> None:
    title, _ = HEAT_METRICS[state.metric]
    draw_bar_row(buf, 2, clip(f' {title[0].upper()}{title[1:]}: one block per GPU', buf.width))
    hosts = state.gpus.hosts
    if not hosts or state.gpus_metric != state.metric:
        draw_message(buf, layout.area, '' if state.error else 'Waiting for the answer ...', _DIM)
        return
    heat, heights = lay_out_heat(hosts, state.width), _heights(state)
    for line in layout.shown:
        y = layout.row_of(line)
        for column in range(heat.columns):
            place = line * heat.columns + column
            if place >= len(hosts):
                break
            host, x = hosts[place], column * heat.stride
            is_old = _age_style(host.age(_now(state))) != PLAIN
            name = fit(host.name, heat.name_width)
            buf.write(x, y, name, _DIM if host.gone_since or is_old else PLAIN)
            x += heat.name_width + 1
            for number, gpu in enumerate(host.gpus[: heat.gpus]):
                glyph, style = _heat_glyph(gpu, state.metric, heights)
                buf.write(x + number, y, glyph, style)


def _heat_glyph(gpu: FleetGpu, metric: str, heights: str) -> tuple[str, Style]:
    if gpu.findings or metric == 'utilization':
        return _glyph(gpu, heights)
    if metric == 'memory':
        percent = gpu.memory_percent
    else:
        value = gpu.temperature_celsius if metric == 'temperature' else gpu.power_watts
        percent = None if value is None else 100.0 * value / _FULL_HEAT[metric]
    if percent is None:
        return '·', _DIM
    return height_of(percent, heights), _heat(percent)


def _draw_users(buf: Buffer, state: FleetState, layout: ListLayout) -> None:
    users = state.users.users
    width = max(8, min(32, max((cell_width(user.name) for user in users), default=8)))
    draw_bar_row(buf, 2, f'{pad("USER", width)}  HOSTS   GPUS  IDLE GPUS  PROCESSES        MEMORY')
    if not users:
        waiting = not state.users.timestamp and not state.error
        text = 'Waiting for the answer ...' if waiting else ''
        if state.users.timestamp:
            text = "No exporter reports users. nvitop's own exporter and nvitop-exporter do."
        draw_message(buf, layout.area, text, _DIM)
    for line in layout.shown:
        user = users[line]
        processes = 'N/A' if user.processes is None else f'{user.processes:,}'
        text = (
            f'{fit(user.name, width)} {user.hosts:>6,} {user.gpus:>6,} {user.idle_gpus or 0:>10,} '
            f'{processes:>10} {memory_text(user.memory_bytes, None):>13}'
        )
        y = layout.row_of(line)
        if line == state.cursor:
            draw_bar_row(buf, y, clip(text, buf.width), _SELECTED)
        else:
            draw_text(buf, 0, y, clip(text, buf.width))
