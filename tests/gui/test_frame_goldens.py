"""Golden frames: every screen, and a few machines and situations."""

from __future__ import annotations

import functools
from typing import NamedTuple

import pytest

from nvitop.gui.model.choices import ViewState
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.render.buffer import Buffer
from nvitop.gui.render.theme import Role
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import (
    EnvironmentRead,
    Event,
    FrameDrawn,
    InputAwaited,
    KeyPressed,
    SampleArrived,
)
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from nvitop.sampling.types import Cost, DeviceKey, Problem, Sample
from tests.gui.driving import update_all
from tests.gui.goldens import FOLDER, LETTERS, assert_golden
from tests.gui.samples import ENVIRONMENT, NOW, SAMPLES, history_of, with_families

pytestmark = pytest.mark.usefixtures('utc')


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
#: Every screen at a usual and at a large size, and a few machines and situations.
CASES = [
    Case('main', 'h100x8', 80, 24, 'Down'),
    Case('main', 'h100x8', 160, 50, 'Down Space'),
    Case('main-one', 'workstation', 120, 40),
    Case('main-mig', 'mig', 120, 40),
    Case('main-page', 'h100x8', 140, 50, '5 Enter'),
    Case('main-full', 'h100x8', 123, 60, 'f'),
    Case('signal', 'processes200', 80, 24, 'Down ' + 'Space ' * 60 + 'K seen'),
    Case('tree', 'h100x8', 80, 24, 't Down'),
    Case('environ', 'hostile', 80, 24, 'Down e read v'),
    Case('metrics', 'h100x8', 80, 24, 'Down Down Enter'),
    Case('metrics', 'workstation', 160, 50, 'Down Down Enter'),
    Case('help', 'one', 80, 24, 'h'),
    Case('problems', 'troubles', 80, 24, 'later !'),
    Case('problems', 'lost', 160, 50, '!'),
    Case('users', 'h100x8', 80, 24, 'U'),
    Case('users', 'processes200', 160, 50, 'U Down'),
    Case('columns', 'one', 80, 24, 'C Down'),
    Case('events', 'one', 80, 24, 'V'),
]
# fmt: on
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
    if word == 'later':
        later = sample._replace(sequence=2, monotonic=1030.0, timestamp=NOW + 30)
        return (
            SampleArrived(later._replace(problems=(*_FANS, _WRONG), cost=Cost(0.0035, 3600, 3.4))),
        )
    if word == 'seen':
        return (FrameDrawn(state.monotonic), InputAwaited(state.monotonic + 0.5))
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
    return with_families(sample) if sample.sequence else sample


def frame_of(case: Case) -> Buffer:
    return draw_frame(state_after(case), _history(case.sample))


@functools.lru_cache(maxsize=None)
def _history(sample: str) -> History:
    return history_of(sample_of(Case('', sample, 80, 24)))


@pytest.mark.parametrize('case', CASES, ids=str)
def test_frames_match_their_goldens(case: Case) -> None:
    assert_golden(f'frame-{case}', frame_of(case))


def test_there_are_few_goldens_and_each_role_has_its_own_letter() -> None:
    frames = [path for kind in ('frame', 'report', 'fleet') for path in FOLDER.glob(f'{kind}-*')]
    assert len(frames) <= 30
    assert set(LETTERS) == set(Role)
    assert len({*LETTERS.values()}) == len(LETTERS)
