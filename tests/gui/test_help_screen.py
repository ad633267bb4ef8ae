"""The help screen."""

from __future__ import annotations

import re

import pytest

from nvitop.console.options import Thresholds
from nvitop.gui.model.choices import ViewState
from nvitop.gui.render.style import Role
from nvitop.gui.state.bindings import BINDINGS
from nvitop.gui.state.help_contents import help_lines
from nvitop.gui.state.keymap import Binding
from nvitop.sampling.types import Origin
from tests.gui.drawing import frame_on, state_on, text_of

pytestmark = pytest.mark.usefixtures('utc')


def name_of(binding: Binding) -> str:
    """Return the name of a binding without the number of a GPU or the direction of an order."""
    return re.sub(r'-(\d|reversed)$', '', binding.name)


@pytest.mark.parametrize('width', [40, 59, 60, 80, 149, 150, 300])
def test_help_lists_every_key(width: int) -> None:
    state = state_on('one', width, 400, 'h')
    text = text_of(state._replace(origin=Origin(is_live=False, can_travel=True)))
    assert '..' not in text
    words = set(text.split())
    keys = re.sub(r'[,; ]+', ' ', text).split(' ')
    for binding in BINDINGS:
        if binding.help and not binding.sorts:
            assert words.union(keys).issuperset(binding.keys)
    explained = {name_of(binding) for binding in BINDINGS if binding.help}
    assert explained == {name_of(binding) for binding in BINDINGS}


def test_help_explains_thresholds_in_their_colors() -> None:
    view = ViewState(thresholds=Thresholds(gpu=(3, 44), memory=(5, 66)))
    buffer = frame_on('one', 120, 200, 'h', view=view._replace(by_load=True))
    text = '\n'.join(buffer.lines())
    assert re.search('GPU +light, moderate from 3%, heavy from 44%', text)
    assert re.search('MEM +light, moderate from 5%, heavy from 66%', text)
    styled = {(word, style.role) for y in range(200) for _, word, style in buffer.row(y)}
    assert {('light', Role.LIGHT), ('moderate', Role.MODERATE), ('heavy', Role.HEAVY)} <= styled


@pytest.mark.parametrize('width', [60, 80, 120, 160])
def test_pairs_of_keys_are_not_broken(width: int) -> None:
    lines = [part.text for line in help_lines(state_on('one', width, 40)) for part in line]
    pairs = [text for text in lines if re.search(r'\S = \S', text)]
    assert pairs
    assert not [text for text in lines if re.search(r'\w =$|^= ', text)]
    assert '\xa0' not in ''.join(lines)
