# SPDX-License-Identifier: GPL-3.0-only
"""The first line of a screen: its title, badges and a hint about keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Sequence, Tuple

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.style import Role, Style
from nvitop.gui.render.width import cell_width, clip

if TYPE_CHECKING:
    #: Pieces of a line, each with its style.
    Pieces = Sequence[Tuple[str, Style]]

KEY = Style(Role.KEY, bold=True, italic=True)
HINT = Style(Role.DIM)
_TITLE = Style(Role.TITLE, bold=True)
#: Cells between a title and each of its badges.
_GAP = 2
#: Number of badges that are never left out: a simulated machine and a frozen display.
_KEPT = 2


class Badge(NamedTuple):
    """A few words that the user must not forget."""

    #: The text, from its longest to its shortest form.
    forms: tuple[str, ...]
    style: Style
    #: The default key that a click on it presses; ``''``: none.
    key: str = ''


def fit_badges(badges: Sequence[Badge], room: int, *, gap: int = 1) -> Pieces:
    """Return the badges that fit into ``room`` cells, each after a gap.

    Badges get room in their shortest form, the first ones first. Remaining cells lengthen badges,
    the last ones first.
    """
    shown: dict[int, str] = {}
    for i, badge in enumerate(badges):
        cells = gap + cell_width(badge.forms[-1])
        if cells <= room:
            shown[i] = badge.forms[-1]
            room -= cells
    for i in sorted(shown, reverse=True):
        room += cell_width(shown[i])
        shown[i] = next(form for form in badges[i].forms if cell_width(form) <= room)
        room -= cell_width(shown[i])
    return [(text, badges[i].style) for i, text in shown.items()]


def add_badge_targets(buf: Buffer, y: int, badges: Sequence[tuple[Badge, str]]) -> None:
    """Let clicks on the badges that are drawn in a row press keys."""
    for x, text, _ in tuple(buf.row(y)):
        key = next((key for badge, key in badges if text in badge.forms), '')
        if key:
            buf.add_target(x, y, cell_width(text), key)


def title_room(width: int, badges: Sequence[Badge]) -> int:
    """Return the cells left for a title by the badges that are never left out."""
    return width - sum(_GAP + cell_width(badge.forms[-1]) for badge in badges[:_KEPT])


def fit_title(titles: Sequence[str], notes: Sequence[Sequence[str]], width: int) -> str:
    """Return the longest form of a title that fits with all notes, else its longest that fits.

    Each note has its longest form that fits, or is left out.
    """
    fitting = [title for title in titles if cell_width(title) <= width] or titles[-1:]
    found = [_extended(title, notes, width) for title in fitting]
    return next((title for title, is_whole in found if is_whole), found[0][0])


def _extended(title: str, notes: Sequence[Sequence[str]], width: int) -> tuple[str, bool]:
    """Return the title with the notes that fit, and whether all of them do."""
    is_whole = True
    for forms in filter(None, notes):
        longer = [f'{title}, {form}' for form in forms if cell_width(f'{title}, {form}') <= width]
        is_whole = is_whole and bool(longer)
        title = longer[0] if longer else title
    return title, is_whole


def draw_title(buf: Buffer, title: str, badges: Sequence[Badge], hint: Pieces) -> None:
    """Draw safe text at the left of the first row, badges, and as much of the hint as fits."""
    x = buf.write(0, 0, clip(title, title_room(buf.width, badges)), _TITLE)
    for text, style in fit_badges(badges, buf.width - x, gap=_GAP):
        x += _GAP + buf.write(x + _GAP, 0, text, style)
    draw_at_right(buf, 0, hint, left=x + _GAP)


def draw_at_right(
    buf: Buffer, y: int, hint: Pieces, *, left: int = 0, right: int | None = None
) -> None:
    """Draw a hint that ends at the right edge, or before ``right``.

    If it would begin before ``left``, its first keys are left out until the others fit. The keys
    of a hint that begins with a word are a choice, so the last key is not shown alone.
    """
    right = buf.width if right is None else right
    keys = [i for i, (_, style) in enumerate(hint) if style == KEY]
    is_choice = bool(hint) and hint[0][1] != KEY
    for start in (0, *keys[1 : len(keys) - is_choice]):
        x = right - sum(cell_width(text) for text, _ in hint[start:])
        if x >= left:
            for text, style in hint[start:]:
                x += buf.write(x, y, text, style)
            break
