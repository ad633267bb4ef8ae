# SPDX-License-Identifier: GPL-3.0-only
"""Draws the lists of the fleet. Pure: the same state is always the same frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from nvitop.fleet.lists import (
    VIEWS,
    age_look,
    age_text,
    counted,
    no_hosts,
    titled_columns,
    totals_texts,
)
from nvitop.fleet.types import FleetGpu, FleetHost
from nvitop.gui.fleet.state import LISTS, fleet_of, host_of, listed, selected
from nvitop.gui.model.choices import Screen
from nvitop.gui.model.table import Column, Item
from nvitop.gui.render.buffer import CLASSIC, Buffer, Rect
from nvitop.gui.render.theme import DIM, ERROR, IDLE, PLAIN, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.lists import list_sort, order_arrow
from nvitop.gui.state.navigation import lines_layout
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.table import Content, draw_table
from nvitop.gui.view.text import draw_message, draw_section
from nvitop.sampling.history import History

if TYPE_CHECKING:
    from nvitop.fleet.lists import ListColumn

#: Up to 7/8 of the cell, so that rows do not touch each other.
_HEIGHTS = '▁▂▃▄▅▆▇'
_DIGITS = '0123456789'
#: Maximum number of glyphs of a host in the list.
_MAX_GLYPHS = 16
#: Minimum height of the inside of the frame with the detail of the current line.
_WITH_DETAIL = 14
#: Rows about the server below the problems.
_SERVER_ROWS = 2
_LOOKS = {'good': IDLE, 'warning': WARNING, 'critical': ERROR, 'dim': DIM}
_UTILIZATION, _HELD = Style(Role.UTILIZATION), Style(Role.HELD)
#: Minimum width of a screen on which a range of hosts with free GPUs precedes averages.
_WITH_RANGE = 100
#: Maximum number of ranges of hosts with free GPUs in the first line.
_MAX_RANGES = 4
#: Maximum width of the name of a host in the first line.
_NAME_WIDTH = 20
#: Sum in the first line → its rank: those of a lower rank have room first.
_RANKS = {
    'free': 0,
    'held': 2,
    'problems': 1,
    'gone': 3,
    'hidden': 3,
    'hosts': 4,
    'gpus': 5,
    'utilization': 6,
    'memory': 7,
    'age': 8,
    'power': 9,
}
#: Kind of host → where its values come from.
_WAYS = {
    'own': 'nvitop exporter',
    'dcgm': 'dcgm-exporter: few problems are reported',
    'ssh': 'nvitop over ssh',
    'nvidia-smi': 'nvidia-smi over ssh: fewer values',
    'demo': 'simulated',
}


def first_line(state: AppState) -> tuple[Item, ...]:
    """Return the sums over the hosts: which GPUs are free, held, and what is wrong first."""
    fleet = fleet_of(state)
    sums, now = fleet.sums, _now(state)
    if not fleet.fleet.timestamp:
        return ()
    if sums.age_seconds is not None:
        late = max(0.0, now - fleet.fleet.timestamp)
        sums = sums._replace(age_seconds=sums.age_seconds + late)
    styles = {
        'gone': WARNING,
        'hidden': WARNING,
        'free': IDLE if sums.free_gpus else PLAIN,
        'held': WARNING if sums.held_gpus else PLAIN,
        'problems': ERROR if sums.critical_problems else WARNING if sums.problems else PLAIN,
        'age': _LOOKS.get(age_look(sums.age_seconds), PLAIN),
    }
    texts = totals_texts(sums, fleet.everything)
    forms: dict[str, tuple[str, ...]] = {
        name: (text, text.partition(' (')[0]) for name, text in texts.items()
    }
    most = fleet.free_hosts[:_MAX_RANGES]
    where = [
        f'{texts["free"]}: {", ".join(most[:count])}'
        + (' ..' if count < len(fleet.free_hosts) else '')
        for count in range(len(most), 0, -1)
    ]
    # One range of hosts is more important than averages.
    forms['free'] = (*where, *(() if where and state.width >= _WITH_RANGE else (texts['free'],)))
    if fleet.worst_host:
        count = forms['problems'][-1]
        where_wrong = clip(safe(fleet.worst_host), _NAME_WIDTH)
        forms['problems'] = (f'{count}: {where_wrong}{" .." * (sums.problems > 1)}', count)
    return tuple(
        Item(
            forms[name],
            styles.get(name, PLAIN),
            rank,
            '!' if name == 'problems' else '',
            is_whole=name == 'problems',
        )
        for name, rank in _RANKS.items()
        if name in texts
    )


def trouble_of(state: AppState) -> str:
    """Return the line below the others: the error, or the warnings of the server."""
    fleet = fleet_of(state)
    if not fleet.error:
        return '; '.join(fleet.fleet.warnings)
    seconds = max(0.0, state.timestamp - fleet.error_since)
    return f'{fleet.error} (since {age_text(seconds)})' if seconds >= 1 else fleet.error


def _now(state: AppState) -> float:
    if state.frozen is not None:
        return state.frozen.sample.timestamp
    return max(state.timestamp, fleet_of(state).fleet.timestamp)


def margins(state: AppState) -> tuple[int, int]:
    """Return the rows above the lines, and those of the detail, the server and an error below them."""
    count = len(listed(state))
    below = bool(trouble_of(state)) + _SERVER_ROWS * (state.screen is Screen.PROBLEMS)
    if count and state.height >= _WITH_DETAIL:
        below += max(state.height // 3, state.height - 2 - below - count)
    return 2, below


def draw_list(buf: Buffer, state: AppState, _: History) -> None:
    layout, fleet = lines_layout(state), fleet_of(state)
    rows = layout.lines
    name, cursor = LISTS[state.screen], layout.line
    title = 'GPUs' if name == 'gpus' else name.capitalize()
    is_counted = 0 < len(rows) <= layout.visible  # the lines shown have the number otherwise
    draw_screen_title(buf, state, (f'{title} {len(rows)}' if is_counted else title,))
    draw_table(
        buf,
        Rect(0, 1, buf.width, layout.area.height + 1),
        _columns(state, name),
        rows,
        first=layout.scroll_y,
        cursor=cursor,
        order=list_sort(state, Screen.HOSTS).order if name == 'hosts' else '',
        arrow=order_arrow(state, Screen.HOSTS),
    )
    if not rows:
        draw_message(buf, layout.area, _reason(state, name), DIM)
    bottom = buf.height
    if trouble_of(state):
        bottom -= 1
        text = safe(trouble_of(state))
        buf.write(1, bottom, clip(text, buf.width - 1), ERROR if fleet.error else WARNING)
    if name == 'problems':
        bottom -= _SERVER_ROWS
        draw_message(buf, Rect(0, bottom, buf.width, _SERVER_ROWS), _server_text(state), DIM)
    y = layout.area.bottom
    if cursor is not None and rows and bottom - y > 2:
        title, pairs = _detail(state, bottom - y - 2)
        draw_section(buf, y, clip(title, buf.width - 4))
        columns = _columns(state, 'gpus')[name not in ('users', 'jobs') :]
        draw_table(buf, Rect(0, y + 1, buf.width, bottom - y - 1), columns, pairs)


def _columns(state: AppState, name: str) -> list[Column]:
    hosts, now = fleet_of(state).fleet.hosts, _now(state)
    titled = titled_columns(name, fleet_of(state).fleet, now, state.width)
    gap = 2 if state.width >= CLASSIC else 1
    columns = [_column(column, now, gap) for column in titled]
    if columns[0].name == 'host':  # there may be thousands of rows
        least, most = columns[0].sizes
        widest = max((cell_width(host.name) for host in hosts), default=0)
        columns[0] = columns[0]._replace(sizes=(max(least, min(widest, most)),))
    if name == 'hosts':
        most = max((len(host.gpus) for host in hosts), default=1)
        width = max(3, min(_MAX_GLYPHS, most))
        heights = _DIGITS if state.view.ascii else _HEIGHTS

        def glyphs(host: FleetHost, _: int) -> Content:
            return [_glyph(gpu, heights) for gpu in host.gpus[:width]]

        title = 'PER GPU' if width >= 7 else 'GPU'
        columns.insert(1, Column('glyphs', title, (width,), '', glyphs, align='<', rank=4))
    return columns


def _column(column: ListColumn, now: float, gap: int) -> Column:
    """Return a column of the screen; ``gap`` is before a column of words."""

    def content(row: Any, width: int) -> Content:
        is_gone = isinstance(row, FleetHost) and row.is_gone
        if is_gone and column.name not in ('host', 'age_seconds', 'findings'):
            return ''
        text, look = column.shown(row, now), column.look(row, now)
        if look in ('', 'heat'):
            style = _UTILIZATION if look and text != 'N/A' else PLAIN
        else:
            style = _LOOKS[look]
        return clip(text, width) if style == PLAIN else ((clip(text, width), style),)

    order = column.name if column.key else ''
    return Column(
        column.name,
        column.title,
        column.sizes,
        '',
        content,
        column.align,
        gap=gap if column.align == '<' else 1,
        order=order,
        rank=column.rank,
    )


def _glyph(gpu: FleetGpu, heights: str) -> tuple[str, Style]:
    if gpu.findings:
        return '!', _LOOKS[gpu.severity or 'warning']
    percent = gpu.utilization_percent
    if percent is None:
        return 'z' if gpu.state == 'asleep' else '·', DIM
    if gpu.state == 'held':
        return heights[0], _HELD
    count = len(heights)
    return heights[max(0, min(count - 1, int(percent * count / 100)))], _UTILIZATION


def _reason(state: AppState, name: str) -> str:
    fleet = fleet_of(state)
    if not fleet.fleet.timestamp:
        return '' if fleet.error else 'Waiting for the first answer ...'
    if fleet.fleet.hosts and state.query and name != 'problems':
        return 'Nothing matches the filter'
    text = no_hosts(fleet.scope) if not fleet.fleet.hosts else VIEWS[name].empty
    return f'{text[0].upper()}{text[1:]}'


def _detail(state: AppState, room: int) -> tuple[str, Sequence[tuple[FleetHost, FleetGpu]]]:
    row, hosts = selected(state), fleet_of(state).fleet.hosts
    if state.screen in (Screen.USERS, Screen.JOBS):
        is_user = state.screen is Screen.USERS
        pairs = [
            (host, gpu)
            for host in hosts
            if is_user or host.name in row.hosts
            for gpu in host.gpus
            if row.name in (gpu.users if is_user else [str(owner.layer) for owner in gpu.owners])
        ]
        return f'{safe(row.name)}: {_seen(len(pairs), room)}', pairs
    if state.screen is Screen.PROBLEMS:
        host = next((host for host in hosts if host.name == row.host), FleetHost(row.host))
    else:
        host = host_of(row)
    way = 'no current values' if host.is_gone else _WAYS.get(host.kind, host.kind)
    model = next((gpu.model for gpu in host.gpus if gpu.model), '')
    parts = [_seen(len(host.gpus), room), safe(model), way]
    return f'{safe(host.name)}: {", ".join(filter(None, parts))}', [(host, g) for g in host.gpus]


def _seen(gpus: int, room: int) -> str:
    return f'{f"1–{room} of " if gpus > room else ""}{counted(gpus, "GPU")}'


def _server_text(state: AppState) -> str:
    shown = fleet_of(state)
    fleet, kinds = shown.fleet, [host.kind for host in shown.fleet.hosts if not host.is_gone]
    size = f', {fleet.size_bytes / 1e6:.2f} MB' if fleet.size_bytes else ''
    last = f'{fleet.seconds:.2f}s{size}, every {shown.period:.0f}s'
    parts = [f'{safe(shown.server)}: {last if fleet.timestamp else "no answer yet"}']
    for kind, way in _WAYS.items():
        if kind in kinds:
            parts.append(f'{counted(kinds.count(kind), "host")} with {way}')
    return ' · '.join(parts)
