# SPDX-License-Identifier: GPL-3.0-only
"""The problems screen: what is wrong since when, and why values are missing.

The events screen of a replay: what happened, and when.
"""

from __future__ import annotations

from typing import Callable, Sequence

from nvitop.basics.text import counted
from nvitop.basics.units import format_time
from nvitop.gui.model import format as fmt
from nvitop.gui.model.device_rows import is_on
from nvitop.gui.model.table import Column
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, PLAIN, WARNING, Role, Style
from nvitop.gui.render.width import cell_width, safe, wrap
from nvitop.gui.state.app_state import AppState, ListLayout
from nvitop.gui.state.problems import ProblemCount
from nvitop.gui.view.charts import ruler_of
from nvitop.gui.view.device_histories import draw_histories
from nvitop.gui.view.hints import set_title
from nvitop.gui.view.table import draw_table, place_for
from nvitop.gui.view.text import draw_facts, draw_message, draw_section, severity_sign
from nvitop.health.types import value_words
from nvitop.sampling.history import History
from nvitop.sampling.types import STATUS

#: Kinds of problems after which a device still responds.
_WARNINGS = frozenset({'impossible', 'slow'})
#: Cells of the marks and of the word for the severity; width of the column of subjects.
_INDENT, _WORD, _SUBJECT, _WIDEST_SUBJECT = 3, 10, 7, 18
#: Minimum width of the screen for words about the severity, and times.
_WIDE = 60
#: Minimum rows of the detail of the selected problem, and of a screen that has them.
_DETAIL, _WITH_DETAIL = 2, 20
#: Cells of the label in the detail.
_LABEL = 11


def detail_height(state: AppState, lines: Sequence[ProblemCount]) -> int:
    """Return the rows that the cards leave, and at least those of the processes."""
    least, free = _least_detail(state), state.inside.height - 1
    if len(lines) < free - least:  # a card has at least one row
        free -= sum(map(card_heights(state, lines), lines))
        return max(least, free) if lines else 0
    return least


def _least_detail(state: AppState) -> int:
    return _DETAIL if state.inside.height >= _WITH_DETAIL else 0


def card_heights(state: AppState, lines: Sequence[ProblemCount]) -> Callable[[ProblemCount], int]:
    subject = _subject_width(state, lines)
    return lambda line: len(_card(line, state, subject))


def _subject_width(state: AppState, lines: Sequence[ProblemCount]) -> int:
    """Return the width of the column of subjects, 0 on a narrow screen."""
    widths = [cell_width(safe(line.where)) + 2 for line in lines]
    return min(max([_SUBJECT, *widths]), _WIDEST_SUBJECT) if state.inside.width >= _WIDE else 0


def _text(line: ProblemCount) -> str:
    """Return the problem in words, and what shows it: ``temperature unreadable: unknown error``."""
    name = value_words(line.what)
    is_value = line.device is not None and line.severity is None and line.what != STATUS
    name = f'{name} unreadable' if is_value and line.kind == 'error' else name
    return safe(': '.join(filter(None, (name, line.reason))))


def _severity(line: ProblemCount) -> tuple[str, str, Style]:
    if not line.is_failure:
        return '·', 'missing', DIM
    if not line.is_current:
        return '○', 'past', DIM
    severity = line.severity or ('warning' if line.kind in _WARNINGS else 'critical')
    sign, style = severity_sign(severity)
    return sign, severity if line.severity or severity == 'warning' else 'failed', style


def draw_problems(buf: Buffer, state: AppState, layout: ListLayout, history: History) -> None:
    """Draw the screen: a card for each problem, and more about the selected one."""
    lines, cursor = layout.lines, layout.line
    set_title(buf, layout, [_title(lines), 'Problems'])
    subject = _subject_width(state, lines)
    bottom = layout.area.bottom
    if not lines or cursor is None or not _draw_detail(buf, bottom, lines[cursor], state, history):
        bottom = buf.height
    y = layout.area.y
    for number, line in enumerate(lines[layout.scroll_y :], layout.scroll_y):
        card = _card(line, state, subject)[: bottom - y]
        for row, pieces in enumerate(card, y):
            for x, text, style in pieces:
                buf.write(x, row, text, style)
        if number == cursor:
            buf.restyle(Rect(0, y, buf.width, len(card)), back=Role.SELECTED)
        y += len(card)
        if y >= bottom:
            break
    if not lines:
        text = 'No problem matches the filter' if state.query_on(state.screen) else 'No problems'
        draw_message(buf, layout.area, text, DIM)


def _card(
    line: ProblemCount, state: AppState, subject: int
) -> Sequence[Sequence[tuple[int, str, Style]]]:
    """Return the rows of a problem as texts with their columns: what is wrong, and what to do.

    ``subject`` is the width of the column of subjects, 0 on a narrow screen.
    """
    mark, word, style = _severity(line)
    text_style = PLAIN if line.is_failure and line.is_current else DIM
    where_style = text_style._replace(bold=line.is_failure)
    where, text = safe(line.where), _text(line)
    x, end = _INDENT, state.inside.width
    first = [(1, mark, style)]
    if subject:
        first.append((x, word, style))
        x += _WORD
        if line.is_failure:
            begin, when = ('seen since', line.first) if line.is_current else ('last', line.last)
            time = f'{begin} {fmt.format_moment(when, state.timestamp)}'
            end -= cell_width(time) + 2
            first.append((end + 2, time, DIM))
        if cell_width(where) + 2 <= subject:
            first.append((x, where, where_style))
            where, x = '', x + subject
    text = f'{where}  {text}' if where else text
    head = wrap(text, max(2, end - x))[0]
    first.append((x, head[: len(where)], where_style))
    first.append((x + cell_width(where), head[len(where) :], text_style))
    left = _INDENT + _WORD if subject else _INDENT
    room = max(2, state.inside.width - left)
    # Rows below the first one, on a screen that is very small.
    most = max(0, state.inside.height - 2 - _least_detail(state))
    rest = text[len(head) :].lstrip()
    below = [(row, text_style) for row in wrap(rest, room)[:most] if rest]
    below += [(row, DIM) for row in fmt.advice_lines(safe(line.action), room, most - len(below))]
    return [first, *([(left, row, style)] for row, style in below)]


def _title(lines: Sequence[ProblemCount]) -> str:
    failures = [line.is_current for line in lines if line.is_failure]
    now, past = sum(failures), len(failures) - sum(failures)
    return f'Problems {now} now' + (f', {past} past' if past else '') if failures else 'No problems'


def _draw_detail(
    buf: Buffer, y: int, line: ProblemCount, state: AppState, history: History
) -> bool:
    """Draw whose processes a problem concerns, and histories of its GPU, below when it was seen.

    Without any of these, nothing is drawn.
    """
    if not line.is_failure:
        return False
    first, last = (fmt.format_moment(when, state.timestamp) for when in (line.first, line.last))
    end = 'now' if line.is_current else last
    times = f'in {counted(line.times, "sample")} from {first} to {end}'
    users = {
        process.key.pid: process.username or 'unknown user'
        for process in state.shown_sample.processes
        if line.device is not None and is_on(process.key.device, line.device)
    }
    below = Rect(1, y + 1, buf.width - 2, buf.height - 1 - y)
    processes = ', '.join(f'{pid} {user}' for pid, user in users.items())
    facts = [('PROCESSES', safe(processes))] if processes else []
    used = draw_facts(buf, below, facts, _LABEL if buf.width >= _WIDE else 0)
    devices = [
        device
        for device in state.shown_sample.devices
        if device.key == line.device and line.where == f'GPU {device.key.label}'
    ]
    if devices and below.height > used + 2:
        draw_histories(buf, below.inset(0, used, -1, 0), devices, ruler_of(state, history))
    has_more = any(buf.row(row) for row in range(y + 1, buf.height))
    if has_more:
        draw_section(buf, y, f'{safe(line.where)} · {times}')
    return has_more


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


def draw_events(buf: Buffer, state: AppState, layout: ListLayout, _: History) -> None:
    set_title(buf, layout, ['Events'])
    draw_table(
        buf,
        layout.with_headings,
        place_for(layout.lines, EVENT_COLUMNS, layout.area),
        layout.shown_lines,
        style_of=lambda event: (
            DIM if event.kind in _RECORDER else WARNING if event.kind in _BAD else PLAIN
        ),
        cursor=layout.cursor,
    )
    if not layout.lines:
        draw_message(buf, layout.area, 'No events', DIM)
