"""Frames of the monitor on stored machines, and what holds for any drawing."""

from __future__ import annotations

from typing import Any

import pyte

from nvitop.gui.model.choices import ViewState
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.width import cell_width, safe
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Event, KeyPressed, MousePressed, SampleArrived
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import Sample
from tests.gui.driving import FLAT, update_all
from tests.gui.samples import NOW, SAMPLES, with_families


def state_on(
    machine: str | Sample, width: int, height: int, *keys: str, view: ViewState | None = None
) -> AppState:
    """Return the state of the monitor after these keys, by default with processes one by one.

    ``machine`` is a sample, or the name of a stored one, which then has host processes too.
    """
    state = AppState(MONITOR, width=width, height=height, timestamp=NOW, view=view or FLAT)
    if isinstance(machine, str):
        sample = SAMPLES[machine]
        sample = with_families(sample) if sample.sequence else sample
    else:
        sample = machine._replace(sequence=1)
    events: list[Event] = [SampleArrived(sample), *map(KeyPressed, keys)]
    return update_all(state, tuple(events))[0]


def frame_on(
    machine: str | Sample, width: int, height: int, *keys: str, view: ViewState | None = None
) -> Buffer:
    return draw_frame(state_on(machine, width, height, *keys, view=view), History())


def lines_on(machine: str | Sample, width: int, height: int, *keys: str) -> list[str]:
    return frame_on(machine, width, height, *keys).lines()


def lines_of(state: AppState, history: History | None = None) -> list[str]:
    return draw_frame(state, history or History()).lines()


def click_on(state: AppState, text: str) -> MousePressed:
    """Return the event of a click on the lowest occurrence of a text."""
    frame = draw_frame(state, History())
    y = max(y for y, line in enumerate(frame.lines()) if text in line)
    x = frame.lines()[y].index(text)
    return MousePressed(x, y, hit=frame.hit_at(x, y))


def click_hit(state: AppState, kind: str, value: Any, *, button: int = 1) -> MousePressed:
    """Return the event of a click on what is drawn for a device, a process, a job or a column."""
    frame = draw_frame(state, History())
    rect, hit = next(each for each in frame.hits if each[1] == (kind, value))
    return MousePressed(rect.x + 1, rect.y, button, hit)


def text_of(state: AppState, history: History | None = None) -> str:
    return '\n'.join(lines_of(state, history))


def assert_is_drawn_inside(buffer: Buffer, state: AppState) -> None:
    """Check that a frame has the size of the terminal, overlaps nowhere, and has safe text only."""
    assert (buffer.width, buffer.height) == (state.width, state.height)
    for y, line in enumerate(buffer.lines()):
        assert safe(line) == line
        assert line.isascii() or not state.view.ascii
        assert cell_width(line) <= buffer.width
        end = 0
        for x, text, _ in buffer.row(y):
            assert x >= end
            end = x + cell_width(text)
        assert end <= buffer.width


def assert_straight(rows: list[list[str]]) -> None:
    """Check that all rows of a box end in the same column, in the cells of a real terminal."""
    ends = []
    for row in rows:
        cells = [x for x, cell in enumerate(row) if cell not in ' ']
        if row[0] in '│╞├╘╒':
            assert row[cells[-1]] in '│╡┤╛╕', ''.join(row)
            ends.append(cells[-1] + 1)
    assert ends
    # The head of the device box is narrower if there are bars next to its body.
    assert ends == sorted(ends)
    assert len(set(ends)) <= 2


def shown(output: str, *, columns: int = 80, rows: int = 24) -> list[list[str]]:
    """Return the cells of a terminal after ``output``; the second of a wide character is ``''``."""
    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    # Fed one by one because pyte drops the text after a mark that it cannot compose.
    for char in output.replace('\n', '\r\n'):
        stream.feed(char)
    return [[screen.buffer[y][x].data for x in range(columns)] for y in range(rows)]
