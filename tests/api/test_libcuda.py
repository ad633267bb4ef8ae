"""The binding of the CUDA driver: loading, return codes, functions."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
from typing import Any, Iterator

import pytest

from nvitop.api import libcuda
from tests.api import fake_cuda
from tests.patience import PATIENCE


@pytest.fixture(autouse=True)
def _no_driver_stays() -> Iterator[None]:
    libcuda.use_library(None)  # of a test elsewhere
    yield
    libcuda.use_library(None)


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without a driver: nothing to be found anywhere."""
    monkeypatch.setattr(libcuda._driver, '_candidates', lambda: ['/nonexistent/libcuda.so.1'])


def test_importing_loads_no_library() -> None:
    code = (
        'import ctypes\n'
        'class CDLL(ctypes.CDLL):\n'
        '    def __init__(self, name, *args, **kwargs):\n'
        '        assert "cuda" not in str(name), name\n'
        '        super().__init__(name, *args, **kwargs)\n'
        'ctypes.CDLL = CDLL\n'
        'from nvitop.api import libcuda, libcudart\n'
        'assert libcuda.used_library() is None and libcudart.used_library() is None'
    )
    subprocess.run([sys.executable, '-c', code], check=True, timeout=PATIENCE)


def test_the_first_library_that_loads_is_used_and_loaded_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def load(path: str) -> object:
        asked.append(path)
        if path == 'b':
            return fake_cuda.driver()
        raise OSError(path)

    monkeypatch.setattr(ctypes, 'CDLL', load)
    monkeypatch.setattr(libcuda._driver, '_candidates', lambda: ['a', 'b', 'c'])
    assert libcuda.cuDriverGetVersion() == '12.4'
    assert libcuda.cuDriverGetVersion() == '12.4'
    assert asked == ['a', 'b']


@pytest.mark.usefixtures('no_driver')
def test_without_a_driver_every_function_says_so() -> None:
    with pytest.raises(libcuda.CUDAError_FileNotFound, match='file not found'):
        libcuda.cuInit()
    with pytest.raises(libcuda.CUDAError_FileNotFound):
        libcuda.cuDriverGetVersion()
    assert libcuda.is_available() is False


@pytest.mark.usefixtures('no_driver')
def test_a_driver_that_comes_later_is_noticed() -> None:
    assert libcuda.is_available() is False
    libcuda.use_library(fake_cuda.driver())
    assert libcuda.is_available() is True
    libcuda.use_library(None)
    assert libcuda.is_available() is False


def test_every_error_has_a_class_of_its_own() -> None:
    assert len(libcuda.ERROR_NAMES) >= 100
    classes = {libcuda.cudaExceptionClass(code) for code in libcuda.ERROR_NAMES}
    assert len(classes) == len(libcuda.ERROR_NAMES)
    for code, name in libcuda.ERROR_NAMES.items():
        assert getattr(libcuda, name) == code
        error = libcuda.CUDAError(code)
        assert type(error) is libcuda.cudaExceptionClass(code)
        assert error.value == code
        assert getattr(libcuda, type(error).__name__) is type(error)
        assert type(error).__name__ in dir(libcuda)


@pytest.mark.parametrize(
    ('constant', 'name'),
    [
        (libcuda.CUDA_ERROR_INVALID_VALUE, 'CUDAError_InvalidValue'),
        (libcuda.CUDA_ERROR_NO_DEVICE, 'CUDAError_NoDevice'),
        (libcuda.CUDA_ERROR_ECC_UNCORRECTABLE, 'CUDAError_EccUncorrectable'),
        (libcuda.CUDA_ERROR_UNKNOWN, 'CUDAError_Unknown'),
    ],
)
def test_class_names_follow_the_constants(constant: int, name: str) -> None:
    assert libcuda.cudaExceptionClass(constant).__name__ == name
    assert libcuda.cudaExceptionClass(constant).__module__ == 'nvitop.api.libcuda'


def test_an_unknown_code_stays_with_the_base_class() -> None:
    error = libcuda.CUDAError(123456)
    assert type(error) is libcuda.CUDAError
    assert str(error) == 'unknown error 123456'
    with pytest.raises(ValueError, match='123456'):
        libcuda.cudaExceptionClass(123456)
    with pytest.raises(TypeError):
        libcuda.CUDAError()
    with pytest.raises(AttributeError):
        _ = libcuda.CUDAError_NoSuchThing
    with pytest.raises(AttributeError):
        _ = libcuda.cuNoSuchThing


@pytest.mark.parametrize(
    'error',
    [libcuda.CUDAError(100), libcuda.CUDAError_InvalidDevice(), libcuda.CUDAError(123456)],
)
def test_errors_pickle(error: libcuda.CUDAError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (copy.value, copy.args, str(copy)) == (error.value, error.args, str(error))


def test_an_error_speaks_the_drivers_words_only_while_one_is_loaded() -> None:
    error = libcuda.CUDAError(101)
    assert str(error) == 'invalid device (CUDA_ERROR_INVALID_DEVICE)'
    libcuda.use_library(fake_cuda.driver())
    assert str(error) == 'words of the driver for 101 (CUDA_ERROR_INVALID_DEVICE)'
    libcuda.use_library(fake_cuda.driver('cuGetErrorString'))
    assert str(error) == 'invalid device (CUDA_ERROR_INVALID_DEVICE)'


def test_functions_return_what_the_driver_says() -> None:
    libcuda.use_library(fake_cuda.driver())
    with pytest.raises(libcuda.CUDAError_NotInitialized):
        libcuda.cuDeviceGetCount()
    libcuda.cuInit()
    assert libcuda.cuDeviceGetCount() == 2
    assert libcuda.cuDriverGetVersion() == '12.4'
    assert libcuda.cuGetErrorName(101) == 'CUDA_ERROR_INVALID_DEVICE'
    assert libcuda.cuGetErrorString(101) == 'words of the driver for 101'
    for ordinal, uuid in enumerate(fake_cuda.UUIDS):
        device = libcuda.cuDeviceGet(ordinal)
        bus_id, name = fake_cuda.DEVICES[uuid]
        assert libcuda.cuDeviceGetPCIBusId(device) == bus_id
        assert libcuda.cuDeviceGetByPCIBusId(bus_id) == device
        assert libcuda.cuDeviceGetName(device) == name
        assert libcuda.cuDeviceGetUuid(device) == uuid
        assert libcuda.cuDeviceGetUuid_v2(device) == uuid
        assert libcuda.cuDeviceTotalMem(device) == (80 - ordinal) << 30


def test_failures_raise_the_error_of_their_code() -> None:
    libcuda.use_library(fake_cuda.driver())
    libcuda.cuInit()
    calls: list[tuple[Any, ...]] = [
        (libcuda.cuDeviceGet, 2, libcuda.CUDAError_InvalidDevice),
        (libcuda.cuDeviceGet, -1, libcuda.CUDAError_InvalidDevice),
        (libcuda.cuDeviceGetByPCIBusId, '0000:FF:00.0', libcuda.CUDAError_InvalidDevice),
        (libcuda.cuGetErrorName, 123456, libcuda.CUDAError_InvalidValue),
    ]
    for function, argument, error in calls:
        with pytest.raises(error):
            function(argument)


def test_the_uuid_falls_back_to_the_old_function() -> None:
    libcuda.use_library(fake_cuda.driver('cuDeviceGetUuid_v2'))
    assert libcuda.cuDeviceGetUuid(1) == fake_cuda.UUIDS[1]
    with pytest.raises(libcuda.CUDAError_NotFound):
        libcuda.cuDeviceGetUuid_v2(1)


def test_an_error_of_the_new_uuid_function_is_not_hidden_by_the_old_one() -> None:
    driver: Any = fake_cuda.driver()
    driver.cuDeviceGetUuid_v2 = lambda raw, device: libcuda.CUDA_ERROR_INVALID_DEVICE
    libcuda.use_library(driver)
    with pytest.raises(libcuda.CUDAError_InvalidDevice):
        libcuda.cuDeviceGetUuid(0)


def test_a_star_import_brings_what_is_public_and_nothing_else() -> None:
    names: dict[str, object] = {}
    exec('from nvitop.api.libcuda import *', names)
    assert set(names) - {'__builtins__'} == set(libcuda.__all__)
    assert names['CUDAError_NoDevice'] is libcuda.CUDAError_NoDevice
    assert len(set(libcuda.__all__)) == len(libcuda.__all__)
    own = [name for name, value in vars(libcuda).items() if callable(value) and name[:2] == 'cu']
    assert set(own) <= set(libcuda.__all__)
