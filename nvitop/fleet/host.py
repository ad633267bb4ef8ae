# SPDX-License-Identifier: Apache-2.0
"""One host as a sample, so that the ordinary screens can show it. Pure."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from nvitop.exporter.identity import bare_uuid
from nvitop.fleet.names import PREFERENCE, meanings
from nvitop.fleet.promql import ROW
from nvitop.fleet.series import Series, read_sample, series_names
from nvitop.fleet.types import percent_of
from nvitop.printable import printable
from nvitop.sampling.types import PROCESSES, Problem, Sample

if TYPE_CHECKING:
    from typing import Iterable

    from nvitop.fleet.response import PastValues
    from nvitop.fleet.types import FleetHost
    from nvitop.sampling.types import DeviceKey, DeviceSample, ProcessSample


def read_host(series: Iterable[Series], host: FleetHost, timestamp: float) -> Sample:
    """Return the sample of one host from a response to ``host_query``.

    A GPU that several exporters report has the values of all of them.
    """
    known = list(series)
    times = [one.value for one in known if one.labels.get(ROW) == 'time']
    measured = max((time for time in times if math.isfinite(time)), default=timestamp)
    sample = _read(map(_cleaned, known), measured)
    return sample._replace(
        host=sample.host._replace(hostname=host.name), problems=_unknown_processes(sample)
    )


def _read(series: Iterable[Series], timestamp: float) -> Sample:
    """Return a sample with the values of all dialects, the preferred ones first."""
    known = list(series)
    samples = []
    for name in PREFERENCE:
        own = [one for one in known if one.name in series_names(name)]
        if own:
            sample = read_sample(name, own, timestamp=timestamp)
            samples.append(sample._replace(devices=tuple(map(_with_memory, sample.devices))))
    return functools.reduce(_joined, samples) if samples else Sample(timestamp)


def _with_memory(device: DeviceSample) -> DeviceSample:
    """Return a device with total memory and its use in percent, which not all exporters report."""
    used, free, total = (
        device.memory_used_bytes,
        device.memory_free_bytes,
        device.info.memory_total_bytes,
    )
    if total is None and used is not None and free is not None:
        total = used + free + (device.memory_reserved_bytes or 0)
    percent = device.memory_percent
    return device._replace(
        info=device.info._replace(memory_total_bytes=total),
        memory_percent=percent_of(used, total) if percent is None else percent,
    )


def _unknown_processes(sample: Sample) -> tuple[Problem, ...]:
    """Return a problem for each GPU if there is no process: most exporters do not report any."""
    if sample.processes:
        return ()
    reason = 'no exporter reports processes of this GPU'
    return tuple(Problem(device.key, PROCESSES, reason) for device in sample.devices)


def _cleaned(one: Series) -> Series:
    """Return a series with printable labels."""
    if all(value.isprintable() for value in one.labels.values()):
        return one
    return one._replace(labels={label: printable(value) for label, value in one.labels.items()})


def _joined(sample: Sample, other: Sample) -> Sample:
    """Return a sample with the values that only the other one has."""
    others = {bare_uuid(device.key.uuid): device for device in other.devices}
    devices = []
    for device in sample.devices:
        more = others.pop(bare_uuid(device.key.uuid), None) if device.key.uuid else None
        devices.append(device if more is None else _filled(device, more))
    if sample.devices and not any(device.key.uuid for device in sample.devices):
        others = {}  # probably the same GPUs
    devices += others.values()
    devices.sort(key=lambda device: device.key)
    # The other exporter may number GPUs differently; match processes by UUID.
    keys = {bare_uuid(device.key.uuid): device.key for device in devices}
    processes = sample.processes or tuple(_moved(one, keys) for one in other.processes)
    return sample._replace(
        devices=tuple(devices),
        processes=processes,
        driver_version=sample.driver_version or other.driver_version,
        cuda_driver_version=sample.cuda_driver_version or other.cuda_driver_version,
    )


def _moved(process: ProcessSample, keys: dict[str, DeviceKey]) -> ProcessSample:
    device = keys.get(bare_uuid(process.key.device.uuid), process.key.device)
    return process._replace(key=process.key._replace(device=device))


def _filled(device: DeviceSample, more: DeviceSample) -> DeviceSample:
    """Return a device with the values that only the other one has."""
    info = {
        field: value
        for field, value in more.info._asdict().items()
        if value is not None and getattr(device.info, field) is None
    }
    values = {
        field: value
        for field, value in more._asdict().items()
        if value is not None and getattr(device, field) is None
    }
    return device._replace(info=device.info._replace(**info), **values)


def read_history(found: Iterable[PastValues], sample: Sample) -> list[tuple[float, Sample]]:
    """Return a sample for each moment of a response to ``history_query``, oldest first.

    They have the devices of a sample and the values of utilization, memory, power and temperature.
    """
    moments: dict[float, list[Series]] = {}
    for one in found:
        if one.name in meanings():
            for time, value in one.points:
                moments.setdefault(time, []).append(Series(one.name, one.labels, value))
    return [
        (time, _with_keys_of(_read(series, time), sample))
        for time, series in sorted(moments.items())
    ]


def _with_keys_of(past: Sample, sample: Sample) -> Sample:
    """Return a sample whose devices have the keys of another one: graphs are stored by key."""
    now = {bare_uuid(device.key.uuid): device for device in sample.devices}
    devices = []
    for device in past.devices:
        same = now.get(bare_uuid(device.key.uuid))
        if same is not None:
            devices.append(device._replace(key=same.key, info=same.info))
    return past._replace(devices=tuple(devices))
