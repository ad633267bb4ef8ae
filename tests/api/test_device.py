"""Devices: construction, identity, MIG, remembered values, snapshots, reasons."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import pickle
from typing import Any

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.device import Device, MigDevice, PhysicalDevice
from nvitop.basics.units import NA
from tests.api.machines import SCENARIO
from tests.api.machines import machine as make_machine

# Construction


def test_gpu_is_found_by_index_uuid_and_bus_id(machine: simulation.Machine) -> None:
    device = Device(0)
    assert type(device) is PhysicalDevice
    assert (device.index, device.nvml_index, device.physical_index) == (0, 0, 0)
    assert Device('1:2') == Device((1, 2)) == MigDevice('1:2')
    for same in (
        Device(index=0),
        Device(device.uuid()),
        Device(uuid=device.uuid()),
        Device(bus_id=device.bus_id()),
        PhysicalDevice(0),
        PhysicalDevice(uuid=device.uuid()),
    ):
        assert type(same) is PhysicalDevice
        assert same == device
        assert hash(same) == hash(device)
    assert Device(2) != device
    assert device != 0
    assert device != device.as_snapshot()


@pytest.mark.parametrize(
    ('kind', 'arguments', 'names'),
    [
        *((Device, (index,), {}) for index in (1.5, True, '0', '', '0:1:2')),
        *((Device, (index,), {}) for index in ((0, 'x'), (0,), (0, 1, 2))),
        *((PhysicalDevice, (index,), {}) for index in ('1:0', (1, 0))),
        (MigDevice, (1,), {}),
        *((Device, (), names) for names in ({}, {'uuid': 5}, {'bus_id': 5})),
        (Device, (0,), {'uuid': 'GPU-0'}),
        (Device, (), {'uuid': 'GPU-0', 'bus_id': '0'}),
    ],
)
def test_invalid_arguments_are_a_type_error(
    kind: type[Device], arguments: Any, names: Any, machine: simulation.Machine
) -> None:
    with pytest.raises(TypeError):
        kind(*arguments, **names)


@pytest.mark.parametrize(
    ('code', 'name'), [('GPU_IS_LOST', 'ERROR: GPU is Lost'), ('UNKNOWN', 'ERROR: Unknown')]
)
@pytest.mark.parametrize(
    ('function', 'argument'),
    [
        ('nvmlDeviceGetHandleByIndex*', 'index'),
        ('nvmlDeviceGetHandleByUUID', 'uuid'),
        ('nvmlDeviceGetHandleByPciBusId*', 'bus_id'),
    ],
)
def test_lost_gpu_is_a_device_without_values(
    function: str, argument: str, code: str, name: str, machine: simulation.Machine
) -> None:
    gpu = Device(0)
    arguments: dict[str, Any] = {'index': 0, 'uuid': gpu.uuid(), 'bus_id': gpu.bus_id()}
    machine.fail(function, code)
    machine.reset_calls()
    device: Any = Device(**{argument: arguments[argument]})
    assert type(device).__name__ == 'PhysicalDevice'
    assert device.handle is None
    assert device.index == device.physical_index == (0 if argument == 'index' else NA)
    assert device.name() == name
    calls = sum(machine.calls.values())
    snapshot = device.as_snapshot()
    assert snapshot.temperature is NA
    assert snapshot.memory_used is NA
    assert snapshot.memory_usage == snapshot.power_status == 'N/A / N/A'
    assert device.processes() == {}
    assert device.mig_devices() == device.nvlink_throughput() == []
    assert device.board_id() is NA
    assert name in repr(device)
    assert sum(machine.calls.values()) == calls
    assert type(device.unavailable_reason('temperature')).__name__.endswith(
        'GpuIsLost' if code == 'GPU_IS_LOST' else 'Unknown'
    )


def test_devices_from_indices(machine: simulation.Machine) -> None:
    assert [device.index for device in Device.all()] == [0, 1, 2, 3]
    assert Device.from_indices(2) == [Device(2)]
    assert Device.from_indices([2, (1, 0), 0]) == [Device(2), Device((1, 0)), Device(0)]
    assert Device.from_indices([]) == []
    with pytest.raises(libnvml.NVMLError_InvalidArgument) as raised:
        Device.from_indices([0, 99])
    assert str(raised.value) == 'unknown GPU 99: this machine has GPUs 0 to 3'
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    unknown: list[dict[str, Any]] = [
        {'uuid': 'GPU-xx'},
        {'uuid': 'MIG-xx'},
        {'bus_id': '0000:FF:00.0'},
        {'index': (0, 6)},
    ]
    for arguments in unknown:
        with pytest.raises(libnvml.NVMLError_NotFound) as missing:
            Device(**arguments)
        assert str(missing.value).startswith(f'unknown device {next(iter(arguments.values()))!r}; ')
        assert str(pickle.loads(pickle.dumps(missing.value))) == str(missing.value)
    for arguments in ({'bus_id': 'zz'}, {'index': (0, 99)}):
        with pytest.raises(libnvml.NVMLError_InvalidArgument, match=r'^unknown device '):
            Device(**arguments)
    with pytest.raises(libnvml.NVMLError_NotFound, match='has no MIG devices'):
        Device((1, 0)).mig_device(0)
    assert (Device.count(), Device.is_available()) == (4, True)
    assert Device.driver_version() == '580.65.06'
    assert Device.cuda_driver_version() == Device.max_cuda_version() == '13.0'


# MIG devices


def test_mig_devices_after_a_gap_are_found(machine: simulation.Machine) -> None:
    parent = PhysicalDevice(1)
    first, last = parent.mig_devices()
    assert [first.index, last.index] == [(1, 0), (1, 2)]
    assert (last.mig_index, last.physical_index, last.parent) == (2, 1, parent)
    assert parent.mig_device(2) == last
    assert (parent.is_leaf_device(), last.is_leaf_device()) == (False, True)
    assert parent.to_leaf_devices() == [first, last]
    assert last.to_leaf_devices() == [last]
    assert last.mig_devices() == []
    assert (parent.max_mig_device_count(), last.max_mig_device_count()) == (7, 0)
    assert (parent.is_mig_device(), last.is_mig_device()) == (False, True)
    assert MigDevice.all() == MigDevice.from_indices() == [first, last]
    assert MigDevice.from_indices((1, 2)) == MigDevice.from_indices([(1, 2)]) == [last]
    assert (MigDevice.count(), MigDevice.is_available()) == (2, True)


def test_mig_device_is_found_by_both_forms_of_uuids(machine: simulation.Machine) -> None:
    device = Device((1, 2))
    assert type(device) is MigDevice
    parent = device.parent.uuid()
    for uuid in (device.uuid(), f'MIG-{parent}/9/0'):
        for same in (Device(uuid), Device(uuid=uuid), MigDevice(uuid=uuid)):
            assert type(same) is MigDevice
            assert same == device
    for unknown in (f'MIG-{parent}/8/0', f'MIG-{parent}/9/1'):
        with pytest.raises(libnvml.NVMLError_NotFound):
            Device(unknown)


def test_mig_device_counts_the_uncorrected_errors_of_its_sram() -> None:
    errors = 'ecc_counts = {"uncorrected.volatile.sram" = 3}'
    with make_machine(f'[[gpu]]\n[[gpu.mig]]\nprofile = "1g.10gb"\n{errors}'):
        device = Device((0, 0))
        assert device.sram_volatile_uncorrected_ecc_errors() == 3
        assert device.sram_volatile_corrected_ecc_errors() is NA
        assert Device(0).sram_volatile_uncorrected_ecc_errors() == 0


@pytest.mark.parametrize(
    'function', ['nvmlDeviceGetHandleByIndex*', 'nvmlDeviceGetMigDeviceHandleByIndex']
)
def test_mig_device_of_a_lost_gpu_is_lost(function: str, machine: simulation.Machine) -> None:
    machine.fail(function, 'GPU_IS_LOST', gpu=1)
    device = Device((1, 0))
    assert (device.name(), device.index) == ('ERROR: GPU is Lost', (1, 0))
    assert device.as_snapshot().memory_used is NA


# Identity


def test_devices_are_shown_and_pickled_by_index(machine: simulation.Machine) -> None:
    for device in (Device(0), Device((1, 2))):
        for copied in (pickle.loads(pickle.dumps(device)), copy.deepcopy(device)):
            assert type(copied) is type(device)
            assert copied == device
        assert device.uuid().encode() not in pickle.dumps(device)
    assert repr(Device(2)).startswith("PhysicalDevice(index=2, name='NVIDIA GeForce RTX 4090', ")
    written_by_nvitop_1 = b'cnvitop.api.device\nPhysicalDevice\n(I0\ntR.'
    assert pickle.loads(written_by_nvitop_1) == Device(0)


def test_objects_of_a_lost_gpu_stay_equal_after_it_recovers(machine: simulation.Machine) -> None:
    before, other = Device(0), Device(2)
    uuids = [before.uuid(), other.uuid()]
    bus_id = other.bus_id()
    for function in ('nvmlDeviceGetHandle*', 'nvmlDeviceGetUUID'):
        machine.fail(function, 'GPU_IS_LOST')
    lost = [Device(0), *(Device(uuid=uuid) for uuid in uuids), Device(bus_id=bus_id)]
    assert before == lost[0] == Device(0)
    machine.heal()
    assert before == lost[0] == Device(0)
    assert lost[1] == lost[1]
    assert len({*lost, before}) == 4
    assert other not in lost


# Other functions of NVML


def test_other_nvml_getters_have_snake_case_names(machine: simulation.Machine) -> None:
    device: Any = Device(0)
    assert device.clock_info(1) == 1510
    assert device.pci_info_v3().bus == 0x1B
    assert device.nv_link_state(0) == 1
    assert device.board_id is device.board_id
    machine.hide('nvmlDeviceGetBoardId')
    assert device.board_id() is NA
    for name in (
        '_private',
        '__deepcopy__',
        'Name',
        '',
        'b_oard_id',
        'board_id_',
        'handle_by_uuid',
    ):
        assert not hasattr(device, name)


# Oneshot


def test_oneshot_makes_each_call_once_and_ends_with_the_outermost_block(
    machine: simulation.Machine,
) -> None:
    device = Device(0)
    with device.oneshot():
        assert device.sm_clock() != device.memory_clock()
        device.power_usage()
        with device.oneshot():
            device.power_usage()
        device.power_usage()
        long = device.nvlink_throughput(interval=0.03)
        short = device.nvlink_throughput(interval=0.001)
        calls = machine.calls
        assert device.nvlink_throughput(interval=0.03) is long
        assert device.nvlink_throughput(interval=0.001) is short
        assert machine.calls == calls
    assert calls['nvmlDeviceGetPowerUsage'] == 1
    with contextlib.suppress(KeyError), device.oneshot():
        raise KeyError
    device.power_usage(), device.power_usage()
    assert machine.calls['nvmlDeviceGetPowerUsage'] == 3


def test_oneshot_block_ends_for_a_task_that_outlives_it(machine: simulation.Machine) -> None:
    device = Device(0)

    async def read() -> None:
        await asyncio.sleep(0)
        device.power_usage()

    async def run() -> None:
        with device.oneshot():
            device.power_usage()
            outliving = asyncio.ensure_future(read())
        machine.reset_calls()
        await outliving
        assert machine.calls['nvmlDeviceGetPowerUsage'] == 1

    asyncio.run(run())


# Static values


def test_static_values_are_queried_once_per_gpu(machine: simulation.Machine) -> None:
    device = Device(0)
    names = ('name', 'uuid', 'bus_id', 'serial', 'memory_total', 'max_clock_infos', 'fan_count')
    first = [getattr(device, name)() for name in names]
    second = Device(uuid=device.uuid())
    machine.reset_calls()
    for each in (device, second):
        assert [getattr(each, name)() for name in names] == first
    assert set(machine.calls) == {'nvmlDeviceGetUUID'}
    # A MIG device may be created again.
    assert Device((1, 0)).name() is not NA
    machine.fail('nvmlDeviceGetName', 'TIMEOUT')
    assert Device(0).name() == first[0]
    assert Device((1, 0)).name() is NA
    with make_machine(SCENARIO.replace('"H100"', '"A100"')):
        assert Device(0).name() != first[0]


# Reasons and snapshots


def test_reading_has_the_value_and_the_reason_of_one_call(machine: simulation.Machine) -> None:
    device = Device(0)
    assert device.reading('temperature') == (device.temperature(), None)
    assert device.reading('physical_index') == (0, None)
    assert device.reading('clock_info', 1) == (1510, None)
    machine.fail('nvmlDeviceGetTemperature*', 'TIMEOUT')
    machine.set(gpu=0, memory_used='2 TiB', gpu_utilization=177)
    with device.oneshot():
        assert device.temperature() is NA
        assert device.memory_info().total == 80 * 2**30
        machine.reset_calls()
        for method, text in [
            ('temperature', 'Timeout'),
            ('memory_used', '2.00 TiB of 80.00 GiB is implausible'),
            ('memory_percent', '2.00 TiB of 80.00 GiB is implausible'),
            ('gpu_utilization', '177 is implausible'),
        ]:
            value, reason = device.reading(method)
            assert value is NA
            assert str(reason) == text
        for method in ('memory_total', 'memory_utilization', 'power_usage'):
            assert device.unavailable_reason(method) is None
        assert not {name for name in machine.calls if 'Memory' in name or 'Temperature' in name}
