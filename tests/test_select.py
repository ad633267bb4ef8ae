"""select_devices: its choice compared with an independent oracle, and its NVML calls."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import warnings
from fractions import Fraction
from typing import Any, Iterator, NamedTuple, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvitop
from nvitop import simulation
from nvitop.api.device import Device, PhysicalDevice
from nvitop.basics.units import NA
from nvitop.health.check import check_health
from nvitop.select import select_devices
from nvitop.select.choice import Criteria, SelectOptions, select
from nvitop.simulation.machine import scenario_names
from tests.select_machine import MACHINE, select_machine

# Random devices


class FakeProcess(NamedTuple):
    user: str
    memory: Any

    def username(self) -> str:
        return self.user

    def gpu_memory(self) -> Any:
        return self.memory

    def failsafe(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


@dataclasses.dataclass(frozen=True)
class FakeDevice:
    """A leaf device with fixed values; ``None``: not available."""

    gpu: int
    mig: int | None
    total: int | None
    free: int | None
    used: int | None
    load: int | None
    bandwidth: int | None
    held: tuple[FakeProcess, ...]

    @property
    def physical_index(self) -> int:
        return self.gpu

    @property
    def index(self) -> int | tuple[int, int]:
        return self.gpu if self.mig is None else (self.gpu, self.mig)

    def __getattr__(self, name: str) -> Any:
        values = {
            'handle': self,
            'oneshot': contextlib.nullcontext,
            'uuid': lambda: f'GPU-{self.gpu}' if self.mig is None else f'MIG-{self.gpu}-{self.mig}',
            'is_mig_device': lambda: self.mig is not None,
            'to_leaf_devices': lambda: [self],
            'memory_total': lambda: NA if self.total is None else self.total,
            'memory_free': lambda: NA if self.free is None else self.free,
            'memory_used': lambda: NA if self.used is None else self.used,
            'gpu_utilization': lambda: NA if self.load is None else self.load,
            'memory_utilization': lambda: NA if self.bandwidth is None else self.bandwidth,
            'unavailable_reason': lambda _: None,
        }
        return values[name]

    def processes(self, *, utilization: bool) -> dict[int, FakeProcess]:
        assert not utilization
        return dict(enumerate(self.held))


maybe = functools.partial(st.one_of, st.none())
#: Few values, so that devices often share some.
sizes = st.sampled_from([size << 20 for size in (0, 1, 4, 5, 8, 10, 16, 100)])
loads = st.sampled_from([0, 1, 5, 50, 51, 60, 100])
processes = st.builds(FakeProcess, st.sampled_from(['ada', 'emmy']), maybe(sizes))


@st.composite
def machines(draw: st.DrawFn) -> list[FakeDevice]:
    devices = []
    for gpu in range(draw(st.integers(0, 5))):
        slices = draw(st.sampled_from([None, None, None, 0, 1, 2]))
        for mig in [None] if slices is None else range(slices):
            total, free, used = (draw(maybe(sizes)) for _ in range(3))
            load, bandwidth = draw(maybe(loads)), draw(maybe(loads))
            held = tuple(draw(st.lists(processes, max_size=2)))
            devices.append(FakeDevice(gpu, mig, total, free, used, load, bandwidth, held))
    return devices


@st.composite
def criteria(draw: st.DrawFn) -> dict[str, Any]:
    least = draw(st.integers(0, 3))
    return {
        'min_count': least,
        'max_count': draw(maybe(st.integers(least, 5))),
        'min_free_memory': draw(maybe(sizes)),
        'min_total_memory': draw(maybe(sizes)),
        'max_gpu_utilization': draw(maybe(loads)),
        'max_memory_utilization': draw(maybe(loads)),
        'tolerance': draw(st.sampled_from([0, 0, 1, 10, 50, 150])),
        'free_accounts': draw(st.sampled_from([None, 'ada', ['ada', 'emmy'], []])),
        'sort': draw(st.booleans()),
    }


# The oracle: the rules of the documentation, comparing pairs of devices


class Seen(NamedTuple):
    device: FakeDevice
    free: int | None
    used: int | None
    missed: int


def see(device: FakeDevice, given: dict[str, Any]) -> Seen | None:
    """The device and the number of limits missed within the tolerance; None: it does not match."""
    free, used = device.free, device.used
    accounts = given['free_accounts'] or ()
    for process in device.held:
        if free is not None and used is not None:
            in_accounts = process.user == accounts or process.user in list(accounts)
            gain = min(used, process.memory or 0) if in_accounts else 0
            free, used = free + gain, used - gain
    missed = 0
    share = 1 - Fraction(given['tolerance'], 100)
    for least, value in (
        (given['min_free_memory'], free),
        (given['min_total_memory'], device.total),
    ):
        if least is not None:
            if value is None or value < least * share:
                return None
            missed += value < least
    for most, value in (
        (given['max_gpu_utilization'], device.load),
        (given['max_memory_utilization'], device.bandwidth),
    ):
        if most is not None:
            if value is None or value - most > given['tolerance']:
                return None
            missed += value > most
    return Seen(device, free, used, missed)


def is_better(one: Seen, other: Seen) -> bool:
    if one.missed != other.missed:
        return one.missed < other.missed
    if one.free != other.free:
        return other.free is None or (one.free is not None and one.free > other.free)
    for mine, theirs in (
        (one.used, other.used),
        (one.device.load, other.device.load),
        (one.device.bandwidth, other.device.bandwidth),
    ):
        if mine != theirs:
            return theirs is None or (mine is not None and mine < theirs)
    return one.device.gpu > other.device.gpu


def oracle(devices: list[FakeDevice], given: dict[str, Any]) -> list[FakeDevice]:
    left = [seen for seen in (see(device, given) for device in devices) if seen is not None]
    ranked: list[FakeDevice] = []
    while left:
        best = left[0]
        if given['sort']:
            for seen in left[1:]:
                if is_better(seen, best):
                    best = seen
        left.remove(best)
        ranked.append(best.device)
    whole = [device for device in ranked if device.mig is None]
    if ranked and len(whole) != len(ranked):
        enough = given['min_count'] > 0 and len(whole) >= given['min_count']
        ranked = whole if enough or ranked[0].mig is None else ranked[:1]
    return ranked if given['max_count'] is None else ranked[: given['max_count']]


def choose(devices: Any, **given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RuntimeWarning)  # fewer than required
        # No driver has these devices.
        return select_devices(cast('list[Device]', devices), include_unhealthy=True, **given)


@settings(max_examples=60, deadline=None)
@given(machines(), criteria())
def test_the_choice_equals_that_of_the_oracle(
    devices: list[FakeDevice], given: dict[str, Any]
) -> None:
    expected = oracle(devices, given)
    assert choose(devices, format='device', **given) == expected
    assert choose(devices, format='uuid', **given) == [device.uuid() for device in expected]
    assert choose(devices, force_index=True, **given) == [device.index for device in expected]
    assert choose(devices, **given) == [
        device.gpu if device.mig is None else device.uuid() for device in expected
    ]


# On simulated machines


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    with select_machine() as running:
        yield running


def test_only_compared_values_are_read(machine: simulation.Machine) -> None:
    assert select_devices(include_unhealthy=True) == [2, 1, 0]
    asked = machine.calls
    assert asked == {
        'nvmlInitWithFlags': 1,
        'nvmlDeviceGetCount_v2': 1,
        'nvmlDeviceGetHandleByIndex_v2': 4,
        'nvmlDeviceGetMigDeviceHandleByIndex': 7,
        'nvmlDeviceGetMaxMigDeviceCount': 1,
        'nvmlDeviceGetMigMode': 4,
        'nvmlDeviceGetMemoryInfo_v2': 5,
        'nvmlDeviceGetUtilizationRates': 5,
        'nvmlDeviceGetUUID': 6,  # the total memory and the number of MIG devices are cached by it
    }
    machine.reset_calls()
    select_devices(format='uuid', max_count=2, include_unhealthy=True)
    again = machine.calls
    machine.reset_calls()
    select_devices(max_count=2, include_unhealthy=True)
    assert again == machine.calls  # UUIDs need no further query


#: Faults of a GPU, critical and others: values, or calls that fail.
FAULTS: tuple[dict[str, Any], ...] = (
    {'total_volatile_uncorrected_ecc_errors': 1},
    {'remapped_rows_failure': True},
    {'remapped_rows_pending': True},
    {'sram_errors': 1000},
    {'fabric_state': 'in-progress'},
    {'fabric_state': 'not-started', 'nvlink_down_count': 18},
    {'nvlink_down_count': 2},
    {'nvlink_down_count': 18},
    {'temperature': 200},
    {'recovery_action': 'drain-and-reset'},
    {'recovery_action': 'node-reboot'},
    {'retired_pages_double_bit_ecc': 64, 'retired_pages_single_bit_ecc': 0},
    {'inforom_checksum_validation': False},
    {'lost': True},
    {'call': 'nvmlDeviceGetComputeRunningProcesses*', 'code': 'RESET_REQUIRED'},
    {'call': 'nvmlDeviceGetMemoryInfo*', 'code': 'UNKNOWN'},
    {'call': 'nvmlDeviceGetTemperature*', 'code': 'UNKNOWN'},
)


def assert_same_judgement() -> None:
    check = check_health()
    critical = {f.device.physical_index for f in check.findings if f.severity == 'critical'}
    options: Any = {'format': 'device', 'ignore_claims': True}
    offered = {
        device.physical_index for device in select_devices(include_unhealthy=True, **options)
    }
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        chosen = {device.physical_index for device in select_devices(**options)}
    assert chosen == offered - critical


@pytest.mark.parametrize('scenario', scenario_names())
def test_what_health_calls_critical_is_not_chosen_in_any_scenario(scenario: str) -> None:
    with simulation.machine(scenario, processes='none'):
        assert_same_judgement()


@pytest.mark.parametrize('scenario', ['half-busy', 'mig'])
@pytest.mark.parametrize('fault', FAULTS, ids=str)
def test_what_health_calls_critical_is_not_chosen_after_any_fault(
    scenario: str, fault: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('nvitop.health.check.SECOND_LOOK_SECONDS', 0.0)
    with simulation.machine(scenario, processes='none') as machine:
        for gpu in (1, 2):
            if 'call' in fault:
                machine.fail(fault['call'], fault['code'], gpu=gpu)
            else:
                machine.set(gpu=gpu, **fault)
        assert_same_judgement()


def test_health_of_healthy_gpus_takes_few_queries() -> None:
    with simulation.machine('half-busy', processes='none') as machine:
        select_devices(include_unhealthy=True)
        machine.reset_calls()
        select_devices(include_unhealthy=True)
        without = machine.calls
        machine.reset_calls()
        select_devices()
        assert sum((machine.calls - without).values()) <= 11 * 8


def test_memory_of_free_accounts_counts_as_free() -> None:
    text = MACHINE.replace('count = 3', 'count = 2') + (
        '[[process]]\ngpus = [0]\ncommand = ["train"]\nmemory = "60 GiB"\n'
    )
    scenario = simulation.parse_scenario(text, name='select')
    with simulation.machine(scenario):  # real processes, of this user
        assert select_devices(min_free_memory='50GiB') == [1]
        own = nvitop.host.getuser()
        assert select_devices(min_free_memory='50GiB', free_accounts=own) == [1, 0]
        assert select_devices(min_free_memory='50GiB', free_accounts=['no such user']) == [1]


def test_a_mig_device_is_returned_alone_and_by_uuid(machine: simulation.Machine) -> None:
    machine.set(memory_base='60 GiB', gpu=0)
    machine.set(memory_base='60 GiB', gpu=1)
    machine.set(memory_base='60 GiB', gpu=2)
    (mig, _) = Device(3).mig_devices()
    assert select_devices() == [mig.uuid()]
    assert select_devices(force_index=True) == [(3, 0)]
    assert select_devices(format='device') == [mig]
    assert select_devices(min_count=2) == [2, 1, 0]
    assert select_devices([mig]) == [mig.uuid()]
    assert select_devices([Device(3)], format='uuid') == [mig.uuid()]
    assert select_devices(iter([Device(0), Device(1)]), sort=False) == [0, 1]


@pytest.mark.parametrize(
    ('call', 'after'),
    [
        ('nvmlDeviceGetHandleByIndex_v2', 0),
        ('nvmlDeviceGetMemoryInfo*', 0),
        ('nvmlDeviceGetUtilizationRates', 0),
        ('nvmlDevice*', 0),
        ('nvmlDevice*', 1),
    ],
)
def test_a_lost_gpu_is_never_chosen(machine: simulation.Machine, call: str, after: int) -> None:
    machine.fail(call, 'GPU_IS_LOST', gpu=2, after=after)
    assert select_devices() == [1, 0]
    assert select_devices(format='uuid', max_count=1) == [Device(1).uuid()]


def test_a_device_without_uuid_is_not_chosen_by_uuid(machine: simulation.Machine) -> None:
    machine.fail('nvmlDeviceGetUUID', 'UNKNOWN', gpu=2)
    first = Device(1).uuid()
    assert select_devices(format='uuid', max_count=1) == [first]
    assert select_devices(max_count=1) == [2]
    assert select(Device.all(), Criteria(), SelectOptions(format='uuid')).lost == ('2',)


@pytest.mark.parametrize('call', ['nvmlInit*', 'nvmlDeviceGetCount*'])
def test_without_a_driver_it_returns_nothing_and_warns_once(call: str) -> None:
    with simulation.machine('dgx-h100', processes='none') as machine:
        machine.fail(call, 'DRIVER_NOT_LOADED')
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('default')
            for _ in range(3):
                assert select_devices(format='uuid', min_count=1) == []
    (warning,) = caught
    assert warning.category is RuntimeWarning
    assert str(warning.message) == 'select_devices() returns no device: Driver Not Loaded'
    assert warning.filename == __file__


def test_overridden_and_patched_methods_are_used(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class HalfReserved(PhysicalDevice):
        def memory_free(self) -> Any:
            return 1 << 30 if self.index == 2 else super().memory_free()

    assert select_devices(HalfReserved.all()[:3]) == [1, 0, 2]
    monkeypatch.setattr(PhysicalDevice, 'gpu_utilization', lambda self: 90 - self.index)
    assert select_devices(max_gpu_utilization=88) == [2]
    monkeypatch.setattr(Device, 'all', classmethod(lambda cls: [Device(1)]))
    assert select_devices() == [1]
    machine.fail('nvmlDeviceGetCount*', 'UNKNOWN')
    assert select_devices() == [1]


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'format': 'name'}, 'format'),
        ({'tolerance': -1}, 'tolerance'),
        ({'max_gpu_utilization': 101}, 'max_gpu_utilization must be .* from 0 to 100, not 101'),
        ({'max_memory_utilization': -1}, 'max_memory_utilization must be .*, not -1'),
        ({'tolerance': float('nan')}, 'tolerance'),
        ({'min_count': -1}, 'counts'),
        ({'max_count': -1}, 'counts'),
        ({'min_count': 3, 'max_count': 2}, r'max_count \(2\) is less than min_count \(3\)'),
        ({'min_free_memory': 'much'}, "min_free_memory must be a size .* 'much'"),
        ({'min_total_memory': -1}, 'min_total_memory must be a size .* -1'),
        ({'min_total_memory': float('inf')}, 'min_total_memory must be a size .* inf'),
        ({'timeout': 5}, 'wait'),
        ({'wait': -1}, 'wait'),
        ({'wait': 1, 'timeout': -1}, 'wait'),
    ],
)
def test_invalid_arguments_raise(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select_devices([], **arguments)


def test_a_misspelled_limit_raises() -> None:
    limits: dict[str, Any] = {'maxcount': 2}
    with pytest.raises(TypeError, match='maxcount'):
        select_devices([], **limits)


def test_small_numbers_warn_that_they_are_bytes(machine: simulation.Machine) -> None:
    with pytest.warns(UserWarning, match="20 is 20 bytes; did you mean '20GiB'") as caught:
        assert select_devices(min_free_memory=20, count=2) == [2, 1]
    assert caught[0].filename == __file__


def test_too_few_devices_are_returned_with_a_warning(machine: simulation.Machine) -> None:
    with pytest.warns(RuntimeWarning, match='5 required, 3 found') as caught:
        assert select_devices(min_count=5) == [2, 1, 0]
    assert caught[0].filename == __file__


# Waiting


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Seconds of each wait on a machine whose GPU 3 is free after two of them."""
    waits: list[float] = []
    with simulation.machine('half-busy', processes='none', clock=lambda: 0.0) as machine:
        machine.set(gpu_utilization=90)

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                machine.set(gpu=3, gpu_utilization=0)

        monkeypatch.setattr('nvitop.select.choice.time.sleep', sleep)
        monkeypatch.setattr('nvitop.select.choice.time.monotonic', lambda: sum(waits))
        yield waits


def test_waiting_ends_when_enough_devices_match_and_warns_of_nothing(slept: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert select_devices(wait=True, max_gpu_utilization=10) == [3]
    assert slept == [5.0, 5.0]


def test_waiting_ends_at_the_timeout(slept: list[float]) -> None:
    with pytest.raises(TimeoutError, match='2 required, 1 found after 25 s'):
        select_devices(wait=10, timeout=25, min_count=2, max_gpu_utilization=10)
    assert slept == [10, 10, 5]


def test_waiting_without_a_driver_fails_at_once(slept: list[float]) -> None:
    with simulation.machine('half-busy', processes='none') as machine:
        machine.fail('nvmlInit*', 'DRIVER_NOT_LOADED')
        with pytest.raises(nvitop.NVMLError):
            select_devices(wait=True)
    assert slept == []
