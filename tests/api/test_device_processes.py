"""Processes on devices: which are listed, with their memory, type and utilization."""

from __future__ import annotations

import os
import time
from typing import Any, Iterator, NamedTuple

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import Device, PhysicalDevice
from nvitop.api.process import GpuProcess
from nvitop.basics.units import NA, GiB
from tests.api.machines import answer
from tests.api.machines import machine as make_machine

FIRST = 4100000


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    with make_machine(clock=lambda: 1000.0) as machine:
        yield machine


def utilization(process: GpuProcess) -> tuple[Any, ...]:
    return (
        process.gpu_sm_utilization(),
        process.gpu_memory_utilization(),
        process.gpu_encoder_utilization(),
        process.gpu_decoder_utilization(),
    )


def test_all_types_of_processes_are_listed_by_pid(machine: simulation.Machine) -> None:
    device = Device(0)
    processes = device.processes()
    assert {pid: process.type for pid, process in processes.items()} == {
        FIRST: 'C',
        FIRST + 1: 'C+G',
        FIRST + 2: 'M',
    }
    train = processes[FIRST]
    assert (train.pid, train.device) == (FIRST, device)
    assert train.gpu_memory() == 30 * GiB
    assert (train.gpu_instance_id(), train.compute_instance_id()) == (NA, NA)
    assert utilization(train) == (40, 20, 0, 0)
    assert utilization(processes[FIRST + 1]) == (0, 0, 0, 0)  # without a sample, it is idle
    assert processes[FIRST + 2].gpu_sm_utilization() == 10


def test_gpu_without_processes_is_not_queried_for_utilization(machine: simulation.Machine) -> None:
    assert Device(2).processes() == {}
    assert machine.calls['nvmlDeviceGetProcessUtilization'] == 0


def test_utilization_is_unknown_with_mig(machine: simulation.Machine) -> None:
    for device in (Device(1), Device((1, 2))):
        (process,) = device.processes().values()
        assert utilization(process) == (NA, NA, NA, NA)
        assert process.gpu_memory() == 5 * GiB
        assert (process.gpu_instance_id(), process.compute_instance_id()) == (9, 0)
    assert Device((1, 0)).processes() == {}


def test_mig_device_without_samples_is_not_idle(machine: simulation.Machine) -> None:
    machine.fail('nvmlDeviceGetProcessUtilization', 'NOT_FOUND')
    (process,) = Device((1, 2)).processes().values()
    assert process.gpu_sm_utilization() is NA
    assert Device(0).processes()[FIRST].gpu_sm_utilization() == 0


def test_utilization_is_unknown_if_memory_is(machine: simulation.Machine) -> None:
    with make_machine(
        '[[gpu]]\n[[process]]\ngpus = [0]\ncommand = ["x"]\nmemory = "N/A"\n', clock=lambda: 0.0
    ):
        (process,) = Device(0).processes().values()
        assert process.gpu_memory() is NA
        assert process.gpu_sm_utilization() is NA


def test_type_is_the_current_one(machine: simulation.Machine) -> None:
    device = Device(0)
    assert device.processes()[FIRST + 1].type == 'C+G'
    machine.fail('nvmlDeviceGetComputeRunningProcesses*', 'NOT_SUPPORTED')
    assert device.processes()[FIRST + 1].type == 'G'
    machine.heal()
    machine.fail('nvmlDeviceGetGraphicsRunningProcesses*', 'NOT_SUPPORTED')
    assert device.processes()[FIRST + 1].type == 'C'


def test_process_objects_are_reused_and_updated(machine: simulation.Machine) -> None:
    device = Device(0)
    process = device.processes()[FIRST]
    machine.fail('nvmlDeviceGetProcessUtilization', 'NO_PERMISSION')
    assert device.processes()[FIRST] is process
    assert process.gpu_sm_utilization() is NA


def test_class_of_processes_can_be_changed(machine: simulation.Machine) -> None:
    class Mine(GpuProcess):
        pass

    class MyDevice(PhysicalDevice):
        GPU_PROCESS_CLASS = Mine

    assert {type(process) for process in MyDevice(0).processes().values()} == {Mine}


def test_driver_without_mps_lists_causes_no_warning(
    machine: simulation.Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.hide('nvmlDeviceGetMPSComputeRunningProcesses*')
    assert sorted(Device(0).processes()) == [FIRST, FIRST + 1]
    assert not caplog.records


def test_running_and_exited_processes_are_listed() -> None:
    with make_machine(processes=[os.getpid()]):
        processes = Device(0).processes()
    assert processes[os.getpid()].is_running()
    assert list(processes) == [os.getpid()]


class Info(NamedTuple):
    """A line of a process list of libnvml."""

    pid: int
    usedGpuMemory: int | None
    gpuInstanceId: int = 0xFFFFFFFF
    computeInstanceId: int = 0xFFFFFFFF


#: A sample of the driver: PID, time and four percentages.
Sample: Any = libnvml.c_nvmlProcessUtilizationSample_t


class Answers:
    """Replaces what the driver reports about processes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.compute = [Info(7, 1)]
        self.graphics: list[Info] = []
        self.samples: list[Any] = []
        #: Arguments of the queries for samples, in µs.
        self.since: list[int] = []
        answer(
            monkeypatch,
            nvmlDeviceGetComputeRunningProcesses=lambda: self.compute,
            nvmlDeviceGetGraphicsRunningProcesses=lambda: self.graphics,
            nvmlDeviceGetMPSComputeRunningProcesses=[],
            nvmlDeviceGetProcessUtilization=self.samples_since,
        )

    def samples_since(self, microseconds: int) -> list[Any]:
        self.since.append(microseconds)
        return self.samples


@pytest.fixture
def device(machine: simulation.Machine) -> Device:
    device = Device(0)
    assert device.uuid()
    return device


@pytest.fixture
def answers(device: Device, monkeypatch: pytest.MonkeyPatch) -> Answers:
    monkeypatch.setattr(time, 'time_ns', lambda: 100_000_000_000)
    return Answers(monkeypatch)


def test_memory_is_summed_over_instances_not_over_lists(device: Device, answers: Answers) -> None:
    answers.compute = [Info(7, 10, 1, 0), Info(7, 5, 2, 0), Info(8, None), Info(9, 3)]
    answers.graphics = [Info(7, 12, 1, 0), Info(9, 3), Info(10, None)]
    memory = {pid: process.gpu_memory() for pid, process in device.processes().items()}
    assert memory == {7: 17, 8: NA, 9: 3, 10: NA}


def test_processes_of_a_usage_need_no_driver_call(
    machine: simulation.Machine, device: Device
) -> None:
    usages = device.process_usage()
    machine.reset_calls()
    processes = device.processes_of(usages)
    assert not machine.calls
    assert processes == device.processes()
    assert processes
    for pid, process in processes.items():
        assert process.gpu_memory() == usages[pid].gpu_memory


def test_utilization_is_the_mean_of_plausible_samples_since_the_last_call(
    device: Device, answers: Answers
) -> None:
    # Microseconds; now is 100 s.
    answers.samples = [
        Sample(7, 99_100_000, 90),
        Sample(7, 99_500_000, 30, 11, 2, 3),
        Sample(7, 98_000_000, 100),
        Sample(7, 99_600_000, 2**32 - 1),  # implausible
        Sample(6, 99_500_000, 50),
    ]
    assert utilization(device.processes()[7]) == (60, 6, 1, 2)
    assert answers.since == [99_000_000]


def test_call_soon_after_another_covers_a_second_and_a_later_one_loses_no_sample(
    device: Device, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers.samples = [Sample(7, 99_900_000, 50)]
    device.processes()
    device.processes()
    assert answers.since == [99_000_000, 99_000_000]
    monkeypatch.setattr(time, 'time_ns', lambda: 110_000_000_000)
    answers.samples = [Sample(7, 101_000_000, 80), Sample(7, 109_900_000, 20)]
    assert device.processes()[7].gpu_sm_utilization() == 50
    assert answers.since[-1] == 99_900_000
