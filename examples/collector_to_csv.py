"""What a training used of host and GPUs, a line for each epoch, in a CSV file.

python examples/collector_to_csv.py [FILE.csv]

With pandas: ``pandas.read_csv('resources.csv').filter(like='gpu_utilization').plot()``.
"""

from __future__ import annotations

import csv
import sys
import time

from nvitop import Device, ResourceMetricCollector


def train_one_epoch() -> None:
    """Whatever a training does."""
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        sum(range(10_000))


def main() -> None:
    """Train, and write."""
    path = sys.argv[1] if len(sys.argv) > 1 else 'resources.csv'
    collector = ResourceMetricCollector(devices=Device.cuda.all(), interval=0.1)
    with open(path, 'w', encoding='utf-8', newline='') as file, collector(tag='train'):
        writer = None
        for epoch in range(3):
            with collector(tag='epoch'):
                train_one_epoch()
                row = {'epoch': epoch, **collector.collect()}
            if writer is None:
                # Processes that come later have no column.
                writer = csv.DictWriter(file, list(row), restval='', extrasaction='ignore')
                writer.writeheader()
            writer.writerow(row)
    print(f'wrote {path}')


if __name__ == '__main__':
    main()
