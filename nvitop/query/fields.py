# SPDX-License-Identifier: Apache-2.0
"""Fields of queries: all metrics, and the further fields of nvidia-smi."""

from __future__ import annotations

import functools
import operator
import re
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Tuple, Union

from nvitop.basics.metrics import (
    CLOCK_EVENT_REASONS,
    EXTENDED_METRICS,
    METRICS,
    PROCESS_METRICS,
    Metric,
    ProcessMetric,
)
from nvitop.basics.toml import unknown
from nvitop.health import (
    HELD_RULE,
    Finding,
    device_states,
    findings,
    health_status,
    is_wrong,
    word_of,
)
from nvitop.health.rules import CHECK_METRICS
from nvitop.query import nvidia_smi
from nvitop.sampling.types import DeviceKey, DeviceSample, ProcessSample, Sample

#: Value of a field in a row; ``None``: not available.
CellValue = Union[None, bool, int, float, str, Tuple[str, ...]]


class DeviceQueryRow(NamedTuple):
    """Source of one row of the table of devices."""

    sample: Sample
    device: DeviceSample


class ProcessQueryRow(NamedTuple):
    """Source of one row of the table of processes."""

    sample: Sample
    #: The GPU, also for a process on one of its MIG devices; ``None``: not measured.
    gpu: DeviceSample | None
    process: ProcessSample


class QueryField(NamedTuple):
    """One field of a table of devices or of processes."""

    #: Name in JSON.
    name: str
    #: Name in nvidia-smi; ``None``: it has no such field.
    query: str | None
    #: Unit of the values, see :class:`nvitop.basics.metrics.Metric`; CSV has memory in MiB.
    unit: str
    #: ``int``, ``float``, ``bool``, ``str``, ``list`` (of str) or ``time`` (seconds since the epoch).
    kind: str
    #: One-line description.
    help: str
    #: Returns the value from the source of a row.
    value: Callable[[Any], CellValue]
    #: Device metrics to measure for it.
    metrics: tuple[str, ...] = ()
    #: Formats the value in CSV, if not as usual for its kind and unit.
    text: Callable[[Any], str] | None = None
    #: Whether it needs the owners of processes.
    owners: bool = False
    #: Text in CSV if the value is not available.
    missing: str = nvidia_smi.NOT_AVAILABLE

    @property
    def header(self) -> str:
        """Name in CSV headers: that of nvidia-smi, if it has one."""
        return self.query or self.name


#: Fields if none are given.
DEFAULT_DEVICE_NAMES = (
    'index, name, utilization.gpu, memory.used, memory.total, temperature.gpu, power.draw'
)
DEFAULT_PROCESS_NAMES = 'gpu_index, pid, user, gpu_memory, gpu_sm_utilization, command'

#: Metrics that show whether a device responds: cheap, and supported by all.
_SIGN_OF_LIFE = ('memory_used',)
#: Name of a field without a metric → help.
_HELP = {
    'timestamp': 'time of the measurement',
    'driver_version': 'driver version',
    'cuda_driver_version': 'highest CUDA version that the driver supports',
    'count': 'number of GPUs',
    'hostname': 'host name',
    'simulated': 'scenario of a simulated machine',
    'status': 'ok, lost, timed out or error',
    'reason': 'reason why it is not ok',
    'state': f'free, claimed, busy, in use, held ({HELD_RULE}), or its status',
    'health_status': 'ok, unknown, warning or critical; see health_findings',
    'health_findings': 'problems found by the rules about health, with the values that show them',
    'claim_user': 'user who has claimed it with nvitop run',
    'claim_since': 'time since which it is claimed',
    'claim_pid': 'process that has claimed it',
    'claim_command': 'command for which it is claimed',
    'mig_index': 'index of the MIG device on its GPU',
    'mig_profile': 'profile of a MIG device',
    'gpu_instance_id': 'GPU instance ID of a MIG device',
    'compute_instance_id': 'compute instance ID of a MIG device',
    'pci_domain': 'PCI domain number',
    'pci_bus': 'PCI bus number',
    'pci_device': 'PCI device number',
    'display_attached': 'whether a display is connected',
    'gpu_pcie_link_generation': 'current PCIe generation of the GPU',
    'kmd_version': 'version of the kernel driver',
    'gpu_name': 'name of the GPU',
    'gpu_uuid': 'uuid of the GPU',
    'gpu_serial': 'serial of the GPU',
    'gpu_bus_id': 'bus id of the GPU',
    'gpu_index': 'index of the GPU it runs on',
    'owner': 'job, pod, container, unit or session it belongs to, as the monitor shows it',
    'owner_kind': 'kind of its owner: slurm, pod, docker, unit, session, …',
    'owner_id': 'ID of its owner',
    'owner_source': 'where its owner was read: cgroup, parent, mountinfo, cmdline, environ',
    'job_id': 'ID of the batch job',
    'job_step': 'step of the batch job',
    'pod_uid': 'UID of the Kubernetes pod',
    'pod_name': 'namespace and name of the pod',
    'container_id': 'ID of the innermost container',
    'container_name': 'name of the container',
    'unit': 'systemd unit',
    'login_user': 'user who logged in, even if it runs as root',
    'process_name': 'first word of the command line',
}
#: Fields of :class:`nvitop.owner.types.Owner` whose names differ from those here.
_OWNER_NAMES = {
    'owner_kind': 'kind',
    'owner_id': 'id',
    'owner_source': 'source',
    'job_step': 'step',
}


# Values


def _metric_value(metric: Metric, row: DeviceQueryRow) -> CellValue:
    value: CellValue = row.device.value_of(metric)
    if metric.divisor != 1 and isinstance(value, (int, float)):
        return value / metric.divisor
    return value


def _mig_index(key: DeviceKey) -> CellValue:
    return key.mig_index if key.is_mig else None


def _part_of_bus_id(position: int, row: DeviceQueryRow) -> CellValue:
    """Domain, bus or device as a hexadecimal number."""
    parts = (row.device.info.bus_id or '').partition('.')[0].split(':')
    if len(parts) != 3:
        return None
    domain, bus, device = parts
    return f'0x{(domain.lstrip("0").rjust(4, "0"), bus, device)[position].upper()}'


def _is_clock_event_reason(name: str, row: DeviceQueryRow) -> CellValue:
    reasons = row.device.clock_event_reasons
    if reasons is None or name in reasons:
        return None if reasons is None else True
    supported = row.device.extended_value('supported_clock_event_reasons')
    return None if isinstance(supported, tuple) and name not in supported else False


#: shlex would take minutes for a megabyte.
_FIRST_WORD = re.compile(r'\s*((?:[^\s\'"]|\'[^\']*\'|"[^"]*")+)(?=\s|\Z)')
_QUOTED = re.compile(r'\'([^\']*)\'|"([^"]*)"')


def _program(row: ProcessQueryRow) -> CellValue:
    """The first word of the command line, or the name."""
    word = _FIRST_WORD.match(row.process.command or '')
    return (word and _QUOTED.sub(r'\1\2', word[1])) or row.process.name


def _owner_value(name: str, row: ProcessQueryRow) -> CellValue:
    owner = row.process.owner
    if owner is None or (not owner.kind and name != 'login_user'):
        return None
    if name == 'owner':
        return str(owner)
    value: str | None = getattr(owner, _OWNER_NAMES.get(name, name))
    return value or None


def _gpu_value(field: str, row: Any) -> CellValue:
    return None if row.gpu is None else getattr(row.gpu.info, field)


def _claim_value(name: str, row: DeviceQueryRow) -> CellValue:
    value: CellValue = getattr(row.sample.claim_of(row.device), name, None)
    return value


def _wrong(row: DeviceQueryRow) -> list[Finding]:
    return [f for f in findings(row.sample) if f.device == row.device.key and is_wrong(f)]


def _device_state(row: DeviceQueryRow) -> CellValue:
    state = device_states(row.sample).get(row.device.key)
    if state is None or state.word == 'unknown':
        return None
    return word_of(row.sample, row.device, state)


# Special formats in CSV


def _driver_model(word: str) -> str:
    return {'WDM': 'TCC'}.get(word, word)


def _bits(names: Iterable[str]) -> str:
    """Format reasons as one number, like nvidia-smi; a reason without a name is a number."""
    from nvitop.api.device.sensors import ClockEventReasons  # it needs the NVML binding

    known = {name.lower(): int(bit) for name, bit in ClockEventReasons.__members__.items()}
    bits = 0
    for name in names:
        bits |= known[name] if name in known else int(name, 16)
    return f'0x{bits:016X}'


_TEXTS: dict[str, Callable[[Any], str]] = {
    'power_management': lambda word: 'Supported' if word == 'Enabled' else 'Not Supported',
    'compute_mode': lambda word: word.replace(' ', '_'),
    'current_driver_model': _driver_model,
    'driver_model_pending': _driver_model,
    'clock_event_reasons': _bits,
    'supported_clock_event_reasons': _bits,
    'edpp_multiplier': '{:.2f}'.format,
}


# The fields


def _of_metric(metric: Metric) -> QueryField:
    name, value = metric.name, functools.partial(_metric_value, metric)
    missing = nvidia_smi.missing_text(metric.query)
    described = (name, metric.query, metric.unit, metric.kind, metric.help)
    return QueryField(*described, value, (name,), _TEXTS.get(name), missing=missing)


def _of_process_metric(metric: ProcessMetric) -> QueryField:
    read = operator.attrgetter(f'process.{metric.field}')
    # A start time of -1 is unknown.
    value = (lambda row: read(row) if read(row) >= 0 else None) if metric.kind == 'time' else read
    return QueryField(metric.name, metric.query, metric.unit, metric.kind, metric.help, value)


def _plain(
    name: str,
    kind: str,
    value: str | Callable[[Any], CellValue],
    query: str | None = None,
    metrics: tuple[str, ...] = (),
) -> QueryField:
    """A field without a metric; ``value`` is a field of the row or a function of it."""
    read = operator.attrgetter(value) if isinstance(value, str) else value
    return QueryField(name, query, '', kind, _HELP[name], read, metrics)


def _device_fields() -> Iterator[QueryField]:
    yield _plain('timestamp', 'time', 'sample.timestamp', 'timestamp')
    yield _plain('driver_version', 'str', 'sample.driver_version', 'driver_version')
    yield _plain('cuda_driver_version', 'str', 'sample.cuda_driver_version')
    yield _plain(
        'count', 'int', lambda row: sum(not d.key.is_mig for d in row.sample.devices), 'count'
    )
    yield _plain('hostname', 'str', lambda row: row.sample.host.hostname or None, 'hostname')
    yield _plain('simulated', 'str', lambda row: row.sample.simulated or None)
    yield from map(_of_metric, METRICS)
    yield from map(_of_metric, EXTENDED_METRICS)
    rules = (*_SIGN_OF_LIFE, *CHECK_METRICS)
    yield _plain('status', 'str', 'device.status', metrics=_SIGN_OF_LIFE)
    yield _plain('reason', 'str', lambda row: row.device.reason or None, metrics=_SIGN_OF_LIFE)
    used = ('uuid', 'memory_used', 'gpu_utilization')
    yield _plain('state', 'str', _device_state, metrics=used)
    yield _plain('health_status', 'str', lambda row: health_status(_wrong(row)), metrics=rules)
    yield _plain(
        'health_findings',
        'list',
        lambda row: tuple(f'{finding.words}: {finding.evidence}' for finding in _wrong(row)),
        metrics=rules,
    )
    for name, field, kind in (
        ('user', 'username', 'str'),
        ('since', 'since', 'time'),
        ('pid', 'pid', 'int'),
        ('command', 'command', 'str'),
    ):
        value = functools.partial(_claim_value, field)
        yield _plain(f'claim_{name}', kind, value, metrics=('uuid',))
    yield _plain('mig_index', 'int', lambda row: _mig_index(row.device.key))
    # Read together with the name of a MIG device.
    yield _plain('mig_profile', 'str', 'device.info.mig_profile', metrics=('name',))
    for name in ('gpu_instance_id', 'compute_instance_id'):
        yield _plain(name, 'int', f'device.info.{name}', metrics=('name',))
    for position, part in enumerate(('domain', 'bus', 'device')):
        value = functools.partial(_part_of_bus_id, position)
        yield _plain(f'pci_{part}', 'str', value, f'pci.{part}', ('bus_id',))
    for reason in CLOCK_EVENT_REASONS:
        yield QueryField(
            f'clock_event_reasons_{reason}',
            f'clocks_event_reasons.{reason}',
            '',
            'bool',
            f'whether {reason} limits the clocks',
            functools.partial(_is_clock_event_reason, reason),
            ('clock_event_reasons', 'supported_clock_event_reasons'),
            lambda flag: 'Active' if flag else 'Not Active',
        )
    # Fields of nvidia-smi whose values follow from other metrics.
    yield _plain(
        'display_attached',
        'bool',
        lambda row: row.device.display_mode and row.device.display_mode == 'Enabled',
        'display_attached',
        ('display_mode',),
    )
    yield _plain(
        'gpu_pcie_link_generation',
        'int',
        'device.pcie_link_generation',
        'pcie.link.gen.gpucurrent',
        ('pcie_link_generation',),
    )
    yield _plain('kmd_version', 'str', 'sample.driver_version', 'kmd_version')


def _without_source(query: str, text: str = 'not available', unit: str = '') -> QueryField:
    """A field of nvidia-smi for which NVML has no source."""
    name, missing = re.sub(r'\W', '_', query).lower(), nvidia_smi.missing_text(query)
    return QueryField(name, query, unit, 'str', text, lambda row: None, missing=missing)


def _gpu_fields() -> Iterator[QueryField]:
    """Time and GPU of a row that has a ``gpu``."""
    yield _plain('timestamp', 'time', 'sample.timestamp', 'timestamp')
    for field in ('name', 'uuid', 'serial', 'bus_id'):
        name, value = f'gpu_{field}', functools.partial(_gpu_value, field)
        yield _plain(name, 'str', value, name, (field,))


def _process_fields() -> Iterator[QueryField]:
    timestamp, *gpu = _gpu_fields()
    yield timestamp
    yield _plain('gpu_index', 'int', 'process.key.device.physical_index')
    yield _plain('mig_index', 'int', lambda row: _mig_index(row.process.key.device))
    yield from gpu
    yield _plain('simulated', 'str', lambda row: row.sample.simulated or None)
    yield from map(_of_process_metric, PROCESS_METRICS)
    names = [*_HELP]
    for name in names[names.index('owner') : names.index('login_user') + 1]:
        yield _plain(name, 'str', functools.partial(_owner_value, name))._replace(owners=True)
    yield _plain('process_name', 'str', _program, 'process_name')


class QueryTable(NamedTuple):
    """The fields of one kind of row, and all their names."""

    fields: tuple[QueryField, ...]
    by_name: dict[str, QueryField]
    #: Fields that have names, but are not part of ``all``.
    named_only: tuple[QueryField, ...] = ()

    def find(self, names: str | Iterable[str] | None) -> tuple[QueryField, ...]:
        """Find fields by names separated by commas or spaces, or ``all``; ValueError if unknown."""
        words = names or ''
        words = words.replace(',', ' ').split() if isinstance(words, str) else list(words)
        if not words:
            raise ValueError('no field given')
        fields: list[QueryField] = []
        for word in words:
            if word == 'all':
                fields += self.fields
                continue
            field = self.by_name.get(word) or self.by_name.get(word.lower())
            if field is None:
                raise ValueError(unknown('field', word.lower(), self.by_name))
            fields.append(field)
        return tuple(fields)


def make_table(
    fields: tuple[QueryField, ...], aliases: dict[str, str], named_only: tuple[QueryField, ...] = ()
) -> QueryTable:
    """Make a table; ``aliases`` maps further names to names of fields."""
    everything = (*fields, *named_only)
    by_name = {field.header: field for field in everything}
    by_name.update((field.name, field) for field in everything)
    by_name.update((alias, by_name[name]) for alias, name in aliases.items())
    return QueryTable(fields, by_name, named_only)


@functools.lru_cache(maxsize=None)
def device_table() -> QueryTable:
    reasons = {
        f'clocks_throttle_reasons.{reason}': f'clocks_event_reasons.{reason}'
        for reason in CLOCK_EVENT_REASONS
    }
    claims = {f'claim.{name}': f'claim_{name}' for name in ('user', 'since', 'pid', 'command')}
    aliases = {**nvidia_smi.DEVICE_ALIASES, **reasons, **claims}
    # They have names only, to be accepted in lists.
    unavailable = (
        _without_source(name, unit=unit) for name, unit in nvidia_smi.UNAVAILABLE.items()
    )
    return make_table(tuple(_device_fields()), aliases, tuple(unavailable))


@functools.lru_cache(maxsize=None)
def process_table(*, compute_apps: bool = False) -> QueryTable:
    """All fields of processes, optionally with the names of ``--query-compute-apps``."""
    aliases = nvidia_smi.COMPUTE_APPS_ALIASES if compute_apps else nvidia_smi.PROCESS_ALIASES
    return make_table(tuple(_process_fields()), aliases)


@functools.lru_cache(maxsize=None)
def remapped_rows_table() -> QueryTable:
    """Fields with the names of ``nvidia-smi --query-remapped-rows``."""
    names = {'name': 'gpu_name', 'uuid': 'gpu_uuid', 'serial': 'gpu_serial', 'bus_id': 'gpu_bus_id'}
    fields = (c._replace(query=names.get(c.name, c.query)) for c in device_table().fields)
    wanted = ('timestamp', *names.values())
    return make_table(
        tuple(c for c in fields if c.query in wanted or 'remapped_rows' in (c.query or '')),
        {a: name for a, name in nvidia_smi.DEVICE_ALIASES.items() if 'remapped_rows' in a},
    )


# Lists with several rows per GPU: retired pages, supported clocks, accounted processes


class ItemRow(NamedTuple):
    """Source of one row of a list."""

    sample: Sample
    gpu: DeviceSample
    item: tuple[Any, ...]


class ListTable(NamedTuple):
    """A list with several rows per GPU."""

    #: Metric that holds the rows; key in JSON.
    name: str
    #: ``--query-OPTION`` of nvidia-smi.
    option: str
    table: QueryTable


def _item_value(position: int, row: ItemRow) -> CellValue:
    value: CellValue = row.item[position]
    return value


def _list(
    name: str,
    option: str,
    fields: tuple[tuple[str, str | None, str, str, str], ...],
    *further: QueryField,
    **aliases: str,
) -> ListTable:
    """Make a list from its fields: name, name in nvidia-smi, unit, kind, help."""
    own = tuple(
        QueryField(
            *field,
            functools.partial(_item_value, position),
            (name,),
            '0x{:016x}'.format if field[0] == 'address' else None,
        )
        for position, field in enumerate(fields)
    )
    return ListTable(name, option, make_table((*_gpu_fields(), *own, *further), aliases))


@functools.lru_cache(maxsize=None)
def list_tables() -> dict[str, ListTable]:
    """All lists, by the option of nvidia-smi."""
    clocks = (
        ('memory_clock', 'memory', 'MHz', 'int', 'supported memory clock'),
        ('graphics_clock', 'graphics', 'MHz', 'int', 'graphics clock supported with it'),
    )
    pages = (
        ('address', 'retired_pages.address', '', 'int', 'address of the page'),
        ('cause', 'retired_pages.cause', '', 'str', 'Single Bit ECC or Double Bit ECC'),
    )
    accounts = (
        ('pid', 'pid', '', 'int', 'PID as reported by the driver'),
        (
            'gpu_utilization',
            'gpu_utilization',
            '%',
            'int',
            'mean GPU utilization over its lifetime',
        ),
        ('memory_utilization', 'mem_utilization', '%', 'int', 'mean memory bandwidth utilization'),
        ('max_memory', 'max_memory_usage', 'B', 'int', 'maximum device memory in use'),
        ('time', 'time', 'ms', 'int', 'time it used the GPU; 0 while it is running'),
        ('is_running', None, '', 'bool', 'whether it is running'),
    )
    lists = (
        _list('supported_clocks', 'supported-clocks', clocks, mem='memory', gr='graphics'),
        _list(
            'retired_pages',
            'retired-pages',
            pages,
            _without_source('retired_pages.timestamp', 'time at which the page was retired'),
        ),
        _list(
            'accounted_processes',
            'accounted-apps',
            accounts,
            _without_source('vgpu_instance', 'vGPU instance that the process belongs to'),
            gpu_util='gpu_utilization',
            mem_util='mem_utilization',
            max_mem_usage='max_memory_usage',
        ),
    )
    return {table.option: table for table in lists}
