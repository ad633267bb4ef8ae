"""Run the programs of an installed wheel outside the repository: ``.../bin/python tools/use_package.py``."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

SECONDS = 300
#: Commands to run with the installed wheel, and patterns of their output.
USES = (
    (('nvitop', '--version'), r'^nvitop \d+\.\d+'),
    (('nvitop', '--no-config', '--demo', '-1'), r'\[SIM(.|\n)*H100'),
    (('nvisel', '-n', '2'), r'^\d,\d$'),
    (('nvitop', 'query', '--gpu=index,name', '--format=csv'), r'^index, name\n0, NVIDIA H100'),
    (('python', '-W', 'error', '-m', 'nvitop', '-1', '--no-config'), r'H100(.|\n)*MEM GiB'),
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
PAGES = ('nvitop.1', 'nvitop-exporter.1', 'nvitop-query.1', 'nvisel.1')


def main() -> None:
    """Run each program on a simulated machine; exit with a message if an output is wrong."""
    prefix = pathlib.Path(sys.prefix)
    with tempfile.TemporaryDirectory(prefix='nvitop-') as home:
        variables = {
            'PATH': f'{prefix / "bin"}:{os.defpath}',
            'HOME': home,
            'LC_ALL': 'C.UTF-8',
            'NVITOP_DEMO': 'dgx-h100',
        }
        for command, pattern in USES:
            done = subprocess.run(
                (str(prefix / 'bin' / command[0]), *command[1:]),
                cwd=home,
                env=variables,
                capture_output=True,
                timeout=SECONDS,
            )
            text = done.stdout.decode('utf-8')
            if done.returncode or not re.search(pattern, text, re.MULTILINE):
                errors = done.stderr.decode('utf-8', 'replace')
                sys.exit(f'{" ".join(command)}: status {done.returncode}\n{text}\n{errors}')
    for page in PAGES:
        if not (prefix / 'share' / 'man' / 'man1' / page).exists():
            sys.exit(f'{page} is not installed')


if __name__ == '__main__':
    main()
