"""Golden frames: every screen at every size, and every situation at every size and on every screen."""

from __future__ import annotations

import functools
from typing import NamedTuple

import pytest

from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.monitor_screens import MONITOR, SCREENS
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import (
    ClockTicked,
    EnvironmentRead,
    Event,
    FrameDrawn,
    InputAwaited,
    KeyPressed,
    SampleArrived,
    SignalSent,
)
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import Cost, DeviceKey, Problem, Sample
from tests.gui.driving import keys_that_open, update_all
from tests.gui.goldens import assert_golden
from tests.gui.samples import ENVIRONMENT, NOW, SAMPLES, history_of, with_details, with_families

pytestmark = pytest.mark.usefixtures('utc')

ASCII, READONLY = ViewState(ascii=True), ViewState(readonly=True)
READONLY_ASCII = ViewState(readonly=True, ascii=True)
COLUMNS = ViewState(columns=('pid', 'user', 'gpu', 'gpu_memory', 'encoder', 'decoder', 'command'))


class Case(NamedTuple):
    """A screen in a situation, and the keys that lead there."""

    name: str
    sample: str
    width: int
    height: int
    keys: str = ''
    view: ViewState = ViewState()

    def __str__(self) -> str:
        return f'{self.name}-{self.width}x{self.height}'


# fmt: off
CASES = [
    Case('main-details', 'one', 40, 12, 'd'),
    Case('main-unified', 'unified', 60, 20, 'd'),
    Case('main-typing', 'h100x8', 80, 24, '\\ u s e r : a l'),
    Case('main-dialog', 'hostile', 80, 24, 'Down Down Down Down T seen'),
    Case('main-readonly', 'processes200', 80, 24, 'Down Down Space', READONLY),
    Case('main-scrolled', 'gpus16', 80, 24, 'z M End'),
    Case('main-columns-moved', 'h100x8', 80, 24, 'Down Space', COLUMNS),
    Case('main-missing', 'missing', 100, 30, 'd'),
    Case('main-ascii', 'workstation', 123, 40, 'd', ASCII),
    Case('main-dialog', 'processes200', 123, 40, 'Down ' + 'Space ' * 60 + 'K seen PageDown'),
    Case('main-graphs', 'h100x8', 160, 50, 'f G g g + + Down'),
    Case('main-frozen', 'processes200', 160, 50, 'o g z \\ u s e r : b o b Enter Down Down Space Space'),
    Case('main-details', 'lost', 240, 60, 'd'),
    Case('main-no-gpu', 'no-gpu', 40, 12),
    Case('main-no-gpu', 'no-gpu', 60, 20),
    Case('main-lost-details', 'lost', 80, 24, 'd'),
    Case('main-mig-dialog', 'mig', 100, 30, 'Down Space T seen'),
    Case('main-lost', 'lost', 100, 30),
    Case('main-no-gpu', 'no-gpu', 123, 40),
    Case('main-missing', 'missing', 123, 40),
    Case('main-lost', 'lost', 123, 40),
    Case('main-missing-details-dialog', 'missing', 160, 50, 'd Down Space T seen'),
    Case('main-hostile', 'hostile', 160, 50),
    Case('main-mig-filter-dialog', 'mig', 60, 20, '\\ p y Enter Down Space T seen'),
    Case('tree-many', 'processes200', 60, 20, 't End Space'),
    Case('tree-eight', 'h100x8', 100, 30, 't Down Down Down'),
    Case('tree-odd', 'odd-processes', 160, 50, 't Right Right'),
    Case('tree-no-gpu', 'no-gpu', 160, 50, 't'),
    Case('tree-sixteen-filter-readonly', 'gpus16', 40, 12, '\\ g p u : 1 Enter t Down', READONLY),
    Case('tree-missing-dialog-ascii', 'missing', 40, 12, 't Down Space T seen', ASCII),
    Case('tree-lost-readonly-ascii', 'lost', 80, 24, 't Down', READONLY_ASCII),
    Case('tree-one-readonly', 'one', 123, 40, 't Down', READONLY),
    Case('tree-mig-filter-dialog', 'mig', 80, 24, '\\ p y Enter t Down Space T seen'),
    Case('tree-hostile', 'hostile', 100, 30, 't Down'),
    Case('environ-hidden', 'h100x8', 40, 12, 'Down e read Down'),
    Case('environ-revealed', 'hostile', 60, 20, 'Down e read v End'),
    Case('environ-refused', 'h100x8', 80, 24, 'Down e refused'),
    Case('environ-ascii', 'one', 100, 30, 'Down e read', ASCII),
    Case('environ-sideways', 'mig', 123, 40, 'Down e read v Right Right'),
    Case('environ-usual', 'one', 160, 50, 'Down e read Down'),
    Case('metrics-missing', 'missing', 60, 20, 'Down Enter'),
    Case('metrics-ended', 'one', 80, 24, 'Down Enter ended'),
    Case('metrics-ten-minutes', 'h100x8', 160, 50, 'Down Enter + +'),
    Case('metrics', 'workstation', 240, 60, 'Down Enter'),
    Case('metrics-lost-ascii', 'lost', 60, 20, 'Down Enter', ASCII),
    Case('metrics-sixteen-filter-readonly', 'gpus16', 100, 30, '\\ g p u : 2 Enter Down Enter', READONLY),
    Case('metrics-many-readonly', 'processes200', 160, 50, 'Down Enter', READONLY),
    Case('metrics-hostile', 'hostile', 40, 12, 'Down Enter'),
    Case('metrics-mig', 'mig', 80, 24, 'Down Enter'),
    Case('metrics-sixteen', 'gpus16', 123, 40, 'Down Enter'),
    Case('help-narrow', 'one', 40, 12, 'h'),
    Case('help-readonly', 'one', 60, 20, 'h PageDown PageDown PageDown', READONLY),
    Case('help-top', 'one', 80, 24, 'h'),
    Case('help-end', 'one', 100, 30, 'h End'),
    Case('help-wide', 'one', 160, 50, 'h', READONLY),
    Case('help-ascii', 'one', 160, 50, 't h', ASCII),
    Case('help-usual', 'one', 123, 40, 'h'),
    Case('problems-lost', 'lost', 40, 12, '!'),
    Case('problems-eight', 'troubles', 60, 20, 'later ! Down'),
    Case('problems-none', 'one', 80, 24, '!'),
    Case('problems-no-driver', 'no-driver', 100, 30, '!'),
    Case('problems-signals', 'troubles', 123, 40, 'Down signals later ! clock'),
    Case('problems-mig', 'mig', 40, 12, '!'),
    Case('problems-many', 'processes200', 40, 12, '!'),
    Case('problems-missing', 'missing', 80, 24, '!'),
    Case('problems-hostile', 'hostile', 80, 24, '!'),
    Case('problems-sixteen-ascii', 'gpus16', 160, 50, '!', ASCII),
    Case('users-none', 'no-gpu', 80, 24, 'U'),
    Case('users-many', 'processes200', 100, 30, 'U'),
    Case('users-one', 'one', 40, 12, 'U'),
    Case('users-sixteen', 'gpus16', 60, 20, 'U'),
    Case('users-missing-ascii', 'missing', 80, 24, 'U', ASCII),
    Case('users-lost', 'lost', 160, 50, 'U'),
    Case('users-mig-filter', 'mig', 160, 50, '\\ p y t h o n Enter U'),
    Case('users-hostile-filter', 'hostile', 123, 40, '\\ p y Enter U Down'),
    Case('users-eight', 'h100x8', 160, 50, 'U Down'),
    Case('columns-narrow', 'one', 40, 12, 'C Down Down'),
    Case('columns-moved', 'one', 80, 24, 'C Down K', COLUMNS),
    Case('columns-ascii', 'mig', 160, 50, 'C', ASCII),
    Case('columns-usual', 'one', 60, 20, 'C Down'),
    Case('columns-usual', 'one', 100, 30, 'C Down'),
    Case('columns-usual', 'one', 123, 40, 'C Down'),
    Case('events-narrow', 'one', 40, 12, 'V Down'),
    Case('events-search', 'one', 60, 20, 'V / l o s t'),
    Case('events-usual', 'one', 80, 24, 'V'),
    Case('events-end', 'one', 100, 30, 'V End'),
    Case('events-ascii', 'one', 123, 40, 'V', ASCII),
    Case('events-large', 'one', 160, 50, 'V'),
]
# fmt: on
#: The goldens that show the header; the others leave out its rows.
WITH_HEADER = ('main-frozen', 'main-typing', 'main-scrolled')

_FANS = tuple(Problem(DeviceKey(i), 'fan_speed', 'Not Supported') for i in range(8))
_HUNG = Problem(4242, 'command', 'the system does not respond', 'timed out')
_LOST = Problem(DeviceKey(3), 'status', 'GPU is lost', 'lost')
_WRONG = Problem(DeviceKey(6), 'memory_used', '1009317314560 is implausible', 'impossible')
SAMPLES_HERE = {
    **SAMPLES,
    'troubles': SAMPLES['h100x8']._replace(
        problems=(*_FANS, _HUNG, _LOST), cost=Cost(0.0041, 120, 3.0)
    ),
}

MACHINES = {
    **{name: name for name in ('no-gpu', 'one', 'mig', 'missing', 'lost', 'hostile')},
    'no-driver': 'no-gpu',
    'h100x8': 'eight',
    'troubles': 'eight',
    'gpus16': 'sixteen',
    'processes200': 'many',
}
SCREEN_NAMES = tuple(screen.name.lower() for screen in SCREENS)
SIZES = ((40, 12), (60, 20), (80, 24), (100, 30), (123, 40), (160, 50))
#: Situations that do not depend on the machine → the screens on which they change more than a badge.
SITUATIONS = {
    'dialog': ('main', 'tree'),
    'filter': ('main', 'tree', 'metrics', 'users'),
    'details': ('main',),
    'readonly': ('main', 'tree', 'help'),
    'ascii': SCREEN_NAMES,
}
#: Screens that depend on the machine.
OF_A_MACHINE = ('main', 'tree', 'metrics', 'problems', 'users')


def situations_of(case: Case) -> set[str]:
    """Return the situations that the frame of a case shows."""
    state = state_after(case)
    view = state.view
    found = {MACHINES[case.sample]} if case.sample in MACHINES else set()
    found |= {name for name in ('readonly', 'ascii') if getattr(view, name)}
    found |= {'dialog'} if state.dialog is not None else set()
    found |= {'filter'} if 0 < len(state.rows) < len(state.shown.processes) else set()
    found |= {'details'} if view.shows_details and state.screen is Screen.MAIN else set()
    return found


def test_every_screen_size_and_situation_is_seen_with_every_other() -> None:
    seen: set[tuple[object, object]] = set()
    for case in CASES:
        screen, size, situations = case.name.partition('-')[0], case[2:4], situations_of(case)
        seen.add((screen, size))
        seen |= {(where, what) for where in (screen, size) for what in situations}
    machines = set(MACHINES.values())
    wanted: set[tuple[object, object]] = {
        (screen, size) for screen in SCREEN_NAMES for size in SIZES
    }
    wanted |= {(size, what) for size in SIZES for what in (*machines, *SITUATIONS)}
    wanted |= {(screen, what) for what, screens in SITUATIONS.items() for screen in screens}
    wanted |= {(screen, machine) for screen in OF_A_MACHINE for machine in machines}
    # Without a GPU there is no process whose metrics could be shown.
    assert wanted - seen == {('metrics', 'no-gpu')}


def events_of(word: str, sample: Sample, state: AppState) -> tuple[Event, ...]:
    """Return the events that a word of a case stands for: a key, unless listed here."""
    environ = state.environ
    if word == 'read':
        return (EnvironmentRead(environ.pid, environ.start_time, ENVIRONMENT),)
    if word == 'refused':
        return (EnvironmentRead(environ.pid, environ.start_time, (), 'permission denied'),)
    if word == 'ended':
        return (SampleArrived(sample._replace(sequence=2, processes=())),)
    if word == 'later':
        later = sample._replace(sequence=2, monotonic=1030.0, timestamp=NOW + 30)
        return (
            SampleArrived(later._replace(problems=(*_FANS, _WRONG), cost=Cost(0.0035, 3600, 3.4))),
        )
    if word == 'signals':
        keys = [row.key for row in state.rows[:3]]
        outcomes = ('sent', 'not permitted', 'reused')
        return tuple(SignalSent(key, 'SIGTERM', how) for key, how in zip(keys, outcomes))
    if word == 'seen':
        return (FrameDrawn(state.monotonic), InputAwaited(state.monotonic + 0.5))
    if word == 'clock':
        return (ClockTicked(99.0, NOW + 31.0),)
    return (KeyPressed(word),)


def state_after(case: Case) -> AppState:
    sample = sample_of(case)
    state = AppState(
        MONITOR, case.width, case.height, timestamp=NOW, version='1.0.0', view=case.view
    )
    state, _ = update(state, SampleArrived(sample))
    for word in case.keys.split():
        state, _ = update_all(state, events_of(word, sample, state))
    return state


def sample_of(case: Case) -> Sample:
    sample = SAMPLES_HERE[case.sample]
    return with_details(with_families(sample)) if sample.sequence else sample


def frame_of(case: Case) -> Buffer:
    return draw_frame(state_after(case), _history(case.sample))


@functools.lru_cache(maxsize=None)
def _history(sample: str) -> History:
    return history_of(sample_of(Case('', sample, 80, 24)))


def header_rows(case: Case) -> int:
    """Return the number of rows above the devices: the line with version and clock."""
    state = state_after(case)
    if state.screen is not Screen.MAIN or case.name in WITH_HEADER:
        return 0
    return 1


@pytest.mark.parametrize('case', CASES, ids=str)
def test_frames_match_their_goldens(case: Case) -> None:
    assert_golden(f'frame-{case}', frame_of(case), header=header_rows(case))


def case_that_opens(screen: str) -> Case:
    """Return the case of a screen on any machine.

    It is wide enough for all columns of processes, which the columns screen marks otherwise.
    """
    keys = ' '.join(keys_that_open(Screen[screen.upper()]))
    return Case(screen, 'one', 140, 24, 'Down e read' if screen == 'environ' else keys)


def below_the_title(case: Case) -> list[object]:
    """Draw a frame without its first row, which has the badges."""
    frame = frame_of(case)
    return [list(frame.row(y)) for y in range(1, frame.height)]


@pytest.mark.parametrize('screen', sorted({*SCREEN_NAMES} - {*OF_A_MACHINE}))
def test_other_screens_are_the_same_on_each_machine(screen: str) -> None:
    case = case_that_opens(screen)
    expected = below_the_title(case)
    for sample in MACHINES:
        there = case._replace(sample=sample)
        if screen != 'environ' or state_after(there).screen is Screen.ENVIRON:  # has a process
            assert below_the_title(there) == expected, sample


@pytest.mark.parametrize(
    ('situation', 'screen'),
    [
        (situation, screen)
        for situation in ('filter', 'details', 'readonly')
        for screen in SCREEN_NAMES[1:]
        if screen not in SITUATIONS[situation]
        if (situation, screen) != ('filter', 'environ')  # needs a process
    ],
)
def test_other_situations_change_at_most_a_badge(situation: str, screen: str) -> None:
    case = case_that_opens(screen)
    before = {'filter': '\\ z z Enter', 'details': 'd'}.get(situation, '')
    view = READONLY if situation == 'readonly' else case.view
    there = case._replace(keys=f'{before} {case.keys}', view=view)
    assert below_the_title(there) == below_the_title(case)
