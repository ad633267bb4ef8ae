# SPDX-License-Identifier: GPL-3.0-only
"""Names of the screens, and choices of the user: how things are drawn; what is selected, sorted and plotted."""

from __future__ import annotations

import enum
from typing import Mapping, NamedTuple, Sequence

from nvitop.basics.metrics import METRICS, Metric, metrics_of_tier
from nvitop.gui.model.columns import DEFAULT_COLUMNS
from nvitop.sampling.types import DeviceKey, ProcessKey


class Screen(enum.Enum):
    """Fills the terminal. The value is the name shown to people."""

    MAIN = 'main'
    TREE = 'tree'
    ENVIRON = 'environment'
    PROCESS = 'process'
    HELP = 'help'
    PROBLEMS = 'problems'
    USERS = 'users'
    COLUMNS = 'columns'
    SIGNAL = 'signal'
    #: Only in a replay.
    EVENTS = 'events'
    #: Only in the fleet, which has users, problems and help of its own.
    HOSTS = 'hosts'
    GPUS = 'GPUs'
    JOBS = 'jobs'


#: Metrics that can be plotted, in the order in which a key cycles through them: first those that are
#: always measured.
GRAPHS: tuple[Metric, ...] = tuple(
    metric
    for metric in (*metrics_of_tier('fast'), *metrics_of_tier('slow'), *metrics_of_tier('shown'))
    if metric.graph
)

#: Metrics of the details of devices.
DETAILS: tuple[str, ...] = tuple(metric.name for metric in METRICS if metric.detail)
#: The traffic that the graphs of a process show.
PROCESS_TRAFFIC = 'pcie_rx_throughput'


class ViewState(NamedTuple):
    """How things are drawn: set by options, changed by keys."""

    #: One of :data:`nvitop.console.options.MODES`.
    mode: str = 'auto'
    show_host: bool = True
    #: Whether the last row shows keys that work now, as options of the monitor set it.
    hints: bool = False
    #: Whether processes are listed one by one, and not by job.
    flat: bool = False
    #: Names of the columns of the process panel, from left to right.
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    #: All columns, hidden ones too, in the order the user chose; empty if the user chose none.
    column_order: tuple[str, ...] = ()
    #: The screen is converted to ASCII, so leave out what needs other characters.
    ascii: bool = False
    readonly: bool = False


def neighbor(names: Sequence[str], name: str, step: int) -> str:
    """Return the next (1) or previous (-1) of several names, wrapping around; the first after none."""
    at = names.index(name) if name in names else -1
    return names[(at + step) % len(names)]


class Sort(NamedTuple):
    """The order in which processes are listed."""

    #: Name of an order in :data:`nvitop.gui.state.orders.ORDERS`.
    order: str = 'natural'
    #: Whether the usual direction of the order is reversed.
    reverse: bool = False


class ProcessFilter(NamedTuple):
    """Restricts the list of processes. ``None`` does not restrict it; all restrictions apply."""

    users: frozenset[str] | None = None
    pids: frozenset[int] | None = None
    #: Types as in :class:`nvitop.sampling.types.ProcessSample`, including ``None`` for unknown.
    types: frozenset[str | None] | None = None


class GraphState(NamedTuple):
    """Metric and time of the histories of the devices."""

    #: Name of a metric that has a history.
    metric: str = 'gpu_utilization'
    #: Time shown by the width of a history; 0 is two seconds per cell.
    minutes: int = 0


class MainState(NamedTuple):
    """State of the main screen."""

    filter: ProcessFilter = ProcessFilter()
    #: Whether the user folded a job, where they did either.
    folded: Mapping[tuple[str, str], bool] = {}
    #: The device that the user chose: only its processes are listed, and graphs show it.
    selected_device: DeviceKey | None = None
    #: Whether its page is shown: this device only, with its details.
    shows_page: bool = False
    #: Lines of facts above the first one on this page, if not all fit.
    facts_y: int = 0
    tagged: frozenset[ProcessKey] = frozenset()
    graphs: GraphState = GraphState()
