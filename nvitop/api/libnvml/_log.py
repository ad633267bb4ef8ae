# SPDX-License-Identifier: Apache-2.0
"""The logger of NVML, with the level from the environment variable ``LOGLEVEL``."""

from __future__ import annotations

import logging
import os
import sys

LOGGER = logging.getLogger('nvitop.api.libnvml')

# Kinds of warnings: the attribute ``kind`` of their log records.
MISSING_FUNCTION = 'missing function'
IMPOSSIBLE_PROCESSES = 'impossible processes'


class _StderrHandler(logging.Handler):
    """Write records to stderr until the program configures logging."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            sys.stderr.write(f'{self.format(record)}\n')


def parse_level(name: str | None) -> int:
    """Return the logging level with this name in any case, WARNING if there is none."""
    level = logging.getLevelName((name or '').strip().upper())
    return level if isinstance(level, int) else logging.WARNING


def _configure(level: int) -> None:
    if LOGGER.level != logging.NOTSET:  # by the program, before it imported nvitop
        return
    LOGGER.setLevel(level)
    if level < logging.WARNING:  # Python's handler of last resort drops these
        handler = _StderrHandler()
        handler.setFormatter(logging.Formatter('[%(levelname)s] %(name)s: %(message)s'))
        LOGGER.addHandler(handler)


_configure(parse_level(os.environ.get('LOGLEVEL')))
