"""What devices are doing: free, busy, in use or held."""

from __future__ import annotations

import pytest

from nvitop.basics.units import GiB
from nvitop.health import DeviceState, device_states
from nvitop.sampling.types import (
    PROCESSES,
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    Problem,
    ProcessKey,
    ProcessSample,
    Sample,
)

GPU = DeviceKey(0, uuid='GPU-0')
HOUR = 3600.0


def gpu(percent: int | None = 0, used: int = 40 * GiB, key: DeviceKey = GPU) -> DeviceSample:
    info = DeviceInfo(key, key.physical_index)
    return DeviceSample(key, info, gpu_utilization_percent=percent, memory_used_bytes=used)


def process(
    idle: float | None = HOUR, memory: int = 20 * GiB, pid: int = 1, **fields: object
) -> ProcessSample:
    values: dict[str, object] = {
        'type': 'C',
        'gpu_memory_bytes': memory,
        'gpu_sm_utilization_percent': 0,
        'gpu_idle_seconds': idle,
        'running_time_seconds': 9 * HOUR,
    }
    device = fields.pop('device', GPU)
    return ProcessSample(ProcessKey(pid, 1.0, device), **{**values, **fields})  # type: ignore[arg-type]


SMALL = process(0.0, GiB, 2, gpu_sm_utilization_percent=3)


@pytest.mark.parametrize(
    ('expected', 'processes', 'percent', 'used'),
    [
        # Without a compute process.
        ('free', [], 0, GiB - 1),
        ('free', [], None, GiB - 1),
        ('free', [process(type='G')], 0, 20 * GiB),
        ('free', [process(memory=(16 << 20) - 1)], 0, GiB),
        ('busy', [], 5, 0),
        # Memory that belongs to no process.
        ('in use', [], 0, GiB),
        ('in use', [process(type='G', memory=GiB)], 0, 2 * GiB),
        # No kernel for ten minutes.
        ('held 600', [process(600.0)], 0, 20 * GiB),
        ('in use', [process(599.0)], 0, 20 * GiB),
        ('busy', [process(599.0)], 5, 20 * GiB),
        ('busy', [process(HOUR)], 10, 20 * GiB),
        # Not yet watched for that long.
        ('in use', [process(None)], 0, 20 * GiB),
        ('in use', [process(30.0, is_idle_longer=True)], 0, 20 * GiB),
        ('held 600', [process(600.0, is_idle_longer=True)], 0, 20 * GiB),
        # Processes that hold most of the memory decide; a small one is busy now and then.
        ('held 3600', [process(HOUR), SMALL], 3, 20 * GiB),
        ('held 3600', [process(HOUR), SMALL._replace(gpu_sm_utilization_percent=6)], 9, 20 * GiB),
        ('in use', [process(HOUR), SMALL._replace(gpu_memory_bytes=21 * GiB)], 3, 20 * GiB),
        ('in use', [process(HOUR), SMALL._replace(gpu_memory_bytes=None)], 3, 20 * GiB),
        ('held 7200', [process(HOUR), process(2 * HOUR, 30 * GiB, 2)], 0, 20 * GiB),
    ],
)
def test_what_a_gpu_is_doing(
    expected: str, processes: list[ProcessSample], percent: int | None, used: int
) -> None:
    sample = Sample(1.0, devices=(gpu(percent, used),), processes=tuple(processes))
    state = device_states(sample)[GPU]
    seconds = '' if state.held_seconds is None else f' {state.held_seconds:g}'
    assert f'{state.word}{seconds}' == expected


def test_memory_decides_if_processes_are_unknown() -> None:
    problems = (Problem(GPU, PROCESSES, 'no list'),)
    for percent, used, word in (
        (0, GiB - 1, 'free'),
        (0, GiB, 'in use'),
        (50, 0, 'busy'),
        (None, 0, 'unknown'),
    ):
        sample = Sample(1.0, devices=(gpu(percent, used),), problems=problems)
        assert device_states(sample)[GPU].word == word


def test_gpu_with_mig_devices_is_as_busy_as_they_are() -> None:
    migs = tuple(DeviceKey(0, index, f'MIG-{index}') for index in range(3))
    devices = (gpu(None), *(gpu(None, used=0, key=key) for key in migs))
    held = process(device=migs[1])
    sample = Sample(1.0, devices=devices, processes=(held,))
    assert device_states(sample) == {
        GPU: DeviceState('held', HOUR),
        migs[0]: DeviceState('free'),
        migs[1]: DeviceState('held', HOUR),
        migs[2]: DeviceState('free'),
    }
    pausing = process(0.0, device=migs[2], pid=2)
    assert device_states(sample._replace(processes=(held, pausing)))[GPU].word == 'in use'
    busy = pausing._replace(gpu_sm_utilization_percent=50)
    assert device_states(sample._replace(processes=(held, busy)))[GPU].word == 'busy'
    assert device_states(sample._replace(processes=()))[GPU].word == 'free'


def test_device_that_does_not_respond_has_its_status() -> None:
    sample = Sample(1.0, devices=(gpu()._replace(status='lost'),), processes=(process(),))
    assert device_states(sample)[GPU] == DeviceState('lost')
