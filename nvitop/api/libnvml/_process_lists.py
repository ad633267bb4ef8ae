# SPDX-License-Identifier: Apache-2.0
"""Process lists of a device. Their layout depends on the driver, so every list is checked."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any, Callable, NamedTuple

from nvitop.api.libnvml._binding import BINDING, NVMLError
from nvitop.api.libnvml._errors import (
    FUNCTION_NOT_FOUND,
    INSUFFICIENT_SIZE,
    NOT_SUPPORTED,
    is_too_new,
)
from nvitop.api.libnvml._overrides import (
    ProcessesUtilization,
    ProcessUtilization,
    c_nvmlProcessInfo_v1_t,
    c_nvmlProcessInfo_v2_t,
    c_nvmlProcessInfo_v3_t,
    memory_totals,
    nvmlDeviceGetMemoryInfo,
)
from nvitop.api.libnvml._query import address_of, count_call, override
from nvitop.api.libnvml._session import SESSION
from nvitop.basics.log import IMPOSSIBLE_PROCESSES, debug, warn
from nvitop.basics.units import UINT_MAX, ULONGLONG_MAX
from nvitop.platforms.kernel import MAX_PID

#: Maximum number of calls until a growing list fits into its buffer.
_MAX_ROUNDS = 8
#: Maximum number of rows to make room for. A driver that requests more is broken.
_MAX_ROWS = 1 << 17
#: Fills buffers before a call. No row ends with this byte, so trailing ones were not written.
_UNWRITTEN = b'\xa5'


class ProcessInfo(NamedTuple):
    """A process on a device, with the field names of NVML's structure."""

    pid: int
    #: Bytes; ``None`` if the driver does not know (Windows with WDDM), or if it is impossible.
    usedGpuMemory: int | None
    #: ``0xFFFFFFFF`` without MIG.
    gpuInstanceId: int = UINT_MAX
    computeInstanceId: int = UINT_MAX
    #: Bytes protected by confidential computing; ``None`` if the driver does not report them.
    usedGpuCcProtectedMemory: int | None = None


class _ListLayout(NamedTuple):
    structure: type[ctypes.Structure]
    row: struct.Struct


_V1 = _ListLayout(c_nvmlProcessInfo_v1_t, struct.Struct('=I4xQ'))
_V2 = _ListLayout(c_nvmlProcessInfo_v2_t, struct.Struct('=I4xQII'))
_V3 = _ListLayout(c_nvmlProcessInfo_v3_t, struct.Struct('=I4xQIIQ'))
_LARGEST_ROW = _V3.row.size


class _Method(NamedTuple):
    """An entry point and the possible layouts of its rows, the most likely one first."""

    suffix: str
    layouts: tuple[_ListLayout, ...]


class _ListResult(NamedTuple):
    rows: list[ProcessInfo]
    #: What is impossible in the list, and in how many of its rows.
    impossible: str
    impossible_rows: int
    dropped: int


#: Function → its entry points, the one that worked first.
_methods: dict[str, tuple[_Method, ...]] = {}
#: (function, address in the handle) → number of rows to make room for.
_capacities: dict[tuple[str, int], int] = {}
#: (function, address in the handle) → what was impossible in the last list.
_impossible: dict[tuple[str, int], str] = {}
_warned: set[str] = set()


def _forget() -> None:
    for memory in (_methods, _capacities, _impossible, _warned):
        memory.clear()


SESSION.on_new_library(_forget)


@override
def nvmlDeviceGetComputeRunningProcesses(handle: Any) -> list[ProcessInfo]:
    """Return the processes with a compute context on a device (type C of nvidia-smi).

    The layout that the driver uses is detected and checked. Rows with impossible PIDs are
    dropped, and impossible memory is ``None``; :func:`impossible_answer` returns why.

    Raises:
        NVMLError: The query failed.
    """
    return _running_processes('nvmlDeviceGetComputeRunningProcesses', handle)


@override
def nvmlDeviceGetGraphicsRunningProcesses(handle: Any) -> list[ProcessInfo]:
    """Return the processes with a graphics context on a device (type G of nvidia-smi).

    See :func:`nvmlDeviceGetComputeRunningProcesses`.
    """
    return _running_processes('nvmlDeviceGetGraphicsRunningProcesses', handle)


@override
def nvmlDeviceGetMPSComputeRunningProcesses(handle: Any) -> list[ProcessInfo]:
    """Return the clients of the Multi-Process Service on a device (type M+C of nvidia-smi).

    See :func:`nvmlDeviceGetComputeRunningProcesses`.
    """
    return _running_processes('nvmlDeviceGetMPSComputeRunningProcesses', handle)


def impossible_answer(func: str, handle: Any) -> str:
    """Return what was impossible in the last process list of a device.

    Args:
        func: Name of the function: ``'nvmlDeviceGetComputeRunningProcesses'``.
        handle: The device.

    Returns:
        One line of text, ``''`` if nothing was.
    """
    return _impossible.get((func, address_of(handle)), '')


def _running_processes(name: str, handle: Any) -> list[ProcessInfo]:
    methods = _methods.get(name) or _choose_methods(name)
    key = name, address_of(handle)
    best: _ListResult | None = None
    is_repeated = False
    for method in methods:
        try:
            buffer, count = _read(key, method, handle, is_repeated=is_repeated)
        except NVMLError as error:
            if not is_too_new(error):
                raise
            continue
        finally:
            is_repeated = True
        written = _written_layout(buffer, count, method.layouts)
        for layout in (written,) if written else method.layouts:
            result = _check(layout, buffer, count, handle, is_sure=bool(written))
            if best is None or result.impossible_rows < best.impossible_rows:
                best = result
            if written or not result.impossible_rows:
                if (method, layout) != (methods[0], methods[0].layouts[0]):
                    _remember(name, methods, method, layout)
                return _note(key, result)
    if best is None:
        raise NVMLError(FUNCTION_NOT_FOUND)
    return _note(key, best)


def _choose_methods(name: str) -> tuple[_Method, ...]:
    """Return the entry points that this driver has, the newest first."""
    # The first releases of R535 write longer rows with the third entry point. Later releases do
    # not, and have the second of these two functions.
    is_long = _has('nvmlDeviceGetConfComputeMemSizeInfo') and not _has(
        'nvmlDeviceGetRunningProcessDetailList'
    )
    third = _Method('_v3', (_V3, _V2) if is_long else (_V2, _V3))
    methods: tuple[_Method, ...] = (third, _Method('_v2', (_V2, _V3)), _Method('', (_V1,)))
    forced = os.environ.get('NVITOP_NVML_PROCESS_API', '').strip().lower()
    if forced in ('v1', 'v2', 'v3'):
        methods = (methods[3 - int(forced[1])],)
    elif forced and 'NVITOP_NVML_PROCESS_API' not in _warned:
        _warned.add('NVITOP_NVML_PROCESS_API')
        warn('Ignoring NVITOP_NVML_PROCESS_API=%r: expected v1, v2 or v3.', forced)
    methods = tuple(method for method in methods if _has(name + method.suffix))
    _methods[name] = methods
    return methods


def _has(symbol: str) -> bool:
    try:
        BINDING._nvmlGetFunctionPointer(symbol)
    except NVMLError:
        return False
    return True


def _remember(
    name: str, methods: tuple[_Method, ...], method: _Method, layout: _ListLayout
) -> None:
    layouts = (layout, *(other for other in method.layouts if other is not layout))
    others = tuple(other for other in methods if other is not method)
    _methods[name] = (_Method(method.suffix, layouts), *others)
    debug('%s%s writes rows of %d bytes.', name, method.suffix, layout.row.size)


def _read(
    key: tuple[str, int], method: _Method, handle: Any, *, is_repeated: bool
) -> tuple[bytearray, int]:
    """Return the buffer that the driver filled, and its number of rows."""
    function = BINDING._nvmlGetFunctionPointer(key[0] + method.suffix)
    structure = method.layouts[0].structure
    buffer = bytearray()

    def call(capacity: int, count: ctypes.c_uint) -> int:
        nonlocal buffer
        # Room for the longest rows in any case: the driver must never write past the end.
        buffer = bytearray(_UNWRITTEN) * (capacity * _LARGEST_ROW)
        rows = (structure * capacity).from_buffer(buffer) if capacity else None
        return int(function(handle, ctypes.byref(count), rows))

    count = _fill(key, call, is_repeated=is_repeated)
    return buffer, count


def _fill(
    key: tuple[str, int], call: Callable[[int, ctypes.c_uint], int], *, is_repeated: bool = False
) -> int:
    """Call with a growing buffer until the list fits, and return its number of rows.

    The first buffer is as large as the last one that was enough, so most lists cost one call.
    """
    capacity = _capacities.get(key, 0)
    count = ctypes.c_uint()
    code = INSUFFICIENT_SIZE
    for number in range(_MAX_ROUNDS):
        if number or is_repeated:
            count_call()
        count.value = capacity
        code = call(capacity, count)
        if code != INSUFFICIENT_SIZE:
            break
        # Processes may start before the next call.
        capacity = max(2 * count.value + 5, 2 * capacity)
        if capacity > _MAX_ROWS:
            break
    if code:
        raise NVMLError(code)
    _capacities[key] = capacity
    return min(count.value, capacity)


def _written_layout(
    buffer: bytearray, count: int, layouts: tuple[_ListLayout, ...]
) -> _ListLayout | None:
    """Return the layout whose rows end exactly where the driver stopped writing."""
    written = len(buffer.rstrip(_UNWRITTEN))
    for layout in layouts:
        if written == count * layout.row.size:
            return layout
    return None


def _check(
    layout: _ListLayout, buffer: bytearray, count: int, handle: Any, *, is_sure: bool
) -> _ListResult:
    """Return the rows of a list. If their layout is sure, only an impossible value is left out."""
    rows: list[ProcessInfo] = []
    impossible = ''
    impossible_rows = 0
    total = memory_totals.get(address_of(handle), 0)
    is_fresh = False
    for pid, memory, *rest in layout.row.iter_unpack(memoryview(buffer)[: count * layout.row.size]):
        if not 0 < pid <= MAX_PID:
            impossible = f'invalid PID {pid}'
            impossible_rows += 1
            continue
        if memory == ULONGLONG_MAX:
            memory = None
        elif memory > total:
            # The MIG device may have been recreated with more memory since the total was read.
            total = total if is_fresh else _read_total(handle)
            is_fresh = True
            if memory > total:
                impossible = f'{memory} bytes of PID {pid} are more than the device has ({total})'
                impossible_rows += 1
                memory = None
                if not is_sure:
                    continue
        protected = rest[2] if len(rest) > 2 and rest[2] != ULONGLONG_MAX else None
        gpu_instance, compute_instance = rest[:2] or (UINT_MAX, UINT_MAX)
        rows.append(ProcessInfo(pid, memory, gpu_instance, compute_instance, protected))
    return _ListResult(rows, impossible, impossible_rows, count - len(rows))


def _read_total(handle: Any) -> int:
    """Read the total memory of a device in bytes; the maximum if it has no memory of its own."""
    count_call()
    try:
        return nvmlDeviceGetMemoryInfo(handle).total or ULONGLONG_MAX
    except NVMLError as error:
        if error.value == NOT_SUPPORTED:
            memory_totals[address_of(handle)] = ULONGLONG_MAX
        return ULONGLONG_MAX


def _note(key: tuple[str, int], result: _ListResult) -> list[ProcessInfo]:
    if not result.impossible_rows:
        if _impossible:
            _impossible.pop(key, None)
        return result.rows
    text = result.impossible
    if result.dropped:
        text = f'ignored {result.dropped} of {result.dropped + len(result.rows)} entries: {text}'
    _impossible[key] = text
    name = key[0]
    if name not in _warned:
        _warned.add(name)
        warn('%s returned impossible processes: %s.', name, text, kind=IMPOSSIBLE_PROCESSES)
    return result.rows


@override
def nvmlDeviceGetProcessUtilization(handle: Any, timeStamp: int) -> list[Any]:
    """Return utilization samples of the processes on a device, as NVML's structures.

    Each has ``pid``, ``timeStamp`` (microseconds), ``smUtil``, ``memUtil``, ``encUtil`` and
    ``decUtil`` (percent). Some drivers fill unused rows with impossible PIDs; those are dropped.

    Args:
        handle: The device.
        timeStamp: Return only samples after this time, in microseconds since the epoch; 0 for all.

    Raises:
        NVMLError_NotFound: There is no newer sample.
        NVMLError: The query failed.
    """
    name = 'nvmlDeviceGetProcessUtilization'
    function = BINDING._nvmlGetFunctionPointer(name)
    since = ctypes.c_ulonglong(timeStamp)
    samples: Any = ()

    def call(capacity: int, count: ctypes.c_uint) -> int:
        nonlocal samples
        samples = (BINDING.c_nvmlProcessUtilizationSample_t * capacity)() if capacity else None
        return int(function(handle, samples, ctypes.byref(count), since))

    count = _fill((name, address_of(handle)), call)
    return [sample for sample in samples[:count] if 0 < sample.pid <= MAX_PID] if count else []


@override
def nvmlDeviceGetProcessesUtilizationInfo(handle: Any, timeStamp: int) -> list[Any]:
    """Return the same samples by the call of R550 and newer, with ``jpgUtil`` and ``ofaUtil`` too.

    Raises:
        NVMLError_NotFound: There is no newer sample.
        NVMLError: The query failed.
    """
    name = 'nvmlDeviceGetProcessesUtilizationInfo'
    function = BINDING._nvmlGetFunctionPointer(name)
    samples: Any = ()

    def call(capacity: int, count: ctypes.c_uint) -> int:
        nonlocal samples
        samples = (ProcessUtilization * capacity)() if capacity else None
        request = ProcessesUtilization(ProcessesUtilization.VERSION, capacity, timeStamp, samples)
        code = int(function(handle, ctypes.byref(request)))
        count.value = request.processSamplesCount
        return code

    count = _fill((name, address_of(handle)), call)
    return [sample for sample in samples[:count] if 0 < sample.pid <= MAX_PID] if count else []
