# SPDX-License-Identifier: Apache-2.0
"""Families of series from a sample, for one or several dialects, with their values and labels. Pure."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, Sequence, TypeVar

from nvitop.basics.masking import mask_command
from nvitop.basics.metrics import (
    CLOCK_EVENT_REASONS,
    EXTENDED_METRICS,
    LISTS,
    METRICS,
    PROCESS_METRICS,
    Metric,
    ProcessMetric,
)
from nvitop.basics.text import printable
from nvitop.exporter.dialects import (
    Dialect,
    Family,
    InfoRow,
    Observation,
    Point,
    SeriesOptions,
    dialect,
)
from nvitop.sampling.types import Demand, DeviceKey, DeviceSample, HostSample, ProcessSample, Sample

if TYPE_CHECKING:
    from nvitop.exporter.dialects import DeviceRow, Labels

    #: Labels and value of a series.
    Item = tuple[tuple[tuple[str, str], ...], float]

#: All metrics by name, also extended ones.
ALL_METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*METRICS, *EXTENDED_METRICS, *LISTS)
}
ALL_PROCESS_METRICS: dict[str, ProcessMetric] = {metric.name: metric for metric in PROCESS_METRICS}
#: Label of the series of rows with form ``reasons`` and ``column``.
REASON_LABEL, LINK_LABEL = 'reason', 'link'
#: Clock event reasons in the order of their bits in NVML.
_REASONS = (*CLOCK_EVENT_REASONS, 'display_clock_setting', 'board_limit', 'reliability')
_REASON_BITS = {name: 1 << place for place, name in enumerate(_REASONS)}
#: Maximum number of processes with series of their own; those with most GPU memory come first.
MAX_PROCESSES = 500
#: Metrics that are measured only on request, because profilers cannot use the same counters.
PROFILING_METRICS_BEGIN = 'begin_gpm'

Described = TypeVar('Described', DeviceSample, ProcessSample)


# Values


def scaled(value: float, scale: float) -> float:
    """Return value × scale without the noise of binary fractions: 70 × 0.01 is 0.7."""
    return value if scale == 1 else float(f'{value * scale:.15g}')


def series_of(row: DeviceRow, device: DeviceSample) -> Sequence[Item]:
    """Return the series of a row: none if a value is not available."""
    metrics = [ALL_METRICS[name] for name in row.metrics]
    values: list[Any] = [device.value_of(metric) for metric in metrics]
    if None in values:
        return ()
    value = values[0]
    number: float | None
    if row.form == 'number':
        total = sum(value / metric.divisor for metric, value in zip(metrics, values))
        number = scaled(total, row.scale)
    elif row.form == 'digits':
        digits = value.lstrip('P')
        number = float(digits) if digits.isdecimal() else None
    elif row.form == 'word':
        words = row.item.split(',')
        number = float(words.index(value)) if value in words else None
    elif row.form == 'mask':
        # Flags without a name are hexadecimal numbers.
        number = float(sum(_REASON_BITS.get(name) or int(name, 16) for name in value))
    elif row.form == 'reasons':
        names = dict.fromkeys((*CLOCK_EVENT_REASONS, *value))
        return [((*row.labels, (REASON_LABEL, name)), float(name in value)) for name in names]
    else:
        links = {
            str(link): scaled(numbers[int(row.item)], row.scale)
            for link, numbers in enumerate(value)
            if numbers[int(row.item)] is not None
        }
        if row.form == 'column':
            return [((*row.labels, (LINK_LABEL, link)), links[link]) for link in links]
        number = sum(links.values()) / len(links) if links else None
    return () if number is None else ((row.labels, number),)


# Labels

#: Maximum length of a label: names of processes and users are untrusted input.
MAX_LABEL_LENGTH = 128
#: Series on the pages of simulated machines, in all dialects.
SIMULATED = 'nvitop_simulation_info'
#: Label text for an unknown user or command.
UNKNOWN = '(unknown)'
#: Metrics whose values are label texts.
TEXT_METRICS = tuple(metric for metric in METRICS if metric.kind == 'str')


def label_value(value: object) -> str:
    """Return a value as a label text: printable, and of limited length."""
    text = printable(str(value)[: MAX_LABEL_LENGTH + 1])
    return text if len(text) <= MAX_LABEL_LENGTH else f'{text[: MAX_LABEL_LENGTH - 1]}…'


def device_properties(
    sample: Sample, device: DeviceSample, gpu: DeviceSample | None, options: SeriesOptions
) -> dict[str, str]:
    """Return the known properties of a device as label texts.

    Keys are the names of text metrics, and:

    - ``index``, ``label``, ``device_file``: ``'0'``, ``'0'`` or ``'0:1'``, ``'nvidia0'``;
    - ``uuid``: of the device; ``gpu_uuid``, ``gpu_name``: of the GPU, also for a MIG device;
    - ``mig_index``, ``mig_uuid``, ``mig_profile``, ``gpu_instance_id``, ``compute_instance_id``:
      of MIG devices only;
    - ``hostname``, ``driver_version``, ``cuda_version``, ``numa_node``.

    :func:`described_devices` may add ``namespace``, ``pod``, ``container`` and ``job_id``.

    Args:
        sample: The sample that contains the device.
        device: The GPU or MIG device.
        gpu: The GPU of a MIG device, ``None`` if it is not known.
        options: The name of the host, if it is replaced.
    """
    key, info = device.key, device.info
    parent = gpu.info if gpu is not None else info
    gpu_uuid = gpu.key.uuid if gpu is not None else ('' if key.is_mig else key.uuid)
    properties: dict[str, Any] = {metric.name: device.value_of(metric) for metric in TEXT_METRICS}
    properties.update(
        index=key.physical_index,
        label=key.label,
        device_file=f'nvidia{key.physical_index}',
        uuid=key.uuid or None,
        gpu_uuid=gpu_uuid or None,
        gpu_name=parent.name,
        bus_id=parent.bus_id,
        numa_node=info.numa_node,
        minor_number=info.minor_number,
        hostname=host_name(sample, options) or None,
        driver_version=sample.driver_version,
        cuda_version=sample.cuda_driver_version,
    )
    if key.is_mig:
        properties.update(
            mig_index=key.mig_index,
            mig_uuid=key.uuid or None,
            mig_profile=info.mig_profile,
            gpu_instance_id=info.gpu_instance_id,
            compute_instance_id=info.compute_instance_id,
        )
    return {name: label_value(value) for name, value in properties.items() if value is not None}


def described_devices(
    sample: Sample, options: SeriesOptions, *, by_owner: bool = False
) -> Iterator[tuple[DeviceSample, dict[str, str]]]:
    """Yield all devices of a sample with their properties, even if they do not respond.

    Args:
        sample: The sample.
        options: The name of the host, and whether owners are named.
        by_owner: Whether to yield a device once for each pod and job on it.
    """
    gpus = {d.key.physical_index: d for d in sample.devices if not d.key.is_mig}
    owners = _owners_of_devices(sample) if by_owner and options.owners else {}
    for device in sample.devices:
        gpu = gpus.get(device.key.physical_index)
        properties = device_properties(sample, device, gpu, options)
        for texts in owners.get(device.key, ({},)):
            yield device, {**properties, **texts}


def _owners_of_devices(sample: Sample) -> dict[DeviceKey, list[dict[str, str]]]:
    """Return the pods and jobs on each device, those with the most device memory first."""
    owners: dict[DeviceKey, dict[tuple[str, ...], dict[str, str]]] = {}
    for process in sorted(sample.processes, key=lambda process: -(process.gpu_memory_bytes or 0)):
        texts = _pod_properties(process)
        if process.owner is not None and process.owner.job_id:
            texts['job_id'] = label_value(process.owner.job_id)
        if texts:  # a pod may have several containers: its first one
            identity = tuple(texts.get(name, '') for name in ('namespace', 'pod', 'job_id'))
            owners.setdefault(process.key.device, {}).setdefault(identity, texts)
    return {key: list(texts.values()) for key, texts in owners.items()}


def _pod_properties(process: ProcessSample) -> dict[str, str]:
    """Return namespace, name and container of a Kubernetes pod as label texts, empty if unknown."""
    owner = process.owner
    if owner is None:
        return {}
    namespace, _, pod = (owner.pod_name or '').rpartition('/')
    if not pod:
        return {}
    texts = {'namespace': namespace, 'pod': pod, 'container': owner.container_name}
    return {name: label_value(text) for name, text in texts.items() if text}


def host_name(sample: Sample, options: SeriesOptions) -> str:
    """Return the name of the host for labels, ``''`` if it is not known."""
    return options.hostname or sample.host.hostname


def texts_of(labels: Labels, properties: Mapping[str, str]) -> dict[str, str]:
    """Return label names and texts, without properties that are unknown."""
    return {name: properties[key] for name, key in labels.items() if key in properties}


def process_properties(process: ProcessSample, options: SeriesOptions) -> dict[str, str]:
    """Return the known properties of a process as label texts.

    Keys are ``pid``, ``user``, ``name``, ``type`` and ``status``; ``command_line`` if the options ask
    for it; and ``command``: the command line, or else the name.
    """
    has_command = options.commands and process.command is not None
    command_line = mask_command(process.command or '') if has_command else None
    properties: Mapping[str, Any] = {
        'pid': process.key.pid,
        'user': user_of(process),
        'name': process.name,
        'type': process.type,
        'status': process.status,
        'command_line': command_line,
        'command': (command_line if options.commands else process.name) or UNKNOWN,
        **owner_properties(process),
    }
    return {name: label_value(value) for name, value in properties.items() if value is not None}


def owner_properties(process: ProcessSample) -> dict[str, str]:
    """Return kind, ID and name of the owner, and its pod, as label texts; empty if unknown."""
    owner = process.owner
    if owner is None or not owner.kind:
        return {}
    texts = {'owner_kind': owner.kind, 'owner_id': owner.id, 'owner_name': owner.name or ''}
    return {**{name: label_value(text) for name, text in texts.items()}, **_pod_properties(process)}


def user_of(process: ProcessSample) -> str:
    """Return the user of a process as a label text."""
    return label_value(process.username) if process.username else UNKNOWN


# Families


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
    families: dict[str, Family] = {}
    for name in names:
        for family in _families_of(dialect(name), observation):
            if not family.points:
                continue
            known = families.get(family.name)
            if known is not None:
                family = known._replace(points=(*known.points, *family.points))
            families[family.name] = family
    if observation.sample.simulated:
        hostname = host_name(observation.sample, observation.options)
        labels = {'scenario': observation.sample.simulated, 'hostname': hostname}
        labels = {name: label_value(value) for name, value in labels.items()}
        text = 'the machine is simulated: these are not its GPUs'
        families[SIMULATED] = Family(SIMULATED, 'info', text, (Point(labels, 1.0),))
    return list(families.values())


def _families_of(table: Dialect, observation: Observation) -> Iterator[Family]:
    sample = observation.sample
    divided = {device.key.physical_index for device in sample.devices if device.key.is_mig}
    gpus = {d.key.physical_index: d for d in sample.devices if not d.key.is_mig}
    described = _distinct(
        (device, texts_of(table.labels, properties), properties)
        for device, properties in described_devices(
            sample, observation.options, by_owner='pod' in table.labels.values()
        )
        if device.status == 'ok'
        and not (
            table.replaces_gpus
            and device.key.physical_index in divided
            and device.key.mig_index < 0
        )
    )
    yield from _info_families(table.device_info, described)
    for row in table.devices:
        is_shared = table.replaces_gpus and not is_divided(row)
        points = []
        for device, labels, _ in described:
            items = series_of(row, device)
            if not items and is_shared and device.key.is_mig and device.key.physical_index in gpus:
                items = series_of(row, gpus[device.key.physical_index])
            for extra, value in items:
                points.append(Point({**labels, **dict(extra)} if extra else labels, value))
        yield Family(row.name, row.type, row.help, tuple(points))
    if table.has_processes or observation.options.processes:
        devices = {device.key: labels for device, labels, _ in described}
        yield from _process_families(table, observation, devices)
    if table.others is not None:
        yield from table.others(observation)


def is_divided(row: DeviceRow) -> bool:
    """Return whether a value of a GPU is the sum of those of its MIG devices."""
    return any(
        name.startswith(('memory_', 'bar1_')) and ALL_METRICS[name].unit == 'B'
        for name in row.metrics
    )


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
    unique: dict[tuple[str, ...], tuple[Described, dict[str, str], Mapping[str, str]]] = {}
    for row in described:
        unique.setdefault(tuple(itertools.chain.from_iterable(row[1].items())), row)
    return list(unique.values())


def _process_families(
    table: Dialect, observation: Observation, devices: Mapping[DeviceKey, Mapping[str, str]]
) -> Iterator[Family]:
    rows = []
    sample = observation.sample
    processes = [
        process
        for process in (sample.processes if observation.has_fresh_processes else ())
        if not process.is_outdated
    ]
    if len(processes) > MAX_PROCESSES:
        processes.sort(key=lambda process: -(process.gpu_memory_bytes or 0))
    for process in processes[:MAX_PROCESSES]:
        if process.key.device in devices:
            properties = process_properties(process, observation.options)
            labels = texts_of(table.process_labels, properties)
            rows.append((process, {**devices[process.key.device], **labels}, properties))
    described = _distinct(rows)
    yield from _info_families(table.process_info, described)
    for row in table.processes:
        points = []
        for process, labels, _ in described:
            value = operator.attrgetter(ALL_PROCESS_METRICS[row.metric].field)(process)
            if value is not None and not (row.metric == 'start_time' and value < 0):
                points.append(Point(labels, scaled(value, row.scale)))
        yield Family(row.name, 'gauge', row.help, tuple(points))
