"""What devices are doing: idle, busy or held."""

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


def state(*processes: ProcessSample, percent: int | None = 0) -> DeviceState:
    sample = Sample(1.0, devices=(gpu(percent),), processes=processes)
    return device_states(sample)[GPU]


def test_gpu_without_compute_process_is_idle() -> None:
    assert state() == DeviceState('idle')
    assert state(percent=None) == DeviceState('idle')
    assert state(process(type='G')) == DeviceState('idle')
    assert state(percent=5) == DeviceState('busy')


def test_gpu_is_held_if_no_kernel_ran_for_ten_minutes() -> None:
    assert state(process(600.0)) == DeviceState('held', 600.0)
    assert state(process(599.0)) == DeviceState('busy')
    assert state(process(HOUR), percent=10) == DeviceState('busy')


def test_small_process_does_not_make_a_held_gpu_busy_now_and_then() -> None:
    small = process(0.0, GiB, 2, gpu_sm_utilization_percent=6)
    words = [state(process(HOUR), small, percent=percent).word for percent in (3, 6, 9)]
    assert words == ['held', 'held', 'held']


@pytest.mark.parametrize('idle', [None, 30.0])
def test_time_is_unknown_if_the_process_never_used_the_gpu_since_it_was_seen(
    idle: float | None,
) -> None:
    assert state(process(idle, is_idle_longer=idle is not None)) == DeviceState('held')
    assert state(process(None, gpu_sm_utilization_percent=1)) == DeviceState('busy')
    assert state(process(None, gpu_sm_utilization_percent=None)) == DeviceState('busy')


def test_young_process_does_not_hold_a_gpu() -> None:
    assert state(process(None, running_time_seconds=599.0)) == DeviceState('busy')
    assert state(process(None, running_time_seconds=None)) == DeviceState('held')


def test_processes_that_hold_most_of_the_memory_decide() -> None:
    small = process(0.0, GiB, 2, gpu_sm_utilization_percent=3)
    assert state(process(HOUR), small, percent=3) == DeviceState('held', HOUR)
    large = process(0.0, 21 * GiB, 2, gpu_sm_utilization_percent=3)
    assert state(process(HOUR), large, percent=3) == DeviceState('busy')
    longer = process(2 * HOUR, 30 * GiB, 2)
    assert state(process(HOUR), longer) == DeviceState('held', 2 * HOUR)


def test_memory_decides_if_processes_are_unknown() -> None:
    problems = (Problem(GPU, PROCESSES, 'no list'),)
    for used, word in ((GiB, 'idle'), (GiB + 1, 'held')):
        sample = Sample(1.0, devices=(gpu(used=used),), problems=problems)
        assert device_states(sample)[GPU].word == word
    for percent, word in ((50, 'busy'), (None, 'unknown')):
        sample = Sample(1.0, devices=(gpu(percent, used=0),), problems=problems)
        assert device_states(sample)[GPU].word == word


def test_gpu_with_mig_devices_is_as_busy_as_they_are() -> None:
    migs = tuple(DeviceKey(0, index, f'MIG-{index}') for index in range(3))
    devices = (gpu(None), *(gpu(None, key=key) for key in migs))
    held = process(device=migs[1])
    sample = Sample(1.0, devices=devices, processes=(held,))
    assert device_states(sample) == {
        GPU: DeviceState('held', HOUR),
        migs[0]: DeviceState('idle'),
        migs[1]: DeviceState('held', HOUR),
        migs[2]: DeviceState('idle'),
    }
    busy = process(0.0, device=migs[2], pid=2)
    assert device_states(sample._replace(processes=(held, busy)))[GPU].word == 'busy'
    assert device_states(sample._replace(processes=()))[GPU].word == 'idle'


def test_device_that_does_not_respond_has_its_status() -> None:
    sample = Sample(1.0, devices=(gpu()._replace(status='lost'),), processes=(process(),))
    assert device_states(sample)[GPU] == DeviceState('lost')
