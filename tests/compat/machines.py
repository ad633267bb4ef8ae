"""A simulated machine with values for all queries of pynvml.smi and igpu."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Sequence

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.basics.units import UINT_MAX, ULONGLONG_MAX
from nvitop.compat.pynvml_smi import NVSMI_QUERY_GPU

#: Names that pynvml.smi documents but does not accept. It accepts 125 names of 105 numbers.
EXTRA_NAMES = [
    name
    for name, number in NVSMI_QUERY_GPU.items()
    if number >= 300 or name in ('utilization.encoder', 'utilization.decoder')
]
GPUS = """
[driver]
version = "580.65.06"

[[gpu]]
model = "V100"
brand = "tesla"
serial = "0324118000000"
bus_id = "00000000:1B:00.0"
memory_reserved = "300 MiB"
memory_total = 34089730048
bar1_memory_used = 12345678
total_volatile_corrected_ecc_errors = 5
total_volatile_uncorrected_ecc_errors = 6
total_aggregate_corrected_ecc_errors = 7
total_aggregate_uncorrected_ecc_errors = 8
retired_pages_single_bit_ecc = 2
retired_pages_double_bit_ecc = 1
retired_pages_pending = true
accounting = true
current_driver_model = "wddm"
fan_count = 2
fan_speed = 46
temperature = 58
memory_temperature = 66
power_usage = 238.456
clock_event_reasons = ["sw-power-cap", "hw-thermal-slowdown"]
pcie_replays = 3
multi_gpu_board = true

[[gpu]]
model = "V100"
brand = "geforce"
serial = "N/A"
bus_id = "00000000:30:00.0"
current_driver_model = "wdm"
retired_pages_single_bit_ecc = 0
retired_pages_double_bit_ecc = 0
retired_pages_pending = false
encoder_utilization = 33
mig_mode = false

[[process]]
gpus = [0]
command = ["python", "train.py"]
memory = "29 GiB"
sm = 80

[[process]]
gpus = [0]
type = "G"
command = ["/usr/lib/xorg/Xorg"]
memory = "100 MiB"

[[process]]
gpus = [0]
command = ["<a> & 'b'"]
memory = "1234567 B"
"""


#: Processes with an account. Some values of the second one are unknown.
ACCOUNTED = (4100000, 77)


def pair(first: int, second: int) -> Callable[[object, Any, Any], int]:
    def write(device: object, one: Any, other: Any) -> int:
        one._obj.value, other._obj.value = first, second
        return 0

    return write


def bridge_chip(device: object, hierarchy: Any) -> int:
    bridges = hierarchy._obj
    bridges.bridgeCount = 1
    bridges.bridgeChipInfo[0].type = 1
    bridges.bridgeChipInfo[0].fwVersion = 0x12345
    return 0


def accounting_pids(device: object, count: Any, pids: Any) -> int:
    count._obj.value = len(ACCOUNTED)
    pids[: len(ACCOUNTED)] = ACCOUNTED
    return 0


def accounting_stats(device: object, pid: Any, stats: Any) -> int:
    account = stats._obj
    is_known = pid.value == ACCOUNTED[0]
    account.gpuUtilization = 50 if is_known else UINT_MAX
    account.memoryUtilization = 20
    account.maxMemoryUsage = (1 << 30) if is_known else ULONGLONG_MAX
    account.time = 1234
    account.isRunning = is_known
    return 0


#: Functions of old boards that simulated machines do not support.
EXTRA = {
    'GpuOperationMode': pair(1, 2),
    'AutoBoostedClocksEnabled': pair(1, 0),
    'BridgeChipInfo': bridge_chip,
    'AccountingPids': accounting_pids,
    'AccountingStats': accounting_stats,
}


@contextlib.contextmanager
def machine(
    text: str = GPUS, *, extra: bool = True, processes: str | Sequence[int] = 'fixed'
) -> Iterator[simulation.Machine]:
    """A machine with a fixed clock and the functions in :data:`EXTRA`."""
    scenario = simulation.parse_scenario(text, name='compat')
    with simulation.machine(scenario, processes=processes, clock=lambda: 0.0) as running:
        if extra:
            for name, function in EXTRA.items():
                setattr(running.driver, f'nvmlDeviceGet{name}', function)
            libnvml.use_library(running.driver)
        yield running
