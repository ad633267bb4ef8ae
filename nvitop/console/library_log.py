# SPDX-License-Identifier: Apache-2.0
"""Warnings of the library, for programs that report problems in their own words."""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Callable, Iterator

_LIBRARY = logging.getLogger('nvitop')


class _Handler(logging.Handler):
    def __init__(self, show: Callable[[str, str], None] | None) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        # Critical records repeat what is raised as an exception.
        if self._show is not None and record.levelno == logging.WARNING:
            self._show(record.getMessage(), getattr(record, 'kind', ''))


@contextlib.contextmanager
def library_warnings(show: Callable[[str, str], None] | None = None) -> Iterator[None]:
    """Keep log records of the library off stderr, and pass warnings to ``show``.

    With ``LOGLEVEL`` in the environment, everything is logged as usual instead.

    Args:
        show: Gets the text of each warning and its kind: ``'missing function'``,
            ``'impossible processes'``, or ``''``.
    """
    if os.environ.get('LOGLEVEL'):
        yield
        return
    handler = _Handler(show)
    propagate = _LIBRARY.propagate
    _LIBRARY.addHandler(handler)
    _LIBRARY.propagate = False
    try:
        yield
    finally:
        _LIBRARY.removeHandler(handler)
        _LIBRARY.propagate = propagate
