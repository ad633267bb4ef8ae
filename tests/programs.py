"""Python programs that tests run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent


def run_python(code: str, cwd: Path = ROOT, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program that can import nvitop and the tests."""
    return subprocess.run(
        [sys.executable, '-c', code],
        cwd=cwd,
        env={**os.environ, 'PYTHONPATH': str(ROOT), **environ},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
