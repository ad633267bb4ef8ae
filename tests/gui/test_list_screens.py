"""The screens that are lists: users, columns and the process tree."""

from __future__ import annotations

import pytest

from nvitop.gui.render.style import Role
from nvitop.gui.state.cursor import current_line
from nvitop.gui.state.lists import listed_users
from tests.gui.drawing import frame_on, lines_on, state_on
from tests.gui.driving import pressed

pytestmark = pytest.mark.usefixtures('utc')


def test_cursor_follows_its_line_when_the_order_changes() -> None:
    state = pressed(state_on('h100x8', 120, 40), 'U', 'Down')
    name = listed_users(state)[current_line(state) or 0].name
    state = pressed(state, 'o', 'c')
    assert listed_users(state)[current_line(state) or 0].name == name
    assert listed_users(state)[1].name != name


def test_cursor_stays_visible_on_every_list() -> None:
    for key in ('!', 'U', 'C'):
        for height in (6, 8, 12, 40):
            for to in ('End', 'Home'):
                buffer = frame_on('h100x8', 80, height, key, to)
                roles = [style.role for y in range(height) for _, _, style in buffer.row(y)]
                assert Role.SELECTED in roles or key == '!'


# The tree


def test_empty_tree_shows_the_reason() -> None:
    assert 'Looking for processes ...' in lines_on('nothing-yet', 80, 24, 't')[3]
    assert 'No match: 16 processes' in lines_on('h100x8', 80, 24, 't', '\\', '#')[3]
