"""How long processes have not used their device."""

from __future__ import annotations

from nvitop.sampling.process import IdleTimes
from nvitop.sampling.types import DeviceKey, ProcessKey, ProcessSample

PROCESS = ProcessSample(ProcessKey(7, 100.0, DeviceKey(0)), gpu_memory_utilization_percent=0)


def idle_times(
    *readings: tuple[float, int | None], encoder: int = 0
) -> list[tuple[float | None, bool]]:
    """Return the idle time after each reading: when, and the utilization at that time."""
    times = IdleTimes()
    found = []
    for now, sm in readings:
        process = PROCESS._replace(
            gpu_sm_utilization_percent=sm, gpu_encoder_utilization_percent=encoder
        )
        times.observe([process], now)
        (process,) = times.add_to([process])
        found.append((process.gpu_idle_seconds, process.is_idle_longer))
    return found


def test_idle_time_begins_with_the_last_use() -> None:
    readings = idle_times((0.0, 40), (2.0, 0), (32.0, 0), (34.0, 1), (36.0, 0))
    assert readings == [(0.0, False), (2.0, False), (32.0, False), (0.0, False), (2.0, False)]
    assert idle_times((0.0, 0), (2.0, 0), encoder=9)[-1] == (0.0, False)


def test_idle_process_may_have_been_idle_before_it_was_seen() -> None:
    assert idle_times((0.0, 0), (40.0, 0)) == [(None, False), (40.0, True)]


def test_nothing_is_claimed_about_times_without_observation() -> None:
    assert idle_times((0.0, 40), (2.0, None), (4.0, 0), (6.0, 0))[1:] == [
        (None, False),
        (None, False),
        (2.0, True),
    ]
    assert idle_times((0.0, 40), (61.0, 0), (63.0, 0))[1:] == [(None, False), (2.0, True)]


def test_reused_pid_and_other_device_are_other_processes() -> None:
    times = IdleTimes()
    busy = PROCESS._replace(gpu_sm_utilization_percent=40)
    times.observe([busy], 0.0)
    for key in (PROCESS.key._replace(start_time=101.0), PROCESS.key._replace(device=DeviceKey(1))):
        (other,) = times.add_to([busy._replace(key=key)])
        assert other.gpu_idle_seconds is None
