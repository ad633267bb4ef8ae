# SPDX-License-Identifier: Apache-2.0
"""The logger of NVML's door, its level from the environment variable ``LOGLEVEL``."""

from __future__ import annotations

import logging
import os
import sys

#: Silent below WARNING unless ``LOGLEVEL`` says otherwise. Nothing is ever written to a file.
LOGGER = logging.getLogger('nvitop.api.libnvml')


class _StandardError(logging.Handler):
    """Writes to standard error as long as nobody has configured logging."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            sys.stderr.write(self.format(record) + '\n')


def set_level(name: str | None) -> None:
    """Set the level by its name; anything that is no level means WARNING."""
    level = logging.getLevelName((name or '').strip().upper())
    is_level = isinstance(level, int)
    LOGGER.setLevel(level if is_level else logging.WARNING)
    # Python's handler of last resort drops what is below WARNING.
    if is_level and level < logging.WARNING and not LOGGER.handlers:
        handler = _StandardError()
        handler.setFormatter(logging.Formatter('[%(levelname)s] %(name)s: %(message)s'))
        LOGGER.addHandler(handler)


# This module is imported late: a level that the program has set by then stays.
if LOGGER.level == logging.NOTSET:
    set_level(os.environ.get('LOGLEVEL'))
