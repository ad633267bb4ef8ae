"""How long tests wait for what threads and other processes do: longer than any machine is busy."""

from __future__ import annotations

import time
from typing import Callable

#: Seconds after which what has not come never comes. Only a test that fails waits so long.
PATIENCE = 100.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that another thread or process does."""
    deadline = time.monotonic() + PATIENCE
    # Asked once more when it is too late: it may be this process that stood still.
    while not condition():
        assert time.monotonic() < deadline or condition(), what
        time.sleep(0.005)
