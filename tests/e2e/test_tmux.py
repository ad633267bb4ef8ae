"""The monitor in tmux, a real terminal instead of the emulator of other tests."""

from __future__ import annotations

import pathlib
import shlex
import shutil
import subprocess
import time
from typing import Callable

import pytest

from tests.e2e.monitor import Monitors
from tests.e2e.program import NVITOP, environment
from tests.waiting import PATIENCE

TMUX = shutil.which('tmux') or ''


class Pane:
    """A private tmux server with one pane that runs a program."""

    def __init__(self, folder: pathlib.Path, command: str, *, columns: int, rows: int) -> None:
        config = folder / 'tmux.conf'
        config.write_text('set -g status off\n', encoding='utf-8')
        self._tmux = (TMUX, '-u', '-f', str(config), '-S', str(folder / 'socket'))
        self._environment = {**environment(TERM='xterm-256color'), 'SHELL': '/bin/sh'}
        self.call('new-session', '-d', '-x', str(columns), '-y', str(rows), command)

    def __enter__(self) -> Pane:
        return self

    def __exit__(self, *_: object) -> None:
        self.call('kill-server')

    def call(self, *arguments: str) -> str:
        return subprocess.run(
            [*self._tmux, *arguments],
            env=self._environment,
            stdout=subprocess.PIPE,
            check=True,
            timeout=PATIENCE,
        ).stdout.decode()

    @property
    def lines(self) -> list[str]:
        return self.call('capture-pane', '-p').split('\n')

    def press(self, text: str, *keys: str) -> None:
        """Press keys by their names in tmux, and wait for a text."""
        self.call('send-keys', *keys)
        self.wait_for(text)

    def wait_for(self, text: str) -> None:
        self.wait(lambda: text in '\n'.join(self.lines))

    def wait(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError('condition not met; pane:\n' + '\n'.join(self.lines))

    def values(self, *names: str) -> list[str]:
        """Return variables of the pane by their names in tmux."""
        return self.call('display', '-p', ' '.join(f'#{{{name}}}' for name in names)).split()


@pytest.mark.skipif(not TMUX, reason='NOT TESTED: tmux is not installed')
def test_monitor_works_in_tmux(tmp_path: pathlib.Path, monitors: Monitors) -> None:
    command = shlex.join([*NVITOP, '--demo', str(monitors.machine.path)])
    command += "; printf 'exit status %s.\\n' $?; exec cat"
    modes = ('alternate_on', 'mouse_standard_flag', 'mouse_sgr_flag', 'cursor_flag')
    with Pane(tmp_path, command, columns=104, rows=41) as pane:
        pane.wait_for('server --port')
        assert pane.values(*modes) == ['1', '1', '1', '0']
        with monitors.lent() as monitor:
            monitor.resize(104, 41)
            monitor.wait(lambda: '╰' in monitor.lines[-2])
            # Compare the parts of the borders that do not change.
            still = [y for y, line in enumerate(monitor.lines) if line[0] in '╭╰']
            assert len(still) == 2
            pane.wait(lambda: all(pane.lines[y][:50] == monitor.lines[y][:50] for y in still))
        pane.press('T Terminate', 'Down')
        pane.press(' Help: lines 1 to', 'h')
        pane.press(' Help: lines 2 to', 'Down')
        pane.press('server --port', 'q')
        pane.press('Search: castle', 'F3', 'castle')
        pane.press('q Quit', 'Enter')
        pane.press('renderer --scene=castle', 'T')
        pane.press('load ', 'Escape')
        pane.call('resize-window', '-x', '39', '-y', '5')
        pane.wait_for('too small: 40 x 6 needed')
        pane.call('resize-window', '-x', '104', '-y', '41')
        pane.press('Process tree', 't')
        pane.press('server --port', 'q')
        pane.press('exit status 0.', 'q')
        assert pane.values(*modes) == ['0', '0', '0', '1']
        pane.wait_for('trainer --epochs=90')  # in the report printed on exit
