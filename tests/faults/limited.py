"""A program of nvitop as a user with limits: ``python -m tests.faults.limited PROGRAM NPROC NOFILE HOME``.

All that is needed of Python is there before: what is limited is nvitop, not the interpreter. The limit of
processes holds for all of a user, and for nobody who is root, so it is one who has no other processes.
"""

from __future__ import annotations

import contextlib
import curses
import io
import os
import resource
import sys
import tempfile
from typing import Callable

from nvitop import ResourceMetricCollector, cli, select, simulation
from nvitop.gui import app, crash, monitor
from nvitop.query.command import main as query

NOBODY = 54321
#: What is imported late, by what has to run when nothing can be opened any more.
LATE = (app, crash, curses, monitor, tempfile)


def collect() -> int:
    """Print how many metrics of GPUs have a value."""
    collector = ResourceMetricCollector(root_pids={})
    with collector.context('job'):
        metrics = collector.collect()
    print(sum(value == value for key, value in metrics.items() if '/gpu' in key))
    return 0


def collect_while_files_run_out() -> int:
    """The same, where the limit of files comes while it runs."""
    collector = ResourceMetricCollector(interval=1e-9)
    with collector.context('job'):
        collector.collect()
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, most))
        metrics = collector.collect()
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # Python needs one to end a thread
    print(sum(value == value for key, value in metrics.items() if '/gpu' in key))
    return 0


PROGRAMS: dict[str, Callable[[], int]] = {
    'report': lambda: cli.main(['-1']),
    'query': lambda: query(['--all', '--format=json']),
    'nvisel': lambda: select.main(['-f', '1GiB']),
    'collector': collect,
    'collector that runs': collect_while_files_run_out,
    'monitor': lambda: cli.main([]),
}


def main(program: str, processes: int, files: int, home: str) -> int:
    """The exit status of the program."""
    os.environ['HOME'] = '/'
    with simulation.machine('dgx-h100', processes='fixed'):
        nowhere = contextlib.redirect_stdout(io.StringIO())
        with nowhere, contextlib.redirect_stderr(io.StringIO()):
            for name in ('report', 'query', 'nvisel', 'collector'):
                PROGRAMS[name]()
        os.environ['HOME'] = home
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        for limit, most in ((resource.RLIMIT_NPROC, processes), (resource.RLIMIT_NOFILE, files)):
            if most >= 0:
                resource.setrlimit(limit, (most, most))
        return PROGRAMS[program]()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
