# SPDX-License-Identifier: GPL-3.0-only
"""Demand: what is measured because the screen shows it."""

from __future__ import annotations

from typing import Collection

from nvitop.api.metrics import METRICS, METRICS_BY_NAME
from nvitop.gui.layout.main import MainLayout
from nvitop.gui.layout.process import has_room_for_owner
from nvitop.gui.model.screens import Screen
from nvitop.gui.state.app_state import AppState
from nvitop.gui.state.process_lists import main_layout
from nvitop.gui.state.process_rows import parse_query
from nvitop.sampling.types import Demand, ProcessKey, Sample

DETAILS: tuple[str, ...] = tuple(metric.name for metric in METRICS if metric.detail)
#: The traffic that the graphs of a process show.
PROCESS_TRAFFIC = 'pcie_rx_throughput'
#: Maximum number of processes that are all measured, visible or not. Then no value is missing just
#: after scrolling or changing the screen, or in the report printed on exit.
_FEW_PROCESSES = 64
#: Orders by values that are otherwise measured only for visible processes.
_HOST_ORDERS = frozenset({'cpu_percent', 'memory_percent', 'time'})


def demand_of(state: AppState) -> Demand:
    """Return what the screen shows now. A frozen display does not stop measuring."""
    screen = state.screen
    # The problems screen explains missing values of the main screen, so these are still measured.
    layout = main_layout(state) if screen in (Screen.MAIN, Screen.PROBLEMS) else None
    codec = {'encoder', 'decoder'}
    return Demand(
        shown_metrics=_shown_metrics(state, layout),
        visible_processes=_visible(state, layout if screen is Screen.MAIN else None),
        process_codec=screen is Screen.METRICS or not codec.isdisjoint(state.view.columns),
        host_processes=screen is Screen.TREE,
        detailed_process=state.metrics if screen is Screen.METRICS else None,
        owners=_needs_owners(state),
    )


def _needs_owners(state: AppState) -> bool:
    """Whether the screen shows owners, or lists processes by them."""
    if 'owner' in {prefix for prefix, _ in parse_query(state.query)}:
        return True
    if state.screen is Screen.USERS:
        return state.sums_by_owner
    if state.screen not in (Screen.MAIN, Screen.PROBLEMS, Screen.COLUMNS):
        return False
    return state.main.sort.order == 'owner' or has_room_for_owner(state.view.columns, state.width)


def _shown_metrics(state: AppState, layout: MainLayout | None) -> tuple[str, ...]:
    shown = DETAILS if (state.page[1].shows_details and layout) or state.samples_to_complete else ()
    if state.screen is Screen.METRICS and PROCESS_TRAFFIC not in shown:
        return (*shown, PROCESS_TRAFFIC)
    if layout is None:
        return shown
    panel = layout.host.graphs
    if panel is None or panel.upper is None:
        return shown
    graphs = state.main.graphs
    return (*shown, *(name for name in (graphs.upper, graphs.lower) if name not in shown))


def is_measured(sample: Sample, metrics: Collection[str]) -> bool:
    """Whether any of these metrics was measured. Some are measured only while they are shown."""
    shown = [METRICS_BY_NAME[name] for name in metrics]
    fields = [metric.field for metric in shown if metric.tier == 'shown']
    devices = [device for device in sample.devices if device.status == 'ok']
    if not fields or not devices:
        return True
    if any(getattr(device, field) is not None for device in devices for field in fields):
        return True
    # A problem gives the reason for each value that could not be measured.
    return any(problem.what in metrics for problem in sample.problems)


def was_frozen_before(state: AppState, metrics: Collection[str]) -> bool:
    """Whether the display was frozen before any of these metrics was measured."""
    return state.frozen is not None and not is_measured(state.frozen, metrics)


def _visible(state: AppState, layout: MainLayout | None) -> tuple[ProcessKey, ...] | None:
    """Return the processes whose CPU %, memory and command are visible; ``None`` for all."""
    if len(state.shown.processes) <= _FEW_PROCESSES:
        return None
    if state.screen is Screen.METRICS:
        return (state.metrics,) if state.metrics is not None else ()
    if state.screen is Screen.USERS:
        return None
    if layout is None:
        return ()
    main = state.main
    if main.sort.order in _HOST_ORDERS or main.sort.order == 'username':
        return None
    if state.query or state.field is not None or main.filter.users is not None:
        return None
    keys = [state.rows[row.process].key for row in layout.processes.rows]
    if main.selected is not None and main.selected not in keys:
        keys.append(main.selected)
    return tuple(keys)
