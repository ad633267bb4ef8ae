"""Show a table of all GPUs, colored by utilization and updated once a second.

python examples/colored_monitor.py          # until Ctrl-C
python examples/colored_monitor.py 3        # three times

Colors follow the terminal, NO_COLOR and FORCE_COLOR.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import time

from nvitop import Device, NaType, bytes2human, colored, utilization2string


def shade(percent: float | NaType, text: str) -> str:
    """Return ``text`` in the color for a utilization."""
    if isinstance(percent, NaType):
        return colored(text, attrs=['dark'])
    return colored(text, 'red' if percent >= 80 else 'yellow' if percent >= 20 else 'green')


def line(device: Device) -> str:
    """Return the table row of a GPU."""
    with device.oneshot():
        busy, used = device.gpu_utilization(), device.memory_percent()
        memory = f'{bytes2human(device.memory_used())} / {bytes2human(device.memory_total())}'
        cells = (
            f'{device.index!s:>6}',
            f'{device.name()[:28]:28}',
            shade(busy, f'{utilization2string(busy):>6}'),
            shade(used, f'{memory:>22}'),
            f'{device.temperature()!s:>4} °C',
            f'{device.power_status():>13}',
        )
    return '  '.join(cells)


def main() -> None:
    """Draw the table once a second."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else None
    devices = [leaf for device in Device.all() for leaf in device.to_leaf_devices()]
    if not devices:
        sys.exit('no GPU')
    up = f'\033[{len(devices)}A' if sys.stdout.isatty() else ''
    title = f'{"GPU":>6}  {"name":28}  {"util":>6}  {"memory":>22}  {"temp":>7}  {"power":>13}'
    print(colored(title, attrs=['bold']))
    for number in itertools.count(1):
        for device in devices:
            print(line(device))
        if number == times:
            return
        time.sleep(1.0)
        print(up, end='')


if __name__ == '__main__':
    with contextlib.suppress(KeyboardInterrupt):
        main()
