"""The public API: names, where they are found, parameters, results, units, and what an import loads."""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
import typing
from typing import Any, Iterator

import pytest

import nvitop
import nvitop.api
from nvitop.api import libnvml
from nvitop.api.collector import take_snapshots
from nvitop.api.device import CudaDevice, CudaMigDevice, Device, MigDevice, PhysicalDevice
from nvitop.api.process import GpuProcess, HostProcess, command_join
from nvitop.api.utils import Snapshot
from tests.api.machines import machine as make_machine
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

API: list[str] = importlib.import_module('nvitop.api').__all__
ALL = [*API, 'select_devices']

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


def test_packages_are_attributes() -> None:
    run('import nvitop; nvitop.select.select_devices; nvitop.api.Device')
    run('import nvitop; nvitop.Device; assert nvitop.api.Device is nvitop.Device')


def test_star_import_leaves_the_version_of_a_program_alone() -> None:
    run('__version__ = "0.1"; from nvitop import *; assert __version__ == "0.1"')
    assert nvitop.__version__ == nvitop.version.__version__


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


def test_public_names_exist_in_both_packages() -> None:
    assert set(PUBLIC_NAMES.split()) <= set(API)
    for name in API:
        assert getattr(nvitop, name) is getattr(nvitop.api, name)
    names: dict[str, Any] = {}
    exec('from nvitop import *', names)
    assert set(ALL) <= set(names)


def test_dir_lists_names_that_are_imported_on_use() -> None:
    assert set(ALL) | set(SUBMODULES.split()) <= set(dir(nvitop))
    assert set(API) <= set(dir(nvitop.api))
    run('import nvitop, sys; assert "pynvml" not in sys.modules')


def test_misspelled_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match='Devise'):
        _ = vars(nvitop)['__getattr__']('Devise')
    assert not hasattr(nvitop, 'Devise')
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


SIGNATURES = {
    take_snapshots: '(devices=None, *, gpu_processes=None)',
    nvitop.ResourceMetricCollector: (
        '(devices=None, root_pids=None, interval=1.0, *, clock=<built-in function monotonic>)'
    ),
    nvitop.ResourceMetricCollector.daemonize: (
        "(on_collect, interval=None, *, on_start=None, on_stop=None, tag='metrics-daemon', "
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
    HostProcess.cpu_percent: '(interval=None)',
    HostProcess.children: '(recursive=False)',
    HostProcess.as_snapshot: '(attrs=None, ad_value=None)',
    GpuProcess.__init__: (
        '(pid, device, *, gpu_memory=None, gpu_instance_id=None, '
        'compute_instance_id=None, type=None)'
    ),
    GpuProcess.set_gpu_memory: '(value)',
    GpuProcess.set_gpu_utilization: (
        '(gpu_sm_utilization=None, gpu_memory_utilization=None, '
        'gpu_encoder_utilization=None, gpu_decoder_utilization=None)'
    ),
    GpuProcess.as_snapshot: '(*, host_process_snapshot_cache=None)',
    GpuProcess.take_snapshots: '(gpu_processes, *, failsafe=False)',
    GpuProcess.failsafe: '()',
}


@pytest.mark.parametrize('callable_', SIGNATURES, ids=lambda function: function.__qualname__)
def test_signatures(callable_: Any) -> None:
    assert plain_signature(callable_).partition(' -> ')[0] == SIGNATURES[callable_]


#: Classes with the getters of nvitop 1.x.
CLASSES = (PhysicalDevice, MigDevice, CudaDevice, CudaMigDevice)

#: Getters by their result and a word of their docstring, usually the unit.
GETTERS: dict[tuple[str, str], str] = {
    ('str', ''): (
        'name uuid bus_id serial display_active display_mode persistence_mode '
        'current_driver_model driver_model performance_state compute_mode mig_mode'
    ),
    ('tuple[int, int] | NaType', 'major, minor'): 'cuda_compute_capability',
    ('MemoryInfo', 'bytes'): 'memory_info bar1_memory_info',
    ('int | NaType', 'bytes'): (
        'memory_total memory_used memory_free bar1_memory_total bar1_memory_used bar1_memory_free'
    ),
    ('float | NaType', 'percent'): 'memory_percent bar1_memory_percent',
    ('UtilizationRates', 'percent'): 'utilization_rates',
    ('int | NaType', 'percent'): (
        'gpu_utilization gpu_percent memory_utilization encoder_utilization decoder_utilization '
        'fan_speed'
    ),
    ('ClockInfos', 'MHz'): 'clock_infos clocks max_clock_infos max_clocks',
    ('ClockSpeedInfos', 'MHz'): 'clock_speed_infos',
    ('int | NaType', 'MHz'): (
        'graphics_clock sm_clock memory_clock video_clock '
        'max_graphics_clock max_sm_clock max_memory_clock max_video_clock'
    ),
    ('int | NaType', '°C'): 'temperature',
    ('int | NaType', 'mW'): 'power_usage power_draw power_limit',
    ('ThroughputInfo', 'KiB/s'): 'pcie_throughput',
    ('int | NaType', 'KiB/s'): 'pcie_tx_throughput pcie_rx_throughput',
    ('int | NaType', 'NVLinks'): 'nvlink_link_count',
    ('int | NaType', 'ECC errors'): 'total_volatile_uncorrected_ecc_errors',
    ('bool', 'Whether'): 'is_mig_device is_mig_mode_enabled is_leaf_device',
    ('Snapshot', 'at one moment'): 'as_snapshot',
    ('str', 'as text'): (
        'memory_usage bar1_memory_usage power_status memory_total_human memory_used_human '
        'memory_free_human bar1_memory_total_human bar1_memory_used_human bar1_memory_free_human '
        'pcie_tx_throughput_human pcie_rx_throughput_human'
    ),
}

#: Getters with ``(interval=None)``, likewise.
OVER_INTERVAL: dict[tuple[str, str], str] = {
    ('list[ThroughputInfo]', 'KiB/s'): 'nvlink_throughput',
    ('ThroughputInfo', 'nvlink_throughput`'): 'nvlink_total_throughput nvlink_mean_throughput',
    ('list[int | NaType]', 'KiB/s'): 'nvlink_tx_throughput nvlink_rx_throughput',
    ('int | NaType', 'KiB/s'): (
        'nvlink_total_tx_throughput nvlink_total_rx_throughput '
        'nvlink_mean_tx_throughput nvlink_mean_rx_throughput'
    ),
    ('list[str]', 'as text'): 'nvlink_tx_throughput_human nvlink_rx_throughput_human',
    ('str', 'as text'): (
        'nvlink_total_tx_throughput_human nvlink_total_rx_throughput_human '
        'nvlink_mean_tx_throughput_human nvlink_mean_rx_throughput_human'
    ),
}

#: Methods that are called on a class, the same for every class of devices.
ON_CLASSES = {
    'is_available': '() -> bool',
    'driver_version': '() -> str',
    'cuda_driver_version': '() -> str',
    'max_cuda_version': '() -> str',
    'cuda_runtime_version': '() -> str',
    'cudart_version': '() -> str',
    'count': '() -> int',
    'from_cuda_visible_devices': '() -> list[CudaDevice]',
    'from_cuda_indices': '(cuda_indices=None) -> list[CudaDevice]',
}

OF_MODULES: dict[str, str] = {
    'libnvml': (
        'nvmlInit nvmlInitWithFlags nvmlShutdown nvmlQuery nvmlQueryFieldValues nvmlCheckReturn '
        'NA UINT_MAX ULONGLONG_MAX UNKNOWN_FUNCTIONS UNKNOWN_FUNCTIONS_CACHE_SIZE VERSIONED_PATTERN LOGGER NVMLError '
        'nvmlDeviceGetComputeRunningProcesses nvmlDeviceGetGraphicsRunningProcesses '
        'nvmlDeviceGetMPSComputeRunningProcesses nvmlDeviceGetMemoryInfo nvmlDeviceGetTemperature '
        'nvmlDeviceGetDriverModel nvmlDeviceGetCurrentDriverModel nvmlDeviceGetPendingDriverModel '
        'c_nvmlProcessInfo_v1_t c_nvmlProcessInfo_v2_t c_nvmlProcessInfo_v3_t '
        'c_nvmlMemory_v1_t c_nvmlMemory_v2_t c_nvmlTemperature_v1_t '
        'NVML_TEMPERATURE_GPU NVML_SUCCESS NVMLError_NotSupported nvmlDeviceGetCount'
    ),
    'libcuda': (
        'cuInit cuGetErrorName cuGetErrorString cuDriverGetVersion cuDeviceGetCount cuDeviceGet '
        'cuDeviceGetByPCIBusId cuDeviceGetPCIBusId cuDeviceGetName cuDeviceGetUuid '
        'cuDeviceGetUuid_v2 cuDeviceTotalMem is_available CUDAError cudaExceptionClass '
        'CUDA_ERROR_NO_DEVICE CUDAError_NoDevice'
    ),
    'libcudart': (
        'cudaGetErrorName cuGetErrorString cudaGetLastError cudaPeekAtLastError '
        'cudaDriverGetVersion cudaRuntimeGetVersion cudaGetDeviceCount cudaDeviceGetByPCIBusId '
        'cudaDeviceGetPCIBusId is_available cudaError cudaError_NoDevice cudaErrorNoDevice '
        'cudaSuccess'
    ),
    'host': (
        'PsutilError getuser hostname load_average uptime memory_percent swap_percent ppid_map '
        'reverse_ppid_map WSL WINDOWS_SUBSYSTEM_FOR_LINUX LINUX MACOS POSIX WINDOWS Process '
        'virtual_memory cpu_percent NoSuchProcess'
    ),
    'process': 'HostProcess GpuProcess command_join',
    'device': (
        'Device PhysicalDevice MigDevice CudaDevice CudaMigDevice is_mig_device_uuid '
        'parse_cuda_visible_devices normalize_cuda_visible_devices MemoryInfo ClockInfos '
        'ClockSpeedInfos UtilizationRates ThroughputInfo'
    ),
    'utils': (
        'NA NaType NotApplicable NotApplicableType UINT_MAX ULONGLONG_MAX KiB MiB GiB TiB PiB '
        'SIZE_UNITS bytes2human human2bytes timedelta2human utilization2string colored set_color '
        'boolify Snapshot'
    ),
    'caching': 'ttl_cache',
    'termcolor': 'colored cprint COLORS HIGHLIGHTS ATTRIBUTES',
    'collector': 'take_snapshots SnapshotResult',
}


def plain_signature(function: Any) -> str:
    """Return the parameters without annotations, and the annotation of the result."""
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name != 'self'
    ]
    text = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    return f'{text} -> {signature.return_annotation}'


@pytest.mark.parametrize(
    ('parameters', 'result', 'word', 'names'),
    [
        (parameters, *key, names)
        for parameters, table in (('()', GETTERS), ('(interval=None)', OVER_INTERVAL))
        for key, names in table.items()
    ],
)
def test_device_getters(parameters: str, result: str, word: str, names: str) -> None:
    for name in names.split():
        for cls in CLASSES:
            assert plain_signature(getattr(cls, name)) == f'{parameters} -> {result}', (cls, name)
        doc = inspect.getdoc(getattr(PhysicalDevice, name)) or ''
        assert word in ' '.join(doc.split()), name


@pytest.mark.parametrize('name', ON_CLASSES)
def test_device_class_methods(name: str) -> None:
    for cls in CLASSES:
        assert plain_signature(getattr(cls, name)) == ON_CLASSES[name], cls
        assert inspect.getdoc(getattr(cls, name))


@pytest.mark.parametrize('module', OF_MODULES)
def test_names_of_modules(module: str) -> None:
    conventional = importlib.import_module(f'nvitop.{module}')
    assert conventional is importlib.import_module(f'nvitop.api.{module}')
    for name in OF_MODULES[module].split():
        value = getattr(conventional, name)
        if name not in ('MACOS', 'WINDOWS', 'LINUX', 'POSIX'):  # depends on the release of psutil
            assert name in conventional.__all__
        if inspect.isroutine(value) and not name.startswith('nvmlDeviceGetCount'):
            assert inspect.getdoc(value), name


def test_version_module() -> None:
    from nvitop import version

    assert version.__version__ == nvitop.__version__
    assert isinstance(version.__release__, bool)
    assert version.__license__
    assert version.__author__
    assert isinstance(version.__email__, str)
    assert '11.450.51' in version.PYNVML_VERSION_CANDIDATES


def test_device_class_attributes() -> None:
    for cls in CLASSES:
        assert cls.cuda is CudaDevice
        assert cls.GPU_PROCESS_CLASS is nvitop.GpuProcess
        assert cls.UUID_PATTERN.match('GPU-18ef14e9-dec6-1d3e-1284-3010c6ce98b1')
        for name in ('index', 'nvml_index', 'physical_index', 'handle', 'cuda_index'):
            assert isinstance(inspect.getattr_static(cls, name), property), name
    for cls in (MigDevice, CudaMigDevice):
        for name in ('mig_index', 'parent'):
            assert isinstance(inspect.getattr_static(cls, name), property), name
        assert plain_signature(cls.gpu_instance_id) == '() -> int | NaType'
        assert plain_signature(cls.compute_instance_id) == '() -> int | NaType'
    assert len(PhysicalDevice.SNAPSHOT_KEYS) == 41
    assert len(MigDevice.SNAPSHOT_KEYS) == 43


def test_mig_and_process_methods() -> None:
    for cls in CLASSES:
        assert plain_signature(cls.mig_devices) == '() -> list[MigDevice]'
        assert plain_signature(cls.mig_device) == '(mig_index) -> MigDevice'
        assert plain_signature(cls.to_leaf_devices) == '() -> list[Device]'
        inspect.signature(cls.processes).bind(object())
        assert plain_signature(cls.parse_cuda_visible_devices).startswith('(cuda_visible_devices=')
        inspect.signature(cls.from_indices).bind(indices=(0,))
        inspect.signature(cls.all).bind()


def test_mig_and_cuda_devices_have_no_mig_devices() -> None:
    with make_machine():
        for device in (Device((1, 2)), CudaDevice(nvml_index=(1, 0))):
            assert device.mig_devices() == []
            with pytest.raises(libnvml.NVMLError):
                device.mig_device(0)
        assert Device(1).mig_device(mig_index=2) == Device((1, 2))


@pytest.mark.parametrize('name', ['nvitop.tui', 'nvitop.tui.library'])
def test_removed_package_says_what_to_use_instead(name: str) -> None:
    with pytest.raises(ImportError, match=r'ResourceMetricCollector for values over time'):
        importlib.import_module(name)
