"""Child processes can query devices and processes, whatever other threads were doing at a fork."""

from __future__ import annotations

import os

import pytest

from tests.programs import run_python

pytestmark = pytest.mark.skipif(not hasattr(os, 'fork'), reason='needs os.fork')

#: Threads query all the time while the program forks. A child that hangs is killed by its alarm.
PROGRAM = """
import faulthandler, os, signal, threading, warnings
from nvitop import Device, GpuProcess, HostProcess, simulation
from nvitop.owner.reading import read_owner

warnings.simplefilter('ignore')
simulation.install('half-busy')
own = HostProcess()


def query():
    for device in Device.all():
        with device.oneshot():
            device.as_snapshot()
        GpuProcess.take_snapshots(device.processes().values(), failsafe=True)
    with own.oneshot():
        own.cmdline()
    read_owner(os.getpid())
    return {device.index: sorted(device.processes()) for device in Device.all()}


def keep_querying():
    while True:
        query()


known = query()
for _ in range(3):
    threading.Thread(target=keep_querying, daemon=True).start()
results = []
for _ in range(60):
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(20)
        signal.alarm(30)
        os._exit(0 if query() == known else 1)
    results.append(os.waitpid(child, 0)[1])
print(results.count(0), len(known), sum(map(len, known.values())))
"""


def test_children_forked_under_load_query_the_same_devices() -> None:
    done = run_python(PROGRAM)
    assert done.stdout == '60 8 5\n', done.stderr


SPAWN = """
import operator
from multiprocessing import get_context
from nvitop import Device, take_snapshots

devices = [leaf for device in Device.all() for leaf in device.to_leaf_devices()]
processes = [process for device in devices for process in device.processes().values()]
snapshots = [snapshot for snapshots in take_snapshots() for snapshot in snapshots]
with get_context('spawn').Pool(2) as pool:
    for objects, method in (
        (devices, 'uuid'), (devices, 'memory_total'), (processes, 'gpu_memory'), (snapshots, 'to_dict'),
    ):
        call = operator.methodcaller(method)
        assert pool.map(call, objects) == list(map(call, objects)), method
print(len(devices), len(processes), len(snapshots))
"""


def test_spawned_children_get_devices_processes_and_snapshots() -> None:
    done = run_python(SPAWN, NVITOP_DEMO='mig')
    assert done.returncode == 0, done.stderr
    assert all(int(count) > 5 for count in done.stdout.split())
