"""Run the tests in other environments: other Pythons, NVML bindings, and packages to compare with.

The targets of the Makefile call these sessions; ``nox --list`` lists them. A session whose Python is
not installed is skipped, and the summary at the end names it. Arguments after ``--`` go to pytest.
"""

from __future__ import annotations

import glob
import os
import pathlib
import re
import sys

import nox
from nox.command import CommandFailed

ROOT = pathlib.Path(__file__).parent
VENVS = ROOT / '.venvs'
OLDEST, *MIDDLE, NEWEST = PYTHONS = ('3.8', '3.9', '3.10', '3.11', '3.12', '3.13')
#: Bindings to test, one for each driver generation between the oldest and that of `make test`.
BINDINGS = ('11.525.150', '12.535.133')
OLDEST_BINDING = '11.450.51'
#: Tests of the library, which depend most on the version of Python and on the binding.
LIBRARY = 'not slow and (api or collector or compat or query or sampling or simulation)'
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
    pytest = ('python', '-m', 'pytest', '-q', '-p', 'no:cacheprovider')
    session.run(*pytest, *(session.posargs or arguments), env=variables)


def oldest_requirements() -> list[str]:
    """Return the oldest release of each dependency that the metadata allows."""
    dependencies = nox.project.load_toml('pyproject.toml')['project']['dependencies']
    pairs = re.findall(r'^([\w-]+) >= ([\d.]+)', '\n'.join(dependencies), re.MULTILINE)
    skip = {'nvidia-ml-py', 'windows-curses'}
    oldest = [f'{name}=={version}' for name, version in pairs if name not in skip]
    return [f'nvidia-ml-py=={OLDEST_BINDING}', *oldest]


def released_python() -> str:
    """Return the Python of the session with the released nvitop."""
    return str(VENVS / 'released' / 'bin' / 'python')


@nox.session(python=[*MIDDLE, NEWEST])
def pythons(session: nox.Session) -> None:
    """All tests on the newest Python, and those of the library on the others."""
    if session.python == f'{sys.version_info[0]}.{sys.version_info[1]}':
        session.skip('same Python as `make test`')
    install(session)
    run_tests(session, *WORKERS, *(('-m', LIBRARY) if session.python != NEWEST else ()))


@nox.session(python=OLDEST)
def oldest(session: nox.Session) -> None:
    """All tests with the oldest Python, dependencies and binding."""
    install(session, *oldest_requirements())
    run_tests(session, *WORKERS)


@nox.session
@nox.parametrize('binding', BINDINGS)
def bindings(session: nox.Session, binding: str) -> None:
    """Tests of the library with older NVML bindings."""
    install(session, f'nvidia-ml-py=={binding}')
    run_tests(session, *WORKERS, '-m', LIBRARY)


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
    requirements = oldest_requirements() if session.python == OLDEST else []
    session.install('--force-reinstall', str(wheel), *requirements)
    session.run('python', '-m', 'pip', 'check')
    session.run('python', 'tools/use_package.py')
