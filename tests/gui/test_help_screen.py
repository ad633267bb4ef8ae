"""The help screen."""

from __future__ import annotations

import re

import pytest

from nvitop.console.options import Thresholds
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.style import TITLE
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.help_contents import help_lines
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
    heading = next(line for line in lines if 'Every day' in line)
    start = len(heading) - len(heading[30:].lstrip()) if heading[30:].strip(' │') else 0
    assert start > 40
    assert not any(line[start - 2 : start].strip() for line in lines[3:-2])


@pytest.mark.parametrize(
    ('keys', 'first'),
    [('h', ['Every day', 'Legend']), ('U h', ['This screen: users', 'Every day', 'Legend'])],
)
def test_help_has_a_row_for_each_key_those_of_the_screen_first(keys: str, first: list[str]) -> None:
    groups: dict[str, list[str]] = {}
    for line in help_lines(state_on('one', 80, 300, *keys.split())):
        if line and line[0].style == TITLE:
            shown = groups.setdefault(line[0].text, [])
        elif line:
            shown += line[0].keys.split()
    assert list(groups)[: len(first)] == first
    elsewhere = (first[0] if len(first) > 2 else '', 'Legend', 'Mouse', 'After the state of a GPU')
    listed = [
        key
        for heading, shown in groups.items()
        if heading not in elsewhere and not heading.startswith(('Typing', 'Sorting '))
        for key in shown
    ]
    assert len(listed) == len(set(listed)) > 50


def test_help_repeats_the_heading_of_a_group_that_continues() -> None:
    lines = frame_on('one', 80, 24, 'h', 'PageDown').lines()
    assert 'Every day (continued)' in lines[2]
    assert 'lines 20 to 39 of' in lines[1]
