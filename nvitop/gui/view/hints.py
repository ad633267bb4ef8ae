# SPDX-License-Identifier: GPL-3.0-only
"""Hints about keys, badges, and titles: the first and the last row of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Sequence

from nvitop.gui.model.choices import ProcessFilter
from nvitop.gui.model.format import format_clock, format_process_type
from nvitop.gui.model.table import UNSORTED
from nvitop.gui.render.buffer import Buffer, Item, Rect
from nvitop.gui.render.theme import BADGE, DIM, ERROR, KEY, PLAIN, TITLE, Role, Style
from nvitop.gui.render.width import cell_width, clip, safe
from nvitop.gui.state.app_state import AppState, ListLayout
from nvitop.gui.state.keymap import Need
from nvitop.gui.state.lists import sorted_by
from nvitop.gui.state.needs import working_binding
from nvitop.gui.view.table import SORTED
from nvitop.gui.view.text import badge, simulated_badge

if TYPE_CHECKING:
    from nvitop.sampling.types import Origin

#: Empty cells before the first hint and between two hints.
_MARGIN, _GAP = 1, 2
#: Keys that come first while the display is paused or shows a recording.
_FIRST_IN_PAST = ('h', 'S s', 'n N', 'z', '( )', '{ }', 'b')
_ARROWS = {'Up': '↑', 'Down': '↓', 'Left': '←', 'Right': '→'}


class Hint(NamedTuple):
    """Keys and what they do."""

    #: Keys as they are pressed; several keys have the same effect, or opposite ones.
    keys: tuple[str, ...]
    words: str
    is_ascii: bool = False
    style: Style = DIM

    @property
    def names(self) -> list[str]:
        """The keys as they are drawn, and the gaps after them; arrows are next to each other."""
        if self.is_ascii or not self.keys:
            return [f'{format_key(key)} ' for key in self.keys]
        names = [_ARROWS.get(key) or f'{format_key(key)} ' for key in self.keys]
        return [*names[:-1], f'{names[-1].rstrip()} ']

    @property
    def width(self) -> int:
        return cell_width(''.join(self.names) + self.words)


def draw_hints(buf: Buffer, y: int, state: AppState) -> None:
    """Draw the keys that work now in a row, from left to right, as many as fit, and the last one."""
    hints = [hint._replace(words=hint.words[:1].upper() + hint.words[1:]) for hint in _menu(state)]
    while len(hints) > 1 and _width(hints) > buf.width - 2 * _MARGIN:
        del hints[-2]
    _draw_row(buf, _MARGIN, y, hints)


def draw_next_keys(buf: Buffer, state: AppState) -> int:
    """Draw the keys that can follow the keys pressed so far over the last rows; return their number."""
    label, hints = _next_keys(state)
    start = _MARGIN + cell_width(label) + 1
    rows: list[list[Hint]] = [[]]
    for hint in hints:
        if rows[-1] and start + _width([*rows[-1], hint]) > buf.width:
            rows.append([])
        rows[-1].append(hint)
    rows = rows[: buf.height // 3]
    top = buf.height - len(rows)
    buf.clear(top, len(rows))
    buf.write(_MARGIN, top, label, PLAIN)
    for y, row in enumerate(rows, top):
        _draw_row(buf, start, y, row)
    return len(rows)


def _next_keys(state: AppState) -> tuple[str, list[Hint]]:
    """Return the keys pressed so far, and those that can follow; the order of the list is marked."""
    screen, prefix = state.screen, state.prefix
    is_sorting = prefix == state.keymap.sort_prefix(screen)
    by = sorted_by(state) if is_sorting else UNSORTED
    hints = []
    for key, binding in state.keymap.next_keys(screen, prefix):
        if is_sorting and binding.order == by.order:
            hints.append(Hint((key,), f'{by.arrow}{by.title}', style=SORTED))
        else:
            hints.append(Hint((key,), binding.hint_in(state) or binding.name))
    return ('Sort:', [*hints, Hint((), 'Shift: reverse')]) if is_sorting else (prefix, hints)


def _width(hints: Sequence[Hint]) -> int:
    return sum(hint.width + _GAP for hint in hints) - _GAP


def _draw_row(buf: Buffer, x: int, y: int, hints: Sequence[Hint]) -> None:
    for hint in hints:
        _draw_hint(buf, x, y, hint)
        x += hint.width + _GAP


def _draw_hint(buf: Buffer, x: int, y: int, hint: Hint) -> None:
    """Draw a hint. A click on a key presses it, a click on the words presses the first key."""
    for key, name in zip(hint.keys, hint.names):
        width = buf.write(x, y, name, KEY._replace(italic=True))
        buf.hit(Rect(x, y, width, 1), 'keys', key)
        x += width
    width = buf.write(x, y, hint.words, hint.style)
    if hint.keys:
        buf.hit(Rect(x, y, width, 1), 'keys', hint.keys[0])


def _menu(state: AppState) -> list[Hint]:
    is_ascii = state.view.ascii
    if state.field is not None:
        return [Hint((key,), words, is_ascii) for key, words in state.field.purpose.keys]
    hints = []
    met: dict[Need, bool] = {}
    menu = state.spec.menu
    if state.is_paused or not state.origin.is_live:
        first = [keys for keys in _FIRST_IN_PAST if keys in menu]
        menu = (*first, *(keys for keys in menu if keys not in first))
    for usual in menu:
        keys = [state.keymap.instead_of(state.screen, key) for key in usual.split(' ')]
        binding = working_binding(state, keys[0], met)
        if binding is None or not binding.hint or not all(keys):
            continue
        if binding.is_pointless is not None and binding.is_pointless(state):
            continue
        if binding.leaves and usual != menu[-1]:
            continue  # the last key does the same
        if binding.shows_orders:
            keys = [state.keymap.sort_prefix(state.screen) or keys[0]]
        hints.append(Hint(tuple(keys), binding.hint_in(state), is_ascii))
    return hints


def set_title(
    buf: Buffer,
    layout: ListLayout,
    titles: Sequence[str],
    notes: Sequence[Sequence[str]] = (),
) -> None:
    """Entitle the frame of a screen: its name, which lines are shown, and notes."""
    items = [
        Item(tuple(titles), TITLE, 0),
        *(Item(tuple(forms), rank=2) for forms in notes if forms),
    ]
    if layout.length > layout.visible > 0:
        first, last = layout.shown.start + 1, layout.shown.stop
        items.insert(1, Item((f'{first}-{last} of {layout.length:,}',)))
    buf.title = items


def format_key(keys: str) -> str:
    """Return keys as they are drawn: ``^C``, ``op``, ``PgUp``."""
    key = {'PageUp': 'PgUp', 'PageDown': 'PgDn'}.get(keys) or keys.replace(' ', '')
    return f'^{key[5:]}' if key.startswith('Ctrl-') and len(key) == 6 else key


_INPUT = Style(Role.INPUT, bold=True)
#: Maximum width of the text of a filter, in cells, if it has to be shortened.
_QUERY_WIDTH = 40
#: Maximum width of the name of a host, in cells, if it has to be shortened.
_HOST_WIDTH = 12
_TYPES = ('C', 'C+G', 'G', 'M', None)


def title_badges(state: AppState) -> tuple[Item, ...]:
    """Return badges for a simulated or another machine, a frozen display, filters, a released mouse."""
    badges = [simulated_badge(state.width)] if state.shown_sample.simulated else []
    badges += origin_badges(state.origin, state.shown_sample.timestamp)
    if state.frozen is not None:
        time_of_day = format_clock(state.frozen.sample.timestamp)
        badges.append(badge(BADGE, f'PAUSED {time_of_day}', 'PAUSED', key='z'))
    if state.spec.filter.noun == 'processes':
        badges += option_badges(state.main.filter)
        if state.main.selected_device is not None and not state.main.shows_page:
            badges.append(badge(_INPUT, f'GPU {state.main.selected_device.label}'))
    query = state.query_on(state.screen)
    if query:
        words = f'filter: {safe(query)}'
        forms = (words, clip(words, _QUERY_WIDTH + 8), 'filter')
        escape = state.keymap.find(state.screen, 'Esc')
        clears = escape is not None and not escape.leaves
        badges.append(badge(_INPUT, *forms, key='Esc' if clears else '\\'))
    if not state.captures_mouse:
        badges.append(badge(_INPUT, 'mouse: terminal', 'no mouse', key='Alt-m'))
    instead_of = state.keymap.instead_of
    return tuple(b._replace(key=b.key and instead_of(state.screen, b.key)) for b in badges)


def origin_badges(origin: Origin, timestamp: float) -> tuple[Item, ...]:
    """Return a badge for the past, or for another machine and why it sends no samples."""
    if not origin.is_live:
        pace = 'paused' if origin.is_paused else f'×{origin.speed:g}'
        timed = (
            (f'REPLAY {format_clock(timestamp)} {pace}',) if timestamp else ()
        )  # 0: no sample yet
        return (badge(BADGE, *timed, f'REPLAY {pace}', 'REPLAY'),)
    host, trouble = safe(origin.host), safe(origin.trouble)
    if trouble:
        name = '' if origin.is_chosen else host  # the way to the screen has it
        forms = [clip(f'{name}: {trouble}'.lstrip(': '), _QUERY_WIDTH), trouble, 'NO SAMPLES']
        return (badge(ERROR, *forms),)
    is_shown = host and not origin.is_chosen
    return (badge(KEY, host, clip(host, _HOST_WIDTH)),) if is_shown else ()


def option_badges(wanted: ProcessFilter) -> tuple[Item, ...]:
    """Return a badge that says which processes the options select, or none if all of them."""
    letters = [format_process_type(kind) for kind in _TYPES if kind in (wanted.types or ())]
    parts = (
        ('user', wanted.users is not None, sorted(wanted.users or ())),
        ('pid', wanted.pids is not None, map(str, sorted(wanted.pids or ()))),
        ('type', wanted.types is not None, letters),
    )
    only = '; '.join(
        f'{what} {", ".join(which) or "none"}' for what, is_set, which in parts if is_set
    )
    text = clip(safe(f'only {only}'), _QUERY_WIDTH)
    return (badge(_INPUT, text, 'only some'),) if only else ()
