"""A time zone in which clocks show the same everywhere."""

from __future__ import annotations

import time
from typing import Iterator

import pytest


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
