"""Samples of a machine: what is in them, when, what that costs, and what fails."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from nvitop import simulation
from nvitop.api import host, libnvml
from nvitop.api.process import HostFacts
from nvitop.api.process.observed import observed
from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.health import findings
from nvitop.sampling import source as source_module
from nvitop.sampling import take_sample
from nvitop.sampling.types import Demand, DeviceSample, HostIo, Problem, Sample
from tests.api.machines import needs_gpm
from tests.sampling.conftest import SLOW_TICK, ClockedMachine, gpu, labels, problems_of, statuses
from tests.waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from nvitop.api.process.observed import ObservedProcess

on = pytest.mark.parametrize


def test_a_tick_makes_few_calls(bench: ClockedMachine) -> None:
    """6 per GPU and tick, up to 4 more when processes are due, 18 more every 5 s."""
    for seconds in (0.0, 1.0, 1.0):
        bench.sample(seconds)
    fast = bench.calls_per_gpu(1.0)
    assert (sum(fast.values()), fast['nvmlDeviceGetClockInfo']) == (6, 2)
    processes = bench.calls_per_gpu(1.0)
    assert processes.pop('nvmlDeviceGetProcessesUtilizationInfo') <= 1
    # Of a GPU with an idle process, which the encoder may explain.
    assert processes.pop('nvmlDeviceGetEncoderUtilization') == 1 / 8
    lists = {name for name in processes if 'RunningProcesses' in name}
    assert (processes.keys() - fast.keys(), len(lists)) == (lists, 3)
    slow = bench.calls_per_gpu(1.0)
    # docs/health.md gives the number of those that are only for findings.
    assert slow.pop('nvmlDeviceGetCount_v2') == 1 / 8
    assert set(slow.values()) == {1, 2}
    assert len(slow.keys() - fast.keys()) == 16


# Selection and MIG


@on(
    ('bench', 'expected'),
    [
        (('dgx-h100', [2, 5]), ['2', '5']),
        (('dgx-h100', []), []),
        (('mig', [(0, 2), 3]), ['0:2', '3']),
        (('dgx-h100', [77]), []),
    ],
    indirect=['bench'],
)
def test_only_selected_devices_are_sampled(bench: ClockedMachine, expected: list[str]) -> None:
    assert labels(bench.sample()) == expected


@on('bench', ['mig'], indirect=True)
def test_a_gpu_that_leaves_mig_mode_is_a_leaf_until_it_returns(bench: ClockedMachine) -> None:
    before = bench.sample()
    bench.machine.set(gpu=0, mig_mode=False)
    sample = bench.sample(SLOW_TICK)
    assert labels(sample) == ['0', '1', '1:0', '1:1', '1:2', '2', '3']
    assert gpu(sample, 0).mig_mode == 'Disabled'
    bench.machine.set(gpu=0, mig_mode=True)
    sample = bench.sample(SLOW_TICK)
    assert [d.key for d in sample.devices] == [d.key for d in before.devices]
    assert all(d.info.mig_profile and d.memory_used_bytes for d in sample.devices if d.key.is_mig)
    assert [p for p in sample.processes if p.key.device[:2] == (2, -1)]
    bench.machine.set(gpu=2, mig_mode=True)
    sample = bench.sample(SLOW_TICK)
    assert not [p for p in sample.processes if p.key.device[:2] == (2, -1)]


# Shown metrics


RATES = ['nvlink_total_tx_throughput', 'nvlink_total_rx_throughput']
if hasattr(libnvml, 'nvmlGpmMetricsGet'):  # not with an old binding
    RATES.append('gpm_sm_active')


def rates(device: DeviceSample) -> list[object]:
    return [getattr(device, METRICS_BY_NAME[name].field) for name in RATES]


def test_extended_metrics_are_measured_only_while_shown(bench: ClockedMachine) -> None:
    names = ('ecc', 'nvlink_link_throughputs')
    bench.demand = Demand(shown_metrics=names)
    assert gpu(bench.sample(), 0).extended == (('ecc', 'Enabled'),)
    extended = dict(gpu(bench.sample(0.25), 0).extended)  # the second reading of the rates
    assert extended['ecc'] == 'Enabled'
    rows = extended['nvlink_link_throughputs']
    assert isinstance(rows, tuple)
    assert len(rows) == 18
    assert dict(gpu(bench.sample(0.75), 0).extended).keys() == set(names)
    bench.demand = Demand()
    assert gpu(bench.sample(1.0), 0).extended == ()


def test_input_and_output_of_the_host_is_read_only_while_shown(
    bench: ClockedMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    io = HostIo(memory_free_bytes=5)
    monkeypatch.setattr(source_module, 'read_host_io', lambda: io)
    assert bench.sample().host.io == HostIo()
    bench.demand = Demand(host_io=True)
    assert bench.sample(1.0).host.io == io
    monkeypatch.setattr(source_module, 'read_host_io', lambda: int('x'))
    sample = bench.sample(1.0)
    assert sample.host.io == HostIo()
    assert [p.what for p in sample.problems if p.subject == 'host'] == ['io']


def test_rates_of_all_gpus_begin_together_and_are_read_soon_after(bench: ClockedMachine) -> None:
    bench.sample()
    bench.demand = Demand(shown_metrics=tuple(RATES))
    assert set(rates(gpu(bench.sample(0.1), 0))) == {None}
    assert bench.source.next_due() == pytest.approx(bench.clock.now + 0.25)
    bench.clock.now = bench.source.next_due()
    for device in bench.sample().devices:
        assert None not in rates(device)
    assert None not in rates(gpu(bench.sample(1.0), 0))


@needs_gpm
def test_hardware_counters_are_released_when_no_gpm_metric_is_shown(bench: ClockedMachine) -> None:
    bench.demand = Demand(shown_metrics=('gpm_sm_active', 'gpm_dram_active'))
    bench.sample()
    bench.sample(1.0)
    bench.demand = Demand(shown_metrics=('gpm_sm_active',))
    bench.sample(1.0)
    assert bench.machine.world.gpm_samples
    bench.demand = Demand()
    bench.sample(1.0)
    assert bench.machine.world.gpm_samples == {}


# One sample for a program


def test_one_metric_costs_one_metric_and_leaves_no_thread() -> None:
    before = {*threading.enumerate()}
    with simulation.machine('half-busy', processes='fixed', clock=lambda: 0.0) as machine:
        take_sample(metrics=['temperature'])
        machine.reset_calls()
        waits: list[float] = []
        with mock.patch.object(time, 'sleep', waits.append):
            sample = take_sample(metrics=['temperature'])
        assert (waits, sample.processes, sample.host.cpu_percent) == ([], (), None)
        assert not any('Process' in name for name in machine.calls)
        for thread in {*threading.enumerate()} - before:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert take_sample(metrics=['processes']).processes


def test_a_report_asks_each_gpu_once_for_its_memory_and_mode(bench: ClockedMachine) -> None:
    bench.source.complete_sample(Demand())
    asked = [bench.machine.calls[f'nvmlDeviceGet{what}'] for what in ('MemoryInfo_v2', 'MigMode')]
    assert asked == [8, 8]


def test_an_unknown_metric_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown metric 'temperatur'; did you mean 'temperature'"):
        take_sample(metrics=['temperatur'])


ONE_HUNG = ['ok'] * 3 + ['timed out'] + ['ok'] * 4
ONE_LOST = ['ok'] * 3 + ['lost'] + ['ok'] * 4


# Missing values


def test_a_value_that_is_no_longer_reported_is_a_failure(bench: ClockedMachine) -> None:
    missing = ('not reported by the driver', 'na')
    bench.machine.set(gpu=2, gpu_utilization=0xFFFFFFFF)
    bench.machine.fail('nvmlDeviceGetUtilizationRates', 'UNKNOWN', gpu=2)
    assert problems_of(bench.sample(1.0), 2)['gpu_utilization'].kind == 'error'
    bench.machine.heal()
    for _ in range(2):
        assert problems_of(bench.sample(1.0), 2)['gpu_utilization'][2:] == missing
    bench.machine.set(gpu=2, gpu_utilization=50)
    assert 'gpu_utilization' not in problems_of(bench.sample(1.0), 2)
    bench.machine.set(gpu=2, gpu_utilization=0xFFFFFFFF)
    for _ in range(2):
        problem = problems_of(bench.sample(1.0), 2)['gpu_utilization']
        assert problem[2:] == ('no longer reported by the driver', 'error')


def test_processes_stay_without_numbers_while_their_list_fails(bench: ClockedMachine) -> None:
    before = bench.sample()
    bench.machine.fail('nvmlDeviceGetComputeRunningProcesses*', 'UNKNOWN', gpu=0, times=1)
    sample = bench.sample(2.0)
    assert [p.key for p in sample.processes] == [p.key for p in before.processes]
    assert {p.gpu_memory_bytes for p in sample.processes if p.key.device[0] == 0} == {None}
    assert None not in {p.gpu_memory_bytes for p in sample.processes if p.key.device[0] != 0}
    assert problems_of(sample, 0)['processes'].reason == 'Unknown Error'
    assert 'processes' not in problems_of(bench.sample(2.0), 0)


def test_processes_keep_their_rows_while_the_host_cannot_list_its_own(
    bench: ClockedMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bench.sample()

    def fail() -> dict[int, int]:
        raise OSError(24, 'Too many open files')

    monkeypatch.setattr(host, 'ppid_map', fail)
    bench.demand = Demand(host_processes=True)
    sample = bench.sample(2.0)
    assert statuses(sample) == ['ok'] * 8
    assert [p.key for p in sample.processes] == [p.key for p in before.processes]
    assert all(process.gpu_memory_bytes is not None for process in sample.processes)
    (problem,) = [p for p in sample.problems if p.what == 'processes']
    assert problem.kind == 'error'
    assert 'Too many open files' in problem.reason
    monkeypatch.undo()
    sample = bench.sample(2.0)
    assert not [p for p in sample.problems if p.what == 'processes']


# Lost devices


def test_a_lost_gpu_keeps_its_row_and_recovers(bench: ClockedMachine) -> None:
    before = bench.sample()
    bench.machine.set(gpu=3, lost=True)
    sample = bench.sample(1.0)
    lost = gpu(sample, 3)
    assert (lost.status, lost.reason) == ('lost', 'GPU is lost')
    assert lost.info.name == gpu(before, 3).info.name
    assert lost.key == gpu(before, 3).key
    assert lost.memory_used_bytes is None
    assert statuses(sample) == ONE_LOST
    assert problems_of(sample, 3)['status'].kind == 'lost'
    bench.machine.reset_calls()
    sample = bench.sample(1.0)
    assert bench.machine.calls['nvmlDeviceGetMemoryInfo_v2'] == 7  # it is not queried
    assert [p.key for p in sample.processes] == [p.key for p in before.processes]
    assert {p.key.device.physical_index for p in sample.processes if p.is_outdated} == {3}
    for _ in range(3):
        sample = bench.sample(SLOW_TICK)
        assert gpu(sample, 3)[:4] == lost[:4]
    bench.machine.set(gpu=3, lost=False)
    sample = bench.sample(SLOW_TICK)
    assert statuses(sample) == ['ok'] * 8
    assert gpu(sample, 3).memory_used_bytes is not None
    assert gpu(sample, 3).persistence_mode is not None
    assert gpu(sample, 3).key == lost.key
    assert 'status' not in problems_of(sample, 3)
    assert not any(process.is_outdated for process in sample.processes)


@on('bench', ['workstation'], indirect=True)
def test_nvml_restarts_with_growing_pauses_while_a_gpu_is_lost(bench: ClockedMachine) -> None:
    bench.sample()
    bench.machine.set(gpu=0, lost=True)
    starts = []
    bench.machine.reset_calls()
    for tick in range(40):
        assert statuses(bench.sample(SLOW_TICK)) == ['lost']
        if bench.machine.calls['nvmlInitWithFlags']:
            starts.append(SLOW_TICK * tick)
        bench.machine.reset_calls()
    pauses = [b - a for a, b in zip(starts, starts[1:])]
    assert starts[0] == 10.0
    assert pauses == sorted(pauses)
    assert pauses[-1] == 60.0


def test_devices_keep_their_rows_while_the_driver_is_gone(bench: ClockedMachine) -> None:
    before = bench.sample()
    bench.machine.fail('nvmlDeviceGet*', 'DRIVER_NOT_LOADED')
    bench.machine.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
    for seconds in (1.0, SLOW_TICK):
        sample = bench.sample(seconds)
        assert statuses(sample) == ['lost'] * 8
    assert {device.reason for device in sample.devices} == {'Driver Not Loaded'}
    assert sample.problems[0] == Problem('driver', 'initialization', 'Driver Not Loaded', 'error')
    bench.machine.heal()
    sample = bench.sample(SLOW_TICK)
    assert statuses(sample) == ['ok'] * 8
    assert [d.key for d in sample.devices] == [d.key for d in before.devices]
    assert sample.driver_version == before.driver_version
    assert not [p for p in sample.problems if p.subject == 'driver']


@on('code', ['NO_PERMISSION', 'OPERATING_SYSTEM'])
@on('call', ['nvmlDeviceGetHandleByIndex*', 'nvmlDeviceGet*'])
def test_a_gpu_without_permission_is_not_faulty(
    bench: ClockedMachine, call: str, code: str
) -> None:
    bench.machine.fail(call, code, gpu=2)
    sample = bench.sample()
    device = gpu(sample, 2)
    assert (device.status, device.is_failing) == ('not permitted', False)
    assert 'control group' in device.reason or '/dev/nvidia' in device.reason
    (finding,) = [finding for finding in findings(sample) if finding.device == device.key]
    assert (finding.kind, finding.severity) == ('not_permitted', 'unknown')


@on('bench', ['mig'], indirect=True)
@pytest.mark.parametrize(
    ('code', 'reason'),
    [('INVALID_ARGUMENT', 'Invalid Argument: was it destroyed?'), ('UNKNOWN', 'Unknown Error')],
)
def test_a_mig_device_with_an_invalid_handle_is_found_again(
    bench: ClockedMachine, code: str, reason: str
) -> None:
    bench.sample()
    bench.machine.fail('nvmlDeviceGetMemoryInfo*', code, gpu=(0, 2))
    sample = bench.sample(1.0)
    assert statuses(sample).count('error') == 1
    (problem,) = [problem for problem in sample.problems if problem.what == 'status']
    assert problem.reason == reason
    bench.machine.heal()
    assert set(statuses(bench.sample(1.0))) == {'ok'}


# Hanging calls


def test_a_hanging_gpu_does_not_blind_the_others(bench: ClockedMachine) -> None:
    before = bench.sample()
    bench.machine.delay('nvmlDeviceGetMemoryInfo*', 3.0, gpu=3)
    started = bench.clock.now
    sample = bench.sample(1.0)
    assert bench.clock.now - started == 4.0
    hung = gpu(sample, 3)
    assert (hung.status, hung.reason) == ('timed out', 'no response for 3s')
    assert hung.info == gpu(before, 3).info
    assert hung.memory_used_bytes is None
    assert statuses(sample) == ONE_HUNG
    assert problems_of(sample, 3)['status'].kind == 'timed out'
    assert [p.key for p in sample.processes] == [p.key for p in before.processes]
    wait_until(lambda: bench.source.threads_inside == 1, 'only the hanging call remains')

    started = bench.clock.now
    bench.machine.set(temperature=77)
    sample = bench.sample(1.0)
    assert bench.clock.now - started == 1.0  # it is not waited for again
    assert gpu(sample, 3).reason == 'no response for 4s'
    assert [device.temperature_celsius for device in sample.devices] == [77] * 3 + [None] + [77] * 4


def test_a_hung_gpu_recovers_after_a_trial(bench: ClockedMachine) -> None:
    bench.sample()
    bench.machine.delay('nvmlDeviceGetMemoryInfo*', 3.0, gpu=3)
    assert gpu(bench.sample(1.0), 3).status == 'timed out'
    bench.machine.heal()
    bench.machine.reset_calls()
    bench.join()
    assert gpu(bench.sample(1.0), 3).status == 'timed out'  # the trial runs
    bench.join()
    # By a reader that shares nothing with the one in the abandoned thread.
    assert bench.machine.calls['nvmlDeviceGetHandleByIndex_v2'] == 1
    sample = bench.sample(1.0)
    assert statuses(sample) == ['ok'] * 8
    assert gpu(sample, 3).memory_used_bytes is not None
    assert gpu(sample, 3).persistence_mode is not None
    assert bench.source.threads_inside == 0


def test_a_process_that_hangs_in_the_kernel_does_not_block_the_sample(
    bench: ClockedMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    cls: Any = type(observed(os.getpid()))
    facts = cls.facts

    def hold(process: ObservedProcess, before: HostFacts | None = None) -> HostFacts:
        if not held:
            held.append(process.pid)
            bench.sleep(3.0)
        read: HostFacts = facts(process, before)
        return read

    monkeypatch.setattr(cls, 'facts', hold)
    sample = bench.sample()
    assert statuses(sample) == ['ok'] * 8
    (problem,) = [p for p in sample.problems if p.what == 'processes']
    assert (problem.kind, problem.reason) == ('timed out', 'no response for 3s')
    sample = bench.sample(2.0)
    assert len(sample.processes) > 8
    (stuck,) = [p for p in sample.processes if p.key.pid == held[0]]
    assert stuck.command is None
    found = [(p.subject, p.reason) for p in sample.problems if p.kind == 'timed out']
    assert found == [(held[0], 'the system does not respond')]
    bench.join()
    sample = bench.sample(2.0)
    assert not [p for p in sample.problems if p.kind == 'timed out']


# Slow GPUs


def sample_with_slow_gpu_3(bench: ClockedMachine) -> Sample:
    """The first sample that marks GPU 3 as slow: each of its readings takes 0.4 s."""
    bench.sample()
    bench.machine.delay('nvmlDeviceGetUtilizationRates', 0.4, gpu=3)
    bench.let_go.set()
    for _ in range(3):
        sample = bench.sample(1.0)
    bench.let_go.clear()
    return sample


def test_a_slow_gpu_does_not_block_the_others(bench: ClockedMachine) -> None:
    sample_with_slow_gpu_3(bench)
    bench.machine.set(temperature=77)
    sample = bench.sample(1.0)  # GPU 3 is still being read
    assert gpu(sample, 4).temperature_celsius == 77
    before = gpu(sample, 3)
    assert (before.status, before.temperature_celsius != 77) == ('ok', True)
    assert before.memory_used_bytes is not None
    assert problems_of(sample, 3)['status'].kind == 'slow'
    bench.join()
    assert gpu(bench.sample(1.0), 3).temperature_celsius == 77


def test_metrics_that_fall_due_while_a_slow_gpu_is_read_are_read_next(
    bench: ClockedMachine,
) -> None:
    sample_with_slow_gpu_3(bench)
    bench.sample(1.0)
    bench.machine.set(gpu=3, fan_speed=33)
    assert gpu(bench.sample(0.5), 3).status == 'ok'
    bench.source.refresh()
    bench.sample()  # slow metrics are due while it is still being read
    bench.join()
    bench.sample(1.0)
    bench.join()
    assert gpu(bench.sample(1.0), 3).fan_speed_percent == 33
