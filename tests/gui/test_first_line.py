"""The first line of the main screen: badges, keys, and what is typed in its place."""

from __future__ import annotations

import pytest

from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Event, KeyPressed, MousePressed, SampleArrived
from nvitop.gui.state.listing import main_layout
from nvitop.gui.state.update import update, update_all
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from tests.gui.samples import NOW, SAMPLES
from tests.gui.test_frame import frame_of, state_of

pytestmark = pytest.mark.usefixtures('utc')


@pytest.mark.parametrize(
    ('width', 'keys', 'left', 'right'),
    [
        (80, r'\ b o b', 'Filter: bob', 'Enter keep  Esc discard  1 of 8'),
        (40, r'\ n o n e', 'Filter: none', 'Esc discard  0 of 8'),
        (40, r'\ ' + 'x ' * 30, f'Filter: ..{21 * "x"}', '0 of 8'),
        (80, 'F3 b o b', 'Search: bob', 'F3 next  Enter stay  Esc leave'),
        (40, 'F3 b o b', 'Search: bob', 'Enter stay  Esc leave'),
    ],
)
def test_what_is_typed_stands_beside_its_keys_and_the_number_of_processes(
    width: int, keys: str, left: str, right: str
) -> None:
    # With panels in full the list is below the screen.
    line = frame_of('h100x8', width, 12, 'f', *keys.split()).lines()[0]
    assert line == left + right.rjust(width - len(left))


@pytest.mark.parametrize(('width', 'height'), [(40, 12), (60, 20), (80, 24)])
@pytest.mark.parametrize('keys', ['', 'z M'])
def test_the_page_is_scrolled_below_the_first_line(width: int, height: int, keys: str) -> None:
    state = state_of('gpus16', width, height, *keys.split())
    first, *others = draw_frame(state, History()).lines()
    seen = {*others}
    for _ in range(9):
        state, _ = update(state, KeyPressed('PageDown'))
        line, *others = draw_frame(state, History()).lines()
        assert line == first
        seen |= {*others}
    # Nothing is always under it.
    whole = draw_frame(state_of('gpus16', width, 99), History()).lines()[1:]
    assert {line for line in whole if 'GPU' in line or 'python' in line} <= seen


def test_a_click_on_the_first_line_meets_no_process_under_it() -> None:
    state = state_of('processes200', 60, 20, 'End', 'Esc')
    assert main_layout(state).processes.at(5, 0) is not None
    assert update(state, MousePressed(5, 0))[0].main.selected is None
    assert update(state, MousePressed(5, 1))[0].main.selected is not None


@pytest.mark.parametrize(
    ('width', 'keys', 'left', 'right'),
    [
        (80, '', 'Tue Jan 02 03:04:05 2024 SIMULATED: lost [! problems]', 'h help  q quit'),
        (60, '', '03:04:05 SIMULATED: lost [! problems]', 'h help  q quit'),
        (60, 'z', '03:04:05 SIM [! problems] [FROZEN 03:04:05]', 'h help  q quit'),
        (40, '', '03:04:05 SIM [! problems]', 'h help  q quit'),
        (40, 'z', '03:04:05 SIM [!] [FROZEN 03:04:05]', ''),
        (40, r'z \ p o r t Enter', '03:04:05 SIM [!] [FROZEN] [filter: port]', ''),
        (40, r'z M \ p o r t Enter', '03:04:05 SIM [!] [FROZEN] [filter: port]', ''),
    ],
)
def test_what_matters_least_goes_first_from_a_narrow_line(
    width: int, keys: str, left: str, right: str
) -> None:
    sample = SAMPLES['lost']._replace(sequence=1, simulated='lost')
    events: list[Event] = [SampleArrived(sample), *map(KeyPressed, keys.split())]
    state, _ = update_all(AppState(width, 12, timestamp=NOW), tuple(events))
    line = draw_frame(state, History()).lines()[0]
    assert line == left + right.rjust(min(width, 79) - len(left) if right else 0)


@pytest.mark.parametrize('simulated', ['', 'lost'])
@pytest.mark.parametrize('keys', ['t', 'e', '!', 'U', 'C', 'h', 'Down Enter', 'Down e'])
def test_that_the_display_is_frozen_is_said_beside_every_title(keys: str, simulated: str) -> None:
    for name in ('lost', 'processes200', 'hostile'):
        sample = SAMPLES[name]._replace(sequence=1, simulated=simulated)
        events: list[Event] = [SampleArrived(sample), *map(KeyPressed, f'z {keys}'.split())]
        state, _ = update_all(AppState(40, 12, timestamp=NOW), tuple(events))
        line = draw_frame(state, History()).lines()[0]
        assert '[FROZEN' in line
        assert ('[SIM' in line) is bool(simulated)


def test_a_title_keeps_what_it_counts_beside_two_badges() -> None:
    def title(keys: str) -> str:
        sample = SAMPLES['lost']._replace(sequence=1, simulated='lost')
        events: list[Event] = [SampleArrived(sample), *map(KeyPressed, f'z {keys}'.split())]
        state, _ = update_all(AppState(40, 12, timestamp=NOW), tuple(events))
        return draw_frame(state, History()).lines()[0].split('  ')[0]

    assert title('U') == '1 user, 2 GPUs unknown'
    assert title('t') == 'Tree, 2 GPUs unknown'
    assert title('Down e') == 'Environment of 100'
