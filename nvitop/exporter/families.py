# SPDX-License-Identifier: Apache-2.0
"""Families of series from a sample, for one or several dialects. Pure."""

from __future__ import annotations

import itertools
from typing import Iterable, Iterator, Mapping, TypeVar

from nvitop.exporter.dialects import (
    Dialect,
    Family,
    InfoRow,
    Observation,
    Point,
    SeriesOptions,
    dialect,
)
from nvitop.exporter.values import (
    ALL_METRICS,
    described_devices,
    device_reader,
    process_properties,
    process_reader,
    texts_of,
)
from nvitop.sampling.types import Demand, DeviceKey, DeviceSample, HostSample, ProcessSample, Sample

#: Maximum number of processes with series of their own; those with most GPU memory come first.
MAX_PROCESSES = 500
#: Metrics that are measured only on request, because profilers cannot use the same counters.
PROFILING_METRICS_BEGIN = 'begin_gpm'

Described = TypeVar('Described', DeviceSample, ProcessSample)


def demand_of(names: Iterable[str], options: SeriesOptions, *, profiling: bool = False) -> Demand:
    """Return what is measured for the series of these dialects.

    Args:
        names: Names of the dialects.
        options: Which series are made.
        profiling: Whether to use the hardware counters of Hopper and newer (GPM).
    """
    tables = [dialect(name) for name in names]
    wanted = frozenset(itertools.chain.from_iterable(table.metrics for table in tables))
    shown = [
        metric.name
        for metric in ALL_METRICS.values()
        if metric.name in wanted
        and metric.tier in ('shown', 'extended')
        and (profiling or metric.begin != PROFILING_METRICS_BEGIN)
    ]
    processes = options.processes or any(table.has_processes for table in tables)
    return Demand(
        shown_metrics=tuple(shown),
        # Without series of processes, only their users and GPU memory are needed.
        visible_processes=None if processes else (),
        processes=processes or options.users or options.owners,
        owners=options.owners,
        process_codec=processes,
        host_io=any(table.has_host for table in tables),
    )


def without_values(sample: Sample, reason: str) -> Sample:
    """Return a sample without values, whose devices do not respond."""
    devices = [
        DeviceSample(device.key, device.info, 'timed out', reason)
        if device.status == 'ok'
        else device
        for device in sample.devices
    ]
    host = HostSample(hostname=sample.host.hostname)
    return sample._replace(devices=tuple(devices), processes=(), host=host)


def make_families(names: Iterable[str], observation: Observation) -> list[Family]:
    """Return the families of these dialects that have series, each name once."""
    found: dict[str, Family] = {}
    for name in names:
        for family in _families_of(dialect(name), observation):
            if not family.points:
                continue
            known = found.get(family.name)
            if known is not None:
                family = known._replace(points=(*known.points, *family.points))
            found[family.name] = family
    return list(found.values())


def _families_of(table: Dialect, observation: Observation) -> Iterator[Family]:
    described = _distinct(
        (device, texts_of(table.labels, properties), properties)
        for device, properties in described_devices(observation.sample, observation.options)
        if device.status == 'ok' and (table.has_mig or not device.key.is_mig)
    )
    yield from _info_families(table.device_info, described)
    for row in table.devices:
        read = device_reader(row)
        points = [
            Point({**labels, **dict(more)} if more else labels, value)
            for device, labels, _ in described
            for more, value in read(device)
        ]
        yield Family(row.name, row.type, row.help, tuple(points))
    if table.has_processes or observation.options.processes:
        devices = {device.key: labels for device, labels, _ in described}
        yield from _process_families(table, observation, devices)
    if table.others is not None:
        yield from table.others(observation)


def _info_families(
    rows: Iterable[InfoRow],
    described: Iterable[tuple[object, Mapping[str, str], Mapping[str, str]]],
) -> Iterator[Family]:
    for row in rows:
        points = [
            Point({**labels, **texts_of(row.labels, properties)}, 1.0)
            for _, labels, properties in described
        ]
        yield Family(row.name, row.type, row.help, tuple(points))


def _distinct(
    described: Iterable[tuple[Described, dict[str, str], Mapping[str, str]]],
) -> list[tuple[Described, dict[str, str], Mapping[str, str]]]:
    """Leave out duplicates of labels: compute instances look the same in DCGM."""
    found: dict[tuple[str, ...], tuple[Described, dict[str, str], Mapping[str, str]]] = {}
    for one in described:
        found.setdefault(tuple(itertools.chain.from_iterable(one[1].items())), one)
    return list(found.values())


def _process_families(
    table: Dialect, observation: Observation, devices: Mapping[DeviceKey, Mapping[str, str]]
) -> Iterator[Family]:
    described = _distinct(
        (process, {**labels, **texts_of(table.process_labels, properties)}, properties)
        for process in exported_processes(observation)
        for labels in [devices.get(process.key.device)]
        if labels is not None
        for properties in [process_properties(process, observation.options)]
    )
    yield from _info_families(table.process_info, described)
    for row in table.processes:
        read = process_reader(row)
        values = [(labels, read(process)) for process, labels, _ in described]
        points = [Point(labels, value) for labels, value in values if value is not None]
        yield Family(row.name, 'gauge', row.help, tuple(points))


def exported_processes(observation: Observation) -> list[ProcessSample]:
    """Return the processes that have series: those with most GPU memory, up to a maximum."""
    if not observation.has_fresh_processes:
        return []
    processes = [row for row in observation.sample.processes if not row.is_outdated]
    if len(processes) <= MAX_PROCESSES:
        return processes
    return sorted(processes, key=lambda process: -(process.gpu_memory_bytes or 0))[:MAX_PROCESSES]
