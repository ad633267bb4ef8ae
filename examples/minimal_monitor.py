"""Show every GPU and its processes once a second.

python examples/minimal_monitor.py          # until Ctrl-C
python examples/minimal_monitor.py 3        # three times
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import time

from nvitop import Device, GpuProcess, utilization2string


def show(device: Device) -> None:
    """Print a GPU and its processes."""
    with device.oneshot():  # query the driver once per value
        print(f'GPU {device.index}: {device.name()}')
        print(f'  memory       {device.memory_usage()}')
        print(f'  utilization  {utilization2string(device.gpu_utilization())}')
        print(
            f'  temperature  {device.temperature()} °C, fan {utilization2string(device.fan_speed())}'
        )
        print(f'  power        {device.power_status()}')
    # If a process exits meanwhile, its values are placeholders instead of exceptions.
    with GpuProcess.failsafe():
        for process in device.processes().values():
            print(f'  {process.pid:>8} {process.gpu_memory_human():>9} {process.command()}')


def main() -> None:
    """Show all GPUs once a second."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else None
    devices = [leaf for device in Device.all() for leaf in device.to_leaf_devices()]
    if not devices:
        sys.exit('no GPU')
    for number in itertools.count(1):
        print(time.strftime('--- %H:%M:%S'))
        for device in devices:
            show(device)
        if number == times:
            return
        time.sleep(1.0)


if __name__ == '__main__':
    with contextlib.suppress(KeyboardInterrupt):
        main()
