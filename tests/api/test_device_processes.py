"""Processes on devices: which are listed, with their memory, type and utilization."""

from __future__ import annotations

import time
from typing import Any, Iterator, NamedTuple

import pytest

from nvitop import simulation
from nvitop.api.device import Device
from nvitop.api.libnvml._overrides import ProcessUtilization
from nvitop.api.libnvml._session import Session
from nvitop.api.process import GpuProcess, procfs
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
    machine.fail('nvmlDeviceGetComputeRunningProcesses*', 'NOT_SUPPORTED')
    assert device.processes()[FIRST + 1].type == 'G'
    calls = machine.calls
    assert Device(2).processes() == {}
    assert (machine.calls[OLD], machine.calls[NEW]) == (calls[OLD], calls[NEW])


def test_utilization_is_unknown_with_mig(machine: simulation.Machine) -> None:
    for device in (Device(1), Device((1, 2))):
        (process,) = device.processes().values()
        assert utilization(process) == (NA, NA, NA, NA)
        assert process.gpu_memory() == 5 * GiB
        assert (process.gpu_instance_id(), process.compute_instance_id()) == (9, 0)
    assert Device((1, 0)).processes() == {}


OLD, NEW = 'nvmlDeviceGetProcessUtilization', 'nvmlDeviceGetProcessesUtilizationInfo'


def measured(
    gpu_utilization: object, *processes: str, failing: tuple[str, ...] = (), hidden: str = ''
) -> list[Any]:
    """Return the SM utilization of processes, given as keys of the scenario, on a GPU."""
    text = f'[[gpu]]\ngpu_utilization = {gpu_utilization}\n'
    for keys in processes:
        text += f'[[process]]\ngpus = [0]\nmemory = "1 GiB"\ncommand = ["x"]\n{keys}\n'
    with make_machine(text, clock=lambda: 1000.0) as machine:
        for function in failing:
            machine.fail(function, 'NOT_FOUND')
        if hidden:
            machine.hide(hidden)
        found = Device(0).processes()
    return [found[pid].gpu_sm_utilization() for pid in sorted(found)]


@pytest.mark.parametrize(('failing', 'hidden'), [((OLD,), ''), ((NEW,), ''), ((), NEW), ((), OLD)])
def test_utilization_is_that_of_the_call_which_has_samples(
    failing: tuple[str, ...], hidden: str
) -> None:
    assert measured(95, 'sm = 70', 'sm = 25', failing=failing, hidden=hidden) == [70, 25]


ELSEWHERE = 'sample_pid = 4190000'


@pytest.mark.parametrize(
    ('gpu_utilization', 'processes', 'expected'),
    [
        # Idle processes next to one that explains the GPU, and on an idle GPU.
        *((busy, ['sm = 90', ''], [90, 0]) for busy in (95, 50, '"N/A"')),
        (0, ['', ''], [0, 0]),
        # Samples that do not explain the GPU; with some drivers, every process is idle in them.
        (95, ['sm = 20', ''], [20, NA]),
        *((busy, ['memory_utilization = 1', ''], [NA, NA]) for busy in (95, 10, '"N/A"')),
        # Samples of PIDs that the driver does not list.
        (95, [f'sm = 70\n{ELSEWHERE}', ''], [NA, NA]),
        (95, [f'sm = 45\n{ELSEWHERE}', 'sm = 50', ''], [NA, 50, NA]),
        (3, [f'encoder = 60\n{ELSEWHERE}', ''], [NA, NA]),
        # Video engines that no sample explains.
        ('0\nencoder_utilization = 60', ['', ''], [NA, NA]),
        ('90\ndecoder_utilization = 60', ['sm = 90', ''], [90, NA]),
        ('90\ndecoder_utilization = 60', ['sm = 90\ndecoder = 50', ''], [90, 0]),
        # MPS clients without samples may be those of the samples of the server.
        (95, ['sm = 90', 'type = "M"', 'type = "M"'], [90, NA, NA]),
        (95, ['sm = 5', 'type = "M"\nsm = 85', 'type = "M"'], [5, 85, 0]),
        (0, ['', 'type = "M"'], [0, 0]),
    ],
)
def test_process_without_samples_is_idle_if_others_explain_the_gpu(
    gpu_utilization: object, processes: list[str], expected: list[Any]
) -> None:
    assert measured(gpu_utilization, *processes) == expected


@pytest.mark.parametrize(
    ('gpu_utilization', 'expected'),
    [(95, NA), (10, NA), ('"N/A"', NA), ('0\nencoder_utilization = 60', NA), (4, 0)],
)
def test_without_samples_all_processes_are_idle_on_an_idle_gpu_only(
    gpu_utilization: object, expected: object
) -> None:
    found = measured(gpu_utilization, 'sm = 70', 'sm = 25', failing=(OLD, NEW))
    assert found == [expected, expected]


@pytest.mark.parametrize(
    ('namespaces', 'expected'),
    [
        # This program sees both processes from the outside: the driver lists PIDs inside.
        ({4190000: (4190000, 4100000)}, [70, 0]),
        # The driver has samples of PIDs inside.
        ({4100000: (4100000, 4190000)}, [70, 0]),
        # Two containers have a process with the PID of the samples.
        ({4100000: (4100000, 4190000), 4100001: (4100001, 4190000)}, [NA, NA]),
        ({}, [NA, NA]),
    ],
)
def test_samples_are_matched_through_pid_namespaces(
    monkeypatch: pytest.MonkeyPatch, namespaces: dict[int, tuple[int, ...]], expected: list[Any]
) -> None:
    monkeypatch.setattr(Session, 'has_real_library', True)
    monkeypatch.setattr(procfs, 'in_pid_namespace', lambda: False)
    monkeypatch.setattr(procfs, 'namespace_pids', lambda pid: namespaces.get(pid, ()))
    assert measured(95, 'sm = 70\nsample_pid = 4190000', '') == expected


class Info(NamedTuple):
    pid: int
    usedGpuMemory: int | None
    gpuInstanceId: int = 0xFFFFFFFF
    computeInstanceId: int = 0xFFFFFFFF


def Sample(pid: int, taken: int, *percents: int) -> Any:
    return ProcessUtilization(taken, pid, *percents)


def test_memory_and_utilization_of_many_lines_and_samples(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    since: list[int] = []

    def samples_since(microseconds: int) -> list[Any]:
        since.append(microseconds)
        return samples

    device = Device(0)
    assert device.uuid()
    now = 100
    monkeypatch.setattr(time, 'time_ns', lambda: now * 10**9)
    answer(
        monkeypatch,
        nvmlDeviceGetComputeRunningProcesses=[
            *(Info(7, 10, 1, 0), Info(7, 5, 2, 0)),
            *(Info(8, None), Info(9, 3)),
        ],
        nvmlDeviceGetGraphicsRunningProcesses=[Info(7, 12, 1, 0), Info(9, 3), Info(10, None)],
        nvmlDeviceGetMPSComputeRunningProcesses=[],
        nvmlDeviceGetProcessesUtilizationInfo=samples_since,
        nvmlDeviceGetProcessUtilization=[],
    )
    # Microseconds; the last second counts.
    samples = [
        Sample(7, 99_100_000, 90),
        Sample(7, 99_500_000, 30, 11, 2, 3),
        Sample(7, 98_000_000, 100),
        Sample(7, 99_600_000, 2**32 - 1),  # implausible
        Sample(6, 99_500_000, 50),
    ]
    processes = device.processes()
    # The sum over the instances, not over the lists.
    memory = {pid: process.gpu_memory() for pid, process in processes.items()}
    assert memory == {7: 17, 8: NA, 9: 3, 10: NA}
    assert utilization(processes[7]) == (60, 6, 1, 2)
    now = 110  # a later call loses no sample
    samples = [Sample(7, 101_000_000, 80), Sample(7, 109_900_000, 20)]
    assert device.processes()[7].gpu_sm_utilization() == 50
    assert since == [99_000_000, 99_500_000]
