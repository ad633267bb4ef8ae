"""Modules that commands import: none that they do not use."""

from __future__ import annotations

import os
import sys

import pytest

from tests.programs import ROOT, run_alone

#: Runs a command and prints the imported modules after its output.
PROGRAM = """
import os, sys
from {module} import {function} as run
real_exit = os._exit
def leave(status):
    print('\\nimported', *sorted(sys.modules))
    sys.stdout.flush()
    real_exit(status)
os._exit = leave
run()
"""


def run_and_list_imports(module: str, function: str, *arguments: str) -> tuple[str, set[str]]:
    """Output of the command, and the modules that it imported."""
    program = PROGRAM.replace('{module}', module).replace('{function}', function)
    done = run_alone(
        # -S: the startup files of the site may import anything.
        *(sys.executable, '-S', '-c', program, *arguments),
        PYTHONPATH=os.pathsep.join([str(ROOT), *filter(os.path.isdir, sys.path)]),
        NVITOP_DEMO='workstation',
        XDG_CONFIG_HOME=os.devnull,
    )
    assert done.returncode == 0, done.stderr
    printed, _, names = done.stdout.rpartition('\nimported ')
    return printed, set(names.split())


#: Commands, and what they must not import.
CASES = """
    nvitop.__main__ run -1: argparse asyncio cachetools curses logging psutil wcwidth nvitop.gui.app
        nvitop.gui.effect_runner nvitop.gui.monitor nvitop.gui.state.update nvitop.gui.term
        nvitop.gui.view.frame nvitop.sampling.threads nvitop.sampling.serialization nvitop.select
        nvitop.api.libcudart nvitop.callbacks nvitop.compat nvitop.query;
    nvitop.console.lifecycle nvisel: nvitop.cli nvitop.gui nvitop.recording nvitop.exporter
        cachetools psutil wcwidth;
    nvitop.__main__ run query --gpu=index --processes=pid --format=json: nvitop.console.config
        nvitop.gui nvitop.select cachetools psutil wcwidth
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='elsewhere psutil reads the host')
@pytest.mark.parametrize('case', CASES.split(';'))
def test_commands_import_nothing_that_they_do_not_use(case: str) -> None:
    command, _, forbidden = case.partition(':')
    printed, imported = run_and_list_imports(*command.split())
    assert printed
    rooms = forbidden.split()
    assert not [n for n in imported for room in rooms if n == room or n.startswith(f'{room}.')]
