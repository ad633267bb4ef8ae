# SPDX-License-Identifier: Apache-2.0
"""Log records of the library. Only the first one imports :mod:`logging`, which takes 4 ms."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import TYPE_CHECKING, Any, Callable, Iterator

if TYPE_CHECKING:
    import logging

# Kinds of warnings: the attribute ``kind`` of their log records.
MISSING_FUNCTION = 'missing function'
IMPOSSIBLE_PROCESSES = 'impossible processes'
UNKNOWN_ORDER = 'unknown order'

#: Gets the text and kind of warnings; nothing is logged then.
_receiver: Callable[[str, str], None] | None = None


def warn(message: str, *arguments: object, kind: str = '') -> None:
    """Log a warning, or give it to the receiver of warnings."""
    if _receiver is None:
        logger().warning(message, *arguments, extra={'kind': kind}, stacklevel=2)
    else:
        _receiver(message % arguments if arguments else message, kind)


def critical(message: str, *arguments: object) -> None:
    """Log a message that repeats what is raised as an exception."""
    if _receiver is None:
        logger().critical(message, *arguments, stacklevel=2)


def debug(message: str, *arguments: object) -> None:
    # Without `logging`, the program has asked for no messages.
    if _receiver is None and ('logging' in sys.modules or 'LOGLEVEL' in os.environ):
        logger().debug(message, *arguments, stacklevel=2)


@contextlib.contextmanager
def warnings_to(receiver: Callable[[str, str], None]) -> Iterator[None]:
    """Give warnings to a program that reports problems in its own words, and log nothing.

    With ``LOGLEVEL`` in the environment, everything is logged as usual instead.

    Args:
        receiver: Gets the text of each warning and its kind: :data:`MISSING_FUNCTION`,
            :data:`IMPOSSIBLE_PROCESSES`, :data:`UNKNOWN_ORDER`, or ``''``.
    """
    global _receiver
    previous = _receiver
    _receiver = None if os.environ.get('LOGLEVEL') else receiver
    try:
        yield
    finally:
        _receiver = previous


@functools.lru_cache(maxsize=None)
def logger() -> logging.Logger:
    """Return the logger, with the level that ``LOGLEVEL`` names in any case; otherwise WARNING."""
    import logging

    result = logging.getLogger('nvitop.api.libnvml')
    if result.level == logging.NOTSET:  # otherwise the program has set it
        level: Any = logging.getLevelName(os.environ.get('LOGLEVEL', '').strip().upper())
        result.setLevel(level if isinstance(level, int) else logging.WARNING)
        if result.level < logging.WARNING:  # Python's handler of last resort drops these
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter('[%(levelname)s] %(name)s: %(message)s'))
            # Write to stderr only until the program configures logging.
            handler.addFilter(lambda _: not logging.getLogger().handlers)
            result.addHandler(handler)
    return result
