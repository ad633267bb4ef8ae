"""The mouse in a terminal. ``tests/gui`` tests what it does on each screen."""

from __future__ import annotations

from tests.e2e.monitor import Monitors

RIGHT = 2
UP, DOWN = 64, 65


def test_clicks_and_the_wheel_reach_the_monitor(monitors: Monitors) -> None:
    with monitors.lent() as monitor:
        monitor.click(30, monitor.row('renderer'))
        monitor.wait_until_selected('renderer')
        monitor.scroll(UP, y=monitor.row('renderer'))
        monitor.wait_for_cursor(0)
        monitor.scroll(DOWN, y=monitor.row('trainer'))
        monitor.wait_until_selected('renderer')
        monitor.click(30, monitor.row('renderer'), button=RIGHT)
        monitor.wait_for(r'\(\S+, GPU 1\) renderer --scene=castle')
        monitor.key('Esc')
        monitor.wait_until_gone('Send a signal')
