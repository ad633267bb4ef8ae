"""The tree screen."""

from __future__ import annotations

import re

import pytest

from nvitop.gui.render.style import Role
from nvitop.gui.state.events import Resized
from nvitop.gui.state.update import update
from nvitop.gui.view.frame import draw_frame
from nvitop.sampling.history import History
from tests.gui.drawing import lines_of, lines_on, state_on
from tests.gui.driving import pressed
from tests.gui.samples import SAMPLES, with_families

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


def test_long_commands_are_shortened_as_on_the_main_screen() -> None:
    sample = with_families(SAMPLES['h100x8'])
    hosts = [
        process._replace(command=f'/opt/conda/bin/python3 -u train.py {"--bf16 " * 20}--rank={i}')
        for i, process in enumerate(sample.host_processes)
    ]
    state = state_on(sample._replace(host_processes=tuple(hosts)), 80, 24, 't')
    lines = lines_of(state)[2:10]
    assert all('python3 train.py' in line for line in lines)
    assert re.search(r'─ python3 train\.py.*\.\.\S*=\d+$', lines[1])
    assert 'bin/python3 -u train.py' in lines_of(pressed(state, 'Right'))[2]
