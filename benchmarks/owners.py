"""Cost of the owner of a process: ``python -m benchmarks.owners``.

Times are those of one call for this process, the best of several runs.
"""

from __future__ import annotations

import os
import time
from typing import Callable

from nvitop.owner.cgroup import parse_cgroup
from nvitop.owner.reading import read_cgroup, read_file, read_owner

#: Path of a container in a pod, which takes the longest to parse of the usual ones.
POD = (
    '0::/kubepods.slice/kubepods-burstable.slice'
    '/kubepods-burstable-pod5ba385ca_b6e6_4246_bd66_d48d429dbc12.slice'
    '/cri-containerd-4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970.scope'
)
RUNS, CALLS = 9, 300


def microseconds(call: Callable[[], object]) -> float:
    """Return the time of one call."""
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append(time.perf_counter() - begin)
    return min(times) / CALLS * 1e6


def main() -> None:
    """Measure and print."""
    pid = os.getpid()
    lines = read_file(pid, 'cgroup').count(b'\n')
    rows: dict[str, Callable[[], object]] = {
        f'read /proc/PID/cgroup, {lines} lines': lambda: read_file(pid, 'cgroup'),
        'parse the path of a pod': lambda: parse_cgroup(POD),
        'both, of this process': lambda: read_cgroup(pid),
        'everything about an owner, once per process': lambda: read_owner(pid),
    }
    print('owners: time of one call')
    for name, call in rows.items():
        print(f'{microseconds(call):8.1f} µs  {name}')


if __name__ == '__main__':
    main()
