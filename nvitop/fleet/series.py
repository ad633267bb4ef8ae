# SPDX-License-Identifier: Apache-2.0
"""The queries, and one host as a sample from the series of a response. Pure.

The tables of the exporter are read backwards: a series becomes the value of a metric.
"""

from __future__ import annotations

import functools
import json
import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NamedTuple, cast

from nvitop.basics.metrics import METRICS, Metric
from nvitop.basics.text import printable
from nvitop.exporter.dialects import OWNER_PROPERTIES, DeviceRow, dialect
from nvitop.exporter.families import ALL_METRICS, ALL_PROCESS_METRICS, REASON_LABEL, UNKNOWN, scaled
from nvitop.fleet.types import Series, percent_of
from nvitop.health.states import HELD_SECONDS
from nvitop.sampling.types import (
    PROCESSES,
    DeviceInfo,
    DeviceKey,
    DeviceSample,
    HostSample,
    Problem,
    ProcessKey,
    ProcessSample,
    Sample,
)

if TYPE_CHECKING:
    from nvitop.exporter.dialects import Dialect, Labels
    from nvitop.fleet.types import FleetHost, PastValues
    from nvitop.sampling.types import DeviceStatus, ProcessStatus

_TEXTS: dict[str, Metric] = {metric.name: metric for metric in METRICS if metric.kind == 'str'}
_DEVICE_STATUSES = ('lost', 'timed out', 'error', 'not permitted')
#: Values from this one on are left out: their units could make them infinite.
_IMPLAUSIBLE = 1e18
_PROCESS_STATUSES = ('running', 'zombie', 'gone', 'no permission', 'foreign')
#: Labels of series about a device.
_DEVICE_LABELS = frozenset({'gpu', 'uuid', 'UUID'})
#: When the exporter took the last sample.
COLLECTED = 'nvitop_last_collect_timestamp_seconds'
#: Metrics that graphs show, or that their values need.
_OF_GRAPHS = frozenset(
    {
        *('gpu_utilization', 'memory_utilization', 'memory_used', 'memory_total', 'memory_free'),
        *('memory_reserved', 'power_usage', 'temperature'),
    }
)

#: Name of a series since dcgm-exporter 4.9 → name before, and the value before / the value since.
RENAMED: dict[str, tuple[str, float]] = {
    f'DCGM_FI_{new}': (f'DCGM_FI_{old}', factor)
    for new, old, factor in (
        ('DEV_SM_CLOCK_HERTZ', 'DEV_SM_CLOCK', 1e-6),
        ('DEV_MEMORY_CLOCK_HERTZ', 'DEV_MEM_CLOCK', 1e-6),
        ('DEV_MEMORY_TEMP_CELSIUS', 'DEV_MEMORY_TEMP', 1.0),
        ('DEV_GPU_TEMP_CELSIUS', 'DEV_GPU_TEMP', 1.0),
        ('DEV_BOARD_POWER_WATTS', 'DEV_POWER_USAGE', 1.0),
        ('DEV_GPU_UTIL_RATIO', 'DEV_GPU_UTIL', 100.0),
        ('DEV_MEMORY_UTIL_RATIO', 'DEV_MEM_COPY_UTIL', 100.0),
        ('DEV_ENC_UTIL_RATIO', 'DEV_ENC_UTIL', 100.0),
        ('DEV_DEC_UTIL_RATIO', 'DEV_DEC_UTIL', 100.0),
        ('DEV_FB_CAPACITY_BYTES', 'DEV_FB_TOTAL', 2.0**-20),
        ('DEV_FB_FREE_BYTES', 'DEV_FB_FREE', 2.0**-20),
        ('DEV_FB_USED_BYTES', 'DEV_FB_USED', 2.0**-20),
        ('DEV_FB_RESERVED_BYTES', 'DEV_FB_RESERVED', 2.0**-20),
        ('DEV_ROW_REMAP_FAILED', 'DEV_ROW_REMAP_FAILURE', 1.0),
        ('PROF_GR_ENGINE_UTIL_RATIO', 'PROF_GR_ENGINE_ACTIVE', 1.0),
    )
}


def read_host(series: Iterable[Series], host: FleetHost, timestamp: float) -> Sample:
    """Return the sample of one host from a response to ``host_query``.

    Values that its dialect does not have are ``None``. A value that is not a number is left out.
    Other series show only that there is a device. ``timestamp`` is its time if the response has none.
    """
    table, names = dialect(host.kind), series_names(host.kind)
    identities = [label for label, key in table.labels.items() if key not in OWNER_PROPERTIES]
    by_identity: dict[tuple[str, ...], _DeviceSeries] = {}
    collected = 0.0
    for point in series:
        if point.name in RENAMED:
            point = renamed(point)
        labels = point.labels
        if labels.get(ROW) == 'time':
            timestamp = point.value
        elif point.name == COLLECTED:
            collected = max(collected, point.value)
        elif abs(point.value) < _IMPLAUSIBLE and not _DEVICE_LABELS.isdisjoint(labels):
            identity = tuple([labels.get(label, '') for label in identities])
            device = by_identity.get(identity)
            if device is None:
                device = by_identity[identity] = _DeviceSeries(_properties(table.labels, labels))
            if point.name in names:
                _add(table, device, point)
    # The order of a response is that of its labels; MIG devices are counted by their instances.
    by_instance = sorted(by_identity.values(), key=lambda device: device.instances)
    devices = sorted(zip(_keys(by_instance), by_instance), key=itemgetter(0))
    known = {name: value for _, device in devices for name, value in device.properties.items()}
    processes = tuple(process for key, device in devices for process in _processes(key, device))
    reason = 'the exporter reports no processes of this GPU'  # like most of them
    return Sample(
        collected or timestamp,
        driver_version=known.get('driver_version'),
        cuda_driver_version=known.get('cuda_version'),
        host=HostSample(hostname=host.name),
        devices=tuple(_completed(_device(key, device)) for key, device in devices),
        processes=processes,
        problems=() if processes else tuple(Problem(k, PROCESSES, reason) for k, _ in devices),
    )


def renamed(series: Series) -> Series:
    """Return a series with the name that it had before dcgm-exporter 4.9."""
    name, factor = RENAMED[series.name]
    return series._replace(name=name, value=series.value * factor)


def _completed(device: DeviceSample) -> DeviceSample:
    """Return a device with values that not all exporters report, from others that they do."""
    utilization = device.gpu_utilization_percent
    if utilization is None and device.gpm_graphics_active_percent is not None:
        utilization = round(device.gpm_graphics_active_percent)  # MIG devices of dcgm-exporter
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
        gpu_utilization_percent=utilization,
    )


def read_history(
    values: Iterable[PastValues], host: FleetHost, sample: Sample
) -> list[tuple[float, Sample]]:
    """Return a sample for each moment of a response to ``history_query``, oldest first.

    It has the devices of the given sample.
    """
    moments: dict[float, list[Series]] = {}
    for series in values:
        for time, value in series.points:
            moments.setdefault(time, []).append(Series(series.name, series.labels, value))
    now = {device.key.uuid or device.key: device for device in sample.devices}
    history = []
    for time, rows in sorted(moments.items()):
        devices = []
        for device in read_host(rows, host, time).devices:
            same = now.get(device.key.uuid or device.key)
            if same is not None:
                devices.append(device._replace(key=same.key, info=same.info))
        history.append((time, Sample(time, devices=tuple(devices))))
    return history


# One dialect


def _metric_value(row: DeviceRow, value: float) -> int | float | str | bool:
    metric = ALL_METRICS[row.metrics[0]]
    if row.form == 'digits':
        return f'P{value:g}'
    raw = scaled(value, metric.divisor / row.scale)
    if metric.kind == 'bool':
        return bool(raw)
    # Power in milliwatts is a whole number, too.
    return round(raw) if metric.kind == 'int' or metric.unit == 'W' else raw


@functools.lru_cache(maxsize=None)
def _rows_of(name: str) -> dict[str, list[Any]]:
    """Return the rows of a dialect by the name of their series."""
    table: Any = dialect(name)
    rows: dict[str, list[Any]] = {}
    for row in (*table.devices, *table.processes, *table.device_info, *table.process_info):
        # The value of the metric must follow from that of the series.
        if not isinstance(row, DeviceRow) or (
            len(row.metrics) == 1 and row.form in ('number', 'digits', 'reasons')
        ):
            rows.setdefault(row.name, []).append(row)
    return rows


@functools.lru_cache(maxsize=None)
def series_names(name: str) -> frozenset[str]:
    """Return the names of all series from which samples of a dialect are read."""
    table = dialect(name)
    return frozenset({*_rows_of(name), table.up, table.problems, table.asleep} - {''})


def graph_series(name: str) -> list[str]:
    """Return the names of the series of a dialect that graphs show."""
    return [row.name for row in dialect(name).devices if _OF_GRAPHS.issuperset(row.metrics)]


class _DeviceSeries:
    """Properties and values of one device, from its series."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.properties = properties
        #: Raw values by name of the metric.
        self.values: dict[str, Any] = {}
        self.reasons: list[str] | None = None
        self.is_up = True
        self.status: DeviceStatus = 'error'
        self.reason = ''
        #: PID → properties and values by name of the metric.
        self.processes: dict[int, tuple[dict[str, str], dict[str, Any]]] = {}

    @property
    def instances(self) -> tuple[int, ...]:
        """The numbers of its instances, -1 for a whole GPU."""
        names = ('gpu_instance_id', 'compute_instance_id')
        numbers = (number_of(self.properties.get(name, '')) for name in names)
        return tuple(-1 if number is None else number for number in numbers)


def _properties(rows: Labels, labels: Mapping[str, str]) -> dict[str, str]:
    return {key: printable(labels[name]) for name, key in rows.items() if labels.get(name)}


def _add(table: Dialect, device: _DeviceSeries, point: Series) -> None:
    name, labels = point.name, point.labels
    rows = _rows_of(table.name).get(name, [None])
    if name == table.up:
        device.is_up = bool(point.value)
    elif name == table.asleep:
        device.is_up, device.status, device.reason = False, 'asleep', 'asleep'
    elif name == table.problems:
        status = labels.get('status', '')
        device.status = cast('DeviceStatus', status) if status in _DEVICE_STATUSES else 'error'
        device.is_up, device.reason = False, printable(labels.get('reason', ''))
    elif rows[0] in table.device_info:
        device.properties.update(_properties(rows[0].labels, labels))
    elif isinstance(rows[0], DeviceRow):
        _add_value(rows, device, point)
    else:
        pid = labels.get('pid', '')
        if pid.isdecimal():
            properties, values = device.processes.setdefault(int(pid), ({}, {}))
            properties.update(_properties(table.process_labels, labels))
            if rows[0] in table.process_info:
                properties.update(_properties(rows[0].labels, labels))
            else:
                raw = scaled(point.value, 1 / rows[0].scale)
                is_whole = ALL_PROCESS_METRICS[rows[0].metric].kind == 'int'
                values[rows[0].metric] = round(raw) if is_whole else raw


def _add_value(rows: list[DeviceRow], device: _DeviceSeries, point: Series) -> None:
    for row in rows:
        if all(point.labels.get(label) == value for label, value in row.labels):
            if row.form == 'reasons':
                device.reasons = device.reasons if device.reasons is not None else []
                reason = row.item or printable(point.labels.get(REASON_LABEL, ''))
                if point.value and reason not in device.reasons:
                    device.reasons.append(reason)
            else:
                device.values[row.metrics[0]] = _metric_value(row, point.value)
            return


def _keys(devices: list[_DeviceSeries]) -> list[DeviceKey]:
    """Return the identity of each device. MIG devices without an index get the next one."""
    next_migs: dict[int, int] = {}
    keys = []
    for device in devices:
        properties = device.properties
        index = number_of(properties.get('index', '')) or 0
        uuid = properties.get('gpu_uuid', '')
        mig = number_of(properties.get('mig_index', ''))
        if mig is None and ('mig_uuid' in properties or 'gpu_instance_id' in properties):
            mig = next_migs.get(index, 0)
        if mig is not None:
            next_migs[index] = max(mig + 1, next_migs.get(index, 0))
            uuid = properties.get('mig_uuid', '')
        keys.append(DeviceKey(index, -1 if mig is None else mig, uuid))
    return keys


def number_of(text: str) -> int | None:
    """Return the whole number of a label; ``None``: it has none."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _device(key: DeviceKey, series: _DeviceSeries) -> DeviceSample:
    properties = series.properties
    info: dict[str, Any] = {'key': key, 'physical_index': key.physical_index}
    values: dict[str, Any] = {}
    extended: list[tuple[str, Any]] = []
    for name, value in series.values.items():
        metric = ALL_METRICS[name]
        if metric.tier == 'extended':
            extended.append((metric.field, value))
        else:
            (info if metric.tier == 'static' else values)[metric.field] = value
    for name, text in properties.items():
        if name in _TEXTS:
            metric = _TEXTS[name]
            (info if metric.tier == 'static' else values)[metric.field] = text
    info['uuid'] = key.uuid or None
    info.setdefault('name', properties.get('gpu_name'))
    info['mig_profile'] = properties.get('mig_profile')
    for name in ('numa_node', 'gpu_instance_id', 'compute_instance_id'):
        info[name] = number_of(properties.get(name, ''))
    if series.reasons is not None:
        values['clock_event_reasons'] = tuple(series.reasons)
    if not series.is_up:
        return DeviceSample(key, DeviceInfo(**info), series.status, series.reason)
    return DeviceSample(key, DeviceInfo(**info), **values, extended=tuple(extended))


def _processes(key: DeviceKey, series: _DeviceSeries) -> Iterable[ProcessSample]:
    for pid, (properties, values) in sorted(series.processes.items()):
        fields = {
            ALL_PROCESS_METRICS[name].field: value
            for name, value in values.items()
            if name != 'start_time'
        }
        status = properties.get('status', '')
        command = properties.get('command_line', properties.get('command'))
        yield ProcessSample(
            ProcessKey(pid, float(values.get('start_time', -1.0)), key),
            type=properties.get('type'),
            status=cast('ProcessStatus', status) if status in _PROCESS_STATUSES else 'running',
            username=None if properties.get('user') == UNKNOWN else properties.get('user'),
            name=properties.get('name'),
            command=None if command == UNKNOWN else command,
            # Series do not tell whether the process was idle before it was observed.
            is_idle_longer='gpu_idle_time' in values,
            **fields,
        )


LABEL = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
#: Label that names the part of a query from which a row comes.
ROW = 'nvitop_row'
#: Labels that name the host, the most specific first. ``instance`` has a port and may be an address.
_HOST_LABELS = ('Hostname', 'hostname', 'host', 'node', 'kubernetes_node', 'exported_instance')
INSTANCE = 'instance'
#: Series of ``nvitop exporter`` that lists need.
_OWN_NAMES = frozenset(
    f'nvitop_{name}'
    for name in (
        *('gpu_up', 'gpu_asleep', 'gpu_health', 'gpu_missing', 'gpu_info'),
        'gpu_problem_info',
        *('gpu_utilization_ratio', 'gpu_memory_used_bytes', 'gpu_memory_total_bytes'),
        *('gpu_power_usage_watts', 'gpu_temperature_celsius'),
        *('user_gpu_processes', 'user_gpu_memory_bytes', 'gpu_owner_info'),
        *('last_collect_success', 'last_collect_timestamp_seconds', 'simulation_info'),
    )
)
#: Series of dcgm-exporter that lists need.
_DCGM_NAMES = frozenset(
    f'DCGM_FI_{name}'
    for name in (
        *('DEV_GPU_UTIL', 'PROF_GR_ENGINE_ACTIVE', 'DEV_FB_USED', 'DEV_FB_FREE'),
        *('DEV_FB_RESERVED', 'DEV_POWER_USAGE', 'DEV_GPU_TEMP', 'DEV_XID_ERRORS'),
        *('DEV_FB_TOTAL', 'DEV_ROW_REMAP_FAILURE'),
    )
)
#: How long (seconds) a host without values is listed.
GONE_SECONDS = 3600.0


class Scope(NamedTuple):
    """The part of the fleet that queries cover."""

    #: Conditions that all series must meet: ``'cluster="a",rack=~"r[12]"'``.
    match: str = ''
    #: The label that names the host; ``''``: found automatically.
    host_label: str = ''

    @property
    def host_labels(self) -> tuple[str, ...]:
        """The labels that may name the host, the most specific first."""
        own = (self.host_label,) if self.host_label else ()
        return tuple(dict.fromkeys((*own, *_HOST_LABELS, INSTANCE)))


def fleet_query(scope: Scope) -> str:
    """Return the query of all hosts: values, those that were seen, and targets that are down."""
    times = _times(scope)
    host = ', '.join(('job', *scope.host_labels))
    past = []
    for name in _with_renamed(['DCGM_FI_DEV_GPU_UTIL']):
        values, factor = vector([name], scope.match), 100 if name.endswith('_RATIO') else 1
        highest = f'{factor} * max_over_time({values}[{HELD_SECONDS:.0f}s])'
        past.append(marked(f'{highest} and {values} offset {HELD_SECONDS:.0f}s', 'past'))
    return ' or '.join(
        (
            marked(f'max by ({host}) ({times})', 'time'),
            marked(f'max by ({host}) (max_over_time(({times})[{GONE_SECONDS:.0f}s:60s]))', 'seen'),
            *past,
            marked(f'{vector(["up"], scope.match)} == 0', 'down'),
            f'{vector(["nvitop_gpu_state"], scope.match)} == 1',  # of five states
            # Last: a server evaluates the left side of each "or" again.
            vector((*_OWN_NAMES, *_with_renamed(_DCGM_NAMES)), scope.match),
        )
    )


def _times(scope: Scope, *conditions: str) -> str:
    """Return the query of the times of the newest values. One GPU of each host is enough."""
    conditions = (scope.match, *conditions)
    names = _with_renamed(['DCGM_FI_DEV_GPU_TEMP'])
    seen = [vector([name], *conditions, equals('gpu', '0')) for name in names]
    seen.append(vector(['nvitop_build_info'], *conditions))
    return ' or '.join(f'timestamp({series})' for series in seen)


def host_query(host: FleetHost, scope: Scope) -> str:
    """Return the query of everything that is known about one host."""
    names = (*_with_renamed(series_names(host.kind)), COLLECTED)
    selector = equals(*host.selector)
    times = marked(f'max({_times(scope, selector)})', 'time')
    return f'{times} or {vector(names, scope.match, selector)}'


def history_query(host: FleetHost, scope: Scope) -> str:
    """Return the query of a range of the values of one host that graphs show."""
    return vector(_with_renamed(graph_series(host.kind)), scope.match, equals(*host.selector))


def _with_renamed(names: Iterable[str]) -> list[str]:
    """Return names with those that they have since dcgm-exporter 4.9."""
    known = set(names)
    return [*known, *(new for new, (old, _) in RENAMED.items() if old in known)]


def quoted(text: str) -> str:
    """Return a text as a string of PromQL: ``'a"b'`` → ``'"a\\\\"b"'``."""
    return json.dumps(text, ensure_ascii=False)  # has the same escapes


def equals(label: str, value: str) -> str:
    """Return a condition for a label: ``host="gpu01"``."""
    return f'{label}={quoted(value)}'


def vector(names: Iterable[str], *conditions: str) -> str:
    """Return the selector of all series with one of these names that meet conditions."""
    name = f'__name__=~{quoted("|".join(sorted(set(names))))}'
    return '{' + ','.join(filter(None, (name, *conditions))) + '}'


def marked(expression: str, mark: str) -> str:
    """Return an expression whose rows have the label ``nvitop_row``.

    The operator ``or`` ignores names: without different labels, it would drop rows.
    """
    return f'label_replace({expression}, "{ROW}", "{mark}", "", "")'
