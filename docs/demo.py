"""The default demo at a given moment, for pictures: the real sampler on a simulated machine.

Nothing here depends on the time or on this host, so the pictures are the same everywhere.
"""

from __future__ import annotations

import contextlib
from typing import Callable, Iterator

from nvitop import simulation
from nvitop.api import libnvml
from nvitop.api.process.facts import HostFacts
from nvitop.api.system import system, use_system
from nvitop.basics.metrics import METRICS
from nvitop.owner import read_owner
from nvitop.owner.names import NameLookup
from nvitop.sampling.history import History, past_samples
from nvitop.sampling.process_reader import IdleTimes
from nvitop.sampling.source import LiveSource
from nvitop.sampling.types import Cost, Demand, HostProcessSample, ProcessSample, Sample
from nvitop.simulation.simulated_system import SimulatedHost
from nvitop.simulation.world import Pids, Task

#: Wed May 14 09:32:07 2025 UTC.
NOW = 1747215127.0
#: PIDs of the processes of the scenario.
PIDS = (214071, 214072, 214073, 214074, 1187402, 88213, 3390127, 3215508, 3420771, 3401263)
#: Time (seconds) at which a GPU is hot.
HOT_SECONDS = 90
#: Time (seconds) before the first picture that is measured every second.
RECENT_SECONDS = 10
#: Fields that are measured over time, which does not pass here → key of a GPU, number of links.
RATES = {
    'pcie_tx_throughput_kib_per_s': ('pcie_tx_throughput', 1),
    'pcie_rx_throughput_kib_per_s': ('pcie_rx_throughput', 1),
    'nvlink_total_tx_throughput_kib_per_s': ('nvlink_tx', 18),
    'nvlink_total_rx_throughput_kib_per_s': ('nvlink_rx', 18),
}
#: PID, parent, user and command of processes that do not use a GPU; those above, by PID.
FAMILY = (
    (1, 0, 'root', '/sbin/init'),
    (213902, 1, 'root', 'slurmstepd: [84213.0]'),
    (213988, 213902, 'ann', '/opt/conda/bin/python3 /opt/conda/bin/torchrun --nproc-per-node=4 pretrain_gpt.py'),
    (214310, 214074, 'ann', 'pt_data_worker 0'),
    (214311, 214074, 'ann', 'pt_data_worker 1'),
    (1187311, 1, 'root', '/usr/bin/containerd-shim-runc-v2 -namespace k8s.io'),
    (88102, 1, 'root', '/usr/bin/containerd-shim-runc-v2 -namespace moby'),
    (41822, 1, 'carol', 'tmux: server'),
    (3215102, 1, 'carol', '/opt/jupyter/bin/python3 -m jupyterlab --no-browser'),
    (3400981, 1, 'dave', 'sshd: dave@pts/4'),
    (3400993, 3400981, 'dave', '-bash'),
)  # fmt: skip
PARENTS = {
    **dict.fromkeys(PIDS[:4], 213988),
    1187402: 1187311,
    88213: 88102,
    3390127: 41822,
    3215508: 3215102,
    3420771: 3400993,
    3401263: 3400993,
}


class _Pids(Pids):
    """The PIDs of the processes."""

    def pid(self, task: Task) -> int:
        return PIDS[task.number]

    def number(self, pid: int) -> int | None:
        return PIDS.index(pid) if pid in PIDS else None


class _System(SimulatedHost):
    """The host of the scenario, with processes that need no child."""

    def process_facts(self, pid: int, actual: Callable[[], HostFacts]) -> HostFacts | None:
        task = self._world.task_of(pid)
        if task is None:
            return None
        status = 'zombie' if task.spec.state == 'zombie' else 'running'
        child = HostFacts(True, status, cmdline=[], cpu_percent=0.0, memory_percent=0.0)
        return super().process_facts(pid, lambda: child)


class Demo:
    """The simulated machine; its clock only moves by :meth:`advance`."""

    def __init__(self, machine: simulation.Machine) -> None:
        self._machine = machine
        self._source = LiveSource(
            clock=lambda: 10_000.0 + machine.world.seconds(),
            wall_clock=lambda: NOW + machine.world.seconds(),
            sleep=machine.advance,
        )
        self.history = History()
        self._names = NameLookup('files')
        self._idle_times = IdleTimes()
        first = self._measure()
        for sample in past_samples(first):
            self._idle_times.observe(sample.processes, sample.monotonic)
            self.history.record(sample)
        self.sample = self._with_idle_times(first)
        self.history.record(self.sample)

    def advance(self, seconds: int) -> None:
        """Let time pass, and measure every second."""
        for _ in range(seconds):
            rest = self._machine.world.seconds() % 1.0
            self._machine.advance(1.0 - rest if rest else 1.0)
            self.sample = self._with_idle_times(self._measure())
            self.history.record(self.sample)

    def _with_idle_times(self, sample: Sample) -> Sample:
        self._idle_times.observe(sample.processes, sample.monotonic)
        return sample._replace(processes=self._idle_times.add_to(sample.processes))

    def _measure(self) -> Sample:
        shown = [metric.name for metric in METRICS if metric.tier == 'shown']
        sample = self._source.complete_sample(Demand(shown_metrics=tuple(shown)))
        devices = []
        for device, node in zip(sample.devices, self._machine.world.gpus):
            rates = {field: n * node.value(key) // 1024 for field, (key, n) in RATES.items()}
            devices.append(device._replace(**rates))
        processes = tuple(map(self._complete, sample.processes))
        sample = sample._replace(devices=tuple(devices), processes=processes)
        cost = Cost(0.008, 12, 0.007 * (self._machine.world.seconds() + 10.0))
        return sample._replace(host_processes=tuple(_family(sample)), cost=cost)

    def _complete(self, process: ProcessSample) -> ProcessSample:
        """Return the process with the values that the sampler cannot measure here."""
        world = self._machine.world
        task, t = world.tasks[PIDS.index(process.key.pid)], world.seconds()
        details = system().process_details(process.key.pid)
        return process._replace(
            tree_cpu_percent=details.get('tree_cpu_percent'),
            disk_read_kib_per_s=details.get('disk_read_kib_per_s'),
            owner=read_owner(process.key.pid, self._names).owner,
            gpu_sm_utilization_percent=round(task.sm(t)),
            gpu_memory_utilization_percent=round(task.memory_utilization(t)),
            gpu_encoder_utilization_percent=round(task.spec.encoder.value(t)),
            gpu_decoder_utilization_percent=round(task.spec.decoder.value(t)),
        )


def _family(sample: Sample) -> Iterator[HostProcessSample]:
    """Yield the processes on the GPUs with their ancestors and children."""
    for process in sample.processes:
        yield HostProcessSample(
            process.key.pid,
            process.key.start_time,
            PARENTS[process.key.pid],
            process.username,
            process.is_own,
            process.status,
            process.command,
            (process.key.device,),
            40,
            process.cpu_percent,
            process.memory_percent,
            process.running_time_seconds,
        )
    for pid, parent, user, command in FAMILY:
        is_worker = parent in PIDS
        yield HostProcessSample(
            pid,
            NOW - 3e6 + pid,
            parent,
            user,
            user == sample.host.username,
            command=command,
            thread_count=2,
            cpu_percent=94.0 if is_worker else 0.1,
            memory_percent=0.4 if is_worker else 0.0,
            running_time_seconds=216_420.0,
        )


@contextlib.contextmanager
def demo(seconds: int = HOT_SECONDS) -> Iterator[Demo]:
    """Simulate the machine some seconds after its start."""
    machine = simulation.machine(processes='none', clock=lambda: 0.0, wall_clock=lambda: NOW)
    with machine:
        machine.advance(seconds - RECENT_SECONDS)
        machine.world.pids = _Pids()
        assert machine.world.scenario.host is not None
        use_system(_System(machine.world, machine.world.scenario.host))
        libnvml.nvmlInit()
        try:
            shown = Demo(machine)
            shown.advance(RECENT_SECONDS)
            yield shown
        finally:
            libnvml.nvmlShutdown()
