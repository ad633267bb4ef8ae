"""Create a virtual environment, even if the system's Python comes without ``ensurepip``."""

from __future__ import annotations

import pathlib
import subprocess
import sys

#: Debian and Ubuntu ship python3 without ensurepip until python3-venv is installed.
ADVICE = """\
Cannot create a virtual environment with {python}: it has neither ensurepip nor pip.
Install one of them (on Debian and Ubuntu: apt install python3-venv) and run make again.
"""


def has_module(name: str) -> bool:
    """Return whether the running Python can import the module."""
    return (
        subprocess.run(
            [sys.executable, '-c', f'import {name}'], stderr=subprocess.DEVNULL
        ).returncode
        == 0
    )


def make_venv(path: pathlib.Path) -> int:
    """Create the environment at ``path`` and return the exit status."""
    if has_module('venv') and has_module('ensurepip'):
        return subprocess.run([sys.executable, '-m', 'venv', str(path)]).returncode
    if not has_module('pip'):
        sys.stderr.write(ADVICE.format(python=sys.executable))
        return 1
    bootstrap = path.parent / '.venvs' / 'bootstrap'
    pip = [
        sys.executable,
        '-m',
        'pip',
        '--quiet',
        'install',
        '--target',
        str(bootstrap),
        'virtualenv',
    ]
    status = subprocess.run(pip).returncode
    if status:
        return status
    code = f'import sys; sys.path.insert(0, {str(bootstrap)!r}); import runpy; runpy.run_module("virtualenv", run_name="__main__")'
    return subprocess.run([sys.executable, '-c', code, str(path)]).returncode


if __name__ == '__main__':
    sys.exit(make_venv(pathlib.Path(sys.argv[1])))
