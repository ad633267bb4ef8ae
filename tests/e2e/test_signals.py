"""Keys that send signals, text that must not, and keys that are typed ahead."""

from __future__ import annotations

import itertools
import pathlib

import psutil

from nvitop.gui.model.choices import Screen
from tests.e2e.monitor import TITLES, Monitor, monitor_with_victims
from tests.e2e.program import NVITOP, Program
from tests.waiting import PATIENCE

#: Text that would tag, signal and confirm if it were keys.
DANGEROUS = 'kill it: K T I k t i \r \n Ctrl-C 1 2 3 \t h e U ! x r M z \\filter ' * 25


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
            monitor.wait_for(rf'^│ +{pid}  {user} +GPU [0-9,-]+  {name} -c ')
            assert victims[name].poll() is None
            monitor.type('\r')
            monitor.wait_until_gone('Send a signal')
            assert victims[name].wait(PATIENCE) == -number
            monitor.wait_for(f'^ ?Sent {signal} to {pid}')
            monitor.wait(lambda: monitor.cursor() is None)
        assert victims['saved'].poll() is None
        assert monitor.leave() == 0
        monitor.assert_restored()


def test_large_paste_without_marks_sends_no_signal(tmp_path: pathlib.Path) -> None:
    with monitor_with_victims(tmp_path, 'saved') as (monitor, victims):
        monitor.select('saved')
        monitor.type(DANGEROUS)
        for key in itertools.cycle(['\x1b', 'q']):  # leaves any screen
            monitor.wait(lambda: not monitor.look(0.1))
            if monitor.process.poll() is not None:
                break
            monitor.type(key)
        assert monitor.wait_for_exit() == 0
        monitor.assert_restored()
        assert victims['saved'].poll() is None


def test_keys_typed_ahead_are_kept(steady: pathlib.Path) -> None:
    with Monitor(steady) as monitor:
        monitor.type('ogH\\castle\rU')
        monitor.wait_for(TITLES[Screen.USERS])
        monitor.type('q')
        monitor.wait_for(r'\[filter: castle\]')
        monitor.wait_for('rocesses 1 .* 2 hidden')
        monitor.wait_for('▼MEM GiB')
        monitor.wait_until_gone(r'load \d')
        assert monitor.leave() == 0
    with Program((*NVITOP, '--demo', str(steady))) as program:
        program.type('q')
        assert program.wait_for_exit() == 0
        program.assert_restored()
