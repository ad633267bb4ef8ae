"""The time before the first sample of a simulated machine."""

from __future__ import annotations

import pytest

from nvitop import simulation
from nvitop.api.system import system
from nvitop.sampling.history import past_samples
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, Sample
from tests.api.machines import machine as make_machine

BUSY = """
[host]
cpus = 1
cpu = 0
[[gpu]]
model = "H100"
[[process]]
command = ["a"]
memory = { mean = "20 GiB", amplitude = "9 GiB" }
sm = { mean = 50, amplitude = 40, period = 700 }
cpu = { mean = 50, amplitude = 30, period = 700 }
host_memory = "1 GiB"
started = "30 min"
"""


def shown(sample: Sample) -> tuple[object, ...]:
    """Values that graphs show."""
    (device,) = sample.devices
    values = (device.gpu_utilization_percent, device.memory_percent, device.power_usage_mw)
    processes = [(p.gpu_sm_utilization_percent, p.gpu_memory_bytes) for p in sample.processes]
    return (*values, device.temperature_celsius, device.sm_clock_mhz, processes)


def test_past_of_a_simulated_machine_has_the_values_that_would_have_been_measured() -> None:
    with make_machine(BUSY, processes='real', clock=lambda: 0.0) as machine:
        machine.advance(1000.0)
        source = LiveSource(sleep=lambda seconds: None)
        first = source.complete_sample(Demand())
        machine.advance(200.0)
        second = source.complete_sample(Demand())
        past = {round(second.monotonic - each.monotonic): each for each in past_samples(second)}
        assert [*past][:2] + [*past][-2:] == [3600, 3590, 4, 2]
        assert shown(past[200]) == shown(first) != shown(past[100])
        for each in (past[2], past[200]):
            cpu = each.processes[0].cpu_percent
            assert each.host.cpu_percent == pytest.approx(cpu, rel=0.1)
            assert each.devices[0].pcie_rx_throughput_kib_per_s
        assert past[3600].processes == ()
        assert past[3600].devices[0].gpu_utilization_percent == 0
    # Also of processes that are older than the machine.
    with simulation.machine('dgx-h100', processes='fixed'):
        before = system().past(100)
        assert before is not None
        assert before.devices[0]['pcie_rx_throughput_kib_per_s'] > 1e6  # type: ignore[operator]
        assert before.devices[0]['nvlink_rx_throughput_kib_per_s'] > 5e7  # type: ignore[operator]


def test_past_of_processes_that_start_with_the_machine_is_unknown() -> None:
    text = '[[gpu]]\n[[process]]\ncommand = ["a"]\n'
    with make_machine(text, processes='real'):
        assert list(past_samples(LiveSource().complete_sample(Demand()))) == []


def test_a_process_that_was_idle_in_the_past_is_idle_since_then() -> None:
    text = '[[gpu]]\n[[process]]\ncommand = ["a"]\nmemory = "1 GiB"\nstarted = "2 h"\n'
    with make_machine(text, processes='real'):
        (process,) = LiveSource().sample(Demand()).processes
        assert process.gpu_idle_seconds == pytest.approx(3600, abs=60)
        assert process.is_idle_longer
