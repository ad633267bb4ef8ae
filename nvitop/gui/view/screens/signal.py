# SPDX-License-Identifier: GPL-3.0-only
"""The signal screen: which processes a signal would be sent to, and which signal."""

from __future__ import annotations

from nvitop.gui.model.format import brief_commands, devices_text
from nvitop.gui.model.table import Column
from nvitop.gui.render.buffer import Buffer, Rect
from nvitop.gui.render.theme import DIM, TITLE, Role, Style
from nvitop.gui.render.width import safe
from nvitop.gui.state.app_state import AppState, ListLayout, SignalDialog
from nvitop.gui.state.dialog import (
    SIGNAL_KEYS,
    SIGNALS,
    command_lines,
    note_lines,
    noted_command,
    question,
)
from nvitop.gui.view.hints import set_title
from nvitop.gui.view.table import draw_table, place_for
from nvitop.sampling.history import History

# fmt: off
#: Columns of the targets.
_COLUMNS = (
    Column('pid', 'PID', (4, 11), '', lambda target, _: f' {target.key.pid}'),
    Column('user', 'USER', (4, 16), '', lambda target, _: safe(target.username), align='<', gap=2),
    Column('device', 'GPU', (4, 12), '', lambda target, _: devices_text(target.devices), align='<', gap=2),
    Column('command', 'COMMAND', (10, 0), '', lambda target, _: target.command, align='<', gap=2),
)
# fmt: on


def draw_signal(buf: Buffer, state: AppState, layout: ListLayout, _: History) -> None:
    dialog = state.dialog
    assert dialog is not None
    count = len(dialog.targets)
    which = ['this process'] if count == 1 else [f'these {count} processes', f'{count} processes']
    set_title(buf, layout, [f'Send a signal to {targets}' for targets in which])
    _draw_signals(buf, state, dialog)
    for y, note in enumerate(note_lines(state), 2):
        buf.write(1, y, note, TITLE)
    area, shown = layout.with_headings, layout.shown_lines
    notes = question(state)[1][layout.shown.start : layout.shown.stop]
    placed = place_for(layout.lines, _COLUMNS, area)
    texts = [noted_command(target, note) for target, note in zip(shown, notes)]
    commands = brief_commands(texts, placed[-1].width)
    draw_table(
        buf,
        area,
        placed,
        [target._replace(command=text) for target, text in zip(shown, commands)],
        cursor=layout.cursor,
    )
    for y, text in enumerate(command_lines(state), layout.row_of(layout.shown.stop) + 1):
        buf.write(1, y, text, DIM)


def _draw_signals(buf: Buffer, state: AppState, dialog: SignalDialog) -> None:
    """Draw the signals to choose from, as many as fit with the chosen one, dim until a key can confirm."""
    keys = [state.keymap.instead_of(state.screen, SIGNAL_KEYS[signal]) for signal in SIGNALS]
    names = [
        name if key in name[len('SIG') :] else f'{name} ({key})' for name, key in zip(SIGNALS, keys)
    ]
    if sum(len(name) + 3 for name in names) >= buf.width:
        names = [name[len('SIG') :] for name in names]
    chosen = SIGNALS.index(dialog.signal)
    first = 0
    while sum(len(name) + 3 for name in names[first : chosen + 1]) >= buf.width and first < chosen:
        first += 1
    x = 1
    for signal, name, key in list(zip(SIGNALS, names, keys))[first:]:
        role = Role.ERROR if signal == 'SIGKILL' else Role.TEXT
        is_chosen = signal == dialog.signal
        style = Style(role, bold=is_chosen, reverse=is_chosen, dim=not dialog.is_ready)
        if x + len(name) + 2 > buf.width:
            break
        width = buf.write(x, 1, f' {name} ', style)
        buf.restyle(Rect(x + 1 + name.rindex(key), 1, len(key), 1), underline=True)
        buf.hit(Rect(x, 1, width, 1), 'keys', key)
        x += width + 1
