"""The help screen."""

from __future__ import annotations

import re

import pytest

from nvitop.console.options import Thresholds
from nvitop.gui.model.choices import ViewState
from nvitop.gui.state.bindings import BINDINGS
from nvitop.sampling.types import Origin
from tests.gui.drawing import frame_on, state_on, text_of

pytestmark = pytest.mark.usefixtures('utc')


@pytest.mark.parametrize('width', [40, 80, 300])
def test_help_lists_every_key(width: int) -> None:
    state = state_on('one', width, 400, 'h')
    state = state._replace(origin=Origin(is_live=False, can_travel=True))
    text = text_of(state)
    assert '..' not in text
    words = set(text.split())
    for binding in BINDINGS:
        if binding.help:
            assert words.issuperset(keys.replace(' ', '') for keys in binding.keys), binding


def test_help_explains_thresholds_of_colors_by_load() -> None:
    view = ViewState(thresholds=Thresholds(gpu=(3, 44), memory=(5, 66)), by_load=True)
    text = '\n'.join(frame_on('one', 80, 200, 'h', view=view).lines())
    assert re.search('GPU +light, moderate from 3%, heavy from 44%', text)
    assert re.search('MEM +light, moderate from 5%, heavy from 66%', text)


def test_wide_help_has_columns_of_whole_groups() -> None:
    lines = frame_on('one', 120, 80, 'h').lines()
    heading = next(line for line in lines if 'Legend' in line)
    start = next(x for x in range(40, 80) if heading[x : x + 7] == 'Screens')
    assert not any(line[start - 2 : start].strip() for line in lines[3:-2])
    assert len([line for line in lines if line.strip(' │─╭╮╰╯')]) < 76
