# SPDX-License-Identifier: Apache-2.0
"""From field names to rows of values: only what the fields need is measured."""

from __future__ import annotations

import time
from typing import Any, Callable, ClassVar, Dict, Iterable, NamedTuple

from nvitop import sampling
from nvitop.api import libnvml
from nvitop.basics.units import iso_time
from nvitop.console.device_names import DeviceIndex, require_devices
from nvitop.query.fields import (
    DEFAULT_DEVICE_NAMES,
    DEFAULT_PROCESS_NAMES,
    CellValue,
    DeviceQueryRow,
    ItemRow,
    ListTable,
    ProcessQueryRow,
    QueryField,
    QueryTable,
    device_table,
    process_table,
)
from nvitop.sampling.plan import intervals
from nvitop.sampling.types import Demand, DeviceKey, Sample

#: Process fields that need additional NVML calls.
_LOADS = frozenset(f'gpu_{engine}_utilization' for engine in ('sm', 'memory', 'encoder', 'decoder'))


class TableQuery(NamedTuple):
    """Tables to fill, and the devices that they cover."""

    #: Fields of the table of devices; ``None``: no such table.
    devices: tuple[QueryField, ...] | None = None
    #: Fields of the table of processes; ``None``: no such table.
    processes: tuple[QueryField, ...] | None = None
    #: A list with several rows per GPU, and its fields; ``None``: no such table.
    items: tuple[ListTable, tuple[QueryField, ...]] | None = None
    #: Devices to include; ``None``: all.
    only: tuple[DeviceIndex, ...] | None = None
    #: Whether MIG devices have rows too, after their GPU.
    mig: bool = False
    #: Include only processes with a compute context.
    compute_only: bool = False
    #: How names of containers are looked up: ``'files'``, ``'sockets'`` or ``'none'``.
    owner_names: str = 'files'

    @property
    def fields(self) -> tuple[QueryField, ...]:
        items = () if self.items is None else self.items[1]
        return (*(self.devices or ()), *(self.processes or ()), *items)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(field.name for field in self.fields)

    @property
    def reads_processes(self) -> bool:
        """Whether processes are measured: the state of a device depends on them."""
        return self.processes is not None or 'state' in self.names

    @property
    def metrics(self) -> frozenset[str]:
        metrics = {metric for field in self.fields for metric in field.metrics}
        if self.items is not None:
            metrics.add(self.items[0].name)
        return frozenset(metrics)


class QueryResult(NamedTuple):
    sample: Sample
    devices: tuple[DeviceQueryRow, ...]
    processes: tuple[ProcessQueryRow, ...]
    items: tuple[ItemRow, ...] = ()


class QueryRunner:
    """Runs one query any number of times."""

    def __init__(
        self,
        query: TableQuery,
        *,
        period: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.query = query
        only: list[DeviceIndex] | None = None
        # The field "count" needs all GPUs.
        if query.only is not None and 'count' not in query.names:
            # Rows of processes on a MIG device have values of its GPU.
            only = [
                device[0] if isinstance(device, tuple) and query.reads_processes else device
                for device in query.only
            ]
        self.source = sampling.LiveSource(
            intervals(period),
            only=only,
            mig_devices=query.mig or query.reads_processes,
            clock=clock,
            sleep=sleep,
            owner_names=query.owner_names,
        )

    def run(self) -> QueryResult:
        """Measure now. Failures are among the problems of the sample."""
        names = self.query.names
        sample = self.source.complete_sample(
            Demand(
                processes=self.query.reads_processes,
                owners=any(field.owners for field in self.query.fields),
            ),
            metrics=self.query.metrics,
            host=False,
            process_cpu='cpu_percent' in names,  # two readings, 0.1 s apart
            process_utilization='state' in names or not names.isdisjoint(_LOADS),
        )
        return make_rows(self.query, sample)


def make_rows(query: TableQuery, sample: Sample) -> QueryResult:
    """The rows of a sample that belong to a query."""
    devices: tuple[DeviceQueryRow, ...] = ()
    processes: tuple[ProcessQueryRow, ...] = ()
    if query.devices is not None:
        devices = tuple(
            DeviceQueryRow(sample, device)
            for device in sample.devices
            if _includes(query, device.key, mig=query.mig)
        )
    if query.processes is not None:
        gpus = {d.key.physical_index: d for d in sample.devices if not d.key.is_mig}
        processes = tuple(
            ProcessQueryRow(sample, gpus.get(process.key.device.physical_index), process)
            for process in sample.processes
            if _includes(query, process.key.device, mig=True)
            and not (query.compute_only and process.type == 'G')
        )
    return QueryResult(sample, devices, processes, _items(query, sample))


def _items(query: TableQuery, sample: Sample) -> tuple[ItemRow, ...]:
    if query.items is None:
        return ()
    rows: list[ItemRow] = []
    for device in sample.devices:
        if not device.key.is_mig and _includes(query, device.key, mig=query.mig):
            items: Any = device.extended_value(query.items[0].name)
            rows += [ItemRow(sample, device, item) for item in items or ()]
    return tuple(rows)


def _includes(query: TableQuery, key: DeviceKey, *, mig: bool) -> bool:
    """Whether a device is included; with ``mig``, a GPU includes its MIG devices."""
    is_gpu_included = mig or not key.is_mig
    if query.only is None:
        return is_gpu_included
    if key.is_mig and (key.physical_index, key.mig_index) in query.only:
        return True
    return is_gpu_included and key.physical_index in query.only


class QueryRow(Dict[str, CellValue]):
    """A row by JSON names; other names of a field work too: ``row['memory.used']``."""

    #: The table that the row belongs to.
    table: ClassVar[Callable[[], QueryTable]]

    def __missing__(self, name: str) -> CellValue:
        field = type(self).table().by_name.get(name)
        if field is None or field.name not in self:
            raise KeyError(name)
        return self[field.name]


class DeviceValues(QueryRow):
    """A row of :func:`query_devices`."""

    table = staticmethod(device_table)


class ProcessValues(QueryRow):
    """A row of :func:`query_processes`."""

    table = staticmethod(process_table)


def plain_row(
    fields: Iterable[QueryField], row: DeviceQueryRow | ProcessQueryRow | ItemRow
) -> dict[str, CellValue]:
    """The values of a row as in JSON, by the names of the fields."""
    return {field.name: _plain(field, field.value(row)) for field in fields}


def _plain(field: QueryField, value: CellValue) -> CellValue:
    if field.kind == 'time' and isinstance(value, float):
        return iso_time(value)
    if isinstance(value, float):
        return round(value, 3)
    return value


def query_devices(
    names: str | Iterable[str] = DEFAULT_DEVICE_NAMES,
    *,
    ids: str | int | Iterable[str | int | tuple[int, int]] | None = None,
    mig: bool = False,
) -> list[DeviceValues]:
    """Measure GPUs now: the rows of ``nvitop query --gpu=… --format=json``.

    Rows are dictionaries with the names of the command's JSON as keys; names of nvidia-smi work too.
    Numbers are in the units of ``nvitop query --list`` (bytes, W, °C, MHz, %), times are ISO 8601
    text, and ``None`` means not available.

    >>> [row['memory.free'] for row in query_devices('memory.free, memory.total')]
    [85008908288, 12884901888]

    Args:
        names: Field names of nvitop or nvidia-smi, separated by commas or spaces, or an iterable
            of them. ``'all'``: all fields.
        ids: Devices to include: indices, (GPU, MIG device) pairs or ``'0:1'``, UUIDs or their
            beginnings, PCI bus IDs or serial numbers. ``None``: all.
        mig: Whether MIG devices have rows too, after their GPU.

    Raises:
        ValueError: Unknown name or device; the message suggests similar ones.
        nvitop.NVMLError: The driver does not respond.
    """
    fields = device_table().find(names)
    runner = QueryRunner(TableQuery(devices=fields, only=_find_devices(ids), mig=mig))
    return [DeviceValues(plain_row(fields, row)) for row in runner.run().devices]


def query_processes(
    names: str | Iterable[str] = DEFAULT_PROCESS_NAMES,
    *,
    ids: str | int | Iterable[str | int | tuple[int, int]] | None = None,
) -> list[ProcessValues]:
    """Measure GPU processes now: the rows of ``nvitop query --processes=… --format=json``.

    A process has one row for each device that it uses. Rows, names, ``ids`` and exceptions are as
    in :func:`query_devices`.

    >>> query_processes('pid, user, gpu_memory')
    [{'pid': 4242, 'user': 'ada', 'gpu_memory': 8589934592}]
    """
    fields = process_table().find(names)
    runner = QueryRunner(TableQuery(processes=fields, only=_find_devices(ids)))
    return [ProcessValues(plain_row(fields, row)) for row in runner.run().processes]


def _find_devices(
    ids: str | int | Iterable[str | int | tuple[int, int]] | None,
) -> tuple[DeviceIndex, ...] | None:
    libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)  # raises without a driver
    return None if ids is None else require_devices(ids)
