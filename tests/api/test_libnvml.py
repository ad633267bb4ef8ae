"""Queries of NVML: results, reasons, initialization, threads, the end of the program."""

from __future__ import annotations

import ctypes
import pickle
import sys
import threading
from pathlib import Path
from typing import Any, Callable, cast

import pynvml
import pytest

from nvitop.api import libnvml
from nvitop.api.libnvml import _session
from nvitop.api.libnvml._session import SESSION
from nvitop.basics.units import NA
from tests.api.fake_nvml import NOT_SUPPORTED, FakeLibrary, handle, write_text, write_uint
from tests.programs import run_python
from tests.waiting import PATIENCE


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


POWER = 'nvmlDeviceGetPowerUsage'


def test_nvml_is_not_shut_down_during_a_call(
    library: FakeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, released = threading.Event(), threading.Event()

    def hang(*args: Any) -> int:
        entered.set()
        return 0 if released.wait(PATIENCE) else 1

    library.add(POWER, hang)
    library.add('nvmlDeviceGetFanSpeed', write_uint(30))
    device = handle()
    thread = threading.Thread(target=libnvml.nvmlQuery, args=(POWER, device), daemon=True)
    thread.start()
    assert entered.wait(PATIENCE)
    assert list(libnvml.calls_in_flight().values()) == [POWER]
    monkeypatch.setattr(_session, 'SHUTDOWN_TIMEOUT_SECONDS', 0.02)
    with pytest.raises(libnvml.NVMLError) as caught:
        libnvml.nvmlShutdown()
    assert caught.value.value == libnvml.NVML_ERROR_IN_USE
    assert libnvml.nvmlQuery('nvmlDeviceGetFanSpeed', device) == 30
    assert (library.calls['nvmlShutdown'], library.calls['nvmlInitWithFlags']) == (0, 1)
    released.set()
    thread.join(PATIENCE)
    assert libnvml.calls_in_flight() == {}


def test_a_thread_whose_stack_is_no_frame_is_outside_the_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python 3.11.7 returned such an object once."""
    monkeypatch.setattr(sys, '_current_frames', lambda: {-1: object()})
    assert libnvml.calls_in_flight() == {}


LEAVING = """
import sys, threading, time
from nvitop.api import libnvml
from tests.api.fake_nvml import FakeLibrary, handle, write_uint
library = FakeLibrary()
library.add('nvmlDeviceGetFanSpeed', write_uint(30))
library.add('nvmlShutdown', lambda: print('shut down') or 0)
libnvml.use_library(library)
"""


HANGS = """
entered = threading.Event()
def hang(*args):
    entered.set()
    threading.Event().wait()
    return 0
library.add('nvmlDeviceGetPowerUsage', hang)
device = handle()
query = lambda: libnvml.nvmlQuery('nvmlDeviceGetPowerUsage', device)
threading.Thread(target=query, daemon=True).start()
assert entered.wait(100)
"""
QUERIES = """
device = handle()
asked = threading.Event()
def query():
    while True:
        libnvml.nvmlQuery('nvmlDeviceGetFanSpeed', device)
        asked.set()
for _ in range(4):
    threading.Thread(target=query, daemon=True).start()
assert asked.wait(100)
"""


@pytest.mark.parametrize(
    ('code', 'printed'),
    [('libnvml.nvmlInit()', ['shut down\n']), (HANGS, ['']), (QUERIES, ['', 'shut down\n'])],
    ids=['idle', 'a thread is inside the driver', 'threads make queries'],
)
def test_exit_shuts_nvml_down_and_waits_for_no_thread(code: str, printed: list[str]) -> None:
    done = run_python(LEAVING + code)
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout in printed


def test_missing_library_is_explained_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(flags: int) -> None:
        raise libnvml.NVMLError(libnvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, 'nvmlInitWithFlags', missing)
    monkeypatch.setattr(SESSION, '_is_reported', False)
    for _ in range(2):
        with pytest.raises(libnvml.NVMLError_LibraryNotFound) as raised:
            libnvml.nvmlQuery('nvmlDeviceGetCount')
        text = 'NVML Shared Library Not Found. The NVML library was not found'
        assert str(raised.value).startswith(text)
        assert raised.value.value == libnvml.NVML_ERROR_LIBRARY_NOT_FOUND
        assert type(pickle.loads(pickle.dumps(raised.value))) is type(raised.value)
    assert [record.levelname for record in caplog.records] == ['CRITICAL']
    assert 'NVML library was not found' in caplog.text


def test_unknown_demo_never_leads_to_the_real_driver() -> None:
    code = """
import pynvml
from nvitop.api import libnvml
for _ in range(2):
    try:
        libnvml.nvmlQuery('nvmlDeviceGetCount')
    except libnvml.NVMLError:
        print('queried the driver')
    except Exception as error:
        print('no-such-scenario' in str(error), pynvml.nvmlLib)
"""
    done = run_python(code, NVITOP_DEMO='no-such-scenario')
    assert (done.returncode, done.stdout) == (0, 'True None\nTrue None\n')


@pytest.mark.parametrize(
    ('before', 'error'),
    [
        ('', '[DEBUG] nvitop.api.libnvml: Initialized NVML with flags 0.\n'),
        ('logging.basicConfig()', 'DEBUG:nvitop.api.libnvml:Initialized NVML with flags 0.\n'),
    ],
)
def test_debug_messages_go_to_standard_error_once_and_never_to_a_file(
    before: str, error: str, tmp_path: Path
) -> None:
    code = f'{LEAVING}import logging; {before}\nlibnvml.nvmlInit()'
    assert run_python(code, cwd=tmp_path, LOGLEVEL='debug').stderr == error
    assert not list(tmp_path.iterdir())


def test_all_names_of_the_binding_are_available() -> None:
    here: dict[str, Any] = {}
    exec('from nvitop.api.libnvml import *', here)
    there: dict[str, Any] = {}
    exec('from pynvml import *', there)
    missing = set(there) - set(here)
    assert missing <= {'nvmlLib'}
    assert libnvml.NVML_CLOCK_SM == pynvml.NVML_CLOCK_SM
    assert libnvml.nvmlLib is pynvml.nvmlLib
    assert libnvml._nvmlCheckReturn is pynvml._nvmlCheckReturn
    with pytest.raises(AttributeError, match="no attribute 'nvmlNonsense'"):
        libnvml.nvmlNonsense  # noqa: B018 - looking it up is the test


@pytest.mark.parametrize('files', [['broken', 'good', 'never'], ['broken']])
def test_library_is_loaded_from_directories_that_the_loader_does_not_search(
    library: FakeLibrary, monkeypatch: pytest.MonkeyPatch, files: list[str]
) -> None:
    starts: list[int] = []
    loaded: list[str] = []

    def start(flags: int) -> None:
        starts.append(flags)
        if not loaded:
            raise libnvml.NVMLError(libnvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    def load(path: str) -> None:
        if path == 'broken':
            raise OSError('wrong ELF class')
        loaded.append(path)

    monkeypatch.setattr(pynvml, 'nvmlInitWithFlags', start)
    monkeypatch.setattr('nvitop.platforms.nvidia.nvml_elsewhere', lambda *_: files)
    monkeypatch.setattr(ctypes, 'CDLL', load)
    if 'good' in files:
        libnvml.nvmlInitWithFlags(3)
        assert (starts, loaded) == ([3, 3], ['good'])
    else:
        with pytest.raises(libnvml.NVMLError_LibraryNotFound):
            libnvml.nvmlInitWithFlags(3)
        assert starts == [3]


def test_broken_binding_is_explained(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(pynvml, 'nvmlInitWithFlags')
    monkeypatch.setattr(SESSION, '_is_reported', False)
    with pytest.raises(AttributeError):
        libnvml.nvmlInit()
    assert 'force-reinstall' in caplog.text


def test_demo_covers_programs_that_only_import_nvitop() -> None:
    code = 'from pynvml import *\nimport nvitop\nnvmlInit()\nprint(nvmlDeviceGetCount())'
    done = run_python(code, NVITOP_DEMO='mig')
    assert (done.returncode, done.stdout) == (0, '4\n')
