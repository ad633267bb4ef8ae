"""What starts with the command: a report loads nothing that it does not use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nvitop.console.startup as start
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent

#: Runs a command in this process and prints what it has imported, below what it prints.
PROGRAM = """
import os, sys
import nvitop.console.startup as start
from {module} import {function} as run
real_exit = os._exit
def leave(status):
    print('\\nimported', *sorted(name for name, module in sys.modules.items()
                              if not isinstance(module, start._ModuleOnUse)))
    sys.stdout.flush()
    real_exit(status)
os._exit = leave
run()
"""


def run_and_list_imports(module: str, function: str, *arguments: str) -> tuple[str, set[str]]:
    """What the command prints, and the modules it has imported then."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(('NVITOP', 'LOGLEVEL', 'COV'))
    }
    program = PROGRAM.replace('{module}', module).replace('{function}', function)
    done = subprocess.run(
        # Without the startup files of the site, which may import anything.
        [sys.executable, '-S', '-c', program, *arguments],
        env={
            **environment,
            'PYTHONPATH': os.pathsep.join([str(ROOT), *filter(os.path.isdir, sys.path)]),
            'NVITOP_DEMO': 'workstation',
        },
        cwd=ROOT,
        capture_output=True,
        encoding='utf-8',
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed, _, names = done.stdout.rpartition('\nimported ')
    return printed, set(names.split())


@pytest.fixture(scope='module')
def imported() -> set[str]:
    report, names = run_and_list_imports('nvitop.__main__', 'run', '-1', '--no-config')
    assert 'GeForce' in report
    return names


def within(imported: set[str], *rooms: str) -> list[str]:
    return sorted(n for n in imported for room in rooms if n == room or n.startswith(room + '.'))


def test_a_report_loads_nothing_of_the_monitor(imported: set[str]) -> None:
    assert not within(
        imported,
        'curses',
        'nvitop.gui.app',
        'nvitop.gui.effect_runner',
        'nvitop.gui.layout.dialog',
        'nvitop.gui.monitor',
        'nvitop.gui.state.keymap',
        'nvitop.gui.state.update',
        'nvitop.gui.term',
        'nvitop.gui.view.frame',
        'nvitop.gui.view.widgets.graph',
        'nvitop.sampling.history',
        'nvitop.sampling.sampler',
        'nvitop.sampling.serialization',
    )


def test_a_report_loads_no_form_of_a_panel_that_it_does_not_show(imported: set[str]) -> None:
    assert not within(
        imported,
        'nvitop.gui.view.panels.device_details',
        'nvitop.gui.view.panels.device_narrow',
        'nvitop.gui.view.panels.host_graphs',
    )


def test_a_report_loads_no_room_that_has_nothing_to_do_with_it(imported: set[str]) -> None:
    rooms = (
        'api.device.extended',
        'api.libcudart',
        'api.extended_metrics',
        'callbacks',
        'compat',
        'query',
        'select',
    )
    assert not within(imported, *(f'nvitop.{room}' for room in rooms))


@pytest.mark.skipif(sys.platform != 'linux', reason='elsewhere psutil reads the host')
def test_a_report_loads_no_slow_module_that_it_can_do_without(imported: set[str]) -> None:
    # The simulated driver is Python, and imports modules that a real one does not.
    assert not within(imported, 'asyncio', 'cachetools', 'psutil', 'wcwidth')


def test_nvisel_loads_neither_psutil_nor_the_monitor() -> None:
    printed, names = run_and_list_imports('nvitop.console.startup', 'nvisel')
    assert printed == '0\n'
    names -= {'nvitop.sampling', 'nvitop.sampling.watchdog'}  # no GPU that hangs may hold it up
    assert not within(names, 'nvitop.cli', 'nvitop.gui', 'nvitop.sampling')
    assert not within(names, 'cachetools', 'psutil', 'wcwidth')


@pytest.mark.skipif(sys.platform != 'linux', reason='elsewhere psutil reads the host')
def test_a_query_loads_nothing_that_is_drawn() -> None:
    query = ('query', '--gpu=index', '--processes=pid', '--format=json')
    printed, names = run_and_list_imports('nvitop.__main__', 'run', *query)
    assert printed.startswith('{')
    assert not within(names, 'nvitop.console.config', 'nvitop.gui', 'nvitop.select')
    assert not within(names, 'cachetools', 'psutil', 'wcwidth')


def test_a_module_that_was_put_off_is_imported_when_something_of_it_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import colorsys

    monkeypatch.delitem(sys.modules, 'colorsys')
    stand_in = start._ModuleOnUse('colorsys')
    monkeypatch.setitem(sys.modules, 'colorsys', stand_in)
    exec('import colorsys', {})
    assert sys.modules['colorsys'] is stand_in
    assert stand_in.rgb_to_hsv(1, 0, 0) == colorsys.rgb_to_hsv(1, 0, 0)
    assert sys.modules['colorsys'] is not stand_in
    assert sys.modules['colorsys'].__file__ == colorsys.__file__
    with pytest.raises(AttributeError):
        stand_in.nonsense  # noqa: B018 - looking it up is the test
