"""The help screen."""

from __future__ import annotations

import pytest

from nvitop.gui.model.choices import Screen
from nvitop.gui.monitor_screens import MONITOR
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.help_contents import help_lines, key_groups
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


def test_wide_help_has_columns_of_whole_groups() -> None:
    lines = frame_on('one', 120, 80, 'h').lines()
    heading = next(line for line in lines if 'Main screen' in line)
    start = len(heading) - len(heading[30:].lstrip()) if heading[30:].strip(' │') else 0
    assert start > 40
    assert not any(line[start - 2 : start].strip() for line in lines[3:-2])


@pytest.mark.parametrize(
    ('here', 'first'), [(Screen.MAIN, 'Main screen'), (Screen.USERS, 'Users screen')]
)
def test_help_has_each_binding_once_those_of_the_screen_first(here: Screen, first: str) -> None:
    groups = key_groups(MONITOR, BINDINGS, here)
    assert next(iter(groups)) == first
    listed = [each for found in groups.values() for each in found]
    assert len(listed) == len([each for each in BINDINGS if each.help])
    are_own = [all(here in each.screens for each in found) for found in groups.values()]
    assert are_own == sorted(are_own, reverse=True)
    assert not any(
        here in each.screens for found in list(groups.values())[sum(are_own) :] for each in found
    )


def test_keys_have_one_line_each_on_a_usual_screen() -> None:
    lines = help_lines(state_on('one', 120, 300, 'h').inner)
    longer = [entry.text for line in lines for entry in line if entry.keys.isspace()]
    assert longer == ['remapping, without spare memory rows']  # of a state, not a key


def test_help_repeats_the_heading_of_a_group_that_continues() -> None:
    lines = frame_on('one', 80, 24, 'h', 'PageDown').lines()
    assert 'Main screen (continued)' in lines[2]
    assert 'lines 20 to 39 of' in lines[1]
