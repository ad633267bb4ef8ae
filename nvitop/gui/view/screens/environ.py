# SPDX-License-Identifier: GPL-3.0-only
"""The environment screen: the environment variables of a process when it started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from nvitop.basics.masking import MASK, is_secret
from nvitop.basics.text import counted
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, clip, clip_scrolled, cut, safe
from nvitop.gui.state.app_state import AppState, ListLayout
from nvitop.gui.state.events import EnvironmentRead
from nvitop.gui.state.navigation import shown_scroll_x
from nvitop.gui.view.hints import set_title
from nvitop.gui.view.text import draw_message, draw_section
from nvitop.sampling.history import History

if TYPE_CHECKING:
    from nvitop.owner.types import Layer

_NAME = Style(Role.HEADING, bold=True)
#: Cells that the source of an owner keeps.
_SOURCE_WIDTH = 24
#: Maximum number of characters of a value that can be scrolled into view.
_LIMIT = 1 << 16

#: Part of the height of the screen that owners may take.
_OWNER_SHARE = 3
#: Source of a layer → its name for people.
_SOURCES = {
    'cgroup': 'its cgroup',
    'parent': 'a process above it',
    'mountinfo': 'its mounts',
    'loginuid': 'its login',
    'cmdline': 'its arguments',
    'environ': 'its environment',
}


def environ_lines(state: AppState) -> tuple[tuple[str, str], ...]:
    """Return names and values as they are shown, in order. The text is not safe to draw yet."""
    environ = state.environ
    if environ.reveals_secrets:
        return environ.variables
    return tuple(
        (name, MASK if value and is_secret(name) else value) for name, value in environ.variables
    )


def owner_lines(state: AppState) -> list[tuple[str, str]]:
    """Return what the process belongs to, as far as there is room, and where each part was read."""
    reading = state.environ.reading
    if reading is None:
        return []
    if reading.owner is None:
        lines = [('Owner', reading.no_owner)] if reading.no_owner else []
    else:
        lines = [(_layer_text(layer), _source_text(layer)) for layer in reading.owner.layers]
    return lines[: state.inside.height // _OWNER_SHARE]


def environ_margins(state: AppState, _: Sequence[object]) -> tuple[int, int]:
    owners = len(owner_lines(state))
    return (2 + owners if owners else 1), 0


def _layer_text(layer: Layer) -> str:
    """Return the text of the column of jobs, and the name that it does not have: ``slurm 42 "train"``."""
    text = str(layer)
    return f'{text} "{layer.name}"' if layer.name and layer.name not in text else text


def _source_text(layer: Layer) -> str:
    text = f'from {_SOURCES.get(layer.source, layer.source)}'
    if layer.is_statement:
        text += ' (set by the process itself)'
    elif layer.claim:
        text += ' (set by its user)'
    more = [part for part in (layer.id, layer.detail) if part and part not in str(layer)]
    return f'{text}: {" ".join(more)}' if more else text


def draw_environ(buf: Buffer, state: AppState, layout: ListLayout, _: History) -> None:
    environ = state.environ
    title, brief = (f'Environment of {which}{environ.pid}' for which in ('process ', ''))
    owners = owner_lines(state)
    notes = [[safe(environ.user)] if environ.user else []]
    if environ.variables and not owners:
        notes.insert(0, [_summary(state)])
    set_title(buf, layout, (title, brief), notes)
    longest = max((cell_width(safe(text)) for text, _ in owners), default=0)
    width = max(0, min(longest, buf.width - _SOURCE_WIDTH))
    reading = environ.reading or EnvironmentRead(*environ[:2])
    layer = None if reading.owner is None else reading.owner.layer
    best = '' if layer is None else _layer_text(layer)
    for y, (text, source) in enumerate(owners, 1):
        buf.write(1, y, clip(safe(text), width), PLAIN._replace(bold=text == best))
        x = 1 + width + 2
        buf.write(x, y, clip(safe(source), max(0, buf.width - x)), DIM)
    if environ.variables and owners:
        draw_section(buf, 1 + len(owners), _summary(state))
    if reading.error or not environ.variables:
        text = 'Reading' if environ.reading is None else 'No environment variables'
        style = Style(Role.ERROR) if reading.error else DIM
        draw_message(buf, layout.area, safe(reading.error or text), style)
        return
    cursor, scroll_x = layout.line, shown_scroll_x(state)
    for line in layout.shown:
        _draw_line(buf, layout.row_of(line), layout.lines[line], scroll_x, is_cursor=line == cursor)


def _summary(state: AppState) -> str:
    environ = state.environ
    variables = environ.variables
    text = counted(len(variables), 'variable')
    secrets = sum(1 for name, value in variables if value and is_secret(name))
    if secrets:
        text += f', {secrets} secret' if environ.reveals_secrets else f', {secrets} hidden'
    if secrets:
        text += state.with_key(
            'v', ': {} hides them' if environ.reveals_secrets else ': {} shows them'
        )
    return text


def _draw_line(buf: Buffer, y: int, line: tuple[str, str], x: int, *, is_cursor: bool) -> None:
    name, value = (safe(text, limit=_LIMIT) for text in line)
    text = clip_scrolled(f'{name}={value}', x, buf.width - 2)
    name_cells = min(max(0, cell_width(name) - x), cell_width(text))
    buf.write(1, y, cut(text, 0, name_cells), _NAME)
    buf.write(1 + name_cells, y, cut(text, name_cells, buf.width), PLAIN)
    if is_cursor:
        buf.restyle(Rect(0, y, buf.width, 1), back=Role.SELECTED)
