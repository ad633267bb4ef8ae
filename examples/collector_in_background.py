"""A log of all GPUs and all processes on them, as JSON lines, written beside the program.

python examples/collector_in_background.py [FILE.jsonl]
"""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Callable, TextIO

from nvitop import ResourceMetricCollector, collect_in_background


def writer_of(file: TextIO, *, lines: int) -> Callable[[dict[str, float]], bool]:
    """A function that writes metrics, and has enough after so many lines."""
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
    """Begin, go on with other things, and wait for the end."""
    path = sys.argv[1] if len(sys.argv) > 1 else 'resources.jsonl'
    with open(path, 'w', encoding='utf-8') as file:
        thread = collect_in_background(
            writer_of(file, lines=3),
            ResourceMetricCollector(root_pids={1}, interval=0.2),
            on_stop=lambda collector: print(f'wrote {path}'),
        )
        while thread.is_alive():
            time.sleep(0.1)  # the program goes on with its work


if __name__ == '__main__':
    main()
