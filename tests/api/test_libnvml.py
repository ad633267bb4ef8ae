"""Queries of NVML: results, missing results and their reasons, initialization."""

from __future__ import annotations

from typing import Any, Callable, cast

import pynvml
import pytest

from nvitop.api import libnvml
from nvitop.basics.units import NA
from tests.api.fake_nvml import NOT_SUPPORTED, FakeLibrary, handle, write_text


def test_queries_since_a_timestamp_share_one_reason(library: FakeLibrary) -> None:
    """Otherwise every timestamp would leave a reason behind."""
    codes = iter([NOT_SUPPORTED] * 2000 + [0])
    library.add('nvmlDeviceGetProcessUtilization', lambda *args: next(codes))
    function = 'nvmlDeviceGetProcessUtilization'
    for timestamp in range(2000):
        libnvml.nvmlQuery(function, handle(), timestamp)
    assert isinstance(libnvml.last_error(function, handle(), 7), libnvml.NVMLError_NotSupported)
    assert isinstance(libnvml.last_error(function, handle()), libnvml.NVMLError_NotSupported)
    libnvml.nvmlQuery(function, handle(), 2000)
    assert libnvml.last_error(function, handle()) is None
    assert libnvml.last_error(function, handle(), 7) is None


def test_bytes_are_decoded(library: FakeLibrary) -> None:
    library.add('nvmlDeviceGetName', write_text('GPU µ'.encode() + b'\xff'))
    assert libnvml.nvmlQuery('nvmlDeviceGetName', handle()) == 'GPU µ\ufffd'  # not valid UTF-8
    assert libnvml.nvmlQuery(lambda: b'raw') == 'raw'


def test_mismatch_errors_of_new_bindings_mean_a_missing_function(library: FakeLibrary) -> None:
    # The newest binding raises a different exception for this function.
    function = pynvml.nvmlDeviceGetComputeRunningProcesses
    assert libnvml.nvmlQuery(function, handle()) is NA
    with pytest.raises(libnvml.NVMLError_FunctionNotFound):
        libnvml.nvmlQuery(function, handle(), ignore_errors=False)
    assert 'nvmlDeviceGetComputeRunningProcesses' in libnvml.UNKNOWN_FUNCTIONS


def test_nvml_check_return() -> None:
    assert libnvml.nvmlCheckReturn(1)
    assert libnvml.nvmlCheckReturn(1, int)
    assert libnvml.nvmlCheckReturn('a', (int, str))
    assert not libnvml.nvmlCheckReturn(1, str)
    assert not libnvml.nvmlCheckReturn(NA)
    assert not libnvml.nvmlCheckReturn(retval=NA, types=str)


@pytest.mark.parametrize(
    'steps',
    [
        # Two users do not shut down each other.
        ('init 1 0', 'init 1 0', 'shutdown 1 0', 'query 1 0', 'shutdown 1 1'),
        # Different flags are stacked.
        ('init 1 0', 'init 1 0', 'flags 2 0', 'shutdown 2 1', 'shutdown 2 1', 'shutdown 2 2'),
        # A restart keeps the number of users, and initializes.
        ('init 1 0', 'init 1 0', 'restart 2 1', 'shutdown 2 1', 'shutdown 2 2'),
        ('restart 1 0',),
    ],
)
def test_initializations_are_counted(library: FakeLibrary, steps: tuple[str, ...]) -> None:
    acts: dict[str, Callable[[], object]] = {
        'init': libnvml.nvmlInit,
        'flags': lambda: libnvml.nvmlInitWithFlags(1),
        'shutdown': libnvml.nvmlShutdown,
        'restart': libnvml.restart_nvml,
        'query': handle,
    }
    module = cast(Any, libnvml)
    with module, module:
        assert library.calls['nvmlInitWithFlags'] == 1
    assert library.calls['nvmlShutdown'] == 1
    library.calls.clear()
    for step in steps:
        act, starts, ends = step.split()
        acts[act]()
        calls = library.calls['nvmlInitWithFlags'], library.calls['nvmlShutdown']
        assert calls == (int(starts), int(ends)), step


def test_failure_to_initialize_again_is_raised(library: FakeLibrary) -> None:
    device = handle()
    library.fail('nvmlDeviceGetPowerUsage', 1)
    codes = iter([9])
    library.add('nvmlInitWithFlags', lambda flags: next(codes))
    pynvml._nvmlGetFunctionPointer_cache.clear()
    with pytest.raises(libnvml.NVMLError) as caught:
        libnvml.nvmlQuery('nvmlDeviceGetPowerUsage', device)
    assert caught.value.value == libnvml.NVML_ERROR_DRIVER_NOT_LOADED
