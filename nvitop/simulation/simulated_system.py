# SPDX-License-Identifier: Apache-2.0
"""The operating system of a simulated machine: its host, its processes, and the children behind them.

Each child runs as the user of this program, who can therefore signal it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
import weakref
from typing import Any, Callable

from nvitop.api.host import CpuSeconds, MemoryUsage
from nvitop.api.process.facts import HostFacts, quote
from nvitop.api.system import Past, System
from nvitop.basics.metrics import METRICS
from nvitop.platforms import WINDOWS
from nvitop.platforms.kernel import at_fork
from nvitop.platforms.nvidia import GpuPower, SleepInfo, short_bus_id
from nvitop.simulation.physics import TRAFFIC
from nvitop.simulation.scenario import Host
from nvitop.simulation.schema import GPU_KEYS_BY_NAME
from nvitop.simulation.world import Node, Pids, Task, World

#: First made-up PID: above the PIDs that Linux assigns by default (32768) and below the maximum
#: (4194304), so it looks real and belongs to no process.
FIRST_FIXED_PID = 4_100_000
#: Reads standard input to its end.
PROGRAM = 'cat'
#: Maximum time (seconds) that all children together get to exit before they are killed.
END_TIMEOUT_SECONDS = 2.0
#: Interval (seconds) between checks for processes whose time is over.
SWEEP_SECONDS = 1.0


class FixedPids(Pids):
    """PIDs that look real, are the same in each run, and do not exist."""

    def pid(self, task: Task) -> int | None:
        return FIRST_FIXED_PID + task.number

    def number(self, pid: int) -> int | None:
        return pid - FIRST_FIXED_PID


class Children(Pids):
    """Real child processes.

    All children read from one pipe, which is never written to. They exit when its other end is
    closed: by :meth:`close`, or because this process is gone, however it died.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._swept = -SWEEP_SECONDS
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        #: Number of the process → PID, of those that the parent of this forked process started.
        self._siblings: dict[int, int] = {}
        #: Number of the process by PID.
        self._numbers: dict[int, int] = {}
        self._is_closed = False
        self._read_end, self._write_end = os.pipe()
        _ALL.add(self)

    def pid(self, task: Task) -> int | None:
        if task.spec.state in ('gone', 'listed'):
            return FixedPids().pid(task)
        t = self._world.seconds()
        with self._lock:
            # A call in another thread may outlive the machine.
            if self._is_closed:
                return None
            self._end_old(t)
            sibling = self._siblings.get(task.number)
            if sibling is not None:
                return sibling if task.runs(t) and _exists(sibling) else None
            child = self._children.get(task.number)
            if child is None:
                if not task.runs(t):
                    return None
                child = self._children[task.number] = start_child(
                    task, self._world.visible_devices(task), self._read_end
                )
                self._numbers[child.pid] = task.number
            if task.spec.state == 'running' and child.poll() is not None:
                task.ended = t
                return None
            return child.pid

    def number(self, pid: int) -> int | None:
        number = self._numbers.get(pid)
        if number is None:
            return FixedPids().number(pid)
        if number in self._siblings:
            return number if _exists(pid) else None
        # The system may give the PID to another process once the child was reaped.
        return None if self._children[number].returncode is not None else number

    def _end_old(self, t: float) -> None:
        if 0.0 <= t - self._swept < SWEEP_SECONDS:
            return
        self._swept = t
        for number, child in self._children.items():
            # A zombie must not be polled, which reaps it, before its time is over.
            if not self._world.tasks[number].runs(t) and child.poll() is None:
                child.kill()

    def close(self) -> None:
        """End all children that this process started."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            os.close(self._write_end)
            os.close(self._read_end)
        deadline = time.monotonic() + END_TIMEOUT_SECONDS
        for child in self._children.values():
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:  # stopped by a signal, for example
                child.kill()
                child.wait()

    def after_fork(self) -> None:
        """Show the children of the parent, start others: only a parent can wait for its children."""
        self._lock = threading.Lock()
        if not self._is_closed:
            self._siblings.update({n: child.pid for n, child in self._children.items()})
            self._children = {}
            # Its write end would keep the children of the parent from exiting with the parent.
            os.close(self._write_end)
            os.close(self._read_end)
            self._read_end, self._write_end = os.pipe()


_ALL: weakref.WeakSet[Children] = weakref.WeakSet()


def _after_fork() -> None:
    for children in tuple(_ALL):
        children.after_fork()


at_fork(after_in_child=_after_fork)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def start_child(task: Task, visible_devices: str, pipe: int) -> subprocess.Popen[bytes]:
    """Start the child of a process. It exits when the other end of *pipe* is closed.

    Its own command line is not that of the process, which :class:`SimulatedSystem` shows. The child
    of a zombie exits at once and is not reaped.
    """
    options: dict[str, Any] = {
        'env': {**_environment(task), 'CUDA_VISIBLE_DEVICES': visible_devices},
        'stdin': subprocess.DEVNULL if task.spec.state == 'zombie' else pipe,
        'stdout': subprocess.DEVNULL,
        'stderr': subprocess.DEVNULL,
    }
    if not WINDOWS:
        options['start_new_session'] = True  # Ctrl-C in the terminal does not reach it
        with contextlib.suppress(OSError):
            return subprocess.Popen([PROGRAM], **options)
    read_all = 'import sys; sys.stdin.buffer.read()'
    return subprocess.Popen([sys.executable, '-c', read_all], **options)


def _environment(task: Task) -> dict[str, str]:
    items = (item.partition('=') for item in task.spec.environ)
    variables = {name: value for name, _, value in items}
    user = task.spec.user
    if not user or WINDOWS:
        return {**os.environ, **variables}
    # Yours would be shown as that of another user.
    return {
        'HOME': f'/home/{user}',
        'LANG': 'C.UTF-8',
        'LOGNAME': user,
        'PATH': '/usr/local/bin:/usr/bin:/bin',
        'SHELL': '/bin/bash',
        'USER': user,
        **variables,
    }


#: Disk reads of a process in KiB/s for each percent of a core that it uses.
READ_KIB_PER_PERCENT = 160
#: Time (seconds) over which past CPU usage is measured.
PAST_CPU_SECONDS = 2.0


class SimulatedSystem(System):
    """The operating system of a simulated machine: its processes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.scenario = world.scenario.name
        #: Processes that only the driver lists, whatever has their PIDs on this host.
        self._listed = {task.spec.pid: task for task in world.tasks if task.spec.state == 'listed'}

    def past(self, seconds: float) -> Past | None:
        world, t = self._world, self._world.seconds() - seconds
        devices = {index: _past_of(node, t) for index, node in enumerate(world.present())}
        processes = {
            pid: {
                'gpu_memory_bytes': task.memory(t),
                'gpu_sm_utilization_percent': round(task.sm(t)),
                'cpu_percent': task.cpu(t),
                'host_memory_bytes': task.host_memory(t),
                **_tree_usage(task, t),
            }
            for task in world.tasks
            for pid in (world.pid_of(task),)
            # Without an age it began with the machine.
            if pid is not None and task.spec.age and task.runs(t)
        }
        return Past(self._past_host(t), devices, processes)

    def _past_host(self, t: float) -> dict[str, float]:
        """Return the values of the host at a time; empty if they are not simulated."""
        return {}

    # Processes

    def process_facts(self, pid: int, actual: Callable[[], HostFacts]) -> HostFacts | None:
        if pid in self._listed:
            # Only its command line is known. Without a start time, no signal is sent.
            path = self._listed[pid].spec.command[0]
            name = path.replace('\\', '/').rpartition('/')[2]
            # Quoted, so that spaces in the path do not end it.
            return HostFacts(True, 'running', name=name, cmdline=[quote(path)])
        task = self._world.task_of(pid)
        if task is None:
            return None
        facts = actual()
        if not facts.is_running or facts.cmdline is None:  # gone, or hidden from this user
            return facts
        return self._simulated(task, facts)

    def _simulated(self, task: Task, facts: HostFacts) -> HostFacts:
        """Return the values of a child with those of the scenario in their place."""
        world = self._world
        t, spec = world.seconds(), task.spec
        cpu, memory, age = task.cpu(t), task.host_memory(t), spec.age
        # The command line of a child is empty for a moment after it starts.
        changes: dict[str, Any] = {
            'name': os.path.basename(spec.command[0]),
            'cmdline': [] if facts.status == 'zombie' else list(spec.command),
            'username': spec.user or facts.username,
            'thread_count': spec.threads or facts.thread_count,
        }
        if cpu is not None:
            changes['cpu_percent'] = round(cpu, 1)
        if memory is not None:
            share = 100.0 * memory / self.memory_usage().total
            changes.update(host_memory=memory, memory_percent=share)
        if age is not None:
            started = world.start_time(task, 0.0)
            changes.update(create_time=started, running_time_in_seconds=age + t)
        return facts._replace(**changes)

    def start_time(self, pid: int, actual: float) -> float:
        task = self._world.task_of(pid)
        return actual if task is None else self._world.start_time(task, actual)

    def process_details(self, pid: int) -> dict[str, Any]:
        task = self._world.task_of(pid)
        if task is None:
            return {}
        details: dict[str, Any] = _tree_usage(task, self._world.seconds())
        if task.spec.directory:
            details.update(thread_count=task.spec.threads or 1, directory=task.spec.directory)
        return details

    def process_file(self, pid: int, name: str) -> bytes | None:
        """Return the content of a file of a process of the scenario.

        The child of a process can neither change its control group nor its mounts.
        """
        if pid in self._listed:
            return b''
        task = self._world.task_of(pid)
        if task is None:
            return None
        spec = task.spec
        contents = {
            'cgroup': f'{spec.cgroup}\n',
            'cmdline': '\0'.join(spec.command),
            'environ': '\0'.join(spec.environ),
            'mountinfo': spec.mountinfo,
            'loginuid': '' if spec.login_uid is None else f'{spec.login_uid}',
            'uid_map': '0 0 4294967295\n',
        }
        return contents[name].encode('utf-8', 'surrogateescape') if name in contents else None

    def expected_gpus(self) -> tuple[str, ...]:
        return tuple(map(_bus_id, self._world.gpus))

    def gpu_powers(self) -> tuple[GpuPower, ...]:
        gpus = self._world.present()
        if not any(gpu.value('may_sleep') for gpu in gpus):
            return ()
        return tuple(GpuPower(_bus_id(g), _status(g), bool(g.value('may_sleep'))) for g in gpus)

    def runtime_status(self, bus_id: str) -> str:
        return next((_status(g) for g in self._world.present() if _bus_id(g) == bus_id), '')

    def sleep_info(self, bus_id: str) -> SleepInfo:
        gpu = next(gpu for gpu in self._world.present() if _bus_id(gpu) == bus_id)
        return SleepInfo(gpu.value('name'), gpu.value('uuid'), 'D3cold')

    def container_logs(self) -> list[str]:
        return [task.spec.container_log for task in self._world.tasks if task.spec.container_log]


class SimulatedHost(SimulatedSystem):
    """The operating system of a simulated machine with a ``[host]`` of its own."""

    def __init__(self, world: World, host: Host) -> None:
        super().__init__(world)
        self._host = host

    def _past_host(self, t: float) -> dict[str, float]:
        host = self._host
        busy = self._busy_seconds(t - PAST_CPU_SECONDS, t)
        return {
            'cpu_percent': round(min(100.0, 100.0 * busy / PAST_CPU_SECONDS / host.cpus), 1),
            'memory_percent': self._memory_usage(t).percent,
            'swap_percent': _usage(host.swap.value(t), host.swap_used.value(t)).percent,
        }

    def hostname(self) -> str:
        return self._host.name or super().hostname()

    def username(self) -> str:
        return self._host.user or super().username()

    def is_superuser(self) -> bool:
        return self._host.user == 'root' if self._host.user else super().is_superuser()

    def cpu_count(self) -> int | None:
        return self._host.cpus

    def cpu_seconds(self) -> CpuSeconds:
        host, t = self._host, self._world.seconds()
        whole = host.cpus * (host.uptime + t)
        return CpuSeconds(min(whole, self._busy_seconds(-host.uptime, t)), whole)

    def core_seconds(self) -> tuple[CpuSeconds, ...]:
        busy, whole = self.cpu_seconds()
        whole_per_core = whole / self._host.cpus
        # Few cores do most of the work.
        weights = [0.05 + (number * 37 % 100 / 100) ** 3 for number in range(self._host.cpus)]
        return tuple(
            CpuSeconds(min(whole_per_core, busy * w / sum(weights)), whole_per_core)
            for w in weights
        )

    def load_average(self) -> tuple[float, float, float] | None:
        t = self._world.seconds()
        one, five, fifteen = (
            round(self._busy_seconds(t - seconds, t) / seconds, 2)
            for seconds in (60.0, 300.0, 900.0)
        )
        return one, five, fifteen

    def _busy_seconds(self, start: float, stop: float) -> float:
        host = self._host
        others = host.cpus / 100.0 * (host.cpu.integral(stop) - host.cpu.integral(start))
        return others + sum(task.cpu_seconds(start, stop) for task in self._world.tasks)

    def memory_usage(self) -> MemoryUsage:
        return self._memory_usage(self._world.seconds())

    def _memory_usage(self, t: float) -> MemoryUsage:
        sizes = (task.host_memory(t) or 0 for task in self._world.tasks if task.runs(t))
        return _usage(self._host.memory.value(t), self._host.memory_base.value(t) + sum(sizes))

    def swap_usage(self) -> MemoryUsage:
        t = self._world.seconds()
        return _usage(self._host.swap.value(t), self._host.swap_used.value(t))

    def uptime(self) -> float:
        return self._host.uptime + self._world.seconds()


def _tree_usage(task: Task, t: float) -> dict[str, float | None]:
    cpu = task.cpu(t)
    if cpu is None:
        return {}
    return {
        'tree_cpu_percent': round(cpu, 1),
        'disk_read_kib_per_s': round(cpu * READ_KIB_PER_PERCENT),
    }


def _past_of(node: Node, t: float) -> dict[str, float | None]:
    total, used = node.value_at('memory_total', t), node.value_at('memory_used', t)
    values: dict[str, float | None] = {
        metric.field: node.value_at(metric.name, t)
        for metric in METRICS
        if metric.history and metric.name in GPU_KEYS_BY_NAME
    }
    for name in TRAFFIC:
        # Not from totals, which begin at 0.
        rate = node.value_at(name, t)
        field = name
        if name.startswith('nvlink'):
            field = f'{name.replace("nvlink", "nvlink_total")}_throughput'
            if rate is not None:
                links = node.value_at('nvlink_link_count', t) - node.value_at(
                    'nvlink_down_count', t
                )
                rate *= links
        values[f'{field}_kib_per_s'] = None if rate is None else round(rate / 1024)
    return {**values, 'memory_percent': round(100.0 * used / total, 1) if total else None}


def _usage(total: float, used: float) -> MemoryUsage:
    used = min(used, total)
    return MemoryUsage(int(total), int(used), round(100.0 * used / total, 1) if total else 0.0)


def _bus_id(gpu: Node) -> str:
    return short_bus_id(str(gpu.value('bus_id')))


def _status(gpu: Node) -> str:
    return 'suspended' if gpu.is_asleep() else 'active'
