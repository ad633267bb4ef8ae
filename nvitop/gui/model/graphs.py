# SPDX-License-Identifier: GPL-3.0-only
"""What can be plotted as a history of the devices, in one table."""

from __future__ import annotations

from nvitop.namedtuple import NamedTuple


class Graph(NamedTuple):
    """A metric that can be plotted, and how."""

    #: Name in the metric table, under which its history is kept.
    metric: str
    title: str
    unit: str = '%'
    divisor: int = 1
    #: Field of the device's sample or info that holds the highest value there can be.
    top_field: str = ''
    #: The value at the top where there is no such field; 0: what the highest value shown asks for.
    top: float = 100.0


# fmt: off
#: In the order in which a key goes through them.
GRAPHS: tuple[Graph, ...] = (
    Graph('memory_percent', 'MEM'),
    Graph('gpu_utilization', 'UTL'),
    Graph('memory_utilization', 'MBW'),
    Graph('power_usage', 'PWR', 'W', 1000, 'power_limit_mw', 0.0),
    Graph('temperature', 'TEMP', 'C'),
    Graph('sm_clock', 'SM CLOCK', 'MHz', 1, 'max_sm_clock_mhz', 0.0),
    Graph('memory_clock', 'MEM CLOCK', 'MHz', 1, 'max_memory_clock_mhz', 0.0),
    Graph('fan_speed', 'FAN'),
    Graph('encoder_utilization', 'ENC'),
    Graph('decoder_utilization', 'DEC'),
    Graph('pcie_tx_throughput', 'PCIE TX', 'MiB/s', divisor=1024, top=0.0),
    Graph('pcie_rx_throughput', 'PCIE RX', 'MiB/s', divisor=1024, top=0.0),
    Graph('nvlink_tx_throughput', 'NVLINK TX', 'MiB/s', divisor=1024, top=0.0),
    Graph('nvlink_rx_throughput', 'NVLINK RX', 'MiB/s', divisor=1024, top=0.0),
    Graph('gpm_sm_active', 'SM ACTIVE'),
    Graph('gpm_tensor_active', 'TENSOR ACTIVE'),
    Graph('gpm_dram_active', 'DRAM ACTIVE'),
)
# fmt: on

GRAPHS_BY_METRIC: dict[str, Graph] = {graph.metric: graph for graph in GRAPHS}
