"""CUDA_VISIBLE_DEVICES: its rules as tables, what NVML reports, and when CUDA is queried."""

from __future__ import annotations

import contextlib
import sys
from typing import Iterator, Tuple, Union

import pytest

from nvitop import simulation
from nvitop.api import libcuda
from nvitop.api.device import visible
from nvitop.api.device.visible import (
    OnlyCudaKnowsError,
    VisibleGpu,
    VisibleMig,
    parse_cuda_visible_devices,
    select,
)
from nvitop.console import lifecycle
from tests.api import fake_cuda
from tests.api.machines import machine

UUIDS = [f'GPU-{digit * 8}-0000-0000-0000-000000000000' for digit in 'abcd']
A100 = 'model = "A100"'
EQUAL = [A100] * 4
DIFFERENT = [A100, A100, A100, 'model = "H100"']


class Cuda:
    """A CUDA driver that reports these UUIDs and records its queries."""

    def __init__(self, *uuids: str) -> None:
        self.uuids = uuids
        self.queries: list[tuple[str | None, str | None]] = []

    def visible_uuids(self, value: str | None, order: str | None) -> tuple[str, ...]:
        self.queries.append((value, order))
        return self.uuids


@pytest.fixture(autouse=True)
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cuda]:
    """A CUDA driver without devices; no variable is set and no result is remembered."""
    monkeypatch.delenv('CUDA_VISIBLE_DEVICES', raising=False)
    monkeypatch.delenv('CUDA_DEVICE_ORDER', raising=False)
    fake = Cuda()
    libcuda.use_library(fake)
    visible.forget()
    yield fake
    libcuda.use_library(None)
    visible.forget()


@contextlib.contextmanager
def gpus_of(cuda: Cuda, gpus: list[str], uuids: list[str] = UUIDS) -> Iterator[simulation.Machine]:
    """A simulated machine with these GPUs, in the order of NVML, and the CUDA driver above."""
    tables = [
        f'[[gpu]]\nuuid = "{uuid}"\nbus_id = "00000000:{UUIDS.index(uuid) + 16:02X}:00.0"\n{gpu}'
        for gpu, uuid in zip(gpus, uuids)
    ]
    with machine('\n'.join(tables)) as started:
        libcuda.use_library(cuda)
        yield started


def test_cuda_is_queried_for_indices_of_different_gpus_only(
    monkeypatch: pytest.MonkeyPatch, cuda: Cuda
) -> None:
    cuda.uuids = (UUIDS[3], UUIDS[0])
    with gpus_of(cuda, DIFFERENT):
        assert parse_cuda_visible_devices(f'{UUIDS[2]},GPU-a') == [2, 0]
        assert parse_cuda_visible_devices('-1') == []
        assert cuda.queries == []
        assert parse_cuda_visible_devices('0,1') == [3, 0]
        assert cuda.queries == [('0,1', None)]
        monkeypatch.setenv('CUDA_DEVICE_ORDER', 'FASTEST_FIRST')
        assert parse_cuda_visible_devices(None) == [3, 0]
        assert cuda.queries[1:] == [(None, 'FASTEST_FIRST')]
        monkeypatch.setenv('CUDA_DEVICE_ORDER', 'PCI_BUS_ID')
        assert parse_cuda_visible_devices('0,1') == [0, 1]
    assert len(cuda.queries) == 2


@pytest.mark.parametrize(
    ('gpus', 'is_queried'),
    [([A100], False), ([A100, A100], False), ([A100, f'{A100}\nmax_sm_clock = 1500'], True)],
)
def test_gpus_of_one_model_with_different_clocks_are_different(
    gpus: list[str], is_queried: bool, cuda: Cuda
) -> None:
    cuda.uuids = tuple(UUIDS[: len(gpus)])
    with gpus_of(cuda, gpus):
        assert parse_cuda_visible_devices(None) == [*range(len(gpus))]
    assert bool(cuda.queries) is is_queried


def test_lost_gpu_makes_indices_uncertain_but_not_uuids(cuda: Cuda) -> None:
    cuda.uuids = (UUIDS[2],)
    with gpus_of(cuda, EQUAL) as simulated:
        simulated.fail('nvmlDeviceGetUUID', 'GPU_IS_LOST', gpu=1)
        assert parse_cuda_visible_devices('GPU-c') == [2]
        assert cuda.queries == []
        assert parse_cuda_visible_devices('1') == [2]
        assert cuda.queries == [('1', None)]


@pytest.mark.parametrize('answer', [None, ('ffffffff-0000-0000-0000-000000000000',)])
def test_gpus_are_counted_by_bus_id_if_cuda_does_not_respond(
    answer: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch, cuda: Cuda
) -> None:
    monkeypatch.setattr(visible, 'enumerated_uuids', lambda *args: answer)
    with gpus_of(cuda, DIFFERENT):
        assert parse_cuda_visible_devices('3,0') == [3, 0]
        assert parse_cuda_visible_devices('GPU-A') == [0]


# The helper process


@pytest.fixture
def real_helper() -> None:
    libcuda.use_library(None)


def outputs(monkeypatch: pytest.MonkeyPatch, *results: object) -> list[dict[str, str]]:
    """Let the helper process print these results in turn; return its environments."""
    environments: list[dict[str, str]] = []
    left = list(results)

    def run(environment: dict[str, str]) -> str:
        environments.append(environment)
        result = left.pop(0)
        if isinstance(result, Exception):
            raise result
        return str(result)

    monkeypatch.setattr(visible, '_run', run)
    return environments


query = visible.enumerated_uuids
PRINTS_ENVIRONMENT = """
import json, os
names = ('CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER')
print(json.dumps([os.environ.get(name, 'unset') for name in names]))
"""


@pytest.mark.usefixtures('real_helper')
def test_helper_gets_the_given_variables_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visible, '_PROGRAM', PRINTS_ENVIRONMENT)
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', 'of this process')
    monkeypatch.setenv('CUDA_DEVICE_ORDER', 'of this process')
    assert query('2,1', 'FASTEST_FIRST', 'machine') == ('2,1', 'fastest_first')
    assert query(None, None, 'machine') == ('unset', 'unset')


@pytest.mark.usefixtures('real_helper')
def test_helper_that_hangs_is_abandoned(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(visible, '_PROGRAM', 'import threading; threading.Event().wait()')
    monkeypatch.setattr(visible, 'TIMEOUT_SECONDS', 0.3)
    assert query('0', None, 'machine') is None
    assert 'did not list its devices within 0.3 s' in caplog.text


@pytest.mark.usefixtures('real_helper')
def test_result_is_remembered_per_value_order_and_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    environments = outputs(monkeypatch, '["aa"]', '["bb"]', '["cc"]', '["dd"]')
    for _ in range(3):
        assert query('0', None, 'machine') == ('aa',)
        assert query('1', None, 'machine') == ('bb',)
        assert query('0', 'FASTEST_FIRST', 'machine') == ('cc',)
        assert query('0', None, 'another machine') == ('dd',)
    assert len(environments) == 4


@pytest.mark.parametrize('result', [999, '', 'not JSON', OSError('no more processes')])
@pytest.mark.usefixtures('real_helper')
def test_failure_is_logged_and_repeated_later(
    result: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    environments = outputs(monkeypatch, result, '["aa"]')
    retry = visible.RETRY_SECONDS
    for now, expected, count in [
        (0.0, None, 1),
        (retry - 1, None, 1),
        (retry, ('aa',), 2),
        (1e6, ('aa',), 2),
    ]:
        assert query('0', None, 'machine', clock=[now].pop) == expected
        assert len(environments) == count
    assert len(caplog.records) == 1


@pytest.mark.parametrize('name', ['frozen', 'executable', 'simulated driver'])
def test_helper_is_not_started_without_python_or_for_a_simulated_driver(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    libcuda.use_library(fake_cuda.driver('visible_uuids') if name == 'simulated driver' else None)
    if name != 'simulated driver':
        monkeypatch.setattr(sys, name, name == 'frozen' or '', raising=False)
    environments = outputs(monkeypatch)
    assert query('0', None, 'machine') is None
    assert environments == []


@pytest.mark.usefixtures('real_helper')
def test_programs_report_an_order_without_libcuda(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv('LOGLEVEL', raising=False)
    visible._report_missing_cuda.cache_clear()
    outputs(monkeypatch, str(libcuda.CUDA_ERROR_NOT_INITIALIZED))
    assert lifecycle.run('nvisel', lambda: len(query('0', None, 'third') or ())) == 0
    assert capsys.readouterr().err.startswith('nvisel: warning: The order of CUDA devices is not')


Index = Union[int, Tuple[int, int]]


def gpu(index: int, uuid: str, *instances: tuple[int, int], mig: bool | None = None) -> VisibleGpu:
    migs = tuple(
        VisibleMig((index, i), f'MIG-{uuid[4:8]}-{i}-{gi}{ci}', uuid, gi, ci)
        for i, (gi, ci) in enumerate(instances)
    )
    return VisibleGpu(index, uuid, (0, index, 0), bool(instances) if mig is None else mig, migs)


A, B, C = 'GPU-aaaa-1111', 'GPU-aabb-2222', 'GPU-cccc-3333'
PLAIN = (gpu(0, A), gpu(1, B), gpu(2, C))
#: The second GPU has three MIG devices.
MIXED = (gpu(0, A), gpu(1, B, (1, 0), (2, 0), (3, 1)), gpu(2, C))
NO_INSTANCE = (gpu(0, A), gpu(1, B, mig=True), gpu(2, C))


def indices(value: str | None, gpus: tuple[VisibleGpu, ...], *, guess: bool = False) -> list[Index]:
    devices = select(value, gpus, is_in_cuda_order=lambda: True, guess=guess)
    return [device.nvml_index for device in devices]


@pytest.mark.parametrize(
    ('values', 'expected'),
    [
        ([None, '0,1,2'], [0, 1, 2]),
        (['2,0'], [2, 0]),
        # The list ends at the first invalid item: negative, too large, not a number, another kind.
        (['0', '0,-1,1', '0,,1', '0,7,0', '0,-1,0', '0x1', f'{A},GPU-ffff,{B}'], [0]),
        ([A, f'{A},1', f'{A},MIG-aabb-0-10'], [0]),
        (['1,3,0', '1,x,0', f'1,{A}'], [1]),
        (['', '-1', '3', 'NoDevFiles', '99999999999999999999,0', '٣'], []),
        # No device if one is listed twice, also in two spellings.
        (['0,0', '0,1,0', '0,00', '+1,01', f'{A},{A}', f'{C},GPU-cc'], []),
        # Numbers are parsed like strtoul.
        ([' 1 , 0 '], [1, 0]),
        (['1gpu0,2nd'], [1, 2]),
        (['+2,01'], [2, 1]),
        ([f'{C},{A}'], [2, 0]),
        (['GPU-c', 'GPU-c,GPU-a,GPU-aaaa'], [2]),
        (['GPU-aaaa,GPU-c'], [0, 2]),
        # Ambiguous or unknown, in any spelling.
        (['GPU-aa', 'GPU-AA', 'GPU-ffff', 'GPU-FFFF', f'{A}0', A[4:]], []),
    ],
)
def test_indices_and_uuids(values: list[str | None], expected: list[Index]) -> None:
    for value in values:
        assert indices(value, PLAIN) == expected, value


def test_gpu_in_mig_mode_without_instances_is_not_visible() -> None:
    assert indices(None, NO_INSTANCE) == [0, 2]
    assert indices(f'{A},{B},{C}', NO_INSTANCE) == [0]
    with pytest.raises(OnlyCudaKnowsError):
        indices('0', NO_INSTANCE)
    assert indices('0,1,2', NO_INSTANCE, guess=True) == [0]


@pytest.mark.parametrize('value', [None, '0', '2,1', '5', '0,0'])
def test_indices_are_uncertain_if_the_order_is_unknown(value: str | None) -> None:
    with pytest.raises(OnlyCudaKnowsError):
        select(value, PLAIN, is_in_cuda_order=lambda: False)
    guessed = select(value, PLAIN, is_in_cuda_order=lambda: False, guess=True)
    assert [gpu.nvml_index for gpu in guessed] == indices(value, PLAIN)


@pytest.mark.parametrize(
    ('value', 'guess'),
    [
        ('GPU-CCCC', [2]),
        ('gpu-cccc', [2]),
        (' GPU-cccc', [2]),
        ('GPU-aaaa, GPU-cccc', [0, 2]),
        ('GPU-cccc ', [2]),
        ('MIG-AABB-1', [(1, 1)]),
        ('mig-gpu-AABB/2/0', [(1, 1)]),
    ],
)
def test_capitals_and_spaces_in_uuids_are_uncertain(value: str, guess: list[Index]) -> None:
    with pytest.raises(OnlyCudaKnowsError):
        indices(value, MIXED)
    assert indices(value, MIXED, guess=True) == guess
