"""CUDA_VISIBLE_DEVICES on a machine: what NVML says, when CUDA is asked, how often."""

from __future__ import annotations

import ctypes
import logging
import sys
import types
from typing import Any, Iterator, Mapping, NamedTuple

import pytest

from nvitop.api import libcuda, libnvml
from nvitop.api.device import visible, visible_by_cuda, visible_program
from nvitop.api.device.visible import normalize_cuda_visible_devices, parse_cuda_visible_devices
from tests.api import fake_cuda, program_environment, program_hanging
from tests.api.fake_nvml import NOT_SUPPORTED, FakeLibrary, installed, write_text, write_uint

GPU_IS_LOST = 15
NOT_FOUND = 6


class Board(NamedTuple):
    """A GPU of the fake driver."""

    uuid: str
    bus: int
    name: str = 'NVIDIA A100-SXM4-80GB'
    clock: int = 1410
    #: Index of MIG device → UUID.
    migs: Mapping[int, str] = {}


def address_of(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def nvml(*boards: Board) -> FakeLibrary:
    """A driver with these GPUs; the address of a handle tells what it is."""
    library = FakeLibrary()

    def board(handle: Any) -> Board:
        return boards[address_of(handle) // 0x1000 - 1]

    def mig_index(handle: Any) -> int:
        return address_of(handle) % 0x1000 - 1

    def uuid(handle: Any, *buffer: Any) -> int:
        mig = mig_index(handle)
        return write_text((board(handle).migs[mig] if mig >= 0 else board(handle).uuid).encode())(
            *buffer
        )

    def pci_info(handle: Any, info: Any) -> int:
        info._obj.domain, info._obj.bus, info._obj.device = 0, board(handle).bus, 0
        info._obj.busId = b'00000000:%02X:00.0' % board(handle).bus
        return 0

    def mig_mode(handle: Any, current: Any, pending: Any) -> int:
        current._obj.value = pending._obj.value = bool(board(handle).migs)
        return 0

    def mig_handle(handle: Any, index: Any, found: Any) -> int:
        number = int(getattr(index, 'value', index))
        if number not in board(handle).migs:
            return NOT_FOUND
        address = ctypes.cast(found, ctypes.POINTER(ctypes.c_void_p))
        address[0] = address_of(handle) + number + 1
        return 0

    def instance(handle: Any, found: Any) -> int:
        found._obj.value = mig_index(handle) + 1
        return 0

    library.add('nvmlDeviceGetCount_v2', write_uint(len(boards)))
    library.add('nvmlDeviceGetUUID', uuid)
    library.add('nvmlDeviceGetPciInfo_v3', pci_info)
    library.add('nvmlDeviceGetMigMode', mig_mode)
    library.add('nvmlDeviceGetMaxMigDeviceCount', write_uint(7))
    library.add('nvmlDeviceGetMigDeviceHandleByIndex', mig_handle)
    library.add('nvmlDeviceGetGpuInstanceId', instance)
    library.add('nvmlDeviceGetComputeInstanceId', write_uint(0))
    library.add('nvmlDeviceGetName', lambda h, *rest: write_text(board(h).name.encode())(*rest))
    library.add('nvmlDeviceGetMaxClockInfo', lambda h, _, p: write_uint(board(h).clock)(p))
    library.fail('nvmlDeviceGetDisplayActive', NOT_SUPPORTED)
    return library


UUIDS = [f'GPU-{digit * 8}-0000-0000-0000-000000000000' for digit in 'abcd']
MIGS = {
    0: 'MIG-11111111-0000-0000-0000-000000000000',
    2: 'MIG-22222222-0000-0000-0000-000000000000',
}
ALIKE = [Board(uuid, bus) for bus, uuid in enumerate(UUIDS, 16)]
UNLIKE = [*ALIKE[:3], Board(UUIDS[3], 32, 'NVIDIA H100 80GB HBM3')]


class Cuda:
    """Stands for the CUDA driver: an answer, and how often it was asked."""

    def __init__(self, *uuids: str) -> None:
        self.uuids = uuids
        self.asked: list[tuple[str | None, str | None]] = []

    def visible_uuids(self, value: str | None, order: str | None) -> tuple[str, ...]:
        self.asked.append((value, order))
        return self.uuids


@pytest.fixture(autouse=True)
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cuda]:
    """No variable is set, nothing is remembered, CUDA sees nothing."""
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    monkeypatch.delenv('CUDA_DEVICE_ORDER', raising=False)
    fake = Cuda()
    libcuda.use_library(fake)
    visible_by_cuda.forget()
    yield fake
    libcuda.use_library(None)
    visible_by_cuda.forget()


def test_the_environment_is_read_at_every_call(monkeypatch: pytest.MonkeyPatch, cuda: Cuda) -> None:
    with installed(nvml(*ALIKE)):
        assert parse_cuda_visible_devices() == [0, 1, 2, 3]
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '2,1')
        assert parse_cuda_visible_devices() == [2, 1]
        assert parse_cuda_visible_devices(None) == [0, 1, 2, 3]
        assert parse_cuda_visible_devices('3') == [3]
        monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '')
        assert parse_cuda_visible_devices() == []
    assert cuda.asked == []


def test_normalized_are_full_uuids() -> None:
    with installed(nvml(*ALIKE)):
        assert normalize_cuda_visible_devices('2,0') == f'{UUIDS[2]},{UUIDS[0]}'
        assert normalize_cuda_visible_devices('GPU-b') == UUIDS[1]
        assert normalize_cuda_visible_devices('7') == ''
        assert normalize_cuda_visible_devices(normalize_cuda_visible_devices()) == ','.join(UUIDS)


def test_pci_order_is_by_bus_id_whatever_nvml_counts_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
    with installed(nvml(*reversed(UNLIKE))):
        assert parse_cuda_visible_devices() == [3, 2, 1, 0]
        assert parse_cuda_visible_devices('0') == [3]


def test_cuda_is_asked_for_indices_of_unlike_gpus_only(
    monkeypatch: pytest.MonkeyPatch, cuda: Cuda
) -> None:
    cuda.uuids = (UUIDS[3], UUIDS[0])
    with installed(nvml(*UNLIKE)):
        assert parse_cuda_visible_devices(f'{UUIDS[2]},GPU-a') == [2, 0]
        assert parse_cuda_visible_devices('-1') == []
        assert cuda.asked == []
        assert parse_cuda_visible_devices('0,1') == [3, 0]
        assert cuda.asked == [('0,1', None)]
        monkeypatch.setenv('CUDA_DEVICE_ORDER', 'FASTEST_FIRST')
        assert parse_cuda_visible_devices(None) == [3, 0]
        assert cuda.asked[1:] == [(None, 'FASTEST_FIRST')]
        monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
        assert parse_cuda_visible_devices('0,1') == [0, 1]
    assert len(cuda.asked) == 2


def test_one_gpu_needs_no_order(cuda: Cuda) -> None:
    with installed(nvml(ALIKE[0])):
        assert parse_cuda_visible_devices('0') == [0]
    assert cuda.asked == []


def test_the_same_name_with_other_clocks_is_not_alike(cuda: Cuda) -> None:
    cuda.uuids = (UUIDS[1], UUIDS[0])
    with installed(nvml(ALIKE[0], ALIKE[1]._replace(clock=1500))):
        assert parse_cuda_visible_devices(None) == [1, 0]
    assert len(cuda.asked) == 1


def test_a_lost_gpu_makes_indices_uncertain_but_not_uuids(cuda: Cuda) -> None:
    library = nvml(*ALIKE)
    get_uuid = getattr(library, 'nvmlDeviceGetUUID')  # noqa: B009 - made by add()

    def lost(handle: Any, *buffer: Any) -> int:
        return GPU_IS_LOST if address_of(handle) == 0x2000 else get_uuid(handle, *buffer)

    library.add('nvmlDeviceGetUUID', lost)
    cuda.uuids = (UUIDS[2],)
    with installed(library):
        assert parse_cuda_visible_devices('GPU-c') == [2]
        assert cuda.asked == []
        assert parse_cuda_visible_devices('1') == [2]
        assert cuda.asked == [('1', None)]


def test_mig_devices_keep_their_nvml_indices(cuda: Cuda) -> None:
    with installed(nvml(ALIKE[0], ALIKE[1]._replace(migs=MIGS))):
        assert parse_cuda_visible_devices(UUIDS[1]) == [(1, 0)]
        assert parse_cuda_visible_devices(MIGS[2]) == [(1, 2)]
        assert parse_cuda_visible_devices(f'MIG-{UUIDS[1]}/3/0') == [(1, 2)]
        assert normalize_cuda_visible_devices('MIG-2') == MIGS[2]
        assert cuda.asked == []
        cuda.uuids = (MIGS[2],)
        assert parse_cuda_visible_devices(None) == [(1, 2)]
        cuda.uuids = (UUIDS[1],)  # a driver before R470
        assert parse_cuda_visible_devices(None) == [(1, 0)]


@pytest.mark.parametrize('answer', [None, ('ffffffff-0000-0000-0000-000000000000',)])
def test_without_a_usable_answer_of_cuda_gpus_are_counted_by_bus_id(
    answer: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visible_by_cuda, 'enumerated_uuids', lambda *args: answer)
    with installed(nvml(*UNLIKE)):
        assert parse_cuda_visible_devices('3,0') == [3, 0]
        assert parse_cuda_visible_devices('GPU-A') == [0]


def test_without_nvml_there_are_no_devices() -> None:
    library = FakeLibrary()
    library.fail('nvmlInitWithFlags', 9)
    with installed(library):
        assert parse_cuda_visible_devices('0') == []
        assert normalize_cuda_visible_devices(None) == ''


def test_an_empty_value_asks_nobody() -> None:
    library = nvml(*ALIKE)
    with installed(library):
        assert parse_cuda_visible_devices('') == parse_cuda_visible_devices(' ') == []
    assert not library.calls


def test_the_default_argument_reads_well() -> None:
    assert repr(visible.FROM_ENVIRONMENT) == "os.environ.get('CUDA_VISIBLE_DEVICES')"


# the helper process


@pytest.fixture
def real_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    """No driver of Python is in the way, and there is none of C."""
    libcuda.use_library(None)
    monkeypatch.setattr(visible_by_cuda, 'cuda_files', lambda: ['/nonexistent/libcuda.so.1'])


def answers(monkeypatch: pytest.MonkeyPatch, *outcomes: object) -> list[dict[str, str]]:
    """Have the helper process print these, one after the other; returns its environments."""
    environments: list[dict[str, str]] = []
    left = list(outcomes)

    def run(environment: dict[str, str]) -> str:
        environments.append(environment)
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return str(outcome)

    monkeypatch.setattr(visible_by_cuda, '_run', run)
    return environments


@pytest.mark.usefixtures('real_helper')
def test_the_helper_gets_the_variables_and_nothing_of_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(visible_by_cuda, 'visible_program', program_environment)
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', 'of this process')
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'of this process')
    ask = visible_by_cuda.enumerated_uuids
    assert ask('2,1', 'FASTEST_FIRST', 'machine') == ('2,1', 'FASTEST_FIRST')
    assert ask(None, None, 'machine') == ('unset', 'unset')


@pytest.mark.usefixtures('real_helper')
def test_the_real_program_without_a_driver_has_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    assert visible_by_cuda.enumerated_uuids('0', None, 'machine') is None
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.usefixtures('real_helper')
def test_a_driver_that_hangs_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(visible_by_cuda, 'visible_program', program_hanging)
    monkeypatch.setattr(visible_by_cuda, 'TIMEOUT_SECONDS', 0.3)
    assert visible_by_cuda.enumerated_uuids('0', None, 'machine') is None
    assert 'did not list its devices within 0.3 s' in caplog.text


@pytest.mark.usefixtures('real_helper')
def test_an_answer_is_kept_for_value_order_and_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    environments = answers(monkeypatch, '["aa"]', '["bb"]', '["cc"]', '["dd"]')
    ask = visible_by_cuda.enumerated_uuids
    for _ in range(3):
        assert ask('0', None, 'machine') == ('aa',)
        assert ask('1', None, 'machine') == ('bb',)
        assert ask('0', 'FASTEST_FIRST', 'machine') == ('cc',)
        assert ask('0', None, 'another machine') == ('dd',)
    assert len(environments) == 4


@pytest.mark.usefixtures('real_helper')
def test_no_device_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, libcuda.CUDA_ERROR_NO_DEVICE)
    assert visible_by_cuda.enumerated_uuids('9', None, 'machine') == ()


@pytest.mark.parametrize('outcome', [999, '', 'not JSON', OSError('no more processes')])
@pytest.mark.usefixtures('real_helper')
def test_a_failure_is_logged_and_tried_again_after_a_while(
    outcome: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 100.0
    environments = answers(monkeypatch, outcome, '["aa"]')

    def ask() -> tuple[str, ...] | None:
        return visible_by_cuda.enumerated_uuids('0', None, 'machine', clock=lambda: now)

    assert ask() is None
    now += visible_by_cuda.RETRY_SECONDS - 1
    assert ask() is None
    assert len(environments) == 1
    assert len(caplog.records) == 1
    now += 1
    assert ask() == ('aa',)
    now += 1e6
    assert ask() == ('aa',)
    assert len(environments) == 2


@pytest.mark.usefixtures('real_helper')
def test_only_so_many_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    most = visible_by_cuda.MAX_RESULTS
    environments = answers(monkeypatch, *['[]'] * (most + 2))
    for index in range(most + 1):
        visible_by_cuda.enumerated_uuids(str(index), None, 'machine')
    visible_by_cuda.enumerated_uuids('1', None, 'machine')
    assert len(environments) == most + 1
    visible_by_cuda.enumerated_uuids('0', None, 'machine')
    assert len(environments) == most + 2


@pytest.mark.usefixtures('real_helper')
def test_a_program_in_one_file_does_not_start_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    environments = answers(monkeypatch)
    monkeypatch.setattr(sys, 'frozen', True, raising=False)
    assert visible_by_cuda.enumerated_uuids('0', None, 'machine') is None
    monkeypatch.delattr(sys, 'frozen')
    monkeypatch.setattr(sys, 'executable', '')
    assert visible_by_cuda.enumerated_uuids('1', None, 'machine') is None
    assert environments == []


def test_no_process_is_started_behind_a_driver_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    environments = answers(monkeypatch)
    libcuda.use_library(fake_cuda.driver())
    assert visible_by_cuda.enumerated_uuids('0', None, 'machine') is None
    assert environments == []


def test_the_program_lists_uuids_or_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    digits = [uuid.replace('-', '') for uuid in fake_cuda.UUIDS]
    assert visible_program.uuids(fake_cuda.driver()) == digits
    assert visible_program.uuids(fake_cuda.driver('cuDeviceGetUuid_v2')) == digits
    for name, code in (('cuInit', 100), ('cuDeviceGetCount', 3), ('cuDeviceGetUuid_v2', 999)):
        broken: Any = fake_cuda.driver()
        setattr(broken, name, lambda *args, code=code: code)
        assert visible_program.uuids(broken) == code
    visible_program.main(['/nonexistent/libcuda.so.1'])
    assert capsys.readouterr().out == '301\n'


def test_the_program_needs_nothing_but_the_standard_library() -> None:
    modules = {
        name for name, value in vars(visible_program).items() if isinstance(value, types.ModuleType)
    }
    assert modules == {'contextlib', 'ctypes', 'json', 'sys'}
    assert visible_program.FILE_NOT_FOUND == libcuda.CUDA_ERROR_FILE_NOT_FOUND
    assert libnvml.NVML_ERROR_GPU_IS_LOST == GPU_IS_LOST
