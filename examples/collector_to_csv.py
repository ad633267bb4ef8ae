"""Write the host and GPU usage of a training as CSV, one row per epoch.

python examples/collector_to_csv.py               # to standard output
python examples/collector_to_csv.py FILE.csv

Read the file with pandas: ``pandas.read_csv('FILE.csv').filter(like='gpu_utilization').plot()``.
"""

from __future__ import annotations

import csv
import sys
import time
from contextlib import nullcontext

from nvitop import Device, ResourceMetricCollector


def train_one_epoch() -> None:
    """Stand-in for a real epoch: keep one CPU busy."""
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        sum(range(10_000))


def main() -> None:
    """Train for three epochs and write the rows."""
    collector = ResourceMetricCollector(devices=Device.cuda.all(), interval=0.1)
    stdout = nullcontext(sys.stdout)
    with open(sys.argv[1], 'w') if sys.argv[1:] else stdout as file, collector(tag='train'):
        writer = None
        for epoch in range(3):
            with collector(tag='epoch'):
                train_one_epoch()
                row = {'epoch': epoch, **collector.collect()}
            if writer is None:
                # Processes that start later have no column.
                writer = csv.DictWriter(file, list(row), extrasaction='ignore')
                writer.writeheader()
            writer.writerow(row)


if __name__ == '__main__':
    main()
