"""Build nvitop twice, check the archives, and run the installed wheel on every Python.

Prints which Pythons passed, failed or are not installed. The exit status is 1 if anything failed.
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
#: Modification time of all files in the archives; any constant makes builds reproducible.
EPOCH = '1767225600'
SECONDS = 300

#: Patterns of the files that a wheel must contain in addition to the modules.
NEEDED = (
    r'nvitop/py\.typed',
    r'nvitop/simulation/scenarios/dgx-h100\.toml',
    r'nvitop-[^/]+\.dist-info/licenses/LICENSE',
    r'nvitop-[^/]+\.dist-info/licenses/COPYING',
    r'nvitop-[^/]+\.data/data/share/man/man1/nvitop\.1',
    r'nvitop-[^/]+\.data/data/share/man/man1/nvitop-exporter\.1',
    r'nvitop-[^/]+\.data/data/share/man/man1/nvitop-query\.1',
    r'nvitop-[^/]+\.data/data/share/man/man1/nvisel\.1',
    r'nvitop-[^/]+\.data/data/share/nvitop/grafana/nvitop\.json',
    r'nvitop-[^/]+\.data/data/share/nvitop/prometheus/nvitop-alerts\.yml',
    r'nvitop-[^/]+\.data/data/share/bash-completion/completions/nvitop',
    r'nvitop-[^/]+\.data/data/share/bash-completion/completions/nvisel',
    r'nvitop-[^/]+\.data/data/share/zsh/site-functions/_nvitop',
    r'nvitop-[^/]+\.data/data/share/zsh/site-functions/_nvisel',
    r'nvitop-[^/]+\.data/data/share/fish/vendor_completions\.d/nvitop\.fish',
    r'nvitop-[^/]+\.data/data/share/fish/vendor_completions\.d/nvisel\.fish',
)
#: Lines that its metadata must contain.
METADATA = (
    'License-Expression: Apache-2.0 AND GPL-3.0-only',
    'License-File: LICENSE',
    'License-File: COPYING',
    'Requires-Python: >=3.8',
    'Classifier: Development Status :: 4 - Beta',
    'Provides-Extra: exporter',
    'Provides-Extra: prometheus',
    *(f'Classifier: Programming Language :: Python :: {version}' for version in PYTHONS),
)
#: Commands to run with the installed wheel, and patterns of their output.
USES = (
    (('nvitop', '--version'), r'^nvitop \d+\.\d+'),
    (('nvitop', '--no-config', '--demo', '-1'), r'SIMULATED: dgx-h100(.|\n)*H100'),
    (('nvisel', '-n', '2'), r'^\d,\d$'),
    (('nvitop', 'query', '--gpu=index,name', '--format=csv'), r'^index, name\n0, NVIDIA H100'),
    (('python', '-W', 'error', '-m', 'nvitop', '-1', '--no-config'), r'driver \d'),
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
    """A check of the archives or of the installation failed."""


def call(*command: str, **variables: str) -> str:
    """Run a command and return its output; raise :class:`Failure` if it fails."""
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
    """Build the source distribution and, from it, the wheel, which proves that it is complete."""
    call(
        *(sys.executable, '-m', 'build', '--no-isolation', '--outdir', str(folder), str(ROOT)),
        SOURCE_DATE_EPOCH=EPOCH,
    )
    return sorted(folder.iterdir())


def digest(path: pathlib.Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def build_twice() -> list[pathlib.Path]:
    """Build into ``dist``; fail if a second build differs in any byte."""
    shutil.rmtree(DIST, ignore_errors=True)
    built = build(DIST)
    with tempfile.TemporaryDirectory() as folder:
        again = build(pathlib.Path(folder))
        if [(path.name, digest(path)) for path in built] != [
            (path.name, digest(path)) for path in again
        ]:
            raise Failure('two builds differ')
    return built


def check_names(names: Iterable[str]) -> None:
    """Fail if an archive contains tests or other files that only the repository needs."""
    for name in names:
        if re.search(r'(^|/)(tests?|tools|benchmarks|docs|examples|\.github|\.ci)(/|$)', name):
            raise Failure(f'{name} should not be shipped')


def check_wheel(wheel: pathlib.Path) -> None:
    """Fail if the wheel lacks a module, data file, license, man page or completion."""
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
    """Check both archives and return the wheel."""
    sdist, wheel = sorted(built, key=lambda path: path.suffix == '.whl')
    call(sys.executable, '-m', 'twine', 'check', '--strict', *map(str, built))
    call(sys.executable, '-m', 'check_wheel_contents', str(wheel))
    with tarfile.open(sdist) as archive:
        check_names(name.split('/', 1)[-1] for name in archive.getnames())
    check_wheel(wheel)
    return wheel


def install(venv: pathlib.Path, python: str, *requirements: str) -> None:
    """Create an environment that contains only these requirements."""
    made = subprocess.run(
        (python, '-m', 'venv', '--without-pip', str(venv)), stdout=subprocess.DEVNULL
    )
    if made.returncode:
        raise Failure(f'{python} cannot create a virtual environment')
    pip = (sys.executable, '-m', 'pip', '--disable-pip-version-check', '--quiet')
    binary = str(venv / 'bin' / 'python')
    call(*pip, '--python', binary, 'install', *requirements)
    call(*pip, '--python', binary, 'check')


def use(venv: pathlib.Path, home: pathlib.Path) -> None:
    """Run the installed programs outside the repository."""
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
    for page in ('nvitop.1', 'nvitop-exporter.1', 'nvitop-query.1', 'nvisel.1'):
        if not (venv / 'share' / 'man' / 'man1' / page).exists():
            raise Failure(f'{page} is not installed')


def try_out(name: str, python: str, *requirements: str) -> str:
    """Install and run nvitop; return ``name`` on failure, ``''`` on success."""
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
    """Build the archives, check them, and run the wheel on every Python."""
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
        print(f'NOT RUN (interpreter not installed): {", ".join(absent)}')
    if any(failed):
        print(f'FAILED: {", ".join(filter(None, failed))}')
    return 1 if any(failed) or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
