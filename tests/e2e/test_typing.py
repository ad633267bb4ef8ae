"""Input lines, pasted text, and keys that are typed ahead."""

from __future__ import annotations

import itertools
import pathlib

from nvitop.gui.model.choices import Screen
from tests.e2e.monitor import TITLES, Monitor, monitor_with_victims
from tests.e2e.program import NVITOP, Program

#: Text that would quit, tag, signal and confirm if it were keys.
DANGEROUS = 'kill it: K T I k t i \r \n Ctrl-C 1 2 3 q Q \t h e U ! x r M z \\filter ' * 75
#: Longer than the buffer of a terminal.
LONG = DANGEROUS[:5_000]


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
        monitor.type(DANGEROUS[:1_500].replace('q', '').replace('Q', ''))
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
