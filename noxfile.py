"""Run the tests in other environments: other Pythons, NVML bindings, and packages to compare with.

The targets of the Makefile call these sessions; ``nox --list`` lists them. A session whose Python is
not installed is skipped, and the summary at the end names it. Arguments after ``--`` go to pytest.
"""

from __future__ import annotations

import glob
import os
import pathlib
import platform
import re

import nox
from nox.command import CommandFailed

ROOT = pathlib.Path(__file__).parent
VENVS = ROOT / '.venvs'
OLDEST, *_, NEWEST = PYTHONS = ('3.8', '3.9', '3.10', '3.11', '3.12', '3.13')
#: NVML binding to test with a Python, one for each driver generation; the others use the newest binding.
BINDINGS = {'3.8': '11.450.51', '3.9': '11.525.150', '3.10': '12.535.133'}
#: Tests that depend on the binding, and on the Python between the oldest and the newest.
LIBRARY = 'not slow and (api or sampling)'
#: Packages to compare the compatibility modules with, on the same simulated machines.
PEERS = ('pynvml==13.0.1', 'igpu==0.1.2')
#: Released nvitop and its exporter. The exporter also runs on this nvitop, whose version it refuses.
RELEASED = ('nvitop==1.7.2', 'nvitop-exporter==1.7.2')
#: A process of pytest for each of up to four processors.
WORKERS = ('--numprocesses=logical', '--maxprocesses=4', '--dist=worksteal')
#: ``+cpu`` marks CPU builds. Without it pip may install several GB of CUDA libraries.
TORCH = 'torch==2.13.0+cpu'
FRAMEWORKS = ('keras>=3', 'lightning>=2', 'pandas>=2', 'pytorch-lightning>=2', 'tensorboard>=2')

nox.options.envdir = str(VENVS)
# virtualenv no longer supports Python 3.8.
nox.options.default_venv_backend = 'venv'
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False

# nox looks for pythonX.Y on the PATH, where pyenv has programs that fail unless a version is selected.
PYENV = os.environ.get('PYENV_ROOT', os.path.expanduser('~/.pyenv'))
os.environ['PATH'] = os.pathsep.join(
    [*sorted(glob.glob(f'{PYENV}/versions/3.*/bin'), reverse=True), os.environ['PATH']]
)


def install(session: nox.Session, *requirements: str) -> None:
    """Install nvitop, its test tools, and other requirements."""
    session.install('--editable', '.[test]', *requirements)


def run_tests(session: nox.Session, *arguments: str, **variables: str) -> None:
    """Run pytest with the arguments of the command line, or else with the given ones."""
    pytest = ['python', '-m', 'pytest', '-q', '-p', 'no:cacheprovider']
    if 'CI' in os.environ:  # see the Makefile
        pytest.append('--reruns=1')
    session.run(*pytest, *(session.posargs or arguments), env=variables)


def requirements(python: str) -> list[str]:
    """Return the binding to test with a Python, and for the oldest Python the oldest release of each dependency."""
    chosen = [f'nvidia-ml-py=={BINDINGS[python]}'] if python in BINDINGS else []
    if python == OLDEST:
        dependencies = nox.project.load_toml('pyproject.toml')['project']['dependencies']
        pairs = re.findall(r'^([\w-]+) >= ([\d.]+)', '\n'.join(dependencies), re.MULTILINE)
        chosen += [
            f'{name}=={version}'
            for name, version in pairs
            if name not in ('nvidia-ml-py', 'windows-curses')
        ]
    return chosen


def released_python() -> str:
    """Return the Python of the session with the released nvitop."""
    return str(VENVS / 'released' / 'bin' / 'python')


@nox.session(python=PYTHONS)
def pythons(session: nox.Session) -> None:
    """All tests on the oldest and newest Python, those of the library with older bindings on others."""
    tested = '.'.join(platform.python_version_tuple()[:2])  # by `make test`
    if session.python not in BINDINGS and session.python in ('3.11', '3.12', tested):
        session.skip('`make test` or `make test-package` run on it')
    install(session, *requirements(session.python))
    run_tests(session, *WORKERS, *(() if session.python in (OLDEST, NEWEST) else ('-m', LIBRARY)))


@nox.session
def released(session: nox.Session) -> None:
    """Install the released nvitop, with which other sessions compare."""
    session.install(*RELEASED)


@nox.session(requires=['released'])
def peers(session: nox.Session) -> None:
    """Compare with nvitop 1.7, pynvml.smi and igpu."""
    install(session, *PEERS)
    session.install('--no-deps', RELEASED[1])
    run_tests(
        session,
        *('tests/compat', 'tests/peers'),
        NVITOP_TEST_PEERS='1',  # a missing package is an error
        NVITOP_PEER=released_python(),
        PYTEST_ADDOPTS='-W ignore::FutureWarning',
    )


@nox.session(requires=['released'])
def exporter(session: nox.Session) -> None:
    """Scrape the exporter with Prometheus, if installed, and compare with nvitop-exporter 1.7."""
    install(session)
    tests = ('-s', 'tests/prometheus')
    run_tests(session, *tests, NVITOP_PROMETHEUS='1', NVITOP_PEER=released_python())


@nox.session
def callbacks(session: nox.Session) -> None:
    """Test callbacks and examples with Keras, Lightning and a CPU build of PyTorch."""
    try:
        session.install('--only-binary=torch', '--dry-run', '--no-deps', TORCH)
    except CommandFailed:
        session.skip(f'{TORCH} cannot be installed')
    # PyTorch is listed with the frameworks so that none of them chooses another build.
    install(session, TORCH, *FRAMEWORKS)
    run_tests(session, 'tests/callbacks', 'tests/test_examples.py', NVITOP_TEST_FRAMEWORKS='1')


@nox.session(python=PYTHONS)
def package(session: nox.Session) -> None:
    """Install the wheel in dist/ and run its programs; with the oldest dependencies on Python 3.8."""
    (wheel,) = (ROOT / 'dist').glob('*.whl')
    oldest = requirements(OLDEST) if session.python == OLDEST else []
    session.install('--force-reinstall', str(wheel), *oldest)
    session.run('python', '-m', 'pip', 'check')
    session.run('python', 'tools/use_package.py')
