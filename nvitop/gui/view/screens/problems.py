# SPDX-License-Identifier: GPL-3.0-only
"""The problems screen: what is wrong since when, and why values are missing.

The events screen of a replay: what happened, and when.
"""

from __future__ import annotations

from typing import Sequence

from nvitop.basics.units import format_time
from nvitop.gui.model import format as fmt
from nvitop.gui.model.table import Column
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, PLAIN, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.navigation import lines_layout
from nvitop.gui.state.problems import ProblemCount, problem_lines
from nvitop.gui.state.process_rows import is_on
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.panels.device import draw_histories
from nvitop.gui.view.screens.main import ruler_of
from nvitop.gui.view.table import draw_table
from nvitop.gui.view.text import draw_facts, draw_message, draw_section, severity_sign
from nvitop.health.types import value_words
from nvitop.sampling.history import History
from nvitop.sampling.types import STATUS

_CURSOR = Style(Role.KEY, bold=True)
#: Kinds of problems after which a device still responds.
_WARNINGS = frozenset({'impossible', 'slow'})
#: Cells of the marks and of the word for the severity; maximum width of the column of subjects.
_INDENT, _WORD, _WIDEST_SUBJECT = 4, 10, 16
#: Minimum width of the screen for words about the severity, times, and labels in the detail.
_WIDE = 60
#: Rows of the detail of the selected problem, with the line above it.
_DETAIL = 7
#: Cells of the labels in the detail.
_LABEL = 12


def detail_height(state: AppState) -> int:
    return max(0, min(_DETAIL, state.height - 3))  # the title, and at least one card


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
    severity = line.severity or ('warning' if line.kind in _WARNINGS else 'critical')
    sign, style = severity_sign(severity)
    return sign, severity if line.severity or severity == 'warning' else 'failed', style


def draw_problems(buf: Buffer, state: AppState, history: History) -> None:
    """Draw the screen: a card of two rows for each problem, and the selected one in full."""
    layout = lines_layout(state)
    lines, cursor = layout.lines, layout.line
    draw_screen_title(buf, state, [_title(lines), 'Problems'])
    is_wide = buf.width >= _WIDE
    widest = max((cell_width(safe(each.where)) for each in lines if each.is_failure), default=0)
    subject = min(widest, _WIDEST_SUBJECT) + 2 if is_wide else 0
    hidden: tuple[str, ...] = ()
    for number in layout.shown:
        y = layout.row_of(number)
        if number == cursor:
            buf.write(0, y, '►', _CURSOR)
        cut = _draw_card(buf, y, lines[number], state, subject)
        if number == cursor:
            hidden = cut
    if not lines:
        text = 'No problem matches the filter' if state.problem_query else 'No problems'
        draw_message(buf, layout.area, text, DIM)
    elif layout.area.bottom + 1 < buf.height and cursor is not None:
        y = layout.row_of(layout.shown.stop)
        draw_section(buf, y, safe(lines[cursor].where))
        facts = _facts(lines[cursor], state, hidden)
        label = min(max(_LABEL, *(cell_width(name) + 2 for name, _ in facts)), buf.width // 4)
        below = Rect(1, y + 1, buf.width - 2, buf.height - 1 - y)
        used = 1 + draw_facts(buf, below, facts, label if is_wide else 0)
        line = lines[cursor]
        devices = [
            each
            for each in state.shown.devices
            if each.key == line.device and line.where == f'GPU {each.key.label}' and line.is_failure
        ]
        if devices and below.height > used + 2:
            ruler = ruler_of(state, history)
            draw_histories(buf, below.inset(0, used, -1, 0), devices, ruler)


def _draw_card(
    buf: Buffer, y: int, line: ProblemCount, state: AppState, subject: int
) -> tuple[str, ...]:
    """Draw a problem in two rows; return the facts that are cut.

    ``subject`` is the width of the column of subjects, 0 on a narrow screen.
    """
    mark, word, style = _severity(line)
    buf.write(2, y, mark, style)
    left, time = _INDENT, ''
    if subject:
        buf.write(left, y, word, style)
        left += _WORD
        begin, when = ('since', line.first) if line.is_current else ('last', line.last)
        time = f'{begin} {fmt.format_moment(when, state.timestamp)}' if line.is_failure else ''
    end = buf.width - (cell_width(time) + 2 if time else 0)
    text_style = PLAIN if line.is_failure and line.is_current else DIM
    where = safe(f'{line.where}  ')
    x = left + buf.write(
        left, y, where, text_style._replace(bold=line.is_failure), width=end - left
    )
    if cell_width(where) <= subject:
        x = left = left + subject
    is_many = line.device is None and not line.is_failure  # the detail has the reasons
    reason = '' if is_many else safe(line.reason)
    text = f'{safe(_what(line))}: {reason}' if reason else safe(_what(line))
    buf.write(x, y, clip(text, max(0, end - x)), text_style)
    buf.write(end + 2, y, time, DIM)
    advice = safe(line.action)
    buf.write(left, y + 1, clip(advice, max(0, buf.width - left)), DIM)
    return (
        *(('PROBLEM',) if cell_width(text) > end - x else ()),
        *(('ADVICE',) if cell_width(advice) > buf.width - left else ()),
    )


def _title(lines: Sequence[ProblemCount]) -> str:
    failures = [line.is_current for line in lines if line.is_failure]
    now, past = sum(failures), len(failures) - sum(failures)
    return f'Problems {now} now' + (f', {past} past' if past else '') if failures else 'No problems'


def _facts(line: ProblemCount, state: AppState, hidden: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the rest of a problem in words: what its card cuts, when, and whose processes it concerns."""
    if not line.is_failure:
        missing = [
            each for each in problem_lines(state.shown_tally.problems) if not each.is_failure
        ]
        names = [', '.join(map(value_words, each.what.split(', '))) for each in missing]
        return [
            (safe(each.where), safe(f'{name}: {each.reason}')) for each, name in zip(missing, names)
        ]
    first, last = (fmt.format_moment(when, state.timestamp) for when in (line.first, line.last))
    often = f'in {line.times} samples'
    if line.is_current:
        times = f'now, since {first}' if line.times == 1 else f'now, {often} since {first}'
    else:
        times = f'once, {last}' if line.times == 1 else f'{often}, {first} to {last}'
    what = ', '.join(map(value_words, line.what.split(', ')))
    users = {
        process.key.pid: process.username or 'unknown user'
        for process in state.shown.processes
        if line.device is not None and is_on(process.key.device, line.device)
    }
    facts = (
        ('PROBLEM', f'{what}: {line.reason}' if line.reason else what),
        ('ADVICE', line.action),
        ('SEEN', times),
        ('PROCESSES', ', '.join(f'{pid} {user}' for pid, user in users.items())),
    )
    return [
        (label, safe(text))
        for label, text in facts
        if text and (label in hidden or label not in ('PROBLEM', 'ADVICE'))
    ]


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
    draw_screen_title(buf, state, ['Events'])
    draw_table(
        buf,
        Rect(0, 1, buf.width, layout.area.height + 1),
        EVENT_COLUMNS,
        state.events,
        style_of=lambda event: (
            DIM if event.kind in _RECORDER else WARNING if event.kind in _BAD else PLAIN
        ),
        first=layout.scroll_y,
        cursor=layout.line,
    )
    if not state.events:
        draw_message(buf, layout.area, 'No events', DIM)
