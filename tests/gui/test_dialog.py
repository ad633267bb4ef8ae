"""The signal screen: its targets, the notes on them, and what counts as a confirmation."""

from __future__ import annotations

import pytest

from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.dialog import SIGNAL_KEYS, SIGNALS, signal_targets
from nvitop.gui.state.events import ClockTicked, MousePressed, Pasted, RingBell, SendSignal
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import ParentProcess, ProcessSample, Sample
from tests.gui.drawing import click_on, text_of
from tests.gui.driving import (
    MANY,
    TREE,
    after,
    arrived,
    dialog_of,
    press,
    pressed,
    read_dialog,
    state_of,
    texts,
)
from tests.gui.samples import SAMPLES, with_families


def asked(key: str = 'K', width: int = 120, height: int = 40) -> AppState:
    """Return the state in which a dialog about one process was opened at second 100."""
    state = after(state_of(MANY, width, height), ClockTicked(100.0, 0.0))
    return pressed(state, 'Down', 'Space', key)


def targets_of(state: AppState) -> list[int]:
    return [target.key.pid for target in dialog_of(state).targets]


def message(state: AppState) -> tuple[str, ...]:
    """Return what the screen shows: notes, if there are any, then a line for each target."""
    lines = text_of(state._replace(width=240)).splitlines()
    inside = [' '.join(line.strip('│').split()) for line in lines]
    heading = inside.index('PID USER GPU COMMAND')
    count = len(dialog_of(state).targets)
    return (*inside[3:heading], *inside[heading + 1 : heading + 1 + count])


def line_of(process: ProcessSample, note: str = '') -> str:
    where = f'GPU {process.key.device.label}'
    return f'{process.key.pid} {process.username} {where}{note} {process.command}'


def without(sample: Sample, *pids: int) -> Sample:
    return sample._replace(
        processes=tuple(p for p in sample.processes if p.key.pid not in pids),
        host_processes=tuple(p for p in sample.host_processes if p.pid not in pids),
    )


def losing(sample: Sample, gpu: int) -> Sample:
    """Return the sample after a GPU was lost, and with it everything known about its processes."""
    return sample._replace(
        devices=tuple(
            device._replace(status='lost') if device.key.physical_index == gpu else device
            for device in sample.devices
            if device.key.physical_index != gpu or not device.key.is_mig
        ),
        processes=tuple(p for p in sample.processes if p.key.device.physical_index != gpu),
    )


@pytest.mark.parametrize(
    ('key', 'signal'),
    [('T', 'SIGTERM'), ('F9', 'SIGTERM'), ('K', 'SIGKILL'), ('I', 'SIGINT'), ('Ctrl-C', 'SIGINT')],
)
def test_signal_needs_a_target_and_a_confirmation(key: str, signal: str) -> None:
    state = state_of(MANY)
    assert press(state, key)[1] == (RingBell(),)
    own = next(i for i, row in enumerate(state.lists.rows) if row.is_own)
    state = pressed(state, *['Down'] * (own + 1))
    target = state.selected
    assert target is not None
    state, effects = press(state, key)
    assert ([each.key for each in dialog_of(state).targets], effects) == ([target], ())
    assert dialog_of(state).signal == signal
    state = read_dialog(state)
    sent, effects = press(state, 'Enter')
    assert effects == (SendSignal(signal, (target,)),)
    assert (sent.dialog, sent.selected) == (None, None)
    for cancel in ('Esc', 'q', 'n'):
        canceled, effects = press(state, cancel)
        assert (canceled.dialog, canceled.screen, effects) == (None, Screen.MAIN, ())
        assert canceled.selected == target


def test_process_of_another_user_is_a_target_only_if_it_is_tagged() -> None:
    state = state_of(MANY)
    other = next(i for i, row in enumerate(state.lists.rows) if not row.is_own)
    state = pressed(state, *['Down'] * (other + 1))
    assert press(state, 'T')[1] == (RingBell(),)
    assert targets_of(pressed(state, 'Space', 'T')) == [state.lists.rows[other].key.pid]


def test_nothing_is_tagged_without_a_selection() -> None:
    state, effects = press(state_of(MANY), 'Space')
    assert (state.main.tagged, effects) == (frozenset(), (RingBell(),))
    assert texts(state) == ['Select a process first']


def test_page_of_a_process_signals_this_process_only_and_stays() -> None:
    state = state_of(MANY)
    own = next(i for i, row in enumerate(state.lists.rows) if row.is_own)
    state = pressed(state, 'End', 'Space', 'Home', *['Down'] * own, 'Enter')
    tagged = state.main.tagged
    assert (state.screen, len(tagged)) == (Screen.PROCESS, 1)
    assert state.shown_process is not None
    assert state.shown_process not in tagged
    asking = pressed(state, 'T')
    assert [each.key for each in dialog_of(asking).targets] == [state.shown_process]
    sent, effects = press(read_dialog(asking), 'Enter')
    assert effects == (SendSignal('SIGTERM', (state.shown_process,)),)
    assert (sent.screen, sent.main.tagged) == (Screen.PROCESS, tagged)
    gone = arrived(state, without(MANY, state.shown_process.pid))
    assert 'The process is no longer listed' in texts(pressed(gone, 'K'))
    assert pressed(gone, 'e').screen is Screen.ENVIRON


def test_process_on_two_devices_is_tagged_on_both_and_is_one_target() -> None:
    first = MANY.processes[0]
    again = first._replace(key=first.key._replace(device=MANY.devices[-1].key))
    state = pressed(state_of(MANY._replace(processes=(first, again))), 'Down', 'Space')
    assert state.main.tagged == {first.key, again.key}
    assert ' 1 tagged ' in text_of(state)
    assert targets_of(pressed(state, 'T')) == [first.key.pid]
    assert pressed(state, 'End', 'Space').main.tagged == frozenset()


def test_subtree_is_tagged_and_untagged_as_a_whole() -> None:
    state = pressed(state_of(TREE), 't', 'Home', 'Down', 'x')
    on_gpu = MANY.processes[0].key.pid
    assert state.tagged_hosts == {(50, 5.0)}
    assert {key.pid for key in state.main.tagged} == {on_gpu}
    assert set(targets_of(pressed(state, 'T'))) == {50, on_gpu}
    others = tuple(process for process in TREE.host_processes if process.pid != 50)
    exited = arrived(state, TREE._replace(host_processes=others))
    assert (exited.tagged_hosts, exited.positions[Screen.TREE].key) == (frozenset(), None)
    state = pressed(state, 'x')
    assert (state.tagged_hosts, state.main.tagged) == (frozenset(), frozenset())


@pytest.mark.parametrize('screen', ['', 't'])
@pytest.mark.parametrize(
    ('pid', 'why'),
    [
        (503, '503 belongs to root; tag it to signal it anyway'),
        (504, 'There is no process 504'),
        (505, '505 is in another PID namespace'),
    ],
)
def test_process_that_cannot_be_signaled_is_refused_with_the_reason(
    pid: int, why: str, screen: str
) -> None:
    sample = with_families(SAMPLES['odd-processes'])
    state = pressed(state_of(sample), *screen, 'F3', *str(pid), 'Enter', 'T')
    assert texts(state) == [why]


@pytest.mark.parametrize('is_open', [False, True])
def test_read_only_sends_nothing(is_open: bool) -> None:
    state = read_dialog(asked()) if is_open else pressed(state_of(MANY), 'Home', 'Space')
    state = state._replace(view=ViewState(readonly=True))
    for key in ('T', 'K', 'k', 'I', 'Ctrl-C', 'Enter', 't', 'Space'):
        assert not any(isinstance(e, SendSignal) for e in press(state, key, 'Enter')[1])
    if not is_open:
        assert texts(pressed(state, 'T')) == ['Read-only: no signals (--readonly)']


@pytest.mark.parametrize('name', ['processes200', 'mig'])
def test_tags_on_a_lost_gpu_are_kept_and_counted(name: str) -> None:
    sample = SAMPLES[name]
    first, last = sample.processes[0], sample.processes[-1]
    gpu = last.key.device.physical_index
    assert first.key.device.physical_index != gpu
    tagged = pressed(state_of(sample), 'Home', 'Space', 'End', 'Space')
    assert tagged.main.tagged == {first.key, last.key}
    lost = arrived(tagged, losing(sample, gpu))
    assert message(pressed(lost, 'T')) == (
        f'1 more tagged, not readable on GPU {gpu}',
        line_of(first),
    )
    assert message(arrived(pressed(tagged, 'T'), losing(sample, gpu))) == (
        '1 no longer listed',
        line_of(first),
        line_of(last, ' (no longer listed)'),
    )
    assert arrived(lost, sample).main.tagged == {first.key, last.key}
    exited = sample._replace(processes=sample.processes[:-1])
    assert arrived(lost, exited).main.tagged == {first.key}


def test_selected_process_does_not_replace_tagged_ones_that_are_not_listed() -> None:
    state = pressed(state_of(MANY), 'End', 'Space', 'Home')
    assert state.lists.rows[0].is_own
    state = arrived(state, losing(MANY, 1))
    assert not signal_targets(state)
    state = pressed(state, 'T')
    assert state.dialog is None
    assert texts(state) == ['Tagged processes are not readable on GPU 1']
    assert targets_of(pressed(state, 'Esc', 'Home', 'T')) == [state.lists.rows[0].key.pid]


@pytest.mark.parametrize('screen', ['', 't'])
def test_dialog_about_a_zombie_offers_to_signal_its_parent(screen: str) -> None:
    parent = ParentProcess(50, 5.0, 'bash', 'ann', is_own=True)
    first = TREE.processes[0]
    zombie = first._replace(status='zombie', name='python3', command=None, parent=parent)
    hosts = tuple(
        host._replace(name='bash', command=host.command)
        if host.pid == 50
        else host._replace(status='zombie', name='python3')
        if host.pid == first.key.pid
        else host
        for host in TREE.host_processes
    )
    sample = TREE._replace(processes=(zombie,), host_processes=hosts)
    state = pressed(state_of(sample), 'Down', *screen, 'K')
    pid = first.key.pid
    notes, target = message(state)
    assert notes.startswith(f'{pid} has already exited (zombie), and its parent 50 (bash) has not')
    assert 'python3 <defunct>' in target
    # The question about the parent has to be read as well.
    state, effects = press(read_dialog(state), 'p', 'Enter')
    assert effects == (RingBell(),)
    assert message(state) == ('50 ann Host bash',)
    (effect,) = press(read_dialog(state), 'Enter')[1]
    assert isinstance(effect, SendSignal)
    assert (effect.signal, [key[:2] for key in effect.targets]) == ('SIGKILL', [(50, 5.0)])
    others = zombie._replace(parent=parent._replace(is_own=False))
    state = pressed(state_of(sample._replace(processes=(others,))), 'Down', 'K')
    assert texts(pressed(state, 'p')) == ['There is no parent to signal']


def test_dialog_about_a_zombie_without_gpu_offers_to_signal_its_parent() -> None:
    sample = with_families(MANY)
    child = next(host for host in sample.host_processes if not host.devices and host.parent_pid)
    parents = [host for host in sample.host_processes if host.is_own and host.devices]
    child = child._replace(status='zombie', parent_pid=parents[0].pid, pid=99999, is_own=True)
    sample = sample._replace(host_processes=(*sample.host_processes, child))
    state = pressed(state_of(sample), 't', 'F3', *'99999', 'Enter', 'T')
    assert targets_of(pressed(state, 'p')) == [parents[0].pid]


@pytest.mark.parametrize('keys', ['', 'z', 't'])
def test_target_that_is_no_longer_listed_is_marked_and_has_to_be_read(keys: str) -> None:
    sample = with_families(MANY)
    rows = sample.processes[:3]
    state = pressed(state_of(sample), *keys)
    for row in rows:
        state = pressed(state, 'F3', *str(row.key.pid), 'Enter', 'Space')
    state = pressed(state, 'T')
    assert message(state) == tuple(map(line_of, rows))
    state = arrived(read_dialog(state), without(sample, rows[1].key.pid))
    assert message(state) == (
        '1 no longer listed',
        line_of(rows[0]),
        line_of(rows[1], ' (no longer listed)'),
        line_of(rows[2]),
    )
    assert press(state, 'Enter')[1] == (RingBell(),)
    # A sample that changes nothing in the dialog does not delay it.
    state = arrived(read_dialog(state), without(sample, rows[1].key.pid))
    (effect,) = press(state, 'Enter')[1]
    assert isinstance(effect, SendSignal)
    assert [key[:2] for key in effect.targets] == [row.key[:2] for row in rows]


def test_dialog_warns_about_ancestors_of_nvitop() -> None:
    sample = TREE._replace(host=TREE.host._replace(own_ancestry=(1, 50, 51)))
    state = pressed(state_of(sample), 't', 'F3', *'bash', 'Enter', 'T')
    assert message(state) == ('50 ann Host (ancestor of nvitop) bash',)


@pytest.mark.parametrize('screen', ['', 't'])
def test_targets_that_the_filter_hides_are_marked(screen: str) -> None:
    sample = with_families(MANY)
    rows = sample.processes[:3]
    state = pressed(state_of(sample), *screen)
    for row in rows:
        state = pressed(state, 'F3', *str(row.key.pid), 'Enter', 'Space')
    state = pressed(state, '\\', *f'pid:{rows[1].key.pid}', 'Enter', 'T')
    marks = (' (hidden)', '', ' (hidden)')
    assert message(state) == ('2 hidden by the filter', *map(line_of, rows, marks))
    state = arrived(state, without(sample, rows[2].key.pid))
    assert message(state)[0] == '1 hidden by the filter, 1 no longer listed'


def test_letters_arrows_clicks_and_pastes_send_no_signal() -> None:
    state = read_dialog(asked('T'))
    keys = {key: signal for signal, key in SIGNAL_KEYS.items() if signal in SIGNALS}
    arrows = {'T': 'SIGTERM', 'Right': 'SIGKILL', 'Left': 'SIGTERM'}
    for key, signal in (*keys.items(), *arrows.items()):
        state, effects = press(state, key)
        assert (dialog_of(state).signal, effects) == (signal, ())
    frame = draw_frame(state, History())
    for signal in SIGNALS:
        x = frame.lines()[2].index(signal)
        state, effects = update(state, MousePressed(x, 2, hit=frame.hit_at(x, 2)))
        assert (dialog_of(state).signal, effects) == (signal, ())
    assert update(state, Pasted('\r t k 1')) == (state, ())
    (effect,) = press(state, 'Enter')[1]
    assert isinstance(effect, SendSignal)
    assert effect.signal == SIGNALS[-1]
    hinted = state._replace(view=state.view._replace(hints=True))
    assert update(hinted, click_on(hinted, 'Back'))[0].dialog is None


@pytest.mark.parametrize('width', [40, 60, 80, 120])
def test_the_chosen_signal_is_on_the_screen_at_every_width(width: int) -> None:
    state = read_dialog(asked('T', width))
    for signal in SIGNALS:
        assert dialog_of(state).signal == signal
        drawn = draw_frame(state, History()).row(2)
        chosen = ''.join(text for _, text, style in drawn if style.reverse and style.bold)
        assert chosen.replace(' (D)', '').strip() in (signal, signal[3:])
        keys = ''.join(text for _, text, style in drawn if style.underline)
        assert keys in 'TKIHDSC12'
        assert SIGNAL_KEYS[signal] in keys
        state = pressed(state, 'Right')
    assert dialog_of(state).signal == 'SIGTERM'


@pytest.mark.parametrize(('width', 'height'), [(80, 4), (12, 12), (40, 5), (1, 1)])
def test_nothing_can_be_confirmed_without_room_to_name_a_target(width: int, height: int) -> None:
    state = read_dialog(asked(width=width, height=height))
    later, effects = press(state, 'Enter')
    assert effects == (RingBell(),)
    assert later.dialog is not None
    assert pressed(state, 'Esc').dialog is None
    smallest = read_dialog(asked(width=40, height=6))
    assert f'{smallest.lists.rows[0].key.pid}  ' in text_of(smallest)
    assert [type(effect) for effect in press(smallest, 'Enter')[1]] == [SendSignal]


def test_frame_ends_below_the_targets_over_the_dimmed_screen() -> None:
    state = asked('T')
    frame = draw_frame(state, History())
    lines = frame.lines()
    bottom = next(y for y, line in enumerate(lines) if line.startswith('╰'))
    assert bottom < 12
    below = [piece for y in range(bottom + 1, 39) for piece in frame.row(y)]
    assert any('COMMAND' in text for _, text, _ in below)
    assert all(style.dim and style.back is None for _, _, style in below)
    assert all(rect.y <= bottom or rect.y == 39 for rect, _ in frame.hits)
