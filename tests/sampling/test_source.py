from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Iterator

import pytest

from nvitop import simulation
from nvitop.api import host, libnvml
from nvitop.api.device.window import Window
from nvitop.api.metrics import METRICS_BY_NAME
from nvitop.api.process import HostFacts
from nvitop.api.process.observed import ObservedProcess, observed
from nvitop.sampling.plan import REPORT_METRICS
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Demand, DeviceSample, Problem, Sample
from nvitop.sampling.watchdog import FIRST_RETRY_SECONDS, Watchdog
from tests.api.machines import needs_gpm
from tests.patience import PATIENCE, wait_until
from tests.sampling.fakes import Clock

NO_PROCESSES = Demand(processes=False)
SLOW_TICK = 5.0


class Bench:
    """A simulated machine whose clock is turned by hand, and a source that samples it."""

    def __init__(self, scenario: str, only: list[object] | None = None) -> None:
        self.clock = Clock()
        self.let_go = threading.Event()
        self.threads: list[threading.Thread] = []
        self.machine = simulation.machine(
            scenario, processes='fixed', clock=self.clock, sleep=self.sleep
        )
        self.only = only
        self.demand = Demand()

    def open(self) -> None:
        lane = Watchdog(
            clock=self.clock,
            start_thread=self.start,
            condition=self.clock.condition,
            spare_seconds=0.0,
        )
        self.source = LiveSource(
            only=self.only,  # type: ignore[arg-type]
            clock=self.clock,
            wall_clock=lambda: 1.7e9 + self.clock.now,
            sleep=self.clock.turn,
            lane=lane,
        )

    def start(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self.threads.append(thread)
        thread.start()

    def sleep(self, seconds: float) -> None:
        """A delayed call: it takes its time on the clock and then hangs until it is let go.

        A lane that has just given up waiting takes a turned clock for a pause of the whole process,
        and would wait for ever for it to be turned once more.
        """
        for _ in range(5):
            self.clock.turn(seconds)
            if self.let_go.wait(PATIENCE / 5):
                return
        raise AssertionError('nobody let go')

    def sample(self, seconds: float = 0.0) -> Sample:
        """A sample after so many seconds."""
        self.clock.turn(seconds)
        return self.source.sample(self.demand)

    def join(self) -> None:
        self.let_go.set()
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    options = getattr(request, 'param', 'dgx-h100')
    bench = Bench(*options) if isinstance(options, tuple) else Bench(options)
    with bench.machine:
        bench.open()
        yield bench
        bench.join()


on = pytest.mark.parametrize


def statuses(sample: Sample) -> list[str]:
    return [device.status for device in sample.devices]


def gpu(sample: Sample, index: int) -> DeviceSample:
    (device,) = [d for d in sample.devices if d.key[:2] == (index, -1)]
    return device


def test_the_first_sample_is_whole(bench: Bench) -> None:
    sample = bench.sample()
    assert statuses(sample) == ['ok'] * 8
    assert (sample.sequence, sample.simulated) == (1, 'dgx-h100')
    assert sample.driver_version
    assert sample.cuda_driver_version
    assert sample.monotonic == bench.clock.now
    for device in sample.devices:
        assert device.info.name == 'NVIDIA H100 80GB HBM3'
        assert device.key.uuid == device.info.uuid
        assert device.info.memory_total_bytes
        assert device.gpu_utilization_percent is not None
        assert device.memory_percent is not None
        assert device.persistence_mode is not None
        assert device.encoder_utilization_percent is None
    assert len(sample.processes) > 8
    assert sample.host.hostname


def test_facts_that_no_table_shows_follow_with_the_second_sample(bench: Bench) -> None:
    assert gpu(bench.sample(), 0).info.max_sm_clock_mhz is None
    bench.machine.reset_calls()
    assert gpu(bench.sample(1.0), 0).info.max_sm_clock_mhz == 1980
    assert bench.machine.calls['nvmlDeviceGetName'] == 0
    bench.machine.reset_calls()
    bench.sample(SLOW_TICK)
    assert bench.machine.calls['nvmlDeviceGetMaxClockInfo'] == 0


def calls_per_gpu(bench: Bench, seconds: float) -> dict[str, float]:
    bench.machine.reset_calls()
    sample = bench.sample(seconds)
    assert sample.cost.nvml_calls == sum(bench.machine.calls.values())
    return {name: count / 8 for name, count in bench.machine.calls.items()}


def test_the_calls_of_a_tick_are_these_and_no_more(bench: Bench) -> None:
    """6 for each tick, up to 4 more when processes are due, 13 more every 5 s."""
    bench.sample()
    bench.sample(1.0)
    bench.sample(1.0)
    fast = {
        'nvmlDeviceGetMemoryInfo_v2': 1,
        'nvmlDeviceGetUtilizationRates': 1,
        'nvmlDeviceGetClockInfo': 2,
        'nvmlDeviceGetTemperatureV': 1,
        'nvmlDeviceGetPowerUsage': 1,
    }
    assert calls_per_gpu(bench, 1.0) == fast
    processes = calls_per_gpu(bench, 1.0)
    assert processes.pop('nvmlDeviceGetProcessUtilization') <= 1
    assert processes == {
        **fast,
        'nvmlDeviceGetComputeRunningProcesses_v3': 1,
        'nvmlDeviceGetGraphicsRunningProcesses_v3': 1,
        'nvmlDeviceGetMPSComputeRunningProcesses_v3': 1,
    }
    assert calls_per_gpu(bench, 1.0) == {
        **fast,
        'nvmlDeviceGetCount_v2': 1 / 8,
        'nvmlDeviceGetBAR1MemoryInfo': 1,
        'nvmlDeviceGetFanSpeed': 1,
        'nvmlDeviceGetPowerManagementLimit': 1,
        'nvmlDeviceGetEnforcedPowerLimit': 1,
        'nvmlDeviceGetDisplayActive': 1,
        'nvmlDeviceGetDisplayMode': 1,
        'nvmlDeviceGetPersistenceMode': 1,
        'nvmlDeviceGetPerformanceState': 1,
        'nvmlDeviceGetComputeMode': 1,
        'nvmlDeviceGetMigMode': 1,
        'nvmlDeviceGetTotalEccErrors': 1,
    }


def test_a_report_asks_nothing_twice_and_at_most_thirty_calls_a_gpu(bench: Bench) -> None:
    bench.machine.reset_calls()
    sample = bench.source.complete_sample(metrics=REPORT_METRICS)
    calls = bench.machine.calls
    assert sample.cost.nvml_calls == sum(calls.values()) - calls['nvmlInitWithFlags'] <= 30 * 8
    twice = {name for name, count in calls.items() if count > 8}
    assert twice <= {
        'nvmlDeviceGetClockInfo',  # of SMs and of the memory
        'nvmlDeviceGetComputeRunningProcesses_v3',  # did not fit
        'nvmlDeviceGetProcessUtilization',
    }
    assert gpu(sample, 0).info.max_sm_clock_mhz is None


def test_a_complete_sample_has_everything_but_what_is_asked_only_while_shown(bench: Bench) -> None:
    device = gpu(bench.source.complete_sample(), 0)
    assert device.info.max_sm_clock_mhz == 1980
    assert device.bar1_memory_total_bytes is not None
    assert device.encoder_utilization_percent is None
    demand = Demand(shown_metrics=('encoder_utilization',), processes=False)
    sample = bench.source.complete_sample(demand, metrics=['power_usage'])
    device = gpu(sample, 0)
    assert device.encoder_utilization_percent is not None
    assert sample.processes == ()


def test_a_complete_sample_asks_only_for_the_metrics_that_are_wanted(bench: Bench) -> None:
    bench.machine.reset_calls()
    sample = bench.source.complete_sample(NO_PROCESSES, metrics=['power_usage'])
    assert gpu(sample, 3).power_usage_mw
    assert gpu(sample, 3).temperature_celsius is None
    calls = bench.machine.calls
    assert calls['nvmlDeviceGetPowerUsage'] == 8
    assert sum(calls.values()) <= 8 * 5 + 4


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

        source = LiveSource(clock=clock, sleep=work)
        sample = source.complete_sample(metrics=REPORT_METRICS)
    assert 0 < sum(waits) <= 0.2
    (mine,) = {s.cpu_percent for s in sample.processes if s.key.pid == os.getpid()}
    assert mine is not None
    assert mine > 0
    assert sample.host.cpu_percent is not None


def test_what_a_complete_sample_has_read_twice_is_not_planned_once_more() -> None:
    """A loop of complete samples never comes to its plan: it would only ever grow."""
    clock = Clock()
    with simulation.machine('workstation', processes=[os.getpid()], clock=clock):
        source = LiveSource(clock=clock, sleep=clock.turn)
        source.complete_sample()
        source.sample(NO_PROCESSES)
        assert source.next_due() >= clock.now + 0.9


@on('bench', ['mig'], indirect=True)
def test_mig_devices_stand_below_their_gpu(bench: Bench) -> None:
    sample = bench.sample()
    labels = [device.key.label for device in sample.devices]
    assert labels == sorted(labels, key=lambda label: [int(part) for part in label.split(':')])
    assert '0' in labels
    assert '0:0' in labels
    migs = [device for device in sample.devices if device.key.is_mig]
    for mig in migs:
        assert mig.info.mig_profile
        assert mig.info.gpu_instance_id is not None
        assert mig.memory_percent is not None
        assert mig.temperature_celsius is None
    assert {p.key.device for p in sample.processes} <= {
        device.key for device in sample.devices if device.mig_mode != 'Enabled'
    }
    assert any(p.key.device.is_mig for p in sample.processes)


@on('bench', ['mig'], indirect=True)
def test_what_a_partitioned_gpu_does_not_tell_is_missing_because_of_mig(bench: Bench) -> None:
    sample = bench.sample()
    reasons = {(p.subject, p.what): (p.reason, p.kind) for p in sample.problems}
    why = ('Not Supported (MIG)', 'na')
    assert reasons['device 0', 'gpu_utilization'] == why
    assert reasons['device 0:0', 'nvmlDeviceGetProcessUtilization'] == why
    # Fans have nothing to do with it.
    assert reasons['device 0', 'fan_speed'] == ('Not Supported', 'na')
    bench.machine.set(gpu=0, mig_mode=False)
    bench.machine.fail('nvmlDeviceGetUtilizationRates', 'NOT_SUPPORTED', gpu=0)
    later = [p for p in bench.sample(SLOW_TICK).problems if p.subject == 'device 0']
    assert {p.reason for p in later if p.what == 'gpu_utilization'} == {'Not Supported'}


@on(
    ('bench', 'labels'),
    [
        (('dgx-h100', [2, 5]), ['2', '5']),
        (('dgx-h100', []), []),
        (('mig', [(0, 2), 3]), ['0:2', '3']),
        (('dgx-h100', [77]), []),
    ],
    indirect=['bench'],
)
def test_only_the_wanted_devices_are_sampled(bench: Bench, labels: list[str]) -> None:
    assert [device.key.label for device in bench.sample().devices] == labels


@on('scenario', ['dgx-h100', 'mig'])
def test_devices_can_be_wanted_by_uuid(scenario: str) -> None:
    with simulation.machine(scenario, processes='none'):
        wanted = LiveSource().sample(Demand()).devices[2].key
        (device,) = LiveSource(only=[wanted.uuid]).sample(Demand()).devices
    assert device.key == wanted


def test_gpus_that_are_not_wanted_are_not_asked() -> None:
    with simulation.machine('dgx-h100', processes='none') as machine:
        uuid = LiveSource().sample(Demand()).devices[2].key.uuid
        source = LiveSource(only=[uuid])
        source.sample(Demand())
        machine.reset_calls()
        source.refresh()
        source.sample(Demand())
        assert machine.calls['nvmlDeviceGetMemoryInfo_v2'] == 1


def test_shown_metrics_are_there_while_they_are_shown_and_gone_after(bench: Bench) -> None:
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
    assert bench.machine.calls['nvmlDeviceGetEncoderUtilization'] == 0


RATES = ['pcie_tx_throughput', 'nvlink_rx_throughput']
if hasattr(libnvml, 'nvmlGpmMetricsGet'):  # not with an old binding
    RATES.append('gpm_sm_active')


def rates(device: DeviceSample) -> list[object]:
    return [getattr(device, METRICS_BY_NAME[name].field) for name in RATES]


def test_rates_are_begun_everywhere_and_read_soon_after_so_nobody_waits(bench: Bench) -> None:
    bench.sample()
    bench.demand = Demand(shown_metrics=tuple(RATES))
    assert set(rates(gpu(bench.sample(0.1), 0))) == {None}
    assert bench.source.next_due() == pytest.approx(bench.clock.now + 0.25)
    bench.clock.now = bench.source.next_due()
    for device in bench.sample().devices:
        assert None not in rates(device)
    assert None not in rates(gpu(bench.sample(1.0), 0))


def test_what_this_user_may_not_read_is_told_from_what_a_device_lacks(bench: Bench) -> None:
    bench.machine.fail('nvmlDeviceGetPowerUsage', 'NO_PERMISSION', gpu=0)
    bench.machine.fail('nvmlDeviceGetFanSpeed', 'NOT_SUPPORTED', gpu=0)
    bench.machine.fail('nvmlDeviceGetPerformanceState', 'UNKNOWN', gpu=0)
    problems = [p for p in bench.sample().problems if p.subject == 'device 0']
    kinds = {problem.what: (problem.kind, problem.is_failure) for problem in problems}
    assert kinds['power_usage'] == ('denied', False)
    assert kinds['fan_speed'] == ('na', False)
    assert kinds['performance_state'] == ('error', True)


@on('bench', ['old-driver'], indirect=True)
def test_fields_that_an_old_driver_does_not_know_are_no_failure(bench: Bench) -> None:
    bench.demand = Demand(shown_metrics=('nvlink_tx_throughput', 'nvlink_rx_throughput'))
    bench.sample()
    sample = bench.sample(1.0)
    links = [problem for problem in sample.problems if problem.what.startswith('nvlink')]
    assert {problem.subject for problem in links} == {'device 0', 'device 1'}
    assert {(problem.reason, problem.kind) for problem in links} == {('Not Supported', 'na')}


@on('bench', ['dgx-h100', 'old-driver'], indirect=True)
@on(('error', 'reason'), [('INVALID_ARGUMENT', 'Invalid Argument'), ('UNKNOWN', 'Unknown Error')])
def test_a_call_for_fields_that_fails_as_a_whole_is_a_failure(
    bench: Bench, error: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Window, 'clock', bench.clock)
    bench.demand = Demand(shown_metrics=('nvlink_tx_throughput', 'nvlink_rx_throughput'))
    bench.sample()
    bench.sample(1.0)
    bench.machine.fail('nvmlDeviceGetFieldValues', error, gpu=0)
    links = [p for p in bench.sample(SLOW_TICK).problems if p.what.startswith('nvlink')]
    links = [problem for problem in links if problem.subject == 'device 0']
    assert {(problem.reason, problem.kind) for problem in links} == {(reason, 'error')}


@needs_gpm
def test_counters_of_the_hardware_are_given_back_when_they_are_hidden(bench: Bench) -> None:
    bench.demand = Demand(shown_metrics=('gpm_sm_active', 'gpm_dram_active'))
    bench.sample()
    bench.sample(1.0)
    bench.demand = Demand(shown_metrics=('gpm_sm_active',))
    bench.sample(1.0)
    assert bench.machine.world.gpm_samples
    bench.demand = Demand()
    bench.sample(1.0)
    assert bench.machine.world.gpm_samples == {}


def test_a_complete_sample_has_rates_too(bench: Bench) -> None:
    sample = bench.source.complete_sample(Demand(shown_metrics=tuple(RATES)))
    for device in sample.devices:
        assert None not in rates(device)


def test_the_reason_for_a_gap_goes_with_the_metric_that_was_shown(bench: Bench) -> None:
    bench.machine.fail('nvmlDeviceGetEncoderUtilization', 'NOT_SUPPORTED', gpu=0)
    bench.demand = Demand(shown_metrics=('encoder_utilization',))
    assert 'encoder_utilization' in of(bench.sample(), 0)
    bench.demand = Demand()
    assert 'encoder_utilization' not in of(bench.sample(1.0), 0)


def test_values_not_due_stay_what_they_were(bench: Bench) -> None:
    before = gpu(bench.sample(), 0)
    after = gpu(bench.sample(1.0), 0)
    assert after.persistence_mode == before.persistence_mode
    assert after.power_limit_mw == before.power_limit_mw
    assert after.info.name == before.info.name


def test_processes_are_gone_from_the_sample_when_nobody_wants_them(bench: Bench) -> None:
    assert bench.sample().processes
    bench.demand = NO_PROCESSES
    assert bench.sample(1.0).processes == ()


# What is missing


def of(sample: Sample, index: int) -> dict[str, Problem]:
    return {p.what: p for p in sample.problems if p.subject == f'device {index}'}


def test_every_reason_for_a_gap_is_kept_until_the_gap_is_closed(bench: Bench) -> None:
    bench.machine.fail('nvmlDeviceGetTemperature*', 'UNKNOWN', gpu=3, times=2)
    sample = bench.sample()
    assert gpu(sample, 3).temperature_celsius is None
    assert of(sample, 3)['temperature'] == Problem(
        'device 3', 'temperature', 'Unknown Error', 'error', gpu(sample, 3).key
    )
    assert 'temperature' not in of(sample, 2)
    bench.machine.heal()
    sample = bench.sample(1.0)
    assert gpu(sample, 3).temperature_celsius is not None
    assert 'temperature' not in of(sample, 3)


def test_a_metric_that_a_gpu_does_not_have_is_asked_for_seldom(bench: Bench) -> None:
    bench.machine.fail('nvmlDeviceGetPowerUsage', 'NOT_SUPPORTED', gpu=3)
    sample = bench.sample()
    assert of(sample, 3)['power_usage'].reason == 'Not Supported'
    bench.machine.reset_calls()
    sample = bench.sample(1.0)
    assert bench.machine.calls['nvmlDeviceGetPowerUsage'] == 7
    assert of(sample, 3)['power_usage'].reason == 'Not Supported'
    bench.machine.heal()
    sample = bench.sample(SLOW_TICK)
    assert gpu(sample, 3).power_usage_mw is not None
    assert 'power_usage' not in of(sample, 3)


def test_a_value_that_is_not_given_any_more_is_a_failure(bench: Bench) -> None:
    no_value = 0xFFFFFFFF
    bench.machine.set(gpu=2, gpu_utilization=no_value)
    for _ in range(2):
        problem = of(bench.sample(1.0), 2)['gpu_utilization']
        assert (problem.reason, problem.kind) == ('the driver gives no value', 'na')

    bench.machine.set(gpu=2, gpu_utilization=50)
    assert 'gpu_utilization' not in of(bench.sample(1.0), 2)
    bench.machine.set(gpu=2, gpu_utilization=no_value)
    for _ in range(2):
        problem = of(bench.sample(1.0), 2)['gpu_utilization']
        assert (problem.reason, problem.kind) == ('the driver gives no value any more', 'error')


def test_what_was_refused_and_never_had_a_value_is_no_failure_without_one(bench: Bench) -> None:
    bench.machine.set(gpu=2, gpu_utilization=0xFFFFFFFF)
    bench.machine.fail('nvmlDeviceGetUtilizationRates', 'UNKNOWN', gpu=2)
    assert of(bench.sample(1.0), 2)['gpu_utilization'].kind == 'error'
    bench.machine.heal()
    problem = of(bench.sample(1.0), 2)['gpu_utilization']
    assert (problem.reason, problem.kind) == ('the driver gives no value', 'na')


def test_an_answer_that_cannot_be_true_is_dropped_and_reported(bench: Bench) -> None:
    bench.machine.set(
        gpu=2, power_usage=4_200_000, fan_speed=120, memory_used='2 TiB', gpu_utilization=177
    )
    sample = bench.sample()
    device = gpu(sample, 2)
    assert device.fan_speed_percent == 120
    assert (device.power_usage_mw, device.memory_used_bytes, device.memory_percent) == (None,) * 3
    assert device.gpu_utilization_percent is None
    assert device.memory_utilization_percent is not None
    for what in ('power_usage', 'memory_used', 'gpu_utilization'):
        problem = of(sample, 2)[what]
        assert problem.kind == 'impossible'
        assert 'cannot be true' in problem.reason
    assert {p.kind for p in sample.problems if p.subject == 'device 1'} == {'na'}


def test_a_list_of_processes_that_fails_now_and_then_does_not_flicker(bench: Bench) -> None:
    before = bench.sample()
    bench.machine.fail('nvmlDeviceGetComputeRunningProcesses*', 'UNKNOWN', gpu=0, times=1)
    sample = bench.sample(2.0)
    assert [p.key for p in sample.processes] == [p.key for p in before.processes]
    # What was measured then is not true now.
    assert {p.gpu_memory_bytes for p in sample.processes if p.key.device[0] == 0} == {None}
    assert None not in {p.gpu_memory_bytes for p in sample.processes if p.key.device[0] != 0}
    assert of(sample, 0)['nvmlDeviceGetComputeRunningProcesses'].reason == 'Unknown Error'
    sample = bench.sample(2.0)
    assert 'nvmlDeviceGetComputeRunningProcesses' not in of(sample, 0)


@on('bench', ['faults'], indirect=True)
def test_a_pid_that_cannot_exist_is_reported_and_hurts_nobody(bench: Bench) -> None:
    sample = bench.sample()
    problem = of(sample, 6)['nvmlDeviceGetComputeRunningProcesses']
    assert problem.kind == 'impossible'
    assert '4294967295' in problem.reason
    assert all(process.key.pid < 2**31 for process in sample.processes)


# What is gone


def test_a_lost_gpu_keeps_its_row_and_comes_back(bench: Bench) -> None:
    before = bench.sample()
    bench.machine.set(gpu=3, lost=True)
    sample = bench.sample(1.0)
    lost = gpu(sample, 3)
    assert (lost.status, lost.reason) == ('lost', 'GPU is lost')
    assert lost.info.name == gpu(before, 3).info.name
    assert lost.key == gpu(before, 3).key
    assert lost.memory_used_bytes is None
    assert statuses(sample) == ['ok'] * 3 + ['lost'] + ['ok'] * 4
    assert of(sample, 3)['status'].kind == 'lost'
    bench.machine.reset_calls()
    sample = bench.sample(1.0)
    assert bench.machine.calls['nvmlDeviceGetMemoryInfo_v2'] == 7  # it is left alone
    assert {p.key.device.physical_index for p in sample.processes} == {0, 1, 2, 4, 5, 6}
    for _ in range(3):
        sample = bench.sample(SLOW_TICK)
        assert gpu(sample, 3)[:4] == lost[:4]
    bench.machine.set(gpu=3, lost=False)
    sample = bench.sample(SLOW_TICK)
    assert statuses(sample) == ['ok'] * 8
    assert gpu(sample, 3).memory_used_bytes is not None
    assert gpu(sample, 3).persistence_mode is not None
    assert gpu(sample, 3).key == lost.key
    assert 'status' not in of(sample, 3)


def test_a_gpu_that_is_lost_from_the_start_has_a_row_too(bench: Bench) -> None:
    bench.machine.set(gpu=0, lost=True)
    sample = bench.sample()
    assert statuses(sample)[0] == 'lost'
    assert 'lost' in gpu(sample, 0).info.name
    bench.machine.set(gpu=0, lost=False)
    device = gpu(bench.sample(SLOW_TICK), 0)
    assert device.status == 'ok'
    assert device.info.name == 'NVIDIA H100 80GB HBM3'
    assert device.key.uuid


def test_all_gpus_lost_keep_all_rows(bench: Bench) -> None:
    bench.sample()
    bench.machine.set(lost=True)
    assert statuses(bench.sample(1.0)) == ['lost'] * 8
    assert statuses(bench.sample(SLOW_TICK)) == ['lost'] * 8
    bench.machine.set(lost=False)
    assert statuses(bench.sample(SLOW_TICK)) == ['ok'] * 8


@on('bench', ['mig'], indirect=True)
def test_mig_devices_of_a_lost_gpu_keep_their_rows(bench: Bench) -> None:
    labels = [device.key.label for device in bench.sample().devices]
    bench.machine.set(gpu=0, lost=True)
    for seconds in (1.0, SLOW_TICK, SLOW_TICK):
        sample = bench.sample(seconds)
        assert [device.key.label for device in sample.devices] == labels
        assert {d.status for d in sample.devices if d.key.physical_index == 0} == {'lost'}
    bench.machine.set(gpu=0, lost=False)
    sample = bench.sample(SLOW_TICK)
    assert [device.key.label for device in sample.devices] == labels
    assert set(statuses(sample)) == {'ok'}


def test_nvml_is_started_anew_when_a_gpu_stays_lost_and_ever_more_seldom(bench: Bench) -> None:
    bench.sample()
    bench.machine.set(gpu=3, lost=True)
    starts = []
    bench.machine.reset_calls()
    for tick in range(40):
        sample = bench.sample(SLOW_TICK)
        assert statuses(sample) == ['ok'] * 3 + ['lost'] + ['ok'] * 4
        if bench.machine.calls['nvmlInitWithFlags']:
            starts.append(SLOW_TICK * tick)
        bench.machine.reset_calls()
    pauses = [b - a for a, b in zip(starts, starts[1:])]
    assert starts[0] == 10.0
    assert pauses == sorted(pauses)
    assert pauses[-1] == 60.0


def test_a_driver_that_goes_away_leaves_the_rows_and_comes_back(bench: Bench) -> None:
    before = bench.sample()
    bench.machine.fail('nvmlDeviceGet*', 'DRIVER_NOT_LOADED')
    bench.machine.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
    sample = bench.sample(1.0)
    assert statuses(sample) == ['lost'] * 8
    sample = bench.sample(SLOW_TICK)
    assert statuses(sample) == ['lost'] * 8
    assert {device.reason for device in sample.devices} == {'Driver Not Loaded'}
    assert sample.problems[0] == Problem('driver', 'nvmlInit', 'Driver Not Loaded', 'error')
    bench.machine.heal()
    sample = bench.sample(SLOW_TICK)
    assert statuses(sample) == ['ok'] * 8
    assert [d.key for d in sample.devices] == [d.key for d in before.devices]
    assert sample.driver_version == before.driver_version
    assert not [p for p in sample.problems if p.subject == 'driver']


def test_without_a_driver_there_is_a_sample_that_says_so(bench: Bench) -> None:
    bench.machine.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
    sample = bench.sample()
    assert sample.devices == ()
    assert sample.problems[0].reason == 'Driver Not Loaded'
    assert sample.host.hostname
    bench.machine.heal()
    assert statuses(bench.sample(SLOW_TICK)) == ['ok'] * 8


@on('bench', ['empty'], indirect=True)
def test_a_machine_without_gpus_is_no_problem(bench: Bench) -> None:
    sample = bench.sample()
    assert sample.devices == ()
    assert not [p for p in sample.problems if p.subject == 'driver']


def test_a_gpu_without_permission_says_so(bench: Bench) -> None:
    bench.machine.fail('nvmlDeviceGetHandleByIndex*', 'NO_PERMISSION', gpu=2)
    device = gpu(bench.sample(), 2)
    assert (device.status, device.reason) == ('error', 'Insufficient Permissions')


def test_a_gpu_that_answers_every_question_with_an_error_says_so(bench: Bench) -> None:
    bench.sample()
    bench.machine.fail('nvmlDeviceGet*', 'UNKNOWN', gpu=2)
    device = gpu(bench.sample(1.0), 2)
    assert (device.status, device.reason) == ('error', 'Unknown Error')
    bench.machine.heal()
    assert gpu(bench.sample(SLOW_TICK), 2).status == 'ok'


def test_an_error_while_reading_processes_takes_nothing_else_with_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
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


def test_a_process_the_kernel_holds_does_not_hold_up_the_sample(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    cls: Any = type(observed(os.getpid()))
    facts = cls.facts

    def hold(process: ObservedProcess) -> HostFacts:
        if not held:
            held.append(process.pid)
            bench.sleep(3.0)
        read: HostFacts = facts(process)
        return read

    monkeypatch.setattr(cls, 'facts', hold)
    sample = bench.sample()
    assert statuses(sample) == ['ok'] * 8
    (problem,) = [p for p in sample.problems if p.what == 'processes']
    assert (problem.kind, problem.reason) == ('timed out', 'no answer for 3 s')
    sample = bench.sample(2.0)
    assert len(sample.processes) > 8
    (stuck,) = [p for p in sample.processes if p.key.pid == held[0]]
    assert stuck.command is None
    assert [p.subject for p in sample.problems if p.kind == 'timed out'] == [f'process {held[0]}']
    bench.join()
    sample = bench.sample(2.0)
    assert not [p for p in sample.problems if p.kind == 'timed out']


def test_a_sample_without_cpu_times_is_not_waited_for(bench: Bench) -> None:
    started = bench.clock.now
    bench.source.complete_sample(NO_PROCESSES, host=False)
    assert bench.source.complete_sample(host=False, process_cpu=False).processes
    assert bench.clock.now == started


def test_cpu_times_that_were_read_before_are_not_waited_for() -> None:
    with simulation.machine('workstation', processes=[os.getpid()]):
        clock = Clock()
        source = LiveSource(clock=clock, sleep=clock.turn)
        samples = [source.complete_sample(metrics=[], host=False)]
        clock.turn(1.0)
        waited = clock.now
        samples.append(source.complete_sample(metrics=[], host=False))
        assert clock.now == waited
    for sample in samples:
        (mine,) = {s.cpu_percent for s in sample.processes if s.key.pid == os.getpid()}
        assert mine is not None


def test_loads_of_processes_are_asked_where_they_are_wanted(bench: Bench) -> None:
    bench.source.complete_sample(metrics=[], process_loads=False)
    assert 'nvmlDeviceGetProcessUtilization' not in bench.machine.calls
    bench.source.complete_sample(metrics=[])
    assert 'nvmlDeviceGetProcessUtilization' in bench.machine.calls


# What changes


def labels(sample: Sample) -> list[str]:
    return [device.key.label for device in sample.devices]


@on('bench', ['mig'], indirect=True)
def test_a_gpu_taken_out_of_mig_mode_and_back_is_shown_so(bench: Bench) -> None:
    before = bench.sample()
    bench.machine.set(gpu=0, mig_mode=False)
    sample = bench.sample(SLOW_TICK)
    assert labels(sample) == ['0', '1', '1:0', '1:1', '1:2', '2', '3']
    assert gpu(sample, 0).mig_mode == 'Disabled'
    bench.machine.set(gpu=0, mig_mode=True)
    sample = bench.sample(SLOW_TICK)
    assert [d.key for d in sample.devices] == [d.key for d in before.devices]
    assert all(d.info.mig_profile and d.memory_used_bytes for d in sample.devices if d.key.is_mig)


@on('bench', ['mig'], indirect=True)
def test_mig_devices_come_and_go(bench: Bench) -> None:
    assert labels(bench.sample()) == ['0', '0:0', '0:2', '1', '1:0', '1:1', '1:2', '2', '3']
    node = bench.machine.world.gpus[0]
    mig = node.migs.pop()
    assert labels(bench.sample(SLOW_TICK)) == ['0', '0:0', '1', '1:0', '1:1', '1:2', '2', '3']
    node.migs.append(mig)
    sample = bench.sample(SLOW_TICK)
    assert labels(sample) == ['0', '0:0', '0:2', '1', '1:0', '1:1', '1:2', '2', '3']
    assert set(statuses(sample)) == {'ok'}


@on('bench', ['mig'], indirect=True)
def test_a_mig_device_whose_handle_is_no_good_any_more_is_found_anew(bench: Bench) -> None:
    bench.sample()
    bench.machine.fail('nvmlDeviceGetMemoryInfo*', 'INVALID_ARGUMENT', gpu=(0, 2))
    sample = bench.sample(1.0)
    assert statuses(sample).count('error') == 1
    (problem,) = [problem for problem in sample.problems if problem.what == 'status']
    assert problem.reason == 'Invalid Argument: was it destroyed?'
    bench.machine.heal()
    assert set(statuses(bench.sample(1.0))) == {'ok'}


def test_a_gpu_that_is_taken_away_is_gone_and_one_that_is_added_is_there(bench: Bench) -> None:
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


def test_a_lost_gpu_that_is_not_even_listed_any_more_keeps_its_row(bench: Bench) -> None:
    before = bench.sample()
    bench.machine.set(gpu=3, lost=True)
    bench.sample(1.0)
    node = bench.machine.world.gpus.pop(3)
    for _ in range(4):
        sample = bench.sample(SLOW_TICK)
        assert sorted(statuses(sample)) == ['lost', *['ok'] * 7]
        (lost,) = [device for device in sample.devices if device.status == 'lost']
        assert lost.key == gpu(before, 3).key
        assert [p for p in sample.problems if p.device == lost.key and p.kind == 'lost']
    bench.machine.set(lost=False)
    node.change('lost', False)
    bench.machine.world.gpus.insert(3, node)
    sample = bench.sample(SLOW_TICK)
    assert [d.key for d in sample.devices] == [d.key for d in before.devices]
    assert set(statuses(sample)) == {'ok'}


def test_a_gpu_with_sensors_that_always_fail_is_not_taken_for_lost(bench: Bench) -> None:
    bench.machine.fail('nvmlDeviceGetTemperature*', 'UNKNOWN', gpu=3)
    for _ in range(12):
        sample = bench.sample(SLOW_TICK / 4)
        assert set(statuses(sample)) == {'ok'}
        assert gpu(sample, 3).temperature_celsius is None
        assert gpu(sample, 3).memory_used_bytes is not None
    assert of(sample, 3)['temperature_slowdown_threshold'].kind == 'error'
    # When nothing else is answered either, it is.
    bench.machine.fail('nvmlDeviceGet*', 'UNKNOWN', gpu=3)
    assert statuses(bench.sample(SLOW_TICK))[3] == 'error'


# What hangs


def test_a_gpu_that_hangs_does_not_blind_the_others(bench: Bench) -> None:
    before = bench.sample()
    bench.machine.delay('nvmlDeviceGetMemoryInfo*', 3.0, gpu=3)
    started = bench.clock.now
    sample = bench.sample(1.0)
    assert bench.clock.now - started == 4.0
    hung = gpu(sample, 3)
    assert (hung.status, hung.reason) == ('timed out', 'no answer for 3 s')
    assert hung.info == gpu(before, 3).info
    assert hung.memory_used_bytes is None
    assert statuses(sample) == ['ok'] * 3 + ['timed out'] + ['ok'] * 4
    assert of(sample, 3)['status'].kind == 'timed out'
    assert bench.source.threads_inside == 1

    started = bench.clock.now
    sample = bench.sample(1.0)
    assert bench.clock.now - started == 1.0  # nobody waits for it again
    assert gpu(sample, 3).reason == 'no answer for 4 s'
    assert gpu(sample, 4).memory_used_bytes is not None


@on('name', ['nvmlDeviceGetMemoryInfo*', 'nvmlDeviceGetTemperature*'])
def test_a_gpu_that_hangs_at_its_first_reading_has_its_name(bench: Bench, name: str) -> None:
    bench.machine.delay(name, 3.0, gpu=3)
    hung = gpu(bench.sample(), 3)
    assert (hung.status, hung.reason) == ('timed out', 'no answer for 3 s')
    assert hung.info.name == 'NVIDIA H100 80GB HBM3'
    assert hung.info.bus_id
    assert gpu(bench.sample(1.0), 3).info == hung.info


def test_a_gpu_that_has_not_even_told_its_name_says_so(bench: Bench) -> None:
    bench.machine.delay('nvmlDeviceGetHandleByIndex*', 3.0, gpu=3)
    hung = gpu(bench.sample(), 3)
    assert (hung.status, hung.info.name) == ('timed out', 'ERROR: no answer')
    bench.machine.heal()
    bench.join()
    bench.sample(1.0)
    bench.join()
    assert gpu(bench.sample(1.0), 3).info.name == 'NVIDIA H100 80GB HBM3'


def test_a_gpu_that_hung_comes_back(bench: Bench) -> None:
    bench.sample()
    bench.machine.delay('nvmlDeviceGetMemoryInfo*', 3.0, gpu=3)
    assert gpu(bench.sample(1.0), 3).status == 'timed out'
    bench.machine.heal()
    bench.join()
    assert gpu(bench.sample(1.0), 3).status == 'timed out'  # it is tried on the side
    bench.join()
    sample = bench.sample(1.0)
    assert statuses(sample) == ['ok'] * 8
    assert gpu(sample, 3).memory_used_bytes is not None
    assert gpu(sample, 3).persistence_mode is not None
    assert bench.source.threads_inside == 0


def test_a_gpu_that_goes_on_hanging_costs_few_threads(bench: Bench) -> None:
    bench.sample()
    bench.machine.delay('nvmlDeviceGetMemoryInfo*', 3.0, gpu=3)
    bench.sample(1.0)
    bench.machine.heal()
    bench.machine.delay('nvmlDeviceGet*', 1e-9, gpu=3)  # hangs, and turns the clock no more
    for _ in range(20):
        sample = bench.sample(FIRST_RETRY_SECONDS)
        assert statuses(sample) == ['ok'] * 3 + ['timed out'] + ['ok'] * 4
    assert bench.source.threads_inside == 3


def test_all_gpus_hanging_are_waited_for_at_once(bench: Bench) -> None:
    bench.sample()
    bench.machine.delay('nvmlDeviceGetMemoryInfo*', 3.0)
    sample = bench.sample(1.0)
    assert statuses(sample) == ['timed out'] * 8
    assert bench.source.threads_inside == 8
    assert sample.host.hostname


def slow_gpu_3(bench: Bench, call: str = 'nvmlDeviceGetUtilizationRates') -> Sample:
    """The sample in which it is known that this GPU takes 0.4 s for each answer."""
    bench.sample()
    bench.machine.delay(call, 0.4, gpu=3)
    bench.let_go.set()
    for _ in range(3):
        sample = bench.sample(1.0)
    bench.let_go.clear()
    return sample


def test_a_gpu_that_answers_slowly_is_named_with_the_time_it_takes(bench: Bench) -> None:
    sample = slow_gpu_3(bench)
    problem = of(sample, 3)['status']
    assert (problem.kind, problem.reason) == ('slow', 'slow: takes 0.4 s to answer')
    assert problem.is_failure
    assert statuses(sample) == ['ok'] * 8
    assert [p.subject for p in sample.problems if p.kind == 'slow'] == ['device 3']
    bench.machine.heal()
    bench.sample(1.0)
    bench.join()
    assert 'status' not in of(bench.sample(1.0), 3)


def test_one_slow_answer_makes_no_slow_gpu(bench: Bench) -> None:
    bench.sample()
    bench.let_go.set()
    for delay in (0.4, 0.0, 0.4, 0.4, 0.0):
        bench.machine.heal()
        bench.machine.delay('nvmlDeviceGetUtilizationRates', delay or 1e-9, gpu=3)
        assert 'status' not in of(bench.sample(1.0), 3)


def test_a_slow_gpu_does_not_hold_up_the_others(bench: Bench) -> None:
    slow_gpu_3(bench)
    bench.machine.set(temperature=77)
    sample = bench.sample(1.0)  # it is still being asked
    assert gpu(sample, 4).temperature_celsius == 77
    before = gpu(sample, 3)
    assert (before.status, before.temperature_celsius != 77) == ('ok', True)
    assert before.memory_used_bytes is not None
    assert of(sample, 3)['status'].kind == 'slow'
    bench.join()
    assert gpu(bench.sample(1.0), 3).temperature_celsius == 77


def test_what_falls_due_while_a_slow_gpu_is_asked_is_asked_later(bench: Bench) -> None:
    slow_gpu_3(bench)
    bench.sample(1.0)
    bench.machine.set(gpu=3, fan_speed=33)
    assert gpu(bench.sample(0.5), 3).status == 'ok'
    bench.source.refresh()
    bench.sample()  # seldom asked facts are due, and it is still being asked
    bench.join()
    bench.sample(1.0)
    bench.join()
    assert gpu(bench.sample(1.0), 3).fan_speed_percent == 33


def test_a_slow_gpu_that_hangs_at_last_is_silent(bench: Bench) -> None:
    slow_gpu_3(bench)
    bench.sample(1.0)
    wait_until(lambda: bench.source.threads_inside == 1, 'it is asked')
    sample = bench.sample(3.0)
    assert statuses(sample) == ['ok'] * 3 + ['timed out'] + ['ok'] * 4
    assert of(sample, 3)['status'].kind == 'timed out'


def test_a_report_waits_for_a_slow_gpu(bench: Bench) -> None:
    slow_gpu_3(bench)
    bench.machine.set(temperature=77)
    bench.let_go.set()
    assert {d.temperature_celsius for d in bench.source.complete_sample().devices} == {77}


def test_a_driver_that_hangs_at_the_start_gives_a_sample_all_the_same(bench: Bench) -> None:
    bench.machine.delay('nvmlInit*', 3.0)
    sample = bench.sample()
    assert sample.devices == ()
    problem = sample.problems[0]
    assert (problem.subject, problem.kind) == ('driver', 'timed out')
    assert sample.host.hostname
    bench.machine.heal()
    bench.join()
    bench.sample(1.0)
    bench.join()
    assert statuses(bench.sample(1.0)) == ['ok'] * 8


def test_a_report_of_a_machine_with_a_hung_gpu_comes_too(bench: Bench) -> None:
    bench.machine.delay('nvmlDeviceGetUtilizationRates', 3.0, gpu=1)
    sample = bench.source.complete_sample()
    assert statuses(sample) == ['ok', 'timed out', *['ok'] * 6]


def test_a_metric_that_is_supported_after_all_is_as_fresh_as_any(bench: Bench) -> None:
    bench.machine.fail('nvmlDeviceGetTemperature*', 'NOT_SUPPORTED', gpu=0)
    assert bench.sample().devices[0].temperature_celsius is None
    bench.machine.heal()
    bench.sample(6.0)
    bench.machine.set(gpu=0, temperature=33)
    assert bench.sample(1.0).devices[0].temperature_celsius == 33


def test_one_metric_that_fails_alone_does_not_make_a_gpu_fail(bench: Bench) -> None:
    bench.machine.fail('nvmlDeviceGetTemperature*', 'TIMEOUT', gpu=0)
    sample = bench.source.complete_sample(metrics=['temperature'])
    assert statuses(sample) == ['ok'] * 8
    assert [problem.reason for problem in sample.problems] == ['Timeout']
