"""Run a script written for igpu; only its import line has changed.

python examples/from_igpu.py
"""

from __future__ import annotations

from nvitop.compat import igpu


def main() -> None:
    """Print the driver, the utilization of each GPU, and everything about the first GPU."""
    major, minor = igpu.nvidia_driver_version()
    print(f'driver {major}.{minor}, {igpu.count_devices()} GPUs')
    for gpu in igpu.visible_devices():
        print(f'{gpu.name}: {gpu.utilization.gpu:.0f} %, {gpu.memory.free:.0f} MiB free')
    print(igpu.get_device(0))


if __name__ == '__main__':
    main()
