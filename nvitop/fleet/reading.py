# SPDX-License-Identifier: Apache-2.0
"""Hosts and GPUs from the series of a response, or from samples. Pure.

A host with the names of ``nvitop exporter`` is read by them alone, others by those of dcgm-exporter.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Iterable, Iterator, Mapping, Sequence, cast

from nvitop.basics.text import natural, printable
from nvitop.exporter.families import UNKNOWN
from nvitop.fleet.series import INSTANCE, ROW, read_host
from nvitop.fleet.types import (
    NOT_RESPONDING,
    NOT_SCRAPED,
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
from nvitop.sampling.types import STALE_SECONDS

if TYPE_CHECKING:
    from nvitop.fleet.series import Scope
    from nvitop.fleet.types import FaultSeverity, Series
    from nvitop.health.states import DeviceWord
    from nvitop.sampling.types import DeviceKey, DeviceSample, ProcessSample, Sample

#: Values of ``nvitop_gpu_health`` from which a finding is a warning, and critical.
_WARNING, _CRITICAL = 2.0, 3.0
#: Findings that ``nvitop_gpu_up`` has, too.
_SILENT_KINDS = ('lost', 'not_responding', 'failing')
_HOT = KINDS['hot']
_STATES = ('free', 'claimed', 'busy', 'in use', 'held')
#: Labels that identify a device: its index, and its instances on a GPU that is divided.
_OWN_PLACE = ('gpu', 'gpu_instance', 'compute_instance')
_DCGM_PLACE = ('gpu', 'GPU_I_ID')


class _Words:
    """What series say about a device in addition to the values of a sample."""

    def __init__(self) -> None:
        self.state = ''
        #: Highest utilization (percent) of the last ten minutes.
        self.past = BUSY_PERCENT
        self.findings: set[FleetFinding] = set()
        self.uses: dict[str, FleetUse] = {}
        self.owners: dict[FleetOwner, None] = {}


class _Page:
    """The series of one exporter."""

    def __init__(self, name: str, kind: str, selector: tuple[str, str]) -> None:
        self.host = FleetHost(name, kind, selector=selector)
        self.series: list[Series] = []
        self.findings: set[FleetFinding] = set()
        self._labels = _OWN_PLACE if kind == 'own' else _DCGM_PLACE
        self._words: dict[tuple[str, ...], _Words] = {}

    @property
    def uuids(self) -> set[str]:
        """The UUIDs of its GPUs, in lower case."""
        labels = [row.labels for row in self.series]
        uuids = {row_labels.get('uuid') or row_labels.get('UUID', '') for row_labels in labels}
        return {uuid.lower() for uuid in uuids if uuid}

    def words_of(self, row: Series) -> _Words:
        """Return the words about the device of a series."""
        place = tuple([row.labels.get(label, '') for label in self._labels])
        words = self._words.get(place)
        if words is None:
            words = self._words[place] = _Words()
        return words

    def words(self, *place: int | None) -> _Words:
        """Return the words about a device, given its index and instances."""
        texts = tuple('' if number is None else str(number) for number in place)
        return self._words.get(texts[: len(self._labels)], _Words())


@functools.lru_cache(maxsize=8192)
def host_name(label: str, value: str) -> str:
    """Return the name of a host: an instance without its port, safe to draw."""
    if label == INSTANCE:
        host, colon, port = value.rpartition(':')
        if colon and port.isdecimal() and (':' not in host or host.endswith(']')):
            value = host.strip('[]')
    return printable(value) or '(unnamed)'


def read_fleet(series: Iterable[Series], scope: Scope, timestamp: float) -> Fleet:
    """Return the hosts of a response to ``fleet_query``."""
    pages: dict[str, dict[str, _Page]] = {'own': {}, 'dcgm': {}}
    #: Names of hosts → when they were seen last; targets that are down: job, instance,
    #: name by a label or ''.
    seen: dict[str, float] = {}
    down: list[tuple[str, str, str]] = []
    times: dict[str, float] = {}
    jobs: set[str] = set()
    #: Instance → name of its host. Address without port → names of the hosts behind it.
    instances: dict[str, str] = {}
    addresses: dict[str, set[str]] = {}
    simulated: set[str] = set()
    rows, host_labels = [row for row in series if math.isfinite(row.value)], scope.host_labels
    # In Kubernetes, "pod" names the pod of the exporter if the other label exists.
    prefix = 'exported_' if any('exported_pod' in row.labels for row in rows) else ''
    for row in rows:
        selector = _selector(row.labels, host_labels)
        name, instance = host_name(*selector), row.labels.get(INSTANCE, '')
        mark, job = row.labels.get(ROW, ''), row.labels.get('job', '')
        if mark == 'down':
            down.append((job, instance, name if selector[0] != INSTANCE else ''))
            continue
        if instance not in instances:
            jobs.add(job)
            instances[instance] = name
            addresses.setdefault(host_name(INSTANCE, instance), set()).add(name)
        if mark == 'time':
            times[name] = max(times.get(name, 0.0), row.value)
        elif mark == 'seen':
            seen[name] = max(seen.get(name, 0.0), row.value)
        elif row.name == 'nvitop_simulation_info':  # on the pages of both kinds
            simulated.add(name)
        elif row.name.startswith('nvitop_'):
            if name not in pages['own']:
                pages['own'][name] = _Page(name, 'own', selector)
            _add_own(pages['own'][name], row)
        elif mark == 'past' or row.name:
            if name not in pages['dcgm']:
                pages['dcgm'][name] = _Page(name, 'dcgm', selector)
            _add_dcgm(pages['dcgm'][name], row, prefix)
    own = pages['own']
    uuids = {uuid for page in own.values() for uuid in page.uuids} if pages['dcgm'] else set()
    for name, page in pages['dcgm'].items():
        if name not in own and uuids.isdisjoint(page.uuids):
            own[name] = page
    for name in simulated & own.keys():
        own[name].findings.add(SIMULATED)
    hosts = [_host_of_page(page, times.get(name, 0.0), timestamp) for name, page in own.items()]
    shown = set(own)

    def add_silent(name: str, finding: FleetFinding) -> None:
        shown.add(name)
        age = timestamp - seen[name] if name in seen else None
        hosts.append(FleetHost(name, findings=(finding,), age_seconds=age, is_silent=True))

    for job, instance, name in down:
        address = host_name(INSTANCE, instance)
        # An address may have a second exporter of a host, or those of several hosts.
        names = addresses.get(address, {address})
        name = instances.get(instance) or name
        name = name or (min(names) if len(names) == 1 else printable(instance))
        if job in jobs and name not in shown:
            add_silent(name, NOT_RESPONDING)
    for name, last in seen.items():
        if name not in shown and name not in pages['dcgm'] and timestamp - last > STALE_SECONDS:
            add_silent(name, NOT_SCRAPED)
    return Fleet(tuple(sorted(hosts, key=lambda host: natural(host.name))), timestamp)


def _selector(labels: Mapping[str, str], host_labels: Iterable[str]) -> tuple[str, str]:
    """Return the label that names the host, and its value."""
    for label in host_labels:
        if labels.get(label):
            return label, labels[label]
    return INSTANCE, ''


def _add_own(page: _Page, row: Series) -> None:
    labels = row.labels
    user = '' if labels.get('user') == UNKNOWN else printable(labels.get('user', ''))
    if row.name == 'nvitop_last_collect_success':
        if not row.value:
            page.findings.add(FleetFinding('driver does not respond'))
    elif row.name == 'nvitop_gpu_missing':
        bus_id = printable(labels.get('pci_bus_id', '')) or '(unknown)'
        page.findings.add(FleetFinding(f'GPU {bus_id} missing'))
    elif row.name == 'nvitop_gpu_state':
        if row.value and labels.get('state') in _STATES:
            page.words_of(row).state = labels['state']
    elif row.name == 'nvitop_gpu_health':
        kind = labels.get('kind', '')
        if row.value >= _WARNING and kind not in _SILENT_KINDS:
            text = KINDS[kind].counted if kind in KINDS else printable(kind)
            severity: FaultSeverity = 'critical' if row.value >= _CRITICAL else 'warning'
            finding = FleetFinding(text, severity, is_hot=text == _HOT.counted)
            page.words_of(row).findings.add(finding)
    elif row.name == 'nvitop_gpu_owner_info':
        layer = Layer(
            printable(labels.get('owner_kind', '')),
            printable(labels.get('owner_id', '')),
            printable(labels.get('owner_name', '')) or None,
        )
        owner = FleetOwner(user, layer)
        page.words_of(row).owners[owner] = None
    elif user:
        uses = page.words_of(row).uses
        use = uses.get(user, FleetUse(user))
        is_memory = row.name == 'nvitop_user_gpu_memory_bytes'
        uses[user] = (
            use._replace(memory_bytes=row.value)
            if is_memory
            else use._replace(processes=int(row.value))
        )
    elif not labels.get('user'):
        page.series.append(row)


def _add_dcgm(page: _Page, row: Series, prefix: str) -> None:
    page.series.append(row)
    words, labels = page.words_of(row), row.labels
    if labels.get(ROW) == 'past':
        words.past = row.value
    elif row.name == 'DCGM_FI_DEV_XID_ERRORS' and row.value:
        severity = action_of(int(row.value)).severity
        if severity in ('warning', 'critical'):
            words.findings.add(FleetFinding(f'Xid {row.value:g}', severity))
    elif row.name.startswith('DCGM_FI_DEV_ROW_REMAP_FAIL') and row.value:
        words.findings.add(FleetFinding('with failed row remapping'))
    pod = labels.get(f'{prefix}pod', '')
    if pod and 'dcgm-exporter' not in pod:
        name = '/'.join(filter(None, (labels.get(f'{prefix}namespace', ''), pod)))
        words.owners[FleetOwner('', Layer('pod', '', printable(name)))] = None
    if labels.get('hpc_job'):
        words.owners[FleetOwner('', Layer('slurm', printable(labels['hpc_job'])))] = None


def _host_of_page(page: _Page, timestamp: float, now: float) -> FleetHost:
    sample = read_host(page.series, page.host, timestamp)
    gpus = []
    for device, gpu in _gpus(page.host.name, sample):
        index, info = device.key.physical_index, device.info
        words = page.words(index, info.gpu_instance_id, info.compute_instance_id)
        whole = page.words(index, None, None)
        wrong = whole.findings | words.findings
        state = words.state if device.status in ('ok', 'asleep') else device.status
        if device.status not in ('ok', 'asleep', 'not permitted'):
            wrong.add(FleetFinding('not responding'))
        elif not state:
            # Without a value of ten minutes ago, nothing is held.
            seconds = HELD_SECONDS if words.past < BUSY_PERCENT else 0.0
            used = device.memory_used_bytes
            state = state_of_values(gpu.utilization_percent, used, seconds).word
            state = state if device.status == 'ok' else device.status
        gpus.append(
            gpu._replace(
                state=cast('DeviceWord', state),
                findings=tuple(sorted(wrong, key=_severest)),
                uses=tuple(sorted(words.uses.values())),
                owners=tuple(words.owners),
            )
        )
    age = 0.0 if sample.timestamp else None
    marks = tuple(sorted(page.findings, key=_severest))
    host = page.host._replace(gpus=tuple(gpus), findings=marks, age_seconds=age)
    return host.later(max(0.0, now - sample.timestamp))


def _severest(finding: FleetFinding) -> tuple[str, str]:
    return finding.severity, finding.words  # by the alphabet


def _gpus(name: str, sample: Sample) -> Iterator[tuple[DeviceSample, FleetGpu]]:
    """Yield the GPUs with their values. A divided one has MIG devices instead, with its power."""
    divided = {device.key.physical_index for device in sample.devices if device.key.is_mig}
    gpus = {d.key.physical_index: d for d in sample.devices if not d.key.is_mig}
    for device in sample.devices:
        index = device.key.physical_index
        if index in divided and not device.key.is_mig:
            continue
        whole = gpus.get(index, device)
        watts = whole.power_usage_mw
        yield (
            device,
            FleetGpu(
                device.key.uuid or f'{name}#{device.key.label}',
                device.key.label,
                whole.key.uuid or f'{name}#{index}',
                printable(device.info.name or whole.info.name or ''),
                utilization_percent=device.gpu_utilization_percent,
                memory_used_bytes=device.memory_used_bytes,
                memory_total_bytes=device.info.memory_total_bytes,
                power_watts=None if watts is None else watts / 1000,
                temperature_celsius=whole.temperature_celsius,
            ),
        )


def host_of_sample(name: str, sample: Sample, age_seconds: float) -> FleetHost:
    """Return the row of a machine from its sample. MIG devices count instead of their GPU."""
    states = device_states(sample)
    wrong: dict[int, dict[FleetFinding, None]] = {}
    for finding in findings(sample):
        if finding.severity in ('warning', 'critical'):
            words = FleetFinding(
                printable(finding.words),
                finding.severity,
                advice=printable(finding.action),
                is_hot=finding.mark == _HOT.mark,
            )
            wrong.setdefault(finding.device.physical_index, {})[words] = None
    processes: dict[DeviceKey, list[ProcessSample]] = {}
    for process in sample.processes:
        processes.setdefault(process.key.device, []).append(process)
    gpus = [
        gpu._replace(
            state=word_of(sample, device, states[device.key]),
            findings=tuple(wrong.get(device.key.physical_index, ())),
            uses=_uses(processes.get(device.key, [])),
            owners=_owners(processes.get(device.key, [])),
        )
        for device, gpu in _gpus(name, sample)
    ]
    marks = (SIMULATED,) if sample.simulated else ()
    host = FleetHost(name, 'ssh', tuple(gpus), findings=marks, age_seconds=0.0)
    return host.later(age_seconds)


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
