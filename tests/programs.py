"""Python programs that tests run in a process of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Iterator

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).parent.parent


def run_program(
    *arguments: str, cwd: Path = ROOT, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with arguments; it can import nvitop and the tests."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'PYTHONIOENCODING': 'utf-8', **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding='utf-8',
        timeout=PATIENCE,
        check=False,
    )


def run_python(code: str, cwd: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    return run_program('-c', code, cwd=cwd, **environ)


@contextlib.contextmanager
def running_nvitop(*arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run nvitop inside the block; kill it if it still runs then."""
    command = [sys.executable, '-m', 'nvitop', *arguments]
    options = {'stderr': subprocess.PIPE, **options}
    with subprocess.Popen(command, cwd=ROOT, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def run_alone(
    *command: str, stdout: int | IO[str] = subprocess.PIPE, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env={
            'PATH': os.environ['PATH'],
            'HOME': '/',
            'PYTHONPATH': str(ROOT),
            'PYTHONIOENCODING': 'utf-8',
            'COLUMNS': '100',
            **environ,
        },
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding='utf-8',
        timeout=PATIENCE,
        check=False,
    )


@contextlib.contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Limit the size of files inside the block, as on a nearly full disk."""
    resource = pytest.importorskip('resource')
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
