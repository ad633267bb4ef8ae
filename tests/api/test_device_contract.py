"""The contract of every getter: its documented type or NA, whatever the driver does; all values."""

from __future__ import annotations

import enum
import itertools
import os
import pathlib
import pydoc
from collections import Counter
from typing import Any, Callable
from unittest import mock

import pynvml
import pytest

from nvitop import simulation
from nvitop.api.device import CudaDevice, Device, PhysicalDevice, base
from nvitop.api.timing import Window
from nvitop.basics.metrics import EXTENDED_METRICS, LISTS, METRICS, METRICS_BY_METHOD
from nvitop.basics.units import NA
from nvitop.sampling.types import DeviceInfo, DeviceSample
from nvitop.simulation.abi import NVML_ERRORS
from nvitop.simulation.driver.nvml import ALL_SYMBOLS
from tests.api.contract import check, check_all, getters
from tests.api.machines import SCENARIO, machine
from tests.gui.goldens import USED, assert_golden_text
from tests.simulation.conftest import NEWEST, needs

KINDS: dict[str, Callable[[], Device]] = {
    'GPU': lambda: Device(0),
    'GPU in MIG mode': lambda: Device(1),
    'GPU of a workstation': lambda: Device(2),
    'GPU with unified memory': lambda: Device(3),
    'MIG device': lambda: Device((1, 2)),
    'CUDA device': lambda: visible_device(0),
    'CUDA MIG device': lambda: visible_device((1, 2)),
}


def visible_device(nvml_index: int | tuple[int, int]) -> CudaDevice:
    """Return the CUDA device of an NVML index, as the only one that is visible to CUDA."""
    with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=Device(nvml_index).uuid()):
        return CudaDevice(0)


@pytest.fixture(autouse=True)
def _do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Window, 'sleep', staticmethod(lambda seconds: None))


def getters_by_function(kind: str, machine: simulation.Machine) -> dict[str, list[str]]:
    """The functions of NVML that a device can be asked, each with the getters that need it."""
    found: dict[str, list[str]] = {}
    for name in getters(type(KINDS[kind]())):
        base._gpu_caches.clear()  # nothing is known yet
        machine.reset_calls()
        check(KINDS[kind](), [name])
        for function in machine.calls:
            if function.startswith('nvml'):
                found.setdefault(function, []).append(name)
    return found


def test_getters_return_their_documented_types_with_and_without_any_error(
    machine: simulation.Machine,
) -> None:
    assert len(getters(PhysicalDevice)) > 230
    codes = [name for name in NVML_ERRORS if name != 'SUCCESS']
    # Each error for one kind of device in turn; all kinds share the code that handles errors.
    for code, kind in zip(codes, itertools.cycle(KINDS)):
        device = KINDS[kind]()
        machine.fail('nvmlDevice*', code)
        machine.fail('nvmlGpm*', code)
        check_all(device)
        machine.heal()
    for make in KINDS.values():
        check_all(make())


@pytest.mark.parametrize('kind', ['GPU', 'MIG device'])
def test_getters_do_not_raise_if_one_function_fails(kind: str, machine: simulation.Machine) -> None:
    for function, names in sorted(getters_by_function(kind, machine).items()):
        device = KINDS[kind]()
        base._gpu_caches.clear()
        machine.fail(function, 'UNKNOWN')
        check(device, names)
        machine.heal()


@pytest.mark.parametrize('kind', ['GPU', 'CUDA MIG device'])
def test_getters_do_not_raise_if_functions_are_missing(
    kind: str, machine: simulation.Machine
) -> None:
    device = KINDS[kind]()
    for function, names in sorted(getters_by_function(kind, machine).items()):
        if function not in ('nvmlInitWithFlags', 'nvmlShutdown'):
            machine.hide(function)
            check(device, names)
    check_all(device)
    assert device.power_usage() is NA


@pytest.mark.parametrize('name', simulation.scenario_names())
def test_each_missing_value_of_a_simulated_machine_has_a_reason(name: str) -> None:
    with simulation.machine(name, processes='none'):
        for gpu in Device.all():
            for device in (gpu, *gpu.mig_devices()):
                check_all(device)


def test_values_of_a_gpu_that_cannot_be_opened_are_lost() -> None:
    with simulation.machine('workstation', processes='none') as machine:
        machine.fail('nvmlDeviceGetHandle*', 'GPU_IS_LOST')
        device = Device(0)
        reasons = {name: device.reading(name).reason for name in getters(type(device))}
    assert {type(reason).__name__ for reason in reasons.values() if reason} == {
        'NVMLError_GpuIsLost'
    }, reasons


@pytest.mark.usefixtures('machine')
def test_metrics_are_methods_of_devices_and_fields_of_samples() -> None:
    for metric in (*METRICS, *EXTENDED_METRICS):
        assert hasattr(Device(0), metric.method), metric
        if metric.tier != 'extended':
            fields = DeviceInfo if metric.tier == 'static' else DeviceSample
            assert metric.field in fields._fields, metric


def test_no_private_helper_of_a_mixin_shadows_another() -> None:
    helpers = Counter(
        name
        for cls in Device.__mro__[1:-1]
        for name in vars(cls)
        if name.startswith('_') and not name.startswith('__')
    )
    assert [name for name, count in helpers.items() if count > 1] == []


def test_help_shows_signatures_and_sources() -> None:
    text = pydoc.plain(pydoc.render_doc(PhysicalDevice))
    for line in (
        'Allocated memory in bytes',
        'NVML: ``nvmlDeviceGetPowerUsage`` · nvidia-smi: ``power.draw``',
        'NVML: ``nvmlDeviceGetMinorNumber`` · nvidia-smi -q: Minor Number',
        'NVML: ``nvmlDeviceGetTotalEnergyConsumption``\n',
        'nvlink_total_tx_throughput(self, interval: float | None = None)',
        'memory_used_human(self) -> str',
    ):
        assert line in text.replace("'", '')


def test_a_metric_and_a_method_of_one_name_have_one_meaning() -> None:
    for metric in (*METRICS, *EXTENDED_METRICS, *LISTS):
        if metric.name != 'index' and metric.name in dir(Device):
            assert metric.method == metric.name


#: Values that depend on the time, and long lists.
LEFT_OUT = {'accounted_processes', 'supported_clocks', 'total_energy'}


def test_values_of_all_metrics() -> None:
    if not hasattr(pynvml, 'nvmlDeviceGetAddressingMode'):
        USED.add('device-values')
        pytest.skip('this binding lacks functions')
    lines = []
    with machine(clock=lambda: 0.0):
        for index in (0, (1, 2), 2):
            device = Device(index)
            lines.append(f'# {type(device).__name__} {index}: values that are available')
            for name, metric in METRICS_BY_METHOD.items():
                if name not in LEFT_OUT and name != 'physical_index' and not metric.begin:
                    value: Any = getattr(device, name)()
                    if isinstance(value, enum.Flag):  # its repr depends on the Python version
                        value = value.value
                    lines += [] if value is NA else [f'{name} = {value!r}']
            lines.append('')
    assert_golden_text('device-values', '\n'.join(lines))


#: Functions that the NVML libraries of drivers export: 580.159.04, 590.48.01 and 610.57.04.
SYMBOLS = pathlib.Path(__file__).parent.parent / 'captures' / 'nvml-symbols.tsv'


def values() -> dict[str, Any]:
    base._gpu_caches.clear()  # nothing is known yet
    devices = [Device(index) for index in (0, 1, 2, (1, 2))]
    return {f'{d}.{name}': repr(getattr(d, name)()) for d in devices for name in getters(type(d))}


def exported(branch: int) -> set[str]:
    lines = (line.split('\t') for line in SYMBOLS.read_text(encoding='utf-8').splitlines()[1:])
    return {name for name, drivers in lines if str(branch) in drivers.split()}


@needs(*NEWEST)
@pytest.mark.parametrize('branch', [580, 590, 610])
def test_getters_need_no_function_that_a_real_driver_lacks(branch: int) -> None:
    with machine(SCENARIO.replace('580.65.06', '999.0'), clock=lambda: 0.0) as running:
        before = values()
        called = {name for name in running.calls if name.startswith('nvml')}
        for name in set(ALL_SYMBOLS) - exported(branch):
            running.hide(name)
        after = values()
    assert len(called & exported(branch)) > 90
    assert after == before
