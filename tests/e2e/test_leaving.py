"""Quitting in every way restores the terminal and leaves the right output."""

from __future__ import annotations

import pathlib
import re
import shutil
import signal
import sys
import time

import psutil
import pytest

from tests.e2e.emulator import ALTERNATE_SCREEN, MOUSE_BUTTONS, PASTE_MARKS, SHOWS_CURSOR
from tests.e2e.program import DEMO, Program
from tests.waiting import PATIENCE

BASH = shutil.which('bash') or ''
#: A machine whose values are constant, and a process on it.
STILL, SHOWN = (*DEMO, 'half-busy'), 'train.py'


def test_quitting_leaves_only_the_report() -> None:
    with Program(DEMO) as program:
        program.wait_for('slurm 84213')
        assert {ALTERNATE_SCREEN, MOUSE_BUTTONS, PASTE_MARKS} <= program.modes
        assert SHOWS_CURSOR not in program.modes
        assert program.leave() == 0
        program.assert_restored()
        # The demo has a GPU with a problem.
        assert program.errors() == ''
        report = program.written[program.written.rindex(b'\x1b[?1049l') :].decode()
        for text in (
            'H100 80GB HBM3',
            'pretrain',
            'ffmpeg',
            '╭',
            '╯',
            'GPU 5: pending row remapping',
        ):
            assert text in report
        assert '\x1b[?' not in report.split('\n', 1)[1]


def test_hints_are_erased_on_a_terminal_without_a_second_screen() -> None:
    with Program(DEMO, variables={'TERM': 'linux'}) as program:
        program.wait_for('slurm 84213')
        assert program.leave() == 0
        assert 'slurm 84213' in program.text
        assert 'q Quit' not in program.text


def test_report_on_exit_has_the_chosen_columns_and_theme() -> None:
    with Program(STILL) as program:
        program.wait_for(SHOWN)
        program.press('C', 'Columns')
        program.press(' ', r'\[ \] GPU')
        program.press('q', SHOWN)
        for theme in ('light', 'mono'):
            program.press('L', f'(?i)theme.*{theme}')
        assert program.leave() == 0
        report = program.written[program.written.rindex(b'\x1b[?1049l') :].decode()
    plain = re.sub(r'\x1b\[[0-9;]*m', '', report)
    assert re.search('│ +USER +JOB +PID ', plain)
    # Attributes only, without colors.
    assert not re.search(r'\x1b\[[0-9;]*[349][0-7]', report)


@pytest.mark.parametrize(
    ('number', 'status'), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)]
)
def test_signal_quits_and_restores_the_terminal(number: signal.Signals, status: int) -> None:
    with Program(STILL) as program:
        program.wait_for(SHOWN)
        program.process.send_signal(number)
        assert program.wait_for_exit() == status
        program.assert_restored()
        assert program.errors() == ''


def test_closed_terminal_quits_silently() -> None:
    with Program(STILL) as program:
        program.wait_for(SHOWN)
        children = psutil.Process(program.process.pid).children(recursive=True)
        assert children
        program.hang_up()
        assert program.wait_for_exit() == 129
        assert program.errors() == ''
        give_up = time.monotonic() + PATIENCE
        while any(map(is_alive, children)) and time.monotonic() < give_up:
            psutil.wait_procs(children, timeout=0.1)
        assert not any(map(is_alive, children))


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs; in a container, exited processes may stay zombies."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_ctrl_c_is_a_key() -> None:
    with Program(STILL) as program:
        program.wait_for(SHOWN)
        program.type('\x03')
        program.process.send_signal(signal.SIGINT)
        program.press('\x1b[B\x03', 'Send a signal')
        program.type('\x1b')
        program.wait_until_gone('Send a signal')
        assert program.leave() == 0


_CRASH = """
import sys
import time
import nvitop.gui.app as app
draw_frame = app.draw_frame
def broken(state, history):
    if state.prefix:
        raise RuntimeError('injected')
    return draw_frame(state, history)
app.draw_frame = broken
from nvitop.cli import main
sys.exit(main(['--no-config', '--demo', 'half-busy']))
"""


def test_crash_in_a_view_is_reported_and_the_terminal_restored(tmp_path: pathlib.Path) -> None:
    command = (sys.executable, '-c', _CRASH)
    with Program(command, variables={'TMPDIR': str(tmp_path)}) as program:
        program.wait_for(SHOWN)
        program.type('o')
        assert program.wait_for_exit() == 1
        program.assert_restored()
        (path,) = tmp_path.glob('nvitop-crash-*')
        assert (
            program.errors()
            == f'nvitop: error: the monitor crashed with RuntimeError; see {path}\n'
        )
        text = path.read_text(encoding='utf-8')
    assert 'RuntimeError' in text
    assert 'During handling of the above exception' not in text
    assert "KeyPressed(key='o')" in text
    assert '120 x 50' in text
    assert SHOWN not in text


@pytest.mark.skipif(not BASH, reason='NOT TESTED: bash is not installed')
def test_shell_suspends_and_resumes_the_monitor() -> None:
    with Program(
        (BASH, '--norc', '--noprofile', '-i'), variables={'PS1': 'ready> '}, joins_errors=True
    ) as program:
        program.wait_for('ready>')
        program.type(' '.join(STILL) + '\n')
        program.wait_for(SHOWN)
        program.type('\x1a')
        program.wait_for('Stopped')
        program.press('echo $((6*7)) again\n', '^42 again')
        program.type('fg\n')
        program.wait_for(SHOWN)
        # Stopped by another program, after which the shell sets its own terminal modes.
        (child,) = psutil.Process(program.process.pid).children()
        child.send_signal(signal.SIGSTOP)
        program.wait(lambda: program.written.count(b'ready> ') == 4)
        program.type('fg\n')
        program.wait(
            lambda: program.written.rfind(b'\x1b[?1000h') > program.written.rfind(b'ready> ')
        )
        program.press('\x1b[B\x03', 'Send a signal')
        program.type('\x1b')
        program.wait_until_gone('Send a signal')
        program.type('q')
        program.wait_for('^ready>$')
        assert psutil.Process(program.process.pid).children() == []
        program.type('exit\n')
        assert program.wait_for_exit() == 0
