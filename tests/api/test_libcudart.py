"""The binding of the CUDA runtime: where it is looked for, return codes, functions."""

from __future__ import annotations

import pickle
from typing import Iterator

import pytest

from nvitop.api import libcudart
from tests.api import fake_cuda


@pytest.fixture(autouse=True)
def _no_runtime_stays() -> Iterator[None]:
    libcudart.use_library(None)  # of a test elsewhere
    yield
    libcudart.use_library(None)


def test_without_a_runtime_every_function_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libcudart._runtime, '_candidates', lambda: ['/nonexistent/libcudart.so'])
    with pytest.raises(libcudart.cudaError_FileNotFound, match='file not found'):
        libcudart.cudaRuntimeGetVersion()
    with pytest.raises(libcudart.cudaError_FileNotFound):
        libcudart.cudaGetErrorString(0)
    assert libcudart.is_available() is False


def test_every_error_has_a_class_of_its_own_and_pickles() -> None:
    assert len(libcudart.ERROR_NAMES) >= 130
    for code, name in libcudart.ERROR_NAMES.items():
        assert getattr(libcudart, name) == code
        error = libcudart.cudaError(code)
        assert type(error) is libcudart.cudaExceptionClass(code)
        assert type(error).__name__ == f'cudaError_{name[len("cudaError") :]}'
        assert type(error).__name__ in dir(libcudart)
        assert type(pickle.loads(pickle.dumps(error))) is type(error)
        assert pickle.loads(pickle.dumps(error)).value == code
    assert libcudart.cudaSuccess == 0


def test_an_unknown_code_stays_with_the_base_class() -> None:
    assert type(libcudart.cudaError(54321)) is libcudart.cudaError
    with pytest.raises(ValueError, match='54321'):
        libcudart.cudaExceptionClass(54321)
    with pytest.raises(AttributeError):
        _ = libcudart.cudaError_NoSuchThing
    with pytest.raises(AttributeError):
        _ = libcudart.cudaNoSuchThing


def test_an_error_speaks_the_runtimes_words_only_while_one_is_loaded() -> None:
    error = libcudart.cudaError(libcudart.cudaErrorECCUncorrectable)
    assert str(error) == 'ecc uncorrectable (cudaErrorECCUncorrectable)'
    libcudart.use_library(fake_cuda.runtime())
    assert str(error) == 'words of the runtime for 214 (cudaErrorECCUncorrectable)'


def test_functions_return_what_the_runtime_says() -> None:
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


def test_a_function_the_runtime_lacks_is_an_error_of_its_own() -> None:
    libcudart.use_library(fake_cuda.runtime('cudaRuntimeGetVersion'))
    with pytest.raises(libcudart.cudaError_SymbolNotFound):
        libcudart.cudaRuntimeGetVersion()


def test_a_star_import_brings_what_is_public_and_nothing_else() -> None:
    names: dict[str, object] = {}
    exec('from nvitop.api.libcudart import *', names)
    assert set(names) - {'__builtins__'} == set(libcudart.__all__)
    assert names['cudaError_NoDevice'] is libcudart.cudaError_NoDevice
    assert len(set(libcudart.__all__)) == len(libcudart.__all__)
    own = [name for name, value in vars(libcudart).items() if callable(value) and name[:2] == 'cu']
    assert set(own) <= set(libcudart.__all__)
