"""Rules of CUDA_VISIBLE_DEVICES as tables: value and GPUs → devices."""

from __future__ import annotations

from typing import Tuple, Union

import pytest

from nvitop.api.device.visible import OnlyCudaKnowsError, VisibleGpu, VisibleMig, select

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
