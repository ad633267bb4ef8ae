"""A small simulated machine with known values, for the tests of devices."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.basics.units import NA

#: GPU 0: all values known and constant. GPU 1: in MIG mode, with a gap between MIG devices 0 and 2.
#: GPU 2: a workstation board with a fan, without ECC, NVLink and PCIe counters. GPU 3: unified memory.
SCENARIO = """
description = "for the tests of devices"
seed = 7

[driver]
version = "580.65.06"
cuda = "13.0"

[[gpu]]
model = "H100"
numa_node = 1
memory_total = "80 GiB"
memory_reserved = "1 GiB"
memory_base = 0
memory_temperature = 55
temperature = 44
gpu_utilization = 61
memory_utilization = 37
encoder_utilization = 3
decoder_utilization = 4
jpeg_utilization = 7
ofa_utilization = 9
graphics_clock = 1500
sm_clock = 1510
memory_clock = 2619
video_clock = 1100
power_usage = 312.5
power_limit = 600
pcie_link_width = 8
pcie_replays = 7
pcie_tx_throughput = "200 MiB"
pcie_rx_throughput = "300 MiB"
nvlink_tx = "10 MiB"
nvlink_rx = "20 MiB"
total_energy = 1000
clock_event_reasons = ["sw-power-cap", "hw-thermal-slowdown"]
total_volatile_uncorrected_ecc_errors = 1
total_volatile_corrected_ecc_errors = 2
total_aggregate_uncorrected_ecc_errors = 3
total_aggregate_corrected_ecc_errors = 4
remapped_rows_correctable = 5
remapped_rows_uncorrectable = 6
remapped_rows_pending = true
sram_errors = 5
recovery_action = "gpu-reset"
gpu_max_pcie_link_generation = 6
operation_mode = "compute"
dram_encryption = true
vgpu_host = true
accounting = true
protected_memory_total = "1 GiB"
throttled_time = 5_000_999
module_average_power_usage = 400
module_power_limit = 900
memory_addressing = "hmm"
fabric_clique_id = 3
fabric_health = 426
fabric_health_summary = "healthy"
gpu_fabric_guid = "0x4800000000000001"
peer_type = "switch-connected"
chassis_serial_number = "SN1"
slot_number = 7

[[gpu]]
model = "H100"
[[gpu.mig]]
profile = "3g.40gb"
gpu_instance_id = 2
[[gpu.mig]]
index = 2
profile = "1g.10gb"
gpu_instance_id = 9

[[gpu]]
model = "RTX 4090"
sram_errors = "N/A"
chassis_serial_number = "N/A"

[[gpu]]
model = "GB10"

[[process]]
gpus = [0]
type = "C"
command = ["train"]
memory = "30 GiB"
sm = 40
memory_utilization = 20

[[process]]
gpus = [0]
type = "C+G"
command = ["view"]
memory = "1 GiB"

[[process]]
gpus = [0]
type = "M"
command = ["mps"]
memory = "2 GiB"
sm = 10

[[process]]
gpus = [1]
mig = 2
command = ["slice"]
memory = "5 GiB"
sm = 90
"""


def machine(text: str = SCENARIO, **options: Any) -> simulation.Machine:
    """Return a machine of the scenario. The PIDs of its processes do not exist."""
    scenario = simulation.parse_scenario(text, name='devices')
    return simulation.machine(scenario, **{'processes': 'fixed', **options})


def known(value: object, function: str) -> Any:
    """Return ``value``, or ``NA`` with an old binding that lacks the function."""
    return value if hasattr(libnvml, function) else NA


def answer(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
    """Replace results of NVML functions, by name, with values or functions of their arguments."""
    real: Callable[..., Any] = libnvml.nvmlQuery

    def query(function: Any, handle: Any, *args: Any, **options: Any) -> Any:
        if function not in answers:
            return real(function, handle, *args, **options)
        value = answers[function]
        return value(*args) if callable(value) else value

    monkeypatch.setattr('nvitop.api.device.base.nvmlQuery', query)


#: For tests of functions that old bindings lack.
needs_gpm = pytest.mark.skipif(
    not hasattr(libnvml, 'nvmlGpmMetricsGet'), reason='this NVML binding has no GPM'
)
