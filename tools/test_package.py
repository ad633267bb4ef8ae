"""Build nvitop twice, check what was built, and use it as its users do: installed, on every Python.

Says loudly on which Pythons it ran and which were not at hand; fails when anything fails.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from typing import Iterable

from test_matrix import PYTHONS, ROOT, find_python, oldest_requirements

DIST = ROOT / 'dist'
#: The moment that is written into the archives; any will do, so long as it does not pass.
EPOCH = '1767225600'
SECONDS = 300

#: What must be in a wheel beside the modules, as patterns of its names.
NEEDED = (
    r'nvitop/py\.typed',
    r'nvitop/query/schema\.json',
    r'nvitop/simulation/scenarios/dgx-h100\.toml',
    r'nvitop-[^/]+\.dist-info/licenses/LICENSE',
    r'nvitop-[^/]+\.dist-info/licenses/COPYING',
    r'nvitop-[^/]+\.data/data/share/man/man1/nvitop\.1',
    r'nvitop-[^/]+\.data/data/share/man/man1/nvisel\.1',
    r'nvitop-[^/]+\.data/data/share/bash-completion/completions/nvitop',
    r'nvitop-[^/]+\.data/data/share/bash-completion/completions/nvisel',
    r'nvitop-[^/]+\.data/data/share/zsh/site-functions/_nvitop',
    r'nvitop-[^/]+\.data/data/share/zsh/site-functions/_nvisel',
    r'nvitop-[^/]+\.data/data/share/fish/vendor_completions\.d/nvitop\.fish',
    r'nvitop-[^/]+\.data/data/share/fish/vendor_completions\.d/nvisel\.fish',
)
#: What must be in its metadata.
METADATA = (
    'License-Expression: Apache-2.0 AND GPL-3.0-only',
    'License-File: LICENSE',
    'License-File: COPYING',
    'Requires-Python: >=3.8',
    *(f'Classifier: Programming Language :: Python :: {version}' for version in PYTHONS),
)
#: What is run where nvitop is installed, and what must be in the answer.
USES = (
    (('nvitop', '--version'), r'^nvitop \d+\.\d+'),
    (('nvitop', '--no-config', '--demo', '-1'), r'SIMULATED: dgx-h100(.|\n)*H100'),
    (('nvisel', '-n', '2'), r'^\d,\d$'),
    (('nvitop', 'query', '--gpu=index,name', '--format=csv'), r'^index, name\n0, NVIDIA H100'),
    (('python', '-W', 'error', '-m', 'nvitop', '-1', '--no-config'), r'Driver Version'),
    (
        (
            'python',
            '-W',
            'error',
            '-c',
            'from nvitop import Device; print(Device(0).name(), Device(0).memory_used_human())',
        ),
        r'H100.* \d.*iB',
    ),
)


class Failure(Exception):
    """Something is wrong with what was built."""


def call(*command: str, **variables: str) -> str:
    """What a command writes; :class:`Failure` where it fails."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
    )
    text = done.stdout.decode('utf-8', 'replace')
    if done.returncode:
        raise Failure(f'{" ".join(command)}: status {done.returncode}\n{text}')
    return text


def build(folder: pathlib.Path) -> list[pathlib.Path]:
    """Build the source distribution, and the wheel out of it: so it is known to be complete."""
    call(
        *(sys.executable, '-m', 'build', '--no-isolation', '--outdir', str(folder), str(ROOT)),
        SOURCE_DATE_EPOCH=EPOCH,
    )
    return sorted(folder.iterdir())


def digest(path: pathlib.Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def build_twice() -> list[pathlib.Path]:
    """Build into dist/, and see that building again makes the same bytes."""
    shutil.rmtree(DIST, ignore_errors=True)
    built = build(DIST)
    with tempfile.TemporaryDirectory() as folder:
        again = build(pathlib.Path(folder))
        if [(path.name, digest(path)) for path in built] != [
            (path.name, digest(path)) for path in again
        ]:
            raise Failure('building twice does not make the same bytes')
    return built


def check_names(names: Iterable[str]) -> None:
    """No archive has tests or what else is of the repository alone."""
    for name in names:
        if re.search(r'(^|/)(tests?|tools|benchmarks|docs|examples|\.github|\.ci)(/|$)', name):
            raise Failure(f'{name} should not be shipped')


def check_wheel(wheel: pathlib.Path) -> None:
    """The wheel has what it needs: every module, data, licences, pages, completions."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith('.dist-info/METADATA'))
        text = archive.read(metadata).decode('utf-8')
    check_names(names)
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / 'nvitop').rglob('*.py')}
    missing = sorted(modules - set(names))
    missing += [need for need in NEEDED if not any(re.fullmatch(need, name) for name in names)]
    missing += [line for line in METADATA if line not in text.splitlines()]
    if missing:
        raise Failure(f'{wheel.name} lacks {", ".join(missing)}')


def check(built: list[pathlib.Path]) -> pathlib.Path:
    """Check both archives; the wheel."""
    sdist, wheel = sorted(built, key=lambda path: path.suffix == '.whl')
    call(sys.executable, '-m', 'twine', 'check', '--strict', *map(str, built))
    call(sys.executable, '-m', 'check_wheel_contents', str(wheel))
    with tarfile.open(sdist) as archive:
        check_names(name.split('/', 1)[-1] for name in archive.getnames())
    check_wheel(wheel)
    return wheel


def install(venv: pathlib.Path, python: str, *requirements: str) -> None:
    """Make an environment with nothing but these in it."""
    made = subprocess.run(
        (python, '-m', 'venv', '--without-pip', str(venv)), stdout=subprocess.DEVNULL
    )
    if made.returncode:
        raise Failure(f'{python} cannot make a virtual environment')
    pip = (sys.executable, '-m', 'pip', '--disable-pip-version-check', '--quiet')
    binary = str(venv / 'bin' / 'python')
    call(*pip, '--python', binary, 'install', *requirements)
    call(*pip, '--python', binary, 'check')


def use(venv: pathlib.Path, home: pathlib.Path) -> None:
    """Run what is installed, far from the repository."""
    variables = {
        'PATH': f'{venv / "bin"}:{os.defpath}',
        'HOME': str(home),
        'LC_ALL': 'C.UTF-8',
        'NVITOP_DEMO': 'dgx-h100',
    }
    for command, pattern in USES:
        program = str(venv / 'bin' / command[0])
        done = subprocess.run(
            (program, *command[1:]),
            cwd=home,
            env=variables,
            capture_output=True,
            timeout=SECONDS,
        )
        text = done.stdout.decode('utf-8')
        if done.returncode or not re.search(pattern, text, re.MULTILINE):
            errors = done.stderr.decode('utf-8', 'replace')
            raise Failure(f'{" ".join(command)}: status {done.returncode}\n{text}\n{errors}')
    for page in ('nvitop.1', 'nvisel.1'):
        if not (venv / 'share' / 'man' / 'man1' / page).exists():
            raise Failure(f'{page} is not installed')


def try_out(name: str, python: str, *requirements: str) -> str:
    """Install and use; what went wrong, ``''``: nothing."""
    print(f'=== {name} ===', flush=True)
    with tempfile.TemporaryDirectory(prefix='nvitop-') as folder:
        home = pathlib.Path(folder, 'home')
        home.mkdir()
        try:
            install(pathlib.Path(folder, 'venv'), python, *requirements)
            use(pathlib.Path(folder, 'venv'), home)
        except (Failure, subprocess.TimeoutExpired) as error:
            print(error, flush=True)
            return name
    return ''


def main() -> int:
    """Build, check, and try out on every Python."""
    try:
        wheel = str(check(build_twice()))
    except Failure as error:
        print(f'FAILED: {error}')
        return 1
    if '--build' in sys.argv[1:]:
        print(f'Built and checked: {", ".join(sorted(path.name for path in DIST.iterdir()))}')
        return 0
    rows = [(f'python-{version}', find_python(version), [wheel]) for version in PYTHONS]
    oldest = [wheel, 'nvidia-ml-py==11.450.51', *oldest_requirements()]
    rows.append(('oldest-dependencies', find_python('3.8'), oldest))
    failed = [try_out(name, python, *needs) for name, python, needs in rows if python]
    passed = [name for name, python, _ in rows if python and name not in failed]
    absent = [name for name, python, _ in rows if python is None]
    print(f'\nInstalled from the wheel and used: {", ".join(passed) or "none"}')
    if absent:
        print(f'NOT RUN, no interpreter at hand: {", ".join(absent)}')
    if any(failed):
        print(f'FAILED: {", ".join(filter(None, failed))}')
    return 1 if any(failed) or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
