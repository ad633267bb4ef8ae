"""Samples of devices and processes."""

from __future__ import annotations

from typing import Any

from nvitop.sampling.types import (
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    ProcessKey,
    ProcessSample,
    Sample,
)


def device_key(index: int = 0) -> DeviceKey:
    return DeviceKey(index, -1, f'GPU-{index}')


def device_sample(index: int = 0, name: str = 'Some GPU', **fields: Any) -> DeviceSample:
    """Return a device; ``fields`` are those of the sample or of its info."""
    key = device_key(index)
    facts = {field: fields.pop(field) for field in DeviceInfo._fields if field in fields}
    return DeviceSample(key, DeviceInfo(key, index, name, **facts), **fields)


def process_key(pid: int, device: int = 0) -> ProcessKey:
    return ProcessKey(pid, 1.5, device_key(device))


def process_sample(pid: int, **values: Any) -> ProcessSample:
    return ProcessSample(process_key(pid))._replace(**values)


def sample(
    time: float, *devices: DeviceSample, processes: tuple[ProcessSample, ...] = ()
) -> Sample:
    return Sample(
        timestamp=1.7e9 + time,
        monotonic=time,
        devices=devices,
        processes=processes,
        processes_monotonic=time if processes else 0.0,
    )
