"""Run the tests of callbacks and examples with real frameworks, in a separate environment.

Only a CPU build of PyTorch is installed. If pip finds none for the installed Pythons, nothing is
installed, and the last line starts with ``NOT RUN``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from test_matrix import ROOT, VENVS, find_python

VENV = VENVS / 'callbacks'
BINARY = str(VENV / 'bin' / 'python')
PYTHONS = ('3.11', '3.12', '3.13', '3.10')
#: ``+cpu`` marks CPU builds. Without it pip may install several GB of CUDA libraries.
TORCH = 'torch==2.13.0+cpu'
FRAMEWORKS = (
    'keras >= 3',
    'lightning >= 2',
    'pandas >= 2',
    'pytorch-lightning >= 2',
    'tensorboard >= 2',
)
#: Time limits for searching PyTorch and for installing everything.
SEARCH_SECONDS, INSTALL_SECONDS = 300, 1500
PIP = ('-m', 'pip', '-qq', '--disable-pip-version-check', '--timeout', '30', '--retries', '2')


def call(*command: str, seconds: float) -> bool:
    """Run a command; return whether it succeeds within the time limit."""
    try:
        return subprocess.run(command, cwd=ROOT, timeout=seconds).returncode == 0
    except subprocess.TimeoutExpired:
        print(f'Timed out after {seconds:g} s: {" ".join(command)}', flush=True)
        return False


def has_torch(python: str) -> bool:
    """Return whether pip finds the CPU build for an interpreter; install nothing."""
    options = ('--dry-run', '--no-deps', '--ignore-installed', '--only-binary=:all:')
    pip = (sys.executable, *PIP, '--python', python, 'install', *options)
    return call(*pip, TORCH, seconds=SEARCH_SECONDS)


def make_environment(python: str) -> bool:
    """Create the environment; return whether everything could be installed."""
    if not os.path.exists(BINARY):
        shutil.rmtree(VENV, ignore_errors=True)
        made = call(python, 'tools/make_venv.py', str(VENV), seconds=SEARCH_SECONDS)
        if not made:
            return False
    # PyTorch is listed with the frameworks so that none of them chooses another build.
    everything = ('--editable', '.[test]', TORCH, *FRAMEWORKS)
    return call(BINARY, *PIP, 'install', *everything, seconds=INSTALL_SECONDS)


def main() -> int:
    """Run the tests with the first Python that has a CPU build."""
    print('\n=== callbacks ===', flush=True)
    pythons = filter(None, map(find_python, PYTHONS))
    python = next(filter(has_torch, pythons), None)
    if python is None or not make_environment(python):
        print(f'\nNOT RUN: callbacks ({TORCH} or a framework cannot be installed)')
        return 0
    arguments = sys.argv[1:] or ['tests/callbacks', 'tests/test_examples.py']
    command = [BINARY, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *arguments]
    environment = {**os.environ, 'NVITOP_TEST_FRAMEWORKS': '1'}
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == '__main__':
    sys.exit(main())
