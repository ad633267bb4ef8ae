"""Whole frames: what every screen has in common, and properties of any state at any size."""

from __future__ import annotations

import pytest

from nvitop.gui.state.app_state import Notice
from tests.gui.drawing import lines_of, lines_on, state_on

pytestmark = pytest.mark.usefixtures('utc')


def test_long_notice_is_wrapped_or_cut_to_a_third_of_the_screen() -> None:
    def last_lines(*texts: str) -> list[str]:
        notices = tuple(Notice(text, 9.0) for text in texts)
        state = state_on('h100x8', 40, 12)._replace(notices=notices)
        return lines_of(state)

    long = 'Paused before the details of all eight devices were measured (z: resume the display)'
    wrapped = [
        ' Paused before the details of all eight',
        ' devices were measured (z: resume the',
        ' display)',
    ]
    assert last_lines('Theme: mono', long)[-4:] == [' Theme: mono', *wrapped]
    # A notice is not shown in part.
    lines = last_lines(long, long)
    assert lines[-3:] == wrapped
    assert 'display)' not in lines[-4]
    *above, first, _, _, last = last_lines('x ' * 400)
    assert first.startswith(' x x ')
    assert last.endswith(' x ..')
    assert '│' in above[-1]


@pytest.mark.parametrize(('width', 'height'), [(39, 40), (100, 5), (1, 1)])
def test_small_screen_shows_the_minimum_size(width: int, height: int) -> None:
    lines = [line.strip() for line in lines_on('h100x8', width, height)]
    assert sum(map(bool, lines)) == 1
    assert 'too small'.startswith(''.join(lines)[:9].rstrip('.'))
