"""Rows are written whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import signal
import sys
import threading
from typing import Iterator

import pytest

from nvitop.query.output import InterruptedByUser, Interrupts, Output
from tests.patience import PATIENCE

posix = pytest.mark.skipif(os.name != 'posix', reason='POSIX signals, pipes and limits')
ROWS = ['a' * 600 + '\n', 'b\nb' * 200 + '\n', 'c' * 600 + '\n']


@contextlib.contextmanager
def standard_output(fd: int) -> Iterator[None]:
    with open(fd, 'w', encoding='utf-8') as file, contextlib.redirect_stdout(file):
        yield


def test_a_file_is_made_when_the_first_row_is_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'rows.csv'
    path.write_text('what was there before', encoding='utf-8')
    output = Output(str(path))
    assert not output.is_terminal()
    assert path.read_text(encoding='utf-8') == 'what was there before'
    output.write(['ä, \udc80\n'])
    output.write(['b\n', 'c\n'])
    output.close()
    output.close()
    assert path.read_bytes() == b'\xc3\xa4, \x80\nb\nc\n'


def test_rows_go_to_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    print('before')
    output = Output()
    output.write(['row\n'])
    output.close()
    print('after')
    assert capfd.readouterr().out == 'before\nrow\nafter\n'


def test_rows_go_to_what_stands_in_for_standard_output() -> None:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        Output().write(['row\n'])
    assert text.getvalue() == 'row\n'


def test_a_closed_standard_output_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, 'stdout', None)
    output = Output()
    assert not output.is_terminal()
    with pytest.raises(OSError, match='Bad file'):
        output.write(['row\n'])


@contextlib.contextmanager
def room(size: int) -> Iterator[None]:
    """Let files become no longer than this, as on a disk that is nearly full.

    Only within the block: what runs the tests may write to a file too.
    """
    resource = pytest.importorskip('resource')
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@posix
@pytest.mark.parametrize('size', [0, 1, 600, 601, 602, 1201, 1202, 1203, 1801, 1802])
def test_on_a_full_disk_no_part_of_a_row_is_left(tmp_path: pathlib.Path, size: int) -> None:
    path = tmp_path / 'rows'
    output = Output(str(path))
    with room(size), pytest.raises(OSError, match='too large'):
        output.write(ROWS)
    whole = [''.join(ROWS[:count]) for count in range(4)]
    fitting = [text for text in whole if len(text) <= size]
    assert path.read_text(encoding='utf-8') == fitting[-1]
    output.write(['next\n'])
    assert path.read_text(encoding='utf-8') == f'{fitting[-1]}next\n'


@posix
def test_on_a_full_disk_what_stood_before_in_a_redirected_file_stays(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'rows'
    for flags in (0, os.O_APPEND):
        path.write_text('before\n', encoding='utf-8')
        fd = os.open(path, os.O_WRONLY | flags)
        os.lseek(fd, 0, os.SEEK_END)
        with standard_output(fd), room(100), pytest.raises(OSError, match='too large'):
            Output().write(ROWS)
        assert path.read_text(encoding='utf-8') == 'before\n'


@posix
def test_a_reader_that_went_away_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with standard_output(write), pytest.raises(BrokenPipeError):
        Output().write(['row\n'])


@posix
def test_a_pipe_that_does_not_block_is_waited_for() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    long = 'x' * 300_000 + '\n'
    parts: list[bytes] = []

    def drain() -> None:
        while len(b''.join(parts)) < len(long):
            parts.append(os.read(read, 65536))

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    with standard_output(write):
        Output().write([long])
    reader.join(PATIENCE)
    os.close(read)
    assert b''.join(parts).decode() == long


# Signals


@posix
@pytest.mark.parametrize('name', ['SIGINT', 'SIGTERM', 'SIGHUP'])
def test_a_signal_interrupts(name: str) -> None:
    number = getattr(signal, name)
    before = signal.getsignal(number)
    with pytest.raises(InterruptedByUser) as error, Interrupts():
        os.kill(os.getpid(), number)
    assert error.value.number == number
    assert signal.getsignal(number) is before


def interrupt_a_row(*numbers: int) -> tuple[list[str], int]:
    """What is done of two rows with signals amid the first, and the signal that counted."""
    done = []
    try:
        with Interrupts() as interrupts:
            with interrupts.held():
                for number in numbers:
                    os.kill(os.getpid(), number)
                done.append('rest of the row')
            done.append('next row')
    except InterruptedByUser as interrupt:
        return done, interrupt.number
    return done, 0


@posix
def test_a_signal_waits_until_a_row_is_whole() -> None:
    assert interrupt_a_row() == (['rest of the row', 'next row'], 0)
    assert interrupt_a_row(signal.SIGTERM) == (['rest of the row'], signal.SIGTERM)


@posix
def test_a_second_signal_does_not_wait() -> None:
    assert interrupt_a_row(signal.SIGTERM, signal.SIGINT) == ([], signal.SIGINT)


@posix
def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@posix
def test_a_signal_ends_waiting_for_a_pipe_that_nobody_reads() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b'x' * 4096)
    os.set_blocking(write, True)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))

    def write_a_row(interrupts: Interrupts) -> None:
        timer.start()
        Output(interrupts=interrupts).write(['row\n'])

    with standard_output(write), Interrupts() as caught, pytest.raises(InterruptedByUser):
        write_a_row(caught)
    timer.join()
    os.close(read)


def test_in_other_threads_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def run() -> None:
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
