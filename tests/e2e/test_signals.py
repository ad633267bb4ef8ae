"""Signals: the screen names the targets, only they get the signal, and results are shown."""

from __future__ import annotations

import pathlib

import psutil

from nvitop.gui.model.choices import Screen
from tests.e2e.monitor import TITLES, Monitor, monitor_with_victims
from tests.waiting import PATIENCE


def open_dialog(monitor: Monitor, name: str, key: str = 'T') -> None:
    monitor.select(name)
    monitor.press(key, 'Send a signal')
    monitor.wait_until_armed()


def test_each_signal_reaches_the_named_process(tmp_path: pathlib.Path) -> None:
    with monitor_with_victims(tmp_path, 'victim-a', 'victim-b', 'victim-c', 'saved') as (
        monitor,
        victims,
    ):
        user = psutil.Process(victims['victim-a'].pid).username()
        # A question that is left with Esc comes first, so that a wrong signal would be noticed.
        open_dialog(monitor, 'saved')
        monitor.type('\x1b')
        monitor.wait_until_gone('Send a signal')
        for name, key, signal, number in (
            ('victim-a', 'T', 'SIGTERM', 15),
            ('victim-b', 'K', 'SIGKILL', 9),
            ('victim-c', 'I', 'SIGINT', 2),
        ):
            pid = victims[name].pid
            open_dialog(monitor, name, key)
            monitor.wait_for(rf'^│ +{pid} \({user}, GPU [0-9,-]+\) {name} -c ')
            assert victims[name].poll() is None
            monitor.type('\r')
            monitor.wait_until_gone('Send a signal')
            assert victims[name].wait(PATIENCE) == -number
            monitor.wait_for(f'^ ?Sent {signal} to {pid}')
            monitor.wait(lambda: monitor.cursor() is None)
        assert victims['saved'].poll() is None
        assert monitor.leave() == 0
        monitor.assert_restored()


def test_all_tagged_processes_get_the_signal_and_an_exited_one_is_reported(
    tmp_path: pathlib.Path,
) -> None:
    with monitor_with_victims(tmp_path, 'victim-a', 'victim-b', 'saved') as (monitor, victims):
        for name in ('victim-a', 'victim-b'):
            monitor.select(name)
            monitor.type(' ')
            monitor.wait_until_tagged(f' {name} ')
        monitor.select('saved')
        monitor.press('K', 'these 2 processes')
        monitor.wait_until_armed()
        for name in ('victim-a', 'victim-b'):
            monitor.wait_for(rf'^│ +{victims[name].pid} \([^)]+\) +{name} -c ')
        victims['victim-b'].kill()
        victims['victim-b'].wait(PATIENCE)
        # Enter has no effect for 0.2 s after its text has changed.
        monitor.wait_for(rf'^│ +{victims["victim-b"].pid} \([^)]+, no longer listed\)')
        monitor.wait_until_armed()
        monitor.type('K\r')
        assert victims['victim-a'].wait(PATIENCE) == -9
        monitor.wait_for(f'Sent SIGKILL to {victims["victim-a"].pid}')
        monitor.wait_for(f'SIGKILL to {victims["victim-b"].pid}: already exited')
        assert victims['saved'].poll() is None
        monitor.press('!', TITLES[Screen.PROBLEMS])
        monitor.wait_for(rf'process {victims["victim-b"].pid} +SIGKILL: already exited')


def test_readonly_monitor_sends_no_signal(tmp_path: pathlib.Path) -> None:
    with monitor_with_victims(tmp_path, 'saved', options=('--readonly',)) as (monitor, victims):
        for screen, entrance in ((Screen.MAIN, ''), (Screen.TREE, 't')):
            monitor.type(entrance)
            monitor.screen = screen
            monitor.wait_for(TITLES[screen])
            monitor.wait_for('saved')
            monitor.select('saved')
            # The next key works, so these keys have had no effect.
            monitor.type('TKkI\x03')
            monitor.press('h', TITLES[Screen.HELP])
            assert 'Send a signal' not in monitor.text
            monitor.type('q')
            monitor.wait_for(TITLES[screen])
            assert 'signals:' not in monitor.text
        assert victims['saved'].poll() is None
