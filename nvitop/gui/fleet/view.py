# SPDX-License-Identifier: GPL-3.0-only
"""Draws the lists of the fleet. Pure: the same state is always the same frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from nvitop.basics.text import aligned, counted
from nvitop.basics.units import format_duration
from nvitop.fleet.lists import (
    folded_gpus,
    names_text,
    no_hosts,
    one_by_one,
    parse_filter,
    problems_of,
    ranges_text,
    select,
)
from nvitop.fleet.types import Fleet, FleetFinding, FleetHost, FleetShare
from nvitop.gui.fleet.columns import LISTS, drawn_columns, number_text
from nvitop.gui.fleet.state import fleet_of, names_of, selected
from nvitop.gui.model.choices import Screen
from nvitop.gui.model.format import format_timestamp
from nvitop.gui.model.table import WITH_BAR, Column
from nvitop.gui.render.buffer import Buffer, Item, Rect
from nvitop.gui.render.theme import DIM, ERROR, IDLE, PLAIN, TITLE, WARNING, Pieces
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.state.app_state import AppState, ListLayout
from nvitop.gui.state.lists import sorted_by
from nvitop.gui.view.hints import set_title, title_badges
from nvitop.gui.view.report_lines import draw_findings, draw_head, finding_lines
from nvitop.gui.view.table import draw_table, place_for, plain_text
from nvitop.gui.view.text import (
    draw_border,
    draw_facts,
    draw_message,
    draw_rule,
    draw_section,
    draw_uprights,
)
from nvitop.sampling.history import History

if TYPE_CHECKING:
    from nvitop.gui.fleet.data import FleetState

#: Minimum height of the inside of the frame with the detail of the current line.
_WITH_DETAIL = 14
#: GPUs for which the detail has room at least, and its rows about a problem.
_GPUS_BELOW, _FACT_ROWS = 8, 2
#: Rows about the server below the problems.
_SERVER_ROWS = 2
#: Share of the first line for the names of hosts with free GPUs.
_SHARE_OF_FREE = 1 / 3
#: Width from which sums over the hosts are in the first line, next to names.
_WITH_SUMS = 150
#: Maximum number of ranges of hosts that a line has room for.
_MAX_RANGES = 40
#: Narrowest and widest column of hosts; cells for users on a narrow screen.
_LEAST_NAME, _MOST_NAME = 8, 28
#: Width of a report for other programs, which is not cut.
_ANY_WIDTH = 1 << 16
_ADVICE = 'Enter opens the host; its own list of problems has advice'
#: Kind of host → where its values come from, and what is missing.
_WAYS = {
    'own': ('nvitop exporter', ''),
    'dcgm': ('dcgm-exporter', ', which reports no users and few problems'),
    'ssh': ('nvitop over ssh', ''),
    'nvidia-smi': ('nvidia-smi over ssh', ', which reports no jobs'),
}


def first_line(state: AppState) -> tuple[Item, ...]:
    """Return the sums over the hosts: which GPUs are free, held, and what is wrong first."""
    fleet = fleet_of(state)
    if not fleet.reading.timestamp:
        return ()
    hosts, _, *others = _sums(state)
    items = _answer(fleet, state.width)
    if fleet.sums.hosts < fleet.everything.hosts:
        items.append(hosts)
    return (*items, *(others if state.width >= _WITH_SUMS else ()))


def _answer(fleet: FleetState, width: int) -> list[Item]:
    """Return where GPUs are free, how many are held, what is wrong, and what a filter hides."""
    sums = fleet.sums
    free = _with_names(f'{sums.free_gpus:,} free', fleet.free_hosts)
    fitting = tuple(form for form in free if cell_width(form) <= width * _SHARE_OF_FREE)
    problems = counted(sums.problems, 'problem') if sums.problems else 'no problems'
    style = ERROR if sums.critical_problems else WARNING if sums.problems else PLAIN
    hidden = fleet.everything.problems - sums.problems
    items = [
        Item(fitting or free[-1:], IDLE if sums.free_gpus else PLAIN, 0),
        Item((f'{sums.held_gpus:,} held',), WARNING if sums.held_gpus else PLAIN, 2),
    ]
    if sums.problems or not hidden:
        items.append(Item(_with_names(problems, fleet.problem_hosts), style, 1, '!'))
    if hidden > 0:
        items.append(Item((f'{counted(hidden, "problem")} hidden',), WARNING, 3, '!'))
    return items


def _with_names(text: str, ranges: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return a text with names of hosts after it, from most of them to none."""
    counts = range(min(_MAX_RANGES, len(ranges)), 0, -1)
    cut = ['' if count == len(ranges) else ' ..' for count in counts]
    return (*(f'{text}: {safe(ranges_text(ranges[:n]))}{end}' for n, end in zip(counts, cut)), text)


def _sums(state: AppState) -> list[Item]:
    """Return the numbers of hosts and GPUs, and averages and sums over them."""
    sums, of_all = fleet_of(state).sums, fleet_of(state).everything.hosts
    hosts, watts = counted(sums.hosts, 'host'), sums.power_watts or 0.0
    if of_all > sums.hosts:
        hosts = f'{sums.hosts:,} of {counted(of_all, "host")}'
    items = [
        Item((hosts,), rank=4),
        Item((counted(sums.gpus, 'GPU'),), rank=5),
        Item((f'util {number_text(sums.utilization_percent, "%")}',), rank=6),
        Item((f'mem {number_text(sums.memory_percent, "%")}',), rank=7),
    ]
    power = f'{watts / 1e6:.2f} MW' if watts >= 1e6 else f'{watts / 1e3:.1f} kW'
    return [*items, Item((power,), rank=9)] if watts else items


def _heads(state: AppState, width: int) -> tuple[list[Item], list[Item]]:
    """Return the two lines above a report: the answer; versions, time and sums."""
    head = [
        Item((f'NVITOP {state.version}',), TITLE, 0),
        Item((format_timestamp(fleet_of(state).reading.timestamp),), DIM, 1),
        *title_badges(state),
        *(item._replace(style=DIM) for item in _sums(state)),
    ]
    return _answer(fleet_of(state), width), head


def report_text(state: AppState, rows: Sequence[Any]) -> str:
    """Return a list for other programs, without frame and colors; nothing is cut."""
    view, columns = LISTS[state.screen].view, LISTS[state.screen].columns
    cells = [[column.title for column in columns]]
    for row in rows:
        contents = [column.text(row, _ANY_WIDTH) for column in columns]
        cells.append([plain_text(content) for content in contents])
    left = {at for at, column in enumerate(columns) if column.align == '<'}
    heads = ['  '.join(item.forms[0] for item in items) for items in _heads(state, _ANY_WIDTH)]
    return '\n'.join([*heads, aligned(cells, left) if rows else f'{view.empty}\n'])


def draw_report(state: AppState, rows: Sequence[Any], width: int) -> Buffer:
    """Draw what is free and wrong, the time, a list with all its rows, and the findings."""
    state = state._replace(width=width)
    notes = _findings(fleet_of(state).reading.problems, width)  # with all advice, whole
    columns = _columns(state, state.screen, rows, width)
    columns = [column for column in columns if column.name != 'advice']
    bottom, ends = 3 + max(1, len(rows)) + 1, (0, width - 1)
    buf = Buffer(width, bottom + 1 + len(notes))
    draw_head(buf, _heads(state, width))
    draw_border(buf, 2, (), ends, [Item((_titles(state.screen, rows)[0],), TITLE)])
    for y in range(3, bottom):
        draw_uprights(buf, y, ends)
    area = Rect(2, 3, width - 4, bottom - 3)
    draw_table(buf, area, place_for(rows, columns, area), rows)
    if not rows:
        draw_message(buf, Rect(1, 3, width - 2, 1), LISTS[state.screen].view.empty, DIM)
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
        lines += finding_lines(severity, safe(text), safe(advice), width)
    return lines


def trouble_of(state: AppState) -> str:
    """Return the line below the others: the error, or the warnings of the server."""
    fleet = fleet_of(state)
    if not fleet.error:
        return '; '.join(fleet.reading.warnings)
    seconds = max(0.0, state.timestamp - fleet.error_since)
    return f'{fleet.error} (since {format_duration(seconds)})' if seconds >= 1 else fleet.error


def margins(state: AppState, lines: Sequence[Any]) -> tuple[int, int]:
    """Return the rows above the lines, and those of the detail, the server and an error below them."""
    count, is_problem = len(lines), state.screen is Screen.PROBLEMS
    below = bool(trouble_of(state)) + _SERVER_ROWS * is_problem
    if count and state.inside.height >= _WITH_DETAIL:
        gpus = max(_GPUS_BELOW, max(len(host.gpus) for host in fleet_of(state).reading.hosts))
        detail = 2 + gpus + _FACT_ROWS * is_problem
        below += max(min(state.inside.height // 3, detail), state.inside.height - 2 - below - count)
    return 2, below


def draw_list(buf: Buffer, state: AppState, layout: ListLayout, _: History) -> None:
    fleet, rows, cursor = fleet_of(state), layout.lines, layout.line
    title, brief = _titles(state.screen, rows)
    shown = brief if layout.length > layout.visible else title  # then the frame counts the lines
    set_title(buf, layout, (shown,), [(safe(fleet.server),)])
    draw_table(
        buf,
        layout.with_headings,
        place_for(rows, _columns(state, state.screen, rows, buf.width), layout.area),
        layout.shown_lines,
        cursor=layout.cursor,
        by=sorted_by(state),
    )
    if not rows:
        draw_message(buf, layout.area, _reason(state), DIM)
    bottom = buf.height
    if trouble_of(state):
        bottom -= 1
        text = safe(trouble_of(state))
        buf.write(1, bottom, clip(text, buf.width - 1), ERROR if fleet.error else WARNING)
    if state.screen is Screen.PROBLEMS:
        bottom -= _SERVER_ROWS
        draw_message(buf, Rect(0, bottom, buf.width, _SERVER_ROWS), _server_text(state), DIM)
    y = layout.area.bottom
    if cursor is not None and rows and bottom - y > 2:
        _draw_detail(buf, state, Rect(0, y, buf.width, bottom - y))


def _draw_detail(buf: Buffer, state: AppState, area: Rect) -> None:
    """Draw the GPUs of the current line, above them what to do about a problem."""
    row = selected(state)
    known_hosts = {host.name: host for host in fleet_of(state).reading.hosts}
    shown = Fleet(tuple(known_hosts[name] for name in names_of(row) if name in known_hosts))
    name = row.host if isinstance(row, FleetFinding) else row.name
    known = 'host' if len(shown.hosts) == 1 else ''
    facts: list[tuple[str, str]] = []
    if isinstance(row, FleetShare):
        shown, known = select(shown, parse_filter(row.filter)), state.screen.value
    elif isinstance(row, FleetFinding):
        facts = [('PROBLEM', row.text), ('ADVICE', row.advice or _ADVICE)]
    elif row.is_silent:
        facts = [('ADVICE', finding.advice) for finding in row.findings if finding.advice]
    gpus = [gpu for host in shown.hosts for gpu in one_by_one(host)]
    words, lacks = _words_of_hosts(shown.hosts)
    room = area.height - 2 - len(facts)
    gpus = folded_gpus(gpus) if len(gpus) > room else gpus
    if len(gpus) > room:
        words.insert(1, f'{room} rows shown')
        faulty = sorted(range(len(gpus)), key=lambda at: gpus[at].gpus[0].severity is None)
        gpus = [gpus[at] for at in sorted(faulty[:room])]
    title = ' · '.join([safe(name), *words])
    fits = cell_width(title + lacks) <= buf.width - 4
    draw_section(buf, area.y, title + lacks if fits else clip(title, buf.width - 4))
    texts = [(label, safe(text)) for label, text in facts]
    y = area.y + 1 + draw_facts(buf, Rect(1, area.y + 1, buf.width - 2, 4), texts, 9)
    if gpus:
        columns = _columns(state, Screen.GPUS, gpus, buf.width)
        # The headings of this table do not sort the list above.
        columns = [column._replace(order='') for column in columns if column.name != known]
        below = Rect(0, y, buf.width, area.bottom - y)
        draw_table(buf, below, place_for(gpus, columns, below), gpus[: max(0, below.height - 1)])


def _words_of_hosts(hosts: Sequence[FleetHost]) -> tuple[list[str], str]:
    """Return what hosts have and where their values come from, and what is missing there."""
    gpus, kinds = [gpu for host in hosts for gpu in host.gpus], {host.kind for host in hosts}
    if all(host.is_silent for host in hosts):
        return [words for host in hosts for words in problems_of(host)], ''
    models = {model for host in hosts for model in host.models}
    count = f'{len(gpus)} × {safe(*models)}' if len(models) == 1 else counted(len(gpus), 'GPU')
    if len(kinds) != 1:
        return [count], ''
    way, lacks = _WAYS[kinds.pop()]
    return [count, f'from {way}'], lacks


def _titles(screen: Screen, rows: Sequence[Any]) -> tuple[str, str]:
    """Return the title of a list with and without its number of lines."""
    title, count = screen.value[0].upper() + screen.value[1:], sum(map(LISTS[screen].count, rows))
    if count > len(rows):
        return (f'{title} {count:,} in {len(rows):,} rows',) * 2
    return f'{title} {count:,}' if rows else title, title


def _columns(state: AppState, screen: Screen, rows: Sequence[Any], width: int) -> list[Column]:
    """Return the columns for a width, with room for the names of the hosts."""
    is_narrow = width < WITH_BAR
    names = [row.host if isinstance(row, FleetFinding) else row.name for row in rows]
    widest = cell_width(max(names, key=len, default=''))  # there may be thousands
    sizes = {'host': (max(_LEAST_NAME, min(widest, _MOST_NAME)),)}
    if is_narrow and screen in (Screen.HOSTS, Screen.GPUS):
        sizes.update(users=(_LEAST_NAME,), utilization_percent=(4,), held_gpus=(4,))
    most = max((len(host.gpus) for host in fleet_of(state).reading.hosts), default=1)
    return [
        column._replace(
            sizes=sizes.get(column.name, column.sizes), gap=1 if is_narrow else column.gap
        )
        for column in drawn_columns(screen, width, most, is_ascii=state.view.ascii)
    ]


def _reason(state: AppState) -> str:
    fleet = fleet_of(state)
    if not fleet.reading.timestamp:
        return '' if fleet.error else 'Waiting for the first answer'
    if fleet.reading.hosts and state.query_on(state.screen):
        return 'Nothing matches the filter'
    text = LISTS[state.screen].view.empty if fleet.reading.hosts else no_hosts(fleet.scope)
    return f'{text[0].upper()}{text[1:]}'


def _server_text(state: AppState) -> str:
    """Return where the hosts come from, the most important first."""
    shown = fleet_of(state)
    fleet, kinds = shown.reading, [host.kind for host in shown.reading.hosts if not host.is_silent]
    if not fleet.timestamp:
        return f'{safe(shown.server)}: no answer yet'
    size = f', {fleet.size_bytes / 1e6:.2f} MB' if fleet.size_bytes else ''
    counts = [f'{kinds.count(kind):,} {way}' for kind, (way, _) in _WAYS.items() if kind in kinds]
    read = f'read every {shown.period:.0f}s in {fleet.seconds:.2f}s{size}'
    return f'{safe(shown.server)}, {read} · hosts: {", ".join(counts) or "none"}'
