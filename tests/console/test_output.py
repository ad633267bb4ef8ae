"""Rows are written as a whole or not at all, and signals end a command between two of them."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import threading
from typing import Iterator

import pytest

from nvitop.console.lifecycle import InterruptedByUser, Interrupts, Output
from nvitop.console.messages import names_ascii
from tests.programs import file_size_limit
from tests.waiting import PATIENCE

posix = pytest.mark.skipif(os.name != 'posix', reason='POSIX signals, pipes and limits')
ROWS = ['a' * 600 + '\n', 'b\nb' * 200 + '\n', 'c' * 600 + '\n']


@contextlib.contextmanager
def standard_output(fd: int) -> Iterator[None]:
    with open(fd, 'w', encoding='utf-8') as file, contextlib.redirect_stdout(file):
        yield


def test_a_file_is_created_when_the_first_row_is_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'rows.csv'
    path.write_text('previous' * 9, encoding='utf-8')
    output = Output(str(path))
    assert output.terminal_width() == 0
    assert path.read_text(encoding='utf-8') == 'previous' * 9
    output.write(['ä, \udc80\n'])
    output.write(['b\n', 'c\n'])
    output.close()
    output.close()
    assert path.read_bytes() == b'\xc3\xa4, \x80\nb\nc\n'


@posix
@pytest.mark.parametrize('size', [0, 600, 601, 1201, 1202, 1802])
def test_on_a_full_disk_no_part_of_a_row_is_left(tmp_path: pathlib.Path, size: int) -> None:
    path = tmp_path / 'rows'
    output = Output(str(path))
    with file_size_limit(size), pytest.raises(OSError, match='too large'):
        output.write(ROWS)
    whole = [''.join(ROWS[:count]) for count in range(4)]
    fitting = [text for text in whole if len(text) <= size]
    assert path.read_text(encoding='utf-8') == fitting[-1]
    output.write(['next\n'])
    assert path.read_text(encoding='utf-8') == f'{fitting[-1]}next\n'


@posix
def test_writing_waits_for_a_non_blocking_pipe() -> None:
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


@posix
def test_a_signal_ends_waiting_for_a_full_pipe() -> None:
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


def interrupt_a_row(*numbers: int) -> tuple[list[str], int]:
    """Steps that run if signals arrive within the first row, and the signal that ended them."""
    done = []
    try:
        with Interrupts() as interrupts:
            with interrupts.delayed():
                for number in numbers:
                    os.kill(os.getpid(), number)
                done.append('rest of the row')
            done.append('next row')
    except InterruptedByUser as interrupt:
        return done, interrupt.number
    return done, 0


@posix
def test_a_signal_waits_for_the_end_of_a_row_but_a_second_one_does_not() -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert interrupt_a_row() == (['rest of the row', 'next row'], 0)
    assert interrupt_a_row(signal.SIGTERM) == (['rest of the row'], signal.SIGTERM)
    assert interrupt_a_row(signal.SIGTERM, signal.SIGINT) == ([], signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before


@posix
def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ('environ', 'expected'),
    [
        ({}, False),
        ({'LC_CTYPE': 'C.UTF-8'}, False),  # as Python sets it without any locale
        ({'LC_CTYPE': 'C.UTF-8', 'LANG': 'C'}, True),  # and with that
        ({'LC_ALL': 'C', 'LANG': 'en_US.UTF-8'}, True),
        ({'LC_ALL': 'POSIX'}, True),
        ({'LANG': 'C.UTF-8'}, False),
        ({'LC_CTYPE': 'de_DE.UTF-8', 'LANG': 'C'}, False),
        ({'LC_ALL': '', 'LC_CTYPE': 'C', 'LANG': 'en_US.UTF-8'}, True),
        ({'LC_ALL': 'C', 'PYTHONUTF8': '1'}, False),
    ],
)
def test_the_locale_c_has_only_ascii(environ: dict[str, str], expected: bool) -> None:
    assert names_ascii(environ) is expected
