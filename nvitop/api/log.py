# SPDX-License-Identifier: Apache-2.0
"""Loggers that are made when there is something to log: most programs never need :mod:`logging`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    #: Gets a message and its arguments.
    Show = Callable[[str, tuple[object, ...]], None]

_show: Show | None = None


def show_warnings_by(show: Show | None) -> None:
    """Have warnings given to ``show`` instead of the loggers; ``None``: to the loggers again.

    Critical messages, which tell of what is raised as well, are then left out. It is for programs
    that say themselves what a user should know. With ``LOGLEVEL`` in the environment everything is
    logged as it comes.
    """
    global _show
    _show = None if os.environ.get('LOGLEVEL') else show


class Log:
    """The logger of a name, with the methods that are used here."""

    def __init__(self, name: str) -> None:
        """Nothing is imported for it."""
        self._name = name

    def logger(self) -> logging.Logger:
        """The logger itself."""
        import logging

        return logging.getLogger(self._name)

    def debug(self, message: str, *args: object) -> None:
        """Log what is interesting only to those who look for it."""
        # Who has neither imported logging nor set LOGLEVEL does not.
        if 'logging' in sys.modules or os.environ.get('LOGLEVEL'):
            self.logger().debug(message, *args)

    def warning(self, message: str, *args: object) -> None:
        """Log what a user should know."""
        if _show is not None:
            _show(message, args)
        else:
            self.logger().warning(message, *args)

    def critical(self, message: str, *args: object) -> None:
        """Log why nothing works. It is raised as well."""
        if _show is None:
            self.logger().critical(message, *args)
