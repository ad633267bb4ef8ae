# SPDX-License-Identifier: GPL-3.0-only
"""The signal dialog: nothing is sent but what stands in it, and only after a confirmation."""

from __future__ import annotations

from typing import Tuple

from nvitop.gui.layout.dialog import DialogLayout, lay_out_dialog
from nvitop.gui.model.effects import Effect, SendSignal
from nvitop.gui.render.geometry import Rect
from nvitop.gui.state.app_state import BUTTONS, AppState, SignalTarget
from nvitop.gui.state.listing import clear_selection
from nvitop.gui.state.targets import REMARKS, remark_on, tagged_unseen

Result = Tuple[AppState, Tuple[Effect, ...]]

#: Keys of the dialog, beside the hot keys of its buttons.
CANCEL_KEYS = ('n', 'N', 'Esc', 'q', 'Q')
CONFIRM_KEYS = ('Enter', 'Space')
PREVIOUS_KEYS = ('Left', 'Up', 'Shift-Tab', ',', '<', '[', 'Alt-h', 'Alt-k')
NEXT_KEYS = ('Right', 'Down', 'Tab', '.', '>', ']', 'Alt-l', 'Alt-j')
#: Keys that scroll a list of targets too long to be seen, and by how many lines.
SCROLL_KEYS = {'PageUp': -10, 'PageDown': 10, 'Home': -1 << 20, 'End': 1 << 20}
#: So long the dialog has to be seen, unanswered, before an answer counts: what was typed before it
#: was there, pasted or repeated by a key that is held down must confirm nothing.
QUIET_SECONDS = 0.5
#: In so many cells there is room for a PID and the beginning of a user's name.
_NAMED_WIDTH = 20
_NO_ROOM = 'No room to name who gets a signal (Esc: cancel)'
_HOT_KEYS = {key: index for index, (_, _, keys) in enumerate(BUTTONS) for key in keys}


def button_of(signal: str) -> int:
    """Index of the button that sends this signal."""
    return next(i for i, (name, _, _) in enumerate(BUTTONS) if name == signal)


def note_drawn(state: AppState, monotonic: float) -> AppState:
    """The dialog is on the screen: from now on it can be read."""
    dialog = state.dialog
    if dialog is None or dialog.quiet_since is not None:
        return state
    return state._replace(dialog=dialog._replace(quiet_since=monotonic))


def await_answer(state: AppState, since: float) -> AppState:
    """No key was waiting at ``since``: if the dialog had been read by then, the next may confirm."""
    dialog = state.dialog
    if dialog is None or dialog.quiet_since is None or dialog.is_ready:
        return state
    is_ready = since - dialog.quiet_since >= QUIET_SECONDS
    return state._replace(dialog=dialog._replace(is_ready=is_ready)) if is_ready else state


def dialog_ready_at(state: AppState) -> float | None:
    """When an answer will count, on the monotonic clock; ``None``: it does, or nothing is asked."""
    dialog = state.dialog
    if dialog is None or dialog.quiet_since is None or dialog.is_ready:
        return None
    return dialog.quiet_since + QUIET_SECONDS


def be_drawn_anew(state: AppState) -> AppState:
    """Nothing that was on the screen counts as seen any more."""
    dialog = state.dialog
    if dialog is None:
        return state
    return state._replace(dialog=dialog._replace(quiet_since=None, is_ready=False))


def read_changes(before: AppState, state: AppState) -> AppState:
    """A dialog in which something else stands than before has to be read anew."""
    if state.dialog is None or dialog_message(before) == dialog_message(state):
        return state
    return be_drawn_anew(state)


def press_in_dialog(state: AppState, key: str) -> Result:
    """A key while the dialog is open; a key it does not know does nothing."""
    dialog = state.dialog
    assert dialog is not None
    if key in CANCEL_KEYS:
        return state._replace(dialog=None), ()
    if key in PREVIOUS_KEYS:
        return turn_in_dialog(state, -1)
    if key in NEXT_KEYS:
        return turn_in_dialog(state, 1)
    if key in SCROLL_KEYS:
        return scroll_dialog(state, SCROLL_KEYS[key]), ()
    if key in CONFIRM_KEYS:
        return confirm(state, dialog.button)
    if key == dialog.opened_with:
        return _wait_longer(state), ()
    if key.lower() in _HOT_KEYS:
        return confirm(state, _HOT_KEYS[key.lower()])
    return _wait_longer(state), ()


def _wait_longer(state: AppState) -> AppState:
    """What came is no answer: before there is one, the keyboard has to be quiet."""
    dialog = state.dialog
    assert dialog is not None
    if dialog.is_ready or dialog.quiet_since is None:
        return state
    return state._replace(dialog=dialog._replace(quiet_since=state.monotonic))


def scroll_dialog(state: AppState, lines: int) -> AppState:
    """Scroll the list of targets, as far as there are any."""
    dialog = state.dialog
    assert dialog is not None
    limit = dialog_layout(state).scroll_limit
    scroll_y = max(0, min(dialog.scroll_y + lines, limit))
    return state._replace(dialog=dialog._replace(scroll_y=scroll_y))


def dialog_layout(state: AppState) -> DialogLayout:
    """Where the parts of the dialog are."""
    if names_targets(state):
        return _layout(state)
    return lay_out_dialog(Rect(0, 0, state.width, state.height), (_NO_ROOM,), ())


def names_targets(state: AppState) -> bool:
    """Whether there is room to say to whom a signal would be sent."""
    layout = _layout(state)
    return layout.body_rows > 0 and layout.text.width >= _NAMED_WIDTH


def _layout(state: AppState) -> DialogLayout:
    dialog = state.dialog
    assert dialog is not None
    return lay_out_dialog(
        Rect(0, 0, state.width, state.height),
        dialog_message(state),
        [label for _, label, _ in BUTTONS],
        scroll_y=dialog.scroll_y,
        fixed=2,
        wrapped=len(dialog.targets) == 1,
    )


def turn_in_dialog(state: AppState, step: int) -> Result:
    """Go to the next button, round and round."""
    dialog = state.dialog
    assert dialog is not None
    return state._replace(dialog=dialog._replace(button=(dialog.button + step) % len(BUTTONS))), ()


def confirm(state: AppState, button: int) -> Result:
    """Press a button: send the signal to the targets that were shown, or cancel.

    Nothing is confirmed before the targets could be read.
    """
    dialog = state.dialog
    assert dialog is not None
    signal = BUTTONS[button][0]
    if not signal or state.view.readonly:
        return state._replace(dialog=None), ()
    if not dialog.is_ready or not names_targets(state):
        return _wait_longer(state), ()
    state = state._replace(dialog=None)
    keys = tuple(target.key for target in dialog.targets)
    return clear_selection(state), (SendSignal(signal, keys),)


def dialog_message(state: AppState) -> tuple[str, ...]:
    """The text of the dialog: the question, what should be known of the targets, and each of them
    with PID, user and command. It is not safe to draw yet."""
    dialog = state.dialog
    assert dialog is not None
    if len(dialog.targets) == 1:
        question = 'Send a signal to this process?'
    else:
        question = f'Send a signal to these {len(dialog.targets)} processes?'
    remarks = list(map(remark_on(state), dialog.targets))
    counts = [(remarks.count(remark), words) for remark, words in REMARKS.items()]
    if len(remarks) == 1:  # it has its remark in its own line
        counts = []
    unseen, where = tagged_unseen(state, dialog.targets)
    counts.append((unseen, f'more tagged, {where}'))
    return (
        question,
        ', '.join(f'{count} {words}' for count, words in counts if count),
        *(_target_line(target, remark) for target, remark in zip(dialog.targets, remarks)),
    )


def _target_line(target: SignalTarget, remark: str) -> str:
    who = f'{target.username}, {remark}' if remark else target.username
    return f'{target.key.pid} ({who}) {target.command}'.rstrip()
