"""Programs with type annotations pass ``mypy --strict`` and run."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from tests import typed_client
from tests.api.machines import machine
from tests.waiting import PATIENCE

ROOT = pathlib.Path(__file__).parent.parent


def test_typed_client_runs() -> None:
    with machine(clock=lambda: 0.0):
        typed_client.main()


@pytest.mark.slow
def test_typed_client_is_free_of_type_errors_without_stubs(tmp_path: pathlib.Path) -> None:
    """``make lint`` checks it with the stubs of psutil."""
    pytest.importorskip('mypy')
    command = [sys.executable, '-m', 'mypy', '--strict', '--config-file=', '--no-site-packages']
    command += ['--follow-imports=silent', f'--cache-dir={tmp_path}', 'tests/typed_client.py']
    result = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE
    )
    assert result.returncode == 0, result.stdout.decode()
