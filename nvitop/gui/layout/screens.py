# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the other screens (lists, the tree, the page of a process, the help) and of dialogs."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence

from nvitop.gui.layout.process import place_columns
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.model.format import brief_commands
from nvitop.gui.model.table import Placed
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.width import cell_width, clip, pad, safe, wrap


class ListLayout(NamedTuple):
    """Places of the lines of a list."""

    #: The rows available for lines.
    area: Rect
    #: Number of lines, and index of the first one on the screen.
    length: int
    scroll_y: int

    @property
    def shown(self) -> range:
        """Indices of the lines on the screen."""
        return range(self.scroll_y, min(self.length, self.scroll_y + self.area.height))

    def row_of(self, line: int) -> int:
        """Return the row of a line."""
        return self.area.y + line - self.scroll_y

    def at(self, y: int) -> int | None:
        """Return the index of the line in a row."""
        line = y - self.area.y + self.scroll_y
        return line if self.area.y <= y < self.area.bottom and line < self.length else None


def lay_out_list(
    width: int,
    height: int,
    count: int,
    *,
    top: int,
    bottom: int = 0,
    scroll_y: int = 0,
    cursor: int | None = None,
) -> ListLayout:
    """Lay out ``count`` lines on a screen with ``top`` rows above them and ``bottom`` rows below.

    The first line on the screen is as near to ``scroll_y`` as possible with the cursor in view.
    """
    area = Rect(0, top, width, max(0, height - top - bottom))
    if cursor is not None:
        scroll_y = max(cursor + 1 - area.height, min(scroll_y, cursor))
    scroll_y = max(0, min(scroll_y, count - area.height))
    return ListLayout(area, count, scroll_y)


class TreeLayout(NamedTuple):
    """Places of the lines and columns. The last column is the command with its branches."""

    lines: ListLayout
    columns: tuple[Placed, ...]


def longest_line(texts: Iterable[str], *, limit: int) -> int:
    """Return the columns of the longest text, which need not be safe, up to ``limit``."""
    return max(
        (len(text) if text.isascii() else cell_width(safe(text, limit=limit)) for text in texts),
        default=0,
    )


#: Columns shown of the process, if there is room.
_COLUMNS: tuple[str, ...] = tuple(
    column.name
    for column in COLUMNS
    if column.name not in ('owner', 'gpu_memory_percent', 'idle', 'host_memory', 'start')
)
#: Rows of title, headings and process.
_TOP_ROWS = 3
#: Minimum height of a graph with its title, and the one from which there is another row of graphs.
_LEAST, _USUAL = 2, 5


class MetricsLayout(NamedTuple):
    """Places on the screen. ``box`` is empty if there is no room for graphs."""

    columns: tuple[Placed, ...]
    #: Box around the graphs.
    box: Rect
    #: The graphs in reading order; the title of each is in the row above it.
    graphs: tuple[Rect, ...] = ()
    #: Rows for the whole command and other facts, above the box.
    facts: Rect = Rect(0, 0, 0, 0)

    def uprights(self, y: int) -> tuple[int, ...]:
        """Return the columns of the vertical lines between graphs in this row; ``()`` if none."""
        lefts = [graph.x - 1 for graph in self.graphs if graph.y <= y < graph.bottom]
        return (*lefts, self.box.width - 1) if lefts else ()


def lay_out_metrics(
    width: int, height: int, widths: Mapping[str, int], count: int = 0, *, facts: int = 0
) -> MetricsLayout:
    """Lay out a screen of this size with up to ``count`` graphs, two in a row.

    ``widths`` are those of columns wider than usual. Above the graphs are up to ``facts`` rows of text,
    as long as there is room for two rows of graphs.
    """
    columns = place_columns(_COLUMNS, width, widths)
    below = Rect(0, 0, width, height).split_top(_TOP_ROWS)[1]
    texts, box = below.split_top(max(0, min(facts, below.height - 1 - 2 * _USUAL)))
    room = box.height - 1
    rows = min((count + 1) // 2, max(2, room // _USUAL), room // _LEAST)
    if rows < 1:
        return MetricsLayout(columns, Rect(0, box.y, 0, 0), facts=texts)
    middle = width // 2
    graphs = []
    for row in range(rows):
        top = box.y + room * row // rows + 1
        rows_high = box.y + room * (row + 1) // rows - top
        if 2 * row + 1 == count:
            graphs.append(Rect(1, top, width - 2, rows_high))
        else:
            graphs.append(Rect(1, top, middle - 1, rows_high))
            graphs.append(Rect(middle + 1, top, width - middle - 2, rows_high))
    return MetricsLayout(columns, box, tuple(graphs), texts)


#: Minimum width of the screen for two columns.
_TWO_COLUMNS = 100
#: Width of a narrow column; width of the keys in it, and in others. Longer keys have a line of their own.
_NARROW, _FEW_KEYS, _KEYS = 60, 13, 19
_INDENT, _GAP = 2, 2


class HelpEntry(NamedTuple):
    """Keys and what they do."""

    keys: str
    text: str
    #: Whether ``--readonly`` disables the keys.
    is_disabled: bool = False


class HelpGroup(NamedTuple):
    """A heading and its entries."""

    heading: str
    entries: tuple[HelpEntry, ...]
    #: Kind of the texts: ``'text'``, or ``'legend'``, whose words and marks have the colors they
    #: explain.
    kind: str = 'text'


class HelpPart(NamedTuple):
    """A piece of a line: ``'heading'``, ``'keys'``, ``'text'``, ``'legend'`` or ``'mark'``."""

    x: int
    text: str
    kind: str
    is_disabled: bool = False


def lay_out_help(groups: Sequence[HelpGroup], width: int) -> tuple[tuple[HelpPart, ...], ...]:
    """Return the lines for a screen of this width, from top to bottom."""
    if width < _TWO_COLUMNS:
        return tuple(tuple(line) for line in _column(groups, width - 1))
    half = (width - _GAP) // 2
    lines_of_both = _column(groups, half)
    # The columns are divided at an empty line, between two groups.
    breaks = [i for i, line in enumerate(lines_of_both) if not line]
    middle = min(breaks, key=lambda i: max(i, len(lines_of_both) - i), default=len(lines_of_both))
    left, right = lines_of_both[:middle], lines_of_both[middle + 1 :]
    lines = []
    for i in range(max(len(left), len(right))):
        line = list(left[i]) if i < len(left) else []
        if i < len(right):
            line += [part._replace(x=part.x + half + _GAP) for part in right[i]]
        lines.append(tuple(line))
    return tuple(lines)


def _column(groups: Sequence[HelpGroup], width: int) -> list[list[HelpPart]]:
    lines: list[list[HelpPart]] = []
    for group in groups:
        if lines:
            lines.append([])
        lines.extend([HelpPart(0, line, 'heading')] for line in wrap(group.heading, width))
        for entry in group.entries:
            keys_width = _FEW_KEYS if width < _NARROW else _KEYS
            lines.extend(_entry(entry, group.kind, width, keys_width))
    return lines


def _entry(entry: HelpEntry, kind: str, width: int, column: int) -> list[list[HelpPart]]:
    """Return the lines of an entry: the text to the right of the keys, or below them."""
    keys_width = cell_width(entry.keys)
    x = _INDENT + (max(column, keys_width) + _GAP if keys_width else 0)
    off = entry.is_disabled
    mark = 'mark' if kind == 'legend' else 'keys'
    keys = HelpPart(_INDENT, clip(entry.keys, width - _INDENT), mark, off)
    if keys_width > column and x + cell_width(entry.text) > width:
        x = _INDENT + column + _GAP
        return [[keys], *([HelpPart(x, line, kind, off)] for line in _wrap(entry.text, width - x))]
    first, *others = _wrap(entry.text, max(2, width - x))
    lines = [[HelpPart(x, line, kind, off)] for line in others]
    return [[*([keys] if keys_width else ()), HelpPart(x, first, kind, off)], *lines]


def _wrap(text: str, width: int) -> list[str]:
    """Wrap a text, but not at spaces that must not break."""
    return [line.replace('\xa0', ' ') for line in wrap(text, width)]


#: Maximum width of a dialog with paragraphs. Lists may be wider.
_MAX_WIDTH = 100
#: Columns of the border and the padding.
DIALOG_MARGIN = 4
#: Maximum number of lines of a wrapped paragraph, such as a long command.
_MAX_LINES = 3
#: Columns between two buttons, if there is room.
_BUTTON_GAP = 2


class DialogLayout(NamedTuple):
    """Places in a dialog, and its text as lines that fit."""

    #: Place including the border. It is empty if there is no room: then the beginning of the text
    #: is one line without buttons.
    box: Rect
    #: Place of the lines.
    text: Rect
    lines: tuple[str, ...]
    #: Places of the buttons, in order.
    buttons: tuple[Rect, ...]
    #: Maximum ``scroll_y``.
    scroll_limit: int = 0
    #: Number of visible lines of the paragraphs that are not fixed.
    body_rows: int = 0

    def button_at(self, x: int, y: int) -> int | None:
        """Return the index of the button in this cell of the screen."""
        return next((i for i, b in enumerate(self.buttons) if b.contains(x, y)), None)


def button_text(label: str) -> str:
    """Return a button as it is drawn."""
    return f' {label} '


def lay_out_dialog(
    area: Rect,
    message: Sequence[str],
    labels: Sequence[str],
    *,
    scroll_y: int = 0,
    fixed: int = 0,
    wrapped: bool = True,
) -> DialogLayout:
    """Lay out paragraphs, made safe, and a row of buttons in the middle of ``area``.

    Paragraphs are ``wrapped``, or clipped to a line each. If there are too many lines, the first
    ``fixed`` paragraphs stay, the others scroll, and the last line shows the position. Buttons that
    do not fit in a row are stacked.
    """
    message = [safe(paragraph) for paragraph in message]
    sizes = [cell_width(button_text(label)) for label in labels]
    room = (min(area.width, _MAX_WIDTH) if wrapped else area.width) - DIALOG_MARGIN
    gaps = max(0, len(sizes) - 1)
    gap = next((gap for gap in range(_BUTTON_GAP, 0, -1) if sum(sizes) + gap * gaps <= room), 0)
    in_a_row = sum(sizes) + gap * gaps
    stacked = in_a_row > room
    button_rows = len(sizes) if stacked else min(1, len(sizes))
    text_rows = area.height - 2 - (button_rows + 1 if sizes else 0)
    if room < max([*sizes, 2]) or text_rows < 1:
        line = clip(next(filter(None, message), ''), area.width)
        return DialogLayout(Rect(area.x, area.y, 0, 0), area, (line,), ())
    head = [line for paragraph in message[:fixed] for line in wrap(paragraph, room)]
    body = [
        line
        for paragraph in message[fixed:]
        for line in (_wrapped(paragraph, room) if wrapped else [clip(paragraph, room)])
    ]
    noun = 'line' if wrapped else ''
    lines, scroll_limit = _fit_lines(head, body, room, text_rows, scroll_y, noun)
    # As wide as all lines need, so that scrolling does not resize the dialog.
    widest = [cell_width(line) for line in (*head, *body, *lines)]
    width = min(room, max([*widest, max(sizes, default=0) if stacked else in_a_row]))
    height = len(lines) + (button_rows + 1 if sizes else 0)
    box = area.centered(width + DIALOG_MARGIN, height + 2)
    inner = box.inset(2, 1)
    text, below = inner.split_top(len(lines))
    buttons = _buttons(below, sizes, gap, stacked=stacked)
    is_cut = len(head) + len(body) > text_rows
    body_rows = text_rows - min(len(head), max(0, text_rows - 2)) - 1 if is_cut else len(body)
    return DialogLayout(box, text, tuple(lines), buttons, scroll_limit, max(0, body_rows))


def align_targets(
    subjects: Sequence[str], commands: Sequence[str], width: int
) -> tuple[list[str], list[str]]:
    """Return subjects of equal width, and commands that fit next to them on a screen of this width."""
    safe_subjects = [safe(subject) for subject in subjects]
    most = max(map(cell_width, safe_subjects))
    room = max(0, width - DIALOG_MARGIN - most - 1)
    brief = brief_commands([safe(command) for command in commands], room)
    return [pad(subject, most) for subject in safe_subjects], brief


def _wrapped(paragraph: str, room: int) -> list[str]:
    """Wrap a paragraph to a few lines; the last one is clipped."""
    lines = wrap(paragraph, room)
    if len(lines) <= _MAX_LINES:
        return lines
    last = _MAX_LINES - 1
    return [*lines[:last], clip(' '.join(lines[last:]), room)]


def _fit_lines(
    head: list[str], body: list[str], room: int, rows: int, scroll_y: int, noun: str
) -> tuple[list[str], int]:
    """Return the lines visible in ``rows`` rows, and the maximum ``scroll_y`` of the body.

    The ``noun`` is what the position counts; it may be empty.
    """
    if len(head) + len(body) <= rows:
        return head + body, 0
    head = head[: max(0, rows - 2)]
    seen = max(0, rows - len(head) - 1)
    limit = len(body) - seen
    first = max(0, min(scroll_y, limit))
    digits = len(str(len(body)))
    last = f'-{first + seen}' if seen > 1 else ''
    width = 2 * digits + 1 if last else digits
    part = f'{f"{first + 1}{last}":>{width}} of {len(body)}'
    if noun:
        part = f'{noun}{"s" if last else ""} {part}'
    notes = (f'{part}, PageUp and PageDown for more', f'{part}, PageUp PageDown')
    note = next((note for note in notes if seen and len(note) <= room), '')
    if not note:
        note = f'.. {len(body) - seen} more lines'
    return [*head, *body[first : first + seen], clip(note, room)], limit


def _buttons(area: Rect, sizes: Sequence[int], gap: int, *, stacked: bool) -> tuple[Rect, ...]:
    if stacked:
        return tuple(
            Rect(area.x + (area.width - size) // 2, area.y + 1 + i, size, 1)
            for i, size in enumerate(sizes)
        )
    x = area.x + (area.width - sum(sizes) - gap * max(0, len(sizes) - 1)) // 2
    places = []
    for size in sizes:
        places.append(Rect(x, area.y + 1, size, 1))
        x += size + gap
    return tuple(places)
