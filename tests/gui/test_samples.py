"""The stored machines are consistent in themselves."""

from __future__ import annotations

import pytest

from nvitop.sampling.types import DeviceKey, ProcessSample
from tests.gui.samples import SAMPLES, with_families


def by_device(processes: tuple[ProcessSample, ...]) -> dict[DeviceKey, list[ProcessSample]]:
    found: dict[DeviceKey, list[ProcessSample]] = {}
    for process in processes:
        found.setdefault(process.key.device, []).append(process)
    return found


@pytest.mark.parametrize('name', SAMPLES)
def test_processes_use_at_most_as_much_as_their_device(name: str) -> None:
    sample = SAMPLES[name]
    devices = {device.key: device for device in sample.devices}
    for key, processes in by_device(sample.processes).items():
        device = devices[key]
        memory = sum(process.gpu_memory_bytes or 0 for process in processes)
        assert memory <= (device.memory_used_bytes or 0)
        for load, field in (
            (device.gpu_utilization_percent, 'gpu_sm_utilization_percent'),
            (device.memory_utilization_percent, 'gpu_memory_utilization_percent'),
        ):
            parts = [value for value in (getattr(p, field) for p in processes) if value is not None]
            assert not parts or sum(parts) <= (load or 0)


@pytest.mark.parametrize('name', SAMPLES)
def test_mig_devices_use_at_most_as_much_as_their_gpu(name: str) -> None:
    used: dict[int, int] = {}
    for device in SAMPLES[name].devices:
        assert (device.memory_used_bytes or 0) <= (device.info.memory_total_bytes or 0)
        if device.key.is_mig:
            index = device.key.physical_index
            used[index] = used.get(index, 0) + (device.memory_used_bytes or 0)
    for device in SAMPLES[name].devices:
        if device.key.physical_index in used and not device.key.is_mig:
            assert used[device.key.physical_index] <= (device.memory_used_bytes or 0)


@pytest.mark.parametrize('name', SAMPLES)
def test_pids_are_unique(name: str) -> None:
    pids = [process.pid for process in with_families(SAMPLES[name]).host_processes]
    assert len(pids) == len(set(pids))
