"""Fixtures of the API tests."""

from __future__ import annotations

import math
import subprocess
from typing import Iterator

import psutil
import pytest

from nvitop import simulation
from nvitop.api import timing
from tests.api.fake_nvml import FakeLibrary, installed
from tests.api.machines import machine as make_machine
from tests.api.processes import running
from tests.waiting import wait_until


@pytest.fixture
def library() -> Iterator[FakeLibrary]:
    with installed(FakeLibrary()) as library:
        yield library


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    with make_machine() as machine:
        yield machine


@pytest.fixture
def no_slow_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no reading be repeated because it took long, as on a busy machine."""
    monkeypatch.setattr(timing, '_LONGEST_SECONDS', math.inf)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with running('cat') as process:
        yield process


@pytest.fixture
def zombie() -> Iterator[int]:
    with running('cat') as process:
        process.kill()
        wait_until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE, 'its end')
        yield process.pid


@pytest.fixture
def gone_pid() -> int:
    with running('cat') as process:
        pass
    return process.pid
