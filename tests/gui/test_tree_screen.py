"""The tree screen."""

from __future__ import annotations

import pytest

from nvitop.gui.render.style import Role
from nvitop.gui.state.events import Resized
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from tests.gui.drawing import lines_on, state_on

pytestmark = pytest.mark.usefixtures('utc')


def test_selected_line_stays_visible_at_every_size() -> None:
    state = state_on('processes200', 80, 50, 't', 'End')
    for height in (50, 20, 6, 40):
        state, _ = update(state, Resized(80, height))
        buffer = draw_frame(state, History())
        roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
        assert Role.SELECTED_TREE in roles


def test_empty_tree_shows_the_reason() -> None:
    assert 'Looking for processes ...' in lines_on('nothing-yet', 80, 24, 't')[2]
    assert 'No match: 16 processes' in lines_on('h100x8', 80, 24, 't', '\\', '#')[2]
