# SPDX-License-Identifier: GPL-3.0-only
"""The signal screen: which processes a signal would be sent to, and which signal."""

from __future__ import annotations

from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, TITLE, Role, Style
from nvitop.gui.render.width import clip
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.dialog import SIGNAL_KEYS, SIGNALS, command_lines, note_lines, question
from nvitop.gui.state.navigation import lines_layout
from nvitop.gui.view.hints import draw_screen_title
from nvitop.gui.view.text import draw_bar_row, draw_text


def draw_signal(buf: Buffer, state: AppState) -> None:
    """Draw the screen. Signals are dim until a key can confirm."""
    dialog = state.dialog
    assert dialog is not None
    title, _, lines = question(state, dialog)
    draw_screen_title(buf, state, [title, title.replace('these ', '')])
    chosen, whole = SIGNALS.index(dialog.signal), sum(len(name) + 3 for name in SIGNALS)
    names = list(SIGNALS) if whole < buf.width else [name[3:] for name in SIGNALS]
    first = 0  # narrow screens begin with a later one, so that the chosen one is on the screen
    while sum(len(name) + 3 for name in names[first : chosen + 1]) >= buf.width and first < chosen:
        first += 1
    x = 1
    for signal, name in list(zip(SIGNALS, names))[first:]:
        role = Role.ERROR if signal == 'SIGKILL' else Role.TEXT
        is_chosen = signal == dialog.signal
        style = Style(role, bold=is_chosen, reverse=is_chosen, dim=not dialog.is_ready)
        if x + len(name) + 2 > buf.width:
            break
        width = buf.write(x, 1, f' {name} ', style)
        key = state.keymap.instead_of(state.screen, SIGNAL_KEYS[signal])
        buf.hit(Rect(x, 1, width, 1), 'keys', key)
        x += width + 1
    for y, note in enumerate(note_lines(state), 2):
        buf.write(1, y, note, TITLE)
    layout = lines_layout(state)
    cursor = layout.line
    for line in layout.shown:
        text, y = clip(f' {lines[line]}', buf.width), layout.row_of(line)
        if line == cursor:
            draw_bar_row(buf, y, text, Style(Role.SELECTED))
        else:
            draw_text(buf, 0, y, text)
    for y, text in enumerate(command_lines(state), layout.row_of(layout.shown.stop) + 1):
        buf.write(1, y, text, DIM)
