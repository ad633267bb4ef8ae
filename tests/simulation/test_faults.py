"""What can be made to go wrong on a simulated machine."""

from __future__ import annotations

import threading
from typing import Any, Callable

import pynvml
import pytest

from nvitop import simulation
from nvitop.api import libcuda
from tests.patience import PATIENCE, wait_until
from tests.simulation.conftest import handle, text

Start = Callable[..., simulation.Machine]


def codes(count: int, gpu: int = 0) -> list[int]:
    """The return codes of so many calls."""
    result = []
    for _ in range(count):
        try:
            pynvml.nvmlDeviceGetPowerUsage(handle(gpu))
            result.append(0)
        except pynvml.NVMLError as error:
            result.append(error.value)
    return result


def test_calls_fail_after_some_now_and_then_and_not_for_ever(start: Start) -> None:
    machine = start()
    machine.fail('nvmlDeviceGetPowerUsage', 'TIMEOUT', after=2, every=2, times=2)
    assert codes(8) == [0, 0, 0, 10, 0, 10, 0, 0]


def test_a_fault_can_be_for_one_gpu_and_for_many_functions(start: Start) -> None:
    machine = start()
    machine.fail('nvmlDeviceGetPower*', 999, gpu=3)
    assert codes(1, gpu=2) == [0]
    assert codes(1, gpu=3) == [999]
    with pytest.raises(pynvml.NVMLError_Unknown):
        pynvml.nvmlDeviceGetPowerManagementLimit(handle(3))
    machine.heal()
    assert codes(1, gpu=3) == [0]


def test_a_fault_of_a_gpu_is_one_of_its_mig_devices(start: Start) -> None:
    machine = start('mig')
    first, second = (
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle(0), index) for index in (0, 2)
    )
    machine.fail('nvmlDeviceGetMemoryInfo', 'UNKNOWN', gpu=(0, 2))
    pynvml.nvmlDeviceGetMemoryInfo(first)
    with pytest.raises(pynvml.NVMLError_Unknown):
        pynvml.nvmlDeviceGetMemoryInfo(second)
    machine.fail('nvmlDeviceGetMemoryInfo', 'UNKNOWN', gpu=0)
    with pytest.raises(pynvml.NVMLError_Unknown):
        pynvml.nvmlDeviceGetMemoryInfo(first)


def test_looking_a_gpu_up_can_fail_for_that_gpu(start: Start) -> None:
    machine = start()
    machine.fail('nvmlDeviceGetHandleBy*', 'GPU_IS_LOST', gpu=5)
    handle(4)
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        handle(5)


def test_initialization_can_fail(start: Start) -> None:
    machine = start()
    machine.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
    with pytest.raises(pynvml.NVMLError_DriverNotLoaded):
        pynvml.nvmlInit()


def test_an_unknown_function_is_an_error_of_the_test(start: Start) -> None:
    machine = start()
    with pytest.raises(ValueError, match="no function 'nvmlDeviceGetPowerUsed'"):
        machine.fail('nvmlDeviceGetPowerUsed', 1)
    with pytest.raises(ValueError, match='no function'):
        machine.hide('nvmlNo*')
    with pytest.raises(KeyError):
        machine.fail('nvmlDeviceGetPowerUsage', 'NO_SUCH_CODE')


def test_calls_can_be_slow(start: Start) -> None:
    waits: list[float] = []
    machine = start(sleep=waits.append)
    machine.delay('nvmlDeviceGetPowerUsage', 1.5, gpu=1)
    codes(1, gpu=0)
    codes(2, gpu=1)
    assert waits == [1.5, 1.5]


def test_calls_hang_until_released(start: Start) -> None:
    machine = start()
    device = handle()
    machine.hang('nvmlDeviceGetPowerUsage', gpu=0)
    done = threading.Event()

    def ask() -> None:
        pynvml.nvmlDeviceGetPowerUsage(device)
        done.set()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    wait_until(lambda: machine.calls['nvmlDeviceGetPowerUsage'], 'the call')
    assert codes(1, gpu=1) == [0]
    assert not done.is_set()
    machine.release()
    thread.join(PATIENCE)
    assert done.is_set()
    assert codes(1) == [0]


def test_a_machine_that_stops_lets_hanging_calls_go() -> None:
    with simulation.machine(processes='none') as machine:
        pynvml.nvmlInit()
        device = handle()
        machine.hang('nvmlDeviceGetPowerUsage')
        call: Any = machine.driver.__dict__['nvmlDeviceGetPowerUsage']
        thread = threading.Thread(target=call, args=(device, pynvml.c_uint()), daemon=True)
        thread.start()
        wait_until(lambda: machine.calls['nvmlDeviceGetPowerUsage'], 'the call')
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_functions_can_be_taken_away_at_any_time(start: Start) -> None:
    machine = start()
    assert codes(1) == [0]
    machine.hide('nvmlDeviceGetPower*')
    pynvml.nvmlInit()
    with pytest.raises(pynvml.NVMLError_FunctionNotFound):
        pynvml.nvmlDeviceGetPowerUsage(handle())


def test_calls_are_counted(start: Start) -> None:
    machine = start()
    machine.reset_calls()
    codes(3)
    assert machine.calls == {'nvmlDeviceGetHandleByIndex_v2': 3, 'nvmlDeviceGetPowerUsage': 3}


def test_counts_are_exact_under_threads(start: Start) -> None:
    machine = start()
    device = handle()
    machine.reset_calls()
    threads = [
        threading.Thread(
            target=lambda: [pynvml.nvmlDeviceGetPowerUsage(device) for _ in range(500)]
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert machine.calls['nvmlDeviceGetPowerUsage'] == 4000


def test_values_can_be_set(start: Start) -> None:
    machine = start()
    machine.set(gpu=1, temperature=95, power_usage=12.5, memory_used='3 GiB')
    assert pynvml.nvmlDeviceGetTemperature(handle(1), 0) == 95
    assert pynvml.nvmlDeviceGetPowerUsage(handle(1)) == 12_500
    assert pynvml.nvmlDeviceGetTemperature(handle(0), 0) != 95
    machine.set(temperature='N/A')
    for index in range(8):
        with pytest.raises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetTemperature(handle(index), 0)
    with pytest.raises(simulation.ScenarioError, match=r'temprature: unknown key; did you mean'):
        machine.set(temprature=3)


def test_values_of_a_mig_device_can_be_set(start: Start) -> None:
    machine = start('mig')
    machine.set(gpu=(0, 2), memory_used='3 GiB')
    device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle(0), 2)
    assert pynvml.nvmlDeviceGetMemoryInfo(device).used == (3 << 30) + (16 << 20)


def test_a_gpu_is_lost_and_comes_back(start: Start) -> None:
    machine = start('faults')
    device = handle(1)
    machine.advance(30.0)
    for question in (pynvml.nvmlDeviceGetName, pynvml.nvmlDeviceGetPowerUsage):
        with pytest.raises(pynvml.NVMLError_GpuIsLost):
            question(device)
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        handle(1)
    assert pynvml.nvmlDeviceGetCount() == 8
    machine.advance(180.0)
    assert text(pynvml.nvmlDeviceGetName(device)) == 'NVIDIA H100 80GB HBM3'


def test_after_an_event_all_is_as_it_was_before(start: Start) -> None:
    machine = start(
        '[[gpu]]\ntemperature = 40\n[[process]]\ncommand = ["a"]\nmemory = "5 GiB"\nsm = 50\n'
        '[[event]]\nat = 10\nuntil = 20\n'
        'set = { temperature = 90, gpu_utilization = 7, memory_used = "9 GiB" }\n'
    )
    course = []
    for _ in range(3):
        machine.advance(8.0)
        device = handle()
        course.append(
            (
                pynvml.nvmlDeviceGetTemperature(device, 0),
                pynvml.nvmlDeviceGetUtilizationRates(device).gpu,
                pynvml.nvmlDeviceGetMemoryInfo(device).used >> 30,
            )
        )
    assert course == [(40, 50, 5), (90, 7, 9), (40, 50, 5)]


def test_a_gpu_with_impossible_answers_gets_well(start: Start) -> None:
    machine = start('faults')
    machine.advance(76.0)
    # What runs on it fills memory and time of the GPU, as on the others.
    assert pynvml.nvmlDeviceGetMemoryInfo(handle(6)).used >> 30 == 40
    assert pynvml.nvmlDeviceGetUtilizationRates(handle(6)).gpu > 40
    assert pynvml.nvmlDeviceGetPowerUsage(handle(6)) > 300_000


def test_a_gpu_can_go_and_the_others_move_up(start: Start) -> None:
    machine = start()
    first, last = handle(0), handle(7)
    machine.set(gpu=0, present=False)
    assert pynvml.nvmlDeviceGetCount() == 7
    assert pynvml.nvmlDeviceGetIndex(last) == 6
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetIndex(first)


def test_faults_of_a_scenario_keep_to_their_time(start: Start) -> None:
    machine = start(
        '[[gpu]]\n[[fault]]\ncall = "nvmlDeviceGetPowerUsage"\nerror = "UNKNOWN"\n'
        'from = 10\nuntil = 20\n'
    )
    course = []
    for _ in range(3):
        course += codes(1)
        machine.advance(10.0)
    assert course == [0, 999, 0]


def test_functions_of_the_cuda_driver_fail_as_well(start: Start) -> None:
    machine = start()
    machine.fail('cuInit', 999)
    with pytest.raises(libcuda.CUDAError_Unknown):
        libcuda.cuInit()
    machine.heal()
    machine.hide('cuDeviceGetUuid_v2')
    libcuda.cuInit()
    assert libcuda.cuDeviceGetUuid(0).startswith('687e4c4b')
