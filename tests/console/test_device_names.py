"""Devices by index, UUID, PCI bus ID and serial number."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.api.device import Device
from nvitop.console.device_names import DeviceIndex, match_devices, require_devices
from tests.api.machines import machine as make_machine

MACHINE = """
[driver]
version = "580.65.06"
cuda = "13.0"
[[gpu]]
count = 2
model = "H100"
serial = "1320220000001"
[[gpu]]
model = "H100"
serial = "77"
[[gpu.mig]]
profile = "1g.10gb"
[[gpu.mig]]
profile = "1g.10gb"
"""


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    with make_machine(MACHINE) as running:
        yield running


@pytest.mark.parametrize(
    ('names', 'devices'),
    [(['1 , 0', '1', '01'], [1, 0]), (2, [2]), ([(2, 1), 0], [(2, 1), 0]), ('2:0', [(2, 0)])],
)
def test_devices_are_found_by_index(
    machine: simulation.Machine, names: Any, devices: list[DeviceIndex]
) -> None:
    assert require_devices(names) == tuple(devices)


def test_indices_of_gpus_need_no_query(machine: simulation.Machine) -> None:
    require_devices('0,2')
    assert set(machine.calls) == {'nvmlInitWithFlags', 'nvmlDeviceGetCount_v2'}


def test_devices_are_found_by_parts_of_their_names(machine: simulation.Machine) -> None:
    machine.set(serial='1320220000002', gpu=1)
    uuid, bus_id = str(Device(1).uuid()), str(Device(1).bus_id())
    uuids = uuid.upper().replace('GPU', 'gpu'), uuid[:12]
    for name in (*uuids, bus_id.lower(), bus_id[4:], bus_id[9:], '1320220000002'):
        assert require_devices(name) == (1,), name
    mig = Device((2, 1)).uuid()
    assert require_devices([mig, mig[:12]]) == ((2, 1),)


@pytest.mark.parametrize(
    ('names', 'message'),
    [
        ('3', "unknown device '3': this machine has GPUs 0 to 2"),
        ('77', "unknown device '77': this machine has GPUs 0 to 2"),  # an index
        ('2:2', "unknown device '2:2': GPU 2 has the MIG devices 2:0, 2:1"),
        ('0:0', "unknown device '0:0': GPU 0 has no MIG devices"),
        ('GPU-nonsense', "unknown device 'GPU-nonsense': this machine has GPUs 0 to 2"),
        ('1320220000001', "'1320220000001' matches 2 devices"),
        ('0:', "unknown device '0:': expected an index"),
        ('²', "unknown device '²': expected an index"),
        ('', 'no device given'),
    ],
)
def test_unknown_devices_are_explained(
    machine: simulation.Machine, names: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        require_devices(names)


def test_a_gpu_that_cannot_be_opened_hides_no_other(machine: simulation.Machine) -> None:
    uuid = Device(1).uuid()
    machine.fail('nvmlDeviceGetHandleByIndex_v2', 'INSUFFICIENT_POWER', gpu=0)
    assert require_devices(uuid) == (1,)
    assert require_devices('0') == (0,)


def test_error_of_the_program_itself_is_raised(
    machine: simulation.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Device, 'serial', lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        require_devices('1652323000001')


def test_a_hung_gpu_hides_no_other(machine: simulation.Machine) -> None:
    uuids = [str(Device(index).uuid()) for index in (1, 0)]
    machine.hang('nvmlDeviceGetHandleByIndex*', gpu=0)
    found, (problem, _) = match_devices([*uuids, '9'])
    machine.release()
    assert found == (1,)
    assert problem.endswith('this machine has GPUs 0 to 2; GPU 0 is not responding')
