# SPDX-License-Identifier: GPL-3.0-only
"""The screens of the monitor."""

from __future__ import annotations

import enum


class Screen(enum.Enum):
    """What fills the terminal."""

    MAIN = 'main'
    TREE = 'tree'
    ENVIRON = 'environment'
    METRICS = 'metrics'
    HELP = 'help'
    PROBLEMS = 'problems'
    USERS = 'users'
    COLUMNS = 'columns'
