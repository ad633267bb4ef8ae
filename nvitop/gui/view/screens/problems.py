# SPDX-License-Identifier: GPL-3.0-only
"""The problems screen: what is wrong since when, why values are missing, and the cost of nvitop.

The events screen of a replay: what happened, and when.
"""

from __future__ import annotations

from nvitop.basics.times import format_time
from nvitop.gui.layout.screens import ListLayout
from nvitop.gui.model import format as fmt
from nvitop.gui.model.table import Column, Placed, place
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Cells, Rect
from nvitop.gui.render.style import DIM, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, pad, safe, wrap
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.lists import listed_problems
from nvitop.gui.state.navigation import current_line, lines_layout
from nvitop.gui.state.problems import ProblemLine, own_cost, value_words
from nvitop.gui.view.hints import draw_lines, draw_screen_title, title_badges
from nvitop.gui.view.text import (
    draw_bar_row,
    draw_message,
    fit_title,
    heading_text,
    row_text,
    title_room,
)
from nvitop.sampling.types import STATUS

#: Cells of the last hint and the gap before it.
_HINT_WIDTH = 8
#: Minimum width of the screen for lines with times and counts, instead of ``now`` or ``past``.
_WITH_TIMES = 60
_BRIEF_WIDTH = len('past')
#: Maximum widths of subject, query and reason, as long as the line is not full.
_WIDEST = (24, 40, 25)
#: Minimum width of the subject: ``devices 0,1``.
_SUBJECT = 12
#: Kinds of problems after which a device still responds.
_WARNINGS = frozenset({'impossible', 'slow'})


def _last(line: ProblemLine, width: int, now: float) -> str:
    if line.is_current:
        return 'now'
    return 'past' if width == _BRIEF_WIDTH else fmt.format_moment(line.last, now)


def _what(line: ProblemLine) -> str:
    """Return the problem in words: ``temperature unreadable``, ``fan speed and 4 more unreadable``."""
    first = line.what.partition(', ')[0]
    name = first if line.value_count == 1 else f'{first} and {line.value_count - 1} more'
    is_value = line.device is not None and line.severity is None and line.what != STATUS
    return f'{name} unreadable' if is_value and line.kind == 'error' else name


# fmt: off
#: Columns. Text: of a :class:`ProblemLine`, for the width and the current time.
PROBLEM_COLUMNS: tuple[Column, ...] = (
    Column('last', 'LAST', (8,), 'time of the latest sample that had it; now if that is the latest of all', _last,
           gap=0, rank=2),
    Column('first', 'FIRST', (8,), 'time of the first sample that had it', lambda line, _, now: fmt.format_moment(line.first, now),
           rank=3),
    Column('times', 'SAMPLES', (7,), 'number of samples that had it', lambda line, *_: fmt.format_count(line.times),
           rank=4),
    Column('subject', 'WHERE', (8,), 'device, process, host or driver', lambda line, *_: safe(line.subject),
           align='<', gap=2),
    Column('what', 'WHAT', (8,), 'metric or NVML function', lambda line, *_: safe(_what(line)),
           align='<', gap=2),
    Column('reason', 'REASON', (1, 0), 'why there is no value', lambda line, *_: safe(line.brief or line.reason),
           align='<', gap=2),
)
#: What and why in one column, for narrow screens.
_SENTENCE = PROBLEM_COLUMNS[-1]._replace(
    title='PROBLEM', text=lambda line, *_: safe(f'{_what(line)}: {line.brief or line.reason}')
)
# fmt: on


def draw_problems(buf: Buffer, state: AppState) -> None:
    """Draw the screen."""
    lines = tuple(line._replace(what=value_words(line.what)) for line in listed_problems(state))
    places = _places(lines, buf.width)
    badges = title_badges(state)
    with_all = buf.width - sum(2 + cell_width(badge.forms[0]) for badge in badges) - _HINT_WIDTH
    draw_screen_title(buf, state, [_title(lines, with_all, title_room(buf.width, badges))])
    draw_bar_row(buf, 1, heading_text(places))

    def line_of(index: int) -> tuple[str, Style]:
        line = lines[index]
        texts = [each.column.text(line, each.width, state.timestamp) for each in places]
        return row_text(places, texts, '..'), _style(line)

    layout = draw_lines(buf, state, line_of)
    if not lines:
        text = 'No problem matches the filter' if state.problem_query else 'No problems'
        draw_message(buf, layout.area, text, DIM)
    else:
        chosen = lines[current_line(state) or 0]
        below = Rect(0, layout.area.bottom, buf.width, buf.height - 1 - layout.area.bottom)
        draw_message(buf, below, _in_full(chosen, state, below))
        subject = cell_width(safe(f'{chosen.subject}: {chosen.what}:'))
        buf.restyle(Rect(1, below.y, min(subject, buf.width - 2), 1), bold=True)
    seen = _seen(layout)
    room = buf.width - cell_width(seen)
    draw_bar_row(buf, buf.height - 1, f'{pad(_cost(state, room), room)}{seen}', DIM)


def _title(lines: tuple[ProblemLine, ...], with_all: int, room: int) -> str:
    """Return the number of lines of each kind, in the order of the lines, in words that fit.

    ``with_all`` is the room next to all badges and a hint, ``room`` that next to the badges that
    are never left out. Values that a device does not have, or not for this user, are counted
    without ``now`` and ``past``: whether they are in a sample depends on what was queried.
    """
    if not lines:
        return 'Problems'
    failures = [line.is_current for line in lines if line.is_failure]
    now, past = sum(failures), len(failures) - sum(failures)
    lacking = sum(line.value_count for line in lines if line.kind == 'na')
    denied = sum(line.value_count for line in lines if not line.is_failure) - lacking
    missing = [
        f', {n} {what}' for n, what in ((denied, 'not permitted'), (lacking, 'not supported')) if n
    ]
    text = f'Problems: {now} now, {past} past{"".join(missing)}'
    if len(text) <= with_all:
        return text
    counts = ((now, 'now'), (past, 'past'), (denied, 'denied'), (lacking, 'N/A'))
    first, *others = [f'{count} {word}' for count, word in counts if count]
    text = fit_title([first], [[other] for other in others], room)
    return fit_title((f'Problems: {text}', text), (), room)


def _places(lines: tuple[ProblemLine, ...], width: int) -> tuple[Placed, ...]:
    """Return the columns: texts share the cells that the numbers leave, as wide as they need."""
    last, first, times, *texts = PROBLEM_COLUMNS
    if width < _WITH_TIMES:
        subject = min(_wanted(lines, texts[0]), max(_SUBJECT, width // 3))
        columns = (last._replace(sizes=(_BRIEF_WIDTH,)), texts[0], _SENTENCE)
        return place(columns, Cells(0, width), {'subject': subject})
    numbers: tuple[Column, ...] = (last, times)
    room = (
        width - sum(each.gap + each.sizes[0] for each in numbers) - sum(each.gap for each in texts)
    )
    subject, what, reason = (
        min(most, _wanted(lines, column)) for column, most in zip(texts, _WIDEST)
    )
    subject = min(subject, max(_SUBJECT, room // 3, room - what - reason))
    reason = min(reason, max((room - subject) // 2, room - subject - what))
    what = min(what, room - subject - reason)
    numbers = (last, first, times)
    texts[-1] = texts[-1]._replace(sizes=(max(1, reason), 0))
    return place((*numbers, *texts), Cells(0, width), {'subject': subject, 'what': what})


def _wanted(lines: tuple[ProblemLine, ...], column: Column) -> int:
    return max([column.sizes[0], *(cell_width(column.text(line, 0, 0.0)) for line in lines)])


def _in_full(line: ProblemLine, state: AppState, area: Rect) -> str:
    """Return the whole line in words, with what to do and then its times, as far as they fit."""
    first, last = (fmt.format_moment(when, state.timestamp) for when in (line.first, line.last))
    often = f'{line.times} times'
    if line.is_current:
        times = f'now, since {first}' if line.times == 1 else f'now, {often} since {first}'
    else:
        times = f'past: once, {last}' if line.times == 1 else f'past: {often}, {first} to {last}'
    text = safe(f'{line.subject}: {line.what}: {line.reason}')
    action = f'. {line.action}' if line.action else ''
    forms = (f'{text} ({times}){action}', f'{text}{action}', text)
    return next((form for form in forms if len(wrap(form, area.width - 2)) <= area.height), text)


def _style(line: ProblemLine) -> Style:
    if not line.is_current:
        return DIM
    if not line.is_failure:
        return PLAIN
    is_warning = line.severity in ('warning', 'unknown') or line.kind in _WARNINGS
    return Style(Role.WARNING if is_warning else Role.ERROR)


def _seen(layout: ListLayout) -> str:
    """Return which lines are on the screen, if not all of them."""
    if layout.length <= layout.area.height:
        return ''
    shown = layout.shown
    more = '▼' if shown.stop < layout.length else ' '
    return f'  {shown.start + 1}-{shown.stop} of {layout.length} {more}'


def _cost(state: AppState, width: int) -> str:
    """Return the cost of nvitop itself, in words that fit."""
    cost = own_cost(state.shown_tally.costs)
    if cost is None:
        return ' nvitop itself: not measured yet'
    cpu = f'{fmt.format_percent(cost.cpu_percent)} CPU'
    calls = f'{cost.nvml_calls_per_second:.0f} NVML calls/s'
    sample = f'{1000 * cost.seconds_per_sample:.1f} ms'
    texts = (
        f' nvitop itself in the last {cost.seconds:.0f} s: {cpu}, {calls}, {sample} per sample',
        f' nvitop itself: {cpu}, {calls}, {sample} per sample',
        f' nvitop: {cpu}, {calls}',
        f' nvitop: {cpu}',
    )
    return next((text for text in texts if len(text) <= width), clip(texts[-1], width))


#: Kinds of events that need attention, and those about the recorder only.
_BAD = frozenset({'lost', 'error', 'finding', 'missing', 'removed'})
_RECORDER = frozenset({'start', 'stop', 'note'})
#: Minimum width of the screen for times with the year.
_WITH_YEAR = 60


def draw_events(buf: Buffer, state: AppState) -> None:
    """Draw the events screen."""
    layout = lines_layout(state)
    seen = f'{layout.shown.start + 1}-{layout.shown.stop} of ' if layout.shown else ''
    draw_screen_title(buf, state, [f'Events: {seen}{layout.length}'])
    cut = 0 if buf.width >= _WITH_YEAR else len('2026-')
    draw_bar_row(buf, 1, f'{"TIME":<{21 - cut}}EVENT')

    def line_of(index: int) -> tuple[str, Style]:
        event = state.events[index]
        style = Style(Role.WARNING) if event.kind in _BAD else PLAIN
        text = f'{format_time(event.time)[cut:]}  {safe(event.text)}'
        return text, DIM if event.kind in _RECORDER else style

    draw_lines(buf, state, line_of)
    if not state.events:
        draw_message(buf, layout.area, 'No events', DIM)
