"""``update``: what each event does to the state, and which effects it has."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nvitop.api.metrics import METRICS_BY_NAME
from nvitop.gui.model.choices import ProcessFilter, Sort, ViewState
from nvitop.gui.model.columns import COLUMNS, DEFAULT_COLUMNS
from nvitop.gui.model.effects import (
    CaptureMouse,
    Effect,
    Quit,
    ReadEnvironment,
    Redraw,
    Refresh,
    RingBell,
    SendSignal,
    Suspend,
)
from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import BUTTONS, AppState
from nvitop.gui.state.bindings import BINDINGS, Action
from nvitop.gui.state.demand import DETAILS
from nvitop.gui.state.dialog import dialog_layout, names_targets
from nvitop.gui.state.events import (
    ClockTicked,
    EnvironmentRead,
    Event,
    FrameDrawn,
    InputAwaited,
    InputEnded,
    KeyPressed,
    MousePressed,
    MouseScrolled,
    Pasted,
    Resized,
    SampleArrived,
    SignalSent,
    Suspended,
    Terminated,
)
from nvitop.gui.state.keymap import USUAL
from nvitop.gui.state.listing import main_layout, tree_layout
from nvitop.gui.state.summary import Tally
from nvitop.gui.state.update import update, update_all
from nvitop.sampling.types import (
    DeviceKey,
    HostProcessSample,
    Problem,
    ProcessKey,
    ProcessSample,
)
from tests.gui.driving import EVENTS, MANY, TREE, dialog_of, press, read_dialog, state_of, texts
from tests.gui.samples import SAMPLES, with_details, with_families


def test_processes_are_listed_again_only_when_they_were_measured_again() -> None:
    state = state_of(MANY)
    later, _ = update(state, SampleArrived(MANY._replace(sequence=2)))
    assert later.rows is state.rows
    changed = MANY._replace(sequence=3, processes=MANY.processes[5:])
    assert len(update(later, SampleArrived(changed))[0].rows) == len(state.rows) - 5


def pids(state: AppState) -> list[int]:
    return [row.key.pid for row in state.rows]


# Selecting and tagging


def test_arrows_select_and_stop_at_the_ends() -> None:
    state = state_of(MANY)
    state, effects = press(state, 'Down')
    assert state.main.selected == state.rows[0].key
    assert effects == ()
    state, effects = press(state, 'Up')
    assert state.main.selected == state.rows[0].key
    assert effects == (RingBell(),)
    state, _ = press(state, 'End')
    assert state.main.selected == state.rows[-1].key
    _, effects = press(state, 'Down')
    assert effects == (RingBell(),)


def test_the_selected_row_is_always_seen() -> None:
    state = state_of(MANY, height=24)
    for key in ('Down',) * 60 + ('End', 'Home') + ('Up',) * 3:
        state, _ = press(state, key)
        layout = main_layout(state)
        assert state.main.selected in {state.rows[row.process].key for row in layout.processes.rows}


@pytest.mark.parametrize(('width', 'height', 'top'), [(80, 24, 0), (60, 20, 0), (40, 12, 11)])
def test_home_leads_back_to_where_the_first_process_is_first_seen(
    width: int, height: int, top: int
) -> None:
    state = state_of(SAMPLES['h100x8'], width, height)
    state, _ = press(state, 'End')
    assert main_layout(state).scroll_y > top
    state, _ = press(state, 'Home')
    assert main_layout(state).scroll_y == top
    assert state.main.selected == state.rows[0].key


def test_a_selection_goes_with_its_process_and_not_with_its_row() -> None:
    state, _ = press(state_of(MANY), 'Down', 'Down')
    selected = state.main.selected
    assert selected is not None
    others = tuple(p for p in MANY.processes if p.key != state.rows[0].key)
    state, _ = update(state, SampleArrived(MANY._replace(processes=others, sequence=2)))
    assert state.main.selected == selected
    gone = tuple(p for p in others if p.key != selected)
    state, _ = update(state, SampleArrived(MANY._replace(processes=gone, sequence=3)))
    assert state.main.selected is None


def test_a_pid_used_again_is_not_selected() -> None:
    state, _ = press(state_of(MANY), 'Down', 'Space')
    key = state.rows[0].key
    assert key in state.main.tagged
    reborn = tuple(
        p._replace(key=p.key._replace(start_time=p.key.start_time + 100.0)) if p.key == key else p
        for p in MANY.processes
    )
    state, _ = update(state, SampleArrived(MANY._replace(processes=reborn, sequence=2)))
    assert state.main.tagged == frozenset()


def test_space_tags_and_moves_on() -> None:
    state, _ = press(state_of(MANY), 'Down', 'Space', 'Space')
    assert state.main.tagged == {state.rows[0].key, state.rows[1].key}
    assert state.main.selected == state.rows[2].key
    state, _ = press(state, 'Up', 'Space')
    assert state.main.tagged == {state.rows[0].key}
    state, effects = press(state_of(MANY), 'Space')
    assert effects == (RingBell(),)
    assert texts(state) == ['No tag: select a process first']


def test_escape_clears_the_filter_first_and_the_selection_after_it() -> None:
    state, _ = press(state_of(MANY), 'Down', 'Space', '\\', 'p', 'Enter')
    assert state.query == 'p'
    state, _ = press(state, 'Esc')
    assert state.query == ''
    assert state.main.tagged
    state, _ = press(state, 'Esc')
    assert state.main.selected is None
    assert not state.main.tagged


# Sorting


@pytest.mark.parametrize(
    ('keys', 'sort'),
    [
        ('o p', Sort('pid')),
        ('o g', Sort('gpu_memory')),
        ('o G', Sort('gpu_memory', reverse=True)),
        ('.', Sort('pid')),
        (',', Sort('time')),
        ('. .', Sort('username')),
        ('/', Sort('natural', reverse=True)),
        ('o x', Sort()),
        ('o Esc', Sort()),
    ],
)
def test_keys_sort(keys: str, sort: Sort) -> None:
    state, _ = press(state_of(MANY), *keys.split())
    assert state.main.sort == sort
    assert state.prefix == ''


def test_sorting_by_pid_is_ascending() -> None:
    state, _ = press(state_of(MANY), 'o', 'p')
    assert pids(state) == sorted(pids(state))
    state, _ = press(state, '/')
    assert pids(state) == sorted(pids(state), reverse=True)


# Filter and search


def test_the_filter_works_as_it_is_typed_and_escape_takes_it_back() -> None:
    state = state_of(MANY)
    user = MANY.processes[0].username
    assert user is not None
    typed, _ = press(state, '\\', *f'user:{user}')
    assert typed.field is not None
    assert {row.username for row in typed.rows} == {user}
    kept, _ = press(typed, 'Enter')
    assert kept.field is None
    assert kept.rows == typed.rows
    dropped, _ = press(typed, 'Esc')
    assert dropped.field is None
    assert dropped.rows == state.rows


def test_keys_that_act_are_letters_while_typing() -> None:
    state, effects = press(state_of(MANY), 'Down', 'F4', 'q', 'k', 'Space', 'T')
    assert effects == ()
    assert state.field is not None
    assert state.field.text == 'qk T'
    assert state.dialog is None


@pytest.mark.parametrize('keys', ['T', '\\', '\\ a', 'F3', 'o', 't K'])
def test_what_suspends_does_so_whatever_is_open(keys: str) -> None:
    state, _ = press(state_of(with_families(MANY)), 'Down', *keys.split())
    suspended, effects = press(state, 'Ctrl-Z')
    assert effects == (Suspend(),)
    assert suspended == state._replace(prefix='')


def test_editing_the_line() -> None:
    state, _ = press(state_of(MANY), '\\', *'ab cd', 'Backspace')
    assert state.query == 'ab c'
    state, _ = press(state, 'Ctrl-W')
    assert state.query == 'ab '
    state, _ = press(state, 'Ctrl-U')
    assert state.query == ''
    state, _ = update(state, Pasted('x\ny'))
    assert state.query == 'x y'


def test_search_moves_the_selection_and_filters_nothing() -> None:
    state = state_of(MANY)
    target = state.rows[7]
    state, _ = press(state, 'F3', *f'pid:{target.key.pid}')
    assert state.main.selected == target.key
    assert len(state.rows) == len(MANY.processes)
    state, _ = press(state, 'Enter')
    assert state.field is None
    assert state.query == ''


@pytest.mark.parametrize('screen', ['', 't'])
def test_a_search_that_finds_nothing_says_so_until_it_finds_something(screen: str) -> None:
    state, _ = press(state_of(with_families(MANY)), *screen.split(), 'Down')
    here = (state.main.selected, state.tree.selected)
    state, _ = press(state, 'F3', *'~~~')
    assert texts(state) == ['Not found: ~~~']
    state, _ = press(state, 'Down', 'F3')
    assert texts(state) == ['Not found: ~~~']
    kept, _ = press(state, 'Enter')
    assert texts(kept) == ['Not found: ~~~']
    assert (kept.main.selected, kept.tree.selected) == here
    assert texts(press(state, 'Esc')[0]) == []
    assert texts(press(state, 'Ctrl-U')[0]) == []
    found, _ = press(state, 'Ctrl-U', *'user:')
    assert texts(found) == []


def test_a_search_says_that_it_looks_only_at_what_the_filter_shows() -> None:
    hidden = MANY.processes[-1].key.pid
    state, _ = press(state_of(MANY), '\\', *f'pid:{MANY.processes[0].key.pid}', 'Enter')
    state, _ = press(state, 'F3', *str(hidden))
    assert texts(state) == [f'Not found: {hidden} among the filtered processes']


# Signals


@pytest.mark.parametrize(
    ('key', 'signal'),
    [('T', 'SIGTERM'), ('k', 'SIGKILL'), ('K', 'SIGKILL'), ('I', 'SIGINT'), ('Ctrl-C', 'SIGINT')],
)
def test_a_signal_needs_a_target_a_dialog_and_a_confirmation(key: str, signal: str) -> None:
    state = state_of(MANY)
    _, effects = press(state, key)
    assert effects == (RingBell(),)
    own = next(i for i, row in enumerate(state.rows) if row.is_own)
    state, _ = press(state, *['Down'] * (own + 1))
    target = state.main.selected
    assert target is not None
    state, effects = press(state, key)
    assert state.dialog is not None
    assert [t.key for t in state.dialog.targets] == [target]
    assert BUTTONS[state.dialog.button][0] == signal
    assert effects == ()
    state = read_dialog(state)
    sent, effects = press(state, 'Enter')
    assert effects == (SendSignal(signal, (target,)),)
    assert sent.dialog is None
    assert sent.main.selected is None
    for cancel in ('Esc', 'n', 'q', 'c'):
        state_after, effects = press(state, cancel)
        assert effects == ()
        assert state_after.dialog is None
        assert state_after.main.selected == target


def test_a_foreign_process_is_signalled_only_when_it_was_tagged() -> None:
    state = state_of(MANY)
    foreign = next(i for i, row in enumerate(state.rows) if not row.is_own)
    state, _ = press(state, *['Down'] * (foreign + 1))
    _, effects = press(state, 'T')
    assert effects == (RingBell(),)
    state, _ = press(state, 'Space', 'T')
    assert state.dialog is not None


def test_the_dialog_keeps_its_targets_when_the_list_changes_under_it() -> None:
    state, _ = press(state_of(MANY), 'Down', 'Space', 'T')
    assert state.dialog is not None
    targets = tuple(target.key for target in state.dialog.targets)
    state, _ = update(state, SampleArrived(MANY._replace(processes=(), sequence=2)))
    _, effects = press(read_dialog(state), 'Enter')
    assert effects == (SendSignal('SIGTERM', targets),)


def test_a_target_without_a_command_says_what_it_is() -> None:
    for status, said in (
        ('gone', 'No Such Process'),
        ('zombie', 'Zombie Process'),
        ('running', ''),
    ):
        process = MANY.processes[0]._replace(command=None, name=None, status=status)
        state, _ = press(state_of(MANY._replace(processes=(process,))), 'Down', 'Space', 'T')
        assert state.dialog is not None
        assert [target.command for target in state.dialog.targets] == [said]


def test_a_process_on_two_devices_is_one_target() -> None:
    first = MANY.processes[0]
    twin = first._replace(key=first.key._replace(device=DeviceKey(7)))
    state = state_of(MANY._replace(processes=(first, twin)))
    state, _ = press(state, 'Home', 'Space', 'Space', 'T')
    assert state.dialog is not None
    assert len(state.dialog.targets) == 1


def test_nothing_is_signalled_read_only() -> None:
    state = state_of(MANY, view=ViewState(readonly=True))
    for key in ('T', 'K', 'k', 'I', 'Ctrl-C'):
        after, effects = press(state, 'Home', 'Space', key, 'Enter')
        assert after.dialog is None
        assert not any(isinstance(effect, SendSignal) for effect in effects)


def asked(key: str = 'K', width: int = 120, height: int = 40) -> AppState:
    """A dialog about one process has just been opened, at second 100."""
    state = state_of(MANY, width, height)
    state, _ = update(state, ClockTicked(100.0, 0.0))
    state, _ = press(state, 'Down', 'Space', key)
    assert state.dialog is not None
    return state


_ANSWERS: list[Event] = [KeyPressed(key) for key in ('Enter', 'Space', *'tk12', 'T')]


def click_on_kill(state: AppState) -> Event:
    kill = dialog_layout(state, dialog_of(state)).buttons[1]
    return MousePressed(kill.x, kill.y)


def test_what_was_typed_ahead_of_the_dialog_confirms_nothing() -> None:
    for events in (_ANSWERS, [*_ANSWERS, click_on_kill(asked())]):
        state, effects = update_all(asked(), tuple(events))
        assert effects == ()
        assert state.dialog is not None
    # Time alone does not make it seen: it has to be on the screen.
    state, _ = update(asked(), ClockTicked(1000.0, 0.0))
    state, _ = update(state, InputAwaited(1000.0))
    assert update_all(state, tuple(_ANSWERS))[1] == ()


@pytest.mark.parametrize('answer', [*_ANSWERS, None], ids=str)
def test_an_answer_counts_when_the_dialog_was_seen_for_half_a_second(answer: Event | None) -> None:
    opened = asked()
    answer = answer or click_on_kill(opened)
    state, _ = update(opened, FrameDrawn(100.1))
    for seconds in (100.2, 100.59):
        state, _ = update_all(state, (InputAwaited(seconds), ClockTicked(seconds, 0.0)))
        assert update(state, answer)[1] == ()
    # What is read now may have been typed while the program was held up.
    state, _ = update(state, ClockTicked(107.0, 0.0))
    assert update(state, answer)[1] == ()
    state, _ = update(state, InputAwaited(107.0))
    sent, effects = update(state, answer)
    assert [type(effect) for effect in effects] == [SendSignal]
    assert sent.dialog is None


def test_keys_that_come_without_a_pause_never_confirm() -> None:
    state, _ = update(asked(), FrameDrawn(100.0))
    for i in range(1, 100):
        now = 100.0 + 0.4 * i
        events = (InputAwaited(now), ClockTicked(now, 0.0), KeyPressed(('Enter', 'z')[i % 2]))
        state, effects = update_all(state, events)
        assert effects == ()
    assert state.dialog is not None
    assert not state.dialog.is_ready


def test_arrows_choose_a_button_without_delay() -> None:
    state, _ = update(asked('T'), FrameDrawn(100.0))
    state, _ = press(state, 'Right', 'Right', 'Left')
    state, _ = update_all(state, (InputAwaited(100.5), ClockTicked(100.5, 0.0)))
    _, effects = press(state, 'Enter')
    assert isinstance(effects[0], SendSignal)
    assert effects[0].signal == 'SIGKILL'


@pytest.mark.parametrize('key', ['k', 'K', 'T'])
def test_the_key_that_opened_the_dialog_never_confirms_it(key: str) -> None:
    state = read_dialog(asked(key))
    for _ in range(50):
        state, effects = press(state, key)
        assert effects == ()
    _, effects = press(state, key.swapcase())
    assert [type(effect) for effect in effects] == [SendSignal]


@pytest.mark.parametrize('event', [Resized(90, 30), Suspended(resumed=True)])
def test_a_dialog_that_is_drawn_anew_has_to_be_read_anew(event: Event) -> None:
    state, _ = update(read_dialog(asked()), event)
    assert press(state, 'Enter')[1] == ()
    assert press(read_dialog(state), 'Enter')[1] != ()


@pytest.mark.parametrize(('width', 'height'), [(80, 4), (12, 12), (40, 5), (1, 1)])
def test_where_no_target_can_be_named_nothing_can_be_confirmed(width: int, height: int) -> None:
    state = read_dialog(asked(width=width, height=height))
    assert not names_targets(state, dialog_of(state))
    for key in ('Enter', 'Space', 't', 'k', 'i', '1', '2', '3'):
        after, effects = press(state, key)
        assert effects == ()
        assert after.dialog is not None
    assert press(state, 'Esc')[0].dialog is None


def test_read_only_even_an_open_dialog_sends_nothing() -> None:
    state = read_dialog(asked())
    state = state._replace(view=state.view._replace(readonly=True))
    for key in ('Enter', 't', 'Space'):
        assert press(state, key)[1] == ()


def test_on_the_smallest_screen_a_signal_can_be_sent_to_a_process_that_is_named() -> None:
    state = read_dialog(asked(width=40, height=6))
    layout = dialog_layout(state, dialog_of(state))
    assert len(layout.lines) == 2
    assert layout.lines[0].startswith(f'{state.rows[0].key.pid} (')
    assert [button.y for button in layout.buttons] == [layout.box.bottom - 2] * len(BUTTONS)
    _, effects = press(state, 'Enter')
    assert [type(effect) for effect in effects] == [SendSignal]


def test_what_cannot_be_done_is_said_and_not_only_rung() -> None:
    state, effects = press(state_of(MANY), 'T')
    assert (effects, texts(state)) == (
        (RingBell(),),
        ['No signal: select or tag a process'],
    )
    state, _ = press(state, 'K', 'Enter')
    assert texts(state) == [
        'No signal: select or tag a process',
        'No graphs: select a process first',
    ]
    state, _ = press(state_of(MANY, view=ViewState(readonly=True)), 'Down', 'I')
    assert texts(state) == ['No signal: read-only (--readonly)']
    others = tuple(process._replace(is_own=False) for process in MANY.processes)
    state, _ = press(state_of(MANY._replace(processes=others)), 'Down', 'k')
    pid = state.rows[0].key.pid
    assert texts(state) == [f'No signal: {pid} is not yours; tag it to try']
    assert state.dialog is None
    state, _ = press(state_of(with_families(MANY)), 't', 'x')
    assert texts(state) == ['No tag: select a process first']
    state, _ = press(state_of(MANY), 'Down', 't', 'k')
    assert texts(state) == ['No signal: the tree has not been measured yet']


@pytest.mark.parametrize(
    ('screen', 'key', 'text'),
    [
        (Screen.TREE, 'Enter', 'Enter works in main, columns'),
        (Screen.TREE, 'C', 'C works in main'),
        (Screen.METRICS, 'T', 'T works in main, tree'),
        (Screen.METRICS, 'Down', 'Down works on every other screen'),
        (Screen.USERS, 'o', 'o works in main'),
        (Screen.PROBLEMS, 'v', 'v works in environment'),
        (Screen.MAIN, 'x', 'x works in tree'),
    ],
)
def test_a_key_of_another_screen_says_where_it_works(screen: Screen, key: str, text: str) -> None:
    before = state_of(TREE)._replace(screen=screen)
    state, effects = press(before, key)
    assert texts(state) == [f'Not here: {text}']
    assert (state._replace(notices=()), effects) == (before, ())
    # Held down, or followed by another one, it leaves one line.
    assert len(press(state, key, 'J', key)[0].notices) == 1


@pytest.mark.parametrize(
    ('keys', 'text', 'following'),
    [
        ('! d', 'Not here: d works in main', 'q'),
        ('z r', 'Not shown: the display is frozen (z: resume)', 'z'),
        ('f - - - - -', 'Graphs: no shorter time', '+'),
        ('T', 'No signal: select or tag a process', 'Down'),
        ('F3 ~ ~ Enter', 'Not found: ~~', 'Down'),
        ('L', 'Theme: mono', 'h'),
    ],
)
def test_the_answer_to_a_key_goes_with_the_next_one(keys: str, text: str, following: str) -> None:
    themes = state_of(MANY, 160, 60)._replace(themes=('dark', 'mono'))
    state, _ = press(themes, *keys.split())
    state, _ = update(state, SignalSent(MANY.processes[0].key, 'SIGTERM', 'sent'))
    told = f'SIGTERM to {MANY.processes[0].key.pid}: sent'
    assert texts(state) == [text, told]
    # What means nothing is no next key, and the outcome of a signal is no answer to one.
    assert texts(press(state, 'F9')[0]) == [text, told]
    assert texts(press(state, following)[0]) == [told]


@pytest.mark.parametrize('screen', list(Screen))
def test_no_key_of_the_table_does_nothing_without_a_word(screen: Screen) -> None:
    before = state_of(TREE)
    before = press(before, 'Down')[0]._replace(screen=screen, behind=(Screen.MAIN,))
    keys = {keys.split(' ')[0] for binding in BINDINGS for keys in binding.keys}
    for key in sorted(keys):
        state, _ = press(before, key)
        is_known = USUAL.find(screen, key) is not None or USUAL.is_prefix(screen, key)
        assert any(text.startswith('Not here: ') for text in texts(state)) is not is_known
    assert press(before, 'F9')[0] == before


@pytest.mark.parametrize('key', ['x', 'q', 'Down', 'o', '/'])
def test_a_key_that_cannot_follow_does_nothing_and_says_so(key: str) -> None:
    before, _ = press(state_of(MANY), 'Down')
    state, effects = press(before, 'o', key)
    assert texts(state) == [f'No such keys: o {key}; after o: n p u g s b c m t']
    assert (state._replace(notices=()), effects) == (before, (RingBell(),))
    # Who thinks better of it knows.
    assert press(before, 'o', 'Esc') == (before, ())


def test_who_can_send_no_signal_is_not_sent_to_another_screen_for_it() -> None:
    state = state_of(TREE, view=ViewState(readonly=True))._replace(screen=Screen.METRICS)
    assert texts(press(state, 'T')[0]) == ['No signal: read-only (--readonly)']
    assert texts(press(state, 'x')[0]) == ['Not here: x works in tree']


@pytest.mark.parametrize('key', ['h', '?', 'F1', 'e', 'U', '!', 'C', 'Enter'])
def test_the_key_that_leads_to_a_screen_leads_back(key: str) -> None:
    before, _ = press(state_of(TREE), 'Down')
    away, _ = press(before, key)
    assert away.screen is not Screen.MAIN
    assert press(away, key)[0].screen is Screen.MAIN


def test_nothing_is_said_of_the_names_in_an_environment_that_cannot_be_read() -> None:
    state, _ = press(state_of(MANY), 'e')
    failed, _ = update(state, EnvironmentRead(0, -1.0, error='no permission to read it'))
    for unread in (state, failed):
        pressed, _ = press(unread, 'v')
        assert texts(pressed) == ['No secrets: there are no variables']
        assert not pressed.environ.reveals_secrets


def test_no_secrets_are_hidden_where_there_are_none() -> None:
    state, _ = press(state_of(MANY), 'e')
    for variables, said in ((('A', 'b'), True), (('A_TOKEN', 'b'), False)):
        read, _ = update(state, EnvironmentRead(0, -1.0, (variables,)))
        read, _ = press(read, 'v')
        assert read.environ.reveals_secrets is not said
        assert bool(read.notices) is said


@pytest.mark.parametrize('screen', ['', 't'])
def test_a_selected_process_that_the_filter_hides_is_meant_by_no_key(screen: str) -> None:
    state, _ = press(state_of(with_families(MANY)), *screen, 'Down', '\\', *'#none#', 'Enter')
    selected = state.tree.selected if screen else state.main.selected
    assert selected is not None
    state, effects = press(state, 'T')
    assert state.dialog is None
    assert effects == (RingBell(),)
    assert texts(state) == [f'No signal: the filter hides {selected[0]}']
    for key in ('Space', 'x') if screen else ('Space',):
        state, _ = press(state, key)
        assert not state.main.tagged
        assert not state.tree.tagged
        assert texts(state)[-1] == f'No tag: the filter hides {selected[0]}'
    for key, what in (
        (('e', 'environment'),) if screen else (('e', 'environment'), ('Enter', 'graphs'))
    ):
        after, effects = press(state, key)
        assert (after.screen, effects) == (state.screen, (RingBell(),))
        assert texts(after)[-1] == f'No {what}: the filter hides {selected[0]}'


def test_pages_of_the_main_screen_are_half_a_screen_and_end_where_it_ends() -> None:
    state = state_of(MANY, height=24)
    limit = main_layout(state).page_height - 24
    state, _ = press(state, 'PageDown')
    assert main_layout(state).scroll_y == 12
    state, effects = press(state, *['PageDown'] * (limit // 12 + 1))
    assert main_layout(state).scroll_y == limit
    assert effects == (RingBell(),)
    state, effects = press(state, 'PageUp')
    assert (main_layout(state).scroll_y, effects) == (limit - 12, ())
    state, effects = press(state, *['PageUp'] * (limit // 12 + 1))
    assert (main_layout(state).scroll_y, effects) == (0, (RingBell(),))


@pytest.mark.parametrize(
    ('width', 'keys', 'text'),
    [
        (80, 'g', '100 columns needed'),
        (40, 'H g', '100 columns needed'),
        (120, 'c g', 'press f for panels in full'),
        (70, '+', '79 columns needed'),
        (80, 'c +', 'press f for panels in full'),
        (120, 'H G', 'press H to show the host panel'),
    ],
)
def test_graphs_that_are_not_seen_say_how_they_would_be(width: int, keys: str, text: str) -> None:
    state, _ = press(state_of(MANY, width=width, height=60), *keys.split())
    what = 'No graphs' if keys.endswith('+') else 'No graphs of GPUs'
    assert texts(state)[-1] == f'{what}: {text}'
    assert len(texts(state)[-1]) <= width - 2


def test_the_host_panel_is_not_shown_where_it_would_push_all_processes_off_the_screen() -> None:
    state = state_of(SAMPLES['h100x8'], width=60, height=20)
    assert main_layout(state).host.area.is_empty
    state, effects = press(state, 'H')
    assert effects == (RingBell(),)
    assert texts(state) == ['No room for the host: c, then scroll']
    state, _ = press(state, 'c')
    assert not main_layout(state).host.area.is_empty
    state, effects = press(state, 'H')
    assert effects == ()
    assert main_layout(state).host.area.is_empty
    assert main_layout(press(state, 'H')[0]).host.area.height == 2


def test_where_only_mig_devices_are_shown_there_are_no_details() -> None:
    sample = SAMPLES['mig']
    alone = sample._replace(devices=sample.devices[1:4])
    state, effects = press(state_of(alone), 'd')
    assert not state.view.shows_details
    assert effects == (RingBell(),)
    assert texts(state) == ['No details: MIG devices have none, and no GPU is shown']
    # Details that are shown already can be hidden, and those of a GPU are shown.
    hidden, _ = press(state_of(alone, view=ViewState(shows_details=True)), 'd')
    assert not hidden.view.shows_details
    assert press(state_of(sample), 'd')[0].view.shows_details


def test_graphs_are_not_promised_to_who_draws_with_ascii() -> None:
    state, _ = press(state_of(MANY, height=60, view=ViewState(ascii=True)), 'f', 'g')
    assert texts(state) == ['No graphs of GPUs: not in ASCII']


def test_a_paste_confirms_nothing() -> None:
    asking = read_dialog(asked())
    assert update(asking, Pasted('\r t k 1')) == (asking, ())


def test_a_paste_where_nothing_is_typed_does_nothing_and_says_so() -> None:
    before, _ = press(state_of(MANY), 'Down')
    state, effects = update(before, Pasted('K\r'))
    assert texts(state) == ['Not pasted: only filter and search accept text']
    assert (state._replace(notices=()), effects) == (before, ())


def test_every_target_of_a_long_list_can_be_looked_at_before_it_is_confirmed() -> None:
    state, _ = press(state_of(MANY, height=24), 'Down', *['Space'] * 200, 'T')
    assert state.dialog is not None
    seen: set[str] = set()
    for _ in range(40):
        seen.update(
            line.split()[0] for line in dialog_layout(state, dialog_of(state)).lines if ' (' in line
        )
        state, effects = press(state, 'PageDown')
        assert effects == ()
    assert state.dialog is not None
    assert seen == {str(target.key.pid) for target in state.dialog.targets}
    assert len(seen) == 200
    state, _ = press(state, 'Home')
    assert state.dialog is not None
    assert state.dialog.scroll_y == 0


def test_a_click_on_a_button_confirms_and_one_beside_it_does_not() -> None:
    state = read_dialog(asked())
    _, effects = update(state, click_on_kill(state))
    assert [type(effect) for effect in effects] == [SendSignal]
    after, effects = update(state, MousePressed(0, 0))
    assert after.dialog is not None
    assert effects == ()


def test_what_became_of_a_signal_is_shown_for_five_seconds() -> None:
    state, _ = update(state_of(MANY), ClockTicked(100.0, 0.0))
    key = MANY.processes[0].key
    state, _ = update(state, SignalSent(key, 'SIGTERM', 'not permitted'))
    (notice,) = state.notices
    assert notice.is_error
    assert str(key.pid) in notice.text
    state, _ = update(state, ClockTicked(104.9, 0.0))
    assert state.notices
    state, _ = update(state, ClockTicked(105.1, 0.0))
    assert not state.notices


def test_what_became_of_many_signals_is_told_of_each_process() -> None:
    keys = [process.key for process in MANY.processes[:9]]
    state = state_of(MANY, 60, 20)
    for i, key in enumerate((*keys, keys[0])):
        outcome = 'not permitted' if i == 4 else 'sent'
        state, _ = update(state, SignalSent(key, 'SIGKILL', outcome))
        if i == 2:
            listed = ', '.join(str(each.pid) for each in keys[:3])
            assert texts(state) == [f'SIGKILL to {listed}: sent']
    state, _ = update(state, SignalSent(keys[0], 'SIGTERM', 'sent'))
    assert texts(state) == [
        f'SIGKILL to {keys[4].pid}: is not permitted',
        'SIGKILL to 8 processes: sent',
        f'SIGTERM to {keys[0].pid}: sent',
    ]
    assert [notice.is_error for notice in state.notices] == [True, False, False]


def test_a_signal_to_a_zombie_is_told_among_those_that_failed() -> None:
    key = MANY.processes[0].key
    state, _ = update(state_of(MANY)._replace(tally=Tally()), SignalSent(key, 'SIGKILL', 'zombie'))
    assert texts(state) == [f'SIGKILL to {key.pid}: has ended, and waits for its parent']
    assert [notice.is_error for notice in state.notices] == [True]
    assert [each.reason for each in state.tally.problems] == ['has ended, and waits for its parent']


# The tree


def test_the_tree_opens_at_the_selected_process_and_is_left_to_the_list() -> None:
    state, _ = press(state_of(TREE), 'Down', 't')
    assert state.screen is Screen.TREE
    assert state.tree.selected == state.rows[0].key[:2]
    state, _ = press(state, 'q')
    assert state.screen is Screen.MAIN


def test_the_selection_goes_with_the_user_into_the_tree_and_back() -> None:
    state, _ = press(state_of(MANY), 'Down', 'Down', 't')
    selected = state.tree.selected
    assert selected == state.rows[1].key[:2]
    # The first sample after it was opened has been measured without the tree.
    state, _ = update(state, SampleArrived(MANY._replace(sequence=2)))
    state, _ = update(state, SampleArrived(with_families(MANY)._replace(sequence=3)))
    assert state.tree.selected == selected
    state, _ = press(state, 'Down', 'Down', 't')
    assert state.main.selected == state.rows[2].key
    state, _ = press(state, 't', 'Home', 't')
    assert state.main.selected is None


def test_long_lines_are_moved_until_their_end_is_seen_and_no_further() -> None:
    state = state_of(with_families(MANY), width=60)
    width = max(len(row.command or '') for row in state.rows)
    state, _ = press(state, '$')
    places = main_layout(state).processes.moving
    assert state.main.scroll_x == width - places[-1].width
    state, _ = press(state, 't', '$')
    rows = state.forest
    longest = max(len(row.prefix + (row.process.command or '')) for row in rows)
    assert state.tree.scroll_x == longest - tree_layout(state).columns[-1].width
    _, effects = press(state, 'Right')
    assert effects == (RingBell(),)
    _, effects = press(state_of(SAMPLES['one'], width=200), '$', 'Right')
    assert effects == (RingBell(),)


def test_a_click_selects_the_line_of_the_tree_that_is_drawn_there() -> None:
    state, _ = press(state_of(with_families(MANY), height=20), 't', 'End')
    layout = tree_layout(state).lines
    for y in (layout.area.y, 10, 19):
        state, _ = update(state, MousePressed(5, y))
        line = layout.at(y)
        assert line is not None
        assert state.tree.selected == state.forest[line].key
    state, _ = update(state, MousePressed(5, 0))
    assert state.tree.selected is None


def test_a_subtree_is_tagged_and_untagged_as_a_whole() -> None:
    state, _ = press(state_of(TREE), 't', 'Home', 'Down', 'x')
    assert state.tree.tagged == {(50, 5.0)}
    assert {key.pid for key in state.main.tagged} == {MANY.processes[0].key.pid}
    asked, _ = press(state, 'T')
    assert asked.dialog is not None
    assert {target.key.pid for target in asked.dialog.targets} == {50, MANY.processes[0].key.pid}
    state, _ = press(state, 'x')
    assert not state.tree.tagged
    assert not state.main.tagged


def test_the_filtered_tree_keeps_the_ancestors_of_what_matches() -> None:
    state, _ = press(state_of(TREE), 't', '\\', *'bash')
    assert [row.process.pid for row in state.forest] == [1, 50]


def family_of(state: AppState, pid: int) -> set[int]:
    """PIDs of a process, its ancestors and those of its children that are on no device."""
    by_pid = {process.pid: process for process in state.shown.host_processes}
    family = {p.pid for p in by_pid.values() if p.parent_pid == pid and not p.devices}
    at: int | None = pid
    while at in by_pid:
        family.add(at)
        at = by_pid[at].parent_pid
    return family


@pytest.mark.parametrize('name', ['h100x8', 'processes200', 'odd-processes', 'mig'])
@pytest.mark.parametrize('by', ['users', 'pids', 'types'])
def test_the_tree_has_the_processes_that_the_options_leave_with_their_families(
    name: str, by: str
) -> None:
    sample = with_families(SAMPLES[name])
    first = next(p for p in sample.processes if p.username and p.status != 'gone')
    wanted = {
        'users': ProcessFilter(users=frozenset({first.username or ''})),
        'pids': ProcessFilter(pids=frozenset({first.key.pid})),
        'types': ProcessFilter(types=frozenset({first.type})),
    }
    state = AppState(width=120, height=40)
    state = state._replace(main=state.main._replace(filter=wanted[by]))
    state, _ = press(update(state, SampleArrived(sample))[0], 't')
    expected: set[int] = set()
    for row in state.rows:
        expected |= family_of(state, row.key.pid)
    present = {process.pid for process in sample.host_processes}
    assert {row.process.pid for row in state.forest} == expected & present
    assert first.key.pid in expected
    # The filter that is typed leaves of these what it leaves of all.
    typed, _ = press(state, '\\', *f'pid:{first.key.pid}')
    assert first.key.pid in {row.process.pid for row in typed.forest}
    assert {row.key for row in typed.forest} <= {row.key for row in state.forest}


def test_a_child_that_the_options_hide_is_in_the_tree_only_above_one_that_they_leave() -> None:
    device = MANY.processes[0].key.device
    keys = [ProcessKey(pid, 1.0, device) for pid in (10, 11, 12)]
    uses = tuple(ProcessSample(key, 'C', username='ann') for key in keys)
    family = (
        HostProcessSample(10, 1.0, None, 'ann', devices=(device,)),
        HostProcessSample(11, 1.0, 10, 'ann', devices=(device,)),
        HostProcessSample(12, 1.0, 11, 'ann', devices=(device,)),
        HostProcessSample(13, 1.0, 12, 'bob'),
        HostProcessSample(14, 1.0, 13, 'bob'),
    )
    sample = MANY._replace(processes=uses, host_processes=family, sequence=1)
    for pids, shown in (({10}, [10]), ({11}, [10, 11]), ({12}, [10, 11, 12, 13]), ({9}, [])):
        state = AppState()
        wanted = ProcessFilter(pids=frozenset(pids))
        state = state._replace(main=state.main._replace(filter=wanted))
        state, _ = press(update(state, SampleArrived(sample))[0], 't')
        assert [row.process.pid for row in state.forest] == shown


# Keeping in view


def first_row_of_selected(state: AppState) -> int | None:
    key = state.main.selected
    rows = main_layout(state).processes.rows
    return next((row.y for row in rows if state.rows[row.process].key == key), None)


def test_the_selected_process_stays_in_view_when_the_page_changes() -> None:
    state, _ = press(state_of(MANY, height=60), *['Down'] * 40)
    sizes = ((120, 20), (50, 12), (120, 40))
    events: list[Event] = [Resized(*size) for size in sizes]
    events += map(KeyPressed, ('f', 'c', 'a', 'H', 'd', 'o', 'g', 'o', 'p', '/'))
    for event in events:
        state, _ = update(state, event)
        y = first_row_of_selected(state)
        assert y is not None
        assert 0 <= y < state.height


def test_the_page_can_be_scrolled_away_from_the_selected_process() -> None:
    state, _ = press(state_of(MANY, height=20), *['Down'] * 40)
    state, _ = press(state, *['PageUp'] * 45)
    assert first_row_of_selected(state) is None
    state, _ = press(state, 'Down')
    assert first_row_of_selected(state) is not None


def test_the_first_row_of_a_scrolled_page_is_never_the_selected_process() -> None:
    state, _ = press(state_of(MANY, height=20), 'End', *['Up'] * 60)
    assert first_row_of_selected(state) == 1
    assert state.main.scroll_y > 0


# What is said for a while


def test_a_theme_is_named_when_it_changes() -> None:
    state = state_of(MANY)._replace(themes=('dark', 'light', 'mono'))
    state, _ = press(state, 'L', 'L')
    assert [notice.text for notice in state.notices] == ['Theme: mono']


@pytest.mark.parametrize(('key', 'changed'), [('g', 'lower'), ('G', 'upper'), ('+', 'minutes')])
def test_graphs_that_are_not_seen_stay_as_they_are_and_it_is_said_why(
    key: str, changed: str
) -> None:
    for width, mode, seen in ((120, 'full', True), (120, 'compact', False), (90, 'full', None)):
        before = state_of(SAMPLES['one'], width=width, view=ViewState(mode=mode))
        state, _ = press(before, key)
        graphs, old = state.main.graphs, before.main.graphs
        fields = [name for name in old._fields if getattr(old, name) != getattr(graphs, name)]
        if seen is None:
            # Without graphs of devices, the time base is still that of the host's.
            seen = changed == 'minutes'
        assert fields == ([changed] if seen else [])
        assert bool(state.notices) is not seen


@pytest.mark.parametrize(
    ('size', 'key', 'said'),
    [
        ((60, 20), 'f', 'No panels in full: 79 columns needed'),
        ((60, 20), 'c', 'Panels: compact already'),
        ((60, 20), 'a', 'Panels: as large as possible already'),
        ((80, 24), 'c', 'Panels: compact already'),
        ((80, 24), 'f', ''),
        ((120, 60), 'c', ''),
        ((120, 60), 'f', 'Panels: in full already'),
    ],
)
def test_a_size_of_panels_that_changes_nothing_is_told(
    size: tuple[int, int], key: str, said: str
) -> None:
    before = state_of(SAMPLES['one'], *size)
    state, _ = press(before, key)
    assert ''.join(notice.text for notice in state.notices) == said
    assert len(said) <= 40 - 2
    assert (main_layout(state) == main_layout(before)) is bool(said)


def test_a_screen_too_narrow_for_panels_in_full_keeps_its_panels() -> None:
    # With eight GPUs compact panels are another layout, which has the host panel.
    before = state_of(SAMPLES['h100x8'], 60, 20)
    state, _ = press(before, 'f')
    assert state.view == before.view
    assert main_layout(press(before, 'c')[0]) != main_layout(before)


# Screens


@pytest.mark.parametrize(
    ('keys', 'screen'),
    [
        ('h', Screen.HELP),
        ('?', Screen.HELP),
        ('t', Screen.TREE),
        ('e', Screen.ENVIRON),
        ('U', Screen.USERS),
        ('!', Screen.PROBLEMS),
        ('C', Screen.COLUMNS),
        ('Down Enter', Screen.METRICS),
        ('t h', Screen.HELP),
    ],
)
def test_screens_open_and_lead_back(keys: str, screen: Screen) -> None:
    before = state_of(TREE)
    state, _ = press(before, *keys.split())
    assert state.screen is screen
    state, _ = press(state, 'q')
    assert state.screen is (Screen.TREE if keys == 't h' else Screen.MAIN)


def test_the_environment_is_read_of_the_selected_and_of_nvitop_without_one() -> None:
    state, effects = press(state_of(MANY), 'e')
    assert effects == (ReadEnvironment(0, -1.0),)
    state, effects = press(state_of(MANY), 'Down', 'e')
    key = MANY.processes[0].key
    assert effects == (ReadEnvironment(key.pid, key.start_time),)
    state, _ = update(state, EnvironmentRead(999, 1.0, (('A', 'b'),)))
    assert state.environ.variables is None
    state, _ = update(state, EnvironmentRead(key.pid, key.start_time, (('A', 'b'), ('C', 'd'))))
    assert state.environ.variables == (('A', 'b'), ('C', 'd'))
    state, _ = press(state, 'End')
    assert state.environ.cursor == 1
    state, effects = press(state, 'h', 'q', 'r')
    assert ReadEnvironment(key.pid, key.start_time) in effects


def test_columns_are_hidden_shown_and_moved() -> None:
    state, _ = press(state_of(MANY), 'C', 'Down', 'Space')
    assert 'pid' not in state.view.columns
    state, _ = press(state, 'Enter', 'J', 'J')
    assert state.view.columns[:4] == ('gpu', 'type', 'user', 'pid')
    state, _ = press(state, 'K')
    assert state.view.columns[:3] == ('gpu', 'type', 'pid')
    state, _ = press(state, 'End', 'Up', 'Space')
    # Only at the end has the command room to be read.
    assert state.view.columns[-2:] == ('host_memory', 'command')
    for _ in range(40):
        state, _ = press(state, 'Home', 'Space', 'Down', 'J')
    assert state.view.columns


@pytest.mark.parametrize('columns', [DEFAULT_COLUMNS, ('pid', 'command', 'user'), ('command',)])
def test_a_column_that_is_hidden_and_shown_again_is_where_it_was(columns: tuple[str, ...]) -> None:
    first, _ = press(state_of(MANY, view=ViewState(columns=columns)), 'C')
    for line in range(len(COLUMNS)):
        state, _ = press(first, *['Down'] * line, 'Space', 'Space')
        assert state.view.columns == columns
        assert state.listing.cursor == line
        # Also when the screen was left between.
        state, _ = press(first, *['Down'] * line, 'Space', 'q', 'C', *['Down'] * line, 'Space')
        assert state.view.columns == columns


def test_the_last_column_is_not_hidden_without_a_word() -> None:
    state = state_of(MANY, view=ViewState(columns=('pid',)))
    state, effects = press(state, 'C', 'Space')
    assert (state.view.columns, effects) == (('pid',), (RingBell(),))
    assert texts(state) == ['Columns: at least one must be shown']


def test_a_hidden_column_is_moved_to_where_it_is_shown_then() -> None:
    state, _ = press(state_of(MANY), 'C', 'End', 'Up', *['K'] * 13)
    assert state.view.columns == DEFAULT_COLUMNS
    state, _ = press(state, 'Space')
    assert state.view.columns == ('host_memory', *DEFAULT_COLUMNS)


# The rest


def test_freezing_holds_the_display_and_not_the_measuring() -> None:
    state, _ = press(state_of(MANY), 'z')
    later = MANY._replace(sequence=2, processes=())
    state, _ = update(state, SampleArrived(later))
    assert state.sample is later
    assert state.shown.processes == MANY.processes
    assert state.rows
    state, _ = press(state, 'z')
    assert state.shown is later
    assert state.rows == ()


def test_a_frozen_display_says_what_it_cannot_show() -> None:
    measured = with_details(SAMPLES['h100x8'])
    fields = [METRICS_BY_NAME[name].field for name in (*DETAILS, 'gpm_sm_active')]
    nothing: dict[str, Any] = dict.fromkeys(fields)
    devices = tuple(device._replace(**nothing) for device in measured.devices)
    unmeasured = state_of(measured._replace(devices=devices), 160, 80)
    state, effects = press(unmeasured, 'z', 'd')
    assert effects == (RingBell(),)
    assert not state.view.shows_details
    why = 'the display was frozen before they were measured (z: resume)'
    assert texts(state) == [f'No details: {why}']
    state, _ = press(state, 'z', 'd', 'd')
    assert texts(state) == []
    state, _ = press(unmeasured, 'z', *'g' * 6)
    assert texts(state) == []
    state, _ = press(state, 'g')
    why = 'the display was frozen before ENC was measured (z: resume)'
    assert texts(state) == [f'No graph: {why}']
    state, effects = press(state, 'r')
    assert effects == (Refresh(), Redraw())
    assert texts(state)[1:] == ['Not shown: the display is frozen (z: resume)']
    # What was measured before is shown, and so is what is not there to be measured.
    missing = Problem('device 0', 'encoder_utilization', 'Not Supported')
    nothing_there = measured._replace(devices=devices, problems=(missing,))
    for sample in (measured, nothing_there):
        state, _ = press(state_of(sample, 160, 80), 'z', 'd', *'g' * 7)
        assert state.view.shows_details
        assert texts(state) == []


def test_an_older_sample_is_not_shown() -> None:
    state = state_of(MANY)._replace(sample=MANY._replace(sequence=9))
    after, _ = update(state, SampleArrived(MANY._replace(sequence=8, processes=())))
    assert after is state


@pytest.mark.parametrize(
    ('event', 'effect'),
    [
        (KeyPressed('q'), Quit()),
        (InputEnded(), Quit(129)),
        (Terminated('SIGHUP'), Quit(129)),
        (Terminated('SIGTERM'), Quit(143)),
        (Terminated('SIGBREAK'), Quit(1)),
        (KeyPressed('Ctrl-Z'), Suspend()),
        (Suspended(), Suspend()),
        (Suspended(resumed=True), Redraw()),
        (KeyPressed('M'), CaptureMouse(False)),
        (KeyPressed('F5'), Refresh()),
        (Resized(100, 30), Redraw()),
        (KeyPressed('L'), Redraw()),
    ],
)
def test_effects(event: Event, effect: Effect) -> None:
    assert effect in update(state_of(MANY), event)[1]


@pytest.mark.parametrize(
    ('width', 'keys', 'shorter', 'longer'),
    [
        (80, 'f', [2, 1], [5, 10, 15, 30, 60]),
        (180, 'f', [2, 1], [5, 10, 15, 30, 60]),
        (400, 'f', [10, 5, 2, 1], [15, 30, 60]),
        (240, 'Down Enter', [2, 1], [5, 10, 15, 30, 60]),
    ],
)
def test_a_longer_time_is_longer_than_the_width_shows_and_a_shorter_one_is_shorter(
    width: int, keys: str, shorter: list[int], longer: list[int]
) -> None:
    for key, minutes in (('+', longer), ('-', shorter)):
        state, _ = press(state_of(MANY, width=width), *keys.split())
        for expected in minutes:
            state, effects = press(state, key)
            assert (state.main.graphs.minutes, effects) == (expected, ())
        state, effects = press(state, key)
        assert (state.main.graphs.minutes, effects) == (minutes[-1], (RingBell(),))
        assert texts(state)[-1].startswith('Graphs: no ')
        back = '-' if key == '+' else '+'
        state, _ = press(state, *[back] * len(minutes))
        assert state.main.graphs.minutes == 0


def test_graphs_are_chosen() -> None:
    state = state_of(MANY, view=ViewState(mode='full'))
    lower = state.main.graphs.lower
    state, _ = press(state, 'g')
    assert state.main.graphs.lower != lower


def test_every_action_of_the_table_does_something_somewhere() -> None:
    done = set()
    for binding, mode in itertools.product(BINDINGS, ('full', 'compact')):
        for screen in binding.screens:
            state = state_of(TREE, view=ViewState(mode=mode))
            state = state._replace(main=state.main._replace(scroll_x=2))
            state, _ = press(state, 'Down', 'Down')
            state = state._replace(screen=screen, metrics=state.main.selected)
            state = state._replace(tree=state.tree._replace(selected=(50, 5.0)))
            state = state._replace(
                environ=state.environ._replace(variables=(('A', 'b' * 99),) * 9, cursor=3),
                query='e',
                listing=state.listing._replace(cursor=1),
            )
            after, effects = press(state, *binding.keys[0].split())
            if after != state or effects:
                done.add(binding.action)
    assert done == set(Action)


@pytest.mark.parametrize('screen', list(Screen))
def test_the_mouse_hurts_nowhere(screen: Screen) -> None:
    state = state_of(TREE)._replace(screen=screen)
    for y in range(0, 40, 3):
        state, _ = update(state, MousePressed(3, y))
        state, _ = update(state, MouseScrolled(3, y, 0, 1))
        state, _ = update(state, MouseScrolled(3, y, 0, 1, shift=True))


def test_clicks_select_and_sort() -> None:
    state = state_of(MANY)
    row = main_layout(state).processes.rows[2]
    state, _ = update(state, MousePressed(5, row.y))
    assert state.main.selected == state.rows[2].key
    heading_y = main_layout(state).processes.heading_y
    places = {place.column.name: place for place in main_layout(state).processes.columns}
    state, _ = update(state, MousePressed(places['pid'].x, heading_y))
    assert state.main.sort == Sort('pid')
    state, _ = update(state, MousePressed(places['pid'].x, heading_y))
    assert state.main.sort == Sort('pid', reverse=True)
    state, _ = update(state, MousePressed(0, 0))
    assert state.main.selected is None


#: What makes a dialog one that can be answered, and its answer.
_CONFIRMED: list[Event] = [
    *map(KeyPressed, ('Esc', 'Esc', 'Home', 'Space', 'T')),
    FrameDrawn(100.0),
    InputAwaited(100.5),
    KeyPressed('k'),
]
_RUNS = st.lists(
    st.one_of(EVENTS.map(lambda event: [event]), EVENTS.map(lambda event: [*_CONFIRMED, event])),
    max_size=60,
).map(lambda parts: [event for part in parts for event in part])


@settings(max_examples=25, deadline=None)
@given(_RUNS)
@example(_CONFIRMED)
def test_no_sequence_of_events_raises_or_signals_what_was_not_confirmed(
    events: list[Event],
) -> None:
    state = state_of(TREE)
    sent = 0
    for event in events:
        dialog = state.dialog
        state, effects = update(state, event)
        for effect in effects:
            if isinstance(effect, SendSignal):
                assert dialog is not None
                assert effect.targets == tuple(target.key for target in dialog.targets)
                assert isinstance(event, (KeyPressed, MousePressed))
                sent += 1
        if state.main.selected is not None and state.frozen is None:
            assert state.main.selected in {process.key for process in state.shown.processes}
    # Not a property that holds because nothing is ever sent.
    assert sent == 1 or events != _CONFIRMED
