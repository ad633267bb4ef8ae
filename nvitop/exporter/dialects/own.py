# SPDX-License-Identifier: Apache-2.0
"""nvitop's own names: derived from the table of metrics, in the base units of Prometheus."""

from __future__ import annotations

import collections
import platform
import re
from typing import TYPE_CHECKING, Iterator, Mapping, Sequence

from nvitop.basics.metrics import (
    EXTENDED_METRICS,
    METRICS,
    PROCESS_METRICS,
    UNITS,
    Metric,
    ProcessMetric,
)
from nvitop.exporter.dialects import (
    DeviceRow,
    Dialect,
    Family,
    InfoRow,
    Point,
    ProcessRow,
    has_driver,
)
from nvitop.exporter.families import label_value, owner_properties, user_of
from nvitop.health import HELD_RULE, device_states, findings, word_of
from nvitop.health.xid import ACTIONS, action_of, xid_of
from nvitop.version import __version__

if TYPE_CHECKING:
    from nvitop.exporter.dialects import Described, Form, Observation
    from nvitop.sampling.types import DeviceKey, Sample

DEVICE_PREFIX, PROCESS_PREFIX = 'nvitop_gpu_', 'nvitop_process_'
_NAME = re.compile(r'(?P<name>\w*)(\{(?P<labels>[^}]*)\})?')
#: Texts that are exported as numbers.
_NUMBERS: dict[str, Form] = {'performance_state': 'digits'}
#: Maximum number of series about owners.
MAX_OWNERS = 500
#: Severity of a finding → value of its series. Without a finding there is none.
SEVERITIES = {'info': 1.0, 'unknown': 2.0, 'warning': 2.0, 'critical': 3.0}
HEALTH_HELP = (
    'severity of a finding, only while there is one: 1 info, 2 warning or unknown, 3 critical'
)
#: Counters of the use of GPUs by users and owners, and of free GPUs, and their help.
USAGE_COUNTERS = {
    'seconds': 'GPU time used, divided by work: each GPU counts once, a MIG device by its share of the GPU',
    'held_idle_seconds': 'GPU time of idle processes while their GPU was held',
    'energy_joules': 'energy of GPUs, divided by utilization',
    'kernel_seconds': 'time in which kernels ran: utilization × time, summed over devices',
    'measured_seconds': 'time with processes whose utilization is known, summed over devices',
}
FREE_COUNTERS = {
    'seconds': 'time in which no process held a GPU, summed over GPUs',
    'energy_joules': 'energy of GPUs that no process held',
}
#: What a device is doing.
STATES = ('free', 'claimed', 'busy', 'in use', 'held')
STATE_HELP = f'1 for what the GPU is doing: free, claimed (with nvitop run), busy, in use (its processes pause), or held ({HELD_RULE})'
#: Help of series that several metrics share.
_SHARED_HELP = {
    'clock_event': 'time in which the reason lowered the clocks',
    'ecc_errors': 'ECC errors since the driver was loaded (volatile) or over the life of the board',
    'nvlink_errors': 'errors on all NVLinks since the driver was loaded',
    'remapped_rows': 'memory rows remapped because of errors',
    'retired_pages': 'memory pages retired because of errors',
}
#: Unit of process metrics → base unit. A metric of kind ``time`` is in seconds, too.
_PROCESS_UNITS = {'B': 'bytes', '%': 'ratio', 's': 'seconds'}

#: Extended metrics with series.
EXPORTED = tuple(metric for metric in EXTENDED_METRICS if metric.exported)

#: Labels of all series of devices. MIG devices have those of their GPU and further ones.
LABELS = {
    'gpu': 'index',
    'uuid': 'gpu_uuid',
    'hostname': 'hostname',
    'gpu_instance': 'gpu_instance_id',
    'compute_instance': 'compute_instance_id',
    'mig_uuid': 'mig_uuid',
}


def device_row(metric: Metric) -> DeviceRow | None:
    """Return the row of a metric; ``None`` if it has no series."""
    form = 'reasons' if metric.kind == 'list' else _NUMBERS.get(metric.name, 'number')
    if form == 'number' and (
        not metric.is_number or metric.name in ('index', 'numa_node', 'minor_number')
    ):
        return None
    match = _NAME.fullmatch(metric.exported)
    assert match is not None, metric.exported
    unit = UNITS[metric.unit]
    parts = [match['name'] or metric.name, unit.base, 'total' if metric.counter else '']
    pairs = (pair.partition('=') for pair in (match['labels'] or '').split(',') if pair)
    return DeviceRow(
        DEVICE_PREFIX + '_'.join(filter(None, parts)),
        (metric.name,),
        _SHARED_HELP.get(match['name'], metric.help),
        'counter' if metric.counter else 'gauge',
        unit.scale,
        tuple((label, value) for label, _, value in pairs),
        form,
    )


def process_row(metric: ProcessMetric) -> ProcessRow | None:
    """Return the row of a metric of processes; ``None`` if it has no series."""
    unit = 'seconds' if metric.kind == 'time' else _PROCESS_UNITS.get(metric.unit)
    if unit is None:
        return None
    name = metric.exported or metric.name
    scale = 0.01 if unit == 'ratio' else 1.0
    return ProcessRow(f'{PROCESS_PREFIX}{name}_{unit}', metric.name, metric.help, scale)


def _info_labels() -> dict[str, str]:
    texts = [metric for metric in METRICS if metric.kind == 'str' and metric.name != 'uuid']
    return {
        **{m.exported or m.name: m.name for m in texts if m.name not in _NUMBERS},
        'numa_node': 'numa_node',
        'minor_number': 'minor_number',
        'driver_version': 'driver_version',
        'cuda_version': 'cuda_version',
        'mig': 'mig_index',
        'mig_profile': 'mig_profile',
    }


def _others(observation: Observation, devices: Sequence[Described]) -> Iterator[Family]:
    families = [*_states(observation, devices), *_xids(observation, devices)]
    labels = {device.key: texts for device, texts, _ in devices if device.status == 'ok'}
    if observation.options.users:
        if observation.has_fresh_processes:
            families += _users(observation.sample, labels)
        families += _usage(observation)
    if observation.options.owners and observation.has_fresh_processes:
        families.append(_owners(observation.sample, labels))
    families += _about_the_exporter(observation)
    name = observation.sample.host.hostname
    host = {'hostname': label_value(name)} if name else {}
    for family in families:
        yield family._replace(points=[Point({**labels, **host}, v) for labels, v in family.points])


def _states(observation: Observation, devices: Sequence[Described]) -> Iterator[Family]:
    """Yield the series that a device has even while it does not respond."""
    sample = observation.sample
    up, problems, asleep = [], [], []
    for device, labels, _ in devices:
        if device.status == 'asleep':
            asleep.append(Point(labels, 1.0))
            continue
        if device.status != 'not permitted':
            up.append(Point(labels, float(device.status == 'ok')))
        if device.status != 'ok':
            texts = {'status': device.status, 'reason': label_value(device.reason)}
            problems.append(Point({**labels, **texts}, 1.0))
    text = '1 while the GPU sleeps: it has no other series, because reading them would wake it'
    yield Family(f'{DEVICE_PREFIX}asleep', 'gauge', text, asleep)
    yield Family(f'{DEVICE_PREFIX}up', 'gauge', 'whether the GPU responds', up)
    text = 'why the GPU does not respond, or may not be opened'
    yield Family(f'{DEVICE_PREFIX}problem_info', 'info', text, problems)
    if has_driver(sample):
        gpus = sum(not device.key.is_mig for device in sample.devices)
        expected = Point({}, float(gpus + len(sample.missing_gpus)))
        text = 'number of GPUs that are listed by the driver, or on the PCI bus and not listed'
        yield Family('nvitop_gpus_expected', 'gauge', text, [expected])
        missing = [Point({'pci_bus_id': bus_id}, 1.0) for bus_id in sample.missing_gpus]
        text = 'a GPU that is on the PCI bus but not listed by the driver'
        yield Family(f'{DEVICE_PREFIX}missing', 'gauge', text, missing)
    awake = {device.key: texts for device, texts, _ in devices if device.status != 'asleep'}
    health: dict[tuple[DeviceKey, str], Point] = {}
    for finding in findings(sample):
        # That a GPU may not be opened is in problem_info: no alert of its health should fire.
        if finding.device in awake and finding.kind != 'not_permitted':
            labels = {**awake[finding.device], 'kind': finding.kind}
            health[finding.device, finding.kind] = Point(labels, SEVERITIES[finding.severity])
    yield Family(f'{DEVICE_PREFIX}health', 'gauge', HEALTH_HELP, list(health.values()))
    if observation.has_fresh_processes:
        states = device_states(sample)
        words = [(labels, word_of(sample, d, states[d.key])) for d, labels, _ in devices]
        doing = [
            Point({**labels, 'state': state}, float(word == state))
            for labels, word in words
            if word in STATES
            for state in STATES
        ]
        yield Family(f'{DEVICE_PREFIX}state', 'gauge', STATE_HELP, doing)


def _xids(observation: Observation, devices: Sequence[Described]) -> Iterator[Family]:
    labels = {device.key: texts for device, texts, _ in devices}
    keys = {key.uuid: key for key in labels}
    last_seen = {
        (keys[uuid], code): when
        for (uuid, code), when in observation.past_xids.items()
        if uuid in keys
    }
    times = []
    for event in observation.sample.events:
        if event.kind == 'xid' and event.device in labels:
            texts = {**labels[event.device], 'xid': str(event.code)}
            times.append(Point(texts, float(event.times)))
            last_seen[event.device, event.code] = event.last
    seen = []
    for (key, code), when in last_seen.items():
        action = {'action': xid_of(code).action, 'severity': action_of(code).severity}
        seen.append(Point({**labels[key], 'xid': str(code), **action}, when))
    text = 'Xid errors since the exporter was started'
    yield Family(f'{DEVICE_PREFIX}xid_errors_total', 'counter', text, times)
    text = f'when the Xid was last reported, and what to do: {", ".join(ACTIONS)}'
    yield Family(f'{DEVICE_PREFIX}xid_last_seen_timestamp_seconds', 'gauge', text, seen)


def _users(sample: Sample, labels: Mapping[DeviceKey, dict[str, str]]) -> Iterator[Family]:
    memory: dict[tuple[DeviceKey, str], float] = {}
    pids: dict[tuple[DeviceKey, str], set[int]] = collections.defaultdict(set)
    for process in sample.processes:
        key = process.key.device, user_of(process)
        if key[0] in labels:
            pids[key].add(process.key.pid)
            if process.gpu_memory_bytes is not None:
                memory[key] = memory.get(key, 0) + process.gpu_memory_bytes
    counts = {key: float(len(numbers)) for key, numbers in pids.items()}
    for name, text, values in (
        ('memory_bytes', 'device memory that the processes of a user use', memory),
        ('processes', 'number of processes of a user on a GPU', counts),
    ):
        points = [
            Point({'user': user, **labels[device]}, float(value))
            for (device, user), value in values.items()
        ]
        yield Family(f'nvitop_user_gpu_{name}', 'gauge', text, points)


def _usage(observation: Observation) -> Iterator[Family]:
    """Yield the counters of the use of GPUs."""
    for prefix, size, counters in (
        ('nvitop_user_gpu_', 1, USAGE_COUNTERS),
        ('nvitop_owner_gpu_', 2, USAGE_COUNTERS),
        ('nvitop_free_gpu_', 0, FREE_COUNTERS),
    ):
        uses = [
            (dict(holder), use)
            for holder, use in observation.usage.items()
            if min(len(holder), 2) == size
        ]
        for name, text in counters.items():
            points = [Point(labels, use.get(name, 0.0)) for labels, use in uses]
            yield Family(f'{prefix}{name}_total', 'counter', text, points)


def _owners(sample: Sample, labels: Mapping[DeviceKey, dict[str, str]]) -> Family:
    points: dict[tuple[tuple[str, str], ...], Point] = {}
    for process in sample.processes:
        owner = owner_properties(process)
        if owner and process.key.device in labels and len(points) < MAX_OWNERS:
            texts = {**labels[process.key.device], 'user': user_of(process), **owner}
            points.setdefault(tuple(texts.items()), Point(texts, 1.0))
    text = 'a job, pod, container, unit or session with processes on the GPU'
    return Family(f'{DEVICE_PREFIX}owner_info', 'info', text, list(points.values()))


def _about_the_exporter(observation: Observation) -> Iterator[Family]:
    sample = observation.sample
    versions = {'version': __version__, 'python': platform.python_version()}
    yield Family('nvitop_build_info', 'info', 'versions of the exporter', [Point(versions, 1.0)])
    is_collected = observation.is_fresh and has_driver(sample)
    last = {
        'success': ('whether the driver responds and the last sample is recent', is_collected),
        'timestamp_seconds': ('when the last sample was taken', sample.timestamp),
        'duration_seconds': ('time that the last sample took', sample.cost.seconds),
    }
    for name, (text, value) in last.items():
        yield Family(f'nvitop_last_collect_{name}', 'gauge', text, [Point({}, float(value))])
    text = 'number of samples for which the driver did not respond'
    failures = Point({}, float(observation.failures))
    yield Family('nvitop_collect_failures_total', 'counter', text, [failures])


DIALECT = Dialect(
    name='own',
    help='names of nvitop: base units, nvitop_gpu_…',
    devices=tuple(filter(None, map(device_row, (*METRICS, *EXPORTED)))),
    labels=LABELS,
    device_info=(
        InfoRow(f'{DEVICE_PREFIX}info', 'properties of the GPU or MIG device', _info_labels()),
    ),
    processes=tuple(filter(None, map(process_row, PROCESS_METRICS))),
    process_labels={'pid': 'pid'},
    process_info=(
        InfoRow(
            f'{PROCESS_PREFIX}info',
            'properties of the process',
            {
                'user': 'user',
                'name': 'name',
                'type': 'type',
                'status': 'status',
                'command': 'command_line',
                'owner_kind': 'owner_kind',
                'owner_id': 'owner_id',
                'owner_name': 'owner_name',
                'namespace': 'namespace',
                'pod': 'pod',
                'container': 'container',
            },
        ),
    ),
    up=f'{DEVICE_PREFIX}up',
    problems=f'{DEVICE_PREFIX}problem_info',
    asleep=f'{DEVICE_PREFIX}asleep',
    others=_others,
)
