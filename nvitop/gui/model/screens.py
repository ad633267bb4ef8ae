# SPDX-License-Identifier: GPL-3.0-only
"""The names of the screens. ``gui.monitor_screens`` and ``gui.fleet.screens`` describe them."""

from __future__ import annotations

import enum


class Screen(enum.Enum):
    """Fills the terminal. The value is the name shown to people."""

    MAIN = 'main'
    TREE = 'tree'
    ENVIRON = 'environment'
    METRICS = 'metrics'
    HELP = 'help'
    PROBLEMS = 'problems'
    USERS = 'users'
    COLUMNS = 'columns'
    #: Only in the fleet, which has users, problems and help of its own.
    HOSTS = 'list of hosts'
    HEAT_MAP = 'heat map'
