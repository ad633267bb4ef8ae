# SPDX-License-Identifier: GPL-3.0-only
"""Dialogs over the screen: a box with buttons, or one line if there is no room for a box."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from nvitop.gui.layout.dialog import DialogLayout, button_text
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.geometry import Rect
from nvitop.gui.render.style import PLAIN, Role, Style
from nvitop.gui.render.width import cell_width, pad
from nvitop.gui.view.widgets.box import draw_box
from nvitop.gui.view.widgets.text import draw_centered_line

_CURRENT = Style(Role.SELECTED, bold=True)


class Button(NamedTuple):
    """A button of a message box."""

    label: str
    #: The letter of the label that presses it; ``''`` for none.
    hot_letter: str = ''


def draw_dialog(
    buf: Buffer,
    layout: DialogLayout,
    buttons: Sequence[Button] = (),
    *,
    current: int = 0,
    title: str = '',
    is_ready: bool = True,
) -> None:
    """Draw a dialog and dim the screen below; ``current`` is the button under the cursor.

    Buttons are dim until the dialog ``is_ready`` to accept keys.
    """
    buf.restyle(buf.area, dim=True)
    if layout.box.is_empty:
        draw_centered_line(buf, layout.text, ' '.join(layout.lines), _CURRENT)
        return
    draw_box(buf, layout.box, title=title)
    for i, line in enumerate(layout.lines):
        buf.write(layout.text.x, layout.text.y + i, pad(line, layout.text.width), PLAIN)
    for i, (button, place) in enumerate(zip(buttons, layout.buttons)):
        style = _CURRENT if i == current else PLAIN
        buf.write(place.x, place.y, button_text(button.label), style)
        hot = button.label.lower().find(button.hot_letter.lower()) if button.hot_letter else -1
        if hot >= 0:
            letter = Rect(place.x + 1 + cell_width(button.label[:hot]), place.y, 1, 1)
            buf.restyle(letter, underline=True, bold=True, role=None if i == current else Role.KEY)
        if not is_ready:
            buf.restyle(place, bold=False, dim=True)
