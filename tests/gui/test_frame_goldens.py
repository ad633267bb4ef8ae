"""Golden frames: every screen at every size, and every situation at every size and on every screen."""

from __future__ import annotations

import functools
from typing import NamedTuple

import pytest

from nvitop.gui.model.choices import Screen, ViewState
from nvitop.gui.monitor_screens import MONITOR
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
from tests.gui.driving import update_all
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
    Case('main-typing', 'h100x8', 80, 24, '\\ u s e r : a l'),
    Case('signal', 'hostile', 80, 24, 'Down Down Down Down T seen'),
    Case('main-readonly', 'processes200', 80, 24, 'Down Down Space', READONLY),
    Case('main-scrolled', 'gpus16', 80, 24, 'z M End'),
    Case('main-missing', 'missing', 100, 30, 'd'),
    Case('main-ascii', 'workstation', 123, 40, 'd', ASCII),
    Case('signal', 'processes200', 123, 40, 'Down ' + 'Space ' * 60 + 'K seen PageDown'),
    Case('main-graphs', 'h100x8', 160, 50, 'f G g g + + Down'),
    Case('main-frozen', 'processes200', 160, 50, 'o g z \\ u s e r : b o b Enter Down Down Space Space'),
    Case('main-no-gpu', 'no-gpu', 60, 20),
    Case('main-lost-details', 'lost', 80, 24, 'd'),
    Case('main-hostile', 'hostile', 160, 50),
    Case('signal-filter', 'mig', 60, 20, '\\ p y Enter Down Space T seen'),
    Case('tree-many', 'processes200', 60, 20, 't End Space'),
    Case('tree-eight', 'h100x8', 100, 30, 't Down Down Down'),
    Case('tree-odd', 'odd-processes', 160, 50, 't Right Right'),
    Case('signal-tree', 'missing', 40, 12, 't Down Space T seen', ASCII),
    Case('tree-lost-readonly-ascii', 'lost', 80, 24, 't Down', READONLY_ASCII),
    Case('environ-hidden', 'h100x8', 40, 12, 'Down e read Down'),
    Case('environ-revealed', 'hostile', 60, 20, 'Down e read v End'),
    Case('environ-refused', 'h100x8', 80, 24, 'Down e refused'),
    Case('metrics-missing', 'missing', 60, 20, 'Down Enter'),
    Case('metrics-ended', 'one', 80, 24, 'Down Enter ended'),
    Case('metrics-ten-minutes', 'h100x8', 160, 50, 'Down Enter + +'),
    Case('metrics', 'workstation', 240, 60, 'Down Enter'),
    Case('metrics-lost-ascii', 'lost', 60, 20, 'Down Enter', ASCII),
    Case('metrics-mig', 'mig', 80, 24, 'Down Enter'),
    Case('help-narrow', 'one', 40, 12, 'h'),
    Case('help-wide', 'one', 160, 50, 'h', READONLY),
    Case('problems-lost', 'lost', 40, 12, '!'),
    Case('problems-eight', 'troubles', 60, 20, 'later ! Down'),
    Case('problems-none', 'one', 80, 24, '!'),
    Case('problems-no-driver', 'no-driver', 100, 30, '!'),
    Case('problems-signals', 'troubles', 123, 40, 'Down signals later ! clock'),
    Case('problems-hostile', 'hostile', 80, 24, '!'),
    Case('users-none', 'no-gpu', 80, 24, 'U'),
    Case('users-many', 'processes200', 100, 30, 'U'),
    Case('users-one', 'one', 40, 12, 'U'),
    Case('users-missing-ascii', 'missing', 80, 24, 'U', ASCII),
    Case('users-mig-filter', 'mig', 160, 50, '\\ p y t h o n Enter U'),
    Case('users-eight', 'h100x8', 160, 50, 'U Down'),
    Case('columns-narrow', 'one', 40, 12, 'C Down Down'),
    Case('columns-moved', 'one', 80, 24, 'C Down K', COLUMNS),
    Case('events-narrow', 'one', 40, 12, 'V Down'),
    Case('events-search', 'one', 60, 20, 'V / l o s t'),
    Case('events-ascii', 'one', 123, 40, 'V', ASCII),
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
