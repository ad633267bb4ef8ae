"""The contract of nvitop 1.x: names, parameters, results and units."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

import nvitop
from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import CudaDevice, CudaMigDevice, Device, MigDevice, PhysicalDevice
from tests.api.machines import machine as make_machine

CLASSES = (PhysicalDevice, MigDevice, CudaDevice, CudaMigDevice)

#: Getters without arguments, by their result and a word of their docstring, usually the unit.
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

#: Getters with ``(interval=None)``. Their docstrings mention KiB/s or refer to one that does.
OVER_INTERVAL: dict[str, str] = {
    'list[ThroughputInfo]': 'nvlink_throughput',
    'ThroughputInfo': 'nvlink_total_throughput nvlink_mean_throughput',
    'list[int | NaType]': 'nvlink_tx_throughput nvlink_rx_throughput',
    'int | NaType': (
        'nvlink_total_tx_throughput nvlink_total_rx_throughput '
        'nvlink_mean_tx_throughput nvlink_mean_rx_throughput'
    ),
    'list[str]': 'nvlink_tx_throughput_human nvlink_rx_throughput_human',
    'str': (
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
    'from_cuda_visible_devices': '() -> list[Any]',
    'from_cuda_indices': '(cuda_indices=None) -> list[Any]',
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

PROCESS_FIELDS = (
    'pid host is_running status username name cmdline command cpu_percent memory_percent '
    'host_memory host_memory_human running_time running_time_human running_time_in_seconds device '
    'type gpu_instance_id compute_instance_id gpu_memory gpu_memory_human gpu_memory_percent '
    'gpu_sm_utilization gpu_memory_utilization gpu_encoder_utilization gpu_decoder_utilization'
)


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
    ('name', 'result', 'word'),
    [(name, *key) for key, names in GETTERS.items() for name in names.split()],
)
def test_device_getters(name: str, result: str, word: str) -> None:
    for cls in CLASSES:
        method = getattr(cls, name)
        assert plain_signature(method) == f'() -> {result}', cls
    assert word in ' '.join((inspect.getdoc(getattr(PhysicalDevice, name)) or '').split())


@pytest.mark.parametrize(
    ('name', 'result'),
    [(name, result) for result, names in OVER_INTERVAL.items() for name in names.split()],
)
def test_device_getters_with_an_interval(name: str, result: str) -> None:
    for cls in CLASSES:
        assert plain_signature(getattr(cls, name)) == f'(interval=None) -> {result}', cls
    doc = inspect.getdoc(getattr(PhysicalDevice, name)) or ''
    assert 'KiB/s' in doc or 'nvlink_throughput`' in doc or 'as text' in doc


@pytest.mark.parametrize('name', ON_CLASSES)
def test_device_class_methods(name: str) -> None:
    for cls in CLASSES:
        assert plain_signature(getattr(cls, name)) == ON_CLASSES[name], cls
        assert inspect.getdoc(getattr(cls, name))


@pytest.mark.parametrize(
    ('module', 'name'),
    [(module, name) for module, names in OF_MODULES.items() for name in names.split()],
)
def test_names_of_modules(module: str, name: str) -> None:
    conventional = importlib.import_module(f'nvitop.{module}')
    assert conventional is importlib.import_module(f'nvitop.api.{module}')
    value = getattr(conventional, name)
    if name not in ('MACOS', 'WINDOWS', 'LINUX', 'POSIX'):  # depends on the release of psutil
        assert name in conventional.__all__
    if inspect.isroutine(value) and not name.startswith('nvmlDeviceGetCount'):
        assert inspect.getdoc(value)


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


def test_process_snapshot_fields() -> None:
    with simulation.machine('workstation', processes='fixed'):
        (first, *_) = nvitop.take_snapshots().gpu_processes
    assert type(first).__name__ == 'GpuProcessSnapshot'
    assert set(PROCESS_FIELDS.split()) <= set(first)
