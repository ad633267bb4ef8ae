# SPDX-License-Identifier: GPL-3.0-only
"""The columns of the lists of the fleet. Pure."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, NamedTuple, Sequence

from nvitop.basics.units import GiB
from nvitop.fleet.lists import VIEWS, View, folded_hosts, folded_neighbors, names_text, problems_of
from nvitop.fleet.types import FleetFinding, FleetGpu, FleetHost, FleetShare, worst
from nvitop.gui.model.choices import Screen
from nvitop.gui.model.format import NOT_AVAILABLE, join_labels
from nvitop.gui.model.table import Column, Content
from nvitop.gui.render.theme import DIM, ERROR, IDLE, PLAIN, WARNING, Role, Style
from nvitop.gui.render.width import clip, safe
from nvitop.gui.view.table import plain_text
from nvitop.gui.view.text import severity_sign

_UTILIZATION, _HELD = Style(Role.UTILIZATION), Style(Role.HELD)
_SEVERITIES = {'critical': ERROR, 'warning': WARNING, None: PLAIN}
#: Up to 7/8 of the cell, so that rows do not touch each other.
_HEIGHTS = '▁▂▃▄▅▆▇'
_DIGITS = '0123456789'
#: Maximum number of glyphs of a host in the list.
_MAX_GLYPHS = 16
#: Makes the content of a cell.
_Text = Callable[[Any, int], Content]


class FleetList(NamedTuple):
    """A list, and how it is drawn."""

    view: View
    columns: Sequence[Column]
    #: What a row counts in the title.
    count: Callable[[Any], int] = lambda _: 1
    #: Makes rows for several hosts that are alike, if the list has more than there is room for.
    fold: Callable[[Sequence[Any]], Sequence[Any]] = list


def number_text(value: float | None, unit: str = '', digits: int = 0) -> str:
    """Return a number with its unit: ``'98%'``."""
    return NOT_AVAILABLE if value is None else f'{value:.{digits}f}{unit}'


def _words(text: str, width: int, style: Style = PLAIN) -> Content:
    return ((clip(safe(text), width), style),) if text else ''


def _memory(used: float | None, total: float | None, digits: int = 0) -> Content:
    if used is None:
        return NOT_AVAILABLE
    rest = '' if total is None else f'/{total / GiB:.0f}'
    return ((f'{used / GiB:.{digits}f}', PLAIN), (rest, DIM))


def _temperature(row: FleetHost, _: int) -> Content:
    hot = worst(finding for gpu in row.gpus for finding in gpu.findings if finding.is_hot)
    return ((number_text(row.temperature_celsius, '°C'), _SEVERITIES[hot]),)


def _count(number: int, style: Style) -> Content:
    return ((str(number), style),) if number else ''


def _brief(users: Sequence[str]) -> str:
    """Return users in a short form: ``'bob +2'``."""
    return f'{users[0]} +{len(users) - 1}' if len(users) > 1 else ''.join(users)


def _users(text: str, width: int, *, is_used: bool) -> Content:
    """Return users, and whether those of GPUs in use are missing."""
    return _words(text, width) or _words('unknown' if is_used else '', width, DIM)


def _state(row: FleetHost, width: int) -> Content:
    gpu = row.gpus[0]
    if gpu.state in ('lost', 'timed out', 'error'):
        style = ERROR
    else:
        style = IDLE if gpu.is_free else WARNING if gpu.state == 'held' else PLAIN
    return _words(gpu.word, width, style)


def _problems_of_gpu(row: FleetHost, width: int) -> Content:
    """Return what is wrong with a GPU besides its state."""
    gpu = row.gpus[0]
    words = ', '.join(finding.words for finding in gpu.findings if finding.words != gpu.word)
    return _words(words, width, _SEVERITIES[gpu.severity])


def _severity(problem: FleetFinding, _: int) -> Content:
    """Return the severity with its sign, as on the screen of one machine."""
    sign, style = severity_sign(problem.severity)
    return ((f'{sign} {problem.severity}', style),)


def _column(
    name: str, title: str, sizes: tuple[int, ...], text: _Text, rank: int = 0, letter: str = ''
) -> Column:
    order = name if letter else ''
    return Column(name, title, sizes, '', text, order=order, letter=letter, rank=rank)


def _text_column(
    name: str, title: str, sizes: tuple[int, ...], text: _Text, rank: int = 0, letter: str = ''
) -> Column:
    return _column(name, title, sizes, text, rank, letter)._replace(align='<', gap=2)


def _problems(host: FleetHost, width: int) -> Content:
    return _words(', '.join(problems_of(host)), width, _SEVERITIES[host.severity])


def _dimmed(content: Content) -> Content:
    """Return a cell of a dim row, in which missing values are blank."""
    return '' if content == NOT_AVAILABLE else ((plain_text(content), DIM),)


def _dim_if_old(*columns: Column) -> list[Column]:
    def dimmed(text: _Text, host: FleetHost, width: int) -> Content:
        content = '' if host.is_silent else text(host, width)
        return _dimmed(content) if host.is_old else content

    return [column._replace(text=partial(dimmed, column.text)) for column in columns]


def _dim_without_users(*columns: Column) -> list[Column]:
    def dimmed(text: _Text, share: FleetShare, width: int) -> Content:
        content = text(share, width)
        return content if share.users else _dimmed(content)

    return [column._replace(text=partial(dimmed, column.text)) for column in columns]


# fmt: off
_HOST = _text_column('host', 'HOST', (8, 28), lambda row, width: _words(row.name, width), letter='h')
_UTILIZATION_COLUMN = _column('utilization_percent', 'UTIL', (5,), lambda row, _: number_text(row.utilization_percent, '%'), 2, letter='u')
_USAGE = (
    _UTILIZATION_COLUMN,
    _column('memory_used_bytes', 'MEM GiB', (9,), lambda row, _: _memory(row.memory_used_bytes, row.memory_total_bytes, int(len(row.gpus) == 1)), 11, letter='m'),
    _column('power_watts', 'POWER W', (7,), lambda row, _: number_text(row.power_watts), 12, letter='p'),
    _column('temperature_celsius', 'TEMP', (5,), _temperature, 9, letter='t'),
)
_USERS = _text_column('users', 'USERS', (14,), lambda row, width: _users(_brief(row.users), width, is_used=any(gpu.is_used for gpu in row.gpus)), 3, letter='e')
_GPUS = _column('gpus', 'GPUS', (5,), lambda share, _: str(share.gpus), letter='g')
_HELD_GPUS = _column('held_gpus', 'HELD', (5,), lambda share, _: _count(share.held_gpus, WARNING), 1, letter='d')
_HOSTS_OF = _text_column('hosts', 'HOSTS', (20, 0), lambda share, width: _words(names_text(share.hosts), width), 2, letter='h')
#: Screen → its list. The columns are those for other programs.
LISTS = {
    Screen.HOSTS: FleetList(
        VIEWS['hosts'],
        (
            _HOST,
            *_dim_if_old(
                _column('gpus', 'GPUS', (4,), lambda host, _: str(len(host.gpus)), 10, letter='g'),
                *_USAGE,
                _column('free_gpus', 'FREE', (5,), lambda host, _: _count(host.free, IDLE), 1, letter='r'),
                _column('held_gpus', 'HELD', (5,), lambda host, _: _count(host.held, WARNING), 1, letter='d'),
                _text_column('models', 'MODEL', (16,), lambda host, width: _words(', '.join(host.models), width), 13),
                _USERS,
            ),
            _text_column('findings', 'PROBLEMS', (16, 0), _problems, letter='f'),
        ),
        count=lambda row: len(row.members) or 1,
        fold=folded_hosts,
    ),
    Screen.GPUS: FleetList(
        VIEWS['gpus'],
        (
            _HOST,
            *_dim_if_old(
                _text_column('gpu', 'GPU', (4, 12), lambda row, _: join_labels(dict.fromkeys(gpu.label for gpu in row.gpus))),
                _text_column('state', 'STATE', (14,), _state, letter='s'),
                *_USAGE,
                _USERS._replace(rank=1),
                _text_column('jobs', 'JOB', (18,), lambda row, width: _words(', '.join(row.gpus[0].jobs), width), 4, letter='j'),
                _text_column('findings', 'PROBLEMS', (10, 0), _problems_of_gpu, 1, letter='f'),
            ),
        ),
        count=lambda row: len(row.gpus),
        fold=folded_neighbors,
    ),
    Screen.USERS: FleetList(
        VIEWS['users'],
        (
            *_dim_without_users(
                _text_column('user', 'USER', (12, 40), lambda user, width: _words(user.name, width), letter='e'),
                _GPUS,
            ),
            _HELD_GPUS,  # amber for unknown users too
            *_dim_without_users(
                _UTILIZATION_COLUMN,
                _column('processes', 'PROCS', (6,), lambda user, _: number_text(user.processes), 4, letter='c'),
                _column('memory_bytes', 'MEM GiB', (8,), lambda user, _: _memory(user.memory_bytes, None), 3, letter='m'),
                _HOSTS_OF,
            ),
        ),
        count=lambda row: bool(row.users),
    ),
    Screen.JOBS: FleetList(
        VIEWS['jobs'],
        (
            _text_column('job', 'JOB', (12, 40), lambda job, width: _words(job.name, width), letter='j'),
            _GPUS,
            _HELD_GPUS,
            _UTILIZATION_COLUMN,
            _text_column('users', 'USERS', (14,), lambda job, width: _users(_brief(job.users), width, is_used=True), 2, letter='e'),
            _HOSTS_OF._replace(rank=4),
        ),
    ),
    Screen.PROBLEMS: FleetList(
        VIEWS['problems'],
        (
            _text_column('severity', 'SEVERITY', (10,), lambda problem, _: problem.severity, 1, letter='s'),
            _HOST._replace(text=lambda problem, width: _words(problem.host, width)),
            _text_column('gpu', 'GPU', (4,), lambda problem, _: problem.gpu),
            _text_column('finding', 'PROBLEM', (24, 200), lambda problem, width: _words(problem.words, width), letter='f'),
            _text_column('advice', 'ADVICE', (40, 0), lambda problem, width: _words(problem.advice, width), 2),
        ),
    ),
}
# fmt: on


def drawn_columns(screen: Screen, width: int, most: int, *, is_ascii: bool) -> Sequence[Column]:
    """Return the columns of a list in a frame, of hosts with at most ``most`` GPUs."""
    first, *others = LISTS[screen].columns
    if screen is Screen.HOSTS:
        *others, problems = others
        problems = problems._replace(sizes=(max(16, min(24, width // 3)), 0))
        return [first, _glyphs_column(most, is_ascii=is_ascii), *others, problems]
    if screen is Screen.PROBLEMS:
        first = first._replace(text=_severity)
    return [first, *others]


def _glyphs_column(most: int, *, is_ascii: bool) -> Column:
    """Return the column with a glyph for each GPU of a host with at most ``most`` of them."""
    width = max(3, min(_MAX_GLYPHS, most))
    heights = _DIGITS if is_ascii else _HEIGHTS

    def glyphs(host: FleetHost, _: int) -> Content:
        if host.members:
            return ((f'{len(host.members)} × {len(host.members[0].gpus)}', IDLE),)
        return [_glyph(gpu, heights) for gpu in host.gpus[:width]]

    title = 'PER GPU' if width >= 7 else 'GPU'
    return _text_column('glyphs', title, (width,), glyphs, 4)._replace(gap=1)


def _glyph(gpu: FleetGpu, heights: str) -> tuple[str, Style]:
    percent, count = gpu.utilization_percent, len(heights)
    if gpu.severity == 'critical':
        return '×' if heights is _HEIGHTS else 'x', ERROR
    if gpu.is_free and gpu.severity is None:
        return 'z' if gpu.state == 'asleep' else '_', IDLE
    if gpu.state == 'held':
        return heights[0], _HELD
    if percent is None:
        return '?', DIM
    style = WARNING if gpu.severity else _UTILIZATION
    return heights[max(0, min(count - 1, int(percent * count / 100)))], style
