# SPDX-License-Identifier: GPL-3.0-only
"""The problems screen: what is wrong since when, and why values are missing.

The events screen of a replay: what happened, and when.
"""

from __future__ import annotations

from nvitop.basics.units import format_time
from nvitop.gui.model import format as fmt
from nvitop.gui.model.table import Column
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, ERROR, PLAIN, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe, wrap
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.lists import listed_problems
from nvitop.gui.state.navigation import current_line, lines_layout
from nvitop.gui.state.problems import ProblemCount
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.table import draw_table
from nvitop.gui.view.text import draw_message, draw_section
from nvitop.health.types import value_words
from nvitop.sampling.types import STATUS

_CURSOR = Style(Role.KEY, bold=True)
#: Kinds of problems after which a device still responds.
_WARNINGS = frozenset({'impossible', 'slow'})
#: Cells of the word for the severity, and of the marks before it.
_WORD, _INDENT = 10, 4
#: Minimum width of the screen for times next to problems.
_WITH_TIMES = 60
#: Rows of the detail of the selected problem, with the line above it; minimum height of a screen with it.
DETAIL, WITH_DETAIL = 6, 16


def _what(line: ProblemCount) -> str:
    """Return the problem in words: ``temperature unreadable``, ``fan speed and 4 more unreadable``."""
    first = value_words(line.what.partition(', ')[0])
    name = first if line.value_count == 1 else f'{first} and {line.value_count - 1} more'
    is_value = line.device is not None and line.severity is None and line.what != STATUS
    return f'{name} unreadable' if is_value and line.kind == 'error' else name


def _severity(line: ProblemCount) -> tuple[str, str, Style]:
    if not line.is_failure:
        return '·', '', DIM
    if not line.is_current:
        return '○', 'past', DIM
    if line.severity == 'unknown':
        return '▲', 'unknown', PLAIN
    if line.severity == 'warning' or line.kind in _WARNINGS:
        return '▲', 'warning', WARNING
    return '●', 'critical' if line.severity == 'critical' else 'failed', ERROR


def draw_problems(buf: Buffer, state: AppState) -> None:
    """Draw the screen: a card of two rows for each problem, and the selected one in full."""
    lines, layout, cursor = listed_problems(state), lines_layout(state), current_line(state)
    draw_screen_title(buf, state, [_title(lines), 'Problems'])
    for number in layout.shown:
        y = layout.row_of(number)
        _draw_card(buf, y, lines[number], state, is_current=number == cursor)
    if not lines:
        text = 'No problem matches the filter' if state.problem_query else 'No problems'
        draw_message(buf, layout.area, text, DIM)
    elif layout.area.bottom + 1 < buf.height and cursor is not None:
        y = layout.row_of(layout.shown.stop)
        draw_section(buf, y, safe(lines[cursor].where))
        below = Rect(0, y + 1, buf.width, buf.height - 1 - y)
        draw_message(buf, below, _in_full(lines[cursor], state, below))


def _draw_card(
    buf: Buffer, y: int, line: ProblemCount, state: AppState, *, is_current: bool
) -> None:
    """Draw a problem in two rows."""
    mark, word, style = _severity(line)
    if is_current:
        buf.write(0, y, '►', _CURSOR)
    buf.write(2, y, mark, style)
    x = _INDENT + max(_WORD, buf.write(_INDENT, y, word, style))
    begin, when = ('since', line.first) if line.is_current else ('last', line.last)
    time = f'{begin} {fmt.format_moment(when, state.timestamp)}' if line.is_failure else ''
    end = buf.width - (cell_width(time) + 2 if buf.width >= _WITH_TIMES and time else 0)
    subject = safe(f'{line.where}  ')
    text_style = PLAIN if line.is_failure and line.is_current else DIM
    x += buf.write(x, y, subject, text_style._replace(bold=line.is_failure), width=max(0, end - x))
    reason = safe(line.brief or line.reason)
    text = f'{safe(_what(line))}: {reason}' if reason else safe(_what(line))
    buf.write(x, y, clip(text, max(0, end - x)), text_style)
    if end < buf.width:
        buf.write(end + 2, y, time, DIM)
    left = _INDENT + _WORD
    advice = safe(line.action)
    buf.write(left, y + 1, clip(advice, max(0, buf.width - left)), DIM)


def _title(lines: tuple[ProblemCount, ...]) -> str:
    failures = [line.is_current for line in lines if line.is_failure]
    return f'Problems {sum(failures)} now, {len(failures) - sum(failures)} past'


def _in_full(line: ProblemCount, state: AppState, area: Rect) -> str:
    """Return the whole problem in words, with its times and what to do, as far as they fit."""
    first, last = (fmt.format_moment(when, state.timestamp) for when in (line.first, line.last))
    often = f'in {line.times} samples'
    if line.is_current:
        times = f'now, since {first}' if line.times == 1 else f'now, {often} since {first}'
    else:
        times = f'past: once, {last}' if line.times == 1 else f'past: {often}, {first} to {last}'
    names = ', '.join(value_words(name) for name in line.what.split(', '))
    text = safe(f'{names}: {line.reason}' if line.reason else names)
    action = f'. {line.action}' if line.action else ''
    forms = (f'{text} ({times}){action}', f'{text}{action}', text)
    return next((form for form in forms if len(wrap(form, area.width - 2)) <= area.height), text)


#: Kinds of events that need attention, and those about the recorder only.
_BAD = frozenset({'lost', 'error', 'finding', 'missing', 'removed'})
_RECORDER = frozenset({'start', 'stop', 'note'})
#: Columns of the events of a recording.
EVENT_COLUMNS = (
    Column(
        'time',
        'TIME',
        (14, 19),
        '',
        lambda event, width: format_time(event.time)[-width:],
    ),
    Column('event', 'EVENT', (10, 0), '', lambda event, _: safe(event.text), align='<', gap=2),
)


def draw_events(buf: Buffer, state: AppState) -> None:
    layout = lines_layout(state)
    seen = f'{layout.shown.start + 1}-{layout.shown.stop} of ' if layout.shown else ''
    draw_screen_title(buf, state, [f'Events: {seen}{layout.length}'])
    draw_table(
        buf,
        Rect(0, 1, buf.width, layout.area.height + 1),
        EVENT_COLUMNS,
        state.events,
        style_of=lambda event: (
            DIM if event.kind in _RECORDER else WARNING if event.kind in _BAD else PLAIN
        ),
        first=layout.scroll_y,
        cursor=current_line(state),
    )
    if not state.events:
        draw_message(buf, layout.area, 'No events', DIM)
