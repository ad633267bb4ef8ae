"""CUDA: bindings of the driver and the runtime, devices by CUDA index."""

from __future__ import annotations

import ctypes
import itertools
import pickle
from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.api import libcuda, libcudart
from nvitop.api.device import (
    CudaDevice,
    CudaMigDevice,
    Device,
    MigDevice,
    normalize_cuda_visible_devices,
)
from nvitop.basics.units import NA
from tests.api import fake_cuda
from tests.api.machines import machine as make_machine

#: By default CUDA orders the two H100 before the V100, which has the lowest bus ID.
UNLIKE = """
[[gpu]]
model = "V100"
[[gpu]]
model = "H100"
[[gpu]]
model = "H100"
"""
SPLIT = """
[[gpu]]
model = "H100"
[[gpu]]
model = "H100"
[[gpu.mig]]
profile = "3g.40gb"
[[gpu.mig]]
index = 2
profile = "1g.10gb"
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    monkeypatch.delenv('CUDA_DEVICE_ORDER', raising=False)
    return monkeypatch


@pytest.fixture
def unlike() -> Iterator[simulation.Machine]:
    with make_machine(UNLIKE) as machine:
        yield machine


@pytest.fixture
def split() -> Iterator[simulation.Machine]:
    with make_machine(SPLIT) as machine:
        yield machine


def nvml_indices(devices: list[CudaDevice]) -> list[Any]:
    return [device.nvml_index for device in devices]


@pytest.mark.parametrize(
    ('arguments', 'names'),
    [
        *((arguments, {}) for arguments in ((), (None,), (1.0,), ('0',), (True,), ((0, 1),))),
        *(((0,), names) for names in ({'nvml_index': 0}, {'uuid': 'GPU-0'})),
        (('GPU-0',), {'uuid': 'GPU-0'}),
        ((), {'nvml_index': 0, 'uuid': 'GPU-0'}),
    ],
)
@pytest.mark.usefixtures('unlike')
def test_invalid_arguments_are_a_type_error(arguments: Any, names: Any) -> None:
    with pytest.raises(TypeError):
        CudaDevice(*arguments, **names)


@pytest.mark.parametrize('index', [-1, 2, 99])
@pytest.mark.usefixtures('unlike')
def test_invalid_index_reports_what_is_visible(index: int, environment: pytest.MonkeyPatch) -> None:
    environment.setenv('CUDA_VISIBLE_DEVICES', '0,1')
    expected = (
        rf"invalid device ordinal: {index}, CUDA sees 2 devices \(CUDA_VISIBLE_DEVICES='0,1'\)"
    )
    for make in (CudaDevice, Device.cuda, CudaDevice.from_indices, Device.from_cuda_indices):
        with pytest.raises(RuntimeError, match=expected):
            make(index)


@pytest.mark.usefixtures('unlike')
def test_gpu_that_is_not_visible_to_cuda_has_no_cuda_device(
    environment: pytest.MonkeyPatch,
) -> None:
    pickled = pickle.dumps(CudaDevice(nvml_index=0))
    environment.setenv('CUDA_VISIBLE_DEVICES', '0')
    expected = 'device 0 is not visible, CUDA sees 1 device'
    with pytest.raises(RuntimeError, match=expected):
        CudaDevice(nvml_index=0)
    with pytest.raises(RuntimeError, match=expected):
        CudaDevice(uuid=Device(0).uuid())
    with pytest.raises(RuntimeError, match=expected):
        _ = Device(0).cuda_index
    device = pickle.loads(pickled)
    with pytest.raises(RuntimeError, match=expected):
        _ = device.cuda_index
    assert 'cuda_index=N/A, nvml_index=0' in repr(device)
    assert device.as_snapshot().cuda_index is NA
    environment.delenv('CUDA_VISIBLE_DEVICES')
    assert device.cuda_index == Device(0).cuda_index == 2


@pytest.mark.usefixtures('unlike')
def test_lists_of_devices(environment: pytest.MonkeyPatch) -> None:
    environment.setenv('CUDA_VISIBLE_DEVICES', '2,0')
    assert CudaDevice.count() == 2
    assert CudaDevice.is_available()
    for devices in (
        CudaDevice.all(),
        CudaDevice.from_indices(),
        Device.from_cuda_visible_devices(),
        Device.from_cuda_indices(),
    ):
        assert nvml_indices(devices) == [0, 1]
        assert [device.cuda_index for device in devices] == [0, 1]
    assert nvml_indices(Device.from_cuda_indices([1, 0])) == [1, 0]
    assert nvml_indices(Device.from_cuda_indices(1)) == [1]
    assert [device.cuda_index for device in Device.from_cuda_indices(iter([1]))] == [1]
    environment.setenv('CUDA_VISIBLE_DEVICES', '')
    assert CudaDevice.all() == []
    assert CudaDevice.count() == 0
    assert not CudaDevice.is_available()
    with pytest.raises(RuntimeError, match='CUDA sees 0 devices'):
        CudaDevice(0)


@pytest.mark.usefixtures('split')
def test_mig_device_is_found_by_index_and_uuid(environment: pytest.MonkeyPatch) -> None:
    mig = MigDevice((1, 2))
    environment.setenv('CUDA_VISIBLE_DEVICES', mig.uuid())
    legacy = f'MIG-{Device(1).uuid()}/{mig.gpu_instance_id()}/{mig.compute_instance_id()}'
    for device in (
        CudaDevice(0),
        CudaDevice(nvml_index=(1, 2)),
        CudaDevice(uuid=mig.uuid()),
        CudaDevice(legacy),
        CudaMigDevice(nvml_index=(1, 2)),
    ):
        assert type(device) is type(pickle.loads(pickle.dumps(device))) is CudaMigDevice
        assert (device.index, device.uuid()) == (mig.index, mig.uuid())
        assert device.cuda_index == mig.cuda_index == 0
    with pytest.raises(RuntimeError, match=r'device \(1, 0\) is not visible'):
        _ = MigDevice((1, 0)).cuda_index
    with pytest.raises(RuntimeError, match='device 1 is not visible'):
        _ = Device(1).cuda_index
    with pytest.raises(TypeError):
        CudaMigDevice(nvml_index=0)
    environment.delenv('CUDA_VISIBLE_DEVICES')
    first: Any = CudaDevice(0)  # by default the first MIG device
    assert (first.cuda_index, first.nvml_index, first.mig_index) == (0, (1, 0), 0)
    assert CudaDevice.all() == [first]
    assert MigDevice((1, 0)) != first == CudaMigDevice(0)
    snapshot = first.as_snapshot()
    assert (snapshot.cuda_index, snapshot.mig_index) == (0, 0)


@pytest.mark.parametrize('scenario', ['[[gpu]]\nmodel = "H100"\n' * 2, UNLIKE, SPLIT])
def test_visible_devices_are_those_of_the_cuda_driver(
    scenario: str, environment: pytest.MonkeyPatch
) -> None:
    """Compare the rules on NVML with the simulated CUDA driver, which has its own rules."""
    with make_machine(scenario) as machine:
        visible_uuids = getattr(machine.cuda, 'visible_uuids')  # noqa: B009 - made at run time
        uuids = [device.uuid() for device in Device.all()]
        for mig in MigDevice.all():
            legacy = f'MIG-{mig.parent.uuid()}/{mig.gpu_instance_id()}/{mig.compute_instance_id()}'
            uuids += [mig.uuid(), legacy]
        short = [uuid[:9] for uuid in uuids[:2]]
        identifiers = ['0', '1', '2', '-1', *uuids, *short]
        values = [None, *map(','.join, itertools.product(identifiers, repeat=2)), *identifiers]
        for order, value in itertools.product(('PCI_BUS_ID', None), values):
            if order is None:
                environment.delenv('CUDA_DEVICE_ORDER', raising=False)
            else:
                environment.setenv('CUDA_DEVICE_ORDER', order)
            visible = visible_uuids(value, order)
            assert normalize_cuda_visible_devices(value) == ','.join(visible), (order, value)


def test_runtime_version_is_na_without_a_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libcudart._runtime, '_candidates', list)
    libcudart.use_library(None)
    assert Device.cuda_runtime_version() is Device.cudart_version() is NA
    try:
        libcudart.use_library(fake_cuda.runtime())
        assert Device.cuda_runtime_version() == Device.cudart_version() == '12.9'
    finally:
        libcudart.use_library(None)


BOTH = pytest.mark.parametrize(
    ('module', 'base'),
    [(libcuda, libcuda.CUDAError), (libcudart, libcudart.cudaError)],
    ids=['libcuda', 'libcudart'],
)


@pytest.fixture(autouse=True)
def _no_libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    for module in (libcuda, libcudart):
        module.use_library(None)  # another test may have loaded one
    yield
    for module in (libcuda, libcudart):
        module.use_library(None)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libcuda._driver, '_candidates', lambda: ['/nonexistent/libcuda.so.1'])
    monkeypatch.setattr(libcudart._runtime, '_candidates', lambda: ['/nonexistent/libcudart.so'])


def test_first_library_that_loads_is_used_and_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def load(path: str) -> object:
        tried.append(path)
        if path == 'b':
            return fake_cuda.driver()
        raise OSError(path)

    monkeypatch.setattr(ctypes, 'CDLL', load)
    monkeypatch.setattr(libcuda._driver, '_candidates', lambda: ['a', 'b', 'c'])
    assert libcuda.cuDriverGetVersion() == '13.0'
    assert libcuda.cuDriverGetVersion() == '13.0'
    assert tried == ['a', 'b']
    assert libcuda.is_available() is True
    libcuda.use_library(None)
    monkeypatch.setattr(libcuda._driver, '_candidates', list)
    assert libcuda.is_available() is False


@pytest.mark.usefixtures('nothing_installed')
def test_every_function_fails_without_a_library() -> None:
    for function in (libcuda.cuInit, libcuda.cuDriverGetVersion):
        with pytest.raises(libcuda.CUDAError_NotInitialized) as caught:
            function()
        assert '/nonexistent/libcuda.so.1' in str(caught.value.__cause__)
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert 'libcuda.so.1 not found (CUDA_ERROR_NOT_INITIALIZED)' in str(error)
    with pytest.raises(libcudart.cudaError_InitializationError):
        libcudart.cudaRuntimeGetVersion()
    with pytest.raises(libcudart.cudaError_InitializationError):
        libcudart.cudaGetErrorString(0)
    assert libcudart.is_available() is False


def test_uuids_of_all_devices_or_the_first_error() -> None:
    for driver in (fake_cuda.driver(), fake_cuda.driver('cuDeviceGetUuid_v2')):
        libcuda.use_library(driver)
        assert libcuda.device_uuids() == fake_cuda.UUIDS
    for name, code in (('cuInit', 100), ('cuDeviceGetCount', 3), ('cuDeviceGetUuid_v2', 999)):
        broken = fake_cuda.driver()
        setattr(broken, name, lambda *args, code=code: code)
        libcuda.use_library(broken)
        with pytest.raises(libcuda.CUDAError) as caught:
            libcuda.device_uuids()
        assert caught.value.value == code


@BOTH
def test_every_error_has_its_own_class_and_pickles(module: Any, base: Any) -> None:
    assert len(module.ERROR_NAMES) >= 100
    classes = {module.cudaExceptionClass(code) for code in module.ERROR_NAMES}
    assert len(classes) == len(module.ERROR_NAMES)
    for code, name in module.ERROR_NAMES.items():
        assert getattr(module, name) == code
        error = base(code)
        assert type(error) is module.cudaExceptionClass(code)
        assert getattr(module, type(error).__name__) is type(error)
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert (copy.value, copy.args, str(copy)) == (code, error.args, str(error))
        assert copy == error
        assert copy != base(999 if code == 1 else 1)


def test_functions_return_the_values_of_the_runtime() -> None:
    libcudart.use_library(fake_cuda.runtime())
    assert libcudart.cudaRuntimeGetVersion() == '12.9'
    assert libcudart.cudaDriverGetVersion() == '13.0'
    assert libcudart.cudaGetErrorName(101) == 'cudaErrorInvalidDevice'
    assert libcudart.cuGetErrorString(101) == 'words of the runtime for 101'
    assert libcudart.cudaPeekAtLastError() == 101
    assert libcudart.cudaGetLastError() == 101
    assert libcudart.cudaGetLastError() == 0
    assert libcudart.cudaGetDeviceCount() == 2
    assert libcudart.cudaDeviceGetPCIBusId(1) == fake_cuda.BUS_IDS[1]
    assert libcudart.cudaDeviceGetByPCIBusId(fake_cuda.BUS_IDS[1]) == 1
    with pytest.raises(libcudart.cudaError_InvalidDevice):
        libcudart.cudaDeviceGetByPCIBusId('0000:FF:00.0')
    assert libcudart.is_available() is True
