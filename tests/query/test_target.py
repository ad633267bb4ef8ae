"""Which devices are meant by indices, UUIDs, bus ids and serial numbers."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.api.device import Device
from nvitop.query.target import DeviceTarget, UnknownDeviceError, find_targets
from nvitop.sampling.types import DeviceKey

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
    scenario = simulation.parse_scenario(MACHINE, name='targets')
    with simulation.machine(scenario, processes='fixed') as running:
        yield running


@pytest.mark.parametrize(
    ('given', 'targets'),
    [
        ('0', [DeviceTarget(0)]),
        ('1,0', [DeviceTarget(1), DeviceTarget(0)]),
        (['1 , 0', '1'], [DeviceTarget(1), DeviceTarget(0)]),
        (2, [DeviceTarget(2)]),
        ([(2, 1), 0], [DeviceTarget(2, 1), DeviceTarget(0)]),
        ('2:0', [DeviceTarget(2, 0)]),
        ('1320220000001', None),
        ('77', None),
    ],
)
def test_indices(
    machine: simulation.Machine, given: Any, targets: list[DeviceTarget] | None
) -> None:
    if targets is None:  # two boards have the first number, and 77 is taken for an index
        with pytest.raises(UnknownDeviceError):
            find_targets(given)
    else:
        assert find_targets(given) == tuple(targets)


def test_uuids_may_be_shortened(machine: simulation.Machine) -> None:
    for index in range(3):
        uuid = Device(index).uuid()
        for given in (uuid, uuid.upper().replace('GPU', 'gpu'), uuid[:12]):
            assert find_targets(given) == (DeviceTarget(index),)
    mig = Device((2, 1)).uuid()
    assert find_targets([mig, mig[:12]]) == (DeviceTarget(2, 1),)
    with pytest.raises(UnknownDeviceError, match='there is no device'):
        find_targets('GPU-nonsense')
    with pytest.raises(UnknownDeviceError, match='there is no device'):
        find_targets('GPU-')


def test_bus_ids_may_lack_zeros(machine: simulation.Machine) -> None:
    bus_id = Device(1).bus_id()
    for given in (bus_id, bus_id.lower(), bus_id[4:], bus_id[9:]):
        assert find_targets(given) == (DeviceTarget(1),)


def test_serial_numbers(machine: simulation.Machine) -> None:
    machine.set(serial='1320220000002', gpu=1)
    assert find_targets('1320220000002') == (DeviceTarget(1),)


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        ('3', 'the driver has GPUs 0 to 2'),
        ('2:2', "no MIG device '2:2'"),
        ('0:0', "no MIG device '0:0'"),
        ('-1', 'give an index'),
        ('0:', 'give an index'),
        ('²', 'give an index'),
        ('N/A', 'give an index'),
        ('', 'no device is given'),
        ([], 'no device is given'),
    ],
)
def test_what_there_is_not_is_refused(
    machine: simulation.Machine, given: Any, message: str
) -> None:
    with pytest.raises(UnknownDeviceError, match=message):
        find_targets(given)


def test_a_gpu_that_cannot_be_opened_hides_no_other(machine: simulation.Machine) -> None:
    uuid = Device(1).uuid()
    machine.fail('nvmlDeviceGetHandleByIndex_v2', 'INSUFFICIENT_POWER', gpu=0)
    assert find_targets(uuid) == (DeviceTarget(1),)
    assert find_targets('0') == (DeviceTarget(0),)


def test_what_a_target_covers() -> None:
    gpu, mig = DeviceKey(1, -1, ''), DeviceKey(1, 0, '')
    assert DeviceTarget(1).covers(gpu, mig=False)
    assert not DeviceTarget(1).covers(mig, mig=False)
    assert DeviceTarget(1).covers(mig, mig=True)
    assert DeviceTarget(1, 0).covers(mig, mig=False)
    assert not DeviceTarget(1, 0).covers(gpu, mig=True)
    assert not DeviceTarget(0).covers(gpu, mig=True)
