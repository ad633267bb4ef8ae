"""Running the programs in examples/ on simulated machines."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from tests.programs import ROOT, run_program

EXAMPLES = ROOT / 'examples'

#: Example → packages that it needs in addition to nvitop.
NEEDS = {
    'collector_to_tensorboard': ('torch', 'tensorboard'),
    'keras_training': ('keras', 'torch'),
    'lightning_training': ('lightning', 'tensorboard'),
    'query_to_pandas': ('pandas',),
}


def run(
    name: str, *arguments: str, folder: Path, scenario: str = 'workstation', **environ: str
) -> str:
    """Run an example and return its output; skip it without its packages, except in test-callbacks."""
    missing = [need for need in NEEDS.get(name, ()) if importlib.util.find_spec(need) is None]
    if missing and not os.environ.get('NVITOP_TEST_FRAMEWORKS'):
        pytest.skip(f'NOT RUN: needs {", ".join(missing)}; see make test-callbacks')
    done = run_program(
        str(EXAMPLES / f'{name}.py'), *arguments, cwd=folder, NVITOP_DEMO=scenario, **environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
