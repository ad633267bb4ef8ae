# SPDX-License-Identifier: GPL-3.0-only
"""What the user chose: how things are drawn, and what is selected, sorted and scrolled."""

from __future__ import annotations

from nvitop.console.options import Thresholds
from nvitop.gui.model.columns import DEFAULT_COLUMNS
from nvitop.namedtuple import NamedTuple
from nvitop.sampling.types import ProcessKey

#: Status of a process → what stands in the place of its command.
SPECIAL_COMMANDS = {
    'zombie': 'Zombie Process',
    'no permission': 'No Permissions',
    'gone': 'No Such Process',
    'foreign': 'Process of Another PID Namespace',
}


class ViewState(NamedTuple):
    """How things are drawn: what the options said and keys have changed since."""

    #: One of :data:`nvitop.console.options.MODES`.
    mode: str = 'auto'
    show_host: bool = True
    #: Whether links, codecs, energy and throttle reasons of each device are shown.
    shows_details: bool = False
    #: Names of the columns of the process panel, from left to right.
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    #: All columns, hidden ones too, in the order that was chosen; ``()``: none was.
    column_order: tuple[str, ...] = ()
    thresholds: Thresholds = Thresholds()
    #: Bars and graphs in a gradient instead of one colour each.
    colorful: bool = False
    #: Only ASCII will be drawn, so what needs finer characters is left out.
    ascii: bool = False
    #: No finer blocks than halves will be drawn, and no braille.
    halves: bool = False
    readonly: bool = False


class Sort(NamedTuple):
    """In which order processes are listed."""

    #: Name of an order in :data:`nvitop.gui.state.ordering.ORDERS`.
    order: str = 'natural'
    #: The other way round than is usual for the order.
    reverse: bool = False


class ProcessFilter(NamedTuple):
    """Which processes are listed; ``None``: all. What is given must all be met."""

    users: frozenset[str] | None = None
    pids: frozenset[int] | None = None
    #: Types of :class:`nvitop.sampling.types.ProcessSample`, ``None`` among them: not known.
    types: frozenset[str | None] | None = None


class GraphState(NamedTuple):
    """What the two graphs beside the host's plot, and over which time."""

    #: Names of metrics of which a history is kept.
    upper: str = 'memory_percent'
    lower: str = 'gpu_utilization'
    #: Time that the width of a graph stands for; 0: one second for each column of dots.
    minutes: int = 0


class MainState(NamedTuple):
    """The main screen."""

    sort: Sort = Sort()
    filter: ProcessFilter = ProcessFilter()
    selected: ProcessKey | None = None
    tagged: frozenset[ProcessKey] = frozenset()
    #: Rows of the page above the screen.
    scroll_y: int = 0
    #: Cells by which host columns and command are moved to the left.
    scroll_x: int = 0
    graphs: GraphState = GraphState()
