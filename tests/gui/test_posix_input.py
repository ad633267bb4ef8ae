"""Input on POSIX: keys, signals and wake-ups through one blocking wait."""

from __future__ import annotations

import contextlib
import curses
import os
import signal
import sys
import threading
import types
from typing import Iterator

import pytest

from nvitop.gui.state.events import (
    INPUT_ENDED,
    BackgroundReported,
    KeyPressed,
    Pasted,
    Resized,
    Suspended,
    Terminated,
)
from nvitop.gui.term.posix import PosixInput, PosixTerminal, escape_delay
from tests.waiting import PATIENCE


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[PosixInput, int]]:
    monkeypatch.setattr('nvitop.gui.term.posix.REPLY_SECONDS', PATIENCE)
    read, write = os.pipe()
    source = PosixInput(read, lambda: (100, 30))
    yield source, write
    source.close()
    os.close(read)
    with contextlib.suppress(OSError):  # a test may have hung up
        os.close(write)


@pytest.mark.parametrize('cut', [1, 2, 3, 4, 10, 24])
def test_reply_about_the_background_in_two_reads_is_no_key(
    keyboard: tuple[PosixInput, int], cut: int
) -> None:
    source, write = keyboard
    reply = b'\x1b]11;rgb:ffff/ffff/ffff\x1b\\'
    source.expect_replies()
    os.write(write, reply[:cut])
    assert source.wait(0.1) == []
    os.write(write, reply[cut:])
    assert source.wait(PATIENCE) == [BackgroundReported(is_light=True)]


@pytest.mark.parametrize('late', [b'\x1b]11;rgb:0/0/0\x07\x1b[?62;4c', b'\x1b[?1;2c'])
def test_replies_are_read_before_the_terminal_is_left(
    keyboard: tuple[PosixInput, int], late: bytes
) -> None:
    source, write = keyboard
    source.expect_replies()
    timer = threading.Timer(0.05, os.write, (write, late))
    timer.start()
    source.drop_replies()
    timer.join()
    os.write(write, b'x')
    assert source.wait(PATIENCE) == [KeyPressed('x')]


def test_escape_is_not_late_in_a_terminal_that_never_replies(
    keyboard: tuple[PosixInput, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, write = keyboard
    now = 100.0

    def monotonic() -> float:
        nonlocal now
        now += 0.02
        return now

    monkeypatch.setattr('nvitop.gui.term.posix.time', types.SimpleNamespace(monotonic=monotonic))
    source.expect_replies()
    now += 2 * PATIENCE
    os.write(write, b'\x1b')
    assert source.wait(0.5) == [KeyPressed('Esc')]


def test_many_wakes_do_not_block(keyboard: tuple[PosixInput, int]) -> None:
    source, _ = keyboard
    for _ in range(200_000):
        source.wake()
    assert source.wait(None) == []


def test_wake_after_close_writes_to_no_other_file() -> None:
    read, write = os.pipe()
    source = PosixInput(read, lambda: (1, 1))
    source.close()
    # Another pipe gets the descriptors of the closed one.
    other_read, other_write = os.pipe()
    os.set_blocking(other_read, False)
    source.wake()
    with pytest.raises(BlockingIOError):
        os.read(other_read, 1)
    for fd in (read, write, other_read, other_write):
        os.close(fd)


def test_hang_up_ends_the_input_once(keyboard: tuple[PosixInput, int]) -> None:
    source, write = keyboard
    os.write(write, b'a\x1b')
    os.close(write)
    assert source.wait(PATIENCE) == [KeyPressed('a')]
    assert source.wait(PATIENCE) == [KeyPressed('Esc'), INPUT_ENDED]
    assert source.wait(0) == []


@pytest.mark.parametrize(
    ('number', 'event'),
    [
        (signal.SIGWINCH, Resized(100, 30)),
        (signal.SIGINT, KeyPressed('Ctrl-C')),
        (signal.SIGTERM, Terminated('SIGTERM')),
        (signal.SIGHUP, Terminated('SIGHUP')),
        (signal.SIGQUIT, Terminated('SIGQUIT')),
        (signal.SIGTSTP, Suspended()),
        (signal.SIGCONT, Suspended(resumed=True)),
    ],
)
def test_signals_become_events(
    keyboard: tuple[PosixInput, int], number: signal.Signals, event: object
) -> None:
    source, _ = keyboard
    previous = signal.getsignal(number)
    with source.signals_caught():
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        assert source.wait(PATIENCE) == [event]
    assert signal.getsignal(number) == previous


def test_paste_without_an_end_mark_ends_after_a_pause(
    keyboard: tuple[PosixInput, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, write = keyboard
    now = 100.0
    clock = types.SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr('nvitop.gui.term.posix.time', clock)
    os.write(write, b'\x1b[200~half a pas')
    assert source.wait(0) == []
    now += 1.9
    assert source.wait(0) == []
    os.write(write, b'te')
    assert source.wait(0) == []
    now += 2.1
    assert source.wait(0) == [Pasted('half a paste')]
    os.write(write, b'q\x1b[201~k')
    assert source.wait(0) == [KeyPressed('q'), KeyPressed('k')]


@pytest.mark.parametrize(
    ('value', 'delay'),
    [
        ('x', 0.025),
        ('-5', 0.025),
        ('0', 0.0),
        ('100', 0.1),
        ('9' * 9, 1.0),
    ],
)
def test_escape_delay_comes_from_the_environment(value: str | None, delay: float) -> None:
    assert escape_delay(value) == delay


@pytest.mark.parametrize(
    ('name', 'known', 'expected'),
    [
        ('xterm-ghostty', {'xterm-ghostty', 'xterm'}, 'xterm-ghostty'),
        ('xterm-kitty', {'xterm', 'xterm-256color'}, 'xterm-256color'),
        ('alacritty-direct', {'xterm-256color'}, 'xterm-256color'),
        ('tmux-256color', {'screen', 'xterm-256color'}, 'screen'),
        ('brand-new-256color', {'xterm-256color'}, 'xterm-256color'),
        ('teletype', {'xterm-256color'}, None),
        ('', {'xterm-256color'}, None),
    ],
)
def test_unknown_terminal_is_like_a_known_one(
    monkeypatch: pytest.MonkeyPatch, name: str, known: set[str], expected: str | None
) -> None:
    def setupterm(term: str | None = None, fd: int = -1) -> None:
        if (term or os.environ['TERM']) not in known:
            raise curses.error('setupterm: could not find terminal')

    monkeypatch.setenv('TERM', name)
    monkeypatch.setattr(curses, 'setupterm', setupterm)
    monkeypatch.setattr(curses, 'tigetstr', lambda name: b'x')
    monkeypatch.setattr(sys, 'stdout', types.SimpleNamespace(fileno=lambda: 1))
    terminal = PosixTerminal(max_colors=256)
    if expected is None:
        with pytest.raises(curses.error):
            terminal._check_type()
    else:
        terminal._check_type()
        assert os.environ['TERM'] == expected
