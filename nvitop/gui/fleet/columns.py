# SPDX-License-Identifier: GPL-3.0-only
"""The columns of the lists of the fleet. Pure."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from nvitop.basics.units import GiB
from nvitop.fleet.lists import HostGpu, names_text, problems_of
from nvitop.fleet.types import FleetFinding, FleetGpu, FleetHost, worst
from nvitop.gui.model.format import NOT_AVAILABLE
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


def _temperature(row: Any, _: int) -> Content:
    gpus = (row,) if isinstance(row, FleetGpu) else row.gpus
    hot = worst(finding for gpu in gpus for finding in gpu.findings if finding.is_hot)
    return ((number_text(row.temperature_celsius, '°C'), _SEVERITIES[hot]),)


def _count(number: int, style: Style) -> Content:
    return ((str(number), style),) if number else ''


def _brief(users: Sequence[str]) -> str:
    """Return users in a short form: ``'bob +2'``."""
    return f'{users[0]} +{len(users) - 1}' if len(users) > 1 else ''.join(users)


def _users(text: str, width: int, *, is_used: bool) -> Content:
    """Return users, and whether those of GPUs in use are missing."""
    return _words(text, width) or _words('unknown' if is_used else '', width, DIM)


def _state(gpu: FleetGpu, width: int) -> Content:
    if gpu.state in ('lost', 'timed out', 'error'):
        style = ERROR
    else:
        style = IDLE if gpu.is_free else WARNING if gpu.state == 'held' else PLAIN
    return _words(gpu.word, width, style)


def _problems_of_gpu(gpu: FleetGpu, width: int) -> Content:
    """Return what is wrong with a GPU besides its state."""
    words = ', '.join(finding.words for finding in gpu.findings if finding.words != gpu.word)
    return _words(words, width, _SEVERITIES[gpu.severity])


def severity_text(problem: FleetFinding, _: int) -> Content:
    """Return the severity with its sign, as on the screen of one machine."""
    sign, style = severity_sign(problem.severity)
    return ((f'{sign} {problem.severity}', style),)


def _column(name: str, title: str, sizes: tuple[int, ...], text: _Text, rank: int = 0) -> Column:
    return Column(name, title, sizes, '', text, order=name, rank=rank)


def _text_column(
    name: str, title: str, sizes: tuple[int, ...], text: _Text, rank: int = 0
) -> Column:
    return _column(name, title, sizes, text, rank)._replace(align='<')


def _of_gpu(text: _Text) -> _Text:
    return lambda row, width: text(row.gpu, width)


def _unless_silent(text: _Text) -> _Text:
    return lambda host, width: '' if host.is_silent else text(host, width)


# fmt: off
_HOST = _text_column('host', 'HOST', (8, 28), lambda row, width: _words(row.host.name if isinstance(row, HostGpu) else row.name, width))
_USAGE = (
    _column('utilization_percent', 'UTIL', (5,), lambda row, _: number_text(row.utilization_percent, '%'), 2),
    _column('memory_used_bytes', 'MEM GiB', (9,), lambda row, _: _memory(row.memory_used_bytes, row.memory_total_bytes), 7),
    _column('power_watts', 'POWER kW', (8,), lambda row, _: number_text(row.power_watts and row.power_watts / 1000, digits=1), 9),
    _column('temperature_celsius', 'TEMP', (5,), _temperature, 5),
)
_HOSTS = (
    _column('gpus', 'GPUS', (4,), lambda host, _: str(len(host.gpus)), 6),
    *_USAGE,
    _column('free_gpus', 'FREE', (5,), lambda host, _: _count(host.free, IDLE), 1),
    _column('held_gpus', 'HELD', (5,), lambda host, _: _count(host.held, WARNING), 1),
    _text_column('models', 'MODEL', (16,), lambda host, width: _words(', '.join(host.models), width), 10),
    _text_column('users', 'USERS', (14,), lambda host, width: _users(_brief(host.users), width, is_used=any(gpu.is_used for gpu in host.gpus)), 3),
)
_GPUS = (
    _column('gpu', 'GPU', (4,), lambda gpu, _: gpu.label),
    _text_column('state', 'STATE', (14,), _state),
    _USAGE[0],
    _column('memory_used_bytes', 'MEM GiB', (9,), lambda gpu, _: _memory(gpu.memory_used_bytes, gpu.memory_total_bytes, 1), 3),
    _column('power_watts', 'POWER W', (7,), lambda gpu, _: number_text(gpu.power_watts), 6),
    _USAGE[3],
    _text_column('users', 'USERS', (12,), lambda gpu, width: _users(', '.join(gpu.users), width, is_used=gpu.is_used), 1),
    _text_column('jobs', 'JOB', (18,), lambda gpu, width: _words(', '.join(gpu.jobs), width), 4),
    _text_column('findings', 'PROBLEMS', (10, 0), _problems_of_gpu),
)
_SHARES = (
    _column('gpus', 'GPUS', (5,), lambda share, _: str(share.gpus)),
    _column('held_gpus', 'HELD', (5,), lambda share, _: _count(share.held_gpus, WARNING), 1),
    _USAGE[0],
)
_HOSTS_OF = _text_column('hosts', 'HOSTS', (20, 0), lambda share, width: _words(names_text(share.hosts), width), 2)
_COLUMNS = {
    'hosts': (_HOST, *(column._replace(text=_unless_silent(column.text)) for column in _HOSTS)),
    'gpus': (_HOST, *(column._replace(text=_of_gpu(column.text)) for column in _GPUS)),
    'users': (
        _text_column('user', 'USER', (12, 40), lambda user, width: _words(user.name, width)),
        *_SHARES,
        _column('processes', 'PROCESSES', (9,), lambda user, _: number_text(user.processes), 4),
        _column('memory_bytes', 'MEM GiB', (8,), lambda user, _: _memory(user.memory_bytes, None), 3),
        _HOSTS_OF,
    ),
    'jobs': (
        _text_column('job', 'JOB', (12, 40), lambda job, width: _words(job.name, width)),
        *_SHARES,
        _text_column('users', 'USERS', (14,), lambda job, width: _users(_brief(job.users), width, is_used=True), 2),
        _HOSTS_OF._replace(rank=4),
    ),
    'problems': (
        _text_column('severity', 'SEVERITY', (10,), lambda problem, _: problem.severity, 1),
        _HOST._replace(text=lambda problem, width: _words(problem.host, width)),
        _column('gpu', 'GPU', (4,), lambda problem, _: problem.gpu),
        _text_column('finding', 'PROBLEM', (24, 200), lambda problem, width: _words(problem.words, width)),
        _text_column('advice', 'ADVICE', (40, 0), lambda problem, width: _words(problem.advice, width), 2),
    ),
}
# fmt: on


def list_columns(name: str, late: float = 0.0) -> list[Column]:
    """Return the columns of a list, ``late`` seconds after the hosts were read."""

    def problems(host: FleetHost, width: int) -> Content:
        style = _SEVERITIES[host.later(late).severity]
        return _words(', '.join(problems_of(host, late)), width, style)

    def dim_if_old(text: _Text) -> _Text:
        def dimmed(host: FleetHost, width: int) -> Content:
            content = text(host, width)
            return ((plain_text(content), DIM),) if host.later(late).is_old else content

        return dimmed

    if name != 'hosts':
        return [*_COLUMNS[name]]
    columns = [column._replace(text=dim_if_old(column.text)) for column in _COLUMNS[name][1:]]
    return [_HOST, *columns, _text_column('findings', 'PROBLEMS', (18, 0), problems)]


def glyphs_column(most: int, *, is_ascii: bool) -> Column:
    """Return the column with a glyph for each GPU of a host with at most ``most`` of them."""
    width = max(3, min(_MAX_GLYPHS, most))
    heights = _DIGITS if is_ascii else _HEIGHTS

    def glyphs(host: FleetHost, _: int) -> Content:
        if host.members:
            return ((f'{len(host.members)} × {len(host.members[0].gpus)}', IDLE),)
        return [_glyph(gpu, heights) for gpu in host.gpus[:width]]

    title = 'PER GPU' if width >= 7 else 'GPU'
    return _text_column('glyphs', title, (width,), glyphs, 4)._replace(gap=1, order='')


def _glyph(gpu: FleetGpu, heights: str) -> tuple[str, Style]:
    percent, count = gpu.utilization_percent, len(heights)
    if gpu.severity == 'critical':
        return '×' if heights is _HEIGHTS else 'x', ERROR
    if gpu.is_free and gpu.severity is None:
        return 'z' if gpu.state == 'asleep' else '_', IDLE
    if gpu.state == 'held':
        return heights[0], _HELD
    if not percent and (percent is None or gpu.state == 'unknown'):
        return '?', DIM
    style = WARNING if gpu.severity else _UTILIZATION
    return heights[max(0, min(count - 1, int(percent * count / 100)))], style
