"""The first line of the main screen: badges, keys, and what is typed in its place."""

from __future__ import annotations

import pytest

from tests.gui.test_frame import frame_of

pytestmark = pytest.mark.usefixtures('utc')


@pytest.mark.parametrize(
    ('width', 'keys', 'left', 'right'),
    [
        (80, r'\ b o b', 'Filter: bob', 'Enter keep  Esc discard  1 of 8'),
        (40, r'\ n o n e', 'Filter: none', 'Esc discard  0 of 8'),
        (40, r'\ ' + 'x ' * 30, f'Filter: ..{21 * "x"}', '0 of 8'),
        (80, 'F3 b o b', 'Search: bob', 'F3 next  Enter stay  Esc leave'),
        (40, 'F3 b o b', 'Search: bob', 'Enter stay  Esc leave'),
    ],
)
def test_what_is_typed_stands_beside_its_keys_and_the_number_of_processes(
    width: int, keys: str, left: str, right: str
) -> None:
    # With panels in full the list is below the screen.
    line = frame_of('h100x8', width, 12, 'f', *keys.split()).lines()[0]
    assert line == left + right.rjust(width - len(left))
