"""Log all GPUs and their processes as JSON lines from a background thread.

python examples/collector_in_background.py               # to standard output
python examples/collector_in_background.py FILE.jsonl
"""

from __future__ import annotations

import json
import math
import sys
import time
from contextlib import nullcontext
from typing import Callable, TextIO

from nvitop import ResourceMetricCollector, collect_in_background


def make_writer(file: TextIO, *, lines: int) -> Callable[[dict[str, float]], bool]:
    """Return a callback that writes metrics and stops the collector after ``lines`` lines."""
    written = 0

    def on_collect(metrics: dict[str, float]) -> bool:
        nonlocal written
        # JSON has no NaN.
        known = {key: value for key, value in metrics.items() if not math.isnan(value)}
        print(json.dumps(known), file=file, flush=True)
        written += 1
        return written < lines

    return on_collect


def main() -> None:
    """Start the collector, do other work, and wait for the last line."""
    with open(sys.argv[1], 'w') if sys.argv[1:] else nullcontext(sys.stdout) as file:
        thread = collect_in_background(
            make_writer(file, lines=3),
            ResourceMetricCollector(root_pids={1}, interval=0.2),
            on_stop=lambda collector: print('done', file=sys.stderr),
        )
        while thread.is_alive():
            time.sleep(0.1)  # the work of the program


if __name__ == '__main__':
    main()
