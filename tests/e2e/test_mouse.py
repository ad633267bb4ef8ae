"""Mouse actions on each screen that supports them."""

from __future__ import annotations

import pytest

from nvitop.gui.model.choices import Screen
from tests.e2e.monitor import TITLES, Monitors

LEFT, MIDDLE, RIGHT = 0, 1, 2
UP, DOWN, TILT_LEFT, TILT_RIGHT = 64, 65, 66, 67
WITH_SHIFT, WITH_CTRL = 4, 16


@pytest.mark.parametrize('button', [LEFT, MIDDLE])
def test_click_on_a_row_selects_and_elsewhere_clears(monitors: Monitors, button: int) -> None:
    with monitors.lent() as monitor:
        for name in ('renderer', 'trainer'):
            monitor.click(30, monitor.row(name), button=button)
            monitor.wait_until_selected(name)
        monitor.wait(lambda: not monitor.has_reverse(monitor.row('renderer')))
        monitor.click(30, monitor.row(' CPU '), button=button)
        monitor.wait_for_cursor(None)


def test_right_click_asks_which_signal_to_send(monitors: Monitors) -> None:
    with monitors.lent() as monitor:
        monitor.click(30, monitor.row('renderer'), button=RIGHT)
        monitor.wait_for(r'\(\S+, GPU 1\) renderer --scene=castle')
        monitor.key('Esc')
        monitor.wait_until_gone('Cancel')


def test_wheel_moves_the_selection(monitors: Monitors) -> None:
    with monitors.lent() as monitor:
        count = len(monitor.rows_of_list())
        for button, expected in (
            (DOWN, 0),
            (DOWN, 1),
            (UP, 0),
            (DOWN | WITH_CTRL, count - 1),
            (UP | WITH_CTRL, 0),
        ):
            monitor.scroll(button)
            monitor.wait_for_cursor(expected)


def test_wheel_with_shift_and_tilted_wheel_scroll_commands(monitors: Monitors) -> None:
    def place() -> int:
        return monitor.lines[monitor.row('GPU-MEM')].find('COMMAND')

    def wait_for_place(x: int) -> None:
        monitor.wait(lambda: place() == x)

    with monitors.lent() as monitor:
        at = place()
        for button, moved in (
            (DOWN | WITH_SHIFT, 2),
            (TILT_RIGHT, 4),
            (TILT_LEFT, 2),
            (UP | WITH_SHIFT, 0),
            (DOWN | WITH_SHIFT | WITH_CTRL, 10),
            (UP | WITH_SHIFT | WITH_CTRL, 0),
        ):
            monitor.scroll(button)
            wait_for_place(at - moved)


@pytest.mark.parametrize('screen', [Screen.TREE, Screen.ENVIRON, Screen.COLUMNS])
def test_mouse_works_on_lists(monitors: Monitors, screen: Screen) -> None:
    with monitors.lent() as monitor:
        monitor.enter(screen)
        monitor.key('Home')
        monitor.wait_for_cursor(0)
        monitor.click(5, monitor.rows_of_list()[2])
        monitor.wait_for_cursor(2)
        monitor.scroll(UP)
        monitor.wait_for_cursor(1)
        monitor.scroll(DOWN | WITH_CTRL)
        last = len(monitor.rows_of_list()) - 1
        monitor.wait_for_cursor(min(6, last))
        if screen is Screen.TREE:
            monitor.click(5, monitor.emulator.screen.lines - 2)
            monitor.wait_for_cursor(None)
            monitor.select('trainer')


def test_wheel_scrolls_the_help(monitors: Monitors) -> None:
    with monitors.lent() as monitor:
        monitor.enter(Screen.HELP)
        for button, line in ((DOWN, 2), (DOWN | WITH_CTRL, 7), (UP, 6), (UP | WITH_CTRL, 1)):
            monitor.scroll(button)
            monitor.wait_for(f'Help: lines {line} to')


def test_dialog_buttons_can_be_clicked_and_the_wheel_cycles_them(monitors: Monitors) -> None:
    with monitors.lent() as monitor:
        monitor.select('server')
        monitor.press('T', 'Cancel')

        for button, name in ((DOWN, 'SIGKILL'), (UP, 'SIGTERM'), (UP, 'Cancel'), (UP, 'SIGINT')):
            monitor.scroll(button)
            monitor.wait_until_highlighted(name)
        monitor.click(1, 1)  # next to the dialog: no effect, as the next step shows
        monitor.scroll(DOWN)
        monitor.wait_until_highlighted('Cancel')
        y = monitor.row('Cancel')
        monitor.click(monitor.lines[y].index('Cancel') + 1, y)
        monitor.wait_until_gone('Cancel')
        monitor.wait_for(TITLES[Screen.MAIN])
        monitor.wait(lambda: monitor.row('server --port') > 0)
