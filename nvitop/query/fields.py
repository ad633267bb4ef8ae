# SPDX-License-Identifier: Apache-2.0
"""Fields of queries: all metrics, and the further fields of nvidia-smi."""

from __future__ import annotations

import functools
import operator
import re
from typing import Any, Callable, Iterable, NamedTuple, Tuple, Union

from nvitop.basics.metrics import (
    CLOCK_EVENT_REASONS,
    EXTENDED_METRICS,
    METRICS,
    PROCESS_METRICS,
    Metric,
    ProcessMetric,
)
from nvitop.basics.toml import suggestion
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
#: Metrics that show whether a device is used, together with its processes.
_SIGNS_OF_USE = ('memory_used', 'gpu_utilization')


# Values


def _metric_value(metric: Metric, row: DeviceQueryRow) -> CellValue:
    value: CellValue = row.device.value_of(metric)
    if metric.divisor != 1 and isinstance(value, (int, float)):
        return value / metric.divisor
    return value


def _reason(row: DeviceQueryRow) -> CellValue:
    return row.device.reason or None


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


def _is_display_attached(row: DeviceQueryRow) -> CellValue:
    mode = row.device.display_mode
    return None if mode is None else mode == 'Enabled'


def _hostname(row: DeviceQueryRow) -> CellValue:
    return row.sample.host.hostname or None


def _gpu_count(row: DeviceQueryRow) -> CellValue:
    return sum(not device.key.is_mig for device in row.sample.devices)


#: shlex would take minutes for a megabyte.
_FIRST_WORD = re.compile(r'\s*((?:[^\s\'"]|\'[^\']*\'|"[^"]*")+)(?=\s|\Z)')
_QUOTED = re.compile(r'\'([^\']*)\'|"([^"]*)"')


def _start_time(row: ProcessQueryRow) -> CellValue:
    start = row.process.key.start_time
    return start if start >= 0 else None


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
    field = {'owner_kind': 'kind', 'owner_id': 'id', 'owner_source': 'source', 'job_step': 'step'}
    value: str | None = getattr(owner, field.get(name, name))
    return value or None


def _gpu_field(field: str, row: Any) -> CellValue:
    return None if row.gpu is None else getattr(row.gpu.info, field)


def _claim_value(name: str, row: DeviceQueryRow) -> CellValue:
    value: CellValue = getattr(row.sample.claim_of(row.device), name, None)
    return value


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


def _wrong(row: DeviceQueryRow) -> list[Finding]:
    return [f for f in findings(row.sample) if f.device == row.device.key and is_wrong(f)]


def _health_findings(row: DeviceQueryRow) -> tuple[str, ...]:
    return tuple(finding.text for finding in _wrong(row))


def _device_state(row: DeviceQueryRow) -> CellValue:
    state = device_states(row.sample).get(row.device.key)
    if state is None or state.word == 'unknown':
        return None
    return word_of(row.sample, row.device, state)


# The fields


def _of_metric(metric: Metric) -> QueryField:
    name, value = metric.name, functools.partial(_metric_value, metric)
    described = (name, metric.query, metric.unit, metric.kind, metric.help)
    return QueryField(
        *described,
        value,
        (name,),
        _TEXTS.get(name),
        missing=nvidia_smi.missing_text(metric.query),
    )


def _of_process_metric(metric: ProcessMetric) -> QueryField:
    is_start = metric.name == 'start_time'
    value = _start_time if is_start else operator.attrgetter(f'process.{metric.field}')
    return QueryField(metric.name, metric.query, metric.unit, metric.kind, metric.help, value)


def _plain(
    name: str,
    kind: str,
    text: str,
    value: str | Callable[[Any], CellValue],
    *,
    query: str | None = None,
    metrics: tuple[str, ...] = (),
) -> QueryField:
    """A field without a metric; ``value`` is a field of the row or a function of it."""
    read = operator.attrgetter(value) if isinstance(value, str) else value
    return QueryField(name, query, '', kind, text, read, metrics)


def _sample_fields() -> tuple[QueryField, ...]:
    time = 'time of the measurement'
    driver = 'driver version'
    cuda = 'highest CUDA version that the driver supports'
    return (
        _plain('timestamp', 'time', time, 'sample.timestamp', query='timestamp'),
        _plain('driver_version', 'str', driver, 'sample.driver_version', query='driver_version'),
        _plain('cuda_driver_version', 'str', cuda, 'sample.cuda_driver_version'),
        _plain('count', 'int', 'number of GPUs', _gpu_count, query='count'),
        _plain('hostname', 'str', 'host name', _hostname, query='hostname'),
        _plain(
            *('simulated', 'str', 'scenario of a simulated machine'),
            lambda row: row.sample.simulated or None,
        ),
    )


def _state_fields() -> tuple[QueryField, ...]:
    states = 'ok, lost, timed out or error'
    rules = (*_SIGN_OF_LIFE, *CHECK_METRICS)
    mig = 'index of a MIG device on its GPU'
    judged = 'ok, unknown, warning or critical; see health_findings'
    doing = f'free, claimed, busy, in use, held ({HELD_RULE}), or its status'
    problems = 'problems found by the rules about health, with the values that show them'
    fields = (
        ('mig_profile', 'str', 'profile of a MIG device'),
        ('gpu_instance_id', 'int', 'GPU instance ID of a MIG device'),
        ('compute_instance_id', 'int', 'compute instance ID of a MIG device'),
    )
    return (
        _plain('status', 'str', states, 'device.status', metrics=_SIGN_OF_LIFE),
        _plain('reason', 'str', 'reason why it is not ok', _reason, metrics=_SIGN_OF_LIFE),
        _plain('state', 'str', doing, _device_state, metrics=('uuid', *_SIGNS_OF_USE)),
        _plain(
            'health_status', 'str', judged, lambda row: health_status(_wrong(row)), metrics=rules
        ),
        _plain('health_findings', 'list', problems, _health_findings, metrics=rules),
        *(
            _plain(
                f'claim_{name}',
                kind,
                text,
                functools.partial(_claim_value, field),
                metrics=('uuid',),
            )
            for name, field, kind, text in (
                ('user', 'username', 'str', 'user who has claimed it with nvitop run'),
                ('since', 'since', 'time', 'time since which it is claimed'),
                ('pid', 'pid', 'int', 'process that has claimed it'),
                ('command', 'command', 'str', 'command for which it is claimed'),
            )
        ),
        _plain('mig_index', 'int', mig, lambda row: _mig_index(row.device.key)),
        *(
            # Read together with the name of a MIG device.
            _plain(name, kind, text, f'device.info.{name}', metrics=('name',))
            for name, kind, text in fields
        ),
    )


def _bus_id_fields() -> tuple[QueryField, ...]:
    return tuple(
        _plain(
            f'pci_{part}',
            'str',
            f'PCI {part} number',
            functools.partial(_part_of_bus_id, position),
            query=f'pci.{part}',
            metrics=('bus_id',),
        )
        for position, part in enumerate(('domain', 'bus', 'device'))
    )


def _clock_event_reason_fields() -> tuple[QueryField, ...]:
    return tuple(
        _plain(
            f'clock_event_reasons_{reason}',
            'bool',
            f'whether {reason} limits the clocks',
            functools.partial(_is_clock_event_reason, reason),
            query=f'clocks_event_reasons.{reason}',
            metrics=('clock_event_reasons', 'supported_clock_event_reasons'),
        )._replace(text=lambda flag: 'Active' if flag else 'Not Active')
        for reason in CLOCK_EVENT_REASONS
    )


def _nvidia_smi_fields() -> tuple[QueryField, ...]:
    """Fields whose values follow from other metrics, or that are never available."""
    attached = 'whether a display is connected'
    generation = 'current PCIe generation of the GPU'
    return (
        _plain(
            'display_attached',
            'bool',
            attached,
            _is_display_attached,
            query='display_attached',
            metrics=('display_mode',),
        ),
        _plain(
            'gpu_pcie_link_generation',
            'int',
            generation,
            'device.pcie_link_generation',
            query='pcie.link.gen.gpucurrent',
            metrics=('pcie_link_generation',),
        ),
        _plain(
            'kmd_version',
            'str',
            'version of the kernel driver',
            'sample.driver_version',
            query='kmd_version',
        ),
    )


def _without_source(query: str, text: str = 'not available', unit: str = '') -> QueryField:
    """A field of nvidia-smi for which NVML has no source."""
    name, missing = re.sub(r'\W', '_', query).lower(), nvidia_smi.missing_text(query)
    return QueryField(name, query, unit, 'str', text, lambda row: None, missing=missing)


def _device_fields() -> tuple[QueryField, ...]:
    return (
        *_sample_fields(),
        *map(_of_metric, METRICS),
        *map(_of_metric, EXTENDED_METRICS),
        *_state_fields(),
        *_bus_id_fields(),
        *_clock_event_reason_fields(),
        *_nvidia_smi_fields(),
    )


def gpu_fields() -> tuple[QueryField, ...]:
    """Time and GPU of a row that has a ``gpu``."""
    fields = (('gpu_name', 'name'), ('gpu_uuid', 'uuid'), ('gpu_serial', 'serial'))
    return (
        _sample_fields()[0],
        *(
            _plain(
                name,
                'str',
                f'{field.replace("_", " ")} of the GPU',
                functools.partial(_gpu_field, field),
                query=name,
                metrics=(field,),
            )
            for name, field in (*fields, ('gpu_bus_id', 'bus_id'))
        ),
    )


def _process_fields() -> tuple[QueryField, ...]:
    index = 'process.key.device.physical_index'
    mig = 'index of the MIG device it runs on'
    timestamp, *gpu = gpu_fields()
    return (
        timestamp,
        _plain('gpu_index', 'int', 'index of the GPU it runs on', index),
        _plain('mig_index', 'int', mig, lambda row: _mig_index(row.process.key.device)),
        *gpu,
        _sample_fields()[-1],
        *map(_of_process_metric, PROCESS_METRICS),
        *_owner_fields(),
        _plain(
            'process_name', 'str', 'first word of the command line', _program, query='process_name'
        ),
    )


def _owner_fields() -> tuple[QueryField, ...]:
    names = {
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
    }
    return tuple(
        _plain(name, 'str', text, functools.partial(_owner_value, name))._replace(owners=True)
        for name, text in names.items()
    )


class QueryTable(NamedTuple):
    """The fields of one kind of row, and all their names."""

    fields: tuple[QueryField, ...]
    by_name: dict[str, QueryField]
    #: Fields that have names, but are not part of ``all``.
    named_only: tuple[QueryField, ...] = ()

    def find(self, names: str | Iterable[str] | None) -> tuple[QueryField, ...]:
        """Find fields by names that are separated by commas or spaces; ``all``: all fields.

        Raises:
            ValueError: Unknown field, or none given.
        """
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
                raise ValueError(f'unknown field {word!r}{suggestion(word.lower(), self.by_name)}')
            fields.append(field)
        return tuple(fields)


def make_table(
    fields: tuple[QueryField, ...],
    aliases: dict[str, str],
    named_only: tuple[QueryField, ...] = (),
) -> QueryTable:
    """Make a table; ``aliases`` maps further names to names of fields."""
    everything = (*fields, *named_only)
    by_name = {field.header: field for field in everything}
    by_name.update((field.name, field) for field in everything)
    by_name.update((alias, by_name[name]) for alias, name in aliases.items())
    return QueryTable(fields, by_name, named_only)


@functools.lru_cache(maxsize=None)
def device_table() -> QueryTable:
    """All fields of devices."""
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
    return make_table(_device_fields(), aliases, tuple(unavailable))


@functools.lru_cache(maxsize=None)
def process_table(*, compute_apps: bool = False) -> QueryTable:
    """All fields of processes, optionally with the names of ``--query-compute-apps``."""
    aliases = nvidia_smi.COMPUTE_APPS_ALIASES if compute_apps else nvidia_smi.PROCESS_ALIASES
    return make_table(_process_fields(), aliases)


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
    return ListTable(name, option, make_table((*gpu_fields(), *own, *further), aliases))


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
