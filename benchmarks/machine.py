"""The machine of a measurement: ``python -m benchmarks.machine``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time

PACKAGES = ('nvitop', 'nvidia-ml-py', 'psutil', 'cachetools', 'termcolor')


def main() -> None:
    """Print date, machine, load average, Python and packages."""
    versions = ', '.join(f'{name} {importlib.metadata.version(name)}' for name in PACKAGES)
    load = ' '.join(f'{load:.2f}' for load in os.getloadavg())
    print(
        f'{time.strftime("%Y-%m-%d %H:%M")} · {platform.system()} {platform.machine()}, '
        f'{os.cpu_count()} CPUs, load {load} · {platform.python_implementation()} '
        f'{platform.python_version()} · {versions}\n'
    )


if __name__ == '__main__':
    main()
