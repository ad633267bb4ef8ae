"""The first line of a screen: title, badges, keys, and the input line in its place."""

from __future__ import annotations

import pytest

from nvitop.gui.state.events import SampleArrived
from nvitop.gui.state.update import update
from nvitop.sampling.types import Origin
from tests.gui.drawing import lines_of, lines_on, state_on
from tests.gui.samples import SAMPLES

pytestmark = pytest.mark.usefixtures('utc')


@pytest.mark.parametrize('simulated', ['', 'lost'])
@pytest.mark.parametrize('keys', ['t', '!', 'U', 'C', 'h', 'Down Enter', 'Down e'])
def test_every_title_has_the_badges_of_a_frozen_and_a_simulated_machine(
    keys: str, simulated: str
) -> None:
    for name in ('lost', 'processes200', 'hostile'):
        sample = SAMPLES[name]._replace(simulated=simulated)
        line = lines_on(sample, 40, 12, 'z', *keys.split())[0]
        assert '[PAUSED' in line
        assert ('[SIM' in line) is bool(simulated)


@pytest.mark.parametrize(
    ('origin', 'badge'),
    [
        (Origin(is_live=False, speed=2.0), '[REPLAY 03:04:05 ×2]'),
        (Origin(is_live=False, is_paused=True), '[REPLAY 03:04:05 paused]'),
        (Origin(host='gpu07'), '[gpu07]'),
        (Origin(host='gpu\x1b[2J07', trouble='no samples for 12 s'), 'no samples for 12 s]'),
    ],
)
@pytest.mark.parametrize('keys', ['', 't', '!'])
def test_origin_of_samples_is_on_every_screen(origin: Origin, badge: str, keys: str) -> None:
    state = state_on('h100x8', 120, 24, *keys.split())
    state, _ = update(state, SampleArrived(state.sample, origin))
    assert badge in lines_of(state)[0]
    assert '\x1b' not in lines_of(state)[0]
