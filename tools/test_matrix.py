"""Run the tests in other environments: other Pythons, NVML bindings and oldest dependencies, peers.

Prints which environments passed, failed, are not available, or are the one of ``make test``. The exit
status is 1 if one failed or none passed.
"""

from __future__ import annotations

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parent.parent
VENVS = ROOT / '.venvs'
#: Python 3.8 runs all tests with the oldest dependencies.
PYTHONS = ('3.9', '3.10', '3.11', '3.12', '3.13')
#: Tests that only the Python of `make test` and the oldest one with the oldest dependencies run.
SLOWEST = (
    'e2e', 'packaging', 'faults', 'fuzz', 'gui', 'platforms', 'test_documents.py', 'test_examples.py',
    'test_reference.py', 'test_soak.py',
)  # fmt: skip
#: Bindings to test, one for each driver generation between the oldest and the newest.
BINDINGS = ('11.525.150', '12.535.133')
#: The oldest binding, with the oldest dependencies.
OLDEST_BINDING = '11.450.51'
#: Tests that do not depend on the NVML binding: drawing, documents, files and packaging.
NOT_OF_BINDINGS = (
    'callbacks', 'console', 'e2e', 'packaging', 'exporter', 'faults', 'fleet', 'fuzz', 'gui', 'owner',
    'platforms', 'recording', 'test_architecture.py', 'test_cli.py', 'test_documents.py',
    'test_examples.py', 'test_reference.py', 'test_soak.py', 'test_windows.py',
)  # fmt: skip

#: Packages to compare the compatibility modules with, on the same simulated machines.
PEERS = ('pynvml==13.0.1', 'igpu==0.1.2')
#: Released nvitop and its exporter. The exporter also runs on this nvitop, whose version it refuses.
RELEASED = ('nvitop==1.7.2', 'nvitop-exporter==1.7.2')


class Environment(NamedTuple):
    """An environment for a test run."""

    name: str
    #: Path of the interpreter, ``None`` if it is not installed.
    python: str | None
    #: Requirements in addition to nvitop and its test tools.
    requirements: list[str]
    #: Names in ``tests`` to ignore.
    ignored: tuple[str, ...] = ()


def find_python(version: str) -> str | None:
    """Find an interpreter of that version on the PATH or in pyenv."""
    found = shutil.which(f'python{version}')
    candidates = [found] if found else []
    root = os.environ.get('PYENV_ROOT', os.path.expanduser('~/.pyenv'))
    candidates += sorted(glob.glob(f'{root}/versions/{version}.*/bin/python'), reverse=True)
    for candidate in candidates:
        # A pyenv shim is on the PATH but fails when its version is not selected.
        probe = [candidate, '-c', 'import sys; print("%d.%d" % sys.version_info[:2])']
        if subprocess.run(probe, capture_output=True, text=True).stdout.strip() == version:
            return candidate
    return None


def oldest_requirements() -> list[str]:
    """Return the oldest release of each dependency that the metadata allows."""
    text = (ROOT / 'pyproject.toml').read_text(encoding='utf-8')
    block = re.search(r'^dependencies = \[(.*?)^\]', text, re.DOTALL | re.MULTILINE)
    assert block is not None
    pairs = re.findall(r'"([\w-]+) >= ([\d.]+)[^"]*"', block.group(1))
    assert pairs
    skip = {'nvidia-ml-py', 'windows-curses'}
    return [f'{name}=={version}' for name, version in pairs if name not in skip]


def is_default(name: str) -> bool:
    """Return whether ``make test`` already runs this environment."""
    if name == f'python-{sys.version_info[0]}.{sys.version_info[1]}':
        return True
    if name != 'binding-newest':
        return False
    command = [sys.executable, '-m', 'pip', 'install', '--dry-run', '--upgrade', 'nvidia-ml-py']
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return done.returncode == 0 and 'Would install' not in done.stdout


def make_environment(name: str, python: str, requirements: list[str]) -> bool:
    """Create or update the environment; return whether that succeeded."""
    venv = VENVS / name
    binary = venv / 'bin' / 'python'
    print(f'\n=== {name} ===', flush=True)
    if not binary.exists():
        subprocess.run([python, str(ROOT / 'tools' / 'make_venv.py'), str(venv)], check=True)
    pip = [str(binary), '-m', 'pip', '--quiet', '--disable-pip-version-check', 'install']
    command = [*pip, '--editable', f'{ROOT}[test]', *requirements]
    if subprocess.run(command).returncode:
        return False
    if name in ('peers', 'exporter'):
        install_released(name)
    return True


def install_released(name: str) -> None:
    """Install the released nvitop in an environment of its own, and its exporter also with this one."""
    released = VENVS / 'released' / 'bin' / 'python'
    if not released.exists():
        subprocess.run(
            [sys.executable, str(ROOT / 'tools' / 'make_venv.py'), str(released.parents[1])],
            check=True,
        )
    install = ['-m', 'pip', '--quiet', '--disable-pip-version-check', 'install']
    subprocess.run([str(released), *install, *RELEASED], check=True)
    ours = VENVS / name / 'bin' / 'python'
    if name == 'peers':
        subprocess.run([str(ours), *install, '--no-deps', RELEASED[1]], check=True)
    os.environ['NVITOP_PEER'] = str(released)


def run_tests(name: str, arguments: list[str]) -> bool:
    """Run the tests in an environment; return whether they passed."""
    binary = VENVS / name / 'bin' / 'python'
    command = [str(binary), '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *arguments]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def environments(what: str) -> list[Environment]:
    """Return the environments of one kind."""
    if what == 'peers':
        return [Environment('peers', sys.executable, list(PEERS))]
    if what == 'exporter':
        return [Environment('exporter', sys.executable, [])]
    if what == 'pythons':
        return [
            Environment(f'python-{version}', find_python(version), [], SLOWEST)
            for version in PYTHONS
        ]
    bindings = {binding: [f'nvidia-ml-py=={binding}'] for binding in BINDINGS}
    bindings['newest'] = ['--upgrade', 'nvidia-ml-py']
    found = [
        Environment(f'binding-{name}', sys.executable, requirements, NOT_OF_BINDINGS)
        for name, requirements in bindings.items()
    ]
    oldest_python = find_python('3.8') or sys.executable
    oldest = [f'nvidia-ml-py=={OLDEST_BINDING}', *oldest_requirements()]
    return [*found, Environment('oldest-dependencies', oldest_python, oldest)]


def main() -> int:
    """Run the environments of one kind: ``pythons``, ``bindings``, ``peers`` or ``exporter``."""
    what, *arguments = sys.argv[1:]
    if what == 'peers':
        os.environ['NVITOP_TEST_PEERS'] = '1'  # a missing package is an error
        arguments = ['-W', 'ignore::FutureWarning', *(arguments or ['tests/compat', 'tests/peers'])]
    if what == 'exporter':
        os.environ['NVITOP_PROMETHEUS'] = '1'
        arguments = arguments or ['-s', 'tests/exporter', 'tests/prometheus']
    passed: list[str] = []
    failed: list[str] = []
    absent: list[str] = []
    default: list[str] = []
    for name, python, requirements, ignored in environments(what):
        named = arguments or [f'--ignore={ROOT / "tests" / each}' for each in ignored]
        if python is None:
            absent.append(name)
        elif is_default(name):
            default.append(name)
        elif make_environment(name, python, requirements) and run_tests(name, named):
            passed.append(name)
        else:
            failed.append(name)
    print(f'\nRan and passed: {", ".join(passed) or "none"}')
    if default:
        print(f'NOT RUN AGAIN (same as `make test`): {", ".join(default)}')
    if absent:
        print(f'NOT RUN (interpreter not installed): {", ".join(absent)}')
    if failed:
        print(f'FAILED: {", ".join(failed)}')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
