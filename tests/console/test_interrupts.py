"""Signals end a command between two rows, never within one."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from nvitop.console.lifecycle import InterruptedByUser, Interrupts

posix = pytest.mark.skipif(os.name != 'posix', reason='POSIX signals')


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
def test_a_signal_waits_for_the_end_of_a_row() -> None:
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


def test_handlers_are_not_installed_in_other_threads() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def run() -> None:
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
