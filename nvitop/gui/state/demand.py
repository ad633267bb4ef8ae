# SPDX-License-Identifier: GPL-3.0-only
"""Demand: what is measured because the screen shows it."""

from __future__ import annotations

from typing import Collection

from nvitop.api.metrics import METRICS, METRICS_BY_NAME
from nvitop.gui.layout.main import MainLayout
from nvitop.gui.layout.process import has_room_for_owner
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


def basic_demand(state: AppState) -> Demand:
    """Return the demand of a screen that shows nothing special."""
    has_codec = not {'encoder', 'decoder'}.isdisjoint(state.view.columns)
    return Demand(
        shown_metrics=DETAILS if state.awaits_details else (),
        visible_processes=None if len(state.shown.processes) <= _FEW_PROCESSES else (),
        process_codec=has_codec,
        owners='owner' in {prefix for prefix, _ in parse_query(state.query)},
    )


def main_demand(state: AppState) -> Demand:
    """Return the demand of the main screen."""
    layout = main_layout(state)
    demand = problems_demand(state)
    return demand._replace(
        visible_processes=_visible(state, layout),
        owners=demand.owners or layout.devices.has_jobs,
    )


def problems_demand(state: AppState) -> Demand:
    """Return the demand of the problems screen, which explains missing values of the main screen."""
    return columns_demand(state)._replace(shown_metrics=_metrics_of_panels(state))


def columns_demand(state: AppState) -> Demand:
    """Return the demand of the columns screen."""
    demand = basic_demand(state)
    has_owner = has_room_for_owner(state.view.columns, state.width)
    return demand._replace(owners=demand.owners or state.main.sort.order == 'owner' or has_owner)


def tree_demand(state: AppState) -> Demand:
    """Return the demand of the tree."""
    return basic_demand(state)._replace(host_processes=True)


def users_demand(state: AppState) -> Demand:
    """Return the demand of the users screen, which sums up all processes."""
    demand = basic_demand(state)
    return demand._replace(visible_processes=None, owners=demand.owners or state.sums_by_owner)


def metrics_demand(state: AppState) -> Demand:
    """Return the demand of the screen of one process."""
    demand = basic_demand(state)
    shown, visible = demand.shown_metrics, demand.visible_processes
    return demand._replace(
        shown_metrics=shown if PROCESS_TRAFFIC in shown else (*shown, PROCESS_TRAFFIC),
        visible_processes=visible if visible is None or state.metrics is None else (state.metrics,),
        process_codec=True,
        detailed_process=state.metrics,
    )


def _metrics_of_panels(state: AppState) -> tuple[str, ...]:
    shown = DETAILS if state.page[1].shows_details or state.awaits_details else ()
    if not main_layout(state).host.plots_devices:
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
    return state.frozen is not None and not is_measured(state.frozen.sample, metrics)


def _visible(state: AppState, layout: MainLayout) -> tuple[ProcessKey, ...] | None:
    """Return the processes whose CPU %, memory and command are visible; ``None`` for all."""
    main = state.main
    if len(state.shown.processes) <= _FEW_PROCESSES:
        return None
    if main.sort.order in _HOST_ORDERS or main.sort.order == 'username':
        return None
    if state.query or state.field is not None or main.filter.users is not None:
        return None
    keys = [state.rows[row.process].key for row in layout.processes.rows]
    if main.selected is not None and main.selected not in keys:
        keys.append(main.selected)
    return tuple(keys)
