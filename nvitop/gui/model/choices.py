# SPDX-License-Identifier: GPL-3.0-only
"""Choices of the user: how things are drawn; what is selected, sorted and scrolled."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.console.options import Thresholds
from nvitop.gui.model.columns import DEFAULT_COLUMNS
from nvitop.sampling.types import DeviceKey, ProcessKey


class ViewState(NamedTuple):
    """How things are drawn: set by options, changed by keys."""

    #: One of :data:`nvitop.console.options.MODES`.
    mode: str = 'auto'
    show_host: bool = True
    #: Whether the last row shows keys that work now, as options of the monitor set it.
    shows_hints: bool = False
    #: Whether the details of each device are shown: links, codecs, energy, throttle reasons.
    shows_details: bool = False
    #: Names of the columns of the process panel, from left to right.
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    #: All columns, hidden ones too, in the order the user chose; empty if the user chose none.
    column_order: tuple[str, ...] = ()
    thresholds: Thresholds = Thresholds()
    #: Draw bars and graphs in a gradient instead of one color, see :func:`has_gradient`.
    colorful: bool = False
    #: The screen is converted to ASCII, so leave out what needs other characters.
    ascii: bool = False
    #: The screen is converted to half blocks, without braille.
    halves: bool = False
    readonly: bool = False


def has_gradient(theme: str, colors: int, wanted: bool | None) -> bool:
    """Return whether bars and graphs have a gradient in a theme on a terminal with this many colors.

    ``wanted`` is the user's choice, ``None`` for the usual one of the theme.
    """
    if colors < 256 or theme == 'mono':
        return False
    return theme != 'classic' if wanted is None else wanted


class Sort(NamedTuple):
    """The order in which processes are listed."""

    #: Name of an order in :data:`nvitop.gui.state.process_rows.ORDERS`.
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
    """Metrics and time of the two graphs of the devices."""

    #: Names of metrics that have a history.
    upper: str = 'memory_percent'
    lower: str = 'gpu_utilization'
    #: Time shown by the width of a graph; 0 is one second per column of dots.
    minutes: int = 0


class MainState(NamedTuple):
    """State of the main screen."""

    sort: Sort = Sort()
    filter: ProcessFilter = ProcessFilter()
    selected: ProcessKey | None = None
    #: The device that the user chose: only its processes are listed, and graphs show it.
    selected_device: DeviceKey | None = None
    #: Whether its page is shown: this device only, with its details.
    shows_page: bool = False
    tagged: frozenset[ProcessKey] = frozenset()
    #: Number of rows of the page above the screen.
    scroll_y: int = 0
    #: Number of columns by which host columns and command are scrolled.
    scroll_x: int = 0
    graphs: GraphState = GraphState()
