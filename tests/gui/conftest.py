"""A time zone in which clocks show the same everywhere."""

from __future__ import annotations

import os
import time
from typing import Iterator

import pytest

#: Where there are no such signals it cannot even be imported.
collect_ignore = [] if os.name == 'posix' else ['test_posix_input.py']


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local time is UTC."""
    with monkeypatch.context() as patch:
        patch.setenv('TZ', 'UTC')
        if hasattr(time, 'tzset'):
            time.tzset()
        yield
    if hasattr(time, 'tzset'):
        time.tzset()
