"""Signals: the dialog names whom they go to, nobody else gets one, and what became of them is told."""

from __future__ import annotations

import contextlib
import pathlib
from typing import TYPE_CHECKING, Dict, Iterator

import psutil
import pytest

from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import BUTTONS
from nvitop.gui.state.dialog import (
    CANCEL_KEYS,
    CONFIRM_KEYS,
    NEXT_KEYS,
    PREVIOUS_KEYS,
)
from tests.e2e.expectations import select
from tests.e2e.monitor import TITLES, Monitor, bystander, describe_machine
from tests.patience import PATIENCE

if TYPE_CHECKING:
    import subprocess

    Victims = Dict[str, subprocess.Popen[bytes]]


@contextlib.contextmanager
def monitor_of(
    folder: pathlib.Path, *names: str, options: tuple[str, ...] = ()
) -> Iterator[tuple[Monitor, Victims]]:
    """The monitor with processes of ours, by name, on the last GPU."""
    with contextlib.ExitStack() as stack:
        victims = {name: stack.enter_context(bystander(name)) for name in names}
        path = folder / 'victims.toml'
        pids = [victim.pid for victim in victims.values()]
        path.write_text(describe_machine(pids), encoding='utf-8')
        monitor = stack.enter_context(Monitor(path, *options))
        monitor.wait_for_first_sample()
        for name in names:
            monitor.wait_for(f' {name} ')
        yield monitor, victims


def open_dialog(monitor: Monitor, name: str, key: str = 'T') -> None:
    """Ask to send a signal to this process, and wait until an answer is taken."""
    select(monitor, name)
    monitor.press(key, 'Cancel')
    monitor.wait_until_armed()


def test_each_signal_reaches_the_process_that_was_named(tmp_path: pathlib.Path) -> None:
    with monitor_of(tmp_path, 'victim-a', 'victim-b', 'victim-c', 'saved') as (monitor, victims):
        user = psutil.Process(victims['victim-a'].pid).username()
        # Cancelled first, so that what it must not send would be sent before the others.
        open_dialog(monitor, 'saved')
        monitor.key('Esc')
        monitor.wait_until_gone('Cancel')
        for name, key, signal, number in (
            ('victim-a', 'T', 'SIGTERM', 15),
            ('victim-b', 'k', 'SIGKILL', 9),
            ('victim-c', 'I', 'SIGINT', 2),
        ):
            pid = victims[name].pid
            open_dialog(monitor, name, key)
            monitor.wait_for(rf'│ {pid} \({user}\) {name} -c ')
            assert victims[name].poll() is None
            monitor.key('Enter')
            monitor.wait_until_gone('Cancel')
            assert victims[name].wait(PATIENCE) == -number
            monitor.wait_for(f'^ ?{signal} to {pid}: sent')
            monitor.wait_for_cursor(None)
        assert victims['saved'].poll() is None
        assert monitor.leave() == 0
        monitor.assert_restored()


def test_all_tagged_get_it_and_one_that_has_gone_is_told(tmp_path: pathlib.Path) -> None:
    with monitor_of(tmp_path, 'victim-a', 'victim-b', 'saved') as (monitor, victims):
        for name in ('victim-a', 'victim-b'):
            select(monitor, name)
            monitor.key('Space')
            monitor.wait_until_tagged(f' {name} ')
        select(monitor, 'saved')
        monitor.press('K', 'these 2 processes')
        monitor.wait_until_armed()
        for name in ('victim-a', 'victim-b'):
            monitor.wait_for(rf'│ {victims[name].pid} \(\S+\) {name} -c ')
        victims['victim-b'].kill()
        victims['victim-b'].wait(PATIENCE)
        monitor.type('k')
        assert victims['victim-a'].wait(PATIENCE) == -9
        monitor.wait_for(f'SIGKILL to {victims["victim-a"].pid}: sent')
        told = f'SIGKILL to {victims["victim-b"].pid}: has already exited'
        monitor.wait_for(told)
        assert victims['saved'].poll() is None
        monitor.press('!', TITLES[Screen.PROBLEMS])
        monitor.wait_for(rf'process {victims["victim-b"].pid} +SIGKILL +has already exited')


def test_read_only_there_is_no_way_to_send_one(tmp_path: pathlib.Path) -> None:
    with monitor_of(tmp_path, 'saved', options=('--readonly',)) as (monitor, victims):
        for screen, entrance in ((Screen.MAIN, ''), (Screen.TREE, 't')):
            monitor.type(entrance)
            monitor.screen = screen
            monitor.wait_for(TITLES[screen])
            monitor.wait_for('saved')
            select(monitor, 'saved')
            # What a key that follows shows, these have not prevented or followed.
            monitor.type('TKkI\x03')
            monitor.press('h', TITLES[Screen.HELP])
            assert 'Cancel' not in monitor.text.partition('dialog')[0]
            monitor.type('q')
            monitor.wait_for(TITLES[screen])
            assert 'signals:' not in monitor.text
        assert victims['saved'].poll() is None


def test_every_key_of_the_dialog_that_sends_nothing(tmp_path: pathlib.Path) -> None:
    with monitor_of(tmp_path, 'saved') as (monitor, victims):
        for key in CANCEL_KEYS:
            select(monitor, 'saved')
            monitor.press('T', 'Cancel')
            monitor.key(key)
            monitor.wait_until_gone('Cancel')
        select(monitor, 'saved')
        monitor.press('T', 'Cancel')
        labels = [label for _, label, _ in BUTTONS]
        at = 0
        for step, keys in ((1, NEXT_KEYS), (-1, PREVIOUS_KEYS)):
            for key in keys:
                at = (at + step) % len(labels)
                monitor.key(key)
                monitor.wait_until_highlighted(labels[at])
        monitor.key('Esc')
        monitor.wait_until_gone('Cancel')
        for key in CONFIRM_KEYS:
            open_dialog(monitor, 'saved')
            monitor.key('Shift-Tab')
            monitor.wait_until_highlighted('Cancel')
            monitor.key(key)
            monitor.wait_until_gone('Cancel')
        assert victims['saved'].poll() is None


def test_a_long_list_of_targets_scrolls(tmp_path: pathlib.Path) -> None:
    names = [f'saved-{letter}' for letter in 'abcdefgh']
    with monitor_of(tmp_path, *names) as (monitor, victims):
        select(monitor, names[0])
        for name in names:
            monitor.key('Space')
            monitor.wait_until_tagged(f' {name} ')
        monitor.resize(80, 12)
        monitor.press('T', f'these {len(names)} processes')
        first, last = (rf'\d+ \(\S+\) {name} ' for name in (names[0], names[-1]))
        for down, up in (('PageDown', 'PageUp'), ('End', 'Home')):
            monitor.wait_for(first)
            monitor.key(down)
            monitor.wait_for(last)
            monitor.wait_until_gone(first)
            monitor.key(up)
            monitor.wait_for(first)
            monitor.wait_until_gone(last)
        monitor.key('Esc')
        monitor.wait_until_gone('Cancel')
        assert all(victim.poll() is None for victim in victims.values())


@pytest.mark.slow
def test_every_hot_key(tmp_path: pathlib.Path) -> None:
    numbers = {'SIGTERM': 15, 'SIGKILL': 9, 'SIGINT': 2}
    keys = [(signal, key) for signal, _, hot in BUTTONS for key in hot]
    keys += [(signal, key.upper()) for signal, key in keys if key.isalpha()]
    names = [f'victim-{number:02}' for number in range(len(keys))]
    with monitor_of(tmp_path, *names) as (monitor, victims):
        for name, (signal, key) in zip(names, keys):
            open_dialog(monitor, name, '\x03')  # a letter that opens it is none that confirms it
            monitor.type(key)
            monitor.wait_until_gone('Cancel')
            if signal:
                assert victims[name].wait(PATIENCE) == -numbers[signal]
            else:
                assert victims[name].poll() is None
