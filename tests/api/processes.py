"""Processes and devices for the tests of processes."""

from __future__ import annotations

import contextlib
import subprocess
from typing import Any, Iterator

import psutil
import pytest

from nvitop.api.process import GpuProcess
from nvitop.basics.units import GiB

linux_only = pytest.mark.skipif(not psutil.LINUX, reason='reads /proc')


class FakeDevice:
    def __init__(self, index: int = 0, total: Any = 80 * GiB) -> None:
        self.index = index
        self.total = total
        self.listed: dict[int, GpuProcess] = {}

    def memory_total(self) -> Any:
        return self.total

    def processes(self) -> dict[int, GpuProcess]:
        return self.listed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FakeDevice) and other.index == self.index

    def __hash__(self) -> int:
        return hash(self.index)


@contextlib.contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that echoes lines; it is running when the block begins."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(b'\n')
        child.stdin.flush()
        assert child.stdout.readline() == b'\n'
        yield child
    finally:
        child.kill()
        child.communicate()
