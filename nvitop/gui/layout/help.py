# SPDX-License-Identifier: GPL-3.0-only
"""Layout of the help: keys and what they do, in two columns if there is room."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from nvitop.gui.render.width import cell_width, clip, wrap

#: Minimum width of the screen for two columns.
_TWO_COLUMNS = 100
#: Width of a narrow column; width of the keys in it, and in others. Longer keys have a line of their own.
_NARROW, _FEW_KEYS, _KEYS = 60, 13, 19
_INDENT, _GAP = 2, 2
#: Mark of the legend that is drawn in all colors of the gradient.
GRADIENT_SAMPLE = 10 * '■'


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
        return [[keys], *([HelpPart(x, line, kind, off)] for line in wrap(entry.text, width - x))]
    first, *others = wrap(entry.text, max(2, width - x))
    lines = [[HelpPart(x, line, kind, off)] for line in others]
    return [[*([keys] if keys_width else ()), HelpPart(x, first, kind, off)], *lines]
