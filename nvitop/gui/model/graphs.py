# SPDX-License-Identifier: GPL-3.0-only
"""Metrics that the graphs of the devices can plot, from the table of metrics."""

from __future__ import annotations

from typing import NamedTuple

from nvitop.api.metrics import METRICS_BY_NAME, Metric, metrics_of_tier

#: Units whose values are drawn on a scale up to 100.
_UP_TO_100 = frozenset({'%', '°C'})


class Graph(NamedTuple):
    """A metric that can be plotted, and how."""

    #: Name in the table of metrics; its history has the same name.
    metric: str
    title: str
    unit: str
    #: Field of the device's sample or info that holds the value at the top; ``''`` if there is none.
    top_field: str
    #: The value at the top if there is no such field; 0: scale to the highest value shown.
    top: float


def _graph(metric: Metric) -> Graph:
    top_field = METRICS_BY_NAME[metric.maximum].field if metric.maximum else ''
    top = 100.0 if metric.unit in _UP_TO_100 else 0.0
    return Graph(metric.name, metric.graph, metric.unit, top_field, top)


#: In the order in which a key cycles through them: first the metrics that are always measured.
GRAPHS: tuple[Graph, ...] = tuple(
    _graph(metric)
    for metric in (*metrics_of_tier('fast'), *metrics_of_tier('slow'), *metrics_of_tier('shown'))
    if metric.graph
)
GRAPHS_BY_METRIC: dict[str, Graph] = {graph.metric: graph for graph in GRAPHS}
