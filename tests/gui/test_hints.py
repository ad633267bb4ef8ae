"""The last row of a screen: keys that work now, and the keys that can follow a prefix."""

from __future__ import annotations

import pytest

from nvitop.gui.model.choices import Screen, Sort, ViewState
from nvitop.gui.monitor_screens import SCREENS
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.events import Quit
from nvitop.gui.state.update import update
from nvitop.sampling.types import Origin
from tests.gui.drawing import click_on, lines_of, state_on
from tests.gui.driving import keys_that_open, press

HINTS = ViewState(shows_hints=True, flat=True)


def state_with_hints(
    keys: str = '', *, width: int = 120, height: int = 30, machine: str = 'h100x8'
) -> AppState:
    return state_on(machine, width, height, *keys.split(), view=HINTS)


def last_row(keys: str = '', width: int = 120, height: int = 30) -> str:
    return lines_of(state_with_hints(keys, width=width, height=height))[-1]


def test_last_row_follows_the_selection() -> None:
    before = ' h Help  ↑↓ Select  Tab GPU  \\ Filter  o Sort  ! Problems  u Users  / Search  t Tree  J Jobs  C Columns  q Quit'
    assert last_row() == before
    assert 'Enter Graphs  T Terminate  K Kill  e Env  Space Tag' in last_row('Down')
    assert all(text in last_row('1') for text in ('↑↓ Other GPU', 'Enter GPU page'))
    assert all('Esc Clear' in last_row(keys) for keys in ('1', 'Down Space', r'\ p Enter'))
    assert 'Esc Clear' not in last_row('Down')
    assert all(text in last_row('1 Enter') for text in ('↑↓ Select', 'Enter All GPUs'))
    assert '↑↓ Select' in last_row('t')
    assert (
        ' Up Down Select '
        in lines_of(state_on('h100x8', 120, 30, view=HINTS._replace(ascii=True)))[-1]
    )
    assert 'e Env' in last_row('t Down')
    assert 'Esc Clear' in last_row('t Down Space')


def test_last_row_names_only_keys_that_lead_somewhere() -> None:
    assert last_row('h').startswith(' PgUp PgDn Scroll')
    assert last_row('h', height=200) == ' / Search  q Back'
    assert last_row('U').count('Back') == last_row('U U').count('Back') == 1


@pytest.mark.parametrize(('key', 'example'), [('\\', 'user:'), ('F3', 'user:'), ('b', '-30m')])
def test_empty_input_line_shows_what_can_be_typed(key: str, example: str) -> None:
    state = press(state_with_hints()._replace(origin=Origin(can_travel=True)), key)[0]
    assert example in lines_of(state)[0]
    assert example not in lines_of(press(state, '1')[0])[0]


@pytest.mark.parametrize('screen', SCREENS, ids=lambda screen: screen.value)
def test_every_screen_names_the_key_that_leaves_it_at_any_width(screen: Screen) -> None:
    for width in (40, 60, 80, 200):
        line = last_row(' '.join(keys_that_open(screen)), width)
        assert line.endswith(' Quit' if screen is Screen.MAIN else ' Back')
        assert len(line) < width


def test_click_on_a_hint_presses_its_key() -> None:
    state = state_with_hints('Down')
    for words, screen in (('Users', Screen.USERS), ('Graphs', Screen.METRICS)):
        opened, _ = update(state, click_on(state, words))
        assert opened.screen is screen
        back, _ = update(opened, click_on(opened, 'Back'))
        assert back.screen is Screen.MAIN
    assert update(state, click_on(state, 'q Quit'))[1] == (Quit(0),)


def test_sort_menu_names_every_order_and_its_words_can_be_clicked() -> None:
    state = state_with_hints('o')
    menu = lines_of(state)[-1]
    assert menu == (
        ' Sort by: n GPU  p PID  u USER  w JOB  g MEM GiB  s %SM  b %BW  i IDLE  c %CPU'
        '  m %MEM  t TIME  (Shift: reverse)'
    )
    clicked, _ = update(state, click_on(state, 'MEM GiB  s'))
    assert (clicked.sort, clicked.prefix) == (Sort('gpu_memory'), '')
    assert lines_of(state_with_hints('F6'))[-1] == menu
    # Without a last row, the menu covers the screen.
    assert lines_of(state_on('h100x8', 120, 30, 'o'))[-1] == menu


def test_narrow_sort_menu_takes_more_rows() -> None:
    state = state_on('h100x8', 60, 30, 'o')
    words = [words for _, words in state.keymap.next_keys(state.screen, state.prefix)]
    menu = lines_of(state)[-4:]
    assert all(any(each in line for line in menu) for each in words)
    low = lines_of(state_on('one', 40, 8, 'o'))
    assert low[-3].startswith('│ ')  # at most a third of the screen
    assert low[-2].startswith(' Sort by: ')
