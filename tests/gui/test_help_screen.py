"""The help screen."""

from __future__ import annotations

import re

import pytest

from nvitop.console.options import Thresholds
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.style import Role
from nvitop.gui.state.bindings import BINDINGS, Action
from nvitop.gui.state.help import help_lines
from nvitop.sampling.types import Origin
from tests.gui.drawing import frame_on, lines_of, state_on, text_of
from tests.gui.driving import press

pytestmark = pytest.mark.usefixtures('utc')


@pytest.mark.parametrize('width', [40, 59, 60, 80, 149, 150, 300])
def test_help_lists_every_key(width: int) -> None:
    state = state_on('one', width, 400, 'h')
    text = text_of(state._replace(origin=Origin(is_live=False, can_travel=True)))
    assert '..' not in text
    words = set(text.split())
    keys = re.sub(r'[,; ]+', ' ', text).split(' ')
    for binding in BINDINGS:
        if binding.help and binding.action is not Action.SORT_BY:
            assert words.union(keys).issuperset(binding.keys)
    explained = {binding.action for binding in BINDINGS if binding.help}
    assert explained == {binding.action for binding in BINDINGS}


def test_help_fits_45_lines_in_two_columns() -> None:
    state = state_on('one', 120, 60, 'h', view=ViewState(colorful=True))
    state = state._replace(origin=Origin(can_travel=True))
    assert len(help_lines(state)) <= 45


def test_help_scrolls_line_by_line_to_its_end() -> None:
    state = state_on('one', 80, 24, 'h')
    lines = lines_of(state)
    assert 'Help: lines 1 to 22 of' in lines[1]
    state, _ = press(state, 'Down')
    assert lines_of(state)[2:-1] == lines[3:]
    state, _ = press(state, 'End', 'Down', 'Up')
    count = len(help_lines(state))
    assert f'lines {count - 22} to {count - 1} of {count}' in lines_of(state)[1]


def test_signal_keys_are_dim_in_readonly_mode() -> None:
    for readonly in (False, True):
        buffer = frame_on('one', 80, 200, 'h', view=ViewState(readonly=readonly))
        (row,) = [buffer.row(y) for y in range(200) if 'SIGTERM to' in buffer.lines()[y]]
        assert {style.role for _, _, style in row} == (
            {Role.DIM} if readonly else {Role.KEY, Role.TEXT}
        )


def test_help_explains_thresholds_in_their_colors() -> None:
    view = ViewState(thresholds=Thresholds(gpu=(3, 44), memory=(5, 66)))
    buffer = frame_on('one', 120, 200, 'h', view=view)
    text = '\n'.join(buffer.lines())
    assert re.search('GPU +light, moderate from 3%, heavy from 44%', text)
    assert re.search('MEM +light, moderate from 5%, heavy from 66%', text)
    styled = {(word, style.role) for y in range(200) for _, word, style in buffer.row(y)}
    assert {('light', Role.LIGHT), ('moderate', Role.MODERATE), ('heavy', Role.HEAVY)} <= styled
