"""Who waits for whom while the program measures and answers keys at the same time."""

from __future__ import annotations

import curses
import sys
from typing import Any, Iterator

import pytest

from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import THEMES
from nvitop.gui.term import platform
from nvitop.gui.term.curses import HANDLING_SWITCH, WAITING_SWITCH


class Recorder:
    """Stands for the input and for the screen of curses: notes the switch interval of each call."""

    def __init__(self) -> None:
        self.intervals: list[tuple[str, float]] = []

    def getmaxyx(self) -> tuple[int, int]:
        return 2, 10

    def __getattr__(self, name: str) -> Any:
        def called(*_: object, **__: object) -> list[object]:
            self.intervals.append((name, round(sys.getswitchinterval(), 6)))
            return []

        return called


@pytest.fixture(autouse=True)
def _interval() -> Iterator[None]:
    former = sys.getswitchinterval()
    yield
    sys.setswitchinterval(former)


def test_measuring_waits_while_a_key_is_answered_and_gives_way_when_one_comes() -> None:
    recorder = Recorder()
    terminal = platform.terminal_here(0, captures_mouse=False)
    for name in ('_input', '_screen'):
        setattr(terminal, name, recorder)
    terminal._let_all_lines_scroll = lambda height: None  # type: ignore[method-assign]
    frame = Buffer(10, 2)
    frame.write(0, 0, 'answer')
    terminal._attribute = lambda style: curses.A_NORMAL  # type: ignore[method-assign]
    terminal.wait(1.0)
    terminal.draw(frame, THEMES[0])
    terminal.wait(1.0)
    calls = dict(recorder.intervals)
    assert calls['wait'] == calls['refresh'] == WAITING_SWITCH
    assert calls['addstr'] == calls['move'] == HANDLING_SWITCH
    assert sys.getswitchinterval() == pytest.approx(HANDLING_SWITCH)
