"""Input lines, pasted text, and keys that are typed ahead."""

from __future__ import annotations

import itertools
import pathlib

from nvitop.gui.model.choices import Screen
from tests.e2e.monitor import TITLES, Monitor, Monitors, describe_machine, monitor_with_victims

#: Text that would quit, tag, signal and confirm if it were keys.
DANGEROUS = 'kill it: K T I k t i \r \n Ctrl-C 1 2 3 q Q \t h e U ! x r M z \\filter ' * 75
#: Longer than the buffer of a terminal.
LONG = DANGEROUS[:5_000]


def begin_filter(monitor: Monitor, text: str = '') -> None:
    monitor.press('\\', r'\AFilter:')
    monitor.type(text)
    monitor.wait_for(rf'\AFilter: {text}'.rstrip())


def test_list_follows_the_filter_line(monitors: Monitors) -> None:
    with monitors.lent() as monitor:
        begin_filter(monitor, 'castle')
        monitor.wait_for('Processes 1 .* 3 hidden')
        monitor.type('x')
        monitor.wait_for('No match: 4 processes hidden by the filter')
        monitor.key('Backspace')
        monitor.wait_for('Processes 1 .* 3 hidden')
        monitor.type(' x')
        monitor.wait_for('No match: 4 processes')
        monitor.key('Ctrl-W')
        monitor.wait_for(r'\AFilter: castle( +1 of 4)?$')
        monitor.wait_for('Processes 1 .* 3 hidden')
        monitor.key('Ctrl-U')
        monitor.wait_for(r'\AFilter:( .*4 of 4)?$')
        monitor.wait_for('Processes 4 ')
        monitor.type('port')
        monitor.wait(lambda: monitor.row('server') > 0)
        monitor.key('Enter')
        monitor.wait_for(r'\[filter: port\]')
        # Discarding the line keeps the filter.
        for key in ('Esc', 'Ctrl-C'):
            begin_filter(monitor)
            monitor.key('Ctrl-U')
            monitor.wait_for('Processes 4 ')
            monitor.key(key)
            monitor.wait_for(r'\[filter: port\]')
        monitor.key('Esc')
        monitor.wait_until_gone('filter:')


def test_search_moves_between_matches(monitors: Monitors) -> None:
    with monitors.lent() as monitor:
        monitor.press('\x1bOR', r'\ASearch:')
        monitor.type('type:c')
        monitor.wait_until_selected('trainer')
        for key, name in (
            ('Down', 'worker'),
            ('F3', 'server'),
            ('Down', 'trainer'),  # wraps around
            ('Up', 'server'),
            ('Up', 'worker'),
        ):
            monitor.key(key)
            pid = monitors.machine.other if name == 'worker' else monitor.pid_of(name)
            monitor.wait_until_selected(f' {pid} ')
        monitor.key('Enter')
        monitor.wait_for(TITLES[Screen.MAIN])
        monitor.wait_until_selected(f' {monitors.machine.other} ')


def test_large_paste_between_marks_presses_no_keys(tmp_path: pathlib.Path) -> None:
    with monitor_with_victims(tmp_path, 'saved') as (monitor, victims):
        monitor.select('saved')
        monitor.type(f'\x1b[200~{LONG}\x1b[201~')
        monitor.press('h', TITLES[Screen.HELP])
        monitor.press('q', TITLES[Screen.MAIN])
        monitor.wait_until_selected('saved')
        assert monitor.leave() == 0
        assert victims['saved'].poll() is None


def test_large_paste_without_marks_sends_no_signal(tmp_path: pathlib.Path) -> None:
    with monitor_with_victims(tmp_path, 'saved') as (monitor, victims):
        monitor.select('saved')
        monitor.type(LONG.replace('q', '').replace('Q', ''))
        for key in itertools.cycle(['Esc', 'q']):  # leaves any screen
            monitor.wait(lambda: not monitor.look(0.1))
            if monitor.process.poll() is not None:
                break
            monitor.key(key)
        assert monitor.wait_for_exit() == 0
        monitor.assert_restored()
        assert victims['saved'].poll() is None


def test_paste_into_the_filter_is_text(monitors: Monitors) -> None:
    with monitors.lent() as monitor:
        begin_filter(monitor)
        monitor.type(f'\x1b[200~{LONG}\x1b[201~')
        monitor.wait_for('No match: 4 processes hidden by the filter')
        monitor.key('Ctrl-U')
        monitor.type('\x1b[200~--scene\n\x1b[201~')
        monitor.wait_for(r'\AFilter: --scene +1 of 4')
        monitor.wait_for('Processes 1 .* 3 hidden')
        monitor.key('Esc')
        monitor.wait_until_gone('Filter:')


def test_keys_typed_ahead_are_kept(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'steady.toml'
    path.write_text(describe_machine(), encoding='utf-8')
    with Monitor(path) as monitor:
        monitor.type('ogH\\castle\rU')
        monitor.wait_for(TITLES[Screen.USERS])
        monitor.type('q')
        monitor.wait_for(r'\[filter: castle\]')
        monitor.wait_for('Processes 1 .* 2 hidden')
        monitor.wait_for('▼GPU-MEM')
        monitor.wait_until_gone(r'load \d')
        assert monitor.leave() == 0
    with Monitor(path) as monitor:
        monitor.type('q')
        assert monitor.wait_for_exit() == 0
        monitor.assert_restored()
