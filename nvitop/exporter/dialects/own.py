# SPDX-License-Identifier: Apache-2.0
"""nvitop's own names: derived from the table of metrics, in the base units of Prometheus."""

from __future__ import annotations

import collections
import itertools
import platform
import re
from typing import TYPE_CHECKING, Iterator, Mapping, Sequence, Tuple

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
    from nvitop.exporter.dialects import Described, Form, Observation, SeriesType
    from nvitop.sampling.types import DeviceKey

    #: Name without ``nvitop_``, labels, and value of a series.
    Value = Tuple[str, Mapping[str, str], float]

DEVICE_PREFIX, PROCESS_PREFIX = 'nvitop_gpu_', 'nvitop_process_'
_NAME = re.compile(r'(?P<name>\w*)(\{(?P<labels>[^}]*)\})?')
#: Texts that are exported as numbers.
_NUMBERS: dict[str, Form] = {'performance_state': 'digits'}
#: Maximum number of series about owners.
MAX_OWNERS = 500
#: Severity of a finding → value of its series. Without a finding there is none.
SEVERITIES = {'info': 1.0, 'unknown': 2.0, 'warning': 2.0, 'critical': 3.0}
#: Labels of the owner of a process.
OWNER_LABELS = ('owner_kind', 'owner_id', 'owner_name', 'namespace', 'pod', 'container')
#: What a device is doing.
STATES = ('free', 'claimed', 'busy', 'in use', 'held')
#: Counters of the use of GPUs by users and owners, and their help.
USAGE_COUNTERS = {
    'seconds': 'GPU time used, divided by work: each GPU counts once, a MIG device by its share of the GPU',
    'held_idle_seconds': 'GPU time of idle processes while their GPU was held',
    'energy_joules': 'energy of GPUs, divided by utilization',
    'kernel_seconds': 'time in which kernels ran: utilization × time, summed over devices',
    'measured_seconds': 'time with processes whose utilization is known, summed over devices',
}
_GAUGES = {
    'nvitop_gpu_asleep': '1 while the GPU sleeps: it has no other series, because reading them would wake it',
    'nvitop_gpu_up': 'whether the GPU responds',
    'nvitop_gpus_expected': 'number of GPUs that are listed by the driver, or on the PCI bus and not listed',
    'nvitop_gpu_missing': 'a GPU that is on the PCI bus but not listed by the driver',
    'nvitop_gpu_health': 'severity of a finding, only while there is one: 1 info, 2 warning or unknown, 3 critical',
    'nvitop_gpu_state': '1 for what the GPU is doing: free, claimed (with nvitop run), busy, in use '
    f'(its utilization is below 5 % or unknown), or held ({HELD_RULE})',
    'nvitop_gpu_xid_last_seen_timestamp_seconds': f'when the Xid was last reported, and what to do: {", ".join(ACTIONS)}',
    'nvitop_user_gpu_memory_bytes': 'device memory that the processes of a user use',
    'nvitop_user_gpu_processes': 'number of processes of a user on a GPU',
    'nvitop_last_collect_success': 'whether the driver responds and the last sample is recent',
    'nvitop_last_collect_timestamp_seconds': 'when the last sample was taken',
    'nvitop_last_collect_duration_seconds': 'time that the last sample took',
}
_INFOS = {
    'nvitop_gpu_problem_info': 'why the GPU does not respond, or may not be opened',
    'nvitop_gpu_owner_info': 'a job, pod, container, unit or session with processes on the GPU',
    'nvitop_build_info': 'versions of the exporter',
}
_COUNTERS = {
    'nvitop_gpu_xid_errors_total': 'Xid errors since the exporter was started',
    **{f'nvitop_user_gpu_{name}_total': text for name, text in USAGE_COUNTERS.items()},
    **{f'nvitop_owner_gpu_{name}_total': text for name, text in USAGE_COUNTERS.items()},
    'nvitop_free_gpu_seconds_total': 'time in which no process held a GPU, summed over GPUs',
    'nvitop_free_gpu_energy_joules_total': 'energy of GPUs that no process held',
    'nvitop_collect_failures_total': 'number of samples for which the driver did not respond',
}
#: Series that are not made from one metric: type and help.
SERIES: dict[str, tuple[SeriesType, str]] = {
    **{name: ('gauge', text) for name, text in _GAUGES.items()},
    **{name: ('info', text) for name, text in _INFOS.items()},
    **{name: ('counter', text) for name, text in _COUNTERS.items()},
}
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
    hostname = observation.sample.host.hostname
    host = {'hostname': label_value(hostname)} if hostname else {}
    points: dict[str, list[Point]] = {name: [] for name in SERIES}
    for name, labels, value in itertools.chain(
        _states(observation, devices),
        _health(observation, devices),
        _usage(observation),
        _processes(observation, devices),
        _collection(observation),
    ):
        points[f'nvitop_{name}'].append(Point({**labels, **host}, float(value)))
    for name, (kind, text) in SERIES.items():
        yield Family(name, kind, text, points[name])


def _states(observation: Observation, devices: Sequence[Described]) -> Iterator[Value]:
    """Yield what a device has even while it does not respond."""
    sample = observation.sample
    states = device_states(sample) if observation.has_fresh_processes else {}
    for device, labels, _ in devices:
        if device.key in states:
            word = word_of(sample, device, states[device.key])
            for state in STATES if word in STATES else ():
                yield 'gpu_state', {**labels, 'state': state}, word == state
        if device.status == 'asleep':
            yield 'gpu_asleep', labels, 1
            continue
        if device.status != 'not permitted':
            yield 'gpu_up', labels, device.status == 'ok'
        if device.status != 'ok':
            problem = {'status': device.status, 'reason': label_value(device.reason)}
            yield 'gpu_problem_info', {**labels, **problem}, 1
    if has_driver(sample):
        gpus = sum(not device.key.is_mig for device in sample.devices)
        yield 'gpus_expected', {}, gpus + len(sample.missing_gpus)
        for bus_id in sample.missing_gpus:
            yield 'gpu_missing', {'pci_bus_id': bus_id}, 1


def _health(observation: Observation, devices: Sequence[Described]) -> Iterator[Value]:
    labels = {device.key: texts for device, texts, _ in devices}
    awake = {device.key for device, _, _ in devices if device.status != 'asleep'}
    health: dict[tuple[DeviceKey, str], float] = {}
    for finding in findings(observation.sample):
        # That a GPU may not be opened is in problem_info: no alert of its health should fire.
        if finding.device in awake and finding.kind != 'not_permitted':
            health[finding.device, finding.kind] = SEVERITIES[finding.severity]
    for (key, kind), severity in health.items():
        yield 'gpu_health', {**labels[key], 'kind': kind}, severity
    keys = {key.uuid: key for key in labels}
    last_seen = {
        (keys[uuid], code): when
        for (uuid, code), when in observation.past_xids.items()
        if uuid in keys
    }
    for event in observation.sample.events:
        if event.kind == 'xid' and event.device in labels:
            xid = {**labels[event.device], 'xid': str(event.code)}
            yield 'gpu_xid_errors_total', xid, event.times
            last_seen[event.device, event.code] = event.last
    for (key, number), when in last_seen.items():
        advice = {'action': xid_of(number).action, 'severity': action_of(number).severity}
        xid = {**labels[key], 'xid': str(number), **advice}
        yield 'gpu_xid_last_seen_timestamp_seconds', xid, when


def _usage(observation: Observation) -> Iterator[Value]:
    for holder, use in observation.usage.items() if observation.options.users else ():
        whose = ('free', 'user', 'owner')[min(len(holder), 2)]
        for name in USAGE_COUNTERS:
            if f'nvitop_{whose}_gpu_{name}_total' in SERIES:
                yield f'{whose}_gpu_{name}_total', dict(holder), use.get(name, 0.0)


def _processes(observation: Observation, devices: Sequence[Described]) -> Iterator[Value]:
    labels = {device.key: texts for device, texts, _ in devices if device.status == 'ok'}
    memory: dict[tuple[DeviceKey, str], float] = {}
    pids: dict[tuple[DeviceKey, str], set[int]] = collections.defaultdict(set)
    owners: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for process in observation.sample.processes if observation.has_fresh_processes else ():
        device, user = process.key.device, user_of(process)
        if device not in labels:
            continue
        pids[device, user].add(process.key.pid)
        if process.gpu_memory_bytes is not None:
            memory[device, user] = memory.get((device, user), 0) + process.gpu_memory_bytes
        owner = owner_properties(process)
        if owner and len(owners) < MAX_OWNERS:
            texts = {**labels[device], 'user': user, **owner}
            owners[tuple(texts.items())] = texts
    if observation.options.users:
        for (device, user), size in memory.items():
            yield 'user_gpu_memory_bytes', {'user': user, **labels[device]}, size
        for (device, user), numbers in pids.items():
            yield 'user_gpu_processes', {'user': user, **labels[device]}, len(numbers)
    for texts in owners.values() if observation.options.owners else ():
        yield 'gpu_owner_info', texts, 1


def _collection(observation: Observation) -> Iterator[Value]:
    sample = observation.sample
    yield 'build_info', {'version': __version__, 'python': platform.python_version()}, 1
    yield 'last_collect_success', {}, observation.is_fresh and has_driver(sample)
    yield 'last_collect_timestamp_seconds', {}, sample.timestamp
    yield 'last_collect_duration_seconds', {}, sample.cost.seconds
    yield 'collect_failures_total', {}, observation.failures


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
                **{name: name for name in ('user', 'name', 'type', 'status')},
                'command': 'command_line',
                **{name: name for name in OWNER_LABELS},
            },
        ),
    ),
    up=f'{DEVICE_PREFIX}up',
    problems=f'{DEVICE_PREFIX}problem_info',
    asleep=f'{DEVICE_PREFIX}asleep',
    others=_others,
)
