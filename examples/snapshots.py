"""Print a snapshot of all devices and processes as JSON.

python examples/snapshots.py
"""

from __future__ import annotations

import json

from nvitop import NA, take_snapshots


def known(value: object) -> object:
    """Return ``None`` for an unavailable value, because JSON has no N/A."""
    return None if value is NA else value


def main() -> None:
    """Take the snapshot and print it."""
    devices, processes = take_snapshots()
    document = {
        'devices': [
            {
                'index': device.index,
                'name': device.name,
                'memory_used_bytes': known(device.memory_used),
                'gpu_utilization_percent': known(device.gpu_utilization),
                'temperature_celsius': known(device.temperature),
            }
            for device in devices
        ],
        'processes': [
            {
                'pid': process.pid,
                'device': process.device.index,
                'user': known(process.username),
                'gpu_memory_bytes': known(process.gpu_memory),
                'gpu_sm_utilization_percent': known(process.gpu_sm_utilization),
                'command': process.command,
            }
            for process in processes
        ],
    }
    print(json.dumps(document, indent=2))


if __name__ == '__main__':
    main()
