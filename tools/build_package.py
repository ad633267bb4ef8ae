"""Build nvitop twice into dist/, and check that the archives are complete and reproducible."""

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

ROOT = pathlib.Path(__file__).parent.parent
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
    *(f'Classifier: Programming Language :: Python :: 3.{minor}' for minor in range(8, 14)),
)


class Failure(Exception):
    """A check of the archives failed."""


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


def check(built: list[pathlib.Path]) -> None:
    """Check both archives."""
    sdist, wheel = sorted(built, key=lambda path: path.suffix == '.whl')
    call(sys.executable, '-m', 'twine', 'check', '--strict', *map(str, built))
    call(sys.executable, '-m', 'check_wheel_contents', str(wheel))
    with tarfile.open(sdist) as archive:
        check_names(name.split('/', 1)[-1] for name in archive.getnames())
    check_wheel(wheel)


def main() -> int:
    """Build and check the archives."""
    try:
        check(build_twice())
    except Failure as error:
        print(f'FAILED: {error}')
        return 1
    print(f'Built and checked: {", ".join(sorted(path.name for path in DIST.iterdir()))}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
