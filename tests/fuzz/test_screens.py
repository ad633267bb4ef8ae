"""Hostile text on all screens and in reports neither controls the terminal nor moves other text."""

from __future__ import annotations

import re
import unicodedata

from nvitop.console.options import MODES, Options
from nvitop.gui.model.choices import Screen, Sort, ViewState
from nvitop.gui.model.columns import COLUMNS
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.ansi import to_ansi, to_ascii
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import theme_named
from nvitop.gui.report import report_text
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import EnvironmentRead, KeyPressed, Pasted, Resized, SampleArrived
from nvitop.gui.state.orders import ORDERS
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import Sample
from tests.fuzz.input_count import check_seeds
from tests.gui.drawing import assert_is_drawn_inside, assert_straight, shown
from tests.gui.driving import update_all
from tests.gui.random_samples import RandomSamples

#: Keys that open a screen; the words are other events.
SITUATIONS = r"""
    Down Down | d f | Down T | Down Space Down Space K | \ paste | \ paste Enter | F3 paste |
    t Down Right | t Down x T | Down e read | Down e read v End Right | Down Enter | U Down |
    ! Down | C Down | h PageDown | 0 Enter | Tab | End Right Right
"""
KEYS = ['', *SITUATIONS.split('|')]
PROCESSES = 50
ALL_COLUMNS = tuple(column.name for column in COLUMNS)
_STYLE = re.compile(r'\x1b\[[0-9;]*m')


def state_after(source: RandomSamples, sample: Sample, width: int, height: int) -> AppState:
    random_ = source.random
    columns = ALL_COLUMNS if random_.random() < 0.5 else ViewState().columns
    view = ViewState(
        mode=random_.choice(MODES),
        ascii=random_.random() < 0.3,
        show_host=random_.random() < 0.5,
        flat=random_.random() < 0.5,
        columns=columns,
    )
    order = Sort(random_.choice(ORDERS).name, reverse=random_.random() < 0.5)
    state = AppState(MONITOR, width=width, height=height, view=view)
    state = state._replace(list_sorts={Screen.MAIN: order})
    state, _ = update_all(state, (Resized(width, height), SampleArrived(sample)))
    for word in random_.choice(KEYS).split():
        if word == 'paste':
            state, _ = update_all(state, (Pasted(source.text()),))
        elif word == 'read':
            environ = state.environ
            if state.screen is Screen.ENVIRON:
                variables = source.environment(20)
                key = environ.pid, environ.start_time
                event = EnvironmentRead(
                    *key, variables, owner=source.owner(), no_owner=source.text()
                )
                state, _ = update_all(state, (event,))
        else:
            state, _ = update_all(state, (KeyPressed(word),))
    return state


def assert_has_no_controls(text: str) -> str:
    """Check that an output without its styles has no control characters, and return it."""
    plain = _STYLE.sub('', text)
    kinds = {unicodedata.category(char) for char in set(plain) if char != '\n'}
    assert not kinds & {'Cc', 'Cf', 'Cs', 'Cn', 'Zl', 'Zp'}
    plain.encode('utf-8')
    return plain


def assert_cells_are_in_place(buffer: Buffer) -> None:
    """Check that a terminal shows each span in the cell where it was drawn."""
    text = to_ansi(buffer, theme_named('dark'), 0).rstrip('\n')
    rows = shown(text, columns=buffer.width + 4, rows=buffer.height)
    for y, cells in enumerate(rows):
        for x, piece, _ in buffer.row(y):
            assert cells[x][:1] == piece[:1], (y, x, piece)
        assert not ''.join(cells[buffer.width :]).strip(), y


def check_frame(seed: int) -> None:
    source = RandomSamples(seed)
    sample = source.machine(PROCESSES)
    width = source.random.choice((40, 60, 79, 80, 100, 123, 160))
    height = source.random.choice((6, 12, 24, 30, 50))
    history = History()
    history.record(sample)
    state = state_after(source, sample, width, height)
    buffer = draw_frame(state, history)
    assert_is_drawn_inside(buffer, state)
    if state.screen is Screen.MAIN and not state.view.ascii:
        # Nothing is drawn over the borders but a long notice, over the last lines.
        for line in buffer.lines()[1 : -(height // 3) if state.notices else -1]:
            assert (line[:1] in '│├╭╰*', line[-1:] in '│┤╮╯') == (True, True), line
    if state.view.ascii:
        buffer = to_ascii(buffer)
    plain = assert_has_no_controls(to_ansi(buffer, theme_named('dark'), 256))
    if state.view.ascii:
        assert plain.isascii()
    assert_cells_are_in_place(buffer)


def check_report(seed: int) -> None:
    source = RandomSamples(seed)
    sample = source.machine(PROCESSES)
    columns = ALL_COLUMNS if source.random.random() < 0.5 else None
    width = source.random.randint(40, 240)
    text = report_text(sample, Options(columns=columns), width=width, colors=256)
    plain = assert_has_no_controls(text)
    rows = shown(text, columns=width + 4, rows=plain.count('\n') + 1)
    assert_straight(rows)
    assert {str(process.key.pid) for process in sample.processes} <= {*re.findall(r'\d+', plain)}


def test_screens_are_safe() -> None:
    check_seeds(50, check_frame)


def test_reports_are_safe() -> None:
    check_seeds(15, check_report)
