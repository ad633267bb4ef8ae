# SPDX-License-Identifier: GPL-3.0-only
"""Draws the lists of the fleet. Pure: the same state is always the same frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from nvitop.basics.text import counted
from nvitop.fleet.lists import (
    VIEWS,
    age_look,
    age_text,
    names_text,
    no_hosts,
    problems_of,
    titled_columns,
    totals_texts,
)
from nvitop.fleet.types import FleetFinding, FleetGpu, FleetHost
from nvitop.gui.fleet.state import LISTS, fleet_of, host_of, listed, selected
from nvitop.gui.model.choices import Screen
from nvitop.gui.model.format import format_timestamp
from nvitop.gui.model.table import Column, Item
from nvitop.gui.render.buffer import CLASSIC, Buffer, Rect
from nvitop.gui.render.theme import DIM, ERROR, IDLE, PLAIN, TITLE, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.report import draw_findings, draw_head, finding_lines
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.lists import list_sort, order_arrow
from nvitop.gui.state.navigation import lines_layout
from nvitop.gui.view.hints import draw_screen_title, title_badges
from nvitop.gui.view.table import Content, draw_table
from nvitop.gui.view.text import (
    draw_border,
    draw_facts,
    draw_message,
    draw_rule,
    draw_section,
    draw_uprights,
    severity_sign,
)
from nvitop.sampling.history import History

if TYPE_CHECKING:
    from nvitop.fleet.lists import ListColumn
    from nvitop.gui.view.text import Pieces

#: Up to 7/8 of the cell, so that rows do not touch each other.
_HEIGHTS = '▁▂▃▄▅▆▇'
_DIGITS = '0123456789'
#: Maximum number of glyphs of a host in the list.
_MAX_GLYPHS = 16
#: Minimum height of the inside of the frame with the detail of the current line.
_WITH_DETAIL = 14
#: GPUs for which the detail has room at least, and its rows about a problem.
_GPUS_BELOW, _FACT_ROWS = 8, 2
#: Rows about the server below the problems.
_SERVER_ROWS = 2
_LOOKS = {'good': IDLE, 'warning': WARNING, 'critical': ERROR, 'dim': DIM}
_UTILIZATION, _HELD = Style(Role.UTILIZATION), Style(Role.HELD)
#: Maximum number of ranges of hosts with free GPUs in the first line.
_MAX_RANGES = 4
#: Maximum width of the name of a host in the first line.
_NAME_WIDTH = 20
#: Sum in the first line → its rank: those of a lower rank have room first. The titles of lists count hosts and GPUs.
_RANKS = {
    'free': 0,
    'held': 2,
    'problems': 1,
    'hidden': 3,
    'hosts': 4,
    'utilization': 6,
    'memory': 7,
    'age': 8,
    'power': 9,
}
#: Maximum width of other parts of the first line: breadcrumb, badge, clock.
_OTHER_PARTS = 28
_ADVICE = 'Enter opens the host; its own list of problems has advice'
#: Kind of host → where its values come from, and what is missing.
_WAYS = {
    'own': 'nvitop exporter',
    'dcgm': 'dcgm-exporter, which reports no users and few problems',
    'ssh': 'nvitop over ssh',
    'nvidia-smi': 'nvidia-smi over ssh, which reports no jobs',
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
    if not sums.hosts < fleet.everything.hosts:
        del texts['hosts']
    if fleet.worst_host:
        count = forms['problems'][-1]
        where_wrong = clip(safe(fleet.worst_host), _NAME_WIDTH)
        forms['problems'] = (f'{count}: {where_wrong}{" .." * (sums.problems > 1)}', count)
    # Names of hosts with free GPUs have room before averages, but not before what is wrong.
    names = [name for name in ('held', 'problems', 'hidden') if name in texts]
    others = [forms[name][0 if name == 'problems' else -1] for name in names]
    room = state.width - _OTHER_PARTS - sum(cell_width(text) + 3 for text in others)
    most = fleet.free_hosts[:_MAX_RANGES]
    where = [
        f'{texts["free"]}: {", ".join(most[:count])}'
        + (' ..' if count < len(fleet.free_hosts) else '')
        for count in range(len(most), 0, -1)
    ]
    forms['free'] = (*(text for text in where if cell_width(text) <= room), texts['free'])
    return tuple(
        Item(
            forms[name],
            styles.get(name, PLAIN),
            rank,
            '!' if name == 'problems' else '',
            is_whole=name in ('free', 'problems'),
        )
        for name, rank in _RANKS.items()
        if name in texts
    )


def draw_report(state: AppState, rows: Sequence[Any], width: int) -> Buffer:
    """Draw what is free and wrong, the time, a list with all its rows, and the findings."""
    name, fleet = LISTS[state.screen], fleet_of(state)
    state = state._replace(width=width + _OTHER_PARTS - 2)  # which a report does not have
    answer = [item for item in first_line(state) if item.rank <= _RANKS['hidden']]
    state, texts = state._replace(width=width), totals_texts(fleet.sums)
    head = [
        Item((f'NVITOP {state.version}',), TITLE, 0),
        Item((format_timestamp(fleet.fleet.timestamp),), DIM, 1),
        *title_badges(state),
        *(
            Item((texts[part],), DIM, rank)
            for rank, part in enumerate(
                ('hosts', 'gpus', 'utilization', 'memory', 'age', 'power'), 2
            )
            if part in texts  # the age only if it is high
        ),
    ]
    notes = [] if name == 'problems' else _findings(fleet.fleet.problems, width)
    bottom, ends = 3 + max(1, len(rows)) + 1, (0, width - 1)
    buf = Buffer(width, bottom + 1 + len(notes))
    draw_head(buf, (answer, head))
    draw_border(buf, 2, (), ends, [Item((_title(name, rows),), TITLE)])
    for y in range(3, bottom):
        draw_uprights(buf, y, ends)
    draw_table(buf, Rect(2, 3, width - 4, bottom - 3), _columns(state, name), rows)
    if not rows:
        draw_message(buf, Rect(1, 3, width - 2, 1), VIEWS[name].empty, DIM)
    draw_rule(buf, bottom, ends, ())
    draw_findings(buf, bottom + 1, notes)
    return buf


def _findings(problems: Sequence[FleetFinding], width: int) -> list[Pieces]:
    """Return the lines of findings, critical ones first, the same one of several hosts once."""
    groups: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for problem in problems:
        key = (problem.severity, problem.words, problem.advice)
        groups.setdefault(key, {}).setdefault(problem.host, []).append(problem.gpu)
    lines: list[Pieces] = []
    for (severity, words, advice), places in groups.items():
        names = [f'{host} GPU {",".join(gpus)}' for host, gpus in places.items() if any(gpus)]
        hosts = names_text([host for host, gpus in places.items() if not any(gpus)])
        text = f'{", ".join(filter(None, (*names, hosts)))}: {words}'
        text += f'. {advice}' if advice else ''
        lines += finding_lines(severity, safe(text), width)
    return lines


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
    count, is_problem = len(listed(state)), state.screen is Screen.PROBLEMS
    below = bool(trouble_of(state)) + _SERVER_ROWS * is_problem
    if count and state.height >= _WITH_DETAIL:
        gpus = max(_GPUS_BELOW, max(len(host.gpus) for host in fleet_of(state).fleet.hosts))
        detail = 2 + gpus + _FACT_ROWS * is_problem
        below += max(min(state.height // 3, detail), state.height - 2 - below - count)
    return 2, below


def draw_list(buf: Buffer, state: AppState, _: History) -> None:
    layout, fleet = lines_layout(state), fleet_of(state)
    rows = layout.lines
    name, cursor = LISTS[state.screen], layout.line
    title = _title(name, rows)
    if layout.length > layout.visible and ' in ' not in title:
        title = title.partition(' ')[0]  # the frame counts the lines
    draw_screen_title(buf, state, (title,), [(safe(fleet.server),)])
    draw_table(
        buf,
        Rect(0, 1, buf.width, layout.area.height + 1),
        _columns(state, name),
        rows,
        first=layout.scroll_y,
        cursor=cursor,
        order=list_sort(state, Screen.HOSTS).order if name == 'hosts' else VIEWS[name].order,
        arrow=order_arrow(state, Screen.HOSTS) if name == 'hosts' else '▼',
    )
    if name != 'hosts':
        buf.hits.clear()  # a click does not sort it
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
        _draw_detail(buf, state, Rect(0, y, buf.width, bottom - y))


def _draw_detail(buf: Buffer, state: AppState, area: Rect) -> None:
    """Draw the GPUs of the current line, above them what to do about a problem."""
    row, hosts = selected(state), fleet_of(state).fleet.hosts
    facts: list[tuple[str, str]] = []
    name, columns = '', _columns(state, 'gpus')
    pairs: list[tuple[FleetHost, FleetGpu]] = []
    if state.screen in (Screen.USERS, Screen.JOBS):
        is_user = state.screen is Screen.USERS
        pairs = [
            (host, gpu)
            for host in hosts
            if host.name in row.hosts
            for gpu in host.gpus
            if row.name in (gpu.users if is_user else [str(owner.layer) for owner in gpu.owners])
        ]
        name, words = row.name, [counted(len(pairs), 'GPU')]
    elif isinstance(row, FleetHost) and row.members:
        name, words = row.name, [f'{counted(len(row.members), "host")} with free GPUs only']
        columns = _columns(state, 'hosts')
    else:
        if state.screen is Screen.PROBLEMS:
            host = next((host for host in hosts if host.name == row.host), FleetHost(row.host))
            facts = [('PROBLEM', row.text), ('ADVICE', row.advice or _ADVICE)]
        else:
            host = host_of(row)
        name, columns = host.name, columns[1:]
        pairs = [(host, gpu) for gpu in host.gpus]
        model = next((gpu.model for gpu in host.gpus if gpu.model), '').replace('NVIDIA ', '')
        count = f'{len(host.gpus)} × {safe(model)}' if model else counted(len(host.gpus), 'GPU')
        way = _WAYS.get(host.kind, host.kind)
        words = [count, f'from {way}']
        if host.is_silent:
            words = problems_of(host, _now(state))
    room = area.height - 2 - len(facts)
    if len(pairs) > room:
        words.insert(1, f'1–{room} shown')
    draw_section(buf, area.y, clip(' · '.join([safe(name), *words]), buf.width - 4))
    texts = [(label, safe(text)) for label, text in facts]
    y = area.y + 1 + draw_facts(buf, Rect(1, area.y + 1, buf.width - 2, 4), texts, 9)
    if row_list := (row.members if isinstance(row, FleetHost) else ()) or pairs:
        draw_table(buf, Rect(0, y, buf.width, area.bottom - y), columns, row_list)


def _title(name: str, rows: Sequence[Any]) -> str:
    title = 'GPUs' if name == 'gpus' else name.capitalize()
    hosts = sum(len(row.members) or 1 for row in rows) if name == 'hosts' else len(rows)
    folded = f' in {len(rows):,} rows' if hosts > len(rows) else ''
    return f'{title} {hosts:,}{folded}' if rows else title


def _columns(state: AppState, name: str) -> list[Column]:
    now, hosts = _now(state), fleet_of(state).fleet.hosts
    gap = 2 if state.width >= CLASSIC else 1
    columns = [_column(column, now, gap) for column in titled_columns(name, state.width)]
    # There may be thousands of rows.
    least, most = 8, 28
    lines = fleet_of(state).lists.get('hosts', ()) if name == 'hosts' else hosts
    widest = max((cell_width(host.name) for host in lines), default=0)
    columns = [
        column._replace(sizes=(max(least, min(widest, most)),)) if column.name == 'host' else column
        for column in columns
    ]
    if name == 'hosts':
        most = max((len(host.gpus) for host in hosts), default=1)
        width = max(3, min(_MAX_GLYPHS, most))
        heights = _DIGITS if state.view.ascii else _HEIGHTS

        def glyphs(host: FleetHost, _: int) -> Content:
            if host.members:
                return ((f'{len(host.members)} × {len(host.members[0].gpus)}', IDLE),)
            return [_glyph(gpu, heights) for gpu in host.gpus[:width]]

        title = 'PER GPU' if width >= 7 else 'GPU'
        columns.insert(1, Column('glyphs', title, (width,), '', glyphs, align='<', rank=4))
    if name == 'problems':
        columns[0] = columns[0]._replace(sizes=(10,), text=_severity)
    return columns


def _severity(problem: FleetFinding, _: int) -> Content:
    """Return the severity with its sign, as on the screen of one machine."""
    sign, style = severity_sign(problem.severity)
    return ((f'{sign} {problem.severity}', style),)


def _column(column: ListColumn, now: float, gap: int) -> Column:
    """Return a column of the screen; ``gap`` is before a column of words."""

    def content(row: Any, width: int) -> Content:
        is_silent = isinstance(row, FleetHost) and row.is_silent
        if is_silent and column.name not in ('host', 'age_seconds', 'findings'):
            return ''
        text, look = column.shown(row, now), column.look(row, now)
        if look in ('', 'heat'):
            style = _UTILIZATION if look and text != 'N/A' else PLAIN
        else:
            style = _LOOKS[look]
        used, slash, rest = text.partition('/')
        if slash and text != 'N/A' and column.name == 'memory_used_bytes':
            return ((used, PLAIN), (slash + rest, DIM))
        return clip(text, width) if style == PLAIN else ((clip(text, width), style),)

    return Column(
        column.name,
        column.title,
        column.sizes,
        '',
        content,
        column.align,
        gap=gap if column.align == '<' else 1,
        order=column.name,
        rank=column.rank,
    )


def _glyph(gpu: FleetGpu, heights: str) -> tuple[str, Style]:
    percent, count = gpu.utilization_percent, len(heights)
    if gpu.severity == 'critical':
        return '×' if heights is _HEIGHTS else 'x', ERROR
    if gpu.is_free and gpu.severity is None:
        return 'z' if gpu.state == 'asleep' else '·' if heights is _HEIGHTS else '.', IDLE
    if gpu.state == 'held':
        return heights[0], _HELD
    if percent is None:
        return '?', DIM
    style = WARNING if gpu.severity else _UTILIZATION
    return heights[max(0, min(count - 1, int(percent * count / 100)))], style


def _reason(state: AppState, name: str) -> str:
    fleet = fleet_of(state)
    if not fleet.fleet.timestamp:
        return '' if fleet.error else 'Waiting for the first answer ...'
    if fleet.fleet.hosts and state.query and name != 'problems':
        return 'Nothing matches the filter'
    text = no_hosts(fleet.scope) if not fleet.fleet.hosts else VIEWS[name].empty
    return f'{text[0].upper()}{text[1:]}'


def _server_text(state: AppState) -> str:
    """Return where the hosts come from, the most important first."""
    shown = fleet_of(state)
    fleet, kinds = shown.fleet, [host.kind for host in shown.fleet.hosts if not host.is_silent]
    if not fleet.timestamp:
        return f'{safe(shown.server)}: no answer yet'
    size = f', {fleet.size_bytes / 1e6:.2f} MB' if fleet.size_bytes else ''
    counts = [
        f'{kinds.count(kind):,} {way.partition(",")[0]}'
        for kind, way in _WAYS.items()
        if kind in kinds
    ]
    read = f'read every {shown.period:.0f}s in {fleet.seconds:.2f}s{size}'
    return f'{safe(shown.server)}, {read} · hosts: {", ".join(counts) or "none"}'
