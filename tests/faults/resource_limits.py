"""Run a program with limits: ``python -m tests.faults.resource_limits PROGRAM NPROC NOFILE``.

Everything is imported before the limits are set. The limit of processes applies to all processes of a
user, except for root, so the program runs as a user without other processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import curses
import importlib
import io
import os
import pkgutil
import resource
import sys
import tempfile
from typing import Callable

from nvitop import ResourceMetricCollector, cli, simulation
from nvitop import gui as gui_package

UNNAMED_USER = 54321
#: Modules that have to be imported before the limits: others need a descriptor, and a checkout that
#: this user may read.
LATE = (
    curses,
    tempfile,
    *(
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(gui_package.__path__, 'nvitop.gui.')
        if module.name != 'nvitop.gui.term.windows'
    ),
)


def collect() -> int:
    collector = ResourceMetricCollector()
    with collector.context('job'):
        metrics = collector.collect()
    print(sum(value == value for key, value in metrics.items() if '/gpu' in key))
    return 0


PROGRAMS: dict[str, Callable[[], int]] = {
    'report': lambda: cli.main(['-1']),
    'collector': collect,
    'monitor': lambda: cli.main([]),
}


def main(program: str, processes: int, files: int) -> int:
    os.environ['HOME'] = '/'
    with contextlib.suppress(OSError):
        ctypes.CDLL('libgcc_s.so.1')  # glibc opens it when a thread exits
    with simulation.machine('dgx-h100', processes='fixed'):
        nowhere = contextlib.redirect_stdout(io.StringIO())
        with nowhere, contextlib.redirect_stderr(io.StringIO()):
            for name in ('report', 'collector'):
                PROGRAMS[name]()
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(UNNAMED_USER)
            os.setuid(UNNAMED_USER)
        for limit, most in ((resource.RLIMIT_NPROC, processes), (resource.RLIMIT_NOFILE, files)):
            if most >= 0:
                resource.setrlimit(limit, (most, most))
        return PROGRAMS[program]()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
