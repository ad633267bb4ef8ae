# SPDX-License-Identifier: Apache-2.0
"""Asking: from names of columns to rows of values, measuring nothing that is not asked for."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, Iterable

from nvitop.namedtuple import NamedTuple
from nvitop.query.columns import (
    DEFAULT_DEVICE_NAMES,
    DEFAULT_PROCESS_NAMES,
    DeviceQueryRow,
    ProcessQueryRow,
    QueryColumn,
    QueryTable,
    Value,
    device_table,
    process_table,
)

if TYPE_CHECKING:
    from nvitop.query.lists import ItemRow, ListTable
    from nvitop.query.target import DeviceTarget
    from nvitop.sampling.source import LiveSource
    from nvitop.sampling.types import DeviceSample, ProcessSample, Sample

#: Columns of processes that cost a call of NVML of their own, or a wait of 0.1 s.
_LOADS = frozenset(f'gpu_{engine}_utilization' for engine in ('sm', 'memory', 'encoder', 'decoder'))
_CPU = frozenset({'cpu_percent'})


class Question(NamedTuple):
    """What is asked for."""

    #: Columns of the table of devices; ``None``: no such table is asked for.
    devices: tuple[QueryColumn, ...] | None = None
    #: Columns of the table of processes; ``None``: no such table is asked for.
    processes: tuple[QueryColumn, ...] | None = None
    #: A list of each GPU and its columns; ``None``: no such table is asked for.
    items: tuple[ListTable, tuple[QueryColumn, ...]] | None = None
    #: Which devices; ``None``: all.
    targets: tuple[DeviceTarget, ...] | None = None
    #: Whether MIG devices have rows too, below their GPU.
    mig: bool = False
    #: Only processes with a compute context.
    compute_only: bool = False

    @property
    def columns(self) -> tuple[QueryColumn, ...]:
        """All columns, of all tables."""
        items = () if self.items is None else self.items[1]
        return (*(self.devices or ()), *(self.processes or ()), *items)

    @property
    def names(self) -> frozenset[str]:
        """Names of all columns."""
        return frozenset(column.name for column in self.columns)

    @property
    def metrics(self) -> frozenset[str]:
        """Names of the metrics of devices that have to be measured."""
        found = {metric for column in self.columns for metric in column.metrics}
        if self.items is not None:
            found.add(self.items[0].name)
        return frozenset(found)


class Answer(NamedTuple):
    """Rows of one moment."""

    sample: Sample
    devices: tuple[DeviceQueryRow, ...]
    processes: tuple[ProcessQueryRow, ...]
    items: tuple[ItemRow, ...] = ()


class Asker:
    """Asks one question, again and again."""

    def __init__(
        self,
        question: Question,
        *,
        period: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.question = question
        self.source = _source(question, period, clock, sleep)

    def ask(self) -> Answer:
        """Measure now. What fails is in the problems of the sample."""
        from nvitop.sampling.types import Demand

        question = self.question
        names = question.names
        sample = self.source.complete_sample(
            Demand(processes=question.processes is not None),
            metrics=question.metrics,
            host=False,
            process_cpu=not names.isdisjoint(_CPU),
            process_loads=not names.isdisjoint(_LOADS),
        )
        return answer(question, sample)


def _source(
    question: Question,
    period: float | None,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> LiveSource:
    from nvitop.sampling.plan import intervals
    from nvitop.sampling.source import LiveSource

    only: list[int | tuple[int, int]] | None = None
    # All GPUs are counted, whichever are wanted.
    if question.targets is not None and 'count' not in question.names:
        only = [
            (target.gpu, target.mig)
            # The GPU itself is told of in rows of processes.
            if target.mig is not None and question.processes is None
            else target.gpu
            for target in question.targets
        ]
    return LiveSource(
        intervals(period),
        only=only,
        mig_devices=question.mig or question.processes is not None,
        clock=clock,
        sleep=sleep,
    )


def answer(question: Question, sample: Sample) -> Answer:
    """The rows of a sample that are asked for."""
    devices: tuple[DeviceQueryRow, ...] = ()
    processes: tuple[ProcessQueryRow, ...] = ()
    if question.devices is not None:
        devices = tuple(
            DeviceQueryRow(sample, device)
            for device in sample.devices
            if _is_wanted(question, device)
        )
    if question.processes is not None:
        gpus = {d.key.physical_index: d for d in sample.devices if not d.key.is_mig}
        processes = tuple(
            ProcessQueryRow(sample, gpus.get(process.key.device.physical_index), process)
            for process in sample.processes
            if _is_process_wanted(question, process)
        )
    return Answer(sample, devices, processes, _items(question, sample))


def _items(question: Question, sample: Sample) -> tuple[ItemRow, ...]:
    if question.items is None:
        return ()
    from nvitop.query.lists import ItemRow

    rows: list[ItemRow] = []
    for device in sample.devices:
        if not device.key.is_mig and _is_wanted(question, device):
            items: Any = device.extended_value(question.items[0].name)
            rows += [ItemRow(sample, device, item) for item in items or ()]
    return tuple(rows)


def _is_wanted(question: Question, device: DeviceSample) -> bool:
    key = device.key
    if question.targets is None:
        return question.mig or not key.is_mig
    return any(target.covers(key, mig=question.mig) for target in question.targets)


def _is_process_wanted(question: Question, process: ProcessSample) -> bool:
    if question.compute_only and process.type == 'G':
        return False
    key = process.key.device
    return question.targets is None or any(
        target.covers(key, mig=True) for target in question.targets
    )


class QueryRow(Dict[str, Value]):
    """A row by the names of JSON; other names of a column will do too: ``row['memory.used']``."""

    #: The table that the row belongs to.
    table: ClassVar[Callable[[], QueryTable]]

    def __missing__(self, name: str) -> Value:
        column = type(self).table().by_name.get(name)
        if column is None or column.name not in self:
            raise KeyError(name)
        return self[column.name]


class DeviceValues(QueryRow):
    """A row of :func:`query_devices`."""

    table = staticmethod(device_table)


class ProcessValues(QueryRow):
    """A row of :func:`query_processes`."""

    table = staticmethod(process_table)


def plain_row(
    columns: Iterable[QueryColumn], row: DeviceQueryRow | ProcessQueryRow | ItemRow
) -> dict[str, Value]:
    """The values of a row as JSON has them, by the names of the columns."""
    return {column.name: _plain(column, column.value(row)) for column in columns}


def _plain(column: QueryColumn, value: Value) -> Value:
    if column.kind == 'time' and isinstance(value, float):
        return iso_time(value)
    if isinstance(value, float):
        return round(value, 3)
    return value


def iso_time(seconds: float) -> str:
    """A moment in ISO 8601, in local time with its zone: ``'2024-01-02T03:04:05.678+01:00'``."""
    moment = datetime.fromtimestamp(seconds, timezone.utc).astimezone()
    return moment.isoformat(timespec='milliseconds')


def query_devices(
    names: str | Iterable[str] = DEFAULT_DEVICE_NAMES,
    *,
    ids: str | int | Iterable[str | int | tuple[int, int]] | None = None,
    mig: bool = False,
) -> list[DeviceValues]:
    """What ``nvitop query --gpu=… --format=json`` tells of each GPU, measured now.

    Rows are dictionaries by the names of the command's JSON; names of nvidia-smi will do too.
    Numbers are in the units of ``nvitop query --list`` (bytes, W, °C, MHz, %), times are text in
    ISO 8601, and ``None`` is not available.

    >>> [row['memory.free'] for row in query_devices('memory.free, memory.total')]
    [85008908288, 12884901888]

    Args:
        names: Names of columns, of nvitop or nvidia-smi, separated by commas or spaces, or a
            collection of them. ``'all'``: all there are.
        ids: Only these devices: indices, (GPU, MIG device) pairs or ``'0:1'``, UUIDs, also
            shortened, PCI bus ids or serial numbers. ``None``: all.
        mig: Whether MIG devices have rows too, below their GPU.

    Raises:
        ValueError: There is no such name or device; the text says what there is.
        nvitop.NVMLError: The driver does not answer.
    """
    columns = device_table().find(names)
    asker = Asker(Question(devices=columns, targets=_targets(ids), mig=mig))
    return [DeviceValues(plain_row(columns, row)) for row in asker.ask().devices]


def query_processes(
    names: str | Iterable[str] = DEFAULT_PROCESS_NAMES,
    *,
    ids: str | int | Iterable[str | int | tuple[int, int]] | None = None,
) -> list[ProcessValues]:
    """What ``nvitop query --processes=… --format=json`` tells of each process on a device, now.

    A process has a row for each device that it uses. Rows, names, ``ids`` and what is raised are
    as in :func:`query_devices`.

    >>> query_processes('pid, user, gpu_memory')
    [{'pid': 4242, 'user': 'ada', 'gpu_memory': 8589934592}]
    """
    columns = process_table().find(names)
    asker = Asker(Question(processes=columns, targets=_targets(ids)))
    return [ProcessValues(plain_row(columns, row)) for row in asker.ask().processes]


def _targets(
    ids: str | int | Iterable[str | int | tuple[int, int]] | None,
) -> tuple[DeviceTarget, ...] | None:
    from nvitop.api import libnvml
    from nvitop.query.target import find_targets

    # Raises where the driver does not answer: then there is nothing that a row could tell of.
    libnvml.nvmlQuery('nvmlDeviceGetCount', ignore_errors=False)
    return None if ids is None else find_targets(ids)
