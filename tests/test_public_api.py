"""Public names: where they are found, their signatures, and what importing them loads."""

from __future__ import annotations

import importlib
import inspect
import pickle
from typing import Any

import pytest

import nvitop
import nvitop.api
from nvitop.api.collector import take_snapshots
from nvitop.api.process import GpuProcess, HostProcess, command_join
from nvitop.api.utils import Snapshot
from tests.programs import run_python

SUBMODULES = 'caching collector device host libcuda libcudart libnvml process termcolor utils'

PUBLIC_NAMES = """
    NVMLError nvmlCheckReturn libnvml libcuda libcudart Device PhysicalDevice MigDevice
    CudaDevice CudaMigDevice parse_cuda_visible_devices normalize_cuda_visible_devices host
    HostProcess GpuProcess command_join take_snapshots ResourceMetricCollector
    collect_in_background ttl_cache NA NaType NotApplicable NotApplicableType UINT_MAX
    ULONGLONG_MAX KiB MiB GiB TiB PiB SIZE_UNITS bytes2human human2bytes timedelta2human
    utilization2string colored set_color boolify Snapshot
"""

#: Modules that importing nvitop must not load, because they are slow or belong to the monitor.
NOT_IMPORTED = """
    argparse asyncio cachetools concurrent.futures curses dataclasses datetime getpass
    importlib.metadata inspect logging nvitop.collector.collector nvitop.api.process.hostprocess
    psutil multiprocessing nvitop.cli nvitop.gui nvitop.sampling nvitop.simulation platform
    termcolor wcwidth
"""


def run(code: str) -> None:
    done = run_python(code)
    assert (done.returncode, done.stderr) == (0, '')


def test_packages_are_attributes() -> None:
    run('import nvitop; nvitop.select.select_devices; nvitop.api.Device')
    run('import nvitop; nvitop.Device; assert nvitop.api.Device is nvitop.Device')
    for name in SUBMODULES.split():
        run(f'import nvitop.api; assert nvitop.api.{name}.__all__')


def test_star_import_leaves_the_version_of_a_program_alone() -> None:
    run('__version__ = "0.1"; from nvitop import *; assert __version__ == "0.1"')
    assert nvitop.__version__ == nvitop.version.__version__


@pytest.mark.parametrize(
    'code',
    [
        'import nvitop.{0}, nvitop.api.{0}; assert nvitop.{0} is nvitop.api.{0}',
        'from nvitop import {0}; import nvitop.api.{0}; assert {0} is nvitop.api.{0}; {0}.__all__',
        'import nvitop; assert nvitop.{0}.__name__.endswith("{0}")',
    ],
)
def test_submodules_are_the_same_under_both_paths(code: str) -> None:
    run('\n'.join(map(code.format, SUBMODULES.split())))


def test_public_names_exist_in_both_packages() -> None:
    assert set(PUBLIC_NAMES.split()) <= set(nvitop.api.__all__)
    assert set(nvitop.api.__all__) <= set(nvitop.__all__)
    for name in nvitop.api.__all__:
        assert getattr(nvitop, name) is getattr(nvitop.api, name)
    names: dict[str, Any] = {}
    exec('from nvitop import *', names)
    assert set(nvitop.__all__) <= set(names)


def test_dir_lists_names_that_are_imported_on_use() -> None:
    assert set(nvitop.__all__) | set(SUBMODULES.split()) <= set(dir(nvitop))
    assert set(nvitop.api.__all__) <= set(dir(nvitop.api))
    run('import nvitop, sys; assert "pynvml" not in sys.modules')


def test_misspelled_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match='Devise'):
        _ = vars(nvitop)['__getattr__']('Devise')
    assert not hasattr(nvitop, 'Devise')
    assert not hasattr(nvitop.api, 'Devise')


def test_classes_and_functions_have_their_public_path() -> None:
    for name in nvitop.api.__all__:
        value = getattr(nvitop.api, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if name in ('NVMLError', 'NotApplicableType'):
            continue  # from the binding, and an alias of NaType
        module, _, last = value.__module__.rpartition('.')
        assert module == 'nvitop.api', name
        assert last in SUBMODULES.split(), name
        assert getattr(importlib.import_module(f'nvitop.{last}'), name) is value
        assert pickle.loads(pickle.dumps(value)) is value


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


SIGNATURES = {
    take_snapshots: '(devices=None, *, gpu_processes=None)',
    nvitop.ResourceMetricCollector: (
        '(devices=None, root_pids=None, interval=1.0, *, clock=<built-in function monotonic>)'
    ),
    nvitop.ResourceMetricCollector.daemonize: (
        "(self, on_collect, interval=None, *, on_start=None, on_stop=None, tag='metrics-daemon', "
        'start=True)'
    ),
    nvitop.collect_in_background: (
        '(on_collect, collector=None, interval=None, *, on_start=None, on_stop=None, '
        "tag='metrics-daemon', start=True)"
    ),
    command_join: '(cmdline)',
    nvitop.bytes2human: '(b, *, min_unit=1)',
    nvitop.human2bytes: '(s)',
    nvitop.timedelta2human: '(dt, *, round=False)',
    nvitop.utilization2string: '(utilization)',
    nvitop.boolify: '(string, default=None)',
    nvitop.colored: '(text, color=None, on_color=None, attrs=None)',
    nvitop.set_color: '(value)',
    Snapshot: '(real, **items)',
    HostProcess: '(pid=None)',
    HostProcess.cpu_percent: '(self, interval=None)',
    HostProcess.children: '(self, recursive=False)',
    HostProcess.as_snapshot: '(self, attrs=None, ad_value=None)',
    GpuProcess.__init__: (
        '(self, pid, device, *, gpu_memory=None, gpu_instance_id=None, '
        'compute_instance_id=None, type=None)'
    ),
    GpuProcess.set_gpu_memory: '(self, value)',
    GpuProcess.set_gpu_utilization: (
        '(self, gpu_sm_utilization=None, gpu_memory_utilization=None, '
        'gpu_encoder_utilization=None, gpu_decoder_utilization=None)'
    ),
    GpuProcess.as_snapshot: '(self, *, host_process_snapshot_cache=None)',
    GpuProcess.take_snapshots: '(gpu_processes, *, failsafe=False)',
    GpuProcess.failsafe: '()',
}


@pytest.mark.parametrize('callable_', SIGNATURES, ids=lambda function: function.__qualname__)
def test_signatures(callable_: Any) -> None:
    signature = inspect.signature(callable_)
    plain = signature.replace(
        return_annotation=inspect.Signature.empty,
        parameters=[
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in signature.parameters.values()
        ],
    )
    assert str(plain) == SIGNATURES[callable_]
