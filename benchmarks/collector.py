"""Cost of a tick of the collector: ``python -m benchmarks.collector [PEER …]``.

Uses the driver that the loader finds. A ``ResourceMetricCollector`` of all devices and all processes
on them runs in the background, once a second. Prints CPU time and NVML calls per tick, without the
first two ticks, which read static metrics. The Pythons run one after another.
"""

from __future__ import annotations

import json
import pathlib
import sys

from benchmarks.programs import arguments, output_of

#: Run by each Python; prints the number of devices and metrics, and the cost of a tick.
PROGRAM = """
import json, sys, time
sys.path.append(sys.argv[1])
import pynvml, nvml_calls
counts = sys.argv[3] == 'calls'
if counts:
    nvml_calls.count_calls(pynvml)
from nvitop import Device, ResourceMetricCollector

def spent():
    return sum(nvml_calls.queries.values()) if counts else time.process_time() * 1e3

seconds = float(sys.argv[2])
collector = ResourceMetricCollector(Device.all(), root_pids={1}, interval=1.0)
with collector(tag='benchmark'):
    time.sleep(2.5)
    before = spent()
    time.sleep(seconds)
    after = spent()
    metrics = collector.collect()
print(json.dumps([len(collector.devices), len(metrics), (after - before) / seconds]))
"""
FOLDER = str(pathlib.Path(__file__).resolve().parent)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__, 'Python of an environment with another nvitop')
    parser.add_argument('--seconds', type=int, default=20, help='duration of a run (default: 20)')
    options = parser.parse_args()
    pythons = {'nvitop': sys.executable, **{peer: peer for peer in options.peers}}
    print(f'ResourceMetricCollector, one tick: means of {options.seconds} ticks')
    print(f'{"":34} NVML calls per GPU   CPU ms   metrics   nvitop ÷ it: calls    CPU')
    ours = None
    for name, python in pythons.items():
        program = [python, '-c', PROGRAM, FOLDER, str(options.seconds)]
        gpus, metrics, calls = json.loads(output_of([*program, 'calls']))
        cpu = json.loads(output_of([*program, 'cpu']))[2]
        line = f'{name:34} {calls / max(1, gpus):21.1f} {cpu:8.2f} {metrics:9}'
        if ours is None:
            ours = calls, cpu
        else:
            line += f'{ours[0] / calls:21.2f} {ours[1] / cpu:6.2f}'
        print(line)


if __name__ == '__main__':
    main()
