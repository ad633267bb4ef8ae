# SPDX-License-Identifier: Apache-2.0
"""The names of several exporters, as tables, and the families made from them.

A *dialect* is the set of names that one exporter uses. Its tables are plain data that can be read in
both directions: :mod:`nvitop.exporter.families` makes series from samples, and
:mod:`nvitop.fleet.series` makes samples from series.
"""

from __future__ import annotations

import importlib
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    Literal,
    Mapping,
    NamedTuple,
    Sequence,
    Tuple,
)

if TYPE_CHECKING:
    from nvitop.sampling.types import Sample

    #: A device or a process, its labels, and all its properties.
    Described = Tuple[Any, Dict[str, str], Mapping[str, str]]

    #: Type of a series.
    SeriesType = Literal['gauge', 'counter', 'info']

    #: How a series is made from the value of a metric:
    #: ``number``: the value × scale, several metrics are added;
    #: ``digits``: the number in a text, 0 for ``P0``;
    #: ``word``: the place of a text in the comma-separated texts of *item*, from 0;
    #: ``reasons``: a series for each clock event reason, 1 or 0, with the label ``reason``;
    #: ``mask``: the list as the bit mask of NVML;
    #: ``column``, ``mean``: number *item* of each row of a list, with the label ``link``; or their mean.
    Form = Literal['number', 'digits', 'word', 'reasons', 'mask', 'column', 'mean']

    #: Name of a label → the property of the device or process that it shows, a key of
    #: :func:`nvitop.exporter.families.device_properties` or
    #: :func:`~nvitop.exporter.families.process_properties`. Without a value there is no label.
    Labels = Mapping[str, str]

    #: Labels of a user of GPUs: ``user``, and those of the owner if it is one; empty: free time.
    Holder = Tuple[Tuple[str, str], ...]

#: Names of all dialects. Each has its own module, which is loaded on use.
DIALECT_NAMES = ('own', 'dcgm', 'nvitop-exporter')
#: Properties of devices that change with the processes on them.
OWNER_PROPERTIES = frozenset({'namespace', 'pod', 'container', 'job_id'})


def dialect(name: str) -> Dialect:
    """Return the dialect with one of :data:`DIALECT_NAMES`."""
    module = importlib.import_module(f'nvitop.exporter.dialects.{name.replace("-", "_")}')
    table: Dialect = module.DIALECT
    return table


class DeviceRow(NamedTuple):
    """Series of devices."""

    #: Name as Prometheus stores it.
    name: str
    #: Names of the metrics in :data:`nvitop.basics.metrics.METRICS`.
    metrics: tuple[str, ...]
    help: str
    type: SeriesType = 'gauge'
    #: Value in the unit of the metric × scale = value of the series.
    scale: float = 1.0
    #: Constant labels.
    labels: tuple[tuple[str, str], ...] = ()
    form: Form = 'number'
    item: str = ''


class ProcessRow(NamedTuple):
    """Series of processes on devices."""

    name: str
    #: Name of the metric in :data:`nvitop.basics.metrics.PROCESS_METRICS`.
    metric: str
    help: str
    scale: float = 1.0


class InfoRow(NamedTuple):
    """Series with the constant value 1, for texts in labels."""

    name: str
    help: str
    #: Labels in addition to those of other series.
    labels: Labels
    type: SeriesType = 'info'


class Dialect(NamedTuple):
    """Names, units and labels of one exporter."""

    #: Value of ``--names``.
    name: str
    #: One line for the help.
    help: str
    devices: tuple[DeviceRow, ...]
    #: Labels of all series of devices.
    labels: Labels
    device_info: tuple[InfoRow, ...] = ()
    processes: tuple[ProcessRow, ...] = ()
    #: Labels of all series of processes in addition to those of devices.
    process_labels: Mapping[str, str] = {}
    process_info: tuple[InfoRow, ...] = ()
    #: Whether the dialect always includes series of processes.
    has_processes: bool = False
    #: Whether MIG devices have series instead of their GPU, with the values that only it has.
    replaces_gpus: bool = False
    #: Whether the dialect has series of the host.
    has_host: bool = False
    #: Name of the series that is 1 for devices that respond and 0 for others.
    up: str = ''
    #: Name of the series with labels ``status`` and ``reason`` for devices that do not respond.
    problems: str = ''
    #: Name of the series that is 1 for devices that sleep; they have no others.
    asleep: str = ''
    #: Makes the other series, from the devices too.
    others: Callable[[Observation, Sequence[Described]], Iterable[Family]] | None = None

    @property
    def metrics(self) -> frozenset[str]:
        """Names of the metrics behind the series of devices."""
        return frozenset(name for row in self.devices for name in row.metrics)


class Point(NamedTuple):
    """One series and its value."""

    labels: Mapping[str, str]
    value: float


class Family(NamedTuple):
    """Series with the same name."""

    #: Name as Prometheus stores it.
    name: str
    type: SeriesType
    help: str
    points: Sequence[Point]


class SeriesOptions(NamedTuple):
    """Which series are made."""

    #: Sums for each user.
    users: bool = True
    #: Series for each process, in all dialects.
    processes: bool = False
    #: Whether series with information about a process have its command line, which may hold secrets.
    commands: bool = False
    #: Whether series with information about a process name the job, container or unit it belongs to.
    owners: bool = False
    #: Value of labels with the name of the host; ``''``: the name that the host has.
    hostname: str = ''


class Observation(NamedTuple):
    """Everything that series are made from: a sample and the state of the exporter."""

    sample: Sample
    options: SeriesOptions = SeriesOptions()
    #: Whether the sample was taken within the last intervals. If not, it has no values, see
    #: :func:`nvitop.exporter.families.without_values`.
    is_fresh: bool = True
    #: Whether its processes were measured within the last intervals.
    has_fresh_processes: bool = True
    #: Use of GPUs by holder since the exporter was started: the names of
    #: :data:`nvitop.exporter.dialects.own.USAGE_COUNTERS` and their values.
    usage: Mapping[Holder, Mapping[str, float]] = {}
    #: Number of samples that could not be taken since the exporter was started.
    failures: int = 0
    #: UUID of a GPU and number of an Xid → when a recorder saw it last, before the exporter was started.
    past_xids: Mapping[tuple[str, int], float] = {}


def has_driver(sample: Sample) -> bool:
    """Return whether the driver responded when the sample was taken."""
    return not any(
        problem.subject in ('driver', 'monitor') and problem.is_failure
        for problem in sample.problems
    )
