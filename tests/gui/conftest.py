"""Fixtures: a fixed time zone, and a child process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Iterator

import pytest

#: This file imports POSIX signals.
collect_ignore = [] if os.name == 'posix' else ['test_posix_input.py']


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv('TZ', 'UTC')
        if hasattr(time, 'tzset'):
            time.tzset()
        yield
    if hasattr(time, 'tzset'):
        time.tzset()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    environment = {'B_LAST': '2', 'A_FIRST': 'one\nline'}
    with subprocess.Popen(
        [sys.executable, '-S', '-c', 'print(flush=True); input()'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()
