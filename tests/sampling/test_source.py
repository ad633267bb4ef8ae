"""Samples of a machine on which nothing fails: what is in them, when, and what that costs."""

from __future__ import annotations

import os
import threading
import time
from unittest import mock

import pynvml
import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.basics.metrics import METRICS_BY_NAME
from nvitop.sampling import source as source_module
from nvitop.sampling import take_sample, threads
from nvitop.sampling.plan import REPORT_METRICS
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, DeviceSample, HostIo
from tests.api.machines import needs_gpm
from tests.clock import Clock
from tests.sampling.clocked_machine import SLOW_TICK, ClockedMachine, gpu, labels, statuses
from tests.waiting import PATIENCE

#: Old bindings have the name from before driver 535.
_EVENT_REASONS = (
    'nvmlDeviceGetCurrentClocksEventReasons'
    if hasattr(pynvml, 'nvmlDeviceGetCurrentClocksEventReasons')
    else 'nvmlDeviceGetCurrentClocksThrottleReasons'
)
on = pytest.mark.parametrize


def test_a_tick_makes_these_calls_and_no_others(bench: ClockedMachine) -> None:
    """6 per GPU and tick, up to 4 more when processes are due, 13 more every 5 s."""
    for seconds in (0.0, 1.0, 1.0):
        bench.sample(seconds)
    fast = {
        'nvmlDeviceGetMemoryInfo_v2': 1,
        'nvmlDeviceGetUtilizationRates': 1,
        'nvmlDeviceGetClockInfo': 2,
        'nvmlDeviceGetTemperatureV': 1,
        'nvmlDeviceGetPowerUsage': 1,
    }
    assert bench.calls_per_gpu(1.0) == fast
    processes = bench.calls_per_gpu(1.0)
    assert processes.pop('nvmlDeviceGetProcessesUtilizationInfo') <= 1
    # Of a GPU with an idle process, which the encoder may explain.
    assert processes.pop('nvmlDeviceGetEncoderUtilization') == 1 / 8
    assert processes == {
        **fast,
        'nvmlDeviceGetComputeRunningProcesses_v3': 1,
        'nvmlDeviceGetGraphicsRunningProcesses_v3': 1,
        'nvmlDeviceGetMPSComputeRunningProcesses_v3': 1,
    }
    assert bench.calls_per_gpu(1.0) == {
        **fast,
        'nvmlDeviceGetCount_v2': 1 / 8,
        'nvmlDeviceGetBAR1MemoryInfo': 1,
        'nvmlDeviceGetFanSpeed': 1,
        'nvmlDeviceGetPowerManagementLimit': 1,
        'nvmlDeviceGetDisplayActive': 1,
        'nvmlDeviceGetPersistenceMode': 1,
        'nvmlDeviceGetPerformanceState': 1,
        'nvmlDeviceGetComputeMode': 1,
        'nvmlDeviceGetMigMode': 1,
        'nvmlDeviceGetTotalEccErrors': 1,
        # Only for findings; docs/health.md gives their number.
        _EVENT_REASONS: 1,
        'nvmlDeviceGetCurrPcieLinkGeneration': 1,
        'nvmlDeviceGetCurrPcieLinkWidth': 1,
        'nvmlDeviceGetFieldValues': 1,
        'nvmlDeviceGetRowRemapperHistogram': 1,
        'nvmlDeviceGetSramEccErrorStatus': 1,
        'nvmlDeviceGetGpuFabricInfoV': 1,
    }


# Complete samples


def test_cpu_percent_of_a_complete_sample_is_measured_over_a_tenth_of_a_second() -> None:
    clock = Clock()
    with simulation.machine('workstation', processes=[os.getpid()], clock=clock):
        waits: list[float] = []

        def work(seconds: float) -> None:
            waits.append(seconds)
            end = time.process_time() + seconds
            while time.process_time() < end:
                pass
            clock.turn(seconds)

        sample = LiveSource(clock=clock, sleep=work).complete_sample(metrics=REPORT_METRICS)
    assert 0 < sum(waits) <= 0.2
    (mine,) = {s.cpu_percent for s in sample.processes if s.key.pid == os.getpid()}
    assert mine is not None
    assert mine > 0
    assert sample.host.cpu_percent is not None


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
def test_mig_devices_follow_their_gpu(bench: ClockedMachine) -> None:
    sample = bench.sample()
    assert labels(sample) == ['0', '0:0', '0:2', '1', '1:0', '1:1', '1:2', '2', '3']
    for mig in (device for device in sample.devices if device.key.is_mig):
        assert mig.info.mig_profile
        assert mig.info.gpu_instance_id is not None
        assert mig.memory_percent is not None
        assert mig.temperature_celsius is None
    assert {p.key.device for p in sample.processes} <= {
        device.key for device in sample.devices if device.mig_mode != 'Enabled'
    }
    assert any(p.key.device.is_mig for p in sample.processes)


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


def test_removed_gpus_disappear_and_added_ones_appear(bench: ClockedMachine) -> None:
    before = bench.sample()
    node = bench.machine.world.gpus.pop(3)
    sample = bench.sample(SLOW_TICK)
    assert labels(sample) == ['0', '1', '2', '3', '4', '5', '6']
    assert gpu(before, 3).key.uuid not in [device.key.uuid for device in sample.devices]
    assert gpu(sample, 3).key.uuid == gpu(before, 4).key.uuid
    assert gpu(sample, 3).info.serial == gpu(before, 4).info.serial
    bench.machine.world.gpus.insert(3, node)
    sample = bench.sample(SLOW_TICK)
    assert [d.key for d in sample.devices] == [d.key for d in before.devices]
    assert set(statuses(sample)) == {'ok'}


# Shown metrics


def test_shown_metrics_are_measured_only_while_shown(bench: ClockedMachine) -> None:
    bench.sample()
    bench.demand = Demand(shown_metrics=('encoder_utilization', 'clock_event_reasons'))
    device = gpu(bench.sample(0.1), 0)
    assert device.encoder_utilization_percent is not None
    assert device.clock_event_reasons is not None
    bench.demand = Demand(shown_metrics=('clock_event_reasons',))
    device = gpu(bench.sample(1.0), 0)
    assert device.encoder_utilization_percent is None
    assert device.clock_event_reasons is not None
    bench.machine.reset_calls()
    bench.sample(1.0)
    # Only that of a GPU with an idle process, which the encoder may explain.
    assert bench.machine.calls['nvmlDeviceGetEncoderUtilization'] <= 1


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


def test_one_metric_costs_one_metric_and_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, 'SPARE_SECONDS', 1e6)
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


def test_an_unknown_metric_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown metric 'temperatur'; did you mean 'temperature'"):
        take_sample(metrics=['temperatur'])
