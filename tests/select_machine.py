"""A simulated machine to select devices from."""

from __future__ import annotations

from nvitop import simulation

MACHINE = """
[driver]
version = "580.65.06"
cuda = "13.0"
[[gpu]]
count = 3
model = "H100"
memory_base = "10 GiB"
gpu_utilization = 20
memory_utilization = 10
[[gpu]]
model = "H100"
[[gpu.mig]]
profile = "3g.40gb"
[[gpu.mig]]
profile = "1g.10gb"
"""


def select_machine() -> simulation.Machine:
    """Return a machine with three GPUs and one in MIG mode, and with no real process."""
    return simulation.machine(simulation.parse_scenario(MACHINE, name='select'), processes='fixed')
