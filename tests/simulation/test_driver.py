"""The simulated NVML, asked through the binding: what each subject answers."""

from __future__ import annotations

import os
from typing import Iterator

import pynvml
import pytest

from nvitop import simulation


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    with simulation.machine('dgx-h100', processes='fixed', clock=lambda: 0.0) as machine:
        pynvml.nvmlInit()
        yield machine


def test_eight_gpus_are_listed_and_found_by_index_uuid_and_bus_id(
    machine: simulation.Machine,
) -> None:
    assert pynvml.nvmlDeviceGetCount() == 8
    uuids = set()
    for index in range(8):
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        assert pynvml.nvmlDeviceGetIndex(handle) == index
        uuid = pynvml.nvmlDeviceGetUUID(handle)
        bus_id = pynvml.nvmlDeviceGetPciInfo(handle).busId
        for other in (
            pynvml.nvmlDeviceGetHandleByUUID(uuid),
            pynvml.nvmlDeviceGetHandleByPciBusId(bus_id),
        ):
            assert pynvml.nvmlDeviceGetIndex(other) == index
        uuids.add(uuid)
    assert len(uuids) == 8


def test_values_do_not_move_while_the_clock_stands_and_do_when_it_goes(
    machine: simulation.Machine,
) -> None:
    handle = pynvml.nvmlDeviceGetHandleByIndex(4)

    def load() -> tuple[int, int]:
        return (
            pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
            pynvml.nvmlDeviceGetPowerUsage(handle),
        )

    first = load()
    assert load() == first
    machine.advance(20.0)
    assert load() != first


def test_a_function_of_an_uninitialized_driver_says_so(machine: simulation.Machine) -> None:
    pynvml.nvmlShutdown()
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlShutdown()


def test_given_pids_go_to_the_first_processes() -> None:
    with simulation.machine('dgx-h100', processes=[os.getpid()]):
        pynvml.nvmlInit()
        lists = [
            pynvml.nvmlDeviceGetComputeRunningProcesses(pynvml.nvmlDeviceGetHandleByIndex(i))
            for i in range(8)
        ]
    assert [process.pid for processes in lists for process in processes] == [os.getpid()]
