"""Entry points in several versions, process lists and field values with all kinds of drivers."""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Callable

import pynvml
import pytest

from nvitop.api import libnvml
from nvitop.api.libnvml import _overrides
from nvitop.basics.units import NA
from tests.api.fake_nvml import NOT_SUPPORTED, FakeLibrary, handle, write_uint

COMPUTE = 'nvmlDeviceGetComputeRunningProcesses'
GIB = 1 << 30
NO_INSTANCE = 0xFFFFFFFF
NOT_AVAILABLE = 0xFFFFFFFF_FFFFFFFF
FORMATS = {16: '=I4xQ', 24: '=I4xQII', 32: '=I4xQIIQ'}


@pytest.mark.parametrize(
    ('name', 'of_binding'),
    [
        ('c_nvmlMemory_v2_t', 'c_nvmlMemory_v2_t'),
        ('c_nvmlProcessInfo_v2_t', 'c_nvmlProcessInfo_v2_t'),
        ('c_nvmlTemperature_v1_t', 'c_nvmlTemperature_v1_t'),
        ('ProcessUtilization', 'c_nvmlProcessUtilizationInfo_v1_t'),
        ('ProcessesUtilization', 'c_nvmlProcessesUtilizationInfo_v1_t'),
        ('FieldValue', 'c_nvmlFieldValue_t'),
        ('PciInfoExt', 'nvmlPciInfoExt_v1_t'),
        ('FabricInfo', 'c_nvmlGpuFabricInfo_v2_t'),
        ('FabricHealth', 'c_nvmlGpuFabricInfo_v3_t'),
        ('PlatformInfo', 'c_nvmlPlatformInfo_v2_t'),
        ('SramEccStatus', 'c_nvmlEccSramErrorStatus_v1_t'),
    ],
)
def test_structures_are_those_of_the_binding(name: str, of_binding: str) -> None:
    own: Any = getattr(_overrides, name)
    other: Any = getattr(pynvml, of_binding, own)  # old bindings lack some

    def layout(structure: Any) -> dict[str, int]:
        return {field[0]: getattr(structure, field[0]).offset for field in structure._fields_}

    assert layout(own) == layout(other)
    assert ctypes.sizeof(own) == ctypes.sizeof(other)


def process_list(
    size: int, rows: list[tuple[int, int]], *, clear: bool = False
) -> Callable[..., int]:
    """Return a function that writes a process list with rows of ``size`` bytes."""

    def function(device: Any, count: Any, buffer: Any) -> int:
        capacity, count._obj.value = count._obj.value, len(rows)
        if capacity < len(rows):
            return 7
        if clear and capacity:
            ctypes.memset(buffer, 0, capacity * size)
        fields = len(struct.unpack(FORMATS[size], bytes(size)))
        packed = b''.join(
            struct.pack(FORMATS[size], *(*row, NO_INSTANCE, NO_INSTANCE, 0)[:fields])
            for row in rows
        )
        if packed:
            ctypes.memmove(buffer, packed, len(packed))
        return 0

    return function


def write_memory(total: int) -> Callable[..., int]:
    def function(device: Any, pointer: Any) -> int:
        pointer._obj.total = total
        pointer._obj.used = pointer._obj.free = total // 2
        return 0

    return function


@pytest.fixture
def board(library: FakeLibrary) -> FakeLibrary:
    """A library with a GPU of 80 GiB."""
    library.add('nvmlDeviceGetMemoryInfo_v2', write_memory(80 * GIB))
    return library


ROWS = [(100, GIB), (200, NOT_AVAILABLE), (300, 2 * GIB)]


def pids_and_memory(processes: Any) -> list[tuple[int, int | None]]:
    return [(process.pid, process.usedGpuMemory) for process in processes]


EXPECTED = [(100, GIB), (200, None), (300, 2 * GIB)]


@pytest.mark.parametrize('clear', [False, True], ids=['exact', 'clears the whole array'])
@pytest.mark.parametrize('count', [0, 1, 2, 3])
@pytest.mark.parametrize(
    ('symbols', 'suffix', 'size'),
    [
        ((), '', 16),
        ((), '_v2', 24),
        ((), '_v3', 24),
        (('nvmlDeviceGetConfComputeMemSizeInfo',), '_v3', 32),
        (
            ('nvmlDeviceGetConfComputeMemSizeInfo', 'nvmlDeviceGetRunningProcessDetailList'),
            '_v3',
            24,
        ),
        # Backported drivers, whose symbols are misleading.
        (('nvmlDeviceGetConfComputeMemSizeInfo',), '_v3', 24),
        ((), '_v3', 32),
    ],
)
def test_every_layout_of_process_lists_is_read(
    board: FakeLibrary, symbols: tuple[str, ...], suffix: str, size: int, count: int, clear: bool
) -> None:
    for symbol in symbols:
        board.add(symbol, lambda *args: 0)
    board.add(COMPUTE + suffix, process_list(size, ROWS[:count], clear=clear))
    processes = libnvml.nvmlQuery(COMPUTE, handle())
    assert pids_and_memory(processes) == EXPECTED[:count]
    assert all(process.gpuInstanceId == NO_INSTANCE for process in processes) or clear
    assert libnvml.impossible_answer(COMPUTE, handle()) == ''


def test_entry_point_with_impossible_results_is_replaced_by_an_older_one(
    board: FakeLibrary, caplog: pytest.LogCaptureFixture
) -> None:

    def scrambled(device: Any, count: Any, buffer: Any) -> int:
        capacity, count._obj.value = count._obj.value, 3
        if capacity < 3:
            return 7
        ctypes.memmove(buffer, b'\xee' * 50, 50)
        return 0

    board.add(COMPUTE + '_v3', scrambled)
    board.add(COMPUTE + '_v2', process_list(24, ROWS))
    for _ in range(3):
        assert pids_and_memory(libnvml.nvmlQuery(COMPUTE, handle())) == EXPECTED
    assert board.calls[COMPUTE + '_v3'] == 2
    assert not caplog.records


@pytest.mark.parametrize('requested', [0, 2**32 - 1])
def test_buffer_size_is_limited(library: FakeLibrary, requested: int) -> None:
    capacities: list[int] = []

    def insatiable(device: Any, count: Any, buffer: Any) -> int:
        capacities.append(count._obj.value)
        count._obj.value = requested
        return 7

    library.add(COMPUTE + '_v3', insatiable)
    for _ in range(50):
        assert libnvml.nvmlQuery(COMPUTE, handle()) is NA
    assert max(capacities) <= 1 << 17
    assert isinstance(libnvml.last_error(COMPUTE, handle()), libnvml.NVMLError_InsufficientSize)


def test_process_with_more_memory_than_the_device_has_unknown_memory(board: FakeLibrary) -> None:
    rows = [(100, GIB), (150, 80 * GIB), (200, 80 * GIB + 1), (300, 99 * GIB)]
    board.add(COMPUTE + '_v3', process_list(24, rows))
    processes = libnvml.nvmlQuery(COMPUTE, handle())
    assert pids_and_memory(processes) == [(100, GIB), (150, 80 * GIB), (200, None), (300, None)]
    assert 'more than the device has' in libnvml.impossible_answer(COMPUTE, handle())
    assert board.calls['nvmlDeviceGetMemoryInfo_v2'] == 1


def test_recreated_device_with_more_memory_is_believed(library: FakeLibrary) -> None:
    totals = iter([10 * GIB, 10 * GIB, 20 * GIB])

    def memory(device: Any, pointer: Any) -> int:
        return write_memory(next(totals))(device, pointer)

    library.add('nvmlDeviceGetMemoryInfo_v2', memory)
    library.add(COMPUTE + '_v3', process_list(24, [(100, 15 * GIB)]))
    assert libnvml.nvmlQuery('nvmlDeviceGetMemoryInfo', handle()).total == 10 * GIB
    assert pids_and_memory(libnvml.nvmlQuery(COMPUTE, handle())) == [(100, None)]
    assert libnvml.impossible_answer(COMPUTE, handle())
    assert pids_and_memory(libnvml.nvmlQuery(COMPUTE, handle())) == [(100, 15 * GIB)]
    assert libnvml.impossible_answer(COMPUTE, handle()) == ''


@pytest.mark.parametrize('api', ['v1', 'V2', ' v3 '])
def test_entry_point_can_be_forced(
    board: FakeLibrary, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    monkeypatch.setenv('NVITOP_NVML_PROCESS_API', api)
    board.add(COMPUTE, process_list(16, ROWS[:1]))
    board.add(COMPUTE + '_v2', process_list(24, ROWS[:2]))
    board.add(COMPUTE + '_v3', process_list(24, ROWS[:3]))
    number = int(api.strip()[1])
    assert pids_and_memory(libnvml.nvmlQuery(COMPUTE, handle())) == EXPECTED[:number]


@pytest.mark.parametrize(('code', 'calls'), [(None, 0), (13, 3), (25, 1)])
def test_older_entry_points_are_called_if_the_newest_is_unsupported(
    library: FakeLibrary, code: int | None, calls: int
) -> None:
    for name in (
        'nvmlDeviceGetMemoryInfo_v2',
        'nvmlDeviceGetTemperatureV',
        'nvmlDeviceGetDriverModel_v2',
    ):
        if code is not None:
            library.fail(name, code)
    library.add('nvmlDeviceGetMemoryInfo', write_memory(8 * GIB))
    library.add('nvmlDeviceGetTemperature', write_uint(50))
    library.add('nvmlDeviceGetDriverModel', write_uint(1))
    for _ in range(3):
        memory = libnvml.nvmlQuery('nvmlDeviceGetMemoryInfo', handle())
        assert isinstance(memory, libnvml.c_nvmlMemory_v1_t)
        assert memory.total == 8 * GIB
        assert libnvml.nvmlQuery('nvmlDeviceGetTemperature', handle(), 0) == 50
        assert libnvml.nvmlQuery('nvmlDeviceGetPendingDriverModel', handle()) == 1
    assert library.calls['nvmlDeviceGetMemoryInfo_v2'] == calls
    assert library.calls['nvmlDeviceGetTemperatureV'] == calls
    assert library.calls['nvmlDeviceGetDriverModel_v2'] == calls
    assert not libnvml.UNKNOWN_FUNCTIONS


def test_field_values_of_every_type(library: FakeLibrary) -> None:
    members = ('dVal', 'uiVal', 'ulVal', 'ullVal', 'sllVal', 'siVal', 'usVal')
    numbers = (1.5, 7, 8, 2**63, -9, -10, 11)

    def fields(device: Any, count: Any, pointer: Any) -> int:
        for index in range(count.value):
            value = pointer._obj[index]
            if value.fieldId == 99:
                value.nvmlReturn = NOT_SUPPORTED
            elif value.fieldId == 98:
                value.valueType = 42
            else:
                value.valueType = value.fieldId
                value.timestamp = 1000 + value.scopeId
                setattr(value.value, members[value.fieldId], numbers[value.fieldId])
        # Some drivers write one entry too many.
        pointer._obj[count.value].fieldId = 12345
        return 0

    library.add('nvmlDeviceGetFieldValues', fields)
    device = handle()
    queried: list[int | tuple[int, int]] = [*range(6), (6, 3), 99, 98]
    results = libnvml.nvmlQueryFieldValues(device, queried)
    assert [value for value, _ in results] == [*numbers, NA, NA]
    assert [time for _, time in results[:7]] == [1000] * 6 + [1003]
    assert results[7][1] > 1_600_000_000_000_000
    error = libnvml.last_error('nvmlDeviceGetFieldValues', device, 99)
    assert isinstance(error, libnvml.NVMLError_NotSupported)
    assert libnvml.last_error('nvmlDeviceGetFieldValues', device, 0) is None
