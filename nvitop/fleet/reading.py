# SPDX-License-Identifier: Apache-2.0
"""Hosts and GPUs from the series of a response, or from samples. Pure.

A host with the names of ``nvitop exporter`` is read by them alone, others by those of dcgm-exporter.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Iterable, Iterator, Mapping, Sequence, cast

from nvitop.basics.printable import printable
from nvitop.fleet.series import DCGM_NAMES, INSTANCE, OWN_NAMES, ROW, renamed
from nvitop.fleet.types import (
    LATE_SECONDS,
    SIMULATED,
    Fleet,
    FleetFinding,
    FleetGpu,
    FleetHost,
    FleetOwner,
    FleetUse,
)
from nvitop.health import (
    BUSY_PERCENT,
    HELD_SECONDS,
    KINDS,
    device_states,
    findings,
    state_of_values,
    word_of,
)
from nvitop.health.xid import action_of
from nvitop.owner.types import Layer

if TYPE_CHECKING:
    from nvitop.fleet.queries import Scope
    from nvitop.fleet.types import FaultSeverity, Series
    from nvitop.health.states import DeviceWord
    from nvitop.sampling.types import DeviceKey, ProcessSample, Sample

#: Numbers are compared in groups of digits, because converting thousands of digits takes long.
_DIGITS = re.compile('([0-9]{1,18})')
#: Values of ``nvitop_gpu_health`` from which a finding is a warning, and critical.
_WARNING, _CRITICAL = 2.0, 3.0
#: Findings that ``nvitop_gpu_up`` has, too.
_SILENT_KINDS = ('lost', 'not_responding', 'failing')
_STATES = ('free', 'claimed', 'busy', 'in use', 'held')
_MIB = float(1 << 20)
#: Series → value of a GPU, and the factor of its unit.
_VALUES: dict[str, tuple[str, float]] = {
    'nvitop_gpu_utilization_ratio': ('utilization', 100.0),
    'nvitop_gpu_memory_used_bytes': ('used', 1.0),
    'nvitop_gpu_memory_total_bytes': ('total', 1.0),
    'nvitop_gpu_power_usage_watts': ('power', 1.0),
    'nvitop_gpu_power_limit_watts': ('power_limit', 1.0),
    'nvitop_gpu_temperature_celsius': ('temperature', 1.0),
    'DCGM_FI_DEV_GPU_UTIL': ('utilization', 1.0),
    'DCGM_FI_PROF_GR_ENGINE_ACTIVE': ('engine', 100.0),
    'DCGM_FI_DEV_FB_USED': ('used', _MIB),
    'DCGM_FI_DEV_FB_TOTAL': ('total', _MIB),
    'DCGM_FI_DEV_FB_FREE': ('free', _MIB),
    'DCGM_FI_DEV_FB_RESERVED': ('reserved', _MIB),
    'DCGM_FI_DEV_POWER_USAGE': ('power', 1.0),
    'DCGM_FI_DEV_GPU_TEMP': ('temperature', 1.0),
}


class _DeviceValues:
    """Values of one device, from its series."""

    def __init__(self, device: str, gpu: str, label: str) -> None:
        self.id = device
        #: ID of the GPU of a MIG device, otherwise its own.
        self.gpu = gpu
        self.label = label
        self.model = ''
        self.values: dict[str, float] = {}
        self.state = ''
        self.findings: dict[str, FaultSeverity] = {}
        #: User → memory and processes.
        self.memory: dict[str, float] = {}
        self.processes: dict[str, float] = {}
        self.owners: dict[FleetOwner, None] = {}

    def add_finding(self, words: str, severity: FaultSeverity) -> None:
        if self.findings.get(words) != 'critical':
            self.findings[words] = severity


class _HostValues:
    """Values of one host."""

    def __init__(self, name: str, kind: str, selector: tuple[str, str]) -> None:
        self.name = name
        self.kind = kind
        self.selector = selector
        self.gpus: dict[str, _DeviceValues] = {}
        self.findings: dict[str, FaultSeverity] = {}
        self.measured: float | None = None


def natural(text: str) -> tuple[list[str | int], str]:
    """Return a key that sorts ``gpu9`` before ``gpu10``."""
    parts: list[str | int] = [*_DIGITS.split(text)]
    parts[1::2] = [int(digits) for digits in parts[1::2]]
    return parts, text


def host_name(label: str, value: str) -> str:
    """Return the name of a host: an instance without its port, safe to draw."""
    if label == INSTANCE:
        host, colon, port = value.rpartition(':')
        if colon and port.isdecimal() and (':' not in host or host.endswith(']')):
            value = host.strip('[]')
    return printable(value) or '(unnamed)'


def read_fleet(series: Iterable[Series], scope: Scope, timestamp: float) -> Fleet:
    """Return the hosts of a response to ``fleet_query``."""
    own: dict[str, _HostValues] = {}
    dcgm: dict[str, _HostValues] = {}
    #: Names of hosts → when they were seen last; targets that are down, with their job.
    seen: dict[str, float] = {}
    down: list[tuple[str, str, str]] = []
    jobs: set[str] = set()
    times: dict[str, float] = {}
    names_of_places: dict[str, str] = {}
    simulated: set[str] = set()
    rows = [renamed(row) for row in series if math.isfinite(row.value)]
    # In Kubernetes, "pod" names the pod of the exporter if the other label exists.
    is_renamed = any('exported_pod' in row.labels for row in rows)
    for row in rows:
        selector = _selector(row.labels, scope)
        name, place = host_name(*selector), host_name(INSTANCE, row.labels.get(INSTANCE, ''))
        mark = row.labels.get(ROW, '')
        if mark == 'down':
            down.append((row.labels.get('job', ''), name, place))
            continue
        jobs.add(row.labels.get('job', ''))
        names_of_places.setdefault(place, name)
        if mark == 'time':
            times[name] = max(times.get(name, 0.0), row.value)
        elif mark == 'seen':
            seen[name] = max(seen.get(name, 0.0), row.value)
        elif row.name == 'nvitop_simulation_info':  # on the pages of both kinds
            simulated.add(name)
        elif row.name in OWN_NAMES:
            host = own.setdefault(name, _HostValues(name, 'own', selector))
            _add_own(host, row)
        elif row.name in DCGM_NAMES or mark == 'past':
            host = dcgm.setdefault(name, _HostValues(name, 'dcgm', selector))
            _add_dcgm(host, row, is_past=mark == 'past', is_renamed=is_renamed)
    ids = {gpu.gpu for host in own.values() for gpu in host.gpus.values()}
    for name, host in dcgm.items():
        if name not in own and ids.isdisjoint(gpu.gpu for gpu in host.gpus.values()):
            own[name] = host
    for name, host in own.items():
        host.measured = times.get(name) if host.measured is None else host.measured
    for name in simulated & own.keys():
        own[name].findings[SIMULATED.words] = SIMULATED.severity
    hosts = [_finished(host) for host in own.values()]
    shown = set(own)
    for job, name, place in down:
        name = names_of_places.get(place, name)
        # A host may have a second exporter that responds.
        if job in jobs and name not in shown:
            shown.add(name)
            finding = FleetFinding('exporter does not respond')
            measured = seen.get(name)
            hosts.append(FleetHost(name, findings=(finding,), measured=measured, is_gone=True))
    for name, last in seen.items():
        if name not in shown and name not in dcgm and timestamp - last > LATE_SECONDS:
            hosts.append(FleetHost(name, measured=last, is_gone=True))
    return Fleet(tuple(sorted(hosts, key=lambda host: natural(host.name))), timestamp)


def _selector(labels: Mapping[str, str], scope: Scope) -> tuple[str, str]:
    """Return the label that names the host, and its value."""
    for label in scope.host_labels:
        if labels.get(label):
            return label, labels[label]
    return INSTANCE, ''


def _device(
    host: _HostValues, labels: Mapping[str, str], uuid: str, part: str, part_id: str
) -> _DeviceValues:
    """Return the device of a row; ``part`` and ``part_id`` name a MIG device on its GPU."""
    index = printable(labels.get('gpu', '')[:4])
    gpu = uuid.lower() or f'{host.name}#{index}'
    identity = part_id.lower() or gpu
    device = host.gpus.get(identity)
    if device is None:
        label = f'{index}:{printable(part[:4])}' if part_id else index
        device = host.gpus[identity] = _DeviceValues(identity, gpu, label)
    return device


def _add_own(host: _HostValues, row: Series) -> None:
    labels, name = row.labels, row.name[len('nvitop_') :]
    if name == 'last_collect_timestamp_seconds':
        host.measured = max(host.measured or 0.0, row.value)
        return
    if name == 'last_collect_success':
        if not row.value:
            host.findings['driver does not respond'] = 'critical'
        return
    if name == 'gpu_missing':
        words = f'GPU {printable(labels.get("pci_bus_id", "")) or "(unknown)"} missing'
        host.findings[words] = 'critical'
        return
    part = labels.get('gpu_instance', '')
    gpu = _device(host, labels, labels.get('uuid', ''), part, labels.get('mig_uuid', ''))
    if row.name in _VALUES:
        _add_value(gpu, row)
    elif name == 'gpu_up':
        if not row.value:
            gpu.state = 'lost'
            gpu.add_finding('not responding', 'critical')
    elif name == 'gpu_asleep':
        if gpu.state != 'claimed':
            gpu.state = 'asleep'
    elif name == 'gpu_problem_info':
        if labels.get('status') == 'not permitted':
            gpu.state = 'not permitted'
    elif name == 'gpu_state':
        if row.value and labels.get('state') in _STATES:
            gpu.state = labels['state']
    elif name == 'gpu_info':
        gpu.model = printable(labels.get('name', ''))
    elif name == 'gpu_health':
        kind = labels.get('kind', '')
        if row.value >= _WARNING and kind not in _SILENT_KINDS:
            words = KINDS[kind].counted if kind in KINDS else printable(kind)
            gpu.add_finding(words, 'critical' if row.value >= _CRITICAL else 'warning')
    else:
        user = printable(labels.get('user', ''))
        if name == 'gpu_owner_info':
            layer = Layer(
                printable(labels.get('owner_kind', '')),
                printable(labels.get('owner_id', '')),
                printable(labels.get('owner_name', '')) or None,
            )
            gpu.owners[FleetOwner(user, layer)] = None
        elif user:  # two jobs of Prometheus may read one exporter
            values = gpu.memory if name == 'user_gpu_memory_bytes' else gpu.processes
            values[user] = max(values.get(user, 0.0), row.value)


def _add_dcgm(host: _HostValues, row: Series, *, is_past: bool, is_renamed: bool) -> None:
    labels, uuid = row.labels, row.labels.get('UUID', '')
    part = labels.get('GPU_I_ID', '')
    gpu = _device(host, labels, uuid, part, f'{uuid}/{part}' if part else '')
    gpu.model = gpu.model or printable(labels.get('modelName', ''))
    if is_past:
        gpu.values['past'] = max(gpu.values.get('past', 0.0), row.value)
        return
    if row.name in _VALUES:
        _add_value(gpu, row)
    elif row.name == 'DCGM_FI_DEV_XID_ERRORS' and row.value:
        severity = action_of(int(row.value)).severity
        if severity in ('warning', 'critical'):
            gpu.add_finding(f'Xid {row.value:g}', severity)
    elif row.name == 'DCGM_FI_DEV_ROW_REMAP_FAILURE' and row.value:
        gpu.add_finding('with failed remapping', 'critical')
    prefix = 'exported_' if is_renamed else ''
    pod = labels.get(f'{prefix}pod', '')
    if pod and 'dcgm-exporter' not in pod:
        name = '/'.join(filter(None, (labels.get(f'{prefix}namespace', ''), pod)))
        gpu.owners[FleetOwner('', Layer('pod', '', printable(name)))] = None
    if labels.get('hpc_job'):
        gpu.owners[FleetOwner('', Layer('slurm', printable(labels['hpc_job'])))] = None


def _add_value(gpu: _DeviceValues, row: Series) -> None:
    name, factor = _VALUES[row.name]
    value = row.value * factor
    if math.isfinite(value):  # several jobs may read one exporter
        gpu.values[name] = max(gpu.values.get(name, value), value)


def _finished(host: _HostValues) -> FleetHost:
    gpus = sorted(_devices(host), key=lambda gpu: (natural(gpu.label or '~'), gpu.id))
    return FleetHost(
        host.name,
        host.kind,
        tuple(gpus),
        host.selector,
        _findings(host.findings),
        host.measured,
    )


def _devices(host: _HostValues) -> Iterator[FleetGpu]:
    """Yield the GPUs, and MIG devices instead of their GPU with its power and findings."""
    divided = {gpu.gpu for gpu in host.gpus.values() if gpu.id != gpu.gpu}
    for gpu in host.gpus.values():
        if gpu.id in divided:
            continue
        whole = host.gpus.get(gpu.gpu, gpu)
        values = {name: whole.values.get(name) for name in ('power', 'power_limit', 'temperature')}
        values.update(gpu.values)
        users = sorted({*gpu.memory, *gpu.processes})
        yield FleetGpu(
            gpu.id,
            gpu.label,
            gpu.gpu,
            gpu.model or whole.model,
            _state(gpu),
            values.get('utilization', values.get('engine')),
            values.get('used'),
            values.get('total', _memory_total(gpu.values)),
            values['power'],
            values['power_limit'],
            values['temperature'],
            _findings({**whole.findings, **gpu.findings}),
            tuple(
                FleetUse(
                    user,
                    gpu.memory.get(user),
                    int(gpu.processes[user]) if user in gpu.processes else None,
                )
                for user in users
            ),
            tuple(gpu.owners),
        )


def _memory_total(values: Mapping[str, float]) -> float | None:
    """Return the memory of a GPU as the sum of its parts: dcgm-exporter may not report it."""
    if 'used' not in values or 'free' not in values:
        return None
    return values['used'] + values['free'] + values.get('reserved', 0.0)


def _state(gpu: _DeviceValues) -> DeviceWord:
    if gpu.state:
        return cast('DeviceWord', gpu.state)
    values = gpu.values
    # Without a value of ten minutes ago, nothing is held.
    is_idle_longer = values.get('past', BUSY_PERCENT) < BUSY_PERCENT
    utilization = values.get('utilization', values.get('engine'))
    seconds = HELD_SECONDS if is_idle_longer else 0.0
    return state_of_values(utilization, values.get('used'), seconds).word


def _findings(words: Mapping[str, FaultSeverity]) -> tuple[FleetFinding, ...]:
    findings = [FleetFinding(text, severity) for text, severity in words.items()]
    return tuple(sorted(findings, key=lambda finding: (finding.severity, finding.words)))


# From a sample


def host_of_sample(name: str, sample: Sample, measured: float) -> FleetHost:
    """Return the row of a machine from its sample. MIG devices count instead of their GPU."""
    divided = {device.key.physical_index for device in sample.devices if device.key.is_mig}
    gpus = {d.key.physical_index: d for d in sample.devices if not d.key.is_mig}
    states = device_states(sample)
    wrong: dict[int, dict[FleetFinding, None]] = {}
    for finding in findings(sample):
        if finding.severity in ('warning', 'critical'):
            words = FleetFinding(printable(finding.words), finding.severity)
            wrong.setdefault(finding.device.physical_index, {})[words] = None
    processes: dict[DeviceKey, list[ProcessSample]] = {}
    for process in sample.processes:
        processes.setdefault(process.key.device, []).append(process)
    rows = []
    for device in sample.devices:
        index = device.key.physical_index
        if index in divided and not device.key.is_mig:
            continue
        whole = gpus.get(index, device)
        watts = whole.power_usage_mw
        limit = whole.power_limit_mw
        rows.append(
            FleetGpu(
                device.key.uuid or f'{name}#{device.key.label}',
                device.key.label,
                whole.key.uuid or f'{name}#{index}',
                printable(device.info.name or ''),
                word_of(sample, device, states[device.key]),
                device.gpu_utilization_percent,
                device.memory_used_bytes,
                device.info.memory_total_bytes,
                None if watts is None else watts / 1000,
                None if limit is None else limit / 1000,
                whole.temperature_celsius,
                tuple(wrong.get(index, ())),
                _uses(processes.get(device.key, [])),
                _owners(processes.get(device.key, [])),
            )
        )
    marks = (SIMULATED,) if sample.simulated else ()
    return FleetHost(name, 'ssh', tuple(rows), findings=marks, measured=measured)


def _uses(processes: Sequence[ProcessSample]) -> tuple[FleetUse, ...]:
    pids: dict[str, set[int]] = {}
    memory: dict[str, float] = {}
    for process in processes:
        user = printable(process.username or '')
        if user:
            pids.setdefault(user, set()).add(process.key.pid)
            memory[user] = memory.get(user, 0.0) + (process.gpu_memory_bytes or 0)
    return tuple(FleetUse(user, memory[user], len(pids[user])) for user in sorted(pids))


def _owners(processes: Sequence[ProcessSample]) -> tuple[FleetOwner, ...]:
    owners: dict[FleetOwner, None] = {}
    for process in processes:
        owner = process.owner
        if owner is not None and owner.kind:
            name = printable(owner.name) if owner.name else None
            layer = Layer(printable(owner.kind), printable(owner.id), name)
            owners[FleetOwner(printable(process.username or ''), layer)] = None
    return tuple(owners)
