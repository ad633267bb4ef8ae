"""The bindings of the CUDA driver and runtime: loading, errors, functions."""

from __future__ import annotations

import ctypes
import pickle
import types
from typing import Any, Iterator

import pytest

from nvitop.api import libcuda, libcudart
from tests.api import fake_cuda

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


@BOTH
def test_unknown_code_stays_with_the_base_class(module: Any, base: Any) -> None:
    error = base(123456)
    assert type(error) is base
    assert str(error) == 'unknown error 123456'
    assert type(pickle.loads(pickle.dumps(error))) is base
    with pytest.raises(ValueError, match='123456'):
        module.cudaExceptionClass(123456)
    with pytest.raises(TypeError):
        base()
    for name in (f'{base.__name__}_NoSuchThing', 'cuNoSuchThing'):
        with pytest.raises(AttributeError):
            getattr(module, name)


def test_error_text_comes_from_the_loaded_library() -> None:
    error, runtime_error = libcuda.CUDAError(101), libcudart.cudaError(214)
    assert str(error) == 'invalid device (CUDA_ERROR_INVALID_DEVICE)'
    assert str(runtime_error) == 'ecc uncorrectable (cudaErrorECCUncorrectable)'

    def cuGetErrorString(error: object, text: object) -> int:
        return fake_cuda.fill(text, b'words of the driver')

    driver = types.SimpleNamespace(cuGetErrorString=cuGetErrorString)
    libcuda.use_library(driver)
    libcudart.use_library(fake_cuda.runtime())
    assert str(error) == 'words of the driver (CUDA_ERROR_INVALID_DEVICE)'
    assert str(runtime_error) == 'words of the runtime for 214 (cudaErrorECCUncorrectable)'
    libcuda.use_library(fake_cuda.driver())
    assert str(error) == 'invalid device (CUDA_ERROR_INVALID_DEVICE)'


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
