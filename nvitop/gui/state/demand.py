# SPDX-License-Identifier: GPL-3.0-only
"""What has to be measured for what is shown; nothing else is."""

from __future__ import annotations

from nvitop.gui.state.app_state import AppState, Screen
from nvitop.gui.state.listing import main_layout
from nvitop.sampling.types import Demand, ProcessKey

#: Metrics that the details of devices show.
DETAILS: tuple[str, ...] = (
    'pcie_tx_throughput',
    'pcie_rx_throughput',
    'nvlink_tx_throughput',
    'nvlink_rx_throughput',
    'clock_event_reasons',
    'encoder_utilization',
    'decoder_utilization',
    'memory_temperature',
    'total_energy',
)
#: Orders that compare what is otherwise read of visible processes alone.
_HOST_ORDERS = frozenset({'cpu_percent', 'memory_percent', 'time'})


def demand_of(state: AppState) -> Demand:
    """What is on the screen now. While the display is frozen, it is still measured for later."""
    shown = DETAILS if state.view.shows_details and state.screen is Screen.MAIN else ()
    if state.screen is Screen.MAIN and state.view.show_host:
        graphs = state.main.graphs
        shown = (*shown, *(name for name in (graphs.upper, graphs.lower) if name not in shown))
    codec = {'encoder', 'decoder'}
    return Demand(
        shown_metrics=shown,
        visible_processes=_visible(state),
        process_codec=state.screen is Screen.METRICS or not codec.isdisjoint(state.view.columns),
        host_processes=state.screen is Screen.TREE,
    )


def _visible(state: AppState) -> tuple[ProcessKey, ...] | None:
    """Keys of the processes whose CPU %, memory and command can be seen; ``None``: of all."""
    if state.screen is Screen.METRICS:
        return (state.metrics,) if state.metrics is not None else ()
    if state.screen is not Screen.MAIN:
        return ()
    main = state.main
    if main.sort.order in _HOST_ORDERS or main.sort.order == 'username':
        return None
    if state.query or state.field is not None or main.filter.users is not None:
        return None
    rows = main_layout(state).processes.rows
    keys = [state.rows[row.process].key for row in rows]
    if main.selected is not None and main.selected not in keys:
        keys.append(main.selected)
    return tuple(keys)
