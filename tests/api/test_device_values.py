"""Values of devices: units, texts, rates, implausible values."""

from __future__ import annotations

import contextlib
import math
import types
from typing import Any, Callable, Iterator

import pytest

from nvitop import simulation
from nvitop.api import host, libnvml
from nvitop.api.device import ClockEventReasons, Device, GpmMetrics, MemoryInfo, ThroughputInfo
from nvitop.api.device.health import RetiredPage
from nvitop.api.device.interconnect import _rates
from nvitop.api.timing import Window
from nvitop.basics.units import NA, ULONGLONG_MAX, GiB, KiB
from tests.api.machines import SCENARIO, answer, needs_gpm
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


#: Traffic of GPU 0 over PCIe, and over each NVLink, in KiB/s.
PCIE = ThroughputInfo(200 * KiB, 300 * KiB)
NVLINK = ThroughputInfo(10 * KiB, 20 * KiB)
REASONS = ClockEventReasons.SW_POWER_CAP | ClockEventReasons.HW_THERMAL_SLOWDOWN
NO_LINKS = ThroughputInfo(NA, NA)
DOWN = 'is_pcie_link_down_trained'


def product(name: str, capability: str, text: str) -> str:
    return f'name = "{name}"\ncuda_compute_capability = "{capability}"\n{text}'


@pytest.mark.parametrize(
    ('gpu', 'faults', 'expected'),
    [
        # Without keys, GPU 0 of the machine. Values of all metrics are in a golden file.
        (
            '',
            {},
            {
                'power_status': '312W / 600W',
                'memory_usage': '33.00GiB / 80.00GiB',
                'memory_used_human': '33.00GiB',
                'bar1_memory_total_human': '128.0GiB',
                'clock_event_reasons': REASONS,
                'pcie_throughput': PCIE,
                'pcie_tx_throughput_human': '200.0MiB/s',
                'pcie_rx_throughput_human': '300.0MiB/s',
            },
        ),
        # Memory before R510, that cannot be read, and that of the host.
        (
            '',
            {'nvmlDeviceGetMemoryInfo_v2': 'hidden'},
            {'memory_info': MemoryInfo(80 * GiB, 46 * GiB, 34 * GiB, NA)},
        ),
        *(
            (
                gpu,
                {'nvmlDeviceGetMemoryInfo*': code},
                {'memory_info': MemoryInfo(), 'is_unified_memory': False},
            )
            for gpu, code in (('', 'TIMEOUT'), ('model = "RTX 4090"', 'NOT_SUPPORTED'))
        ),
        *(
            (product(name, capability, text), {}, {'is_unified_memory': is_unified})
            for name, capability, is_unified in (
                ('NVIDIA Thor', '9.0', True),
                ('Orin (nvgpu)', '9.0', True),
                ('NVIDIA Jetson AGX Xavier', '9.0', True),
                ('Graphics Device', '8.7', True),
                ('NVIDIA GB100', '10.0', False),
                ('NVIDIA A30', '8.0', False),
                ('NVIDIA A30', 'N/A', False),
            )
            for text in ('unified_memory = true', 'memory_total = 0')
        ),
        (product('NVIDIA A30', '8.0', 'memory_total = 0'), {}, {'memory_total': NA}),
        # The name of a function changed in R535.
        (
            '',
            {'nvmlDeviceGetCurrentClocksEventReasons': 'hidden'},
            {'clock_event_reasons': REASONS},
        ),
        ('', {'nvmlDeviceGetCurrentClocks*Reasons': 'hidden'}, {'clock_event_reasons': NA}),
        # Driver models of Windows.
        *(
            (f'current_driver_model = "{word.lower()}"', {}, dict.fromkeys(methods, word))
            for word in ('WDDM', 'WDM', 'MCDM')
            for methods in [('current_driver_model', 'driver_model', 'driver_model_pending')]
        ),
        ('compute_mode = "prohibited"', {}, {'compute_mode': 'Prohibited'}),
        # A link is down-trained if it supports more, and an idle one only if it is narrow.
        ('pcie_link_width = 16', {}, {DOWN: False}),
        ('pcie_link_width = 8', {}, {DOWN: True}),
        ('pcie_link_generation = 4', {}, {DOWN: True}),
        ('pcie_link_generation = 1\nperformance_state = 8', {}, {DOWN: False}),
        ('pcie_link_generation = 1\npcie_link_width = 1\nperformance_state = 8', {}, {DOWN: True}),
        ('pcie_link_generation = 4\nperformance_state = 2', {}, {DOWN: True}),
        ('', {'nvmlDeviceGetMaxPcieLinkWidth': 'UNKNOWN'}, {DOWN: False}),
        ('', {'nvmlDeviceGet*PcieLink*': 'UNKNOWN'}, {DOWN: NA}),
        # Without NVLink.
        (
            'model = "RTX 4090"',
            {},
            {
                'nvlink_throughput': [],
                'nvlink_tx_throughput_human': [],
                'nvlink_total_throughput': NO_LINKS,
                'nvlink_mean_rx_throughput': NA,
                'nvlink_mean_rx_throughput_human': NA,
                'gpm_metrics': GpmMetrics(),
                'is_gpm_supported': False,
            },
        ),
        # Health.
        ('', {}, {'inforom_checksum_validation': 'valid'}),
        *(
            ('', {'nvmlDeviceValidateInforom': code}, {'inforom_checksum_validation': value})
            for code, value in (('CORRUPTED_INFOROM', 'invalid'), ('NO_PERMISSION', NA))
        ),
        (
            'model = "V100"\nretired_pages_single_bit_ecc = 2\nretired_pages_double_bit_ecc = 1',
            {},
            {
                'retired_page_list': [
                    RetiredPage(0x10000, 'Single Bit ECC'),
                    RetiredPage(0x20000, 'Single Bit ECC'),
                    RetiredPage(0x10000, 'Double Bit ECC'),
                ],
                'retired_pages_single_bit_ecc': 2,
                'retired_pages_double_bit_ecc': 1,
                'retired_pages_pending': False,
            },
        ),
        (
            'fabric_state = "in-progress"',
            {},
            {'fabric_state': 'In Progress', 'fabric_status': NA, 'fabric_bandwidth': NA},
        ),
    ],
)
def test_values_of_a_gpu(
    gpu: str, faults: dict[str, str], expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with clocked(monkeypatch, f'[[gpu]]\n{gpu}' if gpu else SCENARIO) as machine:
        for function, code in faults.items():
            if code == 'hidden':
                machine.hide(function)
            else:
                machine.fail(function, code)
        device = Device(0)
        for getter, value in expected.items():
            assert getattr(device, getter)() == value, getter


def test_unified_memory_is_the_memory_of_the_host(machine: simulation.Machine) -> None:
    device = Device(3)
    memory = host.virtual_memory()
    assert device.is_unified_memory()
    assert device.memory_total() == memory.total
    info = device.memory_info()
    assert info.used + info.free == memory.total
    assert info.reserved is NA
    assert abs(info.free - memory.available) < memory.total / 4


@pytest.mark.parametrize(
    ('method', 'function', 'value', 'reason'),
    [
        ('temperature', 'nvmlDeviceGetTemperature', 255, '255 °C is implausible'),
        ('power_usage', 'nvmlDeviceGetPowerUsage', 900_000_000, '900 kW is implausible'),
        ('max_power_limit', 'nvmlDeviceGetPowerManagementLimitConstraints', (0, 10**9), '1 MW'),
        ('sm_clock', 'nvmlDeviceGetClockInfo', 60_000, '60 GHz is implausible'),
        (
            'dram_volatile_uncorrected_ecc_errors',
            'nvmlDeviceGetMemoryErrorCounter',
            ULONGLONG_MAX,
            'not reported by the driver',  # the driver's word for "unknown"
        ),
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


def test_clock_event_reasons_have_names() -> None:
    assert REASONS.names == ('sw_power_cap', 'hw_thermal_slowdown')
    assert ClockEventReasons(0).names == ()
    assert ClockEventReasons(0x1001).names == ('gpu_idle', '0x1000')


# Throughputs


def is_near(info: ThroughputInfo, expected: ThroughputInfo) -> bool:
    return info == pytest.approx(expected, rel=0.02)


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
    assert device.nvlink_throughput() == [NO_LINKS] * 18


def test_nvlink_throughput_per_link_mean_and_total(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SCENARIO.replace('pcie_link_width = 8', 'nvlink_down_count = 6')
    with clocked(monkeypatch, text) as machine:
        device = Device(0)
        links = device.nvlink_throughput()
        assert (device.nvlink_link_count(), links.count(NO_LINKS)) == (18, 6)
        assert sum(is_near(link, NVLINK) for link in links) == 12
        assert device.nvlink_tx_throughput() == [link.tx for link in links]
        assert device.nvlink_rx_throughput() == [link.rx for link in links]
        assert device.nvlink_tx_throughput_human().count(NA) == 6
        mean, total = device.nvlink_mean_throughput(), device.nvlink_total_throughput()
        assert is_near(mean, NVLINK)  # of the active links
        assert is_near(total, ThroughputInfo(12 * NVLINK.tx, 12 * NVLINK.rx))
        assert device.nvlink_mean_tx_throughput() == mean.tx == mean.transmit
        assert device.nvlink_mean_rx_throughput() == mean.rx == mean.receive
        assert device.nvlink_total_tx_throughput() == total.tx
        assert device.nvlink_total_rx_throughput() == total.rx
        machine.advance(1000)
        assert device.nvlink_mean_rx_throughput_human() == '20.00MiB/s'
        assert device.nvlink_total_tx_throughput_human() == '120.0MiB/s'


@pytest.mark.parametrize('name', ['nvlink_throughput', 'nvlink_mean_tx_throughput', 'gpm_metrics'])
@pytest.mark.parametrize('index', [0, 2])
def test_negative_interval_is_an_error(name: str, index: int, machine: simulation.Machine) -> None:
    with pytest.raises(ValueError, match='negative'):
        getattr(Device(index), name)(interval=-1)


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


@needs_gpm
@pytest.mark.usefixtures('no_slow_reading')
def test_mig_device_has_gpm_counters_of_its_own(machine: simulation.Machine) -> None:
    busy, idle = Device((1, 2)).gpm_metrics(), Device((1, 0)).gpm_metrics()
    assert busy.sm_active > 80
    assert idle.sm_active == 0
    assert machine.calls['nvmlGpmMigSampleGet'] == 4
    assert machine.calls['nvmlGpmSampleGet'] == 0


@needs_gpm
@pytest.mark.parametrize(
    ('value', 'load', 'traffic'),
    [
        (100.0, 100.0, 100 * KiB),
        (100.25, NA, 100.25 * KiB),
        *((value, NA, NA) for value in (math.inf, -math.inf, math.nan, -1.0)),
    ],
)
def test_implausible_gpm_values_are_na(
    value: float, load: object, traffic: object, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., Any] = libnvml.nvmlQuery

    def query(function: Any, *args: Any, **options: Any) -> Any:
        result = real(function, *args, **options)
        if function == 'nvmlGpmMetricsGet':
            for metric in args[0].metrics[: args[0].numMetrics]:
                metric.value = value
        return result

    monkeypatch.setattr(libnvml, 'nvmlQuery', query)
    for name, found in device.gpm_metrics()._asdict().items():
        assert found == (traffic if name.endswith(('tx', 'rx')) else load)


# Windows


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
