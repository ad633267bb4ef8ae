"""Values of devices by subject: units, texts, rates, implausible values."""

from __future__ import annotations

import contextlib
import gc
import math
import types
from typing import Any, Callable, Iterator

import pytest

from nvitop import simulation
from nvitop.api import host, libnvml
from nvitop.api.device import (
    ClockEventReasons,
    Device,
    GpmMetrics,
    MemoryInfo,
    ThroughputInfo,
)
from nvitop.api.device.interconnect import _rates
from nvitop.api.timing import Window
from nvitop.basics.units import NA, GiB, KiB
from tests.api.machines import SCENARIO, answer, known, needs_gpm
from tests.api.machines import machine as make_machine


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[simulation.Machine]:
    """The machine, with a clock that advances only while the program waits."""
    with clocked(monkeypatch) as machine:
        yield machine


@contextlib.contextmanager
def clocked(monkeypatch: pytest.MonkeyPatch, text: str = SCENARIO) -> Iterator[simulation.Machine]:
    with make_machine(text, clock=lambda: 1000.0, wall_clock=lambda: 1.7e9) as machine:
        monkeypatch.setattr(Window, 'clock', staticmethod(machine.world.seconds))
        monkeypatch.setattr(Window, 'sleep', staticmethod(machine.advance))
        yield machine


@pytest.fixture
def device(machine: simulation.Machine) -> Device:
    return Device(0)


def test_memory_before_r510_has_no_reserved_part(machine: simulation.Machine) -> None:
    machine.hide('nvmlDeviceGetMemoryInfo_v2')
    assert Device(0).memory_info() == MemoryInfo(80 * GiB, 46 * GiB, 34 * GiB, NA)


def test_unified_memory_is_the_memory_of_the_host(machine: simulation.Machine) -> None:
    device = Device(3)
    memory = host.virtual_memory()
    assert device.is_unified_memory()
    assert device.memory_total() == memory.total
    info = device.memory_info()
    assert info.used + info.free == memory.total
    assert info.reserved is NA
    assert abs(info.free - memory.available) < memory.total / 4
    assert not Device(0).is_unified_memory()


def test_memory_that_cannot_be_read_is_not_unified(machine: simulation.Machine) -> None:
    device = Device(0)
    machine.fail('nvmlDeviceGetMemoryInfo*', 'TIMEOUT')
    assert device.memory_info() == MemoryInfo()
    assert not device.is_unified_memory()
    machine.heal()
    assert device.memory_total() == 80 * GiB
    machine.fail('nvmlDeviceGetMemoryInfo*', 'NOT_SUPPORTED')
    for other in (Device(1), Device((1, 0)), Device(2)):
        assert other.memory_info() == MemoryInfo()
        assert not other.is_unified_memory()


@pytest.mark.parametrize(
    ('name', 'capability', 'is_unified'),
    [
        ('NVIDIA Thor', '9.0', True),
        ('Orin (nvgpu)', '9.0', True),
        ('NVIDIA Jetson AGX Xavier', '9.0', True),
        ('Graphics Device', '8.7', True),
        ('NVIDIA GB100', '10.0', False),
        ('NVIDIA A30', '8.0', False),
        ('NVIDIA A30', 'N/A', False),
    ],
)
def test_memory_of_the_host_is_a_fact_of_the_product(
    name: str, capability: str, is_unified: bool
) -> None:
    product = f'name = "{name}"\ncuda_compute_capability = "{capability}"\n'
    with make_machine(f'[[gpu]]\n{product}unified_memory = true\n'):
        assert Device(0).is_unified_memory() == is_unified
        assert (Device(0).memory_used() is NA) != is_unified
    with make_machine(f'[[gpu]]\n{product}memory_total = 0\n'):
        assert (Device(0).memory_total() is NA) != is_unified


@pytest.mark.parametrize(
    ('method', 'function', 'value', 'reason'),
    [
        ('temperature', 'nvmlDeviceGetTemperature', 255, '255 °C is implausible'),
        ('power_usage', 'nvmlDeviceGetPowerUsage', 900_000_000, '900 kW is implausible'),
        ('max_power_limit', 'nvmlDeviceGetPowerManagementLimitConstraints', (0, 10**9), '1 MW'),
        ('sm_clock', 'nvmlDeviceGetClockInfo', 60_000, '60 GHz is implausible'),
    ],
)
def test_implausible_values_are_na(
    device: Device,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    function: str,
    value: Any,
    reason: str,
) -> None:
    answer(monkeypatch, **{function: value if isinstance(value, tuple) else lambda *_: value})
    found = device.reading(method)
    assert found.value is NA
    assert reason in str(found.reason)


def test_implausible_memory_is_na(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    info = types.SimpleNamespace(total=10, free=2**64 - 1, used=11, reserved=1)
    answer(monkeypatch, nvmlDeviceGetMemoryInfo=info)
    assert device.memory_info() == MemoryInfo(10, NA, NA, 1)
    assert device.memory_percent() is NA


def test_clock_event_reasons_are_flags_with_names(machine: simulation.Machine) -> None:
    device = Device(0)
    reasons = device.clock_event_reasons()
    assert reasons == ClockEventReasons.SW_POWER_CAP | ClockEventReasons.HW_THERMAL_SLOWDOWN
    assert isinstance(reasons, ClockEventReasons)
    assert reasons.names == ('sw_power_cap', 'hw_thermal_slowdown')
    assert ClockEventReasons(0).names == ()
    assert ClockEventReasons(0x1001).names == ('gpu_idle', '0x1000')
    machine.hide('nvmlDeviceGetCurrentClocksEventReasons')
    assert device.clock_event_reasons() == reasons
    machine.hide('nvmlDeviceGetCurrentClocksThrottleReasons')
    assert device.clock_event_reasons() is NA


def test_power_and_memory_as_text(machine: simulation.Machine, device: Device) -> None:
    assert device.power_status() == '312W / 600W'
    assert Device((1, 0)).power_status() == 'N/A / N/A'
    assert device.memory_usage() == '33.00GiB / 80.00GiB'
    assert device.memory_used_human() == '33.00GiB'
    assert device.bar1_memory_total_human() == '128.0GiB'
    machine.set(gpu=0, temperature=95)
    assert device.temperature_margin() == known(-6, 'nvmlDeviceGetMarginTemperature')


@pytest.mark.parametrize(('word', 'text'), [('wddm', 'WDDM'), ('wdm', 'WDM'), ('mcdm', 'MCDM')])
def test_driver_models_of_windows(word: str, text: str) -> None:
    with make_machine(f'[[gpu]]\ncurrent_driver_model = "{word}"\ncompute_mode = "prohibited"'):
        device = Device(0)
        assert device.current_driver_model() == device.driver_model() == text
        assert device.driver_model_pending() == text
        assert device.compute_mode() == 'Prohibited'


@pytest.mark.parametrize(
    ('gpu', 'expected'),
    [
        ('pcie_link_width = 16', False),
        ('pcie_link_width = 8', True),
        ('pcie_link_generation = 4', True),
        ('pcie_link_generation = 1\nperformance_state = 8', False),
        ('pcie_link_generation = 1\npcie_link_width = 1\nperformance_state = 8', True),
        ('pcie_link_generation = 4\nperformance_state = 2', True),
    ],
)
def test_pcie_link_is_down_trained_if_it_supports_more(gpu: str, expected: bool) -> None:
    with make_machine(f'[[gpu]]\n{gpu}'):
        assert Device(0).is_pcie_link_down_trained() is expected


def test_unknown_pcie_link_is_not_down_trained(machine: simulation.Machine) -> None:
    device = Device(0)
    machine.fail('nvmlDeviceGetMaxPcieLinkWidth', 'UNKNOWN')
    machine.fail('nvmlDeviceGetCurrPcieLinkGeneration', 'UNKNOWN', after=1)
    assert device.is_pcie_link_down_trained() is False
    assert device.is_pcie_link_down_trained() is NA


# Throughputs

#: Traffic of GPU 0 over PCIe, and over each NVLink, in KiB/s.
PCIE = ThroughputInfo(200 * KiB, 300 * KiB)
NVLINK = ThroughputInfo(10 * KiB, 20 * KiB)


def is_near(info: ThroughputInfo, expected: ThroughputInfo) -> bool:
    return info == pytest.approx(expected, rel=0.02)


def test_pcie_throughput_is_that_of_the_driver(machine: simulation.Machine, device: Device) -> None:
    assert device.pcie_throughput() == PCIE
    assert device.pcie_tx_throughput_human() == '200.0MiB/s'
    assert device.pcie_rx_throughput_human() == '300.0MiB/s'
    info = device.pcie_throughput()
    assert (info.transmit, info.receive) == (info.tx, info.rx)
    machine.reset_calls()
    with device.oneshot():
        device.pcie_throughput()
        device.pcie_rx_throughput_human()
    assert machine.calls['nvmlDeviceGetPcieThroughput'] == 2


@pytest.mark.parametrize(
    ('since', 'until', 'rate'),
    [(1.0, 1.5, 2000.0), (1.0, 3601.0, 1000.0), (2.0, 1.0, 1000.0), (0.0, 1.0, 1000.0)],
)
def test_rate_uses_the_times_of_the_driver_unless_its_clock_was_set(
    since: float, until: float, rate: float
) -> None:
    earlier, later = (0, int(since * 1e6)), (1000, int(until * 1e6))
    assert _rates([earlier], [later], measured=1.0) == [rate]


def test_reset_counters_have_no_rate(
    machine: simulation.Machine, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.nvlink_throughput()
    machine.advance(1)
    monkeypatch.setattr(
        libnvml, 'nvmlQueryFieldValues', lambda handle, fields: [(0, 10**18)] * len(fields)
    )
    assert device.nvlink_throughput() == [ThroughputInfo(NA, NA)] * 18


def test_nvlink_throughput_per_link_mean_and_total(
    machine: simulation.Machine, device: Device
) -> None:
    assert device.nvlink_link_count() == 18
    links = device.nvlink_throughput()
    assert len(links) == 18
    assert all(is_near(link, NVLINK) for link in links)
    total = ThroughputInfo(18 * NVLINK.tx, 18 * NVLINK.rx)
    assert is_near(device.nvlink_total_throughput(), total)
    assert is_near(device.nvlink_mean_throughput(), NVLINK)
    assert device.nvlink_tx_throughput() == [link.tx for link in links]
    assert device.nvlink_rx_throughput() == [link.rx for link in links]
    assert device.nvlink_mean_tx_throughput() == device.nvlink_mean_throughput().tx
    assert device.nvlink_mean_rx_throughput() == device.nvlink_mean_throughput().rx
    assert device.nvlink_total_tx_throughput() == sum(link.tx for link in links)
    assert device.nvlink_total_rx_throughput() == sum(link.rx for link in links)
    machine.advance(1000)
    assert device.nvlink_tx_throughput_human() == ['10.00MiB/s'] * 18
    assert device.nvlink_mean_rx_throughput_human() == '20.00MiB/s'
    assert device.nvlink_total_tx_throughput_human() == '180.0MiB/s'


def test_nvlink_throughput_is_measured_over_the_interval(
    machine: simulation.Machine, device: Device
) -> None:
    before = machine.world.seconds()
    assert is_near(device.nvlink_throughput(interval=2.5)[0], NVLINK)
    assert machine.world.seconds() - before == pytest.approx(2.5)
    device.nvlink_total_tx_throughput(interval=0.5)
    assert machine.world.seconds() - before == pytest.approx(3.0)
    device.nvlink_throughput(0.0)
    assert machine.world.seconds() - before == pytest.approx(3.0)


@pytest.mark.parametrize('name', ['nvlink_throughput', 'nvlink_mean_tx_throughput', 'gpm_metrics'])
@pytest.mark.parametrize('index', [0, 2])
def test_negative_interval_is_an_error(name: str, index: int, machine: simulation.Machine) -> None:
    with pytest.raises(ValueError, match='negative'):
        getattr(Device(index), name)(interval=-1)


def test_gpu_without_nvlink_has_no_throughput(machine: simulation.Machine) -> None:
    device = Device(2)
    assert device.nvlink_throughput() == []
    assert device.nvlink_tx_throughput_human() == []
    assert device.nvlink_total_throughput() == ThroughputInfo(NA, NA)
    assert device.nvlink_mean_rx_throughput() is NA
    assert device.nvlink_mean_rx_throughput_human() is NA


def test_inactive_links_are_left_out_of_mean_and_total(monkeypatch: pytest.MonkeyPatch) -> None:
    with clocked(monkeypatch, SCENARIO.replace('pcie_link_width = 8', 'nvlink_down_count = 6')):
        device = Device(0)
        links = device.nvlink_throughput()
        assert links.count(ThroughputInfo(NA, NA)) == 6
        assert device.nvlink_tx_throughput_human().count(NA) == 6
        assert is_near(device.nvlink_mean_throughput(), NVLINK)
        assert is_near(
            device.nvlink_total_throughput(), ThroughputInfo(12 * NVLINK.tx, 12 * NVLINK.rx)
        )


@pytest.mark.parametrize(
    ('begin', 'getter', 'shortest'),
    [
        ('begin_nvlink_throughput', 'nvlink_throughput', 0.02),
        pytest.param('begin_gpm', 'gpm_metrics', 0.1, marks=needs_gpm),
    ],
)
def test_measurement_that_has_begun_does_not_wait(
    machine: simulation.Machine, device: Device, begin: str, getter: str, shortest: float
) -> None:
    getattr(device, begin)()
    machine.advance(1.0)
    before = machine.world.seconds()
    assert getattr(device, getter)()
    assert machine.world.seconds() == before
    getattr(device, begin)()
    machine.advance(shortest / 4)
    before = machine.world.seconds()
    getattr(device, getter)()
    assert machine.world.seconds() - before == pytest.approx(shortest * 3 / 4)


# Hardware performance counters


@needs_gpm
def test_gpm_measures_between_two_samples(machine: simulation.Machine, device: Device) -> None:
    before = machine.world.seconds()
    metrics = device.gpm_metrics()
    assert machine.world.seconds() - before == pytest.approx(0.1)
    assert metrics.pcie_tx == pytest.approx(PCIE.tx, rel=0.01)
    assert metrics.nvlink_rx == pytest.approx(18 * NVLINK.rx, rel=0.01)
    assert 0 < metrics.sm_occupancy < metrics.sm_active <= 100
    assert device.gpm_graphics_active() == metrics.graphics_active > metrics.sm_active
    assert (device.gpm_sm_active(), device.gpm_sm_occupancy()) == metrics[:2]
    assert (device.gpm_tensor_active(), device.gpm_dram_active()) == metrics[2:4]
    assert device.is_gpm_supported()
    assert not Device(2).is_gpm_supported()
    assert Device(2).gpm_metrics() == GpmMetrics()


@needs_gpm
@pytest.mark.usefixtures('no_slow_reading')
def test_mig_device_has_gpm_counters_of_its_own(machine: simulation.Machine) -> None:
    busy, idle = Device((1, 2)).gpm_metrics(), Device((1, 0)).gpm_metrics()
    assert busy.sm_active > 80
    assert idle.sm_active == 0
    assert machine.calls['nvmlGpmMigSampleGet'] == 4
    assert machine.calls['nvmlGpmSampleGet'] == 0


def gpm_metrics_of(value: float, monkeypatch: pytest.MonkeyPatch) -> GpmMetrics:
    """Return the metrics of a driver that reports the same value for each counter."""
    real: Callable[..., Any] = libnvml.nvmlQuery

    def query(function: Any, *args: Any, **options: Any) -> Any:
        result = real(function, *args, **options)
        if function == 'nvmlGpmMetricsGet':
            for metric in args[0].metrics[: args[0].numMetrics]:
                metric.value = value
        return result

    monkeypatch.setattr(libnvml, 'nvmlQuery', query)
    return Device(0).gpm_metrics()


@needs_gpm
@pytest.mark.parametrize('value', [math.inf, -math.inf, math.nan, -1.0])
def test_implausible_gpm_values_are_na(
    value: float, machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gpm_metrics_of(value, monkeypatch) == GpmMetrics()


@needs_gpm
@pytest.mark.parametrize(('value', 'load'), [(100.0, 100.0), (100.25, NA)])
def test_gpm_percentages_are_at_most_100_unlike_traffic(
    value: float, load: object, machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = gpm_metrics_of(value, monkeypatch)._asdict()
    for name, found in metrics.items():
        assert found == (round(value * KiB) if name.endswith(('tx', 'rx')) else load)


@needs_gpm
@pytest.mark.usefixtures('no_slow_reading')
def test_gpm_samples_are_freed(machine: simulation.Machine) -> None:
    device, other = Device(0), Device(0)
    for _ in range(5):
        device.gpm_metrics(interval=0.1)
    assert len(machine.world.gpm_samples) <= 3
    device.release_gpm()
    assert machine.world.gpm_samples == {}
    other.gpm_metrics()
    del other
    gc.collect()
    machine.fail('nvmlGpmSampleGet', 'NO_PERMISSION')
    assert device.gpm_metrics() == GpmMetrics()
    assert isinstance(device.unavailable_reason('gpm_metrics'), libnvml.NVMLError_NoPermission)
    device.release_gpm()
    assert machine.world.gpm_samples == {}


# Windows


def test_window_starts_over_after_a_failed_reading() -> None:
    slept: list[float] = []
    read = iter([None, None, 1, None, 2, 3]).__next__

    class Clocked(Window[int, str]):
        clock = staticmethod(lambda: 0.0)
        sleep = staticmethod(slept.append)

    window = Clocked(lambda a, b, seconds: f'{a}-{b}', 'missing')
    assert window.measure(read) == 'missing'
    assert window.measure(read) == 'missing'
    assert slept == []
    assert window.measure(read) == 'missing'
    assert window.measure(read) == '2-3'


def test_rate_is_right_if_this_program_was_stopped_while_reading() -> None:
    now = 0.0
    stops = [0.0, 60.0, 0.0]

    def read() -> float:
        """A counter that grows by 100 per second; the program is stopped after reading it."""
        nonlocal now
        value = 100 * now
        now += stops.pop() if stops else 0.0
        return value

    class Clocked(Window[float, float]):
        clock = staticmethod(lambda: now)

    window = Clocked(lambda earlier, later, seconds: (later - earlier) / seconds, 0.0)
    window.begin(read)
    for _ in range(3):
        now += 2.0
        assert window.measure(read) == 100.0
