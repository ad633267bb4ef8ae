from __future__ import annotations

from typing import Any, Iterator

import pytest

from nvitop import simulation
from nvitop.api.collector import SnapshotResult, take_snapshots
from nvitop.api.device import Device


@pytest.fixture
def machine() -> Iterator[simulation.Machine]:
    with simulation.machine('dgx-h100') as running:
        yield running


@pytest.fixture
def mig_machine() -> Iterator[simulation.Machine]:
    with simulation.machine('mig', processes='fixed', clock=lambda: 100.0) as running:
        yield running


@pytest.mark.usefixtures('machine')
def test_devices_and_processes_can_be_selected() -> None:
    one = Device(1)
    there = list(one.processes().values())

    def indices(result: SnapshotResult) -> tuple[list[Any], list[Any]]:
        devices = [snapshot.index for snapshot in result.devices]
        return devices, [snapshot.device.index for snapshot in result.gpu_processes]

    assert indices(take_snapshots(one)) == ([1], [1] * len(there))
    assert indices(take_snapshots(iter([one, Device(0)])))[0] == [1, 0]
    assert indices(take_snapshots([one], gpu_processes=True)) == ([1], [1] * len(there))
    assert take_snapshots([]) == ([], [])
    nothing: tuple[Any, ...] = (False, [], iter([]))
    for none in nothing:
        assert indices(take_snapshots(gpu_processes=none)) == (list(range(8)), [])
        assert indices(take_snapshots(one, gpu_processes=none))[1] == []
    assert indices(take_snapshots(gpu_processes=there[0])) == ([1], [1])
    assert indices(take_snapshots(gpu_processes=iter(there))) == ([1], [1] * len(there))
    assert indices(take_snapshots(Device(2), gpu_processes=there[0])) == ([2], [1])
    assert indices(take_snapshots(gpu_processes=[*Device(3).processes().values(), there[0]]))[
        0
    ] == [3, 1]


@pytest.mark.usefixtures('mig_machine')
def test_processes_of_mig_devices_are_included_once() -> None:
    devices, processes = take_snapshots()
    indices = [snapshot.index for snapshot in devices]
    assert (0, 0) in indices
    assert indices.index(0) < indices.index((0, 0)) < indices.index(1)
    leaves = [leaf for device in Device.all() for leaf in device.to_leaf_devices()]
    assert {snapshot.device for snapshot in processes} <= set(leaves)
    assert any(snapshot.device.is_mig_device() for snapshot in processes)
    # A leaf that is given itself and with its GPU counts once.
    gpu = Device(0)
    both = take_snapshots([gpu, *gpu.mig_devices()])
    assert len(both.gpu_processes) == len({snapshot.real for snapshot in both.gpu_processes})
    assert len(both.gpu_processes) == len(take_snapshots(gpu).gpu_processes) > 0


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'devices': 'a'}, "devices must be Device objects, not 'a'"),
        ({'devices': 3}, 'devices must be Device objects, not 3'),
        ({'gpu_processes': [1]}, 'gpu_processes must be GpuProcess objects, not 1'),
    ],
)
def test_snapshots_of_something_else(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f'^{message}$'):
        take_snapshots(**arguments)
