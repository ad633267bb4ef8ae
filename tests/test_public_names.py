"""The public API: names, where they are found, signatures, and what an import loads."""

from __future__ import annotations

import importlib
import inspect
import pickle
import re
import sys
import textwrap
import typing
from typing import Any, Iterator

import psutil
import pytest

import nvitop
import nvitop.api
from nvitop.api.device import CudaDevice, CudaMigDevice, Device, MigDevice, PhysicalDevice
from nvitop.api.libnvml import _public
from nvitop.api.process import GpuProcess, HostProcess
from nvitop.api.utils import Snapshot
from tests.gui.goldens import assert_golden_text
from tests.programs import run_python

SUBMODULES = 'caching collector device host libcuda libcudart libnvml process termcolor utils'


API: list[str] = importlib.import_module('nvitop.api').__all__
ALL = [*API, 'select_devices']

#: Names of libnvml that are made or imported on use.
LAZY = ['LOGGER', 'VERSIONED_PATTERN', 'advise_on_failure', 'explain_init_error', 'explain_silence']
#: Modules that importing nvitop must not load, because they are slow or belong to the monitor.
NOT_IMPORTED = """
    argparse asyncio cachetools concurrent.futures curses dataclasses getpass
    importlib.metadata inspect logging nvitop.collector.collector nvitop.api.process.hostprocess
    psutil multiprocessing nvitop.cli nvitop.gui nvitop.sampling nvitop.simulation platform
    termcolor wcwidth
"""


def run(code: str) -> None:
    done = run_python(code)
    assert (done.returncode, done.stderr) == (0, '')


def test_packages_are_attributes_and_names_of_a_program_stay() -> None:
    run('import nvitop; nvitop.select.select_devices; assert nvitop.api.Device is nvitop.Device')
    run('__version__ = "0.1"; from nvitop import *; assert __version__ == "0.1"')
    assert nvitop.__version__ == nvitop.version.__version__
    assert '11.450.51' in nvitop.version.PYNVML_VERSION_CANDIDATES


@pytest.mark.parametrize(
    'code',
    [
        'import nvitop.{0}, nvitop.api.{0}; assert nvitop.{0} is nvitop.api.{0}',
        'from nvitop import {0}; import nvitop.api.{0}; assert {0} is nvitop.api.{0}; {0}.__all__',
        'import nvitop; assert nvitop.{0}.__name__.endswith("{0}")',
        'import nvitop.api; assert nvitop.api.{0}.__all__',
    ],
)
def test_submodules_are_the_same_under_both_paths(code: str) -> None:
    run('\n'.join(map(code.format, SUBMODULES.split())))


def test_dir_lists_names_that_are_imported_on_use() -> None:
    assert set(ALL) | set(SUBMODULES.split()) <= set(dir(nvitop))
    assert set(API) <= set(dir(nvitop.api))
    run('import nvitop, sys; assert "pynvml" not in sys.modules')
    with pytest.raises(AttributeError, match='Devise'):
        _ = vars(nvitop)['__getattr__']('Devise')
    assert not hasattr(nvitop.api, 'Devise')


def public_objects() -> Iterator[Any]:
    """Yield the public classes and functions of nvitop and the public members of the classes."""
    names = {name: getattr(nvitop, name) for name in ALL}
    values = list(names.values())
    for module in filter(inspect.ismodule, names.values()):
        values += [getattr(module, name) for name in module.__all__]
    for value in values:
        if getattr(value, '__module__', '').startswith('nvitop'):
            yield value
            if inspect.isclass(value):
                for name in dir(value):
                    if not name.startswith('_'):
                        member = inspect.getattr_static(value, name)
                        yield getattr(member, 'fget', getattr(member, '__func__', member))


def test_classes_can_be_inspected_and_pickled() -> None:
    classes = [each for each in public_objects() if inspect.isclass(each)]
    assert Device in classes
    for cls in classes:
        # Classes of errors are made from tables of return codes.
        if not issubclass(cls, Exception):
            assert f'class {cls.__name__}' in inspect.getsource(cls)
        assert pickle.loads(pickle.dumps(cls)) is cls


@pytest.mark.skipif(
    sys.version_info < (3, 10), reason='Python 3.8 and 3.9 cannot evaluate "int | None"'
)
def test_type_hints_can_be_evaluated() -> None:
    functions = [
        each for each in public_objects() if inspect.isclass(each) or inspect.isfunction(each)
    ]
    assert Device.processes in functions
    for function in functions:
        typing.get_type_hints(function)
    assert typing.get_type_hints(Device.processes)['return'] == dict[int, GpuProcess]


def test_import_loads_no_slow_module_and_starts_no_thread() -> None:
    done = run_python(
        'from nvitop import Device, take_snapshots\n'
        'import sys, threading, pynvml\n'
        'print(*sys.modules)\n'
        'assert pynvml.nvmlLib is None\n'
        'assert threading.active_count() == 1\n'
        'import logging\n'
        'assert not logging.getLogger().handlers',
        NVITOP_DEMO='mig',
        LOGLEVEL='',
    )
    assert (done.returncode, done.stderr) == (0, '')
    loaded = done.stdout.split()
    assert 'nvitop.api.device' in loaded
    assert not set(NOT_IMPORTED.split()) & set(loaded)


#: Classes whose members are public.
CLASSES = (
    *(Device, PhysicalDevice, MigDevice, CudaDevice, CudaMigDevice),
    *(GpuProcess, HostProcess, Snapshot, nvitop.NaType, nvitop.ResourceMetricCollector),
)


def described(value: Any) -> str:
    """Return the parameters and the result of a function, or what else a name is."""
    if inspect.isclass(value):
        return f'class({", ".join(base.__name__ for base in value.__bases__)})'
    if inspect.isroutine(value):
        text = str(inspect.signature(value)).replace("'", '')
        return re.sub(r'<[\w-]+ function (\w+)>', r'\1', text)
    return 'property' if isinstance(value, property) else type(value).__name__


def public_members(cls: type) -> Iterator[tuple[str, Any]]:
    for name in dir(cls):
        owner = next(base for base in cls.__mro__ if name in vars(base))
        if name[0] != '_' and owner.__module__.startswith('nvitop.'):
            member = inspect.getattr_static(cls, name)
            yield name, member if isinstance(member, property) else getattr(cls, name)


def test_public_api_is_that_of_the_golden_file() -> None:
    """Names of nvitop 1.x stay; others are added on purpose."""
    lines = []
    for module in ['api', *SUBMODULES.split(), 'sampling', 'select']:
        names = importlib.import_module(f'nvitop.{module}').__all__
        # Releases of psutil and of the binding differ, and errors of CUDA come from tables.
        own = {name for name in names if not re.match('(?i)cuda_?error_?.', name)}
        own = own & {*vars(_public), *LAZY} if module == 'libnvml' else own.difference(vars(psutil))
        lines += ['', f'# nvitop.{module}', '', *textwrap.wrap(' '.join(sorted(own)), 98)]
    for function in (nvitop.take_snapshots, nvitop.collect_in_background, nvitop.claim):
        lines += ['', f'{function.__name__}{described(function)}']
    for cls in CLASSES:
        lines += ['', f'{cls.__name__}: {described(cls)}']
        known = (
            dict(public_members(Device)) if cls is not Device and issubclass(cls, Device) else {}
        )
        for name, member in public_members(cls):
            if name not in known or known[name] is not member:
                lines.append(f'  {name}: {described(member)}')
    assert_golden_text('api', '\n'.join(lines).strip() + '\n')


@pytest.mark.parametrize('name', ['nvitop.tui', 'nvitop.tui.library'])
def test_removed_package_says_what_to_use_instead(name: str) -> None:
    with pytest.raises(ImportError, match=r'ResourceMetricCollector for values over time'):
        importlib.import_module(name)
