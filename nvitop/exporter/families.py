# SPDX-License-Identifier: Apache-2.0
"""Families of series from a sample, for one or several dialects, and their text. Pure."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping

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
from nvitop.exporter.dialects import Dialect, Family, Observation, Point, SeriesOptions, dialect
from nvitop.sampling.types import Demand, DeviceKey, DeviceSample, HostSample, ProcessSample, Sample

if TYPE_CHECKING:
    from nvitop.exporter.dialects import Described, DeviceRow, InfoRow, Labels

#: All metrics by name, also extended ones.
ALL_METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*METRICS, *EXTENDED_METRICS, *LISTS)
}
ALL_PROCESS_METRICS: dict[str, ProcessMetric] = {metric.name: metric for metric in PROCESS_METRICS}
#: Label of the series of rows with form ``reasons``.
REASON_LABEL = 'reason'
#: Clock event reasons in the order of their bits in NVML.
_REASONS = (*CLOCK_EVENT_REASONS, 'display_clock_setting', 'board_limit', 'reliability')
_REASON_BITS = {name: 1 << place for place, name in enumerate(_REASONS)}
#: Maximum number of processes with series of their own; those with most GPU memory come first.
MAX_PROCESSES = 500
#: Metrics that are measured only on request, because profilers cannot use the same counters.
PROFILING_METRICS_BEGIN = 'begin_gpm'
#: Maximum length of a label: names of processes and users are untrusted input.
MAX_LABEL_LENGTH = 128
#: Series on the pages of simulated machines, in all dialects.
SIMULATED = 'nvitop_simulation_info'
#: Label text for an unknown user or command.
UNKNOWN = '(unknown)'
#: Metrics whose values are label texts.
TEXT_METRICS = tuple(metric for metric in METRICS if metric.kind == 'str')
_ESCAPED = str.maketrans({'\\': r'\\', '\n': r'\n', '"': r'\"'})

# Values


def scaled(value: float, scale: float) -> float:
    """Return value × scale without the noise of binary fractions: 70 × 0.01 is 0.7."""
    return value if scale == 1 else float(f'{value * scale:.15g}')


def series_of(row: DeviceRow, device: DeviceSample) -> list[tuple[dict[str, str], float]]:
    """Return constant labels and value of each series of a row: none if a value is not available."""
    metrics = [ALL_METRICS[name] for name in row.metrics]
    values: list[Any] = [device.value_of(metric) for metric in metrics]
    if None in values:
        return []
    value, labels = values[0], dict(row.labels)
    if row.form == 'number':
        total = sum(value / metric.divisor for metric, value in zip(metrics, values))
        return [(labels, scaled(total, row.scale))]
    if row.form == 'digits':
        digits = value.lstrip('P')
        return [(labels, float(digits))] if digits.isdecimal() else []
    if row.form == 'word':
        words = row.item.split(',')
        return [(labels, float(words.index(value)))] if value in words else []
    if row.form == 'mask':
        # Flags without a name are hexadecimal numbers.
        bits = (_REASON_BITS.get(name) or int(name, 16) for name in value)
        return [(labels, float(sum(bits)))]
    if row.form == 'reasons':
        names = dict.fromkeys((*CLOCK_EVENT_REASONS, *value))
        return [({REASON_LABEL: name}, float(name in value)) for name in names]
    links = [
        ({'link': str(link)}, scaled(numbers[int(row.item)], row.scale))
        for link, numbers in enumerate(value)
        if numbers[int(row.item)] is not None
    ]
    if row.form == 'column' or not links:
        return links
    return [(labels, sum(number for _, number in links) / len(links))]


# Labels


def label_value(value: object) -> str:
    """Return a value as a label text: printable, and of limited length."""
    text = printable(str(value)[: MAX_LABEL_LENGTH + 1])
    return text if len(text) <= MAX_LABEL_LENGTH else f'{text[: MAX_LABEL_LENGTH - 1]}…'


def label_values(properties: Mapping[str, object]) -> dict[str, str]:
    """Return properties as label texts, without those that are unknown."""
    return {name: label_value(value) for name, value in properties.items() if value is not None}


def device_properties(
    sample: Sample, device: DeviceSample, gpu: DeviceSample | None
) -> dict[str, str]:
    """Return the known properties of a device, and of its GPU if it is a MIG device.

    Keys are the names of text metrics, and those below.
    """
    key, info = device.key, device.info
    parent = gpu.info if gpu is not None else info
    gpu_uuid = gpu.key.uuid if gpu is not None else ('' if key.is_mig else key.uuid)
    return label_values(
        {
            **{metric.name: device.value_of(metric) for metric in TEXT_METRICS},
            'index': key.physical_index,
            'label': key.label,
            'device_file': f'nvidia{key.physical_index}',
            'uuid': key.uuid or None,
            'gpu_uuid': gpu_uuid or None,
            'gpu_name': parent.name,
            'bus_id': parent.bus_id,
            'numa_node': info.numa_node,
            'minor_number': info.minor_number,
            'hostname': sample.host.hostname or None,
            'driver_version': sample.driver_version,
            'cuda_version': sample.cuda_driver_version,
            'mig_index': key.mig_index if key.is_mig else None,
            'mig_uuid': key.uuid or None if key.is_mig else None,
            'mig_profile': info.mig_profile,
            'gpu_instance_id': info.gpu_instance_id,
            'compute_instance_id': info.compute_instance_id,
        }
    )


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
    """Return namespace, name and container of a Kubernetes pod, empty if unknown."""
    owner = process.owner
    namespace, _, pod = ((owner and owner.pod_name) or '').rpartition('/')
    if owner is None or not pod:
        return {}
    return label_values(
        {'namespace': namespace or None, 'pod': pod, 'container': owner.container_name or None}
    )


def process_properties(process: ProcessSample, options: SeriesOptions) -> dict[str, str]:
    """Return the known properties of a process; its command line only if the options ask for it."""
    has_command = options.commands and process.command is not None
    command_line = mask_command(process.command or '') if has_command else None
    properties = {
        'pid': process.key.pid,
        'user': user_of(process),
        'name': process.name,
        'type': process.type,
        'status': process.status,
        'command_line': command_line,
        'command': (command_line if options.commands else process.name) or UNKNOWN,
    }
    return {**label_values(properties), **owner_properties(process)}


def owner_properties(process: ProcessSample) -> dict[str, str]:
    """Return kind, ID and name of the owner, and its pod; empty if unknown."""
    owner = process.owner
    if owner is None or not owner.kind:
        return {}
    texts = {'owner_kind': owner.kind, 'owner_id': owner.id, 'owner_name': owner.name or ''}
    return {**label_values(texts), **_pod_properties(process)}


def user_of(process: ProcessSample) -> str:
    """Return the user of a process as a label text."""
    return label_value(process.username) if process.username else UNKNOWN


def _texts_of(labels: Labels, properties: Mapping[str, str]) -> dict[str, str]:
    """Return label names and texts, without properties that are unknown."""
    return {name: properties[key] for name, key in labels.items() if key in properties}


def _distinct(described: Iterable[Described]) -> list[Described]:
    """Leave out duplicates of labels: compute instances look the same in DCGM."""
    unique: dict[tuple[tuple[str, str], ...], Described] = {}
    for row in described:
        unique.setdefault(tuple(row[1].items()), row)
    return list(unique.values())


def _described_devices(table: Dialect, observation: Observation) -> list[Described]:
    """Return the devices that have series in a dialect, even if they do not respond.

    A device appears once for each pod and job on it if the dialect and the options name them.
    """
    sample = observation.sample
    gpus = {d.key.physical_index: d for d in sample.devices if not d.key.is_mig}
    divided = {d.key.physical_index for d in sample.devices if d.key.is_mig}
    by_owner = observation.options.owners and 'pod' in table.labels.values()
    owners = _owners_of_devices(sample) if by_owner else {}
    rows = []
    for device in sample.devices:
        index = device.key.physical_index
        if table.replaces_gpus and index in divided and not device.key.is_mig:
            continue
        properties = device_properties(sample, device, gpus.get(index))
        for texts in owners.get(device.key, ({},)):
            known = {**properties, **texts}
            rows.append((device, _texts_of(table.labels, known), known))
    return _distinct(rows)


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
    sample = observation.sample
    if observation.options.hostname:
        host = sample.host._replace(hostname=observation.options.hostname)
        sample = sample._replace(host=host)
        observation = observation._replace(sample=sample)
    families: dict[str, Family] = {}
    for name in names:
        for family in _families_of(dialect(name), observation):
            if not family.points:
                continue
            known = families.get(family.name)
            if known is not None:
                family = known._replace(points=[*known.points, *family.points])
            families[family.name] = family
    if sample.simulated:
        labels = label_values({'scenario': sample.simulated, 'hostname': sample.host.hostname})
        text = 'the machine is simulated: these are not its GPUs'
        families[SIMULATED] = Family(SIMULATED, 'info', text, [Point(labels, 1.0)])
    return list(families.values())


def _families_of(table: Dialect, observation: Observation) -> Iterator[Family]:
    all_devices = _described_devices(table, observation)
    described = [row for row in all_devices if row[0].status == 'ok']
    gpus = {
        device.key.physical_index: device
        for device in observation.sample.devices
        if not device.key.is_mig
    }
    yield from _info_families(table.device_info, described)
    for row in table.devices:
        is_shared = table.replaces_gpus and not is_divided(row)
        points = []
        for device, labels, _ in described:
            series = series_of(row, device)
            if not series and is_shared and device.key.is_mig and device.key.physical_index in gpus:
                series = series_of(row, gpus[device.key.physical_index])
            points += [
                Point({**labels, **extra} if extra else labels, value) for extra, value in series
            ]
        yield Family(row.name, row.type, row.help, points)
    if table.has_processes or observation.options.processes:
        yield from _process_families(
            table, observation, {d.key: texts for d, texts, _ in described}
        )
    if table.others is not None:
        yield from table.others(observation, all_devices)


def is_divided(row: DeviceRow) -> bool:
    """Return whether a value of a GPU is the sum of those of its MIG devices."""
    return any(
        name.startswith(('memory_', 'bar1_')) and ALL_METRICS[name].unit == 'B'
        for name in row.metrics
    )


def _info_families(rows: Iterable[InfoRow], described: list[Described]) -> Iterator[Family]:
    for row in rows:
        points = [
            Point({**labels, **_texts_of(row.labels, properties)}, 1.0)
            for _, labels, properties in described
        ]
        yield Family(row.name, row.type, row.help, points)


def _process_families(
    table: Dialect, observation: Observation, devices: Mapping[DeviceKey, Mapping[str, str]]
) -> Iterator[Family]:
    processes = [
        process
        for process in (observation.sample.processes if observation.has_fresh_processes else ())
        if not process.is_outdated
    ]
    if len(processes) > MAX_PROCESSES:
        processes.sort(key=lambda process: -(process.gpu_memory_bytes or 0))
    rows = []
    for process in processes[:MAX_PROCESSES]:
        if process.key.device in devices:
            properties = process_properties(process, observation.options)
            labels = _texts_of(table.process_labels, properties)
            rows.append((process, {**devices[process.key.device], **labels}, properties))
    described = _distinct(rows)
    yield from _info_families(table.process_info, described)
    for row in table.processes:
        value_of = operator.attrgetter(ALL_PROCESS_METRICS[row.metric].field)
        points = [
            Point(labels, scaled(value, row.scale))
            for process, labels, _ in described
            for value in [value_of(process)]
            if value is not None and not (row.metric == 'start_time' and value < 0)
        ]
        yield Family(row.name, 'gauge', row.help, points)


# Text


def render(families: Iterable[Family]) -> str:
    """Return families in the text format of Prometheus."""
    lines: list[str] = []
    for name, kind, text, points in families:
        escaped = text.replace('\\', r'\\').replace('\n', r'\n')
        lines.append(f'# HELP {name} {escaped}')
        lines.append(f'# TYPE {name} {"gauge" if kind == "info" else kind}')
        for labels, value in points:
            pairs = [f'{label}="{text.translate(_ESCAPED)}"' for label, text in labels.items()]
            number = repr(float(value))
            number = number[:-2] if number.endswith('.0') else number
            lines.append(f'{name}{{{",".join(pairs)}}} {number}' if pairs else f'{name} {number}')
    return ''.join(f'{line}\n' for line in lines)
