"""What devices are doing: free, busy, in use or held."""

from __future__ import annotations

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


def state(*processes: ProcessSample, percent: int | None = 0, used: int = 20 * GiB) -> DeviceState:
    sample = Sample(1.0, devices=(gpu(percent, used),), processes=processes)
    return device_states(sample)[GPU]


def test_gpu_without_compute_process_is_free() -> None:
    assert state(used=GiB - 1) == DeviceState('free')
    assert state(used=GiB - 1, percent=None) == DeviceState('free')
    assert state(process(type='G')) == DeviceState('free')
    assert state(process(memory=(16 << 20) - 1), used=GiB) == DeviceState('free')
    assert state(used=0, percent=5) == DeviceState('busy')


def test_gpu_whose_memory_belongs_to_no_listed_process_is_not_free() -> None:
    assert state(used=GiB) == DeviceState('in use')
    assert state(process(type='G', memory=GiB), used=2 * GiB) == DeviceState('in use')


def test_gpu_is_held_if_no_kernel_ran_for_ten_minutes() -> None:
    assert state(process(600.0)) == DeviceState('held', 600.0)
    assert state(process(599.0)) == DeviceState('in use')
    assert state(process(599.0), percent=5) == DeviceState('busy')
    assert state(process(HOUR), percent=10) == DeviceState('busy')


def test_small_process_does_not_make_a_held_gpu_busy_now_and_then() -> None:
    small = process(0.0, GiB, 2, gpu_sm_utilization_percent=6)
    words = [state(process(HOUR), small, percent=percent).word for percent in (3, 6, 9)]
    assert words == ['held', 'held', 'held']


def test_no_process_holds_a_gpu_before_it_was_watched_for_ten_minutes() -> None:
    assert state(process(None)) == DeviceState('in use')
    assert state(process(30.0, is_idle_longer=True)) == DeviceState('in use')
    assert state(process(600.0, is_idle_longer=True)) == DeviceState('held', 600.0)


def test_processes_that_hold_most_of_the_memory_decide() -> None:
    small = process(0.0, GiB, 2, gpu_sm_utilization_percent=3)
    assert state(process(HOUR), small, percent=3) == DeviceState('held', HOUR)
    large = process(0.0, 21 * GiB, 2, gpu_sm_utilization_percent=3)
    assert state(process(HOUR), large, percent=3) == DeviceState('in use')
    unknown = small._replace(gpu_memory_bytes=None)
    assert state(process(HOUR), unknown, percent=3) == DeviceState('in use')
    longer = process(2 * HOUR, 30 * GiB, 2)
    assert state(process(HOUR), longer) == DeviceState('held', 2 * HOUR)


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
