"""Process lists of the simulated NVML in every struct layout, and MIG devices."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Callable

import pynvml
import pytest

from nvitop import select_devices, simulation
from nvitop.simulation.simulated_system import FIRST_FIXED_PID
from tests.simulation.conftest import handle, text

Start = Callable[..., simulation.Machine]

GIB = 2**30
PIDS = [FIRST_FIXED_PID + i for i in range(3)]


class InfoV2(ctypes.Structure):
    _fields_ = [
        ('pid', ctypes.c_uint),
        ('usedGpuMemory', ctypes.c_ulonglong),
        ('gi', ctypes.c_uint),
        ('ci', ctypes.c_uint),
    ]


def list_processes(
    machine: simulation.Machine, name: str, layout: Any, device: Any = None
) -> list[Any]:
    """Query a list like libnvml: first its size, then with a larger array."""
    call = machine.driver.__dict__[f'nvmlDeviceGet{name}']
    device = device or handle()
    count = ctypes.c_uint(0)
    code = call(device, ctypes.byref(count), None)
    while code == 7:
        count.value = 2 * count.value + 5
        array = (layout * count.value)()
        code = call(device, ctypes.byref(count), array)
        if code == 0:
            return list(array[: count.value])
    assert (code, count.value) == (0, 0)
    return []


def test_list_grows_between_two_calls(start: Start) -> None:
    machine = start('[[gpu]]\n' + '[[process]]\ncommand = ["a"]\n' * 12)
    machine.grow(10)
    call = machine.driver.__dict__['nvmlDeviceGetComputeRunningProcesses_v3']
    count = ctypes.c_uint(0)
    assert (call(handle(), ctypes.byref(count), None), count.value) == (7, 2)
    count.value = 9
    assert (call(handle(), ctypes.byref(count), (InfoV2 * 9)()), count.value) == (7, 12)
    assert len(list_processes(machine, 'ComputeRunningProcesses_v3', InfoV2)) == 12
    machine.grow(2)
    assert (call(handle(), ctypes.byref(ctypes.c_uint(0)), None)) == 0  # the first call finds none


# MIG


def mig(gpu: int, index: int) -> Any:
    return pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle(gpu), index)


def mig_indices(gpu: int) -> list[int]:
    found = []
    for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle(gpu))):
        try:
            mig(gpu, index)
        except pynvml.NVMLError_NotFound:
            continue
        found.append(index)
    return found


def test_mig_devices_have_gaps_and_change_with_time(start: Start) -> None:
    machine = start('mig')
    assert pynvml.nvmlDeviceGetMigMode(handle(0)) == [1, 1]
    assert mig_indices(0) == [0, 2]
    machine.advance(60.0)
    assert mig_indices(0) == [0, 1, 2]
    middle = mig(0, 1)
    assert text(pynvml.nvmlDeviceGetName(middle)) == 'NVIDIA A100-SXM4-80GB MIG 2g.20gb'
    machine.advance(240.0)
    assert mig_indices(0) == [0, 2]
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetName(middle)
    machine.set(gpu=0, mig_mode=False)
    assert mig_indices(0) == []
    assert mig_indices(2) == []


SHOWN = """
[[gpu]]
model = "H100"
[host]
cpus = 8
memory = "64 GiB"
[[process]]
command = ["python3", "train.py"]
gpus = [0]
user = "ann"
memory = "8 GiB"
cpu = 118.6
host_memory = "16 GiB"
started = "2h"
threads = 12
[[process]]
command = ["listed.exe"]
gpus = [0]
state = "listed"
pid = 4194000
"""


@pytest.mark.skipif(sys.platform == 'win32', reason='needs real children')
def test_memory_of_a_simulated_user_counts_as_free() -> None:
    source = SHOWN + '[[gpu]]\nmodel = "H100"\n'
    with simulation.machine(simulation.parse_scenario(source, name='shown')):
        assert select_devices(min_free_memory='75GiB', sort=False) == [1]
        assert select_devices(min_free_memory='75GiB', sort=False, free_accounts='ann') == [0, 1]
